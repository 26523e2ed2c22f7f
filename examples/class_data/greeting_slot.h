/* The ID of the custom slot in which a greetings class keeps its `const greeting_class *`, for C,
 * C++ and Cython alike. */
#ifndef EXAMPLES_CLASS_DATA_GREETING_SLOT_H_
#define EXAMPLES_CLASS_DATA_GREETING_SLOT_H_

#include "core/slot_id.h"

/// Of the registrar for private use: anybody may take such an ID for classes that stay at home. A
/// released library asks for a registrar of its own, or takes an ID at run time
/// (PyCustomSlot_IDByName).
#define GREETING_SLOT_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x6772 /* "gr" */, 0)

#endif /* EXAMPLES_CLASS_DATA_GREETING_SLOT_H_ */
