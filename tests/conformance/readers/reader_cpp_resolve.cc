// A reader that uses typedcall::find() and the C++ slot functions.
#include "typedcall/resolve.h"
// After Python.h.
#include <string>

#include "reader_module.h"
#include "typedcall/fallback.h"

// The process has only one interpreter.
static const PyTypedcall_Interface *interface;

static PyObject *Find(PyObject *, PyObject *arguments) {
  PyObject *callable;
  typedcall::request asked;
  unsigned long can;
  int equivalent;
  if (!PyArg_ParseTuple(arguments, "Oskp", &callable, &asked.signature, &can, &equivalent))
    return nullptr;
  asked.can = can;
  asked.allowed = equivalent != 0 ? typedcall::casting::equivalent : typedcall::casting::exact;
  // resolve() parses the request and rejects an invalid signature.
  const auto found = typedcall::resolve(interface, callable, asked);
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
PyObject *CallPlain(PyObject *callable, typedcall::capabilities can, A... arguments) {
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
static PyObject *CallStatus(PyObject *callable, typedcall::capabilities can, double x) {
  const auto found = typedcall::find<int(double, double *)>(interface, callable, can);
  if (!found) return Nothing();
  double place = 0;
  const int status = Run(found, x, &place);
  return found.raised(status) ? nullptr : Box(place);
}

static PyObject *CallFallingBack(PyObject *callable, typedcall::capabilities can, long x) {
  const auto found =
      typedcall::find<long(long)>(interface, callable, typedcall::with_fallback(), can);
  if (!found) return Nothing();
  const long result = Run(found, x);
  return found.raised(result) ? nullptr : Box(result);
}

static PyObject *CallBuffer(PyObject *callable, typedcall::capabilities can, PyObject *argument) {
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
  if (PyObject_GetBuffer(argument, &view, PyBUF_CONTIG_RO) < 0) return nullptr;
  const typedcall::span<const double> numbers(static_cast<const double *>(view.buf), view.len / 8);
  const double sum = Run(found, numbers);
  PyBuffer_Release(&view);
  return Box(sum);
}

// Supports only the signatures in README.md.
static PyObject *Call(PyObject *, PyObject *arguments) {
  PyObject *callable, *first = nullptr, *second = nullptr, *values;
  const char *signature;
  unsigned long can;
  if (!PyArg_ParseTuple(arguments, "OskO!", &callable, &signature, &can, &PyTuple_Type, &values))
    return nullptr;
  if (!PyArg_UnpackTuple(values, "arguments", 0, 2, &first, &second)) return nullptr;
  const std::string text = first != nullptr ? signature : "";
  if (text == "d->d") return CallPlain<double>(callable, can, PyFloat_AsDouble(first));
  if (text == "dd->d") {
    return CallPlain<double>(callable, can, PyFloat_AsDouble(first), PyFloat_AsDouble(second));
  }
  if (text == "l->l") return CallPlain<long>(callable, can, PyLong_AsLong(first));
  if (text == "d&d->i") return CallStatus(callable, can, PyFloat_AsDouble(first));
  if (text == "l&l->i") return CallFallingBack(callable, can, PyLong_AsLong(first));
  if (text == "*kd->d" || text == "*s->n") return CallBuffer(callable, can, first);
  PyErr_SetString(PyExc_NotImplementedError, signature);
  return nullptr;
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
                                {"slot", FindSlot, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "reader_cpp_resolve",
                                 nullptr,
                                 -1,
                                 methods,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyMODINIT_FUNC PyInit_reader_cpp_resolve() { return ReaderModule(&definition, &interface); }
