"""Pickles of TypedFunctions and ufuncs. Pickles store the import path of the callable, because an address is
meaningless in another process."""
from __future__ import annotations

import functools
import importlib
import importlib.metadata
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from typedcall.calling.api import entries, resolve
from typedcall.calling.tag_modules import load_tags_of
from typedcall.tools.foreign import import_path, show, type_name

__all__ = ["Provider", "Unavailable", "ask_again", "in_pickle", "read", "reduce_function"]


class Provider(NamedTuple):
    """The place from which a callable is imported. This class is part of the pickle format: do not rename it or its
    fields."""

    module: str
    path: str
    #: The argument for pip install, such as "noise==1.2.2"; empty if the module's distribution is unknown.
    requirement: str

    def find(self) -> Any:
        """Returns the callable. Raises ImportError, with a text of one line, if it is not available."""
        try:
            found: Any = sys.modules.get(self.module) or importlib.import_module(self.module)
        except ImportError as error:
            raise self.lack(f"cannot import '{self.module}' ({error})") from error
        except BaseException as error:
            if is_for_us(error):
                raise
            raise self.lack(f"cannot import '{self.module}' ({_one_line(error)})") from error
        try:
            for step in self.path.split("."):
                found = getattr(found, step)
        except AttributeError as error:
            raise self.lack(f"has no '{self.path}' in '{self.module}'") from error
        return found

    def lack(self, what: str) -> ImportError:
        return ImportError(
            f"{self.module}.{self.path} comes from a pickle, and this process {what}: "
            f"{self._what_to_do()}",
            name=self.module,
        )

    def _what_to_do(self) -> str:
        if self.module == "__main__":
            return "put it into a module that every process can import"
        if self.requirement:
            return f"install {self.requirement} here"
        return f"put the file of '{self.module}' on the path here"


def is_for_us(error: BaseException) -> bool:
    """True if the exception must propagate unchanged. The SystemExit of a module that calls sys.exit() must not
    propagate, because it would end a worker process. KeyboardInterrupt must propagate, because it comes from the
    user."""
    return isinstance(error, (Exception, KeyboardInterrupt))


def _one_line(error: BaseException) -> str:
    return f"{type_name(error)}: {show(error.args[0] if error.args else None)}"


@functools.cache
def _requirement(module: str) -> str:
    """Returns the pip requirement for a top-level module, or ""."""
    try:
        names = [module]
        try:
            importlib.metadata.version(module)
        except importlib.metadata.PackageNotFoundError:
            names = []
            if sys.version_info >= (3, 10):
                names = importlib.metadata.packages_distributions().get(module, [])
        if len(set(names)) == 1:
            return f"{names[0]}=={importlib.metadata.version(names[0])}"
    except MemoryError:
        raise
    except Exception:  # metadata may be broken in any way
        pass
    return ""


def in_pickle(function: Any) -> Any:
    """Returns the import path of a callable for a pickle or, if it has none, the callable, which may be picklable."""
    place = import_path(function)
    if place is None:
        return function
    module, path = place
    return Provider(module, path, _requirement(module.partition(".")[0]))


def ask_again(pickled: Any, question: Callable[[Any], Any]) -> Any:
    """Returns `question(callable)` for the result of in_pickle(). If the callable has no entries, the tags that
    packages provide are loaded first."""
    function = pickled.find() if isinstance(pickled, Provider) else pickled
    if not entries(function):
        load_tags_of(function)
    try:
        return question(function)
    except TypeError as error:
        raise TypeError(f"{error}; {_difference(pickled, function)}") from error


def _difference(pickled: Any, function: Any) -> str:
    """Describes how this process differs from the one that wrote the pickle."""
    if not entries(function):
        return ("it was tagged where it was pickled: this process must import the module that tags it, or have an "
                "entry point that does (typedcall.load_tags)")
    had = pickled.requirement if isinstance(pickled, Provider) else ""
    return f"another version{f' ({had})' if had else ''} did where it was pickled"


class Unavailable:
    """Replaces a pickled function that is not available in this process. Each call looks for the function again, and
    raises the error if the function is still missing. An exception during unpickling would end a Dask or
    multiprocessing worker without any message. Pickling this object writes the pickle of the original function."""

    def __init__(
        self, make: Callable[..., Any], question: tuple[Any, ...], error: Exception
    ) -> None:
        self._make = make
        self._question = question
        self._said = str(error)
        self._found: Any = None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self._found is None:
            self._found = _make(self._make, self._question)
        return self._found(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        # pickle and copy look up attributes before __init__ has run.
        said = self.__dict__.get("_said")
        raise AttributeError(name if said is None else f"{name!r:.200} of a function that is not available: {said}")

    def __repr__(self) -> str:
        return f"<typedcall: {self._said}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return read, (self._make, *self._question)


def _make(make: Callable[..., Any], question: tuple[Any, ...]) -> Any:
    """Returns `make(*question)`. Converts exceptions that could end the process to ImportError; see is_for_us()."""
    try:
        return make(*question)
    except BaseException as error:
        if is_for_us(error):
            raise
        pickled, said = question[0], _one_line(error)
        if isinstance(pickled, Provider):
            raise pickled.lack(f"gets {said} from looking it up") from error
        raise ImportError(f"{show(pickled)} comes from a pickle, and looking it up raises {said}") from error


def read(make: Callable[..., Any], *question: Any) -> Any:
    """Reads a pickled object. Pickles store a call to this function."""
    try:
        return _make(make, question)
    except MemoryError:
        raise
    except Exception as error:
        return Unavailable(make, question, error)


def reduce_function(
    function: Any, asked: str, capabilities: int | None, casting: str
) -> tuple[Any, ...]:
    """Returns the `__reduce__` value of a TypedFunction."""
    return read, (_resolve_again, in_pickle(function), asked, capabilities, casting)


def _resolve_again(pickled: Any, asked: str, capabilities: int | None, casting: str) -> Any:
    return ask_again(
        pickled,
        lambda function: resolve(function, asked, capabilities=capabilities, casting=casting),
    )


# Pickles refer to these names in typedcall._pickles.
for _pickled in (Provider, read, _resolve_again):
    _pickled.__module__ = "typedcall._pickles"
