//! What begins with these bytes is no text, and nothing here reads it: what it is, and what the
//! user can do.

/// Another kind of data.
pub(super) struct Foreign {
    magic: &'static [u8],
    pub(super) what: &'static str,
    pub(super) remedy: &'static str,
}

/// So many bytes tell them all.
pub(super) const LONGEST: usize = 262;

const fn is(magic: &'static [u8], what: &'static str, remedy: &'static str) -> Foreign {
    Foreign {
        magic,
        what,
        remedy,
    }
}

const UTF16: &str = "iconv -f UTF-16 -t UTF-8 FILE | warpfold ...";
const UTF32: &str = "iconv -f UTF-32 -t UTF-8 FILE | warpfold ...";
const ARRAY: &str = "save the array with numpy.save, or give --format raw";
const COLUMN: &str = "save the column with numpy.save or as CSV";
const FROM_R: &str = "save it in R with write.csv(x, FILE)";
const PAGE: &str = "take the numbers out of the page, such as with pandas.read_html, and save CSV";

const ALL: [Foreign; 33] = [
    is(
        b"\x28\xb5\x2f\xfd",
        "compressed with zstd",
        "zstd -dc FILE | warpfold ...",
    ),
    is(
        b"\xfd7zXZ\x00",
        "compressed with xz",
        "xz -dc FILE | warpfold ...",
    ),
    is(
        b"\x5d\0\0",
        "compressed with lzma",
        "xz -dc --format=lzma FILE | warpfold ...",
    ),
    is(
        b"LZIP",
        "compressed with lzip",
        "lzip -dc FILE | warpfold ...",
    ),
    is(
        b"BZh",
        "compressed with bzip2",
        "bzip2 -dc FILE | warpfold ...",
    ),
    is(
        b"\x04\x22\x4d\x18",
        "compressed with lz4",
        "lz4 -dc FILE | warpfold ...",
    ),
    is(
        b"7z\xbc\xaf\x27\x1c",
        "a 7z archive",
        "7z x -so FILE | warpfold ...",
    ),
    is(b"\x89HDF\r\n", "an HDF5 file", ARRAY),
    is(b"CDF\x01", "a NetCDF file", ARRAY),
    is(b"CDF\x02", "a NetCDF file", ARRAY),
    is(b"CDF\x05", "a NetCDF file", ARRAY),
    is(b"SIMPLE  =  ", "a FITS file", ARRAY),
    is(b"MATLAB 5.0 MAT-file", "a file of MATLAB", ARRAY),
    is(b"MATLAB 7.3 MAT-file", "a file of MATLAB", ARRAY),
    is(b"PAR1", "a Parquet file", COLUMN),
    is(b"ARROW1\0", "an Arrow file", COLUMN),
    is(b"$FL2@(#)", "a file of SPSS", COLUMN),
    is(
        b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60",
        "a file of SAS",
        COLUMN,
    ),
    is(b"<stata_dta>", "a file of Stata", COLUMN),
    is(b"SQLite format 3\0", "a database of SQLite", COLUMN),
    is(b"RDX2\n", "a file of R", FROM_R),
    is(b"RDX3\n", "a file of R", FROM_R),
    is(b"X\n\0\0\0", "a file of R", FROM_R),
    is(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a workbook of old Excel, or its like",
        "save the sheet as CSV",
    ),
    is(
        b"%PDF-",
        "a PDF",
        "take the numbers out of it, as pdftotext -layout does",
    ),
    is(b"<!DOCTYPE html", "a web page", PAGE),
    is(b"<!doctype html", "a web page", PAGE),
    is(b"<html", "a web page", PAGE),
    is(b"<?xml", "XML", "take the numbers out of it, and save CSV"),
    is(b"\xff\xfe\0\0", "text in UTF-32", UTF32),
    is(b"\0\0\xfe\xff", "text in UTF-32", UTF32),
    is(b"\xff\xfe", "text in UTF-16", UTF16),
    is(b"\xfe\xff", "text in UTF-16", UTF16),
];

const TAR: Foreign = is(
    b"ustar",
    "an archive of tar",
    "tar -xOf FILE NAME | warpfold ...",
);

/// What some data are by their first bytes, if they are none of ours.
pub(super) fn foreign(start: &[u8]) -> Option<&'static Foreign> {
    let is_tar = start.get(257..).is_some_and(|at| at.starts_with(TAR.magic));
    match is_tar {
        true => Some(&TAR),
        false => ALL.iter().find(|other| start.starts_with(other.magic)),
    }
}

/// What a file is that its name calls raw, and what to do: by first bytes that numbers seldom have.
pub(super) fn packed(start: &[u8]) -> Option<(&'static str, &'static str)> {
    let ours = [
        (&b"\x1f\x8b\x08"[..], "gzip", "gzip -dc FILE | warpfold ..."),
        (b"PK\x03\x04", "an .npz or zip", "name it .npz if it is one"),
    ];
    let ours = ours.iter().find(|(magic, ..)| start.starts_with(magic));
    let ours = ours.map(|&(_, what, remedy)| (what, remedy));
    // The marks of UTF-16 and UTF-32 are small numbers, too.
    let others = || {
        let other = foreign(start).filter(|other| !other.what.starts_with("text in"));
        other.map(|other| (other.what, other.remedy))
    };
    ours.or_else(others)
}
