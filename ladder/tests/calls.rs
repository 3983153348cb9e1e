//! The launches of steps, as data.

use std::panic::catch_unwind;
use warpfold::ladder::{Argument, Buffer, Kernel, MOST_RETRIED, Shape, step};
use warpfold::ops::{Add, Max, Mul};

fn kernel(name: &str) -> &'static Kernel {
    step(name)
        .and_then(|step| step.kernel())
        .expect("it is a kernel's step")
}

#[test]
fn launches_go_on_until_one_value_is_left() {
    let kernel = kernel("two-step");
    let call = kernel.call(1 << 24, kernel.shape());
    let blocks: Vec<_> = call.launches.iter().map(|launch| launch.blocks).collect();
    assert_eq!(blocks, [8192, 4, 1]);
    assert_eq!((call.values, call.results), (8192 + 4, 1));
    let last = &call.launches[2].arguments;
    let values = Argument::At(Buffer::Values, 8192);
    assert_eq!(
        last[..],
        [values, Argument::Length(4), Argument::At(Buffer::Out, 0)]
    );
}

#[test]
fn scans_go_up_the_levels_and_down_again() {
    let kernel = kernel("scan-tiled");
    let call = kernel.call((1 << 24) + 1, kernel.shape());
    let launches: Vec<_> = call
        .launches
        .iter()
        .map(|launch| (launch.function, launch.blocks))
        .collect();
    let expected = [
        ("scan_tiled", 8193),
        ("scan_tiled_sums", 5),
        ("scan_tiled_sums", 1),
        ("scan_tiled_add", 5),
        ("scan_tiled_add", 8193),
    ];
    assert_eq!(launches, expected);
    assert_eq!(call.results, (1 << 24) + 1);
}

/// One block has as many threads as it needs.
#[test]
fn a_block_is_as_large_as_its_input_wants() {
    let kernel = kernel("tree-shared");
    let threads =
        [1, 2, 3, 256, 257, 2048].map(|n| kernel.call(n, kernel.shape()).launches[0].threads);
    assert_eq!(threads, [1, 1, 2, 128, 256, 1024]);
}

#[test]
fn calls_that_cannot_be_made_panic() {
    let cannot = |name: &'static str, length, threads| {
        let shape = Shape { threads, factor: 1 };
        assert!(
            catch_unwind(|| kernel(name).call(length, shape)).is_err(),
            "{name} {length} {threads}"
        );
    };
    cannot("coarsened", 0, 32);
    cannot("tree-shared", 2049, 1024);
    cannot("coarsened", 100, 33);
    cannot("coarsened", 100, 2048);
    cannot("warp-shuffle", 100, 16);
}

/// Threads that try again and again get few numbers.
#[test]
fn an_operator_without_an_instruction_gets_fewer_numbers() {
    let kernel = kernel("global-atomic");
    assert_eq!(kernel.most_for::<f32, Add>(), u64::MAX);
    assert_eq!(kernel.most_for::<u32, Max>(), u64::MAX);
    assert_eq!(kernel.most_for::<f32, Max>(), MOST_RETRIED);
    assert_eq!(kernel.most_for::<u32, Mul>(), MOST_RETRIED);
}
