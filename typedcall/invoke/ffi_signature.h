// Calls through libffi, for signatures that are known only at run time. Link with -lffi.
#ifndef TYPEDCALL_INVOKE_FFI_SIGNATURE_H_
#define TYPEDCALL_INVOKE_FFI_SIGNATURE_H_

#include <ffi.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/native_callable.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Returns the libffi type for an integer of `size` bytes.
inline ffi_type *ffi_integer(std::size_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2:
      return is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4:
      return is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    default:
      return is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
  }
}

template <class Real>
struct ffi_real;
template <>
struct ffi_real<float> {
  static ffi_type *alone() { return &ffi_type_float; }
  static ffi_type *paired() { return &ffi_type_complex_float; }
};
template <>
struct ffi_real<double> {
  static ffi_type *alone() { return &ffi_type_double; }
  static ffi_type *paired() { return &ffi_type_complex_double; }
};
template <>
struct ffi_real<long double> {
  static ffi_type *alone() { return &ffi_type_longdouble; }
  static ffi_type *paired() { return &ffi_type_complex_longdouble; }
};

/// Returns the libffi type for a type. Every type code has one.
inline ffi_type *ffi_type_of(PyNativeType type) {
  const std::size_t size = PyNativeType_Size(type);
  switch (PyNativeType_Passing(type)) {
    case PyNativePassing_VOID:
      return &ffi_type_void;
    case PyNativePassing_UNSIGNED:
      return ffi_integer(size, false);
    case PyNativePassing_SIGNED:
      return ffi_integer(size, true);
    case PyNativePassing_FLOATING:
      return with_real_type(type.code, [](auto real) { return ffi_real<decltype(real)>::alone(); });
    case PyNativePassing_COMPLEX:
      return with_real_type(type.code,
                            [](auto real) { return ffi_real<decltype(real)>::paired(); });
    case PyNativePassing_ADDRESS:
      return &ffi_type_pointer;
  }
  return &ffi_type_void;
}

/// A libffi call interface. Must not be moved, because `cif` points to `types`.
struct ffi_interface {
  ffi_cif cif{};
  std::vector<ffi_type *> types;

  ffi_interface() = default;
  ffi_interface(const ffi_interface &) = delete;
  ffi_interface &operator=(const ffi_interface &) = delete;

  /// Returns false if libffi rejects the signature.
  bool prepare(const PyNativeSignature &signature, bool takes_self) {
    if (takes_self) types.push_back(&ffi_type_pointer);
    for (int i = 0; i < signature.nargs; ++i) {
      types.push_back(ffi_type_of(signature.args[i]));
      if (PyNativeType_IsBuffer(signature.args[i])) {
        types.push_back(ffi_integer(sizeof(Py_ssize_t), true));
      }
    }
    return ffi_prep_cif(&cif, FFI_DEFAULT_ABI, static_cast<unsigned>(types.size()),
                        ffi_type_of(signature.result), types.data()) == FFI_OK;
  }
};

}  // namespace internal

/// A libffi call interface for functions with the same signature. Movable. Several threads may use
/// one object at the same time.
class ffi_signature {
 public:
  ffi_signature(ffi_signature &&other) noexcept
      : prepared_(std::exchange(other.prepared_, nullptr)) {}
  ffi_signature &operator=(ffi_signature &&other) noexcept {
    std::swap(prepared_, other.prepared_);
    return *this;
  }
  ~ffi_signature() { delete prepared_; }

  /// `signature` has the same form as in an entry. If `takes_self` is true, the first argument is
  /// self, which the signature does not show. If the text is not a signature, or libffi rejects it,
  /// returns nullopt and the position of the fault. The position is the end of the text if libffi
  /// rejects it. GIL: not needed; sets no exception.
  static std::optional<ffi_signature> make(const char *signature, bool takes_self,
                                           PyNativeSignature_Fault *fault = nullptr) {
    PyNativeSignature parsed;
    if (PyNativeSignature_ParseString(signature, &parsed, fault) < 0) return std::nullopt;
    ffi_signature made;
    made.prepared_ = new prepared;
    prepared &call = *made.prepared_;
    const PyNativePassing passed = PyNativeType_Passing(parsed.result);
    call.result_size = PyNativeType_Size(parsed.result);
    const bool is_integer = passed == PyNativePassing_SIGNED || passed == PyNativePassing_UNSIGNED;
    const std::size_t stored =
        is_integer ? sizeof(ffi_arg) : internal::ffi_type_of(parsed.result)->size;
    call.narrow = call.result_size != 0 && call.result_size < stored;
    if (!call.prepare(parsed, takes_self)) {
      if (fault != nullptr) *fault = {std::strlen(signature), "libffi cannot call this signature"};
      return std::nullopt;
    }
    return made;
  }

  /// Calls `funcptr`. `arguments` contains the address of each argument. `result` points to memory
  /// for the C result, and is unused for `v`. The caller must meet the requirements of the entry's
  /// flags.
  void call(void *funcptr, void *result, void *const *arguments) const {
    // libffi does not modify these arguments, but its prototypes are not const-correct.
    ffi_cif *cif = const_cast<ffi_cif *>(&prepared_->cif);
    void **values = const_cast<void **>(arguments);
    if (!prepared_->narrow) {
      ffi_call(cif, FFI_FN(funcptr), result, values);
      return;
    }
    ffi_arg wide = 0;
    ffi_call(cif, FFI_FN(funcptr), &wide, values);
    store_narrow(result, wide, prepared_->result_size);
  }

  /// The number of arguments of a call, including self. A buffer counts as two, as in C.
  std::size_t arity() const { return prepared_->types.size(); }

 private:
  struct prepared : internal::ffi_interface {
    std::size_t result_size = 0;
    bool narrow = false;
  };

  ffi_signature() = default;

  // libffi widens results that are narrower than a register or than its own type. Not inline,
  // because gcc would warn about calls that pass a null `result`.
  TYPEDCALL_OUT_OF_LINE static void store_narrow(void *result, ffi_arg wide, std::size_t size) {
    const char *narrow = reinterpret_cast<const char *>(&wide);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    narrow += sizeof(wide) - size;
#endif
    std::memcpy(result, narrow, size);
  }

  prepared *prepared_ = nullptr;  // owned
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_INVOKE_FFI_SIGNATURE_H_
