// A reader that uses typedcall::find() and the C++ slot functions.
#include "typedcall/resolve.h"
// After Python.h.
#include <string>

#include "reader_module.h"
#include "typedcall/fallback.h"

using interface_of = const PyTypedcall_Interface *;

static PyObject *Find(PyObject *module, PyObject *arguments) {
  PyObject *callable;
  typedcall::request asked;
  unsigned long can;
  int equivalent;
  if (!PyArg_ParseTuple(arguments, "Oskp", &callable, &asked.signature, &can, &equivalent))
    return nullptr;
  asked.capabilities = can;
  asked.casting = equivalent != 0 ? typedcall::casting::equivalent : typedcall::casting::exact;
  // resolve() parses the request and rejects an invalid signature.
  const auto found = typedcall::resolve(InterfaceOf(module), callable, asked);
  if (!found) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    return nullptr;
  }
  return Py_BuildValue(
      "skK", found->signature.c_str(), static_cast<unsigned long>(found->flags),
      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(found->funcptr)));
}

static PyObject *Nothing() {
  PyErr_SetString(PyExc_LookupError, "not found");
  return nullptr;
}

static PyObject *Box(double value) { return PyFloat_FromDouble(value); }
static PyObject *Box(long value) { return PyLong_FromLong(value); }

// Calls what was found, without the GIL if the function takes the GIL itself.
template <class Function, class... A>
auto Run(const Function &found, A... arguments) {
  constexpr std::uintptr_t taken = PyNativeCallable_ACQUIRES_GIL;
  constexpr std::uintptr_t held = taken | PyNativeCallable_NEEDS_THREAD;
  PyThreadState *const thread = (found.flags() & held) == taken ? PyEval_SaveThread() : nullptr;
  const auto result = found(arguments...);
  if (thread != nullptr) PyEval_RestoreThread(thread);
  return result;
}

// Calls a function of these types, with self if it takes one.
template <class R, class... A>
PyObject *CallPlain(interface_of interface, PyObject *callable, typedcall::capabilities can,
                    A... arguments) {
  if (const auto found = typedcall::find<R(A...)>(interface, callable, can)) {
    const R result = Run(found, arguments...);
    return found.raised(result) ? nullptr : Box(result);
  }
  if ((can & typedcall::passes_self) != 0) {
    if (const auto found = typedcall::find<R(A...)>(interface, callable, typedcall::bound(), can)) {
      const R result = Run(found, arguments...);
      return found.raised(result) ? nullptr : Box(result);
    }
  }
  return Nothing();
}

// Calls a function whose C result is a status.
static PyObject *CallStatus(interface_of interface, PyObject *callable, typedcall::capabilities can,
                            double x) {
  const auto found = typedcall::find<int(double, double *)>(interface, callable, can);
  if (!found) return Nothing();
  double place = 0;
  const int status = Run(found, x, &place);
  return found.raised(status) ? nullptr : Box(place);
}

static PyObject *CallFallingBack(interface_of interface, PyObject *callable,
                                 typedcall::capabilities can, long x) {
  const auto found =
      typedcall::find<long(long)>(interface, callable, typedcall::with_fallback(), can);
  if (!found) return Nothing();
  const long result = Run(found, x);
  return found.raised(result) ? nullptr : Box(result);
}

static PyObject *CallBuffer(interface_of interface, PyObject *callable, typedcall::capabilities can,
                            PyObject *argument) {
  if (PyUnicode_Check(argument)) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(argument, &size);
    const auto found =
        typedcall::find<Py_ssize_t(typedcall::span<const char>)>(interface, callable, can);
    return !found ? Nothing()
           : text != nullptr
               ? PyLong_FromSsize_t(Run(found, typedcall::span<const char>(text, size)))
               : nullptr;
  }
  const auto found =
      typedcall::find<double(typedcall::span<const double>)>(interface, callable, can);
  Py_buffer view;
  if (!found) return Nothing();
  if (PyObject_GetBuffer(argument, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT) < 0) return nullptr;
  const bool is_right =
      view.format != nullptr && std::string(view.format) == "d" &&
      (view.len == 0 || reinterpret_cast<std::uintptr_t>(view.buf) % alignof(double) == 0);
  const typedcall::span<const double> numbers(static_cast<const double *>(view.buf), view.len / 8);
  const double sum = is_right ? Run(found, numbers) : 0.0;
  PyBuffer_Release(&view);
  if (is_right) return Box(sum);
  PyErr_SetString(PyExc_TypeError, "no aligned array of d");
  return nullptr;
}

// Supports only the signatures in README.md.
static PyObject *Call(PyObject *module, PyObject *arguments) {
  const interface_of interface = InterfaceOf(module);
  PyObject *callable, *first = nullptr, *second = nullptr, *values;
  const char *signature;
  unsigned long can;
  if (!PyArg_ParseTuple(arguments, "OskO!", &callable, &signature, &can, &PyTuple_Type, &values))
    return nullptr;
  if (!PyArg_UnpackTuple(values, "arguments", 0, 2, &first, &second)) return nullptr;
  const std::string text = first != nullptr ? signature : "";
  if (text == "d->d") return CallPlain<double>(interface, callable, can, PyFloat_AsDouble(first));
  if (text == "dd->d") {
    return CallPlain<double>(interface, callable, can, PyFloat_AsDouble(first),
                             PyFloat_AsDouble(second));
  }
  if (text == "l->l") return CallPlain<long>(interface, callable, can, PyLong_AsLong(first));
  if (text == "d&d->i") return CallStatus(interface, callable, can, PyFloat_AsDouble(first));
  if (text == "l&l->i") return CallFallingBack(interface, callable, can, PyLong_AsLong(first));
  if (text == "*kd->d" || text == "*s->n") return CallBuffer(interface, callable, can, first);
  PyErr_SetString(PyExc_NotImplementedError, signature);
  return nullptr;
}

// Supports only d->d.
static PyObject *CallUnbound(PyObject *module, PyObject *arguments) {
  PyObject *callable, *self, *values;
  const char *signature;
  unsigned long can;
  double x;
  if (!PyArg_ParseTuple(arguments, "OskOO!", &callable, &signature, &can, &self, &PyTuple_Type,
                        &values))
    return nullptr;
  if (std::string(signature) != "d->d") {
    PyErr_SetString(PyExc_NotImplementedError, signature);
    return nullptr;
  }
  if (!PyArg_ParseTuple(values, "d", &x)) return nullptr;
  typedcall::request asked;
  asked.signature = signature;
  asked.capabilities = can;
  asked.unbound = true;
  const auto found = typedcall::resolve(InterfaceOf(module), callable, asked);
  if (!found) {
    PyErr_Clear();
    return Nothing();
  }
  if (!typedcall::check_self(callable, self)) return nullptr;
  const bool takes_self = (found->flags & PyNativeCallable_TAKES_SELF) != 0;
  return Box(takes_self ? reinterpret_cast<double (*)(PyObject *, double)>(found->funcptr)(self, x)
                        : reinterpret_cast<double (*)(double)>(found->funcptr)(x));
}

static PyObject *FindSlotAt(PyObject *, PyObject *arguments) {
  PyObject *object;
  unsigned long long id;
  Py_ssize_t position;
  if (!PyArg_ParseTuple(arguments, "OKn", &object, &id, &position)) return nullptr;
  const PyCustomSlot *slot = PyCustomSlots_Find(object, static_cast<std::uintptr_t>(id), position);
  if (slot == nullptr) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(slot->data.flags);
}

static PyObject *FindSlot(PyObject *, PyObject *arguments) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(arguments, "OK", &object, &id)) return nullptr;
  // The expected position is wrong, so that the whole look-up runs.
  const PyCustomSlot *slot = PyCustomSlots_Find(object, static_cast<std::uintptr_t>(id), 1);
  if (slot == nullptr) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(slot->data.flags);
}

static PyMethodDef methods[] = {{"find", Find, METH_VARARGS, nullptr},
                                {"call", Call, METH_VARARGS, nullptr},
                                {"call_unbound", CallUnbound, METH_VARARGS, nullptr},
                                {"slot", FindSlot, METH_VARARGS, nullptr},
                                {"slot_at", FindSlotAt, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void *>(ExecuteReader)},
                                   {0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "reader_cpp_resolve",
                                 nullptr,
                                 sizeof(ReaderState),
                                 methods,
                                 slots,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyMODINIT_FUNC PyInit_reader_cpp_resolve() { return PyModuleDef_Init(&definition); }
