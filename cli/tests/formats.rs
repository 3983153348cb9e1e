//! Every type in every format, and the files of other programs.

use crate::support::{folder, npy, npy_of, pass, pass_in};

/// For each type an increasing sequence with its extremes, as the command itself writes it.
const INCREASING: [(&str, &str); 12] = [
    ("u8", "0 1 127 128 255"),
    ("i8", "-128 -1 0 127"),
    ("u16", "0 256 32768 65535"),
    ("i16", "-32768 -1 0 32767"),
    ("u32", "0 65536 4294967295"),
    ("i32", "-2147483648 0 2147483647"),
    ("u64", "0 9007199254740993 18446744073709551615"),
    ("i64", "-9223372036854775808 0 9223372036854775807"),
    (
        "f16",
        "-inf -65504.0 -0.0 5.9604645e-8 0.099975586 1.5 65504.0 inf",
    ),
    (
        "bf16",
        "-inf -3.3895314e+38 -0.0 9.1835e-41 0.100097656 1.5 inf",
    ),
    ("f32", "-inf -3.4028235e+38 -0.0 1e-45 0.1 16777216.0 inf"),
    (
        "f64",
        "-inf -1.7976931348623157e+308 -0.0 5e-324 0.1 1e+16 inf",
    ),
];

#[test]
fn all_types_survive_all_formats() {
    for (dtype, text) in INCREASING {
        let lines = text.replace(' ', "\n") + "\n";
        let folder = folder(&[("x.txt", lines.as_bytes())]);
        // A running maximum of what increases anyway changes nothing.
        let convert = |arguments: &str| {
            let line = format!("scan --inclusive --op max {arguments}");
            assert!(pass_in(folder.path(), &line, b"").is_empty());
        };
        let mut previous = "x.txt".to_owned();
        let names = [
            "a.npy", "b.raw", "c.npy", "d.txt", "e.bin", "f.csv", "g.npy", "h.txt",
        ];
        for name in names
            .iter()
            .filter(|name| dtype != "bf16" || !name.ends_with("npy"))
        {
            convert(&format!("--dtype {dtype} {previous} -o {name}"));
            previous = (*name).into();
        }
        assert_eq!(
            std::fs::read_to_string(folder.path().join("h.txt")).unwrap(),
            lines,
            "{dtype}"
        );
    }
}

#[test]
fn raw_data_are_little_endian() {
    let halves: Vec<u8> = [0x3c00_u16, 0x3800]
        .iter()
        .flat_map(|h| h.to_le_bytes())
        .collect();
    for (dtype, bytes, text) in [
        (
            "i32",
            [-2_i32, 70000].map(i32::to_le_bytes).concat(),
            "-2 69998",
        ),
        (
            "f64",
            [0.5_f64, 0.25].map(f64::to_le_bytes).concat(),
            "0.5 0.75",
        ),
        ("f16", halves, "1.0 1.5"),
        (
            "bf16",
            [0x3f80_u16, 0x3f00].map(u16::to_le_bytes).concat(),
            "1.0 1.5",
        ),
    ] {
        let folder = folder(&[("x.bin", &bytes)]);
        let line = format!("scan -i --dtype {dtype} x.bin --output-format text");
        let output = pass_in(folder.path(), &line, b"");
        assert_eq!(
            String::from_utf8(output)
                .unwrap()
                .trim_end()
                .replace('\n', " "),
            text
        );
    }
}

#[test]
fn an_npy_file_is_written_as_numpy_writes_it() {
    // numpy.save of numpy.arange(6, dtype='i4').reshape(2, 3)
    let mut expected =
        b"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }"
            .to_vec();
    expected.resize(127, b' ');
    expected.push(b'\n');
    expected.extend((0..6).flat_map(i32::to_le_bytes));
    let folder = folder(&[("x.npy", &expected)]);
    assert_eq!(
        pass_in(folder.path(), "scan -i --op max x.npy", b""),
        expected
    );
    let exclusive = pass_in(folder.path(), "scan -x x.npy", b"");
    let sums = [0, 0, 1, 3, 6, 10].map(i64::to_le_bytes).concat();
    assert_eq!(exclusive, npy_of("<i8", "(2, 3)", &sums));
    // numpy.save of a scalar
    assert_eq!(
        pass_in(folder.path(), "reduce x.npy --output-format npy", b""),
        npy_of("<i8", "()", &15_i64.to_le_bytes())
    );
    // From text, an array of one axis; single bytes have no order.
    assert_eq!(
        pass_in(
            folder.path(),
            "scan --op max --dtype u8 --output-format npy",
            b"1 3 2"
        ),
        npy_of("|u1", "(3,)", &[1, 3, 3])
    );
}

#[test]
fn all_versions_and_spellings_of_npy_are_read() {
    let data = [1_u16, 2, 3, 4].map(u16::to_le_bytes).concat();
    let entries = "'fortran_order': False, 'shape': (2, 2)";
    for file in [
        npy(1, &format!("{{'descr': '<u2', {entries}, }}"), &data),
        npy(2, &format!("{{'descr': '<u2', {entries}, }}"), &data),
        npy(3, &format!("{{'descr': '<u2', {entries}, }}"), &data),
        npy(1, &format!("{{{entries}, 'descr': \"=u2\"}}"), &data),
        npy(
            1,
            "{'descr': '<u2', 'fortran_order': False, 'shape': (4L,)}",
            &data,
        ),
        // One long axis: Fortran's order is C's.
        npy(
            1,
            "{'descr': '<u2', 'fortran_order': True, 'shape': (1, 4)}",
            &data,
        ),
    ] {
        // By its ending, and by its beginning whatever the ending.
        for name in ["x.npy", "x.bin", "x"] {
            let folder = folder(&[(name, &file)]);
            assert_eq!(
                pass_in(folder.path(), &format!("reduce {name}"), b""),
                b"10\n"
            );
        }
    }
    // NumPy's half precision: 1, 0.5 and 2^-24.
    let halves = [0x3c00_u16, 0x3800, 1].map(u16::to_le_bytes).concat();
    let folder = folder(&[("h.npy", &npy_of("<f2", "(3,)", &halves))]);
    assert_eq!(
        pass_in(folder.path(), "reduce --op min h.npy", b""),
        b"5.9604645e-8\n"
    );
    let empty = npy_of("<f8", "(3, 0)", &[]);
    assert_eq!(pass_in(folder.path(), "scan -", &empty), empty);
    let scalar = npy_of("<f8", "()", &2.5_f64.to_le_bytes());
    assert_eq!(pass_in(folder.path(), "scan -i", &scalar), scalar);
}

#[test]
fn text_has_the_type_that_its_numbers_need() {
    assert_eq!(pass("reduce", "1 2 3"), "6");
    assert_eq!(pass("reduce", "1 2.0 3"), "6.0");
    assert_eq!(pass("reduce", "1 2e0"), "3.0");
    assert_eq!(pass("reduce", "1, 2, inf"), "inf");
    assert_eq!(pass("reduce --op max", "1 NaN"), "NaN");
    assert_eq!(pass("reduce --dtype f32", "1 2"), "3.0");
    assert_eq!(
        pass("reduce --dtype u64", "18446744073709551615"),
        "18446744073709551615"
    );
    assert_eq!(pass("scan -i", "1, 2,\r\n3\t4\n"), "1 3 6 10");
}

#[test]
fn the_ending_of_a_name_is_its_format() {
    let two = &[1_u8, 2][..];
    for (name, bytes) in [
        ("x.bin", two),
        ("x.raw", two),
        ("x.dat", two),
        ("x.txt", b"1 2"),
        ("x.csv", b"1,2"),
        ("x.tsv", b"1\t2"),
        ("x", b"1 2"),
    ] {
        let folder = crate::support::folder(&[(name, bytes)]);
        let sums = "scan --dtype u8 --accumulate u8 --wrapping";
        let line = format!("{sums} {name} --output-format text");
        assert_eq!(pass_in(folder.path(), &line, b""), b"1\n3\n", "{name}");
        // The output's ending counts as well.
        for (ending, expected) in [("raw", &[1_u8, 3][..]), ("csv", b"1\n3\n")] {
            let line = format!("{sums} {name} -o y.{ending}");
            pass_in(folder.path(), &line, b"");
            let written = std::fs::read(folder.path().join(format!("y.{ending}"))).unwrap();
            assert_eq!(written, expected, "{name} to {ending}");
        }
    }
}
