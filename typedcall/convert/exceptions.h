// C++ exceptions become Python's: the standard ones, and through a translator of the module's own
// whatever else it throws. Bytes of what() that are no UTF-8 are shown as \xff.
#ifndef TYPEDCALL_CONVERT_EXCEPTIONS_H_
#define TYPEDCALL_CONVERT_EXCEPTIONS_H_

#include <Python.h>

#include <cxxabi.h>

#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "typedcall/gil.h"
#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// Hidden, so that each extension module has its own.
__attribute__((visibility("hidden"))) inline void (*exception_translator)() = nullptr;

}  // namespace internal

/// Gives the module a translator for exceptions of its own classes. It is called while an exception
/// is being handled, rethrows it, and sets a Python exception for those that it knows:
///
///     typedcall::set_exception_translator([] {
///       try {
///         throw;
///       } catch (const parse_error &error) {
///         PyErr_SetString(PyExc_SyntaxError, error.what());
///       }
///     });
///
/// What it lets out again, or sets no exception for, is translated as if there were none. One per
/// extension module, for all interpreters; the last one counts; null takes it away. To be called
/// before the module's functions are: from a static initialiser or Py_mod_exec.
__attribute__((visibility("hidden"))) inline void set_exception_translator(void (*translate)()) {
  internal::exception_translator = translate;
}

namespace internal {

/// Becomes TypeError: an object that is of another kind than is wanted.
struct __attribute__((visibility("hidden"))) wrong_object : std::logic_error {
  using std::logic_error::logic_error;
};

/// PyErr_SetString for text in any encoding: what is no UTF-8 must not cost the exception.
__attribute__((noinline, cold)) inline void set_error_from_text(PyObject *type, const char *text) {
  if (text == nullptr) text = "";
  PyObject *decoded =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
  if (decoded == nullptr) return;  // MemoryError
  PyErr_SetObject(type, decoded);
  Py_DECREF(decoded);
}

/// Turns the C++ exception being handled into a Python exception. GIL: held.
__attribute__((visibility("hidden"), noinline, cold)) inline void set_error_from_exception() {
  // A function that has set one and throws to get out means that one.
  if (PyErr_Occurred()) return;
  try {
    if (exception_translator != nullptr) run_python([] { exception_translator(); });
    if (PyErr_Occurred()) return;
    throw;
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::out_of_range &error) {
    set_error_from_text(PyExc_IndexError, error.what());
  } catch (const std::overflow_error &error) {
    set_error_from_text(PyExc_OverflowError, error.what());
  } catch (const wrong_object &error) {
    set_error_from_text(PyExc_TypeError, error.what());
  } catch (const std::logic_error &error) {
    // invalid_argument, domain_error and length_error: the caller's values are wrong.
    set_error_from_text(PyExc_ValueError, error.what());
  } catch (const std::exception &error) {
    set_error_from_text(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

/// What `call` returns; where it throws, what `thrown` does, in the handler. In line, and so as
/// nothing that is noexcept: a thread that is cancelled must go on. GIL: not needed.
template <class Call, class Thrown>
// There is no object behind a __forced_unwind, only an address that is null.
__attribute__((always_inline, no_sanitize("null"))) inline auto unless_thrown(Call &&call,
                                                                              Thrown &&thrown) {
  try {
    return call();
#ifdef __GLIBCXX__
  } catch (abi::__forced_unwind &) {
    throw;
#endif
  } catch (...) {
    return thrown();
  }
}

/// What `call` returns, which may run Python code; where it throws, what `failed` does, with a
/// Python exception set. GIL: held. A thread that CPython ends stops in run_python().
template <class Call, class Failed>
__attribute__((always_inline)) inline auto translated(Call &&call, Failed &&failed) {
  return unless_thrown([&] { return run_python(std::forward<Call>(call)); },
                       [&] {
                         set_error_from_exception();
                         return failed();
                       });
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_EXCEPTIONS_H_
