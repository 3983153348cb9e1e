//! Runs of equal neighbours, which may begin in one shard and end in another.

use super::communicator::{Call, unreadable};
use super::compact::{Compacted, numbers, shifted};
use super::identity::name_of;
use super::{Shard, Site};
use crate::cpu::mode::in_rust_mode;
use crate::source::ByReference;
use crate::source::{Comparable, Equal, Indices, Source, gather, index};
use crate::{Element, Function, Result, Runs, function, map_with, zip};

/// What a rank says of its part, if it has items.
struct Edges<T> {
    first: T,
    last: T,
    /// The number of runs in the part.
    runs: u64,
    /// The length of the first of them.
    leading: u64,
}

/// # Unique, and runs
///
/// A run belongs to the rank that has its first item, whatever lies between that and its last one.
/// Ranks exchange the items at their edges, once. Otherwise as [`select`](Shard::select).
impl<P: Site> Shard<'_, P> {
    /// The first number of each run of equal neighbours; see [`unique`](crate::unique()).
    pub fn unique<T: Comparable>(
        &self,
        source: impl Source<P, Item = T>,
    ) -> Result<Compacted<P::Array<T>>> {
        self.unique_by::<T, Equal<T>>(source)
    }

    /// As [`unique`](Shard::unique), for any items; see [`unique_by`](crate::unique_by()).
    pub fn unique_by<T, Same>(
        &self,
        source: impl Source<P, Item = T>,
    ) -> Result<Compacted<P::Array<T>>>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>,
    {
        let call = self.call("unique").named(&name_of::<T, Same>());
        let runs = self.joined_runs::<T, Same>(call, source)?;
        Ok(Compacted {
            items: runs.items.items,
            start: runs.start,
            total: runs.total,
        })
    }

    /// The runs of equal neighbours: their first items, where they start in the whole, and their
    /// whole lengths; see [`runs`](crate::runs()).
    #[allow(clippy::type_complexity)]
    pub fn runs<T: Comparable>(
        &self,
        source: impl Source<P, Item = T>,
    ) -> Result<Compacted<Runs<P::Array<T>, P::Array<u64>>>> {
        self.runs_by::<T, Equal<T>>(source)
    }

    /// As [`runs`](Shard::runs), for any items; see [`runs_by`](crate::runs_by()).
    #[allow(clippy::type_complexity)]
    pub fn runs_by<T, Same>(
        &self,
        source: impl Source<P, Item = T>,
    ) -> Result<Compacted<Runs<P::Array<T>, P::Array<u64>>>>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>,
    {
        let call = self.call("runs").named(&name_of::<T, Same>());
        self.joined_runs::<T, Same>(call, source)
    }

    #[allow(clippy::type_complexity)]
    fn joined_runs<T, Same>(
        &self,
        call: Call,
        source: impl Source<P, Item = T>,
    ) -> Result<Compacted<Runs<P::Array<T>, P::Array<u64>>>>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>,
    {
        let own = || {
            self.check(&source)?;
            let runs = P::runs_by::<T, Same>(&self.device, ByReference(&source))?;
            let payload = match self.len() {
                0 => Vec::new(),
                len => {
                    let ends = self.ends(ByReference(&source), len)?;
                    let leading = self.ends(P::source(P::slice(&runs.lengths)), 1)?[0];
                    let numbers = [Self::count_of(&runs.items)?, leading];
                    [
                        bytemuck::cast_slice(&ends),
                        bytemuck::cast_slice(&numbers[..]),
                    ]
                    .concat()
                }
            };
            Ok((runs, payload))
        };
        let (runs, payload) = match own() {
            Ok((runs, payload)) => (Some(runs), Ok(payload)),
            Err(error) => (None, Err(error)),
        };
        let payloads = self.communicator.gather(call, payload)?;
        let edges = payloads.iter().map(|payload| Edges::read(payload));
        let edges: Vec<Option<Edges<T>>> = edges.collect::<Result<_>>()?;
        let continues = continues::<T, Same>(&edges);
        let counts = edges.iter().zip(&continues).map(|(edges, &continues)| {
            edges
                .as_ref()
                .map_or(0, |edges| edges.runs - u64::from(continues))
        });
        let (counts, rank) = (counts.collect::<Vec<_>>(), self.communicator.rank());
        // What the ranks behind have of the last run.
        let mut more = 0;
        for (edges, continues) in edges.iter().zip(&continues).skip(rank + 1) {
            let Some(edges) = edges else { continue };
            if !continues {
                break;
            }
            more += edges.leading;
            if edges.runs > 1 {
                break;
            }
        }
        let runs = runs.expect("its error would be one");
        let runs = self.own_runs(runs, continues[rank], more)?;
        Ok(Compacted::new(runs, rank, &counts))
    }

    /// The runs of a part as those of the whole: without the first if that began before, and with
    /// what comes behind of the last.
    #[allow(clippy::type_complexity)]
    fn own_runs<T: Element>(
        &self,
        runs: Runs<P::Array<T>, P::Array<u64>>,
        continues: bool,
        more: u64,
    ) -> Result<Runs<P::Array<T>, P::Array<u64>>> {
        let device = &self.device;
        let mut runs = runs;
        if continues {
            runs = Runs {
                items: P::without_the_first(device, runs.items)?,
                starts: P::without_the_first(device, runs.starts)?,
                lengths: P::without_the_first(device, runs.lengths)?,
            };
        }
        let start = self.range().start;
        if start > 0 {
            let starts = P::source(P::slice(&runs.starts));
            runs.starts = P::collect(device, map_with::<shifted, _, _>(starts, start))?;
        }
        let count = Self::count_of(&runs.items)?;
        if more > 0 && count > 0 {
            let lengths = zip(P::source(P::slice(&runs.lengths)), index(count as usize));
            let longer = map_with::<longer_at, _, _>(lengths, [count - 1, more]);
            runs.lengths = P::collect(device, longer)?;
        }
        Ok(runs)
    }

    /// The first and the last of `len` items, which are not none.
    fn ends<T: Element>(&self, source: impl Source<P, Item = T>, len: u64) -> Result<Vec<T>> {
        let places = map_with::<times, _, _>(index(2), len - 1);
        let ends = gather(source, Indices::unchecked(places));
        P::collect(&self.device, ends).and_then(P::to_vec)
    }
}

/// Whether the first item of each rank belongs to the run of the item before it.
fn continues<T, Same>(edges: &[Option<Edges<T>>]) -> Vec<bool>
where
    T: Element,
    Same: Function<Input = (T, T), Output = bool>,
{
    let mut before = None;
    let mut all = Vec::with_capacity(edges.len());
    for edges in edges {
        all.push(match (before, edges) {
            (Some(before), Some(edges)) => in_rust_mode(|| Same::call((before, edges.first))),
            _ => false,
        });
        before = edges.as_ref().map(|edges| edges.last).or(before);
    }
    all
}

impl<T: Element> Edges<T> {
    fn read(payload: &[u8]) -> Result<Option<Edges<T>>> {
        if payload.is_empty() {
            return Ok(None);
        }
        if payload.len() != 2 * size_of::<T>() + 16 {
            return Err(unreadable());
        }
        let (items, counts) = payload.split_at(2 * size_of::<T>());
        let items: Vec<T> = bytemuck::pod_collect_to_vec(items);
        let counts = numbers(counts)?;
        Ok(Some(Edges {
            first: items[0],
            last: items[1],
            runs: counts[0],
            leading: counts[1],
        }))
    }
}

#[function]
fn times(i: u64, last: u64) -> u64 {
    i * last
}

/// The length of run `i`, and that of one run with what comes behind.
#[function]
fn longer_at(length: u64, i: u64, last: [u64; 2]) -> u64 {
    if i == last[0] {
        length + last[1]
    } else {
        length
    }
}
