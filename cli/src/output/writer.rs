//! Numbers on their way out, in any format.

use super::Output;
use crate::args::Format;
use crate::failure::{Failure, Result};
use crate::npy;
use crate::number::{DType, Number, with_number};
use warpfold::bytemuck;

/// Text is handed on in pieces of about this size.
const CHUNK_BYTES: usize = 1 << 16;

/// Writes numbers piece by piece.
pub(crate) struct Writer {
    output: Output,
    format: Format,
    dtype: DType,
    /// The lengths of the axes, where they were known beforehand.
    shape: Option<Vec<usize>>,
    written: usize,
    begun: bool,
    text: Vec<u8>,
}

impl Writer {
    /// Begins to write numbers of a type. Without a shape they have one axis, as long as they are
    /// many.
    pub(crate) fn new(
        output: Output,
        format: Format,
        dtype: DType,
        shape: Option<Vec<usize>>,
    ) -> Writer {
        Writer {
            output,
            format,
            dtype,
            shape,
            written: 0,
            begun: false,
            text: Vec::new(),
        }
    }

    /// Writes the header before the first numbers, and not before there are any: an input that
    /// cannot be read leaves nothing.
    fn begin(&mut self) -> Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        if self.format == Format::Npy {
            if self.shape.is_none() {
                self.output.keep_start()?;
            }
            self.output.write(&self.header())?;
        }
        Ok(())
    }

    /// The header of an .npy file. It is as long for every length of one axis.
    fn header(&self) -> Vec<u8> {
        match &self.shape {
            Some(shape) => npy::header_bytes(self.dtype, shape),
            None => npy::header_bytes(self.dtype, &[self.written]),
        }
    }

    /// Writes numbers, in the type that was said.
    pub(crate) fn write<C: Number>(&mut self, values: &[C]) -> Result<()> {
        self.begin()?;
        self.written += values.len();
        with_number!(self.dtype, T => {
            if T::DTYPE != C::DTYPE {
                let values: Vec<T> = values.iter().map(|value| value.cast()).collect();
                self.put(&values)
            } else {
                self.put(values)
            }
        })
    }

    /// Writes numbers of the type of the output.
    fn put<T: Number>(&mut self, values: &[T]) -> Result<()> {
        if self.format.is_binary() {
            return self.output.write(bytemuck::cast_slice(values));
        }
        self.lines(values, |value, text| value.append_to(text))
    }

    /// Writes numbers as text, each with a count before it, as `uniq -c` does.
    pub(crate) fn write_counted<C: Number>(&mut self, counts: &[u64], values: &[C]) -> Result<()> {
        self.lines(counts.iter().zip(values), |(count, value), text| {
            text.extend_from_slice(format!("{count:7} ").as_bytes());
            value.append_to(text);
        })
    }

    fn lines<L>(
        &mut self,
        lines: impl IntoIterator<Item = L>,
        append: impl Fn(L, &mut Vec<u8>),
    ) -> Result<()> {
        for line in lines {
            append(line, &mut self.text);
            self.text.push(b'\n');
            if self.text.len() >= CHUNK_BYTES {
                self.output.write(&self.text)?;
                self.text.clear();
            }
        }
        self.output.write(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Makes sure that all is written, and gives a file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.begin()?;
        match &self.shape {
            Some(shape) if npy::count_of(shape) != Some(self.written) => {
                let cause = "the input changed while it was read";
                return Err(Failure::at(&self.output.name, cause));
            }
            None if self.format == Format::Npy => {
                let header = self.header();
                self.output.write_start(&header)?;
            }
            _ => {}
        }
        self.output.finish()
    }
}
