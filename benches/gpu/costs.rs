//! What a program waits for besides the kernels: compiling, loading, and the bus.

use crate::bench::Bench;
use crate::elements::{Affine, Sample, Then, data};
use crate::measure::{host_seconds, repeat};
use crate::record::{HostData, Loading};
use warpfold::Prefixes;
use warpfold::cuda::{Reduce, Scan};
use warpfold::half::f16;
use warpfold::ops::{Add, Max};
use warpfold::{Device, Monoid};

/// From a call of `load` to loaded kernels, for some types and operators.
pub(crate) fn loading(bench: &mut Bench) {
    if bench.wants("loading") {
        println!(
            "\n{:<22} {:>9} {:>9} {:>10}",
            "loading", "cold ms", "disk ms", "memory µs"
        );
        load::<f32, Add>(bench, "f32 add");
        load::<u8, Max>(bench, "u8 max");
        load::<f16, Add>(bench, "f16 add");
        load::<f64, Add>(bench, "f64 add");
        load::<Affine, Then>(bench, "affine then");
    }
}

fn load<T: Sample, Op: Monoid<T>>(bench: &mut Bench, name: &str) {
    let context = bench.context.clone();
    let reduce = || drop(Reduce::<T, Op>::load(&context).expect("kernels"));
    let scan = || drop(Scan::<T, Op>::load(&context).expect("kernels"));
    let primitives: [(&str, &dyn Fn()); 2] = [("reduce", &reduce), ("scan", &scan)];
    for (primitive, load) in primitives {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut caches = 0;
        let cold = || {
            caches += 1;
            let cache = folder.path().join(caches.to_string());
            // SAFETY: no other thread of this program reads or writes the environment now.
            unsafe { std::env::set_var("WARPFOLD_CACHE_DIR", cache) };
            // SAFETY: the kernels that this function loads are never launched, and the benchmark's
            // other calls have ended; it replays no graph from now on.
            unsafe { warpfold::cuda::unload(&context) };
            host_seconds(load) * 1e3
        };
        let disk = || {
            // SAFETY: the kernels that this function loads are never launched, and the benchmark's
            // other calls have ended; it replays no graph from now on.
            unsafe { warpfold::cuda::unload(&context) };
            host_seconds(load) * 1e3
        };
        let loading = Loading {
            name: format!("{primitive} {name}"),
            cold_ms: repeat(if bench.run.quick { 1 } else { 3 }, cold),
            disk_ms: repeat(9, disk),
            memory_us: repeat(99, || host_seconds(load) * 1e6),
        };
        println!(
            "{:<22} {:>9.0} {:>9.2} {:>10.2}",
            loading.name, loading.cold_ms.median, loading.disk_ms.median, loading.memory_us.median
        );
        bench.run.loading.push(loading);
    }
}

/// Data that starts and ends in host memory: the CPU, and a GPU with two copies over the bus.
pub(crate) fn host_data(bench: &mut Bench) {
    if !bench.wants("host data") {
        return;
    }
    println!("\nhost data: 2^26 elements of f32, ms by the host's clock");
    let input = data::<f32>(1 << 26);
    let gpu = Device::cuda(0).expect("the device was found");
    for device in [Device::cpu(), gpu] {
        let time = |work: &dyn Fn()| {
            work();
            repeat(5, || host_seconds(work) * 1e3)
        };
        let reduce = time(&|| {
            let fold = if device.is_cpu() {
                warpfold::reduce::<f32, Add>(&input)
            } else {
                let buffer = device.upload(&input);
                buffer.and_then(|buffer| device.reduce::<f32, Add>(&buffer))
            };
            fold.expect("a fold");
        });
        let scan = time(&|| {
            let scan = if device.is_cpu() {
                warpfold::scan::<f32, Add>(&input)
            } else {
                let buffer = device.upload(&input).and_then(|mut buffer| {
                    device.scan_in_place::<f32, Add>(Prefixes::exclusive(), &mut buffer)?;
                    Ok(buffer)
                });
                buffer.and_then(|buffer| buffer.into_vec())
            };
            scan.expect("a scan");
        });
        println!(
            "{device:<8} reduce {:>8.1}   scan {:>8.1}",
            reduce.median, scan.median
        );
        bench.run.host_data.push(HostData {
            device: device.to_string(),
            reduce_ms: reduce,
            scan_ms: scan,
        });
    }
}
