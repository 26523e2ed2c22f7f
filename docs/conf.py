"""The Sphinx configuration for these pages; tools/docs builds them. Doxygen and Breathe read the
headers; python_api.py reads the Python package."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

project = "typedcall"
author = "typedcall developers"
version = re.search(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[1]
# Furo shows no version, so the footer has it here.
copyright = f"2026 {author}. Version {version}"
html_title = f"typedcall {version}"
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["pictures.css"]

extensions = ["myst_parser", "sphinx_design", "breathe", "python_api", "public_header"]
exclude_patterns = ["requirements.txt"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Each header declares the namespace again, which Sphinx would report.
suppress_warnings = ["duplicate_declaration.cpp"]

highlight_language = "none"
nitpicky = False

breathe_default_project = "typedcall"
breathe_default_members = ("members",)
breathe_show_include = False
breathe_domain_by_extension = {"h": "cpp"}


def run_doxygen(app):
    """Runs Doxygen, which writes XML next to Sphinx's doctrees."""
    folder = pathlib.Path(app.doctreedir).parent / "doxygen"
    folder.mkdir(parents=True, exist_ok=True)
    settings = (ROOT / "docs" / "Doxyfile").read_text(encoding="utf-8")
    settings += f"\nOUTPUT_DIRECTORY = {folder}\n"
    subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, cwd=ROOT)
    app.config.breathe_projects = {"typedcall": str(folder / "xml")}


def setup(app):
    app.connect("builder-inited", run_doxygen)
