// The version of these headers, and an error if copies of two versions meet in one source file.
// Headers include this before their include guards, which would hide the second copy.

// The guard's value is the version; change it in each release that changes a header.
#ifndef TYPEDCALL_CORE_VERSION_H_
#if defined(TYPEDCALL_CORE_PLATFORM_H_) || defined(TYPEDCALL_CORE_SLOT_ID_H_) || \
    defined(TYPEDCALL_NAMESPACE_H_) || defined(TYPEDCALL_TYPE_CODES_H_)
// The other copy is older than this file. The compiler notes where a macro was defined first.
#define TYPEDCALL_INTERNAL_TWO_COPIES
#define TYPEDCALL_CORE_SLOT_ID_H_ 10200
#endif
#define TYPEDCALL_CORE_VERSION_H_ 10200
#elif TYPEDCALL_CORE_VERSION_H_ != 10200
#define TYPEDCALL_INTERNAL_TWO_COPIES
#define TYPEDCALL_CORE_VERSION_H_ 10200
#endif

// This include stops the compiler, because hundreds of later errors would hide that one.
#ifndef TYPEDCALL_INTERNAL_STOP
#define TYPEDCALL_INTERNAL_STOP "typedcall: the error above says why this stops here"
#endif

#ifdef TYPEDCALL_INTERNAL_TWO_COPIES
#error \
    "typedcall: two versions of the headers: keep one copy; the note above (or -H) shows the other"
#include TYPEDCALL_INTERNAL_STOP
#endif
