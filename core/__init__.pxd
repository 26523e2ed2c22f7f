# Makes the folder a package for Cython: with the project's root as an include path,
# `from core.custom_slots cimport ...` goes with `#include "core/custom_slots.h"`.
