// Defines the version of these headers. Two versions in one source file are an error. Headers
// include this file before their include guards, which would hide the second copy.

// The value is the version. Change it in each release that changes a header.
#ifndef TYPEDCALL_CORE_VERSION_H_
#if defined(TYPEDCALL_CORE_PLATFORM_H_) || defined(TYPEDCALL_CORE_SLOT_ID_H_) || \
    defined(TYPEDCALL_NAMESPACE_H_) || defined(TYPEDCALL_TYPE_CODES_H_)
// The other copy is older than this file.
#define TYPEDCALL_INTERNAL_TWO_COPIES
#define TYPEDCALL_CORE_SLOT_ID_H_ 10200
#endif
#define TYPEDCALL_CORE_VERSION_H_ 10200
#elif TYPEDCALL_CORE_VERSION_H_ != 10200
#define TYPEDCALL_INTERNAL_TWO_COPIES
#define TYPEDCALL_CORE_VERSION_H_ 10200
#endif

// Including a nonexistent file stops the compiler. Further errors would hide the first one.
#ifndef TYPEDCALL_INTERNAL_STOP
#define TYPEDCALL_INTERNAL_STOP "typedcall: the error above says why this stops here"
#endif

#ifdef TYPEDCALL_INTERNAL_TWO_COPIES
#error \
    "typedcall: two versions of the headers: keep one copy; the note above (or -H) shows the other"
#include TYPEDCALL_INTERNAL_STOP
#endif
