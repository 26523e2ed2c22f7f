# Makes this folder a Cython package. With the project's root on the include path, `from
# core.custom_slots cimport ...` finds the declarations for `#include "core/custom_slots.h"`.
