// The namespace of the C++ layer's classes and inline functions. Each layout has its own namespace,
// so modules of different versions share no symbols.
#include "core/version.h"

#ifndef TYPEDCALL_BASE_NAMESPACE_H_
#define TYPEDCALL_BASE_NAMESPACE_H_

#ifndef __cplusplus
#error "typedcall: this header is for C++17; C has typed_method.h, tag.h and the headers of core/"
#include TYPEDCALL_INTERNAL_STOP
#elif __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "typedcall: the headers for C++ need C++17: compile with -std=c++17 or later"
#include TYPEDCALL_INTERNAL_STOP
#endif

// Without TYPEDCALL_LAYOUT, a module loaded with RTLD_GLOBAL would replace another module's inline
// functions with its own, which are compiled for a different layout. Change the version below in
// each release that changes a class or an inline function. Between releases, modules that are built
// from different checkouts share symbols.
#include <cstddef>

#include "core/compiler.h"

#define TYPEDCALL_INTERNAL_PASTE_5(a, b, c, d, e) a##b##c##d##e
#define TYPEDCALL_INTERNAL_JOIN_5(a, b, c, d, e) TYPEDCALL_INTERNAL_PASTE_5(a, b, c, d, e)
#if defined(TYPEDCALL_STATS) && TYPEDCALL_STATS
#define TYPEDCALL_INTERNAL_COUNTING _stats
#else
#define TYPEDCALL_INTERNAL_COUNTING
#endif
#if defined(_LIBCPP_ABI_VERSION)
#define TYPEDCALL_INTERNAL_LIBRARY TYPEDCALL_INTERNAL_JOIN_5(_libcxx, _LIBCPP_ABI_VERSION, , , )
#elif defined(_GLIBCXX_USE_CXX11_ABI)
#define TYPEDCALL_INTERNAL_LIBRARY \
  TYPEDCALL_INTERNAL_JOIN_5(_libstdcxx, _GLIBCXX_USE_CXX11_ABI, , , )
#else
#define TYPEDCALL_INTERNAL_LIBRARY
#endif
#ifdef _GLIBCXX_DEBUG
#define TYPEDCALL_INTERNAL_CHECKED _checked
#else
#define TYPEDCALL_INTERNAL_CHECKED
#endif
#if TYPEDCALL_INTERNAL_IS_SEPARATE
#define TYPEDCALL_INTERNAL_KIND _separate
#else
#define TYPEDCALL_INTERNAL_KIND
#endif
#define TYPEDCALL_LAYOUT                                                                  \
  TYPEDCALL_INTERNAL_JOIN_5(v1_2, TYPEDCALL_INTERNAL_LIBRARY, TYPEDCALL_INTERNAL_CHECKED, \
                            TYPEDCALL_INTERNAL_COUNTING, TYPEDCALL_INTERNAL_KIND)

// Marks the definition of a function that typedcall/separate.cc compiles for other files. The
// definition must be inside #if !TYPEDCALL_INTERNAL_IS_DECLARED.
#if TYPEDCALL_INTERNAL_IS_SEPARATE
#define TYPEDCALL_INTERNAL_DEFINE __attribute__((weak))
#else
#define TYPEDCALL_INTERNAL_DEFINE inline
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {}
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_NAMESPACE_H_
