//! gzip: members one behind the other, and the zeros that tapes and archives end blocks with.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// What all members hold, up to the end or to zeros that go on to the end.
pub(super) struct Members<R: Read> {
    /// Nothing behind the last one.
    member: Option<GzDecoder<BufReader<R>>>,
}

impl<R: Read> Members<R> {
    pub(super) fn new(packed: R) -> Members<R> {
        Members {
            member: Some(GzDecoder::new(BufReader::new(packed))),
        }
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        while let Some(mut member) = self.member.take() {
            let count = member.read(bytes);
            if !matches!(count, Ok(0)) {
                self.member = Some(member);
                return count;
            }
            let mut packed = member.into_inner();
            if goes_on(&mut packed)? {
                self.member = Some(GzDecoder::new(packed));
            }
        }
        Ok(0)
    }
}

/// Whether another member begins here. Fails if other data do, with a kind of error that what unpacks
/// them does not have.
fn goes_on(packed: &mut impl BufRead) -> io::Result<bool> {
    match packed.fill_buf()?.first() {
        None | Some(0) => {}
        Some(0x1f) => return Ok(true),
        Some(_) => {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "other data stand behind the compressed ones",
            ));
        }
    }
    loop {
        let zeros = packed.fill_buf()?;
        let count = zeros.len();
        if count == 0 {
            return Ok(false);
        }
        if zeros.iter().any(|&byte| byte != 0) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "other data stand behind zeros",
            ));
        }
        packed.consume(count);
    }
}
