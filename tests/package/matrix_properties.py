"""The properties of the matrix. A property yields cells: (ID, outcome, result or reason). The outcome is "right",
"wrong", "refused" or "limit"."""
from matrix_properties_buffers import buffers
from matrix_properties_calls import by_position, choice, defaults, equality, falling_back, native, raising, status, texts
from matrix_properties_overlaps import overlaps
from matrix_properties_processes import endings, interpreters, lifetimes, no_memory
from matrix_properties_random import random_overloads
from matrix_properties_states import states
from matrix_properties_threads import holding, interrupts, threads

PROPERTIES = {property_.__name__: property_ for property_ in (
    choice, equality, native, raising, status, falling_back, texts, defaults, by_position, states, buffers, overlaps, threads, holding,
    interrupts, lifetimes, no_memory, endings, interpreters, random_overloads)}
