/* A module in C that tags in each way of typedcall/tag.h. With REQUIRED, its tags
 * are required. With MALFORMED, one of them is faulty. */
#include "tests/support/c_module.h"
#include "typedcall/tag.h"

static double twice_of(double x) { return 2 * x; }
static long seven_of(PyObject *self) { return self != NULL ? 7 : 0; }

static PyObject *twice(PyObject *self, PyObject *x) {
  const double value = PyFloat_AsDouble(x);
  (void)self;
  return value == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(twice_of(value));
}

static PyObject *seven(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromLong(seven_of(self));
}

PyTypedMethod_DEFINE(twice_typed, "twice", {"d->d", 0, (void *)twice_of});
PyTypedMethod_DEFINE(edited_typed, "edited", {"d->d", 0, (void *)twice_of});
PyTypedMethod_DEFINE(seven_typed, "seven", PyTypedMethod_ENTRY_WITH_SELF(0, seven_of, LONG));
static const PyTypedMethodMetadata *const typed[] = {&twice_typed, &edited_typed, NULL};
static const PyTypedMethodMetadata *const typed_in_place[] = {&edited_typed, NULL};
static const PyTypedMethodMetadata *const typed_methods[] = {&seven_typed, NULL};

static PyMethodDef methods[] = {
    PyTypedMethod_METHOD_DEF(twice_typed, twice, METH_O, NULL),
    {"edited", twice, METH_O, NULL}, /* by PyTypedMethod_TagArray */
    {"plain", twice, METH_O, NULL},  /* by PyTypedMethod_TagCallable */
    {NULL, NULL, 0, NULL},
};
static PyMethodDef type_methods[] = {
    PyTypedMethod_METHOD_DEF(seven_typed, seven, METH_NOARGS, NULL),
    {NULL, NULL, 0, NULL},
};
static PyType_Slot type_slots[] = {{Py_tp_methods, type_methods}, {0, NULL}};

#ifdef MALFORMED
static const PyNativeCallableTable table = {1, {{"d-d", 0, (void *)twice_of}}};
#else
static const PyNativeCallableTable table = {1, {{"d->d", 0, (void *)twice_of}}};
#endif

#ifdef REQUIRED
#define ADD_TAGS PyTypedMethod_AddRequiredTags
#define IMPORT(module) PyTypedcall_Import()
#else
#define ADD_TAGS PyTypedMethod_AddTags
#define IMPORT(module) PyTypedcall_ImportForTags(module)
#endif

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

static int TagOthers(PyObject *module, PyObject *type) {
  const PyTypedcall_Interface *interface = IMPORT(module);
  PyObject *plain = PyObject_GetAttrString(module, "plain");
  if (plain == NULL) return -1;
  const int tagged = PyTypedMethod_TagCallable(interface, plain, &table, NULL);
  Py_DECREF(plain);
  if (tagged < 0 || PyNativeCallable_TagObject(interface, type, &table, NULL) < 0) return -1;
  return 0;
}

static int exec(PyObject *module) {
  static PyType_Spec spec = {TEXT(NAME) ".Thing", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                             type_slots};
  if (ADD_TAGS(module, methods, typed) < 0) return -1;
  PyObject *type = PyType_FromSpec(&spec);
  if (type == NULL) return -1;
  const int failed = ADD_TAGS(type, type_methods, typed_methods) < 0 ||
                     TagOthers(module, type) < 0 ||
                     PyObject_SetAttrString(module, "Thing", type) < 0;
  Py_DECREF(type);
  return failed ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec}, TEST_MODULE_OWN_GIL, {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, TEXT(NAME), NULL, 0, methods, slots, NULL, NULL, NULL,
};

#define INIT_(name) PyInit_##name
#define INIT(name) INIT_(name)

PyMODINIT_FUNC INIT(NAME)(void) {
  if (PyTypedMethod_TagArray(methods, typed_in_place) < 0) return NULL;
  return PyModuleDef_Init(&definition);
}
