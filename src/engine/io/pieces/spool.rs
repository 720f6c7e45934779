//! Bytes of several arrays that are written one after the other, but become known in turns.

use crate::io::atomic::TemporaryFile;
use crate::io::atomic::WriteStop;
use crate::io::disk;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes kept in memory; more go into a temporary file.
const IN_MEMORY: usize = 16 << 20;
/// Bytes copied at a time.
const CHUNK: u64 = 4 << 20;

/// The bytes of arrays, each in parts.
pub(in crate::io) struct Spool {
    target: PathBuf,
    /// Parts of each array, as ranges of all bytes.
    parts: Vec<Vec<Range<u64>>>,
    /// The first bytes, beside the target.
    file: Option<(TemporaryFile, disk::File)>,
    bytes_in_file: u64,
    /// The bytes after those in the file.
    memory: Vec<u8>,
}

impl Spool {
    /// `arrays` empty arrays; `target`: the file that will contain them, next to which bytes are stored.
    pub fn new(target: &Path, arrays: usize) -> Self {
        Self {
            target: target.to_owned(),
            parts: vec![Vec::new(); arrays],
            file: None,
            bytes_in_file: 0,
            memory: Vec::new(),
        }
    }

    /// Appends bytes to an array.
    pub fn put(&mut self, array: usize, bytes: &[u8]) -> std::io::Result<()> {
        let start = self.bytes_in_file + self.memory.len() as u64;
        let end = start + bytes.len() as u64;
        match self.parts[array].last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => self.parts[array].push(start..end),
        }
        self.memory.extend_from_slice(bytes);
        if self.memory.len() <= IN_MEMORY {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(TemporaryFile::create(&self.target)?);
        }
        if let Some((_, file)) = &mut self.file {
            file.write_all(&self.memory)?;
            self.bytes_in_file += self.memory.len() as u64;
            self.memory = Vec::new();
        }
        Ok(())
    }

    /// Passes the bytes of an array to `take`, in parts.
    pub fn array(
        &self,
        array: usize,
        mut take: impl FnMut(&[u8]) -> Result<(), WriteStop>,
    ) -> Result<(), WriteStop> {
        for part in &self.parts[array] {
            let in_file = part.start..part.end.min(self.bytes_in_file);
            if let Some((temporary, _)) = &self.file
                && !in_file.is_empty()
            {
                let mut file = disk::File::open(&temporary.path)?;
                file.seek(SeekFrom::Start(in_file.start))?;
                let mut buffer = vec![0; CHUNK.min(in_file.end - in_file.start) as usize];
                let mut left = in_file.end - in_file.start;
                while left > 0 {
                    let piece = &mut buffer[..left.min(CHUNK) as usize];
                    file.read_exact(piece)?;
                    take(piece)?;
                    left -= piece.len() as u64;
                }
            }
            let from = part.start.max(self.bytes_in_file) - self.bytes_in_file;
            let to = part.end.max(self.bytes_in_file) - self.bytes_in_file;
            for piece in self.memory[from as usize..to as usize].chunks(CHUNK as usize) {
                take(piece)?;
            }
        }
        Ok(())
    }
}
