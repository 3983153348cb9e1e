//! All engines of a GPU, as they are chosen.

use super::host::expected;
use crate::support::data::{Sample, assert_same, sample};
use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing, Sums};
use crate::support::{captured, gpu, stream};
use warpfold::cuda::{Scan, Workspace};
use warpfold::ops::Add;
use warpfold::{Monoid, Prefixes, function, index, map, zip};

fn check<T: Sample, Op: Monoid<T>>(most: usize) {
    let Some(device) = gpu(0) else {
        return;
    };
    let lengths = [0, 1, 31, 33, 1000, 4097, 70_001, 1 << 20, 3_000_003];
    for length in lengths.into_iter().filter(|&length| length <= most) {
        let items = sample::<T>(length, 3);
        let init = sample::<T>(1, 9)[0];
        for (inclusive, init) in [
            (true, None),
            (false, Some(init)),
            (false, None),
            (true, Some(init)),
        ] {
            let form = if inclusive {
                Prefixes::inclusive()
            } else {
                Prefixes::exclusive()
            };
            let prefixes = init.map_or(form, |init| form.from(init)).reverse();
            let expected = expected::<T, Op>(&items, inclusive, init);
            let mut data = device.upload(&items).unwrap();
            device.scan_in_place::<T, Op>(prefixes, &mut data).unwrap();
            let what = format!("{length} items, inclusive: {inclusive}");
            assert_same(&data.to_vec().unwrap(), &expected, &what);
        }
    }
}

macro_rules! types {
    ($($test:ident: $ty:ty, $op:ty, $most:expr;)*) => {$(
        #[test]
        fn $test() {
            check::<$ty, $op>($most);
        }
    )*};
}

types! {
    f32: f32, Add, usize::MAX;
    bytes: u8, Bracketing, usize::MAX;
    words: u64, Bracketing, usize::MAX;
    ordered: Bicyclic, BicyclicProduct, usize::MAX;
    triples: [u8; 3], Bracketing, 1 << 20;
    long_elements: [u64; 8], Sums, 1 << 20;
}

#[function]
fn weighted(x: f32, i: u64) -> f32 {
    x * (i % 7) as f32
}

#[test]
fn sources_are_read_in_reverse() {
    let Some(device) = gpu(0) else {
        return;
    };
    for length in [5, 1000, 500_001] {
        let items = sample::<f32>(length, 3);
        let all: Vec<_> = (0..).zip(&items).map(|(i, &x)| weighted(x, i)).collect();
        let input = device.upload(&items).unwrap();
        let mut output = device.upload(&vec![0.0; length]).unwrap();
        let source = map::<weighted, _>(zip(&input, index(length)));
        device
            .scan_into::<f32, Add>(Prefixes::inclusive().reverse(), source, &mut output)
            .unwrap();
        let expected = expected::<f32, Add>(&all, true, None);
        assert_same(&output.to_vec().unwrap(), &expected, "a map of a zip");
    }
}

#[test]
fn graphs_capture_reverse_scans() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let items = sample::<f32>(300_001, 3);
    let data = stream.clone_htod(&items).unwrap();
    let mut out = stream.alloc_zeros::<f32>(items.len()).unwrap();
    let scan = Scan::<f32, Add>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, scan.workspace_bytes(items.len())).unwrap();
    let prefixes = Prefixes::exclusive().reverse();
    let graph = captured(&stream, || {
        scan.enqueue(&stream, prefixes, &data, &mut out, &mut workspace)
    });
    let expected = expected::<f32, Add>(&items, false, None);
    for _ in 0..3 {
        graph.launch().unwrap();
        assert_same(&stream.clone_dtoh(&out).unwrap(), &expected, "a graph");
    }
}
