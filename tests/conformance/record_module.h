// Functions for the generated module of records. The structs are those of docs/ABI.md, and do not
// depend on our headers.
#ifndef TYPEDCALL_TESTS_CONFORMANCE_RECORD_MODULE_H_
#define TYPEDCALL_TESTS_CONFORMANCE_RECORD_MODULE_H_

#include <Python.h>
// After Python.h.
#include <structmember.h>

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Entry {
  const char *signature;
  uintptr_t flags;
  void *function;
} Entry;

typedef struct Table {
  Py_ssize_t count;
  Entry entries[1];
} Table;

// The data before a name. `kind` is the kind of struct that follows the header or replaces it.
enum { ALONE_NOTHING, PYPY, ONE_ARG };
typedef struct Name {
  int flags;     // the flags of the PyMethodDef
  int readable;  // number of mapped bytes before the name
  int shift;     // distance from the alignment that the struct needs
  uintptr_t reserved;
  int has_table;
  uint32_t size;
  uint16_t major, minor;
  uint64_t magic;
  int kind;
  const int *codes;  // codes of PyPy's struct; unmapped memory follows them
  int code_count, result, padding, argument;
  void *function;
} Name;

typedef struct Record {
  const char *id;
  Py_ssize_t count;  // the count in the table; may be wrong
  int length;        // the actual number of entries
  const Entry *entries;
  const Name *name;     // NULL for a well-formed header with the table
  const char *binding;  // "function"; for methods "bound", "unbound", "static", "class" (bound to
                        // the class) or "unbound class"
  int convention;       // flags of the def if `name` is NULL
} Record;

// --- Guarded memory ---

// Returns `size` bytes directly after or before an unreadable page. The memory is never freed.
static char *Guarded(size_t size, int is_at_end) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
  char *start = (char *)mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if ((void *)start == MAP_FAILED || mprotect(start + page, room, PROT_READ | PROT_WRITE) != 0) {
    Py_FatalError("no memory for a record");
  }
  return start + page + (is_at_end ? room - size : 0);
}

static const char *GuardedText(const char *text) {
  if (text == NULL) return NULL;
  const size_t size = strlen(text) + 1;
  return (const char *)memcpy(Guarded(size, 1), text, size);
}

static const Table *GuardedTable(const Record *record) {
  const size_t size = offsetof(Table, entries) + (size_t)record->length * sizeof(Entry);
  Table *table = (Table *)(void *)Guarded(size, 1);
  Entry *entry = (Entry *)(void *)((char *)table + offsetof(Table, entries));
  table->count = record->count;
  for (int i = 0; i < record->length; ++i, ++entry) {
    *entry = record->entries[i];
    entry->signature = GuardedText(entry->signature);
  }
  return table;
}

// Returns the name, with the data of the record before it.
static const char *GuardedName(const Name *name, const Table *table) {
  char made[56 + 100] = "";
  const uintptr_t offered = name->has_table ? (uintptr_t)table : 0;
  memcpy(made, &name->reserved, 8);
  memcpy(made + 8, &offered, 8);
  memcpy(made + 16, &name->size, 4);
  memcpy(made + 20, &name->major, 2);
  memcpy(made + 22, &name->minor, 2);
  memcpy(made + 24, &name->magic, 8);
  if (name->kind == PYPY) {
    const size_t size = (size_t)name->code_count * sizeof(int);
    const uintptr_t codes =
        name->codes != NULL ? (uintptr_t)memcpy(Guarded(size, 1), name->codes, size) : 0;
    memcpy(made + 32, &codes, 8);
    memcpy(made + 40, &name->result, 4);
    memcpy(made + 44, &name->padding, 4);
  } else if (name->kind == ONE_ARG) {
    memcpy(made + 40, &name->argument, 4);
    memcpy(made + 44, &name->result, 4);
  }
  memcpy(made + 48, &name->function, 8);
  strcpy(made + 56, "record");
  const size_t front = (size_t)name->readable;
  char *start = Guarded(front + (size_t)name->shift + 100, 0) + name->shift;
  memcpy(start, made + 56 - front, front + 100);
  return start + front;
}

// --- Callables ---

// Returns the first argument plus 1000. No native function returns this.
static PyObject *BoxedOf(PyObject *const *arguments, Py_ssize_t count) {
  if (count < 1) return PyLong_FromLong(1000);
  PyObject *thousand = PyLong_FromLong(1000);
  PyObject *sum = thousand != NULL ? PyNumber_Add(arguments[0], thousand) : NULL;
  Py_XDECREF(thousand);
  return sum;
}
static PyObject *BoxedOne(PyObject *self, PyObject *argument) {
  (void)self;
  return BoxedOf(&argument, 1);
}
static PyObject *BoxedNone(PyObject *self, PyObject *nothing) {
  (void)self, (void)nothing;
  return BoxedOf(NULL, 0);
}
static PyObject *BoxedTuple(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *first = PyTuple_Size(arguments) > 0 ? PyTuple_GetItem(arguments, 0) : NULL;
  return BoxedOf(&first, first != NULL);
}
static PyObject *BoxedWords(PyObject *self, PyObject *arguments, PyObject *words) {
  (void)words;
  return BoxedTuple(self, arguments);
}
static PyObject *BoxedFast(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  (void)self;
  return BoxedOf(arguments, count);
}
static PyObject *BoxedFastWords(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                                PyObject *words) {
  (void)words;
  return BoxedFast(self, arguments, count);
}
static PyObject *BoxedMethod(PyObject *self, PyTypeObject *type, PyObject *const *arguments,
                             size_t count, PyObject *words) {
  (void)type, (void)words;
  return BoxedFast(self, arguments, (Py_ssize_t)count);
}

static PyCFunction BoxedFor(int flags) {
  switch (flags & (METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | 0x200)) {
    case METH_O:
      return BoxedOne;
    case METH_NOARGS:
      return BoxedNone;
    case METH_VARARGS:
      return BoxedTuple;
    case METH_VARARGS | METH_KEYWORDS:
      return (PyCFunction)(void (*)(void))BoxedWords;
    case METH_FASTCALL:
      return (PyCFunction)(void (*)(void))BoxedFast;
    case METH_FASTCALL | METH_KEYWORDS:
      return (PyCFunction)(void (*)(void))BoxedFastWords;
    case METH_FASTCALL | METH_KEYWORDS | 0x200:
      return (PyCFunction)(void (*)(void))BoxedMethod;
    default:
      return NULL;
  }
}

// Makes a def on the heap, which is never freed, and a function or method with this def.
static PyObject *FunctionOf(PyObject *module, const char *name, int flags, const char *binding,
                            PyMethodDef **made) {
  const int is_unbound = strncmp(binding, "unbound", 7) == 0;
  const int is_of_class = strcmp(binding, "class") == 0 || strcmp(binding, "unbound class") == 0;
  const int method = strcmp(binding, "static") == 0 ? METH_STATIC : is_of_class ? METH_CLASS : 0;
#ifdef PYPY_VERSION
  if (is_of_class) {
    PyErr_SetString(PyExc_NotImplementedError, "PyPy's class methods show no def");
    return NULL;
  }
#endif
  PyMethodDef *def = (PyMethodDef *)calloc(2, sizeof(*def));
  if (def == NULL) return PyErr_NoMemory();
  def->ml_name = name;
  def->ml_meth = BoxedFor(flags);
  def->ml_flags = flags | method;
  *made = def;
  if (def->ml_meth == NULL) {
    PyErr_SetString(PyExc_SystemError, "the record has no calling convention");
    return NULL;
  }
  if (strcmp(binding, "function") == 0) {
    if (PyModule_AddFunctions(module, def) < 0) return NULL;
    PyObject *function = PyObject_GetAttrString(module, name);
    PyObject_DelAttrString(module, name);
    return function;
  }
  PyType_Slot slots[] = {{Py_tp_methods, def}, {0, NULL}};
  PyType_Spec spec = {"conformance.Methods", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject *type = PyType_FromSpec(&spec), *holder = type;
  if (type == NULL) return NULL;
  if (is_unbound) {
    holder = PyObject_GetAttrString(type, "__dict__");
  } else if (!is_of_class) {
    holder = PyObject_CallObject(type, NULL);
  }
  PyObject *function = holder == NULL ? NULL
                       : is_unbound   ? PyMapping_GetItemString(holder, name)
                                      : PyObject_GetAttrString(holder, name);
  if (holder != type) Py_XDECREF(holder);
  Py_DECREF(type);
  return function;
}

static PyObject *NamedCallable(PyObject *module, const Record *record) {
  const Name good = {0x3000 | record->convention,
                     56,
                     0,
                     0,
                     1,
                     56,
                     1,
                     0,
                     UINT64_C(0x5059545950454431),
                     ALONE_NOTHING,
                     NULL,
                     0,
                     0,
                     0,
                     0,
                     NULL};
  const Name *name = record->name != NULL ? record->name : &good;
  PyMethodDef *def;
  return FunctionOf(module, GuardedName(name, GuardedTable(record)), name->flags, record->binding,
                    &def);
}

// Makes a function or method that offers nothing.
static PyObject *PlainCallable(PyObject *module, const Record *record) {
  PyMethodDef *def;
  return FunctionOf(module, "record", record->convention, record->binding, &def);
}

#ifndef PYPY_VERSION

// Makes an object of a subtype of the function's or method's type. Its memory looks like that of
// the function, with a well-formed def.
static PyObject *SubtypeCallable(PyObject *module, const Record *record) {
  PyObject *made = NamedCallable(module, record);
  PyTypeObject *type = (PyTypeObject *)calloc(1, sizeof(*type));
  if (made == NULL || type == NULL) return NULL;
  Py_SET_REFCNT((PyObject *)type, 1);
  type->tp_name = "conformance.Subtype";
  type->tp_flags = Py_TPFLAGS_DEFAULT;
  type->tp_base = Py_TYPE(made);
  if (PyType_Ready(type) < 0) Py_CLEAR(made);
  if (made != NULL) Py_SET_TYPE(made, type);
  return made;
}

// --- The interface, from docs/ABI.md, section 5 ---

typedef struct Slot {
  uintptr_t id;
  uintptr_t data;
} Slot;

typedef struct Interface {
  uint16_t major, minor;
  uint32_t size;
  void *state;
  PyTypeObject *(*metaclass)(void *state);
  int (*resolve)(void *state, PyTypeObject *type, const Slot *own, Py_ssize_t own_count);
  const void *(*find)(void *state, int space, const void *key);
  PyObject *(*hold)(void *state, int space, const void *key, PyObject *callable,
                    const void **value);
  int (*publish)(void *state, int space, const void *key, PyObject *owner, const void *value,
                 int (*equal)(const void *existing, const void *offered),
                 void (*destroy)(const void *value), PyObject *kept);
  void *others[5];
  uintptr_t (*slot_id)(void *state, const char *name);
  int (*ready_static)(void *state, PyTypeObject *type, Py_ssize_t slot_table_size);
  void *combined_metaclass;
} Interface;

static const char kCapsuleName[] = "_extensibletype.typedcall_v2";

// Returns the original interface, or NULL with an exception set if no module has installed one.
static const Interface *FindInterface(void) {
  static const Interface *found;
  static PyInterpreterState *finder;
  PyInterpreterState *here = PyInterpreterState_Get();
  if (finder != here) found = NULL;
  PyObject *kept = PyInterpreterState_GetDict(here);
  PyObject *capsule =
      found == NULL && kept != NULL ? PyDict_GetItemString(kept, kCapsuleName) : NULL;
  if (capsule != NULL) found = (const Interface *)PyCapsule_GetPointer(capsule, kCapsuleName);
  if (found != NULL) finder = here;
  if (found == NULL && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_ImportError, "no module has installed the interface");
  }
  return found;
}

static int PublishValue(int space, const void *key, PyObject *owner, const void *value) {
  const Interface *interface = FindInterface();
  if (interface == NULL) return -1;
  const int taken =
      interface->publish(interface->state, space, key, owner, value, NULL, NULL, NULL);
  if (taken != 1 && !PyErr_Occurred())
    PyErr_Format(PyExc_SystemError, "publish returned %d", taken);
  return taken == 1 ? 0 : -1;
}

static int Publish(int space, const void *key, PyObject *owner, const Record *record) {
  return PublishValue(space, key, owner, GuardedTable(record));
}

// Offers the table of the record for an object or for the def of a builtin function.
static int Offer(PyObject *callable, const Record *record, const char *place) {
  if (strcmp(place, "object") == 0) return Publish(2, callable, callable, record);
  return Publish(1, ((PyCFunctionObject *)callable)->m_ml, callable, record);
}

static PyObject *DefCallable(PyObject *module, const Record *record) {
  PyMethodDef *def;
  PyObject *function = FunctionOf(module, "record", record->convention, record->binding, &def);
  if (function != NULL && Publish(1, def, module, record) < 0) Py_CLEAR(function);
  return function;
}

#endif  // PYPY_VERSION
#endif  // TYPEDCALL_TESTS_CONFORMANCE_RECORD_MODULE_H_
