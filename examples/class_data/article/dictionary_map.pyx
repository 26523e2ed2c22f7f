# The article's dictionary-map. A dictionary maps each class to its sentence. Derived classes are
# not in the dictionary.
cdef extern from "examples/class_data/greetings.h":
    ctypedef struct greeting_class:
        const char *name
        const char *sentence
    const greeting_class greetings[]

cdef dict _greet_map = {}


cdef class GreetHolder:
    cdef const char *sentence


cdef class Greet:
    cdef str _name

    def __init__(self, name: str = 'World'):
        self._name = name

    def greet(self) -> str:
        cdef GreetHolder holder = _greet_map[type(self)]
        cdef const char *sentence = holder.sentence
        return f'{sentence.decode("utf-8")} {self._name}!'


cdef GreetHolder _greet_holder
cdef int i = 0
while greetings[i].name != NULL:
    _cls = type(greetings[i].name.decode('utf-8'), (Greet,), {'__module__': __name__})
    _greet_holder = GreetHolder.__new__(GreetHolder)
    _greet_holder.sentence = greetings[i].sentence
    _greet_map[_cls] = _greet_holder
    globals()[greetings[i].name.decode('utf-8')] = _cls
    i += 1
