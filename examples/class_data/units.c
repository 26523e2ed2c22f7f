#include "examples/class_data/units.h"

const mass_unit units[] = {
    {"Ounce", "oz", 28.349523125},
    {"Kilogram", "kg", 1000.0},
};

const size_t unit_count = sizeof(units) / sizeof(units[0]);
