//! Grey pictures, read and written.

use std::fs::File;
use std::io::{self, Cursor};

/// A picture of 256 shades of grey, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pixels: Vec<u8>,
}

impl Picture {
    /// The picture in a PNG file.
    pub(crate) fn read(file: &[u8]) -> Picture {
        let decoder = png::Decoder::new(Cursor::new(file));
        let mut reader = decoder.read_info().expect("a PNG file");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a picture that fits")];
        let info = reader.next_frame(&mut pixels).expect("a whole picture");
        assert_eq!(
            (info.color_type, info.bit_depth),
            (png::ColorType::Grayscale, png::BitDepth::Eight)
        );
        Picture {
            width: info.width,
            height: info.height,
            pixels,
        }
    }

    /// Writes the picture as a PNG file.
    pub(crate) fn write(&self, path: &str) -> io::Result<()> {
        let mut encoder = png::Encoder::new(File::create(path)?, self.width, self.height);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header()?;
        Ok(writer.write_image_data(&self.pixels)?)
    }
}
