//! Scatter: of values with one index the last is stored; on the CPU, in the emulator and on a GPU.

use crate::emulator::{Argument, Grid, Script, Toolchain, address, base_seed};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::devices;
use crate::support::matrix::is_drawn;
use warpfold::codegen::kernels::{SCATTER_THREADS, Scatter, ScatterArguments};
use warpfold::source::{Slice, SliceArguments};
use warpfold::{Device, Error, Indices, bytemuck, collect, function, gather, map, scatter};

/// One after the other.
fn expected<T: Sample>(values: &[T], indices: &[i32], mut places: Vec<T>) -> Vec<T> {
    let last = places.len() as i32 - 1;
    for (&value, &index) in values.iter().zip(indices) {
        places[index.clamp(0, last) as usize] = value;
    }
    places
}

/// So many indices, most of them within so many places.
fn some_indices(count: usize, places: usize) -> Vec<i32> {
    let wild = |(i, x): (usize, u64)| match i % 11 {
        0 => x as i32,
        _ => (x % places as u64) as i32,
    };
    sample::<u64>(count, 5)
        .into_iter()
        .enumerate()
        .map(wild)
        .collect()
}

const SHAPES: [(usize, usize); 7] = [
    (1, 1),
    (100, 3),
    (3, 100),
    (255, 257),
    (1000, 900),
    (70_000, 40_000),
    (200_000, 10),
];

#[test]
fn the_last_of_those_with_one_index_is_stored() {
    for (count, places) in SHAPES {
        let (values, before) = (sample::<f32>(count, 1), sample::<f32>(places, 2));
        let indices = some_indices(count, places);
        let expected = expected(&values, &indices, before.clone());
        let what = format!("{count} to {places}");
        let mut got = before.clone();
        scatter(&values, Indices::unchecked(&indices), &mut got).unwrap();
        assert_same(&got, &expected, &what);
        for device in devices() {
            let values = device.upload(&values).unwrap();
            let indices = device.upload(&indices).unwrap();
            let mut got = device.upload(&before).unwrap();
            device
                .scatter(&values, Indices::unchecked(&indices), &mut got)
                .unwrap();
            assert_same(
                &got.to_vec().unwrap(),
                &expected,
                &format!("{what}, {device}"),
            );
        }
    }
}

#[function]
fn negated(x: f32) -> f32 {
    -x
}

#[test]
fn scatter_undoes_the_gather_of_a_permutation() {
    let count = 60_000_u64;
    let permutation: Vec<u64> = (0..count).map(|i| i * 7919 % count).collect();
    let values = sample::<f32>(count as usize, 3);
    for device in devices() {
        let (x, places) = (
            device.upload(&values).unwrap(),
            device.upload(&permutation).unwrap(),
        );
        let indices = device.indices(&places).unwrap();
        let moved = device.collect(gather(&x, indices)).unwrap();
        let mut back = device.upload(&vec![0.0; count as usize]).unwrap();
        device
            .scatter(map::<negated, _>(&moved), indices, &mut back)
            .unwrap();
        let expected: Vec<_> = values.iter().map(|x| -x).collect();
        assert_same(&back.to_vec().unwrap(), &expected, &device.to_string());
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, parts: &[&str]) {
    let text = result.unwrap_err().to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn indices_that_do_not_fit_are_refused() {
    let mut out = [7_u8; 4];
    let indices = Indices::new(&[0_u32, 4]).unwrap();
    refused(
        scatter(&[1, 2], indices, &mut out),
        &["indices[1] is 4", "there are 4 items"],
    );
    refused(scatter(&[1], indices, &mut out), &["2", "1"]);
    refused(
        scatter(&[1, 2], indices, &mut [0_u8; 0]),
        &["there are no items"],
    );
    assert_eq!(out, [7; 4]);
    scatter(&[0_u8; 0], Indices::new(&[0_u8; 0]).unwrap(), &mut out).unwrap();
}

/// On every device: what is negative, and where the greatest is.
#[test]
fn indices_in_buffers_are_checked_once() {
    for device in devices() {
        let data = device.upload(&[1.5_f32; 9]).unwrap();
        let mut many = vec![5_i32; 30_000];
        (many[20_001], many[29_999]) = (-1, -2);
        refused(
            device.indices(&device.upload(&many).unwrap()),
            &["indices[20001] is -1"],
        );
        (many[20_001], many[29_999]) = (9, 9);
        let places = device.upload(&many).unwrap();
        let indices = device.indices(&places).unwrap();
        refused(
            device.collect(gather(&data, indices)),
            &["indices[20001] is 9"],
        );
        let places = device.upload(&[3_u8, 8, 0]).unwrap();
        let indices = device.indices(&places).unwrap();
        assert_eq!(device.collect(gather(&data, indices)).unwrap().len(), 3);
        let none = device.upload(&[0_u64; 0]).unwrap();
        let none = device.indices(&none).unwrap();
        assert!(device.collect(gather(&data, none)).unwrap().is_empty());
    }
    assert!(
        collect(gather(&[1_u8], Indices::new(&[0_u8; 0]).unwrap()))
            .unwrap()
            .is_empty()
    );
    let _ = Device::cpu();
}

#[test]
fn emulated() {
    let Some(toolchain) = Toolchain::get().filter(|_| is_drawn("scatter", true)) else {
        return;
    };
    type Kernel = Scatter<Slice<f32>, Slice<i32>>;
    let kernel = Kernel::kernel();
    let text = kernel.source().expect("a source");
    let module = toolchain.module("scatter", &text, kernel.functions());
    for (number, &(count, places)) in SHAPES.iter().take(5).enumerate() {
        let (values, before) = (sample::<f32>(count, 1), sample::<f32>(places, 2));
        let indices = some_indices(count, places);
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        let slice = |name| SliceArguments {
            address: address(name, 0),
        };
        for (name, bytes) in [
            ("values", bytemuck::cast_slice::<f32, u8>(&values)),
            ("indices", bytemuck::cast_slice(&indices)),
            ("out", bytemuck::cast_slice(&before)),
        ] {
            script.file(name, bytes);
            script.filled(name, 0, bytes.len(), name);
        }
        script.buffer("owners", 0, 8 * places);
        let given = ScatterArguments {
            source: slice("values"),
            indices: slice("indices"),
            out: address("out", 0),
            owners: address("owners", 0),
            length: count as u64,
            places: places as u64,
        };
        for (function, threads) in [
            (Kernel::CLEAR.name, places),
            (Kernel::CLAIM.name, count),
            (Kernel::STORE.name, places),
        ] {
            let blocks = threads.div_ceil(SCATTER_THREADS as usize) as u64;
            let grid = Grid::new(blocks, SCATTER_THREADS);
            script.launch(function, grid, &[Argument::of_struct(&given)]);
        }
        script.save("out");
        let what = format!("{count} to {places}");
        let got: Vec<f32> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        assert_same(&got, &expected(&values, &indices, before), &what);
    }
}
