/* The array that the Python classes are made from: one class for each entry, at import. A third
 * entry would make a third class. */
#include "examples/class_data/greetings.h"

#include <stddef.h>

const greeting_class greetings[] = {
    {"Hello", "Hello"},
    {"GoodMorning", "Good morning"},
    {NULL, NULL},
};
