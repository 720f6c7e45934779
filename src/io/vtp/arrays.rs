//! The bytes of an array: as text, base64 or raw; whole or in blocks packed with zlib. Each begins
//! with its length, or with the numbers and lengths of its blocks.

use super::super::Error;
use super::super::numbers::Type;
use super::super::polydata::words_as;
use super::super::source::{most_unpacked, too_expanded};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use flate2::read::ZlibDecoder;
use std::io::Read as _;
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
    Raw(&'a [u8]),
}

/// What stands behind the XML.
pub(super) struct Appended<'a> {
    bytes: &'a [u8],
    base64: bool,
}

impl<'a> Appended<'a> {
    pub fn at(&self, offset: usize) -> Option<Encoding<'a>> {
        let bytes = self.bytes.get(offset..)?;
        Some(match self.base64 {
            true => Encoding::Base64(bytes),
            false => Encoding::Raw(bytes),
        })
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

/// The XML without the appended data, and these: they begin behind an underscore, and raw ones are
/// no XML at all.
pub(super) fn split<'a>(path: &Path, bytes: &'a [u8]) -> Result<(&'a [u8], Appended<'a>), Error> {
    let Some(start) = find(bytes, b"<AppendedData") else {
        let none = Appended {
            bytes: &[],
            base64: false,
        };
        return Ok((bytes, none));
    };
    let (xml, rest) = bytes.split_at(start);
    let cut = || {
        Error::malformed(
            path,
            "appended data that do not begin",
            "a whole VTP file; it was cut off, copy it again",
        )
    };
    let tag = find(rest, b">").ok_or_else(cut)?;
    let begin = tag + find(&rest[tag..], b"_").ok_or_else(cut)? + 1;
    let base64 = find(&rest[..tag], b"base64").is_some();
    let rest = &rest[begin..];
    let end = match base64 {
        true => rest.iter().position(|&b| b == b'<').unwrap_or(rest.len()),
        false => rest.len(),
    };
    Ok((
        xml,
        Appended {
            bytes: &rest[..end],
            base64,
        },
    ))
}

/// How arrays are packed, as the file's first tag says.
pub(super) struct Unpacker<'a> {
    path: &'a Path,
    pub big_endian: bool,
    /// Bytes of a length.
    length_bytes: usize,
    zlib: bool,
    /// What may still be unpacked.
    budget: u64,
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
            budget: most_unpacked(file_bytes as u64),
        })
    }

    fn cut(&self) -> Error {
        Error::malformed(
            self.path,
            "an array that ends before its time",
            "a whole VTP file; it was cut off, copy it again",
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

    /// All bytes of an array, in the file's byte order.
    pub fn bytes(&mut self, encoding: Encoding, number: Type) -> Result<Vec<u8>, Error> {
        match encoding {
            Encoding::Ascii(text) => self.text(text, number),
            Encoding::Raw(raw) => {
                let head = raw.get(..self.length_bytes).ok_or_else(|| self.cut())?;
                if !self.zlib {
                    let end = self.length_bytes.checked_add(self.length(head));
                    let all = end.and_then(|end| raw.get(self.length_bytes..end));
                    return Ok(all.ok_or_else(|| self.cut())?.to_vec());
                }
                let head = self.head_bytes(head)?;
                let (head, data) = raw.split_at_checked(head).ok_or_else(|| self.cut())?;
                self.unpack(head, data)
            }
            Encoding::Base64(text) => {
                let mut text = text.to_vec();
                text.retain(|b| !b.is_ascii_whitespace());
                self.base64(&text)
            }
        }
    }

    fn text(&self, text: &[u8], number: Type) -> Result<Vec<u8>, Error> {
        let wrong = || {
            Error::malformed(
                self.path,
                "an array with words among its numbers",
                "numbers",
            )
        };
        let mut bytes = Vec::new();
        // Two letters, a digit and a blank, become as many bytes as the type has.
        for value in words_as::<f64>(text) {
            let value = value.ok_or_else(wrong)?;
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

    /// How long the lengths of all blocks are, with the three numbers before them.
    fn head_bytes(&self, first: &[u8]) -> Result<usize, Error> {
        let blocks = self.length(first).checked_add(3);
        let bytes = blocks.and_then(|n| n.checked_mul(self.length_bytes));
        bytes.ok_or_else(|| self.cut())
    }

    fn base64(&mut self, text: &[u8]) -> Result<Vec<u8>, Error> {
        let cut = self.cut();
        let letters = |bytes: usize| bytes.div_ceil(3).checked_mul(4);
        // The first `bytes` of what some letters stand for.
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
            // Some programs encode the length by itself, and an end mark follows it.
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
        let packed = head[3 * size..].chunks(size).map(|l| self.length(l));
        let packed = packed.fold(0usize, |sum, n| sum.saturating_add(n));
        let data = decoded(&text[own..], packed).ok_or(cut)?;
        self.unpack(&head, &data)
    }

    /// Unpacks the blocks whose lengths the head tells.
    fn unpack(&mut self, head: &[u8], mut data: &[u8]) -> Result<Vec<u8>, Error> {
        let lengths: Vec<usize> = head
            .chunks(self.length_bytes)
            .map(|l| self.length(l))
            .collect();
        let [_, block, last, packed @ ..] = lengths.as_slice() else {
            return Err(self.cut());
        };
        let mut bytes = Vec::new();
        for (i, &length) in packed.iter().enumerate() {
            // A last length of 0 means that it is a whole block, too.
            let full = i + 1 < packed.len() || *last == 0;
            let expected = if full { *block } else { *last };
            let rest = self.budget.checked_sub(expected as u64);
            self.budget = rest.ok_or_else(|| too_expanded(self.path))?;
            let (piece, behind) = data.split_at_checked(length).ok_or_else(|| self.cut())?;
            data = behind;
            let before = bytes.len();
            let mut decoder = ZlibDecoder::new(piece).take(expected as u64);
            let read = decoder.read_to_end(&mut bytes);
            if read.is_err() || bytes.len() - before != expected {
                return Err(Error::Damaged {
                    path: self.path.to_owned(),
                    why: format!("block {} of an array", i + 1),
                });
            }
        }
        Ok(bytes)
    }
}
