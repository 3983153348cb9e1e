//! `warpfold source`: the CUDA that a primitive compiles.

use crate::args::PrimitiveName;
use crate::commands::print;
use crate::failure::{Failure, Result};
use crate::number::{DType, Number, Operator, Work, with_number};
use warpfold::codegen::kernels::{
    ByFixedGuess, ByGuess, BySearch, ByValue, Collect, Histogram, Kept, Outputs, Places, Reduce,
    RunParts, Scan, Select, Sides,
};
use warpfold::codegen::{
    BlockPolicy, ComputeBoundScan, Engine, Kernels, Layouts, Order, RowPolicy, WavePolicy, source,
};
use warpfold::source::{Equal, Form, Heads, Index, Map, NonZero, Slice, Zip};
use warpfold::{Binned, Monoid};

/// What policies are for: the first GPUs that run all engines.
const CAPABILITY: u32 = 90;

/// Flags, as bytes.
type Flags = Map<NonZero<u8>, Slice<u8>>;
/// Numbers beside flags.
type Flagged<T> = Zip<(Slice<T>, Flags)>;

pub(crate) fn run(
    primitive: PrimitiveName,
    op: Option<Operator>,
    dtype: DType,
    json: bool,
) -> Result<()> {
    if op.is_some() && !primitive.folds() {
        return Err(Failure::with_remedy(
            "--op",
            "nothing is folded, so there is no operator",
            "leave it out, or ask for `reduce` or `scan`",
        ));
    }
    if matches!(primitive, PrimitiveName::HistogramValues) && dtype.is_float() {
        return Err(Failure::with_remedy(
            "histogram-values",
            format_args!("not defined on {dtype}"),
            "give the type of an integer, or ask for `histogram-even`",
        ));
    }
    let op = op.unwrap_or(Operator::Add);
    let text = with_number!(dtype, T => {
        rendered::<T>(primitive, &T::with_operator(op, Operators)?)
    })?;
    match json {
        true => print(&serde_json::json!({ "source": text }).to_string()),
        false => print(&text),
    }
}

impl PrimitiveName {
    /// Whether it has an operator.
    fn folds(self) -> bool {
        use PrimitiveName::*;
        matches!(
            self,
            Reduce
                | ReduceLevels
                | ReduceBlock
                | Scan
                | ScanBlock
                | ScanLevels
                | ScanWave
                | ScanWaveAnywhere
                | ScanShares
        )
    }
}

/// What renders the sources of folds with an operator, for an engine.
struct Folds {
    reduce: fn(Engine) -> warpfold::Result<String>,
    scan: fn(Engine) -> warpfold::Result<String>,
    order: Order,
}

/// Those of an operator.
struct Operators;

impl<T: Number> Work<T> for Operators {
    type Output = Folds;

    fn run<Op: Monoid<T>>(self) -> Result<Folds> {
        Ok(Folds {
            reduce: source::<Reduce<T, Op>>,
            scan: source::<Scan<T, Op>>,
            order: Order::of::<T, Op>(),
        })
    }
}

/// The source of a primitive.
fn rendered<T: Number>(primitive: PrimitiveName, folds: &Folds) -> Result<String> {
    use PrimitiveName as Name;
    let wave = || WavePolicy::of::<T>().expect("numbers have up to 8 bytes");
    let (reduce, scan) = (folds.reduce, folds.scan);
    let text = match primitive {
        Name::Reduce => reduce(Engine::Rows(RowPolicy::of_reduce::<T>(folds.order))),
        Name::ReduceLevels => reduce(Engine::Levels),
        Name::ReduceBlock => {
            let policy =
                BlockPolicy::for_reduce(Layouts::of_slice::<T>(), CAPABILITY, Order::Law, 0);
            reduce(Engine::Block(policy.expect("numbers are short")))
        }
        Name::ScanBlock => {
            let policy = BlockPolicy::for_scan(Layouts::of_slice::<T>(), CAPABILITY, 0);
            scan(Engine::Block(policy.expect("numbers are short")))
        }
        Name::Scan => scan(Engine::Rows(RowPolicy::of_scan::<T>(false))),
        Name::ScanLevels => scan(Engine::Levels),
        Name::ScanWave => scan(Engine::Wave(wave())),
        Name::ScanShares => {
            let compute_bound =
                ComputeBoundScan::of(Layouts::of_slice::<T>(), CAPABILITY, u32::MAX);
            let policy = compute_bound.expect("numbers have up to 8 bytes").shares;
            scan(Engine::Shares(policy))
        }
        Name::ScanWaveAnywhere => {
            let policy = wave().anywhere::<T>().expect("numbers have up to 8 bytes");
            scan(Engine::Wave(policy))
        }
        _ => return without_operator::<T>(primitive),
    };
    Ok(text?)
}

/// The source of a primitive that has no operator.
fn without_operator<T: Number>(primitive: PrimitiveName) -> Result<String> {
    use PrimitiveName as Name;
    match primitive {
        Name::Select => select::<T, Flagged<T>, Kept>(),
        Name::SelectWave => {
            let policy = Select::<T, Flagged<T>, Kept>::wave_policy(CAPABILITY);
            let policy = policy.ok_or_else(|| {
                Failure::with_remedy(
                    "select-wave",
                    format_args!("not there for {} beside flags of one byte", T::DTYPE),
                    "ask for `select`, which takes all types",
                )
            })?;
            render::<Select<T, Flagged<T>, Kept>>(Engine::Wave(policy))
        }
        Name::Partition => select::<T, Flagged<T>, Sides>(),
        Name::Positions => select::<u64, Zip<(Index, Flags)>, Places>(),
        Name::Unique => select::<T, Heads<Equal<T>, Slice<T>>, Kept>(),
        Name::Runs => select::<T, Heads<Equal<T>, Slice<T>>, RunParts>(),
        Name::Collect => {
            let policy = Collect::<Slice<T>>::rows_policy(CAPABILITY);
            render::<Collect<Slice<T>>>(Engine::Rows(policy))
        }
        Name::HistogramEven if <T::Bound as Binned>::IS_SHORT_INTEGER => {
            histogram::<T, ByFixedGuess>()
        }
        Name::HistogramEven => histogram::<T, ByGuess>(),
        Name::HistogramEdges => histogram::<T, BySearch>(),
        Name::HistogramValues => histogram::<T, ByValue>(),
        _ => unreachable!("{primitive:?} has an operator"),
    }
}

fn select<T: warpfold::Element, F: Form<Item = (T, bool)>, O: Outputs>() -> Result<String> {
    let policy = Select::<T, F, O>::rows_policy(CAPABILITY);
    render::<Select<T, F, O>>(Engine::Rows(policy))
}

fn histogram<T: Number, R: warpfold::codegen::kernels::BinRule>() -> Result<String> {
    type Counts<T, R> = Histogram<u64, Slice<<T as Number>::Bound>, R>;
    let policy = Counts::<T, R>::rows_policy(CAPABILITY);
    render::<Counts<T, R>>(Engine::Rows(policy))
}

fn render<K: Kernels>(engine: Engine) -> Result<String> {
    Ok(source::<K>(engine)?)
}
