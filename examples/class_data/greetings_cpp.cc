// Makes a Python class for each entry of a C array. Each class has the address of its entry in a
// custom slot, which subclasses inherit.
#include <string>
#include <vector>

#include "core/custom_slots.h"
#include "core/extensible_type.h"
#include "examples/class_data/greeting_slot.h"
#include "examples/class_data/greetings.h"

namespace {

// The data of an instance. The data of the class are not in the instance.
struct greet_object {
  PyObject_HEAD
  PyObject *name;
};

greet_object *as_greet(PyObject *self) { return reinterpret_cast<greet_object *>(self); }

// Returns the class data, or NULL for Greet itself and for classes that derive only from Greet.
const greeting_class *greeting_of(PyObject *self) {
  const PyCustomSlot *slot = PyCustomSlots_Find(self, GREETING_SLOT_ID, 0);
  return slot != nullptr ? static_cast<const greeting_class *>(slot->data.pointer) : nullptr;
}

PyObject *greet(PyObject *self, PyObject *) {
  const greeting_class *greeting = greeting_of(self);
  if (greeting == nullptr) {
    return PyErr_Format(PyExc_TypeError, "%R has no greeting", Py_TYPE(self));
  }
  return PyUnicode_FromFormat("%s %U!", greeting->sentence, as_greet(self)->name);
}

PyObject *greet_new(PyTypeObject *type, PyObject *, PyObject *) {
  // Call object's tp_new, which refuses abstract classes. tp_init checks the arguments.
  PyObject *none = PyTuple_New(0);
  PyObject *self = none != nullptr ? PyBaseObject_Type.tp_new(type, none, nullptr) : nullptr;
  Py_XDECREF(none);
  if (self == nullptr) return nullptr;
  // Set a default, because a subclass need not call super().__init__().
  as_greet(self)->name = PyUnicode_FromString("World");
  if (as_greet(self)->name == nullptr) Py_CLEAR(self);
  return self;
}

int greet_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"name", nullptr};
  PyObject *name = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|U", const_cast<char **>(names), &name))
    return -1;
  if (name != nullptr) {
    PyObject *old = as_greet(self)->name;
    Py_INCREF(name);
    as_greet(self)->name = name;
    Py_XDECREF(old);
  }
  return 0;
}

int greet_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_greet(self)->name);
  return 0;
}

// There is no tp_clear, because a cycle through the name, an immutable str, can be broken
// elsewhere.
void greet_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(as_greet(self)->name);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *greet_name(PyObject *self, void *) {
  Py_INCREF(as_greet(self)->name);
  return as_greet(self)->name;
}

// For pickle and copy. Returns the class, the name, and the attributes that Python code has added.
// A subclass with __slots__ must pickle its slots itself.
PyObject *greet_reduce(PyObject *self, PyObject *) {
  PyObject *state = PyObject_GetAttrString(self, "__dict__");
  if (state == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    PyErr_Clear();
    return Py_BuildValue("O(O)", Py_TYPE(self), as_greet(self)->name);
  }
  return Py_BuildValue("O(O)N", Py_TYPE(self), as_greet(self)->name, state);
}

PyMethodDef greet_methods[] = {
    {"greet", greet, METH_NOARGS,
     "greet($self, /)\n--\n\nReturns the sentence of the class, addressed to the name."},
    {"__reduce__", greet_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef greet_attributes[] = {
    {"name", greet_name, nullptr, "The name of the person to greet.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot greet_slots[] = {
    {Py_tp_doc, const_cast<char *>("Greet(name='World')\n--\n\nThe base class of all greetings.")},
    {Py_tp_new, reinterpret_cast<void *>(greet_new)},
    {Py_tp_init, reinterpret_cast<void *>(greet_init)},
    {Py_tp_dealloc, reinterpret_cast<void *>(greet_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(greet_traverse)},
    {Py_tp_methods, greet_methods},
    {Py_tp_getset, greet_attributes},
    {0, nullptr},
};

PyType_Spec greet_spec = {
    "greetings_cpp.Greet",
    sizeof(greet_object),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    greet_slots,
};

// Returns the names of the classes. Before 3.11, a type made from C does not copy its name, so the
// names are kept until the process ends.
const std::vector<std::string> &class_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const greeting_class *greeting = greetings; greeting->name != nullptr; ++greeting) {
      made.push_back(std::string("greetings_cpp.") + greeting->name);
    }
    return made;
  }();
  return names;
}

// Returns a new class like Greet, with one custom slot, or NULL with an exception set.
PyObject *make_class(PyObject *module, PyObject *base, const char *name,
                     const greeting_class *greeting) {
  PyType_Slot no_slots[] = {{0, nullptr}};
  PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, no_slots};
  PyCustomSlot slot = {};
  slot.id = GREETING_SLOT_ID;
  slot.data.pointer = const_cast<greeting_class *>(greeting);
  return PyExtensibleType_FromSpec(module, &spec, base, &slot, 1);
}

// Takes over the reference to `value`, which may be NULL with an exception set.
int add(PyObject *module, const char *name, PyObject *value) {
  if (value == nullptr) return -1;
  const int result = PyObject_SetAttrString(module, name, value);
  Py_DECREF(value);
  return result;
}

int exec(PyObject *module) {
  PyObject *base = PyType_FromModuleAndSpec(module, &greet_spec, nullptr);
  if (base == nullptr) return -1;
  Py_INCREF(base);
  int failed = add(module, "Greet", base) < 0;
  for (std::size_t i = 0; !failed && greetings[i].name != nullptr; ++i) {
    const char *name = class_names()[i].c_str();
    failed = add(module, greetings[i].name, make_class(module, base, name, &greetings[i])) < 0;
  }
  Py_DECREF(base);
  return failed ? -1 : 0;
}

// No module state is needed, because the array is constant.
PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(exec)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "greetings_cpp",
    "Greetings, one class for each entry of a C array.",
    0,
    nullptr,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_greetings_cpp() { return PyModuleDef_Init(&definition); }
