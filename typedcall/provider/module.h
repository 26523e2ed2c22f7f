// The module state, and the parts of TYPEDCALL_MODULE and its variants.
#ifndef TYPEDCALL_PROVIDER_MODULE_H_
#define TYPEDCALL_PROVIDER_MODULE_H_

#include <Python.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#ifndef PYPY_VERSION
#include "core/type_access.h"
#endif
#include "typedcall/base/namespace.h"
#include "typedcall/base/object_ref.h"
#include "typedcall/convert/exceptions.h"

#if !TYPEDCALL_INTERNAL_IS_DECLARED
#include <stdexcept>
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Returns the module with this m_free, which is `self` or the module of its class. The reference
/// is borrowed from `self`.
TYPEDCALL_HIDDEN PyObject *module_of(PyObject *self, freefunc free);
[[noreturn]] TYPEDCALL_COLD TYPEDCALL_HIDDEN void throw_not_executed();

#if !TYPEDCALL_INTERNAL_IS_DECLARED

inline bool is_freed_by(PyObject *module, freefunc free) {
  const PyModuleDef *const def = PyModule_GetDef(module);
  return def != nullptr && def->m_free == free;
}

/// Returns the module of the class if the module has this m_free, or null.
inline PyObject *maker_of(PyTypeObject *type, freefunc free) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return nullptr;
  PyObject *const module = reinterpret_cast<PyHeapTypeObject *>(type)->ht_module;
  return module != nullptr && is_freed_by(module, free) ? module : nullptr;
}

/// Calls maker_of() for the classes in the MRO of `type`, and returns the first result that is not
/// null, or null. `type` may be a subclass made in Python.
inline PyObject *maker_in_mro(PyTypeObject *type, freefunc free) {
  if (PyObject *const module = maker_of(type, free)) return module;
#ifdef PYPY_VERSION
  const object_ref mro = object_ref::borrow(type->tp_mro);
#else
  const object_ref mro = object_ref::steal(PyTC_Mro(type));
#endif
  if (!mro && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw std::bad_alloc();
  }
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro.get()); ++i) {
    auto *const base = reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(mro.get(), i));
    if (PyObject *const module = maker_of(base, free)) return module;
  }
  return nullptr;
}

[[noreturn]] TYPEDCALL_RARE inline void throw_no_state(PyObject *object) {
  char text[300];
  const char *const name = object != nullptr ? Py_TYPE(object)->tp_name : "";
  if (object == nullptr) {
    // PyType_GetModule() may have set this exception.
    if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
    PyOS_snprintf(text, sizeof(text),
                  "typedcall::state_of: NULL instead of an object; a function or method passes its "
                  "own self, which leads to the module of a subclass, too");
  } else if (PyModule_Check(object)) {
    PyOS_snprintf(
        text, sizeof(text),
        "typedcall::state_of: this module has another state, or none: name the class that "
        "is in its TYPEDCALL_MODULE_STATE");
  } else {
    PyOS_snprintf(text, sizeof(text),
                  "typedcall::state_of: a '%.100s' object leads to no module with this state: make "
                  "its class by PyType_FromModuleAndSpec(module, ...)",
                  name);
  }
  throw wrong_object(text);
}

TYPEDCALL_OUT_OF_LINE TYPEDCALL_INTERNAL_DEFINE PyObject *module_of(PyObject *self, freefunc free) {
  PyObject *module = nullptr;
  if (self != nullptr && PyType_Check(self)) {  // the self of a class method
    module = maker_in_mro(reinterpret_cast<PyTypeObject *>(self), free);
  } else if (self != nullptr && PyModule_Check(self) && is_freed_by(self, free)) {
    module = self;
  }
  if (module == nullptr && self != nullptr) module = maker_in_mro(Py_TYPE(self), free);
  if (module == nullptr) throw_no_state(self);
  return module;
}

[[noreturn]] TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void throw_not_executed() {
  throw std::runtime_error("the module has not been executed");
}

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

/// The module state in CPython. All bytes are zero until the module is executed.
template <class State>
class TYPEDCALL_HIDDEN module_memory {
 public:
  /// Returns null if the module has not been executed. Python code can create such a module.
  static State *state_of(PyObject *module) { return state_in(PyModule_GetState(module)); }

  TYPEDCALL_COLD TYPEDCALL_NULL_REFERENCES static int exec(PyObject *module) {
    return translated([] { return executing; },
                      [module] {
                        auto *const memory =
                            static_cast<module_memory *>(PyModule_GetState(module));
                        memory->translation_ = executing;
                        State *const state = new (memory->bytes_) State();
                        memory->is_made_ = true;
                        return state->exec(module);
                      },
                      [] { return -1; });
  }

  // `const`, because the garbage collector traverses several times and must find the same
  // references each time.
  static_assert(noexcept(std::declval<const State &>().traverse(visitproc(), nullptr)),
                "typedcall: CPython's garbage collector calls a module state's traverse(); declare "
                "it noexcept, because it must not throw");

  static int traverse(PyObject *module, visitproc visit, void *arg) noexcept {
#if PY_VERSION_HEX >= 0x030F0000
    const State *const state = state_in(PyModule_GetState_DuringGC(module));
#else
    const State *const state = state_of(module);
#endif
    return state != nullptr ? state->traverse(visit, arg) : 0;
  }

  /// The garbage collector passes an exception to sys.unraisablehook.
  TYPEDCALL_COLD TYPEDCALL_NULL_REFERENCES static int clear(PyObject *module) {
    return translated(
        [module] { return static_cast<module_memory *>(PyModule_GetState(module))->translation_; },
        [module] {
          State *const state = state_of(module);
          if (state != nullptr) state->clear();
          return 0;
        },
        [] { return -1; });
  }

  static void free(void *module) {
    State *const state = state_of(static_cast<PyObject *>(module));
    if (state != nullptr) state->~State();
  }

 private:
  static State *state_in(void *bytes) {
    auto *const memory = static_cast<module_memory *>(bytes);
    return memory != nullptr && memory->is_made_
               ? std::launder(reinterpret_cast<State *>(memory->bytes_))
               : nullptr;
  }

  static_assert(alignof(State) <= alignof(std::max_align_t),
                "CPython does not align a module's memory more strictly");
  alignas(State) unsigned char bytes_[sizeof(State)];
  bool is_made_;
  const translation *translation_;
};

/// The same state, for a module whose functions may run in several threads at once.
template <class State>
struct without_gil_too : State {
  static constexpr bool runs_without_gil = true;
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#if PY_VERSION_HEX >= 0x030C0000
#define TYPEDCALL_INTERNAL_INTERPRETERS(State)                              \
  {Py_mod_multiple_interpreters, (State::supports_interpreters)             \
                                     ? Py_MOD_PER_INTERPRETER_GIL_SUPPORTED \
                                     : Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define TYPEDCALL_INTERNAL_INTERPRETERS(State)
#endif
#ifdef Py_GIL_DISABLED
#define TYPEDCALL_INTERNAL_GIL(State) \
  {Py_mod_gil, (State::runs_without_gil) ? Py_MOD_GIL_NOT_USED : Py_MOD_GIL_USED},
#else
#define TYPEDCALL_INTERNAL_GIL(State)
#endif
#ifdef PYPY_VERSION  // PyPy has no Py_mod_gil; typedcall.accelerate() reads the constant
#define TYPEDCALL_INTERNAL_SAY_EFFECTS(module, State)                               \
  ((State::runs_without_gil)                                                        \
       ? PyModule_AddStringConstant(module, "__typedcall_effects__", "thread_safe") \
       : 0)
#else
#define TYPEDCALL_INTERNAL_SAY_EFFECTS(module, State) 0
#endif

#define TYPEDCALL_INTERNAL_MODULE(name, doc, methods, State, size, exec, ...)                \
  static typedcall::internal::module_translation name##_translation(                         \
      &typedcall::internal::translation_of_file<typedcall::internal::this_file>);            \
  TYPEDCALL_COLD static int name##_exec(PyObject *module) {                                  \
    const typedcall::internal::while_executing now(&name##_translation);                     \
    if ((methods).tag(module) < 0) return -1;                                                \
    return TYPEDCALL_INTERNAL_SAY_EFFECTS(module, State) < 0 ? -1 : (exec)(module);          \
  }                                                                                          \
  static PyModuleDef_Slot name##_slots[] = {                                                 \
      {Py_mod_exec, reinterpret_cast<void *>(name##_exec)},                                  \
      TYPEDCALL_INTERNAL_INTERPRETERS(State) TYPEDCALL_INTERNAL_GIL(State){0, nullptr},      \
  };                                                                                         \
  static PyModuleDef name##_module = {PyModuleDef_HEAD_INIT, #name,        doc,        size, \
                                      (methods).defs(),      name##_slots, __VA_ARGS__};     \
  PyMODINIT_FUNC PyInit_##name() { return PyModuleDef_Init(&name##_module); }                \
  static_assert(std::is_same_v<decltype(State::runs_without_gil), const bool> &&             \
                    std::is_same_v<decltype(State::supports_interpreters), const bool>,      \
                "typedcall: a state's runs_without_gil and supports_interpreters must be "   \
                "static constexpr bools")

#define TYPEDCALL_INTERNAL_STATELESS(name, doc, methods, State) \
  TYPEDCALL_INTERNAL_MODULE(                                    \
      name, doc, methods, State, 0, [](PyObject *) { return 0; }, nullptr, nullptr, nullptr)

#endif  // TYPEDCALL_PROVIDER_MODULE_H_
