// Tags callables from Python. A tag is a table of entries, with an object that keeps the addresses
// valid. The tag lives as long as the side table needs it.
#ifndef TYPEDCALL_PYTHON_NATIVE_TAG_H_
#define TYPEDCALL_PYTHON_NATIVE_TAG_H_

#include "typedcall/tag.h"
// After Python.h.
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "typedcall/base/object_ref.h"

namespace typedcall::python {

/// Reads a row. The signature in `entry` lives as long as the row. On failure, returns false with
/// an exception set.
inline bool read_row(PyObject *row, PyNativeCallableEntry *entry) {
  PyObject *text, *address;
  unsigned long flags;
  if (!PyTuple_Check(row)) {
    PyErr_SetString(PyExc_TypeError, "a row is a tuple (signature, flags, address)");
    return false;
  }
  if (!PyArg_ParseTuple(row, "UkO!", &text, &flags, &PyLong_Type, &address)) return false;
  Py_ssize_t length;
  entry->signature = PyUnicode_AsUTF8AndSize(text, &length);
  if (entry->signature == nullptr) return false;
  if (std::strlen(entry->signature) != static_cast<std::size_t>(length)) {
    PyErr_SetString(PyExc_ValueError, "a signature cannot contain a null character");
    return false;
  }
  entry->flags = flags;
  entry->funcptr = PyLong_AsVoidPtr(address);
  return entry->funcptr != nullptr || PyErr_Occurred() == nullptr;
}

/// Makes a table from a sequence of (signature, flags, address). Returns null with an exception set
/// on failure. Throws std::bad_alloc.
inline PyNativeCallableTable *make_table(PyObject *rows) {
  const object_ref list = object_ref::steal(PySequence_Tuple(rows));
  if (!list) return nullptr;
  std::vector<PyNativeCallableEntry> entries(
      static_cast<std::size_t>(PyTuple_GET_SIZE(list.get())));
  std::size_t size = sizeof(PyNativeCallableTable);
  Py_ssize_t count = 0;
  for (PyNativeCallableEntry &each : entries) {
    if (!read_row(PyTuple_GET_ITEM(list.get(), count++), &each)) return nullptr;
    size += sizeof(each) + std::strlen(each.signature) + 1;
  }
  auto *made = static_cast<PyNativeCallableTable *>(std::calloc(1, size));
  if (made == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  made->count = count;
  PyNativeCallableEntry *entry = made->entries;
  char *text = reinterpret_cast<char *>(entry + count);
  for (PyNativeCallableEntry &each : entries) {
    const std::size_t length = std::strlen(each.signature) + 1;
    std::memcpy(text, each.signature, length);
    each.signature = std::exchange(text, text + length);
    *entry++ = each;
  }
  return made;
}

/// Frees a table made by make_table(). The side table calls this when the table has no more
/// readers.
inline void free_table(const void *table) { std::free(const_cast<void *>(table)); }

/// Returns the text of the pending exception, and clears it. Returns null with an exception set if
/// memory runs out.
inline PyObject *take_text() {
  PyObject *kind, *raised, *traceback;
  PyErr_Fetch(&kind, &raised, &traceback);
  PyObject *const before = kind;
  PyErr_NormalizeException(&kind, &raised, &traceback);
  if (kind != before) {
    PyErr_Restore(kind, raised, traceback);
    return nullptr;
  }
  const object_ref owned[] = {object_ref::steal(kind), object_ref::steal(raised),
                              object_ref::steal(traceback)};
  object_ref text = object_ref::steal(PyObject_Str(raised));
  // Before CPython 3.11, PyErr_Format() sets an exception without a text if it has no memory.
  if (text && PyUnicode_GetLength(text.get()) == 0) return PyErr_NoMemory();
  return text.release();
}

/// Tags the callable's PyMethodDef, or the object if it has none. `keep_alive` may be None. Returns
/// True if the tag is new, and False if an equal tag exists, which then also keeps `keep_alive`
/// alive. If a different tag exists, returns a text about the difference. On failure, returns null
/// with an exception set.
inline PyObject *tag_callable(const PyTypedcall_Interface *interface, PyObject *callable,
                              PyObject *rows, PyObject *keep_alive) {
  if (keep_alive == Py_None) keep_alive = nullptr;
  PyNativeCallableTable *const made = make_table(rows);
  if (made == nullptr) return nullptr;
  const PyMethodDef *const def = PyTypedMethod_DefOf(callable);
  const char *const name = def != nullptr ? def->ml_name : Py_TYPE(callable)->tp_name;
  const auto publish =
      def != nullptr ? PyTypedMethod_Internal_TagCallable : PyNativeCallable_Internal_TagObject;
  const bool is_valid = PyNativeCallable_CheckTable(made, name) == 0;
  const int taken = is_valid ? publish(interface, callable, made, free_table, keep_alive) : -1;
  if (taken != 1) free_table(made);
  if (taken >= 0) return PyBool_FromLong(taken);
  // A valid table raises ValueError only for a conflict.
  return is_valid && PyErr_ExceptionMatches(PyExc_ValueError) ? take_text() : nullptr;
}

/// Returns a new reference to the object that the callable keeps alive for its tags, or to None if
/// the interface keeps it alive.
inline PyObject *kept_by(PyObject *callable) {
  const object_ref dict = object_ref::steal(PyTC_HostingDict(callable));
  PyObject *kept = dict ? PyTC_Look(dict.get(), PyTypedcall_KEEPER_NAME) : nullptr;
  if (kept == nullptr) Py_RETURN_NONE;
  return kept;
}

/// Removes the tag. Returns 1, or 0 if there was none.
inline int untag_callable(const PyTypedcall_Interface *interface, PyObject *callable) {
  const PyMethodDef *def = PyTypedMethod_DefOf(callable);
  const int of_def = def != nullptr ? PyTypedMethod_UntagDef(interface, def) : 0;
  return PyNativeCallable_UntagObject(interface, callable) | of_def;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_TAG_H_
