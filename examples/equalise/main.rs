//! Histogram equalisation: a picture whose grey values are bunched together gets all of them,
//! evenly used.
//!
//! A grey value becomes its rank: how many pixels are as dark or darker, as a share of all. These
//! numbers are the inclusive scan of the histogram (Hummel 1977).
//!
//! `cargo run --release --example equalise`, from the folder of the repository, equalises
//! `examples/pictures/before.png`, and writes `after.png` beside it. `-- --picture FILE.png` takes
//! another picture, of 8 bits of grey a pixel, and writes `FILE.png.equalised.png`.

mod picture;
#[path = "../support/mod.rs"]
mod support;

use picture::Picture;
use rayon::prelude::*;
use support::Report;
use warpfold::ops::Add;
use warpfold::{Bins, Buffer, Device, Result};

/// A part of the Hubble eXtreme Deep Field, in grey (NASA and ESA, 2012; public domain).
const BEFORE: &[u8] = include_bytes!("../pictures/before.png");

/// How many grey values there are.
const LEVELS: usize = 256;

/// The equalised picture: a histogram, its scan, and a look into a table for each pixel.
/// For the last of these the pixels are wanted in host memory, too.
fn in_parallel(device: &Device, there: &Buffer<u8>, pixels: &[u8]) -> Result<Vec<u8>> {
    let histogram = device.histogram::<u32, _>(there, &Bins::values(LEVELS)?)?;
    let ranks = device.inclusive_scan::<u32, Add>(&histogram)?.into_vec()?;
    let levels = levels(&ranks);
    // By the CPU's cores: no source looks into a table of this length.
    let equalised = pixels.par_iter().map(|&pixel| levels[pixel as usize]);
    Ok(equalised.collect())
}

/// The program for pixels that lie in host memory, too.
fn of(pixels: &[u8]) -> impl Fn(&Device, &Buffer<u8>) -> Result<Vec<u8>> {
    move |device, there| in_parallel(device, there, pixels)
}

fn on_the_cpu(pixels: &[u8]) -> Result<Vec<u8>> {
    support::answer(&Device::cpu(), pixels, of(pixels))
}

/// The new grey values, from how many pixels are as dark as the old ones or darker: the darkest
/// becomes black, the lightest white.
fn levels(ranks: &[u32]) -> [u8; LEVELS] {
    let all = ranks[LEVELS - 1];
    let darkest = ranks.iter().copied().find(|&rank| rank > 0).unwrap_or(0);
    // A picture of one colour only has nothing to spread, and stays black.
    let span = u64::from(all - darkest).max(1);
    std::array::from_fn(|value| {
        let lighter = u64::from(ranks[value].saturating_sub(darkest));
        ((lighter * 255 + span / 2) / span) as u8
    })
}

/// The sequential program: pixel by pixel, value by value.
fn sequentially(pixels: &[u8]) -> Vec<u8> {
    let mut ranks = [0; LEVELS];
    for &pixel in pixels {
        ranks[pixel as usize] += 1;
    }
    for level in 1..LEVELS {
        ranks[level] += ranks[level - 1];
    }
    let levels = levels(&ranks);
    pixels.iter().map(|&pixel| levels[pixel as usize]).collect()
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--picture");
    let path = arguments.nth(1);
    let before = match &path {
        Some(path) => Picture::read(&std::fs::read(path).expect("the picture can be read")),
        None => Picture::read(BEFORE),
    };
    // Copies below each other, which have the same shares of grey values.
    let copies = support::length(1 << 23).div_ceil(before.pixels.len());
    let pixels = before.pixels.repeat(copies);
    let report = Report {
        example: "equalise",
        length: pixels.len(),
    };

    let expected = sequentially(&pixels);
    report.sequential(|| sequentially(&pixels));
    for device in support::devices() {
        let equalised = report.parallel(&device, &pixels, of(&pixels))?;
        assert!(equalised == expected, "pixel by pixel");
    }

    let after = Picture {
        pixels: on_the_cpu(&before.pixels)?,
        ..before
    };
    match path {
        Some(path) => write(&after, &format!("{path}.equalised.png")),
        None => write(&after, "examples/pictures/after.png"),
    }
    Ok(())
}

fn write(picture: &Picture, path: &str) {
    match picture.write(path) {
        Ok(()) => println!("see {path}"),
        Err(error) => println!("{path} is not written: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_shades_are_spread_from_black_to_white() -> Result<()> {
        assert_eq!(on_the_cpu(&[10, 11, 12, 13])?, [0, 85, 170, 255]);
        assert_eq!(on_the_cpu(&[7, 7, 7, 200])?, [0, 0, 0, 255]);
        Ok(())
    }

    #[test]
    fn random_pictures_are_equalised_as_sequentially() -> Result<()> {
        for area in [0, 1, 100, 30_000] {
            let dark = |bits: u64| (bits as u8 >> 2) & (bits >> 8) as u8;
            for shade in [dark, |bits: u64| bits as u8] {
                let pixels: Vec<u8> = support::random(31).map(shade).take(area).collect();
                assert_eq!(on_the_cpu(&pixels)?, sequentially(&pixels));
            }
        }
        Ok(())
    }

    #[test]
    fn the_picture_shown_is_the_one_the_program_makes() -> Result<()> {
        let before = Picture::read(BEFORE);
        let after = Picture::read(include_bytes!("../pictures/after.png"));
        assert!(on_the_cpu(&before.pixels)? == after.pixels);
        Ok(())
    }
}
