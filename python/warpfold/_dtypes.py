"""The dtypes and operators that there are, and the numbers by which native code knows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native

#: In the order of `DType` in `src/dtype.rs`.
NAMES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]

BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 = range(13)

#: Without the package ml_dtypes NumPy knows no bfloat16: its bits are uint16 then.
BFLOAT16: np.dtype[Any] | None
try:
    import ml_dtypes

    BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:  # pragma: no cover
    BFLOAT16 = None

DTYPES: list[np.dtype[Any]] = [
    (BFLOAT16 or np.dtype("uint16")) if name == "bfloat16" else np.dtype(name) for name in NAMES
]

#: The code of each dtype that NumPy exports as a buffer, in the machine's byte order.
CODES: dict[np.dtype[Any], int] = {dtype: code for code, dtype in enumerate(DTYPES) if code != BF16}

#: What sums and products of a dtype are in: 64 bits for integers.
WIDE = [I64, I64, I64, I64, I64, U64, U64, U64, U64, F16, BF16, F32, F64]

#: What sums and products read in place in another dtype.
READ_AS = {
    **{(code, to): True for code in (BOOL, I8, I16, I32, U8, U16, U32) for to in (I64, U64)},
    (F32, F64): True,
}

IS_FLOAT = [False] * 9 + [True] * 4

_native.set_dtypes(tuple(DTYPES) + tuple(dtype.type for dtype in DTYPES))

OPERATORS = {
    "add": "add",
    "sum": "add",
    "+": "add",
    "multiply": "multiply",
    "mul": "multiply",
    "prod": "multiply",
    "*": "multiply",
    "minimum": "minimum",
    "min": "minimum",
    "maximum": "maximum",
    "max": "maximum",
    "bitwise_and": "bitwise_and",
    "&": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "|": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "^": "bitwise_xor",
}


def operator_of(op: str) -> str:
    """The operator of a name."""
    name = OPERATORS.get(op) if isinstance(op, str) else None
    if name is None:
        known = ", ".join(sorted(set(OPERATORS.values())))
        raise ValueError(f"op is {op!r}; operators are: {known}")
    return name


def operator_on(op: str, code: int) -> str:
    """The operator on a dtype. NumPy's sums of bool in bool are or, and products and."""
    if IS_FLOAT[code] and op.startswith("bitwise"):
        raise TypeError(f"{op} takes integers or bool, not {DTYPES[code]}")
    if code != BOOL:
        return op
    return {"add": "bitwise_or", "multiply": "bitwise_and"}.get(op, op)


def code_of(dtype: Any) -> int:
    """The code of a dtype that a caller asks for."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        # PyTorch's dtypes print as torch.float32.
        wanted = np.dtype(str(dtype).rpartition(".")[2])
    return known_code(wanted)


def known_code(dtype: np.dtype[Any]) -> int:
    """The code of a dtype in any byte order."""
    if BFLOAT16 is not None and dtype == BFLOAT16:
        return BF16
    code = CODES.get(dtype.newbyteorder("="))
    if code is None:
        raise TypeError(f"dtype {dtype} is not supported: {_remedy(dtype)}")
    return code


def _remedy(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "c":
        return "take x.real and x.imag"
    if dtype.kind in "mM":
        return "take x.view('int64'), in which NaT is the least number"
    if dtype.kind == "O":
        return "convert the array to a dtype of numbers first, with x.astype(...)"
    if dtype.kind == "f":
        return "take x.astype('float64'), which rounds"
    return "arrays are of bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64"


def initial_bytes(value: Any, code: int) -> bytes:
    """A number as the bytes of a dtype, if it is one of that dtype."""
    dtype = DTYPES[code]
    if code == BF16 and BFLOAT16 is None:
        raise TypeError("initial: bfloat16 needs the package ml_dtypes")
    given = np.asarray(value)
    if given.ndim != 0:
        raise ValueError(f"initial is of shape {given.shape}; it must be a number")
    # Python's integers of any size are objects to NumPy.
    is_integer = given.dtype.kind in "biu" or isinstance(value, int)
    if not is_integer and not (IS_FLOAT[code] and given.dtype.kind == "f"):
        raise TypeError(f"initial is {value!r}, which is not of dtype {dtype}")
    number = dtype.type(int(value) if is_integer else value)
    return bytes(number.tobytes())
