"""The directive `public-header`: the doc comments of one header that people include, from Doxygen
by Breathe, without the private parts of classes. It takes the
header's name: where an inner one is may change."""
import pathlib

from breathe.directives.file import DoxygenFileDirective

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = ("briefdescription detaileddescription innerclass innernamespace define enum typedef func var "
            "public-type public-func public-attrib public-static-func public-static-attrib user-defined")


class PublicHeader(DoxygenFileDirective):
    def run(self):
        name = self.arguments[0]
        # The Python package's are its own: docs/Doxyfile leaves them out, too.
        if len([path for room in ("core", "typedcall") for path in (ROOT / room).rglob(name)
                if "python" not in path.relative_to(ROOT).parts]) != 1:
            raise self.error(f"not one header is called {name}")
        self.options.setdefault("sections", SECTIONS)
        return super().run()


def setup(app):
    app.add_directive("public-header", PublicHeader)
    return {"parallel_read_safe": False}
