//! Where numbers come from: bytes of files and of the standard input, unpacked if they are packed.

mod archive;
mod foreign;
mod gzip;
mod shared;

pub(crate) use shared::SharedFile;

use crate::args::{Format, InputArguments};
use crate::failure::{Failure, Result};
use crate::npy;
use crate::number::DType;
use crate::progress::Progress;
use foreign::foreign;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const GZIP: &[u8] = b"\x1f\x8b\x08";
const ZIP: &[u8] = b"PK\x03\x04";
/// An archive of nothing begins with the end.
const EMPTY_ZIP: &[u8] = b"PK\x05\x06";
const LONGEST_MAGIC: usize = 6;

/// The bytes of a file or of the standard input, and how many were read.
pub(crate) struct Input {
    /// The name that messages use.
    pub(crate) name: String,
    /// The name that tells the format, without the ending of what was unpacked.
    pub(crate) path: Option<PathBuf>,
    reader: Box<dyn Read + Send>,
    /// The length in bytes, known for regular files that are not packed.
    length: Option<u64>,
    /// The first bytes, read ahead to tell the format by.
    head: Vec<u8>,
    position: u64,
    /// Whether the bytes can be read again from the start.
    pub(crate) lasting: bool,
    /// The file, if it is the user's own and its bytes are not packed.
    file: Option<File>,
}

impl Input {
    /// Opens a file, or the standard input for `-` and nothing, and tells the format.
    pub(crate) fn open(path: Option<&Path>, options: &InputArguments) -> Result<(Self, Format)> {
        let path = path.filter(|path| *path != Path::new("-"));
        let name = match path {
            Some(path) => path.display().to_string(),
            None => "standard input".into(),
        };
        let file = match path {
            Some(path) => File::open(path),
            None => stdin(),
        };
        let mut file = file.map_err(|error| Failure::at(&name, error))?;
        let metadata = file.metadata().map_err(|error| Failure::at(&name, error))?;
        if metadata.is_dir() {
            return Err(Failure::at(&name, "it is a folder, not a file"));
        }
        let regular = metadata.is_file();
        if regular && is_stdout(&metadata) {
            return Err(Failure::with_remedy(
                &name,
                "the standard output goes into the file that is read",
                "give -o FILE, which replaces a file once the result is complete",
            ));
        }
        // What another program has read of the standard input already does not count.
        let start = match regular {
            true => file.stream_position().unwrap_or(0),
            false => 0,
        };
        let length = regular.then(|| metadata.len().saturating_sub(start));
        let wanted = path.is_some() || !file.is_terminal();
        let again = file.try_clone();
        let lasting = regular && path.is_some();
        let mut input = Input {
            name,
            path: path.map(Path::to_owned),
            reader: Box::new(Counted {
                progress: Progress::new(length, wanted),
                reader: file,
            }),
            length,
            head: Vec::new(),
            position: 0,
            lasting,
            file: again
                .as_ref()
                .ok()
                .filter(|_| lasting)
                .and_then(|file| file.try_clone().ok()),
        };
        // Elements can look like anything, and hardly ever like the start of an .npy file, or like
        // lines of text.
        match options.format.or_else(|| input.format_of_name()) {
            Some(Format::Raw) if options.format.is_some() => return Ok((input, Format::Raw)),
            Some(Format::Raw) if input.peek(LONGEST_MAGIC)? != npy::MAGIC => {
                let format = input.raw_or_text()?;
                return Ok((input, format));
            }
            _ => {}
        }
        let is_cut = {
            let head = input.peek(LONGEST_MAGIC)?;
            head.len() < GZIP.len() && GZIP.starts_with(head)
        };
        if is_cut && matches!(input.ending().as_deref(), Some("gz" | "npz")) {
            return Err(Failure::with_remedy(
                &input.name,
                "the compressed data are truncated: the file ends before they begin",
                "make the file again; what made it has failed or is not done",
            ));
        }
        let head = input.peek(LONGEST_MAGIC)?;
        let is_archive = head.starts_with(ZIP) || head.starts_with(EMPTY_ZIP);
        let is_packed = is_archive || head.starts_with(GZIP);
        let is_npz = input.ending().as_deref() == Some("npz");
        let is_array = input.head.starts_with(npy::MAGIC);
        if !is_packed && options.format.is_none() && is_npz && !is_array {
            return Err(Failure::with_remedy(
                &input.name,
                "its name ends in .npz, and it does not begin as an archive of zip does",
                "give it another name; or --format, which says what it is",
            ));
        }
        if !is_packed && options.format.is_none() && input.ending().as_deref() == Some("gz") {
            let other = foreign(input.peek(foreign::LONGEST)?);
            let what = other.map_or(String::new(), |other| format!(": it is {}", other.what));
            return Err(Failure::with_remedy(
                &input.name,
                format_args!("it is not gzip, though its name ends in .gz{what}"),
                "give it another name; or --format, which says what it is",
            ));
        }
        if is_archive {
            let file = again.map_err(|error| Failure::at(&input.name, error))?;
            archive::enter(&mut input, file, options.array.as_deref(), start)?;
        } else if let Some(array) = &options.array {
            return Err(Failure::with_remedy(
                "--array",
                format_args!("{} is no .npz file, so it has no `{array}`", input.name),
                "leave --array out",
            ));
        } else if input.head.starts_with(GZIP) {
            input.unpack();
            input.check_unpacked()?;
        }
        if let Some(other) = foreign(input.peek(foreign::LONGEST)?) {
            let cause = format!("it is {}, which is not read here", other.what);
            return Err(Failure::with_remedy(&input.name, cause, other.remedy));
        }
        let format = match options.format {
            Some(format) => format,
            None if input.head.starts_with(npy::MAGIC) => Format::Npy,
            None => match input.format_of_name() {
                Some(Format::Raw) => input.raw_or_text()?,
                format => format.unwrap_or(Format::Text),
            },
        };
        Ok((input, format))
    }

    /// What the data are if the name says raw: many programs write lines of text into `.dat`.
    fn raw_or_text(&mut self) -> Result<Format> {
        const LOOKED_AT: usize = 1 << 12;
        let is_dat = self.ending().as_deref() == Some("dat");
        let start = self.peek(LOOKED_AT)?;
        if let Some((what, remedy)) = foreign::packed(start) {
            return Err(Failure::with_remedy(
                &self.name,
                format_args!("its name says that it is raw, and it begins as {what} does"),
                format_args!("{remedy}, or give --format raw"),
            ));
        }
        let looks = Looks::of(start, start.len() == LOOKED_AT);
        match looks {
            Looks::Lines | Looks::Numbers { .. } if is_dat => Ok(Format::Text),
            Looks::Numbers { lines: true } => Err(Failure::with_remedy(
                &self.name,
                "its name says that it is raw, and it looks like numbers in text",
                "give --format text or --format raw",
            )),
            Looks::Utf16(encoding) => Err(Failure::with_remedy(
                &self.name,
                format_args!("its name says that it is raw, and it looks like text in {encoding}"),
                format_args!(
                    "iconv -f {encoding} -t UTF-8 FILE | warpfold ..., or give --format raw"
                ),
            )),
            Looks::OtherText if is_dat => Err(Failure::with_remedy(
                &self.name,
                "its name says that it is raw, and it looks like text, though not in UTF-8",
                "give --format text or --format raw",
            )),
            _ => Ok(Format::Raw),
        }
    }

    /// Bytes that have no file.
    #[cfg(test)]
    pub(crate) fn of(name: &str, bytes: &[u8]) -> Self {
        Self::reading(name, io::Cursor::new(bytes.to_vec()))
    }

    /// What has no name among files.
    pub(crate) fn reading(name: &str, reader: impl Read + Send + 'static) -> Self {
        Input {
            name: name.into(),
            path: None,
            reader: Box::new(reader),
            length: None,
            head: Vec::new(),
            position: 0,
            lasting: false,
            file: None,
        }
    }

    /// Whether several threads can read what is left at once.
    pub(crate) fn is_shareable(&self) -> bool {
        // Some files of the system tell no length.
        self.file.is_some() && self.remaining() > Some(0)
    }

    /// The next `count` numbers, for several threads. There must be a file to share.
    pub(crate) fn into_shared(self, dtype: DType, count: usize) -> SharedFile {
        SharedFile {
            name: self.name,
            dtype,
            count,
            file: self.file.expect("a file that is shareable"),
            start: self.position,
            progress: Mutex::new(Progress::new(self.length, true)),
        }
    }

    /// Goes on with what the gzip data hold.
    fn unpack(&mut self) {
        let packed = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        let packed = io::Cursor::new(std::mem::take(&mut self.head)).chain(packed);
        self.reader = Box::new(gzip::Members::new(packed));
        self.length = None;
        self.file = None;
        if self.ending().as_deref() == Some("gz")
            && let Some(path) = &mut self.path
        {
            let name = path.to_string_lossy();
            *path = name[..name.len() - ".gz".len()].into();
        }
    }

    /// Fails if what was packed is packed again.
    fn check_unpacked(&mut self) -> Result<()> {
        let start = self.peek(LONGEST_MAGIC)?;
        let (what, remedy) = if start.starts_with(GZIP) {
            ("gzip", "gzip -dc FILE | gzip -dc | warpfold ...")
        } else if start.starts_with(ZIP) {
            ("an archive of zip", "gzip -dc FILE > x.npz, and give x.npz")
        } else {
            return Ok(());
        };
        let cause = format!("within gzip it is {what} again");
        Err(Failure::with_remedy(&self.name, cause, remedy))
    }

    fn ending(&self) -> Option<String> {
        self.path.as_deref().and_then(ending_of)
    }

    /// Takes the place of all bytes from here on.
    pub(crate) fn replace(&mut self, reader: impl Read + Send + 'static, length: u64) {
        self.reader = Box::new(reader);
        self.length = Some(length);
        self.file = None;
        self.head.clear();
        self.position = 0;
    }

    fn format_of_name(&self) -> Option<Format> {
        self.path.as_deref().and_then(format_of_name)
    }

    /// The next bytes, up to some number. They are not read yet.
    pub(crate) fn peek(&mut self, count: usize) -> Result<&[u8]> {
        while self.head.len() < count {
            let start = self.head.len();
            self.head.resize(count, 0);
            let more = read_some(&mut self.reader, &mut self.head[start..]);
            self.head.truncate(start + *more.as_ref().unwrap_or(&0));
            if more.map_err(|error| self.failure(&error))? == 0 {
                break;
            }
        }
        Ok(&self.head[..count.min(self.head.len())])
    }

    /// How many bytes were read so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// How many bytes are left, if that is known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        Some(self.length?.saturating_sub(self.position))
    }

    /// Reads until `bytes` is full or the input ends, and says how many bytes were read.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < bytes.len() {
            match read_some(self, &mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) => return Err(self.failure(&error)),
            }
        }
        Ok(filled)
    }

    fn failure(&self, error: &io::Error) -> Failure {
        match error.kind() {
            // Only what unpacks data says this.
            io::ErrorKind::UnexpectedEof => Failure::with_remedy(
                &self.name,
                "the compressed data are truncated",
                "make the file again; what made it has failed or is not done",
            ),
            io::ErrorKind::Unsupported => Failure::with_remedy(
                &self.name,
                format_args!("it is not gzip throughout: {error}"),
                "gzip -dc FILE | warpfold ..., if gzip reads it",
            ),
            // What gzip reads of it may be wrong.
            io::ErrorKind::InvalidInput => Failure::with_remedy(
                &self.name,
                format_args!("the compressed data are damaged: {error}"),
                "copy or make the file again; gzip -t FILE tells whether it is whole",
            ),
            _ => Failure::at(&self.name, error),
        }
    }
}

impl Read for Input {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = if self.head.is_empty() {
            self.reader.read(bytes)?
        } else {
            let count = self.head.len().min(bytes.len());
            bytes[..count].copy_from_slice(&self.head[..count]);
            self.head.drain(..count);
            count
        };
        self.position += count as u64;
        Ok(count)
    }
}

/// Whether the standard output goes into this file. A shell has emptied it by then, or what is
/// written comes again.
#[cfg(unix)]
fn is_stdout(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let stdout = rustix::fs::fstat(io::stdout());
    stdout.is_ok_and(|stdout| (stdout.st_dev, stdout.st_ino) == (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn is_stdout(_: &std::fs::Metadata) -> bool {
    false
}

/// The file behind the standard input: it tells a length if the shell opened a file there, and has
/// no buffer in between.
fn stdin() -> io::Result<File> {
    #[cfg(unix)]
    use std::os::fd::AsFd;
    #[cfg(windows)]
    use std::os::windows::io::AsHandle;
    #[cfg(unix)]
    let stream = io::stdin().as_fd().try_clone_to_owned();
    #[cfg(windows)]
    let stream = io::stdin().as_handle().try_clone_to_owned();
    stream.map(File::from)
}

fn read_some(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Counts the bytes that come from a file, packed or not.
struct Counted<R> {
    reader: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(bytes)?;
        self.progress.advance(count);
        Ok(count)
    }
}

/// The ending of a name, in small letters: `csv` of `X.CSV`, and also of `.csv`.
pub(crate) fn ending_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let (_, ending) = name.rsplit_once('.')?;
    (!ending.is_empty()).then(|| ending.to_owned())
}

/// The format that a file's ending stands for.
pub(crate) fn format_of_name(path: &Path) -> Option<Format> {
    let ending = ending_of(path)?;
    let is = |endings: &[&str]| endings.contains(&&*ending);
    if is(&["npy"]) {
        Some(Format::Npy)
    } else if is(&["bin", "raw", "dat"]) {
        Some(Format::Raw)
    } else if is(&["txt", "csv", "tsv"]) {
        Some(Format::Text)
    } else {
        None
    }
}

/// What the first bytes of a file look like whose name says that it is raw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    /// Digits, signs, points, commas and exponents, in lines or in one.
    Numbers {
        lines: bool,
    },
    /// Lines of text in UTF-8.
    Lines,
    Utf16(&'static str),
    /// Lines of text in an encoding of single bytes.
    OtherText,
    Binary,
}

impl Looks {
    /// Whether more bytes follow, of which one may belong to a last character, is `cut`.
    fn of(start: &[u8], cut: bool) -> Looks {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        for (mark, encoding, first) in [
            (&b"\xff\xfe"[..], "UTF-16LE", 0),
            (b"\xfe\xff", "UTF-16BE", 1),
            (b"", "UTF-16LE", 0),
            (b"", "UTF-16BE", 1),
        ] {
            let pairs = start.strip_prefix(mark).unwrap_or(&[]).chunks_exact(2);
            let is_ascii = |pair: &[u8]| pair[1 - first] == 0;
            let text: Vec<u8> = pairs
                .clone()
                .map(|pair| if is_ascii(pair) { pair[first] } else { b'?' })
                .collect();
            // Without a mark, small integers of 16 bits can look like this.
            match Looks::of_bytes(&text, true) {
                Looks::Numbers { lines: true } if pairs.clone().all(is_ascii) => {
                    return Looks::Utf16(encoding);
                }
                Looks::Lines if !mark.is_empty() => return Looks::Utf16(encoding),
                _ => {}
            }
        }
        Looks::of_bytes(start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start), cut)
    }

    fn of_bytes(start: &[u8], cut: bool) -> Looks {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c);
        let of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.,;eE".contains(byte);
        // DOS ends a text with ^Z.
        let start = match start {
            [text @ .., 0x1a] if !cut => text,
            text => text,
        };
        let lines = start.iter().any(|byte| matches!(byte, b'\r' | b'\n'));
        let has_digits = start.iter().any(u8::is_ascii_digit);
        let all = |of_text: &dyn Fn(&u8) -> bool| {
            start.iter().all(|byte| is_blank(byte) || of_text(byte))
        };
        if has_digits && all(&of_number) {
            return Looks::Numbers { lines };
        }
        let has_words = start.iter().any(u8::is_ascii_alphanumeric);
        if !lines || !has_words || !all(&|byte| !byte.is_ascii_control()) {
            return Looks::Binary;
        }
        // A few letters may be of other alphabets.
        let others = start.iter().filter(|byte| !byte.is_ascii()).count();
        let is_utf8 = match str::from_utf8(start) {
            Ok(_) => true,
            Err(error) => cut && error.error_len().is_none(),
        };
        // Without digits, small integers of 8 bits can look like that.
        match (is_utf8, has_digits) {
            (true, _) => Looks::Lines,
            (false, true) if others * 8 <= start.len() => Looks::Lines,
            (false, true) => Looks::OtherText,
            (false, false) => Looks::Binary,
        }
    }
}
