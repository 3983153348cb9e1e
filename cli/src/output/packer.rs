//! Bytes that are packed on their way: gzip, and NumPy's .npz.

use super::name::Packing;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

/// Packs what is written to it. What is ready is taken with [`Packer::take`].
pub(super) struct Packer {
    writer: Box<dyn Pack>,
    ready: Ready,
}

/// The bytes that are packed and not taken yet.
#[derive(Clone, Default)]
struct Ready(Rc<RefCell<Vec<u8>>>);

impl Write for Ready {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Something that packs, and ends with what is left.
trait Pack: Write {
    fn end(self: Box<Self>) -> io::Result<()>;
}

impl Pack for GzEncoder<Ready> {
    fn end(self: Box<Self>) -> io::Result<()> {
        self.finish().map(|_| ())
    }
}

impl Pack for ZipWriter<StreamWriter<Ready>> {
    fn end(self: Box<Self>) -> io::Result<()> {
        self.finish().map(|_| ()).map_err(io::Error::other)
    }
}

impl Packer {
    /// What packs so, if anything does.
    pub(super) fn new(packing: Packing) -> io::Result<Option<Packer>> {
        let ready = Ready::default();
        let writer: Box<dyn Pack> = match packing {
            Packing::Plain => return Ok(None),
            Packing::Gzip => Box::new(GzEncoder::new(ready.clone(), Compression::default())),
            Packing::Npz => {
                let mut archive = ZipWriter::new_stream(ready.clone());
                // As numpy.savez has it: not compressed, and of any length.
                let options = SimpleFileOptions::default()
                    .compression_method(CompressionMethod::Stored)
                    .large_file(true);
                archive
                    .start_file("arr_0.npy", options)
                    .map_err(io::Error::other)?;
                Box::new(archive)
            }
        };
        Ok(Some(Packer { writer, ready }))
    }

    /// Packs some bytes, and gives those that are ready.
    pub(super) fn pack(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.writer.write_all(bytes)?;
        Ok(std::mem::take(&mut self.ready.0.borrow_mut()))
    }

    /// Gives the last bytes.
    pub(super) fn end(self) -> io::Result<Vec<u8>> {
        self.writer.end()?;
        Ok(std::mem::take(&mut self.ready.0.borrow_mut()))
    }
}
