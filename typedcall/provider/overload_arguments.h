// Ranks and converts one argument of a call to an overloaded function.
#ifndef TYPEDCALL_PROVIDER_OVERLOAD_ARGUMENTS_H_
#define TYPEDCALL_PROVIDER_OVERLOAD_ARGUMENTS_H_

#include "typedcall/base/namespace.h"
#include "typedcall/provider/wrapper.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// The outcome of converting one argument.
enum class outcome {
  converted,
  out_of_range,  ///< an int is out of range; no exception is set
  raised         ///< a method raised, or a str has unsuitable contents; an exception is set
};

inline outcome out_of_range() {
  PyErr_Clear();
  return outcome::out_of_range;
}

// Repeats the steps of PyFloat_AsDouble, because an OverflowError from that function could also
// come from __float__.
TYPEDCALL_OUT_OF_LINE inline outcome overloaded_double(PyObject *object, double *value) {
  PyTypeObject *type = Py_TYPE(object);
  if (PyLong_CheckExact(object) || PyFloat_Check(object) ||
      (PyLong_Check(object) && float_method(type) == float_method(&PyLong_Type))) {
    return double_from_object(object, value) ? outcome::converted : out_of_range();
  }
  if (float_method(type) != nullptr) {
    return double_from_object(object, value) ? outcome::converted : outcome::raised;
  }
  const object_ref integer = object_ref::steal(PyNumber_Index(object));
  if (!integer) return outcome::raised;
  *value = PyLong_AsDouble(integer.get());
  return is_minus_one(*value) && PyErr_Occurred() ? out_of_range() : outcome::converted;
}

template <class T>
outcome convert_overloaded(PyObject *object, argument<T> *to) {
  if constexpr (is_integer_type<T>) {
    if (PyLong_Check(object)) return to->convert(object) ? outcome::converted : out_of_range();
    const object_ref integer = object_ref::steal(PyNumber_Index(object));
    if (!integer) {
      const int truth = truth_without_index(object);
      if (truth < 0) return outcome::raised;
      to->set(static_cast<T>(truth));
      return outcome::converted;
    }
    return to->convert(integer.get()) ? outcome::converted : out_of_range();
  } else if constexpr (is_floating_type<T>) {
    if (PyFloat_CheckExact(object)) {
      to->set(static_cast<T>(PyFloat_AS_DOUBLE(object)));
      return outcome::converted;
    }
    double wide;
    const outcome done = overloaded_double(object, &wide);
    if (done == outcome::converted) to->set(static_cast<T>(wide));
    return done;
  } else if constexpr (is_complex_type<T>) {
    const int is_complex = PyComplex_Check(object) ? 1 : has_complex_method(Py_TYPE(object));
    if (is_complex < 0) return outcome::raised;
    if (is_complex > 0) {
      return to->convert(object) ? outcome::converted : outcome::raised;
    }
    double wide;
    const outcome done = overloaded_double(object, &wide);
    if (done == outcome::converted) {
      T parts{};
      using part = std::remove_reference_t<decltype(PyNativeType_REAL(parts))>;
      PyNativeType_REAL(parts) = static_cast<part>(wide);
      to->set(parts);
    }
    return done;
  } else {
    return to->convert(object) ? outcome::converted : outcome::raised;
  }
}

/// Used for calls that pass all arguments.
struct no_defaults {
  static PyNativeArgumentKind kind(PyObject *object) { return kind_of(object); }
  template <class T>
  static unsigned char rank(PyObject *object, PyNativeArgumentKind kind) {
    return conversion_rank_of<T>(object, kind);
  }
  template <class Native, std::size_t At, class Argument>
  static outcome convert(PyObject *object, Argument *to) {
    return convert_overloaded(object, to);
  }
};

/// Used for calls in which NULL represents an omitted argument.
template <class... Parameters>
struct shared_defaults {
  static PyNativeArgumentKind kind(PyObject *object) {
    return object == nullptr ? PyNativeArgumentKind_DEFAULT : kind_of(object);
  }
  template <class T>
  static unsigned char rank(PyObject *object, PyNativeArgumentKind kind) {
    return object == nullptr ? +PyNativeRank_EXACT : conversion_rank_of<T>(object, kind);
  }
  template <class Native, std::size_t At, class Argument>
  static outcome convert(PyObject *object, Argument *to) {
    if (object != nullptr) return convert_overloaded(object, to);
    to->set(std::get<At>(named_function<Native, Parameters...>::defaults));
    return outcome::converted;
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_OVERLOAD_ARGUMENTS_H_
