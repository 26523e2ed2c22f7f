// The extension module `typedcall.native._native` for PyPy. Unlike cffi, it calls C functions
// without releasing the GIL.
#define TYPEDCALL_WITHOUT_FFI  // this module must not need libffi
#include "typedcall/provider.h"

// After Python.h.
#include "call.h"
#include "signatures.h"
#include "typedcall/tag/native_table.h"
#include "typedcall/typed_method.h"

#ifndef PYPY_VERSION
#error "This is the source for PyPy; CPython's is _native.cc"
#endif

namespace {

using typedcall::describe;
using typedcall::object_ref;
using typedcall::place;
using typedcall::python::native_call;

struct native_state : typedcall::module_state {
  int exec(PyObject *module);
};

/// Returns the PyMethodDef of an extension's function or method, or null. Only cpyext's exact types
/// are accepted, because PyCFunction_Check is also true for PyPy's own functions, which have no
/// PyMethodDef: reading one would crash. A bound method has another type, but its `__func__` is
/// accepted.
PyMethodDef *def_of(PyObject *callable) {
  if (Py_TYPE(callable) == &PyCFunction_Type) {
    return reinterpret_cast<PyCFunctionObject *>(callable)->m_ml;
  }
  if (Py_TYPE(callable) == &PyMethodDescr_Type) {
    return reinterpret_cast<PyMethodDescrObject *>(callable)->d_method;
  }
  return nullptr;
}

/// True if the callable has no self to pass to an entry with TAKES_SELF.
bool has_no_self(PyObject *callable, const PyMethodDef *def) {
  if (def == nullptr || Py_TYPE(callable) != &PyCFunction_Type) return false;
  return (def->ml_flags & METH_STATIC) != 0 ||
         reinterpret_cast<PyCFunctionObject *>(callable)->m_self == nullptr;
}

/// Appends (signature, flags, address, place, callable) to the list. Skips unusable entries. On
/// failure, returns false with an exception set.
bool append(PyObject *list, const PyNativeCallableEntry &entry, place where, PyObject *callable) {
  if (entry.signature == nullptr || entry.funcptr == nullptr) return true;
  PyNativeSignature parsed;
  if (PyNativeSignature_ParseString(entry.signature, &parsed, nullptr) < 0) return true;
  if (!PyNativeCallable_IsWellFormed(entry.flags, parsed.result)) return true;
  const bool takes_self = (entry.flags & PyNativeCallable_TAKES_SELF) != 0;
  if (takes_self && has_no_self(callable, def_of(callable))) return true;
  const auto row = object_ref::steal(
      Py_BuildValue("skNsO", entry.signature, static_cast<unsigned long>(entry.flags),
                    PyLong_FromVoidPtr(entry.funcptr), describe(where), callable));
  return row && PyList_Append(list, row.get()) == 0;
}

PyObject *entries(PyObject *callable) {
  object_ref list = object_ref::steal(PyList_New(0));
  if (!list) return nullptr;
  const PyMethodDef *def = def_of(callable);
  const PyNativeCallableTable *table = PyTypedMethod_Table(def);
  if (table != nullptr) {
    for (Py_ssize_t i = 0; i < table->count; ++i) {
      if (!append(list.get(), table->entries[i], place::method_metadata, callable)) return nullptr;
    }
  } else {
    // The row may lack a typedcall table.
    PyNativeCallableEntry entry;
    char signature[PyTypedMethod_PYPY_LENGTH];
    if (PyTypedMethod_ReadPyPy(def, &entry, signature) &&
        !append(list.get(), entry, place::pypy_metadata, callable)) {
      return nullptr;
    }
  }
  return list.release();
}

PyObject *check(const char *signature, unsigned long flags, std::uintptr_t address,
                Py_ssize_t number, const char *name) {
  const PyNativeCallableEntry entry = {signature, flags, reinterpret_cast<void *>(address)};
  if (PyNativeCallable_CheckEntry(&entry, number, name) < 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject *call(PyObject *capsule, PyObject *const *args, Py_ssize_t count) {
  const auto *const native =
      static_cast<const native_call *>(PyCapsule_GetPointer(capsule, nullptr));
  if (native == nullptr) return nullptr;
  const auto nargs = static_cast<std::size_t>(count);
  const auto fall_back = [] {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
  };
  if (!native->accepts(nargs)) {
    if (!native->may_fall_back()) return nullptr;
    PyErr_Clear();
    return fall_back();
  }
  const typedcall::python::holder nothing = {nullptr, nullptr};  // PyPy's caller holds the capsule
  if (!native->may_fall_back()) return (*native)(nothing, nullptr, nullptr, args);
  return native->call_or_fall_back(nothing, nullptr, nullptr, args, fall_back);
}

PyObject *make_call(const char *signature, unsigned long flags, std::uintptr_t address) {
  auto made = native_call::make(signature, signature, signature, flags,
                                reinterpret_cast<void *>(address), false);
  if (!made) return nullptr;
  const auto capsule = object_ref::steal(
      PyCapsule_New(const_cast<native_call *>(made.get()), nullptr, [](PyObject *dying) {
        delete static_cast<const native_call *>(PyCapsule_GetPointer(dying, nullptr));
      }));
  if (!capsule) return nullptr;
  made.release();
  static PyMethodDef def = {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(call)),
                            METH_FASTCALL, nullptr};
  return PyCFunction_New(&def, capsule.get());
}

int native_state::exec(PyObject *module) {
  PyObject *const types = PyTuple_Pack(2, reinterpret_cast<PyObject *>(&PyCFunction_Type),
                                       reinterpret_cast<PyObject *>(&PyMethodDescr_Type));
  const bool is_complete =
      typedcall::python::add(module, "TYPES", types) && typedcall::python::add_lists(module);
  return is_complete ? 0 : -1;
}

using typedcall::def;
using typedcall::positional;
using typedcall::takes_self;

typedcall::method_table methods{
    def<entries>("entries", positional("callable"),
                 "(signature, flags, address, place, callable) of every entry in the metadata of "
                 "an extension's function or method; an empty list for any other object."),
    def<check>("check", positional("signature"), positional("flags"), positional("address"),
               positional("number"), positional("name"),
               "Raises ValueError if that cannot be offered as an entry."),
    TYPEDCALL_PYTHON_SIGNATURE_METHODS,
    def<make_call>("make_call", positional("signature"), positional("flags"), positional("address"),
                   "A function that calls an entry, which it does not keep, with the GIL, and "
                   "converts arguments like the wrapper; NotImplemented if it falls back. Raises "
                   "ValueError if only libffi can call the entry."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(_native, "Reads METH_TYPED metadata on PyPy.", methods, native_state);
