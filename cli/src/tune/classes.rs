//! What is tuned: a type for every row of the table.

use warpfold::cuda::cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use warpfold::half::f16;
use warpfold::{Element, Monoid, monoid, ops};

/// The type that stands for all elements of its size.
pub(crate) trait Class: Element + DeviceRepr + ValidAsZeroBits {
    type Operator: Monoid<Self>;

    const NAME: &'static str;

    /// An element drawn at random, such that sums of many millions stay finite: NaNs may differ.
    fn sample(random: u64) -> Self;
}

impl Class for u8 {
    type Operator = ops::Add;

    const NAME: &'static str = "u8";

    fn sample(random: u64) -> u8 {
        (random >> 7) as u8
    }
}

/// Folded in a wider type.
impl Class for f16 {
    type Operator = ops::Add;

    const NAME: &'static str = "f16";

    fn sample(random: u64) -> f16 {
        f16::from_bits((random >> 7) as u16 & 0x83ff | 0x3c00)
    }
}

impl Class for f32 {
    type Operator = ops::Add;

    const NAME: &'static str = "f32";

    fn sample(random: u64) -> f32 {
        f32::from_bits((random >> 7) as u32 & 0x807f_ffff | 0x3f80_0000)
    }
}

/// A sum of integers may be bracketed in any order, which is less work. What is best for the law's
/// order is good enough for it.
impl Class for f64 {
    type Operator = ops::Add;

    const NAME: &'static str = "f64";

    fn sample(random: u64) -> f64 {
        f64::from(f32::sample(random)) + f64::from(f32::sample(random.rotate_left(32))) * 1e-9
    }
}

macro_rules! arrays {
    ($($length:literal $name:literal;)*) => {$(
        impl Class for [f32; $length] {
            type Operator = Sums;

            const NAME: &'static str = $name;

            fn sample(random: u64) -> [f32; $length] {
                std::array::from_fn(|i| f32::sample(random.rotate_left(6 * i as u32)))
            }
        }
    )*};
}

arrays! {
    3 "[f32; 3]";
    4 "[f32; 4]";
    5 "[f32; 5]";
    6 "[f32; 6]";
    7 "[f32; 7]";
    8 "[f32; 8]";
    9 "[f32; 9]";
    10 "[f32; 10]";
    12 "[f32; 12]";
    13 "[f32; 13]";
    16 "[f32; 16]";
}

/// Sums component by component.
#[monoid(name = Sums, identity = [0.0; N], commutative)]
pub(crate) fn sum<const N: usize>(mut a: [f32; N], b: [f32; N]) -> [f32; N] {
    for i in 0..N {
        a[i] += b[i];
    }
    a
}

/// What is done with each class.
pub(crate) trait Visitor {
    type Error;

    fn visit<T: Class>(&mut self) -> Result<(), Self::Error>;
}

/// Visits the classes in the order of the table: from small elements to large ones.
pub(crate) fn for_each_class<V: Visitor>(visitor: &mut V) -> Result<(), V::Error> {
    visitor.visit::<u8>()?;
    visitor.visit::<f16>()?;
    visitor.visit::<f32>()?;
    visitor.visit::<f64>()?;
    visitor.visit::<[f32; 3]>()?;
    visitor.visit::<[f32; 4]>()?;
    visitor.visit::<[f32; 5]>()?;
    visitor.visit::<[f32; 6]>()?;
    visitor.visit::<[f32; 7]>()?;
    visitor.visit::<[f32; 8]>()?;
    visitor.visit::<[f32; 9]>()?;
    visitor.visit::<[f32; 10]>()?;
    visitor.visit::<[f32; 12]>()?;
    visitor.visit::<[f32; 13]>()?;
    visitor.visit::<[f32; 16]>()
}
