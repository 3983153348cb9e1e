//! Dynamic allocation: every input makes none, one or several outputs, and all of them write at
//! once.
//!
//! A text is escaped for HTML: `<` becomes `&lt;`, and so on; other bytes stay as they are, and
//! carriage returns are dropped. Where the output of a byte goes depends on all bytes before it,
//! but only through the sum of their outputs' lengths: the exclusive scan of the lengths gives
//! every byte its place (Blelloch 1990, section 1.5).
//!
//! `cargo run --release --example allocation`

mod support;

use support::Report;
use warpfold::{Device, Result, ops::Add};

/// What a byte becomes.
fn escaped(byte: &u8) -> &[u8] {
    match byte {
        b'&' => b"&amp;",
        b'<' => b"&lt;",
        b'>' => b"&gt;",
        b'"' => b"&quot;",
        b'\r' => b"",
        _ => std::slice::from_ref(byte),
    }
}

/// The escaped text: lengths, their scan, and a write of each output into its place.
fn in_parallel(device: &Device, text: &[u8]) -> Result<Vec<u8>> {
    let lengths = device.upload_vec(lengths(text))?;
    let total = device.reduce::<u32, Add>(&lengths)?;
    let places = device.scan::<u32, Add>(&lengths)?.into_vec()?;

    let mut output = vec![0; total as usize];
    for (byte, place) in text.iter().zip(places) {
        // No two outputs overlap, so these writes may come in any order.
        let (place, escaped) = (place as usize, escaped(byte));
        output[place..place + escaped.len()].copy_from_slice(escaped);
    }
    Ok(output)
}

/// How many bytes each byte becomes.
fn lengths(text: &[u8]) -> Vec<u32> {
    text.iter().map(|byte| escaped(byte).len() as u32).collect()
}

/// The sequential program: one output behind the other.
fn sequentially(text: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    for byte in text {
        output.extend_from_slice(escaped(byte));
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
        assert_eq!(in_parallel(&device, &text)?, expected);
        report.whole(&device, || in_parallel(&device, &text))?;
        report.scan::<u32, Add>(&device, &lengths(&text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_code_is_escaped() -> Result<()> {
        let escaped = in_parallel(&Device::cpu(), b"if a<b && c > \"d\"\r\n")?;
        assert_eq!(
            escaped.escape_ascii().to_string(),
            "if a&lt;b &amp;&amp; c &gt; &quot;d&quot;\\n"
        );
        assert_eq!(in_parallel(&Device::cpu(), b"\r\r")?, b"");
        Ok(())
    }

    #[test]
    fn random_texts_are_escaped_as_sequentially() -> Result<()> {
        for length in [0, 1, 100, 20_000] {
            let letter = |bits| b"a<&>\r\""[(bits % 6) as usize];
            let text: Vec<u8> = support::random(11).map(letter).take(length).collect();
            assert_eq!(in_parallel(&Device::cpu(), &text)?, sequentially(&text));
        }
        Ok(())
    }
}
