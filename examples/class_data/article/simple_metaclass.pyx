# The article's simple-metaclass and metaclass-crash. The metaclass has a C field. The field is NULL
# in classes that Python code derives, and greet() dereferences it.
cdef extern from "examples/class_data/greetings.h":
    ctypedef struct greeting_class:
        const char *name
        const char *sentence
    const greeting_class greetings[]


cdef class GreetType(type):
    cdef const char *sentence


cdef class Greet:
    cdef str _name

    def __init__(self, name: str = 'World'):
        self._name = name

    def greet(self) -> str:
        cdef GreetType cls = type(self)
        return f'{cls.sentence.decode("utf-8")} {self._name}!'


cdef int i = 0
while greetings[i].name != NULL:
    _name = greetings[i].name.decode('utf-8')
    _cls = GreetType.__new__(GreetType, _name, (Greet,), {'__module__': __name__})
    (<GreetType>_cls).sentence = greetings[i].sentence
    globals()[_name] = _cls
    i += 1
