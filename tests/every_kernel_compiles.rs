//! NVRTC compiles every kernel of the matrix for every supported architecture.

use crate::support::data::Sample;
use crate::support::matrix::{self, Visitor, for_every_group};
use crate::support::operators::Each;
use crate::support::{skip, source_of};
use rayon::prelude::*;
use std::any::TypeId;
use std::collections::BTreeSet;
use warpfold::codegen::kernels::{
    self, BinRule, ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue, Kept, Outputs, Places,
    RunParts, Sides,
};
use warpfold::codegen::{
    BlockPolicy, ComputeBoundReduce, ComputeBoundScan, Engine, Kernels, Layouts, Order, Primitive,
    RowPolicy, WavePolicy, source,
};
use warpfold::cuda::nvrtc::{self, Target};
use warpfold::source::{Equal, Flagged, Form, Heads, Index, Map, NonZero, Slice, UpTo, Zip};
use warpfold::{Count, Counted, Element, Monoid, ops};

/// What is compiled for when `WARPFOLD_ARCHITECTURES` does not say: the oldest, one for every
/// engine, and the newest.
const ARCHITECTURES: &str = "75,90,120";

/// A source to compile. If another source differs from it in one word, one architecture is enough.
struct Source {
    engine: Engine,
    element_bytes: usize,
    name: String,
    text: String,
    is_like_another: bool,
}

impl Source {
    /// The architectures for the source with this number. Its text is the same everywhere, and
    /// kernels look at the architecture in a few functions of `ptx.cuh` alone. So of the
    /// architectures that have the engine, the oldest, the newest and one between are enough. Those
    /// between take turns.
    fn choose_among(&self, architectures: &[u32], number: usize) -> Vec<u32> {
        let mut able = architectures.to_vec();
        able.retain(|architecture| self.engine.runs_on(*architecture));
        able.sort_unstable();
        let in_turn = |of: &[u32]| of.get(number % of.len().max(1)).copied();
        match able[..] {
            _ if self.is_like_another => in_turn(&able).into_iter().collect(),
            [oldest, ref between @ .., newest] => [oldest, newest]
                .into_iter()
                .chain(in_turn(between))
                .collect(),
            _ => able,
        }
    }
}

/// The sources of a group.
#[derive(Default)]
struct Sources(Vec<Source>);

impl Visitor for Sources {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self) {
        for primitive in Primitive::ALL {
            let mut engines = vec![Engine::Levels];
            let block = match primitive {
                Primitive::Reduce => {
                    BlockPolicy::for_reduce(Layouts::of_slice::<T>(), 90, Order::Law, 0)
                }
                Primitive::Scan => BlockPolicy::for_scan(Layouts::of_slice::<T>(), 90, 0),
            };
            engines.extend(block.map(Engine::Block));
            let is_like_another = matrix::is_like_another::<T, Op>();
            if is_like_another {
                if primitive == Primitive::Scan {
                    continue;
                }
            } else if primitive == Primitive::Reduce {
                let order = Order::of::<T, Op>();
                let rows = RowPolicy::of_reduce::<T>(order);
                engines.push(Engine::Rows(rows));
                if order == Order::Law && TypeId::of::<Op>() == TypeId::of::<ops::Add>() {
                    let all =
                        RowPolicy::for_ordered_reduce(Layouts::of_slice::<T>(), 90).into_iter();
                    let others = all.filter(|(_, policy)| *policy != rows);
                    engines.extend(others.map(|(_, policy)| Engine::Rows(policy)));
                }
            } else {
                let [short, long] = [false, true].map(RowPolicy::of_scan::<T>);
                engines.push(Engine::Rows(short));
                if TypeId::of::<Op>() == TypeId::of::<ops::Add>() {
                    let at_once = RowPolicy::for_scans_at_once(Layouts::of_slice::<T>(), 90, 0);
                    // The first one is that for short inputs.
                    let others = at_once.into_iter().skip(1).chain([long]);
                    let others = others.filter(|policy| *policy != short).map(Engine::Rows);
                    engines.extend(others);
                }
                let shares = ComputeBoundScan::of(Layouts::of_slice::<T>(), 90, u32::MAX);
                engines.extend(shares.map(|compute_bound| Engine::Shares(compute_bound.shares)));
                let wave = WavePolicy::of::<T>();
                engines.extend(wave.map(Engine::Wave));
                let anywhere = wave.and_then(WavePolicy::anywhere::<T>);
                if !matrix::is_second::<Op>() {
                    engines.extend(anywhere.map(Engine::Wave));
                }
            }
            for engine in engines {
                let name = format!(
                    "{} {} {} {engine:?}",
                    primitive.name(),
                    std::any::type_name::<T>(),
                    std::any::type_name::<Op>()
                );
                let text = source_of::<T, Op>(primitive, engine).unwrap();
                self.0.push(Source {
                    engine,
                    element_bytes: size_of::<T>(),
                    name,
                    text,
                    is_like_another,
                });
            }
        }
    }
}

fn compile(sources: &[Source]) {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    let architectures = std::env::var("WARPFOLD_ARCHITECTURES").unwrap_or(ARCHITECTURES.into());
    let architectures: Vec<u32> = architectures
        .split(',')
        .map(|text| text.trim().parse().expect("a list such as 75,90"))
        .collect();
    let pairs: Vec<_> = sources
        .iter()
        .enumerate()
        .filter(|(_, source)| matrix::is_drawn(&source.name, false))
        .flat_map(|(number, source)| {
            let chosen = source.choose_among(&architectures, number);
            chosen.into_iter().map(move |a| (source, a))
        })
        .collect();
    pairs.into_par_iter().for_each(|(source, architecture)| {
        let Source { name, text, .. } = source;
        match nvrtc::compile(text, name, Target::Cubin(architecture)) {
            Ok(image) => assert_eq!(&image[..4], b"\x7fELF", "{name} for sm_{architecture}"),
            Err(error) => panic!("{name} for sm_{architecture}: {error}"),
        }
    });
}

macro_rules! compile_test {
    ($group:ident) => {
        #[test]
        fn $group() {
            let mut sources = Sources::default();
            matrix::$group(&mut sources);
            compile(&sources.0);
        }
    };
}

for_every_group!(compile_test);

#[warpfold::function]
fn small(x: u32) -> bool {
    x < 9
}

#[warpfold::function]
fn narrow(x: u64) -> u16 {
    x as u16
}

impl Sources {
    fn collect<F: Form<Item: Element>>(&mut self) {
        self.push::<kernels::Collect<F>>(Engine::Rows(kernels::Collect::<F>::rows_policy(90)));
    }

    fn select<T: Element, F: Form<Item = (T, bool)>, O: Outputs>(&mut self) {
        let rows = Engine::Rows(kernels::Select::<T, F, O>::rows_policy(90));
        let long = kernels::Select::<T, F, O>::long_rows_policy(90).map(Engine::Rows);
        let short = kernels::Select::<T, F, O>::short_rows_policy(90).map(Engine::Rows);
        let wave = kernels::Select::<T, F, O>::wave_policy(90).map(Engine::Wave);
        for engine in [rows].into_iter().chain(short).chain(long).chain(wave) {
            self.push::<kernels::Select<T, F, O>>(engine);
        }
    }

    fn push<K: Kernels>(&mut self, engine: Engine) {
        let kernel = std::any::type_name::<K>();
        self.0.push(Source {
            engine,
            element_bytes: 0,
            name: format!("{kernel} {engine:?}"),
            text: source::<K>(engine).unwrap(),
            is_like_another: false,
        });
    }
}

#[warpfold::monoid(name = SumsOf8, identity = [0.0; 8])]
fn sums_of_8(mut a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
    for i in 0..8 {
        a[i] += b[i];
    }
    a
}

#[warpfold::function]
fn first_of_seven(x: [u32; 7]) -> u32 {
    x[0]
}

#[warpfold::function]
fn sum_of_firsts(x: [f32; 5], y: [f32; 7]) -> f32 {
    x[0] + y[0]
}

#[warpfold::function]
fn widest(x: [f32; 5]) -> [f64; 8] {
    [x[0] as f64; 8]
}

impl Sources {
    fn reduce<T: Element, Op: Monoid<T>, F: Form<Item = T>>(&mut self) {
        let order = Order::of::<T, Op>();
        let compute_bound = ComputeBoundReduce::of(Layouts::of::<F>(), 90, u32::MAX)
            .filter(|_| order == Order::Law);
        let compute_bound = compute_bound
            .into_iter()
            .flat_map(|compute_bound| compute_bound.rows);
        let cheap = RowPolicy::for_reduce(Layouts::of::<F>(), 90, order);
        for rows in compute_bound.map(|(_, rows)| rows).chain([cheap]) {
            self.push::<kernels::Reduce<T, Op, F>>(Engine::Rows(rows));
        }
    }
}

/// Reductions of elements of odd sizes, which pass through shared memory: in both orders, of
/// several slices, and into accumulators of any size.
#[test]
fn reductions_of_odd_sizes() {
    type Both = Zip<(Slice<[f32; 5]>, Slice<[f32; 7]>)>;
    let mut sources = Sources::default();
    sources.reduce::<u32, ops::BitXor, Map<first_of_seven, Slice<[u32; 7]>>>();
    sources.reduce::<f32, ops::Add, Map<sum_of_firsts, Both>>();
    sources.reduce::<[f64; 8], SumsOf8, Map<widest, Slice<[f32; 5]>>>();
    compile(&sources.0);
}

/// Selects of every output, and what is only stored, over slices, flags, heads, and lengths on the
/// device.
fn blocks() -> Sources {
    type Flags<T> = Zip<(Slice<T>, Map<NonZero<u8>, Slice<u8>>)>;
    let mut sources = Sources::default();
    sources.select::<u8, Flags<u8>, Kept>();
    sources.select::<u32, Flagged<small, Slice<u32>>, Kept>();
    sources.select::<u32, Flagged<small, UpTo<Slice<u32>>>, Kept>();
    sources.select::<u32, Flagged<small, Slice<u32>>, Sides>();
    sources.select::<[f32; 3], Flags<[f32; 3]>, Sides>();
    sources.select::<u64, Zip<(Index, Map<NonZero<u8>, Slice<u8>>)>, Places>();
    sources.select::<u16, Heads<Equal<u16>, Slice<u16>>, Kept>();
    sources.select::<u16, Heads<Equal<u16>, Map<narrow, Slice<u64>>>, RunParts>();
    sources.select::<u16, Heads<Equal<u16>, UpTo<Slice<u16>>>, RunParts>();
    sources.collect::<Slice<u8>>();
    sources.collect::<Map<narrow, Slice<u64>>>();
    sources.collect::<UpTo<Slice<[f32; 3]>>>();
    sources
}

/// `exp`, `ln` and the like, of both types.
#[test]
fn functions_of_floats() {
    use crate::math::emulated::{
        circular_f32, circular_f64, exponential_f32, exponential_f64, hyperbolic_f32,
        hyperbolic_f64, of_two_f32, of_two_f64,
    };
    let mut sources = Sources::default();
    sources.collect::<Map<exponential_f32, Slice<f32>>>();
    sources.collect::<Map<exponential_f64, Slice<f64>>>();
    sources.collect::<Map<circular_f32, Slice<f32>>>();
    sources.collect::<Map<circular_f64, Slice<f64>>>();
    sources.collect::<Map<hyperbolic_f32, Slice<f32>>>();
    sources.collect::<Map<hyperbolic_f64, Slice<f64>>>();
    sources.collect::<Map<of_two_f32, Zip<(Slice<f32>, Slice<f32>)>>>();
    sources.collect::<Map<of_two_f64, Zip<(Slice<f64>, Slice<f64>)>>>();
    compile(&sources.0);
}

#[test]
fn selects_and_collects_of_every_kind() {
    compile(&blocks().0);
}

impl Sources {
    fn histogram<C: Count, F: Form<Item: Counted>, R: BinRule>(&mut self) {
        let engine = Engine::Rows(kernels::Histogram::<C, F, R>::rows_policy(90));
        self.push::<kernels::Histogram<C, F, R>>(engine);
    }
}

/// Histograms of every rule, over slices, pixels, mapped items and lengths on the device.
#[test]
fn histograms_of_every_kind() {
    let mut sources = Sources::default();
    sources.histogram::<u32, Slice<u8>, ByValue>();
    sources.histogram::<u64, Map<narrow, Slice<u64>>, ByValue>();
    sources.histogram::<u32, Slice<[u8; 4]>, ByValue>();
    sources.histogram::<u64, Slice<f32>, ByGuess>();
    sources.histogram::<u32, Slice<i64>, ByGuess>();
    sources.histogram::<u32, UpTo<Slice<i16>>, ByFixedGuess>();
    sources.histogram::<u32, Slice<u32>, ByFixedGuess>();
    sources.histogram::<u32, Slice<f64>, BySearch>();
    sources.histogram::<u64, Slice<[f32; 3]>, BySearch>();
    sources.histogram::<u32, Slice<u16>, ByAnyValue>();
    sources.histogram::<u64, Slice<i8>, BySearch>();
    sources.histogram::<u32, Slice<u64>, BySearch>();
    compile(&sources.0);
}

/// Weighted histograms: the places of items of every rule, and sums of integers.
#[test]
fn weighted_histograms_of_every_kind() {
    fn places<F: Form<Item: Counted>, R: BinRule>(sources: &mut Sources) {
        let engine = Engine::Rows(kernels::Histogram::<u32, F, R>::rows_policy(90));
        sources.push::<kernels::PlacesOf<F, R>>(engine);
    }
    let mut sources = Sources::default();
    places::<Slice<u8>, ByValue>(&mut sources);
    places::<Slice<[u8; 4]>, ByValue>(&mut sources);
    places::<Slice<f32>, ByGuess>(&mut sources);
    places::<Slice<i16>, ByFixedGuess>(&mut sources);
    places::<Slice<f64>, BySearch>(&mut sources);
    fn sums<F: Form<Item: Counted>, R: BinRule, W: kernels::Weight>(sources: &mut Sources) {
        let rows = RowPolicy::for_histogram::<kernels::WeightedForm<F, W>>(90);
        sources.push::<kernels::SumsOf<F, R, W>>(Engine::Rows(rows));
    }
    sums::<Slice<f32>, ByGuess, u8>(&mut sources);
    sums::<Slice<u8>, ByValue, u32>(&mut sources);
    sums::<Slice<[u8; 4]>, ByValue, u64>(&mut sources);
    sums::<Slice<f64>, BySearch, u64>(&mut sources);
    compile(&sources.0);
}

/// Reductions, scans and expansions by segments, given in every way, of elements of every size.
#[test]
fn segments_of_every_kind() {
    use crate::support::operators::Sums;
    use warpfold::cuda::InRanges;
    use warpfold::source::Constant;
    use warpfold::statistics::{Measured, Merge, Moments};
    use warpfold::{CountedStartsOf, Cut, Offset, OffsetsOf, Rows, StartsOf};

    fn push(sources: &mut Sources, what: &str, kernel: &warpfold::codegen::Kernel) {
        sources.0.push(Source {
            engine: Engine::Levels,
            element_bytes: 0,
            name: format!("segmented {what}"),
            text: kernel.source().unwrap(),
            is_like_another: false,
        });
    }
    fn all<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(sources: &mut Sources) {
        let policy = kernels::SegmentedPolicy::of::<T>();
        let types = std::any::type_name::<(T, Op, F, C)>();
        let reduce = kernels::SegmentedReduce::<T, Op, F, C>::kernel(policy);
        push(sources, &format!("reduce {types}"), &reduce);
        for reverse in [false, true] {
            let scan = kernels::SegmentedScan::<T, Op, F, C>::kernel(policy, reverse);
            push(sources, &format!("scan {types} {reverse}"), &scan);
        }
        let expand = kernels::Expand::<T, F, C>::kernel();
        push(sources, &format!("expand {types}"), &expand);
    }
    let mut sources = Sources::default();
    all::<u8, ops::Max, Slice<u8>, OffsetsOf<u32>>(&mut sources);
    all::<half::f16, ops::Add, Slice<half::f16>, OffsetsOf<u64>>(&mut sources);
    all::<f32, ops::Add, Slice<f32>, StartsOf<u32>>(&mut sources);
    all::<f32, ops::Add, Slice<f32>, Rows>(&mut sources);
    all::<f64, ops::Add, Slice<f64>, CountedStartsOf<u64>>(&mut sources);
    all::<u16, ops::Add, Map<narrow, Slice<u64>>, OffsetsOf<u64>>(&mut sources);
    all::<[u32; 3], Sums, Slice<[u32; 3]>, OffsetsOf<u64>>(&mut sources);
    all::<[u64; 8], Sums, Slice<[u64; 8]>, OffsetsOf<u64>>(&mut sources);
    // Segments between begins and ends.
    all::<f32, ops::Add, InRanges<Slice<f32>>, OffsetsOf<u64>>(&mut sources);
    type Shifts = Map<<u32 as Offset>::Shift, Zip<(Slice<u64>, Slice<u32>, Constant<u64>)>>;
    let expand = kernels::Expand::<u64, Shifts, OffsetsOf<u64>>::kernel();
    push(&mut sources, "expand shifts", &expand);
    // What statistics of segments reduce.
    let policy = kernels::SegmentedPolicy::of::<Moments>();
    let reduce = kernels::SegmentedReduce::<Moments, Merge, Measured<u8>, Rows>::kernel(policy);
    push(&mut sources, "reduce moments", &reduce);
    compile(&sources.0);
}

/// Scans and folds of pieces of streams, of elements of every size.
#[test]
fn pieces_of_every_kind() {
    use crate::support::operators::{LogAddExp, Sums};

    fn push(sources: &mut Sources, name: &str, engine: Engine, kernel: &warpfold::codegen::Kernel) {
        sources.0.push(Source {
            engine,
            element_bytes: 0,
            name: format!("piece {name}"),
            text: kernel.source().unwrap(),
            is_like_another: false,
        });
    }
    fn all<T: Element, Op: Monoid<T>>(sources: &mut Sources) {
        use warpfold::codegen::kernels::{Piece, PieceFold};
        let types = std::any::type_name::<(T, Op)>();
        let layouts = Layouts::of_slice::<T>();
        let policies = RowPolicy::for_scans_at_once(layouts, 90, 0);
        for &policy in policies.first().into_iter().chain(policies.last()) {
            for (what, kernel) in [
                ("scan", Piece::<T, Op>::kernel(policy)),
                ("fold", PieceFold::<T, Op>::kernel(policy, 8)),
            ] {
                let name = format!("{what} {types} {policy:?}");
                push(sources, &name, Engine::Levels, &kernel);
            }
        }
        let policy = RowPolicy::of_scan::<T>(false);
        let reversed = Piece::<T, Op, Slice<T>, true>::kernel(policy);
        push(
            sources,
            &format!("{types} reversed"),
            Engine::Levels,
            &reversed,
        );
        if let Some(policy) = WavePolicy::of::<T>() {
            let waves = Piece::<T, Op>::of_waves(policy);
            push(
                sources,
                &format!("{types} waves"),
                Engine::Wave(policy),
                &waves,
            );
        }
    }
    let mut sources = Sources::default();
    all::<u8, ops::Max>(&mut sources);
    all::<half::f16, ops::Add>(&mut sources);
    all::<f32, ops::Add>(&mut sources);
    all::<f32, LogAddExp>(&mut sources);
    all::<u64, ops::Mul>(&mut sources);
    all::<[u32; 3], Sums>(&mut sources);
    all::<[u64; 8], Sums>(&mut sources);
    compile(&sources.0);
}

/// Though architectures take turns, each of them has every engine, and every size of elements.
#[test]
fn turns_leave_nothing_out() {
    let architectures = [75, 80, 86, 89, 90, 100, 120];
    let (mut compiled, mut possible) = (BTreeSet::new(), BTreeSet::new());
    let mut collect = |sources: Sources| {
        for (number, source) in sources.0.iter().enumerate() {
            let primitive = source.name.split(' ').next().unwrap_or_default();
            let engine = match source.engine {
                Engine::Wave(policy) if policy.anywhere => "wave anywhere",
                engine => engine.name(),
            };
            let bytes = source.element_bytes.next_power_of_two().min(16);
            let facts = |architecture| {
                [format!("{primitive} {engine}"), format!("{bytes} bytes")]
                    .map(|fact| (architecture, fact))
            };
            let chosen = source.choose_among(&architectures, number);
            compiled.extend(chosen.into_iter().flat_map(facts));
            let able = architectures
                .into_iter()
                .filter(|a| source.engine.runs_on(*a));
            possible.extend(able.flat_map(facts));
        }
    };
    macro_rules! collect {
        ($group:ident) => {
            let mut sources = Sources::default();
            matrix::$group(&mut sources);
            collect(sources);
        };
    }
    for_every_group!(collect);
    assert_eq!(compiled, possible);
}

/// Policies are chosen by what they take of shared memory, which is computed here a second time.
/// The last type has no policy that fits with all stages of its row.
#[test]
fn shared_memory_is_as_large_as_policies_say() {
    use crate::support::operators::Sums;
    check_shared_memory::<u8, ops::Add>();
    check_shared_memory::<half::f16, ops::Add>();
    check_shared_memory::<f32, ops::Add>();
    check_shared_memory::<u64, ops::Add>();
    check_shared_memory::<[u64; 2], Sums>();
    check_shared_memory::<[u32; 3], Sums>();
    check_shared_memory::<[u8; 5], Sums>();
}

fn check_shared_memory<T: Element, Op: Monoid<T>>() {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    let policy = WavePolicy::of::<T>().expect("a policy");
    let other = WavePolicy {
        warps: 4,
        rows: 1,
        reducers: 2,
        stages: 3,
        loads: 2,
        ..policy
    };
    let anywhere = policy.anywhere::<T>().expect("a policy");
    for policy in [policy, other, anywhere] {
        let mut text = source::<kernels::Scan<T, Op>>(Engine::Wave(policy)).unwrap();
        let bytes = policy.shared_bytes(Layouts::of_slice::<T>());
        // Tiles that start before an unaligned slice need no room beside it.
        text += "constexpr int SPARE = user::Engine::LEADS ? 16 * user::Engine::STAGES : 0;\n";
        text += &format!("static_assert(sizeof(user::Engine::Shared) + SPARE == {bytes});\n");
        let name = std::any::type_name::<T>();
        // What asserts is done before there is a binary.
        if let Err(error) = nvrtc::compile(&text, name, Target::Ptx(90)) {
            panic!("{name} with {policy:?}: {error}");
        }
    }
}

/// The tests of [`Each`] are of operators in words: the sources say so.
#[test]
fn operators_on_each_number_are_in_words() {
    fn check<T: Element>(numbers: &str)
    where
        Each: Monoid<T>,
    {
        let text = source::<kernels::Reduce<T, Each>>(Engine::Levels).unwrap();
        assert!(text.contains(&format!("InParts<{numbers}, InPairs::")));
    }
    check::<[i8; 4]>("i8");
    check::<[u16; 2]>("u16");
    check::<[i16; 6]>("i16");
    check::<[u8; 8]>("u8");
}

#[test]
fn ptx_is_the_fallback() {
    let Ok(architectures) = nvrtc::architectures() else {
        return skip("nvrtc", "NVRTC is not there");
    };
    // A GPU that is newer than this NVRTC.
    let target = Target::for_capability(9999).unwrap();
    assert_eq!(
        Some(target),
        architectures.into_iter().max().map(Target::Ptx)
    );
    let source = source::<kernels::Scan<f32, ops::Add>>(Engine::Levels).unwrap();
    let ptx = nvrtc::compile(&source, "Add", target).unwrap();
    assert!(String::from_utf8_lossy(&ptx).contains(".entry scan_tiles"));
}

#[warpfold::monoid(name = Mixed, identity = [0; 4])]
fn mixed(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
    let mut c = a;
    for i in 0..4 {
        c[i] = c[i].max(b[(a[i] & 3) as usize]);
    }
    c
}

/// `codegen::source` promises that two options are enough for any CUDA compiler.
#[test]
fn sources_need_two_options() {
    use warpfold::cuda::cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts, sys};
    // SAFETY: it opens NVRTC, whose initialisers have no preconditions.
    if !unsafe { sys::is_culib_present() } {
        return skip("nvrtc", "cudarc does not find it");
    }
    let compute_bound = ComputeBoundScan::of(Layouts::of_slice::<[u8; 4]>(), 90, u32::MAX).unwrap();
    let wave = WavePolicy::of::<[u8; 4]>().unwrap();
    let mut sources = blocks();
    sources.reduce::<[u8; 4], Mixed, Slice<[u8; 4]>>();
    sources.reduce::<u32, ops::BitXor, Map<first_of_seven, Slice<[u32; 7]>>>();
    for engine in [
        Engine::Levels,
        Engine::Shares(compute_bound.shares),
        Engine::Wave(wave),
    ] {
        sources.push::<kernels::Scan<[u8; 4], Mixed>>(engine);
    }
    sources.0.par_iter().for_each(|Source { name, text, .. }| {
        let options = CompileOptions {
            arch: Some("compute_90"),
            options: vec!["--std=c++20".into(), "--fmad=false".into()],
            ..Default::default()
        };
        if let Err(error) = compile_ptx_with_opts(text, options) {
            panic!("{name}: {error}");
        }
    });
}

/// Launches overlap, so a kernel that touched memory before it waited would meet what the launch
/// before it is still doing.
#[test]
fn every_kernel_waits_before_it_touches_memory() {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    check_waits::<f32, ops::Add>();
    check_waits::<f32, ops::Max>();
    check_waits::<half::f16, ops::Add>();
    for Source { engine, text, .. } in blocks().0 {
        check_wait(&text, engine);
    }
}

fn check_waits<T: Element, Op: Monoid<T>>() {
    let (reduce, scan) = (
        RowPolicy::of_reduce::<T>(Order::of::<T, Op>()),
        RowPolicy::of_scan::<T>(true),
    );
    let wave = WavePolicy::of::<T>().expect("a policy");
    for (primitive, engine) in [
        (Primitive::Reduce, Engine::Levels),
        (Primitive::Reduce, Engine::Rows(reduce)),
        (Primitive::Scan, Engine::Levels),
        (Primitive::Scan, Engine::Rows(scan)),
        (Primitive::Scan, Engine::Wave(wave)),
    ] {
        let text = source_of::<T, Op>(primitive, engine).unwrap();
        check_wait(&text, engine);
    }
}

fn check_wait(text: &str, engine: Engine) {
    let ptx = nvrtc::compile(text, "an operator", Target::Ptx(90)).unwrap();
    let ptx = String::from_utf8_lossy(&ptx);
    let kernels: Vec<&str> = ptx.split(".entry ").skip(1).collect();
    assert!(!kernels.is_empty());
    for kernel in kernels {
        let name = kernel.split('(').next().unwrap_or_default();
        let (before, after) = kernel
            .split_once("griddepcontrol.wait;")
            .unwrap_or_else(|| panic!("{name} does not wait"));
        assert!(
            after.contains("griddepcontrol.launch_dependents;"),
            "{name}"
        );
        // A prefetch may come before.
        let asks = before.contains("cp.async.bulk.prefetch.L2.global");
        let has_tiles = engine != Engine::Levels;
        assert_eq!(asks, has_tiles, "{name}");
        let accesses = ["ld.global", "ld.relaxed", "ld.acquire", "\tst.", "\tatom."];
        for early in accesses.iter().chain(&["\t@", "\tbra", "\tcall"]) {
            assert!(!before.contains(early), "{name} before it waits:\n{before}");
        }
    }
}
