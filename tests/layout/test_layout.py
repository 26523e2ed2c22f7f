"""Tests which rooms of the repository include each other, and that Bazel's targets follow the
includes."""
import ast
import collections
import glob
import os
import re
import unittest

# Bazel's links lead to the repository.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

# The top-level headers that the folders may include.
CORE_BASE = {"version", "compiler", "platform", "slot_id", "interface", "custom_slots", "type_access"}
TYPEDCALL_BASE = {"signature", "native_callable", "typed_method", "entry_view", "overload_choice", "sibling_symbol"}
# The rooms that each room may include. "core base" and "typedcall base" are the headers listed
# above, and "core" and "typedcall" are the other headers at the top.
ARROWS = {
    "core base": [],
    "core/slots": ["core base"],
    "core/types": ["core base", "core/slots"],
    "core/rendezvous": ["core base", "core/slots", "core/types"],
    "core": ["core base", "core/slots", "core/types", "core/rendezvous"],
    "typedcall/signature": ["core"],
    "typedcall/typed_method": ["core", "typedcall/signature"],
    "typedcall base": ["core", "typedcall/signature", "typedcall/typed_method"],
    "typedcall/tag": ["core", "typedcall base"],
    "typedcall/convert": ["typedcall base"],
    "typedcall/provider": ["core", "typedcall base", "typedcall/convert", "typedcall"],
    "typedcall/resolve": ["core", "typedcall base", "typedcall/tag", "typedcall/convert"],
    "typedcall/invoke": ["typedcall base"],
    "typedcall/callback": ["typedcall base"],
    "typedcall/calling": ["typedcall base", "typedcall/convert", "typedcall/invoke", "typedcall"],
    "typedcall/loop": ["typedcall base", "typedcall/invoke"],
    "typedcall/binding": ["typedcall base", "typedcall/convert", "typedcall"],
    "typedcall": ["core", "typedcall base", "typedcall/tag", "typedcall/convert",
                  "typedcall/provider", "typedcall/resolve", "typedcall/invoke",
                  "typedcall/callback", "typedcall/calling", "typedcall/loop", "typedcall/binding"],
    # The compiled modules of the Python package.
    "typedcall/python": ["typedcall", "typedcall base", "typedcall/tag",
                         "typedcall/convert", "typedcall/resolve", "typedcall/callback",
                         "typedcall/calling"],
}
# Top-level headers that docs/reference omits.
WITHOUT_REFERENCE = {
    "typedcall/calling.h": "the engine of the Python package's sinks",
    "core/customslots.h": "the names of custom_slots.h",
    "core/extensibletype.h": "the names of extensible_type.h",
    "core/type_access.h": "private functions",
    "core/version.h": "one macro, for the others",
    "typedcall/meth_typed.h": "the names of typed_method.h",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"((?:core|typedcall)/[^"]+)"', re.MULTILINE)
# Headers of other libraries, and the Bazel targets that provide them.
SYSTEM_INCLUDE = re.compile(r"^\s*#\s*include\s+<(Python\.h|ffi\.h)>", re.MULTILINE)
SYSTEM_TARGETS = {"Python.h": "@python//:headers", "ffi.h": "//bazel/system:ffi"}
# The same in any text, such as a program in a Python test or on a page.
INCLUDE_ANYWHERE = re.compile(r'#\s*include\s+["<]((?:core|typedcall)/[^">\n]+)[">]')
# The tests that may include internals, or name such an include.
INSIDERS = {"tests/invoker/registers_main.cc", "tests/compilers/test_refused_options.py",
            "tests/layout/test_layout.py"}
# Folders that are included by one header only, and this header.
DOORS = {"typedcall/" + name: "typedcall/%s.h" % name for name in ("loop", "provider", "typed_method")}
# The headers to include for writing tags in C. meth_typed.h has the names of a post.
FOR_C_TAGS = {"typedcall/tag.h", "typedcall/typed_method.h"}


C_FILES = (".h", ".hpp", ".c", ".cc", ".cpp")


def sources(*folders, endings=C_FILES):
    """Returns (path, text) of each file that may contain includes."""
    for folder in folders:
        for where, inner, names in os.walk(os.path.join(ROOT, folder)):
            inner[:] = [name for name in inner if name not in ("build", "corpus")]
            for name in sorted(names):
                if name.endswith(endings):
                    path = os.path.join(where, name)
                    with open(path, encoding="utf-8") as file:
                        yield os.path.relpath(path, ROOT), file.read()


def documented(header):
    """Returns the words in the first three lines after each doc comment."""
    declarations = re.findall(r"(?m)^ *///.*\n((?! *//)(?:.*\n){3})", header)
    return set(re.findall(r"\w+", " ".join(declarations)))


def headers_on(*pages):
    """Returns {path: text} of the headers that these pages of the reference show."""
    shown = set()
    for page in pages:
        with open(os.path.join(ROOT, "docs", "reference", page), encoding="utf-8") as file:
            shown.update(re.findall(r"(?m)^```{public-header} (.*)$", file.read()))
    return {path: text for path, text in sources("core", "typedcall")
            if os.path.basename(path) in shown and not path.startswith("typedcall/python/")}


def header_libraries(folder):
    """Returns (label, headers, deps, hdrs) for each header_library in a BUILD file."""
    with open(os.path.join(ROOT, folder, "BUILD"), encoding="utf-8") as file:
        calls = [each.value for each in ast.parse(file.read()).body if isinstance(each, ast.Expr)
                 and isinstance(each.value, ast.Call) and each.value.func.id == "header_library"]
    for call in calls:
        said = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
        names = {*said.get("hdrs", ()), *said.get("srcs", ())}
        if os.path.exists(os.path.join(ROOT, folder, said["name"] + ".h")):
            names.add(said["name"] + ".h")
        if "folder" in said:
            within = os.path.join(ROOT, folder, said["folder"])
            inside = {os.path.basename(path) for path in glob.glob(os.path.join(within, "*.h"))}
            names |= {said["folder"] + "/" + name for name in inside - set(said.get("without", ()))}
        yield ("//%s:%s" % (folder, said["name"]), {folder + "/" + name for name in names},
               ["//" + folder + dep if dep.startswith(":") else dep for dep in said.get("deps", ())],
               [folder + "/" + name for name in said.get("hdrs", ())])


def room_of(path):
    """Returns the room to which a file belongs."""
    folder, name = os.path.split(path)
    if folder.startswith("typedcall/python"):
        return "typedcall/python"
    if folder == "typedcall/base":
        return "typedcall base"
    base = {"core": CORE_BASE, "typedcall": TYPEDCALL_BASE}.get(folder, ())
    return folder + " base" if os.path.splitext(name)[0] in base else folder


def allowed(room, target):
    # If a room may include the top, it may also include the base.
    return target == room or target in ARROWS[room] or target.replace(" base", "") in ARROWS[room]


class Layout(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(ROOT, "WORKSPACE")):
            raise unittest.SkipTest("the sources are not in the repository")
        cls.includes = [(path, target) for path, text in sources("core", "typedcall")
                        for target in INCLUDE.findall(text)]

    def test_every_arrow_is_in_the_table(self):
        self.assertGreater(len(self.includes), 150)
        wrong = ["%s includes %s" % each for each in self.includes
                 if not allowed(room_of(each[0]), room_of(each[1]))]
        self.assertEqual(wrong, [])

    def test_every_line_of_the_table_is_used(self):
        used = collections.defaultdict(set)
        for path, target in self.includes:
            used[room_of(path)].add(room_of(target).replace("core base", "core"))
            used[room_of(path)].add(room_of(target))
        unused = [(room, target) for room, targets in ARROWS.items() for target in targets
                  if target not in used[room]]
        self.assertEqual(unused, [])

    def test_no_header_includes_itself_by_way_of_others(self):
        graph = collections.defaultdict(list)
        for path, target in self.includes:
            graph[path].append(target)
        finished, current = set(), []

        def visit(path):
            self.assertNotIn(path, current)
            if path not in finished:
                current.append(path)
                for target in graph[path]:
                    visit(target)
                finished.add(current.pop())

        for path in list(graph):
            visit(path)

    def test_what_is_inside_is_included_by_its_own_room_only(self):
        texts = dict(sources("tests", "bench", "examples", "docs", endings=(*C_FILES, ".md", ".py", ".pyx", ".pxd")))
        self.assertGreater(len(texts), 500)
        wrong = ["%s includes %s" % (path, target)
                 for path, text in texts.items() if path not in INSIDERS
                 for target in INCLUDE_ANYWHERE.findall(text) if target.count("/") > 1]
        self.assertEqual(wrong, [])

    def test_a_folder_with_a_door_is_included_by_it_only(self):
        includers = collections.defaultdict(set)
        for path, target in self.includes:
            if os.path.dirname(path) != os.path.dirname(target):
                includers[os.path.dirname(target)].add(path)
        self.assertEqual({folder: includers[folder] for folder in DOORS}, {folder: {door} for folder, door in DOORS.items()})

    def test_the_provider_declares_all_that_authors_use(self):
        for path, text in sources("typedcall/provider"):
            outside = re.sub(r"(?ms)^namespace internal \{$.*?^\}  // namespace internal$", "", text)
            outside = re.findall(r"(?ms)^inline namespace TYPEDCALL_LAYOUT \{$(.*?)^\}  // namespace TYPEDCALL_LAYOUT$", outside)
            self.assertEqual("".join(outside).strip(), "", path)
            macros = set(re.findall(r"(?m)^#define (\w+)", text))
            self.assertEqual({name for name in macros if not name.startswith(("TYPEDCALL_INTERNAL_", "TYPEDCALL_PROVIDER_"))}, set(), path)
        with open(os.path.join(ROOT, "typedcall", "provider.h"), encoding="utf-8") as file:
            front = file.read()
        listed = re.findall(r"(?m)^//   (\w+(?:, \w+)*)  +\S.*$", front.partition("#ifndef")[0])
        names = [name for row in listed for name in row.split(", ")]
        self.assertGreater(len(names), 15)
        shown = headers_on("cpp.md")
        self.assertEqual([path for path in shown if path.startswith("typedcall/provider/")], [])
        self.assertEqual(set(names) - set().union(*map(documented, shown.values())), set())

    def test_the_reference_has_each_name_of_the_pages_and_examples(self):
        found = set().union(*map(documented, headers_on("c.md", "cpp.md").values()))
        used = {name for _, text in sources("docs", "examples", endings=(*C_FILES, ".md"))
                for name in re.findall(r"\btypedcall::(\w+)", text)}
        self.assertGreater(len(used), 40)
        # Two of them are targets of CMake.
        self.assertEqual(used - found - {"internal", "typedcall", "ffi"}, set())

    def test_what_writes_tags_in_c(self):
        defined = re.compile(r"(?m)^(?:#define|static inline (?:TYPEDCALL_COLD )?int) "
                             r"(PyTypedMethod_(?!Internal)(?:[A-Z]+_?DEF\w*|ENTRY\w*|WITH_\w+|SIBLING|\w*Tag\w*))\(")
        inside = {folder: door for folder, door in DOORS.items() if door in FOR_C_TAGS}
        inside["typedcall/tag"] = "typedcall/tag.h"
        found = {inside.get(os.path.dirname(path), path) for path, text in sources("typedcall")
                 if defined.search(text) and not path.startswith("typedcall/python/")}
        self.assertEqual(found, FOR_C_TAGS)

    def test_each_public_header_has_a_target_of_its_name(self):
        libraries = [each for folder in ("core", "typedcall") for each in header_libraries(folder)]
        owners = collections.Counter(path for _, headers, _, _ in libraries for path in headers)
        self.assertEqual([path for path, count in owners.items() if count > 1], [])
        headers = {path for path, _ in sources("core", "typedcall") if path.endswith(".h")}
        missing = {path for path in headers - set(owners) if not path.startswith("typedcall/python/")}
        self.assertEqual(missing, set())
        self.assertEqual(set(owners) - headers, set())
        named = {label[2:].replace(":", "/") + ".h" for label, *_ in libraries}
        self.assertEqual({path for path in headers if path.count("/") == 1} - named, set())

    def test_targets_depend_on_what_their_headers_include(self):
        libraries = [each for folder in ("core", "typedcall") for each in header_libraries(folder)]
        owner = {path: label for label, headers, _, _ in libraries for path in headers}
        texts = dict(sources("core", "typedcall"))
        for label, headers, deps, _ in libraries:
            with self.subTest(label):
                included = {owner[target] for path in headers for target in INCLUDE.findall(texts[path])}
                included |= {SYSTEM_TARGETS[name] for path in headers
                             for name in SYSTEM_INCLUDE.findall(texts[path])}
                self.assertEqual(sorted(deps), sorted(included - {label}))

    def test_what_is_inside_is_public_where_other_targets_include_it(self):
        libraries = [each for folder in ("core", "typedcall") for each in header_libraries(folder)]
        owner = {path: label for label, headers, _, _ in libraries for path in headers}
        public = {target for path, text in sources("core", "typedcall", "tests", "bench", "examples")
                  if not path.startswith("typedcall/python/")
                  for target in INCLUDE.findall(text) if owner[target] != owner.get(path)}
        self.assertEqual(sorted(path for *_, hdrs in libraries for path in hdrs),
                         sorted(path for path in public if path.count("/") > 1))

    def test_tests_depend_on_headers_not_on_all(self):
        for folder in ("tests", "bench"):
            for path in glob.glob(os.path.join(ROOT, folder, "**", "BUILD"), recursive=True):
                with self.subTest(os.path.relpath(path, ROOT)), open(path, encoding="utf-8") as file:
                    self.assertEqual(re.findall(r'"//(?:core|typedcall)(?::abi|:bindings)?"', file.read()), [])

    def test_adapters_are_small(self):
        package = os.path.join(ROOT, "typedcall", "python", "typedcall")
        for folder in ("sinks/callbacks", "sinks/jax", "sinks/sql", "sinks/tvm_ffi", "pypy"):
            names = [name for name in os.listdir(os.path.join(package, folder)) if name.endswith((".cc", ".h", ".py"))]
            self.assertGreater(len(names), 2)
            for name in names:
                with self.subTest(folder=folder, name=name), \
                        open(os.path.join(package, folder, name), encoding="utf-8") as file:
                    self.assertLessEqual(len(file.read().splitlines()), 300)

    def test_the_reference_has_every_public_header(self):
        top = {path: text for path, text in sources("core", "typedcall")
               if path.count("/") == 1 and path.endswith(".h")}
        self.assertGreater(len(top), 30)
        self.assertLessEqual(sum(text.count("\n") for _, text in sources("core")), 6000)
        self.assertLessEqual(len([path for path in top if path.startswith("typedcall/")]), 20)
        self.assertEqual(set(top) - set(headers_on("c.md", "cpp.md")), set(WITHOUT_REFERENCE))
        for path, reason in WITHOUT_REFERENCE.items():
            self.assertNotIn("///", top[path], "doc comments, though it has only " + reason)

    def test_readmes_say_what_the_table_says(self):
        for room, targets in ARROWS.items():
            if room == "core base":
                continue
            with self.subTest(room=room):
                with open(os.path.join(ROOT, room.replace(" ", "/"), "README.md"), encoding="utf-8") as file:
                    text = file.read()
                self.assertLessEqual(len(text.splitlines()), 16)
                said = re.search(r"May include: (.*?)\.\n", text, re.DOTALL).group(1)
                names = [name.strip() for name in said.replace("\n", " ").split(",")]
                self.assertEqual(sorted(names), sorted(targets or ["nothing"]))

    def test_contributing_says_what_the_table_says(self):
        with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
            rows = re.findall(r"(?m)^\| ((?:core|typedcall)[\w/ ]*) \| (.*) \|$", file.read())
        said = {room: [] if targets == "nothing" else targets.split(", ") for room, targets in rows}
        self.assertEqual(said, ARROWS)
