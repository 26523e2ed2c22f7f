// core/extensible_type.h by its name in SEP 200, "Provider API", with the consumer's half, as
// there. core/customslots.h says what to put on the include path.
#ifndef TYPEDCALL_CORE_EXTENSIBLETYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLETYPE_H_

#include "core/customslots.h"
#include "core/extensible_type.h"

#endif  // TYPEDCALL_CORE_EXTENSIBLETYPE_H_
