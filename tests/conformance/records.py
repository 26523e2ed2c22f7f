"""Turns the records in corpus/*.json into a C extension module with a callable for each record."""
import glob
import json
import os
import re
import shlex
import subprocess
import sysconfig

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FLAGS = {name: 1 << bit for bit, name in enumerate((
    "NEEDS_THREAD", "ACQUIRES_GIL", "MAY_RAISE", "ERROR_IS_NEG_ZERO", "RETURNS_STATUS", "TAKES_SELF", "SETS_ERRNO",
    "DIFFERS", "FALLS_BACK"))}
FLAGS.update(THREAD_SAFE=0x010000, PURE=0x020000, SHORT=0x040000)
ALL = 0xffff
LAYERS = {"entry", "request", "name", "sibling", "instance", "type", "interface", "order", "call", "values"}
VERDICTS = {"accept", "reject", "free", "trusted"}
#: The places where a table can be.
TABLE_PLACES = ("name", "def", "object", "instance")
LIBRARY = "conformance_dependency"
CONVENTIONS = {"VARARGS": 1, "KEYWORDS": 2, "NOARGS": 4, "O": 8, "FASTCALL": 0x80, "METHOD": 0x200}
C_TYPES = {"?": "_Bool", "b": "signed char", "h": "short", "i": "int", "l": "long", "q": "long long",
           "B": "unsigned char", "H": "unsigned short", "I": "unsigned int", "L": "unsigned long",
           "Q": "unsigned long long", "f": "float", "d": "double",
           "s": "const char *", "O": "PyObject *", "Zf": "float _Complex", "Zd": "double _Complex", "&kd": "const double *",
           "*kd": "const double *a{0}, Py_ssize_t n{0}"}
MAGIC = 0x5059545950454431
#: The code if PyPy's codes cannot express the parameters (4.6).
NOT_FOR_PYPY = 0x100
#: A good entry after a malformed one.
NEXT = ["d->d", 0, "third"]


def corpus(folder=os.path.join(HERE, "corpus")):
    """Returns every record, ordered by file and line."""
    found = []
    for path in sorted(glob.glob(folder + "/*.json")):
        with open(path, encoding="utf-8") as file:
            found += json.load(file)["records"]
    return found


def reasons(path=os.path.join(HERE, "no_record.json")):
    """Returns {rule: why the rule has no record}. "3.19: words" is the part of a rule with these words."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rules(path=os.path.join(ROOT, "docs", "ABI.md")):
    """Returns the numbers of the rules in the order of docs/ABI.md."""
    with open(path, encoding="utf-8") as file:
        return re.findall(r"(?m)^- \*\*(\d+\.\d+)\*\* ", file.read())


def number(value):
    """Converts an int, a text such as "0x200", or names of flags separated by "|" to an int."""
    if isinstance(value, int):
        return value
    return sum(FLAGS[word] if word in FLAGS else int(word, 0) for word in value.split("|"))


def asked(record):
    """Returns (signature, can, equivalent) of the request."""
    entries = record.get("entries") or [["d->d", 0, "half"]]
    ask = record.get("ask", {})
    return ask.get("signature", entries[0][0] or "d->d"), number(ask.get("can", ALL)), ask.get("equivalent", True)


def variants(record):
    """Yields (entries, index of the right entry or None) for each table of a record."""
    if "tables" in record:
        yield from ((entries, None) for _, entries in record["tables"])
        return
    entries = record.get("entries") or [["d->d", 0, "half"]]
    if record["verdict"] != "reject":
        yield entries, record.get("finds", 0)
        return
    yield entries, None
    if record["layer"] in ("entry", "request") and record.get("count") is None:
        yield entries + [NEXT if is_of_a_text(record) else [asked(record)[0], 0, "third"]], len(entries)


def wanted(record):
    """Returns the signatures to request."""
    own = asked(record)[0]
    also = ["d->d"] if is_of_a_text(record) else []
    return list(dict.fromkeys([own, *also, *record.get("also", [])]))


def is_of_a_text(record):
    """Returns True if the record is about an invalid signature."""
    return record["verdict"] == "reject" and not {"3.3", "3.7"}.isdisjoint(record["rules"])


def places(record):
    """Returns the places for the table of the record."""
    if record["layer"] in ("entry", "request", "call", "values"):
        return tuple(record.get("places", TABLE_PLACES))
    if record["layer"] == "order":
        return tuple(place for place, _ in record["tables"])
    return ("def",) if record["layer"] == "interface" else (record["layer"],)


def convention(words):
    """Returns the calling convention's bits of a PyMethodDef."""
    return sum(CONVENTIONS[word] for word in words.split("|"))


def c_text(text):
    return "NULL" if text is None else '"' + "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in text.encode()) + '"'


def automatic(signature, name, index, kind):
    """Returns the source of a C function that has this scalar signature and returns index + 1, or with the kind
    "plus" the sum of that and its arguments."""
    arguments, _, result = signature.partition("->")
    arguments = re.findall(r"[&*]?k?Z?.", arguments)
    types = ", ".join(C_TYPES[type_].format(i) if "{" in C_TYPES[type_] else C_TYPES[type_] + f" a{i}"
                      for i, type_ in enumerate(arguments)) or "void"
    unused = " ".join(f"(void)a{i};" for i in range(len(arguments)))
    terms = "".join(f" + a{i}" for i in range(len(arguments) if kind == "plus" else 0))
    return f"static {C_TYPES[result]} {name}({types}) {{ {unused} return {index + 1}{terms}; }}"


class Source:
    """Collects the source text of the generated module."""

    def __init__(self):
        self.parts, self.rows, self.siblings, self.library = [], [], [], []

    def entries(self, name, entries):
        rows = []
        for index, (signature, flags, function) in enumerate(entries):
            if function in ("auto", "plus"):
                kind, function = function, f"{name}_{index}"
                self.parts.append(automatic(signature, function, index, kind))
            rows.append(f"{{{c_text(signature)}, {number(flags):#x}, {f'(void *){function}' if function else 'NULL'}}}")
        self.parts.append(f"static const Entry {name}[] = {{{', '.join(rows) or '{NULL, 0, NULL}'}}};")

    def name(self, name, given):
        header, pypy, one_arg = (given.get(part) for part in ("header", "pypy", "one_arg"))
        if header is not None and pypy is None:
            pypy = {"codes": [NOT_FOR_PYPY, -1], "result": NOT_FOR_PYPY, "function": None}
        usual = {"reserved": 0, "table": 1, "size": 56, "major": 1, "minor": 0, "magic": MAGIC}
        header_fields = {**usual, **(header or {})}
        if header_fields.keys() != usual.keys():
            raise ValueError(f"a header has no {sorted(header_fields.keys() - usual.keys())}")
        struct = pypy or one_arg or {}
        codes = struct.get("codes") if pypy else None
        if codes is not None:
            self.parts.append(f"static const int {name}_codes[] = {{{', '.join(map(str, codes))}}};")
        function = struct.get("function", "half" if struct else None)
        bits = number(given.get("bits", "0x3000"))
        readable = given.get("readable", 0 if not bits & 0x1000 else 24 if not bits & 0x2000 else 56)
        fields = [bits | convention(given.get("convention", "O")), readable, given.get("shift", 0), header_fields["reserved"],
                  int(bool(header_fields["table"])), header_fields["size"], header_fields["major"],
                  header_fields["minor"], f"UINT64_C({number(header_fields['magic']):#x})",
                  "PYPY" if pypy else "ONE_ARG" if one_arg else "ALONE_NOTHING",
                  name + "_codes" if codes is not None else "NULL", len(codes or ()),
                  "INT_MIN" if struct.get("result") == "INT_MIN" else struct.get("result", 0),
                  struct.get("padding", 0), struct.get("argument", 0), f"(void *){function}" if function else "NULL"]
        self.parts.append(f"static const Name {name}_name = {{{', '.join(map(str, fields))}}};")

    def sibling(self, name, record, entries):
        symbol = record["symbol"]
        ml_name = symbol.get("name", name)
        count = record.get("count", len(entries))
        static = "{" + ", ".join(
            f"{{{c_text(text)}, {number(flags):#x}, {f'(void *){function}' if function else 'NULL'}}}"
            for text, flags, function in entries) + "}"
        kind = symbol.get("table", "static")
        fixed = "" if kind in ("text", "text in the dependency") else "const "
        of_table = f"struct {{ Py_ssize_t count; Entry entries[{len(entries)}]; }} {name}_table"
        self.parts.append(f"static {fixed}{of_table} = {{{count}, {static}}};")
        self.parts.append(f'static PyMethodDef {name}_def[2] = {{{{{c_text(ml_name)}, BoxedOne, METH_O, NULL}}}};')
        table = "NULL" if kind in ("none", "heap", "in the dependency") else f"(const Table *)(const void *)&{name}_table"
        def_ = f"&{name}_def[{1 if symbol.get('def') == 'other' else 0}]"
        more = {"exact": "", "larger": " void *more;", "smaller": ""}[symbol.get("size", "exact")]
        pair = f"struct {name}_pair {{ const PyMethodDef *def; const Table *table;{more} }}"
        is_const = kind not in ("heap", "in the dependency")
        place = symbol.get("kind")
        if place in ("sized function", "smaller object"):
            type_, size = ("function", 16) if place == "sized function" else ("object", 8)
            self.parts.append(f"""__asm__(".section .data.rel.ro,\\"aw\\"\\n.globl _PyPyTyped_{ml_name}\\n"
        ".type _PyPyTyped_{ml_name},%{type_}\\n.size _PyPyTyped_{ml_name},{size}\\n.balign 8\\n_PyPyTyped_{ml_name}:\\n"
        ".quad {name}_def\\n.quad {name}_table\\n.text\\n");
static const void *const {name}_used[] __attribute__((used)) = {{{name}_def, &{name}_table}};""")
        elif place == "function":
            self.parts.append(f"void _PyPyTyped_{ml_name}(void);\nvoid _PyPyTyped_{ml_name}(void) {{}}")
        elif place == "in the dependency":
            self.library.append(f"{pair} _PyPyTyped_{ml_name};")
            self.parts.append(f"extern {pair} _PyPyTyped_{ml_name};")
            self.siblings.append(f"  _PyPyTyped_{ml_name}.def = {def_}, _PyPyTyped_{ml_name}.table = {table};")
        elif place != "none":
            fixed = "const " if is_const else ""
            named = f'{name}_symbol __asm__("_PyPyTyped_{ml_name}")'
            self.parts.append(f"extern {fixed}{pair} {named};\n{fixed}struct {name}_pair {name}_symbol = {{{def_}, {table}}};")
            if kind == "heap":  # a copy of the table without its signatures
                self.siblings.append(f"  {name}_symbol.table = (const Table *)memcpy(malloc(sizeof({name}_table)), "
                                     f"&{name}_table, sizeof({name}_table));")
            if kind == "text":
                self.siblings.append(f"  {name}_table.entries[0].signature = GuardedText({name}_table.entries[0].signature);")
            if kind == "in the dependency":
                self.library.append(of_table.replace("_table", "_there") + ";")
                self.parts.append("extern " + of_table.replace("_table", "_there") + ";")
                self.siblings.append(f"  memcpy(&{name}_there, &{name}_table, sizeof({name}_table));\n"
                                     f"  {name}_symbol.table = (const Table *)(const void *)&{name}_there;")
            if kind == "text in the dependency":
                text = f"char {name}_text[{len(entries[0][0]) + 1}]"
                self.library.append(f"{text} = {c_text(entries[0][0])};")
                self.parts.append(f"extern {text};")
                self.siblings.append(f"  {name}_table.entries[0].signature = {name}_text;")
        return f"{name}_def"

    def add(self, record, index, entries):
        name = f"r{len(self.rows)}"
        self.entries(name, entries)
        binding, row_name, row_def = record.get("binding", "function"), "NULL", "NULL"
        if record["layer"] == "name":
            self.name(name, record["name"])
            row_name = f"&{name}_name"
        if record["layer"] == "sibling" or "symbol" in record and index == 0:
            row_def = self.sibling(name, record, entries)
        count = record.get("count", len(entries))
        self.rows.append(f'{{{{"{record["id"]}#{index}", {count}, {len(entries)}, {name}, {row_name}, "{binding}", '
                         f"{convention(record.get('convention', 'FASTCALL'))}}}, {row_def}}}")

    def text(self):
        with open(os.path.join(HERE, "record_template.c"), encoding="utf-8") as file:
            text = file.read()
        for mark, lines in (("FUNCTIONS", self.parts), ("ROWS", [row + "," for row in self.rows]),
                            ("SYMBOLS", self.siblings)):
            text = text.replace(f"// {mark}\n", "\n".join(lines) + "\n")
        return text

    def library_text(self):
        """Returns the source of a shared object on which the generated module depends."""
        return "\n".join(['#include "record_module.h"', *self.library, "double elsewhere(double x) { return x / 2; }", ""])


def provider_source(found):
    """Returns the source of a C++ module with the overloads of each record."""
    functions, defs = [], []
    # A buffer is no parameter of its own in C++.
    of_values = [record for record in found if record["layer"] == "values"
                 and not any("*" in signature for signature, _, _ in record["entries"])]
    for at, record in enumerate(of_values):
        names = [f"f{at}_{index}" for index in range(len(record["entries"]))]
        functions += [automatic(signature, name, index, kind).replace("_Bool", "bool").replace("float _Complex", "std::complex<float>")
                      .replace("double _Complex", "std::complex<double>").replace("{ ", "noexcept { ", 1)
                      for index, ((signature, _, kind), name) in enumerate(zip(record["entries"], names))]
        defs.append(f'    typedcall::def<{", ".join(names)}>("{record["id"].replace("/", "_").replace("-", "_")}"),')
    return ('#include <complex>\n#include "typedcall/provider.h"\n\nnamespace {\n' + "\n".join(functions) +
            "\ntypedcall::method_table methods{\n" + "\n".join(defs) + "\n};\n}\n"
            'TYPEDCALL_MODULE(conformance_wrappers, "Wrappers of overloads.", methods);\n')


def build(found, folder, compiler="gcc"):
    """Compiles the module of records with the headers of the running interpreter, and returns its path."""
    source = Source()
    for record in found:
        if record["verdict"] != "trusted" and record["layer"] != "type":
            for index, (entries, _) in enumerate(variants(record)):
                source.add(record, index, entries)
    path = os.path.join(folder, "conformance_records")
    library = os.path.join(folder, f"lib{LIBRARY}")
    for name, text in ((path, source.text()), (library, source.library_text())):
        with open(name + ".c", "w", encoding="utf-8") as file:
            file.write(text)
    compile_module([library + ".c"], library + ".so", folder, compiler)
    return compile_module([path + ".c", "-L" + folder, "-l" + LIBRARY, "-Wl,-rpath,$ORIGIN"], "conformance_records",
                          folder, compiler)


def headers():
    """Returns the folder of our headers in the installed package."""
    import typedcall

    return typedcall.get_include()


def compile_module(sources, name, folder, compiler="gcc", flags=(), own=None):
    """Compiles C or C++ sources to a module in `folder`. `own` is the folder of our headers."""
    suffix = "" if name.endswith(".so") else sysconfig.get_config_var("EXT_SUFFIX") or ".so"
    path = os.path.join(folder, name + suffix)
    language = ["-std=c++17"] if sources[0].endswith(".cc") else ["-std=gnu11"]
    subprocess.run([*shlex.split(compiler), *language, "-O1", "-fPIC", "-shared", "-I" + HERE, "-I" + (own or headers()),
                    "-isystem", sysconfig.get_path("include"), *(flags or ["-w"]), *sources, "-o", path], check=True)
    return path
