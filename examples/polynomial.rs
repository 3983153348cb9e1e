//! One long polynomial at several points: fingerprints of a text (Karp & Rabin 1987).
//!
//! The bytes of a text are the coefficients of a polynomial over the integers modulo a prime. Two
//! different texts of length n have the same value at a random point with a probability of at most
//! n / 2^31, so the values at four random points tell texts apart.
//!
//! Horner's rule takes a coefficient at a time: h ↦ h·x + c. That is an affine map of h, and affine
//! maps compose associatively: the whole polynomial is one reduction, and a scan would give the
//! fingerprint of every prefix. An element holds the maps of all four points.
//!
//! `cargo run --release --example polynomial`

mod support;

use support::Report;
use warpfold::{Buffer, Device, Element, Result, Source, constant, map, zip};

/// The coefficients and the values are integers modulo this prime, 2^31 − 1.
const P: u64 = 2_147_483_647;

/// How many points one pass evaluates.
const POINTS: usize = 4;

/// For each point the map h ↦ h·scale + shift, modulo [`P`].
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Horner {
    scale: [u32; POINTS],
    shift: [u32; POINTS],
}

/// First one map, `then` the other.
// Exact, since numbers below the prime are a field: there is nothing to round.
#[warpfold::monoid(identity = Horner { scale: [1; POINTS], shift: [0; POINTS] }, exact)]
fn compose(first: Horner, then: Horner) -> Horner {
    let mut both = then;
    for i in 0..POINTS {
        let factor = then.scale[i] as u64;
        both.scale[i] = (first.scale[i] as u64 * factor % P) as u32;
        both.shift[i] = ((first.shift[i] as u64 * factor + then.shift[i] as u64) % P) as u32;
    }
    both
}

/// A coefficient as a step of Horner's rule.
#[warpfold::function]
fn horner(coefficient: u8, points: [u32; POINTS]) -> Horner {
    Horner {
        scale: points,
        shift: [coefficient as u32; POINTS],
    }
}

/// The values at the points, by a reduction.
fn in_parallel(device: &Device, text: &Buffer<u8>, points: [u32; POINTS]) -> Result<[u32; POINTS]> {
    // The map of the whole polynomial, applied to zero.
    Ok(device.reduce::<Horner, Compose>(maps(text, points))?.shift)
}

/// The program that evaluates at the points.
fn at(points: [u32; POINTS]) -> impl Fn(&Device, &Buffer<u8>) -> Result<[u32; POINTS]> {
    move |device, text| in_parallel(device, text, points)
}

/// The maps of all coefficients. They are made where the reduction needs them, in registers.
fn maps(text: &Buffer<u8>, points: [u32; POINTS]) -> impl Source<Device, Item = Horner> {
    map::<horner, _>(zip(text, constant(points, text.len())))
}

/// The sequential program: Horner's rule, a point after the other.
fn sequentially(text: &[u8], points: [u32; POINTS]) -> [u32; POINTS] {
    points.map(|x| {
        let step = |h, &byte| (h * u64::from(x) + u64::from(byte)) % P;
        text.iter().fold(0, step) as u32
    })
}

/// Random points.
fn points(seed: u64) -> [u32; POINTS] {
    let mut random = support::random(seed);
    [(); POINTS].map(|()| (random.next().expect("there is no end of them") % P) as u32)
}

fn main() -> Result<()> {
    let length = support::length(1 << 20);
    let mut text = support::repeated(support::SOURCE.as_bytes(), length);
    let points = points(1987);
    let report = Report {
        example: "polynomial",
        length,
    };

    let expected = sequentially(&text, points);
    println!("fingerprint of the text: {expected:08x?}");
    report.sequential(|| sequentially(&text, points));
    for device in support::devices() {
        let values = report.parallel(&device, &text, at(points))?;
        assert_eq!(values, expected);
    }
    text[length / 2] ^= 1;
    let changed = support::answer(&Device::cpu(), &text, at(points))?;
    println!("with one bit changed:    {changed:08x?}");
    assert_ne!(changed, expected);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_polynomial_has_its_known_values() -> Result<()> {
        // 2x² + 3x + 5; −1 is P − 1.
        let points = [0, 1, 10, P as u32 - 1];
        let values = support::answer(&Device::cpu(), &[2, 3, 5][..], at(points))?;
        assert_eq!(values, [5, 10, 235, 4]);
        Ok(())
    }

    #[test]
    fn random_polynomials_have_the_values_of_horners_rule() -> Result<()> {
        for length in [0, 1, 2, 255, 10_000] {
            let text: Vec<u8> = support::random(3)
                .map(|bits| bits as u8)
                .take(length)
                .collect();
            let points = points(length as u64);
            let values = support::answer(&Device::cpu(), &text, at(points))?;
            assert_eq!(values, sequentially(&text, points));
        }
        Ok(())
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_operator_is_a_monoid() {
        use proptest::prelude::*;
        use warpfold::testing::assert_monoid;
        let numbers = || proptest::array::uniform4(0..P as u32);
        let maps = (numbers(), numbers()).prop_map(|(scale, shift)| Horner { scale, shift });
        assert_monoid::<Horner, Compose>(maps);
    }

    #[test]
    fn the_reduction_compiles_as_cuda() -> Result<()> {
        let text = Device::cpu().upload(b"text")?;
        support::check_reduce::<Horner, Compose, _>(maps(&text, points(1)));
        Ok(())
    }
}
