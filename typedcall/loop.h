// typedcall::loop applies a native function to each element of arrays, like NumPy's inner loops.
// NumPy is not needed. Link with -lffi.
#ifndef TYPEDCALL_LOOP_H_
#define TYPEDCALL_LOOP_H_

#include "typedcall/base/with_exceptions.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/stats.h"
#include "typedcall/calling/run_rows.h"
#include "typedcall/entry_view.h"
#include "typedcall/fallback.h"
#include "typedcall/loop/kernels.h"
#include "typedcall/resolve.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// The capabilities of a loop, for find() and resolve(). Add PyNativeCallable_TAKES_SELF if you can
/// pass self, and accepts_differences if results may differ from Python's.
inline constexpr capabilities loop_capabilities =
    checks_errors | PyNativeCallable_ACQUIRES_GIL | PyNativeCallable_RETURNS_STATUS | calls_boxed;

/// How a loop processes the elements.
enum class loop_kernel {
  compiled,  ///< a loop compiled for these types
  invoker,   ///< a loop that uses an invoker, for any signature
};

struct loop_options {
  /// The self argument of functions with TAKES_SELF. Must be null for other functions. The caller
  /// must check the type of self.
  object_ref self;
  /// Called for each element for which the function falls back. Required for entries that may fall
  /// back and ignored for others. If the loop is made from a resolution, the default is the
  /// resolution's callable.
  object_ref callable;
  /// Forces the use of this kernel.
  std::optional<loop_kernel> kernel;
};

/// Applies a function to arrays. For each i, the loop reads element i of each input, calls the
/// function, and stores the result in element i of the output. The elements are processed in order,
/// so an output that overlaps an input changes later inputs. Elements need not be aligned. Strides
/// are in bytes, and may be negative or 0.
///
/// There is one array for each argument, followed by one for the result unless it is `v`. With
/// RETURNS_STATUS or falls_back, a final `&` argument is the address of the result. Its array is
/// the last one, and contains the results themselves. The status has no array. If the function
/// falls back for an element, the loop calls the Python callable and continues (see fallback.h). A
/// NULL object in an input is treated as None. With the GIL, the loop holds a reference to each
/// object that it passes, because the function may replace the object in the array. An object
/// result is a new reference. It replaces the previous object in the output, which is released and
/// may be NULL.
///
/// The GIL must be held to copy or destroy a loop. Several threads may run one loop at once if they
/// may call the function at once.
class loop {
 public:
  /// The smallest number of elements for which run() releases the GIL. For fewer elements,
  /// releasing the GIL costs too much time (bench/loops.cc).
  static constexpr std::intptr_t detach_threshold = 1000;

  /// Prepares a loop from the `signature`, `flags` and `funcptr` of an entry. `keep_alive` must
  /// keep the address valid. Entries with DIFFERS are accepted. On failure, returns nullopt with
  /// ValueError, TypeError or MemoryError set. ValueError means that the signature or the flags are
  /// invalid. TypeError means that a loop cannot call the function, or that self is missing or
  /// superfluous. GIL: held.
  static std::optional<loop> make(const char *signature, std::uintptr_t flags, void *funcptr,
                                  object_ref keep_alive = {}, loop_options options = {}) {
    loop made;
    try {
      if (!made.prepare(signature, flags, funcptr, options)) return std::nullopt;
    } catch (const std::bad_alloc &) {
      PyErr_NoMemory();
      return std::nullopt;
    }
    made.keep_alive_ = std::move(keep_alive);
    made.self_ = std::move(options.self);
    if (made.may_fall_back()) {
      made.callable_ = bound_to(made.self_.get(), options.callable.get());
      if (!made.callable_) return std::nullopt;
      if (!made.back_.set(made.callable_.get(), made.types_.parameters.size())) return std::nullopt;
    }
    return made;
  }

  /// Prepares a loop from a resolution.
  static std::optional<loop> make(resolution found, loop_options options = {}) {
    if (!options.callable) options.callable = object_ref::borrow(found.callable);
    return make(found.signature.c_str(), found.flags, found.funcptr, std::move(found.keep_alive),
                std::move(options));
  }

  /// Processes `dimensions[0]` elements, or none if this is negative. `args` and `steps` contain
  /// one value for each array. `steps` is not read if there is only one element. Releases the GIL
  /// while it runs if the function itself takes the GIL, or if may_detach() and there are at least
  /// detach_threshold elements. Returns 0, or -1 with an exception set if a call fails. The loop
  /// stops at that element, and the output is unchanged from there on. If `done` is not null, sets
  /// `*done` to the number of elements that were processed. GIL: held. No exception may be set
  /// before the call if needs_thread() or may_fall_back().
  int run(char *const *args, const std::intptr_t *dimensions, const std::intptr_t *steps,
          std::intptr_t *done = nullptr) const {
    return may_detach() && dimensions[0] >= detach_threshold
               ? run_without_gil(args, dimensions[0], steps, done)
               : run_attached(args, dimensions, steps, done);
  }

  /// Like run(), but releases the GIL only if the function itself takes the GIL. GIL: held.
  int run_attached(char *const *args, const std::intptr_t *dimensions, const std::intptr_t *steps,
                   std::intptr_t *done = nullptr) const {
    if (PyNativeView_Internal_IsDetached(thread_state()))
      return run_without_gil(args, dimensions[0], steps, done);
    return run_python([&] { return apply(args, dimensions[0], steps, done, holds_objects_); });
  }

  /// Like run(), for a thread that does not hold the GIL. If may_detach() is false, the caller must
  /// ensure that only one thread at a time calls the function. If needs_thread(), returns -1
  /// without an exception and calls nothing. Since CPython 3.15, also returns -1 if an element
  /// falls back after the interpreter has ended. Before 3.12, a loop that may fall back needs the
  /// GIL in a subinterpreter.
  int run_detached(char *const *args, const std::intptr_t *dimensions, const std::intptr_t *steps,
                   std::intptr_t *done = nullptr) const {
    if (needs_thread()) {
      if (done != nullptr) *done = 0;
      return -1;
    }
    return apply(args, dimensions[0], steps, done, false);
  }

  /// A PyUFuncGenericFunction that runs a loop. `data` is a `const loop *`. NumPy releases the GIL
  /// around loops without objects. If needs_thread(), give NumPy a function that takes the GIL and
  /// calls this one. If thread_state() is DETACHED, give it one that releases the GIL. NumPy checks
  /// for exceptions after the loop, but may call the loop again before that. Before 1.22, NumPy
  /// checks only after loops with objects. GIL: held if needs_thread() (with no exception set), or
  /// if any input contains objects.
  static void ufunc_loop(char **args, const std::intptr_t *dimensions, const std::intptr_t *steps,
                         void *data) {
    const loop &self = *static_cast<const loop *>(data);
    run_python([&] { self.apply(args, dimensions[0], steps, nullptr, self.holds_objects_); });
  }

  loop_kernel kernel() const {
    return strided_ != nullptr ? loop_kernel::compiled : loop_kernel::invoker;
  }
  /// True if the thread must be attached while the loop runs.
  bool needs_thread() const {
    // thread_state() is not used, because callers of run_detached() may use a lock for a function
    // that is not THREAD_SAFE.
    return stores_objects() || (flags_ & PyNativeCallable_NEEDS_THREAD) != 0;
  }
  /// True if the loop may call a Python callable.
  bool may_fall_back() const { return types_.view.may_fall_back; }
  /// True if the loop may run in several threads at once without the GIL.
  bool may_detach() const { return !stores_objects() && thread_state() == PyNativeThreadState_ANY; }
  /// The thread state in which the function must be called.
  PyNativeThreadState thread_state() const { return types_.view.thread_state; }

  /// The element types of the input arrays, in order.
  std::vector<PyNativeType> inputs() const {
    std::vector<PyNativeType> found;
    found.reserve(types_.parameters.size());
    for (const calling::value_type &each : types_.parameters) found.push_back(each.type);
    return found;
  }
  /// The element type of the output array, or `v` if there is no output array.
  PyNativeType output() const { return types_.result.type; }
  /// The same types, for typedcall's own code.
  const calling::description &types() const { return types_; }
  /// The PyNativeCallable_* bits passed to make().
  std::uintptr_t flags() const { return flags_; }
  /// These references are for the tp_traverse of an object that owns the loop. They are borrowed
  /// and may be null.
  PyObject *keep_alive() const { return keep_alive_.get(); }
  PyObject *self() const { return self_.get(); }
  /// The callable that the loop calls if the function falls back.
  PyObject *callable() const { return callable_.get(); }

 private:
  loop() = default;

  // Returns `callable`, bound to `self` if it is an unbound method. On failure, returns null and
  // sets an exception.
  static object_ref bound_to(PyObject *self, PyObject *callable) {
    if (self == nullptr || !internal::is_unbound(callable)) return object_ref::borrow(callable);
    const descrgetfunc get = Py_TYPE(callable)->tp_descr_get;
    const bool is_of_class = Py_TYPE(callable) == &PyClassMethodDescr_Type;
    return object_ref::steal(
        is_of_class ? get(callable, nullptr, self)
                    : get(callable, self, reinterpret_cast<PyObject *>(Py_TYPE(self))));
  }

  bool has_output() const { return types_.result.size != 0; }
  bool stores_objects() const { return is_object(types_.result); }
  bool reads_objects() const { return types_.has_parameter(is_object); }
  static bool is_object(const calling::value_type &type) {
    return type.kind == PyNativeKind_OBJECT;
  }
  static bool is_typed_pointer(const calling::value_type &type) {
    return type.type.pointer_flags != 0;
  }

  static bool fail(PyObject *type, const char *signature, const char *reason) {
    PyErr_Format(type, "typedcall: no loop over '%.200s': %s", signature, reason);
    return false;
  }

  bool prepare(const char *signature, std::uintptr_t flags, void *funcptr,
               const loop_options &options) {
    PyNativeSignature parsed;
    if (!internal::check_signature(signature, &parsed)) return false;
    funcptr_ = funcptr;
    flags_ = flags;
    types_ = calling::description(parsed, flags);
    if (!check(signature, options)) return false;
    if (types_.takes_buffers()) {
      return fail(PyExc_TypeError, signature,
                  "a buffer ('*') is an array of its own for each call, and a loop passes one "
                  "element of an array");
    }
    if (PyNativeView_Internal_IsDetached(thread_state()) && (stores_objects() || reads_objects())) {
      return fail(PyExc_TypeError, signature,
                  "the function takes the GIL itself, and objects are not kept without it");
    }
    if (may_fall_back() && types_.has_parameter(is_typed_pointer)) {
      return fail(PyExc_TypeError, signature,
                  "the function may fall back, and Python functions take no such pointers");
    }
    holds_objects_ = reads_objects();
    const PyNativeCheck check = PyNativeCheck_Of(types_.view.error_protocol, &parsed, flags);
    if (options.kernel != loop_kernel::invoker) compile(static_cast<bool>(options.self), check);
    if (strided_ != nullptr) return true;
    if (options.kernel == loop_kernel::compiled) {
      return fail(PyExc_TypeError, signature, "there is no compiled kernel for it");
    }
    PyNativeSignature_Fault fault;
    invoke_ = invoker::make(signature, flags, funcptr, std::nullopt, &fault);
    return invoke_ || fail(PyExc_TypeError, signature, fault.reason);
  }

  // Returns true if a loop can call the function. Otherwise sets an exception.
  bool check(const char *signature, const loop_options &options) const {
    const bool has_self = static_cast<bool>(options.self);
    if (funcptr_ == nullptr) return fail(PyExc_ValueError, signature, "no function");
    if (!types_.view.is_usable) {
      return fail(PyExc_ValueError, signature,
                  "flags that are not understood, or do not go with the result");
    }
    if ((flags_ & PyNativeCallable_SETS_ERRNO) != 0) {
      return fail(PyExc_TypeError, signature,
                  "the function sets errno, which a loop cannot keep for each element");
    }
    if (may_fall_back() && !options.callable) {
      return fail(PyExc_TypeError, signature,
                  "the function may fall back, and a loop does not know to which callable");
    }
    const bool takes_self = types_.view.takes_self != 0;
    if (takes_self && !has_self) {
      return fail(PyExc_TypeError, signature, "the function takes self, and none was given");
    }
    return takes_self || !has_self ||
           fail(PyExc_TypeError, signature, "a self was given that the function does not take");
  }

  // Looks for compiled loops. Self is passed as an array with stride 0.
  void compile(bool has_self, const PyNativeCheck &check) {
    const PyNativeKind result = PyNativeType_Kind(output());
    const bool is_void = result == PyNativeKind_VOID;
    // Compiled loops check only for these error values, and cannot check for NULL.
    const bool is_usual = check.mask != 0 && (check.expected == check.mask ||
                                              check.expected == native_value::of(-1.0).bits ||
                                              check.expected == native_value::of(-1.0f).bits);
    const bool raises = types_.view.may_raise;
    if (types_.view.reports || types_.view.may_fall_back || (raises && !is_usual)) return;
    const std::size_t count = types_.parameters.size() + (has_self ? 1 : 0);
    if (count > internal::kernel_arguments || (is_void && !TYPEDCALL_REGISTER_IMAGE)) return;

    constexpr PyNativeType pointer = {PyNativeType_POINTER, 0};
    unsigned classes[internal::kernel_arguments];
    unsigned *next = classes;
    if (has_self) *next++ = internal::kernel_class(pointer);
    for (const auto &each : types_.parameters) *next++ = internal::kernel_class(each.type);
    const auto *found = internal::find_compiled(
        internal::kernel_class(is_void ? pointer : output()), classes, count);
    if (found == nullptr) return;
    strided_ = raises ? found->checked : found->strided;
    // The contiguous loop cannot check for errors or use an array with stride 0.
    contiguous_ = raises || is_void || has_self ? strided_ : found->contiguous;
    std::intptr_t *size = sizes_.data();
    for (const auto &each : types_.parameters) *size++ = each.size;
    *size = types_.result.size;
  }

  TYPEDCALL_OUT_OF_LINE int run_without_gil(char *const *args, std::intptr_t count,
                                            const std::intptr_t *steps, std::intptr_t *done) const {
    return internal::run_without_gil(
        [&](PyThreadState *thread) { return apply(args, count, steps, done, false, thread); });
  }

  // Runs the loop. The caller must take or release the GIL as needed.
  int apply(char *const *args, std::intptr_t count, const std::intptr_t *steps, std::intptr_t *done,
            bool holds_objects, PyThreadState *detached = nullptr) const {
    std::intptr_t reached = 0;
    // NumPy may pass any steps if there is only one element.
    static constexpr std::intptr_t no_steps[PyNativeSignature_MAX_ARGS + 1] = {};
    if (count == 1) steps = no_steps;
    if (count > 0) {
      stats::add(strided_ != nullptr ? event::loop_compiled : event::loop_invoker);
      reached = strided_ != nullptr ? run_compiled(args, count, steps)
                                    : run_by_codes(args, count, steps, holds_objects, detached);
    }
    if (done != nullptr) *done = reached;
    return reached < count ? -1 : 0;
  }

  std::intptr_t run_compiled(char *const *args, std::intptr_t count,
                             const std::intptr_t *steps) const {
    const std::size_t arrays = types_.parameters.size() + (has_output() ? 1 : 0);
    if (!self_ && has_output()) {
      if (std::memcmp(steps, sizes_.data(), arrays * sizeof(*steps)) == 0) {
        return contiguous_(funcptr_, args, steps, count);
      }
      return strided_(funcptr_, args, steps, count);
    }
    std::uint64_t unused;
    PyObject *self = self_.get();
    char *all_args[internal::kernel_arguments + 1] = {};
    std::intptr_t all_steps[internal::kernel_arguments + 1] = {};
    std::size_t first = 0;
    if (self_) all_args[first++] = reinterpret_cast<char *>(&self);
    if (arrays != 0) {  // otherwise `args` and `steps` may be null
      std::memcpy(all_args + first, args, arrays * sizeof(*args));
      std::memcpy(all_steps + first, steps, arrays * sizeof(*steps));
    }
    if (!has_output()) all_args[first + arrays] = reinterpret_cast<char *>(&unused);
    return strided_(funcptr_, all_args, all_steps, count);
  }

  std::intptr_t run_by_codes(char *const *args, std::intptr_t count, const std::intptr_t *steps,
                             bool holds_objects, PyThreadState *detached) const {
    calling::array_rows<internal::callable_at_home> rows = {types_,        args,   steps,
                                                            holds_objects, &back_, detached};
    return calling::run_rows(types_, *invoke_, self_.get(), count, rows);
  }

  calling::description types_;
  internal::kernel contiguous_ = nullptr, strided_ = nullptr;             // null if invoke_ is used
  std::array<std::intptr_t, internal::kernel_arguments + 1> sizes_ = {};  // element sizes
  std::optional<invoker> invoke_;
  void *funcptr_ = nullptr;
  std::uintptr_t flags_ = 0;
  bool holds_objects_ = false;  // while the loop runs with the GIL
  object_ref self_;
  object_ref keep_alive_;
  object_ref callable_;  // null unless the function falls back
  internal::callable_at_home back_;
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_LOOP_H_
