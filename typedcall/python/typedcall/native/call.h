// A call from Python that is unboxed inside: arguments to C values once, the native function, its
// result back. Everything about it but the objects of typedcall.TypedFunction.
#ifndef TYPEDCALL_PYTHON_NATIVE_CALL_H_
#define TYPEDCALL_PYTHON_NATIVE_CALL_H_

#include "values.h"
// values.h comes first, because of Python.h.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "typedcall/entry_view.h"
#include "typedcall/error_value.h"
#include "typedcall/gil.h"
#include "typedcall/invoker.h"
#include "typedcall/provider/keywords.h"
#include "typedcall/resolve/request.h"
#include "typedcall/signature.h"

namespace typedcall::python {

#ifdef PYPY_VERSION  // where nothing finds unbound methods
inline bool check_self(PyObject *, PyObject *) { return false; }
#else
using typedcall::check_self;
#endif

/// Worked out once for an entry. Immutable: may be called from several threads at once.
class native_call {
 public:
  /// `asked` is the signature that Python's arguments are converted to, and it may be another one
  /// than the entry's if a safe cast leads from one to the other. `is_unbound`: the first argument
  /// is self. Null with ValueError or TypeError when the entry cannot be called from Python at all.
  /// Throws std::bad_alloc.
  static std::unique_ptr<const native_call> make(std::string name, const char *asked,
                                                 const char *signature, std::uintptr_t flags,
                                                 void *funcptr, bool is_unbound) {
    std::unique_ptr<native_call> made(new native_call);
    PyNativeSignature_Fault fault = {0, ""};
    PyNativeSignature parsed, offered;
    if (PyNativeSignature_ParseString(asked, &parsed, &fault) < 0 ||
        PyNativeSignature_ParseString(signature, &offered, &fault) < 0) {
      return refuse(PyExc_ValueError, asked, fault.reason);
    }
    const bool is_usable = PyNativeView_Of(&offered, flags).verdict != PyNativeVerdict_UNUSABLE;
    if (funcptr == nullptr || !is_usable) {
      return refuse(PyExc_ValueError, signature,
                    "no function, or flags that are not understood or do not go with the result");
    }
    made->call_ = invoker::make(signature, flags, funcptr, std::nullopt, &fault);
    if (!made->call_) return refuse(PyExc_ValueError, signature, fault.reason);
    if (!PyNativeSignature_AnswersParsed(&offered, &parsed)) {
      made->cast_ = safe_cast::make(asked, signature);
      if (!made->cast_) {
        return refuse(PyExc_TypeError, asked, "values could be lost on the way to the entry");
      }
    }
    made->name_ = std::move(name);
    made->describe(PyNativeView_Of(&offered, flags), PyNativeView_Of(&parsed, flags), parsed);
    made->is_unbound_ = is_unbound;
    return made;
  }

  /// The number of arguments that Python passes.
  std::size_t arity() const { return parameters_.size() + (is_unbound_ ? 1 : 0); }
  /// Is the self that it takes the callable's own, not the first argument?
  bool has_bound_self() const { return takes_self_ && !is_unbound_; }

  /// `self` as the native function gets it; null where none is taken, and for an unbound method,
  /// whose self is checked: `callable` is the method. A new reference, or NULL. GIL: held.
  PyObject *operator()(PyObject *callable, PyObject *self, PyObject *const *args,
                       std::size_t nargs) const {
    return with_values(callable, self, args, nargs,
                       [this](native_value *values) { return run(values); });
  }

  /// May the entry have no result for some arguments? Then it is called so:
  bool may_fall_back() const { return falls_back_; }
  /// As operator(), and where the entry falls back `boxed` calls the callable.
  template <class Boxed>
  PyObject *call_or_fall_back(PyObject *callable, PyObject *self, PyObject *const *args,
                              std::size_t nargs, const Boxed &boxed) const {
    bool is_called = false, is_done = true;
    PyObject *result = with_values(callable, self, args, nargs, [&](native_value *values) {
      is_called = true;
      return run_or_fall_back(values, &is_done);
    });
    // An argument has not its types, or is an array of another shape or with gaps, and the callable
    // knows of others.
    if (result == nullptr && !is_called && is_refusal()) {
      PyErr_Clear();
      is_done = false;
    }
    // Only now: buffers of arguments have been given back.
    return is_done ? result : boxed();
  }

  /// Calls `count` times with arguments that are converted once: the seconds that took, a float, or
  /// NULL with the first exception. A new reference. GIL: held.
  PyObject *time(PyObject *callable, PyObject *self, PyObject *const *args, std::size_t nargs,
                 Py_ssize_t count) const {
    return with_values(callable, self, args, nargs,
                       [this, count](native_value *values) { return repeat(values, count); });
  }

 private:
  static constexpr std::size_t kMost = PyNativeSignature_MAX_ARGS + 1;
  static constexpr std::size_t kFewScratch = 4;

  native_call() = default;

  // Is the pending exception one by which conversions refuse an argument?
  static bool is_refusal() {
    return PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_OverflowError) ||
           PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_BufferError);
  }

  static std::unique_ptr<const native_call> refuse(PyObject *type, const char *signature,
                                                   const char *why) {
    PyErr_Format(type, "'%.200s' cannot be called: %s", signature, why);
    return nullptr;
  }

  // The entry's own view says how it is called, that of the signature asked for what Python passes
  // and gets.
  void describe(const PyNativeView &own, const PyNativeView &view, const PyNativeSignature &asked) {
    falls_back_ = own.verdict == PyNativeVerdict_FALLS_BACK;
    returns_status_ = own.verdict == PyNativeVerdict_STATUS || falls_back_;
    may_raise_ = own.verdict == PyNativeVerdict_MAY_RAISE || own.verdict == PyNativeVerdict_ASK;
    takes_self_ = own.takes_self != 0;
    releases_gil_ = own.hold == PyNativeHold_NO_GIL;
    is_object_ = !returns_status_ && PyNativeType_Kind(asked.result) == PyNativeKind_OBJECT;
    has_place_ = view.has_place != 0;
    const PyNativeType result = view.result;
    is_wide_ = typedcall::internal::is_wide(result);
    box_ = boxer_of(result);
    for (int i = 0; i < view.parameters; ++i) {
      parameters_.emplace_back(asked.args[i]);
      value_count_ += parameters_.back().width();
      if (parameters_.back().needs_scratch()) ++scratch_count_;
    }
  }

  // Converts the arguments, which Python passed, and gives `run` the native function's.
  template <class Run>
  PyObject *with_values(PyObject *callable, PyObject *self, PyObject *const *args,
                        std::size_t nargs, const Run &run) const {
    if (nargs != arity()) {
      typedcall::internal::set_wrong_count(name_.c_str(), arity(), nargs);
      return nullptr;
    }
    native_value values[kMost];
    std::size_t at = 0;
    if (is_unbound_) {
      if (!check_self(callable, args[0])) return nullptr;
      self = *args++;
    }
    if (takes_self_) values[at++] = native_value::of(self);
    if (scratch_count_ != 0) return with_scratch(values, at, args, run);
    for (const parameter &each : parameters_) {
      if (!each.convert(*args++, &values[at++], nullptr)) return nullptr;
    }
    return run(values);
  }

  // Wide numbers and pointers: what they need lasts until the call is over.
  template <class Run>
  __attribute__((noinline)) PyObject *with_scratch(native_value *values, std::size_t at,
                                                   PyObject *const *args, const Run &run) const {
    scratch few[kFewScratch];
    std::unique_ptr<scratch[]> many;
    scratch *scratches = few;
    if (scratch_count_ > kFewScratch) {
      many.reset(new (std::nothrow) scratch[scratch_count_]);
      if (!many) return PyErr_NoMemory();
      scratches = many.get();
    }
    for (std::size_t i = 0; i < scratch_count_; ++i) scratches[i].view.obj = nullptr;
    std::size_t used = 0;
    bool converted = true;
    for (const parameter &each : parameters_) {
      scratch *where = each.needs_scratch() ? &scratches[used++] : nullptr;
      converted = each.convert(*args++, &values[at], where);
      if (!converted) break;
      at += each.width();
    }
    PyObject *result = converted ? run(values) : nullptr;
    for (std::size_t i = 0; i < scratch_count_; ++i) {
      if (scratches[i].view.obj != nullptr) PyBuffer_Release(&scratches[i].view);
    }
    return result;
  }

  // Behind the arguments, where a function that returns a status puts its value.
  void pass_place(native_value *values, const wide_value *place) const {
    if (has_place_) values[value_count_ + (takes_self_ ? 1 : 0)] = native_value::at(place);
  }

  PyObject *repeat(native_value *values, Py_ssize_t count) const {
    if (cast_ || releases_gil_) {
      PyErr_SetString(PyExc_TypeError, "only calls without casts and with the GIL are timed");
      return nullptr;
    }
    wide_value wide, place = {};
    pass_place(values, &place);
    const auto start = std::chrono::steady_clock::now();
    for (Py_ssize_t i = 0; i < count; ++i) {
      const native_value result = (*call_)(values, &wide);
      if (failed(result)) return nullptr;
      if (is_object_) Py_XDECREF(result.get<PyObject *>());
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return PyFloat_FromDouble(took.count());
  }

  // The call itself, without the GIL where the function takes it.
  native_value invoke(const native_value *values, wide_value *wide) const {
    if (!releases_gil_) return (*call_)(values, wide);
    PyThreadState *const state = PyEval_SaveThread();
    const native_value result = (*call_)(values, wide);
    typedcall::internal::restore_thread(state);
    return result;
  }
  // The same with arguments of the signature that was asked for.
  native_value invoke_cast(const native_value *values, wide_value *wide) const {
    native_value given[kMost];
    wide_value scratches[kMost];
    const std::size_t first = takes_self_ ? 1 : 0;
    if (takes_self_) given[0] = values[0];
    cast_->arguments(values + first, given + first, scratches);
    return invoke(given, wide);
  }

  PyObject *run(native_value *values) const {
    wide_value wide;
    wide_value place = {};
    pass_place(values, &place);
    if (cast_) return run_cast(values, &wide, &place);
    const native_value result = invoke(values, &wide);
    if (failed(result)) return nullptr;
    if (returns_status_) return box_(&place);
    return to_object(is_wide_ ? static_cast<const void *>(&wide) : &result.bits);
  }

  // `*is_done` false: the entry has no result, and NULL is returned without an exception.
  PyObject *run_or_fall_back(native_value *values, bool *is_done) const {
    wide_value wide, place = {};
    pass_place(values, &place);
    const native_value result = cast_ ? invoke_cast(values, &wide) : invoke(values, &wide);
    *is_done = result.get<int>() == 0;
    return *is_done ? box_(&place) : nullptr;
  }

  // The signature that was asked for is not the entry's.
  __attribute__((noinline)) PyObject *run_cast(const native_value *values, wide_value *wide,
                                               const wide_value *place) const {
    wide_value answer;
    native_value result = invoke_cast(values, wide);
    if (failed(result)) return nullptr;
    if (returns_status_) return box_(place);
    result = cast_->result(result, wide, &answer);
    return to_object(is_wide_ ? static_cast<const void *>(&answer) : &result.bits);
  }

  // Has the call set an exception? Whatever it returned: the error value of a Cython function may
  // be one of its own (`except 5`), and nothing says which.
  bool failed(native_value result) const {
    if (returns_status_) {
      if (result.get<int>() == 0) return false;
      if (falls_back_) {
        PyErr_SetString(PyExc_ValueError, "there is no result to time: it falls back");
        return true;
      }
      typedcall::internal::set_missing_error();
      return true;
    }
    if (!may_raise_ || PyErr_Occurred() == nullptr) return false;
    if (is_object_) Py_XDECREF(result.get<PyObject *>());
    return true;
  }

  PyObject *to_object(const void *place) const {
    PyObject *made = box_(place);
    if (made == nullptr && is_object_) typedcall::internal::set_missing_error();
    return made;
  }

  std::optional<invoker> call_;
  std::optional<safe_cast> cast_;
  std::vector<parameter> parameters_;
  std::size_t scratch_count_ = 0;
  std::size_t value_count_ = 0;  // of the C arguments for parameters_
  PyObject *(*box_)(const void *) = nullptr;
  bool takes_self_ = false, is_unbound_ = false, returns_status_ = false, has_place_ = false;
  bool is_wide_ = false, is_object_ = false, releases_gil_ = false, may_raise_ = false;
  bool falls_back_ = false;
  std::string name_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_CALL_H_
