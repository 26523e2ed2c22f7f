// A typed module in C++ for the limited API. It is a provider like angles.c, and also a consumer.
// It uses only the C99 headers.
#include "typedcall/native_callable.h"
#include "typedcall/typed_method.h"

namespace {

class reference {  // owned
 public:
  explicit reference(PyObject *object) : object_(object) {}
  reference(const reference &) = delete;
  reference &operator=(const reference &) = delete;
  ~reference() { Py_XDECREF(object_); }
  PyObject *get() const { return object_; }

 private:
  PyObject *object_;
};

double half_turn_impl(double angle) noexcept {
  return angle < 180.0 ? angle + 180.0 : angle - 180.0;
}

PyObject *half_turn(PyObject *, PyObject *angle) {
  const double given = PyFloat_AsDouble(angle);
  if (given == -1.0 && PyErr_Occurred()) return nullptr;
  return PyFloat_FromDouble(half_turn_impl(given));
}

// The C function of a callable, and a reference that keeps the C function valid. Functions that
// need the GIL are accepted. Functions with any other demand on the caller are refused, for example
// those that may raise or that take self.
class native_function {
 public:
  explicit native_function(PyObject *callable)
      : package_(PyImport_ImportModule("typedcall")),
        // resolve() raises TypeError with a list of the signatures on offer.
        found_(package_.get() == nullptr
                   ? nullptr
                   : PyObject_CallMethod(package_.get(), "resolve", "Os", callable, "d->d")) {
    if (found_.get() == nullptr) return;
    const reference flags(PyObject_GetAttrString(found_.get(), "flags"));
    const reference address(PyObject_GetAttrString(found_.get(), "address"));
    if (flags.get() == nullptr || address.get() == nullptr) return;
    const unsigned long says = PyLong_AsUnsignedLong(flags.get());
    if (PyErr_Occurred()) return;
    if ((says & PyNativeCallable_MANDATORY_MASK & ~PyNativeCallable_NEEDS_THREAD) != 0) {
      PyErr_SetString(PyExc_TypeError, "the function requires more of its caller than the GIL");
      return;
    }
    call_ = reinterpret_cast<double (*)(double)>(PyLong_AsVoidPtr(address.get()));
  }

  // Returns NULL with an exception set if there is no such function.
  double (*get() const)(double) { return call_; }

 private:
  reference package_, found_;
  double (*call_)(double) = nullptr;
};

PyObject *walk(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  if (nargs != 3) {
    return PyErr_Format(PyExc_TypeError, "walk() takes 3 arguments (%zd given)", nargs);
  }
  double angle = PyFloat_AsDouble(args[1]);
  if (angle == -1.0 && PyErr_Occurred()) return nullptr;
  const long steps = PyLong_AsLong(args[2]);
  if (steps == -1 && PyErr_Occurred()) return nullptr;
  const native_function turn(args[0]);
  const auto call = turn.get();
  if (call == nullptr) return nullptr;
  for (long i = 0; i < steps; ++i) angle = call(angle);
  return PyFloat_FromDouble(angle);
}

PyTypedMethod_DEFINE(half_turn_typed, "half_turn",
                     PyTypedMethod_ENTRY(PyNativeCallable_THREAD_SAFE | PyNativeCallable_PURE,
                                         half_turn_impl, DOUBLE, DOUBLE));

PyMethodDef methods[] = {
    PyTypedMethod_METHOD_DEF(half_turn_typed, half_turn, METH_O,
                             "half_turn($module, angle, /)\n--\n\nThe opposite direction."),
    {"walk", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(walk)), METH_FASTCALL,
     "walk($module, turn, angle, steps, /)\n--\n\nThe angle after so many calls of a C function."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypedMethod_SIBLING(half_turn, methods[0], half_turn_typed);

#ifdef Py_TARGET_ABI3T
PyABIInfo_VAR(abi_info);

static PySlot slots[] = {
    PySlot_PTR_STATIC(Py_mod_name, const_cast<char *>("walk")),
    PySlot_PTR_STATIC(Py_mod_doc, const_cast<char *>("Walks in circles.")),
    PySlot_PTR_STATIC(Py_mod_abi, &abi_info),
    PySlot_PTR_STATIC(Py_mod_methods, methods),
    PySlot_PTR(Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED),
    PySlot_PTR(Py_mod_gil, Py_MOD_GIL_NOT_USED),
    PySlot_END};

PyMODEXPORT_FUNC PyModExport_walk(void) { return slots; }
#else
static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "walk",
                                 "Walks in circles.",
                                 0,
                                 methods,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyMODINIT_FUNC PyInit_walk(void) { return PyModuleDef_Init(&definition); }
#endif
