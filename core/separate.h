// With TYPEDCALL_SEPARATE defined, functions off the hot paths are only declared, and
// typedcall/separate.cc has their bodies: they are compiled once instead of in each file.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_SEPARATE_H_
#define TYPEDCALL_CORE_SEPARATE_H_

#include "core/compiler.h"

// 1 in files with TYPEDCALL_SEPARATE and in the source itself. One program may have files of both
// kinds: they share no symbol. Without tags all files are header-only.
#if defined(TYPEDCALL_SEPARATE) && TYPEDCALL_IS_SUPPORTED
#define TYPEDCALL_INTERNAL_IS_SEPARATE 1
#else
#define TYPEDCALL_INTERNAL_IS_SEPARATE 0
#endif

// 1 if the bodies are elsewhere.
#if TYPEDCALL_INTERNAL_IS_SEPARATE && !defined(TYPEDCALL_INTERNAL_SOURCE)
#define TYPEDCALL_INTERNAL_IS_DECLARED 1
#else
#define TYPEDCALL_INTERNAL_IS_DECLARED 0
#endif

// The external name of a C function. It has the version, because a program may link libraries built
// with different ones; those of one version share a weak definition.
#define TYPEDCALL_INTERNAL_EXTERNAL(name) \
  TYPEDCALL_INTERNAL_VERSIONED(name, TYPEDCALL_CORE_VERSION_H_)
#define TYPEDCALL_INTERNAL_VERSIONED(name, version) TYPEDCALL_INTERNAL_PASTE(name, version)
#define TYPEDCALL_INTERNAL_PASTE(name, version) name##_##version

#endif  // TYPEDCALL_CORE_SEPARATE_H_
