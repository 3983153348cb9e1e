//! Sparse matrix × vector, and what is made of it: PageRank.
//!
//! A sparse matrix lies as its values, the column of each, and where each row starts (CSR). Its
//! product with a vector is a segmented sum of products, of which one factor is gathered (Blelloch,
//! Heroux & Zagha 1993). Nothing is stored between: items are multiplied on the way. Segments may
//! have any length, so a row with most of the values does not hold up the others.
//!
//! PageRank takes such a product per step: a page gives an equal share of its rank to each page
//! that it links to (Page, Brin, Motwani & Winograd 1999).
//!
//! `cargo run --release --example sparse_matrix`

mod support;

use support::{Input, Report};
use warpfold::ops::Add;
use warpfold::{Buffer, Device, Result, gather, map, map_with, zip};

/// The values of a matrix, the column of each, and where rows start.
type Matrix = (Vec<f32>, (Vec<u32>, Vec<u32>));
/// A matrix on a device.
type There = (Buffer<f32>, (Buffer<u32>, Buffer<u32>));

#[warpfold::function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

/// Matrix × vector.
fn in_parallel(
    device: &Device,
    (values, (columns, rows)): &There,
    x: &Buffer<f32>,
) -> Result<Buffer<f32>> {
    let (columns, rows) = (device.indices(columns)?, device.offsets(rows)?);
    let products = map::<product, _>(zip(values, gather(x, columns)));
    device.segmented_reduce::<f32, Add>(products, rows)
}

/// The sequential program, in twice the digits.
fn sequentially((values, (columns, rows)): &Matrix, x: &[f32]) -> Vec<f64> {
    let row = |pair: &[u32]| {
        let items = pair[0] as usize..pair[1] as usize;
        let product = |i: usize| f64::from(values[i]) * f64::from(x[columns[i] as usize]);
        items.map(product).sum()
    };
    rows.windows(2).map(row).collect()
}

/// The five-point Laplacian of a square grid: 4 on the diagonal, -1 for each neighbour.
fn laplacian(side: usize) -> Matrix {
    let (mut values, mut columns, mut rows) = (Vec::new(), Vec::new(), vec![0]);
    for place in 0..side * side {
        let (y, x) = (place / side, place % side);
        let neighbours = [
            (y > 0).then(|| place - side),
            (x > 0).then(|| place - 1),
            Some(place),
            (x + 1 < side).then_some(place + 1),
            (y + 1 < side).then_some(place + side),
        ];
        for column in neighbours.into_iter().flatten() {
            values.push(if column == place { 4.0 } else { -1.0 });
            columns.push(column as u32);
        }
        rows.push(values.len() as u32);
    }
    (values, (columns, rows))
}

/// The share of a rank that follows links; the rest goes to all pages alike.
const DAMPING: f32 = 0.85;

#[warpfold::function]
fn damped(rank: f32, base: f32) -> f32 {
    base + DAMPING * rank
}

/// The matrix of a graph of links: the pages that link to a page, with the share that each gives.
/// Every page must link to one at least.
fn shares(pages: usize, links: &[(u32, u32)]) -> Matrix {
    let mut counts = vec![0_u32; pages];
    links
        .iter()
        .for_each(|&(from, _)| counts[from as usize] += 1);
    let mut sorted = links.to_vec();
    sorted.sort_by_key(|&(from, to)| (to, from));
    let share = |&(from, _): &(u32, u32)| 1.0 / counts[from as usize] as f32;
    let first = |page: u32| sorted.partition_point(|&(_, to)| to < page) as u32;
    (
        sorted.iter().map(share).collect(),
        (
            sorted.iter().map(|&(from, _)| from).collect(),
            (0..=pages as u32).map(first).collect(),
        ),
    )
}

/// The ranks after some steps.
fn page_ranks(device: &Device, matrix: &There, pages: usize, steps: usize) -> Result<Buffer<f32>> {
    let base = (1.0 - DAMPING) / pages as f32;
    let mut ranks = device.upload(&vec![1.0 / pages as f32; pages])?;
    for _ in 0..steps {
        let sums = in_parallel(device, matrix, &ranks)?;
        ranks = device.collect(map_with::<damped, _, _>(&sums, base))?;
    }
    Ok(ranks)
}

/// The ranks after some steps, by a sequential program.
fn page_ranks_sequentially(matrix: &Matrix, pages: usize, steps: usize) -> Vec<f64> {
    let base = (1.0 - f64::from(DAMPING)) / pages as f64;
    let mut ranks = vec![1.0 / pages as f64; pages];
    for _ in 0..steps {
        let narrow: Vec<f32> = ranks.iter().map(|&rank| rank as f32).collect();
        let sums = sequentially(matrix, &narrow);
        ranks = sums
            .iter()
            .map(|sum| base + f64::from(DAMPING) * sum)
            .collect();
    }
    ranks
}

/// The greatest difference of two vectors.
fn error(got: &[f32], expected: &[f64]) -> f64 {
    let pairs = got.iter().zip(expected);
    pairs
        .map(|(&got, expected)| (f64::from(got) - expected).abs())
        .fold(0.0, f64::max)
}

fn main() -> Result<()> {
    let side = support::length(1 << 20).isqrt();
    let matrix = laplacian(side);
    let x: Vec<f32> = (0..side * side).map(|i| (i % 17) as f32 / 8.0).collect();
    let report = Report {
        example: "sparse_matrix",
        length: matrix.0.len(),
    };
    let expected = sequentially(&matrix, &x);
    report.sequential(|| sequentially(&matrix, &x));
    for device in support::devices() {
        let input = (matrix.clone(), x.clone());
        let got = report.parallel(&device, &input, |device, (matrix, x)| {
            in_parallel(device, matrix, x)
        })?;
        assert!(error(&got, &expected) < 1e-5);
    }

    // A small web: a page links to the one at half its number, and to the next one.
    let pages = 1000;
    let links: Vec<_> = (0..pages)
        .flat_map(|page| [(page, page / 2), (page, (page + 1) % pages)])
        .collect();
    let matrix = shares(pages as usize, &links);
    let expected = page_ranks_sequentially(&matrix, pages as usize, 30);
    for device in support::devices() {
        let there = matrix.upload(&device)?;
        let ranks = page_ranks(&device, &there, pages as usize, 30)?;
        println!(
            "{device}: page {} has the highest rank",
            device.arg_max(&ranks)?.unwrap_or(0)
        );
        assert!(error(&ranks.into_vec()?, &expected) < 1e-6);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_sequential_program() -> Result<()> {
        for side in [1, 2, 30] {
            let matrix = laplacian(side);
            let x: Vec<f32> = support::random(7)
                .map(|x| (x % 100) as f32)
                .take(side * side)
                .collect();
            for device in support::devices() {
                let y = in_parallel(&device, &matrix.upload(&device)?, &device.upload(&x)?)?;
                // Small integers: nothing is rounded.
                assert_eq!(error(&y.into_vec()?, &sequentially(&matrix, &x)), 0.0);
            }
        }
        Ok(())
    }

    /// The four pages of the Wikipedia's drawing of a simple web: B, C and D link to A, B links to
    /// C, too, and D to all others. A links to B here.
    #[test]
    fn ranks_add_up_to_1_and_are_those_of_power_iteration() -> Result<()> {
        let links = [(1, 0), (2, 0), (3, 0), (1, 2), (3, 1), (3, 2), (0, 1)];
        let matrix = shares(4, &links);
        let ranks = page_ranks_sequentially(&matrix, 4, 50);
        let device = Device::cpu();
        let got = page_ranks(&device, &matrix.upload(&device)?, 4, 50)?.into_vec()?;
        assert!(error(&got, &ranks) < 1e-6, "{got:?} {ranks:?}");
        assert!((got.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(got[0] > got[1] && got[1] > got[2] && got[2] > got[3]);
        Ok(())
    }

    #[test]
    fn columns_that_are_not_there_are_refused() -> Result<()> {
        let device = Device::cpu();
        let matrix = laplacian(3).upload(&device)?;
        let short = device.upload(&[1.0; 8])?;
        let message = in_parallel(&device, &matrix, &short)
            .unwrap_err()
            .to_string();
        assert!(message.contains("is 8, but there are 8 items"), "{message}");
        Ok(())
    }
}
