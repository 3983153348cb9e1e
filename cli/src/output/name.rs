//! What the name of a file promises about its bytes.

use crate::args::OutputFormat;
use crate::failure::{Failure, Result};
use crate::input::{ending_of, format_of_name};
use std::path::Path;

/// What a name says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Promise {
    /// The format, if the ending stands for one.
    pub(crate) format: Option<OutputFormat>,
    /// Another one that it may hold: any text in `.txt`, and lines of text in `.dat`.
    also: Option<OutputFormat>,
    pub(super) packing: Packing,
    /// What separates the numbers of a line of text.
    pub(crate) separator: Option<u8>,
}

/// What the bytes of the format are put into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    /// An archive of one array.
    Npz,
}

/// Endings of what is not written here, and what the user can do.
const FOREIGN: [(&[&str], &str); 6] = [
    (&["gzip", "bgz", "bgzf"], "write .gz"),
    (
        &[
            "bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
            "float16", "float32", "float64", "float", "double", "int8", "int16", "int32", "int64",
            "uint8", "uint16", "uint32", "uint64", "dbl", "flt",
        ],
        "write .raw for the bytes of numbers, or .npy, which says their type",
    ),
    (&["zst", "zstd"], "warpfold ... | zstd > FILE, or write .gz"),
    (&["xz", "lzma"], "warpfold ... | xz > FILE, or write .gz"),
    (
        &[
            "bz", "bz2", "lz", "lz4", "lzo", "br", "sz", "snappy", "z", "zip", "tar", "tgz", "7z",
            "rar", "zlib", "deflate", "lzip", "tbz", "txz",
        ],
        "write .gz, or pack the file afterwards",
    ),
    (
        &[
            "parquet",
            "feather",
            "arrow",
            "ipc",
            "orc",
            "h5",
            "hdf5",
            "hdf",
            "nc",
            "zarr",
            "mat",
            "pkl",
            "pickle",
            "pt",
            "pth",
            "safetensors",
            "fits",
            "xls",
            "xlsx",
            "ods",
            "rds",
            "rdata",
            "sqlite",
            "db",
            "avro",
            "xml",
            "yaml",
            "yml",
            "toml",
            "html",
            "svg",
            "png",
            "pdf",
            "jsonl",
            "ndjson",
            "jsonlines",
            "tif",
            "tiff",
            "jpg",
            "jpeg",
            "dta",
            "sav",
            "sas7bdat",
            "xpt",
            "xlsb",
            "xlsm",
            "docx",
            "dbf",
            "sqlite3",
            "msgpack",
            "cbor",
            "bson",
            "nc4",
            "cdf",
            "root",
            "mtx",
            "accdb",
            "arff",
            "bmp",
            "ckpt",
            "dcm",
            "duckdb",
            "eps",
            "exr",
            "flac",
            "geojson",
            "gif",
            "gpkg",
            "grib",
            "h5ad",
            "joblib",
            "lance",
            "las",
            "laz",
            "loom",
            "mdb",
            "mp3",
            "netcdf",
            "nii",
            "numbers",
            "odt",
            "ogg",
            "onnx",
            "pb",
            "pgm",
            "ply",
            "ppm",
            "rda",
            "shp",
            "sql",
            "stl",
            "tdms",
            "tfrecord",
            "vtk",
            "wav",
            "webp",
            "parq",
            "pq",
            "fit",
            "fts",
            "he5",
            "hdf4",
            "zsav",
            "por",
            "bam",
            "bcf",
            "edf",
            "arrows",
            "json5",
            "votable",
            "vot",
            "au",
            "pcm",
            "s16",
            "aiff",
            "slk",
            "dif",
            "wk1",
            "wk3",
            "wks",
            "fst",
            "qs",
            "s3db",
            "db3",
            "xlt",
            "xltx",
            "bufr",
            "e57",
            "fgb",
            "geoparquet",
            "gpx",
            "grb",
            "grib2",
            "htm",
            "jmp",
            "kml",
            "mtw",
            "pbm",
            "s32",
            "sd2",
            "shx",
            "spv",
            "tga",
            "topojson",
            "kmz",
            "obj",
            "off",
            "vtu",
            "vtp",
            "vts",
            "vti",
            "gguf",
            "ggml",
            "geojsonl",
            "geojsons",
            "jsonc",
            "hjson",
            "mdf",
            "mf4",
            "blf",
            "bag",
            "mcap",
            "mgh",
            "mgz",
            "mgf",
            "mzml",
            "rtf",
            "ipynb",
            "ecsv",
            "spe",
            "mca",
        ],
        "write .npy, .npz, .csv, .tsv or .json",
    ),
];

impl Promise {
    /// Looks at a name. One that promises what is not written here is refused.
    pub(crate) fn of(path: &Path) -> Result<Promise> {
        let name = path.to_string_lossy().to_lowercase();
        let (inner, packing) = match name.strip_suffix(".gz") {
            Some(inner) => (inner, Packing::Gzip),
            None => (&*name, Packing::Plain),
        };
        let ending = ending_of(Path::new(inner)).unwrap_or_default();
        let foreign = FOREIGN
            .iter()
            .find(|(endings, _)| endings.contains(&&*ending));
        if let Some((_, remedy)) = foreign {
            return Err(Failure::with_remedy(
                path.display(),
                format_args!("the name promises .{ending}, which is not written here"),
                remedy,
            ));
        }
        let plain = |format, separator| Promise {
            format,
            also: match &*ending {
                "txt" => Some(OutputFormat::Json),
                "dat" => Some(OutputFormat::Text),
                _ => None,
            },
            packing,
            separator,
        };
        Ok(match &*ending {
            "npz" if packing == Packing::Gzip => {
                return Err(Failure::with_remedy(
                    path.display(),
                    "NumPy reads no .npz that is packed once more",
                    "write .npz, or .npy.gz",
                ));
            }
            "npz" => Promise {
                format: Some(OutputFormat::Npy),
                also: None,
                packing: Packing::Npz,
                separator: None,
            },
            "json" => plain(Some(OutputFormat::Json), None),
            "csv" => plain(Some(OutputFormat::Text), Some(b',')),
            "tsv" | "tab" => plain(Some(OutputFormat::Text), Some(b'\t')),
            "psv" => plain(Some(OutputFormat::Text), Some(b'|')),
            _ => plain(
                format_of_name(Path::new(inner)).map(OutputFormat::from),
                None,
            ),
        })
    }

    /// The format of results that would have some other one without the name.
    pub(crate) fn format_instead(self, of: OutputFormat) -> Option<OutputFormat> {
        match of {
            // Many programs write lines of text into .dat.
            OutputFormat::Text if self.also == Some(of) => Some(of),
            _ => self.format,
        }
    }

    /// Fails if nobody would look for .npy under this name: its ending says nothing known.
    pub(crate) fn check_unsaid(self, path: &Path, format: OutputFormat) -> Result<()> {
        let Some(ending) = ending_of(path).filter(|_| self.format.is_none()) else {
            return Ok(());
        };
        match format == OutputFormat::Npy {
            false => Ok(()),
            true => Err(Failure::with_remedy(
                path.display(),
                format_args!("the ending .{ending} says no format"),
                "give --output-format npy or text, or a name that ends in .npy, .csv or .json",
            )),
        }
    }

    /// Fails if a name that means one format is to hold another.
    pub(crate) fn check(self, name: &str, format: OutputFormat) -> Result<()> {
        if self.format.is_none() || [self.format, self.also].contains(&Some(format)) {
            return Ok(());
        }
        let cause = match self.packing {
            Packing::Npz => "an .npz file holds arrays in the format npy alone",
            _ => "the name promises another format than the options do",
        };
        Err(Failure::with_remedy(
            name,
            cause,
            "leave --output-format and --json out, or give another name",
        ))
    }
}

impl Default for Promise {
    /// Of the standard output, whose name says nothing.
    fn default() -> Self {
        Promise {
            format: None,
            also: None,
            packing: Packing::Plain,
            separator: None,
        }
    }
}
