// Turns C++ exceptions into Python's: the standard ones, and others through the module's own
// translator. Bytes of what() that are not UTF-8 are shown as \xff.
#ifndef TYPEDCALL_CONVERT_EXCEPTIONS_H_
#define TYPEDCALL_CONVERT_EXCEPTIONS_H_

#include "typedcall/base/with_exceptions.h"

#include <Python.h>

#if __has_include(<cxxabi.h>)  // MSVC has none and needs none
#include <cxxabi.h>
#endif

#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <utility>
#if !TYPEDCALL_INTERNAL_IS_DECLARED
#include <stdexcept>
#endif

#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// The exception translator of a module, or of all modules in a source file; if none is set,
/// `outer` is used.
struct translation {
  std::atomic<void (*)()> translate{nullptr};
  const translation *outer = nullptr;
};

namespace {
// A different class in each source file: templates instantiated with it belong to that file.
struct this_file {};
}  // namespace

// Hidden, here and below, so that each shared object has its own. One shared object may hold
// several modules.
template <class File>
TYPEDCALL_HIDDEN inline translation translation_of_file{};

/// The translation of the module that this thread is executing (TYPEDCALL_MODULE and its variants).
TYPEDCALL_HIDDEN inline thread_local translation *executing = nullptr;

/// The translator set last in any file, for a shared object with one module but several files.
TYPEDCALL_HIDDEN inline translation last_translation{};
TYPEDCALL_HIDDEN inline std::atomic<int> modules_here{0};

/// The translation of one module, in static storage.
struct TYPEDCALL_HIDDEN module_translation : translation {
  explicit module_translation(const translation *file) {
    outer = file;
    ++modules_here;
  }
};

class TYPEDCALL_HIDDEN while_executing {
 public:
  explicit while_executing(translation *module) : before_(executing) { executing = module; }
  ~while_executing() { executing = before_; }
  while_executing(const while_executing &) = delete;
  while_executing &operator=(const while_executing &) = delete;

 private:
  translation *before_;
};

/// The translation of the module whose table has the function.
template <auto Function>
TYPEDCALL_HIDDEN inline std::atomic<const translation *> translation_of{nullptr};

}  // namespace internal

/// Gives the module a translator for exceptions of its own classes. It is called while an exception
/// is being handled, rethrows that, and sets a Python exception for those that it knows:
///
///     typedcall::set_exception_translator([] {
///       try {
///         throw;
///       } catch (const parse_error &error) {
///         PyErr_SetString(PyExc_SyntaxError, error.what());
///       }
///     });
///
/// An exception that it lets through, or sets no Python exception for, is translated as if there
/// were no translator. There is one per extension module, for all interpreters; a later call
/// replaces it, and null removes it. Call this before the module's functions are called: while the
/// module is executed (exec() of its state), from any file; or from a static initialiser, for the
/// modules of its source file, or for the only module of the shared object.
template <class File = internal::this_file>
TYPEDCALL_HIDDEN void set_exception_translator(void (*translate)()) {
  if (translate == nullptr) translate = [] { throw; };
  internal::translation *const module = internal::executing;
  (module != nullptr ? *module : internal::translation_of_file<File>).translate = translate;
  internal::last_translation.translate = translate;
}

namespace internal {

/// Turns the C++ exception being handled into a Python exception. GIL: held.
TYPEDCALL_COLD TYPEDCALL_HIDDEN void set_error_from_exception(const translation *of);

#if !TYPEDCALL_INTERNAL_IS_DECLARED

/// An object of the wrong kind; becomes TypeError.
struct TYPEDCALL_HIDDEN wrong_object : std::logic_error {
  using std::logic_error::logic_error;
};

/// PyErr_SetString for text in any encoding: invalid UTF-8 must not replace the exception.
TYPEDCALL_RARE inline void set_error_from_text(PyObject *type, const char *text) {
  if (text == nullptr) text = "";
  PyObject *decoded =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
  if (decoded == nullptr) return;  // MemoryError
  PyErr_SetObject(type, decoded);
  Py_DECREF(decoded);
}

/// The translator for a function or module; null if there is none.
TYPEDCALL_HIDDEN TYPEDCALL_RARE inline auto translator_of(const translation *of) {
  for (; of != nullptr; of = of->outer) {
    if (auto *const translate = of->translate.load()) return translate;
  }
  return modules_here < 2 ? last_translation.translate.load() : nullptr;
}

TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void set_error_from_exception(const translation *of) {
  // If a function sets a Python exception and throws to get out, the Python exception counts.
  if (PyErr_Occurred()) return;
  try {
    if (auto *const translate = translator_of(of)) run_python([translate] { translate(); });
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

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

/// Returns the result of `call`, or, if that throws, of `thrown`, which runs in the handler.
/// Inline, and so not noexcept: a thread that is being cancelled must go on unwinding. GIL: not
/// needed.
template <class Call, class Thrown>
// The reference to a __forced_unwind is null: there is no object.
TYPEDCALL_IN_LINE TYPEDCALL_NULL_REFERENCES inline auto unless_thrown(Call &&call,
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

/// Returns the result of `call`, which may run Python code. If that throws, sets a Python exception
/// by the translation that `of` returns, and returns the result of `failed`. GIL: held. A thread
/// that CPython ends stops in run_python().
template <class Of, class Call, class Failed>
TYPEDCALL_IN_LINE inline auto translated(Of &&of, Call &&call, Failed &&failed) {
  return unless_thrown([&] { return run_python(std::forward<Call>(call)); },
                       [&] {
                         set_error_from_exception(of());
                         return failed();
                       });
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_EXCEPTIONS_H_
