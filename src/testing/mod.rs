//! Checks user-defined operators, in the tests of your program (feature `testing`).
//!
//! [`assert_monoid`] draws elements and checks all that an operator promises:
//!
//! ```
//! use warpfold::testing::proptest::prelude::*;
//! use warpfold::testing::{assert_monoid, assert_monoid_within, elements};
//! use warpfold::{Element, monoid};
//!
//! #[derive(Clone, Copy, Debug, PartialEq, Element)]
//! #[repr(C)]
//! struct Range {
//!     low: i32,
//!     high: i32,
//! }
//!
//! #[monoid(identity = Range { low: i32::MAX, high: i32::MIN }, exact, commutative)]
//! fn span(a: Range, b: Range) -> Range {
//!     Range { low: a.low.min(b.low), high: a.high.max(b.high) }
//! }
//!
//! let ranges = (any::<i32>(), any::<i32>()).prop_map(|(low, high)| Range { low, high });
//! assert_monoid::<Range, Span>(ranges);
//!
//! // Sums of floats are associative only nearly: to 10⁻⁶ of the largest number that occurs.
//! assert_monoid_within::<f32, warpfold::ops::Add>(1e-6, -1e3_f32..1e3);
//!
//! // Where any numbers will do, nobody need say which.
//! assert_monoid::<u32, warpfold::ops::BitXor>(elements());
//! ```
//!
//! The strategies are those of [`proptest`], which this module exports.
//!
//! Every run draws the same elements, so a test that passes goes on passing, and one that fails
//! fails again. `WARPFOLD_SEED=1`, or another whole number, draws others; a failure names the
//! number.
//!
//! The comparison with CUDA's code needs a C++ compiler, and that with a GPU needs one. If they are
//! missing, the standard error says so, and the comparison is left out.
//! `WARPFOLD_REQUIRE=emulator,cuda` makes the test fail instead.

mod compiled;
mod elements;
mod parts;

pub use elements::elements;
pub use proptest;

use crate::{Device, Element, Monoid};
use parts::{are_close, are_equal, same_bits};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use std::fmt::Debug;

/// How many elements are drawn for comparisons with CUDA: enough for a few tiles.
const COMPARED: usize = 2_000;

/// Checks the promises of [`Monoid`] on elements that `strategy` draws, where associativity holds
/// exactly.
///
/// 1. The identity changes nothing, on either side.
/// 2. `(a ⊕ b) ⊕ c` equals `a ⊕ (b ⊕ c)`.
/// 3. An operator that claims [`COMMUTATIVE`](Monoid::COMMUTATIVE) gives the same bits for `a ⊕ b`
///    and `b ⊕ a`; for one that claims [`EXACT`](Monoid::EXACT), 1 and 2 hold to the last bit.
/// 4. The CUDA function gives the bits that the host's gives: compiled for the CPU, with integers
///    of 8 and 16 bits as kernels compute with them, and in a scan on a GPU.
///
/// "Equals" is `==` of the numbers that an element consists of, and NaN equals NaN. Draws as many
/// elements as proptest's configuration says (256 unless `PROPTEST_CASES` says otherwise), and 2000
/// for what is compared with CUDA. `WARPFOLD_SEED` says which ones; it is 0 if it is not set.
///
/// # Panics
///
/// With the smallest elements found for which a promise does not hold, and the seed. The panic
/// names the line of this call.
#[track_caller]
pub fn assert_monoid<T: Element + Debug, Op: Monoid<T>>(strategy: impl Strategy<Value = T>) {
    check::<T, Op>(Draws::from_env(), None, &strategy);
}

/// As [`assert_monoid`], for operators that are associative except for rounding. Results may differ
/// by `tolerance` times the largest number (in magnitude) among the operands, the values on the
/// way, and the results.
///
/// CUDA must give the same bits here, too.
///
/// # Panics
///
/// As [`assert_monoid`]. Also if the operator claims to be [`EXACT`](Monoid::EXACT): then a
/// tolerance has no meaning.
#[track_caller]
pub fn assert_monoid_within<T: Element + Debug, Op: Monoid<T>>(
    tolerance: f64,
    strategy: impl Strategy<Value = T>,
) {
    assert!(
        !Op::EXACT,
        "{} claims to be exact: check it with assert_monoid, or take back the claim",
        std::any::type_name::<Op>()
    );
    check::<T, Op>(Draws::from_env(), Some(tolerance), &strategy);
}

/// The accumulator of a type, with the least typing.
type Acc<T> = <T as Element>::Accumulator;

/// The number that the draws come from.
#[derive(Debug, Clone, Copy)]
struct Draws {
    seed: u64,
}

impl Draws {
    fn from_env() -> Draws {
        let seed = match std::env::var("WARPFOLD_SEED") {
            Ok(text) => text.parse().expect("WARPFOLD_SEED is a whole number"),
            Err(_) => 0,
        };
        Draws { seed }
    }

    fn runner(self) -> TestRunner {
        let config = Config {
            // They would be kept in files beside the caller's sources, and name this one.
            failure_persistence: None,
            ..Config::default()
        };
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
    }

    #[track_caller]
    fn fail(self, why: &str) -> ! {
        panic!(
            "{why}\n  drawn with WARPFOLD_SEED={}; another number draws others",
            self.seed
        )
    }

    /// Runs a property, and panics with the smallest elements that do not have it.
    #[track_caller]
    fn all_hold<S: Strategy>(
        self,
        strategy: &S,
        property: impl Fn(S::Value) -> Result<(), String>,
    ) {
        let result = self.runner().run(strategy, |value| {
            property(value).map_err(proptest::test_runner::TestCaseError::fail)
        });
        match result {
            Ok(()) => {}
            Err(TestError::Fail(why, _)) => self.fail(&why.to_string()),
            Err(TestError::Abort(why)) => {
                self.fail(&format!("the strategy gives no elements: {why}"))
            }
        }
    }
}

#[track_caller]
fn check<T: Element + Debug, Op: Monoid<T>>(
    draws: Draws,
    tolerance: Option<f64>,
    strategy: &impl Strategy<Value = T>,
) {
    draws.all_hold(strategy, |a: T| {
        identity_changes_nothing::<T, Op>(a, tolerance)
    });
    let three = (strategy, strategy, strategy);
    draws.all_hold(&three, |(a, b, c)| {
        is_associative::<T, Op>(a, b, c, tolerance)
    });
    if Op::COMMUTATIVE {
        draws.all_hold(&(strategy, strategy), |(a, b)| commutes::<T, Op>(a, b));
    }

    let mut runner = draws.runner();
    let drawn: Vec<T> = (0..COMPARED)
        .map(|_| {
            let tree = strategy.new_tree(&mut runner);
            tree.expect("the strategy draws elements").current()
        })
        .collect();
    let agreed =
        agrees_with_cuda::<T, Op>(&drawn).and_then(|()| agrees_with_the_gpu::<T, Op>(&drawn));
    if let Err(why) = agreed {
        draws.fail(&why);
    }
}

/// What the operator is called in messages.
fn name<Op>() -> &'static str {
    std::any::type_name::<Op>()
}

fn identity_changes_nothing<T: Element + Debug, Op: Monoid<T>>(
    a: T,
    tolerance: Option<f64>,
) -> Result<(), String> {
    let (identity, a) = (Op::identity().widen(), a.widen());
    let results = [
        ("identity ⊕ a", Op::combine(identity, a)),
        ("a ⊕ identity", Op::combine(a, identity)),
    ];
    for (what, result) in results {
        let holds = match tolerance {
            _ if Op::EXACT => same_bits(&a, &result),
            Some(tolerance) => are_close(&a, &result, &[&a], tolerance),
            None => are_equal(&a, &result),
        };
        if !holds {
            return Err(format!(
                "{}: {what} is {}, not a, for a = {}{}",
                name::<Op>(),
                parts::show(&result),
                parts::show(&a),
                if Op::EXACT {
                    " (to the last bit, as EXACT claims)"
                } else {
                    ""
                }
            ));
        }
    }
    Ok(())
}

fn is_associative<T: Element + Debug, Op: Monoid<T>>(
    a: T,
    b: T,
    c: T,
    tolerance: Option<f64>,
) -> Result<(), String> {
    let [a, b, c]: [Acc<T>; 3] = [a, b, c].map(Element::widen);
    let (ab, bc) = (Op::combine(a, b), Op::combine(b, c));
    let (left, right) = (Op::combine(ab, c), Op::combine(a, bc));
    let (holds, advice) = match tolerance {
        _ if Op::EXACT => (
            same_bits(&left, &right),
            "; the operator claims to be EXACT, which means to the last bit",
        ),
        Some(tolerance) => (
            are_close(&left, &right, &[&a, &b, &c, &ab, &bc], tolerance),
            "",
        ),
        None => (
            are_equal(&left, &right),
            "; if only rounding is to blame, use assert_monoid_within",
        ),
    };
    if holds {
        return Ok(());
    }
    Err(format!(
        "{}: (a ⊕ b) ⊕ c is {}, but a ⊕ (b ⊕ c) is {}, for a = {}, b = {}, c = {}{advice}",
        name::<Op>(),
        parts::show(&left),
        parts::show(&right),
        parts::show(&a),
        parts::show(&b),
        parts::show(&c)
    ))
}

fn commutes<T: Element + Debug, Op: Monoid<T>>(a: T, b: T) -> Result<(), String> {
    let [a, b]: [Acc<T>; 2] = [a, b].map(Element::widen);
    let (ab, ba) = (Op::combine(a, b), Op::combine(b, a));
    if same_bits(&ab, &ba) {
        return Ok(());
    }
    Err(format!(
        "{} claims to be COMMUTATIVE, but a ⊕ b is {} and b ⊕ a is {}, for a = {}, b = {}",
        name::<Op>(),
        parts::show(&ab),
        parts::show(&ba),
        parts::show(&a),
        parts::show(&b)
    ))
}

/// Compares with the CUDA function, compiled for the CPU: on each two neighbours, and on longer
/// sums.
fn agrees_with_cuda<T: Element + Debug, Op: Monoid<T>>(drawn: &[T]) -> Result<(), String> {
    let mut operands: Vec<Acc<T>> = drawn.iter().map(|element| element.widen()).collect();
    let sums = operands
        .windows(5)
        .map(|five| five[1..].iter().fold(five[0], |a, b| Op::combine(a, *b)));
    let sums: Vec<_> = sums.step_by(7).collect();
    operands.extend(sums);
    let pairs: Vec<[Acc<T>; 2]> = operands.windows(2).map(|two| [two[0], two[1]]).collect();
    let results = match compiled::combine::<T, Op>(&pairs) {
        Ok(results) => results,
        Err(compiled::Failure::NoCompiler(why)) => {
            skip("emulator", &why);
            return Ok(());
        }
        Err(compiled::Failure::Rejected(why)) => return Err(format!("{}: {why}", name::<Op>())),
    };
    for ([a, b], cuda) in pairs.iter().zip(&results) {
        let host = Op::combine(*a, *b);
        if !same_bits(&host, cuda) {
            return Err(format!(
                "{}: a ⊕ b is {} in Rust, but {} in CUDA, for a = {}, b = {}",
                name::<Op>(),
                parts::show(&host),
                parts::show(cuda),
                parts::show(a),
                parts::show(b)
            ));
        }
    }
    Ok(())
}

fn agrees_with_the_gpu<T: Element + Debug, Op: Monoid<T>>(drawn: &[T]) -> Result<(), String> {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(why) => {
            skip("cuda", &why.to_string());
            return Ok(());
        }
    };
    let scan = |device: &Device| {
        device
            .upload(drawn)
            .and_then(|buffer| device.inclusive_scan::<T, Op>(&buffer)?.to_vec())
    };
    let both = (scan(&Device::cpu()), scan(&device));
    let (host, gpu) = match both {
        (Ok(host), Ok(gpu)) => (host, gpu),
        (Err(why), _) | (_, Err(why)) => return Err(format!("{}: {why}", name::<Op>())),
    };
    for (number, (host, gpu)) in host.iter().zip(&gpu).enumerate() {
        if !same_bits(host, gpu) {
            return Err(format!(
                "{}: element {number} of an inclusive scan is {host:?} on the CPU, but {gpu:?} on the GPU",
                name::<Op>()
            ));
        }
    }
    Ok(())
}

/// Says that something is left out, unless `WARPFOLD_REQUIRE` forbids that.
#[track_caller]
fn skip(what: &str, why: &str) {
    let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == what),
        "WARPFOLD_REQUIRE names {what}, but {why}"
    );
    eprintln!("not compared ({what}): {why}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Add;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Claims to commute, and does so only where an operand is zero or both are the same.
    #[warpfold::monoid(identity = 0, commutative)]
    fn left(a: i32, b: i32) -> i32 {
        if a == 0 { b } else { a }
    }

    #[warpfold::monoid(identity = 0)]
    fn difference(a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }

    fn complaint<T: Element + Debug, Op: Monoid<T>>(
        seed: u64,
        strategy: impl Strategy<Value = T>,
    ) -> String {
        let check = || check::<T, Op>(Draws { seed }, None, &strategy);
        let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("a promise is broken");
        *panic.downcast::<String>().expect("a text")
    }

    /// The numbers that a message gives for the letters.
    fn counterexample<T: std::str::FromStr<Err: Debug>, const COUNT: usize>(
        text: &str,
    ) -> [T; COUNT] {
        let (_, values) = text.split_once(", for ").expect("a counterexample");
        std::array::from_fn(|number| {
            let letter = ["a = ", "b = ", "c = "][number];
            let (_, value) = values.split_once(letter).expect(letter);
            let end = value.find([',', ';', ' ', '\n']).unwrap_or(value.len());
            value[..end].parse().expect("a number")
        })
    }

    #[test]
    fn whatever_is_drawn_a_counterexample_is_one() {
        for seed in 0..300 {
            let text = complaint::<i32, Left>(seed, 0..100);
            let [a, b] = counterexample::<i32, 2>(&text);
            assert!(text.contains("claims to be COMMUTATIVE"), "{text}");
            assert_ne!(left(a, b), left(b, a), "{text}");

            let text = complaint::<i32, Difference>(seed, 0..100);
            let [a] = counterexample::<i32, 1>(&text);
            assert_ne!(difference(0, a), a, "{text}");

            let text = complaint::<f32, Add>(seed, -1e3_f32..1e3);
            let [a, b, c] = counterexample::<f32, 3>(&text);
            assert_ne!((a + b) + c, a + (b + c), "{text}");
            assert!(text.contains(&format!("WARPFOLD_SEED={seed};")), "{text}");
        }
    }

    #[test]
    fn a_seed_draws_the_same_elements_again() {
        let draw = |seed| complaint::<f32, Add>(seed, -1e3_f32..1e3);
        assert_eq!(draw(7), draw(7));
        assert_ne!(
            counterexample::<f32, 3>(&draw(7)),
            counterexample::<f32, 3>(&draw(8))
        );
    }

    #[test]
    #[ignore = "is called by the next test"]
    fn break_a_promise() {
        println!("call in line {}", line!() + 1);
        assert_monoid::<i32, Difference>(0..100);
    }

    #[test]
    fn a_failure_names_the_line_of_the_call() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args([
            "testing::tests::break_a_promise",
            "--include-ignored",
            "--nocapture",
        ]);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let (_, line) = text.split_once("call in line ").expect("it ran");
        let line = line.lines().next().expect("a line");
        assert!(text.contains(&format!("{}:{line}:", file!())), "{text}");
    }

    #[test]
    fn elements_are_finite_and_reach_the_ends() {
        let mut runner = Draws { seed: 1 }.runner();
        let strategy = elements::<[f32; 2]>();
        let mut draw = || strategy.new_tree(&mut runner).unwrap().current();
        assert!((0..1000).all(|_| draw().iter().all(|x| x.is_finite())));
        let mut runner = Draws { seed: 1 }.runner();
        let drawn: Vec<i8> = (0..1000)
            .map(|_| elements::<i8>().new_tree(&mut runner).unwrap().current())
            .collect();
        for x in [0, 1, -1, 3] {
            assert!(drawn.contains(&x), "{x}");
        }
        assert!(drawn.iter().any(|&x| x > 100) && drawn.iter().any(|&x| x < -100));
    }

    #[test]
    #[ignore = "is called by the next test"]
    fn check_a_sum() {
        assert_monoid::<u32, Add>(0..1000_u32);
    }

    #[test]
    fn what_is_required_is_not_left_out() {
        let run = |required: &str| {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            command.args([
                "testing::tests::check_a_sum",
                "--include-ignored",
                "--nocapture",
            ]);
            command.env("CXX", "no-such-compiler");
            command.env("WARPFOLD_REQUIRE", required).output().unwrap()
        };
        let output = run("");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("not compared (emulator): "), "{text}");
        assert!(!run("emulator").status.success());
    }
}
