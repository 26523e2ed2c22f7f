// A C function of any signature that calls a tvm-ffi function, made by libffi.
#ifndef TYPEDCALL_PYTHON_TVM_FFI_CLOSURE_H_
#define TYPEDCALL_PYTHON_TVM_FFI_CLOSURE_H_

#include "../../calling/closure.h"
#include "values.h"

#include <memory>
#include <string_view>

namespace typedcall::python {

class tvm_closure {
 public:
  /// `flags` say that the function may raise or falls back, and so how errors are reported. A
  /// function that may raise needs a thread state. `error` creates the exception.
  /// Returns null with ValueError or MemoryError set. GIL: held.
  static std::unique_ptr<tvm_closure> make(const tvm_api &api, const char *signature,
                                           std::uintptr_t flags, void *function, object_ref error) {
    PyNativeSignature parsed;
    if (PyNativeSignature_ParseString(signature, &parsed, nullptr) < 0) {
      PyErr_Format(PyExc_ValueError, "not a signature: '%.200s'", signature);
      return nullptr;
    }
    std::unique_ptr<tvm_closure> made(new tvm_closure(api, flags, parsed));
    made->error_ = std::move(error);
    if (!made->code_.make(parsed, run, made.get())) {
      PyErr_NoMemory();
      return nullptr;
    }
    api.incref(function);
    made->function_ = function;
    return made;
  }

  ~tvm_closure() {
    if (function_ != nullptr) api_.decref(function_);
  }
  tvm_closure(const tvm_closure &) = delete;
  tvm_closure &operator=(const tvm_closure &) = delete;

  void *address() const { return code_.address(); }

 private:
  tvm_closure(const tvm_api &api, std::uintptr_t flags, const PyNativeSignature &parsed)
      : api_(api), types_(parsed, flags) {}

  static void run(ffi_cif *, void *result, void **args, void *data) {
    static_cast<const tvm_closure *>(data)->call(result, args);
  }

  /// Packs one argument. Returns 1 if `to` owns a reference, -1 if tvm-ffi has no such value, and 0
  /// otherwise.
  int pack(const value_type &type, void **from, tvm_bytes *bytes, tvm_any *to) const {
    *to = {kTvmNone, 0, {0}};
    if (type.is_double) {  // nearly always
      to->type = kTvmFloat;
      std::memcpy(&to->real, from[0], sizeof(to->real));
      return 0;
    }
    if (type.is_buffer) {
      const char *data;
      Py_ssize_t count;
      std::memcpy(&data, from[0], sizeof(data));
      std::memcpy(&count, from[1], sizeof(count));
      *bytes = {count > 0 ? data : "", static_cast<std::size_t>(count)};
      if (type.is_text) {
        if (api_.make_text(bytes, to) != 0) return -1;
        return to->type >= kTvmObject ? 1 : 0;
      }
      to->type = kTvmRawBytes;
      to->pointer = bytes;
      return 0;
    }
    if (type.is_text) {
      std::memcpy(&to->text, from[0], sizeof(to->text));
      to->type = to->text != nullptr ? kTvmRawText : kTvmNone;
      return 0;
    }
    return put_number(calling::argument_value_of(type, from[0]), to) ? 0 : -1;
  }

  /// Converts a result to its C type. Returns false if the result has another type or does not fit.
  bool unpack(const tvm_any &value, native_value *to) const {
    if (types_.result.kind == PyNativeKind_VOID) return true;
    // Texts and other objects would not outlive the call. A number is not accepted as a bool.
    const bool is_taken =
        types_.result.kind == PyNativeKind_BOOL
            ? value.type == kTvmBool
            : value.type == kTvmInt || value.type == kTvmBool || value.type == kTvmFloat;
    return is_taken &&
           calling::convert(look_at(value, nullptr), types_.result, to) == calling::converted::yes;
  }

  TYPEDCALL_OUT_OF_LINE void call(void *result, void **args) const {
    const std::size_t most = types_.parameters.size() + 1;
    auto *const packed = TYPEDCALL_INTERNAL_ON_STACK(tvm_any, most);
    auto *const bytes = TYPEDCALL_INTERNAL_ON_STACK(tvm_bytes, most);
    auto *const objects = TYPEDCALL_INTERNAL_ON_STACK(void *, most);
    tvm_any returned = {kTvmNone, 0, {0}};
    std::size_t count = 0, owned = 0;
    int failed = 0;
    const char *reason = nullptr;
    void **from = args;
    for (const value_type &each : types_.parameters) {
      const int done = pack(each, from, &bytes[count], &packed[count]);
      if (done == 1) objects[owned++] = packed[count].pointer;
      if (done < 0) reason = "tvm-ffi has no value for an argument";
      from += each.is_buffer ? 2 : 1;
      ++count;
    }
    native_value value = {0};
    if (reason == nullptr) {
      failed = api_.call(function_, packed, static_cast<std::int32_t>(count), &returned);
      if (failed == 0 && !unpack(returned, &value)) reason = "the result has another type";
      if (returned.type >= kTvmObject) api_.decref(returned.pointer);
    }
    while (owned > 0) api_.decref(objects[--owned]);
    if (failed == 0 && reason == nullptr) return finish(value, result, from);
    if (types_.view.may_fall_back) {
      void *error = nullptr;
      if (failed != 0) api_.take_error(&error);
      if (error != nullptr) {
        let_go_of_exception(error);
        api_.decref(error);
      }
    } else {
      raise(failed, reason);
    }
    if (types_.view.reports) return store_int(result, types_.view.may_fall_back ? 1 : -1);
    store(native_value{~UINT64_C(0)}, -1.0, result);
  }

  /// Stores the result of a successful call. `from` points past the arguments, to the place for the
  /// result if there is one.
  void finish(native_value value, void *result, void **from) const {
    if (types_.view.reports) {
      if (types_.view.has_place) {
        void *to;
        std::memcpy(&to, *from, sizeof(to));
        std::memcpy(to, &value.bits, types_.result.size);
      }
      store_int(result, 0);
    } else {
      store(value, 0, result);
    }
  }

  static void store_int(void *result, int value) {
    const auto wide = static_cast<ffi_sarg>(value);
    std::memcpy(result, &wide, sizeof(wide));
  }

  /// Stores a result, or `error` instead if it is nonzero and the result is floating.
  void store(native_value value, double error, void *result) const {
    const bool is_real = types_.result.kind == PyNativeKind_FLOATING;
    if (is_real && error != 0) value = types_.result.of_real(error);
    std::memcpy(result, &value.bits, is_real ? types_.result.size : sizeof(value.bits));
  }

  /// Clears the exception of a C++ function that checks for signals. No exception may be pending
  /// when the fallback is called. An interrupt is sent again.
  __attribute__((noinline, cold)) static void let_go_of_exception(void *error) {
    const auto &kind = *behind_header<tvm_bytes>(error);
    if (std::string_view(kind.data, kind.size) != "EnvErrorAlreadySet") return;
    const PyGILState_STATE before = PyGILState_Ensure();  // tvm-ffi, too, acquired the GIL this way
    internal::clear_exception();
    PyGILState_Release(before);
  }

  /// GIL: held.
  __attribute__((noinline, cold)) void raise(int failed, const char *reason) const {
    if (failed == 0) return PyErr_SetString(PyExc_TypeError, reason);
    void *error = nullptr;
    api_.take_error(&error);
    if (error == nullptr) return internal::set_missing_error();
    const auto *const cell = behind_header<tvm_bytes>(error);
    // The exception of a Python function that tvm-ffi called may still be pending.
    if (PyErr_Occurred() == nullptr) {
      const object_ref made = object_ref::steal(PyObject_CallFunction(
          error_.get(), "s#s#", cell[0].data, static_cast<Py_ssize_t>(cell[0].size), cell[1].data,
          static_cast<Py_ssize_t>(cell[1].size)));
      if (made) PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(made.get())), made.get());
    }
    api_.decref(error);
  }

  const tvm_api api_;
  void *function_ = nullptr;
  const calling::description types_;
  object_ref error_;
  closure code_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_TVM_FFI_CLOSURE_H_
