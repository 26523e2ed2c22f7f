// A module of today, with the Python package's way of tagging as well.
#include "core/extensible_type.h"
#include "core/foreign_slots.h"
#include "typedcall/call_site.h"
#include "typedcall/python/typedcall/_native_tag.h"

// tag_kept(callable, rows, keep_alive) -> taken?
static PyObject *TagKept(PyObject *module, PyObject *args);

#ifndef MEMBER
#define MEMBER member_today
#define MEMBER_TIMES 12
#endif
#define MEMBER_METHODS \
  { "tag_kept", TagKept, METH_VARARGS, nullptr }
#include "tests/old_interfaces/member.h"

static PyObject *TagKept(PyObject *module, PyObject *args) {
  PyObject *callable, *rows, *keep_alive;
  if (!PyArg_ParseTuple(args, "OOO", &callable, &rows, &keep_alive)) return nullptr;
  const int taken =
      typedcall::python::tag_callable(StateOf(module)->interface, callable, rows, keep_alive);
  return taken < 0 ? nullptr : PyBool_FromLong(taken);
}
