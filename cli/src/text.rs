//! Numbers as text: separated by white space or commas, written one per line.

use crate::failure::{Failure, Result};
use crate::number::{BadNumber, DType, Number};
use crate::output::Output;

/// Text is handed on in pieces of about this size.
const CHUNK_BYTES: usize = 1 << 16;

/// The type that a text asks for: `f64` if any number has a point, an exponent, or is `inf` or
/// `nan`, else `i64`.
pub(crate) fn infer_dtype(text: &[u8]) -> DType {
    let of_float = |byte: &u8| matches!(byte, b'.' | b'e' | b'E' | b'i' | b'I' | b'n' | b'N');
    if text.iter().any(of_float) {
        DType::F64
    } else {
        DType::I64
    }
}

/// Reads all numbers of `text`, which `name` is the source of.
pub(crate) fn parse<T: Number>(text: &[u8], name: &str) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let mut position = if text.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    // A comma needs a number before it on its line; one at the end of a line is fine.
    let mut comma_may_follow = false;
    while let Some(&byte) = text.get(position) {
        match byte {
            b'\n' => comma_may_follow = false,
            _ if byte.is_ascii_whitespace() => {}
            b',' if comma_may_follow => comma_may_follow = false,
            b',' => {
                let place = place(text, position, name);
                return Err(Failure::at(place, "there is no number before this comma"));
            }
            _ => {
                let rest = &text[position..];
                let length = rest
                    .iter()
                    .position(|&b| ends_number(b))
                    .unwrap_or(rest.len());
                let token = &rest[..length];
                values.push(T::parse(token).map_err(|bad| {
                    bad_number(bad, token, place(text, position, name), T::DTYPE)
                })?);
                comma_may_follow = true;
                position += length;
                continue;
            }
        }
        position += 1;
    }
    Ok(values)
}

fn ends_number(byte: u8) -> bool {
    byte == b',' || byte.is_ascii_whitespace()
}

/// Where a byte stands, as an editor would say it.
fn place(text: &[u8], position: usize, name: &str) -> String {
    let before = &text[..position];
    let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
    let start = before
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(0, |newline| newline + 1);
    let column = 1 + String::from_utf8_lossy(&before[start..])
        .trim_start_matches('\u{feff}')
        .chars()
        .count();
    format!("{name}: line {line}, column {column}")
}

#[cold]
fn bad_number(bad: BadNumber, token: &[u8], place: String, dtype: DType) -> Failure {
    const SHOWN: usize = 40;
    let mut shown: String = String::from_utf8_lossy(token)
        .escape_debug()
        .take(SHOWN)
        .collect();
    if token.len() > shown.len() {
        shown.push('…');
    }
    let binary = str::from_utf8(token).is_err() || token.iter().any(u8::is_ascii_control);
    if bad == BadNumber::NotANumber && binary {
        return Failure::with_remedy(
            place,
            format_args!("`{shown}` is not a number; this looks like binary data"),
            "give --format raw and --dtype",
        );
    }
    Failure::at(place, bad.describe(&shown, dtype))
}

/// Writes one number per line.
pub(crate) fn write<T: Number>(values: &[T], output: &mut Output) -> Result<()> {
    write_lines(values, output, |value, text| value.append_to(text))
}

/// Writes one number per line, and its count before it, as `uniq -c` does.
pub(crate) fn write_counted<T: Number>(
    counts: &[u64],
    values: &[T],
    output: &mut Output,
) -> Result<()> {
    let lines = counts.iter().zip(values);
    write_lines(lines, output, |(count, value), text| {
        text.extend_from_slice(format!("{count:7} ").as_bytes());
        value.append_to(text);
    })
}

fn write_lines<L>(
    lines: impl IntoIterator<Item = L>,
    output: &mut Output,
    append: impl Fn(L, &mut Vec<u8>),
) -> Result<()> {
    let mut text = Vec::with_capacity(CHUNK_BYTES + 64);
    for line in lines {
        append(line, &mut text);
        text.push(b'\n');
        if text.len() >= CHUNK_BYTES {
            output.write(&text)?;
            text.clear();
        }
    }
    output.write(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::half::{bf16, f16};

    fn message(failure: Failure) -> String {
        match failure {
            Failure::Message(message) => message,
            Failure::BrokenPipe => panic!("a pipe, in a test without pipes"),
        }
    }

    #[test]
    fn separators_are_white_space_and_commas() {
        let values = parse::<i64>("\u{feff}1,2 ,3\n\t4\r\n\n5,\n+6 -7".as_bytes(), "t");
        assert_eq!(values.unwrap(), [1, 2, 3, 4, 5, 6, -7]);
        for (text, column) in [("1,,2", 3), (",1", 1), ("1, ,2", 4)] {
            let error = message(parse::<i64>(text.as_bytes(), "t").unwrap_err());
            assert!(
                error.contains(&format!("line 1, column {column}:")),
                "{error}"
            );
        }
    }

    #[test]
    fn integers_are_judged_in_full() {
        assert_eq!(u8::parse(b"-0"), Ok(0));
        assert_eq!(u8::parse(b"256"), Err(BadNumber::OutOfRange));
        assert_eq!(u8::parse(b"-1"), Err(BadNumber::OutOfRange));
        assert_eq!(u64::parse(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(i64::parse(&[b'9'; 99]), Err(BadNumber::OutOfRange));
        assert_eq!(i64::parse(b"1.5"), Err(BadNumber::NotAnInteger));
        assert_eq!(i64::parse(b"nan"), Err(BadNumber::NotAnInteger));
        assert_eq!(i64::parse(b"--1"), Err(BadNumber::NotANumber));
        assert_eq!(i64::parse(b"1_000"), Err(BadNumber::NotANumber));
        assert_eq!(i64::parse(b"-"), Err(BadNumber::NotANumber));
    }

    #[test]
    fn floats_too_large_are_not_infinite() {
        assert_eq!(f64::parse(b"1e400"), Err(BadNumber::OutOfRange));
        assert_eq!(f32::parse(b"-1e39"), Err(BadNumber::OutOfRange));
        assert_eq!(f16::parse(b"65520"), Err(BadNumber::OutOfRange));
        assert_eq!(f16::parse(b"65519"), Ok(f16::MAX));
        assert_eq!(f64::parse(b"-Infinity"), Ok(f64::NEG_INFINITY));
        assert_eq!(f64::parse(b"+inf"), Ok(f64::INFINITY));
        assert!(f64::parse(b"NaN").unwrap().is_nan());
    }

    #[test]
    fn halves_are_rounded_once() {
        // The middle between 1 and the next number goes to the even one, which is 1. Just beside
        // the middle is where an f32 on the way would round onto it.
        for (text, bits) in [
            ("1.000488281249", 0x3c00),
            ("1.00048828125", 0x3c00),
            ("1.000488281251", 0x3c01),
            ("-1.001464843749", 0xbc01),
            ("-1.00146484375", 0xbc02),
            ("2.98e-8", 0x0000),
            ("2.99e-8", 0x0001),
            ("1e-300", 0x0000),
            ("65519.999999", 0x7bff),
        ] {
            assert_eq!(
                f16::parse(text.as_bytes()).map(f16::to_bits),
                Ok(bits),
                "{text}"
            );
        }
        assert_eq!(bf16::parse(b"1.00390625"), Ok(bf16::ONE));
        assert_eq!(
            bf16::parse(b"1.0039062500001").map(bf16::to_bits),
            Ok(0x3f81)
        );
        assert_eq!(bf16::parse(b"1e300"), Err(BadNumber::OutOfRange));
    }
}
