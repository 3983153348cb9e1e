//! What the CPU backend allocates. A program of its own, since it counts for the whole process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use warpfold::Prefixes;
use warpfold::ops::Add;
use warpfold::{
    Device, Error, function, inclusive_scan, map, partition, positions, reduce, runs, scan, select,
    unique, zip,
};

/// Counts the bytes that are allocated, and refuses allocations of a size.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// Allocations of at least this many bytes fail.
static REFUSED: AtomicUsize = AtomicUsize::new(usize::MAX);

// SAFETY: what it gives is the system's, or null.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= REFUSED.load(Relaxed) {
            return std::ptr::null_mut();
        }
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    /// What shrinks stays where it is, and takes nothing in addition.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size >= REFUSED.load(Relaxed) {
            return std::ptr::null_mut();
        }
        let live = LIVE.fetch_add(size, Relaxed) + size;
        LIVE.fetch_sub(layout.size(), Relaxed);
        if size > layout.size() {
            PEAK.fetch_max(live, Relaxed);
        }
        // SAFETY: the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests take turns: each counts what the others would allocate, too.
static TURN: Mutex<()> = Mutex::new(());

/// The most bytes that lived during `work`, beyond those that lived before.
fn peak<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed) - before)
}

#[test]
fn working_memory_is_64_kib_for_each_thread_and_one_percent() {
    let _turn = TURN.lock();
    const THREADS: usize = 3;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS);
    let pool = pool.build().unwrap();
    let cpu = Device::cpu();
    for len in [0, 1, 1000, 100_000, 8_000_000] {
        let input = vec![1.0_f32; len];
        let mut data = cpu.upload(&input).unwrap();
        let bytes = len * size_of::<f32>();
        // The thread that calls is one of the pool's, so rayon's queues hold nothing else.
        let [reduced, scanned, in_place] = pool.install(|| {
            reduce::<f32, Add>(&vec![1.0; 1 << 20]).unwrap();
            [
                peak(|| reduce::<f32, Add>(&input).unwrap()).1,
                peak(|| scan::<f32, Add>(&input).unwrap()).1,
                peak(|| {
                    cpu.scan_in_place::<f32, Add>(Prefixes::exclusive(), &mut data)
                        .unwrap()
                })
                .1,
            ]
        });
        let working = THREADS * (64 << 10) + bytes / 100;
        assert!(reduced <= working, "reduce of {len}: {reduced} bytes");
        assert!(scanned <= bytes + working, "scan of {len}: {scanned} bytes");
        assert!(in_place <= working, "in place, {len}: {in_place} bytes");
        assert!(scanned >= bytes, "the allocations are counted");
    }
}

#[test]
fn what_is_evaluated_takes_a_chunk_for_each_thread() {
    let _turn = TURN.lock();
    const THREADS: usize = 3;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS);
    let pool = pool.build().unwrap();
    let cpu = Device::cpu();
    for len in [0, 1, 1000, 100_000, 8_000_000] {
        let input: Vec<f32> = (0..len).map(|i| (i % 2) as f32).collect();
        let mut data = cpu.upload(&input).unwrap();
        let bytes = len * size_of::<f32>();
        let halves = || map::<half_of, _>(&input);
        let [reduced, scanned, selected, in_place] = pool.install(|| {
            reduce::<f32, Add>(&vec![1.0; 1 << 20]).unwrap();
            [
                peak(|| reduce::<f32, Add>(halves()).unwrap()).1,
                peak(|| scan::<f32, Add>(halves()).unwrap()).1,
                peak(|| select::<f32, positive_float>(halves()).unwrap()).1,
                peak(|| {
                    cpu.select_in_place::<f32, positive_float>(&mut data)
                        .unwrap()
                })
                .1,
            ]
        });
        let more = bytes / 100;
        let threads = |kib: usize| THREADS * (kib << 10);
        assert!(reduced <= threads(64) + more, "reduce, {len}: {reduced}");
        assert!(scanned <= bytes + threads(192) + more, "{len}: {scanned}");
        let result = bytes / 2;
        assert!(selected <= 3 * result + threads(352), "{len}: {selected}");
        assert!(in_place <= threads(288), "in place, {len}: {in_place}");
        let (kept, _) = peak(|| select::<f32, positive_float>(&input).unwrap());
        assert_eq!((kept.len(), kept.capacity()), (len / 2, len / 2));
        let mut output = cpu.allocate::<f32>(len).unwrap();
        let data = cpu.upload(&input).unwrap();
        let [joined, into] = pool.install(|| {
            [
                peak(|| cpu.partition_joined::<f32, positive_float>(&data).unwrap()).1,
                peak(|| {
                    cpu.partition_joined_into::<f32, positive_float>(&data, &mut output)
                        .unwrap()
                })
                .1,
            ]
        });
        assert!(joined <= bytes + threads(544), "joined, {len}: {joined}");
        assert!(into <= threads(544), "joined into, {len}: {into}");
    }
}

#[test]
fn selects_take_memory_as_their_results_do() {
    let _turn = TURN.lock();
    const THREADS: usize = 3;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS);
    let pool = pool.build().unwrap();
    let len = 8_000_000;
    // Three numbers among many, in two runs.
    let mut few = vec![0_u32; len];
    few[1234] = 7;
    few[len - 9..len - 7].fill(7);
    let all = vec![7_u32; len];
    let some: Vec<u32> = (0..len).map(|i| u32::from(i % 10 == 3)).collect();
    let least = THREADS * (2 << 20);
    pool.install(|| {
        reduce::<u32, Add>(&few).unwrap();
        let (found, taken) = peak(|| positions(map::<positive, _>(&few)).unwrap());
        assert_eq!(found, [1234, len as u64 - 9, len as u64 - 8]);
        assert!(taken <= least, "positions: {taken}");
        let (found, taken) = peak(|| select::<u32, positive>(&few).unwrap());
        assert_eq!(found, [7; 3]);
        assert!(taken <= least, "select: {taken}");
        let (found, taken) = peak(|| unique::<u32>(&few).unwrap());
        assert_eq!(found, [0, 7, 0, 7, 0]);
        assert!(taken <= least, "unique: {taken}");
        let (found, taken) = peak(|| runs::<u32>(&few).unwrap());
        assert_eq!(found.lengths, [1234, 1, len as u64 - 9 - 1235, 2, 7]);
        assert!(taken <= least, "runs: {taken}");

        for (data, kept) in [(&few, 3), (&some, len / 10), (&all, len)] {
            let (found, taken) = peak(|| positions(map::<positive, _>(data)).unwrap());
            assert_eq!((found.len(), found.capacity()), (kept, kept));
            assert!(taken <= 3 * 8 * kept + least, "{kept} positions: {taken}");
            let (sides, taken) = peak(|| partition::<u32, positive>(data).unwrap());
            assert_eq!((sides.0.len(), sides.1.len()), (kept, len - kept));
            assert!(taken <= 3 * 4 * len + least, "partition, {kept}: {taken}");
        }
    });
}

#[test]
fn the_cpu_takes_and_gives_vectors_without_a_copy() {
    let _turn = TURN.lock();
    let data = vec![7_u64; 1 << 20];
    let address = data.as_ptr();
    let (back, allocated) = peak(|| {
        let mut buffer = Device::cpu().upload_vec(data).unwrap();
        let device = buffer.device().clone();
        device
            .scan_in_place::<u64, Add>(Prefixes::exclusive(), &mut buffer)
            .unwrap();
        buffer.into_vec().unwrap()
    });
    assert_eq!(back.as_ptr(), address);
    assert!(allocated < 1 << 20, "{allocated} bytes");
}

#[test]
fn a_dropped_buffer_frees_its_memory() {
    let _turn = TURN.lock();
    let before = LIVE.load(Relaxed);
    let buffer = Device::cpu().allocate::<u64>(1 << 20).unwrap();
    // Threads of the tests before may still be ending, and free what they had.
    assert!(LIVE.load(Relaxed) >= before + (7 << 20));
    drop(buffer);
    assert!(LIVE.load(Relaxed) < before + (1 << 20));
}

#[function]
fn quotient(x: u32, y: u32) -> u32 {
    x / y
}

#[function]
fn positive(x: u32) -> bool {
    x > 0
}

#[function]
fn positive_float(x: f32) -> bool {
    x > 0.0
}

#[function]
fn half_of(x: f32) -> f32 {
    x * 0.5
}

#[test]
fn a_panic_in_a_function_leaks_nothing() {
    let _turn = TURN.lock();
    let x = vec![1_u32; 1 << 20];
    let mut y = x.clone();
    y[700_001] = 0;
    let fail = || {
        let quotients = map::<quotient, _>(zip(&x, &y));
        assert!(std::panic::catch_unwind(|| reduce::<u32, Add>(quotients)).is_err());
        assert!(std::panic::catch_unwind(|| scan::<u32, Add>(quotients)).is_err());
        assert!(std::panic::catch_unwind(|| select::<u32, positive>(quotients)).is_err());
    };
    // The usual hook keeps what it prints, for the test's report.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    // The first time, the threads set up what they keep.
    fail();
    let before = LIVE.load(Relaxed);
    (0..4).for_each(|_| fail());
    let kept = LIVE.load(Relaxed).saturating_sub(before);
    std::panic::set_hook(hook);
    assert!(kept < 64 << 10, "{kept} bytes");
}

#[test]
fn want_of_host_memory_is_an_error_with_the_size_and_nothing_is_lost() {
    let _turn = TURN.lock();
    let cpu = Device::cpu();
    let data = vec![1_u32; 1 << 22];
    let buffer = cpu.upload(&data).unwrap();
    REFUSED.store(16 << 20, Relaxed);
    let errors = [
        cpu.upload(&data).err(),
        cpu.allocate::<u32>(1 << 22).err(),
        buffer.to_vec().err(),
        scan::<u32, Add>(&data).err(),
        inclusive_scan::<u32, Add>(&data).err(),
        cpu.scan::<u32, Add>(&buffer).err(),
        select::<u32, positive>(&data).err(),
        partition::<u32, positive>(&data).err(),
    ];
    let positions = positions(map::<positive, _>(&data)).err();
    let few = runs::<u32>(&data).map(|runs| runs.lengths);
    let sum = cpu.reduce::<u32, Add>(&buffer);
    REFUSED.store(usize::MAX, Relaxed);
    let requested = 16 << 20;
    for (number, error) in errors.into_iter().enumerate() {
        let expected = Error::OutOfHostMemory { requested };
        let is_select = number >= 6 && matches!(error, Some(Error::OutOfHostMemory { .. }));
        assert!(is_select || error == Some(expected), "{number}: {error:?}");
    }
    assert!(
        matches!(positions, Some(Error::OutOfHostMemory { .. })),
        "{positions:?}"
    );
    assert_eq!(few, Ok(vec![1 << 22]), "a short result needs no memory");
    assert_eq!(sum, Ok(1 << 22), "the device goes on");
    let beyond = cpu.allocate::<u64>(usize::MAX / 4).unwrap_err();
    assert!(matches!(beyond, Error::OutOfHostMemory { .. }), "{beyond}");
    assert!(
        beyond.to_string().contains("out of host memory"),
        "{beyond}"
    );
}
