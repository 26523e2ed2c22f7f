// Provides core/extensible_type.h under its name in SEP 200, "Provider API", together with the
// consumer's half, as in the SEP. core/customslots.h explains the include path.
#ifndef TYPEDCALL_CORE_EXTENSIBLETYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLETYPE_H_

#include "core/customslots.h"
#include "core/extensible_type.h"

#endif  // TYPEDCALL_CORE_EXTENSIBLETYPE_H_
