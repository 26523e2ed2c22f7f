// What it costs to look for a C function pointer behind an object on every call: in a custom slot
// of its type, and in the places where a capsule would stand. Every loop contains the call, too.
#include <Python.h>
#include <benchmark/benchmark.h>

#include "bench/callees.h"
#include "bench/embedded_main.h"
#include "bench/opaque.h"
#include "core/custom_slots.h"
#include "core/extensible_type.h"

namespace {

using function = double (*)(double, double);

constexpr char kCapsule[] = "bench.dd_d";
constexpr Py_ssize_t kSlots = 5;

/// Slot 0 stands where its consumers expect it, and slot 4 where they do not.
constexpr uintptr_t slot_id(unsigned position) {
  return PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x100 + position, 0);
}

// Created once; the interpreter's end is the program's.
PyObject *extensible = nullptr;
PyObject *ordinary = nullptr;
PyObject *attribute = nullptr;

void *address() { return reinterpret_cast<void *>(bench::dd_d); }

/// find(subject) yields a function, which is called. The compiler does not know the subject, so
/// nothing that is read through it can be kept from one iteration to the next.
template <class Subject, class Find>
void time_lookup(benchmark::State &state, Subject subject, const Find &find) {
  for (auto _ : state) {
    Subject any = subject;
    double x = 1.5, y = 2.25;
    bench::hide(any);
    bench::hide(x);
    bench::hide(y);
    bench::consume(find(any)(x, y));
  }
}

/// What a consumer does when nothing is found: it has another function.
function other_function() {
  function other = bench::dd_d;
  bench::hide(other);
  return other;
}

template <class Find>
void add_lookup(const char *name, PyObject **object, Find find) {
  bench::add(name, [=](benchmark::State &state) { time_lookup(state, *object, find); });
}

/// A benchmark that finds a slot, or else calls another function.
template <class Find>
void add_slot(const char *name, PyObject **object, Find find) {
  bench::add(name, [=](benchmark::State &state) {
    const function other = other_function();
    time_lookup(state, *object, [=](PyObject *any) {
      const PyCustomSlot *slot = find(any);
      return slot != nullptr ? reinterpret_cast<function>(slot->data.pointer) : other;
    });
  });
}

/// A heap type with kSlots slots, and the capsule in its dictionary; or null.
PyObject *make_extensible_type() {
  static PyType_Slot type_slots[] = {{0, nullptr}};
  static PyType_Spec spec = {"bench.Extensible", static_cast<int>(sizeof(PyObject)), 0,
                             Py_TPFLAGS_DEFAULT, type_slots};
  PyCustomSlot slots[kSlots] = {};
  for (unsigned i = 0; i < kSlots; ++i) {
    slots[i].id = slot_id(i);
    slots[i].data.pointer = address();
  }
  PyObject *type = PyExtensibleType_FromSpec(nullptr, &spec, nullptr, slots, kSlots);
  PyObject *capsule = PyCapsule_New(address(), kCapsule, nullptr);
  if (type != nullptr && (capsule == nullptr || PyObject_SetAttr(type, attribute, capsule) < 0)) {
    Py_CLEAR(type);
  }
  Py_XDECREF(capsule);
  return type;
}

bool make_objects() {
  attribute = PyUnicode_InternFromString("bench_pointer");
  if (attribute == nullptr) return false;
  PyObject *type = make_extensible_type();
  if (type == nullptr) return false;
  extensible = PyObject_CallObject(type, nullptr);
  Py_DECREF(type);
  // An instance of a plain Python class: most objects that a consumer meets are of such a kind.
  PyObject *plain =
      PyObject_CallFunction(reinterpret_cast<PyObject *>(&PyType_Type), "s(){}", "Ordinary");
  ordinary = plain != nullptr ? PyObject_CallObject(plain, nullptr) : nullptr;
  Py_XDECREF(plain);
  return extensible != nullptr && ordinary != nullptr;
}

/// Does every look-up yield what its name says? Otherwise another one is being timed.
bool check_objects() {
  const PyCustomSlot *table = PyCustomSlots_Table(extensible);
  const bool right = PyCustomSlots_Count(extensible) == kSlots && table != nullptr &&
                     PyCustomSlots_Find(extensible, slot_id(0), 0) == &table[0] &&
                     PyCustomSlots_Find(extensible, slot_id(4), 0) == &table[4] &&
                     PyCustomSlots_Find(ordinary, slot_id(0), 0) == nullptr;
  if (!right) PyErr_SetString(PyExc_SystemError, "the slots are not where they were put");
  return right;
}

bool add_all() {
  if (!make_objects() || !check_objects()) return false;

  bench::add("slots/pointer", [](benchmark::State &state) {
    time_lookup(state, static_cast<function>(bench::dd_d), [](function any) { return any; });
  });
  add_slot("slots/expected", &extensible,
           [](PyObject *any) { return PyCustomSlots_Find(any, slot_id(0), 0); });
  add_slot("slots/scan", &extensible,
           [](PyObject *any) { return PyCustomSlots_Find(any, slot_id(4), 0); });
  add_slot("slots/miss", &ordinary,
           [](PyObject *any) { return PyCustomSlots_Find(any, slot_id(0), 0); });
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
  return true;
}

}  // namespace

int main(int argc, char **argv) { return bench::run(argc, argv, add_all); }
