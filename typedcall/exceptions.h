// C++ exceptions become Python's: the standard ones, and through a translator of the module's own
// whatever else it throws.
#ifndef TYPEDCALL_EXCEPTIONS_H_
#define TYPEDCALL_EXCEPTIONS_H_

#include <Python.h>

#include <exception>
#include <new>
#include <stdexcept>

namespace typedcall {
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

/// Turns the C++ exception being handled into a Python exception. GIL: held.
__attribute__((visibility("hidden"), noinline)) inline void set_error_from_exception() {
  // A function that has set one and throws to get out means that one.
  if (PyErr_Occurred()) return;
  try {
    if (exception_translator != nullptr) exception_translator();
    if (PyErr_Occurred()) return;
    throw;
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::out_of_range &error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::overflow_error &error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
  } catch (const std::logic_error &error) {
    // invalid_argument, domain_error and length_error: the caller's values are wrong.
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

}  // namespace internal
}  // namespace typedcall

#endif  // TYPEDCALL_EXCEPTIONS_H_
