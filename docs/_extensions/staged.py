"""Stages the site's pages: those of docs/, README, CHANGELOG, CONTRIBUTING, the examples, and a page
for each other file that one of them links to. Usage: python3 docs/_extensions/staged.py FOLDER"""
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# An image or a link to a file. Links to other sites have a colon.
LINK = re.compile(r"(!?)\[([^][]*)\]\(([^()\s:#]+)(#[^()\s]*)?\)")
#: The page that lists the examples' pages.
EXAMPLES = pathlib.Path("examples", "index.md")
LANGUAGES = {".h": "cpp", ".cc": "cpp", ".c": "c", ".py": "python", ".pyx": "cython", ".json": "json", ".toml": "toml",
             ".md": "markdown", ".rs": "rust", "": "bash"}


def page_of(path):
    """Returns where the site has a file of the repository, relative to the site's root."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    own = path.relative_to(ROOT)
    if own.parts[0] == "examples" and own.name == "README.md":
        folder = own.parent
        return EXAMPLES if folder.name == "examples" else folder.with_suffix(".md")
    if len(own.parts) == 1 and own.suffix == ".md":
        return pathlib.Path(own.name.lower())
    return pathlib.Path("files", str(own) + ("" if own.suffix == ".md" else ".md"))


class Stage:
    def __init__(self, folder):
        self.folder = folder
        self.done = set()

    def add(self, path):
        """Writes the page of a file, and the pages of the files that it links to."""
        if path in self.done:
            return
        self.done.add(path)
        target = self.folder / page_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_relative_to(DOCS) and path.suffix != ".md":
            shutil.copyfile(path, target)
        elif path.suffix == ".md":
            target.write_text(self.rewritten(path), encoding="utf-8")
        else:
            text = path.read_text(encoding="utf-8")
            language = "text" if path.name in ("LICENSE", "NOTICE") else LANGUAGES.get(path.suffix, "text")
            target.write_text(f"---\norphan: true\n---\n# {path.relative_to(ROOT)}\n\n"
                              f"``````{{code-block}} {language}\n{text}\n``````\n", encoding="utf-8")

    def rewritten(self, path):
        """Returns the text of a page whose links lead to pages of the site."""
        own = page_of(path)

        def replaced(link):
            mark, text, target, anchor = link.groups()
            found = (path.parent / target).resolve()
            if found.is_dir() and (found / "README.md").exists():
                found = found / "README.md"
            if not found.is_relative_to(ROOT) or not found.is_file():
                return text if found.is_dir() else link.group()
            self.add(found)
            up = "../" * (len(own.parts) - 1)
            kept = anchor if anchor and found.suffix == ".md" else ""
            return f"{mark}[{text}]({up}{page_of(found).as_posix()}{kept})"

        # Links may be broken across lines, but there are none in code blocks.
        parts = re.split(r"(?ms)(^ *```.*?^ *```+ *$)", path.read_text(encoding="utf-8"))
        text = "".join(part if i % 2 else LINK.sub(replaced, part) for i, part in enumerate(parts))
        if own == EXAMPLES:
            text += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n*/*\n```\n"
        is_orphan = own.parts[0] == "files"
        return ("---\norphan: true\n---\n" if is_orphan else "") + text


def main(folder):
    stage = Stage(pathlib.Path(folder).resolve())
    for path in sorted(DOCS.rglob("*")):
        if path.is_file() and path.suffix in (".md", ".svg"):
            stage.add(path)
    for path in [*ROOT.glob("*.md"), *ROOT.glob("examples/**/README.md")]:
        stage.add(path)


if __name__ == "__main__":
    main(sys.argv[1])
