"""Sphinx configuration: `python -m sphinx -W --keep-going -b html docs build/docs`.

Building and reading the pages needs no network: formulas are plain text, fonts and scripts are
local, and there is no inventory of other projects.
"""

import re
import sys
from pathlib import Path

import fcgboost

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

project = "fcgboost"
author = "The fcgboost developers"
copyright = author
version = release = fcgboost.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["results/bench", "_templates"]
templates_path = ["_templates"]
root_doc = "index"

# Markdown.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# API reference: names in single backticks become links where there is a target.
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": [str(DOCS.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery_order.ReadingOrder",
    "download_all_examples": False,
    "reset_modules": ("matplotlib", "gallery_order.set_style"),
    "capture_repr": (),
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e6,
    "remove_config_comments": True,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("fcgboost",),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "fcgboost"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["fcgboost.css"]
html_show_sourcelink = False
html_copy_source = False
# No sidebar on pages without subpages.
html_sidebars = {
    page: [] for page in ("index", "start", "how-it-works", "gallery/index", "glossary")
}
# No table of contents next to pages with wide tables.
WIDE = (
    *("beyond", "beyond/REPORT", "findings", "benchmarks"),
    *("results/BENCHMARKS", "results/REPORT", "results/STUDIES"),
)
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "fcgboost",
    },
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE}},
    "show_nav_level": 1,
    "show_toc_level": 2,
}


def name_anchors(app, docname, source):
    """Turn the HTML anchors of generated reports into Markdown labels."""
    # Labels are global, and every report has a section of this name.
    if docname == "beyond/REPORT":
        source[0] = re.sub(r'(?<=["#])circumstances(?=[")])', "beyond-circumstances", source[0])
    source[0] = re.sub(r'^<a id="([\w-]+)"></a>$', r"(\1)=", source[0], flags=re.MULTILINE)


def include(app, docname, source):
    """Put in texts of the repository, with links as they are from here."""

    def text_of(found):
        text = (DOCS.parent / found[1]).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        return re.sub(r"\]\(([A-Z]+)\.md", lambda link: f"]({link[1].lower()}.md", text)

    source[0] = re.sub(r"```\{include\} \.\./(\w+\.md)\n```", text_of, source[0])


def read_literally(app, what, name, obj, options, lines):
    """Escape |x| and names such as n_iter_, which docutils takes for references.

    Docstrings are read in editors more often than here, so they contain no escapes.
    """
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "..")):
            parts = re.split(r"(``.*?``|`[^`]*`)", line)
            parts[::2] = [
                re.sub(r"(?<!\\)\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]
            ]
            lines[i] = "".join(parts)


def setup(app):
    app.connect("source-read", include)
    app.connect("source-read", name_anchors)
    # After numpydoc, which has the default priority.
    app.connect("autodoc-process-docstring", read_literally, priority=900)
