/* A consumer that reports which interface this interpreter has. */
#include "core/rendezvous.h"
#include "tests/support/c_module.h"

/* abi() returns (major, minor, size, address) of the interface. */
static PyObject *Abi(PyObject *module, PyObject *unused) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  return Py_BuildValue("iiIN", (int)interface->abi_major, (int)interface->abi_minor,
                       (unsigned)interface->size, PyLong_FromVoidPtr((void *)(uintptr_t)interface));
}

/* peek() returns the address of the interface, or None. */
static PyObject *Peek(PyObject *module, PyObject *unused) {
  const PyTypedcall_Interface *interface = PyTypedcall_Peek();
  if (interface == NULL) Py_RETURN_NONE;
  return PyLong_FromVoidPtr((void *)(uintptr_t)interface);
}

/* find(object, idea) returns the flags of a slot, or None. */
static PyObject *Find(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long idea;
  if (!PyArg_ParseTuple(args, "Ok", &object, &idea)) return NULL;
  const PyCustomSlot *slot =
      PyCustomSlots_Find(object, PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, idea, 0), 0);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromSize_t(slot->data.flags);
}

static PyMethodDef methods[] = {
    {"abi", Abi, METH_NOARGS, NULL},
    {"peek", Peek, METH_NOARGS, NULL},
    {"find", Find, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int Exec(PyObject *module) {
  return PyModule_AddIntConstant(module, "SIZE", (long)sizeof(PyTypedcall_Interface)) |
         PyModule_AddIntConstant(module, "MAJOR", PyTypedcall_ABI_MAJOR) |
         PyModule_AddIntConstant(module, "MINOR", PyTypedcall_ABI_MINOR);
}

TEST_MODULE_SLOTS(abi_probe, methods, {Py_mod_exec, (void *)Exec}, TEST_MODULE_OWN_GIL)
