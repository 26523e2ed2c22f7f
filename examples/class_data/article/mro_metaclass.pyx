# The article's mro-metaclass. If the field is NULL, greet() searches the MRO for a class that has
# the field.
cdef extern from "examples/class_data/greetings.h":
    ctypedef struct greeting_class:
        const char *name
        const char *sentence
    const greeting_class greetings[]


cdef class GreetType(type):
    cdef const char *sentence


cdef inline const char *_get_sentence(GreetType cls):
    """Get sentence for a GreetType class, walking MRO if needed."""
    # Fast path: sentence is set on this class directly
    if cls.sentence != NULL:
        return cls.sentence
    # Slow path: walk MRO to find first parent with sentence set
    for parent in (<object>cls).__mro__:
        if isinstance(parent, GreetType) and (<GreetType>parent).sentence != NULL:
            return (<GreetType>parent).sentence
    raise TypeError("No greeting sentence found in MRO")


cdef class Greet:
    cdef str _name

    def __init__(self, name: str = 'World'):
        self._name = name

    def greet(self) -> str:
        return f'{_get_sentence(type(self)).decode("utf-8")} {self._name}!'


cdef int i = 0
while greetings[i].name != NULL:
    _name = greetings[i].name.decode('utf-8')
    _cls = GreetType.__new__(GreetType, _name, (Greet,), {'__module__': __name__})
    (<GreetType>_cls).sentence = greetings[i].sentence
    globals()[_name] = _cls
    i += 1
