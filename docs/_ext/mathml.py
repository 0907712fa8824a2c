"""Formulas as MathML, written when the pages are built: browsers show it without a script."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError

UNKNOWN = ((r"\\([bB]igg?|textstyle)(?![a-zA-Z])", ""), (r"\\dots(?![a-zA-Z])", r"\\ldots"))
"""What docutils does not know, and what it is read as: sizes of brackets are left to the browser."""


def _written(node: nodes.Element, *, block: bool) -> str:
    source = node.astext()
    for pattern, known in UNKNOWN:
        source = re.sub(pattern, known, source)
    if block and r"\\" in source and r"\begin" not in source:
        source = rf"\begin{{aligned}}{source}\end{{aligned}}"
    try:
        return tex2mathml(source, as_block=block)
    except MathError as error:
        raise ExtensionError(f"{node.source}: this formula cannot be written as MathML, {error}: {source}") from error


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_written(node, block=False))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<div class="math">{_written(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer that conf.py names."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
