/* The ID of the custom slot that holds the `const mass_unit *` of a class. */
#ifndef EXAMPLES_CLASS_DATA_UNIT_SLOT_H_
#define EXAMPLES_CLASS_DATA_UNIT_SLOT_H_

#include "core/slot_id.h"

/// This registrar is for private use. A released library applies for its own registrar, or gets an
/// ID at run time (PyCustomSlot_IDByName).
#define UNIT_SLOT_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x756e /* "un" */, 0)

#endif /* EXAMPLES_CLASS_DATA_UNIT_SLOT_H_ */
