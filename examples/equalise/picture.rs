//! Grey pictures: drawn, read and written.

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

/// A corner of the Mandelbrot set, in the "valley of seahorses": the shade is the number of steps until a point escapes.
/// Most points do after some dozen steps, some after hundreds, so nearly all of the picture is nearly black.
pub(crate) fn mandelbrot(width: u32, height: u32) -> Picture {
    let mut pixels = Vec::new();
    for row in 0..height {
        for column in 0..width {
            let x = -0.7453 + 0.0120 * (f64::from(column) / f64::from(width) - 0.5);
            let y = 0.1127 + 0.0120 * (f64::from(row) - f64::from(height) * 0.5) / f64::from(width);
            pixels.push(escape_time(x, y));
        }
    }
    Picture {
        width,
        height,
        pixels,
    }
}

/// A quarter of the number of steps z ↦ z² + x + iy until |z| > 2; black for what stays.
fn escape_time(x: f64, y: f64) -> u8 {
    let (mut re, mut im) = (0.0, 0.0);
    for step in 0..1020 {
        if re * re + im * im > 4.0 {
            return (step / 4) as u8;
        }
        (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
    }
    0
}
