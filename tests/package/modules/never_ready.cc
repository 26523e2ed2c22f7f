// Instances of static types on which PyType_Ready was never called, and functions that take them.
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

#include "core/foreign_slots.h"
#include "typedcall/native_callable_slot.h"

#include <complex>

namespace {

PyObject *call(PyObject *, PyObject *args, PyObject *) {
  double x;
  return PyArg_ParseTuple(args, "d", &x) ? PyFloat_FromDouble(x / 2) : nullptr;
}

PyObject *as_complex(PyObject *, PyObject *) { return PyComplex_FromDoubles(3, 4); }

PyMethodDef complex_methods[] = {{"__complex__", as_complex, METH_NOARGS, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

// The first use of a type may make it ready, so each instance has a type of its own. Neither is
// ever freed.
PyObject *instance(bool has_complex) {
  PyTypeObject *type = new PyTypeObject();
  type->tp_name = "never_ready.Static";
  type->tp_basicsize = sizeof(PyObject);
  type->tp_flags = Py_TPFLAGS_DEFAULT;
  type->tp_call = call;
  if (has_complex) type->tp_methods = complex_methods;
#if PY_VERSION_HEX >= 0x030C0000 && !defined(Py_GIL_DISABLED)
  type->ob_base.ob_base.ob_refcnt = _Py_IMMORTAL_REFCNT;
#else
  Py_SET_REFCNT(reinterpret_cast<PyObject *>(type), 1);
#endif
  PyObject *object = new PyObject();
  PyObject_Init(object, type);
  Py_INCREF(object);
  return object;
}

double magnitude(std::complex<double> x) noexcept { return std::abs(x); }
double plus_one(double x) noexcept { return x + 1; }

PyObject *resolved(PyObject *object, double x) {
  auto f = typedcall::resolve<double(double)>(PyTypedcall_Import(), object);
  return f ? PyFloat_FromDouble(f(x)) : nullptr;
}

bool has_slot(PyObject *object) {
  return PyCustomSlots_FindAny(PyTypedcall_Import(), object, PYCUSTOMSLOT_NATIVECALLABLE_ID, 0) !=
         nullptr;
}

bool register_slot(PyObject *object) {
  static const PyCustomSlot slot = {0x01000205, {nullptr}};
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (PyForeignSlots_Register(interface, Py_TYPE(object), &slot, 1) < 0) return false;
  return PyCustomSlots_FindAny(interface, object, slot.id, 0) != nullptr;
}

typedcall::method_table methods{
    typedcall::def<instance>("instance"),
    typedcall::def<plus_one>("plus_one"),
    typedcall::def<plus_one, magnitude>("among_two"),
    typedcall::def<resolved>("resolved"),
    typedcall::def<has_slot>("has_slot"),
    typedcall::def<register_slot>("register_slot"),
};

}  // namespace

TYPEDCALL_MODULE(never_ready, "Instances of types that were never made ready.", methods);
