//! Every type in every format, and the files of other programs.

use crate::support::{fail_in, folder, npy, npy_of, pass, pass_in};

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
        ("x.csv", b"1\n2"),
        ("x.tsv", b"1\n2"),
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

/// What NumPy takes: any order of axes and bytes, truth values, and an array before other data.
#[test]
fn arrays_of_any_order_are_read() {
    // numpy.arange(6).reshape(2, 3): by columns, in big endian, or both.
    let columns = [0, 3, 1, 4, 2, 5];
    let sums = npy_of(
        "<i8",
        "(2, 3)",
        &[0_i64, 1, 3, 6, 10, 15].map(i64::to_le_bytes).concat(),
    );
    for (descr, fortran, data) in [
        (
            ">i4",
            "False",
            (0..6).flat_map(i32::to_be_bytes).collect::<Vec<_>>(),
        ),
        ("<i4", "True", columns.map(i32::to_le_bytes).concat()),
        (
            ">i2",
            "True",
            columns.map(|x| x as i16).map(i16::to_be_bytes).concat(),
        ),
    ] {
        let dictionary =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (2, 3), }}");
        let folder = folder(&[("x.npy", &npy(1, &dictionary, &data))]);
        assert_eq!(pass_in(folder.path(), "scan x.npy", b""), sums, "{descr}");
        assert_eq!(
            pass_in(folder.path(), "scan", &npy(1, &dictionary, &data)),
            sums,
            "{descr}"
        );
        assert_eq!(
            pass_in(
                folder.path(),
                "select --gt 2 --positions x.npy --output-format text",
                b""
            ),
            b"3\n4\n5\n"
        );
    }
    let truth = npy_of("|b1", "(4,)", &[1, 0, 1, 1]);
    assert_eq!(pass_in(std::path::Path::new("."), "reduce", &truth), b"3\n");
    assert_eq!(
        pass_in(std::path::Path::new("."), "scan --op max", &truth),
        npy_of("|u1", "(4,)", &[1; 4])
    );
}

#[test]
fn data_after_an_array_are_left_with_a_warning() {
    let one = npy_of("<i2", "(2,)", &[1, 0, 2, 0]);
    let folder = folder(&[("x.npy", &[&one[..], &one].concat())]);
    let output = crate::support::run_in(folder.path(), "reduce x.npy", b"");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.stdout, b"3\n");
    assert!(
        errors.starts_with("warpfold: warning: x.npy: more data follow the array, from byte 132"),
        "{errors}"
    );
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn packed_data_are_unpacked() {
    let file = npy_of("<i2", "(2,)", &[1, 0, 2, 0]);
    let twice = [gzip(b"1\n"), gzip(b"2\n")].concat();
    let folder = folder(&[
        ("a.npy.gz", &gzip(&file)),
        ("b.txt.gz", &gzip(b"1 2")),
        ("c.csv.gz", &gzip(b"1,2")),
        ("d.bin.gz", &gzip(&[1, 2])),
        ("e", &gzip(&file)),
        ("f.gz", &twice),
    ]);
    for name in ["a.npy.gz", "b.txt.gz", "c.csv.gz", "e", "f.gz"] {
        assert_eq!(
            pass_in(folder.path(), &format!("reduce {name}"), b""),
            b"3\n",
            "{name}"
        );
        assert_eq!(
            pass_in(folder.path(), &format!("reduce --op max {name}"), b""),
            b"2\n",
            "{name}"
        );
    }
    assert_eq!(pass_in(folder.path(), "reduce", &gzip(&file)), b"3\n");
    assert_eq!(
        pass_in(folder.path(), "histogram --bins 1 f.gz", b""),
        b"1,2,2\n"
    );
    // Cut off, or not what it says.
    let packed = gzip(&file);
    let error = fail_in(folder.path(), "reduce", &packed[..packed.len() - 9]);
    assert!(
        error.contains("the compressed data are truncated"),
        "{error}"
    );
}

#[test]
fn what_is_not_read_is_named_with_a_remedy() {
    for (bytes, message, remedy) in [
        (
            &b"\x28\xb5\x2f\xfd...."[..],
            "compressed with zstd",
            "zstd -dc",
        ),
        (b"\xfd7zXZ\0...", "compressed with xz", "xz -dc"),
        (b"BZh91AY", "compressed with bzip2", "bzip2 -dc"),
        (b"PAR1....", "a Parquet file", "as CSV"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "numpy.save"),
        (b"\xff\xfe1\0 \x002\0", "text in UTF-16", "iconv"),
    ] {
        let error = fail_in(std::path::Path::new("."), "reduce", bytes);
        assert!(error.contains(message) && error.contains(remedy), "{error}");
    }
}

/// An archive as numpy.savez writes it, stored or deflated.
fn npz(arrays: &[(&str, &[u8])], deflated: bool) -> Vec<u8> {
    use std::io::Write;
    let (mut archive, mut list) = (Vec::new(), Vec::new());
    for (name, array) in arrays {
        let name = format!("{name}.npy");
        let mut crc = flate2::Crc::new();
        crc.update(array);
        let packed = if deflated {
            let mut packer =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(array).unwrap();
            packer.finish().unwrap()
        } else {
            array.to_vec()
        };
        let mut common = vec![20, 0, 0, 0, if deflated { 8 } else { 0 }, 0, 0, 0, 0x21, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((array.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        let place = archive.len() as u32;
        list.extend(b"PK\x01\x02\x14\x00");
        list.extend(&common);
        list.extend([0; 12]);
        list.extend(place.to_le_bytes());
        list.extend(name.as_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend([0; 2]);
        archive.extend(name.as_bytes());
        archive.extend(packed);
    }
    let (start, length, count) = (archive.len() as u32, list.len() as u32, arrays.len() as u16);
    archive.extend(list);
    archive.extend(b"PK\x05\x06\x00\x00\x00\x00");
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(length.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0; 2]);
    archive
}

#[test]
fn archives_of_arrays_are_read() {
    let one = npy_of("<i2", "(2,)", &[1, 0, 2, 0]);
    let two = npy_of("<f4", "(1,)", &1.5_f32.to_le_bytes());
    for deflated in [false, true] {
        let single = npz(&[("arr_0", &one)], deflated);
        let mut damaged = single.clone();
        let last = damaged
            .windows(4)
            .position(|part| part == b"PK\x01\x02")
            .unwrap()
            - 1;
        damaged[last - usize::from(deflated)] ^= 0x10;
        let folder = folder(&[
            ("one.npz", &single),
            ("two.npz", &npz(&[("x", &one), ("y", &two)], deflated)),
            ("damaged.npz", &damaged),
        ]);
        for (line, result) in [
            ("reduce one.npz", "3\n"),
            ("reduce two.npz --array x", "3\n"),
            ("reduce two.npz --array y.npy", "1.5\n"),
            ("histogram --bins 1 one.npz", "1,2,2\n"),
        ] {
            assert_eq!(
                pass_in(folder.path(), line, b""),
                result.as_bytes(),
                "{line}"
            );
        }
        for (line, message) in [
            (
                "reduce two.npz",
                "two.npz: 2 arrays are in it\n  remedy: give --array NAME, one of x, y",
            ),
            (
                "reduce two.npz --array z",
                "two.npz: there is no array `z` in it",
            ),
            ("reduce damaged.npz", "damaged.npz"),
        ] {
            let error = fail_in(folder.path(), line, b"");
            assert!(error.starts_with(message), "{line}: {error}");
        }
        let error = fail_in(folder.path(), "reduce", &single);
        assert!(error.contains("give the name of the .npz file"), "{error}");
    }
    let error = fail_in(std::path::Path::new("."), "reduce --array x", b"1 2");
    assert!(
        error.starts_with("--array: standard input is no .npz file"),
        "{error}"
    );
}

#[test]
fn tables_have_columns() {
    let table = b"# of 2026\nname,age,\"income, net\"\nann,30,1000\nbob,40,\"2000\"\n";
    let folder = folder(&[
        ("t.csv", table),
        ("t.txt", b"x y\n1 2\n3 4 # 5\n"),
        ("t.tsv", b"1\t2\n3\t4\n"),
    ]);
    for (line, result) in [
        ("reduce --column age t.csv", "70\n"),
        ("reduce --skip 2 --column 2 t.csv", "70\n"),
        ("reduce --column y t.txt", "6\n"),
        ("reduce --skip 1 --column 1 t.txt", "4\n"),
        ("scan t.tsv", "1\t2\n4\t6\n"),
        ("reduce --column 2 t.tsv", "6\n"),
        ("reduce --column 2 --delimiter tab t.tsv", "6\n"),
    ] {
        assert_eq!(
            String::from_utf8(pass_in(folder.path(), line, b"")).unwrap(),
            result,
            "{line}"
        );
    }
    assert_eq!(pass("reduce --delimiter ,", "1,000\n2,5"), "8");
    assert_eq!(pass("reduce --delimiter ;", "1;2\n3;4"), "10");
    let file = npy_of("<i2", "(1,)", &[1, 0]);
    for option in ["--skip 1", "--column 2", "--delimiter ,"] {
        let error = fail_in(folder.path(), &format!("reduce {option}"), &file);
        assert!(error.contains("standard input is no text"), "{error}");
    }
}

/// Fortran's unformatted files have lengths between the numbers.
#[test]
fn records_of_fortran_are_refused_unless_they_are_said_to_be_data() {
    let records = |lengths: &[usize]| {
        let record = |&length: &usize| {
            let mark = (8 * length as u32).to_le_bytes();
            let numbers = 1.5_f64.to_le_bytes().repeat(length);
            [&mark[..], &numbers[..], &mark[..]].concat()
        };
        lengths.iter().flat_map(record).collect::<Vec<u8>>()
    };
    // Lengths of 8 bytes, and in the other order of bytes.
    let other_records = |mark: fn(u32) -> Vec<u8>| {
        let record = |length: u32| {
            let numbers = 1.5_f64.to_be_bytes().repeat(length as usize);
            [mark(8 * length), numbers, mark(8 * length)].concat()
        };
        [2, 1, 5].map(record).concat()
    };
    let plain: Vec<u8> = [4_u32, 7, 4]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    for (dtype, bytes, is_told) in [
        ("f64", records(&[4]), true),
        ("f64", records(&[2, 6]), true),
        ("f64", records(&[100; 200]), true),
        ("f64", records(&[100_001]), true),
        ("f64", 1.5_f64.to_le_bytes().repeat(9), false),
        ("u32", plain, false),
        (
            "f64",
            other_records(|mark| u64::from(mark).to_le_bytes().to_vec()),
            true,
        ),
        (
            "f64",
            other_records(|mark| mark.to_be_bytes().to_vec()),
            true,
        ),
        (
            "f64",
            other_records(|mark| u64::from(mark).to_be_bytes().to_vec()),
            true,
        ),
        // A length that is all there is says nothing.
        ("u32", 8_u32.to_le_bytes().repeat(64), false),
        ("u64", 8_u64.to_le_bytes().repeat(63), false),
        ("i64", [8_i64, 5, 8].map(i64::to_le_bytes).concat(), false),
    ] {
        let folder = folder(&[("x.bin", &bytes)]);
        for name in ["", "--format raw "] {
            let line = format!("reduce --op max {name}--dtype {dtype} x.bin");
            if is_told {
                let error = fail_in(folder.path(), &line, b"");
                assert!(error.contains("records of Fortran"), "{error}");
                assert!(error.contains("give --no-records"), "{error}");
            }
            let taken = pass_in(folder.path(), &format!("{line} --no-records"), b"");
            if !is_told {
                assert_eq!(pass_in(folder.path(), &line, b""), taken);
            }
        }
    }
}
