// One argument of a generated wrapper: the value for the C function and everything that must live
// until the call returns. Also ranks objects for overloads.
#ifndef TYPEDCALL_CONVERT_ARGUMENT_H_
#define TYPEDCALL_CONVERT_ARGUMENT_H_

#include "typedcall/base/namespace.h"
#include "typedcall/convert/buffer.h"
#include "typedcall/convert/convert.h"
#include "typedcall/convert/kind_of.h"
#include "typedcall/native_callable.h"
#include "typedcall/overload_choice.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// The rank of an object whose code raised an exception. All other ranks are a PyNativeRank.
constexpr unsigned char rank_raised = PyNativeRank_NONE + 1;

namespace internal {

template <class T, class = void>
struct argument {
  T value;

  /// On failure, returns false with an exception set. `object` must outlive the argument.
  TYPEDCALL_IN_LINE bool convert(PyObject *object) { return from_python(object, &value); }
  void set(T ready) { value = ready; }
};

/// Holds the UTF-8 of a str. The text belongs to the str.
template <>
struct argument<const char *> {
  const char *value;

  bool convert(PyObject *object) {
    if (!PyUnicode_Check(object)) {
      PyErr_Format(PyExc_TypeError, "a str is needed, not '%.100s'", Py_TYPE(object)->tp_name);
      return false;
    }
    Py_ssize_t length;
    value = PyUnicode_AsUTF8AndSize(object, &length);
    if (value == nullptr) return false;
    if (std::strlen(value) == static_cast<std::size_t>(length)) return true;
    PyErr_SetString(PyExc_ValueError, "embedded null character");
    return false;
  }
  void set(const char *ready) { value = ready; }
};

/// A buffer that an object exports, or none if `view.obj` is NULL. The destructor releases the
/// buffer.
struct held_buffer {
  Py_buffer view;

  held_buffer() { view.obj = nullptr; }
  held_buffer(const held_buffer &) = delete;
  held_buffer &operator=(const held_buffer &) = delete;
  ~held_buffer() {
    if (view.obj != nullptr) give_back_buffer(&view);
  }
};

template <class T>
struct argument<T, std::enable_if_t<has_pointer_code<T> && !std::is_same_v<T, const char *>>> {
  T value;

  bool convert(PyObject *object) {
    void *pointer;
    if (!pointer_from_python(object, wanted_pointer<T>(), &pointer, &held_.view)) return false;
    value = static_cast<T>(pointer);
    return true;
  }
  void set(T ready) { value = ready; }

 private:
  held_buffer held_;
};

/// Holds the elements that an object exports. The elements stay valid until the argument is
/// destroyed.
template <class Element>
struct argument<span<Element>, void> {
  span<Element> value;

  bool convert(PyObject *object) {
    void *data;
    std::size_t count;
    if constexpr (std::is_same_v<Element, const unsigned char>) {
      // A bytes object is immutable, and the caller holds a reference.
      if (PyBytes_CheckExact(object)) {
        value = {reinterpret_cast<const unsigned char *>(PyBytes_AS_STRING(object)),
                 static_cast<std::size_t>(PyBytes_GET_SIZE(object))};
        return true;
      }
    }
    if (!buffer_from_python(object, buffer_type<Element>(), &data, &count, &held_.view)) {
      return false;
    }
    value = {static_cast<Element *>(data), count};
    return true;
  }
  void set(span<Element> ready) { value = ready; }

 private:
  held_buffer held_;
};

template <>
struct argument<span<const char>, void> {
  span<const char> value;

  bool convert(PyObject *object) { return text_from_python(object, &value); }
  void set(span<const char> ready) { value = ready; }
};

/// True if a Python caller can pass a value of type T (python_can_pass) or receive one
/// (python_can_get).
template <class T>
constexpr bool python_can_pass =
    is_convertible_type<T> || has_pointer_code<T> || has_buffer_code<T>;
template <class T>
constexpr bool python_can_get = std::is_void_v<T> || is_convertible_type<T> || has_pointer_code<T>;

/// Returns 1 if the type has `__complex__`, 0 if not, or -1 with MemoryError set.
inline int has_complex_method(PyTypeObject *type) {
  const object_ref found =
      object_ref::steal(PyNativeCallable_Internal_Inherited(type, "__complex__"));
  return found ? 1 : PyErr_Occurred() != nullptr ? -1 : 0;
}

/// Call this after an object has failed to convert to a pointer or a buffer. Clears the exception
/// and returns true if the object is unsuitable. Returns false after any other error, which another
/// overload must not hide. An exporter that cannot export raises BufferError. Exporters in C
/// may also raise TypeError or ValueError. An exception has a traceback only if it comes from a
/// `__buffer__` method that is written in Python.
inline bool clear_pointer_refusal() {
  bool is_refusal = PyErr_ExceptionMatches(PyExc_BufferError) != 0;
  if (!is_refusal &&
      (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError))) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
#ifdef PYPY_VERSION
    is_refusal = true;  // no class has `__buffer__` on PyPy
#else
    is_refusal = traceback == nullptr;
#endif
    PyErr_Restore(type, value, traceback);
  }
  if (is_refusal) PyErr_Clear();
  return is_refusal;
}

/// True if an object must be converted to find out whether it suits a parameter of type T.
template <class T>
constexpr bool is_tried = is_buffer<T> ? !std::is_same_v<T, span<const char>>
                                       : std::is_pointer_v<T> && !std::is_same_v<T, const char *> &&
                                             !std::is_same_v<T, PyObject *>;

/// The rank of each kind of object for a parameter.
template <class T>
constexpr std::uint64_t ranks_of = PyNativeChoice_Row(native_type<T>());

}  // namespace internal

/// Returns the rank of `object` for a parameter of type T. `kind` must be
/// internal::kind_of(object). Sets an exception only if it returns rank_raised. Runs no Python
/// code, except for a `__buffer__` method that is written in Python, and the `__eq__` of a
/// namespace's key when it looks up `__complex__`. GIL: held.
template <class T>
unsigned char conversion_rank_of(PyObject *object, PyNativeArgumentKind kind) {
  if constexpr (internal::is_tried<T>) {
    internal::argument<T> trial;
    if (trial.convert(object)) {
      const bool is_exact = internal::is_buffer<T> || PyCapsule_CheckExact(object);
      return is_exact ? PyNativeRank_EXACT : PyNativeRank_SAFE;
    }
    return internal::clear_pointer_refusal() ? +PyNativeRank_NONE : +rank_raised;
  } else {
    if constexpr (is_complex_type<T>) {
      if (kind == PyNativeArgumentKind_OTHER) {
        const int has_complex = internal::has_complex_method(Py_TYPE(object));
        if (has_complex < 0) return rank_raised;
        if (has_complex > 0) kind = PyNativeArgumentKind_HAS_COMPLEX;
      }
    }
    (void)object;
    return static_cast<unsigned char>(PyNativeChoice_Rank(internal::ranks_of<T>, kind));
  }
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_ARGUMENT_H_
