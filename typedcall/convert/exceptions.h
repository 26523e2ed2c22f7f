// Converts C++ exceptions to Python exceptions. A module can have a translator for its own
// exception classes. Bytes of what() that are not UTF-8 are shown as escapes such as \xff.
#ifndef TYPEDCALL_CONVERT_EXCEPTIONS_H_
#define TYPEDCALL_CONVERT_EXCEPTIONS_H_

#include "typedcall/base/with_exceptions.h"

#include <Python.h>

#if __has_include(<cxxabi.h>)  // MSVC does not have this header
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

/// The exception translator of a module, or of all modules in a source file. If it is not set,
/// `outer` is used.
struct translation {
  std::atomic<void (*)()> translate{nullptr};
  const translation *outer = nullptr;
};

namespace {
// This class is different in each source file.
struct this_file {};
}  // namespace

// These variables are hidden, so each shared object has its own. One shared object may contain
// several modules.
template <class File>
TYPEDCALL_HIDDEN inline translation translation_of_file{};

/// The translation of the module that this thread is executing.
TYPEDCALL_HIDDEN inline thread_local translation *executing = nullptr;

/// The most recently set translator. Used if the shared object has only one module.
TYPEDCALL_HIDDEN inline translation last_translation{};
TYPEDCALL_HIDDEN inline std::atomic<int> modules_here{0};

/// Has static storage duration.
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

/// The translation of the module whose method table contains the function.
template <auto Function>
TYPEDCALL_HIDDEN inline std::atomic<const translation *> translation_of{nullptr};

}  // namespace internal

/// Sets the module's translator for C++ exceptions. The translator must rethrow the exception, and
/// set a Python exception for each class that it handles:
///
///     typedcall::set_exception_translator([] {
///       try {
///         throw;
///       } catch (const parse_error &error) {
///         PyErr_SetString(PyExc_SyntaxError, error.what());
///       }
///     });
///
/// If the translator throws, or sets no Python exception, the C++ exception is translated as if
/// there were no translator. Each extension module has one translator for all interpreters. A later
/// call replaces the translator, and null removes it. Call this before the module's functions are
/// called. Any source file may call this while the module is being executed (in exec() of its
/// state). A static initialiser may call this for the modules of its source file, or for the only
/// module of the shared object.
template <class File = internal::this_file>
TYPEDCALL_HIDDEN void set_exception_translator(void (*translate)()) {
  if (translate == nullptr) translate = [] { throw; };
  internal::translation *const module = internal::executing;
  (module != nullptr ? *module : internal::translation_of_file<File>).translate = translate;
  internal::last_translation.translate = translate;
}

namespace internal {

// Not marked cold, because every wrapper would then have a cold part. Returns NULL, so that callers
// can make a tail call.
TYPEDCALL_OUT_OF_LINE inline PyObject *set_wrong_count(const char *function, std::size_t wanted,
                                                       std::size_t given) {
  return PyErr_Format(PyExc_TypeError, "%s() takes exactly %zu argument%s (%zu given)", function,
                      wanted, wanted == 1 ? "" : "s", given);
}

/// Turns the C++ exception being handled into a Python exception. GIL: held.
TYPEDCALL_COLD TYPEDCALL_HIDDEN void set_error_from_exception(const translation *of);

#if !TYPEDCALL_INTERNAL_IS_DECLARED

/// Thrown for an object of the wrong kind. Becomes TypeError.
struct TYPEDCALL_HIDDEN wrong_object : std::logic_error {
  using std::logic_error::logic_error;
};

/// Like PyErr_SetString(), but accepts invalid UTF-8.
TYPEDCALL_RARE inline void set_error_from_text(PyObject *type, const char *text) {
  if (text == nullptr) text = "";
  PyObject *decoded =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
  if (decoded == nullptr) return;  // MemoryError
  PyErr_SetObject(type, decoded);
  Py_DECREF(decoded);
}

/// Returns the translator for a function or module, or null if there is none.
TYPEDCALL_HIDDEN TYPEDCALL_RARE inline auto translator_of(const translation *of) {
  for (; of != nullptr; of = of->outer) {
    if (auto *const translate = of->translate.load()) return translate;
  }
  return modules_here < 2 ? last_translation.translate.load() : nullptr;
}

TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void set_error_from_exception(const translation *of) {
  // If a function sets a Python exception and then throws, the Python exception is kept.
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
    set_error_from_text(PyExc_ValueError, error.what());
  } catch (const std::exception &error) {
    set_error_from_text(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

/// Returns the result of `call`. If `call` throws, returns the result of `thrown`, which runs in
/// the handler. Not noexcept, because the stack of a cancelled thread must continue to unwind. GIL:
/// not needed.
template <class Call, class Thrown>
// A reference to a caught __forced_unwind is null, because no such object exists.
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

/// Returns the result of `call`, which may run Python code. If `call` throws, sets a Python
/// exception with the translation that `of` returns, and returns the result of `failed`. GIL: held.
/// If CPython ends this thread, the thread stops in run_python().
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
