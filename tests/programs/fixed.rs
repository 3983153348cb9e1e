//! Programs that are not random: forms that the generator does not have, and such as went wrong
//! once.

use super::Program;
use warpfold::{Element, Scalar, function, monoid};

const LIMIT: u8 = 200;
const EDGES: [f32; 4] = [f32::NAN, -0.0, f32::INFINITY, 1e-45];
const CORNER: Corner = Corner {
    at: [-0.0, 2.5],
    rank: i64::MIN,
};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Corner {
    at: [f64; 2],
    rank: i64,
}

super::words!(Corner {
    at: [f64; 2],
    rank: i64
});

mod left {
    #[warpfold::function]
    pub(crate) fn step(x: u32) -> u32 {
        x.wrapping_mul(3)
    }

    #[warpfold::function]
    pub(crate) fn step_2(x: u32) -> u32 {
        x.wrapping_mul(5)
    }
}

mod right {
    #[warpfold::function]
    pub(crate) fn step(x: u32) -> u32 {
        x ^ 7
    }
}

#[function]
fn names_of_modules(x: u32) -> u32 {
    use right::step;
    let a = left::step(x);
    let b = crate::fixed::right::step(a);
    let c = left::step_2(b);
    step(c)
}

#[function]
fn constants_of_blocks(x: u32) -> u32 {
    let a = {
        const K: u32 = 1;
        x.wrapping_add(K)
    };
    let b = {
        const K: u32 = 2;
        x.wrapping_mul(K)
    };
    a ^ b
}

#[function]
fn constant_that_shadows(x: u8) -> u8 {
    let before = LIMIT;
    let within = {
        const LIMIT: u8 = 1;
        x ^ LIMIT
    };
    before.wrapping_add(within).wrapping_add(LIMIT)
}

#[function]
fn constants(i: usize) -> (f32, f64, i64, [f32; 4]) {
    (EDGES[i % 4], CORNER.at[i % 2], CORNER.rank, EDGES)
}

#[function]
fn sum_of<T: Scalar, const N: usize>(values: [T; N]) -> T {
    let mut sum = T::ZERO;
    for i in 0..N {
        sum = if values[i] < T::ONE {
            T::ONE
        } else {
            values[i]
        };
    }
    sum
}

#[function]
fn instances(x: f32, y: u8) -> (f32, u8, u8) {
    (
        sum_of::<f32, 2>([x, 1.5]),
        sum_of([y; 3]),
        sum_of::<_, 3>([y, 1, 2]),
    )
}

#[monoid(identity = 0)]
fn latest(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { b }
}

#[function]
fn operator_as_function(x: u64, y: u64) -> u64 {
    latest(latest(x, y), 0)
}

/// The patterns are beside the middle between two floats: whoever rounds them twice takes the wrong
/// one.
#[function]
fn float_patterns(x: f32) -> (u8, u8) {
    let close = match [
        1.0,
        f32::from_bits(0x3f80_0001),
        f32::from_bits(0x3f80_0002),
        x,
    ][x.to_bits() as usize % 4]
    {
        1.00000017881393432617187501 => 2,
        1.00000017881393432617187499 => 1,
        _ => 0,
    };
    let sign = match x {
        -0.0 => 1,
        f32::MIN..=-1e-45 => 2,
        1e-45.. => 3,
        _ => 4,
    };
    (close, sign)
}

#[function]
fn integer_patterns(x: i64, y: u64, z: i8) -> u8 {
    let a = match x {
        -9223372036854775808 => 1,
        -9223372036854775807..=-1 => 2,
        0x7fff_ffff_ffff_ffff => 3,
        _ => 4,
    };
    let b = match y {
        18446744073709551615 => 10,
        0..1 => 20,
        _ => 30,
    };
    let c = match z {
        -128..=-128 => 100,
        ..0 => 110,
        127 => 120,
        0.. => 130,
    };
    a + b + c
}

#[function]
fn bytes(x: u8) -> u8 {
    match x {
        b'0'..=b'9' => x - b'0',
        b'\n' | b'\'' | b'\\' => b'"',
        b'\x7f' => 0xff,
        _ => b'a' ^ x,
    }
}

#[function]
fn order_of_operands(mut x: u32) -> (u32, [u32; 3], u32) {
    let sum = x.wrapping_add({
        x = x.wrapping_mul(3);
        x
    });
    let list = [
        x,
        {
            x += 1;
            x
        },
        {
            x ^= sum;
            x
        },
    ];
    x -= {
        x = 5;
        2
    };
    (sum, list, x)
}

#[function]
fn order_of_assignments(mut x: usize, mut list: [u8; 4]) -> [u8; 4] {
    list[{
        let k = x;
        k
    } % 4] = {
        x = x.wrapping_add(1);
        7
    };
    list[{
        let k = x ^ 1;
        k
    } % 4] += {
        x = x.wrapping_mul(3);
        list[x % 4]
    };
    list[{
        x = x.wrapping_add(1);
        x
    } % 4] = x as u8 ^ 1;
    list[{
        x = x.wrapping_add(3);
        x
    } % 4] ^= x as u8 | list[x % 3];
    list
}

#[function]
fn order_of_arms(mut x: i8) -> (i8, i8) {
    let y = match x {
        n @ 1.. => {
            x = x.wrapping_neg();
            n ^ x
        }
        n => {
            x = 5;
            n.wrapping_sub(x)
        }
    };
    (x, y)
}

#[function]
fn order_of_fields(mut x: i64) -> Corner {
    Corner {
        rank: {
            x = x.wrapping_add(1);
            x
        },
        at: [x as f64, {
            x = x.wrapping_neg();
            x as f64
        }],
    }
}

#[function]
fn swaps(mut a: u16, mut b: u16, mut list: [u8; 3]) -> (u16, u16, [u8; 3]) {
    (a, b) = (b, a);
    (list[0], list[2]) = (list[2], list[0]);
    (a, _) = (a ^ b, 3);
    (a, b, list)
}

#[function]
fn jumps_in_operands(x: i32, stop: bool) -> i32 {
    let mut total = 0i32;
    for i in 0..10 {
        let part = total.wrapping_add(if i == x { break } else { i })
            + match i {
                3 if stop => return total,
                5 => continue,
                other => other * 2,
            };
        total = total.wrapping_add(part);
    }
    let _ = total > 50 && { return 50 };
    total
}

#[function]
fn ends_in_jumps(x: i32) -> i32 {
    if x < 0 {
        return x.wrapping_neg();
    } else {
        match x {
            0 => return 7,
            _ => return x / 2,
        }
    }
}

#[function]
fn mutable_counter(n: u8) -> u32 {
    let mut sum = 0;
    for mut i in (0..n).rev().rev() {
        i = i.wrapping_mul(7);
        sum += i as u32;
        while true {
            i >>= 1;
            if i < 3 {
                break;
            }
            sum ^= 1;
        }
    }
    sum
}

#[function]
fn names_again(x: u16) -> u16 {
    let x = match x {
        x @ 1..=5 => x + 1,
        x if x % 2 == 0 => {
            let x = x / 2;
            x + {
                let x = x ^ 1;
                x
            }
        }
        x => x.wrapping_mul(x),
    };
    let (x, y) = (x ^ 1, x);
    let single = (x,);
    single.0.wrapping_sub(y)
}

#[function]
fn parts_of_parts(mut all: [[Corner; 2]; 2], i: usize, j: usize) -> [[Corner; 2]; 2] {
    all[i % 2][j % 2].at[(i ^ j) % 2] += 1.5;
    all[j % 2][{
        let k = i / 2;
        k
    } % 2]
        .rank ^= -1;
    all[0] = all[i % 2];
    all
}

#[function]
fn casts(x: i32, y: f32, z: bool) -> ((u8, i64, u64), (f32, i8, u16), f64) {
    (
        (x as u8 as i8 as u8, -1i8 as u64 as i64, (!0 as u32) as u64),
        (u64::MAX as f32, y as i8, (y as f64 * 1e10) as u16),
        z as u8 as f64 - x as f64,
    )
}

#[function]
fn no_arguments_used(_: u8, _unused: [f32; 2]) -> u8 {
    let _ = 3u8;
    42
}

macro_rules! of_expressions {
    ($name:ident, $x:ident, $sum:expr, $cast:expr, $negative:expr) => {
        #[function]
        fn $name($x: u8) -> (u8, u64, i8) {
            ($sum * 3, !$cast, $negative.wrapping_abs() - $negative)
        }
    };
}

of_expressions!(expressions_of_a_macro, x, x + 1, x as u64, -(x as i8));

/// `$e` and `$x` are of the caller, and `t` is of the macro.
macro_rules! same_name_in_a_macro {
    ($name:ident, $x:ident, $e:expr) => {
        #[function]
        fn $name($x: u32) -> u32 {
            let t = 1_u32;
            $e ^ t
        }
    };
}

same_name_in_a_macro!(names_of_two_expansions, t, t.wrapping_mul(2));

mod constants_in_lower_case {
    #![allow(non_upper_case_globals, reason = "that is what is tested")]

    pub(crate) const depth: u32 = 11;
    pub(crate) const width: u32 = 13;
}

/// The items of a block hide the variables around it, wherever in the block they stand.
#[function]
#[allow(non_snake_case, reason = "a variable has the name of a constant")]
fn constants_that_hide_variables(x: u32) -> u32 {
    let N = x;
    let depth = x ^ 1;
    let inner = {
        let before = N;
        const N: u32 = 6;
        use constants_in_lower_case::depth;
        before ^ N.wrapping_mul(depth)
    };
    let renamed = {
        use constants_in_lower_case::{depth as _, width as N};
        N ^ depth
    };
    // Within the block a variable hides them again.
    let again = {
        const K: u32 = 9;
        let inner = K;
        {
            let x = inner;
            x ^ K
        }
    };
    N ^ inner ^ renamed.rotate_left(3) ^ again ^ depth
}

#[function]
fn imports_of_all_names(x: u32) -> u32 {
    use constants_in_lower_case::*;
    x ^ width
}

#[function]
#[allow(non_snake_case, reason = "capitals are not only for constants")]
fn variables_in_capitals((A, B): (u32, u32), c: Corner) -> u32 {
    let (C, D) = (A ^ 1, B ^ 2);
    let Corner { at: AT, rank: RANK } = c;
    if AT[0] < AT[1] { C ^ RANK as u32 } else { D }
}

const HALVES: [warpfold::half::f16; 1] = [warpfold::half::f16::from_f32_const(1.5)];

/// Keywords of Rust and of C++, and what the kernels and C define.
#[function]
fn keywords_of_both(r#struct: u32, r#try: u32, f16: u32, bf16: u32) -> u32 {
    let widened = f32::from(HALVES[0]) as u32;
    let r#enum = r#struct ^ r#try.rotate_left(1);
    let r#static = r#enum ^ f16.rotate_left(2);
    let r#const = r#static ^ bf16.rotate_left(3);
    let (r#for, r#while, r#extern) = (r#const, 3, 5);
    r#for ^ r#while ^ r#extern ^ widened
}

#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
#[allow(non_snake_case, reason = "that is what is tested")]
struct Macros {
    NULL: u32,
    NAN: u32,
    EOF: u32,
    u128: u32,
}

super::words!(Macros {
    NULL: u32,
    NAN: u32,
    EOF: u32,
    u128: u32
});

#[function]
fn fields_named_as_macros(m: Macros) -> u32 {
    m.NULL ^ m.NAN.rotate_left(1) ^ m.EOF.rotate_left(2) ^ m.u128.rotate_left(3)
}

/// What is denied outside is not about generated code, which allows nothing that is forbidden.
mod denying {
    #![deny(unused, unused_parens, unused_braces, trivial_numeric_casts)]
    #![forbid(unused_results, unused_qualifications)]

    #[warpfold::function]
    pub(crate) fn parentheses(x: u32) -> u32 {
        let product = (x ^ 1).wrapping_mul((x | 3) % 5);
        match x & 3 {
            0 => product,
            1 => product ^ { x },
            mut other => {
                other += 1;
                other ^ product
            }
        }
    }
}
use denying::parentheses;

mod translated {
    #[warpfold::function]
    pub(crate) fn of_that_name(x: u32) -> u32 {
        x.wrapping_add(5)
    }
}

/// A module has the name of one that generated code uses, and an import that of the function.
#[function]
fn of_that_name(x: u32) -> u32 {
    let once = translated::of_that_name(x);
    {
        use translated::of_that_name;
        of_that_name(once ^ 3)
    }
}

#[function]
fn long_integers(a: u64, b: u64, c: i128) -> (u128, i128, u64) {
    let product = a as u128 * b as u128;
    let sum = match c {
        -1 => -1,
        0x1_0000_0000_0000_0000 => 1,
        -0x1_0000_0000_0000_0000..=-2 => c >> 3,
        _ => c.wrapping_mul(-3),
    };
    const P: u64 = (1 << 61) - 1;
    let folded = (product as u64 & P) + (product >> 61) as u64;
    (product ^ u128::MAX / 3, sum, folded)
}

pub(super) fn all() -> Vec<Program> {
    macro_rules! list {
        ($($name:ident),*) => {
            [$((stringify!($name), Program::of::<$name> as fn(u64, &'static str) -> Program)),*]
        };
    }
    let list = list![
        names_of_modules,
        constants_of_blocks,
        constant_that_shadows,
        constants,
        instances,
        operator_as_function,
        float_patterns,
        integer_patterns,
        bytes,
        order_of_operands,
        order_of_assignments,
        order_of_arms,
        order_of_fields,
        swaps,
        jumps_in_operands,
        ends_in_jumps,
        mutable_counter,
        names_again,
        parts_of_parts,
        casts,
        no_arguments_used,
        expressions_of_a_macro,
        names_of_two_expansions,
        constants_that_hide_variables,
        imports_of_all_names,
        variables_in_capitals,
        keywords_of_both,
        fields_named_as_macros,
        parentheses,
        of_that_name,
        long_integers
    ];
    (1 << 32..)
        .zip(list)
        .map(|(number, (name, program))| program(number, name))
        .collect()
}
