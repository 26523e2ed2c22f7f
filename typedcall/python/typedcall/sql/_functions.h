// What the extension modules of typedcall.sql share: a C function as an engine calls it, and the
// text of an exception.
#ifndef TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_
#define TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_

#include "typedcall/error_value.h"
#include "typedcall/invoker.h"
#include "typedcall/object_ref.h"

#include "../_home.h"
#include "../_utf8.h"

#include <vector>

namespace typedcall::python {

constexpr std::size_t kMost = PyNativeSignature_MAX_ARGS;

/// A type of the signature, and what is asked about it for each row.
struct value_type {
  explicit value_type(PyNativeType asked)
      : type(asked),
        code(asked.code),
        size(static_cast<unsigned char>(PyNativeType_Size(asked))),
        is_buffer(PyNativeType_IsBuffer(asked) != 0),
        is_double(asked.code == PyNativeType_DOUBLE && !asked.is_pointer),
        kind(PyNativeType_Kind(asked)) {}

  PyNativeType type;
  unsigned char code, size;
  bool is_buffer, is_double;
  PyNativeKind kind;
};

/// A C function, its arguments and its result as Python has them.
struct overload {
  overload(const invoker &how, PyNativeType given) : call(how), result(given) {}

  invoker call;
  std::vector<value_type> parameters;
  value_type result;
  /// Without THREAD_SAFE it is not to be in two threads at once, and engines run without the GIL.
  bool needs_thread = false;
  /// The result is behind the last argument, and what is returned says whether there is one.
  bool has_place = false;
  bool has_status = false;

  /// Nothing with ValueError.
  static std::optional<overload> make(const char *signature, std::uintptr_t flags,
                                      std::uintptr_t at, std::size_t arity) {
    PyNativeSignature parsed;
    const auto call = invoker::make(signature, flags, reinterpret_cast<void *>(at));
    if (!call || PyNativeSignature_ParseString(signature, &parsed, nullptr) < 0 ||
        (flags & PyNativeCallable_TAKES_SELF) != 0) {
      PyErr_Format(PyExc_ValueError, "'%.200s' cannot be called from SQL", signature);
      return std::nullopt;
    }
    std::size_t count = static_cast<std::size_t>(parsed.nargs);
    PyNativeType result = parsed.result;
    bool has_place = false;
    const bool has_status =
        (flags & (PyNativeCallable_RETURNS_STATUS | PyNativeCallable_FALLS_BACK)) != 0;
    if (has_status) {
      has_place = count > 0 && PyNativeType_IsPlace(parsed.args[count - 1]);
      result = has_place ? PyNativeType{parsed.args[--count].code, 0}
                         : PyNativeType{PyNativeType_VOID, 0};
    }
    if (count != arity) {
      PyErr_Format(PyExc_ValueError, "'%.200s' has not %zu arguments", signature, arity);
      return std::nullopt;
    }
    overload made(*call, result);
    made.parameters = {parsed.args, parsed.args + count};
    made.has_place = has_place;
    made.has_status = has_status;
    made.needs_thread =
        (flags & PyNativeCallable_NEEDS_THREAD) != 0 ||
        (flags & (PyNativeCallable_THREAD_SAFE | PyNativeCallable_ACQUIRES_GIL)) == 0;
    return made;
  }

  bool has(std::uintptr_t flag) const { return (call.flags() & flag) != 0; }

  enum class outcome { result, none, exception };

  /// Calls it: the result is where `*at` points to then, which is in `place` or in `result`.
  outcome operator()(native_value *values, wide_value *place, native_value *result,
                     const void **at) const {
    if (has_place) values[call.arity() - 1] = native_value::at(place);
    *at = has_place ? static_cast<const void *>(place) : result;
    *result = call(values);
    if (call.raised(*result)) return outcome::exception;
    if (!has_status || result->get<int>() == 0) return outcome::result;
    if (has(PyNativeCallable_FALLS_BACK)) return outcome::none;
    internal::set_missing_error();
    return outcome::exception;
  }
};

/// What SQL is told of the pending exception, which is cleared. Who finds an interrupt sees to it
/// that Python raises it again.
struct error_text {
  enum { usual, no_memory, interrupt } sort = usual;

  /// GIL: held.
  __attribute__((noinline, cold)) error_text() {
    PyObject *kind, *exception, *traceback;
    PyErr_Fetch(&kind, &exception, &traceback);
    PyErr_NormalizeException(&kind, &exception, &traceback);
    const object_ref keep[] = {object_ref::steal(kind), object_ref::steal(exception),
                               object_ref::steal(traceback)};
    if (PyErr_GivenExceptionMatches(kind, PyExc_MemoryError)) sort = no_memory;
    if (PyErr_GivenExceptionMatches(kind, PyExc_KeyboardInterrupt)) sort = interrupt;
    const char *const type = reinterpret_cast<PyTypeObject *>(kind)->tp_name;
    const object_ref said = object_ref::steal(PyObject_Str(exception));
    const object_ref text = object_ref::steal(said && PyUnicode_GET_LENGTH(said.get()) > 0
                                                  ? PyUnicode_FromFormat("%s: %U", type, said.get())
                                                  : PyUnicode_FromString(type));
    bytes_ = object_ref::steal(
        text ? PyUnicode_AsEncodedString(text.get(), "utf-8", "backslashreplace") : nullptr);
    PyErr_Clear();
  }
  const char *get() const {
    return bytes_ ? PyBytes_AS_STRING(bytes_.get()) : "an exception, and no memory for its text";
  }

 private:
  object_ref bytes_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_
