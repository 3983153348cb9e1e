//! Operators by name, and values that start folds.

use bytemuck::Pod;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An operator. `warpfold/_dtypes.py` has the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Mul,
    Min,
    Max,
    And,
    Or,
    Xor,
}

impl Op {
    pub(crate) fn of(name: &str) -> PyResult<Op> {
        Ok(match name {
            "add" => Op::Add,
            "multiply" => Op::Mul,
            "minimum" => Op::Min,
            "maximum" => Op::Max,
            "bitwise_and" => Op::And,
            "bitwise_or" => Op::Or,
            "bitwise_xor" => Op::Xor,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "there is no operator {name:?}"
                )));
            }
        })
    }

    /// Whether the order of the items does not show.
    pub(crate) fn is_exact(self, is_float: bool) -> bool {
        !is_float || matches!(self, Op::Min | Op::Max)
    }
}

/// The number with these bytes.
pub(crate) fn number<T: Pod>(bytes: Option<&[u8]>) -> PyResult<Option<T>> {
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let read = bytemuck::try_pod_read_unaligned(bytes).map(Some);
    read.map_err(|_| PyValueError::new_err("an initial value of another dtype"))
}

/// Runs the code with the types of elements and operator for a dtype and an operator. Bitwise
/// operators take integers only.
macro_rules! with_operator {
    ($dtype:expr, $op:expr, ($T:ident, $O:ident) => $code:expr) => {{
        use $crate::dtype::{with_integers, with_numbers, with_words};
        use $crate::ops::Op;
        match $op {
            Op::Add => with_words!($dtype, $T => { type $O = warpfold::ops::Add; $code }),
            Op::Mul => with_words!($dtype, $T => { type $O = warpfold::ops::Mul; $code }),
            Op::Min => with_numbers!($dtype, $T => { type $O = warpfold::ops::Min; $code }),
            Op::Max => with_numbers!($dtype, $T => { type $O = warpfold::ops::Max; $code }),
            Op::And => with_integers!($dtype, $T => { type $O = warpfold::ops::BitAnd; $code }),
            Op::Or => with_integers!($dtype, $T => { type $O = warpfold::ops::BitOr; $code }),
            Op::Xor => with_integers!($dtype, $T => { type $O = warpfold::ops::BitXor; $code }),
        }
    }};
}

pub(crate) use with_operator;
