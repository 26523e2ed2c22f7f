// A table of defs: the metadata before their names, their documentation and their tags.
#ifndef TYPEDCALL_PROVIDER_METHOD_TABLE_H_
#define TYPEDCALL_PROVIDER_METHOD_TABLE_H_

#include "typedcall/base/namespace.h"
#include "typedcall/base/object_ref.h"
#include "typedcall/provider/documentation.h"
#include "typedcall/provider/method_def.h"
#include "typedcall/tag.h"

// These headers must come after Python.h.
#include <atomic>
#include <cstddef>
#include <cstring>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// A PyTypedMethodMetadata whose name is not const.
struct writable_metadata {
  const void *reserved;
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

/// The memory of one def. Consumers keep pointers to this memory.
struct def_place {
  writable_metadata metadata;
  PyNativeCallableTable table;  ///< used if there is only one entry
  const char *const *names;
  argument_type direct;
  void (*join)(const translation *);
};

/// The part of a table_of that does not depend on the number of defs.
class defs_of_a_table {
 public:
  defs_of_a_table(const defs_of_a_table &) = delete;
  defs_of_a_table &operator=(const defs_of_a_table &) = delete;

  /// For PyModuleDef::m_methods.
  PyMethodDef *defs() { return defs_; }

  /// See method_table.
  defs_of_a_table &required() {
    is_required_.store(true, std::memory_order_relaxed);
    return *this;
  }

  /// Adds the defs to the side table. See method_table.
  TYPEDCALL_COLD TYPEDCALL_HIDDEN int tag(PyObject *module) const;

 protected:
  defs_of_a_table(bool of_type, def_place *places, PyMethodDef *defs,
                  const PyTypedMethodMetadata **typed)
      : of_type_(of_type), places_(places), defs_(defs), typed_(typed) {}

  TYPEDCALL_IN_LINE void say_of_next(const char *doc, const char *fault) {
    if (doc != nullptr) next_doc_ = doc;
    if (fault != nullptr) next_fault_ = fault;
  }

  /// Assigns the functions of the next def to their source file until the module is executed.
  TYPEDCALL_RARE void join_next(void (*join)(const translation *), const translation *file) {
    places_[count_].join = join;
    join(file);
  }

  // Optional parts of a def must be set beforehand, so that the arguments fit in registers.
  TYPEDCALL_COLD TYPEDCALL_HIDDEN void add(const char *name, const def_shape *of,
                                           PyCFunction function, void *funcptr,
                                           const char **called);

 private:
  int make_all_direct(PyObject *module) const;

  bool of_type_;
  std::atomic<bool> is_required_{false};  // several interpreters may call required()
  std::size_t count_ = 0;
  def_place *places_;
  PyMethodDef *defs_;
  const PyTypedMethodMetadata **typed_;
  const char *fault_ = nullptr, *faulty_ = nullptr;
  const char *next_doc_ = nullptr, *next_fault_ = nullptr;
};

#if !TYPEDCALL_INTERNAL_IS_DECLARED

// A faster vectorcall function for functions that take one number and cannot run Python code. PyPy
// functions have no vectorcall field. In free-threaded builds, other threads could call a function
// while it is being changed.
#if defined(PYPY_VERSION) || defined(Py_GIL_DISABLED)

inline int make_direct(PyObject *, const PyMethodDef *, PyTypeObject *) { return 0; }

#else

// CPython's vectorcall function for METH_O. All functions and interpreters share it.
TYPEDCALL_HIDDEN inline std::atomic<vectorcallfunc> cpythons_vectorcall{};

/// Like CPython's function, but without the recursion check. The call runs no Python code, so there
/// is no recursion. CPython's function handles all other arguments.
template <PyTypeObject *Type>
PyObject *direct_vectorcall(PyObject *function, PyObject *const *args, std::size_t nargsf,
                            PyObject *keywords) {
  if (TYPEDCALL_EXPECT(
          keywords == nullptr && PyVectorcall_NARGS(nargsf) == 1 && Py_TYPE(args[0]) == Type, 1)) {
    const auto *builtin = reinterpret_cast<const PyCFunctionObject *>(function);
    return builtin->m_ml->ml_meth(builtin->m_self, args[0]);
  }
  return cpythons_vectorcall.load(std::memory_order_relaxed)(function, args, nargsf, keywords);
}

/// Sets the faster vectorcall function for the module's function with this def. `type` is the
/// argument's type, int or float. Returns 0, or -1 with an exception set. GIL: held.
TYPEDCALL_RARE inline int make_direct(PyObject *module, const PyMethodDef *def,
                                      PyTypeObject *type) {
  PyObject *name = PyUnicode_FromString(def->ml_name);
  if (name == nullptr) return -1;
  PyObject *found = PyDict_GetItemWithError(PyModule_GetDict(module), name);
  Py_DECREF(name);
  if (found == nullptr) return PyErr_Occurred() ? -1 : 0;
  if (!PyCFunction_CheckExact(found)) return 0;
  auto *builtin = reinterpret_cast<PyCFunctionObject *>(found);
  const vectorcallfunc direct =
      type == &PyLong_Type ? direct_vectorcall<&PyLong_Type> : direct_vectorcall<&PyFloat_Type>;
  if (builtin->m_ml != def || builtin->m_self != module || builtin->vectorcall == nullptr ||
      builtin->vectorcall == direct) {
    return 0;
  }
  cpythons_vectorcall.store(builtin->vectorcall, std::memory_order_relaxed);
  builtin->vectorcall = direct;
  return 0;
}

#endif

/// Returns the documentation of a def, with the signature or the overloads added. The text is never
/// freed. If memory runs out, returns the documentation unchanged.
TYPEDCALL_RARE inline const char *make_doc(const method &made, bool of_type) noexcept {
  const def_shape &facts = *made.shape;
  const bool is_static = (facts.flags & METH_STATIC) != 0;
  const bool is_class = (facts.flags & METH_CLASS) != 0;
  const char *self = is_static ? "" : !of_type ? "$module" : is_class ? "$type" : "$self";
  if (has_text_signature(made.name, made.doc)) return made.doc;
  text all;
  const bool is_named = facts.spell != nullptr && made.fault == nullptr;
  if (facts.count == 1 || is_named) {
    parameter_text parameters;
    if (is_named) {
      facts.spell(&parameters);
    } else {
      spell_unnamed(&parameters, facts.arity);
    }
    spell_signature(&all, made.name, self, parameters);
    all.add("\n--\n\n");
    if (!is_ascii(all.c_str())) return made.doc;
  }
  if (facts.count > 1) {
    text overloads;
    spell_overloads(&overloads, made.name, facts.overloads, facts.count);
    all.add(overloads);
    if (made.doc != nullptr) all.add("\n\n");
  }
  if (made.doc != nullptr) all.add(made.doc);
  const char *const kept = all.keep();
  return kept != nullptr ? kept : made.doc;
}

/// Replaces PyUnicode_IsIdentifier, which PyPy does not have.
inline bool is_identifier(PyObject *text) {
#ifdef PYPY_VERSION
  const object_ref answer = object_ref::steal(PyObject_CallMethod(text, "isidentifier", nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
#else
  return PyUnicode_IsIdentifier(text) == 1;
#endif
}

/// Returns 0, or -1 with ValueError set if a parameter name is invalid or a duplicate. `names` ends
/// with a null pointer. GIL: held.
TYPEDCALL_RARE inline int check_parameter_names(const char *function, const char *const *names) {
  static constexpr const char *keywords[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  for (const char *const *name = names; *name != nullptr; ++name) {
    const object_ref text = object_ref::steal(PyUnicode_DecodeUTF8(
        *name, static_cast<Py_ssize_t>(std::strlen(*name)), "backslashreplace"));
    if (!text) return -1;
    const auto is_among = [name](const char *const *first, const char *const *end) {
      while (first != end && std::strcmp(*name, *first) != 0) ++first;
      return first != end;
    };
    if (!is_identifier(text.get()) ||
        is_among(keywords, keywords + sizeof(keywords) / sizeof(keywords[0]))) {
      PyErr_Format(PyExc_ValueError, "typedcall: %s(): a parameter cannot be called '%U' in Python",
                   function, text.get());
      return -1;
    }
    if (is_among(names, name)) {
      PyErr_Format(PyExc_ValueError, "typedcall: %s(): two parameters are called '%U'", function,
                   text.get());
      return -1;
    }
  }
  return 0;
}

TYPEDCALL_COLD TYPEDCALL_INTERNAL_DEFINE int defs_of_a_table::tag(PyObject *module) const {
  if (fault_ != nullptr) {
    PyErr_Format(PyExc_SystemError, "typedcall: %s(): %s", faulty_, fault_);
    return -1;
  }
  for (std::size_t i = 0; i < count_; ++i) {
    if (places_[i].names != nullptr &&
        check_parameter_names(defs_[i].ml_name, places_[i].names) < 0) {
      return -1;
    }
  }
  if (executing != nullptr) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (places_[i].join != nullptr) places_[i].join(executing);
    }
  }
  if (PyModule_Check(module) && make_all_direct(module) < 0) return -1;
  return PyTypedMethod_Internal_AddTags(module, defs_, typed_,
                                        is_required_.load(std::memory_order_relaxed));
}

TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void defs_of_a_table::add(const char *name,
                                                                   const def_shape *of,
                                                                   PyCFunction function,
                                                                   void *funcptr,
                                                                   const char **called) {
  const def_shape &shape = *of;
  def_place &place = places_[count_];
  writable_metadata &metadata = place.metadata;
  const auto *table = static_cast<const PyNativeCallableTable *>(shape.table);
  if (table == nullptr) {
    place.table = {1, {{shape.signature, shape.effects, funcptr}}};
    table = &place.table;
  }
  metadata.table = table;
  metadata.size = PyTypedMethod_SIZE;
  metadata.abi_major = PyTypedMethod_ABI_MAJOR;
  metadata.abi_minor = PyTypedMethod_ABI_MINOR;
  metadata.magic = PyTypedMethod_MAGIC;
  metadata.arg_types = shape.pypy_arg_types;
  metadata.ret_type = shape.pypy_ret_type;
  metadata.underlying_func = shape.speaks_pypy ? table->entries[0].funcptr : nullptr;
  std::memcpy(metadata.name, name, std::strlen(name) + 1);
  typed_[count_] = reinterpret_cast<const PyTypedMethodMetadata *>(&metadata);
  if (called != nullptr) *called = name;
  place.names = next_fault_ == nullptr ? shape.names : nullptr;
  place.direct = shape.direct;
  defs_[count_] = {
      metadata.name, function, shape.flags | PyTypedMethod_FLAGS,
      make_doc({name, next_doc_, of, function, funcptr, called, next_fault_}, of_type_)};
  if (next_fault_ != nullptr && fault_ == nullptr) {
    fault_ = next_fault_;
    faulty_ = metadata.name;
  }
  next_doc_ = next_fault_ = nullptr;
  ++count_;
}

inline int defs_of_a_table::make_all_direct(PyObject *module) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (places_[i].direct == argument_type::other) continue;
    PyTypeObject *type = places_[i].direct == argument_type::integer ? &PyLong_Type : &PyFloat_Type;
    if (make_direct(module, &defs_[i], type) < 0) return -1;
  }
  return 0;
}

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

/// A table of Count defs.
template <std::size_t Count>
class table_of : public defs_of_a_table {
 protected:
  template <class... Methods>
  TYPEDCALL_IN_LINE explicit table_of(bool of_type, const Methods &...methods)
      : defs_of_a_table(of_type, places_, defs_, typed_) {
    ((say_of_next(methods.doc, methods.fault),
      methods.join != nullptr ? join_next(methods.join, methods.file) : void(),
      add(methods.name, methods.shape, methods.function, methods.funcptr, methods.called)),
     ...);
  }

 private:
  def_place places_[Count + 1] = {};
  const PyTypedMethodMetadata *typed_[Count + 1] = {};
  PyMethodDef defs_[Count + 1] = {};
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_METHOD_TABLE_H_
