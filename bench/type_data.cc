// Measures access to the C data of a `list` subclass (PEP 697): at a constant offset, with
// CPython's function, and with typedcall's.
#include <Python.h>
#include <benchmark/benchmark.h>

#include <cstddef>

#include "bench/callees.h"
#include "bench/embedded_main.h"
#include "bench/lookup.h"
#include "core/type_data.h"

namespace {

struct data {
  bench::function called;
};

// These objects are never freed.
PyTypeObject *over_list = nullptr;
PyObject *instance = nullptr;

/// The data follow the base's struct. PEP 697 defines the alignment.
constexpr std::size_t kOffset = (sizeof(PyListObject) + alignof(std::max_align_t) - 1) /
                                alignof(std::max_align_t) * alignof(std::max_align_t);

bench::function at_constant_offset(PyObject *any) {
  return reinterpret_cast<data *>(reinterpret_cast<char *>(any) + kOffset)->called;
}

bench::function by_typedcall(PyObject *any) {
  return static_cast<data *>(PyTypeData_Get(any, over_list))->called;
}

#if PY_VERSION_HEX >= 0x030C0000
bench::function by_cpython(PyObject *any) {
  return static_cast<data *>(PyObject_GetTypeData(any, over_list))->called;
}
#endif

bool make_objects() {
  static PyType_Slot none[] = {{0, nullptr}};
  static PyType_Spec spec = {"bench.OverList", -static_cast<int>(sizeof(data)), 0,
                             Py_TPFLAGS_DEFAULT, none};
  PyObject *bases = PyTuple_Pack(1, &PyList_Type);
  over_list =
      bases != nullptr
          ? reinterpret_cast<PyTypeObject *>(PyTypeData_FromSpec(nullptr, nullptr, &spec, bases))
          : nullptr;
  Py_XDECREF(bases);
  if (over_list == nullptr) return false;
  instance = PyObject_CallObject(reinterpret_cast<PyObject *>(over_list), nullptr);
  if (instance == nullptr) return false;
  static_cast<data *>(PyTypeData_Get(instance, over_list))->called = bench::dd_d;
  if (at_constant_offset(instance) == bench::dd_d) return true;
  PyErr_SetString(PyExc_SystemError, "the data are not where they were put");
  return false;
}

template <bench::function (*find)(PyObject *)>
void add(const char *name) {
  bench::add_in_turns(name, [](benchmark::State &state, std::size_t turn) {
    bench::time_lookup(state, turn, instance, [](PyObject *any) { return find(any); });
  });
}

bool add_all() {
  if (!make_objects()) return false;
  bench::add_pointer("type_data/pointer", bench::dd_d);
  add<at_constant_offset>("type_data/constant");
  add<by_typedcall>("type_data/typedcall");
#if PY_VERSION_HEX >= 0x030C0000
  add<by_cpython>("type_data/cpython");
#endif
  return true;
}

}  // namespace

int main(int argc, char **argv) { return bench::run(argc, argv, add_all); }
