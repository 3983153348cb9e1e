//! The numbers of an input, whatever its format: they arrive in pieces.

use crate::args::{Format, InputArguments};
use crate::failure::{Failure, Result};
use crate::input::{Input, SharedFile};
use crate::npy;
use crate::number::{DType, Number, with_number};
use crate::raw;
use crate::text::{Table, Text, Values};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use warpfold::bytemuck;

/// The numbers in a piece, but for the last: enough to keep all cores busy, and few enough to stay
/// in their caches.
pub(crate) const PIECE: usize = if cfg!(test) { 1 << 4 } else { 1 << 18 };

/// Pieces that wait to be worked on.
pub(crate) const AHEAD: usize = 2;

/// An input whose type is known, and of which no more was read than that needs.
pub(crate) struct Numbers {
    /// The name that messages use.
    pub(crate) name: String,
    /// What the elements are in the input.
    pub(crate) dtype: DType,
    /// The lengths of the axes, where they are known beforehand.
    pub(crate) shape: Option<Vec<usize>>,
    /// Whether they can be read again.
    pub(crate) lasting: bool,
    source: Source,
}

enum Source {
    Npy(npy::Elements),
    Raw(Input),
    Text(Box<Text>),
    /// The only column of a table.
    Column(Box<Table>),
}

impl Numbers {
    /// Opens a file or the standard input.
    pub(crate) fn open(file: Option<&Path>, options: &InputArguments) -> Result<Numbers> {
        let (input, format) = Input::open(file, options)?;
        if format != Format::Text {
            options.text.check_unused(&input.name)?;
        }
        Self::of(input, format, options)
    }

    /// The numbers in some bytes of a format.
    pub(crate) fn of(input: Input, format: Format, options: &InputArguments) -> Result<Numbers> {
        let (name, lasting) = (input.name.clone(), input.lasting);
        let (source, dtype, shape) = match format {
            Format::Npy => {
                let elements = npy::Elements::open(input)?;
                let (held, shape) = (elements.header().dtype, elements.header().shape.clone());
                if let Some(wanted) = options.dtype.filter(|&wanted| wanted != held) {
                    return Err(Failure::with_remedy(
                        &name,
                        format_args!("the elements are {held}, but --dtype says {wanted}"),
                        "leave --dtype out; an .npy file knows its type",
                    ));
                }
                (Source::Npy(elements), held, Some(shape))
            }
            Format::Raw => {
                let dtype = options.dtype.ok_or_else(|| {
                    let cause = "raw data do not tell the type of their elements";
                    Failure::with_remedy(&name, cause, "give --dtype, such as --dtype f32")
                })?;
                let length = input.remaining().map(|bytes| bytes as usize / dtype.size());
                (Source::Raw(input), dtype, length.map(|length| vec![length]))
            }
            Format::Text => {
                let (text, dtype) = Text::open(input, &options.text, options.dtype)?;
                (Source::Text(text.into()), dtype, None)
            }
        };
        Ok(Numbers {
            name,
            dtype,
            shape,
            lasting,
            source,
        })
    }

    /// The numbers of a table that has one column.
    pub(crate) fn of_column(name: &str, dtype: DType, lasting: bool, table: Box<Table>) -> Numbers {
        Numbers {
            name: name.into(),
            dtype,
            shape: None,
            lasting,
            source: Source::Column(table),
        }
    }

    /// Reads the next piece, as numbers of some type. A short one is the last.
    pub(crate) fn read<A: Number>(&mut self) -> Result<Vec<A>> {
        with_number!(self.dtype, T => {
            let values: Vec<T> = match &mut self.source {
                Source::Npy(elements) => elements.read(PIECE)?,
                Source::Raw(input) => raw::read(input, PIECE)?,
                Source::Text(text) => text.read(PIECE)?,
                // Where values are missing, rows are more than values.
                Source::Column(table) => {
                    let mut values = Vec::new();
                    while values.len() < PIECE && !table.ended() {
                        let more = table.read(PIECE - values.len())?.pop();
                        let more = more.map_or_else(Vec::new, Values::into_vec);
                        match values.is_empty() {
                            true => values = more,
                            false => values.extend(more),
                        }
                    }
                    values
                }
            };
            Ok(cast_all(values))
        })
    }

    /// The file that holds the numbers as memory would, for several threads, if there is one.
    pub(crate) fn shared(self) -> Result<SharedFile, Box<Numbers>> {
        let dtype = self.dtype;
        match self.source {
            Source::Npy(elements) if elements.is_shareable() => Ok(elements.into_shared()),
            Source::Raw(input) if is_whole(&input, dtype) => {
                let count = input
                    .remaining()
                    .map_or(0, |bytes| bytes as usize / dtype.size());
                Ok(input.into_shared(dtype, count))
            }
            source => Err(Numbers { source, ..self }.into()),
        }
    }

    /// All pieces, which are read while others are worked on.
    pub(crate) fn pieces<A: Number>(mut self) -> Pieces<A> {
        let (sender, receiver) = sync_channel(AHEAD);
        thread::spawn(move || {
            loop {
                let piece = self.read::<A>();
                if ends(&piece) {
                    // The bar goes before a result is shown.
                    drop(self);
                    let _ = sender.send(piece);
                    break;
                }
                // Nobody waits any more if the work has failed.
                if sender.send(piece).is_err() {
                    break;
                }
            }
        });
        Pieces {
            receiver,
            ended: false,
        }
    }
}

/// Whether an input can be shared, and ends with a number.
fn is_whole(input: &Input, dtype: DType) -> bool {
    let size = dtype.size() as u64;
    input.is_shareable() && input.remaining().is_some_and(|bytes| bytes % size == 0)
}

/// Whether nothing comes after a piece.
fn ends<A>(piece: &Result<Vec<A>>) -> bool {
    piece.as_ref().map_or(true, |piece| piece.len() < PIECE)
}

/// The pieces of an input, in order. All but the last have [`PIECE`] numbers.
pub(crate) struct Pieces<A> {
    receiver: Receiver<Result<Vec<A>>>,
    ended: bool,
}

impl<A> Iterator for Pieces<A> {
    type Item = Result<Vec<A>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let piece = self
            .receiver
            .recv()
            .expect("the reader ends with a short piece or a failure");
        self.ended = ends(&piece);
        Some(piece)
    }
}

/// Numbers in another type.
pub(crate) fn cast_all<T: Number, A: Number>(values: Vec<T>) -> Vec<A> {
    if T::DTYPE != A::DTYPE {
        return values.into_iter().map(T::cast).collect();
    }
    match bytemuck::allocation::try_cast_vec(values) {
        Ok(values) => values,
        Err((_, values)) => values.into_iter().map(T::cast).collect(),
    }
}
