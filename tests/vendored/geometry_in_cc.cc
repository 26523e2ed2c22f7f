// A C++ module that only uses the single file. The module is made from this file and second_unit.c.
#include "typedcall_provider.h"
#include "typedcall_provider.h"  // included twice on purpose

extern "C" const PyTypedMethodMetadata *metadata_of_c_unit(void);

namespace {

long product(long a, long b) { return a * b; }
double product(double a, double b) { return a * b; }

PyObject *boxed(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  if (nargs != 2) return PyErr_Format(PyExc_TypeError, "product() takes two numbers");
  return PyNumber_Multiply(args[0], args[1]);
}

// The compiler chooses the overload that matches each entry.
PyTypedMethod_DEFINE(product_typed, "product", PyTypedMethod_ENTRY(0, product, LONG, LONG, LONG),
                     PyTypedMethod_ENTRY(0, product, DOUBLE, DOUBLE, DOUBLE));

PyMethodDef functions[] = {
    PyTypedMethod_METHOD_DEF(product_typed, boxed, METH_FASTCALL, nullptr),
    {"in_c", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(boxed)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};

int exec(PyObject *module) {
  const PyTypedMethodMetadata *const typed[] = {&product_typed, metadata_of_c_unit(), nullptr};
  if (PyTypedMethod_AddTags(module, functions, typed) < 0) return -1;
  static PyType_Slot no_slots[] = {{0, nullptr}};
  static PyType_Spec spec = {"geometry_in_cc.Flagged", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                             no_slots};
  PyCustomSlot slots[1] = {};
  slots[0].id = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 7, 0);
  slots[0].data.flags = 42;
  PyObject *type = PyExtensibleType_FromSpec(module, &spec, nullptr, slots, 1);
  const int failed = type == nullptr || PyObject_SetAttrString(module, "Flagged", type) < 0;
  Py_XDECREF(type);
  return failed ? -1 : 0;
}

PyModuleDef_Slot module_slots[] = {{Py_mod_exec, reinterpret_cast<void *>(exec)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "geometry_in_cc", nullptr, 0,      functions,
                          module_slots,          nullptr,          nullptr, nullptr};

}  // namespace

PyTypedMethod_SIBLING(product, functions[0], product_typed);

PyMODINIT_FUNC PyInit_geometry_in_cc() {
  const PyTypedMethodMetadata *const typed[] = {metadata_of_c_unit(), nullptr};
  if (PyTypedMethod_TagArray(functions, typed) < 0) return nullptr;
  return PyModuleDef_Init(&definition);
}
