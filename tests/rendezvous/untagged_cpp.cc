// A module of the C++ provider with functions and a type. With REQUIRED, its tags are required.
// With MALFORMED, a parameter name is invalid.
#include "typedcall/provider.h"

namespace {

double twice(double x) noexcept { return 2 * x; }
long plus(long x, long y) noexcept { return x + y; }
long seven(PyObject *) { return 7; }

#ifdef MALFORMED
#define NAMES typedcall::arg("class"), typedcall::arg("y")
#else
#define NAMES typedcall::arg("x"), typedcall::arg("y")
#endif

typedcall::method_table methods{typedcall::def<twice>("twice"),
                                typedcall::def<plus>("plus", NAMES)};
typedcall::type_method_table type_methods{typedcall::def<seven>("seven", typedcall::takes_self)};

struct state : typedcall::module_state {
  int exec(PyObject *module) {
    PyType_Slot slots[] = {{Py_tp_methods, type_methods.defs()}, {0, nullptr}};
    PyType_Spec spec = {"untagged.Thing", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
    const auto type =
        typedcall::object_ref::steal(PyType_FromModuleAndSpec(module, &spec, nullptr));
    if (!type) return -1;
    const typedcall::object_ref name =
        typedcall::object_ref::steal(PyObject_GetAttrString(module, "__name__"));
    if (!name || PyObject_SetAttrString(type.get(), "__module__", name.get()) < 0) return -1;
    if (type_methods.tag(type.get()) < 0) return -1;
    return PyObject_SetAttrString(module, "Thing", type.get());
  }
};

}  // namespace

#ifdef REQUIRED
TYPEDCALL_MODULE_STATE(NAME, "A module that requires its tags.", methods.required(), state);
#else
TYPEDCALL_MODULE_STATE(NAME, "A module with tags.", methods, state);
#endif
