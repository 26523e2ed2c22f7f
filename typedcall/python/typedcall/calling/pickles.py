"""Pickles of TypedFunctions and ufuncs: they name the provider's module and the callable in it, which the
process that reads the pickle imports and asks again. An address means nothing there."""
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
    """Where a callable can be imported. Part of the pickle format: do not rename it or its fields."""

    module: str
    path: str
    #: What pip installs, "noise==1.2.2"; empty where no distribution is known to have the module.
    requirement: str

    def find(self) -> Any:
        """The callable, in this process. ImportError in one line where it is not to be had."""
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
    """Does it go on as it is? What is no Exception, sys.exit() in a module, ends a worker process wherever
    it comes out, and who waits for its result waits for ever. An interrupt is the user's."""
    return isinstance(error, (Exception, KeyboardInterrupt))


def _one_line(error: BaseException) -> str:
    return f"{type_name(error)}: {show(error.args[0] if error.args else None)}"


@functools.cache
def _requirement(module: str) -> str:
    """Of a top-level module. It may take a while, once."""
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
    except Exception:  # somebody's metadata is broken
        pass
    return ""


def in_pickle(function: Any) -> Any:
    """What a pickle has for a callable: where it can be imported; else the callable itself, which may
    know better."""
    place = import_path(function)
    if place is None:
        return function
    module, path = place
    return Provider(module, path, _requirement(module.partition(".")[0]))


def ask_again(pickled: Any, question: Callable[[Any], Any]) -> Any:
    """The answer to `question(callable)` for what in_pickle() gave. Tags that a package brings are
    loaded before."""
    function = pickled.find() if isinstance(pickled, Provider) else pickled
    if not entries(function):
        load_tags_of(function)
    try:
        return question(function)
    except TypeError as error:
        raise TypeError(f"{error}; {_difference(pickled, function)}") from error


def _difference(pickled: Any, function: Any) -> str:
    """Between this process and the one that has pickled it."""
    if not entries(function):
        return ("where it was pickled it was tagged: this process must import what tags it, or have it "
                "from an entry point (typedcall.load_tags)")
    had = pickled.requirement if isinstance(pickled, Provider) else ""
    return f"another version{f' ({had})' if had else ''} did where it was pickled"


class Unavailable:
    """What a pickle gives where the function is not to be had. A call looks for it once more, and
    raises what is wrong: an exception while a pickle is read would end a worker of Dask or
    multiprocessing, and who waits for it would not hear of it. Pickled it is the same pickle: who passes
    it on need not have the function."""

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
        # Pickle and copy ask an object for names that nobody has made yet.
        said = self.__dict__.get("_said")
        raise AttributeError(name if said is None else f"{name!r} of what is not there: {said}")

    def __repr__(self) -> str:
        return f"<typedcall: {self._said}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return read, (self._make, *self._question)


def _make(make: Callable[..., Any], question: tuple[Any, ...]) -> Any:
    """The answer. ImportError for what is no Exception, whatever code of others raised it."""
    try:
        return make(*question)
    except BaseException as error:
        if is_for_us(error):
            raise
        pickled, said = question[0], _one_line(error)
        if isinstance(pickled, Provider):
            raise pickled.lack(f"ends in {said} when it asks for it") from error
        raise ImportError(f"{show(pickled)} comes from a pickle, and to ask it ends in {said}") from error


def read(make: Callable[..., Any], *question: Any) -> Any:
    """What pickles call."""
    try:
        return _make(make, question)
    except MemoryError:
        raise
    except Exception as error:
        return Unavailable(make, question, error)


def reduce_function(
    function: Any, asked: str, capabilities: int | None, casting: str
) -> tuple[Any, ...]:
    """`__reduce__` of a TypedFunction: the question of its resolve(), which is asked again."""
    return read, (_resolve_again, in_pickle(function), asked, capabilities, casting)


def _resolve_again(pickled: Any, asked: str, capabilities: int | None, casting: str) -> Any:
    return ask_again(
        pickled,
        lambda function: resolve(function, asked, capabilities=capabilities, casting=casting),
    )


# Part of the pickle format: pickles name the module at the top of the package.
for _pickled in (Provider, read, _resolve_again):
    _pickled.__module__ = "typedcall._pickles"
