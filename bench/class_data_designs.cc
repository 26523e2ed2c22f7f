// Six ways to keep a C pointer for a Python class: five from a blog post on Cython metaclasses, and
// a custom slot. bench/class_data.py measures them.
#include <time.h>

#include <cstdint>
#include <cstring>

#include "bench/opaque.h"
#include "core/custom_slots.h"
#include "core/extensible_type.h"
#include "examples/class_data/unit_slot.h"
#include "examples/class_data/units.h"

namespace {

// This module has C statics, so it supports only the main interpreter.
PyTypeObject *mass_type = nullptr;  // a metaclass with a C field
PyTypeObject *mass_metatype = nullptr;
PyTypeObject *holder_type = nullptr;
PyObject *holders = nullptr;  // maps a class to its holder
// Volatile, so that the compiler must read it each time.
const mass_unit *volatile first_unit = nullptr;

// A class object with an additional C field.
struct class_with_field {
  PyHeapTypeObject heap_type;
  const mass_unit *unit;
};

struct holder {
  PyObject_HEAD
  const mass_unit *unit;
};

const mass_unit *field_of(PyTypeObject *type) {
  return reinterpret_cast<class_with_field *>(type)->unit;
}

// Makes a class with this metaclass and base. `methods` may be NULL. Returns a new reference.
PyObject *make_class(PyTypeObject *metaclass, PyObject *base, PyMethodDef *methods = nullptr) {
  PyType_Slot slots[] = {{methods != nullptr ? Py_tp_methods : 0, methods}, {0, nullptr}};
  // Before 3.11 a type refers to the name in its spec, so the name must not be freed.
  PyType_Spec spec = {"class_data_designs.Made", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      slots};
  return PyExtensibleType_FromMetaclass(metaclass, nullptr, &spec, base);
}

PyObject *make_with_field(PyTypeObject *metaclass, PyObject *base, const mass_unit *unit) {
  PyObject *made = make_class(metaclass, base);
  if (made != nullptr) reinterpret_cast<class_with_field *>(made)->unit = unit;
  return made;
}

// A class without a pointer: the baseline.
struct plain {
  static PyObject *make(PyObject *base, const mass_unit *) {
    return make_class(&PyType_Type, base);
  }
  static const mass_unit *find(PyObject *) {
    const mass_unit *known = units;
    bench::hide(known);
    return known;
  }
};

// A variable, and a class with a method that reads it. A program cannot make more variables at run
// time, so only the first unit has such a class.
struct module_variable {
  static PyObject *method(PyObject *self, PyObject *) {
    return PyUnicode_FromString(find(self)->symbol);
  }
  static PyObject *make(PyObject *base, const mass_unit *unit) {
    static PyMethodDef methods[] = {{"text", method, METH_NOARGS, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};
    if (unit != units) {
      PyErr_SetString(PyExc_NotImplementedError, "every unit needs code of its own");
      return nullptr;
    }
    first_unit = unit;
    return make_class(&PyType_Type, base, methods);
  }
  static const mass_unit *find(PyObject *) { return first_unit; }
};

struct dictionary {
  static PyObject *make(PyObject *base, const mass_unit *unit) {
    PyObject *made = make_class(&PyType_Type, base);
    PyObject *held = made != nullptr ? holder_type->tp_alloc(holder_type, 0) : nullptr;
    if (held != nullptr) reinterpret_cast<holder *>(held)->unit = unit;
    if (held == nullptr || PyDict_SetItem(holders, made, held) < 0) Py_CLEAR(made);
    Py_XDECREF(held);
    return made;
  }
  static const mass_unit *find(PyObject *any) {
    PyObject *type = reinterpret_cast<PyObject *>(Py_TYPE(any));
    PyObject *held = PyDict_GetItemWithError(holders, type);
    return held != nullptr ? reinterpret_cast<holder *>(held)->unit : nullptr;
  }
};

struct metaclass {
  static PyObject *make(PyObject *base, const mass_unit *unit) {
    return make_with_field(mass_type, base, unit);
  }
  static const mass_unit *find(PyObject *any) { return field_of(Py_TYPE(any)); }
};

struct metaclass_mro : metaclass {
  static const mass_unit *find(PyObject *any) {
    const mass_unit *own = field_of(Py_TYPE(any));
    if (PyTypedcall_LIKELY(own != nullptr)) return own;
    PyObject *mro = Py_TYPE(any)->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      PyObject *parent = PyTuple_GET_ITEM(mro, i);
      if (!PyObject_TypeCheck(parent, mass_type)) continue;
      const mass_unit *inherited = field_of(reinterpret_cast<PyTypeObject *>(parent));
      if (inherited != nullptr) return inherited;
    }
    return nullptr;
  }
};

// Every class has its own metaclass, which contains the field.
struct meta_metaclass {
  static PyObject *make(PyObject *base, const mass_unit *unit) {
    PyObject *own =
        make_with_field(mass_metatype, reinterpret_cast<PyObject *>(&PyType_Type), unit);
    if (own == nullptr) return nullptr;
    PyObject *made = make_class(reinterpret_cast<PyTypeObject *>(own), base);
    Py_DECREF(own);
    return made;
  }
  static const mass_unit *find(PyObject *any) { return field_of(Py_TYPE(Py_TYPE(any))); }
};

struct custom_slot {
  static PyObject *make(PyObject *base, const mass_unit *unit) {
    PyType_Slot no_slots[] = {{0, nullptr}};
    PyType_Spec spec = {"class_data_designs.Made", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                        no_slots};
    PyCustomSlot slot = {};
    slot.id = UNIT_SLOT_ID;
    slot.data.pointer = const_cast<mass_unit *>(unit);
    return PyExtensibleType_FromSpec(nullptr, &spec, base, &slot, 1);
  }
  static const mass_unit *find(PyObject *any) {
    const PyCustomSlot *slot = PyCustomSlots_Find(any, UNIT_SLOT_ID, 0);
    return slot != nullptr ? static_cast<const mass_unit *>(slot->data.pointer) : nullptr;
  }
};

// Returns the thread's processor time.
double nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Measures the nanoseconds per access. If `chained` is true, the address of the next instance
// depends on the previous result, so the processor cannot overlap accesses.
template <class Design, bool chained>
__attribute__((noinline)) double measure(PyObject *instance, long count) {
  std::uintptr_t zero = 0;
  bench::hide(zero);
  const double start = nanoseconds();
  PyObject *any = instance;
  for (long i = 0; i < count; ++i) {
    bench::hide(any);
    auto found = reinterpret_cast<std::uintptr_t>(Design::find(any));
    bench::hide(found);
    if (chained)
      any = reinterpret_cast<PyObject *>(reinterpret_cast<char *>(instance) + (found & zero));
  }
  return (nanoseconds() - start) / static_cast<double>(count);
}

struct design {
  const char *name;
  PyObject *(*make)(PyObject *base, const mass_unit *);
  const mass_unit *(*find)(PyObject *);
  double (*overlapping)(PyObject *, long);
  double (*chained)(PyObject *, long);
};

template <class Design>
constexpr design describe(const char *name) {
  return {name, Design::make, Design::find, measure<Design, false>, measure<Design, true>};
}

constexpr design designs[] = {
    describe<plain>("plain"),
    describe<module_variable>("module variable"),
    describe<dictionary>("dictionary"),
    describe<metaclass>("metaclass"),
    describe<metaclass_mro>("metaclass, MRO walk"),
    describe<meta_metaclass>("meta-metaclass"),
    describe<custom_slot>("custom slot"),
};

// Returns NULL with ValueError set for an unknown name.
const design *find_design(const char *name) {
  for (const design &each : designs) {
    if (std::strcmp(each.name, name) == 0) return &each;
  }
  PyErr_Format(PyExc_ValueError, "no design is called '%s'", name);
  return nullptr;
}

// Makes a type of `size` bytes, derived from `base`, or from object if that is NULL.
PyTypeObject *make_type(const char *name, std::size_t size, PyTypeObject *base) {
  PyType_Slot no_slots[] = {{0, nullptr}};
  PyType_Spec spec = {name, static_cast<int>(size), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      no_slots};
  PyObject *bases = base != nullptr ? PyTuple_Pack(1, base) : nullptr;
  if (base != nullptr && bases == nullptr) return nullptr;
  PyObject *made = PyType_FromSpecWithBases(&spec, bases);
  Py_XDECREF(bases);
  return reinterpret_cast<PyTypeObject *>(made);
}

PyObject *py_base(PyObject *, PyObject *) {
  return reinterpret_cast<PyObject *>(
      make_type("class_data_designs.Mass", sizeof(PyObject), nullptr));
}

PyObject *py_make(PyObject *, PyObject *args) {
  const char *name;
  PyObject *base;
  int second = 0;
  if (!PyArg_ParseTuple(args, "sO!|p", &name, &PyType_Type, &base, &second)) return nullptr;
  const design *chosen = find_design(name);
  return chosen != nullptr ? chosen->make(base, &units[second]) : nullptr;
}

// The class must be a class of the given design, because most designs do not check this.
PyObject *py_find(PyObject *, PyObject *args) {
  const char *name;
  PyObject *instance;
  if (!PyArg_ParseTuple(args, "sO", &name, &instance)) return nullptr;
  const design *chosen = find_design(name);
  if (chosen == nullptr) return nullptr;
  const mass_unit *found = chosen->find(instance);
  if (found != nullptr) return PyUnicode_FromString(found->symbol);
  if (PyErr_Occurred()) return nullptr;
  Py_RETURN_NONE;
}

PyObject *py_measure(PyObject *, PyObject *args) {
  const char *name;
  PyObject *instance;
  long count;
  int chained;
  if (!PyArg_ParseTuple(args, "sOlp", &name, &instance, &count, &chained)) return nullptr;
  const design *chosen = find_design(name);
  if (chosen == nullptr) return nullptr;
  if (chosen->find(instance) == nullptr || count <= 0) {
    return PyErr_Format(PyExc_ValueError, "'%s' finds nothing there, or no count", name);
  }
  return PyFloat_FromDouble((chained ? chosen->chained : chosen->overlapping)(instance, count));
}

PyMethodDef methods[] = {
    {"base", py_base, METH_NOARGS, "base(): a new common base of classes."},
    {"make", py_make, METH_VARARGS,
     "make(design, base, second=False): a new class with that unit."},
    {"find", py_find, METH_VARARGS, "find(design, instance): the symbol of its unit, or None."},
    {"measure", py_measure, METH_VARARGS,
     "measure(design, instance, count, chained): nanoseconds per access."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "class_data_designs",
    nullptr,
    -1,
    methods,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_class_data_designs() {
  mass_type = make_type("class_data_designs.UnitType", sizeof(class_with_field), &PyType_Type);
  mass_metatype =
      make_type("class_data_designs.UnitMetaType", sizeof(class_with_field), &PyType_Type);
  holder_type = make_type("class_data_designs.Holder", sizeof(holder), nullptr);
  holders = PyDict_New();
  PyObject *module = PyModule_Create(&definition);
  PyObject *names = PyList_New(0);
  bool failed = mass_type == nullptr || mass_metatype == nullptr || holder_type == nullptr ||
                holders == nullptr || module == nullptr || names == nullptr;
  for (const design &each : designs) {
    PyObject *name = failed ? nullptr : PyUnicode_FromString(each.name);
    failed = name == nullptr || PyList_Append(names, name) < 0;
    Py_XDECREF(name);
  }
  if (!failed) failed = PyObject_SetAttrString(module, "designs", names) < 0;
  Py_XDECREF(names);
  if (failed) Py_CLEAR(module);
  return module;
}
