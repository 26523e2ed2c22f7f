/* The array that the Python classes are made from. */
#include "examples/class_data/greetings.h"

#include <stddef.h>

const greeting_class greetings[] = {
    {"Hello", "Hello"},
    {"GoodMorning", "Good morning"},
    {NULL, NULL},
};
