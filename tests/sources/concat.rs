//! Buffers joined, flattened and cut into arrays hold the elements that they held, on every device.

use crate::support::data::{Sample, assert_same, sample};
use warpfold::ops::Add;
use warpfold::{Device, Error};

/// Lengths of parts: short ones, and such as several threads copy.
const LENGTHS: [&[usize]; 9] = [
    &[],
    &[0],
    &[0, 0, 0],
    &[1],
    &[0, 1, 0, 2, 3, 0],
    &[3, 2, 1],
    &[1, 1000, 1],
    &[300_001, 0, 7, 1_000_003, 2],
    &[65_536; 20],
];

fn check<T: Sample>() {
    for device in Device::available() {
        for (turn, lengths) in LENGTHS.into_iter().enumerate() {
            let what = format!("{lengths:?} × {} on {device}", std::any::type_name::<T>());
            let parts = lengths.iter().zip(turn as u64..);
            let parts: Vec<Vec<T>> = parts.map(|(&len, seed)| sample(len, seed)).collect();
            let there = parts.iter().map(|part| device.upload(part).unwrap());
            let there: Vec<_> = there.collect();
            let buffers: Vec<_> = there.iter().collect();
            let joined = device.concat(&buffers).unwrap();
            assert_same(&joined.into_vec().unwrap(), &parts.concat(), &what);

            // All but the ends of each.
            let inner = |len: usize| len.min(1)..len - usize::from(len > 1);
            let views = there.iter().map(|part| part.slice(inner(part.len())));
            let joined = device.concat(&views.collect::<Vec<_>>()).unwrap();
            let expected = parts.iter().map(|part| &part[inner(part.len())]);
            let expected = expected.collect::<Vec<_>>().concat();
            assert_same(&joined.into_vec().unwrap(), &expected, &what);
            assert_same(
                &there
                    .iter()
                    .flat_map(|part| part.to_vec().unwrap())
                    .collect::<Vec<_>>(),
                &parts.concat(),
                &what,
            );
        }
    }
}

#[test]
fn parts_of_any_type_and_length_lie_one_behind_another() {
    check::<u8>();
    check::<[u8; 3]>();
    check::<f32>();
    check::<u64>();
    check::<[u32; 3]>();
    check::<[u8; 33]>();
}

#[test]
fn what_was_joined_is_a_buffer_like_any_other() {
    for device in Device::available() {
        let ones = device.upload(&[1_u32; 1000]).unwrap();
        let twice = device.concat(&[&ones, &ones]).unwrap();
        drop(ones);
        assert_eq!(twice.len(), 2000);
        assert_eq!(device.reduce::<u32, Add>(&twice), Ok(2000), "{device}");
    }
}

/// Past the caches.
#[test]
fn long_parts_are_joined() {
    let cpu = Device::cpu();
    let parts = [sample::<u8>(40_000_001, 1), sample::<u8>(30_000_000, 2)];
    let there = parts.each_ref().map(|part| cpu.upload(part).unwrap());
    let joined = cpu.concat(&[&there[0], &there[1]]).unwrap();
    assert_same(&joined.into_vec().unwrap(), &parts.concat(), "long parts");
}

#[test]
fn more_than_there_is_memory_for_is_an_error() {
    let cpu = Device::cpu();
    // Nobody touches the gibibyte.
    let part = cpu.allocate::<u8>(1 << 30).unwrap();
    let error = cpu.concat(&vec![&part; 1 << 20]).unwrap_err();
    let requested = 1 << 50;
    assert_eq!(error, Error::OutOfHostMemory { requested });
}

#[test]
fn arrays_are_flattened_and_put_together_again() {
    for device in Device::available() {
        for length in [0, 1, 2, 3, 1000] {
            let data = sample::<[u16; 3]>(length, 4);
            let flat = device.upload(&data).unwrap().into_flattened();
            let expected = data.as_flattened();
            assert_same(&flat.to_vec().unwrap(), expected, "flattened");
            let sum = expected.iter().fold(0, |sum: u16, x| sum.wrapping_add(*x));
            assert_eq!(device.reduce::<u16, Add>(&flat), Ok(sum), "{device}");
            let again = flat.into_chunks::<3>();
            assert_same(&again.into_vec().unwrap(), &data, "put together");

            // What fills no array is given up.
            let all = sample::<u32>(length, 5);
            let pairs = device.upload(&all).unwrap().into_chunks::<2>();
            assert_eq!(pairs.len(), length / 2);
            assert_same(&pairs.into_vec().unwrap(), all.as_chunks().0, "pairs");
        }
    }
}

/// A vector may have more room than it has elements.
#[test]
fn spare_room_is_no_part_of_an_array() {
    let mut data = Vec::with_capacity(101);
    data.extend(0..7_u32);
    let arrays = Device::cpu().upload_vec(data).unwrap().into_chunks::<3>();
    assert_eq!(arrays.into_vec().unwrap(), [[0, 1, 2], [3, 4, 5]]);
}
