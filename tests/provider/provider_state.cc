// A module whose state holds a reference. Live states are counted.
#include <stdexcept>

#include "typedcall/provider.h"

namespace {

long living = 0;
// The failure: 1 constructor throws, 2 exec() throws, 3 exec() returns an error, 4 clear() throws.
int failing = 0;

struct counting_state : typedcall::module_state {
  typedcall::object_ref kept;
  long calls = 0;

  counting_state() {
    if (failing == 1) throw std::overflow_error("in the constructor");
    ++living;
  }
  ~counting_state() { --living; }

  int exec(PyObject *module) {
    if (failing == 2) throw std::invalid_argument("in exec()");
    if (failing == 3) {
      PyErr_SetString(PyExc_KeyError, "from exec()");
      return -1;
    }
    kept = typedcall::object_ref::steal(PyList_New(0));
    return kept ? PyModule_AddIntConstant(module, "ANSWER", 42) : -1;
  }
  int traverse(visitproc visit, void *arg) const noexcept {
    Py_VISIT(kept.get());
    return 0;
  }
  void clear() {
    kept.reset();
    if (failing == 4) throw std::out_of_range("in clear()");
  }
};

long count(PyObject *module) { return ++typedcall::state_of<counting_state>(module).calls; }
PyObject *kept(PyObject *module) {
  PyObject *list = typedcall::state_of<counting_state>(module).kept.get();
  if (list == nullptr) list = Py_None;  // the collector has cleared the list
  Py_INCREF(list);
  return list;
}
// Clears the module as the garbage collector does.
void clear(PyObject *module) {
  Py_TYPE(module)->tp_clear(module);
  if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(module);
}
long states() noexcept { return living; }
void fail(long how) noexcept { failing = static_cast<int>(how); }

typedcall::method_table methods{
    typedcall::def<count>("count", typedcall::takes_self),
    typedcall::def<kept>("kept", typedcall::takes_self),
    typedcall::def<clear>("clear", typedcall::takes_self),
    typedcall::def<states>("states"),
    typedcall::def<fail>("fail"),
};

}  // namespace

TYPEDCALL_MODULE_STATE(provider_state, "A module with a state.", methods, counting_state);
