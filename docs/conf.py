"""How the site is made, by `make docs`: pages are the Markdown files of the project."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

import polyseme

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

project = "polyseme"
author = "the polyseme maintainers"
version = release = polyseme.__version__
copyright = "the polyseme maintainers, Apache-2.0"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "tools.http_reference",
]

# The source folder is that of the project, so that links between files hold here as they do there.
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "README.md",
    "benchmarks/README.md",
    "experiments/results/**",
]
exclude_patterns = [".*", "build", "dist", "native", "src", "tests", "tools"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
default_role = "py:obj"  # in docstrings, `TextModel` is a link
nb_execution_mode = "off"  # tests run the notebooks, and tools/notebooks.py keeps what they show
smartquotes_action = "qe"  # no dashes: "--copies" is an option
copybutton_exclude = ".linenos, .gp, .go"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_ivar = True
napoleon_use_rtype = False
# Several things are called n_labels, which is no link in the types of docstrings; and tables of
# experiments have small headings.
suppress_warnings = ["ref.python", "myst.header"]

linkcheck_anchors = False  # many sites make their anchors in the browser
linkcheck_ignore = [r"http://(127\.0\.0\.1|localhost)"]

html_theme = "pydata_sphinx_theme"
html_title = "polyseme"
html_favicon = "../src/polyseme/server/page/icon.svg"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_additional_pages = {"index": "to_start.html"}
templates_path = ["_templates"]
html_theme_options = {
    "logo": {"image_light": html_favicon, "image_dark": html_favicon, "text": "polyseme"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}


# What scikit-learn adds to every estimator, and what only other rooms of the package call
NOT_SHOWN = re.compile(
    r"set_\w+_request|get_metadata_routing|untrained_parts|contents|restored|count_held_out|"
    r"check_parameters|checked_threshold|least|label_numbers|trained_on|make_matcher|make_ranker|"
    r"chosen|take_chosen|beam_of_all_trees|find_senses|for_samples|own_bytes|own_work|rankings|"
    r"slot_scores"
)


def leave_out(app: Any, what: str, name: str, *_: Any) -> bool | None:
    """Say of a member whether it is not for users."""
    return True if NOT_SHOWN.fullmatch(name) else None


def set_lines(app: Any, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    """Keep the last character of `classes_`, which would make it a link, and set dashes."""
    escaped = (re.sub(r"^:(ivar|vartype) (\w+)_:", r":\1 \2\\_:", line) for line in lines)
    lines[:] = [line.replace(" -- ", " – ") for line in escaped]


def set_dashes(app: Any, doctree: nodes.document) -> None:
    """Set the dashes that Sphinx puts behind the names of attributes."""
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def setup(app: Any) -> None:
    """Adapt the reference that is made of docstrings."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("doctree-read", set_dashes)
    app.connect("autodoc-process-docstring", set_lines, priority=900)
