//! Reductions of numbers that come in pieces.

use super::overflow::{is_finite, note_rounding, warn_of_overflow};
use super::{Start, no_extreme, only};
use crate::accumulate::Accumulation;
use crate::exact;
use crate::failure::Result;
use crate::input::SharedFile;
use crate::number::{DType, FoldWork, Number, Operator, with_fold};
use crate::text::Values;
use std::sync::{Mutex, MutexGuard, PoisonError};
use warpfold::shards::{Group, Nodes};
use warpfold::{Device, Element, Monoid};

impl Start<'_> {
    /// The devices of a group, if there is one.
    fn devices(&self, group: Option<&Group>) -> Group {
        let one = || Group::new(vec![self.device.clone()]).expect("it is one device");
        group.cloned().unwrap_or_else(one)
    }

    /// On all devices of a group, if there is one.
    pub(super) fn fold(self, group: Option<&Group>) -> Result<Box<dyn Fold>> {
        let init = self.parse_init()?;
        if self.accumulation.checked {
            return Ok(Box::new(Checked::new(self, group, init)));
        }
        let (op, dtype) = (self.op, self.accumulation.dtype);
        let reduction = Reduction {
            group: self.devices(group),
            init: init.clone(),
        };
        Ok(Box::new(Reducing {
            reducer: with_fold(op, dtype, reduction)?,
            finite: init.as_ref().is_none_or(is_finite),
            has_init: init.is_some(),
            op,
            dtype,
            of_integers: !self.elements.is_float(),
            name: self.name,
        }))
    }
}

/// A fold of numbers that come in pieces.
pub(super) trait Fold {
    /// Takes in pieces of numbers of the type that the fold is computed in.
    fn push(&mut self, pieces: Vec<Values>) -> Result<()>;

    /// Takes in all numbers of a file.
    fn push_file(&mut self, file: &SharedFile) -> Result<()>;

    /// The fold of all numbers so far.
    fn value(&self) -> Result<Values>;
}

/// A reduction.
pub(super) struct Reducing {
    reducer: Box<dyn Reduce>,
    has_init: bool,
    op: Operator,
    dtype: DType,
    name: String,
    /// Whether all numbers so far are finite.
    finite: bool,
    of_integers: bool,
}

impl Fold for Reducing {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()> {
        self.finite = self.finite && pieces.iter().all(is_finite);
        self.reducer.push(pieces)
    }

    fn push_file(&mut self, file: &SharedFile) -> Result<()> {
        self.reducer.push_file(file)?;
        if !is_finite(&self.reducer.value(false)?) {
            self.finite = self.finite && file.is_finite()?;
        }
        Ok(())
    }

    fn value(&self) -> Result<Values> {
        if !self.has_init && self.reducer.count() == 0 && self.op.picks() {
            return Err(no_extreme(&self.name, self.op));
        }
        let value = self.reducer.value(true)?.cast(self.dtype);
        if self.finite && !is_finite(&value) {
            warn_of_overflow(&self.name, "the result", &value, 0);
        }
        if self.of_integers {
            note_rounding(&self.name, "the result", &value, 0);
        }
        Ok(value)
    }
}

/// What is compiled for each type and operator of a reduction.
pub(super) trait Reduce {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()>;

    fn push_file(&mut self, file: &SharedFile) -> Result<()>;

    /// How many numbers there were.
    fn count(&self) -> u64;

    /// The fold so far, of the type that is folded in: after what it starts from, or without that.
    fn value(&self, with_init: bool) -> Result<Values>;
}

/// What has taken in so many numbers, on one device or several.
pub(super) struct Folded<C: Element, Op: Monoid<C>> {
    group: Group,
    nodes: Nodes<C, Op>,
    count: u64,
    init: Option<C>,
}

/// The bytes of a file that a device of several takes at a time, at most.
pub(super) const SHARE_BYTES: usize = 64 << 20;

/// Has devices do `work` on pieces, the first of which begins at `count`. Gives where the last one
/// ends.
fn share_pieces(
    group: &Group,
    mut count: u64,
    pieces: Vec<Values>,
    work: &(dyn Fn(&Device, u64, Values) -> Result<()> + Sync),
) -> Result<u64> {
    let jobs = pieces.into_iter().map(|piece| {
        let start = count;
        count += piece.len() as u64;
        (start, piece)
    });
    let jobs: Vec<(u64, Values)> = jobs.collect();
    group.share(jobs, |device, (start, piece)| work(device, start, piece))?;
    Ok(count)
}

/// Has devices do `work` on parts of a file with so many numbers of so many bytes.
fn share_file(
    group: &Group,
    count: usize,
    bytes: usize,
    work: &(dyn Fn(&Device, usize, usize) -> Result<()> + Sync),
) -> Result<()> {
    let most = match group.devices() {
        [_] => usize::MAX,
        _ => SHARE_BYTES / bytes,
    };
    let share = count.div_ceil(group.devices().len()).clamp(1, most);
    group.share((0..count).step_by(share), |device, start| {
        work(device, start, share.min(count - start))
    })?;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C: Number, Op: Monoid<C>> Reduce for Folded<C, Op> {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()> {
        let nodes = Mutex::new(&mut self.nodes);
        self.count = share_pieces(&self.group, self.count, pieces, &|device, start, piece| {
            let of_piece = Nodes::of_slice(device, start, &piece.into_vec::<C>())?;
            Ok(lock(&nodes).merge(&of_piece)?)
        })?;
        Ok(())
    }

    fn push_file(&mut self, file: &SharedFile) -> Result<()> {
        let (first, nodes) = (self.count, Mutex::new(&mut self.nodes));
        share_file(
            &self.group,
            file.count,
            size_of::<C>(),
            &|device, start, len| {
                let read = |at, to: &mut [C]| file.read(start + at, to);
                let of_part = Nodes::read(device, first + start as u64, len, read)?;
                Ok(lock(&nodes).merge(&of_part)?)
            },
        )?;
        self.count += file.count as u64;
        Ok(())
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn value(&self, with_init: bool) -> Result<Values> {
        let value = match self.init.filter(|_| with_init) {
            None => self.nodes.value(self.count)?,
            Some(init) => self.nodes.value_from(init, self.count)?,
        };
        Ok(C::to_values(vec![value]))
    }
}

/// A reduction, except its operator.
pub(super) struct Reduction {
    group: Group,
    init: Option<Values>,
}

impl FoldWork for Reduction {
    type Output = Box<dyn Reduce>;

    fn run<C: Number, Op: Monoid<C>>(self) -> Result<Box<dyn Reduce>> {
        Ok(Box::new(Folded {
            group: self.group,
            nodes: Nodes::<C, Op>::new(),
            count: 0,
            init: self.init.map(only::<C>),
        }))
    }
}

/// A sum or product of integers of 64 bits, which is a failure if it is out of range.
pub(super) struct Checked {
    devices: Group,
    op: Operator,
    accumulation: Accumulation,
    name: String,
    result: i128,
}

impl Checked {
    fn new(start: Start<'_>, group: Option<&Group>, init: Option<Values>) -> Self {
        Checked {
            devices: start.devices(group),
            op: start.op,
            accumulation: start.accumulation,
            name: start.name,
            result: match (start.op, init) {
                (_, Some(init)) => init.integer(0),
                (Operator::Mul, None) => 1,
                _ => 0,
            },
        }
    }
}

impl Fold for Checked {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()> {
        if self.op == Operator::Mul {
            for piece in pieces {
                self.result = self.result.saturating_mul(exact::product(&piece));
            }
            return Ok(());
        }
        for sum in self.devices.share(pieces, exact::sum)? {
            self.result = self.result.saturating_add(sum);
        }
        Ok(())
    }

    fn push_file(&mut self, file: &SharedFile) -> Result<()> {
        self.result = self.result.saturating_add(exact::sum_of_file(file)?);
        Ok(())
    }

    fn value(&self) -> Result<Values> {
        if self.accumulation.fits(self.result) {
            return Ok(self.accumulation.values([self.result]));
        }
        Err(match self.op {
            Operator::Mul => self.accumulation.overflow(&self.name, "the product"),
            _ => {
                let what = format_args!("the sum, {},", self.result);
                self.accumulation.overflow(&self.name, what)
            }
        })
    }
}
