// Chooses an entry for Python values (docs/ABI.md, 8.7 to 8.10).
#ifndef MEMBER_C_CHOOSE_H
#define MEMBER_C_CHOOSE_H

#include <Python.h>

#include "invoke.h"

enum { EXACT, NEAR, SAFE, UNSUITABLE };
enum { MOST_ENTRIES = 64 };

static int has_index(PyObject *value) {
  const PyNumberMethods *number = Py_TYPE(value)->tp_as_number;
  return number && number->nb_index;
}

static int has_float(PyObject *value) {
  const PyNumberMethods *number = Py_TYPE(value)->tp_as_number;
  return number && number->nb_float;
}

static int has_length(PyObject *value) {
  const PySequenceMethods *sequence = Py_TYPE(value)->tp_as_sequence;
  const PyMappingMethods *mapping = Py_TYPE(value)->tp_as_mapping;
  return (sequence && sequence->sq_length) || (mapping && mapping->mp_length);
}

// Returns nonzero for Python's complex numbers, and for NumPy's scalars and arrays of them.
static int is_complex(PyObject *value) {
  if (PyComplex_Check(value)) return 1;
  PyObject *dtype = PyObject_GetAttrString(value, "dtype");
  PyObject *kind = dtype ? PyObject_GetAttrString(dtype, "kind") : NULL;
  const char *text = kind && PyUnicode_Check(kind) ? PyUnicode_AsUTF8(kind) : NULL;
  int found = text && strcmp(text, "c") == 0;
  Py_XDECREF(kind);
  Py_XDECREF(dtype);
  PyErr_Clear();
  return found;
}

static int has_complex(PyObject *value) {
  return PyObject_HasAttrString((PyObject *)Py_TYPE(value), "__complex__");
}

static int rank_as_int(PyObject *value) {
  if (PyLong_Check(value)) return PyLong_CheckExact(value) ? EXACT : NEAR;
  if (is_numpy_bool(value)) return NEAR;
  if (!has_index(value)) return UNSUITABLE;
  return has_length(value) ? SAFE : EXACT;
}

static int rank_as_floating(char kind, PyObject *value) {
  if (PyFloat_Check(value)) return PyFloat_CheckExact(value) && kind != 'f' ? EXACT : NEAR;
  if (is_complex(value)) return UNSUITABLE;
  return rank_as_int(value) != UNSUITABLE || has_float(value) ? SAFE : UNSUITABLE;
}

static int rank_as_complex(char kind, PyObject *value) {
  if (PyComplex_Check(value)) return PyComplex_CheckExact(value) && kind != 'F' ? EXACT : NEAR;
  if (is_complex(value) || has_complex(value)) return SAFE;
  return rank_as_floating('d', value) != UNSUITABLE ? SAFE : UNSUITABLE;
}

static int rank_as_buffer(Type type, PyObject *value) {
  Registers scratch = {.integer_count = 0};
  int suits = PyObject_CheckBuffer(value) && add_buffer(&scratch, type, value) == 0;
  release(&scratch);
  PyErr_Clear();
  return !suits ? UNSUITABLE : type.form == '*' ? EXACT : SAFE;
}

static int rank(Type type, PyObject *value) {  // 8.7
  if (type.kind == 's' && type.form != '&') {
    return PyUnicode_CheckExact(value) ? EXACT : PyUnicode_Check(value) ? NEAR : UNSUITABLE;
  }
  if (type.form) return rank_as_buffer(type, value);
  switch (type.kind) {
    case 'O':
      return SAFE;
    case '?':
      return PyBool_Check(value) || is_numpy_bool(value) ? EXACT : UNSUITABLE;
    case 'i':
    case 'u':
      return rank_as_int(value);
    case 'F':
    case 'D':
    case 'G':
      return rank_as_complex(type.kind, value);
    case 'f':
    case 'd':
    case 'g':
      return rank_as_floating(type.kind, value);
    default:  // P
      return PyCapsule_CheckExact(value) ? EXACT : PyObject_CheckBuffer(value) ? SAFE : UNSUITABLE;
  }
}

// An entry that can be chosen, with the ranks of its arguments.
typedef struct {
  Entry entry;
  Signature signature;
  int is_left_out, worst;
  char ranks[MAX_ARGUMENTS];
} Candidate;

// Fills in the ranks. Without suitable values the candidate is left out.
static void rank_all(Candidate *candidate, PyObject *values) {
  int count = arguments_in_python(candidate->entry.flags, &candidate->signature);
  candidate->is_left_out = count != PyTuple_GET_SIZE(values);
  candidate->worst = EXACT;
  for (int i = 0; i < count && !candidate->is_left_out; i++) {
    int one = rank(candidate->signature.arguments[i], PyTuple_GET_ITEM(values, i));
    candidate->ranks[i] = (char)one;
    if (one > candidate->worst) candidate->worst = one;
    candidate->is_left_out = one == UNSUITABLE;
  }
}

// Returns nonzero if the first is at least as good in every argument and better in one (8.8).
static int is_better(const Candidate *one, const Candidate *other, Py_ssize_t count) {
  int is_better_in_one = 0;
  if (one->worst != other->worst) return one->worst < other->worst;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (one->ranks[i] > other->ranks[i]) return 0;
    is_better_in_one |= one->ranks[i] < other->ranks[i];
  }
  return is_better_in_one;
}

// Leaves out every entry that would turn one of these ints into a floating number (8.9).
static void leave_out_floating(Candidate *all, int count, const char *out_of_range) {
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < all[i].signature.count; k++) {
      Type type = all[i].signature.arguments[k];
      if (out_of_range[k] && !type.form && strchr("fdgFDG", type.kind)) all[i].is_left_out = 1;
    }
  }
}

// Returns the best entry for these values, with the converted arguments in `registers`, or NULL
// with an exception set.
static const Candidate *best(Candidate *all, int count, PyObject *self, PyObject *values,
                             Registers *registers) {
  int is_alone = count == 1, is_out_of_range = 0;
  for (int i = 0; i < count && !is_alone; i++) rank_all(&all[i], values);
  for (;;) {
    Candidate *chosen = NULL;
    for (int i = 0; i < count; i++) {
      if (all[i].is_left_out) continue;
      if (!chosen || is_better(&all[i], chosen, PyTuple_GET_SIZE(values))) chosen = &all[i];
    }
    if (!chosen) break;
    char out_of_range[MAX_ARGUMENTS] = "";
    registers->is_of_several = !is_alone;
    int status = convert(registers, &chosen->entry, &chosen->signature, self, values, out_of_range);
    if (status == 0) return chosen;
    release(registers);
    memset(registers, 0, sizeof *registers);
    if (status < 0 || is_alone) return NULL;
    PyErr_Clear();
    is_out_of_range = chosen->is_left_out = 1;
    leave_out_floating(all, count, out_of_range);
  }
  PyErr_SetString(is_out_of_range ? PyExc_OverflowError : PyExc_TypeError, "no entry suits");
  return NULL;
}

#endif
