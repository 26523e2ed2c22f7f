// The contents of a method def. All functions of the same type share one part of them.
#ifndef TYPEDCALL_PROVIDER_METHOD_DEF_H_
#define TYPEDCALL_PROVIDER_METHOD_DEF_H_

#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/provider/native.h"
#include "typedcall/typed_method.h"

// These headers must come after Python.h.
#include <cstddef>
#include <cstring>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// The calling convention of a wrapper.
enum class convention { no_args, one_arg, fast, with_keywords };

constexpr convention convention_for(std::size_t arity) {
  return arity == 0 ? convention::no_args : arity == 1 ? convention::one_arg : convention::fast;
}

constexpr int flags_of(convention which) {
  return which == convention::no_args   ? METH_NOARGS
         : which == convention::one_arg ? METH_O
         : which == convention::fast    ? METH_FASTCALL
                                        : METH_FASTCALL | METH_KEYWORDS;
}

/// Returns METH_CLASS, METH_STATIC or 0.
constexpr int flags_of(std::uint64_t stated) {
  return ((stated & of_class) != 0 ? METH_CLASS : 0) |
         ((stated & of_static) != 0 ? METH_STATIC : 0);
}

/// Returns the wrapper's function for this calling convention.
template <class Wrapper, convention Convention>
PyCFunction called_by_python() {
  if constexpr (Convention == convention::no_args) {
    return &Wrapper::no_args;
  } else if constexpr (Convention == convention::one_arg) {
    return &Wrapper::one_arg;
  } else if constexpr (Convention == convention::fast) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&Wrapper::fast));
  } else {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&Wrapper::with_keywords));
  }
}

/// The argument type of a function that takes one argument and can be called directly, or `other`.
enum class argument_type : unsigned char { other, integer, floating };

/// Returns the argument type if a call runs no Python code. An exact int or float is converted
/// without calling its methods.
template <class Type>
constexpr argument_type direct_argument() {
  constexpr bool runs_python =
      (Type::flags & PyNativeCallable_NEEDS_THREAD) != 0 || Type::view.may_fall_back;
  if constexpr (Type::arity == 1 && !runs_python) {
    using type = std::tuple_element_t<0, typename Type::arguments>;
    if (is_floating_type<type>) return argument_type::floating;
    if (is_integer_type<type>) return argument_type::integer;
  }
  return argument_type::other;
}

/// Returns PyPy's code for a native type, or PyTypedMethod_NOT_FOR_PYPY.
constexpr int pypy_code(PyNativeType type) {
  if (type.pointer_flags) return PyTypedMethod_NOT_FOR_PYPY;
  switch (type.code) {
    case PyNativeType_LONG:
      return T_C_LONG;
    case PyNativeType_DOUBLE:
      return T_C_DOUBLE;
    case PyNativeType_OBJECT:
      return T_PY_OBJECT;
    default:
      return PyTypedMethod_NOT_FOR_PYPY;
  }
}

/// The METH_TYPED fields that PyPy reads. If a function may raise, PyPy treats every long result of
/// -1 and every double result of -0.0 as an error. Therefore functions that may raise are offered
/// to PyPy only if they return objects. PyPy neither passes self nor supports status results.
/// Source: PyPy's branch py3.10-mb-typed-sig-experiments; docs/ABI.md, section 4.
template <class Native>
struct TYPEDCALL_HIDDEN pypy_fields {
  static constexpr PyNativeSignature signature =
      signature_of<typename Native::shown_type>::parsed();
  static constexpr bool speaks_pypy() {
    if (Native::takes_self || Native::is_status || Native::arity == 0) return false;
    if (pypy_code(signature.result) == PyTypedMethod_NOT_FOR_PYPY) return false;
    if (Native::may_raise && !Native::returns_object) return false;
    for (std::size_t i = 0; i < Native::arity; ++i) {
      if (pypy_code(signature.args[i]) == PyTypedMethod_NOT_FOR_PYPY) return false;
    }
    return true;
  }
  struct codes {
    int of[Native::arity + 2];
  };
  static constexpr codes arg_codes() {
    codes made{};
    for (std::size_t i = 0; i < Native::arity; ++i) made.of[i] = pypy_code(signature.args[i]);
    if (!speaks_pypy()) made.of[0] = PyTypedMethod_NOT_FOR_PYPY;
    made.of[speaks_pypy() ? Native::arity : 1] = -1;
    return made;
  }
  // PyPy's struct requires a non-const pointer.
  static inline codes arg_types = arg_codes();
  static constexpr int ret_type = !speaks_pypy()
                                      ? PyTypedMethod_NOT_FOR_PYPY
                                      : (Native::may_raise ? -1 : 1) * pypy_code(signature.result);
};

struct parameter_text;

/// The part of a def that follows from the types alone. All defs with the same types share it.
struct def_shape {
  int flags;                                  ///< METH_*
  std::size_t arity;                          ///< the number of parameters
  const char *signature;                      ///< the signature of the entry
  std::uintptr_t effects;                     ///< the flags of the entry
  int *pypy_arg_types;                        ///< from pypy_fields
  int pypy_ret_type;                          ///< from pypy_fields
  bool speaks_pypy;                           ///< from pypy_fields
  argument_type direct;                       ///< see make_direct() in method_table.h
  const char *const *names = nullptr;         ///< parameter names, ending with null, or null
  void (*spell)(parameter_text *) = nullptr;  ///< null if the parameters have no names
  std::size_t count = 1;                      ///< the number of overloads
  std::size_t entries = 1;                    ///< the number of entries
  const void *table = nullptr;                ///< set if there are several entries
  /// The signatures of several overloads as Python sees them.
  const char *const *overloads = nullptr;
};

template <class Type>
constexpr def_shape shape_of(convention called) {
  return {flags_of(called) | flags_of(Type::stated),
          Type::arity,
          signature_of<typename Type::shown_type>::text,
          Type::flags,
          pypy_fields<Type>::arg_types.of,
          pypy_fields<Type>::ret_type,
          pypy_fields<Type>::speaks_pypy(),
          called == convention::one_arg ? direct_argument<Type>() : argument_type::other};
}

/// The shape of functions whose parameters have no names. `Type` is an offered<...>.
template <class Type>
inline constexpr def_shape plain_shape TYPEDCALL_HIDDEN =
    shape_of<Type>(convention_for(Type::arity));

/// The shape of a def whose class has a shape() of its own.
template <class Def>
inline constexpr def_shape own_shape TYPEDCALL_HIDDEN = Def::shape();

/// One method def, before it is stored in a table. Made by def().
struct method {
  const char *name;
  const char *doc = nullptr;
  const def_shape *shape = nullptr;
  PyCFunction function = nullptr;
  void *funcptr = nullptr;  ///< the entry's address if there is only one entry
  /// The variable that holds the name for the wrapper's error messages, or null.
  const char **called = nullptr;
  const char *fault = nullptr;  ///< the reason why the def is invalid, or null
  /// Stores the exception translation of the functions' module. Null if no function throws.
  void (*join)(const translation *) = nullptr;
  const translation *file = nullptr;

  PyNativeCallableEntry entry(std::size_t at) const {
    if (shape->table == nullptr) return {shape->signature, shape->effects, funcptr};
    return static_cast<const PyNativeCallableTable *>(shape->table)->entries[at];
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_METHOD_DEF_H_
