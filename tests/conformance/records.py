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
CONVENTIONS = {"VARARGS": 1, "KEYWORDS": 2, "NOARGS": 4, "O": 8, "FASTCALL": 0x80, "METHOD": 0x200}
C_TYPES = {"?": "_Bool", "b": "signed char", "h": "short", "i": "int", "l": "long", "q": "long long",
           "B": "unsigned char", "H": "unsigned short", "I": "unsigned int", "L": "unsigned long",
           "Q": "unsigned long long", "f": "float", "d": "double"}
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
    """Returns {rule number: why the rule has no record}."""
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


def c_text(text):
    return "NULL" if text is None else '"' + "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in text.encode()) + '"'


def automatic(signature, name, index):
    """Returns the source of a C function that has this scalar signature and returns index + 1."""
    arguments, _, result = signature.partition("->")
    types = ", ".join(C_TYPES[letter] + f" a{i}" for i, letter in enumerate(arguments)) or "void"
    unused = " ".join(f"(void)a{i};" for i in range(len(arguments)))
    return f"static {C_TYPES[result]} {name}({types}) {{ {unused} return {index + 1}; }}"


class Source:
    """Collects the source text of the generated module."""

    def __init__(self):
        self.parts, self.rows, self.siblings = [], [], []

    def entries(self, name, entries):
        rows = []
        for index, (signature, flags, function) in enumerate(entries):
            if function == "auto":
                function = f"{name}_{index}"
                self.parts.append(automatic(signature, function, index))
            rows.append(f"{{{c_text(signature)}, {number(flags):#x}, {f'(void *){function}' if function else 'NULL'}}}")
        self.parts.append(f"static const Entry {name}[] = {{{', '.join(rows) or '{NULL, 0, NULL}'}}};")

    def name(self, name, given):
        header, pypy, one_arg = (given.get(part) for part in ("header", "pypy", "one_arg"))
        if header is not None and pypy is None:
            pypy = {"codes": [NOT_FOR_PYPY, -1], "result": NOT_FOR_PYPY, "function": None}
        convention = sum(CONVENTIONS[word] for word in given.get("convention", "O").split("|"))
        header_fields = {"details": 0, "table": 1, "size": 56, "major": 1, "minor": 0, "magic": MAGIC, **(header or {})}
        struct = pypy or one_arg or {}
        codes = struct.get("codes") if pypy else None
        if codes is not None:
            self.parts.append(f"static const int {name}_codes[] = {{{', '.join(map(str, codes))}}};")
        function = struct.get("function", "half" if struct else None)
        bits = number(given.get("bits", "0x3000"))
        readable = given.get("readable", 0 if not bits & 0x1000 else 24 if not bits & 0x2000 else 56)
        fields = [bits | convention, readable, given.get("shift", 0), header_fields["details"],
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
        fixed = "" if symbol.get("table") == "text" else "const "
        self.parts.append(f"static {fixed}struct {{ Py_ssize_t count; Entry entries[{len(entries)}]; }} {name}_table = "
                          f"{{{count}, {static}}};")
        self.parts.append(f'static PyMethodDef {name}_def[2] = {{{{"{ml_name}", BoxedOne, METH_O, NULL}}}};')
        kind = symbol.get("table", "static")
        table = "NULL" if kind in ("none", "heap") else f"(const Table *)(const void *)&{name}_table"
        def_ = f"&{name}_def[{1 if symbol.get('def') == 'other' else 0}]"
        more = {"exact": "", "larger": " void *more;", "smaller": ""}[symbol.get("size", "exact")]
        if symbol.get("kind") == "sized function":
            self.parts.append(f"""__asm__(".section .data.rel.ro,\\"aw\\"\\n.globl _PyPyTyped_{ml_name}\\n"
        ".type _PyPyTyped_{ml_name},%function\\n.size _PyPyTyped_{ml_name},16\\n.balign 8\\n_PyPyTyped_{ml_name}:\\n"
        ".quad {name}_def\\n.quad {name}_table\\n.text\\n");
static const void *const {name}_used[] __attribute__((used)) = {{{name}_def, &{name}_table}};""")
        elif symbol.get("kind") == "function":
            self.parts.append(f"void _PyPyTyped_{ml_name}(void);\nvoid _PyPyTyped_{ml_name}(void) {{}}")
        elif symbol.get("kind") != "none":
            const = "" if kind == "heap" else "const "
            self.parts.append(f"extern {const}struct {name}_symbol {{ const PyMethodDef *def; const Table *table;{more} }} "
                              f"_PyPyTyped_{ml_name};\n{const}struct {name}_symbol _PyPyTyped_{ml_name} = {{{def_}, {table}}};")
            if kind == "heap":  # a copy of the table without its signatures
                self.siblings.append(f"  _PyPyTyped_{ml_name}.table = (const Table *)memcpy(malloc(sizeof({name}_table)), "
                                     f"&{name}_table, sizeof({name}_table));")
            if kind == "text":
                self.siblings.append(f"  {name}_table.entries[0].signature = GuardedText({name}_table.entries[0].signature);")
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
        self.rows.append(f'{{{{"{record["id"]}#{index}", {count}, {len(entries)}, {name}, {row_name}, "{binding}"}}, '
                         f"{row_def}}}")

    def text(self):
        with open(os.path.join(HERE, "record_template.c"), encoding="utf-8") as file:
            text = file.read()
        for mark, lines in (("FUNCTIONS", self.parts), ("ROWS", [row + "," for row in self.rows]),
                            ("SYMBOLS", self.siblings)):
            text = text.replace(f"// {mark}\n", "\n".join(lines) + "\n")
        return text


def provider_source(found):
    """Returns the source of a C++ module with the overloads of each record."""
    functions, defs = [], []
    for at, record in enumerate(record for record in found if record["layer"] == "values"):
        names = [f"f{at}_{index}" for index in range(len(record["entries"]))]
        functions += [automatic(signature, name, index).replace("_Bool", "bool").replace("{ ", "noexcept { ", 1)
                      for index, ((signature, _, _), name) in enumerate(zip(record["entries"], names))]
        defs.append(f'    typedcall::def<{", ".join(names)}>("{record["id"].replace("/", "_").replace("-", "_")}"),')
    return ('#include "typedcall/provider.h"\n\nnamespace {\n' + "\n".join(functions) +
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
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source.text())
    return compile_module([path + ".c"], "conformance_records", folder, compiler)


def headers():
    """Returns the folder of our headers in the installed package."""
    import typedcall

    return typedcall.get_include()


def compile_module(sources, name, folder, compiler="gcc", flags=(), own=None):
    """Compiles C or C++ sources to a module in `folder`. `own` is the folder of our headers."""
    path = os.path.join(folder, name + (sysconfig.get_config_var("EXT_SUFFIX") or ".so"))
    language = ["-std=c++17"] if sources[0].endswith(".cc") else ["-std=gnu11"]
    subprocess.run([*shlex.split(compiler), *language, "-O1", "-fPIC", "-shared", "-I" + HERE, "-I" + (own or headers()),
                    "-isystem", sysconfig.get_path("include"), *(flags or ["-w"]), *sources, "-o", path], check=True)
    return path
