"""Generates random C declarations for test_c_text_random.py, and programs that make the compiler print their types."""

import re

#: The C type for each letter. "c" is plain char; the compiler decides whether it is signed.
VALUES = {
    "?": "_Bool", "b": "signed char", "B": "unsigned char", "c": "char", "h": "short", "H": "unsigned short",
    "i": "int", "I": "unsigned int", "l": "long", "L": "unsigned long", "q": "long long",
    "Q": "unsigned long long", "f": "float", "d": "double", "g": "long double", "Zf": "float _Complex",
    "Zd": "double _Complex", "Zg": "long double _Complex",
}
_OTHER_NAMES = ("Py_ssize_t ssize_t Py_hash_t ptrdiff_t intptr_t uintptr_t size_t npy_intp npy_double int8_t "
                "uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t bool").split()
_SPELLINGS = [each.split() for each in (
    [*VALUES.values(), *_OTHER_NAMES] + "signed|unsigned|short int|signed short|unsigned short int|signed int|"
    "long int|signed long|signed long int|unsigned long int|long long int|signed long long|signed long long int|"
    "unsigned long long int|double complex|float complex|long double complex".split("|"))]
# Each entry is one token, because nothing may come between its two words. Enums are omitted, because the compiler
# treats them as integers.
_TAGGED = ["struct point", "union number"]
_LENGTHS = ("Py_ssize_t", "intptr_t", "ssize_t", "long", "int64_t", "signed long int")
# Parameters of function pointers. Their types are not tested.
_OF_OTHERS = ("void", "int", "double x , const char *", "float [ ]", "int ( * ) ( void )", "int , ...")
# "@" separates lines.
_SEEN = ("SEEN", "SEEN", "#if 1@SEEN@#endif", "#if 0@WRONG@#else@SEEN@#endif", "#if 1@SEEN@#else@WRONG@#endif",
         "#ifndef __cplusplus@SEEN@#else@WRONG@#endif", "#if !defined(__cplusplus) && 2 > 1@SEEN@#elif 1@WRONG@#endif",
         "#if 0@#elif 0x1F@SEEN@#elif 1@WRONG@#endif", "#ifdef H_H@SEEN@#else@WRONG@#endif", "SEEN@SEEN")
_UNSEEN = ("", "", "#if 0@UNSEEN@#endif", "#if 1@#else@UNSEEN@#endif", "#ifdef __cplusplus@UNSEEN@#endif",
           "#if (0 || !1) /* ( @ */@UNSEEN@#endif", "#define OFF_NAME 0@#if OFF_NAME@UNSEEN@#endif", "/* UNSEEN @ */", "// UNSEEN",
           "#if 0@#if 1@UNSEEN@#endif@#else@#endif", "#if 010 != 8 // @UNSEEN@#endif")
_BETWEEN = ("", "", "struct s_NAME { int (*NAME)(int); struct { int x[3]; }; };", "enum e_NAME { A_NAME = 1, B_NAME };",
            "static inline int i_NAME(int a) { return a ? 1 : 'a'; }", "extern int v_NAME, *w_NAME, t_NAME[3];",
            "#define M_NAME(x) \\\n  ((x) + 1)", "#pragma GCC diagnostic push@#pragma GCC diagnostic pop",
            "#include <stdint.h>", ";", "typedef struct t_NAME { int x; } *p_NAME;")
PROLOGUE = """
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <stddef.h>
typedef intptr_t Py_ssize_t, Py_hash_t, npy_intp;
typedef double npy_double;
typedef struct _object { int x; } PyObject;
struct point { int x; };
union number { int x; double y; };
"""
#: Declarations from the prologue that cffi does not know.
FOR_CFFI = """
typedef intptr_t Py_ssize_t, Py_hash_t, npy_intp;
typedef double npy_double;
typedef struct _object { int x; } PyObject;
struct point { int x; };
union number { int x; double y; };
"""
#: Letters, keyed by the numbers that said() finds in the assembly. Other types have no letters.
LETTERS = dict(enumerate(VALUES))
LETTERS.update({100 + at: "&" + each for at, each in LETTERS.items()})
LETTERS.update({200 + at: "&k" + each for at, each in enumerate(VALUES)})
LETTERS.update({300: "O", 301: "P", 302: "v"})


def _associations():
    for at, name in enumerate(VALUES.values()):
        yield "%s: %d" % (name, at)
        for first, qualifiers in ((100, ("", "volatile")), (200, ("const", "const volatile"))):
            for each in qualifiers:
                yield "%s %s *: %d" % (each, name, first + at)
    for each in ("", "const", "volatile", "const volatile"):
        yield "%s PyObject *: 300" % each


#: __builtin_classify_type() returns 5 for pointers: https://gcc.gnu.org/onlinedocs/gcc/Other-Builtins.html
_MACROS = "#define TYPE(x) _Generic((x), %s, default: __builtin_classify_type(x) == 5 ? 301 : 400)\n" % (
    ", ".join(_associations()))



def _say(at, i, expression):
    """Returns C code that writes these values into the assembly."""
    return '__asm__ volatile("# said %%c0 %%c1 %%c2" :: "i"(%d), "i"(%d), "i"(%s));' % (at, i, expression)


def said(assembly):
    """Returns the compiler's answers as {(function, parameter): letters}. Parameter -1 is the result."""
    found = re.findall(r"# said (-?\d+) (-?\d+) (-?\d+)", assembly)
    return {(int(at), int(i)): LETTERS.get(int(code)) for at, i, code in found}


class Function:
    """A declaration, and a matching definition with parameter names."""

    def __init__(self, name):
        self.name = name
        self.tokens, self.definition = [], []
        #: Whether the package must refuse the function, and whether the function returns nothing.
        self.is_refused = self.is_void = False
        self.names = []
        #: Array parameters whose lengths are later parameters.
        self.buffers = []
        #: Forward declarations of parameters.
        self.forward = []

    def program(self, at):
        """Returns the definition. Its body makes the compiler report the types."""
        call = "%s(%s)" % (self.name, ", ".join(self.names))
        result = "302" if self.is_void else "TYPE(%s)" % call
        body = [_say(at, i, "TYPE(%s)" % name) for i, name in enumerate(self.names)] + [_say(at, -1, result)]
        if self.is_void:
            body.append('_Static_assert(__builtin_types_compatible_p(__typeof__(%s), void), "");' % call)
        text = " ".join(self.definition)
        if self.forward:  # forward declarations are a GNU C extension
            text = text.replace(self.name + " (", "%s (%s; " % (self.name, "; ".join(self.forward)), 1)
        return "%s { %s }\n" % (text, " ".join(body))

    def pointer(self):
        """Returns the type of a pointer to the function."""
        spelt = {self.name: "(*)", "complex": "_Complex"}
        return " ".join(spelt.get(token, token) for token in self.tokens)


class Generator:
    def __init__(self, random):
        self.random = random
        #: Maps each typedef to its operations (see operations()) and to whether its base type is refused.
        self.typedefs = {}
        self._count = 0

    def chance(self, probability):
        return self.random.random() < probability

    def fresh(self, prefix):
        self._count += 1
        return "%s%d" % (prefix, self._count)

    def spell(self, tokens):
        """Joins the tokens with random blanks and comments."""
        text = tokens[0]
        for token in tokens[1:]:
            blank = self.random.choice(["", "", " ", " ", " ", "  ", "\t", "\n", "/**/", " /* int, ( \n * ; */ ",
                                        " // (x[\n", " \\\n"])
            if (text[-1] + token[0]).replace("_", "a").isalnum():
                blank = blank or " "
            text += blank + token
        return text

    def specifiers(self, may_be_void, is_value):
        """Returns the words, whether they are refused as a value, whether they mean void, and the operations of a
        typedef."""
        kind = self.random.random()
        around, is_refused, is_void = "", False, False
        if self.typedefs and kind < 0.3:
            words = [self.random.choice(sorted(self.typedefs))]
            around, is_refused = self.typedefs[words[0]]
        elif kind < 0.37 and may_be_void:
            words, is_void = ["void"], True
        elif kind < (0.39 if is_value else 0.45):
            words, is_refused = [self.random.choice(_TAGGED)], True
        elif kind < 0.5 and not is_value:
            words, is_refused = ["PyObject"], True
        else:
            words = list(self.random.choice(_SPELLINGS))
            self.random.shuffle(words)
        for qualifier in ("const", "volatile"):
            if self.chance(0.2):
                words.insert(self.random.randint(0, len(words)), qualifier)
        return words, is_refused, is_void, around

    def operations(self, is_void, around):
        """Returns a valid sequence of pointers "*", arrays "[" and functions "(" around a name, from the inside out."""
        made = []
        for _ in range(self.random.choice([0, 1, 1, 1, 1, 2, 2, 3])):
            made.append(self.random.choice({"": "***[[(", "*": "***[(", "[": "*[", "(": "*"}[made[-1] if made else ""]))
        # The last operation applies to the type that the specifiers name.
        last, behind = "".join(made[-1:]), around[:1]
        if last == "[" and (is_void or behind == "(") or last == "(" and behind in ("[", "(") and behind:
            made.append("*")
        return made

    def _array(self, is_outermost, earlier):
        if not is_outermost:
            return ["[", str(self.random.randint(1, 9)), "]"]
        length = [self.random.choice(["", "3", *earlier])]
        if length == [""]:
            return ["[", *self.random.choice([[], ["const"], ["restrict"], ["const", "restrict"]]), "]"]
        front = self.random.choice([[], [], ["static"], ["static", "const"], ["restrict", "static"], ["volatile"]])
        return ["[", *front, *length, "]"]

    def declarator(self, name, operations, earlier=None):
        """Returns the tokens with and without the name. `earlier` contains the names that an array's length may use."""
        named, bare, last = [name], [], ""
        for at, operation in enumerate(operations):
            if operation == "*":
                # Only pointers to objects can be `restrict`.
                able = ["const", "volatile"] + ["restrict"] * ("".join(operations[at + 1 : at + 2]) in ("*", "["))
                stars = ["*", *(each for each in able if self.chance(0.15))]
                named, bare = stars + named, stars + bare
            else:
                if last == "*":
                    named, bare = ["(", *named, ")"], ["(", *bare, ")"]
                own = ["(", *self.random.choice(_OF_OTHERS).split(), ")"]
                if operation == "[":
                    own = self._array(at == 0 and earlier is not None, earlier)
                named, bare = named + own, bare + own
            last = operation
        return named, bare

    def typedef(self):
        words, is_refused, is_void, around = self.specifiers(False, True)
        operations = self.operations(is_void, around)
        name = self.fresh("type")
        tokens, _ = self.declarator(name, operations)
        self.typedefs[name] = "".join(operations) + around, is_refused
        words.insert(self.random.randint(0, len(words)), "typedef")
        return [*words, *tokens, ";"]

    def function(self, name, is_in_header=False):
        made = Function(name)
        shown, defined, integers = [], [], []
        for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 4])):
            kind = self.random.random()
            if kind < 0.2 and not is_in_header:  # a header must be standard C
                tokens = named = self._array_and_length(made)
            elif kind < 0.35:
                integers.append(self.fresh("n"))
                made.names.append(integers[-1])
                tokens = named = [self.random.choice(["int", "size_t", "long", "Py_ssize_t"]), integers[-1]]
            else:
                tokens, named = self._parameter(made, integers)
            shown += [",", *tokens] if shown else tokens
            defined += [",", *named] if defined else named
        if not shown:
            made.is_refused = not is_in_header and self.chance(0.1)
            shown = defined = [] if made.is_refused else ["void"]
        words, is_refused, is_void, around = self.specifiers(True, True)
        operations = self.operations(is_void, around) if self.chance(0.5) else []
        if (operations + list(around) + ["*"])[0] != "*":
            operations.insert(0, "*")
        made.is_void = is_void and not operations
        made.is_refused |= is_refused and not operations and not around
        tokens, _ = self.declarator(name, operations)
        at = tokens.index(name) + 1
        made.tokens = [*words, *tokens[:at], "(", *shown, ")", *tokens[at:]]
        made.definition = [*words, *tokens[:at], "(", *defined, ")", *tokens[at:]]
        return made

    def _parameter(self, function, integers):
        is_value = self.chance(0.4)
        words, is_refused, is_void, around = self.specifiers(not is_value, is_value)
        operations = self.operations(is_void, around)
        if not operations and (is_void or is_refused and not around and self.chance(0.9)):
            operations = ["*"]
        name = self.fresh("x")
        function.names.append(name)
        function.is_refused |= is_refused and not operations and not around
        named, bare = self.declarator(name, operations, integers)
        words = ["register"] * self.chance(0.03) + words
        return words + (named if self.chance(0.7) else bare), words + named

    def _array_and_length(self, function):
        """Adds an array parameter whose length is a later parameter."""
        array, between, count = self.fresh("x"), self.fresh("x"), self.fresh("n")
        words = list(self.random.choice([["double"], ["char"], ["int32_t"], ["long", "unsigned"], ["bool"]]))
        words.insert(self.random.randint(0, len(words)), self.random.choice(["const", "volatile", "const"]))
        length = self.random.choice(_LENGTHS)
        function.forward.append("%s %s" % (length, count))
        front = [*words, array, "[", *self.random.choice([[], ["static"], ["restrict"]]), count, "]", ","]
        if self.chance(0.3):
            function.names += [array, between, count]
            front += ["float", between, ","]
        else:
            function.buffers.append(len(function.names))
            function.names += [array, count]
        return [*front, *length.split(), count]

    def header(self, names):
        """Returns a header, the functions that the compiler sees, and the names that it does not see. Functions that
        the package must refuse are renamed."""
        parts, functions, hidden = [], [], []
        for name in names:
            if self.chance(0.4):
                parts.append(self.spell(self.typedef()))
            made = self.function(name, is_in_header=True)
            if made.is_refused:
                made = self._renamed(made, "other_" + name)
            functions.append(made)
            text = self.spell(["extern"] * self.chance(0.3) + made.tokens + [";"])
            wrong = "Py_hash_t %s(Py_hash_t, struct point, int);" % made.name
            unseen = "hidden_" + name
            hidden.append(unseen)
            parts += self.random.choice(_SEEN).replace("WRONG", wrong).replace("SEEN", text).split("@")
            parts += self.random.choice(_UNSEEN).replace("UNSEEN", "int %s(int);" % unseen).replace("NAME", name).split("@")
            parts += self.random.choice(_BETWEEN).replace("NAME", name).split("@")
        text = "#ifndef H_H\n#define H_H 1\n%s\n#endif\n" % "\n".join(parts)
        return text, functions, hidden

    @staticmethod
    def _renamed(function, name):
        for tokens in (function.tokens, function.definition):
            tokens[tokens.index(function.name)] = name
        function.name = name
        return function


def program(functions, header="", hidden=()):
    """Returns a C program whose assembly shows the types of the functions. It compiles only if the header matches."""
    lines = [PROLOGUE, header, _MACROS, *(each.program(at) for at, each in enumerate(functions))]
    return "\n".join(lines + ["static int %s __attribute__((unused));" % name for name in hidden])


#: A program that reports the choices that C leaves to the compiler. said() returns them as function -1.
CHOICES = PROLOGUE + _MACROS + "void f(void) { %s }" % " ".join((
    _say(-1, 0, "TYPE((intptr_t)0)"), _say(-1, 1, "TYPE((size_t)0)"),
    _say(-1, 2, "TYPE(__builtin_choose_expr((char)-1 < 0, (signed char)0, (unsigned char)0))")))
