use super::*;
use crate::number::BadNumber;
use warpfold::half::{bf16, f16};

/// All numbers of a text.
fn parse_with<T: Number>(text: &[u8], options: &TextArguments) -> Result<Vec<T>, String> {
    let message = |failure| match failure {
        Failure::Message(message) => message,
        Failure::BrokenPipe => panic!("a pipe, in a test without pipes"),
    };
    let (mut text, _) =
        Text::open(Input::of("t", text), options, Some(T::DTYPE)).map_err(message)?;
    text.read(usize::MAX).map_err(message)
}

fn parse<T: Number>(text: &[u8]) -> Result<Vec<T>, String> {
    parse_with(text, &TextArguments::default())
}

fn inferred(text: &[u8], options: &TextArguments) -> DType {
    Text::open(Input::of("t", text), options, None).unwrap().1
}

fn csv() -> TextArguments {
    TextArguments {
        delimiter: Some(b','),
        ..TextArguments::default()
    }
}

#[test]
fn words_stand_between_white_space() {
    let values = parse::<i64>("\u{feff}1, 2 ,3\n\t4\r\n\n5,\n+6 -7".as_bytes());
    assert_eq!(values.unwrap(), [1, 2, 3, 4, 5, 6, -7]);
    for (text, column) in [("1, ,2", 4), (",1", 1), ("1\n, 2", 1), ("1 , , 2", 5)] {
        let error = parse::<i64>(text.as_bytes()).unwrap_err();
        assert!(
            error.contains(&format!("column {column}: ")),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_comma_in_a_word_is_refused() {
    for text in ["1,000", "3,14", "1,2,3", "1\n2 1,000,000.5\n"] {
        let error = parse::<f64>(text.as_bytes()).unwrap_err();
        assert!(error.contains("--delimiter ,"), "{error}");
    }
    // Quoted, it is part of a number also in a table.
    let error = parse_with::<i64>(b"1,\"1,000\"\n", &csv()).unwrap_err();
    assert!(
        error.contains("line 1, field 2: `1,000` is not a number"),
        "{error}"
    );
}

#[test]
fn comments_end_with_their_line() {
    let text = b"# 9 9\n1 2 #9\n#\n 3 # 4 , 5\n6";
    assert_eq!(parse::<u8>(text).unwrap(), [1, 2, 3, 6]);
    assert_eq!(parse_with::<u8>(b"#9,9\n1,2\n", &csv()).unwrap(), [1, 2]);
}

fn options(skip: u64, column: &str, delimiter: Option<u8>) -> TextArguments {
    TextArguments {
        skip,
        columns: vec![Column(column.into())],
        delimiter,
        ..TextArguments::default()
    }
}

#[test]
fn columns_have_numbers_and_names() {
    let words = b"made today\nx y\n1 2\n\n3 4.5\n";
    for (skip, column) in [
        (2, "2"),
        (1, "y"),
        (1, "name:y"),
        (1, "2"),
        (2, "2-"),
        (2, "2-2"),
    ] {
        let options = options(skip, column, None);
        assert_eq!(parse_with::<f64>(words, &options).unwrap(), [2.0, 4.5]);
        assert_eq!(inferred(words, &options), DType::F64);
    }
    let table = b"made today\nx,\"y, z\"\n1,2\n\n3,\"4\"\n";
    for (skip, column) in [(2, "2"), (1, "y, z"), (1, "2")] {
        let options = options(skip, column, Some(b','));
        assert_eq!(parse_with::<f64>(table, &options).unwrap(), [2.0, 4.0]);
        assert_eq!(inferred(table, &options), DType::I64);
    }
    for (column, delimiter, message) in [
        (
            "3",
            None,
            "line 3: this row has 2 fields, but the first row has 3, in line 2",
        ),
        (
            "3",
            Some(b','),
            "line 3: this row has 2 fields, but the first row has 3, in line 2",
        ),
        ("w", None, "no column is named `w`"),
        ("w", Some(b','), "the first line that is read names 1, 2, 3"),
    ] {
        let text: &[u8] = if delimiter.is_some() {
            b"a\n1,2,3\n1,2\n"
        } else {
            b"a\n1 2 3\n1 2"
        };
        let error = parse_with::<f64>(text, &options(1, column, delimiter)).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_missing_number_is_an_error() {
    for text in ["1,,2", "1,2,\n", ",1"] {
        let error = parse_with::<f64>(text.as_bytes(), &csv()).unwrap_err();
        assert!(
            error.contains("a number is missing here"),
            "{text}: {error}"
        );
    }
    assert_eq!(
        parse_with::<u8>(b" 1 , 2 \n\n \n3,4\n", &csv()).unwrap(),
        [1, 2, 3, 4]
    );
}

#[test]
fn a_header_is_passed_over_and_a_mistake_is_none() {
    for (text, options) in [
        ("age\n1\n", TextArguments::default()),
        ("age,b\n1,2\n", csv()),
    ] {
        let numbers = if text.contains(',') {
            vec![1, 2]
        } else {
            vec![1]
        };
        let read = parse_with::<i64>(text.as_bytes(), &options).unwrap();
        assert_eq!(read, numbers);
        // A number with a mistake in it is no header: what is skipped is lost.
        for (first, is_name) in [("age", true), ("1O", false)] {
            let text = text.replace("age", first);
            let error = parse_with::<i64>(text.as_bytes(), &no_header(&options)).unwrap_err();
            assert_eq!(error.contains("--skip 1"), is_name, "{error}");
        }
        let before = if text.contains(',') { "3,4" } else { "3" };
        let text_below = format!("{before}\n{text}");
        let error = parse_with::<i64>(text_below.as_bytes(), &options).unwrap_err();
        let is_said = error.contains("if this line is the header, and none above holds data");
        assert_eq!(error.contains("--skip 1"), is_said, "{error}");
        let skip = TextArguments { skip: 1, ..options };
        assert_eq!(parse_with::<i64>(text.as_bytes(), &skip).unwrap(), numbers);
    }
}

fn no_header(options: &TextArguments) -> TextArguments {
    TextArguments {
        no_header: true,
        delimiter: options.delimiter,
        ..TextArguments::default()
    }
}

#[test]
fn places_are_those_of_the_whole_text() {
    for spaces in 0..200 {
        let text = format!("1 2\n3{}ä", " ".repeat(spaces + 1));
        let error = parse::<i64>(text.as_bytes()).unwrap_err();
        assert!(
            error.contains(&format!("line 2, column {}:", spaces + 3)),
            "{error}"
        );
        let text = format!("1\n{}é 1 x", "é ".repeat(0) + &"1 ".repeat(spaces));
        let error = parse::<i64>(text.as_bytes()).unwrap_err();
        assert!(
            error.contains(&format!("line 2, column {}:", 2 * spaces + 1)),
            "{error}"
        );
    }
}

#[test]
fn a_type_holds_from_the_sample_on() {
    let ones = "1 ".repeat(SAMPLE_BYTES);
    for late in ["0.5", "1e3", "nan"] {
        let text = format!("{ones}\n{late}");
        let (mut text, dtype) = Text::open(
            Input::of("t", text.as_bytes()),
            &TextArguments::default(),
            None,
        )
        .unwrap();
        assert_eq!(dtype, DType::I64);
        let Err(Failure::Message(error)) = text.read::<i64>(usize::MAX) else {
            panic!("{late} is no integer")
        };
        assert!(
            error.contains("line 2, column 1:") && error.contains("--dtype f64"),
            "{error}"
        );
    }
    assert_eq!(inferred(b"1 2 3.", &TextArguments::default()), DType::F64);
    assert_eq!(
        inferred(b"1 2 # 3.5", &TextArguments::default()),
        DType::I64
    );
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

/// A table's columns, by pieces of two rows: names, and their numbers.
fn table(text: &str, options: &TextArguments, gaps: Gaps) -> Vec<(Option<String>, Vec<f64>)> {
    let mut table = Table::open(Input::of("t", text.as_bytes()), options, None, gaps, &[]).unwrap();
    let mut columns: Vec<_> = (table.columns.iter().map(|c| c.name.clone())).collect::<Vec<_>>();
    let mut columns: Vec<_> = columns.drain(..).map(|name| (name, Vec::new())).collect();
    while !table.ended() {
        for (column, values) in columns.iter_mut().zip(table.read(2).unwrap()) {
            column.1.extend(values.into_vec::<f64>());
        }
    }
    columns
}

#[test]
fn a_table_gives_its_columns_side_by_side() {
    let text = "name,age,height\nann,30,1.5\nbob,,1.75\neve,50,2\n";
    let skip = TextArguments {
        missing: Some(crate::args::Missing::Skip),
        ..csv()
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        table(text, &skip, Gaps::Apart),
        [
            (name("age"), vec![30.0, 50.0]),
            (name("height"), vec![1.5, 1.75, 2.0])
        ]
    );
    assert_eq!(
        table(text, &skip, Gaps::Together),
        [
            (name("age"), vec![30.0, 50.0]),
            (name("height"), vec![1.5, 2.0])
        ]
    );
    let open = |text: &str| {
        Table::open(
            Input::of("t", text.as_bytes()),
            &skip,
            None,
            Gaps::Apart,
            &[],
        )
    };
    let mut opened = open(text).unwrap();
    let types: Vec<_> = opened.columns.iter().map(|column| column.dtype).collect();
    assert_eq!(types, [DType::I64, DType::F64]);
    opened.read(9).unwrap();
    assert_eq!([opened.missing(0), opened.missing(1)], [1, 0]);
    // Words that are in no table are one column.
    let words = TextArguments::default();
    assert_eq!(
        table("1 2 3\n4", &words, Gaps::Apart),
        [(None, vec![1.0, 2.0, 3.0, 4.0])]
    );
    assert_eq!(
        table("x y\n1 2\n3 4", &words, Gaps::Apart),
        [(name("x"), vec![1.0, 3.0]), (name("y"), vec![2.0, 4.0])]
    );
    // NumPy's savetxt.
    assert_eq!(
        table("# a,b\n1,2\n3,4", &csv(), Gaps::Apart),
        [(name("a"), vec![1.0, 3.0]), (name("b"), vec![2.0, 4.0])]
    );
}
