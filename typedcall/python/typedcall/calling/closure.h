// C functions of any signature, made by libffi at run time.
#ifndef TYPEDCALL_PYTHON_CALLING_CLOSURE_H_
#define TYPEDCALL_PYTHON_CALLING_CLOSURE_H_

#include "typedcall/invoker.h"

namespace typedcall::python {

/// A C function that passes the addresses of its arguments to another C function.
class closure {
 public:
  closure() = default;
  closure(const closure &) = delete;
  closure &operator=(const closure &) = delete;
  ~closure() {
    if (made_ != nullptr) ffi_closure_free(made_);
  }

  /// Makes the function. Must be called only once. Returns false if libffi does not support the
  /// signature, or if no executable memory is available.
  bool make(const PyNativeSignature &signature,
            void (*called)(ffi_cif *, void *result, void **args, void *data), void *data) {
    made_ = static_cast<ffi_closure *>(ffi_closure_alloc(sizeof(ffi_closure), &address_));
    return made_ != nullptr && interface_.prepare(signature, false) &&
           ffi_prep_closure_loc(made_, &interface_.cif, called, data, address_) == FFI_OK;
  }

  void *address() const { return address_; }

 private:
  typedcall::internal::ffi_interface interface_;
  ffi_closure *made_ = nullptr;
  void *address_ = nullptr;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_CLOSURE_H_
