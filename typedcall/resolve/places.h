// The places where a Python callable's table can be. Also finds the object to which a callable is
// bound.
#ifndef TYPEDCALL_RESOLVE_PLACES_H_
#define TYPEDCALL_RESOLVE_PLACES_H_

#include "core/lazy_import.h"
#include "core/type_access.h"
#include "typedcall/sibling_symbol.h"
#include "typedcall/tag/def_of.h"
#include "typedcall/typed_method.h"
// The C headers come first because they need Python.h before all standard headers.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "typedcall/base/namespace.h"
#include "typedcall/base/object_ref.h"
#include "typedcall/resolve/place_names.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

namespace internal {

/// See typedcall/tag/def_of.h.
inline bool is_builtin(PyObject *callable) { return PyTypedMethod_IsFunction(callable) != 0; }
inline bool is_unbound(PyObject *callable) { return PyTypedMethod_IsUnbound(callable) != 0; }
inline const PyMethodDef *def_of(PyObject *callable) { return PyTypedMethod_DefOf(callable); }

}  // namespace internal

/// Returns the self to pass to an entry with TAKES_SELF when `callable` is called. For builtin
/// functions and bound methods, this is the self that CPython passes to the C function, which may
/// be null. Returns null for unbound methods, whose callers supply self. Returns the callable
/// itself for other objects, such as an instance with a table. Borrowed from `callable`. GIL: held;
/// sets no exception.
inline PyObject *self_of(PyObject *callable) {
  if (internal::is_builtin(callable)) return PyCFunction_GET_SELF(callable);
  return internal::is_unbound(callable) ? nullptr : callable;
}

/// Returns the defining class of a METH_METHOD function, or null for any other object. Borrowed
/// from `callable`. GIL: held; sets no exception.
inline PyTypeObject *defining_class_of(PyObject *callable) {
  return internal::is_builtin(callable) ? PyCFunction_GET_CLASS(callable) : nullptr;
}

/// True if `self` may be the first argument of `unbound`, a method descriptor or class method
/// descriptor. Otherwise, returns false with the TypeError that CPython would raise for the call.
/// Also raises TypeError if `unbound` is not such a descriptor. GIL: held.
inline bool check_self(PyObject *unbound, PyObject *self) {
  if (!internal::is_unbound(unbound)) {
    PyErr_Format(PyExc_TypeError, "'%.100s' objects are not unbound methods",
                 Py_TYPE(unbound)->tp_name);
    return false;
  }
  if (self == nullptr) {
    PyErr_SetString(PyExc_SystemError, "typedcall: self is NULL");
    return false;
  }
  const bool is_method = Py_TYPE(unbound) == &PyMethodDescr_Type;
  PyTypeObject *type = PyDescr_TYPE(unbound);
  if (is_method
          ? PyObject_TypeCheck(self, type) != 0
          : PyType_Check(self) && PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(self), type)) {
    return true;
  }
  // Binding the descriptor checks self too, and raises the exception that a call would raise.
  PyObject *given = is_method ? reinterpret_cast<PyObject *>(Py_TYPE(self)) : self;
  PyObject *bound = Py_TYPE(unbound)->tp_descr_get(unbound, is_method ? self : nullptr, given);
  Py_XDECREF(bound);
  return bound != nullptr;
}

namespace internal {

inline const void *read_sibling(const PyMethodDef *def) { return PyTypedMethod_SiblingTable(def); }

/// Returns the table of a sibling symbol, or null. The interface caches the result. Without an
/// interface, look-ups are slow.
inline const PyNativeCallableTable *sibling_table(const PyTypedcall_Interface *interface,
                                                  const PyMethodDef *def) {
  if (interface == nullptr) return PyTypedMethod_SiblingTable(def);
  return static_cast<const PyNativeCallableTable *>(
      interface->sibling(interface->state, def, read_sibling));
}

/// Sets `*table` to the table for `key`. Returns a reference that keeps the table valid and
/// `callable` alive. Returns an empty reference if there is no table, or if memory runs out, with
/// MemoryError set. GIL: held; may collect garbage.
inline object_ref hold_row(const PyTypedcall_Interface *interface, int space, const void *key,
                           PyObject *callable, const PyNativeCallableTable **table) {
  const void *value = interface->find(interface->state, space, key);
  object_ref held;
  if (value != nullptr) {
    held = object_ref::steal(interface->hold(interface->state, space, key, callable, &value));
  }
  *table = static_cast<const PyNativeCallableTable *>(value);
  return held;
}

/// Determines how long a visitor may use a table. A table is freed with its owner, which may happen
/// while Python code runs or, in free-threaded builds, at any time.
enum class keeping {
  nothing,  ///< visit(table, place) must run no Python code and keep no part of the table
  held,     ///< visit(table, place, reference) may use the table while it holds the reference
};

#ifdef Py_GIL_DISABLED
inline constexpr bool others_run = true;
#else
inline constexpr bool others_run = false;
#endif

/// Calls `visit` with a row of the side table, if there is one. Returns true if `visit` returned
/// true.
template <keeping kept, class Visitor>
bool visit_row(const PyTypedcall_Interface *interface, int space, const void *key,
               PyObject *callable, place where, Visitor &visit) {
  if constexpr (kept == keeping::held || others_run) {
    const PyNativeCallableTable *table;
    if constexpr (kept == keeping::held) {
      const object_ref held = hold_row(interface, space, key, callable, &table);
      return held && visit(*table, where, held);
    } else {
      // If memory runs out, this finds nothing and sets no exception.
      const PyTypedcall_SavedError saved = PyTypedcall_SaveError();
      const object_ref held = hold_row(interface, space, key, callable, &table);
      PyTypedcall_RestoreError(saved);
      return held && visit(*table, where);
    }
  } else {
    const auto *table =
        static_cast<const PyNativeCallableTable *>(interface->find(interface->state, space, key));
    return table != nullptr && visit(*table, where);
  }
}

/// Calls `visit` for each table of `callable` until `visit` returns true. See `keeping` for the
/// arguments. A table from PyPy's struct is valid only during the call to `visit`. The side table
/// is skipped if `interface` is null. Python code can run only when a class with slots is used for
/// the first time, or in a garbage collection. With keeping::held, may set MemoryError and skip a
/// table.
template <keeping kept = keeping::nothing, class Visitor>
bool visit_tables(const PyTypedcall_Interface *interface, PyObject *callable, Visitor &&visit) {
  // These tables belong to the callable, to its def or to a shared object.
  const auto show = [&](const PyNativeCallableTable &table, place where) {
    if constexpr (kept == keeping::held) {
      return visit(table, where, object_ref::borrow(callable));
    } else {
      return visit(table, where);
    }
  };
  const PyTypedcall_Interface *rows = PyTypedcall_Installed(interface);
  const PyMethodDef *def = def_of(callable);
  if (def == nullptr) {
    const auto *table = PyNativeCallable_CallTable(callable);
    if (table != nullptr && show(*table, place::instance_slot)) return true;
  } else {
    if (const auto *table = PyTypedMethod_Table(def)) {
      if (show(*table, place::method_metadata)) return true;
    } else if ((def->ml_flags & METH_TYPED) != 0) {
      PyNativeCallableTable single = {1, {}};
      char signature[PyTypedMethod_PYPY_LENGTH];
      if (PyTypedMethod_ReadPyPy(def, &single.entries[0], signature)) {
        if (show(single, place::pypy_metadata)) return true;
      }
    }
    if (rows != nullptr &&
        visit_row<kept>(rows, PyTypedcall_BY_DEF, def, callable, place::def_row, visit)) {
      return true;
    }
  }
  if (rows != nullptr &&
      visit_row<kept>(rows, PyTypedcall_BY_OBJECT, callable, callable, place::object_row, visit)) {
    return true;
  }
  if (def != nullptr) {
    const auto *table = sibling_table(rows != nullptr ? rows : interface, def);
    if (table != nullptr && show(*table, place::sibling_symbol)) return true;
  }
  return false;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_PLACES_H_
