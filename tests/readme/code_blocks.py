"""The code blocks of the project's pages, and how each is tested. A comment above a block can be:

        <!-- test: file NAME -->       the block is a file in the page's folder, which later blocks use
        <!-- test: output -->          the output of the last command; `...` stands for any text
    <!-- test: around
        code with a line `@@` in place of the block, and ROOT for the repository
        -->                            the block is a fragment, and this surrounds it
        <!-- test: needs NAME ... -->  the block is skipped without these modules or programs
        <!-- test: not run: REASON --> not run; the tests count these

A page with `<!-- page: needs NAME ... -->` is skipped without these modules, programs or interpreters (`cpython` or
`pypy`). Without a comment, a `c` or `cpp` block is compiled. A `python` block is run, as a doctest if it contains
`>>>`. Each line of an `sh` block is run. A comment three spaces after `print(...)` or a command is the expected
output."""
import contextlib
import doctest
import importlib.util
import io
import os
import pathlib
import re
import shlex
import shutil
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))  # the package's tests, which run pages directly, need this
import processes  # noqa: E402

FENCE = re.compile(r"(?ms)((?:^<!-- test:.*?-->\s*?\n\s*)*)^```([\w{}:-]*)[^\n]*\n(.*?)^```$")
COMMENT = re.compile(r"(?s)<!-- test: (.*?)\s*-->")
PAGE_NEEDS = re.compile(r"<!-- page: needs ([^>]*?) -->")
#: Blocks in these languages are tested without a comment.
LANGUAGES = {"c": ".c", "cpp": ".cc", "python": ".py", "sh": ".sh"}
IMPLEMENTATIONS = ("cpython", "pypy")
#: Programs come from the environment of the running interpreter.
PROGRAMS = os.path.dirname(sys.executable)
FLAGS = {"c": ["-std=c99"], "cpp": ["-std=c++17"]}


class Block:
    def __init__(self, path, line, comments, language, text):
        self.path, self.line, self.language, self.text = path, line, language, text
        self.file = self.reason = self.around = None
        self.is_output, self.needs = False, []
        for comment in comments:
            word, _, rest = comment.partition(" ")
            if word == "file":
                self.file = rest
            elif comment.startswith("not run: "):
                self.reason = comment[len("not run: "):]
            elif comment == "output":
                self.is_output = True
            elif word == "needs":
                self.needs = rest.split()
            elif word.split("\n")[0] == "around":
                self.around = comment.partition("\n")[2]
            else:
                raise ValueError("%s: an unknown comment: %s" % (self, comment))

    def __str__(self):
        return "%s:%d" % (self.path, self.line)

    @property
    def is_tested(self):
        return self.reason is None


def pages():
    """Returns the pages whose blocks are tested."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if path.exists()]


def blocks(path):
    """Returns the fenced blocks of a page in order, without Sphinx directives."""
    return blocks_of(path.read_text(encoding="utf-8"), path.relative_to(ROOT))


def blocks_of(text, path):
    found = []
    for match in FENCE.finditer(text):
        comments, language, code = match.groups()
        if language.startswith("{"):
            continue
        line = text.count("\n", 0, match.start(2)) + 1
        found.append(Block(path, line, COMMENT.findall(comments), language, code))
    return found


def _needs(path):
    text = path.read_text(encoding="utf-8")
    return [name for needed in PAGE_NEEDS.findall(text) for name in needed.split()]


def is_for_this_python(path):
    """Returns False if the page is for other implementations of Python."""
    return all(name == sys.implementation.name for name in _needs(path) if name in IMPLEMENTATIONS)


def missing(path):
    """Returns the names of missing modules or programs that the page needs."""
    return missing_of(_needs(path))


def missing_of(names):
    for name in names:
        if name in IMPLEMENTATIONS:
            if sys.implementation.name != name:
                return "the page is for %s" % name
        elif importlib.util.find_spec(name) is None and shutil.which(
                name, path=os.pathsep.join([PROGRAMS, os.environ.get("PATH", "")])) is None:
            return "%s is not installed" % name
    return ""


def commands(text):
    """Returns (command, expected output or None) for each line."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        command, _, expected = line.partition("   #")
        if command.strip() and not command.startswith("#"):
            yield command.strip(), expected.strip() if "   #" in line else None


def library_flags():
    """Returns the include paths of the installed binding libraries."""
    flags = []
    for name, call in (("pybind11", "get_include"), ("nanobind", "include_dir")):
        if importlib.util.find_spec(name) is not None:
            flags.append("-I" + getattr(importlib.import_module(name), call)())
    return flags


class Folder:
    """The folder and environment for the blocks of a page. `flags` are compiler options, and
    `include_root` replaces the folder in `-I.`."""

    def __init__(self, folder, flags=(), include_root=ROOT):
        self.folder = pathlib.Path(folder)
        self.flags = [*flags, *library_flags()]
        self.include_root = str(include_root)
        self.printed = ""
        self.scope = {"__name__": "__main__"}
        programs = self.folder / "bin"
        programs.mkdir()
        # In the pages, `python3` is the interpreter under test.
        includes = " ".join("-I" + shlex.quote(path) for path in sorted(
            {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}))
        for name, script in [("python", 'exec %s "$@"' % shlex.quote(sys.executable)),
                             ("python3", 'exec %s "$@"' % shlex.quote(sys.executable)),
                             ("pypy3", 'exec %s "$@"' % shlex.quote(sys.executable)),
                             ("python3-config", "echo %s" % shlex.quote(includes))]:
            (programs / name).write_text("#!/bin/sh\n%s\n" % script)
            (programs / name).chmod(0o755)
        path = [str(programs), PROGRAMS, os.environ.get("PATH", "")]
        # Child processes must not load the sanitizer.
        self.environment = dict(processes.UNSANITIZED, PATH=os.pathsep.join(path), PYTHONPATH=str(self.folder))

    def run(self, block):
        """Raises AssertionError if the block does not work as described."""
        if block.reason is not None or missing_of(block.needs):
            return
        if block.is_output:
            self.compare(block, block.text, self.printed)
        elif block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "sh":
            self.run_commands(block)
        elif block.language == "python":
            self.run_python(block)
        elif block.language in FLAGS:
            self.compile(block)
        else:
            raise AssertionError("%s: there is no rule for testing a block of '%s'" % (block, block.language))

    def run_commands(self, block):
        self.printed = ""
        for command, expected in commands(block.text):
            command = re.sub(r"(^|\s)-I\.(?=\s|$)",
                             r"\1-I" + shlex.quote(self.include_root), command)
            ended = processes.run(["bash", "-c", command], cwd=self.folder, together=True, check=False,
                                  environment=self.environment)
            if ended.status != 0:
                raise AssertionError("%s: %s\n%s" % (block, command, ended.out))
            if command.startswith("cd ") and " " not in command[3:]:
                self.folder = self.folder / command[3:]
            if expected is not None:
                self.compare(block, expected + "\n", ended.out.strip() + "\n")
            self.printed += ended.out

    def run_python(self, block):
        self.scope.pop("__builtins__", None)
        with self.importing():
            if ">>>" in block.text:
                parsed = doctest.DocTestParser().get_doctest(
                    block.text, self.scope, str(block), str(block.path), block.line)
                said = []
                flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                runner = doctest.DocTestRunner(optionflags=flags)
                runner.run(parsed, out=said.append, clear_globs=False)
                self.scope.update(parsed.globs)
                if runner.failures:
                    raise AssertionError("%s\n%s" % (block, "".join(said)))
            else:
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    exec(compile("\n" * block.line + block.text, str(block.path), "exec"),
                         self.scope)
                expected = re.findall(r"(?m)^print\(.*?\S\s{2,}# (.*)$", block.text)
                if expected:
                    self.compare(block, "\n".join(expected) + "\n", said.getvalue())

    @contextlib.contextmanager
    def importing(self):
        """Makes the modules in the folder importable inside the `with` block."""
        sys.path.insert(0, str(self.folder))
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(str(self.folder))

    def compile(self, block):
        code = block.text
        if block.around is not None:
            before, found, after = ("\n" + block.around + "\n").replace("ROOT", str(ROOT)).partition("\n@@\n")
            if not found:
                raise AssertionError("%s: no line @@ for the block" % block)
            code = before + "\n" + code + after
        source = self.folder / ("block%d%s" % (block.line, LANGUAGES[block.language]))
        source.write_text(code)
        variable, usual = ("CC", "cc") if block.language == "c" else ("CXX", "c++")
        command = [*shlex.split(os.environ.get(variable, usual)), *FLAGS[block.language], "-Wall",
                   "-Wextra", "-Werror", "-fsyntax-only", *self.flags, str(source)]
        ended = processes.run(command, cwd=self.folder, together=True, check=False)
        if ended.status != 0:
            raise AssertionError("%s\n%s" % (block, ended.out))

    def compare(self, block, expected, printed):
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        if not doctest.OutputChecker().check_output(expected, printed, flags):
            raise AssertionError("%s: expected\n%sprinted\n%s" % (block, expected, printed))
