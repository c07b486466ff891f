"""Sphinx configuration: Markdown pages, the API from the docstrings, nothing fetched from the network."""

import inspect
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from cladist import __version__

project = "cladist"
author = "The cladist developers"
copyright = "2026, The cladist developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# In docstrings, `name` is code, and a link where the name is one of ours.
default_role = "py:obj"
autosummary_generate = True
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # the list of members on the right is narrow
autodoc_typehints = "none"  # the docstrings say what is wanted, in words
autodoc_mock_imports = ["river"]  # an extra that building the pages does not need
numpydoc_show_class_members = False  # the class template lists them

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = f"cladist {release}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_static_path = ["_static"]
html_sidebars = {page: [] for page in ("quickstart", "command-line", "mathematics")}  # they have no subpages
html_css_files = ["cladist.css"]
# Formulas are written into the pages as MathML, which browsers draw by themselves; MathJax would be fetched.
html_math_renderer = "mathml"


def leave_out_foreign(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from other libraries: their manuals describe it, and link within."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    # Methods written in C say which class they belong to instead of their module.
    module = getattr(function, "__module__", None) or getattr(
        getattr(function, "__objclass__", None), "__module__", None
    )
    foreign = what == "class" and isinstance(module, str) and not module.startswith("cladist")
    return True if foreign else None


def show_parameters(
    app: Sphinx, what: str, name: str, member: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Return the signature of learners: Sphinx finds that of the check before `__init__`, which takes anything."""
    if what != "class" or signature != "(*args, **kwargs)":
        return None
    found = inspect.signature(member)
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in found.parameters.values()]
    return str(found.replace(parameters=parameters, return_annotation=found.empty)), returns


def write_inline_math(writer: Any, node: nodes.Element) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def write_block_math(writer: Any, node: nodes.Element) -> None:
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.connect("autodoc-skip-member", leave_out_foreign)
    app.connect("autodoc-process-signature", show_parameters)
    app.add_html_math_renderer("mathml", (write_inline_math, None), (write_block_math, None))
