//! NumPy's .npz: a ZIP archive of .npy files.

use super::{Counted, Input};
use crate::args::Format;
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
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
            "give the name of the .npz file",
        ));
    }
    let mut archive = ZipArchive::new(&mut file).map_err(|error| failure(&error))?;
    // Other files may lie beside the arrays.
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let name = archive.name_for_index(index).unwrap_or_default();
        if let Some(name) = name.strip_suffix(".npy") {
            arrays.push((index, name.to_owned()));
        }
    }
    let names: Vec<&str> = arrays.iter().map(|(_, name)| name.as_str()).collect();
    let place = match array {
        Some(wanted) => names.iter().position(|&name| name == bare(wanted)),
        None if names.len() == 1 => Some(0),
        None => None,
    };
    let texts =
        |name: &&str| super::format_of_name(std::path::Path::new(name)) == Some(Format::Text);
    if names.is_empty()
        && let Some(text) = archive.file_names().find(texts)
    {
        let delimiter = match text.to_lowercase().ends_with(".csv") {
            true => " --delimiter ,",
            false => "",
        };
        return Err(Failure::with_remedy(
            &name,
            format_args!("this archive holds a text, {text}, and no array"),
            format_args!("unzip -p FILE {text} | warpfold ...{delimiter}"),
        ));
    }
    let is_sheet = |name: &str| name.starts_with("xl/") || name == "content.xml";
    if names.is_empty() && archive.file_names().any(is_sheet) {
        return Err(Failure::with_remedy(
            &name,
            "it is a workbook of a spreadsheet, which is not read here",
            "save the sheet as CSV",
        ));
    }
    if names.is_empty() {
        return Err(Failure::with_remedy(
            &name,
            "no array is in this archive",
            "save one: numpy.savez(file, x=x)",
        ));
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
