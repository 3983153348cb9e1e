//! Dynamic allocation: every input makes none, one or several outputs, and all of them are written
//! at once.
//!
//! A text is escaped for HTML: `<` becomes `&lt;`, and so on; other bytes stay as they are, and
//! carriage returns are dropped. Where the output of a byte goes depends on all bytes before it.
//! So each byte is mapped to six slots, the most that it can need, and a select moves those that
//! are used together. A select is an allocation: the exclusive scan of its flags, which it makes on
//! the way, gives each item its place (Blelloch 1990, section 1.5).
//!
//! `cargo run --release --example allocation`

mod support;

use support::Report;
use warpfold::{Buffer, Device, Result, map};

/// The most bytes that one byte becomes.
const SLOTS: usize = 6;

/// What does not fill all slots ends with zeros, which no text for HTML may hold.
const AMPERSAND: [u8; SLOTS] = *b"&amp;\0";
const LESS: [u8; SLOTS] = *b"&lt;\0\0";
const GREATER: [u8; SLOTS] = *b"&gt;\0\0";
const QUOTE: [u8; SLOTS] = *b"&quot;";

/// What a byte becomes.
#[warpfold::function]
fn escaped(byte: u8) -> [u8; SLOTS] {
    match byte {
        b'&' => AMPERSAND,
        b'<' => LESS,
        b'>' => GREATER,
        b'"' => QUOTE,
        b'\r' => [0; SLOTS],
        _ => [byte, 0, 0, 0, 0, 0],
    }
}

/// Whether something is in a slot.
#[warpfold::function]
fn is_used(slot: u8) -> bool {
    slot != 0
}

/// The escaped text: a map, and a select.
fn in_parallel(device: &Device, text: &Buffer<u8>) -> Result<Buffer<u8>> {
    let slots = device.collect(map::<escaped, _>(text))?;
    // Flattened, the memory of the arrays is one slot after the other: nothing is copied.
    device.select::<u8, is_used>(&slots.into_flattened())
}

/// The sequential program: one output behind the other.
fn sequentially(text: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    for byte in text {
        match byte {
            b'&' => output.extend_from_slice(b"&amp;"),
            b'<' => output.extend_from_slice(b"&lt;"),
            b'>' => output.extend_from_slice(b"&gt;"),
            b'"' => output.extend_from_slice(b"&quot;"),
            0 | b'\r' => (),
            _ => output.push(*byte),
        }
    }
    output
}

fn main() -> Result<()> {
    let length = support::length(1 << 22);
    let text = support::repeated(support::SOURCE.as_bytes(), length);
    let report = Report {
        example: "allocation",
        length,
    };

    let expected = sequentially(&text);
    println!("{length} bytes become {}", expected.len());
    report.sequential(|| sequentially(&text));
    for device in support::devices() {
        let escaped = report.parallel(&device, &text, in_parallel)?;
        assert_eq!(escaped, expected);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::kernels::Kept;
    use warpfold::flagged;

    fn on_the_cpu(text: &[u8]) -> Result<Vec<u8>> {
        support::answer(&Device::cpu(), text, in_parallel)
    }

    #[test]
    fn a_line_of_code_is_escaped() -> Result<()> {
        let escaped = on_the_cpu(b"if a<b && c > \"d\"\r\n")?;
        assert_eq!(
            escaped.escape_ascii().to_string(),
            "if a&lt;b &amp;&amp; c &gt; &quot;d&quot;\\n"
        );
        assert_eq!(on_the_cpu(b"\r\r")?, b"");
        Ok(())
    }

    #[test]
    fn random_texts_are_escaped_as_sequentially() -> Result<()> {
        for length in [0, 1, 100, 20_000] {
            let letter = |bits| b"a<&>\r\""[(bits % 6) as usize];
            let text: Vec<u8> = support::random(11).map(letter).take(length).collect();
            assert_eq!(on_the_cpu(&text)?, sequentially(&text));
        }
        Ok(())
    }

    #[test]
    fn the_kernels_compile_as_cuda() -> Result<()> {
        let text = Device::cpu().upload(b"text")?;
        support::check_collect(map::<escaped, _>(&text));
        support::check_select::<Kept, u8, _>(flagged::<is_used, _>(&text));
        Ok(())
    }
}
