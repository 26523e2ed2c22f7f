// Calls an entry that the reader has found (docs/ABI.md, 3.14 and 3.15). Supports only x86-64 SysV
// and AAPCS64.
#ifndef MEMBER_C_INVOKE_H
#define MEMBER_C_INVOKE_H

#include <Python.h>
#include <string.h>

#include "signature.h"

// Integers and floating-point numbers use separate registers. So a call that fills all of them
// works for any function whose arguments fit into registers. A buffer takes one or two registers.
typedef struct {
  uint64_t integers[6];
  double floats[8];
  int integer_count, float_count, buffer_count;
  Py_buffer buffers[7];
  int is_of_several;  // The entry is chosen among several.
} Registers;
#define ALL_REGISTERS                                                                         \
  uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double, double, double, \
      double, double, double, double

static int refuse(PyObject *exception, const char *text) {
  PyErr_SetString(exception, text);
  return -1;
}

static int add_integer(Registers *registers, uint64_t value) {
  if (registers->integer_count == 6) return refuse(PyExc_NotImplementedError, "many arguments");
  registers->integers[registers->integer_count++] = value;
  return 0;
}

static int add_text(Registers *registers, PyObject *value, int with_size) {
  Py_ssize_t size;
  const char *text = PyUnicode_AsUTF8AndSize(value, &size);
  if (!text || add_integer(registers, (uintptr_t)text) < 0) return -1;
  if (with_size) return add_integer(registers, (uint64_t)size);
  return strlen(text) == (size_t)size ? 0 : refuse(PyExc_ValueError, "a NUL in a text");
}

static int add_buffer(Registers *registers, Type type, PyObject *value) {
  Py_buffer *view = &registers->buffers[registers->buffer_count];
  int writes = type.is_const ? 0 : PyBUF_WRITABLE;
  if (PyObject_GetBuffer(value, view, PyBUF_ND | PyBUF_FORMAT | writes) < 0) return -1;
  registers->buffer_count++;
  const char *format = view->format ? view->format : "B";
  Type element;
  const char *end = parse_code(*format == '@' ? format + 1 : format, &element);
  size_t alignment = strchr("FDG", type.kind) ? type.size / 2 : type.size;
  if (!end || *end || element.kind != type.kind || element.size != type.size ||
      (view->len > 0 && (uintptr_t)view->buf % alignment != 0)) {
    return refuse(PyExc_TypeError, "a buffer of something else");
  }
  if (view->ndim != 1) return refuse(PyExc_TypeError, "a buffer of other than one dimension");
  if (add_integer(registers, (uintptr_t)view->buf) < 0) return -1;
  if (type.form == '*') return add_integer(registers, (uint64_t)(view->len / view->itemsize));
  return view->len > 0 ? 0 : refuse(PyExc_TypeError, "nothing to point to");
}

static int is_numpy_bool(PyObject *value) {
  const char *name = Py_TYPE(value)->tp_name;
  return strcmp(name, "numpy.bool_") == 0 || strcmp(name, "numpy.bool") == 0;
}

// Returns 1 if the exception says that an int is out of the range of a double, or -1.
static int failure_of(PyObject *value) {
  return PyIndex_Check(value) && PyErr_ExceptionMatches(PyExc_OverflowError) ? 1 : -1;
}

static int add_float(Registers *registers, double value) {
  if (registers->float_count == 8) return refuse(PyExc_NotImplementedError, "many arguments");
  registers->floats[registers->float_count++] = value;
  return 0;
}

// A complex number takes two registers. On x86-64, both floats are in one.
static int add_complex(Registers *registers, Type type, PyObject *value) {
  Py_complex number = PyComplex_AsCComplex(value);
  if (number.real == -1.0 && PyErr_Occurred()) {
    return failure_of(value);
  }
  if (type.kind == 'D') {
    return add_float(registers, number.real) < 0 ? -1 : add_float(registers, number.imag);
  }
  float parts[2][2] = {{(float)number.real, 0}, {(float)number.imag, 0}};
  double packed[2];
#ifdef __x86_64__
  parts[0][1] = parts[1][0];
  memcpy(packed, parts, sizeof packed);
  return add_float(registers, packed[0]);
#else
  memcpy(packed, parts, sizeof packed);
  return add_float(registers, packed[0]) < 0 ? -1 : add_float(registers, packed[1]);
#endif
}

// Returns 0, or with an exception set 1 if an int is out of range, or -1.
static int add_argument(Registers *registers, Type type, PyObject *value) {
  if (type.kind == 's' && type.form != '&') return add_text(registers, value, type.form == '*');
  if (type.form) return add_buffer(registers, type, value);
  if (type.kind == 'O') return add_integer(registers, (uintptr_t)value);
  if (type.kind == '?') {
    int is_true = PyObject_IsTrue(value);
    return is_true < 0 ? -1 : add_integer(registers, (uint64_t)is_true);
  }
  if (type.kind == 'd' || type.kind == 'f') {
    double number = PyFloat_AsDouble(value);
    float narrow = (float)number;
    if (number == -1.0 && PyErr_Occurred()) {
      return failure_of(value);
    }
    if (type.kind == 'f') memcpy(&number, &narrow, sizeof narrow);
    return add_float(registers, number);
  }
  if (type.kind == 'F' || type.kind == 'D') return add_complex(registers, type, value);
  if (type.kind != 'i' && type.kind != 'u') {
    return refuse(PyExc_NotImplementedError, "an argument of this type");
  }
  PyObject *index = registers->is_of_several && is_numpy_bool(value)
                        ? PyLong_FromLong(PyObject_IsTrue(value))
                        : PyNumber_Index(value);
  if (!index) return -1;
  int spare = 64 - 8 * type.size;
  uint64_t bits;
  int fits;
  if (type.kind == 'i') {
    long long number = PyLong_AsLongLong(index);
    bits = (uint64_t)number;
    fits = number >= INT64_MIN >> spare && number <= INT64_MAX >> spare;
  } else {
    bits = PyLong_AsUnsignedLongLong(index);
    fits = bits <= UINT64_MAX >> spare;
  }
  Py_DECREF(index);
  if (PyErr_Occurred()) return 1;
  if (fits) return add_integer(registers, bits);
  refuse(PyExc_OverflowError, "out of range");
  return 1;
}

static PyObject *value_at(Type type, const void *place) {
  uint64_t bits = 0;
  double number;
  float narrow;
  memcpy(&bits, place, type.size < sizeof bits ? type.size : sizeof bits);
  switch (type.kind) {
    case 'v':
      Py_RETURN_NONE;
    case '?':
      return PyBool_FromLong(bits != 0);
    case 'i':
      return PyLong_FromLongLong((int64_t)(bits << (64 - 8 * type.size)) >> (64 - 8 * type.size));
    case 'u':
      return PyLong_FromUnsignedLongLong(bits);
    case 'f':
      memcpy(&narrow, place, sizeof narrow);
      return PyFloat_FromDouble(narrow);
    case 'd':
      memcpy(&number, place, sizeof number);
      return PyFloat_FromDouble(number);
    case 's':
      if (bits == 0) Py_RETURN_NONE;
      return PyUnicode_FromString((const char *)(uintptr_t)bits);
    default:  // O
      return (PyObject *)(uintptr_t)bits;
  }
}

// Calls the function and returns the result register. Holds the GIL unless the function acquires
// it.
static uint64_t call_registers(const Registers *registers, const Entry *entry, int is_floating) {
  const uint64_t *n = registers->integers;
  const double *x = registers->floats;
  int lets_go = (entry->flags & (ACQUIRES_GIL | NEEDS_THREAD)) == ACQUIRES_GIL;
  PyThreadState *thread = lets_go ? PyEval_SaveThread() : NULL;
  uint64_t result;
  if (is_floating) {
    double number = ((double (*)(ALL_REGISTERS))entry->function)(
        n[0], n[1], n[2], n[3], n[4], n[5], x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
    memcpy(&result, &number, sizeof result);
  } else {
    result = ((uint64_t(*)(ALL_REGISTERS))entry->function)(
        n[0], n[1], n[2], n[3], n[4], n[5], x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
  }
  if (thread) PyEval_RestoreThread(thread);
  return result;
}

static void release(Registers *registers) {
  while (registers->buffer_count > 0)
    PyBuffer_Release(&registers->buffers[--registers->buffer_count]);
}

// Returns nonzero if the function returns a status.
static int is_status(uintptr_t flags) { return (flags & (RETURNS_STATUS | FALLS_BACK)) != 0; }

// Returns the number of arguments that Python passes (3.14).
static int arguments_in_python(uintptr_t flags, const Signature *signature) {
  return signature->count - (is_status(flags) && has_place(signature));
}

// Converts the arguments. Returns 0, or with an exception set 1 if an int is out of range and all
// other arguments are right, or -1. `out_of_range`, which may be NULL, shows which.
static int convert(Registers *registers, const Entry *entry, const Signature *signature,
                   PyObject *self, PyObject *arguments, char *out_of_range) {
  int given = arguments_in_python(entry->flags, signature), status = 0;
  if (PyTuple_GET_SIZE(arguments) != given) {
    PyErr_Format(PyExc_TypeError, "%s: another number of arguments", entry->signature);
    return -1;
  }
  if ((entry->flags & TAKES_SELF) && add_integer(registers, (uintptr_t)self) < 0) return -1;
  for (int i = 0; i < given; i++) {
    int one = add_argument(registers, signature->arguments[i], PyTuple_GET_ITEM(arguments, i));
    if (one < 0) return -1;
    if (one == 0) continue;
    status = 1;
    PyErr_Clear();
    if (out_of_range) out_of_range[i] = 1;
  }
  if (status != 0) PyErr_SetString(PyExc_OverflowError, "out of range");
  return status;
}

// Calls the Python callable with the arguments, after `first` if that is not NULL.
static PyObject *call_python(PyObject *callable, PyObject *first, PyObject *arguments) {
  if (!first) return PyObject_Call(callable, arguments, NULL);
  PyObject *one = PyTuple_Pack(1, first), *all = one ? PySequence_Concat(one, arguments) : NULL;
  PyObject *result = all ? PyObject_Call(callable, all, NULL) : NULL;
  Py_XDECREF(all);
  Py_XDECREF(one);
  return result;
}

// Calls the function with arguments that are converted. `first` is the self that the caller of an
// unbound method passes, or NULL.
static PyObject *call_with(Registers *registers, const Entry *entry, const Signature *signature,
                           PyObject *callable, PyObject *first, PyObject *arguments) {
  uintptr_t flags = entry->flags;
  int given = arguments_in_python(flags, signature), places = signature->count - given;
  Type type = places ? signature->arguments[given] : signature->result;
  uint64_t place = 0;
  if ((type.form && !places) || strchr("PgFDG", type.kind)) {
    return PyErr_Format(PyExc_NotImplementedError, "a result of this type");
  }
  if (places && add_integer(registers, (uintptr_t)&place) < 0) return NULL;
  int is_floating = !is_status(flags) && (type.kind == 'd' || type.kind == 'f');
  uint64_t result = call_registers(registers, entry, is_floating);
  if (!is_status(flags)) {
    return (flags & MAY_RAISE) && PyErr_Occurred() ? NULL : value_at(type, &result);
  }
  if ((uint32_t)result == 0) {
    if (places) return value_at(type, &place);
    Py_RETURN_NONE;
  }
  if (flags & RETURNS_STATUS) return NULL;
  release(registers);
  return call_python(callable, first, arguments);  // 3.15
}

static PyObject *call_native(const Entry *entry, const Signature *signature, PyObject *callable,
                             PyObject *self, PyObject *first, PyObject *arguments) {
  Registers registers = {.integer_count = 0};
  PyObject *result = NULL;
  if (convert(&registers, entry, signature, self, arguments, NULL) == 0) {
    result = call_with(&registers, entry, signature, callable, first, arguments);
  }
  release(&registers);
  return result;
}

#endif
