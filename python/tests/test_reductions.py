"""Reductions are NumPy's for integers and extremes, and the law's for floats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from law import ALL, BOOL, FLOATS, INTEGERS, any_array, fold, same, wide, with_axis


def lanes(x, axis):
    """The array as lanes along an axis, and the shape of their results."""
    if axis is None:
        return x.reshape(1, -1), ()
    moved = np.moveaxis(x, axis, -1)
    return moved.reshape(-1, x.shape[axis]) if x.size else moved, moved.shape[:-1]


@given(with_axis(BOOL + INTEGERS), st.booleans())
def test_sums_and_products_of_integers_are_numpys(case, keepdims):
    x, axis = case
    same(wf.sum(x, axis, keepdims=keepdims), np.sum(x, axis, keepdims=keepdims))
    same(wf.prod(x, axis, keepdims=keepdims), np.prod(x, axis, keepdims=keepdims))


@given(with_axis(BOOL + INTEGERS))
def test_folds_of_integers_keep_their_dtype_and_wrap(case):
    x, axis = case
    native = x.astype(x.dtype.newbyteorder("="))
    same(wf.reduce(x, "add", axis), np.sum(native, axis, dtype=native.dtype))
    same(wf.reduce(x, "multiply", axis), np.prod(native, axis, dtype=native.dtype))


@given(with_axis(FLOATS), st.sampled_from(["add", "multiply"]))
def test_sums_and_products_of_floats_are_the_laws(case, op):
    x, axis = case
    rows, shape = lanes(x, axis)
    x_dtype = x.dtype.newbyteorder("=")
    if x.size:
        expected = np.array([fold(row.astype(x_dtype), op) for row in rows]).reshape(shape)[()]
    else:
        ufunc = {"add": np.sum, "multiply": np.prod}[op]
        expected = ufunc(x, axis).astype(x_dtype)[()]
    same(wf.reduce(x, op, axis), expected)
    same({"add": wf.sum, "multiply": wf.prod}[op](x, axis), expected)


@given(any_array(FLOATS, min_dims=2), st.data())
def test_a_layout_does_not_show_in_a_sum(x, data):
    """Whatever the strides: the bits are those of the array row by row."""
    plain = np.ascontiguousarray(x).astype(x.dtype.newbyteorder("="))
    axes = data.draw(st.sets(st.sampled_from(range(x.ndim))))
    axis = tuple(axes) or None
    same(wf.sum(x, axis), wf.sum(plain, axis))


@given(with_axis(ALL))
def test_extremes_are_numpys(case):
    x, axis = case
    for ours, theirs in [
        (wf.min, np.min),
        (wf.max, np.max),
        (wf.argmin, np.argmin),
        (wf.argmax, np.argmax),
    ]:
        try:
            expected = theirs(x, axis)
        except ValueError:
            if axis is not None and x.shape[axis] == 0 == np.delete(x.shape, axis).prod():
                continue  # No lane, so none is empty: NumPy's argmin refuses that alone.
            with pytest.raises(ValueError):
                ours(x, axis)
            continue
        result = ours(x, axis)
        assert np.array_equal(result, expected, equal_nan=x.dtype.kind == "f")
        assert np.shape(result) == np.shape(expected)


@given(with_axis(ALL))
def test_counts_and_truth_are_numpys(case):
    x, axis = case
    same(wf.count_nonzero(x, axis), np.asarray(np.count_nonzero(x, axis), "int64")[()])
    same(wf.any(x, axis), np.any(x, axis))
    same(wf.all(x, axis), np.all(x, axis))


@given(with_axis(ALL), st.sampled_from([0, 1, 0.5]))
def test_moments_are_near_numpys_in_float64(case, correction):
    x, axis = case
    finite = np.where(np.isfinite(x), x, 1).astype("float64").clip(-1e150, 1e150)
    finite = np.where(abs(finite) < 1e-150, 0, finite)
    kept = finite.astype(x.dtype.newbyteorder("=")) if x.dtype.kind != "f" else finite
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, var = (
            np.mean(kept.astype("float64"), axis),
            np.var(kept.astype("float64"), axis, ddof=correction),
        )
    scale = float(np.max(np.abs(kept.astype("float64")), initial=0)) or 1.0
    np.testing.assert_allclose(wf.mean(kept, axis), mean, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(
        wf.var(kept, axis, ddof=correction), var, rtol=1e-9, atol=1e-9 * scale**2
    )
    np.testing.assert_allclose(
        wf.std(kept, axis, correction=correction), np.sqrt(var), rtol=1e-6, atol=1e-6 * scale
    )


def test_means_of_floats_have_their_dtype():
    for dtype in FLOATS:
        assert wf.mean(np.ones(3, dtype)).dtype == dtype
        assert wf.var(np.ones((3, 2), dtype), 0).dtype == dtype
    assert wf.std(np.ones(3, "int8")).dtype == "float64"
    assert wf.mean(np.ones(3, "float32"), dtype="float64").dtype == "float64"


@given(any_array(ALL, min_dims=2, max_dims=2), st.data())
def test_where_folds_what_is_left_of_each_lane(x, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=x.size, max_size=x.size)), bool)
    mask = mask.reshape(x.shape)
    native = x.astype(x.dtype.newbyteorder("="))
    same(wf.sum(x, where=mask), wf.sum(native[mask]))
    rows = [wf.sum(row[keep]) for row, keep in zip(native, mask)]
    same(wf.sum(x, 1, where=mask), np.array(rows, wide(native.dtype)))
    columns = [wf.prod(row[keep]) for row, keep in zip(native.T, mask.T)]
    same(wf.prod(x, 0, where=mask), np.array(columns, wide(native.dtype)))
    least = [np.min(row[keep], initial=1) for row, keep in zip(native, mask)]
    expected = np.array(least, native.dtype)
    assert np.array_equal(
        wf.min(x, 1, where=mask, initial=1), expected, equal_nan=x.dtype.kind == "f"
    )


def test_where_is_broadcast():
    x = np.arange(6).reshape(2, 3)
    same(wf.sum(x, 0, where=[True, False, True]), np.sum(x, 0, where=[True, False, True]))
    same(wf.sum(x, where=np.array([[True], [False]])), np.int64(3))
    with pytest.raises(ValueError, match=r"where is of shape \(2,\), and x of \(2, 3\)"):
        wf.sum(x, where=[True, False])
    with pytest.raises(TypeError, match="int64; it must be bool"):
        wf.sum(x, where=[1, 0, 1])


@given(with_axis(FLOATS))
def test_an_initial_value_comes_first(case):
    x, axis = case
    rows, shape = lanes(x, axis)
    if x.size == 0:
        return
    expected = [fold(row.astype(x.dtype.newbyteorder("=")), "add", 0.1) for row in rows]
    same(wf.sum(x, axis, initial=0.1), np.array(expected).reshape(shape)[()])


def test_sums_in_another_dtype():
    x = np.array([0.1, 0.2, 0.7], "float32")
    same(wf.sum(x, dtype="float64"), wf.sum(x.astype("float64")))
    same(wf.sum(np.array([200, 100], "uint8"), dtype="uint8"), np.uint8(44))
    same(wf.sum(np.array([-1, 3], "int8"), dtype="uint64"), np.uint64(2))
    same(wf.sum(np.array([True, True]), dtype=bool), np.sum([True, True], dtype=bool))
    same(wf.sum(np.array([1.9, 2.9]), dtype="int32"), np.int32(3))
    same(wf.prod(np.array([1.5], "float16"), dtype="float32"), np.float32(1.5))


def test_any_byte_but_0_is_true():
    x = np.array([2, 0, 255], "uint8").view(bool)
    assert wf.sum(x) == 2 and wf.count_nonzero(x) == 2


@given(any_array(INTEGERS))
def test_bitwise_folds_are_numpys(x):
    native = x.astype(x.dtype.newbyteorder("="))
    for op in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        if len(native) == 0:
            continue  # NumPy has no identity for some dtypes.
        expected = getattr(np, op).reduce(native, axis=0)
        same(wf.reduce(x, op, 0), expected)


def test_out_takes_the_result():
    x = np.arange(6, dtype="float32").reshape(2, 3)
    out = np.empty(3, "float64")
    assert wf.sum(x, 0, out=out) is out
    same(out, np.array([3.0, 5.0, 7.0]))
    with pytest.raises(ValueError, match=r"out is of shape \(2,\)"):
        wf.sum(x, 0, out=np.empty(2))
    with pytest.raises(TypeError):
        wf.sum(x, 0, out=np.empty(3, "int64"))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wf.sum(x, 0, out=out)


def test_several_axes_are_one_lane_in_their_order():
    x = np.random.default_rng(1).standard_normal((3, 4, 5, 6), "float32")
    for axes in [(0, 1), (1, 3), (0, 2, 3), (3, 1), (0, 1, 2, 3)]:
        kept = [i for i in range(4) if i not in axes]
        moved = x.transpose(*kept, *sorted(axes)).reshape([x.shape[i] for i in kept] + [-1])
        expected = np.array([fold(row) for row in moved.reshape(-1, moved.shape[-1])])
        same(wf.sum(x, axes), expected.reshape(moved.shape[:-1])[()])


def test_long_arrays_are_the_laws_too():
    x = np.random.default_rng(2).standard_normal(1_234_567, "float32")
    same(wf.sum(x), fold(x))
    y = x[: 1 << 20].reshape(1024, 1024)
    same(wf.sum(y, 0), np.array([fold(column) for column in y.T]))
    same(wf.sum(y.T, 0), np.array([fold(row) for row in y]))
    same(wf.sum(x[::3]), fold(x[::3].copy()))
    same(wf.sum(x[::-1]), fold(x[::-1].copy()))
