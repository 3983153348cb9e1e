//! The kernels of the ladder: what they need, and their source.

use super::{Call, Shape};
use crate::definitions::Definitions;
use crate::ops::{Add, BitAnd, BitOr, BitXor, Max, Min};
use crate::render::{bind_monoid, template};
use crate::source::{Form, Slice};
use crate::{CudaType, Element, Error, Monoid, Result};
use std::alloc::Layout;
use std::any::{TypeId, type_name};

/// The most items whose threads try again and again to fold into one place, each in its turn. It is
/// for operators that no atomic instruction does. More would take minutes.
pub const MOST_RETRIED: u64 = 1 << 16;

/// What a kernel folds into one place in memory, whoever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InAnyOrder {
    /// Every item.
    Items,
    /// A value of each block.
    Blocks,
    /// Nothing, but it pairs items that are no neighbours.
    Pairs,
}

/// A step's kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Its file in `kernels/ladder/`.
    pub file: &'static str,
    /// The functions in it.
    pub functions: &'static [&'static str],
    /// The threads of a block.
    pub threads: u32,
    /// The fewest threads that it works with.
    pub fewest_threads: u32,
    /// The most items that it takes: those of one block, or all.
    pub most: Option<u64>,
    /// What it does not keep in order. If anything, it is right only for operators that commute.
    pub in_any_order: Option<InAnyOrder>,
    /// Whether its threads race: what it gives is wrong.
    pub races: bool,
    pub(super) launches: fn(u64, Shape) -> Call,
}

/// A kernel whose file and only function have the same name, which is for the fields to override.
macro_rules! kernel {
    ($name:literal, $launches:expr $(, $field:ident: $value:expr)* $(,)?) => {
        $crate::ladder::Runner::Kernel($crate::ladder::Kernel {
            $($field: $value,)*
            ..$crate::ladder::Kernel {
                file: concat!($name, ".cuh"),
                functions: &[$name],
                threads: 1024,
                fewest_threads: 1,
                most: None,
                in_any_order: None,
                races: false,
                launches: $launches,
            }
        })
    };
}
pub(super) use kernel;

impl Kernel {
    /// The text of its file.
    pub fn text(&self) -> &'static str {
        file(self.file).expect("a test looks for every file")
    }

    /// How it is cut up, unless somebody wants it otherwise.
    pub fn shape(&self) -> Shape {
        Shape {
            threads: self.threads,
            factor: 4,
        }
    }

    /// Its launches for `length` items.
    ///
    /// # Panics
    ///
    /// If there are no items, more than it takes, or blocks have a number of threads that it cannot
    /// have.
    pub fn call(&self, length: u64, shape: Shape) -> Call {
        assert!(length > 0, "a call has an item at least");
        assert!(
            self.most.is_none_or(|most| length <= most),
            "{} takes fewer than {length} items",
            self.file
        );
        assert!(
            shape.threads.is_power_of_two()
                && (self.fewest_threads..=1024).contains(&shape.threads)
                && shape.factor > 0,
            "{} cannot have {shape:?}",
            self.file
        );
        (self.launches)(length, shape)
    }

    /// The most items to give it with an operator: all that it takes, or as many as threads may
    /// queue for.
    pub fn most_for<T: Element, Op: Monoid<T>>(&self) -> u64 {
        let most = self.most.unwrap_or(u64::MAX);
        match self.in_any_order {
            Some(InAnyOrder::Items) if !has_hardware_atomic::<T, Op>() => most.min(MOST_RETRIED),
            _ => most,
        }
    }

    /// Whether the results' place must hold the identity before a call.
    pub fn folds_into_out(&self) -> bool {
        let atomically = matches!(
            self.in_any_order,
            Some(InAnyOrder::Items | InAnyOrder::Blocks)
        );
        atomically || self.races
    }

    /// An error if it would be wrong for an operator.
    ///
    /// # Errors
    ///
    /// [`Error::Codegen`] if it folds in any order, and the operator does not commute.
    pub fn check<T: Element, Op: Monoid<T>>(&self) -> Result<()> {
        self.check_order(Op::COMMUTATIVE, type_name::<Op>())
    }

    fn check_order(&self, commutative: bool, operator: &str) -> Result<()> {
        if self.in_any_order.is_none() || commutative {
            return Ok(());
        }
        Err(Error::Codegen(format!(
            "{} folds in any order, and {operator} does not commute",
            self.file
        )))
    }
}

/// The text of a file in `kernels/ladder/`.
pub fn file(name: &str) -> Option<&'static str> {
    template::kernel(&format!("ladder/{name}"))
}

/// The CUDA C++ of some kernels, complete as [`codegen::source`](crate::codegen::source) gives it.
/// Dot products fold with `Op` what `Times` makes of two items.
///
/// # Errors
///
/// [`Error::Codegen`] if a kernel would be wrong for the operator ([`Kernel::check`]), or the
/// types' definitions clash.
pub fn source<T: Element, Op: Monoid<T>, Times: Monoid<T>>(kernels: &[&Kernel]) -> Result<String> {
    for kernel in kernels {
        kernel.check::<T, Op>()?;
    }
    let mut definitions = Definitions::default();
    let element = T::cuda_type(&mut definitions);
    let accumulator = T::Accumulator::cuda_type(&mut definitions);
    let source = Slice::<T>::cuda(&mut definitions);
    let monoid = bind_monoid::<T, Op>(&mut definitions);
    let product = Times::cuda(&mut definitions);
    let atomic = hardware_atomic(TypeId::of::<Op>(), &accumulator);
    let files: Vec<_> = kernels.iter().map(|kernel| kernel.file).collect();
    render(
        (element, Layout::new::<T>()),
        (source, product),
        (atomic, files),
        definitions,
        monoid,
    )
}

/// The part of [`source`] that is compiled once.
fn render(
    (element, layout): (String, Layout),
    (source, product): (String, String),
    (atomic, files): (Option<(&'static str, &'static str)>, Vec<&'static str>),
    definitions: Definitions,
    monoid: minijinja::Value,
) -> Result<String> {
    let context = minijinja::context! {
        version => env!("CARGO_PKG_VERSION"),
        source => source,
        element => element,
        element_bytes => layout.size(),
        element_align => layout.align(),
        product => product,
        atomic => atomic.map(|(function, word)| minijinja::context! { function, word }),
        files => files,
        definitions => definitions.text()?,
        ..monoid
    };
    template::render("ladder.cu.jinja", context)
}

/// Whether one atomic instruction does what the operator does.
pub fn has_hardware_atomic<T: Element, Op: Monoid<T>>() -> bool {
    let accumulator = T::Accumulator::cuda_type(&mut Definitions::default());
    hardware_atomic(TypeId::of::<Op>(), &accumulator).is_some()
}

/// CUDA's function for the operator on accumulators of a type, and the type that it takes.
fn hardware_atomic(operator: TypeId, accumulator: &str) -> Option<(&'static str, &'static str)> {
    let functions = [
        (TypeId::of::<Add>(), "atomicAdd"),
        (TypeId::of::<Min>(), "atomicMin"),
        (TypeId::of::<Max>(), "atomicMax"),
        (TypeId::of::<BitAnd>(), "atomicAnd"),
        (TypeId::of::<BitOr>(), "atomicOr"),
        (TypeId::of::<BitXor>(), "atomicXor"),
    ];
    let (op, function) = functions.into_iter().find(|(op, _)| *op == operator)?;
    let compares = op == TypeId::of::<Min>() || op == TypeId::of::<Max>();
    let word = match accumulator {
        "u32" => "u32",
        "i32" => "i32",
        "u64" => "u64",
        // Of the others CUDA has only unsigned ones, which give the same bits.
        "i64" => ["u64", "i64"][usize::from(compares)],
        "f32" if function == "atomicAdd" => "f32",
        "f64" if function == "atomicAdd" => "f64",
        _ => return None,
    };
    Some((function, word))
}
