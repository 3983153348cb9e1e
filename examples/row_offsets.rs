//! Grouping items by key without sorting: counts, their exclusive scan, and a scatter.
//!
//! The exclusive scan of the sizes of groups gives where each group starts: the row offsets of a sparse matrix, the buckets of a radix
//! sort, the adjacency lists of a graph. The data stays on one device between the calls.
//!
//! `cargo run --release --example row_offsets`

use warpfold::{Device, ops::Add};

fn main() -> warpfold::Result<()> {
    // The edges of a random graph, as (from, to).
    const VERTICES: usize = 100_000;
    let edges: Vec<(usize, usize)> = (0..1_000_000_u64)
        .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .map(|hash| {
            (
                (hash >> 40) as usize % VERTICES,
                (hash >> 20) as usize % VERTICES,
            )
        })
        .collect();
    let mut degrees = vec![0_u32; VERTICES];
    for &(from, _) in &edges {
        degrees[from] += 1;
    }

    let device = Device::for_host_data()?;
    let degrees = device.upload_vec(degrees)?;
    let total = device.reduce::<u32, Add>(&degrees)?;
    let offsets = device.scan::<u32, Add>(&degrees)?.into_vec()?;
    assert_eq!(total as usize, edges.len());

    let mut next = offsets.clone();
    let mut neighbours = vec![0; edges.len()];
    for &(from, to) in &edges {
        neighbours[next[from] as usize] = to;
        next[from] += 1;
    }
    let list = |vertex: usize| &neighbours[offsets[vertex] as usize..next[vertex] as usize];
    println!(
        "on {device}: {total} edges; vertex 0 leads to {:?}",
        list(0)
    );
    Ok(())
}
