/* Units of mass. A Python class is made for each of them. */
#ifndef EXAMPLES_CLASS_DATA_UNITS_H_
#define EXAMPLES_CLASS_DATA_UNITS_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A unit. The strings are constants.
typedef struct mass_unit {
  const char *class_name;  ///< of the Python class
  const char *symbol;      ///< behind an amount, as in "5 kg"
  double grams;
} mass_unit;

/// All units, and their number.
extern const mass_unit units[];
extern const size_t unit_count;

#ifdef __cplusplus
}
#endif

#endif /* EXAMPLES_CLASS_DATA_UNITS_H_ */
