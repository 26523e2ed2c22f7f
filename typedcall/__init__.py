"""Replaces itself with the installed package, because this folder only holds the headers. Python
imports this folder first if the repository's root is on sys.path (`python -m pytest` in the root).
If the package is not installed, `import typedcall` explains how to install it."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # when type checkers run in the root, every name in the package is Any
    from typing import Any

    def __getattr__(name: str) -> Any: ...

else:

    def _become_the_package() -> None:
        import os
        import sys

        def is_of_headers(folder):
            return os.path.isfile(os.path.join(folder, "typed_method.h"))

        def installed():
            elsewhere = [entry for entry in sys.path if isinstance(entry, str)
                         and not is_of_headers(os.path.join(entry, "typedcall"))]
            for finder in sys.meta_path:
                find_spec = getattr(finder, "find_spec", None)
                spec = find_spec("typedcall", elsewhere) if find_spec is not None else None
                # The specs of folders without __init__.py have no location.
                if (spec is not None and spec.has_location
                        and not is_of_headers(os.path.dirname(spec.origin))):
                    return spec
            return None

        spec = installed()
        if spec is None:
            here = os.path.dirname(os.path.abspath(__file__))
            raise ModuleNotFoundError(
                f"typedcall is not installed; {here} is only the folder of its C headers. "
                f"Install it: pip install {os.path.dirname(here)}", name="typedcall")
        module = sys.modules[__name__]
        del module._become_the_package, module.TYPE_CHECKING
        module.__file__, module.__path__ = spec.origin, spec.submodule_search_locations
        module.__loader__, module.__cached__ = spec.loader, spec.cached
        spec.loader.exec_module(module)
        # This comes last because the old spec tells other threads that the import is not finished.
        module.__spec__ = spec

    _become_the_package()
