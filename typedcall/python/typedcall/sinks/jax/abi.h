// The parts of XLA's C interface for custom functions that typedcall uses, declared as in
// xla/ffi/api/c_api.h, version 0. The structs contain their own size, and grow only at the end.
#ifndef TYPEDCALL_PYTHON_JAX_ABI_H_
#define TYPEDCALL_PYTHON_JAX_ABI_H_

#include <cstddef>
#include <cstdint>

namespace typedcall::python {

struct xla_extension {
  std::size_t size;
  int type;
  xla_extension *next;
};
constexpr int kXlaMetadata = 1;

struct xla_version {
  std::size_t size;
  xla_extension *extension;
  int major, minor;
};
/// The version that this header follows; nothing newer is used.
constexpr int kXlaMajor = 0, kXlaMinor = 3;
/// The minor version for callers without a version, such as JAX 0.6.
constexpr int kXlaMinorUnasked = 1;

struct xla_metadata {
  std::size_t size;
  xla_version version;
  std::uint32_t traits;
};
struct xla_metadata_extension {
  xla_extension base;
  xla_metadata *metadata;
};

/// XLA_FFI_DataType
enum xla_type : int {
  kXlaBool = 1,
  kXlaS8 = 2,  // the types of 2, 4 and 8 bytes follow
  kXlaS64 = 5,
  kXlaU8 = 6,
  kXlaU64 = 9,
  kXlaF32 = 11,
  kXlaF64 = 12
};

struct xla_buffer {
  std::size_t size;
  xla_extension *extension;
  int type;
  void *data;
  std::int64_t rank;
  const std::int64_t *shape;

  std::int64_t count() const {
    std::int64_t all = 1;
    for (std::int64_t i = 0; i < rank; ++i) all *= shape[i];
    return all;
  }
};

struct xla_text {
  const char *data;
  std::size_t size;
};
struct xla_scalar {
  int type;
  const void *value;
};

/// The arguments or the results of a call.
struct xla_buffers {
  std::size_t size;
  xla_extension *extension;
  std::int64_t count;
  const int *kinds;  // the kind of each item; 1 is a buffer
  void **items;
};

/// The attributes of a call, sorted by name.
struct xla_attributes {
  std::size_t size;
  xla_extension *extension;
  std::int64_t count;
  const int *kinds;
  xla_text **names;
  void **items;
};
constexpr int kXlaIsBuffer = 1, kXlaIsScalar = 3, kXlaIsText = 4;

struct xla_error_request {
  std::size_t size;
  xla_extension *extension;
  const char *message;
  int code;
};
constexpr int kXlaInvalid = 3, kXlaInternal = 13;

struct xla_api {
  std::size_t size;
  xla_extension *extension;
  xla_version version;
  const void *internal;
  void *(*make_error)(xla_error_request *);
};

struct xla_call {
  std::size_t size;
  xla_extension *extension;
  const xla_api *api;
  void *context;
  int stage;
  xla_buffers arguments, results;
  xla_attributes attributes;
};
static_assert(sizeof(xla_buffer) == 48 && offsetof(xla_call, arguments) == 40 &&
              sizeof(xla_buffers) == 40 && sizeof(xla_attributes) == 48);

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_JAX_ABI_H_
