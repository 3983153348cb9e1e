//! What a program waits for besides the kernels: compiling, loading, and the bus.

use crate::bench::Bench;
use crate::elements::{Affine, Sample, Then, data};
use crate::measure::{host_seconds, repeat};
use crate::record::{HostData, Loading, Spread};
use warpfold::Prefixes;
use warpfold::cuda::{Reduce, Scan};
use warpfold::half::f16;
use warpfold::ops::{Add, Max};
use warpfold::{Device, Monoid, reduce, scan_into};

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
    let mut output = vec![0.0; input.len()];
    let gpu = Device::cuda(0).expect("the device was found");
    record(
        bench,
        "cpu",
        &mut || reduce::<f32, Add>(&input),
        &mut || scan_into::<f32, Add>(Prefixes::exclusive(), &input, &mut output),
    );
    record(
        bench,
        "cuda:0, as buffers",
        &mut || gpu.reduce::<f32, Add>(&gpu.upload(&input)?),
        &mut || {
            let mut buffer = gpu.upload(&input)?;
            gpu.scan_in_place::<f32, Add>(Prefixes::exclusive(), &mut buffer)?;
            buffer.into_vec().map(drop)
        },
    );
    streams(bench, "cuda:0, as streams", &gpu, &input, &mut output);
    // SAFETY: they are written before they are read.
    let pin = || unsafe { bench.context.alloc_pinned::<f32>(input.len()) }.expect("pinned memory");
    let (mut pinned, mut back) = (pin(), pin());
    let from = pinned.as_mut_slice().expect("pinned memory");
    from.copy_from_slice(&input);
    let to = back.as_mut_slice().expect("pinned memory");
    to.fill(0.0);
    streams(bench, "cuda:0, as streams, pinned", &gpu, from, to);
    assert!(*to == *output, "pinned memory gives other bits");
    bus(bench, size_of_val(&input[..]));
}

fn streams(bench: &mut Bench, what: &str, gpu: &Device, input: &[f32], output: &mut [f32]) {
    record(
        bench,
        what,
        &mut || {
            let mut sum = gpu.reducer::<f32, Add>();
            sum.push_slice(input)?;
            Ok(sum.value())
        },
        &mut || {
            let mut scanner = gpu.scanner::<f32, Add>(Prefixes::exclusive());
            scanner.scan_slice_into(input, output)
        },
    );
}

/// Copies of so many bytes between a GPU and pinned memory: there, and there and back at once.
fn bus(bench: &mut Bench, bytes: usize) {
    let context = bench.context.clone();
    // SAFETY: what it holds does not matter, and any bytes will do.
    let pin = || unsafe { context.alloc_pinned_with_flags::<u8>(bytes, 0) }.expect("pinned memory");
    let [up, down] = [(); 2].map(|()| context.new_stream().expect("a stream"));
    let (there, mut back) = (pin(), pin());
    let mut target = up.alloc_zeros::<u8>(bytes).expect("memory");
    let source = down.alloc_zeros::<u8>(bytes).expect("memory");
    let mut copy = |both: bool| {
        up.memcpy_htod(&there, &mut target).expect("a copy");
        if both {
            down.memcpy_dtoh(&source, &mut back).expect("a copy");
        }
        up.synchronize()
            .and_then(|()| down.synchronize())
            .expect("copies");
    };
    let mut time = |both| {
        copy(both);
        repeat(5, || host_seconds(|| copy(both)) * 1e3)
    };
    let times = (time(false), time(true));
    note(bench, "the bus alone", times);
}

type Work<'a, R> = &'a mut dyn FnMut() -> warpfold::Result<R>;

fn record(bench: &mut Bench, what: &str, reduce: Work<'_, f32>, scan: Work<'_, ()>) {
    fn time<R>(work: Work<'_, R>) -> Spread {
        let mut work = || drop(work().expect("a result"));
        work();
        repeat(5, || host_seconds(&mut work) * 1e3)
    }
    let times = (time(reduce), time(scan));
    note(bench, what, times);
}

fn note(bench: &mut Bench, what: &str, (reduce, scan): (Spread, Spread)) {
    println!(
        "{what:<27} reduce {:>8.1}   scan {:>8.1}",
        reduce.median, scan.median
    );
    bench.run.host_data.push(HostData {
        device: what.to_owned(),
        reduce_ms: reduce,
        scan_ms: scan,
    });
}
