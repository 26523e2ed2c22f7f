// The C++ provider: one line per function makes the Python wrapper, the signature and the tagged
// row.
//
//   long inc(long x) noexcept { return x + 1; }
//   static typedcall::method_table methods{typedcall::def<inc>("inc", "Add one.")};
//   TYPEDCALL_MODULE(mymodule, "Adds.", methods)
#ifndef TYPEDCALL_PROVIDER_H_
#define TYPEDCALL_PROVIDER_H_

#ifdef Py_LIMITED_API
#error \
    "typedcall/provider.h needs the full API: it looks into builtin functions and method descriptors"
#endif

#include <array>
#include <cstring>
#include <new>

#include "typedcall/tag.h"
#include "typedcall/wrapper.h"

namespace typedcall {

/// One row, before it has a place in memory. Made by def().
struct method {
  const char *name;
  const char *doc;
  PyCFunction wrapper;
  int flags;
  const PyNativeCallableTable *table;
  int *pypy_arg_types;
  int pypy_ret_type;
  void *pypy_function;
};

namespace internal {

/// PyPy's code for a native type, or PyTypedMethod_NOT_FOR_PYPY.
constexpr int pypy_code(PyNativeType type) {
  if (type.is_pointer) return PyTypedMethod_NOT_FOR_PYPY;
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

/// PyPy's fields for a function. Its reader takes every -1 of a long that may raise for an error,
/// and -0.0 of a double, so of the functions that raise only those that return objects are for it.
template <class Native>
struct pypy_fields {
  static constexpr PyNativeSignature signature =
      signature_of<typename Native::traits::type>::parsed();
  static constexpr bool speaks_pypy() {
    if (pypy_code(signature.result) == PyTypedMethod_NOT_FOR_PYPY) return false;
    if (Native::may_raise && !Native::returns_object) return false;
    if (Native::arity == 0) return false;
    for (std::size_t i = 0; i < Native::arity; ++i) {
      if (pypy_code(signature.args[i]) == PyTypedMethod_NOT_FOR_PYPY) return false;
    }
    return true;
  }
  static constexpr std::array<int, Native::arity + 2> arg_codes() {
    std::array<int, Native::arity + 2> codes{};
    for (std::size_t i = 0; i < Native::arity; ++i) codes[i] = pypy_code(signature.args[i]);
    if (!speaks_pypy()) codes[0] = PyTypedMethod_NOT_FOR_PYPY;
    codes[speaks_pypy() ? Native::arity : 1] = -1;
    return codes;
  }
  // Not const because PyPy's field is not.
  static inline std::array<int, Native::arity + 2> arg_types = arg_codes();
  static constexpr int ret_type = !speaks_pypy()
                                      ? PyTypedMethod_NOT_FOR_PYPY
                                      : (Native::may_raise ? -1 : 1) * pypy_code(signature.result);
};

/// The static table of some overloads: PyNativeCallableTable with as many entries as there are.
/// Hidden once more although native<> is: gcc shows the initialisation guard of `table` otherwise.
template <class... Natives>
struct __attribute__((visibility("hidden"))) static_table {
  Py_ssize_t count;
  PyNativeCallableEntry entries[sizeof...(Natives)];

  static const PyNativeCallableTable *get() {
    static_assert(offsetof(static_table, entries) == offsetof(PyNativeCallableTable, entries));
    static const static_table table = {sizeof...(Natives), {Natives::entry()...}};
    return reinterpret_cast<const PyNativeCallableTable *>(&table);
  }
};

/// PyTypedMethodMetadata whose name can be filled in after it has got its place.
struct writable_metadata {
  const void *details;
  const PyNativeCallableTable *table;
  std::uint32_t size;
  std::uint16_t abi_major, abi_minor;
  std::uint64_t magic;
  int *arg_types;
  int ret_type;
  void *underlying_func;
  char name[sizeof(PyPyTypedMethodMetadata::ml_name)];
};
static_assert(sizeof(writable_metadata) == sizeof(PyTypedMethodMetadata));
static_assert(offsetof(writable_metadata, name) == PyTypedMethod_SIZE);
static_assert(offsetof(writable_metadata, magic) == offsetof(PyTypedMethodMetadata, magic));

}  // namespace internal

/// A row called `name` for one function, or for several as overloads: def<inc>("inc"),
/// def<abs_long, abs_double>("abs"). Effects apply to all of them. Among overloads the one whose
/// types are the arguments' very own wins, then one that takes a base class of theirs (an int for a
/// bool), then the first that they can be converted to without loss. `name` and `doc` are string
/// literals; a name of more than 99 bytes does not compile.
template <auto... Functions, std::uint64_t Effects = 0, std::size_t Length>
method def(const char (&name)[Length], effects<Effects>, const char *doc = nullptr) {
  static_assert(sizeof...(Functions) > 0, "typedcall: name the function: def<inc>(\"inc\")");
  static_assert(Length <= sizeof(PyPyTypedMethodMetadata::ml_name),
                "typedcall: the name of a typed method has at most 99 bytes");
  using overloads = internal::overloads<internal::native<Functions, Effects>...>;
  using pypy = internal::pypy_fields<typename overloads::first>;
  overloads::name = name;
  method made = {};
  made.name = name;
  made.doc = doc;
  made.table = internal::static_table<internal::native<Functions, Effects>...>::get();
  made.pypy_arg_types = pypy::arg_types.data();
  made.pypy_ret_type = pypy::ret_type;
  if constexpr (pypy::speaks_pypy()) made.pypy_function = made.table->entries[0].funcptr;
  if constexpr (overloads::all_have_arity(0)) {
    made.wrapper = &overloads::no_args;
    made.flags = METH_NOARGS;
  } else if constexpr (overloads::all_have_arity(1)) {
    made.wrapper = &overloads::one_arg;
    made.flags = METH_O;
  } else {
    made.wrapper = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&overloads::fast));
    made.flags = METH_FASTCALL;
  }
  return made;
}

/// The same without effects.
template <auto... Functions, std::size_t Length>
method def(const char (&name)[Length], const char *doc = nullptr) {
  return def<Functions...>(name, effects<0>(), doc);
}

/// A function object does not compile: it has no address to offer.
template <class Lambda, std::size_t Length, class = decltype(&Lambda::operator())>
method def(const char (&)[Length], Lambda, const char * = nullptr) {
  static_assert(!std::is_class_v<Lambda>,
                "typedcall: a method is made from a pointer to a function, which stands in angle "
                "brackets: constexpr auto f = +[](long x) noexcept { ... }; def<f>(\"f\")");
  return {};
}

/// The rows of a module and their metadata, for `static` storage: modules keep pointers into it.
template <std::size_t Count>
class method_table {
 public:
  template <class... Methods>
  explicit method_table(const Methods &...methods) {
    std::size_t i = 0;
    (add(i++, methods), ...);
  }
  method_table(const method_table &) = delete;
  method_table &operator=(const method_table &) = delete;

  /// For PyModuleDef::m_methods.
  PyMethodDef *rows() { return rows_; }

  /// For Py_mod_exec: tells the interpreter's side table what the rows are. Returns 0, or -1 with
  /// the exceptions of PyTypedMethod_AddTags. GIL: held. Once for every module object, in any
  /// interpreter.
  int tag(PyObject *module) const { return PyTypedMethod_AddTags(module, rows_, typed_); }

 private:
  void add(std::size_t i, const method &made) {
    internal::writable_metadata &metadata = metadata_[i];
    metadata.table = made.table;
    metadata.size = PyTypedMethod_SIZE;
    metadata.abi_major = PyTypedMethod_ABI_MAJOR;
    metadata.abi_minor = PyTypedMethod_ABI_MINOR;
    metadata.magic = PyTypedMethod_MAGIC;
    metadata.arg_types = made.pypy_arg_types;
    metadata.ret_type = made.pypy_ret_type;
    metadata.underlying_func = made.pypy_function;
    std::strcpy(metadata.name, made.name);
    typed_[i] = reinterpret_cast<const PyTypedMethodMetadata *>(&metadata);
    rows_[i] = {metadata.name, made.wrapper, made.flags | PyTypedMethod_FLAGS, made.doc};
  }

  internal::writable_metadata metadata_[Count] = {};
  const PyTypedMethodMetadata *typed_[Count + 1] = {};
  PyMethodDef rows_[Count + 1] = {};
};

template <class... Methods>
explicit method_table(const Methods &...) -> method_table<sizeof...(Methods)>;

}  // namespace typedcall

#if PY_VERSION_HEX >= 0x030C0000
#define TYPEDCALL_INTERNAL_INTERPRETERS \
  {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#else
#define TYPEDCALL_INTERNAL_INTERPRETERS
#endif

/// Defines the extension module `name` whose functions are those of `methods`, a method_table: the
/// whole of PyInit_<name>, multi-phase, for any number of interpreters. Modules that need more
/// write their own PyModuleDef with methods.rows(), and call methods.tag(module) from Py_mod_exec.
#define TYPEDCALL_MODULE(name, doc, methods)                                  \
  static int name##_exec(PyObject *module) { return (methods).tag(module); }  \
  static PyModuleDef_Slot name##_slots[] = {                                  \
      {Py_mod_exec, reinterpret_cast<void *>(name##_exec)},                   \
      TYPEDCALL_INTERNAL_INTERPRETERS{0, nullptr},                            \
  };                                                                          \
  static PyModuleDef name##_module = {                                        \
      PyModuleDef_HEAD_INIT, #name,   doc,     0,      (methods).rows(),      \
      name##_slots,          nullptr, nullptr, nullptr};                      \
  PyMODINIT_FUNC PyInit_##name() { return PyModuleDef_Init(&name##_module); } \
  static_assert(true, "a semicolon may follow")

#endif  // TYPEDCALL_PROVIDER_H_
