"""Defines the directive `public-header`, which shows the doc comments of one public header, without
the private parts of classes. The argument is only the header's file name, because inner headers may
move."""
import pathlib

from breathe.directives.file import DoxygenFileDirective

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = ("briefdescription detaileddescription innerclass innernamespace define enum typedef func var "
            "public-type public-func public-attrib public-static-func public-static-attrib user-defined")


class PublicHeader(DoxygenFileDirective):
    def run(self):
        name = self.arguments[0]
        # The Python package's headers are private; docs/Doxyfile also omits them.
        if len([path for room in ("core", "typedcall") for path in (ROOT / room).rglob(name)
                if "python" not in path.relative_to(ROOT).parts]) != 1:
            raise self.error(f"not one header is called {name}")
        self.options.setdefault("sections", SECTIONS)
        return super().run()


def setup(app):
    app.add_directive("public-header", PublicHeader)
    return {"parallel_read_safe": False}
