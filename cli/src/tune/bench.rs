//! What policies cost, measured on a GPU.

use super::classes::Class;
use super::search::Contest;
use crate::failure::{Failure, Result};
use crate::logger;
use crate::progress::Status;
use std::sync::Arc;
use warpfold::Prefixes;
use warpfold::codegen::{Engine, WavePolicy};
use warpfold::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, sys};
use warpfold::cuda::{Scan, Workspace};
use warpfold::{Device, Error, bytemuck};

/// Results are compared up to here: many waves of tiles, and soon copied.
const COMPARED_BYTES: usize = 64 << 20;

/// A batch moves this much, so that calls, not events, are what is measured.
const BATCH_BYTES: usize = 4 << 30;

/// Buffers for one class, and the policies that were tried on them.
pub(crate) struct Bench<'a, T: Class> {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    status: &'a Status,
    batches: usize,
    input: CudaSlice<T>,
    output: CudaSlice<T>,
    /// The CPU's scan of the first elements.
    expected: Vec<T>,
    tried: Vec<(WavePolicy, Option<Entrant<T>>)>,
}

/// A policy that compiles, and gives the right bits.
struct Entrant<T: Class> {
    scan: Scan<T, T::Operator>,
    workspace: Workspace,
}

/// Whose time is taken.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Copy,
    /// That of the policy with this number.
    Scan(usize),
}

impl<'a, T: Class> Bench<'a, T> {
    /// Makes room for `elements` elements in and out, and has the CPU compute what is to come of
    /// them.
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        elements: usize,
        batches: usize,
        status: &'a Status,
    ) -> Result<Self> {
        // An odd length: its last tile, row and run are not full.
        let compared = (elements.min(COMPARED_BYTES / size_of::<T>()) - 1) | 1;
        let data = random_elements::<T>(compared);
        // Not on another stream: with only one there are no events between the calls.
        let stream = context.default_stream();
        let sample = stream.clone_htod(&data).map_err(copying)?;
        let expected = Device::cpu().upload_vec(data)?;
        let expected = Device::cpu()
            .scan::<T, T::Operator>(&expected)?
            .into_vec()?;
        let mut input = stream.alloc_zeros::<T>(elements).map_err(allocating)?;
        for start in (0..elements).step_by(compared) {
            let end = (start + compared).min(elements);
            stream
                .memcpy_dtod(
                    &sample.slice(..end - start),
                    &mut input.slice_mut(start..end),
                )
                .map_err(copying)?;
        }
        // All policies fall back on these kernels, so they are compiled once, before many threads
        // want them.
        Scan::<T, T::Operator>::load_engine(context, Engine::Levels)?;
        Ok(Bench {
            context: context.clone(),
            output: stream.alloc_zeros::<T>(elements).map_err(allocating)?,
            stream,
            status,
            batches,
            input,
            expected,
            tried: Vec::new(),
        })
    }

    /// How many policies were tried, and how many of them were left out.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let left_out = self.tried.iter().filter(|(_, entrant)| entrant.is_none());
        (self.tried.len(), left_out.count())
    }

    /// The speeds of policies as parts of that of a copy; `None` for one that does not run.
    pub(crate) fn shares_of_a_copy(&mut self, policies: &[WavePolicy]) -> Result<Vec<Option<f64>>> {
        let numbers = self.enter(policies)?;
        let turns = numbers.iter().flatten().map(|number| Turn::Scan(*number));
        let turns: Vec<_> = std::iter::once(Turn::Copy).chain(turns).collect();
        let times = self.take_turns(&turns)?;
        let mut shares = times[1..].iter().map(|time| times[0] / time);
        Ok(numbers
            .iter()
            .map(|number| number.and_then(|_| shares.next()))
            .collect())
    }

    /// The numbers of policies that run, among those tried. Compiles and checks those that are new.
    fn enter(&mut self, policies: &[WavePolicy]) -> Result<Vec<Option<usize>>> {
        let is_new = |policy: &&WavePolicy| self.tried.iter().all(|(known, _)| known != *policy);
        let new: Vec<_> = policies.iter().filter(is_new).copied().collect();
        for (policy, scan) in self.compile(&new) {
            self.status.say(&format!(
                "{}: {} policies tried",
                T::NAME,
                self.tried.len() + 1
            ));
            let entrant = match scan {
                Ok(scan) => self.check(policy, scan)?,
                Err(error) => Err(error.to_string()),
            };
            if let Err(cause) = &entrant {
                self.status.suspend(|| {
                    logger::show(
                        "warning",
                        format_args!("{}: {policy:?} is left out: {cause}", T::NAME),
                    );
                });
            }
            self.tried.push((policy, entrant.ok()));
        }
        Ok(policies
            .iter()
            .map(|policy| {
                let runs = |(known, entrant): &(_, Option<_>)| known == policy && entrant.is_some();
                self.tried.iter().position(runs)
            })
            .collect())
    }

    /// Compiles policies side by side.
    #[allow(clippy::type_complexity)]
    fn compile(
        &self,
        policies: &[WavePolicy],
    ) -> Vec<(WavePolicy, warpfold::Result<Scan<T, T::Operator>>)> {
        std::thread::scope(|scope| {
            let load = |policy| Scan::load_engine(&self.context, Engine::Wave(policy));
            let threads: Vec<_> = policies
                .iter()
                .map(|policy| (*policy, scope.spawn(move || load(*policy))))
                .collect();
            threads
                .into_iter()
                .map(|(policy, thread)| {
                    let scan = thread.join();
                    (
                        policy,
                        scan.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    )
                })
                .collect()
        })
    }

    /// Compares a policy's result with the CPU's. The inner error says why it must be left out.
    fn check(
        &mut self,
        policy: WavePolicy,
        scan: Scan<T, T::Operator>,
    ) -> Result<Result<Entrant<T>, String>> {
        let Bench { stream, .. } = self;
        let bytes = scan.workspace_bytes(self.input.len());
        let workspace = Workspace::new(stream, bytes)?;
        let mut entrant = Entrant { scan, workspace };
        let input = self.input.slice(..self.expected.len());
        let mut output = self.output.slice_mut(..self.expected.len());
        stream.memset_zeros(&mut output).map_err(copying)?;
        let launched = entrant.scan.enqueue(
            stream,
            Prefixes::exclusive(),
            &input,
            &mut output,
            &mut entrant.workspace,
        );
        // A kernel's fault on the device leaves the context unusable, for other policies as well.
        let got = stream
            .synchronize()
            .and_then(|()| stream.clone_dtoh(&output))
            .map_err(|error| {
                Failure::at(
                    T::NAME,
                    format_args!("the GPU failed while trying {policy:?}: {error}"),
                )
            })?;
        if let Err(error) = launched {
            return Ok(Err(error.to_string()));
        }
        let bytes = bytemuck::cast_slice::<T, u8>;
        if bytes(&got) != bytes(&self.expected) {
            return Ok(Err(
                "its result is not the CPU's, which is a bug of warpfold".to_owned(),
            ));
        }
        Ok(Ok(entrant))
    }

    /// The median times of calls, in milliseconds. All take turns, batch by batch, so that changes
    /// in the machine affect all of them. The first round does not count.
    fn take_turns(&mut self, turns: &[Turn]) -> Result<Vec<f64>> {
        let calls = (BATCH_BYTES / (self.input.len() * size_of::<T>())).clamp(3, 64);
        let mut times = vec![Vec::new(); turns.len()];
        for round in 0..=self.batches {
            for (turn, times) in turns.iter().zip(&mut times) {
                let time = self.batch_ms(*turn, calls)? / calls as f64;
                if round > 0 {
                    times.push(time);
                }
            }
        }
        Ok(times.into_iter().map(median).collect())
    }

    /// The time of a batch, by the device's clock, after a call that does not count.
    fn batch_ms(&mut self, turn: Turn, calls: usize) -> Result<f64> {
        self.call(turn)?;
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let start = self.stream.record_event(flags).map_err(timing)?;
        for _ in 0..calls {
            self.call(turn)?;
        }
        let end = self.stream.record_event(flags).map_err(timing)?;
        Ok(f64::from(start.elapsed_ms(&end).map_err(timing)?))
    }

    fn call(&mut self, turn: Turn) -> Result<()> {
        let Bench {
            stream,
            input,
            output,
            ..
        } = self;
        match turn {
            Turn::Copy => stream.memcpy_dtod(input, output).map_err(copying),
            Turn::Scan(number) => {
                let entrant = self.tried[number].1.as_mut();
                let Entrant { scan, workspace } = entrant.expect("only those that run have turns");
                Ok(scan.enqueue(stream, Prefixes::exclusive(), &*input, output, workspace)?)
            }
        }
    }
}

impl<T: Class> Contest for Bench<'_, T> {
    type Error = Failure;

    fn fitted(&self, policy: WavePolicy) -> Option<WavePolicy> {
        policy.fitted::<T>()
    }

    fn measure(&mut self, policies: &[WavePolicy]) -> Result<Vec<Option<f64>>> {
        let numbers = self.enter(policies)?;
        let turns: Vec<_> = numbers.iter().flatten().copied().map(Turn::Scan).collect();
        let mut times = self.take_turns(&turns)?.into_iter();
        Ok(numbers
            .iter()
            .map(|number| number.and_then(|_| times.next()))
            .collect())
    }
}

/// Random elements: each run has these.
fn random_elements<T: Class>(length: usize) -> Vec<T> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::sample(state)
    })
    .take(length)
    .collect()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn allocating(error: DriverError) -> Failure {
    driver_failure("allocating device memory", error)
}

fn copying(error: DriverError) -> Failure {
    driver_failure("copying between host and device", error)
}

fn timing(error: DriverError) -> Failure {
    driver_failure("timing a kernel", error)
}

pub(crate) fn driver_failure(action: &str, error: DriverError) -> Failure {
    Failure::from(Error::Driver {
        action: action.to_owned(),
        cause: error.to_string(),
    })
}
