"""A small layer for inline SVG: elements that escape themselves, scales, axes, lines, bands and bars."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape

from calibrant._border.numerals import decimals
from calibrant._border.text import printable
from calibrant._border.types import FloatArray

_WITHIN_LINES = re.compile(r"[^\t\n]+")
_PLAIN = re.compile(r"[\w ,.:()/%#+-]*", re.ASCII).fullmatch


@dataclass(frozen=True)
class Element:
    """An SVG element; attributes and text are escaped when it is written."""

    tag: str
    attributes: dict[str, str]
    children: tuple["Element | str", ...] = field(default=())

    def __html__(self) -> str:
        """Return the markup, which template engines insert without escaping it again."""
        attributes = "".join(f' {key}="{_safe(value)}"' for key, value in self.attributes.items())
        if not self.children:
            return f"<{self.tag}{attributes}/>"
        inner = "".join(_safe(c) if isinstance(c, str) else c.__html__() for c in self.children)
        return f"<{self.tag}{attributes}>{inner}</{self.tag}>"


def _safe(content: str) -> str:
    """Escape text, and make invisible characters visible; line ends and tabs stay, since tooltips consist of them."""
    if _PLAIN(content):  # Most texts are coordinates.
        return content
    return escape(_WITHIN_LINES.sub(lambda found: printable(found[0]), content))


def element(tag: str, *children: Element | str, **attributes: str | float | None) -> Element:
    """Build an element: `class_` means class, other underscores mean hyphens, None leaves an attribute out."""
    written = {_spelt(k): v if isinstance(v, str) else coordinate(v) for k, v in attributes.items() if v is not None}
    return Element(tag, written, children)


@cache
def _spelt(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def coordinate(value: float) -> str:
    """Return a coordinate to a hundredth of a pixel, without trailing zeros.

    Examples
    --------
    >>> coordinate(10.0), coordinate(1 / 3)
    ('10', '0.33')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Scale:
    """A linear map from data to pixels.

    Examples
    --------
    >>> Scale(0, 1, 400, 0)(0.25)
    300.0
    """

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.stop - self.start)

    def each(self, values: FloatArray) -> list[float]:
        """Return the pixels of the values of an array."""
        return [self(value) for value in values.tolist()]

    def cut(self, value: float) -> float:
        """Return the pixel of a value, or of the end of the scale that it is beyond."""
        return self(min(max(value, self.low), self.high))

    @property
    def span(self) -> float:
        """Return the length in pixels."""
        return abs(self.stop - self.start)

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Return about this number of round values, with their labels.

        Examples
        --------
        >>> Scale(0, 0.06, 0, 100).ticks(3)
        [(0.0, '0'), (0.02, '0.02'), (0.04, '0.04'), (0.06, '0.06')]
        """
        rough = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(m for m, most in ((1, 1.4), (2, 3.1), (5, 7.1), (10, 11)) if rough <= most * power)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        values = [round(i * step, places) for i in range(first, last + 1)]
        return [(value, decimals(value, places).replace("-", "\N{MINUS SIGN}") if value else "0") for value in values]


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    """Draw a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def text(x: float, y: float, content: str, class_: str, anchor: str = "middle") -> Element:
    """Write text, placed by its baseline."""
    return element("text", content, x=x, y=y, class_=class_, text_anchor=anchor)


def polyline(xs: Sequence[float], ys: Sequence[float], class_: str) -> Element:
    """Join points by lines, given in pixels."""
    points = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in zip(xs, ys, strict=True))
    return element("polyline", points=points, class_=class_)


def band(xs: Sequence[float], low: Sequence[float], high: Sequence[float], class_: str) -> Element:
    """Fill the area between two lines, given in pixels."""
    there = [f"{coordinate(x)},{coordinate(y)}" for x, y in zip(xs, low, strict=True)]
    back = [f"{coordinate(x)},{coordinate(y)}" for x, y in zip(xs, high, strict=True)]
    return element("polygon", points=" ".join(there + back[::-1]), class_=class_)


def bars(spans: Sequence[tuple[float, float]], heights: Sequence[float], base: float, class_: str) -> Element:
    """Draw bars on a baseline, given in pixels; each stays visible, however small, and a gap parts neighbours.

    Bars of negative height hang below the baseline. All are one path, which takes a fifth of the bytes of rectangles.
    """
    shapes = []
    for (left, right), height in zip(spans, heights, strict=True):
        if height:
            tall = math.copysign(max(abs(height), 0.75), height)
            width = coordinate(max(right - left - 1, 1.5))
            shapes.append(f"M{coordinate(left)} {coordinate(base)}v{coordinate(-tall)}h{width}v{coordinate(tall)}z")
    return element("path", d="".join(shapes), class_=class_)


def axis_below(scale: Scale, y: float, label: str, *, about: int = 5) -> Element:
    """Draw ticks, their labels and a title beneath a horizontal axis at height `y`."""
    marks = [text(scale(value), y + 17, written, "tick") for value, written in scale.ticks(about)]
    title = text((scale.start + scale.stop) / 2, y + 36, label, "label")
    return element("g", line(scale.start, y, scale.stop, y, "axis"), *marks, title)


def axis_left(scale: Scale, x: float, label: str, *, about: int = 5) -> Element:
    """Draw ticks, their labels and a turned title to the left of a vertical axis at `x`."""
    ticks = list(scale.ticks(about))
    marks = [text(x - 7, scale(value) + 4, written, "tick", "end") for value, written in ticks]
    middle = (scale.start + scale.stop) / 2
    away = 40 if max((len(written) for _, written in ticks), default=0) > 3 else 36  # Letters are larger on phones.
    return element("g", line(x, scale.start, x, scale.stop, "axis"), *marks, turned(label, x - away, middle))


def turned(content: str, x: float, y: float, class_: str = "label") -> Element:
    """Write text from bottom to top, centred at a point."""
    place = f"translate({coordinate(x)} {coordinate(y)}) rotate(-90)"
    return element("text", content, transform=place, class_=class_, text_anchor="middle")


def grid(x: Scale, y: Scale, *, about: int = 5) -> Iterator[Element]:
    """Draw grid lines at the ticks of two scales."""
    for value, _ in x.ticks(about):
        yield line(x(value), y.start, x(value), y.stop, "grid")
    for value, _ in y.ticks(about):
        yield line(x.start, y(value), x.stop, y(value), "grid")


def image(parts: Iterable[Element], width: float, height: float, label: str, class_: str = "chart") -> Element:
    """Put parts into a figure of this size in pixels, which is read out as its label."""
    box = f"0 0 {coordinate(width)} {coordinate(height)}"
    return element("svg", *parts, viewBox=box, class_=class_, role="img", aria_label=label)


ROW_WIDTH, ROW_HEIGHT = 150.0, 20.0
"""Size of a figure in a row of a table."""


def row_figure(zero: float, limits: tuple[float, float] | None, *marks: Element, class_: str) -> Element:
    """Draw marks over a line from limit to limit, and a line at a reference, all in pixels along a row of a table."""
    middle = ROW_HEIGHT / 2
    parts = [line(zero, 1, zero, ROW_HEIGHT - 1, "zero")]
    if limits is not None:
        parts.append(line(limits[0], middle, limits[1], middle, "limits"))
    box = f"0 0 {coordinate(ROW_WIDTH)} {coordinate(ROW_HEIGHT)}"
    return element("svg", *parts, *marks, viewBox=box, class_=class_, aria_hidden="true")


def row_mark(x: float, radius: float = 4.0, class_: str = "dot") -> Element:
    """Draw a round mark in the middle of a row of a table."""
    return element("circle", cx=x, cy=ROW_HEIGHT / 2, r=radius, class_=class_)


def marker(shape: int, x: float, y: float, radius: float, class_: str) -> Element:
    """Draw one of five shapes of about equal area: circle, square, diamond, triangle, triangle pointing downwards."""
    if shape == 0:
        return element("circle", cx=x, cy=y, r=radius, class_=class_)
    size = radius * (0.9, 1.25, 1.35, 1.35)[shape - 1]
    corners = {
        1: [(-size, -size), (size, -size), (size, size), (-size, size)],
        2: [(0.0, -size), (size, 0.0), (0.0, size), (-size, 0.0)],
        3: [(0.0, -size), (size, 0.75 * size), (-size, 0.75 * size)],
        4: [(0.0, size), (size, -0.75 * size), (-size, -0.75 * size)],
    }[shape]
    points = " ".join(f"{coordinate(x + dx)},{coordinate(y + dy)}" for dx, dy in corners)
    return element("polygon", points=points, class_=class_)
