//! What the fast paths of `f32` have a GPU do in its own way: tables, constants, limits.
//! `scripts/math-coefficients` computes the numbers.

use crate::definitions::Definitions;
use crate::{CudaType, Function, function};
use std::f64::consts::{FRAC_2_PI, LN_2, LOG2_E, LOG10_E};
use std::marker::PhantomData;

/// Defines a function whose CUDA text is not translated from Rust. It takes the host's expression,
/// and the text of a function of some name.
macro_rules! by_hand {
    (
        $(#[$attribute:meta])*
        fn $name:ident($($x:ident: $ty:ty)?) -> $result:ty = $host:expr;
        |$definitions:ident, $cuda_name:ident| $cuda:expr
    ) => {
        $(#[$attribute])*
        #[inline(always)]
        #[allow(clippy::inline_always, reason = "as functions that are translated")]
        pub(super) fn $name($($x: $ty)?) -> $result {
            $host
        }

        #[doc = concat!("[`", stringify!($name), "()`], as a type.")]
        #[allow(non_camel_case_types, dead_code)]
        pub(crate) struct $name {}

        impl $name {
            pub(super) fn __call(_: PhantomData<Self>, $(_: $ty)?) -> $result {
                unreachable!("it tells types, and is never called")
            }
        }

        impl Function for $name {
            type Input = ($($ty,)?);
            type Output = $result;

            fn call(($($x,)?): ($($ty,)?)) -> $result {
                $name($($x)?)
            }

            fn cuda(definitions: &mut Definitions) -> String {
                definitions.define_function::<Self>(
                    stringify!($name),
                    |$definitions, $cuda_name| $cuda,
                )
            }
        }
    };
}

/// Defines functions that look up a table, at an index modulo its length. On a GPU a table lies in
/// global memory, where each lane may read another place. By itself the translation of an array is
/// a variable, which each lane would fill first.
macro_rules! tables {
    ($($(#[$attribute:meta])* fn $name:ident(index) -> $value:ty = $table:ident;)*) => {$(
        by_hand! {
            $(#[$attribute])*
            fn $name(index: u32) -> $value = $table[index as usize % $table.len()];
            |definitions, name| {
                let ty = <$value>::cuda_type(definitions);
                let values = $table.map(|value| value.cuda_value(definitions)).join(", ");
                let count = $table.len();
                // The index is computed, and then the address: two instructions. Compilers would
                // compute the distance in bytes, and the address takes four.
                format!(
                    "__device__ alignas(16) const {ty} {name}_table[{count}] = {{{values}}};\n\
                     __device__ __forceinline__ {ty} {name}(u32 index) {{\n    \
                     u32 place = index % {count}u;\n    \
                     asm(\"\" : \"+r\"(place));\n    \
                     return {name}_table[place];\n}}"
                )
            }
        }
    )*};
}

tables! {
    /// The bits of 2^(i / 32), less i in units of 2^(1 / 32), which `power_of_32nd` adds.
    fn power(index) -> u64 = POWERS;
    /// Of interval i of numbers near 1, the reciprocal of its middle, to 24 bits, and the logarithm
    /// of that number. 1 is its own reciprocal.
    fn reciprocal_and_log(index) -> (f64, f64) = RECIPROCALS;
}

/// Defines functions that tell a number. On a GPU it lies in constant memory, and takes an
/// instruction. A literal of more than 21 bits takes one for each half.
macro_rules! constants {
    ($($(#[$attribute:meta])* fn $name:ident() = $value:expr;)*) => {$(
        by_hand! {
            $(#[$attribute])*
            fn $name() -> f64 = $value;
            |definitions, name| {
                let value = $name().cuda_value(definitions);
                format!(
                    "__constant__ f64 {name}_value = {value};\n\
                     __device__ __forceinline__ f64 {name}() {{\n    \
                     return {name}_value;\n}}"
                )
            }
        }
    )*};
}

constants! {
    /// ln 2.
    fn ln_2() = LN_2;
    /// -ln 2 / 32.
    fn minus_ln_2_over_32() = -LN_2 / 32.0;
    /// log₂ e.
    fn log2_e() = LOG2_E;
    /// log₁₀ e.
    fn log10_e() = LOG10_E;
    /// The coefficients of r³, r⁴ and r⁵ in ln(1 + r).
    fn ln_near_third() = 0.33333333333374005;
    fn ln_near_fourth() = -0.24999999621077343;
    fn ln_near_fifth() = 0.19999999116205014;
    /// The coefficients of r² and r³ in 2ʳ.
    fn exp2_near_square() = 0.2402265069549977;
    fn exp2_near_cube() = 0.05550410866618163;
    /// The coefficient of r³ in eʳ.
    fn exp_near_cube() = 0.16666666666577892;
    /// 2 / π, and two of the parts of π/2, as in `reduction`.
    fn two_over_pi() = FRAC_2_PI;
    fn minus_pi_2_first() = -1.5707963267341256;
    fn minus_pi_2_second() = -6.077100506506192e-11;
}

/// Defines polynomials, by Horner's rule, whose coefficients lie in constant memory of a GPU, as
/// [`constants`] do. They go from the highest power down.
macro_rules! near_polynomials {
    ($($(#[$attribute:meta])* fn $name:ident(z) by $coefficient:ident = $values:expr;)*) => {$(
        by_hand! {
            fn $coefficient(index: u32) -> f64 = $values[index as usize % $values.len()];
            |definitions, name| {
                let values = $values.map(|value: f64| value.cuda_value(definitions)).join(", ");
                let count = $values.len();
                format!(
                    "__constant__ f64 {name}_values[{count}] = {{{values}}};\n\
                     __device__ __forceinline__ f64 {name}(u32 index) {{\n    \
                     return {name}_values[index % {count}u];\n}}"
                )
            }
        }

        $(#[$attribute])*
        #[function]
        pub(super) fn $name(z: f64) -> f64 {
            const COUNT: u32 = $values.len() as u32;
            let mut sum = $coefficient(0);
            for i in 1..COUNT {
                sum = sum.mul_add(z, $coefficient(i));
            }
            sum
        }
    )*};
}

near_polynomials! {
    /// (sin r − r) / r³ with z = r², for |r| ≤ π/4, to 2⁻⁴⁷ of sin r.
    fn sin_near_tail(z) by sin_near = [
        -2.476163372428736e-08, 2.75553575261904e-06, -0.0001984126382203061, 0.00833333332527023,
        -0.16666666666631583,
    ];
    /// (cos r − 1 + r²/2) / r⁴ with z = r², for |r| ≤ π/4, to 2⁻⁴² of cos r.
    fn cos_near_tail(z) by cos_near = [
        -2.720568487578148e-07, 2.4799459390355323e-05, -0.0013888883497648386, 0.04166666661947269,
    ];
    /// (atan t − t) / t³ with z = t², for |t| ≤ tan(π/8), to 2⁻⁴⁵ of atan t.
    fn atan_near_tail(z) by atan_near = [
        0.0308945786166901, -0.058910475153167864, 0.07568536284670585, -0.09079136966486244,
        0.11110449925960178, -0.14285693593562057, 0.1999999968558582, -0.33333333331697346,
    ];
    /// (asin s − s) / s³ with z = s², for |s| ≤ 1/2, to 2⁻⁴³ of asin s.
    fn asin_near_tail(z) by asin_near = [
        0.03197408034371989, -0.002873843117764968, 0.018637225344320763, 0.016476123901457446,
        0.022471529941238542, 0.0303752152025099, 0.04464311326684973, 0.07499999523859216,
        0.1666666666970926,
    ];
}

by_hand! {
    /// Whether a fast path tells the result, so that the slow one need not be taken. Functions ask
    /// here, and `operator::fast_path` has a kernel ask once for many of them.
    fn is_sure(sure: bool) -> bool = sure;
    |_definitions, name| format!(
        "__device__ __forceinline__ bool {name}(bool sure) {{\n    return sure;\n}}"
    )
}

by_hand! {
    /// 2^(k / 32). The unit is 2^47, so a GPU adds to the upper half alone. Compilers would add 0
    /// to the lower one.
    fn power_of_32nd(k: u32) -> f64 = f64::from_bits(power(k).wrapping_add(u64::from(k) << 47));
    |definitions, name| {
        let power = power::cuda(definitions);
        format!(
            "__device__ __forceinline__ f64 {name}(u32 k) {{\n    \
             u64 bits = {power}(k);\n    \
             return __hiloint2double((int)((u32)(bits >> 32) + (k << 15)), (int)(u32)bits);\n}}"
        )
    }
}

by_hand! {
    /// x, but at least -160 and at most 160; NaN if it is. On a GPU that takes two instructions,
    /// where `clamp` takes three to keep the bits of a NaN.
    fn within_160(x: f32) -> f32 = x.clamp(-160.0, 160.0);
    |_definitions, name| format!(
        "__device__ __forceinline__ f32 {name}(f32 x) {{\n    \
         return minimum_f32(maximum_f32(x, -160.0f), 160.0f);\n}}"
    )
}

#[rustfmt::skip]
const POWERS: [u64; 32] = [
    0x3ff0_0000_0000_0000, 0x3fef_d9b0_d315_8574, 0x3fef_b558_6cf9_890f, 0x3fef_9301_d012_5b51,
    0x3fef_72b8_3c7d_517b, 0x3fef_5487_3168_b9aa, 0x3fef_387a_6e75_6238, 0x3fef_1e9d_f51f_dee1,
    0x3fef_06fe_0a31_b715, 0x3fee_f1a7_373a_a9cb, 0x3fee_dea6_4c12_3422, 0x3fee_ce08_6061_892d,
    0x3fee_bfda_d536_2a27, 0x3fee_b42b_569d_4f82, 0x3fee_ab07_dd48_5429, 0x3fee_a47e_b03a_5585,
    0x3fee_a09e_667f_3bcd, 0x3fee_9f75_e8ec_5f74, 0x3fee_a114_73eb_0187, 0x3fee_a589_994c_ce13,
    0x3fee_ace5_422a_a0db, 0x3fee_b737_b0cd_c5e5, 0x3fee_c491_82a3_f090, 0x3fee_d503_b23e_255d,
    0x3fee_e89f_995a_d3ad, 0x3fee_ff76_f2fb_5e47, 0x3fef_199b_dd85_529c, 0x3fef_3720_dcef_9069,
    0x3fef_5818_dcfb_a487, 0x3fef_7c97_337b_9b5f, 0x3fef_a4af_a2a4_90da, 0x3fef_d076_5b6e_4540,
];

/// The least number of the first interval, as bits.
pub(super) const LEAST: u32 = 0x3f31_5556;

#[rustfmt::skip]
const RECIPROCALS: [(f64, f64); 32] = [
    (1.4275091886520386, -0.35593109941140166), (1.396363615989685, -0.33387144033043514),
    (1.36654794216156, -0.312287809679495), (1.3379790782928467, -0.2911603250313531),
    (1.3105801343917847, -0.27046988986438963), (1.2842808961868286, -0.2501989478425133),
    (1.2590162754058838, -0.23033068222717165), (1.2347266674041748, -0.21084962364468623),
    (1.2113564014434814, -0.19174072469373546), (1.188854455947876, -0.17299020142539268),
    (1.167173147201538, -0.15458471179450203), (1.146268606185913, -0.13651197668005757),
    (1.126099705696106, -0.11876007437288749), (1.106628179550171, -0.10131771614062987),
    (1.0878186225891113, -0.08417442735743895), (1.0696378946304321, -0.06732017496487797),
    (1.052054762840271, -0.05074516889247165), (1.0350403785705566, -0.03444043906798968),
    (1.0185675621032715, -0.01839728939214382), (1.0, 0.0),
    (0.9746192097663879, 0.025708438356156), (0.9458127617835999, 0.05571065575322171),
    (0.9186602234840393, 0.08483894916534324), (0.8930231928825378, 0.11314272656995855),
    (0.8687782287597656, 0.14066738909461782), (0.8458149433135986, 0.16745468643181524),
    (0.8240342736244202, 0.19354315573328687), (0.8033472299575806, 0.21896824261278444),
    (0.7836734056472778, 0.2437629198524536), (0.7649402022361755, 0.2679576152223365),
    (0.7470816969871521, 0.2915807330460942), (0.7300379872322083, 0.31465870888919895),
];
