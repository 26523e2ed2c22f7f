/* A provider with a future version of the ABI. It installs an interface of version
 * FAKED_MAJOR.FAKED_MINOR with unknown functions. ASan detects reads beyond the struct.
 *
 * The known functions are those of the real interface, which is kept alive. */
#ifndef TYPEDCALL_TESTS_RENDEZVOUS_FAKED_ABI_H_
#define TYPEDCALL_TESTS_RENDEZVOUS_FAKED_ABI_H_

#include "core/extensible_type.h"

#define FAKED_SIZE (sizeof(PyTypedcall_Interface) + 3 * sizeof(void *))

static void FakedCapsuleDied(PyObject *capsule) {
  PyMem_RawFree(PyCapsule_GetPointer(capsule, PyTypedcall_CAPSULE_NAME));
  Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* Replaces the real capsule with a faked one that keeps the real one alive. */
static PyObject *FakedCapsule(PyObject *kept, PyObject *dict) {
  PyObject *real = PyDict_GetItemString(kept, PyTypedcall_CAPSULE_NAME);
  const PyTypedcall_Interface *known = PyTypedcall_Peek();
  if (real == NULL || known == NULL) return NULL;
  unsigned char *bytes = (unsigned char *)PyMem_RawCalloc(1, FAKED_SIZE);
  if (bytes == NULL) return PyErr_NoMemory();
  PyTypedcall_Interface header = *known;
  header.abi_major = FAKED_MAJOR;
  header.abi_minor = FAKED_MINOR;
  header.size = (uint32_t)FAKED_SIZE;
  memcpy(bytes, &header, sizeof(header));
  memset(bytes + sizeof(header), 0xaa, FAKED_SIZE - sizeof(header)); /* future functions */
  PyObject *capsule = PyCapsule_New(bytes, PyTypedcall_CAPSULE_NAME, FakedCapsuleDied);
  if (capsule == NULL) return NULL;
  Py_INCREF(real);
  if (PyCapsule_SetContext(capsule, real) < 0 ||
      PyDict_SetItemString(dict, PyTypedcall_CAPSULE, capsule) < 0 ||
      PyDict_SetItemString(kept, PyTypedcall_CAPSULE_NAME, capsule) < 0) {
    Py_CLEAR(capsule);
  }
  return capsule;
}

/* Returns 0, or -1 with an exception set. */
static int InstallFaked(void) {
  if (PyTypedcall_Peek() != NULL) return 0;
  if (PyTypedcall_Import() == NULL) return -1;
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject *module = PyImport_AddModule(PyTypedcall_MODULE);
  if (kept == NULL || module == NULL) return -1;
  PyObject *capsule = FakedCapsule(kept, PyModule_GetDict(module));
  if (capsule == NULL) return -1;
  Py_DECREF(capsule);
  return 0;
}

#define FAKED_INIT(name)                  \
  PyMODINIT_FUNC PyInit_##name(void) {    \
    if (InstallFaked() < 0) return NULL;  \
    return PyModuleDef_Init(&module_def); \
  }

#endif /* TYPEDCALL_TESTS_RENDEZVOUS_FAKED_ABI_H_ */
