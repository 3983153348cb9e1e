//! NumPy's .npy: a header that is a Python dictionary, and the elements behind it.
//!
//! The format is described at
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use crate::failure::{Failure, Result};
use crate::input::{Input, SharedFile};
use crate::logger;
use crate::number::DType;
use crate::text::Values;
use clap::ValueEnum;
use header::{Description, Dictionary};
use std::fmt;
use std::io::{Cursor, Read};
use warpfold::bytemuck;

mod header;

/// What every .npy file begins with.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// No header that NumPy writes comes near; one that says it is longer is damaged.
const LONGEST_HEADER: usize = 1 << 20;

/// Elements in Fortran order are read in blocks of this size.
const BLOCK_BYTES: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// As many axes as NumPy allows.
const MOST_AXES: usize = 64;

/// What a header says about the elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// How many there are.
    pub(crate) count: usize,
    /// Whether the bytes of each are in reverse.
    pub(crate) big_endian: bool,
    /// Whether they are truth values: any byte but 0 is 1.
    pub(crate) truth: bool,
    /// What they are if they are times or durations, which can be NaT.
    pub(crate) times: Option<Times>,
    /// Whether the first axis runs fastest.
    pub(crate) fortran_order: bool,
}

/// Times or durations, which are integers of some unit: NumPy's code for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Times(String);

impl Times {
    /// Whether they are durations, which can be added up.
    pub(crate) fn are_durations(&self) -> bool {
        self.0.starts_with('m')
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.are_durations() {
            "timedelta64"
        } else {
            "datetime64"
        };
        write!(f, "{name}{}", &self.0[2..])
    }
}

/// Reads a header, and leaves `input` at the first element.
pub(crate) fn read_header(input: &mut Input) -> Result<Header> {
    let mut start = [0; 8];
    let count = input.fill(&mut start)?;
    if !start[..count].starts_with(&MAGIC[..count.min(MAGIC.len())]) || count == 0 {
        return Err(Failure::with_remedy(
            &input.name,
            "not an .npy file: it does not begin with \\x93NUMPY",
            "say what it is with --format",
        ));
    }
    if count < start.len() {
        return Err(truncated(input, "in its first 8 bytes"));
    }
    let length_bytes = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => {
            let cause = format!(
                "byte 6: version {version}.{} of .npy is not known",
                start[7]
            );
            return Err(Failure::at(&input.name, cause));
        }
    };
    let mut length = [0; 4];
    if input.fill(&mut length[..length_bytes])? < length_bytes {
        return Err(truncated(input, "in the length of its header"));
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_HEADER {
        let cause = format!("byte 8: a header of {length} bytes is too long to be true");
        return Err(Failure::at(&input.name, cause));
    }
    let offset = input.position();
    let mut text = vec![0; length];
    if input.fill(&mut text)? < length {
        return Err(truncated(input, "in its header"));
    }
    // The names of fields can be in Latin-1 or UTF-8, but no field is ever looked at.
    let dictionary = header::parse(&text).map_err(|(place, cause)| {
        let byte = offset + place as u64;
        Failure::at(
            &input.name,
            format_args!("byte {byte}, in the header: {cause}"),
        )
    })?;
    interpret(dictionary, &input.name)
}

fn truncated(input: &Input, place: &str) -> Failure {
    let cause = format!(
        "the file is truncated: it ends at byte {}, {place}",
        input.position()
    );
    Failure::at(&input.name, cause)
}

fn interpret(dictionary: Dictionary, name: &str) -> Result<Header> {
    let Dictionary {
        description,
        fortran_order,
        shape,
    } = dictionary;
    let descr = match description {
        Description::Simple(descr) => descr,
        Description::Structured(text) => {
            return Err(Failure::with_remedy(
                name,
                format_args!("the elements are structured, {text}, and not numbers"),
                "save one field: numpy.save(file, x['field'])",
            ));
        }
    };
    if shape.len() > MOST_AXES {
        let cause = format!(
            "{} axes are more than the {MOST_AXES} of NumPy",
            shape.len()
        );
        return Err(Failure::at(name, cause));
    }
    let (order, code) = match descr.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), code)) => (order, code),
        _ => ("=", &descr[..]),
    };
    let truth = code == "b1";
    let time = code.starts_with("M8") || code.starts_with("m8");
    let times = time.then(|| Times(code.into()));
    let known = DType::value_variants().iter().copied().find(|&dtype| {
        code_of(dtype) == Some(code) || truth && dtype == DType::U8 || time && dtype == DType::I64
    });
    let Some(dtype) = known else {
        let (what, remedy) = foreign(code);
        return Err(Failure::with_remedy(
            name,
            format_args!("the elements are {what}, of the type '{descr}'"),
            remedy,
        ));
    };
    let count = match count_of(&shape) {
        Some(count) if count.checked_mul(dtype.size()).is_some() => count,
        _ => {
            let shape = show_shape(&shape);
            let cause = format!("the shape {shape} has more elements than memory can hold");
            return Err(Failure::at(name, cause));
        }
    };
    // With one long axis at most, both orders are the same.
    let axes = shape.iter().filter(|&&length| length != 1).count();
    Ok(Header {
        dtype,
        count,
        big_endian: order == ">" && dtype.size() > 1,
        truth,
        times,
        fortran_order: fortran_order && axes > 1 && count > 0,
        shape,
    })
}

/// What elements are that cannot be read, and what the user can do in Python.
fn foreign(code: &str) -> (&'static str, &'static str) {
    match (code.chars().next(), code) {
        (_, "f16" | "f12" | "f10" | "g") => (
            "floats of more than 64 bits",
            "numpy.save(file, x.astype('f8')), which rounds them",
        ),
        (Some('c'), _) => (
            "complex numbers",
            "save one part or the size: x.real, x.imag or numpy.abs(x)",
        ),
        (Some('O'), _) => (
            "Python objects",
            "if all are numbers, numpy.save(file, x.astype('f8')), or 'i8' for integers",
        ),
        (Some('S' | 'U' | 'T' | 'a'), _) => (
            "text",
            "if all are numbers, numpy.save(file, x.astype('f8')), or 'i8' for integers",
        ),
        (_, "V2") => (
            "bytes without a type, two each",
            "if these are bfloat16, x.view('u2').tofile('x.bin'), and give --dtype bf16",
        ),
        (Some('V'), _) => (
            "bytes without a type",
            "save numbers: x.view(...), with their type, or x['field']",
        ),
        _ => (
            "of a kind that is not known here",
            "convert them, x.astype(...), to one of b1, u1, i1, u2, i2, u4, i4, u8, i8, f2, f4, f8",
        ),
    }
}

/// NumPy's code for a type, without the byte order.
fn code_of(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::U8 => "u1",
        DType::I8 => "i1",
        DType::U16 => "u2",
        DType::I16 => "i2",
        DType::U32 => "u4",
        DType::I32 => "i4",
        DType::U64 => "u8",
        DType::I64 => "i8",
        DType::F16 => "f2",
        DType::F32 => "f4",
        DType::F64 => "f8",
        DType::Bf16 => return None,
    })
}

/// The elements that a header announced, which arrive in pieces.
pub(crate) struct Elements {
    input: Input,
    header: Header,
    /// Where the first element stands.
    start: u64,
    left: usize,
}

impl Elements {
    /// Begins with the header. A file that is too short is found out here.
    pub(crate) fn open(mut input: Input) -> Result<Self> {
        let header = read_header(&mut input)?;
        let elements = Elements {
            start: input.position(),
            left: header.count,
            header,
            input,
        };
        let needed = (elements.left * elements.header.dtype.size()) as u64;
        match elements.input.remaining() {
            Some(available) if available < needed => Err(elements.missing(available)),
            _ if elements.header.fortran_order => elements.in_c_order(),
            _ => Ok(elements),
        }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    fn missing(&self, available: u64) -> Failure {
        let dtype = self.header.dtype;
        let cause = format!(
            "the file is truncated: it ends at byte {}, but {} elements of {dtype} end at byte {}",
            self.start + available,
            show_shape(&self.header.shape),
            self.start + (self.header.count * dtype.size()) as u64,
        );
        Failure::at(&self.input.name, cause)
    }

    /// Reads up to so many numbers. Fewer are the last.
    pub(crate) fn read(&mut self, count: usize) -> Result<Values> {
        let dtype = self.header.dtype;
        let mut values = Values::zeros(dtype, count.min(self.left));
        let bytes = values.bytes_mut();
        let filled = self.input.fill(bytes)?;
        if filled < bytes.len() {
            let available = self.input.position() - self.start;
            return Err(self.missing(available));
        }
        if self.header.big_endian {
            bytes
                .chunks_exact_mut(dtype.size())
                .for_each(<[u8]>::reverse);
        }
        if self.header.truth {
            bytes
                .iter_mut()
                .for_each(|byte| *byte = u8::from(*byte != 0));
        }
        if self.header.times.is_some() {
            self.refuse_nat(bytemuck::cast_slice(values.bytes()))?;
        }
        self.left -= values.len();
        if let Some(times) = self.header.times.as_ref().filter(|_| self.left == 0) {
            let message = format!(
                "{}: the numbers are {times}, read as integers",
                self.input.name
            );
            logger::remark("note", message);
        }
        if self.left == 0 && values.len() < count {
            self.finish()?;
        }
        Ok(values)
    }

    /// Fails at NumPy's NaT, "not a time": as an integer it would be the least of all.
    #[cold]
    fn refuse_nat(&self, times: &[i64]) -> Result<()> {
        match times.iter().position(|&time| time == i64::MIN) {
            None => Ok(()),
            Some(place) => Err(Failure::with_remedy(
                &self.input.name,
                format_args!(
                    "the element at position {}, from 0, is NaT: no time",
                    self.header.count - self.left + place
                ),
                "leave these out: numpy.save(file, x[~numpy.isnat(x)])",
            )),
        }
    }

    /// Looks at what comes after the elements: NumPy stops here, too.
    fn finish(&mut self) -> Result<()> {
        if self.input.fill(&mut [0])? > 0 {
            self.warn_of_more(self.input.position() - 1);
        }
        Ok(())
    }

    fn warn_of_more(&self, end: u64) {
        logger::warn(format_args!(
            "{}: more data follow the array, from byte {end}; they are not read, as NumPy does \
                 not",
            self.input.name
        ));
    }

    /// Whether several threads can read the elements at once, as they lie in the file.
    pub(crate) fn is_shareable(&self) -> bool {
        let header = &self.header;
        !header.big_endian && !header.truth && header.times.is_none() && self.input.is_shareable()
    }

    /// The elements, for several threads.
    pub(crate) fn into_shared(self) -> SharedFile {
        let (dtype, count) = (self.header.dtype, self.header.count);
        let bytes = (count * dtype.size()) as u64;
        if self.input.remaining() > Some(bytes) {
            self.warn_of_more(self.start + bytes);
        }
        self.input.into_shared(dtype, count)
    }

    /// Reads all elements, and puts them into the order in which the last axis runs fastest.
    fn in_c_order(mut self) -> Result<Self> {
        let (size, shape) = (self.header.dtype.size(), self.header.shape.clone());
        let total = self.header.count * size;
        // The header may be a lie. Memory is set aside for what is there indeed.
        if self.input.remaining().is_none() {
            let mut all = Vec::new();
            let read = self.input.by_ref().take(total as u64).read_to_end(&mut all);
            read.map_err(|error| Failure::at(&self.input.name, error))?;
            if all.len() < total {
                return Err(self.missing(all.len() as u64));
            }
            self.finish()?;
            self.input.replace(Cursor::new(all), total as u64);
            self.start = 0;
        }
        let mut ordered = Vec::new();
        if ordered.try_reserve_exact(total).is_err() {
            let cause =
                format_args!("not enough memory for {total} bytes in Fortran order").to_string();
            let remedy = "numpy.save(file, numpy.ascontiguousarray(x))";
            return Err(Failure::with_remedy(&self.input.name, cause, remedy));
        }
        ordered.resize(total, 0);
        // From one index of an axis to the next, in C order.
        let mut strides = vec![size; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let (mut indices, mut place) = (vec![0; shape.len()], 0);
        let mut block = vec![0; (BLOCK_BYTES / size) * size];
        let mut left = total;
        while left > 0 {
            let count = left.min(block.len());
            let filled = self.input.fill(&mut block[..count])?;
            if filled < count {
                let available = self.input.position() - self.start;
                return Err(self.missing(available));
            }
            for element in block[..count].chunks_exact(size) {
                ordered[place..place + size].copy_from_slice(element);
                for (axis, &length) in shape.iter().enumerate() {
                    indices[axis] += 1;
                    place += strides[axis];
                    if indices[axis] < length {
                        break;
                    }
                    place -= length * strides[axis];
                    indices[axis] = 0;
                }
            }
            left -= count;
        }
        self.finish()?;
        self.input.replace(Cursor::new(ordered), total as u64);
        self.start = 0;
        Ok(self)
    }
}

/// Fails for a type that NumPy has no name for.
pub(crate) fn check_output(dtype: DType, name: &str) -> Result<()> {
    match code_of(dtype) {
        Some(_) => Ok(()),
        None => Err(Failure::with_remedy(
            name,
            format_args!("NumPy has no {dtype}, so it cannot be written as npy"),
            "choose --output-format raw or text",
        )),
    }
}

/// The length of the header is such that the elements start at a multiple of 64 bytes, as NumPy
/// has it.
pub(crate) fn header_bytes(dtype: DType, times: Option<&Times>, shape: &[usize]) -> Vec<u8> {
    let order = if dtype.size() == 1 { '|' } else { '<' };
    let code = match times {
        Some(times) => &times.0,
        None => code_of(dtype).unwrap_or_default(),
    };
    let shape = show_shape(shape);
    let mut text =
        format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': {shape}, }}");
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', padded - before - text.len() - 1));
    text.push('\n');
    // At most 64 axes: far from the 65 535 bytes that version 1 allows.
    let length = text.len() as u16;
    [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
}

/// The number of elements in a shape, if that is a number.
pub(crate) fn count_of(shape: &[usize]) -> Option<usize> {
    // A product that overflows before it meets a zero is still zero.
    if shape.contains(&0) {
        return Some(0);
    }
    let mut axes = shape.iter();
    axes.try_fold(1_usize, |all, &axis| all.checked_mul(axis))
}

/// The shape as Python writes a tuple.
fn show_shape(shape: &[usize]) -> String {
    match shape {
        [length] => format!("({length},)"),
        _ => {
            let lengths: Vec<_> = shape.iter().map(usize::to_string).collect();
            format!("({})", lengths.join(", "))
        }
    }
}
