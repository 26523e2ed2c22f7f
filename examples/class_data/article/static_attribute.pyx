# The article's static-attribute: a module variable for each greeting. Classes cannot be created at
# run time.
cdef extern from "examples/class_data/greetings.h":
    ctypedef struct greeting_class:
        const char *name
        const char *sentence
    const greeting_class greetings[]

cdef const char *_hello_sentence = greetings[0].sentence


cdef class Hello:
    cdef str name

    def __init__(self, name: str = 'World'):
        self.name = name

    def greet(self) -> str:
        return f'{_hello_sentence.decode("utf-8")} {self.name}!'
