// Python objects that hold a C++ consumer of double(double), and support garbage collection.
#include "typedcall/provider.h"
// After Python.h.
#include <cstring>
#include <memory>
#include <vector>

#include "typedcall/callback.h"
#include "typedcall/fallback.h"
#include "typedcall/loop.h"

namespace {

struct consumer {
  virtual ~consumer() = default;
  /// Replaces each value with the function's result. Returns false with an exception set on
  /// failure.
  virtual bool call(std::vector<double> &values) const = 0;
  virtual int traverse(visitproc visit, void *arg) const = 0;
};

struct by_fallback : consumer {
  typedcall::fallback_function<double(double)> function;

  bool call(std::vector<double> &values) const override {
    for (double &each : values) {
      each = function(each);
      if (function.raised(each)) return false;
    }
    return true;
  }
  int traverse(visitproc visit, void *arg) const override {
    Py_VISIT(function.keep_alive());
    return 0;
  }
};

struct by_callback : consumer {
  explicit by_callback(PyObject *callable)
      : library(PyTypedcall_Import(), callable, 0, typedcall::checks_errors) {}
  // Mutable because data() is not const.
  mutable typedcall::callback<double(double, void *), double(double)> library;

  bool call(std::vector<double> &values) const override {
    for (double &each : values) each = library.function()(each, library.data());
    return library.check();
  }
  int traverse(visitproc visit, void *arg) const override { return library.traverse(visit, arg); }
};

struct by_loop : consumer {
  explicit by_loop(typedcall::loop made) : loop(std::move(made)) {}
  typedcall::loop loop;

  bool call(std::vector<double> &values) const override {
    char *const first = reinterpret_cast<char *>(values.data()), *const places[] = {first, first};
    const auto count = static_cast<std::intptr_t>(values.size());
    const std::intptr_t steps[] = {sizeof(double), sizeof(double)};
    return loop.run(places, &count, steps) == 0;
  }
  int traverse(visitproc visit, void *arg) const override {
    Py_VISIT(loop.keep_alive());
    Py_VISIT(loop.callable());
    return 0;
  }
};

std::unique_ptr<consumer> make_fallback(PyObject *callable) {
  auto made = std::make_unique<by_fallback>();
  made->function = typedcall::resolve<double(double)>(
      PyTypedcall_Import(), callable, typedcall::with_fallback(), typedcall::checks_errors);
  if (!made->function) return nullptr;
  return made;
}

std::unique_ptr<consumer> make_callback(PyObject *callable) {
  auto made = std::make_unique<by_callback>(callable);
  if (!made->library) return nullptr;
  return made;
}

std::unique_ptr<consumer> make_loop(PyObject *callable) {
  const auto *interface = PyTypedcall_Import();
  constexpr auto can = typedcall::loop_capabilities;
  auto found = typedcall::resolve(interface, callable, "d->d", can);
  if (!found) {
    // Try a C function that returns a status or falls back.
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
    PyErr_Clear();
    found = typedcall::resolve(interface, callable, "d&d->i", can);
  }
  if (!found) return nullptr;
  auto made = typedcall::loop::make(std::move(*found));
  if (!made) return nullptr;
  return std::make_unique<by_loop>(std::move(*made));
}

struct held {
  PyObject_HEAD
  consumer *own;
};

int traverse(PyObject *object, visitproc visit, void *arg) {
  const consumer *const own = reinterpret_cast<held *>(object)->own;
  Py_VISIT(Py_TYPE(object));
  return own != nullptr ? own->traverse(visit, arg) : 0;
}
int clear(PyObject *object) {
  delete std::exchange(reinterpret_cast<held *>(object)->own, nullptr);
  return 0;
}
void release(PyObject *object) {
  PyObject_GC_UnTrack(object);
  clear(object);
  PyTypeObject *const type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}
/// Calls the function once for each argument, and returns the last result.
PyObject *call(PyObject *object, PyObject *args, PyObject *) {
  const consumer *const own = reinterpret_cast<held *>(object)->own;
  if (own == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the collector has cleared it");
    return nullptr;
  }
  try {
    std::vector<double> values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
      values.push_back(PyFloat_AsDouble(PyTuple_GET_ITEM(args, i)));
      if (PyErr_Occurred()) return nullptr;
    }
    return own->call(values) ? PyFloat_FromDouble(values.empty() ? 0 : values.back()) : nullptr;
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

std::unique_ptr<consumer> make_consumer(const char *kind, PyObject *callable) {
  if (std::strcmp(kind, "fallback") == 0) return make_fallback(callable);
  if (std::strcmp(kind, "C++ callback") == 0) return make_callback(callable);
  if (std::strcmp(kind, "loop") == 0) return make_loop(callable);
  PyErr_Format(PyExc_LookupError, "no consumer '%.200s' here", kind);
  return nullptr;
}

/// Held(kind, callable) makes a consumer of this kind.
PyObject *make(PyTypeObject *type, PyObject *args, PyObject *) {
  const char *kind;
  PyObject *callable;
  if (!PyArg_ParseTuple(args, "sO", &kind, &callable)) return nullptr;
  PyObject *const made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  try {
    reinterpret_cast<held *>(made)->own = make_consumer(kind, callable).release();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  }
  if (reinterpret_cast<held *>(made)->own != nullptr) return made;
  Py_DECREF(made);
  return nullptr;
}

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(make)},
                       {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(release)},
                       {Py_tp_call, reinterpret_cast<void *>(call)},
                       {0, nullptr}};
PyType_Spec spec = {"matrix_held.Held", sizeof(held), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                    slots};

typedcall::method_table methods{};

struct held_state : typedcall::module_state {
  int exec(PyObject *module) {
    PyObject *const type = PyType_FromSpec(&spec);
    const int failed = type == nullptr || PyObject_SetAttrString(module, "Held", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
  }
};

}  // namespace

TYPEDCALL_MODULE_STATE(matrix_held, "C++ consumers that hold what they call.", methods, held_state);
