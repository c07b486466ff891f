"""Sixteen numbers at a time: the few operations that blocked solvers are written in.

A block of sixteen problems keeps what belongs together side by side, so that one cache line serves them all. Compiled,
a `Lanes` is one LLVM vector, which becomes what the machine has: one register of AVX-512, two of AVX2, four of NEON. In
plain Python it is a numpy array of sixteen numbers, so a kernel's Python source runs as it stands, and tests compare
the two. Comparisons give `Truths`, sixteen bits.

Lanes are float32, or float64 where they are loaded from float64 arrays; the two together give float64, so that one
source serves both. Arithmetic (+ − · /), comparisons and & | work on them; a plain number counts for every lane. Sums
are added in the order that is written, so results do not depend on threads.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, overload, register_model

WIDTH = 16

_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_INTEGERS = ir.VectorType(ir.IntType(32), WIDTH)
_BITS = ir.VectorType(ir.IntType(1), WIDTH)
_MASK = ir.IntType(WIDTH)
_FUSE = ["contract"]  # a product and a sum may become one instruction; nothing else is reordered


class _Lanes(types.Type):
    """Sixteen float32."""

    vector, number = _FLOATS, types.float32


class _WideLanes(types.Type):
    """Sixteen float64."""

    vector, number = _DOUBLES, types.float64


class _Truths(types.Type):
    """Sixteen bits."""


LANES, WIDE, TRUTHS = _Lanes("Lanes"), _WideLanes("WideLanes"), _Truths("Truths")


def _register(kind, vector):
    @register_model(kind)
    class Model(models.PrimitiveModel):
        def __init__(self, manager, front_end):
            super().__init__(manager, front_end, vector)


for _kind, _vector in ((_Lanes, _FLOATS), (_WideLanes, _DOUBLES), (_Truths, _BITS)):
    _register(_kind, _vector)


# ---------------------------------------------------------------- how an operation gets its compiled form


def _constant(value, kind=_FLOATS):
    return ir.Constant(kind, [value] * WIDTH)


def _spread(builder, value, vector):
    """Put one number into every lane."""
    unknown = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(unknown, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, unknown, ir.Constant(_INTEGERS, [0] * WIDTH))


def _is_number(kind):
    return isinstance(kind, (types.Float, types.Integer))


def _is_lanes(kind):
    return kind in (LANES, WIDE)


def _widest(kinds):
    return WIDE if WIDE in kinds else LANES


def _in_lanes(context, builder, kind, value, lanes):
    """Return a value as lanes of a type: a number goes into each, float32 becomes float64; truths stay."""
    if _is_number(kind):
        return _spread(builder, context.cast(builder, value, kind, lanes.number), lanes.vector)
    if kind == LANES and lanes == WIDE:
        return builder.fpext(value, _DOUBLES)
    return value


def _emitter(result, emit):
    """Return what numba wants of an intrinsic: a signature, and how to write its code.

    `result` is the type it returns, or None for the widest of its arguments.
    """

    def typed(*kinds):
        widest = _widest(kinds)

        def code(context, builder, signature, values):
            lanes = [
                _in_lanes(context, builder, kind, value, widest)
                for kind, value in zip(signature.args, values, strict=True)
            ]
            return emit(builder, *lanes)

        return (result or widest)(*kinds), code

    return typed


def _compile_unary(function, accepts, result, emit):
    typed = _emitter(result, emit)

    @intrinsic
    def native(typing, x):
        return typed(x)

    @overload(function, inline="always")
    def implementation(x):
        return (lambda x: native(x)) if accepts(x) else None


def _compile_binary(function, accepts, result, emit):
    typed = _emitter(result, emit)

    @intrinsic
    def native(typing, x, y):
        return typed(x, y)

    @overload(function, inline="always")
    def implementation(x, y):
        return (lambda x, y: native(x, y)) if accepts(x, y) else None


def _compile_ternary(function, accepts, result, emit):
    typed = _emitter(result, emit)

    @intrinsic
    def native(typing, x, y, z):
        return typed(x, y, z)

    @overload(function, inline="always")
    def implementation(x, y, z):
        return (lambda x, y, z: native(x, y, z)) if accepts(x, y, z) else None


def _some_lanes(*kinds):
    return any(map(_is_lanes, kinds)) and all(_is_lanes(kind) or _is_number(kind) for kind in kinds)


# ---------------------------------------------------------------- arithmetic and comparisons

for _operator, _name in {
    operator.add: "fadd",
    operator.sub: "fsub",
    operator.mul: "fmul",
    operator.truediv: "fdiv",
}.items():
    _compile_binary(_operator, _some_lanes, None, lambda b, x, y, name=_name: getattr(b, name)(x, y, flags=_FUSE))

for _operator, _sign in {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">="}.items():
    _compile_binary(_operator, _some_lanes, TRUTHS, lambda b, x, y, sign=_sign: b.fcmp_ordered(sign, x, y))

for _operator, _name in {operator.and_: "and_", operator.or_: "or_"}.items():
    _compile_binary(
        _operator, lambda x, y: x == y == TRUTHS, TRUTHS, lambda b, x, y, name=_name: getattr(b, name)(x, y)
    )


def spread(x, like):
    """Return a number in every lane, of the type that an array has."""
    return np.full(WIDTH, x, like.dtype)


def fused(x, y, z):
    """Return x·y + z, in one instruction where the machine has it."""
    kinds = [value.dtype for value in (x, y, z) if isinstance(value, np.ndarray)]
    kind = np.result_type(np.float32, *kinds)
    return kind.type(1) * x * y + z


def where(x: Any, y: Any, z: Any) -> Any:
    """Return y in the lanes where x is true, and z in the others; of numbers, one of the two."""
    kinds = [value.dtype for value in (y, z) if isinstance(value, (np.ndarray, np.generic))]
    return np.where(x, y, z).astype(np.result_type(np.float32, *kinds))[()]


def any_of(x: Any) -> bool:
    """Tell whether any of sixteen truths holds."""
    return bool(np.any(x))


def all_of(x):
    """Tell whether all of sixteen truths hold."""
    return bool(np.all(x))


def bits(x):
    """Return the lowest sixteen bits of a number as truths, the lowest first."""
    return (int(x) >> np.arange(WIDTH) & 1).astype(bool)


_compile_ternary(fused, _some_lanes, None, lambda b, x, y, z: b.fadd(b.fmul(x, y, flags=_FUSE), z, flags=_FUSE))
_compile_ternary(where, lambda x, y, z: x == TRUTHS, None, lambda b, x, y, z: b.select(x, y, z))
_compile_unary(
    any_of,
    lambda x: x == TRUTHS,
    types.boolean,
    lambda b, x: b.icmp_unsigned("!=", b.bitcast(x, _MASK), ir.Constant(_MASK, 0)),
)
_compile_unary(
    all_of,
    lambda x: x == TRUTHS,
    types.boolean,
    lambda b, x: b.icmp_unsigned("==", b.bitcast(x, _MASK), ir.Constant(_MASK, -1)),
)


@overload(where)  # not inlined, since it has two branches
def _where_of_numbers(x, y, z):
    return (lambda x, y, z: y if x else z) if isinstance(x, types.Boolean) else None


@overload(any_of, inline="always")
def _any_of_one(x):
    return (lambda x: x) if isinstance(x, types.Boolean) else None


@intrinsic
def _bits(typing, x):
    def code(context, builder, signature, values):
        return builder.bitcast(builder.trunc(values[0], _MASK), _BITS)

    return TRUTHS(types.uint32), code


@overload(bits, inline="always")
def _compiled_bits(x):
    return lambda x: _bits(np.uint32(x))


# ---------------------------------------------------------------- memory


def load(array, row):
    """Return row `row` of a contiguous float array of sixteen columns."""
    return array[int(row)].copy()


def store(array, row, values):
    """Put sixteen numbers into row `row` of a contiguous float array of sixteen columns."""
    array[int(row)] = values


def _lanes_of(array):
    if array.layout != "C" or array.dtype not in (types.float32, types.float64):
        raise TypingError(f"Lanes are rows of contiguous float arrays; this one is {array}.")
    return WIDE if array.dtype == types.float64 else LANES


def _place(context, builder, kind, array, row):
    start = context.make_array(kind)(context, builder, array).data
    offset = builder.mul(row, ir.Constant(ir.IntType(64), WIDTH))
    return builder.bitcast(builder.gep(start, [offset]), _lanes_of(kind).vector.as_pointer())


@intrinsic
def _load(typing, array, row):
    def code(context, builder, signature, values):
        lanes = builder.load(_place(context, builder, signature.args[0], *values))
        lanes.align = 4  # numpy promises no more
        return lanes

    return _lanes_of(array)(array, types.intp), code


@intrinsic
def _store(typing, array, row, lanes):
    def code(context, builder, signature, values):
        kind = signature.args[0]
        wide = _in_lanes(context, builder, signature.args[2], values[2], _lanes_of(kind))
        stored = builder.store(wide, _place(context, builder, kind, *values[:2]))
        stored.align = 4
        return context.get_dummy_value()

    if lanes == WIDE and _lanes_of(array) == LANES:
        return None  # what is lost is for the caller to round
    return types.void(array, types.intp, lanes), code


@intrinsic
def _spread_like(typing, x, like):
    lanes = _lanes_of(like)

    def code(context, builder, signature, values):
        return _in_lanes(context, builder, signature.args[0], values[0], lanes)

    return lanes(x, like), code


@overload(spread, inline="always")
def _compiled_spread(x, like):
    return lambda x, like: _spread_like(x, like)


@overload(load, inline="always")
def _compiled_load(array, row):
    return lambda array, row: _load(array, row)


@overload(store, inline="always")
def _compiled_store(array, row, values):
    return lambda array, row, values: _store(array, row, values)


# ---------------------------------------------------------------- exp


# e^f for |f| ≤ ½ ln 2, the highest power first; ln 2 is in two parts, so that nothing of x − k ln 2 is lost.
_POWERS = (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0)
_LOG2_E, _LN_2, _LN_2_REST = 1.4426950408889634, 0.693359375, -2.12194440e-4


def exp(x: Any) -> Any:
    """Return e to the power of x, kept within e^−80 … e^80; right to about 2e-7 of the value, and exact for a number.

    The same steps as compiled code takes, bit for bit where the processor fuses products and sums: what is decided by
    an exponential is then decided alike by a kernel and by its Python source.
    """
    if np.ndim(x) == 0:
        return np.exp(x)
    number = np.float32
    z = np.clip(np.asarray(x, number), number(-80), number(80))
    k = (z * number(_LOG2_E) + number(128.5)).astype(np.int32) - 128
    f = z - k.astype(number) * number(_LN_2) - k.astype(number) * number(_LN_2_REST)
    power = np.full_like(f, _POWERS[0])
    for coefficient in _POWERS[1:]:
        power = (power.astype(np.float64) * f + np.float64(number(coefficient))).astype(number)
    return np.ldexp(power, k).astype(x.dtype)


def _emit_exp(builder, x):
    """2^k · e^f with |f| ≤ ½ ln 2: k goes into the exponent's bits, e^f is a polynomial."""
    b = builder
    for sign, bound in (("<", -80.0), (">", 80.0)):
        limit = _constant(bound)
        x = b.select(b.fcmp_ordered(sign, x, limit), limit, x)
    y = b.fmul(x, _constant(_LOG2_E))
    k = b.sub(b.fptosi(b.fadd(y, _constant(128.5)), _INTEGERS), _constant(128, _INTEGERS))  # rounded: y + 128 > 0
    whole = b.sitofp(k, _FLOATS)
    f = b.fsub(x, b.fmul(whole, _constant(_LN_2)))
    f = b.fsub(f, b.fmul(whole, _constant(_LN_2_REST)))
    power = _constant(_POWERS[0])
    for coefficient in _POWERS[1:]:
        power = b.fadd(b.fmul(power, f, flags=_FUSE), _constant(coefficient), flags=_FUSE)
    scale = b.bitcast(b.shl(b.add(k, _constant(127, _INTEGERS)), _constant(23, _INTEGERS)), _FLOATS)
    return b.fmul(power, scale)


def _emit_exp_of_any(builder, x):
    """float64 goes through float32: the solvers need no more, and it costs half."""
    if x.type == _DOUBLES:
        return builder.fpext(_emit_exp(builder, builder.fptrunc(x, _FLOATS)), _DOUBLES)
    return _emit_exp(builder, x)


_compile_unary(exp, _is_lanes, None, _emit_exp_of_any)


@overload(exp, inline="always")
def _exp_of_number(x):
    return (lambda x: np.exp(x)) if isinstance(x, types.Float) else None


# ---------------------------------------------------------------- logarithms, in float64 alone


def log(x: Any) -> Any:
    """Return the natural logarithm."""
    return np.log(x)


def log1p(x: Any) -> Any:
    """Return the natural logarithm of 1 + x."""
    return np.log1p(x)


def exact_exp(x: Any) -> Any:
    """Return e to the power of x, to the last digits."""
    return np.exp(x)


def _compile_call(function, name):
    """Compile `function` for numbers as numpy's, and for sixteen float64 as calls of C's `name`, lane by lane."""
    number = ir.DoubleType()

    def emit(builder, x):
        called = get_or_insert_function(builder.module, ir.FunctionType(number, [number]), name)
        result = ir.Constant(_DOUBLES, ir.Undefined)
        for k in range(WIDTH):
            lane = ir.Constant(ir.IntType(32), k)
            result = builder.insert_element(result, builder.call(called, [builder.extract_element(x, lane)]), lane)
        return result

    _compile_unary(function, lambda x: x == WIDE, WIDE, emit)

    of_numpy = getattr(np, name)

    @overload(function, inline="always")
    def of_number(x):
        return (lambda x: of_numpy(x)) if isinstance(x, types.Float) else None


for _function, _name in ((log, "log"), (log1p, "log1p"), (exact_exp, "exp")):
    _compile_call(_function, _name)
