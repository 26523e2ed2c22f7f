// A type with every kind of method, and functions that take their module.

#include <cmath>
#include <stdexcept>

#include "typedcall/provider.h"

namespace {

struct methods_state : typedcall::module_state {
  long calls = 0;
  const PyTypedcall_Interface *interface = nullptr;

  int exec(PyObject *module);
};

// --- The type ---

struct vector {
  PyObject_HEAD
  double x, y;
};

double dot(vector *self, double x, double y) noexcept { return self->x * x + self->y * y; }
double norm2(vector *self) noexcept { return self->x * self->x + self->y * self->y; }
void move(PyObject *self, double x) {
  if (x < 0) throw std::domain_error("negative");
  reinterpret_cast<vector *>(self)->x += x;
}
long compare_x(vector *self, double x) noexcept { return self->x < x ? -1 : self->x > x ? 1 : 0; }
long compare_y(vector *, const char *name) noexcept { return std::strcmp(name, "y"); }
int divide(vector *self, double by, double *result) noexcept {
  if (by < 0 || by > 0) {
    *result = self->x / by;
    return 0;
  }
  PyErr_SetString(PyExc_ZeroDivisionError, "division by zero");
  return -1;
}
PyObject *itself(PyObject *self) noexcept {
  Py_INCREF(self);
  return self;
}
double scaled(vector *self, double factor, bool negate) noexcept {
  return self->x * (negate ? -factor : factor);
}

// These functions use the state of the module. Self may be an instance of a subclass.
long counted(vector *self) { return ++typedcall::state_of<methods_state>(self).calls; }
long counted_more(vector *self, long more) {
  return typedcall::state_of<methods_state>(self).calls += more;
}
long counted_double(vector *self, double more) { return counted_more(self, std::lround(more)); }
long counted_by_class(PyTypeObject *type) {
  return ++typedcall::state_of<methods_state>(type).calls;
}

PyObject *unit(PyTypeObject *type, double x, double y) noexcept {
  return PyObject_CallFunction(reinterpret_cast<PyObject *>(type), "dd", x, y);
}
long answer() noexcept { return 42; }
double sum(double a, double b) noexcept { return a + b; }

typedcall::type_method_table vector_methods{
    typedcall::def<dot>("dot", typedcall::takes_self, "The scalar product.", typedcall::arg("x"),
                        typedcall::arg("y") = 0.0),
    typedcall::def<norm2>("norm2", typedcall::takes_self),
    typedcall::def<move>("move", typedcall::takes_self),
    typedcall::def<compare_x, compare_y>("compare", typedcall::takes_self),
    typedcall::def<divide>("divide", typedcall::takes_self | typedcall::returns_status),
    typedcall::def<itself>("itself", typedcall::takes_self),
    typedcall::def<scaled>("scaled", typedcall::takes_self, typedcall::positional("factor"),
                           typedcall::positional("negate") = false),
    typedcall::def<counted>("counted", typedcall::takes_self),
    typedcall::def<counted_more>("counted_more", typedcall::takes_self, typedcall::arg("more") = 1),
    typedcall::def<counted_more, counted_double>("counted_either", typedcall::takes_self),
    typedcall::def<counted_by_class>("counted_by_class",
                                     typedcall::takes_self | typedcall::class_method),
    typedcall::def<unit>("unit", typedcall::takes_self | typedcall::class_method),
    typedcall::def<answer>("answer", typedcall::class_method),
    typedcall::def<sum>("sum", typedcall::static_method),
    typedcall::def<sum>("sum_of_names", typedcall::static_method, typedcall::arg("a"),
                        typedcall::arg("b")),
    typedcall::def<answer>("ignores_self", "No self."),
    typedcall::def<dot>("dot_by_name", typedcall::takes_self, typedcall::arg("x"),
                        typedcall::keyword_only, typedcall::arg("y") = 0.0),
    typedcall::def<counted_more>("counted_by_name", typedcall::takes_self, typedcall::keyword_only,
                                 typedcall::arg("more")),
    typedcall::def<sum>("sum_by_name", typedcall::static_method, typedcall::keyword_only,
                        typedcall::arg("a"), typedcall::arg("b")),
};

int set_parts(PyObject *self, PyObject *args, PyObject *) {
  auto *made = reinterpret_cast<vector *>(self);
  return PyArg_ParseTuple(args, "dd", &made->x, &made->y) ? 0 : -1;
}
void release(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot vector_slots[] = {
    {Py_tp_methods, vector_methods.defs()},
    {Py_tp_init, reinterpret_cast<void *>(set_parts)},
    {Py_tp_new, reinterpret_cast<void *>(PyType_GenericNew)},
    {Py_tp_dealloc, reinterpret_cast<void *>(release)},
    {0, nullptr},
};
PyType_Spec vector_spec = {"provider_methods.vector", sizeof(vector), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, vector_slots};

// --- The module ---

methods_state *state_of(PyObject *module) { return &typedcall::state_of<methods_state>(module); }

long count(PyObject *module) noexcept { return ++state_of(module)->calls; }
void add_to_count(PyObject *module, long more) noexcept { state_of(module)->calls += more; }
long calls_of(PyObject *, PyObject *object) {
  return typedcall::state_of<methods_state>(object).calls;
}
long calls_of_maker(PyObject *, PyObject *object) {
  return typedcall::state_of<methods_state>(PyType_GetModule(Py_TYPE(object))).calls;
}
PyObject *me(PyObject *module) noexcept { return itself(module); }

// Returns [(signature, flags)] for the entries of a callable.
PyObject *entries(PyObject *module, PyObject *callable) noexcept {
  PyMethodDef *def = PyTypedMethod_DefOf(callable);
  if (Py_TYPE(callable) == &PyClassMethodDescr_Type) {
    def = reinterpret_cast<PyMethodDescrObject *>(callable)->d_method;
  }
  if (def == nullptr) return PyErr_Format(PyExc_TypeError, "no def");
  const PyTypedcall_Interface *interface = state_of(module)->interface;
  const auto *table = PyTypedMethod_Table(def);
  if (table == nullptr) {
    table = static_cast<const PyNativeCallableTable *>(
        interface->find(interface->state, PyTypedcall_BY_DEF, def));
  }
  PyObject *list = PyList_New(0);
  for (Py_ssize_t i = 0; list != nullptr && table != nullptr && i < table->count; ++i) {
    const PyNativeCallableEntry &entry = table->entries[i];
    const typedcall::object_ref def = typedcall::object_ref::steal(
        Py_BuildValue("(sK)", entry.signature, static_cast<unsigned long long>(entry.flags)));
    if (!def || PyList_Append(list, def.get()) < 0) Py_CLEAR(list);
  }
  return list;
}

// Calls the entry of vector.dot as a consumer would.
PyObject *native_dot(PyObject *module, PyObject *instance, double x, double y) noexcept {
  const typedcall::object_ref type =
      typedcall::object_ref::steal(PyObject_GetAttrString(module, "vector"));
  const typedcall::object_ref descriptor =
      typedcall::object_ref::steal(type ? PyObject_GetAttrString(type.get(), "dot") : nullptr);
  if (!descriptor) return nullptr;
  PyMethodDef *def = PyTypedMethod_DefOf(descriptor.get());
  const PyTypedcall_Interface *interface = state_of(module)->interface;
  const auto *table = PyTypedMethod_Table(def);
  if (table == nullptr) {
    table = static_cast<const PyNativeCallableTable *>(
        interface->find(interface->state, PyTypedcall_BY_DEF, def));
  }
  using pointer = double (*)(PyObject *, double, double);
  return PyFloat_FromDouble(reinterpret_cast<pointer>(table->entries[0].funcptr)(instance, x, y));
}

typedcall::method_table methods{
    typedcall::def<count>("count", typedcall::takes_self),
    typedcall::def<add_to_count>("add_to_count", typedcall::takes_self, typedcall::arg("more") = 1),
    typedcall::def<calls_of>("calls_of", typedcall::takes_self),
    typedcall::def<calls_of_maker>("calls_of_maker", typedcall::takes_self),
    typedcall::def<me>("me", typedcall::takes_self),
    typedcall::def<entries>("entries", typedcall::takes_self),
    typedcall::def<native_dot>("native_dot", typedcall::takes_self),
};

int methods_state::exec(PyObject *module) {
  calls += 100;
  interface = PyTypedcall_Import();
  if (interface == nullptr) return -1;
  PyObject *type = PyType_FromModuleAndSpec(module, &vector_spec, nullptr);
  if (type == nullptr) return -1;
  if (vector_methods.tag(type) < 0 || PyModule_AddObject(module, "vector", type) < 0) {
    Py_DECREF(type);
    return -1;
  }
  return 0;
}

}  // namespace

TYPEDCALL_MODULE_STATE(provider_methods, "Methods.", methods, methods_state);
