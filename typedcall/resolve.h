// The resolver: does this Python object offer a native function of that signature? Looks in every
// place where a table can be and yields one entry, or a TypeError that lists what is offered.
#ifndef TYPEDCALL_RESOLVE_H_
#define TYPEDCALL_RESOLVE_H_

#ifdef Py_LIMITED_API
#error \
    "typedcall/resolve.h needs the full API: it looks into builtin functions and method descriptors"
#endif

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "core/rendezvous.h"
#include "typedcall/function.h"
#include "typedcall/typed_method.h"

namespace typedcall {

/// Where an entry was found, in the order in which the places are looked at.
enum class place {
  instance_slot,      ///< the native-callable slot of an extensible type (SEP 201)
  method_def,         ///< behind `ml_name`, with our header (METH_TYPED | METH_TYPED_EXT)
  pypy_method_def,    ///< behind `ml_name`, PyPy's struct alone (METH_TYPED)
  side_table_def,     ///< the interpreter's side table, by PyMethodDef
  side_table_object,  ///< the interpreter's side table, by object
};

/// A place in plain words, static text.
inline const char *describe(place where) {
  switch (where) {
    case place::instance_slot:
      return "native-callable slot";
    case place::method_def:
      return "METH_TYPED with header";
    case place::pypy_method_def:
      return "METH_TYPED, PyPy's layout";
    case place::side_table_def:
      return "side table, by PyMethodDef";
    case place::side_table_object:
      return "side table, by object";
  }
  return "";
}

/// What a consumer can honour beyond calling: the sum of PyNativeCallable_* bits that must be
/// understood and that it does understand. An entry that asks for more is not offered to it.
using honours = std::uintptr_t;

/// For a consumer that calls with the GIL held and asks function::raised() after each call.
inline constexpr honours holds_gil = PyNativeCallable_NEEDS_THREAD;
inline constexpr honours checks_errors =
    PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE | PyNativeCallable_ERROR_IS_NEG_ZERO;
/// For a consumer that takes what the C function does on inputs where the Python callable differs.
inline constexpr honours accepts_differences = PyNativeCallable_DIFFERS;

/// An entry that was found, with its own copy of the signature.
struct resolution {
  std::string signature;  ///< as the provider spells it, not as it was asked for
  std::uintptr_t flags = 0;
  void *funcptr = nullptr;
  place where = place::instance_slot;
  object_ref keep_alive;  ///< as long as it lives, `funcptr` is valid
};

namespace internal {

inline bool can_honour(const PyNativeCallableEntry &entry, honours honoured) {
  return PyNativeCallable_FlagsAreUsable(entry.flags) &&
         (entry.flags & PyNativeCallable_MANDATORY_MASK & ~honoured) == 0;
}

/// The first entry with the very text, else the first of the same widths and classes, else null.
inline const PyNativeCallableEntry *select(const PyNativeCallableTable &table,
                                           const char *signature, honours honoured) {
  for (Py_ssize_t i = 0; i < table.count; ++i) {
    const PyNativeCallableEntry &entry = table.entries[i];
    if (entry.signature == nullptr || entry.funcptr == nullptr) continue;
    if (std::strcmp(entry.signature, signature) == 0 && can_honour(entry, honoured)) return &entry;
  }
  for (Py_ssize_t i = 0; i < table.count; ++i) {
    const PyNativeCallableEntry &entry = table.entries[i];
    if (entry.signature == nullptr || entry.funcptr == nullptr) continue;
    if (!can_honour(entry, honoured)) continue;
    if (PyNativeSignature_Equivalent(entry.signature, signature)) return &entry;
  }
  return nullptr;
}

/// Is what Python calls on this instance what the slot's type brought? A subclass that overrides
/// `__call__` inherits the slot, and must not be called past its override. `__call__` is compared
/// with that of the last type in the MRO that has the slot; a type in between that brings its own
/// pair is refused too, which costs speed only. GIL: held.
inline bool slot_is_what_python_calls(PyTypeObject *type) {
  PyTypeObject *provider = type;
  PyObject *mro = type->tp_mro;
  for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
    auto *base = reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(mro, i));
    const PyExtensibleTypeData *data = PyExtensibleType_Internal_Data(base);
    for (Py_ssize_t at = 0; data != nullptr && at < data->count; ++at) {
      if (data->table[at].id == PYCUSTOMSLOT_NATIVECALLABLE_ID) provider = base;
    }
  }
  return provider->tp_call == type->tp_call;
}

/// Shows each table of `callable` to `visit(table, place)` until that returns true.
/// `interface` may be null: then only what needs no side table is looked at.
template <class Visitor>
bool visit_tables(const PyTypedcall_Interface *interface, PyObject *callable, Visitor &&visit) {
  if (const auto *table = PyNativeCallable_InstanceTable(callable)) {
    if (slot_is_what_python_calls(Py_TYPE(callable)) && visit(*table, place::instance_slot)) {
      return true;
    }
  }
  // Exactly this type: its subtype for METH_METHOD passes the defining class, and PyPy's
  // look-alikes have no def where CPython's have one.
  if (Py_TYPE(callable) == &PyCFunction_Type) {
    const PyMethodDef *def = reinterpret_cast<PyCFunctionObject *>(callable)->m_ml;
    if (const auto *table = PyTypedMethod_Table(def)) {
      if (visit(*table, place::method_def)) return true;
    } else {
      PyNativeCallableTable single = {1, {}};
      char signature[PyTypedMethod_PYPY_LENGTH];
      if (PyTypedMethod_ReadPyPy(def, &single.entries[0], signature)) {
        if (visit(single, place::pypy_method_def)) return true;
      }
    }
    if (interface != nullptr) {
      const auto *table = static_cast<const PyNativeCallableTable *>(
          interface->find(interface->state, PyTypedcall_BY_DEF, def));
      if (table != nullptr && visit(*table, place::side_table_def)) return true;
    }
  }
  if (interface != nullptr) {
    const auto *table = static_cast<const PyNativeCallableTable *>(
        interface->find(interface->state, PyTypedcall_BY_OBJECT, callable));
    if (table != nullptr && visit(*table, place::side_table_object)) return true;
  }
  return false;
}

/// The name for messages: `__qualname__` if there is one, else the type's.
inline std::string name_of(PyObject *callable) {
  const object_ref name = object_ref::steal(PyObject_GetAttrString(callable, "__qualname__"));
  const char *text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  if (text != nullptr) return text;
  return std::string("'") + Py_TYPE(callable)->tp_name + "' object";
}

/// What stands in the way of an entry, in brackets; empty when it only has another signature.
inline std::string obstacles(const PyNativeCallableEntry &entry, honours honoured) {
  if (entry.funcptr == nullptr) return " (no function)";
  if (!PyNativeCallable_FlagsAreUsable(entry.flags)) return " (flags not understood)";
  const std::pair<std::uintptr_t, const char *> words[] = {
      {PyNativeCallable_NEEDS_THREAD, "needs the GIL"},
      {PyNativeCallable_ACQUIRES_GIL, "takes the GIL"},
      {PyNativeCallable_MAY_RAISE, "may raise"},
      {PyNativeCallable_ERROR_IS_NEG_ZERO, "error is -0.0"},
      {PyNativeCallable_RETURNS_STATUS, "returns a status"},
      {PyNativeCallable_TAKES_SELF, "takes self"},
      {PyNativeCallable_SETS_ERRNO, "sets errno"},
      {PyNativeCallable_DIFFERS, "differs from the Python callable"},
  };
  std::string text;
  for (const auto &[bit, word] : words) {
    if ((entry.flags & ~honoured & bit) == 0) continue;
    text += text.empty() ? " (" : ", ";
    text += word;
  }
  return text.empty() ? text : text + ")";
}

}  // namespace internal

/// The entry of `callable` for `signature` (canonical text), or nothing, without an exception.
/// `interface` comes from PyTypedcall_Import(); null: only what needs no side table is looked at.
/// GIL: held. The object may be anything.
inline std::optional<resolution> find(const PyTypedcall_Interface *interface, PyObject *callable,
                                      const char *signature, honours honoured = 0) {
  std::optional<resolution> found;
  internal::visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place where) {
    const auto *entry = internal::select(table, signature, honoured);
    if (entry == nullptr) return false;
    found = resolution{entry->signature, entry->flags, entry->funcptr, where,
                       object_ref::borrow(callable)};
    return true;
  });
  return found;
}

/// Every entry of `callable`, usable or not: visit(entry, place) is called for each. GIL: held.
template <class Visitor>
void for_each_entry(const PyTypedcall_Interface *interface, PyObject *callable, Visitor &&visit) {
  internal::visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place where) {
    for (Py_ssize_t i = 0; i < table.count; ++i) {
      if (table.entries[i].signature != nullptr) visit(table.entries[i], where);
    }
    return false;
  });
}

/// As find(), but says why not: nothing is returned with ValueError for a faulty `signature` (its
/// position is named) and TypeError, which lists what is offered, for everything else. These
/// replace a pending exception; success keeps it, and with a null `interface` it is the answer.
/// GIL: held.
inline std::optional<resolution> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                                         const char *signature, honours honoured = 0) {
  // A failed PyTypedcall_Import() may be passed on as it is: its exception says more than ours.
  if (interface == nullptr && PyErr_Occurred()) return std::nullopt;
  PyNativeSignature_Fault fault;
  if (PyNativeSignature_ParseString(signature, nullptr, &fault) < 0) {
    PyErr_Format(PyExc_ValueError, "signature '%.200s' at position %zu: %s", signature,
                 fault.position, fault.reason);
    return std::nullopt;
  }
  if (auto found = find(interface, callable, signature, honoured)) return found;
  // Attributes are not looked up while an exception is pending; ours replaces it anyway.
  PyErr_Clear();
  const std::string name = internal::name_of(callable);
  if (!PyCallable_Check(callable)) {
    PyErr_Format(PyExc_TypeError, "%s is not callable", name.c_str());
    return std::nullopt;
  }
  std::string offered;
  for_each_entry(interface, callable, [&](const PyNativeCallableEntry &entry, place) {
    offered += (offered.empty() ? "'" : ", '") + std::string(entry.signature) + "'" +
               internal::obstacles(entry, honoured);
  });
  if (offered.empty()) {
    PyErr_Format(PyExc_TypeError, "%s offers no native signature; '%s' was asked for", name.c_str(),
                 signature);
  } else {
    PyErr_Format(PyExc_TypeError, "%s does not offer '%s'; it offers %s", name.c_str(), signature,
                 offered.c_str());
  }
  return std::nullopt;
}

/// find<double(double)>(interface, callable): the typed function, or an empty one without an
/// exception. GIL: held.
template <class Signature>
function<Signature> find(const PyTypedcall_Interface *interface, PyObject *callable,
                         honours honoured = 0) {
  auto found = find(interface, callable, signature_of<Signature>::text, honoured);
  if (!found) return {};
  return {reinterpret_cast<typename function<Signature>::pointer>(found->funcptr), found->flags,
          std::move(found->keep_alive)};
}

/// As find<Signature>(), but an empty function comes with the exception of resolve(). GIL: held.
template <class Signature>
function<Signature> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                            honours honoured = 0) {
  auto found = resolve(interface, callable, signature_of<Signature>::text, honoured);
  if (!found) return {};
  return {reinterpret_cast<typename function<Signature>::pointer>(found->funcptr), found->flags,
          std::move(found->keep_alive)};
}

}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_H_
