// Provides core/custom_slots.h under the name that SEP 200, "Consumer API", gives it. With core/
// itself on the include path, `#include "customslots.h"` works as in the SEP.
#ifndef TYPEDCALL_CORE_CUSTOMSLOTS_H_
#define TYPEDCALL_CORE_CUSTOMSLOTS_H_

#include "core/custom_slots.h"

#endif  // TYPEDCALL_CORE_CUSTOMSLOTS_H_
