//! The clocks: device events around batches of calls, graphs of calls, and the host's clock.

use crate::arena::Arena;
use crate::compare::Check;
use crate::cub::Peer;
use crate::elements::Sample;
use crate::record::{Library, Spread, Times};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use warpfold::cuda::cudarc::driver::{CudaGraph, CudaSlice, CudaStream, sys};

/// Enqueues one call, on the next buffers.
pub(crate) type Work<'a> = Box<dyn FnMut() + 'a>;

/// Whose calls are timed.
pub(crate) struct Contender<'a> {
    pub(crate) library: Library,
    pub(crate) work: Work<'a>,
    /// What its results must be.
    pub(crate) check: Check,
}

impl<'a> Contender<'a> {
    pub(crate) fn ours(work: impl FnMut() + 'a) -> Contender<'a> {
        Contender {
            library: Library::Warpfold,
            work: Box::new(work),
            check: Check::Bits,
        }
    }

    /// CUB's calls on some arrays, if there is such a function.
    pub(crate) fn cub(peer: Option<Peer<'a>>, check: Check, arrays: Arrays<'a>) -> Option<Self> {
        let mut peer = peer?;
        Some(Contender {
            library: Library::Cub,
            work: Box::new(move || arrays(&mut *peer)),
            check,
        })
    }

    /// Copies of the inputs of an arena to its outputs.
    pub(crate) fn copy<T: Sample>(
        stream: &'a Arc<CudaStream>,
        arena: &'a RefCell<Arena<T>>,
    ) -> Contender<'a> {
        Contender {
            library: Library::Memcpy,
            work: Box::new(move || {
                let mut arena = arena.borrow_mut();
                let (input, mut output) = arena.next();
                stream.memcpy_dtod(&input, &mut output).expect("a copy");
            }),
            check: Check::Nothing,
        }
    }
}

/// Calls a peer with the addresses of what is read and of what is written.
pub(crate) type Arrays<'a> = Box<dyn Fn(&mut dyn FnMut(&[u64], &[u64])) + 'a>;

/// More than any L2 cache holds.
const EVICTION_BYTES: usize = 256 << 20;

const CALLS_IN_A_GRAPH: usize = 64;

/// A call that takes longer is a batch by itself.
const LONG_CALL_US: f64 = 20_000.0;

/// Few enough not to fill a stream's queue, where enqueueing would wait for the GPU.
const CALLS_ON_THE_HOST: usize = 100;

pub(crate) struct Clock {
    stream: Arc<CudaStream>,
    batches: usize,
    eviction: RefCell<CudaSlice<u8>>,
}

impl Clock {
    pub(crate) fn new(stream: &Arc<CudaStream>, batches: usize) -> Clock {
        let eviction = stream.alloc_zeros(EVICTION_BYTES).expect("memory");
        Clock {
            stream: stream.clone(),
            batches,
            eviction: RefCell::new(eviction),
        }
    }

    /// The time of a call when calls that move `bytes` are enqueued one after the other. `restore`
    /// goes before each batch and is not timed.
    pub(crate) fn stream(
        &self,
        contenders: &mut [Contender<'_>],
        bytes: usize,
        restore: &mut dyn FnMut(),
    ) -> Times {
        // Enough of them that calls, not events, are what is measured.
        let calls = ((128 << 20) / bytes.max(1)).clamp(3, 40);
        let mut last = BTreeMap::new();
        self.take_turns(contenders, restore, |contender| {
            let is_long = last.get(&contender.library) > Some(&LONG_CALL_US);
            let calls = if is_long { 1 } else { calls };
            if !is_long {
                (contender.work)();
            }
            let us = self.device_us(|| (0..calls).for_each(|_| (contender.work)())) / calls as f64;
            last.insert(contender.library, us);
            us
        })
    }

    /// The time of a call within a graph of many. Every replay uses the same buffers, so the cache
    /// is swept before each.
    pub(crate) fn graph(
        &self,
        contenders: &mut [Contender<'_>],
        restore: &mut dyn FnMut(),
    ) -> Times {
        let graphs = contenders.iter_mut().map(|contender| {
            let graph = self.capture(&mut contender.work);
            let replay = move || graph.launch().expect("a launch");
            Contender {
                library: contender.library,
                work: Box::new(replay) as Work<'_>,
                check: contender.check,
            }
        });
        self.take_turns(&mut graphs.collect::<Vec<_>>(), restore, |graph| {
            let mut eviction = self.eviction.borrow_mut();
            self.stream.memset_zeros(&mut *eviction).expect("a memset");
            self.device_us(&mut graph.work) / CALLS_IN_A_GRAPH as f64
        })
    }

    /// What enqueueing a call takes of the host's time.
    pub(crate) fn host(&self, contenders: &mut [Contender<'_>]) -> Times {
        self.take_turns(contenders, &mut || {}, |contender| {
            self.stream.synchronize().expect("the stream");
            let seconds = host_seconds(|| {
                (0..CALLS_ON_THE_HOST).for_each(|_| (contender.work)());
            });
            seconds * 1e6 / CALLS_ON_THE_HOST as f64
        })
    }

    /// Contenders take turns, batch by batch, so that changes in the machine affect all of them.
    /// The first round does not count.
    fn take_turns<'a>(
        &self,
        contenders: &mut [Contender<'a>],
        restore: &mut dyn FnMut(),
        mut batch_us: impl FnMut(&mut Contender<'a>) -> f64,
    ) -> Times {
        let mut times = vec![Vec::new(); contenders.len()];
        for round in 0..=self.batches {
            for (contender, times) in contenders.iter_mut().zip(&mut times) {
                restore();
                let us = batch_us(contender);
                if round > 0 {
                    times.push(us);
                }
            }
        }
        let libraries = contenders.iter().map(|contender| contender.library);
        libraries.zip(times.into_iter().map(spread)).collect()
    }

    fn capture(&self, work: &mut Work<'_>) -> CudaGraph {
        self.stream
            .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .expect("a capture");
        (0..CALLS_IN_A_GRAPH).for_each(|_| work());
        let graph = self.stream.end_capture(sys::CUgraphInstantiate_flags(0));
        graph.expect("a graph").expect("something was captured")
    }

    fn device_us(&self, work: impl FnOnce()) -> f64 {
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let start = self.stream.record_event(flags).expect("an event");
        work();
        let end = self.stream.record_event(flags).expect("an event");
        f64::from(start.elapsed_ms(&end).expect("a time")) * 1e3
    }
}

/// The time of `work` by the host's clock.
pub(crate) fn host_seconds(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

/// What `sample` measures, `repeats` times.
pub(crate) fn repeat(repeats: usize, mut sample: impl FnMut() -> f64) -> Spread {
    spread((0..repeats).map(|_| sample()).collect())
}

fn spread(mut times: Vec<f64>) -> Spread {
    times.sort_by(f64::total_cmp);
    let last = times.len() - 1;
    let at = |quarter: usize| times[(last * quarter + 2) / 4];
    Spread {
        median: at(2),
        lower_quartile: at(1),
        upper_quartile: at(3),
    }
}
