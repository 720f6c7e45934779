//! A file as a stream: compressed or not, counted and cancellable, with a check of how much it can hold before memory
//! is allocated.

use super::Error;
use super::disk::{self, Metadata};
use super::members::Members;
use crate::compute::Control;
use crate::compute::memory::{self, size};
use crate::data::Sentence;
use crate::data::text::file_name;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The name of a file for messages; the names in a session's store are meaningless.
fn shown_name(path: &Path) -> String {
    let name = file_name(path);
    match super::session::is_stored_name(&name) {
        true => "streamlines of the session".to_owned(),
        false => name,
    }
}

/// Largest expansion by deflate: 258 bytes for two bits (RFC 1951, and zlib's technical notes).
pub(super) const GREATEST_EXPANSION: u64 = 1032;

/// Largest expansion of a compressed file as a whole (plus 1 MiB). Measured data never compress further; data that do
/// are an attempt to exhaust memory.
pub(super) const MAX_EXPANSION: u64 = 100;
pub(super) const ALWAYS_ALLOWED_BYTES: u64 = 1 << 20;

/// Masks and label maps compress better than measurements: an image may unpack to this size from a file of any size.
pub(super) const UNPACKED_ALLOWANCE_BYTES: u64 = 256 << 20;

/// Names the work in a message about memory while a file is read.
pub(super) const READING: &str = "Reading the file";

/// Bytes read at a time; also the interval between two checks for cancellation.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

pub(super) struct Source {
    path: PathBuf,
    /// Offset of the stream in the file.
    start: u64,
    /// Bytes on disk from there on.
    file_bytes: u64,
    compressed: bool,
    reader: Box<dyn Read + Send>,
    /// Whether the compressed stream ended before its own end mark and checksum.
    cut: bool,
    control: Control,
}

/// Reports bytes read from the disk to the job.
struct CountedReader {
    file: disk::File,
    control: Control,
}

impl Read for CountedReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.control.advance(n as u64);
        Ok(n)
    }
}

impl Source {
    /// Opens a regular file; gzip is recognised by its first bytes, not by the name.
    pub fn open(path: &Path, control: &Control) -> Result<Self, Error> {
        Self::begin(path, 0, None, control)
    }

    /// Opens the part of a file from `start` on, whose compression is known.
    pub fn open_at(
        path: &Path,
        start: u64,
        compressed: bool,
        control: &Control,
    ) -> Result<Self, Error> {
        Self::begin(path, start, Some(compressed), control)
    }

    fn begin(
        path: &Path,
        start: u64,
        compressed: Option<bool>,
        control: &Control,
    ) -> Result<Self, Error> {
        let failed = |e: std::io::Error| Error::reading(path, &e);
        let metadata = plain_file(path, "a file")?;
        let mut file = disk::File::open(path).map_err(failed)?;
        let mut magic = [0; 2];
        let looks = fill(&mut file, &mut magic).map_err(failed)?.0 == 2 && magic == GZIP_MAGIC;
        let compressed = compressed.unwrap_or(looks);
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let file_bytes = metadata.len().saturating_sub(start);
        control.begin_file("Reading", &shown_name(path), file_bytes);
        let counted = CountedReader {
            file,
            control: control.clone(),
        };
        let buffered = BufReader::with_capacity(CHUNK_BYTES / 4, counted);
        let reader: Box<dyn Read + Send> = if compressed {
            Box::new(Members::new(buffered))
        } else {
            Box::new(buffered)
        };
        Ok(Self {
            path: path.to_owned(),
            start,
            file_bytes,
            compressed,
            reader,
            cut: false,
            control: control.clone(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the stream, if the file system knows it.
    pub fn known_bytes(&self) -> Option<u64> {
        (!self.compressed).then_some(self.file_bytes)
    }

    /// Fills the buffer as far as the stream goes and returns the number of bytes.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut done = 0;
        for piece in buffer.chunks_mut(CHUNK_BYTES) {
            self.control.check()?;
            let (n, cut) = fill(&mut self.reader, piece).map_err(|e| self.failed(&e))?;
            self.cut |= cut;
            done += n;
            if n < piece.len() {
                break;
            }
        }
        Ok(done)
    }

    /// The cause of an error in the contents: damage of the compressed stream, if there is any.
    pub fn cause(&mut self, error: Error) -> Error {
        match self.compressed {
            true => self.finish(u64::MAX).err().unwrap_or(error),
            false => error,
        }
    }

    /// Returns an error if a compressed stream unpacked to more than its file's size allows.
    pub fn check_expansion(&self, unpacked: u64) -> Result<(), Error> {
        match self.compressed && unpacked > max_unpacked_bytes(self.file_bytes) {
            true => Err(too_expanded(&self.path)),
            false => Ok(()),
        }
    }

    /// Reads everything from here to the end. The unpacked size of a compressed file is limited by its size.
    pub fn whole(self) -> Result<Vec<u8>, Error> {
        let limit = match self.known_bytes() {
            Some(bytes) => bytes,
            None => max_unpacked_bytes(self.file_bytes),
        };
        let path = self.path.clone();
        self.at_most(limit)?.ok_or_else(|| too_expanded(&path))
    }

    /// Everything from here to the end; `None` if a compressed file unpacks to more.
    fn at_most(mut self, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        let mut bytes = Vec::new();
        if !self.compressed {
            super::voxels::reserve(&self.path, &mut bytes, limit as usize)?;
        }
        loop {
            let before = bytes.len();
            let room = (limit - before as u64).min(CHUNK_BYTES as u64) as usize;
            if bytes.capacity() - before < room {
                super::voxels::reserve(&self.path, &mut bytes, before.max(room))?;
            }
            bytes.resize(before + room, 0);
            let n = self.read(&mut bytes[before..])?;
            bytes.truncate(before + n);
            if n < room || room == 0 {
                break;
            }
        }
        let more = self.compressed && self.finish(1)? > 0;
        Ok((!more).then_some(bytes))
    }

    /// Skips up to `bytes` bytes and returns how many there were.
    pub fn skip(&mut self, bytes: u64) -> Result<u64, Error> {
        let mut buffer = vec![0; (CHUNK_BYTES as u64).min(bytes) as usize];
        let mut done = 0;
        while done < bytes {
            let requested = (buffer.len() as u64).min(bytes - done) as usize;
            let n = self.read(&mut buffer[..requested])? as u64;
            done += n;
            if n < requested as u64 {
                break;
            }
        }
        Ok(done)
    }

    /// Checks that the stream holds `bytes` bytes, counted from its start, without storing any of them. A compressed
    /// file does if its trailer states the same length as the header (both modulo 2³²) and deflate can expand that
    /// far; if they disagree (several members, a truncated or forged file), the stream is decoded once more to be
    /// counted.
    pub fn verify_size(&self, bytes: u64) -> Result<(), Error> {
        let size_error = |found_bytes| {
            Err(Error::Short {
                path: self.path.clone(),
                found_bytes,
                expected_bytes: bytes,
            })
        };
        if !self.compressed {
            return if self.file_bytes >= bytes {
                Ok(())
            } else {
                size_error(self.file_bytes)
            };
        }
        // The read below detects data that deflate cannot have expanded to.
        let possible = bytes / GREATEST_EXPANSION <= self.file_bytes;
        let bomb = bytes > UNPACKED_ALLOWANCE_BYTES && bytes > max_unpacked_bytes(self.file_bytes);
        if possible && bomb && !memory::is_limited() {
            return Err(Error::malformed(
                &self.path,
                format!("{} packed into {}", size(bytes), size(self.file_bytes)),
                (
                    format!("at most {MAX_EXPANSION} times the file"),
                    Sentence::worded(
                        "if you trust it, allow as much memory as it needs (--memory GB, or the setting)",
                        "if you trust it, allow as much memory as it needs (Settings)",
                    ),
                ),
            ));
        }
        if bytes / GREATEST_EXPANSION <= self.file_bytes
            && self.trailer_length()? == (bytes & 0xffff_ffff) as u32
        {
            return Ok(());
        }
        // The count is not reported: a second progress bar would be useless.
        let silent = Control::new();
        let mut reopened = Self::open_at(&self.path, self.start, self.compressed, &silent)?;
        let mut counted = 0;
        while counted < bytes {
            self.control.check()?;
            match reopened.skip((bytes - counted).min(CHUNK_BYTES as u64))? {
                0 => return size_error(counted),
                n => counted += n,
            }
        }
        Ok(())
    }

    /// ISIZE, the last four bytes of a gzip file (RFC 1952).
    fn trailer_length(&self) -> Result<u32, Error> {
        let failed = |e: std::io::Error| Error::reading(&self.path, &e);
        let mut file = disk::File::open(&self.path).map_err(failed)?;
        let mut length = [0; 4];
        if self.file_bytes >= 4 {
            file.seek(SeekFrom::End(-4)).map_err(failed)?;
            file.read_exact(&mut length).map_err(failed)?;
        }
        Ok(u32::from_le_bytes(length))
    }

    /// Reads the rest, up to `limit` bytes, and returns how many there were: the checksum of a compressed stream is
    /// compared only at its end.
    pub fn finish(&mut self, limit: u64) -> Result<u64, Error> {
        let behind = self.skip(limit)?;
        if self.cut {
            return Err(Error::Damaged {
                path: self.path.clone(),
                reason: "their end is missing".to_owned(),
            });
        }
        Ok(behind)
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        if self.compressed
            && matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::InvalidData
            )
        {
            Error::Damaged {
                path: self.path.clone(),
                reason: error.to_string(),
            }
        } else {
            Error::reading(&self.path, error)
        }
    }
}

/// Metadata of a regular file, queried before it is opened: opening a pipe would wait for its other end.
pub(super) fn plain_file(path: &Path, expected: &str) -> Result<Metadata, Error> {
    let metadata = disk::metadata(path).map_err(|e| Error::reading(path, &e))?;
    if metadata.is_dir() {
        return Err(Error::Folder {
            path: path.to_owned(),
        });
    }
    if !metadata.is_file() {
        return Err(Error::malformed(
            path,
            "a device or a pipe",
            (expected, "save its output to a file, and name that file"),
        ));
    }
    Ok(metadata)
}

/// Largest number of bytes to which `packed` compressed ones may unpack.
pub(super) fn max_unpacked_bytes(packed: u64) -> u64 {
    packed
        .saturating_mul(MAX_EXPANSION)
        .saturating_add(ALWAYS_ALLOWED_BYTES)
}

pub(super) fn too_expanded(path: &Path) -> Error {
    Error::malformed(
        path,
        format!("compressed data that unpack to more than {MAX_EXPANSION} times their size"),
        (
            "measured data, which do not compress that far",
            "unpack it yourself if you trust it",
        ),
    )
}

/// Like `read_exact`, but an early end gives a smaller count, because the caller knows what was expected. Also
/// returns whether the reader itself found data missing at the end.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<(usize, bool)> {
    let mut done = 0;
    while done < buffer.len() {
        match reader.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok((done, true)),
            Err(e) => return Err(e),
        }
    }
    Ok((done, false))
}

/// Reads a small text file; a file over `limit` bytes is refused before it is read.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, Error> {
    let source = Source::open(path, &Control::new())?;
    let too_long = |found: String| {
        Error::malformed(path, found, format!("a text file of at most {limit} bytes"))
    };
    let file_bytes = source.file_bytes;
    if file_bytes > limit {
        return Err(too_long(format!("a file of {file_bytes} bytes")));
    }
    let max_bytes = source.known_bytes().unwrap_or(limit);
    let bytes = source.at_most(max_bytes)?;
    let bytes = bytes.ok_or_else(|| too_long("a file that unpacks to more".to_owned()))?;
    String::from_utf8(bytes).map_err(|_| Error::malformed(path, "a binary file", "a text file"))
}
