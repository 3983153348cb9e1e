//! Histogram equalisation: a picture whose grey values are bunched together gets all of them,
//! evenly used.
//!
//! A grey value becomes its rank: how many pixels are as dark or darker, as a share of all. These
//! numbers are the inclusive scan of the histogram (Hummel 1977). A histogram has no more than 256
//! values, so one picture is hardly worth a scan in parallel. A film is: the scan goes once through
//! the histograms of all its pictures, and what earlier pictures have added to a sum is known,
//! since all have the same number of pixels.
//!
//! `cargo run --release --example equalise`, from the folder of the repository, equalises
//! `examples/pictures/before.png`, and writes `after.png` beside it. `-- --picture FILE.png` takes
//! another picture, of 8 bits of grey a pixel, and writes `FILE.png.equalised.png`.

mod picture;
#[path = "../support/mod.rs"]
mod support;

use picture::Picture;
use support::Report;
use warpfold::{Device, Result, ops::Add};

/// A part of the Hubble eXtreme Deep Field, in grey (NASA and ESA, 2012; public domain).
const BEFORE: &[u8] = include_bytes!("../pictures/before.png");

/// How many grey values there are.
const LEVELS: usize = 256;

/// Equalises each picture of a film: `film` holds their pixels, `area` for each, one picture behind
/// the other.
fn in_parallel(device: &Device, film: &[u8], area: usize) -> Result<Vec<u8>> {
    let histograms = device.upload_vec(histograms(film, area))?;
    let ranks = device.inclusive_scan::<u32, Add>(&histograms)?.into_vec()?;

    let mut output = film.to_vec();
    let pictures = output
        .chunks_exact_mut(area)
        .zip(ranks.chunks_exact(LEVELS));
    for (i, (picture, ranks)) in pictures.enumerate() {
        let in_earlier_pictures = (i * area) as u32;
        let ranks = ranks
            .iter()
            .map(|rank| rank.wrapping_sub(in_earlier_pictures));
        let levels = levels(&ranks.collect::<Vec<_>>(), area);
        picture
            .iter_mut()
            .for_each(|pixel| *pixel = levels[*pixel as usize]);
    }
    Ok(output)
}

/// For each picture, how often it has each grey value.
fn histograms(film: &[u8], area: usize) -> Vec<u32> {
    let histogram = |picture: &[u8]| {
        let mut counts = [0; LEVELS];
        picture
            .iter()
            .for_each(|&pixel| counts[pixel as usize] += 1);
        counts
    };
    film.chunks_exact(area).flat_map(histogram).collect()
}

/// The new grey values, from how many pixels are as dark as the old ones or darker: the darkest
/// becomes black, the lightest white.
fn levels(ranks: &[u32], area: usize) -> Vec<u8> {
    let darkest = ranks.iter().copied().find(|&rank| rank > 0).unwrap_or(0);
    // A picture of one colour only has nothing to spread, and stays black.
    let span = (area as u64 - u64::from(darkest)).max(1);
    let level = |&rank: &u32| (u64::from(rank.saturating_sub(darkest)) * 255 + span / 2) / span;
    ranks.iter().map(|rank| level(rank) as u8).collect()
}

/// The sequential program: picture by picture, value by value.
fn sequentially(film: &[u8], area: usize) -> Vec<u8> {
    let mut output = Vec::new();
    for picture in film.chunks_exact(area) {
        let mut ranks = [0; LEVELS];
        for &pixel in picture {
            ranks[pixel as usize] += 1;
        }
        for level in 1..LEVELS {
            ranks[level] += ranks[level - 1];
        }
        let levels = levels(&ranks, area);
        output.extend(picture.iter().map(|&pixel| levels[pixel as usize]));
    }
    output
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--picture");
    let path = arguments.nth(1);
    let before = match &path {
        Some(path) => Picture::read(&std::fs::read(path).expect("the picture can be read")),
        None => Picture::read(BEFORE),
    };
    let area = before.pixels.len();
    let pictures = support::length(1 << 23).div_ceil(area);
    let film = before.pixels.repeat(pictures);
    let report = Report {
        example: "equalise",
        length: film.len(),
    };

    let expected = sequentially(&film, area);
    report.sequential(|| sequentially(&film, area));
    for device in support::devices() {
        assert!(
            in_parallel(&device, &film, area)? == expected,
            "pixel by pixel"
        );
        report.parallel(&device, || in_parallel(&device, &film, area))?;
    }

    let after = Picture {
        pixels: expected[..area].to_vec(),
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
        let film = [10, 11, 12, 13, /**/ 7, 7, 7, 200];
        let equalised = in_parallel(&Device::cpu(), &film, 4)?;
        assert_eq!(equalised, [0, 85, 170, 255, /**/ 0, 0, 0, 255]);
        Ok(())
    }

    #[test]
    fn random_films_are_equalised_as_sequentially() -> Result<()> {
        for (pictures, area) in [(0, 10), (1, 1), (5, 100), (3, 10_000)] {
            let dark = |bits: u64| (bits as u8 >> 2) & (bits >> 8) as u8;
            let film: Vec<u8> = support::random(31)
                .map(dark)
                .take(pictures * area)
                .collect();
            assert_eq!(
                in_parallel(&Device::cpu(), &film, area)?,
                sequentially(&film, area)
            );
        }
        Ok(())
    }

    #[test]
    fn the_picture_shown_is_the_one_the_program_makes() -> Result<()> {
        let before = Picture::read(BEFORE);
        let after = Picture::read(include_bytes!("../pictures/after.png"));
        assert!(in_parallel(&Device::cpu(), &before.pixels, before.pixels.len())? == after.pixels);
        Ok(())
    }
}
