// Provides core/custom_slots.h under its name in SEP 200, "Consumer API". If core/ itself is also
// on the include path, the SEP's own line compiles: #include "customslots.h".
#ifndef TYPEDCALL_CORE_CUSTOMSLOTS_H_
#define TYPEDCALL_CORE_CUSTOMSLOTS_H_

#include "core/custom_slots.h"

#endif  // TYPEDCALL_CORE_CUSTOMSLOTS_H_
