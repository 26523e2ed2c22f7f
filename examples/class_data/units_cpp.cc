// Makes a Python class for each entry of a C array. Each class has the address of its entry in a
// custom slot, which subclasses inherit.
#include <string>
#include <vector>

#include "core/custom_slots.h"
#include "core/extensible_type.h"
#include "examples/class_data/unit_slot.h"
#include "examples/class_data/units.h"

namespace {

// The data of an instance. The data of the class are not in the instance.
struct mass_object {
  PyObject_HEAD
  PyObject *amount;  // an int or a float
};

mass_object *as_mass(PyObject *self) { return reinterpret_cast<mass_object *>(self); }

// Returns the class data, or NULL for Mass itself and for classes that derive only from Mass.
const mass_unit *unit_of(PyObject *self) {
  const PyCustomSlot *slot = PyCustomSlots_Find(self, UNIT_SLOT_ID, 0);
  return slot != nullptr ? static_cast<const mass_unit *>(slot->data.pointer) : nullptr;
}

PyObject *text(PyObject *self, PyObject *) {
  const mass_unit *unit = unit_of(self);
  if (unit == nullptr) {
    return PyErr_Format(PyExc_TypeError, "%R has no unit", Py_TYPE(self));
  }
  PyObject *amount = as_mass(self)->amount;
  Py_INCREF(amount);  // its __str__ may call self.__init__
  PyObject *written = PyUnicode_FromFormat("%S %s", amount, unit->symbol);
  Py_DECREF(amount);
  return written;
}

PyObject *mass_new(PyTypeObject *type, PyObject *, PyObject *) {
  // Call object's tp_new, which refuses abstract classes. tp_init checks the arguments.
  PyObject *none = PyTuple_New(0);
  PyObject *self = none != nullptr ? PyBaseObject_Type.tp_new(type, none, nullptr) : nullptr;
  Py_XDECREF(none);
  if (self == nullptr) return nullptr;
  // Set a default, because a subclass need not call super().__init__().
  as_mass(self)->amount = PyLong_FromLong(1);
  if (as_mass(self)->amount == nullptr) Py_CLEAR(self);
  return self;
}

int mass_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"amount", nullptr};
  PyObject *amount = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char **>(names), &amount))
    return -1;
  if (amount == nullptr) return 0;
  if (!PyLong_Check(amount) && !PyFloat_Check(amount)) {
    PyErr_Format(PyExc_TypeError, "amount must be an int or a float, not %.100s",
                 Py_TYPE(amount)->tp_name);
    return -1;
  }
  PyObject *old = as_mass(self)->amount;
  Py_INCREF(amount);
  as_mass(self)->amount = amount;
  Py_XDECREF(old);
  return 0;
}

int mass_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_mass(self)->amount);
  return 0;
}

// There is no tp_clear, because a cycle through the amount, an immutable number, can be broken
// elsewhere.
void mass_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(as_mass(self)->amount);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *mass_amount(PyObject *self, void *) {
  Py_INCREF(as_mass(self)->amount);
  return as_mass(self)->amount;
}

// For pickle and copy. Returns the class, the amount, and the attributes that Python code has
// added. A subclass with __slots__ must pickle its slots itself.
PyObject *mass_reduce(PyObject *self, PyObject *) {
  PyObject *state = PyObject_GetAttrString(self, "__dict__");
  if (state == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    PyErr_Clear();
    return Py_BuildValue("O(O)", Py_TYPE(self), as_mass(self)->amount);
  }
  return Py_BuildValue("O(O)N", Py_TYPE(self), as_mass(self)->amount, state);
}

PyMethodDef mass_methods[] = {
    {"text", text, METH_NOARGS,
     "text($self, /)\n--\n\nReturns the amount and the symbol of the unit."},
    {"__reduce__", mass_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef mass_attributes[] = {
    {"amount", mass_amount, nullptr, "The number of units.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot mass_slots[] = {
    {Py_tp_doc, const_cast<char *>("Mass(amount=1)\n--\n\nThe base class of all masses.")},
    {Py_tp_new, reinterpret_cast<void *>(mass_new)},
    {Py_tp_init, reinterpret_cast<void *>(mass_init)},
    {Py_tp_dealloc, reinterpret_cast<void *>(mass_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(mass_traverse)},
    {Py_tp_methods, mass_methods},
    {Py_tp_getset, mass_attributes},
    {0, nullptr},
};

PyType_Spec mass_spec = {
    "units_cpp.Mass",
    sizeof(mass_object),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    mass_slots,
};

// Returns the names of the classes. Before 3.11, a type made from C does not copy its name, so the
// names are kept until the process ends.
const std::vector<std::string> &class_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (std::size_t i = 0; i < unit_count; ++i) {
      made.push_back(std::string("units_cpp.") + units[i].class_name);
    }
    return made;
  }();
  return names;
}

// Returns a new class like Mass, with one custom slot, or NULL with an exception set.
PyObject *make_class(PyObject *module, PyObject *base, const char *name, const mass_unit *unit) {
  PyType_Slot no_slots[] = {{0, nullptr}};
  PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, no_slots};
  PyCustomSlot slot = {};
  slot.id = UNIT_SLOT_ID;
  slot.data.pointer = const_cast<mass_unit *>(unit);
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
  PyObject *base = PyType_FromModuleAndSpec(module, &mass_spec, nullptr);
  if (base == nullptr) return -1;
  Py_INCREF(base);
  int failed = add(module, "Mass", base) < 0;
  for (std::size_t i = 0; !failed && i < unit_count; ++i) {
    const char *name = class_names()[i].c_str();
    failed = add(module, units[i].class_name, make_class(module, base, name, &units[i])) < 0;
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
    "units_cpp",
    "Masses, one class for each entry of a C array.",
    0,
    nullptr,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_units_cpp() { return PyModuleDef_Init(&definition); }
