// Provides core/extensible_type.h under the name that SEP 200, "Provider API", gives it. As in the
// SEP, it also includes core/customslots.h.
#ifndef TYPEDCALL_CORE_EXTENSIBLETYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLETYPE_H_

#include "core/customslots.h"
#include "core/extensible_type.h"

#endif  // TYPEDCALL_CORE_EXTENSIBLETYPE_H_
