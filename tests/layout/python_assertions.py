"""Finds test methods that assert nothing, and test methods that return in the middle."""
import ast
import pathlib
import unittest

# These functions raise if the child process fails.
CHECKED_CALLS = {"check_call", "check_output"}
CASE_METHODS = {name for name in dir(unittest.TestCase) if name.startswith("assert")}
# These functions call their arguments in threads, where a failure would be lost.
THREADS = {"Thread", "Timer", "submit", "start_new_thread"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Source:
    """The functions, classes and imports of a file."""

    def __init__(self, path, tree, text):
        self.path, self.tree = path, ast.parse(text, str(path))
        self.functions, self.classes, self.methods = {}, {}, {}
        self.aliases, self.imports = {}, {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
                for inner in node.body:
                    if isinstance(inner, FUNCTIONS):
                        self.methods.setdefault(inner.name, []).append(inner)
                    elif isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Name):
                        # This is an alias such as `check = check_answers`.
                        self.aliases.update((each.id, inner.value.id) for each in inner.targets
                                            if isinstance(each, ast.Name))
            elif isinstance(node, ast.Import):
                for each in node.names:
                    self._imported(tree, each.name, each.asname or each.name, None)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    self._imported(tree, node.module, each.asname or each.name, each.name)
        for node in self.tree.body:
            if isinstance(node, FUNCTIONS):
                self.functions[node.name] = node

    def _imported(self, tree, module, name, member):
        found = tree.find(module, self.path)
        if found is not None:
            self.imports[name] = found, member


class Tree:
    """The Python files in a folder."""

    def __init__(self, folder):
        self.paths = sorted(pathlib.Path(folder).rglob("*.py"))
        self._sources, self._answers = {}, {}

    def find(self, module, importer):
        """Returns the file of a module that `importer` imports. A file in the same folder takes
        precedence."""
        named = [path for path in self.paths if path.stem == module.rpartition(".")[2]]
        beside = [path for path in named if path.parent == importer.parent]
        return (beside or (named if len(named) == 1 else [None]))[0]

    def source(self, path):
        if path not in self._sources:
            self._sources[path] = Source(path, self, path.read_text(encoding="utf-8"))
        return self._sources[path]

    def member(self, source, name):
        """Looks up a name in a module. Returns (source, function or class), or None."""
        if name in source.functions:
            return source, source.functions[name]
        if name in source.classes:
            return source, source.classes[name]
        path, member = source.imports.get(name, (None, None))
        return self.member(self.source(path), member) if member else None

    def _module(self, source, node):
        """Returns the module to which an expression refers, or None."""
        if isinstance(node, ast.Attribute):
            source, name = self._module(source, node.value), node.attr
        else:
            name = _name(node)
        path, member = source.imports.get(name, (None, None)) if source else (None, None)
        if member is None:
            return self.source(path) if path else None
        return self._module(self.source(path), ast.Name(member))

    def method(self, source, owner, name):
        """Looks up a method in a class and its bases. Returns (source, class, method)."""
        for node in owner.body:
            if isinstance(node, FUNCTIONS) and node.name == name:
                return source, owner, node
        for base in owner.bases:
            found = None
            if isinstance(base, ast.Name):
                found = self.member(source, base.id)
            elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
                path, member = source.imports.get(base.value.id, (None, None))
                found = self.member(self.source(path), base.attr) if path and not member else None
            if found and isinstance(found[1], ast.ClassDef) and found[1] is not owner:
                inherited = self.method(*found, name)
                if inherited:
                    return inherited
        return None

    def asserts(self, source, owner, function, outer=()):
        """Returns True if a function asserts something. `owner` is its class, and `outer` are the
        functions around it."""
        if function not in self._answers:
            self._answers[function] = False  # ends the recursion if functions call each other
            around = (*outer, function)
            local = {}
            for node in (node for each in around for node in _own(each)):
                if isinstance(node, FUNCTIONS):
                    local[node.name] = [(source, owner, node, around)]
                elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                    # This is a loop such as `for run in (in_this_process, in_another)`.
                    local[node.target.id] = [
                        found for each in ast.walk(node.iter)
                        if isinstance(each, (ast.Name, ast.Attribute))
                        for found in self._meant(source, owner, each, local)]
            self._answers[function] = any(
                self._is_assertion(source, owner, node, local) for node in _own(function))
        return self._answers[function]

    def _is_assertion(self, source, owner, node, local):
        if isinstance(node, ast.Assert):
            return not isinstance(node.test, ast.Constant) or not node.test.value
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            return _name(raised) in ("AssertionError", "failureException")
        if not isinstance(node, ast.Call):
            return False
        name = _name(node.func)
        if name in CHECKED_CALLS or name == "run" and any(
                each.arg == "check" and getattr(each.value, "value", None) is True
                for each in node.keywords):
            return True
        if name in CASE_METHODS and isinstance(node.func, ast.Attribute):
            # Assertions about constants do not count.
            return any(not isinstance(each, ast.Constant) for each in node.args)
        if name == "fail":
            return True
        called = self._meant(source, owner, node.func, local)
        if not called and name and name.startswith("assert_"):
            return True  # from numpy.testing
        if name not in THREADS:  # other functions may call their arguments
            called += [found for each in node.args if isinstance(each, ast.Name)
                       for found in local.get(each.id, ())]
        return any(self.asserts(*found) for found in called)

    def _meant(self, source, owner, node, local):
        """Returns the arguments of `asserts` for each function to which an expression may refer."""
        if isinstance(node, ast.Name):
            if node.id in local:
                return local[node.id]
            return _runs(self.member(source, node.id))
        if not isinstance(node, ast.Attribute):
            return []
        name, value = node.attr, node.value
        module = self._module(source, value)
        if module:
            return _runs(self.member(module, name))
        is_self = isinstance(value, ast.Name) and value.id in ("self", "cls")
        if owner and (is_self or isinstance(value, ast.Call) and _name(value.func) == "super"):
            found = self.method(source, owner, name)
            if found:
                return [found]
            if name in source.aliases:
                return _runs(self.member(source, source.aliases[name]))
        # Methods of other objects are found by name alone.
        near = [source, *map(self.source, {path for path, _ in source.imports.values()})]
        return [(each, None, method) for each in near for method in each.methods.get(name, ())]


def _own(function):
    """Returns the nodes of a function. Nested functions are left out, because they may never be
    called."""
    waiting = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))


def _name(node):
    return getattr(node, "attr", getattr(node, "id", None))


def _runs(found):
    """Returns the arguments of `asserts` for the functions that a call to this function or class
    runs."""
    source, node = found or (None, None)
    if isinstance(node, ast.ClassDef):
        return [(source, node, each) for each in node.body
                if isinstance(each, FUNCTIONS) and each.name == "__init__"]
    return [(source, None, node)] if node else []


def faults(folder):
    """Returns a message for each test method that cannot fail or may return in the middle."""
    tree, found = Tree(folder), []
    for path in tree.paths:
        if not path.name.startswith("test_") and not path.name.endswith("support.py"):
            continue
        source = tree.source(path)
        for owner in source.classes.values():
            for method in owner.body:
                if not isinstance(method, FUNCTIONS) or not method.name.startswith("test"):
                    continue
                where = "%s:%%d: %s.%s " % (path.relative_to(folder), owner.name, method.name)
                if not tree.asserts(source, owner, method):
                    found.append(where % method.lineno + "asserts nothing")
                found += [where % node.lineno + "returns in the middle: a hidden skip"
                          for node in _own(method) if isinstance(node, ast.Return)
                          and node.value is None]
    return found
