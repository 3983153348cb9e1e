//! The Rust part of `scripts/newcomer`: short and long slices at level 1 beside plain loops and
//! rayon, and rayon on a file.
//!
//! `cargo bench --bench newcomer` prints a line for each measurement: what, how many elements, who,
//! and the median in seconds. `cargo bench --bench newcomer -- FILE` adds up the `f32` in a file.

use rayon::prelude::*;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};
use std::time::{Duration, Instant};
use warpfold::ops::Add;
use warpfold::{inclusive_scan, reduce};

const LENGTHS: [usize; 4] = [10, 1000, 100_000, 1 << 25];

/// Contestants take turns so often.
const ROUNDS: usize = 15;

/// What a turn takes at least, so that the clock does not show.
const TURN: Duration = Duration::from_micros(500);

fn main() -> io::Result<()> {
    // cargo says `--bench`.
    match std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"))
    {
        Some(file) => {
            println!("{}", sum_of_file(&file)?);
        }
        None => LENGTHS.into_iter().for_each(slices),
    }
    Ok(())
}

fn slices(len: usize) {
    let x: Vec<f32> = (0..len).map(|i| (i % 1000) as f32 * 0.001).collect();
    let sum = || _ = black_box(reduce::<f32, Add>(black_box(&x)).expect("a sum"));
    let by_hand = || _ = black_box(black_box(&x).iter().sum::<f32>());
    let by_rayon = || _ = black_box(black_box(&x).par_iter().sum::<f32>());
    measure(
        "reduce",
        len,
        [("warpfold", &sum), ("loop", &by_hand), ("rayon", &by_rayon)],
    );

    let scan = || {
        drop(black_box(
            inclusive_scan::<f32, Add>(black_box(&x)).expect("sums"),
        ))
    };
    let by_hand = || {
        let running = black_box(&x).iter().scan(0.0_f32, |sum, x| {
            *sum += x;
            Some(*sum)
        });
        drop(black_box(running.collect::<Vec<_>>()));
    };
    let by_rayon = || drop(black_box(scan_by_rayon(black_box(&x))));
    measure(
        "scan",
        len,
        [
            ("warpfold", &scan),
            ("loop", &by_hand),
            ("rayon", &by_rayon),
        ],
    );
}

/// As one writes it with rayon: the sum of each thread's part, and then the parts from there.
fn scan_by_rayon(x: &[f32]) -> Vec<f32> {
    let part = x.len().div_ceil(rayon::current_num_threads()).max(1);
    let sums: Vec<f32> = x.par_chunks(part).map(|x| x.iter().sum()).collect();
    let mut sums = sums
        .iter()
        .scan(0.0, |sum, x| Some(std::mem::replace(sum, *sum + x)));
    let starts: Vec<f32> = sums.by_ref().collect();
    let mut result = vec![0.0; x.len()];
    let parts = result.par_chunks_mut(part).zip(x.par_chunks(part));
    parts.zip(starts).for_each(|((to, x), mut sum)| {
        for (to, x) in to.iter_mut().zip(x) {
            sum += x;
            *to = sum;
        }
    });
    result
}

fn measure(what: &str, len: usize, contestants: [(&str, &dyn Fn()); 3]) {
    let mut times = contestants.map(|_| Vec::new());
    let calls = contestants.map(|(_, call)| {
        let (start, mut calls) = (Instant::now(), 0_u32);
        while start.elapsed() < TURN {
            call();
            calls += 1;
        }
        calls
    });
    for _ in 0..ROUNDS {
        for (((_, call), calls), times) in contestants.iter().zip(calls).zip(&mut times) {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            times.push(start.elapsed().as_secs_f64() / f64::from(calls));
        }
    }
    for ((name, _), mut times) in contestants.into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        println!("{what}\t{len}\t{name}\t{:e}", times[ROUNDS / 2]);
    }
}

/// The sum of a file that is read as a whole, and added up by rayon.
fn sum_of_file(name: &str) -> io::Result<f32> {
    let mut file = File::open(name)?;
    let mut x = vec![0.0_f32; file.metadata()?.len() as usize / 4];
    file.read_exact(warpfold::bytemuck::cast_slice_mut(&mut x))?;
    Ok(x.par_iter().sum())
}
