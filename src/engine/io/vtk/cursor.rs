//! Parses a legacy VTK file: lines, words, and numbers in the file's form. Only a window of the file is in memory,
//! which leaves room for its contents.

use super::super::numbers::Type;
use super::super::source::{CHUNK_BYTES, Source};
use super::super::{Error, Expected};
use crate::compute::Control;
use std::ops::Range;
use std::path::Path;

/// The type of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Number(Type),
    Bit,
    String,
}

impl Kind {
    pub const INT: Self = Self::Number(Type::I32);
    pub const STRING: Self = Self::String;

    fn named(name: &str) -> Option<Self> {
        Some(Self::Number(match name.to_ascii_lowercase().as_str() {
            "bit" => return Some(Self::Bit),
            "string" => return Some(Self::String),
            "unsigned_char" => Type::U8,
            "char" | "signed_char" => Type::I8,
            "unsigned_short" => Type::U16,
            "short" => Type::I16,
            "unsigned_int" => Type::U32,
            // Ids are written with 32 bits.
            "int" | "vtkidtype" => Type::I32,
            "unsigned_long" | "vtktypeuint64" => Type::U64,
            "long" | "vtktypeint64" => Type::I64,
            "float" => Type::F32,
            "double" => Type::F64,
            _ => return None,
        }))
    }
}

pub(super) struct Cursor<'a> {
    path: &'a Path,
    /// The bytes after the window; `None` for a file that was unpacked at once.
    source: Option<Source>,
    /// Bytes that were read and are still needed.
    window: Vec<u8>,
    /// Position in the window.
    position: usize,
    /// Number of bytes after the window.
    behind: u64,
    /// Total number of bytes, unpacked.
    pub length: usize,
    /// The error that stopped the reading: the file seems to end there.
    failed: Option<Error>,
    pub binary: bool,
    /// Whether values in float64 were read.
    pub has_doubles: bool,
}

impl<'a> Cursor<'a> {
    pub fn open(path: &'a Path, control: &Control) -> Result<Self, Error> {
        let source = Source::open(path, control)?;
        let (source, window, behind) = match source.known_bytes() {
            Some(bytes) => (Some(source), Vec::new(), bytes),
            None => (None, source.whole()?, 0),
        };
        Ok(Self {
            path,
            source,
            length: window.len() + usize::try_from(behind).unwrap_or(usize::MAX),
            window,
            position: 0,
            behind,
            failed: None,
            binary: false,
            has_doubles: false,
        })
    }

    /// The error that stopped the reading, if any, otherwise this one.
    pub fn malformed(&mut self, found: impl Into<String>, expected: impl Into<Expected>) -> Error {
        let malformed = Error::malformed(self.path, found, expected);
        self.failed.take().unwrap_or(malformed)
    }

    pub fn other_format(&mut self, found: &str, expected: &str) -> Error {
        let foreign = Error::other_format(self.path, found, expected);
        self.failed.take().unwrap_or(foreign)
    }

    fn truncated(&mut self) -> Error {
        self.malformed(
            format!(
                "the end of the file at byte {}, within its data",
                self.length
            ),
            ("a whole VTK file", "it was cut off: copy it again"),
        )
    }

    /// The error that stopped the reading, if any.
    pub fn failure(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// Number of bytes from here to the end.
    fn bytes_left(&self) -> u64 {
        (self.window.len() - self.position) as u64 + self.behind
    }

    /// Extends the window; `false` at the end of the file.
    fn read_more(&mut self) -> bool {
        let bytes = self.behind.min(CHUNK_BYTES as u64) as usize;
        let before = self.window.len();
        self.window.resize(before + bytes, 0);
        let source = self.source.as_mut();
        let read = source.map_or(Ok(0), |s| s.read(&mut self.window[before..]));
        let read = read.unwrap_or_else(|e| {
            self.failed = Some(e);
            0
        });
        self.window.truncate(before + read);
        // The missing bytes were cut off meanwhile.
        self.behind = match read < bytes {
            true => 0,
            false => self.behind - bytes as u64,
        };
        read > 0
    }

    /// Drops the consumed part of the window.
    fn drop_consumed(&mut self) {
        if self.position >= CHUNK_BYTES {
            self.window.drain(..self.position);
            self.position = 0;
        }
    }

    /// The end of the next line.
    fn line_end(&mut self) -> usize {
        let mut from = self.position;
        loop {
            let end = self.window[from..].iter().position(|&b| b == b'\n');
            if let Some(end) = end {
                return from + end;
            }
            from = self.window.len();
            if !self.read_more() {
                return from;
            }
        }
    }

    fn text_of(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(&self.window[range]).into_owned()
    }

    /// Reads to the end of the line and consumes the line end.
    pub fn line(&mut self) -> String {
        let end = self.line_end();
        let text = self.text_of(self.position..end);
        self.position = (end + 1).min(self.window.len());
        text.trim_end().to_owned()
    }

    /// Reads the rest of the line but not its end, after which numbers begin.
    pub fn line_rest(&mut self) -> String {
        let end = self.line_end();
        let text = self.text_of(self.position..end);
        self.position = end;
        text
    }

    /// The range of the next word, which is consumed; empty at the end of the file.
    fn next_word(&mut self) -> Range<usize> {
        let (mut at, mut start) = (self.position, None);
        loop {
            let blank = match self.window.get(at).copied() {
                Some(letter) => letter.is_ascii_whitespace(),
                None if self.read_more() => continue,
                None => break,
            };
            match start {
                None if !blank => start = Some(at),
                Some(_) if blank => break,
                _ => {}
            }
            at += 1;
        }
        self.position = at;
        start.unwrap_or(at)..at
    }

    /// The next word; empty at the end of the file.
    pub fn word(&mut self) -> String {
        let word = self.next_word();
        let word = std::str::from_utf8(&self.window[word]);
        word.unwrap_or("?").to_owned()
    }

    /// Whether the next word is this one. Binary numbers must not be taken for blanks, so blanks are consumed only if
    /// the word follows.
    pub fn next_is(&mut self, word: &str) -> bool {
        let before = self.position;
        let same = self.word() == word;
        self.position = before;
        same
    }

    /// The word after a section's values; drops everything read before it.
    pub fn keyword(&mut self) -> String {
        self.drop_consumed();
        self.word().to_ascii_uppercase()
    }

    /// A name, with blanks and special characters encoded as `%20` and the like.
    pub fn name(&mut self) -> String {
        let word = self.word().into_bytes();
        let mut plain = Vec::with_capacity(word.len());
        let mut at = 0;
        while at < word.len() {
            let hex = word.get(at + 1..at + 3).filter(|_| word[at] == b'%');
            let code = hex.and_then(|h| u8::from_str_radix(std::str::from_utf8(h).ok()?, 16).ok());
            plain.push(code.unwrap_or(word[at]));
            at += if code.is_some() { 3 } else { 1 };
        }
        String::from_utf8_lossy(&plain).into_owned()
    }

    pub fn count(&mut self) -> Result<usize, Error> {
        let word = self.word();
        word.parse().map_err(|_| {
            let found = format!("“{word}” where a number of items should be");
            self.malformed(found, "a whole number")
        })
    }

    pub fn kind(&mut self) -> Result<Kind, Error> {
        let word = self.word();
        Kind::named(&word).ok_or_else(|| {
            self.malformed(
                format!("the number type “{word}”"),
                "float, double, int and the like",
            )
        })
    }

    /// Colours are bytes in binary files and numbers up to 1 in text.
    pub fn colour(&self) -> Kind {
        Kind::Number(if self.binary { Type::U8 } else { Type::F32 })
    }

    /// Passes the bytes of `count` numbers, which begin on the next line, in pieces of whole numbers.
    fn binary(
        &mut self,
        number: Type,
        count: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        self.line();
        let bytes = count.checked_mul(number.bytes());
        let Some(mut bytes) = bytes.filter(|&n| n as u64 <= self.bytes_left()) else {
            return Err(self.truncated());
        };
        while bytes > 0 {
            self.drop_consumed();
            while self.window.len() - self.position < number.bytes() && self.read_more() {}
            let available = (self.window.len() - self.position).min(bytes);
            let whole = available / number.bytes() * number.bytes();
            if whole == 0 {
                return Err(self.truncated());
            }
            take(&self.window[self.position..self.position + whole]);
            self.position += whole;
            bytes -= whole;
        }
        Ok(())
    }

    /// Passes `count` numbers of a text.
    fn parse_numbers<T: std::str::FromStr>(
        &mut self,
        count: usize,
        mut take: impl FnMut(T),
    ) -> Result<(), Error> {
        for _ in 0..count {
            self.drop_consumed();
            let word = self.next_word();
            let word = std::str::from_utf8(&self.window[word]).unwrap_or("?");
            match word.parse() {
                Ok(number) => take(number),
                Err(_) if word.is_empty() => return Err(self.truncated()),
                Err(_) => {
                    let found = format!("“{word}” among the numbers");
                    return Err(self.malformed(found, "a number"));
                }
            }
        }
        Ok(())
    }

    /// Checks that the rest of the file may hold this many numbers.
    pub fn checked_count(&mut self, kind: Kind, count: Option<usize>) -> Result<usize, Error> {
        let max_count = match (kind, self.binary) {
            // A number takes at least a digit and a blank.
            (_, false) => self.bytes_left() / 2 + 1,
            (Kind::Bit, true) => self.bytes_left().saturating_mul(8),
            (Kind::Number(number), true) => self.bytes_left() / number.bytes() as u64,
            (Kind::String, true) => self.bytes_left(),
        };
        count
            .filter(|&n| n as u64 <= max_count)
            .ok_or_else(|| self.truncated())
    }

    pub fn fill(&mut self, kind: Kind, out: &mut [f32]) -> Result<(), Error> {
        let count = out.len();
        self.has_doubles |= kind == Kind::Number(Type::F64);
        match (kind, self.binary) {
            (Kind::Number(_) | Kind::Bit, false) => {
                let mut rest = out.iter_mut();
                self.parse_numbers(count, |value| {
                    if let Some(out) = rest.next() {
                        *out = value;
                    }
                })
            }
            (Kind::Number(number), true) => {
                let mut done = 0;
                self.binary(number, count, |bytes| {
                    let end = done + bytes.len() / number.bytes();
                    number.fill(bytes, true, &mut out[done..end]);
                    done = end;
                })
            }
            (Kind::Bit, true) => {
                let mut rest = out.iter_mut();
                self.binary(Type::U8, count.div_ceil(8), |bytes| {
                    let bits = bytes
                        .iter()
                        .flat_map(|b| (0..8).map(move |i| b >> (7 - i) & 1));
                    for (bit, out) in bits.zip(rest.by_ref()) {
                        *out = f32::from(bit);
                    }
                })
            }
            (Kind::String, _) => Err(self.malformed("words among the values", "numbers")),
        }
    }

    pub fn floats(&mut self, kind: Kind, count: Option<usize>) -> Result<Vec<f32>, Error> {
        let mut values = vec![0.0; self.checked_count(kind, count)?];
        self.fill(kind, &mut values)?;
        Ok(values)
    }

    /// Passes integers one by one.
    pub fn indices(
        &mut self,
        kind: Kind,
        count: Option<usize>,
        mut take: impl FnMut(u64),
    ) -> Result<(), Error> {
        let Kind::Number(number) = kind else {
            return Err(self.malformed("lines made of words", "whole numbers"));
        };
        let count = self.checked_count(kind, count)?;
        if !self.binary {
            return self.parse_numbers(count, take);
        }
        if number.is_float() {
            return Err(self.malformed("lines made of fractions", "whole numbers"));
        }
        self.binary(number, count, |bytes| {
            let indices = number.indices(bytes, true);
            indices.into_iter().flatten().for_each(&mut take);
        })
    }

    /// Texts: one per line, or each after its length, which takes one, two, four or eight bytes.
    pub fn strings(&mut self, count: Option<usize>) -> Result<Vec<String>, Error> {
        let count = self.checked_count(Kind::STRING, count)?;
        self.line();
        let mut texts = Vec::new();
        for _ in 0..count {
            if !self.binary {
                texts.push(self.line());
                continue;
            }
            let first = *self.bytes(1)?.first().unwrap_or(&0);
            let more = [7, 3, 1, 0][usize::from(first >> 6)];
            let length = self
                .bytes(more)?
                .iter()
                .fold(u64::from(first & 0x3f), |n, &b| n << 8 | u64::from(b));
            let text = self.bytes(usize::try_from(length).unwrap_or(usize::MAX))?;
            texts.push(String::from_utf8_lossy(text).into_owned());
        }
        Ok(texts)
    }

    /// Consumes this many bytes.
    fn bytes(&mut self, count: usize) -> Result<&[u8], Error> {
        if count as u64 > self.bytes_left() {
            return Err(self.truncated());
        }
        while self.window.len() - self.position < count {
            if !self.read_more() {
                return Err(self.truncated());
            }
        }
        self.position += count;
        Ok(&self.window[self.position - count..self.position])
    }

    /// Skips lines up to an empty one.
    pub fn skip_metadata(&mut self) {
        self.line();
        while self.bytes_left() > 0 && !self.line().is_empty() {}
    }
}
