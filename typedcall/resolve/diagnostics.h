// Why the resolver finds nothing, in words: where a signature is faulty, what is offered instead
// and what prevents it, and, for callables that cannot have a table, what kind they are and
// what to do.
#ifndef TYPEDCALL_RESOLVE_DIAGNOSTICS_H_
#define TYPEDCALL_RESOLVE_DIAGNOSTICS_H_

#include "typedcall/with_exceptions.h"

#include "typedcall/resolve/places.h"
// places.h comes first, because of Python.h.
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "typedcall/namespace.h"
#include "typedcall/object_ref.h"
#include "typedcall/resolve/request.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Is this text, where null counts as empty, a signature? Writes it to `out` unless that is null;
/// false with ValueError that says where the fault is. GIL: held.
inline bool check_signature(const char *text, PyNativeSignature *out) {
  PyNativeSignature_Fault fault;
  if (PyNativeSignature_ParseString(text, out, &fault) == 0) return true;
  PyErr_Format(PyExc_ValueError, "signature '%.200s' at position %zu: %s",
               text != nullptr ? text : "", fault.position, fault.reason);
  return false;
}

/// After a look-up that may fail: clears the pending exception, unless it is one that ends what is
/// going on: MemoryError, and what is no Exception (KeyboardInterrupt, SystemExit).
inline void clear_failed_look_up() {
  if (PyErr_Occurred() == nullptr || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  if (!PyErr_ExceptionMatches(PyExc_MemoryError)) PyErr_Clear();
}

/// A text that `object` has as an attribute; empty for anything else. As name_of().
TYPEDCALL_COLD inline std::string text_of(PyObject *object, const char *attribute) {
  const object_ref found = object_ref::steal(PyObject_GetAttrString(object, attribute));
  const char *text =
      found && PyUnicode_Check(found.get()) ? PyUnicode_AsUTF8(found.get()) : nullptr;
  clear_failed_look_up();
  return text != nullptr ? text : "";
}

/// Is the class in `qualified` no more than that of the object behind the function, which has no
/// such method? pybind11's functions have a record of its own there. As name_of().
TYPEDCALL_COLD inline bool is_of_hidden_record(PyObject *callable, const std::string &qualified,
                                               const std::string &name) {
  if (name.empty() || qualified.size() <= name.size()) return false;
  const object_ref self = object_ref::steal(PyObject_GetAttrString(callable, "__self__"));
  clear_failed_look_up();
  if (!self || PyErr_Occurred() != nullptr) return false;
  auto *const type = reinterpret_cast<PyObject *>(Py_TYPE(self.get()));
  if (qualified != text_of(type, "__qualname__") + "." + name || PyErr_Occurred() != nullptr) {
    return false;
  }
  const object_ref method = object_ref::steal(PyObject_GetAttrString(type, name.c_str()));
  clear_failed_look_up();
  return !method;
}

/// The name for messages: `__qualname__` if there is one that means something, `__name__` where
/// that does not, else the type's. GIL: held, and no exception pending. One that is pending
/// afterwards goes in front of the message.
TYPEDCALL_COLD inline std::string name_of(PyObject *callable) {
  std::string qualified = text_of(callable, "__qualname__");
  if (PyErr_Occurred() == nullptr && !qualified.empty()) {
    std::string name = text_of(callable, "__name__");
    if (PyErr_Occurred() == nullptr && is_of_hidden_record(callable, qualified, name)) return name;
  }
  if (!qualified.empty()) return qualified;
  return std::string("'") + Py_TYPE(callable)->tp_name + "' object";
}

/// What prevents the use of an entry, in brackets; empty when it only has another signature.
TYPEDCALL_COLD inline std::string obstacles(const PyNativeCallableEntry &entry,
                                            const request &asked, PyObject *callable) {
  if (entry.funcptr == nullptr) return " (no function)";
  if (!PyNativeCallable_FlagsAreUsable(entry.flags)) return " (flags not understood)";
  PyNativeSignature parsed;
  if (PyNativeSignature_ParseString(entry.signature, &parsed, nullptr) == 0 &&
      !PyNativeCallable_IsWellFormed(entry.flags, parsed.result)) {
    return " (its result does not go with its flags)";
  }
  static constexpr std::pair<std::uintptr_t, const char *> words[] = {
#define ROW(NAME, WORDS) {PyNativeCallable_##NAME, WORDS},
      PyNativeCallable_FLAG_LIST(ROW)
#undef ROW
  };
  std::string text;
  const auto add = [&text](const char *word) {
    text += text.empty() ? " (" : ", ";
    text += word;
  };
  for (const auto &[bit, word] : words) {
    const bool is_mandatory = (bit & PyNativeCallable_MANDATORY_MASK) != 0;
    const bool is_missing = (asked.required & ~entry.flags & bit) != 0;
    if (is_mandatory && (entry.flags & ~asked.can & bit) != 0) add(word);
    if (is_mandatory && is_missing) {
      add(bit == PyNativeCallable_TAKES_SELF ? "does not take self"
                                             : ("not: " + std::string(word)).c_str());
    }
    if (!is_mandatory && is_missing) add(word);
  }
  const bool wants_self = (entry.flags & asked.can & PyNativeCallable_TAKES_SELF) != 0;
  if (wants_self && !is_unbound(callable) && self_of(callable) == nullptr) {
    add("takes self, which this function has none of");
  }
  return text.empty() ? text : text + ")";
}

/// `staticmethod(f)` and `classmethod(f)` as they are in the dictionary of a class. Python 3.9
/// calls neither, later ones only the first.
inline bool is_method_in_class_body(PyObject *object) {
  return Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type;
}

/// What a callable without any table is, and what to do instead.
TYPEDCALL_COLD inline std::string advice(const PyTypedcall_Interface *interface,
                                         PyObject *callable) {
  PyTypeObject *type = Py_TYPE(callable);
  if (type == &PyFunction_Type) {
    return "it is a Python function, which has no C function behind it; call it boxed";
  }
  if (type == &PyMethod_Type) {
    return "it is a bound method of Python; resolve its __func__ and pass its __self__ first";
  }
  if (std::strcmp(type->tp_name, "functools.partial") == 0) {
    return "it is a functools.partial; resolve its func and pass its arguments along";
  }
  if (PyType_Check(callable)) {
    return "it is a type, which makes instances; resolve a function that makes them, or call it "
           "boxed";
  }
  // The second one's type object is not among what 3.13 shows.
  if (type == &PyWrapperDescr_Type || std::strcmp(type->tp_name, "method-wrapper") == 0) {
    return "it wraps a slot of a type and has no PyMethodDef; call it boxed";
  }
  if (is_method_in_class_body(callable)) {
    return std::string("it is a ") + type->tp_name + " object; resolve what a class gives for it";
  }
  if (!TYPEDCALL_IS_SUPPORTED) {
    return "there are no tags on this platform (TYPEDCALL_IS_SUPPORTED); call it boxed";
  }
  if (def_of(callable) != nullptr) {
    return interface != nullptr
               ? "nobody has tagged it: typedcall.tag() does in Python, typedcall/tag.h in C"
               : "only its flag bits and symbol were looked at, without an interface";
  }
  if (PyCustomSlots_Find(callable, PYCUSTOMSLOT_NATIVECALLABLE_ID,
                         PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS) != nullptr) {
    return PyNativeCallable_InstanceTable(callable) == nullptr
               ? "its native-callable slot (SEP 201) has nothing in it now"
               : std::string("'") + type->tp_name +
                     "' overrides __call__, of which its native-callable slot (SEP 201) is not";
  }
  return std::string("'") + type->tp_name +
         "' objects are no builtin functions, and this one has " +
         (interface != nullptr ? "neither a native-callable slot (SEP 201) nor a tag"
                               : "no native-callable slot (SEP 201)");
}

/// Calls `set`, which makes a message with C++ strings and sets an exception. Without memory for
/// them it is MemoryError: who resolves may do so where C++ exceptions end the process.
template <class Set>
void say(const Set &set) {
  try {
    set();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  }
}

/// set_refusal(), with the end of the interpreter left to it. Throws std::bad_alloc.
TYPEDCALL_COLD inline void describe_refusal(const PyTypedcall_Interface *interface,
                                            PyObject *callable, const request &asked) {
  // Attributes are not looked up while an exception is pending; ours replaces it anyway.
  PyErr_Clear();
  const std::string name = name_of(callable);
  if (PyErr_Occurred() != nullptr) return;
  // What the dictionary of a class has for a class method is not callable by itself.
  if (!PyCallable_Check(callable) && !is_unbound(callable) && !is_method_in_class_body(callable)) {
    PyErr_Format(
        PyExc_TypeError, "%s is not callable%s", name.c_str(),
        PyCapsule_CheckExact(callable)
            ? ": in Python, typedcall.tag(f, signature, capsule) says that its function is "
              "behind f"
            : "");
    return;
  }
  std::string offered;
  visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place) {
    for (const PyNativeCallableEntry &entry : entries_of(table)) {
      if (entry.signature == nullptr) continue;
      offered += (offered.empty() ? "'" : ", '") + std::string(entry.signature) + "'" +
                 obstacles(entry, asked, callable);
    }
    return false;
  });
  if (offered.empty()) {
    PyErr_Format(PyExc_TypeError, "%s offers no native signature; '%s' was asked for: %s",
                 name.c_str(), asked.signature, advice(interface, callable).c_str());
  } else if (is_unbound(callable) && !asked.unbound) {
    PyErr_Format(
        PyExc_TypeError,
        "%s is an unbound method, whose first argument is %s '%.100s'; bind it, or ask for "
        "an unbound function; it offers %s",
        name.c_str(), Py_TYPE(callable) == &PyMethodDescr_Type ? "a" : "a subclass of",
        PyDescr_TYPE(callable)->tp_name, offered.c_str());
  } else {
    PyErr_Format(PyExc_TypeError, "%s does not offer '%s'; it offers %s", name.c_str(),
                 asked.signature, offered.c_str());
  }
}

/// Sets the TypeError for a request that nothing of what `callable` has answers, or what the name
/// of a callable raises that is more than an ordinary exception; without memory for its words,
/// MemoryError. GIL: held.
TYPEDCALL_COLD inline void set_refusal(const PyTypedcall_Interface *interface, PyObject *callable,
                                       const request &asked) {
  run_python([&] { say([&] { describe_refusal(interface, callable, asked); }); });
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_DIAGNOSTICS_H_
