// A smart pointer that owns a reference to a Python object.
#ifndef TYPEDCALL_BASE_OBJECT_REF_H_
#define TYPEDCALL_BASE_OBJECT_REF_H_

#include <Python.h>

#include <utility>

#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// GIL: held to copy, assign or destroy a non-empty reference. Before 3.14, a reference is not
/// released if CPython unwinds the stack at the end of the interpreter (see gil.h). If the
/// interpreter ends while the destructor runs a `__del__`, the thread stops there.
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
    if (object_ != nullptr) internal::give_back_reference(object_);
  }

  /// Takes ownership of a new reference. `object` may be NULL.
  static object_ref steal(PyObject *object) { return object_ref(object); }
  /// Makes a new reference to `object`, which may be NULL.
  static object_ref borrow(PyObject *object) {
    Py_XINCREF(object);
    return object_ref(object);
  }

  PyObject *get() const { return object_; }
  PyObject *release() { return std::exchange(object_, nullptr); }
  /// Releases the reference. Unlike the destructor, does not check whether the GIL is held.
  void reset() { Py_XDECREF(release()); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit object_ref(PyObject *object) : object_(object) {}
  PyObject *object_ = nullptr;
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_OBJECT_REF_H_
