// Makes the resolver's error messages.
#ifndef TYPEDCALL_RESOLVE_DIAGNOSTICS_H_
#define TYPEDCALL_RESOLVE_DIAGNOSTICS_H_

#include "typedcall/resolve/places.h"
// places.h comes first because it includes Python.h.
#include <cstdint>
#include <cstring>

#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/object_ref.h"
#include "typedcall/convert/text.h"
#include "typedcall/resolve/request.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Parses the signature `text` into `out`, unless `out` is null. Returns false with ValueError set
/// if `text` is not a signature. A null `text` counts as empty. GIL: held.
inline bool check_signature(const char *text, PyNativeSignature *out) {
  PyNativeSignature_Fault fault;
  if (PyNativeSignature_ParseString(text, out, &fault) == 0) return true;
  PyErr_Format(PyExc_ValueError, "signature '%.200s' at position %zu: %s",
               text != nullptr ? text : "", fault.position, fault.reason);
  return false;
}

/// Sets the TypeError for a request that no entry of `callable` satisfies. If memory runs out, sets
/// MemoryError. If looking up the callable's name raises KeyboardInterrupt or SystemExit, keeps
/// that exception. GIL: held.
TYPEDCALL_COLD TYPEDCALL_HIDDEN void set_refusal(const PyTypedcall_Interface *interface,
                                                 PyObject *callable, const request &asked);

/// Sets the TypeError for a callable that should be an unbound method but is not.
TYPEDCALL_COLD TYPEDCALL_HIDDEN void set_not_unbound(PyObject *callable);

#if !TYPEDCALL_INTERNAL_IS_DECLARED

/// Clears the exception of a failed look-up. Keeps MemoryError and exceptions that do not derive
/// from Exception.
inline void clear_failed_look_up() {
  if (PyErr_Occurred() == nullptr || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  if (!PyErr_ExceptionMatches(PyExc_MemoryError)) PyErr_Clear();
}

/// Adds the value of an attribute of `object`, if it is a str. See add_name() for errors and GIL.
TYPEDCALL_COLD inline void add_attribute(text *to, PyObject *object, const char *attribute) {
  const object_ref found = object_ref::steal(PyObject_GetAttrString(object, attribute));
  const char *words =
      found && PyUnicode_Check(found.get()) ? PyUnicode_AsUTF8(found.get()) : nullptr;
  if (words != nullptr) to->add(words);
  clear_failed_look_up();
}

/// True if the class in `qualified` is the class of `__self__` but does not have the method.
/// pybind11's functions have an internal record as `__self__`. See add_name() for errors and the
/// GIL.
TYPEDCALL_COLD inline bool is_of_hidden_record(PyObject *callable, const text &qualified,
                                               const text &name) {
  if (name.length() == 0 || qualified.length() <= name.length()) return false;
  const object_ref self = object_ref::steal(PyObject_GetAttrString(callable, "__self__"));
  clear_failed_look_up();
  if (!self || PyErr_Occurred() != nullptr) return false;
  const auto type = object_ref::borrow(reinterpret_cast<PyObject *>(Py_TYPE(self.get())));
  text of_type;
  add_attribute(&of_type, type.get(), "__qualname__");
  of_type.add(".").add(name);
  if (PyErr_Occurred() != nullptr || std::strcmp(qualified.c_str(), of_type.c_str()) != 0) {
    return false;
  }
  const object_ref method = object_ref::steal(PyObject_GetAttrString(type.get(), name.c_str()));
  clear_failed_look_up();
  return !method;
}

/// Adds the callable's name for messages. If an exception is pending afterwards, such as
/// MemoryError, the exception replaces the message. GIL: held, with no exception pending.
TYPEDCALL_COLD inline void add_name(text *to, PyObject *callable) {
  text qualified, name;
  add_attribute(&qualified, callable, "__qualname__");
  if (PyErr_Occurred() == nullptr && qualified.length() != 0) {
    add_attribute(&name, callable, "__name__");
  }
  if (PyErr_Occurred() == nullptr && is_of_hidden_record(callable, qualified, name)) {
    to->add_cut(name.c_str());
  } else {
    to->add_cut(qualified.c_str());
    if (qualified.length() == 0) to->add("'").add_cut(Py_TYPE(callable)->tp_name).add("' object");
  }
  if (!to->is_complete() && PyErr_Occurred() == nullptr) PyErr_NoMemory();
}

/// Adds the reasons why an entry cannot be used. Adds nothing if only the signature differs.
TYPEDCALL_COLD inline void add_obstacles(text *to, const PyNativeCallableEntry &entry,
                                         const request &asked, PyObject *callable) {
  bool is_first = true;
  const auto add = [&](const char *not_or_none, const char *words) {
    to->add(is_first ? " (" : ", ").add(not_or_none).add(words);
    is_first = false;
  };
  PyNativeSignature parsed;
  if (entry.funcptr == nullptr) {
    add("", "no function");
  } else if (!PyNativeCallable_FlagsAreUsable(entry.flags)) {
    add("", "flags not understood");
  } else if (PyNativeSignature_ParseString(entry.signature, &parsed, nullptr) == 0 &&
             !PyNativeCallable_IsWellFormed(entry.flags, parsed.result)) {
    add("", "its flags do not allow its result type");
  } else {
    static constexpr struct {
      std::uintptr_t bit;
      const char *word;
    } flags[] = {
#define ROW(NAME, WORDS) {PyNativeCallable_##NAME, WORDS},
        PyNativeCallable_FLAG_LIST(ROW)
#undef ROW
    };
    for (const auto &[bit, word] : flags) {
      const bool is_mandatory = (bit & PyNativeCallable_MANDATORY_MASK) != 0;
      const bool is_missing = (asked.required & ~entry.flags & bit) != 0;
      if (is_mandatory && (entry.flags & ~asked.capabilities & bit) != 0) add("", word);
      if (is_mandatory && is_missing) {
        const bool is_self = bit == PyNativeCallable_TAKES_SELF;
        add(is_self ? "" : "not: ", is_self ? "does not take self" : word);
      }
      if (!is_mandatory && is_missing) add("", word);
    }
    const bool wants_self = (entry.flags & asked.capabilities & PyNativeCallable_TAKES_SELF) != 0;
    if (wants_self && !is_unbound(callable) && self_of(callable) == nullptr) {
      add("", "takes self, but this function has no self");
    }
  }
  if (!is_first) to->add(")");
}

/// True for staticmethod and classmethod objects, which class dictionaries contain. Neither kind is
/// callable in Python 3.9. From 3.10 on, staticmethod objects are callable.
inline bool is_method_in_class_body(PyObject *object) {
  return Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type;
}

/// Adds advice on what to do with a callable that offers nothing. `has_table` is true if it has a
/// table, whose entries then have no signature.
TYPEDCALL_COLD inline void add_advice(text *to, const PyTypedcall_Interface *interface,
                                      PyObject *callable, bool has_table) {
  // This look-up, and SlotIsCalled below, may run Python code that changes the callable's class.
  const bool has_slot = PyCustomSlots_Find(callable, PYCUSTOMSLOT_NATIVECALLABLE_ID,
                                           PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS) != nullptr;
  PyTypeObject *type = Py_TYPE(callable);
  if (has_table && !has_slot && interface != nullptr) {
    to->add("its tag has no entry with a signature");
  } else if (type == &PyFunction_Type) {
    to->add("it is a Python function, which has no C function behind it; call it boxed");
  } else if (type == &PyMethod_Type) {
    to->add("it is a bound method; resolve its __func__ and pass its __self__ first");
  } else if (std::strcmp(type->tp_name, "functools.partial") == 0) {
    to->add("it is a functools.partial; resolve its func and pass its arguments along");
  } else if (PyType_Check(callable)) {
    to->add("it is a type; resolve a function that creates its instances, or call it boxed");
    // Python 3.13 does not export the type object of method-wrappers.
  } else if (type == &PyWrapperDescr_Type || std::strcmp(type->tp_name, "method-wrapper") == 0) {
    to->add("it wraps a slot of a type and has no PyMethodDef; call it boxed");
  } else if (is_method_in_class_body(callable)) {
    to->add("it is a ")
        .add(type->tp_name)
        .add(" object; resolve the attribute of its class instead");
  } else if (!TYPEDCALL_IS_SUPPORTED) {
    to->add("there are no tags on this platform (TYPEDCALL_IS_SUPPORTED); call it boxed");
  } else if (def_of(callable) != nullptr) {
    to->add(interface != nullptr
                ? "it has no tag: tag it with typedcall.tag() in Python, typedcall/tag.h in C"
                : "without an interface, only its flag bits and symbol were checked");
  } else if (!has_slot) {
    to->add("'")
        .add_cut(type->tp_name)
        .add("' objects are not builtin functions, and this one has ");
    to->add(interface != nullptr ? "neither a native-callable slot (SEP 201) nor a tag"
                                 : "no native-callable slot (SEP 201)");
  } else if (PyNativeCallable_Internal_SlotIsCalled(type)) {
    to->add("its native-callable slot (SEP 201) offers nothing now");
  } else {
    to->add("'").add_cut(Py_TYPE(callable)->tp_name);
    to->add("' overrides __call__, but its native-callable slot (SEP 201) is for another __call__");
  }
}

/// Implements set_refusal().
TYPEDCALL_COLD inline void describe_refusal(const PyTypedcall_Interface *interface,
                                            PyObject *callable, const request &asked) {
  // Clear any pending exception before looking up attributes. The TypeError replaces it anyway.
  PyErr_Clear();
  text name, reason;
  add_name(&name, callable);
  if (PyErr_Occurred() != nullptr) return;
  // A classmethod object is not callable.
  const bool is_callable =
      PyCallable_Check(callable) || is_unbound(callable) || is_method_in_class_body(callable);
  bool has_table = false;
  std::size_t offered = 0;
  if (is_callable) {
    visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place) {
      has_table = true;
      for (const PyNativeCallableEntry &entry : entries_of(table)) {
        if (entry.signature == nullptr) continue;
        reason.add_item(offered, entry.signature);
        if (offered++ < longest_list) add_obstacles(&reason, entry, asked, callable);
      }
      return false;
    });
  }
  reason.end_list(offered);
  const bool offers_something = offered != 0;
  if (is_callable && !offers_something) add_advice(&reason, interface, callable, has_table);
  if (!reason.is_complete()) {
    PyErr_NoMemory();
  } else if (!is_callable) {
    PyErr_Format(
        PyExc_TypeError, "%s is not callable%s", name.c_str(),
        PyCapsule_CheckExact(callable)
            ? ": in Python, typedcall.tag(f, signature, capsule) tags a callable f with its "
              "function"
            : "");
  } else if (!offers_something) {
    PyErr_Format(PyExc_TypeError, "%s offers no native signature; '%s' was asked for: %s",
                 name.c_str(), asked.signature, reason.c_str());
  } else if (is_unbound(callable) && !asked.unbound) {
    PyErr_Format(
        PyExc_TypeError,
        "%s is an unbound method, whose first argument is %s '%.100s'; bind it, or ask for "
        "an unbound function; it offers %s",
        name.c_str(), Py_TYPE(callable) == &PyMethodDescr_Type ? "a" : "a subclass of",
        PyDescr_TYPE(callable)->tp_name, reason.c_str());
  } else {
    PyErr_Format(PyExc_TypeError, "%s does not offer '%s'; it offers %s", name.c_str(),
                 asked.signature, reason.c_str());
  }
}

TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void set_refusal(const PyTypedcall_Interface *interface,
                                                          PyObject *callable,
                                                          const request &asked) {
  run_python([&] { describe_refusal(interface, callable, asked); });
}

TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void set_not_unbound(PyObject *callable) {
  PyErr_Clear();
  text name;
  add_name(&name, callable);
  if (PyErr_Occurred() != nullptr) return;
  PyErr_Format(PyExc_TypeError, "%s is not an unbound method of a type; ask for a bound function",
               name.c_str());
}

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_DIAGNOSTICS_H_
