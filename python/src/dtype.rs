//! The types of elements, and how a call finds the code for one: the only place that lists them.

use half::{bf16, f16};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyTuple};

/// A type of elements. `warpfold/_dtypes.py` has the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

use DType::*;

const ALL: [DType; 13] = [
    Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, Bf16, F32, F64,
];

impl DType {
    pub(crate) fn of(code: u8) -> PyResult<DType> {
        let dtype = ALL.get(code as usize).copied();
        dtype.ok_or_else(|| PyTypeError::new_err(format!("there is no dtype of code {code}")))
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Bool | I8 | U8 => 1,
            I16 | U16 | F16 | Bf16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 => 8,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, F16 | Bf16 | F32 | F64)
    }

    /// NumPy's dtype.
    pub(crate) fn object<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        objects(py)?.bind(py).get_item(self as usize)
    }

    /// NumPy's type of scalars.
    pub(crate) fn scalar<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        objects(py)?.bind(py).get_item(ALL.len() + self as usize)
    }
}

static OBJECTS: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();

/// The dtypes in the order of their codes, and then the types of their scalars.
fn objects(py: Python<'_>) -> PyResult<&Py<PyTuple>> {
    let unset = || PyTypeError::new_err("warpfold._native is used without warpfold");
    OBJECTS.get(py).ok_or_else(unset)
}

/// Tells this module NumPy's dtypes, in the order of their codes, and their types of scalars.
#[pyfunction]
pub(crate) fn set_dtypes(py: Python<'_>, objects: Bound<'_, PyTuple>) {
    // Of two interpreters' threads one is the first, and both bring the same.
    let _ = OBJECTS.set(py, objects.unbind());
}

/// A number that becomes a Python object.
pub(crate) trait Scalar: Copy {
    fn object(self, py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyAny>>;
}

macro_rules! scalars {
    ($($ty:ty => |$value:ident| $convert:expr;)*) => {$(
        impl Scalar for $ty {
            fn object(self, py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyAny>> {
                let $value = self;
                dtype.scalar(py)?.call1(($convert,))
            }
        }
    )*};
}

scalars! {
    i8 => |x| x;
    i16 => |x| x;
    i32 => |x| x;
    i64 => |x| x;
    f16 => |x| x.to_f64();
    bf16 => |x| x.to_f64();
    f32 => |x| f64::from(x);
    f64 => |x| x;
}

/// Unsigned integers stand for signed ones where sums wrap.
macro_rules! words {
    ($($word:ty, $signed:ty, $name:ident;)*) => {$(
        impl Scalar for $word {
            fn object(self, py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyAny>> {
                let scalar = dtype.scalar(py)?;
                match dtype {
                    Bool => scalar.call1((PyBool::new(py, self != 0),)),
                    $name => scalar.call1((self as $signed,)),
                    _ => scalar.call1((self,)),
                }
            }
        }
    )*};
}

words! {
    u8, i8, I8;
    u16, i16, I16;
    u32, i32, I32;
    u64, i64, I64;
}

/// Runs the code with the type of a dtype's elements.
macro_rules! with_numbers {
    ($dtype:expr, $T:ident => $code:expr) => {
        with_numbers!(@ $dtype, $T => $code;
            [Bool U8] u8, [I8] i8, [I16] i16, [I32] i32, [I64] i64, [U16] u16, [U32] u32, [U64] u64,
            [F16] half::f16, [Bf16] half::bf16, [F32] f32, [F64] f64)
    };
    (@ $dtype:expr, $T:ident => $code:expr; $([$($name:ident)*] $ty:ty),*) => {
        match $dtype {
            $($($crate::dtype::DType::$name)|* => {
                type $T = $ty;
                $code
            })*
        }
    };
}

/// Runs the code with unsigned integers in place of signed ones, for operators whose bits are
/// those: sums, products and bitwise ones, which wrap. Floats are what they are.
macro_rules! with_words {
    ($dtype:expr, $T:ident => $code:expr) => {
        with_words!(@ $dtype, $T => $code;
            [Bool I8 U8] u8, [I16 U16] u16, [I32 U32] u32, [I64 U64] u64,
            [F16] half::f16, [Bf16] half::bf16, [F32] f32, [F64] f64)
    };
    (@ $dtype:expr, $T:ident => $code:expr; $([$($name:ident)*] $ty:ty),*) => {
        match $dtype {
            $($($crate::dtype::DType::$name)|* => {
                type $T = $ty;
                $code
            })*
        }
    };
}

/// Runs the code with unsigned integers of as many bits, for what moves items and knows no numbers.
macro_rules! with_bits {
    ($dtype:expr, $T:ident => $code:expr) => {
        match $dtype.bytes() {
            1 => {
                type $T = u8;
                $code
            }
            2 => {
                type $T = u16;
                $code
            }
            4 => {
                type $T = u32;
                $code
            }
            _ => {
                type $T = u64;
                $code
            }
        }
    };
}

/// [`with_bits`] for integers; floats are an error.
macro_rules! with_integers {
    ($dtype:expr, $T:ident => $code:expr) => {
        match $dtype.is_float() {
            true => return Err($crate::dtype::no_bits($dtype)),
            false => $crate::dtype::with_bits!($dtype, $T => $code),
        }
    };
}

/// Floats have no bitwise operators.
pub(crate) fn no_bits(dtype: DType) -> PyErr {
    PyTypeError::new_err(format!("bitwise operators take integers, not {dtype:?}"))
}

pub(crate) use {with_bits, with_integers, with_numbers, with_words};
