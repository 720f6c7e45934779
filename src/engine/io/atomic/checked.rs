//! Files whose bytes are compared by a checksum (CRC-32) when they are read back: they need not fit into memory.

use super::super::file_bytes::for_each_piece;
use super::super::{Error, disk};
use super::{PreparedFile, ReadBackDifference, VerifyFailure, WriteStop, prepare};
use crate::compute::Control;
use flate2::Crc;
use std::cell::RefCell;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

/// A number of bytes and their checksum.
#[derive(Default)]
pub struct Sum {
    bytes: u64,
    crc: Crc,
}

impl Sum {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.crc.update(bytes);
    }

    /// Compares bytes with these.
    pub fn verify_bytes(&self, bytes: &[u8]) -> Result<(), VerifyFailure> {
        let mut stored = Self::default();
        stored.add(bytes);
        self.same(&stored)
    }

    fn same(&self, stored: &Self) -> Result<(), VerifyFailure> {
        match (stored.bytes, stored.crc.sum()) == (self.bytes, self.crc.sum()) {
            true => Ok(()),
            false => Err(ReadBackDifference::Bytes.into()),
        }
    }

    /// Compares a part of a file with these bytes.
    pub fn verify(
        &self,
        path: &Path,
        range: Range<u64>,
        control: &Control,
    ) -> Result<(), VerifyFailure> {
        let mut stored = Self::default();
        for_each_piece(path, range, &control.silent(), |bytes| stored.add(bytes))?;
        self.same(&stored)
    }
}

/// Passes on what is written and adds it to a sum.
pub struct CheckedWriter<'a> {
    file: &'a mut BufWriter<disk::File>,
    sum: Sum,
}

impl Write for CheckedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Does the same as [`prepare`] for a file that `write` fills from its first byte to its last, and compares every byte
/// when it is read back.
pub fn prepare_checked(
    path: &Path,
    control: &Control,
    write: impl FnOnce(&mut CheckedWriter) -> Result<(), WriteStop>,
) -> Result<PreparedFile, Error> {
    let expected = RefCell::new(Sum::default());
    prepare(
        path,
        |file| {
            let sum = Sum::default();
            let mut checked = CheckedWriter { file, sum };
            write(&mut checked)?;
            expected.replace(checked.sum);
            Ok(())
        },
        |written| -> Result<(), VerifyFailure> {
            let length = disk::metadata(written)?.len();
            expected.borrow().verify(written, 0..length, control)?;
            Ok(control.check()?)
        },
    )
}
