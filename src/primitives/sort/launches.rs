//! The launches of sorts, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::kernel::{BEGIN, COPY, COUNT, MERGE, PASS, RUNS, SortPlan, SortShape};
use super::order::Sortable;
use super::tuning::{COUNT_THREADS, MERGE_THREADS};
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, Launched, Machine};
use crate::render::Function;
use crate::{Element, Result};

/// One launch of a sort.
#[derive(Debug, Clone, Copy)]
pub(super) struct SortLaunch {
    pub(super) function: &'static Function<super::kernel::SortArguments>,
    pub(super) blocks: Blocks,
    /// Its number among those that sort and merge.
    pub(super) pass: u32,
}

/// How keys are sorted, beside their number and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortWay {
    /// The bytes of a key that may vary.
    pub(crate) digits: u32,
    /// Whether sorted keys replace the keys.
    pub(crate) in_place: bool,
    /// Whether places are all that is stored.
    pub(crate) places_only: bool,
}

impl SortWay {
    /// Of keys that may vary in all their bytes.
    pub(crate) fn in_place<K>() -> SortWay {
        SortWay {
            digits: size_of::<K>() as u32,
            in_place: true,
            places_only: false,
        }
    }
}

impl SortPlan {
    /// The launches of a short sort: of runs, and of what merges them; and those of a long one.
    pub(super) fn launches(
        self,
        way: SortWay,
        multiprocessors: u32,
    ) -> impl Iterator<Item = SortLaunch> {
        let (shape, len) = (self.shape(), self.len() as u64);
        let launch = |function, pass, count, threads, shared_bytes| SortLaunch {
            function,
            blocks: Blocks::new(count, threads, shared_bytes),
            pass,
        };
        let short = (len > 0 && self.is_short()).then(|| {
            let runs = launch(
                &RUNS,
                0,
                self.runs(),
                shape.run_threads(),
                shape.run_bytes(),
            );
            let merging = len.div_ceil(MERGE_THREADS.into());
            let merge = move |pass| launch(&MERGE, pass, merging, MERGE_THREADS, 0);
            [runs].into_iter().chain((1..self.stages()).map(merge))
        });
        let long = (!self.is_short()).then(|| {
            let tiles = self.tiles();
            // A block counts some thousands of keys at least.
            let few = tiles.min(4 * u64::from(multiprocessors));
            let begin = launch(&BEGIN, 0, 4, 256, 0);
            let count = launch(&COUNT, 0, few, COUNT_THREADS, shape.count_bytes());
            let copy = way.in_place.then(|| launch(&COPY, 0, few, 512, 0));
            let pass = move |pass| launch(&PASS, pass, tiles, shape.threads(), shape.tile_bytes());
            [begin, count]
                .into_iter()
                .chain(copy)
                .chain((0..way.digits).map(pass))
        });
        short
            .into_iter()
            .flatten()
            .chain(long.into_iter().flatten())
    }

    /// What a sort calls the way it takes, and why.
    fn chosen(self) -> (&'static str, String) {
        let most = self.shape().most_in_runs();
        match self.is_short() {
            true => ("runs", format!("there are at most {most} keys")),
            false => ("digits", format!("there are more than {most} keys")),
        }
    }

    /// What a sort of some name does.
    pub(super) fn explain(
        self,
        name: &'static str,
        way: SortWay,
        multiprocessors: u32,
    ) -> Result<Explanation> {
        let launches = self.launched(way, multiprocessors);
        let given = (format!("{} keys", self.len()), self.len() as u64);
        let bytes = self.workspace_bytes(way.places_only);
        let said = Explanation::new(name, given, self.chosen(), launches, bytes)?;
        let (key, value) = (self.shape().passes(), self.shape().value_bytes());
        Ok(said.depending_on([
            ("bytes of a key", key.to_string()),
            ("bytes of a value", value.to_string()),
            ("multiprocessors", multiprocessors.to_string()),
        ]))
    }

    /// The launches, as other primitives list them that sort.
    pub(crate) fn launched(
        self,
        way: SortWay,
        multiprocessors: u32,
    ) -> impl Iterator<Item = Launched> {
        let launches = self.launches(way, multiprocessors);
        launches.map(|launch| (launch.function.name, launch.blocks))
    }
}

/// What a sort of `len` keys, in their place, does on a GPU.
///
/// # Errors
///
/// Those of a call with so many keys.
pub fn explain_sort<K: Sortable>(machine: Machine, len: usize) -> Result<Explanation> {
    let (plan, way) = (
        SortPlan::new(SortShape::of_keys::<K>(), len),
        SortWay::in_place::<K>(),
    );
    plan.explain("sort", way, machine.multiprocessors)
}

/// What a sort of `len` keys with their values, in their place, does on a GPU.
///
/// # Errors
///
/// Those of a call with so many keys.
pub fn explain_sort_pairs<K: Sortable, V: Element>(
    machine: Machine,
    len: usize,
) -> Result<Explanation> {
    let (plan, way) = (
        SortPlan::new(SortShape::of_pairs::<K, V>(), len),
        SortWay::in_place::<K>(),
    );
    plan.explain("sort of pairs", way, machine.multiprocessors)
}

/// What finding the places of `len` keys in sorted order does on a GPU.
///
/// # Errors
///
/// Those of a call with so many keys.
pub fn explain_argsort<K: Sortable>(machine: Machine, len: usize) -> Result<Explanation> {
    let shape = match u32::try_from(len) {
        Ok(_) => SortShape::of_pairs::<K, u32>(),
        Err(_) => SortShape::of_pairs::<K, u64>(),
    };
    let way = SortWay {
        in_place: false,
        places_only: true,
        ..SortWay::in_place::<K>()
    };
    SortPlan::new(shape, len).explain("argsort", way, machine.multiprocessors)
}
