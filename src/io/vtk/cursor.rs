//! Walking through a legacy VTK file: lines, words, and numbers in the file's form.

use super::super::Error;
use super::super::numbers::Type;
use super::super::polydata::words_as;
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
    bytes: &'a [u8],
    pub at: usize,
    pub binary: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self {
            path,
            bytes,
            at: 0,
            binary: false,
        }
    }

    pub fn wrong(&self, found: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::malformed(self.path, found, expected)
    }

    fn cut(&self) -> Error {
        self.wrong(
            format!(
                "the end of the file at byte {}, within its data",
                self.bytes.len()
            ),
            "a whole VTK file; it was cut off, copy it again",
        )
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// To the end of the line, which is passed over.
    pub fn line(&mut self) -> String {
        let rest = self.rest();
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at += (end + 1).min(rest.len());
        String::from_utf8_lossy(&rest[..end]).trim_end().to_owned()
    }

    /// What is left of the line, whose end stays: numbers begin behind it.
    pub fn line_rest(&mut self) -> String {
        let rest = self.rest();
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at += end;
        String::from_utf8_lossy(&rest[..end]).into_owned()
    }

    fn skip_blanks(&mut self) {
        let blanks = self.rest().iter().take_while(|b| b.is_ascii_whitespace());
        self.at += blanks.count();
    }

    /// The next word; nothing at the end of the file.
    pub fn word(&mut self) -> &'a str {
        self.skip_blanks();
        let rest = self.rest();
        let letters = rest.iter().take_while(|b| !b.is_ascii_whitespace());
        let word = &rest[..letters.count()];
        self.at += word.len();
        std::str::from_utf8(word).unwrap_or("?")
    }

    /// Whether the next word is this one. Binary numbers must not be taken for blanks, so these are
    /// only passed over where the word follows.
    pub fn next_is(&mut self, word: &str) -> bool {
        let before = self.at;
        let same = self.word() == word;
        self.at = before;
        same
    }

    /// A name, whose blanks and signs stand as `%20` and the like.
    pub fn name(&mut self) -> String {
        let word = self.word().as_bytes();
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
            self.wrong(found, "a whole number")
        })
    }

    pub fn kind(&mut self) -> Result<Kind, Error> {
        let word = self.word();
        Kind::named(word).ok_or_else(|| {
            self.wrong(
                format!("the number type “{word}”"),
                "float, double, int and the like",
            )
        })
    }

    /// Colours are bytes in binary files and numbers up to 1 in text.
    pub fn colour(&self) -> Kind {
        Kind::Number(if self.binary { Type::U8 } else { Type::F32 })
    }

    /// The bytes of `count` numbers, which begin in the next line.
    fn binary(&mut self, kind: Type, count: Option<usize>) -> Result<&'a [u8], Error> {
        self.line();
        let size = count.and_then(|n| n.checked_mul(kind.bytes()));
        let bytes = size
            .and_then(|n| self.rest().get(..n))
            .ok_or_else(|| self.cut())?;
        self.at += bytes.len();
        Ok(bytes)
    }

    /// `count` numbers of a text.
    fn text<T: std::str::FromStr>(&mut self, count: Option<usize>) -> Result<Vec<T>, Error> {
        let rest = self.rest();
        // A number takes a letter and a blank.
        let count = count
            .filter(|&n| n <= rest.len() / 2 + 1)
            .ok_or_else(|| self.cut())?;
        let mut values = Vec::with_capacity(count);
        values.extend(words_as(rest).take(count).map_while(|v| v));
        for _ in 0..values.len() {
            self.word();
        }
        if values.len() == count {
            return Ok(values);
        }
        let word = self.word().to_owned();
        Err(match word.as_str() {
            "" => self.cut(),
            word => self.wrong(format!("“{word}” among the numbers"), "a number"),
        })
    }

    pub fn floats(&mut self, kind: Kind, count: Option<usize>) -> Result<Vec<f32>, Error> {
        match (kind, self.binary) {
            (Kind::Number(_) | Kind::Bit, false) => self.text(count),
            (Kind::Number(number), true) => Ok(number.floats(self.binary(number, count)?, true)),
            (Kind::Bit, true) => {
                let bytes = self.binary(Type::U8, count.map(|n| n.div_ceil(8)))?;
                let bit = |i: usize| f32::from(bytes[i / 8] >> (7 - i % 8) & 1);
                Ok((0..count.unwrap_or(0)).map(bit).collect())
            }
            (Kind::String, _) => Err(self.wrong("words among the values", "numbers")),
        }
    }

    pub fn indices(&mut self, kind: Kind, count: Option<usize>) -> Result<Vec<u64>, Error> {
        let Kind::Number(number) = kind else {
            return Err(self.wrong("lines made of words", "whole numbers"));
        };
        if !self.binary {
            return self.text(count);
        }
        let bytes = self.binary(number, count)?;
        number
            .indices(bytes, true)
            .ok_or_else(|| self.wrong("lines made of fractions", "whole numbers"))
    }

    /// Texts: one a line, or each behind its length, which takes one, two, four or eight bytes.
    pub fn strings(&mut self, count: Option<usize>) -> Result<Vec<String>, Error> {
        let count = count.filter(|&n| n <= self.rest().len());
        let count = count.ok_or_else(|| self.cut())?;
        self.line();
        let mut texts = Vec::new();
        for _ in 0..count {
            if !self.binary {
                texts.push(self.line());
                continue;
            }
            let rest = self.rest();
            let first = *rest.first().ok_or_else(|| self.cut())?;
            let bytes = [8, 4, 2, 1][usize::from(first >> 6)];
            let length = rest.get(..bytes).ok_or_else(|| self.cut())?;
            let length = length[1..]
                .iter()
                .fold(u64::from(first & 0x3f), |n, &b| n << 8 | u64::from(b));
            let text = usize::try_from(length)
                .ok()
                .and_then(|n| rest[bytes..].get(..n));
            let text = text.ok_or_else(|| self.cut())?;
            texts.push(String::from_utf8_lossy(text).into_owned());
            self.at += bytes + text.len();
        }
        Ok(texts)
    }

    /// Lines up to an empty one.
    pub fn skip_metadata(&mut self) {
        self.line();
        while self.at < self.bytes.len() && !self.line().is_empty() {}
    }
}
