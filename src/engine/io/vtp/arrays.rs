//! The bytes of an array: as text, base64 or raw; whole or in blocks compressed with zlib. Each array begins with its
//! length, or with the number and lengths of its blocks. Raw arrays are read from the file when they are needed.

use super::super::numbers::Type;
use super::super::polydata::parsed_numbers;
use super::super::source::{CHUNK_BYTES, Source, max_unpacked_bytes, too_expanded};
use super::super::{Error, file_bytes, length_of};
use crate::compute::Control;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use flate2::read::ZlibDecoder;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Ascii,
    Binary,
    Appended,
}

pub(super) enum Encoding<'a> {
    Ascii(&'a [u8]),
    Base64(&'a [u8]),
    Raw(Raw<'a>),
}

/// Bytes from an array's start on, as stored in the file; their length is not known yet.
#[derive(Clone, Copy)]
pub(super) enum Raw<'a> {
    /// The bytes of an unpacked file.
    Memory(&'a [u8]),
    File(&'a Path, u64),
}

impl Raw<'_> {
    /// A range of them; `None` if the file ends earlier.
    fn get(self, range: Range<usize>) -> Option<Result<Vec<u8>, Error>> {
        match self {
            Self::Memory(bytes) => bytes.get(range).map(|b| Ok(b.to_vec())),
            Self::File(path, start) => {
                let end = start.checked_add(range.end as u64)?;
                let is_inside = range.start <= range.end && end <= length_of(path)?;
                is_inside
                    .then(|| file_bytes::read_range(path, start + range.start as u64, range.len()))
            }
        }
    }
}

/// The bytes of an array, in the file's byte order.
pub(super) enum ArrayBytes {
    Bytes(Vec<u8>),
    /// In the file, without conversion.
    File(Range<u64>),
}

impl ArrayBytes {
    pub fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File(range) => (range.end - range.start) as usize,
        }
    }

    /// Fills `out` with the first numbers of this form.
    pub fn fill(
        &self,
        path: &Path,
        (number, big_endian): (Type, bool),
        out: &mut [f32],
        control: &Control,
    ) -> Result<(), Error> {
        match self {
            Self::Bytes(bytes) => number.fill(bytes, big_endian, out),
            Self::File(range) => {
                file_bytes::read_floats(path, range.start, (number, big_endian), out, control)?
            }
        }
        Ok(())
    }

    /// Passes all integers of this form one by one; does nothing for other types.
    pub fn indices(
        &self,
        path: &Path,
        (number, big_endian): (Type, bool),
        control: &Control,
        mut take: impl FnMut(u64),
    ) -> Result<(), Error> {
        let mut all = |bytes: &[u8]| {
            let indices = number.indices(bytes, big_endian);
            indices.into_iter().flatten().for_each(&mut take);
        };
        match self {
            Self::Bytes(bytes) => all(bytes),
            Self::File(range) => file_bytes::for_each_piece(path, range.clone(), control, all)?,
        }
        Ok(())
    }
}

/// The part of a file in memory while its XML is read: everything except raw appended data, which is not XML.
pub(super) struct Text<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
    /// The end of the XML, and the start of the appended data, after an underscore.
    xml: usize,
    appended: usize,
    base64: bool,
    /// Whether the appended part stays in the file.
    stays: bool,
    /// Size of the whole file, unpacked.
    pub length: usize,
}

const APPENDED: &[u8] = b"<AppendedData";
/// Number of bytes within which that tag ends.
const TAG_BYTES: usize = 4096;

impl<'a> Text<'a> {
    pub fn read(path: &'a Path, control: &Control) -> Result<Self, Error> {
        let mut source = Source::open(path, control)?;
        let known = source.known_bytes();
        let (mut bytes, mut start) = (Vec::new(), None);
        if known.is_none() {
            bytes = source.whole()?;
            start = find(&bytes, APPENDED);
        } else {
            let enough = |bytes: &[u8], start: Option<usize>| {
                let tag = start.and_then(|at| bytes.get(at..at + TAG_BYTES));
                let tag = tag.and_then(|tag| tag.split(|&b| b == b'>').next());
                tag.is_some_and(|tag| find(tag, b"raw").is_some())
            };
            while !enough(&bytes, start) {
                let before = bytes.len();
                bytes.resize(before + CHUNK_BYTES, 0);
                let read = source.read(&mut bytes[before..])?;
                bytes.truncate(before + read);
                let from = before.saturating_sub(APPENDED.len());
                start = start.or_else(|| Some(from + find(&bytes[from..], APPENDED)?));
                if read < CHUNK_BYTES {
                    break;
                }
            }
        }
        let length = known.map_or(bytes.len(), |n| usize::try_from(n).unwrap_or(usize::MAX));
        let mut text = Self {
            path,
            xml: start.unwrap_or(bytes.len()),
            appended: bytes.len(),
            bytes,
            base64: false,
            stays: false,
            length,
        };
        let Some(start) = start else {
            return Ok(text);
        };
        let cut = || {
            Error::malformed(
                path,
                "appended data that do not begin",
                ("a whole VTP file", "it was cut off: copy it again"),
            )
        };
        let rest = &text.bytes[start..];
        let tag = find(rest, b">").ok_or_else(cut)?;
        let begin = tag + find(&rest[tag..], b"_").ok_or_else(cut)? + 1;
        text.base64 = find(&rest[..tag], b"base64").is_some();
        text.appended = start + begin;
        if text.base64 {
            let end = rest[begin..].iter().position(|&b| b == b'<');
            text.bytes
                .truncate(start + begin + end.unwrap_or(rest.len() - begin));
        } else if known.is_some() {
            text.stays = true;
            text.bytes.truncate(start);
        }
        Ok(text)
    }

    pub fn xml(&self) -> &[u8] {
        &self.bytes[..self.xml]
    }

    pub fn has_appended(&self) -> bool {
        self.xml < self.appended
    }

    /// An appended array.
    pub fn at(&self, offset: usize) -> Option<Encoding<'_>> {
        let from = self.appended.checked_add(offset)?;
        if self.stays {
            return Some(Encoding::Raw(Raw::File(self.path, from as u64)));
        }
        let bytes = self.bytes.get(from..)?;
        Some(match self.base64 {
            true => Encoding::Base64(bytes),
            false => Encoding::Raw(Raw::Memory(bytes)),
        })
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

/// The encoding of arrays, as stated in the file's first tag.
pub(super) struct Unpacker<'a> {
    path: &'a Path,
    pub big_endian: bool,
    /// Bytes per length.
    length_bytes: usize,
    zlib: bool,
    /// Remaining number of bytes that may be unpacked.
    budget: u64,
    /// Remaining number of bytes for uncompressed arrays, which must not overlap.
    plain: u64,
}

impl<'a> Unpacker<'a> {
    pub fn new(
        path: &'a Path,
        file_bytes: usize,
        attribute: impl Fn(&str) -> String,
    ) -> Result<Self, Error> {
        let unknown = |what: &str, found: String, expected: &str| {
            Err(Error::malformed(
                path,
                format!("the {what} “{found}”"),
                expected,
            ))
        };
        let big_endian = match attribute("byte_order").as_str() {
            "BigEndian" => true,
            "LittleEndian" | "" => false,
            other => return unknown("byte order", other.to_owned(), "LittleEndian or BigEndian"),
        };
        let length_bytes = match attribute("header_type").as_str() {
            "UInt64" => 8,
            "UInt32" | "" => 4,
            other => return unknown("header type", other.to_owned(), "UInt32 or UInt64"),
        };
        let zlib = match attribute("compressor").as_str() {
            "" => false,
            "vtkZLibDataCompressor" => true,
            other => {
                return Err(Error::unsupported(
                    path,
                    format!("a VTP file packed with “{other}”"),
                    "save it again with zlib or without compression",
                ));
            }
        };
        Ok(Self {
            path,
            big_endian,
            length_bytes,
            zlib,
            budget: max_unpacked_bytes(file_bytes as u64),
            plain: file_bytes as u64,
        })
    }

    fn truncated(&self) -> Error {
        Error::malformed(
            self.path,
            "an array that ends too early",
            ("a whole VTP file", "it was cut off: copy it again"),
        )
    }

    fn length(&self, bytes: &[u8]) -> usize {
        let fold = |n: u64, b: &u8| n << 8 | u64::from(*b);
        let number = match self.big_endian {
            true => bytes.iter().fold(0, fold),
            false => bytes.iter().rev().fold(0, fold),
        };
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    /// An array's bytes.
    pub fn array_bytes(&mut self, encoding: Encoding, number: Type) -> Result<ArrayBytes, Error> {
        let of_text = matches!(encoding, Encoding::Ascii(_));
        let stored = match encoding {
            Encoding::Raw(raw) if !self.zlib => self.raw(raw)?,
            _ => ArrayBytes::Bytes(self.bytes(encoding, number)?),
        };
        if !(self.zlib || of_text) {
            let left = self.plain.checked_sub(stored.length() as u64);
            self.plain = left.ok_or_else(|| {
                Error::malformed(
                    self.path,
                    "overlapping arrays",
                    ("a place for each", "write the file again"),
                )
            })?;
        }
        Ok(stored)
    }

    /// The raw uncompressed bytes after their length.
    fn raw(&self, raw: Raw) -> Result<ArrayBytes, Error> {
        let cut = || self.truncated();
        let head = raw.get(0..self.length_bytes).ok_or_else(cut)??;
        let end = self.length_bytes.checked_add(self.length(&head));
        let range = self.length_bytes..end.ok_or_else(cut)?;
        if let Raw::File(path, start) = raw {
            let (from, end) = (
                start + range.start as u64,
                start.checked_add(range.end as u64),
            );
            let length = length_of(path).unwrap_or(0);
            let end = end.filter(|&end| end <= length).ok_or_else(cut)?;
            return Ok(ArrayBytes::File(from..end));
        }
        Ok(ArrayBytes::Bytes(raw.get(range).ok_or_else(cut)??))
    }

    /// All bytes of an array, in the file's byte order.
    fn bytes(&mut self, encoding: Encoding, number: Type) -> Result<Vec<u8>, Error> {
        match encoding {
            Encoding::Ascii(text) => self.text(text, number),
            Encoding::Raw(raw) => {
                let size = self.length_bytes;
                let first = raw.get(0..size).ok_or_else(|| self.truncated())??;
                let own = self.head_bytes(&first)?;
                let head = raw.get(0..own).ok_or_else(|| self.truncated())??;
                let end = own.checked_add(self.packed(&head));
                let data = end.and_then(|end| raw.get(own..end));
                self.unpack(&head, &data.ok_or_else(|| self.truncated())??)
            }
            Encoding::Base64(text) => {
                let mut text = text.to_vec();
                text.retain(|b| !b.is_ascii_whitespace());
                self.base64(&text)
            }
        }
    }

    fn text(&self, text: &[u8], number: Type) -> Result<Vec<u8>, Error> {
        let text_error =
            || Error::malformed(self.path, "an array with text among its numbers", "numbers");
        let mut bytes = Vec::new();
        // Two characters, a digit and a blank, become as many bytes as the type has.
        for value in parsed_numbers::<f64>(text) {
            let value = value.ok_or_else(text_error)?;
            let put: &[u8] = match number {
                Type::F32 => &(value as f32).to_le_bytes(),
                Type::F64 | Type::F16 => &value.to_le_bytes(),
                Type::I8 => &(value as i8).to_le_bytes(),
                Type::I16 => &(value as i16).to_le_bytes(),
                Type::I32 => &(value as i32).to_le_bytes(),
                Type::I64 => &(value as i64).to_le_bytes(),
                Type::U8 => &(value as u8).to_le_bytes(),
                Type::U16 => &(value as u16).to_le_bytes(),
                Type::U32 => &(value as u32).to_le_bytes(),
                Type::U64 => &(value as u64).to_le_bytes(),
            };
            match self.big_endian {
                true => bytes.extend(put.iter().rev()),
                false => bytes.extend(put),
            }
        }
        Ok(bytes)
    }

    /// Size of the block lengths and the three numbers before them.
    fn head_bytes(&self, first: &[u8]) -> Result<usize, Error> {
        let blocks = self.length(first).checked_add(3);
        let bytes = blocks.and_then(|n| n.checked_mul(self.length_bytes));
        bytes.ok_or_else(|| self.truncated())
    }

    /// Total compressed size of all blocks listed in the head.
    fn packed(&self, head: &[u8]) -> usize {
        let lengths = head[3 * self.length_bytes..].chunks(self.length_bytes);
        lengths.fold(0, |sum, l| sum.saturating_add(self.length(l)))
    }

    fn base64(&mut self, text: &[u8]) -> Result<Vec<u8>, Error> {
        let cut = self.truncated();
        let letters = |bytes: usize| bytes.div_ceil(3).checked_mul(4);
        // The first `bytes` decoded from some letters.
        let decoded = |text: &[u8], bytes: usize| -> Option<Vec<u8>> {
            let text = &text[..letters(bytes)?.min(text.len())];
            let mut all = BASE64.decode(text).ok()?;
            (all.len() >= bytes).then(|| {
                all.truncate(bytes);
                all
            })
        };
        let size = self.length_bytes;
        let head = decoded(text, size).ok_or_else(|| cut.clone())?;
        if !self.zlib {
            let length = self.length(&head);
            // Some programs encode the length separately, followed by an end mark.
            let own = letters(size).unwrap_or(0).min(text.len());
            if text[..own].ends_with(b"=") && own < text.len() {
                return decoded(&text[own..], length).ok_or(cut);
            }
            let all = size.checked_add(length).and_then(|n| decoded(text, n));
            return Ok(all.ok_or(cut)?.split_off(size));
        }
        let head = self.head_bytes(&head)?;
        let own = letters(head)
            .filter(|&n| n <= text.len())
            .ok_or_else(|| cut.clone())?;
        let head = decoded(text, head).ok_or_else(|| cut.clone())?;
        let data = decoded(&text[own..], self.packed(&head)).ok_or(cut)?;
        self.unpack(&head, &data)
    }

    /// Unpacks the blocks listed in the head.
    fn unpack(&mut self, head: &[u8], mut data: &[u8]) -> Result<Vec<u8>, Error> {
        let lengths: Vec<usize> = head
            .chunks(self.length_bytes)
            .map(|l| self.length(l))
            .collect();
        let [_, block, last, packed @ ..] = lengths.as_slice() else {
            return Err(self.truncated());
        };
        let mut bytes = Vec::new();
        for (i, &length) in packed.iter().enumerate() {
            // A last length of 0 means that the last block is full, too.
            let full = i + 1 < packed.len() || *last == 0;
            let unpacked_bytes = if full { *block } else { *last };
            let rest = self.budget.checked_sub(unpacked_bytes as u64);
            self.budget = rest.ok_or_else(|| too_expanded(self.path))?;
            let (piece, behind) = data
                .split_at_checked(length)
                .ok_or_else(|| self.truncated())?;
            data = behind;
            let before = bytes.len();
            let mut decoder = ZlibDecoder::new(piece).take(unpacked_bytes as u64);
            let read = decoder.read_to_end(&mut bytes);
            if read.is_err() || bytes.len() - before != unpacked_bytes {
                return Err(Error::Damaged {
                    path: self.path.to_owned(),
                    reason: format!("block {} of an array", i + 1),
                });
            }
        }
        Ok(bytes)
    }
}
