//! The members of a gzip file as one stream. Zeros after a member are padding from tapes and block devices, which
//! gzip skips.

use flate2::bufread::GzDecoder;
use std::io::{BufRead, Read, Result};

pub(super) struct Members<R: BufRead> {
    /// `None` after the last member.
    decoder: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub fn new(packed: R) -> Self {
        Self {
            decoder: Some(GzDecoder::new(packed)),
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                return Ok(0);
            };
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            // The member has ended with the right checksum. An error below ends the stream.
            let Some(decoder) = self.decoder.take() else {
                return Ok(0);
            };
            let mut packed = decoder.into_inner();
            if skip_zeros(&mut packed)? {
                self.decoder = Some(GzDecoder::new(packed));
            }
        }
    }
}

/// Skips zeros; returns whether anything follows.
fn skip_zeros(packed: &mut impl BufRead) -> Result<bool> {
    loop {
        let bytes = packed.fill_buf()?;
        let zeros = bytes.iter().take_while(|b| **b == 0).count();
        let (all, end) = (zeros == bytes.len(), bytes.is_empty());
        packed.consume(zeros);
        if end || !all {
            return Ok(!end);
        }
    }
}
