"""How the documentation is built: `make docs`, then open build/docs/index.html."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import calibrant

project = "calibrant"
author = "The calibrant developers"
version = release = calibrant.__version__
project_copyright = author
html_show_copyright = False

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "reference_pages",
]
exclude_patterns = ["_ext", "gallery/README.txt"]
nitpicky = False
show_warning_types = True

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
templates_path = ["_templates"]

# No mathematics, font or script from another machine: formulas are written as MathML when the pages are built.
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "calibrant"
html_static_path = ["_static"]
html_css_files = ["calibrant.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 6,
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "tango",
}
html_sidebars = {"index": [], "changelog": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1000,
    "remove_config_comments": True,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "notebook_extensions": set(),
    "reference_url": {"calibrant": None},
    "doc_module": ("calibrant",),
    "backreferences_dir": "reference/backreferences",
}
