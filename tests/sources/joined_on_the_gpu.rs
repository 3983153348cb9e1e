//! What joins buffers on a GPU: errors leave the outputs as they were, and buffers may be dropped
//! while they are copied.

use crate::support::data::{assert_same, sample};
use crate::support::gpu;
use warpfold::{Device, Error, function};

#[function]
fn even(x: u32) -> bool {
    x & 1 == 0
}

fn wrong_device<T>(buffer: &str, device: &str) -> Result<T, Error> {
    let (buffer, device) = (buffer.into(), device.into());
    Err(Error::WrongDevice { buffer, device })
}

#[test]
fn buffers_of_another_device_are_an_error() {
    let Some(device) = gpu(0) else { return };
    let cpu = Device::cpu();
    let (here, there) = (
        cpu.upload(&[1_u32, 2]).unwrap(),
        device.upload(&[3_u32, 4]).unwrap(),
    );
    let concat = |device: &Device, parts: &[_]| device.concat(parts).map(|all| all.len());
    assert_eq!(
        concat(&device, &[&there, &here]),
        wrong_device("cpu", "cuda:0")
    );
    assert_eq!(
        concat(&cpu, &[&here, &there]),
        wrong_device("cuda:0", "cpu")
    );

    let mut output = cpu.upload(&[8_u32, 9]).unwrap();
    let result = device.partition_joined_into::<u32, even>(&there, &mut output);
    assert_eq!(result, wrong_device("cpu", "cuda:0"));
    assert_eq!(output.to_vec().unwrap(), [8, 9], "the output is as it was");
    let mut output = device.upload(&[8_u32, 9]).unwrap();
    let result = device.partition_joined_into::<u32, even>(&here, &mut output);
    assert_eq!(result, wrong_device("cpu", "cuda:0"));
    assert_eq!(output.to_vec().unwrap(), [8, 9], "the output is as it was");
}

#[test]
fn long_inputs_are_joined() {
    let Some(device) = gpu(0) else { return };
    let data = sample::<u32>(20_000_003, 6);
    let there = device.upload(&data).unwrap();
    let (kept, others): (Vec<u32>, Vec<u32>) = data.iter().partition(|x| **x & 1 == 0);
    let (joined, count) = device.partition_joined::<u32, even>(&there).unwrap();
    assert_eq!(count, kept.len());
    let expected = [kept, others].concat();
    assert_same(&joined.to_vec().unwrap(), &expected, "joined");

    // Both sides, the other way round. What they are parts of may be gone before the copy is done.
    let swapped = device.concat(&[joined.slice(count..), joined.slice(..count)]);
    drop((joined, there));
    let expected = [&expected[count..], &expected[..count]].concat();
    assert_same(&swapped.unwrap().into_vec().unwrap(), &expected, "swapped");
}

#[test]
fn more_than_there_is_memory_for_is_an_error_and_the_device_goes_on() {
    let Some(device) = gpu(0) else { return };
    let part = device.allocate::<u8>(1 << 20).unwrap();
    // A terabyte.
    let error = device.concat(&vec![&part; 1 << 20]).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { requested, .. } if requested == 1 << 40));
    assert_eq!(device.concat(&[&part, &part]).unwrap().len(), 2 << 20);
}

/// Short, so that compute-sanitizer can watch.
#[test]
fn sanitized_joins() {
    let Some(device) = gpu(0) else { return };
    for length in [0, 1, 2, 31, 33, 1000, 8193] {
        let data = sample::<[u8; 3]>(length, 7);
        let there = device.upload(&data).unwrap();
        let joined = device.concat(&[&there, &there]).unwrap();
        assert_same(
            &joined.to_vec().unwrap(),
            &[&data[..], &data].concat(),
            "twice",
        );
        let data = sample::<u32>(length, 7);
        let there = device.upload(&data).unwrap();
        let (joined, count) = device.partition_joined::<u32, even>(&there).unwrap();
        let (mut expected, others): (Vec<u32>, Vec<u32>) = data.iter().partition(|x| **x & 1 == 0);
        assert_eq!(count, expected.len());
        expected.extend(others);
        assert_same(&joined.to_vec().unwrap(), &expected, "joined");
    }
}
