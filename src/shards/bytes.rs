//! Reading and writing what goes to other processes.

/// The bytes of a name in a packet. Longer ones are cut.
pub(super) const NAME_BYTES: usize = 80;

/// Bytes that are looked at together, so that the compiler takes vectors.
const STEP: usize = 256;

/// Whether all bytes are zeros.
pub(super) fn are_zeros(bytes: &[u8]) -> bool {
    let of_step = |step: &[u8]| step.iter().fold(0, |any, byte| any | byte);
    bytes.chunks(STEP).all(|step| of_step(step) == 0)
}

/// Bytes without the zeros at their end, but for some.
pub(super) fn without_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.rchunks(STEP).take_while(|step| are_zeros(step));
    &bytes[..bytes.len() - zeros.map(<[u8]>::len).sum::<usize>()]
}

/// Bytes that are read from the front.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let bytes = self.take(8)?;
        Some(u64::from_ne_bytes(bytes.try_into().expect("8 bytes")))
    }
}

/// Appends a name, cut or filled up with zeros.
pub(super) fn put_name(bytes: &mut Vec<u8>, name: &str) {
    let end = bytes.len() + NAME_BYTES;
    bytes.extend_from_slice(cut(name, NAME_BYTES).as_bytes());
    bytes.resize(end, 0);
}

/// Reads a name.
pub(super) fn take_name(reader: &mut Reader<'_>) -> Option<String> {
    let name = reader.take(NAME_BYTES)?;
    let end = name
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |at| at + 1);
    Some(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// As much of a text as so many bytes hold.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    let mut ends = (0..=bytes.min(text.len())).rev();
    let end = ends.find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_told_from_other_bytes() {
        for len in [0, 1, 255, 256, 257, 1000] {
            let mut bytes = vec![0; len];
            assert!(
                are_zeros(&bytes) && without_zeros(&bytes).is_empty(),
                "{len}"
            );
            for at in 0..len {
                bytes[at] = 1;
                assert!(!are_zeros(&bytes), "{at} of {len}");
                let rest = without_zeros(&bytes);
                assert!(
                    (at + 1..at + 1 + STEP).contains(&rest.len()),
                    "{at} of {len}"
                );
                bytes[at] = 0;
            }
        }
    }
}
