//! Every error names its file and its place, and leaves no output behind.

use crate::support::{fail_in, folder, names, npy, npy_of, pass_in};
use std::path::Path;

/// The arguments, the file `x…` they name, its bytes, and what the message must say.
struct Case<'a> {
    line: &'a str,
    file: &'a str,
    bytes: &'a [u8],
    message: &'a [&'a str],
}

fn check(cases: &[Case<'_>]) {
    for case in cases {
        let folder = folder(&[(case.file, case.bytes)]);
        for line in [case.line.to_owned(), format!("{} -o y", case.line)] {
            let error = fail_in(folder.path(), &line, b"");
            for part in case.message {
                assert!(
                    error.contains(part),
                    "`{line}` should say `{part}`: {error}"
                );
            }
            assert_eq!(names(folder.path()), [Path::new(case.file)]);
        }
    }
}

#[test]
fn text_that_is_no_number() {
    let line = "scan x.txt";
    check(&[
        Case {
            line,
            file: "x.txt",
            bytes: "1\n2 2\n3 ä wide\n".as_bytes(),
            message: &["x.txt: line 3, column 3: `ä` is not a number"],
        },
        Case {
            line,
            file: "x.txt",
            bytes: b"-1\n2 9223372036854775808\n",
            message: &[
                "x.txt: line 2, column 3:",
                "out of the range of i64",
                "remedy: ",
            ],
        },
        Case {
            line: "scan --dtype u8 x.txt",
            file: "x.txt",
            bytes: b"255\n-1\n",
            message: &["x.txt: line 2, column 1: `-1` is out of the range of u8"],
        },
        Case {
            line: "scan --dtype f16 x.txt",
            file: "x.txt",
            bytes: b"1e5",
            message: &["x.txt: line 1, column 1: `1e5` is out of the range of f16"],
        },
        Case {
            line: "scan --dtype i32 x.txt",
            file: "x.txt",
            bytes: b"1 1.5",
            message: &[
                "x.txt: line 1, column 3: `1.5` is not an integer",
                "remedy: give --dtype f64",
            ],
        },
        Case {
            line,
            file: "x.txt",
            bytes: b"1, 2\n3 , , 4\n",
            message: &["x.txt: line 2, column 5: there is no number before this comma"],
        },
        Case {
            line,
            file: "x.txt",
            bytes: b"1\n1,000\n",
            message: &[
                "x.txt: line 2, column 1: `1,000` is not a number, or more than one",
                "--delimiter ,",
                "--decimal ,",
                "--thousands ,",
            ],
        },
        Case {
            line: "scan x.csv",
            file: "x.csv",
            bytes: b"1,2\n3,\n5,6\n",
            message: &[
                "x.csv: line 2, field 2: a number is missing here",
                "--column",
            ],
        },
        Case {
            line: "scan x.csv",
            file: "x.csv",
            bytes: b"1;2\n3;4\n",
            message: &["is not a number", "--delimiter ';'"],
        },
        Case {
            line: "scan x.txt --delimiter , --column 3",
            file: "x.txt",
            bytes: b"1,2,3\n4,5\n",
            message: &["x.txt: line 2: this row has 2 fields, but the first row has 3, in line 1"],
        },
        Case {
            line,
            file: "x.txt",
            bytes: b"\x00\x01\xff\xfe",
            message: &["x.txt: line 1, column 1:", "binary data", "--format raw"],
        },
    ]);
    let error = fail_in(Path::new("."), "reduce", b"one");
    assert_eq!(
        error,
        "standard input: line 1, column 1: `one` is not a number\n  remedy: if this line is a \
         header, give --skip 1, or --column NAME for a column"
    );
}

#[test]
fn raw_data_that_do_not_fit() {
    check(&[
        Case {
            line: "scan --dtype f32 x.bin",
            file: "x.bin",
            bytes: &[0; 10],
            message: &[
                "x.bin: 10 bytes",
                "f32 elements of 4 bytes",
                "2 left over at byte 8",
            ],
        },
        Case {
            line: "scan x.bin",
            file: "x.bin",
            bytes: &[0; 8],
            message: &["x.bin: ", "--dtype"],
        },
    ]);
}

#[test]
fn npy_files_that_cannot_be_folded() {
    let data = [0; 24];
    let good = npy_of("<f4", "(2, 3)", &data);
    let fortran = npy(
        1,
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
        &data,
    );
    let fields = "{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (3,), }";
    let huge = npy_of("<f4", "(4611686018427387904, 4)", &data);
    let many_axes = npy_of("<f4", &format!("({})", "1, ".repeat(65)), &data);
    let case = |bytes, message| Case {
        line: "scan x.npy",
        file: "x.npy",
        bytes,
        message,
    };
    check(&[
        case(
            &good[..good.len() - 1],
            &[
                "x.npy: the file is truncated: it ends at byte 151",
                "byte 152",
            ],
        ),
        case(
            &good[..100],
            &["x.npy: the file is truncated: it ends at byte 100, in its header"],
        ),
        case(
            &good[..9],
            &["x.npy: the file is truncated: it ends at byte 9"],
        ),
        case(
            &good[..7],
            &["x.npy: the file is truncated: it ends at byte 7"],
        ),
        case(b"", &["x.npy: not an .npy file"]),
        case(b"1 2 3 4 5 6", &["x.npy: not an .npy file"]),
        case(b"\x93NUMPY\x04\x00", &["x.npy: byte 6: version 4.0"]),
        case(
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
            &["x.npy: byte 8: a header of 4294967295"],
        ),
        case(
            &huge,
            &["x.npy: the shape (4611686018427387904, 4) has more elements"],
        ),
        case(&many_axes, &["x.npy: 65 axes"]),
        case(
            &fortran[..fortran.len() - 1],
            &["x.npy: the file is truncated", "byte 152"],
        ),
        case(
            &npy(1, fields, &data),
            &[
                "x.npy: the elements are structured",
                "('b', '<i4')",
                "x['field']",
            ],
        ),
        case(
            &npy_of("<c8", "(3,)", &data),
            &[
                "x.npy: the elements are complex numbers, of the type '<c8'",
                "x.real",
            ],
        ),
        case(
            &npy_of("", "(3,)", &data),
            &["x.npy: ", "not known here, of the type ''", "u1, i1"],
        ),
        case(
            &npy_of("|O", "(3,)", &data),
            &["Python objects", "x.astype('f8')"],
        ),
        case(&npy_of("<U4", "(3,)", &data), &["text, of the type '<U4'"]),
        case(&npy_of("|S8", "(3,)", &data), &["text, of the type '|S8'"]),
        case(
            &npy_of("<f16", "(1,)", &data),
            &["floats of more than 64 bits"],
        ),
        case(&npy_of("<V2", "(3,)", &data), &["--dtype bf16"]),
        case(
            &npy_of(
                "<M8[ns]",
                "(3,)",
                &[&[0; 16][..], &i64::MIN.to_le_bytes()].concat(),
            ),
            &[
                "x.npy: the element at position 2, from 0, is NaT",
                "numpy.isnat",
            ],
        ),
        case(
            &npy(1, "{'descr': '<f4', 'shape': (6,), }", &data),
            &["x.npy: byte ", "'fortran_order' is missing"],
        ),
        case(
            &npy_of("<f4", "(6", &data),
            &["x.npy: byte 64, in the header: `}` stands where the length of an axis should"],
        ),
        Case {
            line: "scan --dtype i32 x.npy",
            file: "x.npy",
            bytes: &good,
            message: &["x.npy: the elements are f32, but --dtype says i32"],
        },
    ]);
    // A stream tells no length beforehand.
    let error = fail_in(Path::new("."), "scan", &good[..150]);
    assert!(
        error.starts_with("standard input: the file is truncated: it ends at byte 150"),
        "{error}"
    );
    let error = fail_in(
        Path::new("."),
        "scan",
        &npy_of("<f8", "(1152921504606846975,)", &data),
    );
    assert!(
        error.starts_with("standard input: the file is truncated"),
        "{error}"
    );
    // Zero elements need no memory, however long the other axes.
    let empty = npy_of("<f4", "(4611686018427387904, 4, 0)", &[]);
    assert_eq!(pass_in(Path::new("."), "reduce", &empty), b"0.0\n");
}

#[test]
fn values_and_pairs_that_make_no_sense() {
    let good = npy_of("<f4", "(6,)", &[0; 24]);
    let case = |line, message| Case {
        line,
        file: "x.npy",
        bytes: &good,
        message,
    };
    check(&[
        case("scan --init one x.npy", &["--init: `one` is not a number"]),
        case(
            "scan --init 1e39 x.npy",
            &["--init: `1e39` is out of the range of f32"],
        ),
        case(
            "scan --op bitand x.npy",
            &[
                "--op bitand: not defined on f32",
                "u8, i8, u16, i16, u32, i32, u64, i64",
            ],
        ),
        case(
            "reduce --op bitxor x.npy",
            &["--op bitxor: not defined on f32"],
        ),
    ]);
    let error = fail_in(Path::new("."), "reduce --init 0.5", b"1 2");
    assert!(
        error.contains("--init: `0.5` is not an integer") && error.contains("--accumulate"),
        "{error}"
    );
    let error = fail_in(
        Path::new("."),
        "scan --dtype bf16 --output-format npy",
        b"1 2",
    );
    assert!(
        error.contains("NumPy has no bf16") && error.contains("raw or text"),
        "{error}"
    );
}

#[test]
fn files_that_are_not_there() {
    let folder = folder(&[("x.txt", b"1 2")]);
    let fail = |line| fail_in(folder.path(), line, b"");
    let error = fail("reduce z.npy");
    assert!(error.starts_with("z.npy: "), "{error}");
    let error = fail("reduce .");
    assert!(error.starts_with(".: "), "{error}");
    let error = fail("scan x.txt -o nowhere/y.txt");
    assert!(
        error.starts_with("nowhere/y.txt: there is no folder `nowhere`"),
        "{error}"
    );
    let error = fail("scan x.txt -o .");
    assert!(error.starts_with(".: it is a folder"), "{error}");
    assert_eq!(names(folder.path()), [Path::new("x.txt")]);
}

#[test]
fn commands_that_run_on_one_device_refuse_several() {
    let folder = folder(&[("x.txt", b"1\n2\n")]);
    for device in ["cuda:all", "cuda:0,1", "cpu:2"] {
        let commands = [
            "scan",
            "select --gt 1",
            "stats",
            "sort",
            "top -k 1",
            "unique",
            "histogram --bincount",
            "reduce --axis 0",
        ];
        for command in commands {
            let error = fail_in(
                folder.path(),
                &format!("{command} --device {device} x.txt"),
                b"",
            );
            let expected = format!(
                "--device {device}: only reduce without --axis runs on several devices yet\n  \
                 remedy: write `cuda:N` for one of the GPUs"
            );
            assert_eq!(error, expected, "{command}");
        }
    }
}
