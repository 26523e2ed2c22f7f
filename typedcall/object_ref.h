// An owned reference to a Python object, so that nobody forgets to give one back.
// Made only by steal() and borrow(), which say where the reference comes from.
#ifndef TYPEDCALL_OBJECT_REF_H_
#define TYPEDCALL_OBJECT_REF_H_

#include <Python.h>

#include <cassert>
#include <utility>

namespace typedcall {

/// GIL: held wherever a non-empty one is copied, assigned or destroyed. CPython before 3.14 unwinds
/// the stack of a thread that asks for the GIL when the interpreter has ended, and destroys what
/// stands there without the GIL: code of one's own that lets the GIL go (PyEval_SaveThread) and
/// takes it back keeps such references off that stack. Loops and wrappers stop instead of being
/// unwound: typedcall/gil.h.
class object_ref {
 public:
  object_ref() = default;
  object_ref(const object_ref &other) : object_(other.object_) { Py_XINCREF(object_); }
  object_ref(object_ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  object_ref &operator=(object_ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~object_ref() {
    assert(object_ == nullptr || PyGILState_Check());
    Py_XDECREF(object_);
  }

  /// Takes over a new reference; NULL is allowed.
  static object_ref steal(PyObject *object) { return object_ref(object); }
  /// Adds a reference of its own; NULL is allowed.
  static object_ref borrow(PyObject *object) {
    Py_XINCREF(object);
    return object_ref(object);
  }

  PyObject *get() const { return object_; }
  PyObject *release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit object_ref(PyObject *object) : object_(object) {}
  PyObject *object_ = nullptr;
};

}  // namespace typedcall

#endif  // TYPEDCALL_OBJECT_REF_H_
