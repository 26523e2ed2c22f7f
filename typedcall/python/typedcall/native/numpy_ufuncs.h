// Finds the scalar C functions that NumPy's generic loops call. Needs no NumPy headers, because
// NumPy's capsules contain its tables of C functions, whose order is fixed.
#ifndef TYPEDCALL_PYTHON_NATIVE_NUMPY_UFUNCS_H_
#define TYPEDCALL_PYTHON_NATIVE_NUMPY_UFUNCS_H_

#include "typedcall/base/object_ref.h"
// After Python.h.
#include <cstdint>

namespace typedcall::python {

using inner_loop = void (*)(char **, const std::intptr_t *, const std::intptr_t *, void *);

/// The first fields of NumPy's PyArray_Descr and PyArrayObject, which are the same in NumPy 1
/// and 2.
struct descriptor_fields {
  PyObject_HEAD
  PyTypeObject *scalar_type;
  char kind, letter, byte_order, old_flags;
  int type_num;
};
struct array_fields {
  PyObject_HEAD
  char *data;
  int dimension_count;
  std::intptr_t *dimensions, *strides;
  PyObject *base;
  descriptor_fields *descriptor;
  int flags;
};
/// The flags of an array that NumPy 2 made from an int, float or complex number of Python.
inline constexpr int kWasPython = 7 << 28;
/// The largest type number of a number, but for the one of float16.
inline constexpr int kLastNumber = 16, kFloat16 = 23;

struct ufunc_fields;
/// Returns 0 and new references to the descriptors of a loop for these arrays, or -1 with an
/// exception set. `types` is a tuple of the types that the caller wants, or null.
using type_resolver = int (*)(ufunc_fields *, int casting, array_fields **, PyObject *types,
                              descriptor_fields **);

/// The first fields of NumPy's PyUFuncObject, which are the same in NumPy 1 and 2. The last four
/// pointers before op_flags have had other names.
struct ufunc_fields {
  PyObject_HEAD
  int nin, nout, nargs, identity;
  const inner_loop *functions;
  void *const *data;
  int ntypes, reserved;
  const char *name;
  const char *types;
  const char *doc;
  void *ptr;
  PyObject *obj, *userloops;
  int core_enabled, core_num_dim_ix;
  int *core_num_dims, *core_dim_ixs, *core_offsets;
  const char *core_signature;
  type_resolver resolver;
  void *loop_selector, *vectorcall, *mask_selector;
  std::uint32_t *op_flags;  // for each array; 0 means NumPy's default
};

// Indices into NumPy's table of ufunc functions, from numpy/core/code_generators/numpy_api.py. The
// loops for complex numbers are left out, because their functions' results differ from the ufunc's.
inline constexpr int kUFuncType = 0, kFromFuncAndDataAndSignature = 31;
inline constexpr struct {
  int index;
  const char *signature;  // the type of the function that the loop calls
} kGenericLoops[] = {
    {5, "d->d"}, {6, "f->f"}, {7, "g->g"}, {14, "ff->f"}, {15, "dd->d"}, {16, "gg->g"},
};

// NumPy's iterator flags for an output, without OVERLAP_ASSUME_ELEMENTWISE: if the
// output overlaps an input, NumPy lets the loop write to a copy, even if both are the same array.
// These are the flags of matmul.
inline constexpr std::uint32_t kCopiedIfOverlapping = 0x00040000     // WRITEONLY
                                                      | 0x00100000   // ALIGNED
                                                      | 0x00800000   // UPDATEIFCOPY
                                                      | 0x01000000   // ALLOCATE
                                                      | 0x02000000   // NO_SUBTYPE
                                                      | 0x08000000;  // NO_BROADCAST

// Indices into NumPy's table of array functions, from the same file.
inline constexpr int kGetVersion = 0, kArrayType = 2, kDescrFromType = 45;
// The results of the function at kGetVersion in NumPy 1 (from 1.7 on) and in NumPy 2.
inline constexpr unsigned kKnownVersions[] = {0x01000009, 0x02000000};

/// Returns the table in NumPy's capsule with this name. The table lives as long as NumPy. Returns
/// null with an exception set if the element at `index` is not `type`, because another capsule may
/// have replaced NumPy's.
inline void **checked_table(PyObject *numpy, const char *name, int index, const void *type) {
  const object_ref capsule = object_ref::steal(PyObject_GetAttrString(numpy, name));
  // NumPy's capsules have no names.
  auto *const table =
      static_cast<void **>(capsule ? PyCapsule_GetPointer(capsule.get(), nullptr) : nullptr);
  if (table == nullptr || table[index] == type) return table;
  PyErr_Format(PyExc_ValueError, "the capsule %s is not NumPy's", name);
  return nullptr;
}

/// Returns NumPy's extension module if it has been imported. Otherwise returns null with an
/// exception set.
inline object_ref imported_numpy() {
  for (const char *name : {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"}) {
    const object_ref text = object_ref::steal(PyUnicode_FromString(name));
    if (!text) return {};
    object_ref module = object_ref::steal(PyImport_GetModule(text.get()));
    if (module || PyErr_Occurred() != nullptr) return module;
  }
  PyErr_SetString(PyExc_ImportError, "NumPy has not been imported");
  return {};
}

/// Returns NumPy's table of ufunc functions, or null with an exception set. Makes the same checks
/// as import_umath and import_array, and also checks that the capsules are NumPy's. Stores the
/// table of array functions if `array_table` is not null.
inline void **ufunc_table(void ***array_table = nullptr) {
  const object_ref numpy = imported_numpy();
  if (!numpy) return nullptr;
  const object_ref array_type = object_ref::steal(PyObject_GetAttrString(numpy.get(), "ndarray"));
  const object_ref any_ufunc =
      object_ref::steal(array_type ? PyObject_GetAttrString(numpy.get(), "add") : nullptr);
  if (!any_ufunc) return nullptr;
  void **const arrays = checked_table(numpy.get(), "_ARRAY_API", kArrayType, array_type.get());
  if (arrays == nullptr) return nullptr;
  if (array_table != nullptr) *array_table = arrays;
  const unsigned version = reinterpret_cast<unsigned (*)()>(arrays[kGetVersion])();
  for (const unsigned known : kKnownVersions) {
    if (version == known) {
      return checked_table(numpy.get(), "_UFUNC_API", kUFuncType, Py_TYPE(any_ufunc.get()));
    }
  }
  PyErr_Format(PyExc_ImportError, "typedcall does not know NumPy's C ABI 0x%x", version);
  return nullptr;
}

/// Returns a list of (signature, address) for all C functions that the generic loops of `ufunc`
/// call, or null with an exception set.
inline PyObject *scalar_functions(PyObject *ufunc) {
  void **const table = ufunc_table();
  if (table == nullptr) return nullptr;
  if (!PyObject_TypeCheck(ufunc, static_cast<PyTypeObject *>(table[kUFuncType]))) {
    PyErr_SetString(PyExc_TypeError, "not a ufunc");
    return nullptr;
  }
  const auto *const fields = reinterpret_cast<ufunc_fields *>(ufunc);
  object_ref found = object_ref::steal(PyList_New(0));
  for (int i = 0; found && fields->data != nullptr && i < fields->ntypes; ++i) {
    for (const auto &generic : kGenericLoops) {
      if (reinterpret_cast<void *>(fields->functions[i]) != table[generic.index]) continue;
      if (fields->data[i] == nullptr) continue;
      const object_ref row = object_ref::steal(
          Py_BuildValue("sN", generic.signature, PyLong_FromVoidPtr(fields->data[i])));
      if (!row || PyList_Append(found.get(), row.get()) < 0) return nullptr;
    }
  }
  return found.release();
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_NUMPY_UFUNCS_H_
