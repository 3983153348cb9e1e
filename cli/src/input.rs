//! Where numbers come from.

use crate::args::Format;
use crate::failure::{Failure, Result};
use crate::number::Number;
use crate::progress::Progress;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use warpfold::bytemuck;

/// Large enough to make system calls cheap, small enough to stay in the cache.
const CHUNK_BYTES: usize = 1 << 20;

/// A file or the standard input, and how far it was read.
pub(crate) struct Input {
    /// The name that messages use.
    pub(crate) name: String,
    path: Option<PathBuf>,
    reader: Box<dyn Read>,
    /// The length in bytes, known for regular files.
    length: Option<u64>,
    /// The first bytes, read ahead to tell the format by.
    head: Vec<u8>,
    position: u64,
    progress: Progress,
}

impl Input {
    /// Opens a file; `-` and nothing are the standard input.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            let stdin = io::stdin().lock();
            let progress = Progress::new("reading", None, !stdin.is_terminal());
            return Ok(Input {
                name: "standard input".into(),
                path: None,
                reader: Box::new(stdin),
                length: None,
                head: Vec::new(),
                position: 0,
                progress,
            });
        };
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Failure::at(&name, error))?;
        let metadata = file.metadata().map_err(|error| Failure::at(&name, error))?;
        let length = metadata.is_file().then_some(metadata.len());
        Ok(Input {
            name,
            path: Some(path.into()),
            reader: Box::new(file),
            length,
            head: Vec::new(),
            position: 0,
            progress: Progress::new("reading", length, true),
        })
    }

    /// The format that the data's beginning or the file's name tells.
    pub(crate) fn guess_format(&mut self) -> Result<Format> {
        let mut head = vec![0; crate::npy::MAGIC.len()];
        let count = self.fill(&mut head)?;
        head.truncate(count);
        self.position = 0;
        self.head = head;
        if self.head == crate::npy::MAGIC {
            return Ok(Format::Npy);
        }
        Ok(self
            .path
            .as_deref()
            .and_then(format_of_name)
            .unwrap_or(Format::Text))
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
        let from_head = self.head.len().min(bytes.len());
        bytes[..from_head].copy_from_slice(&self.head[..from_head]);
        self.head.drain(..from_head);
        let mut filled = from_head;
        while filled < bytes.len() {
            match self.reader.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    self.progress.advance(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::at(&self.name, error)),
            }
        }
        self.position += filled as u64;
        Ok(filled)
    }

    /// Reads up to `limit` elements, straight into the vector that is returned. The second result
    /// is the number of bytes after the last whole element.
    ///
    /// Memory is set aside only for what the file's length confirms: a limit may be a lie.
    pub(crate) fn read_elements<T: Number>(&mut self, limit: usize) -> Result<(Vec<T>, usize)> {
        let size = size_of::<T>();
        let mut values = Vec::new();
        let expected = self.remaining().unwrap_or(0) / size as u64;
        let expected = usize::try_from(expected).unwrap_or(usize::MAX).min(limit);
        self.reserve::<T>(&mut values, expected)?;
        while values.len() < limit {
            let free = values.capacity() - values.len();
            if free == 0 {
                // Nothing more is expected: grow only if there is more indeed.
                let mut next = [T::zeroed()];
                let count = self.fill(bytemuck::cast_slice_mut(&mut next))?;
                if count < size {
                    return Ok((values, count));
                }
                self.reserve(&mut values, 1)?;
                values.push(next[0]);
                continue;
            }
            let start = values.len();
            let step = free.min(limit - start).min(CHUNK_BYTES / size);
            values.resize(start + step, T::zeroed());
            let count = self.fill(bytemuck::cast_slice_mut(&mut values[start..]))?;
            if count < step * size {
                values.truncate(start + count / size);
                return Ok((values, count % size));
            }
        }
        Ok((values, 0))
    }

    fn reserve<T>(&self, values: &mut Vec<T>, additional: usize) -> Result<()> {
        values.try_reserve(additional).map_err(|_| {
            let elements = values.len() + additional;
            Failure::at(
                &self.name,
                format_args!("not enough memory for {elements} elements"),
            )
        })
    }
}

/// The format that a file's ending stands for.
pub(crate) fn format_of_name(path: &Path) -> Option<Format> {
    let ending = path.extension()?.to_str()?;
    let is = |endings: &[&str]| endings.iter().any(|e| ending.eq_ignore_ascii_case(e));
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
