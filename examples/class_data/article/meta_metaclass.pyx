# The article's meta-metaclass. Each class has its own metaclass with the C field, and its
# subclasses share the metaclass. In a metaclass that derives from this one, the field is NULL.
cdef extern from "examples/class_data/greetings.h":
    ctypedef struct greeting_class:
        const char *name
        const char *sentence
    const greeting_class greetings[]


cdef class GreetMetaType(type):
    cdef const char *sentence


cdef class Greet:
    cdef str _name

    def __init__(self, name: str = 'World'):
        self._name = name

    def greet(self) -> str:
        cdef GreetMetaType metacls = type(type(self))
        return f'{metacls.sentence.decode("utf-8")} {self._name}!'


cdef int i = 0
while greetings[i].name != NULL:
    _name = greetings[i].name.decode('utf-8')
    # Create a per-greeting metaclass
    _metacls = GreetMetaType.__new__(GreetMetaType, _name + 'Type', (type,), {'__module__': __name__})
    (<GreetMetaType>_metacls).sentence = greetings[i].sentence
    # Create the greeting class using this metaclass
    _cls = _metacls.__new__(_metacls, _name, (Greet,), {'__module__': __name__})
    globals()[_name] = _cls
    i += 1
