//! Short numbers as wide ones, evaluated where they are read: sums and products of 64 bits.

use warpfold::function;

macro_rules! words {
    ($($name:ident: $ty:ty;)*) => {$(
        /// The number modulo 2^64.
        #[function]
        pub(crate) fn $name(x: $ty) -> u64 {
            x as i64 as u64
        }
    )*};
}

words! {
    word_of_i8: i8;
    word_of_i16: i16;
    word_of_i32: i32;
    word_of_u8: u8;
    word_of_u16: u16;
    word_of_u32: u32;
}

/// NumPy takes any byte but 0 for true.
#[function]
pub(crate) fn word_of_bool(x: u8) -> u64 {
    (x != 0) as u64
}

#[function]
pub(crate) fn double_of_f32(x: f32) -> f64 {
    x as f64
}

/// Runs the code with the type of the items, the wide one, the function from one to the other, and
/// the operator: a sum or a product.
macro_rules! with_wide {
    ($from:expr, $to:expr, $op:expr, ($T:ident, $W:ident, $F:ident, $O:ident) => $code:expr) => {{
        use $crate::dtype::DType;
        use $crate::ops::Op;
        match $op {
            Op::Add => with_wide!(@ $from, $to, warpfold::ops::Add, ($T, $W, $F, $O) => $code),
            Op::Mul => with_wide!(@ $from, $to, warpfold::ops::Mul, ($T, $W, $F, $O) => $code),
            _ => Err($crate::wide::not_wide($from, $to)),
        }
    }};
    (@ $from:expr, $to:expr, $op:ty, ($T:ident, $W:ident, $F:ident, $O:ident) => $code:expr) => {
        with_wide!(@ $from, $to, $op, ($T, $W, $F, $O) => $code;
            Bool u8 word_of_bool, I8 i8 word_of_i8, I16 i16 word_of_i16, I32 i32 word_of_i32,
            U8 u8 word_of_u8, U16 u16 word_of_u16, U32 u32 word_of_u32)
    };
    (@ $from:expr, $to:expr, $op:ty, ($T:ident, $W:ident, $F:ident, $O:ident) => $code:expr;
        $($name:ident $ty:ident $function:ident),*) => {
        match ($from, $to) {
            $((DType::$name, DType::I64 | DType::U64) => {
                type $T = $ty;
                type $W = u64;
                type $F = $crate::wide::$function;
                type $O = $op;
                $code
            })*
            (DType::F32, DType::F64) => {
                type $T = f32;
                type $W = f64;
                type $F = $crate::wide::double_of_f32;
                type $O = $op;
                $code
            }
            _ => Err($crate::wide::not_wide($from, $to)),
        }
    };
}

/// The package asks for no such pair.
pub(crate) fn not_wide(from: crate::dtype::DType, to: crate::dtype::DType) -> pyo3::PyErr {
    pyo3::exceptions::PyTypeError::new_err(format!("no sums of {from:?} as {to:?}"))
}

pub(crate) use with_wide;
