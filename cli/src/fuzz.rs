//! Every reader on random input: what it should read it reads, and nothing makes it panic or hang.

use crate::args::{Format, InputArguments, TextArguments};
use crate::input::Input;
use crate::number::{DType, Number};
use crate::numbers::Numbers;
use crate::text::Column;
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::{self, Read};
use warpfold::bytemuck;

/// Gives bytes in small, uneven pieces, as a pipe may.
struct Drops(io::Cursor<Vec<u8>>, usize);

impl Read for Drops {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let count = bytes.len().min(self.1);
        self.0.read(&mut bytes[..count])
    }
}

/// All numbers of some bytes; nothing if they are refused.
fn read<T: Number>(bytes: &[u8], format: Format, options: &InputArguments) -> Option<Vec<T>> {
    let input = Input::reading("fuzz", Drops(io::Cursor::new(bytes.to_vec()), 0));
    let mut numbers = Numbers::of(input, format, options).ok()?;
    let mut all = Vec::new();
    loop {
        let piece = numbers.read(T::DTYPE).ok()?;
        all.extend(piece.values.into_vec::<T>());
        if piece.last {
            return Some(all);
        }
    }
}

fn options(dtype: Option<DType>, text: TextArguments) -> InputArguments {
    InputArguments {
        dtype,
        text,
        ..InputArguments::default()
    }
}

/// A header as NumPy writes it.
fn npy(descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let shape: String = shape.iter().map(|axis| format!("{axis}, ")).collect();
    let dictionary =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({shape}), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((dictionary.len() as u16).to_le_bytes());
    file.extend(dictionary.as_bytes());
    file.extend(data);
    file
}

/// White space separates words: tabs set no columns apart.
fn words_alone() -> TextArguments {
    TextArguments {
        delimiter: Some(b' '),
        ..TextArguments::default()
    }
}

/// White space that may stand between words, with a comma before it or a comment in it.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[ \t]{1,3}",
        3 => "[ ]?,?[ ]{0,2}(\n|\r|\r\n){1,2}",
        // Behind a number, `###` and words such as `#na` are errors of spreadsheets.
        1 => "[ ]{1,70}#([a-df-hj-mo-z0-9,.; ][a-z0-9,.#; ]{0,79})?(\n|\r|\r\n)",
        1 => "[ ]{60,70}\n",
        1 => "[ ]?, ",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_are_read(words in vec((any::<i64>(), gap()), 0..60), mark in any::<bool>()) {
        let mut text = if mark { "\u{feff}".to_owned() } else { String::new() };
        for (number, gap) in &words {
            text += &format!("{number}{gap}");
        }
        let expected: Vec<_> = words.iter().map(|(number, _)| *number).collect();
        let plain = options(None, words_alone());
        prop_assert_eq!(read::<i64>(text.as_bytes(), Format::Text, &plain), Some(expected));
    }

    #[test]
    fn floats_are_read(words in vec((any::<f64>(), gap()), 0..60)) {
        let text: String = words.iter().map(|(number, gap)| format!("{number:e}{gap}")).collect();
        let expected: Vec<_> = words.iter().map(|(number, _)| number.to_bits()).collect();
        let plain = options(Some(DType::F64), words_alone());
        let values = read::<f64>(text.as_bytes(), Format::Text, &plain).unwrap();
        let bits: Vec<_> = values.iter().map(|value| value.to_bits()).collect();
        prop_assert!(bits == expected || values.iter().any(|value| value.is_nan()));
    }

    #[test]
    fn columns_are_read(
        rows in vec(vec((any::<i32>(), any::<bool>()), 3), 0..40),
        column in 1_usize..=3,
        delimiter in prop_oneof![Just(None), Just(Some(b',')), Just(Some(b';')), Just(Some(b'\t'))],
        header in any::<bool>(),
    ) {
        let separator = delimiter.unwrap_or(b' ') as char;
        let mut text = String::new();
        if header {
            text = ["a", "b", "c"].join(&separator.to_string()) + "\n";
        }
        for row in &rows {
            // A first row that alone is quoted could be a header: one field is never quoted.
            let fields: Vec<_> = row
                .iter()
                .enumerate()
                .map(|(place, (number, quoted))| match *quoted && delimiter.is_some() && place > 0 {
                    true => format!("\"{number}\""),
                    false => number.to_string(),
                })
                .collect();
            text += &(fields.join(&separator.to_string()) + "\n");
        }
        let wanted = match header {
            true => Column(["a", "b", "c"][column - 1].into()),
            false => Column(column.to_string()),
        };
        let text_options =
            TextArguments { columns: vec![wanted], delimiter, ..TextArguments::default() };
        let expected: Vec<_> = rows.iter().map(|row| i64::from(row[column - 1].0)).collect();
        prop_assert_eq!(
            read::<i64>(text.as_bytes(), Format::Text, &options(None, text_options)),
            Some(expected)
        );
    }

    #[test]
    fn arrays_are_read(
        shape in vec(0_usize..6, 0..4),
        seed in any::<i32>(),
        fortran in any::<bool>(),
        big in any::<bool>(),
        more in vec(any::<u8>(), 0..3),
    ) {
        let count: usize = shape.iter().product();
        let at = |index: usize| seed.wrapping_mul(index as i32 + 1);
        // The element at some indices is at(its position in C order).
        let mut data = vec![0; 4 * count];
        for index in 0..count {
            let (mut rest, mut place, mut stride) = (index, 0, 1);
            let mut indices = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                indices[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            for axis in 0..shape.len() {
                place += indices[axis] * stride;
                stride *= shape[axis];
            }
            let place = if fortran { place } else { index };
            let bytes = if big { at(index).to_be_bytes() } else { at(index).to_le_bytes() };
            data[4 * place..][..4].copy_from_slice(&bytes);
        }
        data.extend(more);
        let file = npy(if big { ">i4" } else { "<i4" }, fortran, &shape, &data);
        let expected: Vec<_> = (0..count).map(at).collect();
        let plain = InputArguments::default();
        prop_assert_eq!(read::<i32>(&file, Format::Npy, &plain), Some(expected));
        if count > 0 {
            let cut = &file[..file.len() - data.len() + 4 * count - 1];
            prop_assert_eq!(read::<i32>(cut, Format::Npy, &plain), None);
        }
    }

    #[test]
    fn truth_is_0_or_1(bytes in vec(any::<u8>(), 0..50)) {
        let file = npy("|b1", false, &[bytes.len()], &bytes);
        let expected: Vec<_> = bytes.iter().map(|byte| u8::from(*byte != 0)).collect();
        prop_assert_eq!(read::<u8>(&file, Format::Npy, &InputArguments::default()), Some(expected));
    }

    #[test]
    fn raw_data_are_read(values in vec(any::<u16>(), 0..80), rest in any::<bool>()) {
        let mut bytes = bytemuck::cast_slice::<u16, u8>(&values).to_vec();
        let expected = (!rest).then_some(values);
        bytes.extend(rest.then_some(1));
        let raw = options(Some(DType::U16), TextArguments::default());
        prop_assert_eq!(read::<u16>(&bytes, Format::Raw, &raw), expected);
    }

    /// Whatever comes, it is read or refused.
    #[test]
    fn nothing_panics(
        bytes in prop_oneof![
            vec(any::<u8>(), 0..400),
            "[0-9 ,.;#\"e\n+-]{0,400}".prop_map(String::into_bytes),
            "[0-9 ,.;#\"e\n+-]{0,400}".prop_map(|data| npy("<f4", true, &[3, 5], data.as_bytes())),
        ],
        changed in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        column in prop_oneof![
            Just(vec![]), Just(vec!["2"]), Just(vec!["e"]), Just(vec!["3", "1"]), Just(vec!["2-"]),
        ],
        ragged in any::<bool>(),
        delimiter in prop_oneof![Just(None), Just(Some(b',')), Just(Some(b';'))],
        skip in 0_u64..3,
    ) {
        let mut bytes = bytes;
        for (index, byte) in changed {
            if !bytes.is_empty() {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
        }
        let text = options(None, TextArguments {
            skip,
            columns: column.iter().map(|column| Column((*column).into())).collect(),
            delimiter,
            ragged,
            ..TextArguments::default()
        });
        let _ = read::<f64>(&bytes, Format::Text, &text);
        let _ = read::<f64>(&bytes, Format::Npy, &InputArguments::default());
    }
}
