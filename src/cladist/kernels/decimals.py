"""Decimal numbers in text: bytes in, Python's ``float`` out, bit for bit.

`to_float` reports whether its result is proven to be the nearest double; the caller parses the other numbers (ties,
very long or very large ones). A text must end with a byte that is no part of a number, such as a line feed, so that
the loops need no check for the end.
"""

from fractions import Fraction

import numpy as np

from cladist.kernels.jit import kernel

PLUS, MINUS, POINT, ZERO = 43, 45, 46, 48
MOST_DIGITS = 18  # of a mantissa that fits into int64
MOST_POWER = 120  # beyond it the products below could leave the range where their errors are bounded
_EXACT_INTEGER = 2**53  # integers up to here are doubles
_EXACT_POWER = 22  # 10**22 is the last power of ten that is a double
_SPLIT = 134217729.0  # 2**27 + 1: cuts a double into two halves whose products are exact
_DOUBT = 2.0**-99  # bound on the relative error of a product of pairs: a few times 2**-106, with room

_POWERS = [Fraction(10) ** k for k in range(-MOST_POWER, MOST_POWER + 1)]
_HIGH = np.array([float(p) for p in _POWERS])
_LOW = np.array([float(p - Fraction(float(p))) for p in _POWERS])


@kernel
def to_float(mantissa, power):
    """Return (mantissa · 10**power, whether that is certainly the nearest double); mantissa ≥ 0.

    Large cases multiply pairs of doubles: the true value is between p + (q − ε) and p + (q + ε), and rounding
    is monotone, so where both ends round to one double that is the answer (Dekker 1971, Clinger 1990).
    """
    if mantissa == 0:
        return 0.0, True
    if mantissa <= _EXACT_INTEGER and -_EXACT_POWER <= power <= _EXACT_POWER:
        if power < 0:
            return float(mantissa) / _HIGH[MOST_POWER - power], True
        return float(mantissa) * _HIGH[MOST_POWER + power], True
    if not -MOST_POWER <= power <= MOST_POWER:
        return 0.0, False
    a = float(mantissa)
    a_rest = float(mantissa - np.int64(a))
    b = _HIGH[MOST_POWER + power]
    p = a * b
    cut = _SPLIT * a
    a_high = cut - (cut - a)
    a_low = a - a_high
    cut = _SPLIT * b
    b_high = cut - (cut - b)
    b_low = b - b_high
    rest = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
    q = rest + (a * _LOW[MOST_POWER + power] + a_rest * b)
    doubt = p * _DOUBT
    return p + q, p + (q - doubt) == p + (q + doubt)


@kernel
def digits(text, i, value):
    """Read decimal digits after `value`; return (value, position after them, digits that did not fit)."""
    most = 10 ** (MOST_DIGITS - 1)
    lost = 0
    while ZERO <= text[i] <= ZERO + 9:
        if value < most:
            value = value * 10 + np.int64(text[i]) - ZERO
        else:
            lost += 1
        i += 1
    return value, i, lost


@kernel
def number(text, i):
    """Read ``[+-]digits[.digits][e[+-]digits]``; return (value, sure, position after it or −1)."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    mantissa, end, lost = digits(text, i, np.int64(0))
    n_digits = end - i
    power = 0
    if text[end] == POINT:
        start = end + 1
        mantissa, end, lost_after = digits(text, start, mantissa)
        n_digits += end - start
        power = start - end
        lost += lost_after
    if n_digits == 0:
        return 0.0, True, -1
    if text[end] == 101 or text[end] == 69:  # e, E
        start = end + 1
        down = text[start] == MINUS
        if down or text[start] == PLUS:
            start += 1
        exponent, end, _ = digits(text, start, np.int64(0))
        if end == start:
            return 0.0, True, -1
        power += -exponent if down else exponent
    value, sure = to_float(mantissa, power)
    return (-value if negative else value), sure and lost == 0, end
