//! Sums and products as people mean them: in 64 bits, and never wrong in silence.

use crate::support::{fail, fail_in, folder, noted, npy_of, pass, pass_in};
use std::path::Path;

#[test]
fn small_integers_add_up_in_64_bits() {
    let file = npy_of("|u1", "(300,)", &[200; 300]);
    let folder = folder(&[("x.npy", &file)]);
    assert_eq!(pass_in(folder.path(), "reduce x.npy", b""), b"60000\n");
    for dtype in ["u8", "u16", "u32", "u64"] {
        let line = format!("reduce --dtype {dtype}");
        assert_eq!(pass(&line, "200 100"), "300");
        assert_eq!(pass(&format!("{line} --op mul"), "200 100"), "20000");
        assert_eq!(pass(&format!("scan --dtype {dtype}"), "200 100"), "200 300");
    }
    for dtype in ["i8", "i16", "i32", "i64"] {
        assert_eq!(
            pass(&format!("reduce --dtype {dtype}"), "-100 -100 1"),
            "-199"
        );
        assert_eq!(
            pass(&format!("scan --dtype {dtype} --op mul"), "-100 100"),
            "-100 -10000"
        );
    }
    // As numpy.sum and numpy.cumsum.
    for (descr, sum) in [
        ("|u1", "<u8"),
        ("<u4", "<u8"),
        ("|i1", "<i8"),
        ("<i2", "<i8"),
    ] {
        let size = descr[2..].parse::<usize>().unwrap();
        let file = npy_of(descr, "(2,)", &[0; 16][..2 * size]);
        for line in ["scan", "scan -x --op mul --init 0"] {
            assert_eq!(
                pass_in(Path::new("."), line, &file),
                npy_of(sum, "(2,)", &[0; 16])
            );
        }
        for op in ["min", "max", "bitand", "bitor", "bitxor"] {
            let line = format!("scan --op {op}");
            assert_eq!(
                pass_in(Path::new("."), &line, &file),
                file,
                "{op} keeps the type"
            );
        }
    }
}

#[test]
fn a_sum_out_of_range_is_an_error_with_a_remedy() {
    let error = fail("reduce", "9223372036854775807 1");
    assert!(
        error.starts_with(
            "standard input: the sum, 9223372036854775808, is out of the range of i64"
        ),
        "{error}"
    );
    assert!(
        error.contains("--accumulate f64") && error.contains("--wrapping"),
        "{error}"
    );
    let error = fail("reduce --dtype u64", "18446744073709551615 1");
    assert!(
        error.contains("18446744073709551616, is out of the range of u64"),
        "{error}"
    );
    let error = fail("reduce --op mul", "4294967296 4294967296");
    assert!(
        error.contains("the product is out of the range of i64"),
        "{error}"
    );
    // The result counts, not what is on the way to it.
    assert_eq!(
        pass("reduce", "9223372036854775807 1 -1"),
        "9223372036854775807"
    );
    assert_eq!(pass("reduce --op mul", "4294967296 4294967296 0"), "0");
    assert_eq!(
        pass("reduce --op mul", "4611686018427387904 2 -1"),
        "-9223372036854775808"
    );
    assert_eq!(
        pass("reduce --init -1", "9223372036854775807 1"),
        "9223372036854775807"
    );
    // The remedies are true.
    assert_eq!(
        noted("reduce --accumulate f64", "9223372036854775807 1").0,
        "9.223372036854776e+18"
    );
    assert_eq!(
        pass("reduce --wrapping", "9223372036854775807 1"),
        "-9223372036854775808"
    );
}

#[test]
fn a_running_sum_out_of_range_is_an_error_where_it_leaves() {
    let run = |line: &str, input: &str| {
        let output = crate::support::run_in(Path::new("."), line, input.as_bytes());
        let errors = String::from_utf8(output.stderr).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {errors}");
        (text.replace('\n', " "), errors)
    };
    let (text, error) = run("scan", "9223372036854775806 1 1 -5");
    assert_eq!(text, "9223372036854775806 9223372036854775807 ");
    assert!(
        error.contains("position 2, from 0, is out of the range of i64"),
        "{error}"
    );
    let (text, error) = run("scan --op prod", "3037000500 3037000500");
    assert_eq!(text, "3037000500 ");
    assert!(error.contains("position 1"), "{error}");
    let (text, error) = run("scan -x --dtype u64", "18446744073709551615 1 1");
    assert_eq!(text, "0 18446744073709551615 ");
    assert!(error.contains("position 2"), "{error}");
    // What an exclusive sum leaves out may be beyond.
    assert_eq!(
        pass("scan -x", "9223372036854775807 1"),
        "0 9223372036854775807"
    );
    assert_eq!(
        pass("scan --wrapping", "9223372036854775807 1"),
        "9223372036854775807 -9223372036854775808"
    );
}

/// Overflow is found wherever pieces begin, and nothing is lost before it.
#[test]
fn running_sums_are_checked_across_pieces() {
    let mut numbers = vec![1_u64; 600_000];
    numbers[599_999] = u64::MAX - 599_999;
    let bytes =
        |numbers: &[u64]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let line = "--format raw --dtype u64";
    let sum = pass_in(Path::new("."), &format!("reduce {line}"), &bytes(&numbers));
    assert_eq!(sum, b"18446744073709551615\n");
    let sums = pass_in(Path::new("."), &format!("scan {line}"), &bytes(&numbers));
    assert_eq!(&sums[sums.len() - 8..], u64::MAX.to_le_bytes());
    numbers[599_999] += 1;
    let output = crate::support::run_in(Path::new("."), &format!("scan {line}"), &bytes(&numbers));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, sums[..sums.len() - 8]);
    let error = fail_in(Path::new("."), &format!("reduce {line}"), &bytes(&numbers));
    assert!(error.contains("18446744073709551616"), "{error}");
}

#[test]
fn the_type_of_a_sum_can_be_chosen() {
    assert_eq!(
        pass("reduce --dtype u8 --accumulate u8 --wrapping", "200 100"),
        "44"
    );
    assert_eq!(
        pass("scan --dtype i8 --accumulate i8 --wrapping", "100 100"),
        "100 -56"
    );
    assert_eq!(
        pass("reduce --dtype u8 --accumulate i64 --init -301", "200 100"),
        "-1"
    );
    assert_eq!(
        pass("reduce --dtype f32 --accumulate f64", "16777216 1"),
        "16777217.0"
    );
    assert_eq!(pass("reduce --dtype f32", "16777216 1"), "16777216.0");
    assert_eq!(
        pass("reduce --dtype float16 --accumulate float32", "65504 65504"),
        "131008.0"
    );
    for (line, message) in [
        ("--dtype u8 --accumulate u8", "give --wrapping too"),
        ("--dtype u64 --accumulate i64", "choose one of u64, f64"),
        ("--dtype f64 --accumulate f32", "choose one of f64"),
        ("--dtype f32 --accumulate i64", "choose one of f32, f64"),
        ("--dtype u8 --accumulate f64 --op max", "leave it out"),
        ("--dtype u8 --init -1", "give --accumulate i64"),
    ] {
        let error = fail(&format!("reduce {line}"), "1 2");
        assert!(error.contains(message), "{line}: {error}");
    }
}

#[test]
fn operators_and_types_have_the_names_of_numpy() {
    for (line, result) in [
        ("--op sum --dtype int32", "18"),
        ("--op prod --dtype uint8", "162"),
        ("--op xor --dtype int16", "12"),
        ("--op and --dtype uint64", "0"),
        ("--op or --dtype uint32", "15"),
        ("--op maximum --dtype float32", "9.0"),
        ("--op minimum --dtype bfloat16", "3.0"),
        ("--op sum --dtype double", "18.0"),
    ] {
        assert_eq!(pass(&format!("reduce {line}"), "6 3 9"), result, "{line}");
    }
}

/// A product of floats is rounded at each step: in f32 it strays by n / 2^27 for every data set.
#[test]
fn products_of_floats_are_f64() {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let near_one: Vec<u8> = (0..1_000_000)
        .flat_map(|_| (1.0 + 1e-5 * next()).to_le_bytes())
        .collect();
    let exact: f64 = near_one
        .chunks_exact(4)
        .map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().unwrap())))
        .product();
    let run = |line: &str| -> f64 {
        let text = pass_in(
            Path::new("."),
            &format!("{line} --format raw --dtype f32"),
            &near_one,
        );
        String::from_utf8(text).unwrap().trim().parse().unwrap()
    };
    let near = run("reduce --op mul");
    assert!((near / exact - 1.0).abs() < 1e-12, "{near} {exact}");
    let far = run("reduce --op mul --accumulate f32");
    assert!(far / exact - 1.0 < -5e-3, "{far} {exact}");
    // More than any f16.
    assert_eq!(pass("reduce --op mul --dtype f16", "60000 2"), "120000.0");
    let halves = npy_of("<f2", "(2,)", &[0, 0x3c, 0, 0x40]);
    let products: Vec<u8> = [1.0_f64, 2.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    assert_eq!(
        pass_in(Path::new("."), "scan --op mul", &halves),
        npy_of("<f8", "(2,)", &products)
    );
    // Sums keep their type.
    assert_eq!(
        pass_in(Path::new("."), "scan", &npy_of("<f4", "(1,)", &[0; 4])),
        npy_of("<f4", "(1,)", &[0; 4])
    );
}

/// A float takes the integers that it holds, all of them.
#[test]
fn floats_accumulate_the_integers_that_they_hold() {
    for (dtype, floats) in [
        ("u8", &["f16", "bf16", "f32", "f64"][..]),
        ("i8", &["f16", "bf16", "f32", "f64"]),
        ("u16", &["f32", "f64"]),
        ("i16", &["f32", "f64"]),
        ("u32", &["f64"]),
        ("i64", &["f64"]),
    ] {
        for float in ["f16", "bf16", "f32", "f64"] {
            let line = format!("reduce --dtype {dtype} --accumulate {float}");
            if floats.contains(&float) {
                assert_eq!(pass(&line, "100 100"), "200.0", "{line}");
            } else {
                let error = fail(&line, "100 100");
                assert!(error.contains("choose one of"), "{error}");
            }
        }
    }
}

/// A remedy that is followed is not refused with another one.
#[test]
fn remedies_for_init_lead_somewhere() {
    for line in [
        "reduce --dtype u8 --init -1",
        "reduce --init 0.5",
        "reduce --dtype f32 --init 1e300",
        "reduce --dtype u64 --init 18446744073709551616",
    ] {
        let error = fail(line, "1 2");
        let (_, remedy) = error.split_once("give --accumulate ").expect(&error);
        let chosen = format!("{line} --accumulate {remedy}");
        assert!(!noted(&chosen, "1 2").0.is_empty(), "{chosen}");
    }
    // A float of 16 bits holds each byte, but not their sum.
    assert!(fail("reduce --dtype u8 --init 0.5", "1 2").contains("give --accumulate f64"));
    for line in [
        "reduce --op max --dtype u8 --init 300",
        "reduce --op bitor --dtype i16 --init 40000",
        "reduce --op min --init 0.5",
        "reduce --dtype f64 --init 1e400",
    ] {
        let error = fail(line, "1 2");
        assert!(!error.contains("--accumulate"), "{line}: {error}");
        assert!(
            error.contains("give a number that it holds"),
            "{line}: {error}"
        );
    }
}
