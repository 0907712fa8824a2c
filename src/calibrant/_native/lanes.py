"""A few doubles side by side, as one value of compiled code.

LLVM vectorises an innermost loop. Here the innermost loop runs over classes and its sums must stay in registers while
the lanes run over columns, which it does not find by itself (a plain loop was three times slower). So compiled code of
this package handles `LANES` columns as one value: ``load`` and ``store`` move them, ``+ - *`` and the functions below
act on every lane, a float beside lanes is repeated. Nothing is reassociated, hence results do not depend on the
compiler's mood. Any width is correct on any processor; `LANES` is the width of its registers. Code that is generated
as instructions uses the functions whose names begin with ``emit``.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]  # llvmlite has no types
from numba.core import cgutils
from numba.core.types import Type, float64, intp, void
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable


def _register_width() -> int:
    features = binding.get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx") else 2


LANES = _register_width()

_SINGLE = ir.DoubleType()
_LANES = ir.VectorType(_SINGLE, LANES)
_BITS = ir.VectorType(ir.IntType(64), LANES)
_INDEX = ir.IntType(32)


class Lanes(Type):
    """The numba type of `LANES` doubles in one register."""

    def __init__(self) -> None:
        super().__init__(name=f"float64x{LANES}")


lanes = Lanes()


_primitive: Any = models.PrimitiveModel
register_model(Lanes)(lambda manager, kind: _primitive(manager, kind, _LANES))


def _define(result: Any, arguments: tuple[Any, ...], emit: Callable[..., Any]) -> Any:
    """Return an operation of compiled code; emit(builder, *values) returns the instruction that holds its result."""

    def generate(_: Any, builder: Any, __: Any, values: Any) -> Any:
        return emit(builder, *values)

    def choose(*found: Any) -> Any:
        return (result(*arguments), generate) if found == arguments else None

    # Numba counts the arguments in the signature, so every number of them is written out.
    forms: dict[int, Callable[..., Any]] = {
        1: lambda _, x: choose(x),
        2: lambda _, x, y: choose(x, y),
        3: lambda _, x, y, z: choose(x, y, z),
        4: lambda _, x, y, low, high: choose(x, y, low, high),
    }
    return intrinsic(forms[len(arguments)])


def emit_repeat(builder: Any, value: Any) -> Any:
    """Return the instruction that puts a number into every lane."""
    undefined = ir.Constant(_LANES, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES))


def emit_load(builder: Any, address: Any) -> Any:
    """Return the instruction that loads lanes from the address of a number."""
    loaded = builder.load(builder.bitcast(address, _LANES.as_pointer()))
    loaded.align = 8
    return loaded


def emit_store(builder: Any, address: Any, value: Any) -> None:
    """Store lanes at the address of a number."""
    stored = builder.store(value, builder.bitcast(address, _LANES.as_pointer()))
    stored.align = 8


def emit_zeros() -> Any:
    """Return lanes of zeros."""
    return _constant(_LANES, 0.0)


def emit_address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return the address of a number in a flat array of this numba type."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index], inbounds=True)


def _load(_: Any, array: Any, _index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return emit_load(builder, emit_address(context, builder, signature.args[0], *values))

    return lanes(array, intp), generate


def _broadcast(_: Any, array: Any, _index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return emit_repeat(builder, builder.load(emit_address(context, builder, signature.args[0], *values)))

    return lanes(array, intp), generate


def _store(_: Any, array: Any, _index: Any, _value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        emit_store(builder, emit_address(context, builder, signature.args[0], *values[:2]), values[2])
        return context.get_dummy_value()

    return void(array, intp, lanes), generate


load: Any = intrinsic(_load)  # load(array, i): the lanes array[i], array[i + 1], ...; the array is flat and not checked
broadcast: Any = intrinsic(_broadcast)  # broadcast(array, i): array[i] in every lane
store: Any = intrinsic(_store)  # store(array, i, value)

_declare: Any = cgutils.get_or_insert_function


def _library(name: str) -> Callable[..., Any]:
    def emit(builder: Any, *values: Any) -> Any:
        """Call the instruction of LLVM on lanes."""
        signature = ir.FunctionType(_LANES, [_LANES] * len(values))
        return builder.call(_declare(builder.module, signature, f"llvm.{name}.v{LANES}f64"), values)

    return emit


emit_multiply_add = _library("fmuladd")


def _constant(kind: Any, value: float) -> Any:
    return ir.Constant(kind, [value] * LANES)


def _smaller(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _choice(builder: Any, x: Any, y: Any, low: Any, high: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, y), low, high)


def _halves_added(builder: Any, value: Any) -> Any:
    parts = [builder.extract_element(value, ir.Constant(_INDEX, i)) for i in range(LANES)]
    while len(parts) > 1:
        parts = [builder.fadd(*parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


def _power_of_two_added(builder: Any, value: Any, shifted: Any) -> Any:
    exponent = builder.shl(builder.bitcast(shifted, _BITS), _constant(_BITS, 52))
    return builder.bitcast(builder.add(builder.bitcast(value, _BITS), exponent), _LANES)


_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD


def _exponent_bits(builder: Any, value: Any) -> Any:
    return builder.ashr(
        builder.sub(builder.bitcast(value, _BITS), _constant(_BITS, _ROOT_HALF_BITS)), _constant(_BITS, 52)
    )


def _exponent(builder: Any, value: Any) -> Any:
    return builder.sitofp(_exponent_bits(builder, value), _LANES)


def _mantissa(builder: Any, value: Any) -> Any:
    exponent = builder.shl(_exponent_bits(builder, value), _constant(_BITS, 52))
    return builder.bitcast(builder.sub(builder.bitcast(value, _BITS), exponent), _LANES)


repeat = _define(lanes, (float64,), emit_repeat)
absolute = _define(lanes, (lanes,), _library("fabs"))
root = _define(lanes, (lanes,), _library("sqrt"))
multiply_add = _define(lanes, (lanes, lanes, lanes), emit_multiply_add)  # x * y + z, rounded once where it is free
smaller = _define(lanes, (lanes, lanes), _smaller)
larger = _define(lanes, (lanes, lanes), _larger)
if_less = _define(lanes, (lanes, lanes, lanes, lanes), _choice)  # low where x < y, otherwise high
total = _define(float64, (lanes,), _halves_added)
# value * 2**k, where k are the low bits of shifted; and the two parts of value = mantissa * 2**exponent, the mantissa
# between sqrt(1/2) and sqrt(2). Normal numbers only.
times_power_of_two = _define(lanes, (lanes, lanes), _power_of_two_added)
exponent = _define(lanes, (lanes,), _exponent)
mantissa = _define(lanes, (lanes,), _mantissa)


def _teach(symbol: Any, instruction: str) -> None:
    """Let compiled code write `x symbol y` for lanes, and for lanes beside a number."""

    def typing(_: Any) -> Any:
        return lambda x, y: lanes if {x, y} in ({lanes}, {lanes, float64}) else None

    def generate(_: Any, builder: Any, signature: Any, values: Any) -> Any:
        both = (
            value if kind == lanes else emit_repeat(builder, value)
            for kind, value in zip(signature.args, values, strict=True)
        )
        return getattr(builder, instruction)(*both)

    lower: Any = lower_builtin
    type_callable(symbol)(typing)
    for arguments in ((lanes, lanes), (lanes, float64), (float64, lanes)):
        lower(symbol, *arguments)(generate)


_teach(operator.add, "fadd")
_teach(operator.sub, "fsub")
_teach(operator.mul, "fmul")
_teach(operator.truediv, "fdiv")
