//! What is measured: the table of types, operators and lengths.

use crate::bench::Bench;
use crate::classes::{
    Best, Better, ByteMaxima, ByteSums, Compose, Furthest, Gains, Greatest, Latest, LogAdd, Mean,
    Means, Merge12, Merge24, Modular, Norm, Parallel, Product, Saturating, ShortMinima, Softmax,
    Spread12, Spread24, Tag, Then64, Turns,
};
use crate::compare::Check;
use crate::contest;
use crate::elements::{Affine, FreeAdd, OwnFloatSum, OwnSum, Sample, Sums, Then};
use crate::trial::Name;
use warpfold::Monoid;
use warpfold::half::{bf16, f16};
use warpfold::ops::{Add, Max, Min};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Primitive {
    Reduce,
    /// The exclusive scan.
    Scan,
    Inclusive,
}

impl Primitive {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Primitive::Reduce => "reduce",
            Primitive::Scan => "scan",
            Primitive::Inclusive => "inclusive",
        }
    }
}

/// A length, and where the views start, in elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) length: usize,
    pub(crate) offset: usize,
}

/// One type with one operator.
pub(crate) struct Family {
    pub(crate) element: &'static str,
    pub(crate) operator: &'static str,
    pub(crate) primitives: &'static [Primitive],
    lengths: &'static [usize],
    /// Whether odd lengths and views at odd offsets are measured too.
    odd: bool,
    element_bytes: usize,
    /// What our results must be.
    pub(crate) ours: Check,
    /// What CUB's must be.
    pub(crate) cub: Check,
    pub(crate) run: fn(&mut Bench, &Family),
}

use Check::{Bits, NearF32, NearF64, Nothing};
use Primitive::{Inclusive, Reduce, Scan};

const BOTH: &[Primitive] = &[Reduce, Scan];

const EVERY: &[usize] = &[
    1,
    1000,
    1 << 12,
    1 << 14,
    1 << 16,
    1 << 18,
    1_000_000,
    1 << 20,
    1 << 22,
    1 << 24,
    1 << 26,
    1 << 28,
    1 << 30,
];
/// Structs of 16 bytes and more: a little more than one block a multiprocessor holds of them.
const SMALL: usize = 300_000;
/// It divides into no power of two of chunks that fills a GPU.
const UNEVEN: usize = 3_000_000;
const SOME: &[usize] = &[
    100,
    1000,
    1 << 16,
    SMALL,
    1_000_000,
    1 << 20,
    UNEVEN,
    1 << 22,
    1 << 24,
    1 << 26,
    1 << 28,
];
/// Of the classes of operators: enough to see what they cost.
const FEW: &[usize] = &[
    100,
    1000,
    1 << 16,
    SMALL,
    1_000_000,
    UNEVEN,
    1 << 22,
    1 << 26,
    1 << 28,
];
/// `FEW` without the longest, for elements of 8 bytes and more.
const FEWER: &[usize] = FEW.split_at(FEW.len() - 1).0;
const LONG: &[usize] = &[1 << 28];
/// What a quick run takes of them.
const QUICK: &[usize] = &[1000, 1_000_000, 1 << 22, 1 << 26, 1 << 28];

/// Longer than that, in bytes, nothing is.
const LONGEST_BYTES: usize = 4 << 30;
const LONGEST_QUICK_BYTES: usize = 1 << 30;

/// No power of two divides it.
const ODD_LENGTH: usize = (1 << 28) - 12_345;

/// CUB's reduction wants operators that commute, so its result for `Then` and its like is another;
/// its time is what it would be. CUB's `logadd` takes CUDA's `expf` and `logf`, which are not
/// rounded correctly. [`Library::CubRounded`](crate::record::Library) takes others.
#[rustfmt::skip]
pub(crate) const FAMILIES: &[Family] = &[
    //                    element   operator primitives             lengths odd    ours     CUB
    family::<f32, Add>(         "f32",    "add",  BOTH,                  EVERY,  true,  Bits,    NearF32),
    family::<f64, Add>(         "f64",    "add",  BOTH,                  SOME,   false, Bits,    NearF64),
    family::<u32, Add>(         "u32",    "add",  BOTH,                  SOME,   false, Bits,    Bits),
    family::<u64, Add>(         "u64",    "add",  BOTH,                  SOME,   false, Bits,    Bits),
    family::<u16, Add>(         "u16",    "add",  BOTH,                  SOME,   false, Bits,    Bits),
    family::<u8, Add>(          "u8",     "add",  BOTH,                  SOME,   true,  Bits,    Bits),
    family::<f16, Add>(         "f16",    "add",  BOTH,                  SOME,   false, Bits,    Nothing),
    family::<bf16, Add>(        "bf16",   "add",  BOTH,                  SOME,   false, Bits,    Nothing),
    family::<i8, Max>(          "i8",     "max",  &[Reduce],             SOME,   false, Bits,    Bits),
    family::<f32, Max>(         "f32",    "max",  &[Reduce, Inclusive],  SOME,   false, Bits,    Bits),
    family::<Affine, Then>(     "affine", "then", BOTH,                  SOME,   false, Bits,    Nothing),
    family::<[f32; 3], Sums>(   "f32x3",  "sums", BOTH,                  SOME,   false, Bits,    NearF32),
    family::<[f32; 16], Sums>(  "f32x16", "sums", BOTH,                  SOME,   false, Bits,    NearF32),
    family::<f32, OwnFloatSum>( "f32",    "own",  BOTH,                  LONG,   false, Bits,    Nothing),
    family::<u64, OwnSum>(      "u64",    "own",  BOTH,                  LONG,   false, Bits,    Nothing),
    family::<f32, FreeAdd>(     "f32",    "free", BOTH,                  LONG,   false, NearF32, Nothing),
    family::<u8, Max>(          "u8",     "max",  BOTH,                  FEW,    false, Bits,    Bits),
    family::<i16, Min>(         "i16",    "min",  BOTH,                  FEW,    false, Bits,    Bits),
    family::<f32, LogAdd>(      "f32",    "logadd", BOTH,                FEW,    false, Bits,    Nothing),
    family::<u32, Modular>(     "u32",    "modular", BOTH,               FEWER,  false, Bits,    Nothing),
    family::<[f64; 2], Then64>( "f64x2",  "then", BOTH,                  FEWER,  false, Bits,    Nothing),
    family::<Best, Better>(     "best",   "better", BOTH,                FEWER,  false, Bits,    Nothing),
    family::<[u8; 8], Compose>( "maps",   "compose", BOTH,               FEWER,  false, Bits,    Nothing),
    family::<Spread12, Merge12>( "spread12", "merge", BOTH,           FEWER,  false, Bits,    Nothing),
    family::<[u32; 4], Product>("matrix", "product", BOTH,               FEWER,  false, Bits,    Nothing),
    family::<Spread24, Merge24>( "spread24", "merge", BOTH,           FEWER,  false, Bits,    Nothing),
    family::<[f32; 6], Sums>(   "f32x6",  "sums", BOTH,                  FEWER,  false, Bits,    NearF32),
    family::<[f32; 8], Sums>(   "f32x8",  "sums", BOTH,                  FEWER,  false, Bits,    NearF32),
    family::<[f32; 2], Softmax>("softmax", "merge", BOTH,                FEWER,  false, Bits,    Nothing),
    family::<[f32; 4], Turns>(  "quaternion", "product", BOTH,           FEWER,  false, Bits,    Nothing),
    family::<[u8; 3], ByteSums>("rgb",    "sums", BOTH,                  FEW,    false, Bits,    Bits),
    family::<[u8; 4], ByteMaxima>("bytes4", "max", BOTH,                 FEW,    false, Bits,    Bits),
    family::<[i16; 4], ShortMinima>("shorts4", "min", BOTH,              FEWER,  false, Bits,    Bits),
    family::<[u8; 16], ByteMaxima>("bytes16", "max", BOTH,               FEWER,  false, Bits,    Bits),
    family::<f32, Norm>(        "f32",    "norm", BOTH,                  FEW,    false, Bits,    Nothing),
    family::<f32, Parallel>(    "f32",    "parallel", BOTH,              FEW,    false, Bits,    Nothing),
    family::<Mean, Means>(      "mean",   "merge", BOTH,                 FEWER,  false, Bits,    Nothing),
    family::<Tag, Latest>(      "tag",    "latest", BOTH,                FEW,    false, Bits,    Nothing),
    family::<u8, Saturating>(   "u8",     "saturating", BOTH,         FEW,    false, Bits, Nothing),
    family::<i16, Furthest>(    "i16",    "furthest", BOTH,           FEW,    false, Bits, Nothing),
    family::<Gains, Greatest>(  "gains",  "greatest", BOTH,              FEWER,  false, Bits,    Nothing),
];

const fn family<T: Sample, Op: Monoid<T>>(
    element: &'static str,
    operator: &'static str,
    primitives: &'static [Primitive],
    lengths: &'static [usize],
    odd: bool,
    ours: Check,
    cub: Check,
) -> Family {
    Family {
        element,
        operator,
        primitives,
        lengths,
        odd,
        element_bytes: size_of::<T>(),
        ours,
        cub,
        run: contest::run::<T, Op>,
    }
}

impl Family {
    /// The name of a row, which filters are compared with.
    pub(crate) fn name(&self, primitive: Primitive) -> Name<'static> {
        Name {
            primitive: primitive.name(),
            element: self.element,
            operator: self.operator,
        }
    }

    pub(crate) fn shapes(&self, quick: bool) -> Vec<Shape> {
        let longest = if quick {
            LONGEST_QUICK_BYTES
        } else {
            LONGEST_BYTES
        };
        let aligned = |&length: &usize| Shape { length, offset: 0 };
        let lengths = self.lengths.iter();
        let mut shapes: Vec<Shape> = lengths
            .filter(|length| !quick || QUICK.contains(length))
            .filter(|length| *length * self.element_bytes <= longest)
            .map(aligned)
            .collect();
        if self.odd {
            shapes.push(aligned(&ODD_LENGTH));
            let offsets = [1000, 1 << 20, 1 << 28]
                .into_iter()
                .skip(if quick { 2 } else { 0 });
            shapes.extend(offsets.map(|length| Shape { length, offset: 1 }));
        }
        shapes
    }
}
