"""Defines the directive `public-name`, which shows the signature and docstring of one public name
of the Python package. The directive reads the sources, so the package need not be imported or
compiled. A public name that is on no page causes a warning."""
import ast
import inspect
import pathlib

import docutils.nodes
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = next(path.parent for path in ROOT.glob("typedcall/python/**/py.typed"))


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def public_names():
    """Returns the names that typedcall/__init__.py lists in `__all__`."""
    for node in ast.walk(tree_of(PACKAGE / "__init__.py")):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return ast.literal_eval(node.value)
    raise LookupError("typedcall has no __all__")


def files_of_imports(path):
    """Yields (name, file) for each name that a file imports from the package. The name may be
    defined in that file."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.level or "typedcall" in node.module):
            module = (node.module or "").replace("typedcall.", "", 1)
            base = PACKAGE.joinpath(*module.split("."))
            for imported in node.names:
                for file in (base.with_suffix(".py"), base.with_suffix(".pyi"), base / "__init__.py"):
                    if file.exists():
                        yield imported.name, file


def is_overload(node):
    return any(getattr(decorator, "id", None) == "overload" for decorator in node.decorator_list)


def definition(name, path=PACKAGE / "__init__.py"):
    """Returns the node of a function or class, following imports to its definition."""
    for node in tree_of(path).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name and not is_overload(node):
            return node
    for imported, file in files_of_imports(path):
        if imported == name:
            return definition(name, file)
    raise LookupError(f"typedcall.{name} is not defined in {path}")


def signature(node):
    returns = " -> " + ast.unparse(node.returns) if node.returns else ""
    return f"({ast.unparse(node.args)}){returns}"


def documented(node, indent):
    text = ast.get_docstring(node) or ""
    # In docstrings, text in backticks and indented text are code.
    text = text.replace("``", "`").replace("`", "``").replace("*.", "\\*.")
    lines = []
    before = ""
    for line in inspect.cleandoc(text).splitlines():
        if line.startswith("    ") and not before.strip():
            lines += ["", "::", ""] if "::" not in lines[-3:] else []
        lines.append(line)
        before = line
    return [indent + line if line else "" for line in lines]


def is_property(node):
    return any(getattr(decorator, "id", None) == "property" for decorator in node.decorator_list)


def members(node):
    """Yields (directive, node) for each public attribute and method of a class."""
    for member in node.body:
        name = getattr(member, "name", None) or getattr(getattr(member, "target", None), "id", None)
        if isinstance(member, ast.Assign):
            name = getattr(member.targets[0], "id", None)
        if name is None or (name.startswith("_") and name != "__call__"):
            continue
        if isinstance(member, ast.FunctionDef) and not is_property(member):
            arguments = ast.unparse(member.args).replace("self, ", "", 1).replace("self", "", 1)
            yield f".. py:method:: {name}({arguments})", member
        elif isinstance(member, ast.FunctionDef):
            yield f".. py:property:: {name}", member
        elif isinstance(member, (ast.Assign, ast.AnnAssign)):
            value = " = " + ast.unparse(member.value) if isinstance(member, ast.Assign) else ""
            yield f".. py:attribute:: {name}{value}", member


class PublicName(SphinxDirective):
    """The directive `public-name`. The content of the directive is put after the docstring."""

    required_arguments = 1
    has_content = True

    def run(self):
        name = self.arguments[0]
        self.env.domaindata.setdefault("typedcall_names", set()).add(name)
        node = definition(name)
        is_class = isinstance(node, ast.ClassDef)
        kind = "class" if is_class else "function"
        lines = [".. py:{}:: typedcall.{}{}".format(kind, name, "" if is_class else signature(node)), ""]
        lines += documented(node, "   ") + [""]
        lines += ["   " + line for line in self.content] + [""]
        for directive, member in members(node) if is_class else ():
            lines += ["   " + directive, ""]
            if isinstance(member, ast.FunctionDef):
                lines += documented(member, "      ") + [""]
        # Pages are Markdown, but docstrings are reStructuredText.
        lines = ["``````{eval-rst}", *lines, "``````"]
        container = docutils.nodes.Element()
        self.state.nested_parse(StringList(lines, source=name), self.content_offset, container)
        return container.children


def check_names(app, env):
    missing = set(public_names()) - env.domaindata.get("typedcall_names", set())
    if missing:
        logger.warning("public names of the package without documentation: %s", sorted(missing))


def setup(app):
    app.add_directive("public-name", PublicName)
    app.connect("env-check-consistency", check_names)
    return {"parallel_read_safe": False}
