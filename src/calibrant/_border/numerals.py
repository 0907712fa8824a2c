"""Numbers as a person reads them: the only place where a number becomes text that is not for machines.

Terminals, sentences and messages get plain letters, from `significant` to `pvalue_cell`; pages and figures get a minus
sign and powers of ten, from `number` on. Counts, shares and p-values look the same everywhere.
"""

import math
from collections.abc import Callable, Sequence

_MINUS = "\N{MINUS SIGN}"
_TIMES = " \N{MULTIPLICATION SIGN} "
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_HALFWAY = 1e-12
"""Numbers nearer to the middle of two, relative to their size, are written as the larger one."""


def count(value: float) -> str:
    """Return a number of rows, bytes or other things.

    Examples
    --------
    >>> count(10000)
    '10,000'
    """
    return f"{value:,.0f}" if math.isfinite(value) else number(value)


def counted(value: int, one: str = "row", several: str = "") -> str:
    """Return a number of things, in the singular where there is one.

    Examples
    --------
    >>> counted(10000), counted(1, "day"), counted(2, "class", "classes")
    ('10,000 rows', '1 day', '2 classes')
    """
    return f"{count(value)} {one if value == 1 else several or f'{one}s'}"


def percent(value: float, places: int | None = None) -> str:
    """Return a share in percent with this many decimals, or as short as it can be; then less than all is not 100%.

    Examples
    --------
    >>> percent(0.95), percent(0.0012), percent(0.9999), percent(0.6275, 1)
    ('95%', '0.12%', '99.99%', '62.8%')
    """
    if places is not None:
        return f"{_half_up(value):.{places}%}"
    short = f"{100 * value:.3g}%"
    return f"{100 * value:g}%" if short == "100%" and value < 1 else short


def few_percent(value: float) -> str:
    """Return a share of rows with two decimals, where a few among many are not written as none.

    Examples
    --------
    >>> few_percent(0.01), few_percent(0.00001), few_percent(0.0)
    ('1.00%', '<0.01%', '0.00%')
    """
    return "<0.01%" if 0 < value < 0.00005 else percent(value, 2)


def _half_up(value: float) -> float:
    """Return a number that rounds away from 0 if it is halfway between two, however it was computed.

    A share of 251 in 400 is a little less or more than 0.6275 after sums of floats, and would be written as 0.627 in
    one place and 0.628 in another.

    Examples
    --------
    >>> f"{0.6275:.3f}", f"{_half_up(0.6275):.3f}", f"{_half_up(-0.1475):.3f}"
    ('0.627', '0.628', '-0.148')
    """
    return value * (1 + _HALFWAY)


def significant(value: float, digits: int = 3) -> str:
    """Return a number with at most this many significant digits.

    Examples
    --------
    >>> significant(0.0537164), significant(0.0537164, 4), significant(1234567.0)
    ('0.0537', '0.05372', '1.23e+06')
    """
    return f"{value:.{digits}g}"


def with_sign(value: float, digits: int = 3) -> str:
    """Return a difference, as `significant` does, with its sign in front.

    Examples
    --------
    >>> with_sign(0.0537164), with_sign(-0.05)
    ('+0.0537', '-0.05')
    """
    return f"{value:+.{digits}g}"


def as_given(value: float) -> str:
    """Return a setting, or a value found in data, so that it is recognised in a message.

    Examples
    --------
    >>> as_given(0.05), as_given(-100.0), as_given(1e300)
    ('0.05', '-100', '1e+300')
    """
    return significant(value, 6)


def decimals(value: float, places: int = 3, *, sign: bool = False) -> str:
    """Return a number with this many decimals: for numbers of similar size that are read together.

    Examples
    --------
    >>> decimals(0.5), decimals(0.5, 2, sign=True)
    ('0.500', '+0.50')
    """
    return f"{value:{'+' if sign else ''}.{places}f}"


def four_decimals(value: float) -> str:
    """Return four decimals, from 1 on four significant digits: for columns of numbers that are mostly below 1.

    Examples
    --------
    >>> four_decimals(0.05), four_decimals(12.345678), four_decimals(float("inf"))
    ('0.0500', '12.35', '∞')
    """
    return decimals(value, 4) if abs(value) < 1 else significant(value, 4) if math.isfinite(value) else "∞"


def between(limits: Sequence[float | None], write: Callable[[float], str]) -> str:
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
    if low is None or high is None:
        return ""
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
        return f"p ≤ {significant(value, 2)}"
    return "p < 0.001" if value < 0.001 else f"p = {significant(value, 2)}"


def bare_pvalue(value: float, floor: float | None = None) -> str:
    """Return a p-value for a list of them, with its relation only where it is a bound.

    Examples
    --------
    >>> bare_pvalue(0.0421), bare_pvalue(0.001, floor=0.001), bare_pvalue(2e-12)
    ('0.0421', '≤ 0.001', '2e-12')
    """
    return f"≤ {significant(value, 2)}" if is_at(value, floor) else significant(value)


def pvalue_cell(value: float, floor: float | None = None) -> str:
    """Return a p-value for a narrow column whose heading says what it is.

    Examples
    --------
    >>> pvalue_cell(0.0421), pvalue_cell(0.001, floor=0.001), pvalue_cell(0.0002)
    ('0.042', '≤0.001', '<0.001')
    """
    return pvalue(value, floor).removeprefix("p ").removeprefix("= ").replace(" ", "")


def is_at(value: float, floor: float | None) -> bool:
    """Return whether a p-value is the smallest that the test can give.

    Examples
    --------
    >>> is_at(0.01, 1 / 100), is_at(0.02, 0.01), is_at(0.01, None)
    (True, False, False)
    """
    return floor is not None and value <= floor * (1 + 1e-9)


def number(value: float) -> str:
    """Return three significant digits; whole numbers above 1,000 are written out.

    Examples
    --------
    >>> number(0.053716), number(0.95), number(12345.6), number(float("inf"))
    ('0.0537', '0.950', '12,346', '∞')
    """
    if math.isnan(value):
        return "no value"
    if value < 0:
        return _MINUS + number(-value)
    if math.isinf(value):
        return "∞"
    if value >= 999.5:
        return f"{_half_up(value):,.0f}" if value < 1e9 else _power(value)
    if value == 0:
        return "0"
    return f"{_half_up(value):#.3g}".removesuffix(".") if value >= 1e-4 else _power(value)


def signed(value: float) -> str:
    """Return three significant digits with the sign in front.

    Examples
    --------
    >>> signed(0.0537), signed(0.0)
    ('+0.0537', '0')
    """
    return f"+{number(value)}" if value > 0 else number(value)


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
    rounded = round(_half_up(value), places)
    written = f"{abs(rounded):,.{places}f}"
    if rounded < 0:
        return _MINUS + written
    return f"+{written}" if sign and rounded > 0 else written
