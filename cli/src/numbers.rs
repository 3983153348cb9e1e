//! The numbers of an input, whatever its format: they arrive in pieces.

use crate::args::{Format, InputArguments};
use crate::failure::{Failure, Result};
use crate::input::{Input, SharedFile};
use crate::logger;
use crate::npy::{self, Times};
use crate::number::{DType, with_number};
use crate::pieces::{PIECE, Piece, Pieces, read_ahead};
use crate::raw;
use crate::text::{Table, Text, Values};
use std::path::Path;
use warpfold::bytemuck;

/// An input whose type is known, and of which no more was read than that needs.
pub(crate) struct Numbers {
    /// The name that messages use.
    pub(crate) name: String,
    /// What the elements are in the input.
    pub(crate) dtype: DType,
    /// The lengths of the axes, where they are known beforehand.
    pub(crate) shape: Option<Vec<usize>>,
    /// What they are if they are times or durations.
    pub(crate) times: Option<Times>,
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
    pub(crate) fn of(
        mut input: Input,
        format: Format,
        options: &InputArguments,
    ) -> Result<Numbers> {
        let (name, lasting) = (input.name.clone(), input.lasting);
        let mut times = None;
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
                times = elements.header().times.clone();
                (Source::Npy(elements), held, Some(shape))
            }
            Format::Raw => {
                let dtype = options.dtype.ok_or_else(|| {
                    let cause = "raw data do not tell the type of their elements";
                    Failure::with_remedy(&name, cause, "give --dtype, such as --dtype f32")
                })?;
                if !options.no_records && raw::has_records(&mut input, dtype)? {
                    return Err(Failure::with_remedy(
                        &name,
                        "this looks like records of Fortran: before and behind each stands how \
                         long it is, which is no data",
                        "write it with access='stream', or convert it with \
                         scipy.io.FortranFile; if all of it is data, give --no-records",
                    ));
                }
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
            times,
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
            times: None,
            lasting,
            source: Source::Column(table),
        }
    }

    /// Refuses numbers of a text with zeros in front.
    pub(crate) fn refuse_codes(&mut self) {
        match &mut self.source {
            Source::Text(text) => text.refuse_codes(),
            Source::Column(table) => table.refuse_codes(),
            Source::Npy(_) | Source::Raw(_) => {}
        }
    }

    /// All integers or floats of a list beside the data, such as edges. A table is none: which of
    /// its columns is meant, nobody says.
    pub(crate) fn list<V>(self, what: &str, of: impl Fn(&Values, usize) -> V) -> Result<Vec<V>> {
        let (name, dtype) = (self.name.clone(), self.dtype);
        let axes = self.shape.iter().flatten().filter(|&&length| length > 1);
        let (columns, has_header) = match &self.source {
            Source::Text(text) => (text.columns, text.has_header()),
            _ => (1, false),
        };
        let several = match axes.count() {
            count @ 2.. => Some(format!("{count} axes")),
            _ if columns > 1 => Some(format!("{columns} columns of numbers")),
            _ => None,
        };
        let mut values = Vec::new();
        for piece in self.pieces(dtype) {
            let piece = piece?;
            values.extend((0..piece.len()).map(|row| of(&piece, row)));
        }
        // A row by itself is a list.
        let is_row = columns > 1 && !has_header && values.len() <= columns;
        match several.filter(|_| !is_row) {
            None => Ok(values),
            Some(several) => Err(Failure::with_remedy(
                name,
                format_args!("it has {several}, and the {what} are a list"),
                format_args!("leave nothing but the {what} in it"),
            )),
        }
    }

    /// Reads the next piece, as numbers of some type.
    pub(crate) fn read(&mut self, dtype: DType) -> Result<Piece<Values>> {
        let whole = |values: Values| (values.len() < PIECE, values);
        let (mut absent, mut missing) = (vec![Vec::new()], vec![0]);
        let (last, values) = match &mut self.source {
            Source::Npy(elements) => whole(elements.read(PIECE)?),
            Source::Raw(input) => whole(raw::read(input, self.dtype, PIECE)?),
            Source::Text(text) => {
                let values = with_number!(self.dtype, T => Values::from(text.read::<T>(PIECE)?));
                (absent, missing) = (vec![text.take_absent()], vec![text.missing()]);
                (text.ended(), values)
            }
            Source::Column(table) => {
                let values = table.read(PIECE)?.pop();
                (absent, missing) = (table.take_absent(), vec![table.missing(0)]);
                (table.ended(), values.unwrap_or(Values::of(self.dtype)))
            }
        };
        tell_of_rounding(&self.name, (values.dtype(), values.bytes()), dtype);
        Ok(Piece {
            values: values.cast(dtype),
            absent,
            missing,
            last,
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

    /// All pieces, as numbers of some type, which are read while others are worked on.
    pub(crate) fn pieces(self, dtype: DType) -> Pieces<Values> {
        read_ahead(self, move |numbers| numbers.read(dtype))
    }
}

/// Whether an input can be shared, and ends with a number.
fn is_whole(input: &Input, dtype: DType) -> bool {
    let size = dtype.size() as u64;
    input.is_shareable() && input.remaining().is_some_and(|bytes| bytes % size == 0)
}

/// Says so if integers, as memory holds them, are rounded to a type of floats, that of a fold.
pub(crate) fn tell_of_rounding(name: &str, (from, bytes): (DType, &[u8]), dtype: DType) {
    if !dtype.is_float() {
        return;
    }
    let is_rounded = |integer: i128| (integer as f64) as i128 != integer;
    let any_is_rounded = match from {
        DType::I64 => {
            let values: &[i64] = bytemuck::cast_slice(bytes);
            values.iter().any(|&value| is_rounded(value.into()))
        }
        DType::U64 => {
            let values: &[u64] = bytemuck::cast_slice(bytes);
            values.iter().any(|&value| is_rounded(value.into()))
        }
        _ => false,
    };
    if any_is_rounded {
        logger::insist(format!(
            "{name}: integers beyond 2^{} are rounded to {dtype}, as --accumulate says",
            dtype.exact_bits()
        ));
    }
}
