// The type typedcall.TypedFunction.
#ifndef TYPEDCALL_PYTHON_NATIVE_FUNCTION_H_
#define TYPEDCALL_PYTHON_NATIVE_FUNCTION_H_

#include "arguments.h"
#include "call.h"
// After Python.h.
#include <structmember.h>

#include <cstddef>

#include "typedcall/resolve/diagnostics.h"
#include "typedcall/resolve/places.h"

namespace typedcall::python {

/// The arguments of make_function().
struct function_parts {
  PyObject *callable;    ///< the resolved callable; keeps the address valid
  PyObject *keep_alive;  ///< any other object that keeps the address valid
  PyObject *signature, *asked, *flags, *address, *place, *casting;
  PyObject *capabilities;  ///< the caller's flags, or None for Python's
  bool has_keyword_only;   ///< if true, every call needs an arrangement
};

struct typed_function {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  const native_call *call;
  std::size_t plain_count;  ///< the arguments of a call that needs no arrangement, if any does
  PyObject *self;           ///< the first C argument; null if there is none, or if unbound
  function_parts parts;
  PyObject *arrangement;  ///< names and defaults; null until a call needs them
  PyObject *weak_references;
};

namespace internal {

inline constexpr PyObject *function_parts::*kParts[] = {
    &function_parts::callable, &function_parts::keep_alive, &function_parts::signature,
    &function_parts::asked,    &function_parts::flags,      &function_parts::address,
    &function_parts::place,    &function_parts::casting,    &function_parts::capabilities};

inline typed_function *function_of(PyObject *object) {
  return reinterpret_cast<typed_function *>(object);
}

inline bool is_cleared(const typed_function *function) {
  if (function->parts.callable != nullptr) return false;
  PyErr_SetString(PyExc_RuntimeError, "the garbage collector has cleared this typed function");
  return true;
}

/// The general case of with_arguments(). Separate, because the arguments take up stack space.
template <class Native, class Refused>
__attribute__((noinline)) PyObject *with_arranged_arguments(typed_function *function,
                                                            PyObject *const *args,
                                                            std::size_t nargs, PyObject *keywords,
                                                            const Native &native,
                                                            const Refused &refused) {
  const object_ref held = object_ref::borrow(reinterpret_cast<PyObject *>(function));
  const std::size_t arity = function->call->arity();
  PyTypeObject *const type = Py_TYPE(function);
  PyObject *arrangement =
      arrangement_at(type, &function->arrangement, function->parts.callable, arity);
  if (arrangement == nullptr) return refused();
  const object_ref kept = object_ref::borrow(arrangement);
  arranged_arguments arranged(TYPEDCALL_INTERNAL_ON_STACK(PyObject *, arity + 1));
  if (!arranged.place(type, arrangement, args, nargs, keywords, arity)) return refused();
  return native(arranged.values(), arity);
}

/// Calls `native(values, count)` with all arguments in the order of the parameters. If they do not
/// match the parameters, sets an exception and calls `refused()`. `keywords` is a tuple of names,
/// or NULL.
template <class Native, class Refused>
PyObject *with_arguments(typed_function *function, PyObject *const *args, std::size_t nargs,
                         PyObject *keywords, const Native &native, const Refused &refused) {
  const bool has_keywords = keywords != nullptr && PyTuple_GET_SIZE(keywords) > 0;
  const bool is_plain = nargs == function->plain_count && !has_keywords;
  if (__builtin_expect(is_plain, 1)) return native(args, nargs);
  return with_arranged_arguments(function, args, nargs, keywords, native, refused);
}

inline PyObject *call_function(PyObject *object, PyObject *const *args, std::size_t nargsf,
                               PyObject *keywords) {
  typed_function *function = function_of(object);
  if (is_cleared(function)) return nullptr;
  const auto nargs = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
  return with_arguments(
      function, args, nargs, keywords,
      [function](PyObject *const *values, std::size_t) {
        object_ref kept;
        const holder hold = {reinterpret_cast<PyObject *>(function), &kept};
        return (*function->call)(hold, function->parts.callable, function->self, values);
      },
      [] { return static_cast<PyObject *>(nullptr); });
}

/// Like call_function(), for an entry that may fall back. Separate, so that other entries need no
/// check.
inline PyObject *call_or_fall_back(PyObject *object, PyObject *const *args, std::size_t nargsf,
                                   PyObject *keywords) {
  typed_function *function = function_of(object);
  if (is_cleared(function)) return nullptr;
  const auto nargs = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
  const auto boxed = [&] {
    // The callable may release the function, and so itself.
    const object_ref callable = object_ref::borrow(function->parts.callable);
    return typedcall::internal::call_counted(
        [&] { return PyObject_Vectorcall(callable.get(), args, nargs, keywords); });
  };
  return with_arguments(
      function, args, nargs, keywords,
      [&](PyObject *const *values, std::size_t) {
        object_ref kept;
        const holder hold = {reinterpret_cast<PyObject *>(function), &kept};
        return function->call->call_or_fall_back(hold, function->parts.callable, function->self,
                                                 values, boxed);
      },
      [&]() -> PyObject * {
        // The callable's own TypeError is clearer.
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
        PyErr_Clear();
        return boxed();
      });
}

inline int traverse_function(PyObject *object, visitproc visit, void *arg) {
  const typed_function *function = function_of(object);
  Py_VISIT(Py_TYPE(object));
  // Even a str may be an instance of a subclass that refers to other objects.
  for (const auto each : kParts) Py_VISIT(function->parts.*each);
  Py_VISIT(function->self);
  Py_VISIT(function->arrangement);
  return 0;
}

inline int clear_function(PyObject *object) {
  typed_function *function = function_of(object);
  Py_CLEAR(function->parts.callable);
  Py_CLEAR(function->parts.keep_alive);
  Py_CLEAR(function->self);
  // The cycle must be broken here, because a default may refer to this object, and tuples have no
  // tp_clear.
  Py_CLEAR(function->arrangement);
  return 0;
}

#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
/// Python 3.13 lets 10,000 objects free each other recursively, which overflows the stacks of some
/// threads. This class lowers the limit to 500 while more than 100 TypedFunctions free each other.
/// C code that a finalizer calls meanwhile has the lower limit, too.
class shallow_trashcan {
 public:
  shallow_trashcan() {
    if (++depth != 100) return;
    state_ = PyThreadState_Get();
    withheld_ = state_->c_recursion_remaining - 500;
    if (withheld_ < 0) withheld_ = 0;
    state_->c_recursion_remaining -= withheld_;
  }
  shallow_trashcan(const shallow_trashcan &) = delete;
  shallow_trashcan &operator=(const shallow_trashcan &) = delete;
  ~shallow_trashcan() {
    --depth;
    if (state_ != nullptr) state_->c_recursion_remaining += withheld_;
  }

 private:
  static inline thread_local int depth = 0;
  PyThreadState *state_ = nullptr;
  int withheld_ = 0;
};
#else
struct shallow_trashcan {};
#endif

inline void free_function(PyObject *object) {
  typed_function *function = function_of(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  // Each TypedFunction can be the callable of another, so chains may be long.
  [[maybe_unused]] const shallow_trashcan shallow;
  Py_TRASHCAN_BEGIN(object, free_function);
  if (function->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear_function(object);
  for (const auto each : kParts) Py_CLEAR(function->parts.*each);
  delete function->call;
  type->tp_free(object);
  Py_DECREF(type);
  Py_TRASHCAN_END;
}

inline PyObject *show_function(PyObject *object) {
  const typed_function *function = function_of(object);
  if (function->parts.callable == nullptr) return PyUnicode_FromString("<typedcall.TypedFunction>");
  typedcall::internal::text name;
  typedcall::internal::add_name(&name, function->parts.callable);
  if (PyErr_Occurred()) return nullptr;
  return PyUnicode_FromFormat("<typedcall.TypedFunction %s '%U' at %p>", name.c_str(),
                              function->parts.signature, PyLong_AsVoidPtr(function->parts.address));
}

// The pickle contains no address. The other process resolves the callable again.
inline PyObject *reduce_function(PyObject *object, PyObject *) {
  const typed_function *function = function_of(object);
  if (is_cleared(function)) return nullptr;
  return call_helper(Py_TYPE(object), "reduce_function", "OOOO", function->parts.callable,
                     function->parts.asked, function->parts.capabilities, function->parts.casting);
}

inline PyObject *name_of_function(PyObject *object, void *) {
  // Each TypedFunction can be the callable of another, so chains may be long.
  PyTypeObject *const type = Py_TYPE(object);
  while (object != nullptr && Py_TYPE(object) == type) object = function_of(object)->parts.callable;
  // Python code may release the chain.
  const object_ref last = object_ref::borrow(object != nullptr ? object : Py_None);
  return PyObject_GetAttrString(last.get(), "__name__");
}

inline PyTypeObject *make_function_type(PyObject *module) {
  static PyMemberDef members[] = {
#define MEMBER(name, doc) {#name, T_OBJECT_EX, offsetof(typed_function, parts.name), READONLY, doc}
      MEMBER(callable, "The Python callable that was resolved."),
      MEMBER(signature, "The provider's spelling."),
      MEMBER(flags, "typedcall.Flags of the entry."),
      MEMBER(address, "The native function's address, an int; valid as long as this object lives."),
      MEMBER(place, "Where the entry was found."),
#undef MEMBER
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(typed_function, vectorcall), READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET, offsetof(typed_function, weak_references), READONLY,
       nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef getters[] = {
      {"__name__", name_of_function, nullptr, "The name of the callable.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", reduce_function, METH_NOARGS,
                                   "Pickles the callable and the signature, never the address."},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void *>(free_function)},
      {Py_tp_traverse, reinterpret_cast<void *>(traverse_function)},
      {Py_tp_clear, reinterpret_cast<void *>(clear_function)},
      {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
      {Py_tp_repr, reinterpret_cast<void *>(show_function)},
      {Py_tp_members, members},
      {Py_tp_getset, getters},
      {Py_tp_methods, methods},
      {Py_tp_doc,
       const_cast<char *>(
           "A native function found behind a Python callable. Calls convert each argument once, "
           "and need the GIL. The parameters have the callable's names and defaults.")},
      {0, nullptr}};
  unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
#if PY_VERSION_HEX >= 0x030A0000
  flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;
#endif
  static PyType_Spec spec = {"typedcall.TypedFunction", sizeof(typed_function), 0, flags, slots};
  auto *type = reinterpret_cast<PyTypeObject *>(PyType_FromModuleAndSpec(module, &spec, nullptr));
#if PY_VERSION_HEX < 0x030A0000
  if (type != nullptr) type->tp_new = nullptr;
#endif
  return type;
}

/// Returns the native call for `parts`, or null with an exception set.
inline std::unique_ptr<const native_call> make_call(const function_parts &parts) {
  const char *signature = PyUnicode_AsUTF8(parts.signature);
  const char *asked = signature != nullptr ? PyUnicode_AsUTF8(parts.asked) : nullptr;
  if (asked == nullptr) return nullptr;
  const unsigned long flags = PyLong_AsUnsignedLong(parts.flags);
  if (flags == static_cast<unsigned long>(-1) && PyErr_Occurred()) return nullptr;
  void *address = PyLong_AsVoidPtr(parts.address);
  if (address == nullptr && PyErr_Occurred()) return nullptr;
  typedcall::internal::text name;
  typedcall::internal::add_name(&name, parts.callable);
  if (PyErr_Occurred()) return nullptr;
  return native_call::make(name.c_str(), asked, signature, flags, address,
                           typedcall::internal::is_unbound(parts.callable));
}

/// Makes a TypedFunction. The references in `parts` are borrowed.
inline PyObject *make_function(PyTypeObject *type, const function_parts &parts) {
  std::unique_ptr<const native_call> call = make_call(parts);
  if (!call) return nullptr;
  PyObject *self = nullptr;
  if (call->has_bound_self()) {
    self = self_of(parts.callable);
    if (self == nullptr) {
      PyErr_SetString(PyExc_TypeError, "the entry takes self, and this function has none");
      return nullptr;
    }
  }
  PyObject *object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  typed_function *function = function_of(object);
  function->vectorcall = call->may_fall_back() ? call_or_fall_back : call_function;
  // No call has so many arguments.
  function->plain_count = parts.has_keyword_only ? SIZE_MAX : call->arity();
  function->call = call.release();
  function->self = object_ref::borrow(self).release();
  function->parts = parts;
  for (const auto each : kParts) Py_XINCREF(parts.*each);
  return object;
}

}  // namespace internal
}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_FUNCTION_H_
