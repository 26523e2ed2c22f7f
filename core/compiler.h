// Is this a platform with tags, and what is said to its compiler beyond C and C++. The one place
// that knows: all others ask TYPEDCALL_IS_SUPPORTED. Needs no Python.h.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_COMPILER_H_
#define TYPEDCALL_CORE_COMPILER_H_

#include <stdint.h>

#if defined(_WIN32) || defined(__wasm__) || defined(__EMSCRIPTEN__) || \
    UINTPTR_MAX != UINT64_MAX || !defined(__GNUC__)
#define TYPEDCALL_INTERNAL_HAS_TAGS 0
#elif defined(__linux__) || defined(TYPEDCALL_ALLOW_UNTESTED_PLATFORM)
#define TYPEDCALL_INTERNAL_HAS_TAGS 1
#else
#define TYPEDCALL_INTERNAL_HAS_TAGS 0
#endif

/// 1 where there are tags: 64-bit Linux, by GCC or Clang. 0 elsewhere: the same sources compile
/// there, providers make their Python functions and tag nothing, types have no slots, and consumers
/// find nothing. Windows has no tags because tables are static data with addresses of functions,
/// and those of other modules are no constants there; 32 bits, because the ABI is asserted for 64;
/// WebAssembly, because a function's address is an index there.
///
/// TYPEDCALL_ALLOW_UNTESTED_PLATFORM, defined before the first include, turns tags on for macOS and
/// other systems, on which nobody has run them. On Windows and 32 bits nothing does.
#define TYPEDCALL_IS_SUPPORTED TYPEDCALL_INTERNAL_HAS_TAGS

// Where there are no tags nothing is GNU's: wheels for Windows are built by MSVC.
#if TYPEDCALL_IS_SUPPORTED
#define TYPEDCALL_COLD __attribute__((cold))
#define TYPEDCALL_RARE __attribute__((noinline, cold))
#define TYPEDCALL_OUT_OF_LINE __attribute__((noinline))
#define TYPEDCALL_IN_LINE __attribute__((always_inline))
#define TYPEDCALL_HIDDEN __attribute__((visibility("hidden")))
#define TYPEDCALL_UNUSED __attribute__((unused))
// A template may have a reference to what a null pointer points to, of which it takes the address.
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

#endif  // TYPEDCALL_CORE_COMPILER_H_
