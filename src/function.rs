//! Functions that run on the host and on GPUs, and the types that they compute with.

use crate::definitions::Definitions;
use crate::translated::Part;
use half::{bf16, f16};

/// A type that has values in CUDA: what functions take, compute with and return.
///
/// Implemented for `u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f32 f64`, `bool`, `usize` and `isize`
/// (64 bits on a GPU), `f16` and `bf16` (functions store them, and do not compute with them),
/// tuples of up to six parts, arrays, and by `#[derive(Element)]` for structs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no values on a GPU",
    label = "not on a GPU",
    note = "there are u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize f32 f64 and bool, tuples and arrays of these, and #[repr(C)] structs with #[derive(warpfold::Element)]"
)]
pub trait CudaType: Copy + 'static {
    /// Adds what the CUDA type needs to `definitions`, and returns its name.
    fn cuda_type(definitions: &mut Definitions) -> String;

    /// The value as a constant in CUDA C++, which can stand anywhere in an expression.
    fn cuda_value(&self, definitions: &mut Definitions) -> String;

    /// The numbers that the value consists of, from first to last.
    #[doc(hidden)]
    fn parts(&self, visit: &mut dyn FnMut(Part));
}

macro_rules! integer_types {
    ($($integer:ty as $cuda:literal, $suffix:literal;)*) => {$(
        impl CudaType for $integer {
            fn cuda_type(_: &mut Definitions) -> String {
                $cuda.into()
            }

            fn cuda_value(&self, _: &mut Definitions) -> String {
                match *self {
                    // The least value of a signed type is the negative of no value.
                    #[allow(unused_comparisons)]
                    least if least == <$integer>::MIN && least < 0 => {
                        format!("{}({}{} - 1)", $cuda, least + 1, $suffix)
                    }
                    #[allow(unused_comparisons)]
                    negative if negative < 0 => format!("{}({negative}{})", $cuda, $suffix),
                    value if $suffix.is_empty() && $cuda != "i32" => format!("{}({value})", $cuda),
                    value => format!("{value}{}", $suffix),
                }
            }

            fn parts(&self, visit: &mut dyn FnMut(Part)) {
                visit(Part::Integer(*self as i128));
            }
        }
    )*};
}

integer_types! {
    u8 as "u8", ""; i8 as "i8", ""; u16 as "u16", ""; i16 as "i16", "";
    u32 as "u32", "u"; i32 as "i32", ""; u64 as "u64", "ull"; i64 as "i64", "ll";
    usize as "u64", "ull"; isize as "i64", "ll";
}

/// C++ has no literals of more than 64 bits.
macro_rules! long_integer_types {
    ($($integer:ident),*) => {$(
        impl CudaType for $integer {
            fn cuda_type(_: &mut Definitions) -> String {
                stringify!($integer).into()
            }

            fn cuda_value(&self, _: &mut Definitions) -> String {
                let (upper, lower) = ((*self >> 64) as u64, *self as u64);
                let ty = stringify!($integer);
                if upper == 0 {
                    format!("{ty}({lower}ull)")
                } else {
                    format!("{ty}(u128({upper}ull) << 64 | {lower}ull)")
                }
            }

            fn parts(&self, visit: &mut dyn FnMut(Part)) {
                match i128::try_from(*self) {
                    Ok(integer) => visit(Part::Integer(integer)),
                    Err(_) => visit(Part::Beyond(*self as u128)),
                }
            }
        }
    )*};
}

long_integer_types!(u128, i128);

macro_rules! float_types {
    ($($float:ty as $suffix:literal, $bits_suffix:literal;)*) => {$(
        impl CudaType for $float {
            fn cuda_type(_: &mut Definitions) -> String {
                stringify!($float).into()
            }

            fn cuda_value(&self, _: &mut Definitions) -> String {
                if self.is_finite() {
                    // The fewest digits that name this number and no other.
                    let digits = format!("{self:?}{}", $suffix);
                    if self.is_sign_negative() { format!("({digits})") } else { digits }
                } else {
                    format!("rust::from_bits({:#x}{})", self.to_bits(), $bits_suffix)
                }
            }

            fn parts(&self, visit: &mut dyn FnMut(Part)) {
                visit(Part::Float(f64::from(*self)));
            }
        }
    )*};
}

float_types! { f32 as "f", "u"; f64 as "", "ull"; }

macro_rules! half_types {
    ($($half:ident),*) => {$(
        impl CudaType for $half {
            fn cuda_type(_: &mut Definitions) -> String {
                stringify!($half).into()
            }

            fn cuda_value(&self, _: &mut Definitions) -> String {
                format!(concat!(stringify!($half), "{{{:#x}}}"), self.to_bits())
            }

            fn parts(&self, visit: &mut dyn FnMut(Part)) {
                visit(Part::Float(f64::from(*self)));
            }
        }
    )*};
}

half_types!(f16, bf16);

impl CudaType for bool {
    fn cuda_type(_: &mut Definitions) -> String {
        "bool".into()
    }

    fn cuda_value(&self, _: &mut Definitions) -> String {
        self.to_string()
    }

    fn parts(&self, visit: &mut dyn FnMut(Part)) {
        visit(Part::Integer(i128::from(*self)));
    }
}

impl<E: CudaType, const N: usize> CudaType for [E; N] {
    fn cuda_type(definitions: &mut Definitions) -> String {
        format!("warpfold::Array<{}, {N}>", E::cuda_type(definitions))
    }

    fn cuda_value(&self, definitions: &mut Definitions) -> String {
        let ty = Self::cuda_type(definitions);
        let values = self.iter().map(|element| element.cuda_value(definitions));
        format!("{ty}{{{{{}}}}}", values.collect::<Vec<_>>().join(", "))
    }

    fn parts(&self, visit: &mut dyn FnMut(Part)) {
        self.iter().for_each(|element| element.parts(visit));
    }
}

#[cfg(feature = "complex")]
impl<P: CudaType> CudaType for num_complex::Complex<P> {
    fn cuda_type(definitions: &mut Definitions) -> String {
        format!("warpfold::Complex<{}>", P::cuda_type(definitions))
    }

    fn cuda_value(&self, definitions: &mut Definitions) -> String {
        let ty = Self::cuda_type(definitions);
        let (re, im) = (
            self.re.cuda_value(definitions),
            self.im.cuda_value(definitions),
        );
        format!("{ty}{{{re}, {im}}}")
    }

    fn parts(&self, visit: &mut dyn FnMut(Part)) {
        self.re.parts(visit);
        self.im.parts(visit);
    }
}

macro_rules! tuple_types {
    ($(($($part:ident $number:tt),*);)*) => {$(
        impl<$($part: CudaType),*> CudaType for ($($part,)*) {
            fn cuda_type(definitions: &mut Definitions) -> String {
                let parts = [$($part::cuda_type(definitions)),*];
                format!("warpfold::Tuple<{}>", parts.join(", "))
            }

            fn cuda_value(&self, definitions: &mut Definitions) -> String {
                let ty = Self::cuda_type(definitions);
                let parts = [$(self.$number.cuda_value(definitions)),*];
                format!("{ty}{{{}}}", parts.join(", "))
            }

            fn parts(&self, visit: &mut dyn FnMut(Part)) {
                $(self.$number.parts(visit);)*
            }
        }
    )*};
}

tuple_types! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// A function of the host that has a translation to CUDA.
///
/// [`#[function]`](macro@crate::function) implements it for a type that has the function's own
/// name. Rust keeps the names of types and functions apart. So you can pass a function where a type
/// is needed:
///
/// ```
/// use warpfold::{Function, function};
///
/// #[function]
/// fn positive(x: f32) -> bool {
///     x > 0.0
/// }
///
/// fn count<F: Function<Input = (f32,), Output = bool>>(values: &[f32]) -> usize {
///     values.iter().filter(|x| F::call((**x,))).count()
/// }
///
/// assert_eq!(count::<positive>(&[1.0, -2.0, 3.0]), 2);
/// ```
///
/// If Rust says that a function item is not a type, the function has no `#[function]`:
///
/// ```compile_fail,E0747
/// use warpfold::{collect, map};
///
/// fn square(x: f32) -> f32 {
///     x * x
/// }
///
/// collect(map::<square, _>(&[1.0, 2.0]));
/// ```
///
/// If it says that it cannot find a module of a function's name, another function calls it, and it
/// has none, either.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function that runs on a GPU",
    label = "no such function",
    note = "put #[warpfold::function] before the function, and write its name here: `map::<square, _>(&values)`; closures and functions of the standard library do not run on a GPU"
)]
pub trait Function: 'static {
    /// The arguments, as a tuple.
    type Input;

    /// The value.
    type Output;

    /// Calls the function on the host.
    fn call(input: Self::Input) -> Self::Output;

    /// Adds the function in CUDA C++ to `definitions`, and returns the name to call it by.
    fn cuda(definitions: &mut Definitions) -> String;
}
