// Measures finding a C function behind an object and calling it. The pointer is in a custom slot or
// in a capsule.
#include <Python.h>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "bench/callees.h"
#include "bench/embedded_main.h"
#include "bench/lookup.h"
#include "core/custom_slots.h"
#include "core/extensible_type.h"
#include "core/foreign_slots.h"

namespace {

using bench::function;

constexpr char kCapsule[] = "bench.dd_d";
constexpr unsigned kSlots = 8;
constexpr unsigned kForeignTypes = 64;

/// Slot 0 is at the position where consumers expect it.
constexpr uintptr_t slot_id(unsigned position) {
  return PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x100 + position, 0);
}

// These objects are never freed.
PyObject *extensible = nullptr;
PyObject *ordinary = nullptr;
PyObject *integer = nullptr;
PyObject *foreign = nullptr;     // an object whose type has registered slots
PyObject *derived = nullptr;     // an object whose type inherits these slots
std::vector<PyObject *> others;  // more objects like `foreign`
PyObject *attribute = nullptr;
const PyTypedcall_Interface *interface = nullptr;

void *address() { return reinterpret_cast<void *>(bench::dd_d); }

template <class Find>
void add_lookup(const char *name, PyObject **object, Find find) {
  bench::add_in_turns(name, [=](benchmark::State &state, std::size_t turn) {
    bench::time_lookup(state, turn, *object, find);
  });
}

/// Adds a benchmark that calls the function in a slot, or another function if there is no slot.
template <class Find>
void add_slot(const char *name, PyObject **object, Find find) {
  bench::add_slot(name, object, find, bench::dd_d);
}

/// Returns the slots of all types in this program.
std::vector<PyCustomSlot> slots() {
  std::vector<PyCustomSlot> made(kSlots);
  for (unsigned i = 0; i < kSlots; ++i) {
    made[i].id = slot_id(i);
    made[i].data.pointer = address();
  }
  return made;
}

/// Registers slots for types that are not extensible. The destructor removes them.
class Foreign {
 public:
  Foreign() {
    const std::vector<PyCustomSlot> all = slots();
    registered_ = give(Py_TYPE(foreign), all);
    for (PyObject *type : others) {
      registered_ = registered_ && give(reinterpret_cast<PyTypeObject *>(type), all);
    }
  }
  ~Foreign() {
    remove(Py_TYPE(foreign));
    for (PyObject *type : others) remove(reinterpret_cast<PyTypeObject *>(type));
  }
  Foreign(const Foreign &) = delete;
  Foreign &operator=(const Foreign &) = delete;

  explicit operator bool() const { return registered_; }

 private:
  static bool give(PyTypeObject *type, const std::vector<PyCustomSlot> &all) {
    return PyForeignSlots_Register(interface, type, all.data(), kSlots) == 0;
  }
  static void remove(PyTypeObject *type) {
    for (unsigned i = 0; i < kSlots; ++i) PyForeignSlots_Unregister(interface, type, slot_id(i));
  }
  bool registered_ = false;
};

/// Like add_slot(), but foreign types are registered during the benchmark.
template <class Find>
void add_with_foreign(const char *name, PyObject **object, Find find) {
  bench::add_in_turns(name, [=](benchmark::State &state, std::size_t turn) {
    const Foreign registered;
    if (!registered) return bench::fail(state);
    find(*object);  // the first look-up for a class merges inherited slots
    bench::time_slot(state, turn, *object, find, bench::dd_d);
  });
}

/// Returns a heap type with kSlots slots, and with the capsule in its dictionary. Returns null on
/// failure.
PyObject *make_extensible_type() {
  static PyType_Slot type_slots[] = {{0, nullptr}};
  static PyType_Spec spec = {"bench.Extensible", static_cast<int>(sizeof(PyObject)), 0,
                             Py_TPFLAGS_DEFAULT, type_slots};
  PyObject *type = PyExtensibleType_FromSpec(nullptr, &spec, nullptr, slots().data(), kSlots);
  PyObject *capsule = PyCapsule_New(address(), kCapsule, nullptr);
  if (type != nullptr && (capsule == nullptr || PyObject_SetAttr(type, attribute, capsule) < 0)) {
    Py_CLEAR(type);
  }
  Py_XDECREF(capsule);
  return type;
}

/// Returns a plain Python class, or null on failure.
PyObject *make_class(const char *name, PyObject *base = nullptr) {
  PyObject *metaclass = reinterpret_cast<PyObject *>(&PyType_Type);
  return base != nullptr ? PyObject_CallFunction(metaclass, "s(O){}", name, base)
                         : PyObject_CallFunction(metaclass, "s(){}", name);
}

/// Returns an instance of `type`, or null on failure. Steals a reference to `type`.
PyObject *instance_of(PyObject *type) {
  PyObject *instance = type != nullptr ? PyObject_CallObject(type, nullptr) : nullptr;
  Py_XDECREF(type);
  return instance;
}

bool make_objects() {
  interface = PyTypedcall_Import();
  attribute = PyUnicode_InternFromString("bench_pointer");
  if (interface == nullptr || attribute == nullptr) return false;
  extensible = instance_of(make_extensible_type());
  ordinary = instance_of(make_class("Ordinary"));
  integer = PyLong_FromLong(5);
  foreign = instance_of(make_class("Foreign"));
  if (foreign == nullptr) return false;
  derived = instance_of(make_class("Derived", reinterpret_cast<PyObject *>(Py_TYPE(foreign))));
  while (others.size() < kForeignTypes) {
    others.push_back(make_class("Other"));
    if (others.back() == nullptr) return false;
  }
  return extensible != nullptr && ordinary != nullptr && integer != nullptr && derived != nullptr;
}

PyCustomSlot *find(PyObject *object, unsigned position) {
  return PyCustomSlots_Find(object, slot_id(position), 0);
}
const PyCustomSlot *find_any(PyObject *object, unsigned position) {
  return PyCustomSlots_FindAny(interface, object, slot_id(position), 0);
}

/// Returns true if every look-up finds the expected slot.
bool check_objects() {
  const PyCustomSlot *table = PyCustomSlots_Table(extensible);
  bool right = PyCustomSlots_Count(extensible) == kSlots && table != nullptr &&
               find(extensible, 0) == &table[0] &&
               find(extensible, kSlots - 1) == &table[kSlots - 1] && find(ordinary, 0) == nullptr &&
               find(integer, 0) == nullptr;
  {
    const Foreign registered;
    if (!registered) return false;
    const PyCustomSlot *own = find_any(foreign, 0), *inherited = find_any(derived, 0);
    right = right && own != nullptr && own->data.pointer == address() && inherited != nullptr &&
            inherited->data.pointer == address() && find_any(ordinary, 0) == nullptr &&
            find(foreign, 0) == nullptr && find_any(extensible, 0) == &table[0];
  }
  right = right && find_any(foreign, 0) == nullptr && find_any(derived, 0) == nullptr;
  if (!right) PyErr_SetString(PyExc_SystemError, "the slots are not where they were put");
  return right;
}

/// Adds the benchmarks of PyCustomSlots_Find and of its alternatives.
void add_own() {
  bench::add_pointer("slots/pointer", bench::dd_d);
  // Each lambda has its own type, so each loop is a separate call site.
  add_slot("slots/expected", &extensible,
           [](PyObject *any) { return PyCustomSlots_Find(any, slot_id(0), 0); });
  add_slot("slots/scan", &extensible,
           [](PyObject *any) { return PyCustomSlots_Find(any, slot_id(kSlots - 1), 0); });
  const auto find_first = [](PyObject *any) { return PyCustomSlots_Find(any, slot_id(0), 0); };
  add_slot("slots/miss", &ordinary, find_first);
  add_slot("slots/miss_int", &integer, find_first);
  add_with_foreign("slots/miss_rows", &ordinary, find_first);
  add_slot("slots/mixed_site", &extensible, find_first);
  add_lookup("slots/dict", &extensible, [](PyObject *any) {
    PyObject *capsule = PyDict_GetItemWithError(Py_TYPE(any)->tp_dict, attribute);
    return reinterpret_cast<function>(PyCapsule_GetPointer(capsule, kCapsule));
  });
  add_lookup("slots/getattr", &extensible, [](PyObject *any) {
    PyObject *capsule = PyObject_GetAttr(any, attribute);
    const auto found = reinterpret_cast<function>(PyCapsule_GetPointer(capsule, kCapsule));
    Py_DECREF(capsule);
    return found;
  });
}

/// Adds the benchmarks of PyCustomSlots_FindAny.
void add_foreign() {
  const auto find_first = [](PyObject *any) {
    return PyCustomSlots_FindAny(interface, any, slot_id(0), 0);
  };
  add_with_foreign("slots/any_own", &extensible, find_first);
  add_with_foreign("slots/any_foreign", &foreign, find_first);
  add_with_foreign("slots/any_inherited", &derived, find_first);
  add_with_foreign("slots/any_miss", &ordinary, find_first);
}

bool add_all() {
  if (!make_objects() || !check_objects()) return false;
  add_own();
  add_foreign();
  return true;
}

}  // namespace

int main(int argc, char **argv) { return bench::run(argc, argv, add_all); }
