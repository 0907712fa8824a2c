"""Numbers and names as a person reads them."""

import math
from collections.abc import Callable, Hashable, Sequence

_MINUS = "\N{MINUS SIGN}"
_TIMES = " \N{MULTIPLICATION SIGN} "
_INVISIBLE = [
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0xAD, 0x61C, 0x200B, 0x200E, 0x200F, 0xFEFF, 0xFFFE, 0xFFFF),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xD800, 0xE000),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
]
ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _INVISIBLE}
"""What is not seen, as Python would write it: terminal escapes, line ends, changes of the writing direction, characters
without width, lone surrogates. The two joiners stay, since words and emoji need them."""

HALFWAY = 1e-12
"""Numbers nearer to the middle of two, relative to their size, are written as the larger one."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def printable(text: str) -> str:
    r"""Return the text with control characters and others that are not seen made visible.

    Examples
    --------
    >>> print(printable("a\x1b[31m"))
    a\x1b[31m
    """
    return text.translate(ESCAPES)


def name(raw: Hashable, limit: int = 80) -> str:
    """Return a name fit for a table: printable, not empty, and with its middle left out if it is long.

    Examples
    --------
    >>> name("abcdefghij", limit=7), name("  ")
    ('abcd…ij', '(empty)')
    """
    text = printable(str(raw)).strip()
    if not text:
        return "(empty)"
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - 1 - tail]}…{text[-tail:]}"


def number(value: float) -> str:
    """Return three significant digits; whole numbers above 1,000 are written out.

    Examples
    --------
    >>> number(0.053716), number(0.95), number(12345.6), number(float("inf"))
    ('0.0537', '0.950', '12,346', '∞')
    """
    if math.isnan(value):
        return "not a number"
    if value < 0:
        return _MINUS + number(-value)
    if math.isinf(value):
        return "∞"
    if value >= 999.5:
        return f"{half_up(value):,.0f}" if value < 1e9 else _power(value)
    if value == 0:
        return "0"
    return f"{half_up(value):#.3g}".removesuffix(".") if value >= 1e-4 else _power(value)


def half_up(value: float) -> float:
    """Return a number that rounds away from 0 if it is halfway between two, however it was computed.

    A share of 251 in 400 is a little less or more than 0.6275 after sums of floats, and would be written as 0.627 in
    one place and 0.628 in another.

    Examples
    --------
    >>> f"{0.6275:.3f}", f"{half_up(0.6275):.3f}", f"{half_up(-0.1475):.3f}"
    ('0.627', '0.628', '-0.148')
    """
    return value * (1 + HALFWAY)


def share(value: float, places: int) -> str:
    """Return a share in percent with this many digits behind the point.

    Examples
    --------
    >>> share(0.6275, 1)
    '62.8%'
    """
    return f"{half_up(value):.{places}%}"


def significant(value: float, digits: int = 4) -> str:
    """Return a number with at most this many significant digits, in plain letters: for terminals.

    Examples
    --------
    >>> significant(0.0537164), significant(1234567.0, 3)
    ('0.05372', '1.23e+06')
    """
    return f"{value:.{digits}g}"


def four_decimals(value: float) -> str:
    """Return four decimals, from 1 on four significant digits: for columns of numbers that are mostly below 1.

    Examples
    --------
    >>> four_decimals(0.05), four_decimals(12.345678), four_decimals(float("inf"))
    ('0.0500', '12.35', '∞')
    """
    return f"{value:.4f}" if abs(value) < 1 else significant(value) if math.isfinite(value) else "∞"


def _power(value: float) -> str:
    digits, _, exponent = f"{value:.2e}".partition("e")
    return f"{digits}{_TIMES}10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def power_of_ten(exponent: int) -> str:
    """Write a power of ten.

    Examples
    --------
    >>> power_of_ten(2), power_of_ten(-12)
    ('100', '10⁻¹²')
    """
    if -2 <= exponent <= 3:
        return f"{10.0**exponent:,g}"
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def aligned(values: Sequence[float], *, sign: bool = False) -> list[str]:
    """Return a column of numbers with as many decimals as give the largest of them three significant digits.

    Examples
    --------
    >>> aligned([0.0274, 0.0091, 0.0]), aligned([0.5, 0.25], sign=True)
    (['0.0274', '0.0091', '0.0000'], ['+0.500', '+0.250'])
    """
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    places = min(max(2 - math.floor(math.log10(largest)), 0), 6) if largest > 0 else 3
    return [_fixed(v, places, sign=sign) for v in values]


def _fixed(value: float, places: int, *, sign: bool) -> str:
    if not math.isfinite(value):
        return number(value)
    rounded = round(half_up(value), places)
    written = f"{abs(rounded):,.{places}f}"
    if rounded < 0:
        return _MINUS + written
    return f"+{written}" if sign and rounded > 0 else written


def signed(value: float) -> str:
    """Return three significant digits with the sign in front.

    Examples
    --------
    >>> signed(0.0537), signed(0.0)
    ('+0.0537', '0')
    """
    return f"+{number(value)}" if value > 0 else number(value)


def between(limits: Sequence[float], write: Callable[[float], str]) -> str:
    """Return two limits in words, one of them where the other is infinite; nothing if there are none.

    Examples
    --------
    >>> between((0.005, 0.01), signed), between((-math.inf, 0.01), signed), between((0.02, math.inf), signed)
    ('+0.00500 to +0.0100', 'at most +0.0100', 'at least +0.0200')

    Limits that would look alike get more digits:

    >>> between((0.99894, 0.99942), significant), between((0.99894, 0.99942), number)
    ('0.9989 to 0.9994', '0.9989 to 0.9994')

    Not if they differ by rounding only:

    >>> between((0.1 + 0.2, 0.3), significant)
    '0.3 to 0.3'
    """
    if not limits:
        return ""
    low, high = limits
    if low == -math.inf and high == math.inf:
        return "any value"
    if low == -math.inf or high == math.inf:
        return f"at most {write(high)}" if low == -math.inf else f"at least {write(low)}"
    texts = write(low), write(high)
    for digits in range(4, 10):
        if math.isclose(low, high, rel_tol=1e-9) or texts[0] != texts[1]:
            break
        sign = texts[0][0] if texts[0][0] in f"+-{_MINUS}" else ""
        texts = sign + significant(abs(low), digits), sign + significant(abs(high), digits)
    return " to ".join(texts)


def count(value: float) -> str:
    """Return a number of rows.

    Examples
    --------
    >>> count(10000)
    '10,000'
    """
    return f"{value:,.0f}" if math.isfinite(value) else number(value)


def counted(value: int, noun: str = "row") -> str:
    """Return a number of things, in the singular where there is one.

    Examples
    --------
    >>> counted(10000), counted(1, "day")
    ('10,000 rows', '1 day')
    """
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def percent(value: float) -> str:
    """Return a share in percent, as short as it can be; less than all is not written as 100%.

    Examples
    --------
    >>> percent(0.95), percent(0.0012), percent(0.9999)
    ('95%', '0.12%', '99.99%')
    """
    short = f"{100 * value:.3g}%"
    return f"{100 * value:g}%" if short == "100%" and value < 1 else short


def pvalue(value: float, floor: float | None = None) -> str:
    """Return a p-value with its relation; at the smallest value that the test can give, it is a bound.

    Examples
    --------
    >>> pvalue(0.0421), pvalue(0.001, floor=0.001), pvalue(0.0002)
    ('p = 0.042', 'p ≤ 0.001', 'p < 0.001')

    Formulas stop at the smallest number that there is, which says no more than "< 0.001":

    >>> pvalue(2.2e-308, floor=2.2e-308)
    'p < 0.001'
    """
    if is_at(value, floor) and value > 1e-12:
        return f"p ≤ {value:.2g}"
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def bare_pvalue(value: float, floor: float | None = None) -> str:
    """Return a p-value for a list of them, with its relation only where it is a bound.

    Examples
    --------
    >>> bare_pvalue(0.0421), bare_pvalue(0.001, floor=0.001), bare_pvalue(2e-12)
    ('0.0421', '≤ 0.001', '2e-12')
    """
    return f"≤ {value:.2g}" if is_at(value, floor) else f"{value:.3g}"


def is_at(value: float, floor: float | None) -> bool:
    """Return whether a p-value is the smallest that the test can give.

    Examples
    --------
    >>> is_at(0.01, 1 / 100), is_at(0.02, 0.01), is_at(0.01, None)
    (True, False, False)
    """
    return floor is not None and value <= floor * (1 + 1e-9)


def machine(value: float) -> str:
    """Return a number for a `data-` attribute, as JavaScript spells it, with seven digits as in the page's data.

    Examples
    --------
    >>> machine(1 / 3), machine(float("-inf"))
    ('0.3333333', '-Infinity')
    """
    if math.isfinite(value):
        return f"{value:.7g}"
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
