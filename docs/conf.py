"""How the site is made, by `make docs`: pages are the Markdown files of the project."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polyseme

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

project = "polyseme"
author = "the polyseme maintainers"
version = release = polyseme.__version__
copyright = "the polyseme maintainers, Apache-2.0"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
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

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_ivar = True
napoleon_use_rtype = False
# Several things are called n_labels, which is no link in the types of docstrings; and tables of
# experiments have small headings.
suppress_warnings = ["ref.python", "myst.header"]

html_theme = "pydata_sphinx_theme"
html_title = "polyseme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_additional_pages = {"index": "to_start.html"}
templates_path = ["_templates"]
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app: Any) -> None:
    """Leave out what scikit-learn adds to every estimator for routing of metadata."""
    added = re.compile(r"set_\w+_request|get_metadata_routing")
    app.connect(
        "autodoc-skip-member", lambda app, what, name, *_: True if added.fullmatch(name) else None
    )
