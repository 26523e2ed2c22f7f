/* The ID of the custom slot that holds the `const greeting_class *` of a class. */
#ifndef EXAMPLES_CLASS_DATA_GREETING_SLOT_H_
#define EXAMPLES_CLASS_DATA_GREETING_SLOT_H_

#include "core/slot_id.h"

/// This registrar is for private use. A released library applies for its own registrar, or gets an
/// ID at run time (PyCustomSlot_IDByName).
#define GREETING_SLOT_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x6772 /* "gr" */, 0)

#endif /* EXAMPLES_CLASS_DATA_GREETING_SLOT_H_ */
