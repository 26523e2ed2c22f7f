// Calls a native function with Python objects. The type typedcall.TypedFunction is in function.h.
#ifndef TYPEDCALL_PYTHON_NATIVE_CALL_H_
#define TYPEDCALL_PYTHON_NATIVE_CALL_H_

#include "values.h"
// After Python.h.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "typedcall/base/error_value.h"
#include "typedcall/base/gil.h"
#include "typedcall/base/stack.h"
#include "typedcall/calling/entry.h"
#include "typedcall/convert/exceptions.h"
#include "typedcall/resolve/request.h"
#include "typedcall/signature.h"

namespace typedcall::python {

#ifdef PYPY_VERSION  // PyPy's module finds no unbound methods
inline bool check_self(PyObject *, PyObject *) { return false; }
#else
using typedcall::check_self;
#endif

/// Holds the owner of a call when Python code is about to run, because that code may release all
/// other references. Counting the references of each call would make threads wait.
struct holder {
  PyObject *owner;
  object_ref *kept;
  void operator()() const {
    if (kept != nullptr) *kept = object_ref::borrow(owner);
  }
};

/// A prepared call to an entry. It is immutable and may be shared by threads.
class native_call {
 public:
  /// Arguments are converted to the signature `asked`, which may differ from the entry's
  /// `signature` by a safe cast. If `is_unbound` is true, the first argument is self. Returns null
  /// with ValueError or TypeError set if Python cannot call the entry. Throws std::bad_alloc.
  static std::unique_ptr<const native_call> make(std::string name, const char *asked,
                                                 const char *signature, std::uintptr_t flags,
                                                 void *funcptr, bool is_unbound) {
    PyNativeSignature parsed;
    PyNativeSignature_Fault fault = {0, ""};
    if (PyNativeSignature_ParseString(asked, &parsed, &fault) < 0) {
      return refuse(PyExc_ValueError, asked, fault.reason);
    }
    auto own = calling::entry::make(signature, flags, funcptr, "Python", true);
    if (!own) return nullptr;
    std::unique_ptr<native_call> made(new native_call(*std::move(own), parsed));
    if (!PyNativeSignature_Satisfies(signature, asked)) {
      made->cast_ = safe_cast::make(asked, signature);
      if (!made->cast_) {
        return refuse(PyExc_TypeError, asked, "values could be lost on the way to the entry");
      }
    }
    made->name_ = std::move(name);
    made->is_unbound_ = is_unbound;
    made->arity_ = made->parameters_.size() + (is_unbound ? 1 : 0);
    // The check of self may raise, too.
    if (is_unbound && made->needs_floats_) made->may_be_quiet_ = false;
    return made;
  }

  /// Returns the number of arguments that Python passes.
  std::size_t arity() const { return arity_; }
  bool has_bound_self() const { return own_.view.takes_self && !is_unbound_; }

  /// Returns false with TypeError set if Python must pass another number of arguments. The
  /// functions below need arity() arguments.
  bool accepts(std::size_t nargs) const {
    if (nargs == arity()) return true;
    typedcall::internal::set_wrong_count(name_.c_str(), arity(), nargs);
    return false;
  }

  /// Calls the native function. `self` is null if the function takes none, or if `callable` is an
  /// unbound method. An unbound method's self is the first argument, whose type is checked. Returns
  /// a new reference, or NULL. Calls `hold` before Python code may run. GIL: held.
  PyObject *operator()(holder hold, PyObject *callable, PyObject *self,
                       PyObject *const *args) const {
    return with_values(hold, callable, self, args,
                       [this](native_value *values) { return run(values); });
  }

  /// True if the entry may fall back. Call such an entry with call_or_fall_back().
  bool may_fall_back() const { return own_.view.may_fall_back; }
  /// Like operator(), but returns the result of `boxed`, a call to the Python callable, if the
  /// entry falls back.
  template <class Boxed>
  PyObject *call_or_fall_back(holder hold, PyObject *callable, PyObject *self,
                              PyObject *const *args, const Boxed &boxed) const {
    bool is_called = false;
    PyObject *result = with_values(hold, callable, self, args, [&](native_value *values) {
      is_called = true;
      return run(values);
    });
    if (result != nullptr) return result;
    // The callable may accept arguments whose type, shape or layout the entry refuses.
    if (is_called ? PyErr_Occurred() != nullptr : !is_refusal()) return nullptr;
    PyErr_Clear();
    // The arguments' buffers must be released before the callable is called.
    return boxed();
  }

  /// Converts the arguments once and calls the function `count` times. Returns the seconds as a
  /// float, or NULL with an exception set. GIL: held.
  PyObject *time(PyObject *callable, PyObject *self, PyObject *const *args,
                 Py_ssize_t count) const {
    return with_values(holder{nullptr, nullptr}, callable, self, args,
                       [this, count](native_value *values) { return repeat(values, count); });
  }

 private:
  // For a few numbers, self and the place for the result.
  static constexpr std::size_t kFew = typedcall::internal::few_arguments + 2;

  native_call(calling::entry own, const PyNativeSignature &asked)
      : own_(std::move(own)), is_object_(PyNativeType_Kind(asked.result) == PyNativeKind_OBJECT) {
    const PyNativeView view = PyNativeView_Of(&asked, own_.invoke.flags());
    bool takes_doubles = true;
    is_wide_ = typedcall::internal::is_wide(view.result);
    box_ = boxer_of(view.result);
    for (int i = 0; i < view.nargs; ++i) {
      parameters_.emplace_back(asked.args[i]);
      takes_doubles &= asked.args[i].code == PyNativeType_DOUBLE && !asked.args[i].pointer_flags;
      if (parameters_.back().needs_scratch()) ++scratch_count_;
    }
    needs_room_ = scratch_count_ != 0 || own_.invoke.arity() > kFew;
    // Before 3.12, raising an exception may run the garbage collector, and so any code. That
    // matters to calls that are not over then, and a float for a double never raises.
    needs_floats_ = PY_VERSION_HEX < 0x030C0000 && (may_fall_back() || scratch_count_ != 0);
    may_be_quiet_ =
        own_.view.thread_state == PyNativeThreadState_ANY && (takes_doubles || !needs_floats_);
  }

  // True if converting the object runs no Python code before the call returns or falls back. Then
  // nothing can release the function's owner meanwhile.
  bool is_quiet(PyObject *object) const {
    const PyTypeObject *const type = Py_TYPE(object);
    return type == &PyFloat_Type || (!needs_floats_ && (type == &PyLong_Type || is_plain(object)));
  }

  // True if converting an object of another type than float and int runs no Python code.
  __attribute__((noinline)) static bool is_plain(PyObject *object) {
    if (PyUnicode_CheckExact(object)) return is_ascii(object);
    return PyBool_Check(object) || PyComplex_CheckExact(object) || PyBytes_CheckExact(object) ||
           PyCapsule_CheckExact(object) || object == Py_None;
  }

  // For any other str, a program may have registered an error handler of its own.
  static bool is_ascii(PyObject *text) {
#ifdef PYPY_VERSION
    (void)text;
    return false;
#else
#if PY_VERSION_HEX < 0x030C0000
    if (!PyUnicode_IS_READY(text)) return false;
#endif
    return PyUnicode_IS_COMPACT_ASCII(text) != 0;
#endif
  }

  // True if a conversion may have raised the pending exception to refuse an argument.
  static bool is_refusal() {
    return PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_OverflowError) ||
           PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_BufferError);
  }

  static std::unique_ptr<const native_call> refuse(PyObject *type, const char *signature,
                                                   const char *why) {
    PyErr_Format(type, "'%.200s' cannot be called: %s", signature, why);
    return nullptr;
  }

  // Converts the arguments, and calls `run` with the native arguments.
  template <class Run>
  PyObject *with_values(holder hold, PyObject *callable, PyObject *self, PyObject *const *args,
                        const Run &run) const {
    if (!may_be_quiet_) hold();
    if (is_unbound_) {
      if (!check_self(callable, args[0])) return nullptr;
      self = *args++;
    }
    if (needs_room_) return with_scratch(hold, self, args, run);
    native_value values[kFew];
    std::size_t at = 0;
    if (own_.view.takes_self) values[at++] = native_value::of(self);
    for (const parameter &each : parameters_) {
      PyObject *const object = *args++;
      if (!is_quiet(object)) hold();
      if (!each.convert(object, &values[at++], nullptr)) return nullptr;
    }
    return run(values);
  }

  // Like with_values(), for wide numbers and pointers, and for many arguments.
  template <class Run>
  __attribute__((noinline)) PyObject *with_scratch(holder hold, PyObject *self,
                                                   PyObject *const *args, const Run &run) const {
    auto *const values = TYPEDCALL_INTERNAL_ON_STACK(native_value, own_.invoke.arity() + 1);
    auto *const scratches = TYPEDCALL_INTERNAL_ON_STACK(scratch, scratch_count_);
    std::size_t at = 0;
    if (own_.view.takes_self) values[at++] = native_value::of(self);
    for (std::size_t i = 0; i < scratch_count_; ++i) scratches[i].view.obj = nullptr;
    std::size_t used = 0;
    bool converted = true;
    for (const parameter &each : parameters_) {
      scratch *where = each.needs_scratch() ? &scratches[used++] : nullptr;
      PyObject *const object = *args++;
      if (!is_quiet(object)) hold();
      converted = each.convert(object, &values[at], where);
      if (!converted) break;
      at += each.width();
    }
    PyObject *result = converted ? run(values) : nullptr;
    for (std::size_t i = 0; i < scratch_count_; ++i) {
      if (scratches[i].view.obj != nullptr) PyBuffer_Release(&scratches[i].view);
    }
    return result;
  }

  PyObject *repeat(native_value *values, Py_ssize_t count) const {
    if (cast_ || PyNativeView_Internal_IsDetached(own_.view.thread_state)) {
      PyErr_SetString(PyExc_TypeError, "only calls without casts and with the GIL are timed");
      return nullptr;
    }
    calling::result_cell cell;
    calling::outcome found = calling::outcome::value;
    const auto start = std::chrono::steady_clock::now();
    for (Py_ssize_t i = 0; i < count && found == calling::outcome::value; ++i) {
      found = own_.run(values, &cell);
      if (is_object_) Py_XDECREF(cell.returned.get<PyObject *>());
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (found == calling::outcome::value) return PyFloat_FromDouble(took.count());
    if (found == calling::outcome::none) {
      PyErr_SetString(PyExc_ValueError, "there is no result to time: the function falls back");
    }
    return nullptr;
  }

  __attribute__((noinline)) calling::outcome run_without_gil(native_value *values,
                                                             calling::result_cell *cell) const {
    return typedcall::internal::run_without_gil(
        [&](PyThreadState *) { return own_.run(values, cell); });
  }

  // Calls the native function. Returns false if it falls back or fails. An exception is set only if
  // it fails.
  bool invoke(native_value *values, calling::result_cell *cell) const {
    const calling::outcome found = PyNativeView_Internal_IsDetached(own_.view.thread_state)
                                       ? run_without_gil(values, cell)
                                       : own_.run(values, cell);
    if (TYPEDCALL_EXPECT(found == calling::outcome::value, 1)) return true;
    if (is_object_) Py_XDECREF(cell->returned.get<PyObject *>());
    return false;
  }

  // Like operator(), but returns NULL with no exception set if the function falls back.
  PyObject *run(native_value *values) const {
    if (cast_) return run_cast(values);
    calling::result_cell cell;
    return invoke(values, &cell) ? to_object(own_.at(cell)) : nullptr;
  }

  // Like run(), for an entry whose signature differs from the requested one.
  __attribute__((noinline)) PyObject *run_cast(native_value *values) const {
    auto *const given = TYPEDCALL_INTERNAL_ON_STACK(native_value, own_.invoke.arity() + 1);
    auto *const scratches = TYPEDCALL_INTERNAL_ON_STACK(wide_value, own_.invoke.arity() + 1);
    wide_value answer;
    const std::size_t first = own_.view.takes_self ? 1 : 0;
    if (own_.view.takes_self) given[0] = values[0];
    if (own_.view.has_place) values[own_.invoke.arity() - 1] = {};
    cast_->convert_arguments(values + first, given + first, scratches);
    calling::result_cell cell;
    if (!invoke(given, &cell)) return nullptr;
    if (own_.view.has_place) return to_object(&cell.place);
    const native_value result = cast_->convert_result(cell.returned, &cell.place, &answer);
    return to_object(is_wide_ ? static_cast<const void *>(&answer) : &result);
  }

  PyObject *to_object(const void *place) const {
    const bool is_object = is_object_;  // an error in box_() may run code that frees this object
    PyObject *made = box_(place);
    if (made == nullptr && is_object) typedcall::internal::set_missing_error();
    return made;
  }

  calling::entry own_;
  std::optional<safe_cast> cast_;
  std::vector<parameter> parameters_;
  std::size_t scratch_count_ = 0, arity_ = 0;
  bool needs_room_ = false;  // for scratch, or for more than kFew values
  PyObject *(*box_)(const void *) = nullptr;
  bool is_unbound_ = false, is_object_ = false, is_wide_ = false;
  bool may_be_quiet_ = false, needs_floats_ = false;  // see is_quiet()
  std::string name_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_CALL_H_
