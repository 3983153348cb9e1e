//! A file whose bytes are the numbers: several threads read it at once.
//!
//! It is read, not mapped. That takes no longer, since the pieces stay in the caches, and a file
//! that becomes shorter meanwhile is an error, where a mapped one would end the program (SIGBUS).

use crate::cast;
use crate::failure::{Failure, Result};
use crate::number::{DType, Number, with_number};
use crate::numbers::tell_of_rounding;
use crate::progress::Progress;
use std::fs::File;
use std::io;
use std::sync::Mutex;
use warpfold::bytemuck;

/// The bytes that are read at a time where numbers change their type.
const BLOCK_BYTES: usize = 32 << 10;

/// The numbers in a file, in the order and the representation that memory has.
pub(crate) struct SharedFile {
    /// The name that messages use.
    pub(crate) name: String,
    pub(crate) dtype: DType,
    /// How many numbers there are.
    pub(crate) count: usize,
    pub(super) file: File,
    /// Where the first number stands.
    pub(super) start: u64,
    pub(super) progress: Mutex<Progress>,
}

impl SharedFile {
    /// Reads the numbers from a position on, as numbers of some type.
    pub(crate) fn read<C: Number>(&self, position: usize, mut to: &mut [C]) -> Result<()> {
        if C::DTYPE == self.dtype {
            return self.fill(position, bytemuck::cast_slice_mut(to));
        }
        let size = self.dtype.size();
        self.blocks(position, to.len(), &mut |block| {
            let (now, rest) = std::mem::take(&mut to).split_at_mut(block.len() / size);
            tell_of_rounding(&self.name, (self.dtype, block), C::DTYPE);
            cast::cast(
                (self.dtype, block),
                (C::DTYPE, bytemuck::cast_slice_mut(now)),
            );
            to = rest;
        })
    }

    /// Whether no number is infinite or NaN.
    pub(crate) fn is_finite(&self) -> Result<bool> {
        let mut is_finite = true;
        if self.dtype.is_float() {
            self.blocks(0, self.count, &mut |block| {
                with_number!(self.dtype, T => {
                    let numbers: &[T] = bytemuck::cast_slice(block);
                    is_finite &= numbers.iter().all(|number| number.to_float().is_finite());
                });
            })?;
        }
        Ok(is_finite)
    }

    /// Hands on the bytes of so many numbers from a position on, in blocks of one length, but for
    /// the last. They lie as numbers of the type do.
    pub(crate) fn blocks(
        &self,
        position: usize,
        count: usize,
        work: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        let mut room = [0_u64; BLOCK_BYTES / 8];
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut room);
        let (size, most) = (self.dtype.size(), BLOCK_BYTES / self.dtype.size());
        for done in (0..count).step_by(most) {
            let block = &mut room[..(count - done).min(most) * size];
            self.fill(position + done, block)?;
            work(block);
        }
        Ok(())
    }

    fn fill(&self, position: usize, bytes: &mut [u8]) -> Result<()> {
        let start = self.start + (position * self.dtype.size()) as u64;
        read_exact_at(&self.file, bytes, start).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Failure::with_remedy(
                &self.name,
                format_args!(
                    "the file was cut off while it was read: it ends before byte {}",
                    start + bytes.len() as u64
                ),
                "read it again when nothing writes to it",
            ),
            _ => Failure::at(&self.name, error),
        })?;
        if let Ok(mut progress) = self.progress.lock() {
            progress.advance(bytes.len());
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, start) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes = &mut bytes[count..];
                start += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100]).unwrap();
        let shared = SharedFile {
            name: "x.bin".into(),
            dtype: DType::U16,
            count: 45,
            file: file.try_clone().unwrap(),
            start: 10,
            progress: Mutex::new(Progress::new(None, false)),
        };
        let mut numbers = [0_u16; 5];
        shared.read(40, &mut numbers).unwrap();
        assert_eq!(numbers, [0x0707; 5]);
        let mut wide = [0_u64; 5];
        shared.read(40, &mut wide).unwrap();
        assert_eq!(wide, [0x0707; 5]);
        file.set_len(99).unwrap();
        let Err(Failure::Message(message)) = shared.read(40, &mut numbers) else {
            panic!("a byte is missing");
        };
        assert_eq!(
            message,
            "x.bin: the file was cut off while it was read: it ends before byte 100\n  remedy: \
             read it again when nothing writes to it"
        );
    }
}
