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
/// Most points do within a few dozen of the 255 steps, so most of the picture is nearly black.
pub(crate) fn mandelbrot(width: u32, height: u32) -> Picture {
    const VIEW: f64 = 0.012;
    let pixel = VIEW / f64::from(width);
    let (left, top) = (-0.7513, 0.1127 - pixel * f64::from(height) / 2.0);
    let rows = (0..height).map(|row| top + pixel * f64::from(row));
    let pixels = rows.flat_map(|y| {
        (0..width).map(move |column| escape_time(left + pixel * f64::from(column), y))
    });
    Picture {
        width,
        height,
        pixels: pixels.collect(),
    }
}

/// After how many steps z ↦ z² + x + iy has |z| > 2; black for what stays.
fn escape_time(x: f64, y: f64) -> u8 {
    let (mut re, mut im) = (0.0, 0.0);
    for step in 0..=255 {
        if re * re + im * im > 4.0 {
            return step;
        }
        (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
    }
    0
}
