// The C++ provider: one line per function makes the Python wrapper, the signature and the tagged
// row.
//
//   long inc(long x) noexcept { return x + 1; }
//   static typedcall::method_table methods{typedcall::def<inc>("inc", "Add one.")};
//   TYPEDCALL_MODULE(mymodule, "Adds.", methods)
//
// `noexcept` is for functions that run no Python code; the others say typedcall::nothrow (gil.h).
#ifndef TYPEDCALL_PROVIDER_H_
#define TYPEDCALL_PROVIDER_H_

#ifdef Py_LIMITED_API
#error \
    "typedcall/provider.h needs the full API: it looks into builtin functions and method descriptors"
#endif

#include "typedcall/namespace.h"
#include "typedcall/provider/def.h"
#include "typedcall/provider/direct_vectorcall.h"
#include "typedcall/provider/module.h"
#include "typedcall/tag.h"

// Behind Python.h.
#include <algorithm>
#include <cstring>
#include <new>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

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

/// A row's documentation with what can be said without being told. It lasts as long as the process:
/// functions may be asked for it at any time. Null when there is nothing to say, or no memory.
__attribute__((noinline, cold)) inline const char *make_doc(const method &made,
                                                            bool of_type) noexcept try {
  const row_facts &facts = *made.facts;
  const bool is_static = (facts.flags & METH_STATIC) != 0;
  const bool is_class = (facts.flags & METH_CLASS) != 0;
  const char *self = is_static ? "" : !of_type ? "$module" : is_class ? "$type" : "$self";
  if (has_text_signature(made.name, made.doc)) return made.doc;
  std::string text;
  if (facts.signature_count > 1) {
    text = spell_overloads(made.name, facts.signatures, facts.signature_count);
    if (made.doc != nullptr) text += "\n\n";
  } else {
    text = spell_signature(made.name, self,
                           made.spell != nullptr ? made.spell() : unnamed_parameters(facts.arity)) +
           "\n--\n\n";
    if (!is_ascii(text)) return made.doc;
  }
  if (made.doc != nullptr) text += made.doc;
  char *kept = new char[text.size() + 1];
  std::memcpy(kept, text.c_str(), text.size() + 1);
  return kept;
} catch (const std::bad_alloc &) {
  return made.doc;
}

/// PyUnicode_IsIdentifier, which PyPy does not have.
inline bool is_identifier(PyObject *text) {
#ifdef PYPY_VERSION
  const object_ref answer = object_ref::steal(PyObject_CallMethod(text, "isidentifier", nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
#else
  return PyUnicode_IsIdentifier(text) == 1;
#endif
}

/// 0, or -1 with ValueError for names of parameters that Python cannot say, or not tell apart. They
/// end with null. GIL: held.
__attribute__((noinline, cold)) inline int check_parameter_names(const char *function,
                                                                 const char *const *names) {
  static constexpr const char *keywords[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  for (const char *const *name = names; *name != nullptr; ++name) {
    const object_ref text = object_ref::steal(PyUnicode_DecodeUTF8(
        *name, static_cast<Py_ssize_t>(std::strlen(*name)), "backslashreplace"));
    if (!text) return -1;
    const auto is_name = [name](const char *other) { return std::strcmp(*name, other) == 0; };
    if (!is_identifier(text.get()) ||
        std::any_of(std::begin(keywords), std::end(keywords), is_name)) {
      PyErr_Format(PyExc_ValueError, "typedcall: %s(): a parameter cannot be called '%U' in Python",
                   function, text.get());
      return -1;
    }
    if (std::any_of(names, name, is_name)) {
      PyErr_Format(PyExc_ValueError, "typedcall: %s(): two parameters are called '%U'", function,
                   text.get());
      return -1;
    }
  }
  return 0;
}

}  // namespace internal

/// The rows of a module and their metadata, for `static` storage: modules keep pointers into it.
template <std::size_t Count>
class method_table {
 public:
  template <class... Methods>
  __attribute__((cold)) explicit method_table(const Methods &...methods)
      : method_table(false, methods...) {}
  method_table(const method_table &) = delete;
  method_table &operator=(const method_table &) = delete;

  /// For PyModuleDef::m_methods.
  PyMethodDef *rows() { return rows_; }

  /// For Py_mod_exec: tells the interpreter's side table what the rows are. Returns 0, or -1 with
  /// the exceptions of PyTypedMethod_AddTags, ValueError for names of parameters that Python cannot
  /// say, or SystemError for a row that def() could not make right. GIL: held. Once for every
  /// module object, in any interpreter.
  __attribute__((cold)) int tag(PyObject *module) const {
    if (fault_ != nullptr) {
      PyErr_Format(PyExc_SystemError, "typedcall: %s(): %s", faulty_, fault_);
      return -1;
    }
    for (std::size_t i = 0; i < Count; ++i) {
      if (names_[i] != nullptr &&
          internal::check_parameter_names(rows_[i].ml_name, names_[i]) < 0) {
        return -1;
      }
    }
    if (PyModule_Check(module) && make_direct(module) < 0) return -1;
    return PyTypedMethod_AddTags(module, rows_, typed_);
  }

 protected:
  template <class... Methods>
  __attribute__((cold)) explicit method_table(bool of_type, const Methods &...methods) {
    const method *const all[] = {&methods..., nullptr};
    for (std::size_t i = 0; i < Count; ++i) add(i, *all[i], of_type);
  }

 private:
  int make_direct(PyObject *module) const {
    for (std::size_t i = 0; i < Count; ++i) {
      if (direct_[i] == internal::argument_type::other) continue;
      PyTypeObject *type =
          direct_[i] == internal::argument_type::integer ? &PyLong_Type : &PyFloat_Type;
      if (internal::make_direct(module, &rows_[i], type) < 0) return -1;
    }
    return 0;
  }

  // Once, not in line for every row.
  __attribute__((noinline, cold)) void add(std::size_t i, const method &made, bool of_type) {
    const internal::row_facts &facts = *made.facts;
    internal::writable_metadata &metadata = metadata_[i];
    metadata.table = facts.table();
    metadata.size = PyTypedMethod_SIZE;
    metadata.abi_major = PyTypedMethod_ABI_MAJOR;
    metadata.abi_minor = PyTypedMethod_ABI_MINOR;
    metadata.magic = PyTypedMethod_MAGIC;
    metadata.arg_types = facts.pypy_arg_types;
    metadata.ret_type = facts.pypy_ret_type;
    metadata.underlying_func = facts.speaks_pypy ? facts.table()->entries[0].funcptr : nullptr;
    std::strcpy(metadata.name, made.name);
    typed_[i] = reinterpret_cast<const PyTypedMethodMetadata *>(&metadata);
    if (facts.called != nullptr) *facts.called = made.name;
    names_[i] = made.names;
    direct_[i] = facts.direct;
    rows_[i] = {metadata.name, facts.wrapper(), facts.flags | PyTypedMethod_FLAGS,
                internal::make_doc(made, of_type)};
    if (made.fault != nullptr && fault_ == nullptr) {
      fault_ = made.fault;
      faulty_ = metadata.name;
    }
  }

  internal::writable_metadata metadata_[Count] = {};
  const PyTypedMethodMetadata *typed_[Count + 1] = {};
  PyMethodDef rows_[Count + 1] = {};
  const char *const *names_[Count + 1] = {};
  internal::argument_type direct_[Count + 1] = {};
  const char *fault_ = nullptr, *faulty_ = nullptr;
};

template <class... Methods>
explicit method_table(const Methods &...) -> method_table<sizeof...(Methods)>;

/// The rows of a type: methods, and with typedcall::class_method and typedcall::static_method those
/// of the class. For `static` storage, and for types of any number of interpreters:
///
///     static typedcall::type_method_table methods{
///         typedcall::def<length>("length", typedcall::takes_self)};
///     PyType_Slot slots[] = {{Py_tp_methods, methods.rows()}, ...};
///     PyObject *type = PyType_FromModuleAndSpec(module, &spec, nullptr);
///     if (type == nullptr || methods.tag(type) < 0) ...
///
/// CPython checks the type of self before it calls a method; so does whoever calls an entry.
template <std::size_t Count>
class type_method_table : public method_table<Count> {
 public:
  template <class... Methods>
  __attribute__((cold)) explicit type_method_table(const Methods &...methods)
      : method_table<Count>(true, methods...) {}
};

template <class... Methods>
explicit type_method_table(const Methods &...) -> type_method_table<sizeof...(Methods)>;

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_H_
