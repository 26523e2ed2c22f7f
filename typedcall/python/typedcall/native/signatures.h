// The lists of type codes, flags, kinds, castings and places, and the signature parser, for
// typedcall/record.
#ifndef TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_
#define TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_

#include "typedcall/calling.h"
// After Python.h.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "typedcall/convert/kind_of.h"
#include "typedcall/entry_view.h"
#include "typedcall/native_callable.h"
#include "typedcall/overload_choice.h"
#include "typedcall/resolve/place_names.h"
#include "typedcall/resolve/request.h"
#include "typedcall/signature.h"

namespace typedcall::python {

// Returns a tuple of (letters, C type, kind, size, alignment, has error value) for all type codes,
// as a new reference, or null.
inline PyObject *type_codes() {
  static constexpr const char *rows[][2] = {
#define ROW(NAME, LETTERS, TYPE, KIND, ...) {#TYPE, #KIND},
      PyNativeType_LIST(ROW)
#undef ROW
  };
  PyObject *codes = PyTuple_New(PyNativeType_COUNT);
  for (int code = 0; codes != nullptr && code < PyNativeType_COUNT; ++code) {
    PyObject *row =
        Py_BuildValue("sssnnO", PyNativeCode_Letters(code), rows[code][0], rows[code][1],
                      static_cast<Py_ssize_t>(PyNativeCode_Size(code)),
                      static_cast<Py_ssize_t>(PyNativeCode_Alignment(code)),
                      PyNativeKind_HasErrorValue(PyNativeCode_Kind(code)) ? Py_True : Py_False);
    if (row == nullptr || PyTuple_SetItem(codes, code, row) < 0) Py_CLEAR(codes);
  }
  return codes;
}

// Returns a tuple of (name, bit, words) for all flags, as a new reference, or null.
inline PyObject *all_flags() {
#define ROW(NAME, WORDS) #NAME, (unsigned long)PyNativeCallable_##NAME, WORDS,
#define FORMAT(NAME, WORDS) "(sks)"
  return Py_BuildValue("(" PyNativeCallable_FLAG_LIST(FORMAT) ")",
                       PyNativeCallable_FLAG_LIST(ROW) nullptr);
#undef FORMAT
#undef ROW
}

inline constexpr const char *kind_names[] = {
#define ROW(KIND, B, I, D, F, ZD, ZF, T, O) #KIND,
    PyNativeArgumentKind_LIST(ROW)
#undef ROW
};

// The names of the values of typedcall::casting, in the same order.
inline constexpr const char *casting_names[] = {"exact", "equivalent", "safe"};
static_assert(std::size(casting_names) == static_cast<unsigned>(casting::safe) + 1);

// Returns a tuple of strings as a new reference, or null.
template <std::size_t count>
PyObject *tuple_of(const char *const (&texts)[count]) {
  PyObject *all = PyTuple_New(count);
  for (std::size_t i = 0; all != nullptr && i < count; ++i) {
    PyObject *text = PyUnicode_FromString(texts[i]);
    if (text == nullptr || PyTuple_SetItem(all, static_cast<Py_ssize_t>(i), text) < 0) {
      Py_CLEAR(all);
    }
  }
  return all;
}

/// Adds `value` to a module, and releases the reference. A null `value` means that an exception is
/// already set. On failure or for null, returns false with the exception set.
inline bool add(PyObject *module, const char *name, PyObject *value) {
  const object_ref kept = object_ref::steal(value);
  return kept && PyObject_SetAttrString(module, name, kept.get()) == 0;
}

/// Adds the lists and constants to a module. On failure, returns false with an exception set.
inline bool add_lists(PyObject *module) {
  return add(module, "TYPE_CODES", type_codes()) && add(module, "FLAGS", all_flags()) &&
         add(module, "KINDS", tuple_of(kind_names)) &&
         add(module, "CASTINGS", tuple_of(casting_names)) &&
         add(module, "PLACES", tuple_of(typedcall::internal::place_names)) &&
         add(module, "ABI_MASK", PyLong_FromLong(static_cast<long>(PyNativeCallable_ABI_MASK))) &&
         add(module, "MANDATORY_MASK", PyLong_FromLong(PyNativeCallable_MANDATORY_MASK)) &&
         add(module, "HANDLED", PyLong_FromLong(PyNativeView_HANDLED_MASK));
}

inline PyObject *letters_of(PyNativeType type) {
  return PyUnicode_FromFormat("%s%s%s",
                              !type.pointer_flags           ? ""
                              : PyNativeType_IsBuffer(type) ? "*"
                                                            : "&",
                              (type.pointer_flags & PyNativePointer_CONST) != 0 ? "k" : "",
                              PyNativeCode_Letters(type.code));
}

/// Returns a list of the letters of the first `count` arguments, as a new reference, or null.
inline PyObject *letters_of(const PyNativeSignature &parsed, int count) {
  PyObject *arguments = PyList_New(count);
  for (int i = 0; arguments != nullptr && i < count; ++i) {
    PyObject *letters = letters_of(parsed.args[i]);
    if (letters == nullptr || PyList_SetItem(arguments, i, letters) < 0) Py_CLEAR(arguments);
  }
  return arguments;
}

/// Parses a signature. Returns false with TypeError set if it is not a str, or with ValueError set
/// if it is faulty.
inline bool parse(PyObject *text, PyNativeSignature *parsed) {
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "a signature is a str, not '%.100s'", Py_TYPE(text)->tp_name);
    return false;
  }
  Py_ssize_t length;
  const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length);
  if (utf8 == nullptr) return false;
  PyNativeSignature_Fault fault;
  if (PyNativeSignature_Parse(utf8, static_cast<std::size_t>(length), parsed, &fault) == 0) {
    return true;
  }
  // An exact str is shown, because a subclass may override repr().
  const object_ref exact = object_ref::steal(PyUnicode_FromObject(text));
  const object_ref whole = object_ref::steal(exact ? PyObject_Repr(exact.get()) : nullptr);
  // PyPy does not cut what %.200R shows.
  const object_ref shown =
      object_ref::steal(whole ? PyUnicode_Substring(whole.get(), 0, 200) : nullptr);
  if (!shown) return false;
  PyErr_Format(PyExc_ValueError, "signature %U at position %zd: %s", shown.get(),
               static_cast<Py_ssize_t>(fault.position), fault.reason);
  return false;
}

inline PyObject *parse_signature(PyObject *text) {
  PyNativeSignature parsed;
  if (!parse(text, &parsed)) return nullptr;
  const object_ref arguments = object_ref::steal(letters_of(parsed, parsed.nargs));
  return arguments ? Py_BuildValue("ON", arguments.get(), letters_of(parsed.result)) : nullptr;
}

// The names in typedcall.record.records.
inline const char *name_of(PyNativeThreadState thread_state) {
  switch (thread_state) {
    case PyNativeThreadState_ANY:
      return "ANY";
    case PyNativeThreadState_ATTACHED:
      break;
    case PyNativeThreadState_DETACHED:
      return "DETACHED";
  }
  return "ATTACHED";
}

inline PyObject *describe(PyObject *text, PyObject *flags) {
  PyNativeSignature parsed;
  if (!parse(text, &parsed)) return nullptr;
  const unsigned long long bits = PyLong_AsUnsignedLongLongMask(flags);
  if (bits == ~0ull && PyErr_Occurred() != nullptr) return nullptr;
  const PyNativeView view = PyNativeView_Of(&parsed, bits);
  const PyNativeCheck check = PyNativeCheck_Of(view.error_protocol, &parsed, bits);
  const object_ref arguments = object_ref::steal(letters_of(parsed, view.nargs));
  if (!arguments) return nullptr;
  const auto fact = [](bool is_true) { return is_true ? Py_True : Py_False; };
  return Py_BuildValue("ONOOOOsKKO", arguments.get(), letters_of(view.result), fact(view.is_usable),
                       fact(view.reports), fact(view.may_raise), fact(view.may_fall_back),
                       name_of(view.thread_state), static_cast<unsigned long long>(check.mask),
                       static_cast<unsigned long long>(check.expected),
                       fact(check.is_value_if_equal));
}

// Raises ValueError if `kind` is not a kind, or if `letters` is not the code of a type.
inline PyObject *rank(const char *kind, const char *letters) {
  const auto given = std::find_if(std::begin(kind_names), std::end(kind_names),
                                  [&](const char *name) { return std::strcmp(name, kind) == 0; });
  if (given == std::end(kind_names)) {
    return PyErr_Format(PyExc_ValueError, "'%.100s' is not a kind of value", kind);
  }
  PyNativeType type = {PyNativeType_VOID, 0};
  const std::size_t length = std::strlen(letters);
  std::size_t position = 0;
  if (PyNativeSignature_Internal_ReadType(letters, length, &position, &type) != nullptr ||
      position != length) {
    return PyErr_Format(PyExc_ValueError, "'%.100s' is not a type", letters);
  }
  const PyNativeRank found = PyNativeChoice_Rank(
      PyNativeChoice_Row(type), static_cast<PyNativeArgumentKind>(given - std::begin(kind_names)));
  if (found == PyNativeRank_NONE) Py_RETURN_NONE;
  return PyLong_FromLong(found);
}

inline const char *kind_of(PyObject *object) {
  return kind_names[typedcall::internal::kind_of(object)];
}

/// Reads a Python int. All ints beyond 64 bits on one side become the same. On failure, returns
/// false with an exception set.
inline bool read(PyObject *number, calling::wide_int *to) {
  int overflow;
  *to = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow < 0) *to = calling::wide_int{INT64_MIN} - 1;
  if (overflow > 0) *to = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred() == nullptr) return true;
  if (overflow <= 0) return false;
  PyErr_Clear();
  *to = calling::wide_int{UINT64_MAX} + 1;
  return true;
}

/// Returns the bytes of an object, or null with an exception set if it has another size.
inline const unsigned char *bytes_of(PyObject *object, std::size_t wanted) {
  char *bytes;
  Py_ssize_t size;
  if (object == nullptr || PyBytes_AsStringAndSize(object, &bytes, &size) < 0) return nullptr;
  if (static_cast<std::size_t>(size) == wanted) return reinterpret_cast<unsigned char *>(bytes);
  PyErr_Format(PyExc_ValueError, "%zd bytes, not %zu", size, wanted);
  return nullptr;
}

/// Returns [(overload, fits, is reachable)] and the overloads that may follow.
inline PyObject *plan(PyObject *codes, PyObject *columns, PyObject *ranges, std::size_t rows,
                      std::size_t most) {
  if (!PyTuple_Check(columns)) return PyErr_Format(PyExc_TypeError, "columns must be a tuple");
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(columns));
  const unsigned char *const all_codes = bytes_of(codes, rows * count);
  if (all_codes == nullptr) return nullptr;
  std::vector<PyNativeType> types;
  for (std::size_t i = 0; i < rows * count; ++i) {
    if (all_codes[i] >= PyNativeType_COUNT) return PyErr_Format(PyExc_ValueError, "no such code");
    types.push_back({all_codes[i], 0});
  }
  std::vector<unsigned char> worst(rows), ranks(rows * count);
  std::vector<calling::int_range> limits(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    const unsigned char *const column = bytes_of(PyTuple_GetItem(columns, at), rows);
    const object_ref low_and_high = object_ref::steal(PySequence_GetItem(ranges, at));
    if (low_and_high && !PyTuple_Check(low_and_high.get())) {
      return PyErr_Format(PyExc_TypeError, "a range must be a tuple");
    }
    PyObject *low, *high;
    if (column == nullptr || !low_and_high ||
        !PyArg_ParseTuple(low_and_high.get(), "OO", &low, &high) || !read(low, &limits[i].low) ||
        !read(high, &limits[i].high)) {
      return nullptr;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const unsigned char rank = std::min<unsigned char>(column[row], PyNativeRank_NONE);
      worst[row] = std::max(worst[row], ranks[row * count + i] = rank);
    }
  }
  const calling::plan made(types.data(), worst.data(), ranks.data(), rows, std::move(limits), most);
  const object_ref steps = object_ref::steal(PyList_New(0)),
                   later = object_ref::steal(PyList_New(0));
  const auto add_to = [](const object_ref &list, PyObject *item) {
    const object_ref owned = object_ref::steal(item);
    return list && owned && PyList_Append(list.get(), owned.get()) == 0;
  };
  for (const calling::step &each : made.steps) {
    const object_ref fits = object_ref::steal(PyList_New(0));
    for (const calling::fit fit : each.fits) {
      PyObject *const how = fit == calling::fit::depends ? Py_None
                            : fit == calling::fit::yes   ? Py_True
                                                         : Py_False;
      if (!fits || PyList_Append(fits.get(), how) < 0) return nullptr;
    }
    if (!fits ||
        !add_to(steps, Py_BuildValue("nOO", static_cast<Py_ssize_t>(each.overload), fits.get(),
                                     each.is_reachable ? Py_True : Py_False))) {
      return nullptr;
    }
  }
  for (const std::size_t each : made.later) {
    if (!add_to(later, PyLong_FromSize_t(each))) return nullptr;
  }
  return steps && later ? PyTuple_Pack(2, steps.get(), later.get()) : nullptr;
}

/// Returns the letters of the type for results of all these types, or None.
inline PyObject *common_result(PyObject *codes) {
  char *bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(codes, &bytes, &size) < 0) return nullptr;
  PyNativeType all = {PyNativeType_VOID, 0};
  for (Py_ssize_t i = 0; i < size; ++i) {
    const auto code = static_cast<unsigned char>(bytes[i]);
    if (code >= PyNativeType_COUNT) return PyErr_Format(PyExc_ValueError, "no such code");
    if (!calling::add_result(&all, {code, 0})) Py_RETURN_NONE;
  }
  return letters_of(all);
}

inline bool are_equivalent(const char *one, const char *other) {
  return PyNativeSignature_Equivalent(one, other) != 0;
}

inline bool answers(const char *offered, const char *asked) {
  return PyNativeSignature_Satisfies(offered, asked) != 0;
}

/// The rows of these functions in both modules' method_table.
#define TYPEDCALL_PYTHON_SIGNATURE_METHODS                                                         \
  def<typedcall::python::parse_signature>(                                                         \
      "parse_signature", positional("signature"),                                                  \
      "'d*kl->d' as (['d', '*kl'], 'd'): the types that Python passes and gets. ValueError, "      \
      "with the position, if the signature is invalid; TypeError if it is not a str."),            \
      def<typedcall::python::describe>(                                                            \
          "describe", positional("signature"), positional("flags"),                                \
          "An entry as Python sees it, from typedcall/entry_view.h: letters of arguments and "     \
          "of its result; is_usable, reports, may_raise and may_fall_back; thread state; mask, "   \
          "expected and is_value_if_equal of the comparison after the call. The value of a "       \
          "function that returns a status or falls back is at its place, not among the "           \
          "arguments."),                                                                           \
      def<typedcall::python::rank>(                                                                \
          "rank", positional("kind"), positional("letters"),                                       \
          "How well a value of a kind in KINDS suits a parameter, 0 being best; None if it "       \
          "does not. Not for pointers and buffers, which are tried."),                             \
      def<typedcall::python::kind_of>(                                                             \
          "kind_of", positional("object"),                                                         \
          "The kind of an object, from typedcall/overload_choice.h. Runs no Python code. An "      \
          "object with nothing but `__complex__` is OTHER."),                                      \
      def<typedcall::python::plan>(                                                                \
          "plan", positional("codes"), positional("columns"), positional("ranges"),                \
          positional("rows"), positional("most"),                                                  \
          "The first `most` overloads that a call may try: (index, whether each argument fits, "   \
          "whether values choose it); and the indices of those that may follow. `codes` has a "    \
          "byte "                                                                                  \
          "for each parameter of each of the `rows` overloads, its place in TYPE_CODES. A column " \
          "has the ranks of one argument for the overloads; 255 if it does not suit."),            \
      def<typedcall::python::common_result>(                                                       \
          "common_result", positional("codes"),                                                    \
          "The letters of the type of an array for results of these types, or None."),             \
      def<typedcall::python::are_equivalent>(                                                      \
          "are_equivalent", positional("one"), positional("other"),                                \
          "True if two signatures differ only in names of integers (`l` and `q`)."),               \
      def<typedcall::python::answers>(                                                             \
          "answers", positional("offered"), positional("asked"),                                   \
          "True if the offered function can be called as the requested one: the signatures are "   \
          "equivalent, but its arguments may have more const, and its result less.")

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_SIGNATURES_H_
