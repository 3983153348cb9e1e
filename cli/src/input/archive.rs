//! NumPy's .npz: a ZIP archive of .npy files.

use super::{Counted, Input, ending_of, format_of_name};
use crate::args::Format;
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use zip::{CompressionMethod, ZipArchive};

/// The bytes of one file in an archive.
type Packed = Counted<io::Take<File>>;

/// Goes on with one array of an archive: the one that is named, or else the only one.
pub(super) fn enter(
    input: &mut Input,
    mut file: File,
    array: Option<&str>,
    start: u64,
) -> Result<()> {
    let name = input.name.clone();
    let failure = |error: &dyn std::fmt::Display| Failure::at(&name, error);
    if input.length.is_none() || start > 0 {
        return Err(Failure::with_remedy(
            &name,
            "the list of an archive's arrays is at its end, and a pipe must be read in order",
            "give the name of the .npz file or zip",
        ));
    }
    let archive = ZipArchive::new(&mut file);
    let mut archive = archive.map_err(|_| {
        Failure::with_remedy(
            &name,
            "the archive is damaged or cut off: the list of what it holds, at its end, is none",
            "make the file again; what made it has failed or is not done",
        )
    })?;
    // Other files may lie beside the arrays.
    let mut arrays = Vec::new();
    let mut others = Vec::new();
    for index in 0..archive.len() {
        let name = archive.name_for_index(index).unwrap_or_default();
        match name.strip_suffix(".npy") {
            _ if is_of_system(name) => {}
            Some(name) => arrays.push((index, name.to_owned())),
            None => others.push(name.to_owned()),
        }
    }
    let names: Vec<&str> = arrays.iter().map(|(_, name)| name.as_str()).collect();
    let place = match array {
        Some(wanted) => names.iter().position(|&name| name == bare(wanted)),
        None if names.len() == 1 => Some(0),
        None => None,
    };
    if names.is_empty() {
        return Err(holds_none(&name, &others));
    }
    let Some(place_of_array) = place else {
        let cause = match array {
            Some(wanted) => format!("there is no array `{wanted}` in it"),
            None => format!("{} arrays are in it", names.len()),
        };
        let remedy = format!("give --array NAME, one of {}", names.join(", "));
        return Err(Failure::with_remedy(&name, cause, remedy));
    };
    let (index, array_name) = arrays[place_of_array].clone();
    let entry = archive
        .by_index_raw(index)
        .map_err(|error| failure(&error))?;
    let (method, packed, size) = (entry.compression(), entry.compressed_size(), entry.size());
    let (place, crc, encrypted) = (entry.data_start(), entry.crc32(), entry.encrypted());
    drop(entry);
    drop(archive);
    let place = place.filter(|_| !encrypted);
    let unpacked: Option<fn(Packed) -> Box<dyn Read + Send>> = match method {
        CompressionMethod::STORE => Some(|data| Box::new(data)),
        CompressionMethod::DEFLATE => Some(|data| Box::new(DeflateDecoder::new(data))),
        _ => None,
    };
    let (Some(place), Some(unpacked)) = (place, unpacked) else {
        return Err(Failure::with_remedy(
            &name,
            "the array is encrypted or compressed in a way that NumPy does not use",
            "save it with numpy.savez or numpy.save",
        ));
    };
    file.seek(SeekFrom::Start(place))
        .map_err(|error| failure(&error))?;
    let data = Counted {
        reader: file.take(packed),
        progress: Progress::new(Some(packed), true),
    };
    let reader = Checked {
        reader: CrcReader::new(unpacked(data)),
        left: size,
        crc,
    };
    input.replace(reader, size);
    input.path = None;
    input.name = format!("{name}, array {array_name}");
    Ok(())
}

/// Whether a file is a folder, or what macOS packs beside each file.
fn is_of_system(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    name.ends_with('/') || name.starts_with("__MACOSX/") || file.starts_with("._")
}

/// What an archive holds that has no array, and what to do about it.
fn holds_none(name: &str, others: &[String]) -> Failure {
    const SHOWN: usize = 5;
    let is_text = |name: &&String| format_of_name(Path::new(name.as_str())) == Some(Format::Text);
    let is_sheet = |name: &String| name.starts_with("xl/") || name == "content.xml";
    let text = others.iter().find(is_text);
    if text.is_none() && others.iter().any(is_sheet) {
        return Failure::with_remedy(
            name,
            "it is a workbook of a spreadsheet, which is not read here",
            "save the sheet as CSV",
        );
    }
    let Some(file) = text.or(others.first()) else {
        return Failure::with_remedy(
            name,
            "no array is in this archive",
            "save one: numpy.savez(file, x=x)",
        );
    };
    let delimiter = match ending_of(Path::new(file)).as_deref() {
        Some("csv") => " --delimiter ,",
        Some("tsv") => " --delimiter tab",
        _ => "",
    };
    let mut listed: Vec<&str> = others.iter().take(SHOWN).map(String::as_str).collect();
    if others.len() > SHOWN {
        listed.push("\u{2026}");
    }
    let listed = listed.join(", ");
    // Unlike a shell, unzip takes these for a pattern.
    let pattern = file.replace('[', "[[]");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let quoted = match pattern.chars().all(is_plain) {
        true => pattern,
        false => format!("'{}'", pattern.replace('\'', r"'\''")),
    };
    let remedy = match text {
        Some(_) => format!("unzip -p FILE {quoted} | warpfold ...{delimiter}"),
        None => format!("if {file} holds numbers: unzip -p FILE {quoted} | warpfold ..."),
    };
    Failure::with_remedy(
        name,
        match text {
            Some(_) => format!("this archive holds a text, and no array: {listed}"),
            None => format!("this archive holds no array: {listed}"),
        },
        remedy,
    )
}

/// The name of an array in Python: that of its file, without the ending.
fn bare(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

/// Compares the length, and at the end the checksum.
struct Checked<R> {
    reader: CrcReader<R>,
    left: u64,
    crc: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(bytes)?;
        let ended = count == 0 && !bytes.is_empty();
        let whole = self.left == 0 && self.reader.crc().sum() == self.crc;
        match self.left.checked_sub(count as u64) {
            Some(left) if !ended || whole => {
                self.left = left;
                Ok(count)
            }
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the archive is damaged: its list tells another length or checksum",
            )),
        }
    }
}
