"""The import hook of typedcall.accelerate_imports, which accelerates modules after they have been executed."""
from __future__ import annotations

import importlib.machinery
import sys
import threading
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from typedcall.pypy.acceleration import IS_PYPY, Acceleration, accelerate
from typedcall.pypy.trust import read_trust
from typedcall.tools.foreign import few

__all__ = ["ImportHook", "accelerate_imports"]


class _Loader:
    """Replaces a module's loader until the module is executed. Then restores the original loader."""

    def __init__(self, loader: Any, hook: ImportHook) -> None:
        self._loader = loader
        self._hook = hook

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = getattr(module, "__spec__", None)
        if spec is not None and spec.loader is self:
            spec.loader = self._loader
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = self._loader
        self._loader.exec_module(module)
        # The module may have replaced itself in sys.modules.
        self._hook.accelerate(sys.modules.get(module.__name__, module))


class ImportHook:
    """Accelerates the modules named in `modules`, and their submodules. "*" stands for all extension modules. Modules
    are accelerated when they are imported or reloaded, or at once if they have already been imported. The hook is
    removed by remove(), or at the end of a `with` block. Modules stay accelerated. Other finders and loaders work as
    before. On CPython, nothing is installed.

    `trust` is "thread_safe" or "pure", as for accelerate(), and applies to all functions of these modules. A list of
    names can only be passed to accelerate(). Raises TypeError for a list of names, and if `modules` is neither a str
    nor an iterable of strs."""

    def __init__(self, modules: str | Iterable[str], *, trust: Any = None) -> None:
        names = [modules] if isinstance(modules, str) else list(modules)
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"names of modules are needed, not {name!r:.200}")
        self._names = tuple(names)
        if read_trust(trust).names is not None:
            raise TypeError("names are one module's: give them to accelerate(module, trust=...) when it is imported")
        self._trust = trust
        self._searching = threading.local()
        #: The results of accelerate(), by module name. "*" omits modules without typed functions.
        self.results: dict[str, Acceleration] = {}
        if not IS_PYPY:
            return
        sys.meta_path.insert(0, self)
        for name, module in list(sys.modules.items()):
            spec = getattr(module, "__spec__", None)
            being_imported = getattr(spec, "_initializing", False)
            if self._wants(name, getattr(spec, "loader", None)) and not being_imported:
                self.accelerate(module)

    def _names_it(self, name: str) -> bool:
        return any(name == each or name.startswith(each + ".") for each in self._names)

    def _wants(self, name: str, loader: Any) -> bool:
        if loader is None:  # namespace packages have no loader
            return False
        if self._names_it(name):
            return True
        while isinstance(loader, _Loader):
            loader = loader._loader
        # Only extension modules define typed functions.
        is_extension = isinstance(loader, importlib.machinery.ExtensionFileLoader)
        return is_extension and "*" in self._names

    def accelerate(self, module: Any) -> None:
        """Accelerates a module that the hook is meant for."""
        if isinstance(module, ModuleType):
            done = accelerate(module, trust=self._trust)
            if done or done.refused or self._names_it(module.__name__):
                self.results[module.__name__] = done

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> Any | None:
        """Finds a spec through the other finders, and replaces its loader."""
        if getattr(self._searching, "name", None) == name:  # called by another ImportHook
            return None
        before = getattr(self._searching, "name", None)
        self._searching.name = name
        try:
            spec = self._ask_others(name, path, target)
        finally:
            self._searching.name = before
        if spec is None or not self._wants(name, spec.loader):
            return spec
        if hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self)
        return spec

    def _ask_others(self, name: str, path: Any, target: Any) -> Any | None:
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec = find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    @property
    def active(self) -> bool:
        """True if the hook is among the finders."""
        return any(finder is self for finder in sys.meta_path)

    def remove(self) -> None:
        """Removes the hook. Repeating it changes nothing."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]

    def __enter__(self) -> ImportHook:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.remove()

    def __repr__(self) -> str:
        names: list[str] = list(self._names)
        return "<typedcall import hook for {}{}>".format(
            few(names),
            "" if self.active else ", not installed",
        )


def accelerate_imports(modules: str | Iterable[str], *, trust: Any = None) -> ImportHook:
    """Accelerates modules when they are imported, or at once if they already have been. Returns the ImportHook."""
    return ImportHook(modules, trust=trust)
