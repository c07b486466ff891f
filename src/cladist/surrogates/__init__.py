"""Surrogate losses ℓ(m) of a margin m = y w·x: what linear learners minimise in place of errors.

One file per loss, a NamedTuple whose methods are its formulas. The same source serves numpy arrays and, compiled by
`cladist.kernels.surrogate`, the kernels. A new loss is one more file, and its line in `SURROGATES`.
"""

from cladist.surrogates.hinge import Hinge
from cladist.surrogates.logistic import Logistic
from cladist.surrogates.squared import Squared
from cladist.surrogates.squared_hinge import SquaredHinge
from cladist.surrogates.surrogate import Surrogate

SURROGATES: dict[str, Surrogate] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "squared": Squared(),
}

__all__ = ["SURROGATES", "Hinge", "Logistic", "Squared", "SquaredHinge", "Surrogate"]
