// Detects whether the platform supports tags, and wraps compiler extensions. Needs no Python.h.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_COMPILER_H_
#define TYPEDCALL_CORE_COMPILER_H_

#include <stdint.h>

/// 1 on platforms with tags: 64-bit Linux, with GCC or Clang. Elsewhere it is 0: the same sources
/// compile, but there are no tags and no slots. On Windows a static table cannot contain another
/// module's addresses. On WebAssembly, function addresses are indices. The ABI needs 64 bits.
///
/// Define TYPEDCALL_ALLOW_UNTESTED_PLATFORM before the first include to enable tags on macOS and
/// other untested systems. It has no effect on Windows or 32-bit systems.
#if (defined(__linux__) || defined(TYPEDCALL_ALLOW_UNTESTED_PLATFORM)) && !defined(_WIN32) && \
    !defined(__wasm__) && !defined(__EMSCRIPTEN__) && UINTPTR_MAX == UINT64_MAX &&            \
    defined(__GNUC__)
#define TYPEDCALL_IS_SUPPORTED 1
#else
#define TYPEDCALL_IS_SUPPORTED 0
#endif

// On platforms without tags, no GNU extensions are used, so that MSVC can compile the headers.
#if TYPEDCALL_IS_SUPPORTED
#define TYPEDCALL_COLD __attribute__((cold))
#define TYPEDCALL_RARE __attribute__((noinline, cold))
#define TYPEDCALL_OUT_OF_LINE __attribute__((noinline))
#define TYPEDCALL_IN_LINE __attribute__((always_inline))
#define TYPEDCALL_HIDDEN __attribute__((visibility("hidden")))
#define TYPEDCALL_UNUSED __attribute__((unused))
// For templates that dereference a null pointer only to take an address.
#define TYPEDCALL_NULL_REFERENCES __attribute__((no_sanitize("null")))
#define TYPEDCALL_EXPECT(value, expected) __builtin_expect(value, expected)
#else
#define TYPEDCALL_COLD
#define TYPEDCALL_RARE
#define TYPEDCALL_OUT_OF_LINE
#define TYPEDCALL_IN_LINE
#define TYPEDCALL_HIDDEN
#define TYPEDCALL_UNUSED
#define TYPEDCALL_NULL_REFERENCES
#define TYPEDCALL_EXPECT(value, expected) (value)
#endif

// 1 if TYPEDCALL_SEPARATE is defined, on platforms with tags. Functions off the hot paths are then
// only declared, and typedcall/separate.cc defines them. A program may mix both kinds of files.
#if defined(TYPEDCALL_SEPARATE) && TYPEDCALL_IS_SUPPORTED
#define TYPEDCALL_INTERNAL_IS_SEPARATE 1
#else
#define TYPEDCALL_INTERNAL_IS_SEPARATE 0
#endif

// 1 if this source file only declares the functions that typedcall/separate.cc defines.
#if TYPEDCALL_INTERNAL_IS_SEPARATE && !defined(TYPEDCALL_INTERNAL_SOURCE)
#define TYPEDCALL_INTERNAL_IS_DECLARED 1
#else
#define TYPEDCALL_INTERNAL_IS_DECLARED 0
#endif

// Function names contain the version, because a program may link libraries of different versions.
#define TYPEDCALL_INTERNAL_EXTERNAL(name) TYPEDCALL_INTERNAL_JOIN(name, TYPEDCALL_CORE_VERSION_H_)
#define TYPEDCALL_INTERNAL_JOIN(a, b) TYPEDCALL_INTERNAL_PASTE(a, b)
#define TYPEDCALL_INTERNAL_PASTE(a, b) a##_##b

// Enclose declarations with C linkage. Static functions do not need these macros.
#ifdef __cplusplus
#define TYPEDCALL_BEGIN_C extern "C" {
#define TYPEDCALL_END_C }
#else
#define TYPEDCALL_BEGIN_C
#define TYPEDCALL_END_C
#endif

#endif  // TYPEDCALL_CORE_COMPILER_H_
