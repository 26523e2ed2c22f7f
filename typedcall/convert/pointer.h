// Converts pointer arguments and results. In Python, a pointer is a buffer, a capsule or None. A
// void * can also be a ctypes pointer object. An int is never converted to an address.
#ifndef TYPEDCALL_CONVERT_POINTER_H_
#define TYPEDCALL_CONVERT_POINTER_H_

#include "typedcall/base/object_ref.h"
// Python.h, which object_ref.h includes, must come before all standard headers.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/convert/bools.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// True if items of this format and size have the type `type`, or a type of the same width and
/// class. A NULL format means "B". A "c" can be a signed or an unsigned char. Formats in the other
/// byte order do not match. Source: PEP 3118; the module `struct`.
inline bool is_buffer_of(PyNativeType type, const char *format, std::size_t size) {
  if (format == nullptr) format = "B";
  if (*format == '@' || *format == '=' || *format == '<' || *format == '^') {
    ++format;  // same as native on supported platforms
  }
  if (*format == '\0' || (format[1] != '\0' && format[2] != '\0')) return false;
  if (size != PyNativeType_Size(type)) return false;
  const PyNativeKind kind = PyNativeType_Kind(type);
  if (format[0] == 'c' && format[1] == '\0') {
    return kind == PyNativeKind_SIGNED || kind == PyNativeKind_UNSIGNED;
  }
  const int code = PyNativeCode_FromLetters(format[0], format[1]);
  return code > PyNativeType_VOID && PyNativeCode_Kind(code) == kind;
}

/// True for `void *`, `const char *`, and pointers to types that have a code.
template <class T>
constexpr bool has_pointer_code =
    std::is_pointer_v<T> && !std::is_volatile_v<std::remove_pointer_t<T>> &&
    (std::is_void_v<std::remove_pointer_t<T>> || std::is_same_v<T, const char *> ||
     (has_code<std::remove_cv_t<std::remove_pointer_t<T>>> && !std::is_same_v<T, PyObject *>));

/// The name of a capsule for a pointer, such as "&d" or "P". The prefix "const " means read-only
/// memory.
template <class T>
struct TYPEDCALL_HIDDEN pointer_name {
  static constexpr bool is_const = std::is_const_v<std::remove_pointer_t<T>>;

 private:
  struct storage {
    char text[sizeof("const &Zd")];
  };
  static constexpr storage print() {
    storage printed{};
    std::size_t at = 0;
    const PyNativeType type = native_type<T>();
    for (const char *from = is_const ? "const " : ""; *from != '\0'; ++from) {
      printed.text[at++] = *from;
    }
    if (type.pointer_flags) printed.text[at++] = '&';
    for (const char *from = PyNativeCode_Letters(type.code); *from != '\0'; ++from) {
      printed.text[at++] = *from;
    }
    return printed;
  }
  static constexpr storage printed = print();

 public:
  static constexpr const char *text = printed.text;
};

/// Returns a capsule, or None for NULL. `name` must live as long as the process. A constant in an
/// extension module is suitable.
inline PyObject *pointer_to_capsule(const volatile void *pointer, const char *name) {
  if (pointer == nullptr) Py_RETURN_NONE;
  return PyCapsule_New(const_cast<void *>(pointer), name, nullptr);
}

/// The pointer that a parameter needs.
struct pointer_wanted {
  PyNativeType type;  ///< {POINTER, 0} for void *
  bool is_const;      ///< true if read-only memory is accepted
  const char *name;   ///< pointer_name
};

template <class T>
constexpr pointer_wanted wanted_pointer() {
  const PyNativeType type = native_type<T>();
  return {type, pointer_name<T>::is_const, pointer_name<T>::text};
}

/// True if a pointer from a capsule with this name can be passed. A `void *` accepts every pointer.
/// A pointer to an integer accepts pointers to integers of the same width and signedness.
inline bool capsule_fits(const char *name, const pointer_wanted &wanted) {
  static constexpr char is_const[] = "const ";
  if (name == nullptr) return false;
  if (std::strncmp(name, is_const, sizeof(is_const) - 1) == 0) {
    if (!wanted.is_const) return false;
    name += sizeof(is_const) - 1;
  }
  if (std::strcmp(name, "P") == 0) return !wanted.type.pointer_flags;
  if (name[0] != '&' || name[1] == '\0' || (name[2] != '\0' && name[3] != '\0')) return false;
  const int code = PyNativeCode_FromLetters(name[1], name[2]);
  if (code <= PyNativeType_VOID) return false;
  return !wanted.type.pointer_flags ||
         PyNativeType_Equivalent({static_cast<unsigned char>(code), wanted.type.pointer_flags},
                                 wanted.type);
}

/// Corrects writable bools in place. Returns false with ValueError set if a read-only byte is not a
/// bool. This must be the last check of a buffer, because it may change the elements.
TYPEDCALL_OUT_OF_LINE inline bool items_are_bools(const Py_buffer &view, bool is_const) {
  const auto count = static_cast<std::size_t>(view.len);
  if (!is_const) {
    make_bools(view.buf, count);
    return true;
  }
  const std::size_t at = first_not_bool(view.buf, count);
  if (at == count) return true;
  PyErr_Format(PyExc_ValueError, "item %zu of the buffer is not a bool: its byte is %d", at,
               static_cast<int>(static_cast<const unsigned char *>(view.buf)[at]));
  return false;
}

inline bool items_fit(const Py_buffer &view, const pointer_wanted &wanted) {
  return wanted.type.code != PyNativeType_BOOL || items_are_bools(view, wanted.is_const);
}

/// Sets the TypeError for an object that is not a buffer, and names what to pass in its place.
TYPEDCALL_COLD inline void refuse_pointer(PyObject *object, const pointer_wanted &wanted,
                                          bool has_items) {
  const char *name = Py_TYPE(object)->tp_name, *code = PyNativeCode_Letters(wanted.type.code);
  const PyNativeKind kind = PyNativeCode_Kind(wanted.type.code);
  const bool is_int = kind == PyNativeKind_SIGNED || kind == PyNativeKind_UNSIGNED;
  char advice[100] = "";
  if (PyUnicode_Check(object)) {
    if (wanted.type.pointer_flags && is_int && PyNativeCode_Size(wanted.type.code) == 1) {
      PyOS_snprintf(advice, sizeof(advice), "; a str is passed for const char * only");
    }
  } else if (!has_items) {
    // Only a capsule has such a pointer.
  } else if (std::strcmp(name, "CArgObject") == 0 || std::strcmp(name, "_ctypes.CArgObject") == 0) {
    PyOS_snprintf(advice, sizeof(advice), "; pass the object itself, without byref()");
  } else if (std::strncmp(name, "_cffi_backend", 13) == 0) {
    PyOS_snprintf(advice, sizeof(advice),
                  wanted.type.pointer_flags
                      ? "; pass memoryview(ffi.buffer(pointer, size)).cast('%s')"
                      : "; pass ffi.buffer(pointer, size)",
                  code);
  } else if (PyLong_Check(object)) {
    PyOS_snprintf(advice, sizeof(advice), "; for an address, pass ctypes.%s(address)",
                  wanted.type.pointer_flags ? "TYPE.from_address" : "c_void_p");
  }
  PyErr_Format(PyExc_TypeError, "%sa capsule named '%s' or None is needed, not '%.100s'%s",
               has_items ? "a buffer, " : "", wanted.name, name, advice);
}

inline bool buffer_fits(const Py_buffer &view, const pointer_wanted &wanted) {
  const PyNativeType item = {wanted.type.code, 0};
  if (wanted.type.pointer_flags &&
      !is_buffer_of(item, view.format, static_cast<std::size_t>(view.itemsize))) {
    const char *format = view.format != nullptr ? view.format : "B";
    PyErr_Format(PyExc_TypeError, "a buffer of '%s' items is needed, not of '%.50s' (%zd bytes)%s",
                 PyNativeCode_Letters(wanted.type.code), format, view.itemsize,
                 *format == '&' ? "; pass its .contents" : "");
    return false;
  }
#ifdef PYPY_VERSION
  // PyPy exports non-contiguous memory even if contiguous memory was requested.
  if (!PyBuffer_IsContiguous(const_cast<Py_buffer *>(&view), 'C')) {
    PyErr_SetString(PyExc_BufferError, "the buffer is not contiguous");
    return false;
  }
#endif
  const std::size_t alignment =
      wanted.type.pointer_flags ? PyNativeCode_Alignment(wanted.type.code) : 1;
  // The address of an empty array.array may be unaligned.
  if (view.len != 0 && reinterpret_cast<std::uintptr_t>(view.buf) % alignment != 0) {
    PyErr_Format(PyExc_ValueError, "the buffer's items are not aligned to %zu bytes", alignment);
    return false;
  }
  return true;
}

/// True for the memory of a ctypes pointer object, such as c_void_p or POINTER(...). An array of
/// pointers is treated as ordinary memory. Source: ctypes, `stgdict->format`.
inline bool is_pointer_object(const Py_buffer &view) {
  const char *format = view.format;
  if (view.ndim != 0 || format == nullptr || view.itemsize != sizeof(void *)) return false;
  if (*format == '&' || std::strncmp(format, "X{", 2) == 0) return true;
  if (std::strcmp(format, "<O") == 0) return true;  // NumPy's format for objects has no "<"
  if (*format == '<') ++format;
  return (*format == 'P' || *format == 'z' || *format == 'Z') && format[1] == '\0';
}

/// True if a pointer object may point to the read-only data of a bytes or str.
inline bool points_to_text(const char *format) {
  return *format != '&' && std::strpbrk(format, "zZ") != nullptr;
}

/// Gets the pointer that `object` represents. If `view->obj` is not NULL afterwards, the caller
/// must release the buffer. On failure, returns false with an exception set. Raises TypeError if
/// the object does not provide the wanted pointer. Raises ValueError if the memory is not aligned.
/// Raises BufferError if the memory is not contiguous, or is read-only but must be writable. GIL:
/// held.
TYPEDCALL_OUT_OF_LINE inline bool pointer_from_python(PyObject *object,
                                                      const pointer_wanted &wanted, void **pointer,
                                                      Py_buffer *view) {
  view->obj = nullptr;
  *pointer = nullptr;
  if (object == Py_None) return true;
  if (PyCapsule_CheckExact(object)) {
    const char *name = PyCapsule_GetName(object);
    if (capsule_fits(name, wanted)) {
      *pointer = PyCapsule_GetPointer(object, name);
      return *pointer != nullptr;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "a capsule named '%s' is needed, not '%.100s'", wanted.name,
                 name != nullptr ? name : "");
    return false;
  }
  const PyNativeKind kind = PyNativeCode_Kind(wanted.type.code);
  const bool has_items =
      !wanted.type.pointer_flags ||
      (kind != PyNativeKind_OBJECT && kind != PyNativeKind_STRING && kind != PyNativeKind_POINTER);
  if (!has_items || !PyObject_CheckBuffer(object)) {
    refuse_pointer(object, wanted, has_items);
    return false;
  }
  const int writable = wanted.is_const ? 0 : PyBUF_WRITABLE;
  if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | writable) < 0) {
    view->obj = nullptr;
    return false;
  }
  if (!buffer_fits(*view, wanted) || !items_fit(*view, wanted)) {
    PyBuffer_Release(view);
    return false;
  }
  *pointer = view->buf;
  // Like ctypes, passes the value of a pointer object. A memoryview of a pointer object passes the
  // object's memory.
  if (!wanted.type.pointer_flags && is_pointer_object(*view) && !PyMemoryView_Check(object)) {
    if (!wanted.is_const && points_to_text(view->format)) {
      PyErr_Format(PyExc_TypeError,
                   "'%.100s' points to a constant, but the function may write to this argument",
                   Py_TYPE(object)->tp_name);
      PyBuffer_Release(view);
      return false;
    }
    std::memcpy(pointer, view->buf, sizeof(*pointer));
  }
  return true;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_POINTER_H_
