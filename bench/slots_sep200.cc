// The benchmarks of SEP 200, and PyCustomSlots_Find for comparison.
#include <Python.h>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>

#include "bench/callees.h"
#include "bench/embedded_main.h"
#include "bench/lookup.h"
#include "core/custom_slots.h"
#include "core/extensible_type.h"

namespace {

constexpr std::uintptr_t kId = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x200, 0);
constexpr Py_ssize_t kSlots = 2;

/// The SEP's struct, followed by a table in the type itself. The SEP tried this table and dropped
/// it.
struct sep_type {
  PyHeapTypeObject heap_type;
  Py_ssize_t count;
  PyCustomSlot *table;
  PyCustomSlot embedded[kSlots];
};

// These objects are never freed.
PyCustomSlot slots[kSlots];
PyTypeObject *metaclass = nullptr;
PyObject *sep_object = nullptr;      // its class is made by `metaclass`
PyObject *derived_object = nullptr;  // its class is made by a derived metaclass
PyObject *own_object = nullptr;      // its class is made by core/extensible_type.h

/// The SEP uses bit 22, which CPython itself uses now. Testing another bit takes the same time.
/// This bit is set in these types, but not in the types of CPython's own objects.
bool has_flag(PyTypeObject *type) { return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0; }
bool has_metaclass(PyTypeObject *type) { return Py_TYPE(type) == metaclass; }
/// Follows tp_base, as the SEP proposes. PyType_IsSubtype() would be a call, for which the loop
/// would have to save registers.
bool has_metaclass_or_derived(PyTypeObject *type) {
  const PyTypeObject *found = Py_TYPE(type);
  while (!PyTypedcall_LIKELY(found == metaclass) && found != nullptr) found = found->tp_base;
  return found != nullptr;
}

PyCustomSlot *by_pointer(sep_type *type) { return type->table; }
PyCustomSlot *embedded(sep_type *type) { return type->embedded; }

/// The look-up of the SEP's reference implementation.
template <bool (*is_extensible)(PyTypeObject *), PyCustomSlot *(*table_of)(sep_type *)>
PyCustomSlot *find(PyObject *any) {
  constexpr Py_ssize_t expected = 0;
  if (!PyTypedcall_LIKELY(is_extensible(Py_TYPE(any)))) return nullptr;
  auto *type = reinterpret_cast<sep_type *>(Py_TYPE(any));
  PyCustomSlot *table = table_of(type);
  if (PyTypedcall_LIKELY(type->count > expected && table[expected].id == kId)) {
    return &table[expected];
  }
  for (Py_ssize_t i = 0; i < type->count; ++i) {
    if (table[i].id == kId) return &table[i];
  }
  return nullptr;
}

PyCustomSlot *find_own(PyObject *any) { return PyCustomSlots_Find(any, kId, 0); }

/// Calls a metaclass, and returns the new class, or null on failure. The class's base is object if
/// `base` is null.
PyTypeObject *make_class(PyTypeObject *of, const char *name, PyTypeObject *base = nullptr) {
  PyObject *called = reinterpret_cast<PyObject *>(of);
  return reinterpret_cast<PyTypeObject *>(base != nullptr
                                              ? PyObject_CallFunction(called, "s(O){}", name, base)
                                              : PyObject_CallFunction(called, "s(){}", name));
}

/// Returns an instance of `type`, or null on failure. Steals a reference to `type`.
PyObject *instance_of(PyTypeObject *type) {
  PyObject *made = reinterpret_cast<PyObject *>(type);
  PyObject *instance = made != nullptr ? PyObject_CallObject(made, nullptr) : nullptr;
  Py_XDECREF(made);
  return instance;
}

/// Returns an instance of a new class of the metaclass, or null on failure.
PyObject *make_sep_object(PyTypeObject *of, const char *name) {
  PyTypeObject *made = of != nullptr ? make_class(of, name) : nullptr;
  if (made == nullptr) return nullptr;
  auto *type = reinterpret_cast<sep_type *>(made);
  type->count = kSlots;
  type->table = slots;
  for (Py_ssize_t i = 0; i < kSlots; ++i) type->embedded[i] = slots[i];
  return instance_of(made);
}

/// Returns a metaclass whose types have the size of sep_type, or null on failure.
PyTypeObject *make_metaclass() {
  static PyType_Slot none[] = {{0, nullptr}};
  static PyType_Spec spec = {"bench.extensibletype", static_cast<int>(sizeof(sep_type)), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, none};
  PyObject *bases = PyTuple_Pack(1, &PyType_Type);
  PyObject *made = bases != nullptr ? PyType_FromSpecWithBases(&spec, bases) : nullptr;
  Py_XDECREF(bases);
  return reinterpret_cast<PyTypeObject *>(made);
}

PyObject *make_own_object() {
  static PyType_Slot none[] = {{0, nullptr}};
  static PyType_Spec spec = {"bench.Own", static_cast<int>(sizeof(PyObject)), 0, Py_TPFLAGS_DEFAULT,
                             none};
  return instance_of(reinterpret_cast<PyTypeObject *>(
      PyExtensibleType_FromSpec(nullptr, &spec, nullptr, slots, kSlots)));
}

bool make_objects() {
  for (unsigned i = 0; i < kSlots; ++i) {
    slots[i].id = kId + 0x100 * i;
    slots[i].data.pointer = reinterpret_cast<void *>(bench::dd_d);
  }
  metaclass = make_metaclass();
  if (metaclass == nullptr) return false;
  sep_object = make_sep_object(metaclass, "Sep");
  derived_object = make_sep_object(make_class(&PyType_Type, "derived", metaclass), "Derived");
  own_object = make_own_object();
  return sep_object != nullptr && derived_object != nullptr && own_object != nullptr;
}

/// Returns true if every look-up finds the expected slot.
template <bool (*is_extensible)(PyTypeObject *), PyCustomSlot *(*table_of)(sep_type *)>
bool finds(PyObject *object) {
  const PyCustomSlot *table = table_of(reinterpret_cast<sep_type *>(Py_TYPE(object)));
  return find<is_extensible, table_of>(object) == table &&
         find<is_extensible, table_of>(Py_None) == nullptr;
}

bool check_objects() {
  const bool right =
      finds<has_flag, by_pointer>(sep_object) && finds<has_flag, embedded>(sep_object) &&
      finds<has_metaclass, by_pointer>(sep_object) &&
      finds<has_metaclass_or_derived, by_pointer>(sep_object) &&
      finds<has_metaclass_or_derived, by_pointer>(derived_object) &&
      find<has_metaclass, by_pointer>(derived_object) == nullptr &&
      find_own(own_object) == PyCustomSlots_Table(own_object) && find_own(sep_object) == nullptr;
  if (!right) PyErr_SetString(PyExc_SystemError, "the slots are not where they were put");
  return right;
}

/// Adds a benchmark of one look-up.
template <PyCustomSlot *(*look)(PyObject *)>
void add(const char *name, PyObject **object) {
  bench::add_slot(
      name, object, [](PyObject *any) { return look(any); }, bench::dd_d);
}

bool add_all() {
  if (!make_objects() || !check_objects()) return false;
  bench::add_pointer("slots_sep200/pointer", bench::dd_d);
  add<find<has_flag, by_pointer>>("slots_sep200/flag_table", &sep_object);
  add<find<has_flag, embedded>>("slots_sep200/flag_embedded", &sep_object);
  add<find<has_metaclass, by_pointer>>("slots_sep200/metaclass_table", &sep_object);
  add<find<has_metaclass_or_derived, by_pointer>>("slots_sep200/may_be_derived", &sep_object);
  add<find<has_metaclass_or_derived, by_pointer>>("slots_sep200/is_derived", &derived_object);
  add<find_own>("slots_sep200/typedcall", &own_object);
  return true;
}

}  // namespace

int main(int argc, char **argv) { return bench::run(argc, argv, add_all); }
