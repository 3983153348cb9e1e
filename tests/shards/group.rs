//! Several devices as one.

use super::bounds;
use crate::support::data::{assert_same, sample};
use crate::support::operators::Bracketing;
use crate::support::oracle;
use std::sync::Mutex;
use warpfold::ops::Add;
use warpfold::shards::{Group, Nodes, Spread};
use warpfold::{Bins, Device, Error, Prefixes, Result, function, map};

fn group(name: &str) -> Group {
    name.parse().unwrap()
}

#[function]
fn is_odd(x: u64) -> bool {
    x % 2 == 1
}

#[function]
fn low_byte(x: u64) -> u8 {
    x as u8 / 100
}

/// All calls of a group over an array, beside those of one device and the law.
fn check(group: &Group, input: &[u64], x: &Spread<u64>) {
    let (cpu, what) = (
        Device::cpu(),
        format!("{} of {}", input.len(), x.parts().len()),
    );
    let one = cpu.upload(input).unwrap();
    assert_eq!((x.len(), x.is_empty()), (input.len(), input.is_empty()));
    assert_same(&x.to_vec().unwrap(), input, &what);
    let reduced = [
        group.reduce::<u64, Bracketing>(x).unwrap(),
        group.reduce_from::<u64, Bracketing>(5, x).unwrap(),
        group.reduce_slice::<u64, Bracketing>(input).unwrap(),
    ];
    let fold = |init| oracle::reduce::<u64, Bracketing>(input, init);
    assert_same(&reduced, &[fold(None), fold(Some(5)), fold(None)], &what);
    let inclusive = oracle::inclusive::<u64, Bracketing>(input, None);
    let exclusive = oracle::exclusive::<u64, Bracketing>(input, None);
    let scanned = group.inclusive_scan::<u64, Bracketing>(x).unwrap();
    assert_same(&scanned.to_vec().unwrap(), &inclusive, &what);
    let scanned = group.scan::<u64, Bracketing>(x).unwrap();
    assert_same(&scanned.to_vec().unwrap(), &exclusive, &what);
    let form = Prefixes::inclusive().from(7).reverse();
    let mut in_place = group.spread(copies(group, x)).unwrap();
    group
        .scan_in_place::<u64, Bracketing>(form, &mut in_place)
        .unwrap();
    let scanned = group
        .prefixes::<u64, Bracketing>(form, x)
        .unwrap()
        .to_vec()
        .unwrap();
    let mut expected = cpu.upload(input).unwrap();
    cpu.scan_in_place::<u64, Bracketing>(form, &mut expected)
        .unwrap();
    assert_same(&scanned, &expected.to_vec().unwrap(), &what);
    assert_same(&in_place.to_vec().unwrap(), &scanned, &what);
    let kept = cpu.select::<u64, is_odd>(&one).unwrap().into_vec().unwrap();
    assert_same(
        &group.select::<u64, is_odd>(x).unwrap().to_vec().unwrap(),
        &kept,
        &what,
    );
    let bytes = group.each(|member| member.device().collect(map::<low_byte, _>(member.part(x)?)));
    let bytes = group.spread(bytes.unwrap()).unwrap();
    let byte = cpu.collect(map::<low_byte, _>(&one)).unwrap();
    let unique = group.unique(&bytes).unwrap().to_vec().unwrap();
    assert_eq!(
        unique,
        cpu.unique(&byte).unwrap().into_vec().unwrap(),
        "{what}"
    );
    let (runs, expected) = (group.runs(&bytes).unwrap(), cpu.runs(&byte).unwrap());
    assert_eq!(runs.items.to_vec().unwrap(), unique, "{what}");
    assert_eq!(
        runs.starts.to_vec().unwrap(),
        expected.starts.into_vec().unwrap(),
        "{what}"
    );
    assert_eq!(
        runs.lengths.to_vec().unwrap(),
        expected.lengths.into_vec().unwrap(),
        "{what}"
    );
    let bins = Bins::values(3).unwrap();
    let counts = group.histogram::<u32, u8>(&bytes, &bins).unwrap();
    let expected = cpu.histogram::<u32, u8>(&byte, &bins).unwrap();
    assert_eq!(
        counts.into_vec().unwrap(),
        expected.into_vec().unwrap(),
        "{what}"
    );
}

fn copies(group: &Group, x: &Spread<u64>) -> Vec<warpfold::Buffer<u64>> {
    let copy = group.each(|member| member.device().collect(member.part(x)?));
    copy.unwrap()
}

#[test]
fn a_group_has_the_bits_of_one_device() {
    for count in [1, 2, 3, 5, 8] {
        let group = group(&format!("cpu:{count}"));
        for len in [0, 1, 2, 1000, 30_011] {
            let input = sample::<u64>(len, 7);
            check(&group, &input, &group.upload(&input).unwrap());
            let bounds = bounds(len, count, len as u64);
            let parts = bounds.windows(2).map(|part| &input[part[0]..part[1]]);
            let parts = parts.map(|part| Device::cpu().upload(part).unwrap());
            check(&group, &input, &group.spread(parts.collect()).unwrap());
        }
    }
}

#[test]
fn names_say_which_devices() {
    assert_eq!(group("cpu").devices().len(), 1);
    assert_eq!(group("cpu:4").devices().len(), 4);
    for name in [
        "cpu:0",
        "cpu:",
        "cpu:x",
        "cpu:100000",
        "gpu",
        "",
        "cuda:,",
        "cuda:0,x",
    ] {
        let error = name.parse::<Group>().unwrap_err().to_string();
        assert!(
            error.contains(&format!("`{name}` does not name a device")),
            "{error}"
        );
        assert!(error.contains("`cuda:all`"), "{error}");
    }
    let error = "cuda:1,1".parse::<Group>().unwrap_err().to_string();
    assert!(
        cfg!(not(feature = "cuda")) || error.contains("cuda:1 twice"),
        "{error}"
    );
    assert!(Group::new(Vec::new()).is_err());
    assert!(Device::group(&[]).is_err());
    // All GPUs, or why there is none.
    let all = "cuda:all"
        .parse::<Group>()
        .map(|group| group.devices().len());
    match Device::cuda(0) {
        Ok(_) => assert_eq!(all.unwrap(), Device::available().len() - 1),
        Err(error) => assert_eq!(all.unwrap_err(), error),
    }
}

#[test]
fn arrays_of_other_groups_are_refused() {
    let (two, three) = (group("cpu:2"), group("cpu:3"));
    let x = two.upload(&[1_u64, 2, 3]).unwrap();
    for error in [
        three.reduce::<u64, Add>(&x).unwrap_err(),
        three.scan::<u64, Add>(&x).unwrap_err(),
        three.spread(x.into_parts()).unwrap_err(),
    ] {
        assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains("lives on 2 devices, but the call runs on 3")
        );
    }
}

#[test]
fn the_error_of_a_device_is_that_of_the_call() {
    let group = group("cpu:3");
    let x = group.upload(&[1_u64; 10]).unwrap();
    for bad in 0..3 {
        let result = group.each(|member| {
            let shard = member.shard(&x)?;
            let part = member.part(&x)?;
            match member.communicator().rank() == bad {
                true => Err(Error::Codegen("its own".to_owned())),
                false => shard.reduce::<u64, Add>(part),
            }
        });
        assert_eq!(result.unwrap_err(), Error::Codegen("its own".to_owned()));
    }
    let panic = std::panic::catch_unwind(|| {
        group.each(|member| {
            assert!(member.communicator().rank() != 1, "it panics");
            member.shard(&x)?.reduce::<u64, Add>(member.part(&x)?)
        })
    });
    assert!(panic.is_err());
}

#[test]
fn devices_share_jobs() {
    let group = group("cpu:3");
    let squares = group.share(0..1000_u64, |_, job| Ok::<_, Error>(job * job));
    assert_eq!(
        squares.unwrap(),
        (0..1000).map(|job| job * job).collect::<Vec<_>>()
    );
    assert!(
        group
            .share(0..0, |_, job: u32| Ok::<_, Error>(job))
            .unwrap()
            .is_empty()
    );
    // The first job that fails says why, and no later one is begun but those under way.
    let begun = Mutex::new(Vec::new());
    let result = group.share(0.., |_, job: u32| {
        begun.lock().unwrap().push(job);
        if job >= 10 { Err(job) } else { Ok(job) }
    });
    assert_eq!(result.unwrap_err(), 10);
    assert!(begun.into_inner().unwrap().len() <= 13);
}

#[test]
fn parts_that_are_read_have_their_nodes() {
    let input = sample::<u64>(70_001, 3);
    let cpu = Device::cpu();
    for range in [0..0, 0..70_001, 1..2, 777..70_000, 4096..8192] {
        let (start, len) = (range.start, range.len());
        let read = |at: usize, to: &mut [u64]| {
            to.copy_from_slice(&input[start + at..][..to.len()]);
            Ok::<_, Error>(())
        };
        let nodes = Nodes::<u64, Bracketing>::read(&cpu, start as u64, len, read).unwrap();
        let expected = Nodes::of(start as u64, &input[range.clone()]).unwrap();
        assert!(nodes == expected, "{range:?}");
        let nodes = Nodes::of_slice(&cpu, start as u64, &input[range.clone()]).unwrap();
        assert!(nodes == expected, "{range:?}");
    }
    let failed: Result<_> = Nodes::<u64, Add>::read(&cpu, 0, 10, |_, _| Err(Error::Count));
    assert_eq!(failed.err(), Some(Error::Count));
    let far = Nodes::<u64, Add>::read(&cpu, u64::MAX, 10, |_, _| Ok::<_, Error>(()));
    assert!(matches!(far, Err(Error::Nodes { .. })));
}
