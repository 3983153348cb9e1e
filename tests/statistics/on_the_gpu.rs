//! Statistics on a GPU: the bits that the CPU gives, of every number, at both levels.

use crate::support::data::{assert_same, sample};
use crate::support::numbers::{Real, first, moments_of, numbers, told};
use crate::support::{gpu, oracle, stream};
use std::cmp::Ordering;
use warpfold::cuda::cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use warpfold::cuda::{Reduce, Workspace, allocate, download, upload};
use warpfold::half::{bf16, f16};
use warpfold::ops::Min;
use warpfold::source::Slice;
use warpfold::statistics::{
    Estimate, First, Measured, Merge, Moments, Packed, Place, Ranked, least, least_packed,
    measured, position_of,
};
use warpfold::{Device, Function, flags};

const LENGTHS: &[usize] = &[
    0, 1, 2, 31, 33, 1000, 4095, 8193, 100_003, 1_000_000, 5_000_011, 20_000_003,
];

/// Level 2: the same calls on both devices.
fn check<T: Real>(lengths: &[usize]) {
    let Some(gpu) = gpu(0) else { return };
    for (number, &length) in lengths.iter().enumerate() {
        for odd_ones in [0, 3] {
            let what = format!("{} × {length}", std::any::type_name::<T>());
            let data = numbers::<T>(length, number as u64, odd_ones);
            let buffer = gpu.upload(&data).unwrap();
            assert_eq!(
                gpu.arg_min(&buffer),
                Ok(first(&data, Ordering::Less)),
                "{what}"
            );
            assert_eq!(
                gpu.arg_max(&buffer),
                Ok(first(&data, Ordering::Greater)),
                "{what}"
            );
            let expected = moments_of(&data);
            assert_same(
                &[told(&gpu.moments(&buffer).unwrap())],
                &[told(&expected)],
                &what,
            );
            assert_same(&[gpu.mean(&buffer).unwrap()], &[expected.mean()], &what);
            let spread = gpu.std_dev(&buffer, Estimate::Sample).unwrap();
            assert_same(&[spread], &[expected.std_dev(Estimate::Sample)], &what);
            let as_slice = |pair: Option<(T, T)>| pair.map_or(vec![], |(min, max)| vec![min, max]);
            let on_the_cpu = warpfold::min_max(&data).unwrap();
            let got = gpu.min_max(&buffer).unwrap();
            assert_same(&as_slice(got), &as_slice(on_the_cpu), &what);
        }
    }
}

#[test]
fn statistics_of_integers() {
    check::<u8>(LENGTHS);
    check::<i8>(&LENGTHS[..9]);
    check::<u16>(&LENGTHS[..9]);
    check::<i16>(&LENGTHS[..9]);
    check::<u32>(&LENGTHS[..9]);
    check::<i32>(&LENGTHS[..9]);
    check::<u64>(&LENGTHS[..9]);
    check::<i64>(LENGTHS);
}

#[test]
fn statistics_of_floats() {
    check::<f16>(&LENGTHS[..9]);
    check::<bf16>(&LENGTHS[..9]);
    check::<f32>(LENGTHS);
    check::<f64>(LENGTHS);
}

#[test]
fn flags_are_counted() {
    let Some(gpu) = gpu(0) else { return };
    for &length in LENGTHS {
        let mut mask = sample::<u8>(length, 6);
        mask.iter_mut().for_each(|flag| *flag &= 3);
        let set = mask.iter().filter(|flag| **flag != 0).count();
        for device in [&gpu, &Device::cpu()] {
            let mask = device.upload(&mask).unwrap();
            assert_eq!(device.count(flags(&mask)), Ok(set), "{length}");
            assert_eq!(device.any(flags(&mask)), Ok(set > 0), "{length}");
            assert_eq!(device.all(flags(&mask)), Ok(set == length), "{length}");
        }
    }
}

/// Level 3, and views that start anywhere.
fn check_views<T: Real + DeviceRepr + ValidAsZeroBits>(lengths: &[usize]) {
    let Some((context, stream)) = stream() else {
        return;
    };
    let moments = Reduce::<Moments, Merge, Measured<T>>::load(&context).unwrap();
    let places = Reduce::<Place, First, Ranked<T::RankUp, Slice<T>>>::load(&context).unwrap();
    let packed = Reduce::<u64, Min, Packed<T::RankUp, Slice<T>>>::load(&context).unwrap();
    let most = lengths[lengths.len() - 1];
    let bytes = moments
        .workspace_bytes(most)
        .max(places.workspace_bytes(most))
        .max(packed.workspace_bytes(most));
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    let mut moments_out = allocate::<Moments>(&stream, 1).unwrap();
    let mut place_out = allocate::<Place>(&stream, 1).unwrap();
    let mut packed_out = stream.alloc_zeros::<u64>(1).unwrap();
    for (number, &length) in lengths.iter().enumerate() {
        let start = [0, 1, 3, 5][number % 4];
        let data = numbers::<T>(length + start, number as u64, number % 3);
        let input = upload(&stream, &data).unwrap();
        let (data, view) = (&data[start..], input.slice(start..));
        moments
            .enqueue(
                &stream,
                measured::<T, _>(&view),
                &mut moments_out,
                &mut workspace,
            )
            .unwrap();
        let what = format!("{} × {length} from {start}", std::any::type_name::<T>());
        let got = download(&stream, &moments_out).unwrap();
        let each: Vec<Moments> = data.iter().map(|&x| T::Measure::call((x,))).collect();
        assert_same(
            &got,
            &[oracle::reduce::<Moments, Merge>(&each, None)],
            &what,
        );
        places
            .enqueue(
                &stream,
                least::<T, _>(&view, length),
                &mut place_out,
                &mut workspace,
            )
            .unwrap();
        let got = download(&stream, &place_out).unwrap()[0];
        let position = (length > 0).then_some(got.position() as usize);
        assert_eq!(position, first(data, Ordering::Less), "{what}");
        let Some(source) = least_packed::<T, _>(&view, length) else {
            continue;
        };
        packed
            .enqueue(&stream, source, &mut packed_out, &mut workspace)
            .unwrap();
        let got = position_of(stream.clone_dtoh(&packed_out).unwrap()[0]);
        let position = (length > 0).then_some(got as usize);
        assert_eq!(position, first(data, Ordering::Less), "packed {what}");
    }
}

#[test]
fn statistics_of_views() {
    check_views::<u8>(LENGTHS);
    check_views::<f32>(LENGTHS);
    check_views::<f64>(LENGTHS);
}

/// Short, so that compute-sanitizer can watch.
#[test]
fn sanitized_statistics() {
    check_views::<f32>(&LENGTHS[..9]);
    check::<u8>(&LENGTHS[..9]);
}
