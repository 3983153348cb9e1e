"""Streams: data that comes in chunks, with the bits of one call."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from . import _native
from ._arrays import flat, native
from ._dtypes import BF16, DTYPES, WIDE, code_of, initial_bytes, operator_of, operator_on
from ._reductions import _as_dtype


class _Alone:
    """Lets one call in at a time, and refuses others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "another call uses this stream: its chunks have an order, so push them one after "
                "the other, or take warpfold.Nodes, which are merged in any order"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _Stream:
    """What a reducer and a scanner have in common."""

    _folder: Any
    _code: int | None

    def __init__(
        self, op: str, dtype: Any, initial: Any, form: tuple[bool, bool], wide: bool
    ) -> None:
        self._op = operator_of(op)
        self._initial = initial
        self._form = form
        self._wide = wide
        self._code = None
        self._folder = None
        self._alone = _Alone()
        if dtype is not None:
            self._begin(code_of(dtype))

    def _begin(self, code: int) -> None:
        start = None if self._initial is None else initial_bytes(self._initial, code)
        op = operator_on(self._op, code)
        self._folder = _native.Folder(code, op, self._form, start)
        self._code = code

    def _piece(self, x: Any) -> tuple[np.ndarray[Any, Any], Any]:
        """The items of a chunk in the stream's dtype."""
        array, code, wrap = native(x)
        if self._code is None:
            sums = self._wide and self._op in ("add", "multiply")
            self._begin(WIDE[code] if sums else code)
        to = self._code
        assert to is not None
        if code != to:
            # As `sum` with a dtype; what changes numbers is refused.
            given = DTYPES[code]
            if BF16 in (code, to) or not np.can_cast(given, DTYPES[to], "safe"):
                raise TypeError(
                    f"a chunk is of dtype {given}, and the stream of {DTYPES[to]}: "
                    f"convert the chunk, or give the stream a dtype"
                )
            array = _as_dtype(array, code, to)
        return flat(array), wrap

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype of the results; ``None`` before the first chunk, if none was given."""
        return None if self._code is None else DTYPES[self._code]

    @property
    def count(self) -> int:
        """The number of items so far."""
        with self._alone:
            return 0 if self._folder is None else int(self._folder.state()[0])

    def __getstate__(self) -> dict[str, Any]:
        with self._alone:
            state = self.__dict__.copy()
            folder = state.pop("_folder")
            del state["_alone"]
            state["_state"] = None if folder is None else folder.state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        seen = state.pop("_state")
        self.__dict__.update(state)
        self._alone = _Alone()
        self._folder = None
        if seen is not None:
            assert self._code is not None
            self._begin(self._code)
            self._folder.restore(*seen)


class Reducer(_Stream):
    """A reduction that is fed chunks: files, ``numpy.memmap``, ``zarr``.

    The value has the bits of one call of :func:`warpfold.reduce` over all chunks in their order, or
    for sums and products of :func:`warpfold.sum` and :func:`warpfold.prod`, wherever chunks end.
    Between chunks it keeps 64 numbers at most. It can be pickled, and goes on in another process.
    A call while another thread's is under way is a ``RuntimeError``.

    Parameters
    ----------
    op : operator, as in :func:`warpfold.reduce`
    dtype : dtype of the fold; without it that of the sum, the product or the fold of the first
        chunk
    initial : number that the fold begins with

    Examples
    --------
    >>> import numpy as np, warpfold
    >>> data = np.arange(10, dtype="float32") / 3
    >>> total = warpfold.Reducer()
    >>> for chunk in np.split(data, [3, 4]):
    ...     total.push(chunk)
    >>> total.value() == warpfold.sum(data)
    np.True_
    """

    def __init__(self, op: str = "add", dtype: Any = None, *, initial: Any = None) -> None:
        super().__init__(op, dtype, initial, (False, False), True)

    def push(self, x: Any) -> None:
        """Takes in the items of a chunk, in C's order.

        Raises
        ------
        TypeError
            If the chunk's dtype does not fit into the stream's. Then nothing was taken in.
        """
        with self._alone:
            array, _ = self._piece(x)
            self._folder.push(array)

    def value(self) -> Any:
        """The fold so far, as a scalar of NumPy. More chunks may follow.

        Raises
        ------
        ValueError
            If there was no chunk, and no dtype was given.
        """
        with self._alone:
            if self._folder is None:
                raise ValueError("there was no chunk: give the Reducer a dtype")
            return self._folder.value()


class Scanner(_Stream):
    """A scan that is fed chunks.

    The results of the chunks, one after the other, have the bits of one call of
    :func:`warpfold.cumsum`, :func:`warpfold.cumprod` or :func:`warpfold.scan` over all of them,
    wherever chunks end. It can be pickled, and goes on in another process. A call while another
    thread's is under way is a ``RuntimeError``.

    Parameters
    ----------
    op : operator, as in :func:`warpfold.reduce`
    dtype : dtype of the folds; without it that of the running sum, product or fold of the first
        chunk
    exclusive : whether each item is left out of its own fold
    initial : number that the folds begin with

    Examples
    --------
    >>> import warpfold
    >>> running = warpfold.Scanner("add")
    >>> running.scan([3, 1, 7]), running.scan([2])
    (array([ 3,  4, 11]), array([13]))
    """

    def __init__(
        self,
        op: str = "add",
        dtype: Any = None,
        *,
        exclusive: bool = False,
        initial: Any = None,
    ) -> None:
        super().__init__(op, dtype, initial, (bool(exclusive), False), True)

    def scan(self, x: Any) -> Any:
        """The running folds of the items of a chunk, in C's order, in its shape.

        Raises
        ------
        TypeError
            If the chunk's dtype does not fit into the stream's. Then nothing was taken in.
        """
        with self._alone:
            array, wrap = self._piece(x)
            return wrap(self._folder.scan(array, None).reshape(np.shape(x)))


class Nodes:
    """What parts of an array leave of a reduction: for shards, tasks and jobs.

    Each part is reduced wherever it lies, to some dozens of sums. They are merged in any order of
    arrival, and pickled on the way. Once they are those of all items, :meth:`value` has the bits of
    one call over the whole array: of :func:`warpfold.reduce`, or for sums and products of
    :func:`warpfold.sum` and :func:`warpfold.prod`. Any threads may merge.

    Parameters
    ----------
    x : array; the part, in C's order
    start : place of its first item in the whole
    op : operator, as in :func:`warpfold.reduce`
    dtype : dtype of the fold; without it that of the sum, the product or the fold of ``x``. All
        parts must have one

    Raises
    ------
    ValueError
        If the part passes 2^63.

    Examples
    --------
    >>> import numpy as np, warpfold
    >>> data = np.arange(10, dtype="float32") / 3
    >>> parts = [warpfold.Nodes(data[a:b], a) for a, b in [(7, 10), (0, 3), (3, 7)]]
    >>> parts[0].merge(parts[1])
    >>> parts[0].merge(parts[2])
    >>> parts[0].value(10) == warpfold.sum(data)
    np.True_
    """

    def __init__(self, x: Any, start: int, op: str = "add", dtype: Any = None) -> None:
        array, code, _ = native(x)
        self._op = operator_of(op)
        is_sum = self._op in ("add", "multiply")
        to = (WIDE[code] if is_sum else code) if dtype is None else code_of(dtype)
        array = array if to == code else _as_dtype(array, code, to)
        if start < 0:
            raise ValueError(f"start is {start}; it must not be negative")
        self._code = to
        self._lock = threading.Lock()
        self._nodes = _native.Nodes.of(flat(array), to, operator_on(self._op, to), start)

    def merge(self, other: Nodes) -> None:
        """Adds the nodes of other items.

        Raises
        ------
        ValueError
            If both have an item. Then these are as they were.
        TypeError
            If the others are of another operator or dtype.
        """
        if (self._op, self._code) != (other._op, other._code):
            raise TypeError(
                f"these are of {self._op} in {DTYPES[self._code]}, "
                f"the others of {other._op} in {DTYPES[other._code]}"
            )
        with other._lock:
            nodes = other._nodes.bytes()
        with self._lock:
            self._nodes.merge(nodes)

    def value(self, length: int, *, initial: Any = None) -> Any:
        """The fold of all ``length`` items of the whole array, as a scalar of NumPy.

        Raises
        ------
        ValueError
            If some of them are missing, or there are more.
        """
        start = None if initial is None else initial_bytes(initial, self._code)
        with self._lock:
            return self._nodes.value(length, start)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Which items they are of: ranges of places that do not touch, in their order."""
        with self._lock:
            return self._nodes.ranges()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            nodes = self._nodes.bytes()
        return {"op": self._op, "dtype": self._code, "nodes": nodes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._op, self._code = state["op"], state["dtype"]
        self._lock = threading.Lock()
        self._nodes = _native.Nodes(self._code, operator_on(self._op, self._code))
        self._nodes.merge(state["nodes"])
