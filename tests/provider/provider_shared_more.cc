// Three modules in one file. Each sets its translator when it is executed. The last one fails.
#include "tests/provider/provider_shared.h"

namespace {

auto second_methods = table_of_functions<2>();
auto third_methods = table_of_functions<3>();
typedcall::method_table no_methods;
typedcall::type_method_table thing_methods{
    typedcall::def<fail_as_method<2>>("fail", typedcall::takes_self)};

PyType_Slot thing_slots[] = {{Py_tp_methods, thing_methods.defs()}, {0, nullptr}};
PyType_Spec thing_spec = {"provider_shared_second.Thing", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                          thing_slots};

struct second_state : typedcall::module_state {
  int exec(PyObject *module) {
    typedcall::set_exception_translator(to_python<&PyExc_KeyError>);
    const auto type =
        typedcall::object_ref::steal(PyType_FromModuleAndSpec(module, &thing_spec, nullptr));
    if (!type || thing_methods.tag(type.get()) < 0) return -1;
    return PyObject_SetAttrString(module, "Thing", type.get());
  }
};

struct third_state : typedcall::module_state {
  int exec(PyObject *) {
    typedcall::set_exception_translator(to_python<&PyExc_OSError>);
    return 0;
  }
};

struct failing_state : typedcall::module_state {
  int exec(PyObject *) {
    typedcall::set_exception_translator(to_python<&PyExc_BufferError>);
    throw own_error("in exec()");
  }
};

}  // namespace

TYPEDCALL_MODULE_STATE(provider_shared_second, "", second_methods, second_state);
TYPEDCALL_MODULE_STATE(provider_shared_third, "", third_methods, third_state);
TYPEDCALL_MODULE_STATE(provider_shared_failing, "", no_methods, failing_state);
