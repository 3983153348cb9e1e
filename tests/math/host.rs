//! `warpfold::math` is as accurate as its documentation says, and has the standard library's
//! special values.

use crate::support::data::Random;
use crate::support::seed;
use rayon::prelude::*;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};
use warpfold::math;

/// A function of one argument, for `f32` and for `f64`, and the platform's for `f64`.
type Function = (&'static str, fn(f32) -> f32, fn(f64) -> f64, fn(f64) -> f64);

macro_rules! functions {
    ($($name:ident)*) => {
        &[$((stringify!($name), math::$name::<f32>, math::$name::<f64>, f64::$name)),*]
    };
}

const FUNCTIONS: &[Function] = functions! {
    exp exp2 exp_m1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh cbrt
};

/// A function of two arguments, likewise.
type Function2 = (
    &'static str,
    fn(f32, f32) -> f32,
    fn(f64, f64) -> f64,
    fn(f64, f64) -> f64,
);

macro_rules! functions_of_two {
    ($($name:ident)*) => {
        &[$((stringify!($name), math::$name::<f32>, math::$name::<f64>, f64::$name)),*]
    };
}

const FUNCTIONS_OF_TWO: &[Function2] = functions_of_two! { atan2 hypot powf };

fn bits(word: &str) -> u64 {
    u64::from_str_radix(word, 16).expect("a number in hexadecimal")
}

/// `scripts/math-cases` has computed them by multiple precision.
#[test]
fn the_error_in_f64_is_below_one_ulp() {
    let mut worst: Vec<(f64, &str)> = Vec::new();
    for line in include_str!("../data/math-f64.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, ref arguments @ .., result, rest] = words[..] else {
            panic!("{line}")
        };
        let float = |word| f64::from_bits(bits(word));
        let (result, rest) = (float(result), float(rest));
        let got = match *arguments {
            [x, n] if name == "powi" => math::powi(float(x), n.parse().expect("a number")),
            [x, y] => of(FUNCTIONS_OF_TWO, name).2(float(x), float(y)),
            [x] => FUNCTIONS
                .iter()
                .find(|known| known.0 == name)
                .expect(name)
                .2(float(x)),
            _ => panic!("{line}"),
        };
        let ulp = f64::from_bits(result.abs().to_bits() + 1) - result.abs();
        let error = ((got - result) / ulp - rest / ulp).abs();
        assert!(
            error < 1.0,
            "{line}: {got:e} is {error} ulp from {result:e}"
        );
        match worst.iter_mut().find(|known| known.1 == name) {
            Some(known) => known.0 = known.0.max(error),
            None => worst.push((error, name)),
        }
    }
    println!("greatest errors in ulp: {worst:.3?}");
    assert_eq!(worst.len(), FUNCTIONS.len() + FUNCTIONS_OF_TWO.len() + 1);
}

fn of<'a>(functions: &'a [Function2], name: &str) -> &'a Function2 {
    let mut known = functions.iter();
    known.find(|known| known.0 == name).expect("it is listed")
}

/// Hard cases: what is farther than these from the middle between two f32 is rounded correctly if
/// the error in f64 is below 4 ulp.
fn hard_cases() -> impl Iterator<Item = (&'static str, u32, u32)> {
    include_str!("../data/math-f32.txt").lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0], bits(words[1]) as u32, bits(words[2]) as u32)
    })
}

#[test]
fn hard_cases_in_f32_are_rounded_correctly() {
    for (name, x, expected) in hard_cases() {
        let known = FUNCTIONS.iter().find(|known| known.0 == name).expect(name);
        let got = known.1(f32::from_bits(x)).to_bits();
        assert_eq!(
            got, expected,
            "{name} of {x:08x}: {got:08x}, not {expected:08x}"
        );
    }
}

/// What a correct rounding to f32 of a value is, if the platform's f64 of that value, which may be
/// off by 4 ulp, tells.
fn rounded(value: f64) -> Option<f32> {
    if value == 0.0 || !value.is_finite() {
        return Some(value as f32);
    }
    let (least, most) = (value.to_bits().saturating_sub(4), value.to_bits() + 4);
    let [least, most] = [least, most].map(|x| f64::from_bits(x) as f32);
    (least == most).then_some(least)
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Those near 1, where logarithms have the fewest digits to tell by, and some hundred thousand
/// others, not the same each day; or, with `WARPFOLD_ARGUMENTS=all`, all 2³² of each function, or
/// with `WARPFOLD_ARGUMENTS=exp,ln` of those. Where the platform's `f64` does not tell, the
/// argument is a hard case.
#[test]
fn f32_of_one_argument_is_rounded_correctly() {
    const SAMPLE: u64 = 1 << 18;
    let told = std::env::var("WARPFOLD_ARGUMENTS").unwrap_or_default();
    let is_told = |name: &str| told == "all" || told.split(',').any(|known| known == name);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock");
    let day = now.as_secs() / (24 * 60 * 60);
    println!("the sample of day {day}");
    let known: Vec<(&str, u32)> = hard_cases().map(|(name, x, _)| (name, x)).collect();
    for (name, ours, _, platform) in FUNCTIONS {
        let new = Mutex::new(Vec::new());
        let check = |x: u32| {
            let (x, got) = (f32::from_bits(x), ours(f32::from_bits(x)));
            match rounded(platform(f64::from(x))) {
                Some(expected) => assert!(
                    same(got, expected),
                    "{name} of {x:e} ({:08x}) is {got:e}, not {expected:e}",
                    x.to_bits()
                ),
                None if known.contains(&(name, x.to_bits())) => {}
                None => new.lock().unwrap().push(x.to_bits()),
            }
        };
        let all = is_told(name);
        if all {
            (0..=u32::MAX).into_par_iter().for_each(check);
        } else {
            (0x3f7f_0000..0x3f81_0000).for_each(check);
            let mut random = Random::new(day);
            (0..SAMPLE).for_each(|_| check((random.next() >> 32) as u32));
        }
        let new = new.into_inner().unwrap();
        for x in &new {
            println!("{name} {x:08x} is hard, and not in tests/data/math-f32.txt");
        }
        // A sample must not depend on luck.
        assert!(
            !all || new.is_empty(),
            "{} arguments of {name} were not judged: have scripts/math-cases compute them",
            new.len()
        );
    }
}

#[test]
fn f32_of_two_arguments_is_rounded_correctly() {
    let mut random = Random::new(seed());
    for number in 0..1_000_000 {
        let word = random.next();
        let (mut x, mut y) = (
            f32::from_bits(word as u32),
            f32::from_bits((word >> 32) as u32),
        );
        // Arguments of like size, and powers that are neither 0 nor infinite.
        if number % 2 == 0 {
            (x, y) = ((x % 4.0).abs(), y % 16.0);
        }
        for (name, ours, _, platform) in FUNCTIONS_OF_TWO {
            if let Some(expected) = rounded(platform(f64::from(x), f64::from(y))) {
                let got = ours(x, y);
                assert!(
                    same(got, expected),
                    "{name}({x:e}, {y:e}) is {got:e}, not {expected:e}"
                );
            }
        }
        let n = (word >> 40) as i32 % 100;
        if let Some(expected) = rounded(f64::from(x).powf(f64::from(n))) {
            let got = math::powi(x, n);
            assert!(
                same(got, expected),
                "{x:e} to the {n} is {got:e}, not {expected:e}"
            );
        }
    }
}

/// Squares that are the middle between two f32, or next to it.
#[test]
fn ties_go_to_even() {
    for x in (1 << 23..1 << 24).step_by(997) {
        let x = x as f32;
        assert_eq!(math::powf(x, 2.0), x * x, "the square of {x}");
        assert_eq!(math::powi(x, 2), x * x, "the square of {x}");
        // The root is a whole number.
        let (a, b) = (f64::from(x) * 3.0, f64::from(x) * 4.0);
        assert_eq!(math::hypot(a as f32, 0.0), a as f32);
        assert_eq!(math::hypot(a, b), f64::from(x) * 5.0);
    }
    assert_eq!(math::exp2(-150.0_f32), 0.0);
    assert_eq!(math::exp2(-149.0_f32).to_bits(), 1);
}

const SPECIAL: [f64; 19] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0.5,
    -0.5,
    1e300,
    -1e300,
    5e-324,
    -5e-324,
    1e-310,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
];

/// Whether a special result is the platform's, and another is near it.
fn agrees(got: f64, platform: f64) -> bool {
    let is_special = platform == 0.0 || !platform.is_finite() || platform.abs() == 1.0;
    if is_special {
        got.to_bits() == platform.to_bits() || got.is_nan() && platform.is_nan()
    } else {
        got.signum() == platform.signum() && got.to_bits().abs_diff(platform.to_bits()) <= 4
    }
}

#[test]
fn special_values_are_those_of_the_standard_library() {
    for x in SPECIAL {
        for (name, single, double, platform) in FUNCTIONS {
            let (got, expected) = (double(x), platform(x));
            assert!(
                agrees(got, expected),
                "{name}({x:e}) is {got:e}, not {expected:e}"
            );
            let (x, got) = (x as f32, single(x as f32));
            let expected = platform(f64::from(x)) as f32;
            assert!(
                same(got, expected),
                "{name}({x:e}) is {got:e}, not {expected:e}, in f32"
            );
        }
        for y in SPECIAL {
            for (name, single, double, platform) in FUNCTIONS_OF_TWO {
                let (got, expected) = (double(x, y), platform(x, y));
                assert!(
                    agrees(got, expected),
                    "{name}({x:e}, {y:e}) is {got:e}, not {expected:e}"
                );
                let (x, y) = (x as f32, y as f32);
                let (got, expected) = (single(x, y), platform(f64::from(x), f64::from(y)) as f32);
                assert!(
                    same(got, expected),
                    "{name}({x:e}, {y:e}) is {got:e}, in f32"
                );
            }
        }
        for n in [0, 1, -1, 2, -2, 3, -3, 1000, -1001, i32::MAX, i32::MIN] {
            let (got, expected) = (math::powi(x, n), x.powf(f64::from(n)));
            assert!(
                agrees(got, expected),
                "{x:e} to the {n} is {got:e}, not {expected:e}"
            );
        }
    }
}
