// A reader that was written from docs/ABI.md alone. Numbers in comments are rules of that page.
#include <Python.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>

#include "choose.h"
#include "interface.h"
#include "invoke.h"
#include "signature.h"

typedef struct {  // the request, and the result
  const Interface *interface;
  PyObject *callable;
  const char *wanted;
  Signature request;
  int equivalent;  // 1 to accept equivalent entries
  uintptr_t can;
  PyObject *self;    // borrowed, or NULL
  PyObject *passed;  // the self that the caller of an unbound method passes, or NULL
  PyObject *values;  // chooses an entry for these values, if not NULL (8.7)
  PyObject *result;  // what a call with the values gave
  Entry entry;
  Signature signature;
  PyObject *kept;                // keeps the entry valid
  char text[MAX_ARGUMENTS + 4];  // a signature that the reader makes
} Search;

// Returns nonzero if the search can use an entry, whose signature it parses.
static int is_usable(const Search *search, const Entry *entry, Signature *signature) {
  return entry->signature && entry->function && parse(entry->signature, signature) &&
         well_formed(entry->flags, signature->result) &&
         (entry->flags & MUST_UNDERSTAND & ~search->can) == 0 &&
         (!(entry->flags & TAKES_SELF) || search->self);
}

// Chooses an entry of one place for the values, and calls it. Returns 0 if the place has no entry
// that the search can use.
static int choose_from(Search *search, const Table *table) {
  Candidate *all = PyMem_Calloc(MOST_ENTRIES, sizeof *all);
  Registers registers = {.integer_count = 0};
  int count = 0;
  if (!all) return PyErr_NoMemory() == NULL;
  for (Py_ssize_t i = 0; i < table->count && count < MOST_ENTRIES; i++) {
    all[count].entry = table->entries[i];
    count += is_usable(search, &all[count].entry, &all[count].signature);
  }
  const Candidate *one =
      count > 0 ? best(all, count, search->self, search->values, &registers) : NULL;
  if (one) {
    search->result =
        call_with(&registers, &one->entry, &one->signature, search->callable, NULL, search->values);
  }
  release(&registers);
  PyMem_Free(all);
  return count > 0;
}

// Searches one place. An identical signature takes precedence.
static int look_through(Search *search, const Table *table) {
  if (search->values) return choose_from(search, table);
  for (int loose = 0; loose <= search->equivalent; loose++) {
    for (Py_ssize_t i = 0; i < table->count; i++) {
      const Entry *entry = &table->entries[i];
      if (!is_usable(search, entry, &search->signature)) continue;
      if (loose ? answers(&search->signature, entry->flags, &search->request)
                : strcmp(entry->signature, search->wanted) == 0) {
        search->entry = *entry;
        return 1;
      }
    }
  }
  return 0;
}

// ---- In front of a name, and beside it (section 4) ----

static int one_typed_entry(Search *search, const int *codes, int count, int result, void *function,
                           uintptr_t flags) {
  static const char letters[] = "?ldO";
  if (!codes || !function || result < 1 || result > 3) return 0;
  char *text = search->text;
  for (int i = 0; i < count; i++) *text++ = letters[codes[i]];
  snprintf(text, 4, "->%c", letters[result]);
  Table table = {1, {{search->text, flags | NEEDS_THREAD, function}}};
  return look_through(search, &table);
}

static int in_front_of_name(Search *search, const PyMethodDef *def) {
  const char *name = def->ml_name;
  if (!(def->ml_flags & TYPED) || (uintptr_t)name % sizeof(void *) != 0) return 0;  // 4.8
  int extended = (def->ml_flags & TYPED_EXT) != 0;
  if (extended) {
    uint64_t magic;
    uint32_t size;
    uint16_t major;
    const Table *table;
    memcpy(&magic, name - 32, sizeof magic);
    if (magic != HEADER_MAGIC) return 0;
    memcpy(&major, name - 36, sizeof major);
    memcpy(&size, name - 40, sizeof size);
    if (major != 1 || size < 56) return 0;
    memcpy(&table, name - 48, sizeof table);
    if (table) return look_through(search, table);
  }
  int convention = def->ml_flags & (METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O |
                                    METH_FASTCALL | METH_METHOD);
  if (convention != METH_O && convention != METH_FASTCALL) return 0;  // 4.5
  const int *codes;
  int one_code, result, padding, count = 0, limit = convention == METH_O ? 1 : MAX_ARGUMENTS;
  void *function;
  memcpy(&function, name - 8, sizeof function);
  memcpy(&padding, name - 12, sizeof padding);
  if (padding != 0 && !extended) {  // the post's struct (4.7)
    memcpy(&one_code, name - 16, sizeof one_code);
    if (padding < 0 || convention != METH_O || one_code < 1 || one_code > 3) return 0;
    return one_typed_entry(search, &one_code, 1, padding, function, 0);
  }
  memcpy(&result, name - 16, sizeof result);
  memcpy(&codes, name - 24, sizeof codes);
  if (!codes || result < -3) return 0;
  while (count < limit && codes[count] >= 1 && codes[count] <= 3) count++;
  if (codes[count] != -1 || (convention == METH_O && count != 1)) return 0;
  uintptr_t flags = result >= 0 ? 0 : result == -2 ? MAY_RAISE | ERROR_IS_NEG_ZERO : MAY_RAISE;
  return one_typed_entry(search, codes, count, abs(result), function, flags);
}

static int is_at(const void *address, const void *base) {
  Dl_info info;
  return address && dladdr(address, &info) && info.dli_fbase == base;
}

static const Table *sibling_table(const PyMethodDef *def) {  // 4.10 to 4.12
  static const char letters[] = "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  char name[128];
  Dl_info home, found;
  void *extra = NULL;
  Signature ignored;
  size_t length = strspn(def->ml_name, letters);
  if (length > 99 || def->ml_name[length] || strchr("0123456789", def->ml_name[0])) return NULL;
  if (!dladdr(def, &home) || !home.dli_fname) return NULL;
  snprintf(name, sizeof name, "_PyPyTyped_%s", def->ml_name);
  void *handle = dlopen(home.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) handle = dlopen(NULL, RTLD_LAZY);  // the program itself
  if (!handle) return NULL;
  const Sibling *sibling = dlsym(handle, name);
  dlclose(handle);
  if (!sibling || !dladdr1(sibling, &found, &extra, RTLD_DL_SYMENT) || !extra) return NULL;
  const ElfW(Sym) *symbol = extra;
  if (found.dli_fbase != home.dli_fbase || found.dli_saddr != (const void *)sibling ||
      strcmp(found.dli_sname, name) != 0 || ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT ||
      symbol->st_size != sizeof *sibling || sibling->def != def ||
      !is_at(sibling->table, home.dli_fbase)) {
    return NULL;
  }
  for (Py_ssize_t i = 0; i < sibling->table->count; i++) {
    const Entry *entry = &sibling->table->entries[i];
    if (!is_at((const char *)(entry + 1) - 1, home.dli_fbase)) return NULL;
    if (!is_at(entry->signature, home.dli_fbase) || !entry->function) return NULL;
    if (!parse(entry->signature, &ignored)) return NULL;
  }
  return sibling->table;  // a symbol without entries offers nothing
}

// ---- Slots on types (section 1) ----

// 1.1 to 1.6. Without an interface an unresolved type cannot be resolved.
static int find_slot(const Interface *interface, PyTypeObject *type, uintptr_t id,
                     Py_ssize_t expected, uintptr_t *data) {
  const size_t offset = (sizeof(PyHeapTypeObject) + 15) / 16 * 16;
  if (id <= 1 || ((id & 1) && (uint64_t)id > UINT32_MAX)) return 0;  // 1.5, 2.1
  int is_heap = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
  if (Py_TYPE(type) == NULL || (size_t)Py_TYPE(type)->tp_basicsize < offset + sizeof(TypeData) ||
      (!is_heap &&
       (char *)type->tp_as_buffer != (char *)type + offsetof(PyHeapTypeObject, as_buffer))) {
    return 0;
  }
  const TypeData *own = (const TypeData *)(const void *)((char *)type + offset);
  if ((char *)type->tp_members == (char *)(own + 1) + sizeof(uint64_t) &&  // 1.6
      __atomic_load_n((const uint64_t *)(own + 1), __ATOMIC_ACQUIRE) ==
          ((uint64_t)id ^ TYPE_MAGIC)) {
    *data = own->table[0].data;
    return 1;
  }
  uint64_t magic = __atomic_load_n(&own->magic, __ATOMIC_ACQUIRE);
  if (magic == 0 && is_heap && interface) {  // 1.4
    PyTypeObject *metaclass = interface->metaclass(interface->state);
    if (metaclass && PyType_IsSubtype(Py_TYPE(type), metaclass) &&
        interface->resolve(interface->state, type, NULL, 0) < 0) {
      PyErr_Clear();
    }
    magic = __atomic_load_n(&own->magic, __ATOMIC_ACQUIRE);
  }
  if (magic != TYPE_MAGIC) return 0;
  if (expected >= 0 && expected < own->count && own->table[expected].id == id) {
    *data = own->table[expected].data;
    return 1;
  }
  for (Py_ssize_t i = 0; i < own->count; i++) {
    if (own->table[i].id != id) continue;
    *data = own->table[i].data;
    return 1;
  }
  return 0;
}

static const Table *instance_table(const Interface *interface, PyObject *object) {
  PyTypeObject *type = Py_TYPE(object), *last = NULL;
  uintptr_t offset, ignored;
  if (!find_slot(interface, type, NATIVE_SLOT, 0, &offset)) return NULL;
  for (Py_ssize_t i = PyTuple_GET_SIZE(type->tp_mro); i-- > 0 && !last;) {  // 1.21
    PyTypeObject *one = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
    if (find_slot(NULL, one, NATIVE_SLOT, 0, &ignored)) last = one;
  }
  PyObject *name = PyUnicode_FromString("__call__");
  PyObject *call = name ? _PyType_Lookup(type, name) : NULL;
  int same = call && last && last->tp_call == type->tp_call && _PyType_Lookup(last, name) == call;
  if (!name) PyErr_Clear();
  Py_XDECREF(name);
  if (!same) return NULL;
  return __atomic_load_n((const Table **)((uintptr_t)object + offset), __ATOMIC_ACQUIRE);
}

// ---- The search (section 8) ----

static const Interface *interface_of(PyObject *module) {  // cached in module state (5.3)
  const Interface **kept = PyModule_GetState(module);
  if (!*kept) *kept = look_up_interface();
  return *kept;
}

// Returns 1 if found, 0 if not, or -1 with an exception set.
static int look_in_row(Search *search, int space, const void *key) {
  const Interface *interface = search->interface;
  const void *value = NULL;
  if (!interface) return 0;
  PyObject *kept = interface->hold(interface->state, space, key, search->callable, &value);
  if (!kept) return PyErr_Occurred() ? -1 : 0;
  if (value && look_through(search, value)) {
    search->kept = kept;
    return 1;
  }
  Py_DECREF(kept);
  return 0;
}

static int look_everywhere(Search *search) {
  PyObject *object = search->callable;
  PyTypeObject *type = Py_TYPE(object);
  const PyMethodDef *def = NULL;
  const Table *table;
  if (type == &PyCFunction_Type || type == &PyCMethod_Type) {  // 4.1
    def = ((PyCFunctionObject *)object)->m_ml;
    search->self = PyCFunction_GET_SELF(object);
  } else if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type) {
    if (!search->passed) return 0;  // 8.6
    def = ((PyMethodDescrObject *)object)->d_method;
    search->self = search->passed;
  } else {
    search->self = object;
    table = instance_table(search->interface, object);
    if (table && look_through(search, table)) return 1;
    return look_in_row(search, BY_OBJECT, object);
  }
  if (in_front_of_name(search, def)) return 1;
  int found = look_in_row(search, BY_DEF, def);
  if (found == 0) found = look_in_row(search, BY_OBJECT, object);
  if (found != 0) return found;
  table = sibling_table(def);
  return table && look_through(search, table);
}

static int start(PyObject *module, Search *search) {
  search->interface = interface_of(module);
  search->equivalent = search->equivalent && parse(search->wanted, &search->request);
  return look_everywhere(search);
}

// ---- The module ----

static PyObject *find(PyObject *module, PyObject *arguments) {
  Search search = {0};
  unsigned long can;
  if (!PyArg_ParseTuple(arguments, "Oskp", &search.callable, &search.wanted, &can,
                        &search.equivalent)) {
    return NULL;
  }
  search.can = can;
  int found = start(module, &search);
  if (found < 0) return NULL;
  if (found == 0) Py_RETURN_NONE;
  PyObject *answer = Py_BuildValue("skN", search.entry.signature, (unsigned long)search.entry.flags,
                                   PyLong_FromVoidPtr(search.entry.function));
  Py_XDECREF(search.kept);
  return answer;
}

static PyObject *call_found(PyObject *module, Search *search, PyObject *values) {
  int found = start(module, search);
  if (found < 0) return NULL;
  if (found == 0) return PyErr_Format(PyExc_LookupError, "nothing answers %s", search->wanted);
  PyObject *result = call_native(&search->entry, &search->signature, search->callable, search->self,
                                 search->passed, values);
  Py_XDECREF(search->kept);
  return result;
}

static PyObject *call(PyObject *module, PyObject *arguments) {
  Search search = {.equivalent = 1};
  PyObject *values;
  unsigned long can;
  if (!PyArg_ParseTuple(arguments, "OskO!", &search.callable, &search.wanted, &can, &PyTuple_Type,
                        &values)) {
    return NULL;
  }
  search.can = can;
  return call_found(module, &search, values);
}

// Returns nonzero if an unbound method can be called with this self (3.16).
static int takes(PyObject *unbound, PyObject *self) {
  if (Py_TYPE(unbound) == &PyMethodDescr_Type) {
    return PyObject_TypeCheck(self, PyDescr_TYPE(unbound));
  }
  return Py_TYPE(unbound) == &PyClassMethodDescr_Type && PyType_Check(self) &&
         PyType_IsSubtype((PyTypeObject *)self, PyDescr_TYPE(unbound));
}

static PyObject *call_unbound(PyObject *module, PyObject *arguments) {
  Search search = {.equivalent = 1};
  PyObject *values;
  unsigned long can;
  if (!PyArg_ParseTuple(arguments, "OskOO!", &search.callable, &search.wanted, &can, &search.passed,
                        &PyTuple_Type, &values)) {
    return NULL;
  }
  if (!takes(search.callable, search.passed)) {
    return PyErr_Format(PyExc_TypeError, "self is something else");
  }
  search.can = can;
  return call_found(module, &search, values);
}

static PyObject *choose(PyObject *module, PyObject *arguments) {
  Search search = {.can = MUST_UNDERSTAND, .wanted = ""};
  if (!PyArg_ParseTuple(arguments, "OO!", &search.callable, &PyTuple_Type, &search.values)) {
    return NULL;
  }
  int found = start(module, &search);
  Py_XDECREF(search.kept);
  if (found == 0) PyErr_SetString(PyExc_TypeError, "no entry suits");
  return search.result;
}

static PyObject *slot_at(PyObject *module, PyObject *arguments) {
  PyObject *object;
  Py_ssize_t expected = 0;
  unsigned long long id;
  uintptr_t data;
  if (!PyArg_ParseTuple(arguments, "OK|n", &object, &id, &expected)) return NULL;
  if (!find_slot(interface_of(module), Py_TYPE(object), (uintptr_t)id, expected, &data)) {
    Py_RETURN_NONE;
  }
  return PyLong_FromSize_t(data);
}

static int execute(PyObject *module) {
  PyObject *names =
      Py_BuildValue("(ssssss)", "name", "def", "object", "instance", "sibling", "type");
  PyObject *places = names ? PySet_New(names) : NULL;
  Py_XDECREF(names);
  int failed = !places || PyObject_SetAttrString(module, "PLACES", places) < 0;
  Py_XDECREF(places);
  return failed ? -1 : 0;
}

static PyMethodDef functions[] = {
    {"find", find, METH_VARARGS, NULL},
    {"call", call, METH_VARARGS, NULL},
    {"choose", choose, METH_VARARGS, NULL},
    {"call_unbound", call_unbound, METH_VARARGS, NULL},
    {"slot", slot_at, METH_VARARGS, NULL},
    {"slot_at", slot_at, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "member_c_consumer",
    .m_size = sizeof(const Interface *),
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_member_c_consumer(void) { return PyModuleDef_Init(&definition); }
