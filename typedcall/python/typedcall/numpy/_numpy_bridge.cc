// The extension module `typedcall.numpy._numpy_bridge`, which makes ufuncs. Needs no NumPy headers,
// because numpy_ufuncs.h finds NumPy's C functions.
#define PY_SSIZE_T_CLEAN
#include "ufunc_memory.h"
// After Python.h.
#include <cstring>
#include <new>
#include <string>

#include "typedcall/base/object_ref.h"
#include "typedcall/provider.h"

namespace {

using typedcall::python::inner_loop;
using typedcall::python::kUFuncType;
using typedcall::python::ufunc_fields;
using typedcall::python::ufunc_memory;
using typedcall::python::ufunc_table;
using make_ufunc_function = PyObject *(*)(const inner_loop *, void *const *, const char *, int, int,
                                          int, int, const char *, const char *, int, const char *);

using typedcall::object_ref;

/// A Python object that owns a ufunc's memory. It has no tp_clear, because the ufunc must stay
/// callable while it is referenced. Every cycle contains another object that can be cleared.
struct memory_object {
  PyObject_HEAD
  ufunc_memory *memory;
};

int traverse_memory(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  const ufunc_memory *const memory = reinterpret_cast<memory_object *>(object)->memory;
  return memory != nullptr ? memory->traverse(visit, arg) : 0;
}

void free_memory(PyObject *object) {
  PyTypeObject *const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  delete reinterpret_cast<memory_object *>(object)->memory;
  type->tp_free(object);
  Py_DECREF(type);
}

int resolve_types(ufunc_fields *ufunc, int casting, typedcall::python::array_fields **operands,
                  PyObject *asked, typedcall::python::descriptor_fields **found) {
  return reinterpret_cast<memory_object *>(ufunc->obj)
      ->memory->resolve(ufunc, casting, operands, asked, found);
}

PyType_Slot memory_slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse_memory)},
                              {Py_tp_dealloc, reinterpret_cast<void *>(free_memory)},
                              {0, nullptr}};
PyType_Spec memory_spec = {"typedcall.numpy._numpy_bridge.UfuncMemory", sizeof(memory_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC
#ifdef Py_TPFLAGS_DISALLOW_INSTANTIATION
                               | Py_TPFLAGS_DISALLOW_INSTANTIATION
#endif
                           ,
                           memory_slots};

struct bridge_state : typedcall::module_state {
  static constexpr bool runs_without_gil = true;
  static constexpr bool supports_interpreters = false;  // NumPy supports only the main interpreter
  object_ref memory_type;

  int exec(PyObject *module) {
    memory_type = object_ref::steal(PyType_FromModuleAndSpec(module, &memory_spec, nullptr));
#if PY_VERSION_HEX < 0x030A0000
    if (memory_type) reinterpret_cast<PyTypeObject *>(memory_type.get())->tp_new = nullptr;
#endif
    return memory_type ? 0 : -1;
  }
  int traverse(visitproc visit, void *arg) const noexcept {
    Py_VISIT(memory_type.get());
    return 0;
  }
};

/// Makes NumPy copy the outputs of a generalised ufunc that overlap inputs. By default, NumPy
/// passes an output that is also an input to the loop, and the function would write to its own
/// input. Returns false with ImportError set if NumPy's layout is unknown.
bool separate_outputs(const ufunc_fields *made, const char *core) {
  bool is_known = made->core_enabled == 1 && std::strcmp(made->core_signature, core) == 0;
  for (int i = 0; is_known && i < made->nargs; ++i) is_known = made->op_flags[i] == 0;
  for (int i = made->nin; is_known && i < made->nargs; ++i) {
    made->op_flags[i] = typedcall::python::kCopiedIfOverlapping;
  }
  if (!is_known) PyErr_SetString(PyExc_ImportError, "typedcall does not know NumPy's ufuncs");
  return is_known;
}

PyObject *make_ufunc(PyObject *module, const char *name, const char *doc, PyObject *rows,
                     PyObject *type_numbers, int nin, int nout, const char *core, PyObject *origin,
                     PyObject *planner) {
  char *types;
  Py_ssize_t types_size;
  if (PyBytes_AsStringAndSize(type_numbers, &types, &types_size) < 0) return nullptr;
  if (!PyTuple_Check(rows)) return PyErr_Format(PyExc_TypeError, "loops must be a tuple");
  void **arrays;
  void **const table = ufunc_table(&arrays);
  if (table == nullptr) return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(rows);
  // NumPy itself limits the number of arrays: to 32 before 2.0, and to 64 from 2.0 on.
  if (nin < 0 || nout < 0 || types_size != count * (nin + nout)) {
    PyErr_SetString(PyExc_ValueError, "a ufunc needs one type for each array of each loop");
    return nullptr;
  }
  auto *const type =
      reinterpret_cast<PyTypeObject *>(typedcall::state_of<bridge_state>(module).memory_type.get());
  PyObject *const owner = type->tp_alloc(type, 0);
  if (owner == nullptr) return nullptr;
  auto *const memory = new (std::nothrow) ufunc_memory;
  if (memory == nullptr) {
    Py_DECREF(owner);
    return PyErr_NoMemory();
  }
  PyObject *ufunc = nullptr;
  try {
    memory->name = name;
    memory->doc = doc;
    memory->origin = object_ref::borrow(origin);
    memory->plan_with(planner, arrays);
    const std::string all_types(types, static_cast<std::size_t>(types_size));
    if (memory->add_all(rows, all_types, static_cast<std::size_t>(nin + nout), *core != '\0')) {
      const auto make = reinterpret_cast<make_ufunc_function>(
          table[typedcall::python::kFromFuncAndDataAndSignature]);
      constexpr int no_identity = -1;
      ufunc = make(memory->functions(), memory->data(), memory->types(), static_cast<int>(count),
                   nin, nout, no_identity, memory->name.c_str(), memory->doc.c_str(), 0,
                   *core == '\0' ? nullptr : core);
    }
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  }
  auto *const fields = reinterpret_cast<ufunc_fields *>(ufunc);
  if (ufunc != nullptr && fields->functions == memory->functions() &&
      fields->name == memory->name.c_str() && fields->types == memory->types() &&
      fields->obj == nullptr) {
    // The memory is complete, so the garbage collector may traverse it.
    reinterpret_cast<memory_object *>(owner)->memory = memory;
    fields->obj = owner;  // NumPy traverses `obj`, and releases it with the ufunc
    if (PyType_IS_GC(Py_TYPE(ufunc)) && !PyObject_GC_IsTracked(ufunc)) PyObject_GC_Track(ufunc);
    if (memory->is_planned() && fields->resolver != nullptr) {
      memory->usual = std::exchange(fields->resolver, &resolve_types);
    }
  } else if (ufunc == nullptr) {
    reinterpret_cast<memory_object *>(owner)->memory = memory;
    Py_DECREF(owner);
  }  // if NumPy's layout is unknown, the memory is never freed
  if (ufunc != nullptr && *core != '\0' && !separate_outputs(fields, core)) Py_CLEAR(ufunc);
  return ufunc;
}

PyObject *origin_of(PyObject *module, PyObject *ufunc) {
  void **const table = ufunc_table();
  if (table == nullptr) return nullptr;
  if (!PyObject_TypeCheck(ufunc, static_cast<PyTypeObject *>(table[kUFuncType]))) {
    return PyErr_Format(PyExc_TypeError, "not a ufunc");
  }
  PyObject *const owner = reinterpret_cast<ufunc_fields *>(ufunc)->obj;
  PyObject *const type = typedcall::state_of<bridge_state>(module).memory_type.get();
  if (owner == nullptr || reinterpret_cast<PyObject *>(Py_TYPE(owner)) != type) Py_RETURN_NONE;
  PyObject *const origin = reinterpret_cast<memory_object *>(owner)->memory->origin.get();
  Py_INCREF(origin);
  return origin;
}

using typedcall::positional;

typedcall::method_table methods{
    typedcall::def<make_ufunc>(
        "make_ufunc", typedcall::takes_self, positional("name"), positional("doc"),
        positional("loops"), positional("types"), positional("nin"), positional("nout"),
        typedcall::arg("core") = "", typedcall::arg("origin") = nullptr,
        typedcall::arg("planner") = nullptr,
        "Returns a ufunc. `loops` are tuples (signature, flags, address, keep_alive), also with "
        "the callable if the entry may fall back, and with the arrays' signature and the rows to "
        "choose from if the arrays have other types. "
        "`types` are NumPy's type numbers, nin + nout for each loop. `core` is empty, or the "
        "signature of a generalised ufunc, \"(n)->()\", whose loops end with their operands. "
        "origin_of() returns `origin`."),
    typedcall::def<origin_of>("origin_of", typedcall::takes_self, positional("ufunc"),
                              "Returns the `origin` given to make_ufunc(); None for other ufuncs."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(_numpy_bridge, "ufuncs from native functions.", methods.required(),
                       bridge_state);
