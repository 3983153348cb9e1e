//! NumPy's .npy: a header that is a Python dictionary, and the elements behind it.
//!
//! The format is described at
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::{DType, Number};
use crate::output::Output;
use clap::ValueEnum;
use header::{Description, Dictionary};
use warpfold::bytemuck;

mod header;

/// What every .npy file begins with.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// No header that NumPy writes comes near; one that says it is longer is damaged.
const LONGEST_HEADER: usize = 1 << 20;

/// As many axes as NumPy allows.
const MOST_AXES: usize = 64;

/// What a header says about the elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
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
                format_args!("the elements are structured, {text}: only numbers can be folded"),
                "save one field: numpy.save(file, x['field'])",
            ));
        }
    };
    let dtype = dtype_of(&descr, name)?;
    if shape.len() > MOST_AXES {
        let cause = format!(
            "{} axes are more than the {MOST_AXES} of NumPy",
            shape.len()
        );
        return Err(Failure::at(name, cause));
    }
    // With one long axis at most, both orders are the same.
    if fortran_order && shape.iter().filter(|&&length| length != 1).count() > 1 {
        return Err(Failure::with_remedy(
            name,
            "the elements are in Fortran order, and folds run in C order",
            "numpy.save(file, numpy.ascontiguousarray(x))",
        ));
    }
    Ok(Header { dtype, shape })
}

/// The type that NumPy's `descr` names, such as `<f4`.
fn dtype_of(descr: &str, name: &str) -> Result<DType> {
    let (order, code) = match descr.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), code)) => (order, code),
        _ => ("=", descr),
    };
    let known = DType::value_variants()
        .iter()
        .find(|&&dtype| code_of(dtype) == Some(code));
    let Some(&dtype) = known else {
        let codes: Vec<_> = DType::value_variants()
            .iter()
            .filter_map(|&d| code_of(d))
            .collect();
        return Err(Failure::with_remedy(
            name,
            format_args!("the elements are of the unknown type '{descr}'"),
            format_args!(
                "convert them, x.astype(...), to one of {}",
                codes.join(", ")
            ),
        ));
    };
    if order == ">" && dtype.size() > 1 {
        return Err(Failure::with_remedy(
            name,
            format_args!("the elements are big endian, '{descr}'"),
            format_args!("numpy.save(file, x.astype('<{code}'))"),
        ));
    }
    Ok(dtype)
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

/// Reads the elements that a header announced.
pub(crate) fn read<T: Number>(header: &Header, input: &mut Input) -> Result<Vec<T>> {
    let size = size_of::<T>();
    let product = header
        .shape
        .iter()
        .try_fold(1_usize, |all, &axis| all.checked_mul(axis));
    let count = match product {
        // A product that overflows before it meets a zero is still zero.
        _ if header.shape.contains(&0) => 0,
        Some(count) if count.checked_mul(size).is_some() => count,
        _ => {
            let shape = show_shape(&header.shape);
            let cause = format!("the shape {shape} has more elements than memory can hold");
            return Err(Failure::at(&input.name, cause));
        }
    };
    let start = input.position();
    let needed = (count * size) as u64;
    let name = input.name.clone();
    let missing = |available: u64| {
        let end = start + needed;
        let shape = show_shape(&header.shape);
        let cause = format!(
            "the file is truncated: it ends at byte {}, but {shape} elements of {} end at byte {end}",
            start + available,
            T::DTYPE,
        );
        Failure::at(&name, cause)
    };
    if let Some(available) = input.remaining().filter(|&available| available < needed) {
        return Err(missing(available));
    }
    let (values, rest) = input.read_elements::<T>(count)?;
    if values.len() < count {
        return Err(missing((values.len() * size + rest) as u64));
    }
    if input.fill(&mut [0])? > 0 {
        return Err(Failure::with_remedy(
            &input.name,
            format_args!("more data follow the array, from byte {}", start + needed),
            "keep one array per file",
        ));
    }
    Ok(values)
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

/// Writes a whole file.
pub(crate) fn write<T: Number>(values: &[T], shape: &[usize], output: &mut Output) -> Result<()> {
    output.write(&header_bytes(T::DTYPE, shape))?;
    output.write(bytemuck::cast_slice(values))
}

/// The length of the header is such that the elements start at a multiple of 64 bytes, as NumPy
/// has it.
fn header_bytes(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let order = if dtype.size() == 1 { '|' } else { '<' };
    let code = code_of(dtype).unwrap_or_default();
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
