//! The fields of an NRRD header.

use super::super::Error;
use super::super::numbers::Type;
use super::super::source::Source;
use crate::compute::Control;
use glam::{DMat3, DVec3};
use std::path::Path;

/// A header is about a page of text.
const HEADER_LIMIT: usize = 1 << 20;
/// Largest number of lines of another format before the samples.
const LINES_LIMIT: usize = 1 << 16;
/// Largest number of axes in the format.
const MAX_AXES: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Raw,
    Gzip,
    Text,
}

#[derive(Debug)]
pub struct Header {
    /// Fastest axis first.
    pub sizes: Vec<usize>,
    pub number_type: Type,
    pub type_name: &'static str,
    pub big_endian: bool,
    pub encoding: Encoding,
    /// The direction of each axis, in the file's own space; `None` for an axis without one.
    pub directions: Vec<Option<DVec3>>,
    pub origin: Option<DVec3>,
    /// NaN for an axis without a spacing.
    pub spacings: Vec<f64>,
    pub kinds: Vec<String>,
    /// Maps the file's space to RAS axes; `None` if the space is not stated.
    pub world_from_space: Option<DMat3>,
    /// A separate file with the samples.
    pub data_file: Option<String>,
    pub line_skip: usize,
    pub byte_skip: i64,
    /// Maps the axes of the gradients to the file's space.
    pub measurement_frame: Option<DMat3>,
    /// Pairs besides the fields, `key:=value`.
    pub pairs: Vec<(String, String)>,
}

impl Header {
    /// Reads the header and returns its number of bytes.
    pub fn read(path: &Path, control: &Control) -> Result<(Self, u64), Error> {
        let mut source = Source::open(path, control)?;
        let mut bytes = vec![0; HEADER_LIMIT];
        let bytes_read = source.read(&mut bytes)?;
        let (text, behind) = split(&bytes[..bytes_read]);
        let malformed =
            |found: String, expected: &str| Err(Error::malformed(path, found, expected));
        let text = String::from_utf8_lossy(text);
        let mut lines = text.lines();
        let magic = lines.next().unwrap_or_default();
        if !magic.starts_with("NRRD000") {
            let found = "a file that does not start with “NRRD000”";
            return Err(Error::other_format(path, found, "an NRRD file"));
        }
        let (mut fields, mut pairs) = (Vec::new(), Vec::new());
        for line in lines {
            if line.starts_with('#') {
                continue;
            }
            if let Some((key, value)) = line.split_once(":=") {
                pairs.push((key.trim().to_owned(), value.trim().to_owned()));
                continue;
            }
            match line.split_once(':') {
                Some((name, value)) => {
                    fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
                }
                None => {
                    return malformed(
                        format!("the header line “{}”", line.escape_debug()),
                        "a field, a colon and its value",
                    );
                }
            }
        }
        let header = Self::parse(path, &Fields { path, fields }, pairs)?;
        if behind.is_none() && header.data_file.is_none() {
            return malformed(
                "a header without an end".to_owned(),
                "a blank line before the samples, or the name of their file",
            );
        }
        Ok((header, behind.unwrap_or(bytes_read) as u64))
    }

    /// No scan has more volumes.
    pub fn volumes(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(1)
    }

    fn parse(path: &Path, fields: &Fields, pairs: Vec<(String, String)>) -> Result<Self, Error> {
        let (number_type, type_name) = fields.number_type()?;
        let sizes = fields.sizes()?;
        let encoding = fields.encoding()?;
        let big_endian = fields.is_big_endian(number_type, encoding)?;
        let data_file = fields.data_file()?;
        let per_axis = |entries: usize, what: &str| {
            if entries == 0 || entries == sizes.len() {
                return Ok(());
            }
            Err(Error::malformed(
                path,
                format!("{entries} {what} for {} axes", sizes.len()),
                "one for each axis",
            ))
        };
        let directions = fields.directions()?;
        per_axis(directions.len(), "space directions")?;
        let origin = fields.origin()?;
        let measurement_frame = fields.measurement_frame()?;
        let spacings: Vec<f64> = match fields.get("spacings") {
            Some(_) => fields.numbers("spacings")?,
            None => Vec::new(),
        };
        per_axis(spacings.len(), "spacings")?;
        let kinds = fields.get("kinds").unwrap_or_default().split_whitespace();
        let kinds: Vec<String> = kinds.map(str::to_ascii_lowercase).collect();
        per_axis(kinds.len(), "kinds")?;
        let line_skip = fields.line_skip()?;
        Ok(Self {
            number_type,
            type_name,
            big_endian,
            encoding,
            directions,
            origin,
            spacings,
            kinds,
            world_from_space: fields.get("space").and_then(world_from_space),
            data_file: data_file.map(str::to_owned),
            line_skip,
            byte_skip: fields.skip(["byte skip", "byteskip"])?,
            sizes,
            measurement_frame,
            pairs,
        })
    }
}

struct Fields<'a> {
    path: &'a Path,
    fields: Vec<(String, String)>,
}

impl Fields<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(n, _)| n == name);
        field.map(|(_, value)| value.as_str())
    }

    fn needed(&self, name: &str) -> Result<&str, Error> {
        self.get(name).ok_or_else(|| {
            Error::malformed(
                self.path,
                format!("an NRRD header without “{name}”"),
                "that field",
            )
        })
    }

    fn numbers<T: std::str::FromStr>(&self, name: &str) -> Result<Vec<T>, Error> {
        let text = self.needed(name)?;
        let numbers: Option<Vec<T>> = text.split_whitespace().map(|w| w.parse().ok()).collect();
        numbers.ok_or_else(|| {
            Error::malformed(
                self.path,
                format!("“{text}” as {name}"),
                "numbers separated by blanks",
            )
        })
    }

    fn malformed(&self, found: String, expected: &str) -> Error {
        Error::malformed(self.path, found, expected)
    }

    fn number_type(&self) -> Result<(Type, &'static str), Error> {
        let name = self.needed("type")?;
        number_type(name).ok_or_else(|| {
            Error::unsupported(
                self.path,
                format!("an NRRD of the type “{name}”"),
                "save it as float or as a whole number type",
            )
        })
    }

    fn sizes(&self) -> Result<Vec<usize>, Error> {
        let sizes: Vec<usize> = self.numbers("sizes")?;
        let stated: Vec<usize> = self.numbers("dimension")?;
        if stated != [sizes.len()] || sizes.len() > MAX_AXES || sizes.contains(&0) {
            return Err(self.malformed(
                format!("{stated:?} dimensions of the sizes {sizes:?}"),
                "one size from 1 for each dimension",
            ));
        }
        Ok(sizes)
    }

    fn encoding(&self) -> Result<Encoding, Error> {
        match self.needed("encoding")?.to_ascii_lowercase().as_str() {
            "raw" => Ok(Encoding::Raw),
            "gzip" | "gz" => Ok(Encoding::Gzip),
            "text" | "txt" | "ascii" => Ok(Encoding::Text),
            other => Err(Error::unsupported(
                self.path,
                format!("an NRRD with the encoding “{other}”"),
                "save it as gzip or raw",
            )),
        }
    }

    /// Samples of one byte and samples as text need no byte order.
    fn is_big_endian(&self, number: Type, encoding: Encoding) -> Result<bool, Error> {
        match self.get("endian").map(str::to_ascii_lowercase).as_deref() {
            Some("big") => Ok(true),
            Some("little") => Ok(false),
            None if number.bytes() == 1 || encoding == Encoding::Text => Ok(false),
            other => Err(self.malformed(
                format!("the byte order “{}”", other.unwrap_or("not stated")),
                "“endian: little” or “endian: big”",
            )),
        }
    }

    fn data_file(&self) -> Result<Option<&str>, Error> {
        let data_file = self.get("data file").or_else(|| self.get("datafile"));
        if let Some(several) = data_file.filter(|f| f.starts_with("LIST") || f.contains('%')) {
            return Err(Error::unsupported(
                self.path,
                format!("samples in several files (“{several}”)"),
                "save them in one file",
            ));
        }
        if data_file.is_some_and(|f| f.is_empty()) {
            return Err(self.malformed("a data file without a name".to_owned(), "its name"));
        }
        Ok(data_file)
    }

    fn directions(&self) -> Result<Vec<Option<DVec3>>, Error> {
        match self.get("space directions") {
            Some(text) => vectors(text).ok_or_else(|| {
                self.malformed(
                    format!("the space directions “{text}”"),
                    "(x,y,z) or none for each axis",
                )
            }),
            None => Ok(Vec::new()),
        }
    }

    fn origin(&self) -> Result<Option<DVec3>, Error> {
        match self.get("space origin") {
            Some(text) => match vectors(text).as_deref() {
                Some([origin]) => Ok(*origin),
                _ => Err(self.malformed(format!("the space origin “{text}”"), "(x,y,z)")),
            },
            None => Ok(None),
        }
    }

    fn measurement_frame(&self) -> Result<Option<DMat3>, Error> {
        match self.get("measurement frame").map(vectors) {
            None => Ok(None),
            Some(Some(columns)) => Ok(match columns.as_slice() {
                &[Some(x), Some(y), Some(z)] => Some(DMat3::from_cols(x, y, z)),
                _ => None,
            }),
            Some(None) => Err(self.malformed(
                "a measurement frame that cannot be read".to_owned(),
                "(x,y,z) three times",
            )),
        }
    }

    /// A whole number under either of two names; 0 if it is missing.
    fn skip(&self, names: [&str; 2]) -> Result<i64, Error> {
        let text = self.get(names[0]).or_else(|| self.get(names[1]));
        let text = text.unwrap_or("0");
        text.parse::<i64>()
            .map_err(|_| self.malformed(format!("the {} “{text}”", names[0]), "a whole number"))
    }

    fn line_skip(&self) -> Result<usize, Error> {
        let lines = self.skip(["line skip", "lineskip"])?;
        usize::try_from(lines)
            .ok()
            .filter(|n| *n <= LINES_LIMIT)
            .ok_or_else(|| {
                self.malformed(format!("a line skip of {lines}"), "a small number from 0")
            })
    }
}

/// The header's text and the offset of the samples: after the first blank line, if there is one.
fn split(bytes: &[u8]) -> (&[u8], Option<usize>) {
    let mut start = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte != b'\n' {
            continue;
        }
        let line = &bytes[start..at];
        if line.is_empty() || line == b"\r" {
            return (&bytes[..start], Some(at + 1));
        }
        start = at + 1;
    }
    (bytes, None)
}

/// The end of this many lines that begin at a byte offset of a file.
pub fn skip_lines(path: &Path, begin: u64, lines: usize, control: &Control) -> Result<u64, Error> {
    if lines == 0 {
        return Ok(begin);
    }
    let mut source = Source::open_at(path, begin, false, control)?;
    let mut bytes = vec![0; HEADER_LIMIT];
    let bytes_read = source.read(&mut bytes)?;
    let ends = bytes[..bytes_read]
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n');
    match ends.map(|(at, _)| at).nth(lines - 1) {
        Some(at) => Ok(begin + at as u64 + 1),
        None => Err(Error::malformed(
            path,
            format!("fewer than {lines} lines before the samples"),
            "as many as the header says",
        )),
    }
}

fn number_type(name: &str) -> Option<(Type, &'static str)> {
    Some(match name.to_ascii_lowercase().as_str() {
        "signed char" | "int8" | "int8_t" => (Type::I8, "int8"),
        "uchar" | "unsigned char" | "uint8" | "uint8_t" => (Type::U8, "uint8"),
        "short" | "short int" | "signed short" | "signed short int" | "int16" | "int16_t" => {
            (Type::I16, "int16")
        }
        "ushort" | "unsigned short" | "unsigned short int" | "uint16" | "uint16_t" => {
            (Type::U16, "uint16")
        }
        "int" | "signed int" | "int32" | "int32_t" => (Type::I32, "int32"),
        "uint" | "unsigned int" | "uint32" | "uint32_t" => (Type::U32, "uint32"),
        "longlong" | "long long" | "long long int" | "signed long long" | "int64" | "int64_t" => {
            (Type::I64, "int64")
        }
        "ulonglong" | "unsigned long long" | "unsigned long long int" | "uint64" | "uint64_t" => {
            (Type::U64, "uint64")
        }
        "float" => (Type::F32, "float32"),
        "double" => (Type::F64, "float64"),
        _ => return None,
    })
}

/// `(1,0,0) none (0, 1, 0)`; two coordinates mean a third of 0.
fn vectors(text: &str) -> Option<Vec<Option<DVec3>>> {
    let mut directions = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix("none") {
            directions.push(None);
            rest = behind.trim_start();
            continue;
        }
        let (inside, behind) = rest.strip_prefix('(')?.split_once(')')?;
        let numbers: Option<Vec<f64>> = inside.split(',').map(|n| n.trim().parse().ok()).collect();
        directions.push(Some(match *numbers? {
            [x, y, z] => DVec3::new(x, y, z),
            [x, y] => DVec3::new(x, y, 0.0),
            _ => return None,
        }));
        rest = behind.trim_start();
    }
    Some(directions)
}

/// The directions of a named space's axes.
fn world_from_space(name: &str) -> Option<DMat3> {
    let name = name.trim_matches('"').to_ascii_lowercase();
    let signs = match name.as_str() {
        "right-anterior-superior" | "ras" => DVec3::new(1.0, 1.0, 1.0),
        "left-anterior-superior" | "las" => DVec3::new(-1.0, 1.0, 1.0),
        "left-posterior-superior" | "lps" => DVec3::new(-1.0, -1.0, 1.0),
        _ => return None,
    };
    Some(DMat3::from_diagonal(signs))
}
