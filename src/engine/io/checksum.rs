//! SHA-256 (FIPS 180-4) of files and of results, by which sessions identify them.

use super::source::plain_file;
use super::{Error, disk};
use crate::compute::Control;
use crate::data::{Shared, TensorField, Tractogram};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write};
use std::path::Path;

/// Bytes read at a time; also the interval between two checks for cancellation.
const CHUNK_BYTES: usize = 1 << 20;

/// Depth of nested folders: a TRX needs three. Links may form cycles.
const DEEPEST: usize = 8;

fn hex(sum: Sha256) -> String {
    let digits = sum.finalize();
    digits.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The checksum that `sha256sum` prints; for a folder, over the names and contents of its files in the order of their
/// names.
pub fn of_file(path: &Path, control: &Control) -> Result<String, Error> {
    let mut sum = Sha256::new();
    if path.is_dir() {
        add_folder(path, DEEPEST, &mut sum, control)?;
    } else {
        add_file(path, &mut sum, control)?;
    }
    Ok(hex(sum))
}

/// The checksum of a file with this text.
pub fn of_text(text: &str) -> String {
    hex(Sha256::new_with_prefix(text))
}

/// Passes on what is written and computes its checksum.
pub struct ChecksumWriter<W> {
    inner: W,
    sum: Sha256,
}

impl<W: Write> ChecksumWriter<W> {
    /// Passes everything on to `inner`, of which the checksum is computed.
    pub fn new(inner: W) -> Self {
        let sum = Sha256::new();
        Self { inner, sum }
    }

    /// The checksum of everything that was written.
    pub fn sum(self) -> String {
        hex(self.sum)
    }
}

impl<W: Write> Write for ChecksumWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

fn add_folder(
    folder: &Path,
    depth: usize,
    sum: &mut Sha256,
    control: &Control,
) -> Result<(), Error> {
    if depth == 0 {
        let found = format!("folders nested more than {DEEPEST} deep");
        return Err(Error::malformed(folder, found, "the folder of one file"));
    }
    for path in super::names_in(folder)? {
        sum.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        sum.update([0]);
        if path.is_dir() {
            add_folder(&path, depth - 1, sum, control)?;
        } else {
            add_file(&path, sum, control)?;
        }
    }
    Ok(())
}

fn add_file(path: &Path, sum: &mut Sha256, control: &Control) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::reading(path, &e);
    plain_file(path, "a file")?;
    let mut file = disk::File::open(path).map_err(failed)?;
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        control.check()?;
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(()),
            n => sum.update(&buffer[..n]),
        }
    }
}

fn add_numbers<T: bytemuck::Pod>(sum: &mut Sha256, values: &[T]) {
    sum.update((values.len() as u64).to_le_bytes());
    sum.update(bytemuck::cast_slice::<T, u8>(values));
}

/// The checksum of an array of numbers.
pub fn of_values(values: &[f32]) -> String {
    let mut sum = Sha256::new();
    add_numbers(&mut sum, values);
    hex(sum)
}

fn add_named(sum: &mut Sha256, values: &BTreeMap<String, Shared<f32>>) {
    for (name, values) in values {
        sum.update((name.len() as u64).to_le_bytes());
        sum.update(name);
        add_numbers(sum, values);
    }
}

/// The checksum of points, streamline ends and all values, bit for bit.
pub fn of_tractogram(tractogram: &Tractogram) -> String {
    let mut sum = Sha256::new();
    add_numbers(&mut sum, &tractogram.offsets);
    add_numbers(&mut sum, &tractogram.points);
    add_named(&mut sum, &tractogram.per_streamline);
    add_named(&mut sum, &tractogram.per_point);
    hex(sum)
}

/// The checksum of all tensors and their mask, bit for bit.
pub fn of_tensors(field: &TensorField) -> String {
    let mut sum = Sha256::new();
    add_numbers(&mut sum, &field.tensors);
    hex(sum)
}
