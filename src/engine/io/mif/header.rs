//! The header of an MRtrix image: `key: value` lines after `mrtrix image`, up to `END`. A key may be repeated; its
//! lines are the rows of one value.

use super::super::Error;
use super::super::numbers::Type;
use super::super::source::Source;
use crate::compute::Control;
use glam::{DAffine3, DVec3};
use std::path::Path;

/// The key of a scan's gradients.
pub const SCHEME: &str = "dw_scheme";
/// The first line of a file.
pub const MAGIC: &str = "mrtrix image";
/// A header is a page of text; the directions of a scan and the commands that made it take a few more.
const HEADER_LIMIT: usize = 1 << 22;
/// Bytes read first; most headers are shorter.
const FIRST_BYTES: usize = 1 << 16;
/// The largest number of axes in any image.
const MAX_AXES: usize = 16;

/// The type of a stored value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueType {
    /// Eight to a byte, the first in the highest bit.
    Bit,
    Number(Type),
}

impl ValueType {
    /// Bytes of this many values.
    pub fn bytes(self, count: usize) -> usize {
        match self {
            Self::Bit => count.div_ceil(8),
            Self::Number(number) => count * number.bytes(),
        }
    }

    /// The smallest type in memory that represents the values.
    pub fn number(self) -> Type {
        match self {
            Self::Bit => Type::U8,
            Self::Number(number) => number,
        }
    }
}

/// The order of an axis in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AxisOrder {
    /// 0 for the axis that varies fastest.
    pub rank: usize,
    /// Whether the last voxel along the axis is stored first.
    pub is_reversed: bool,
}

/// The file with the voxels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFile {
    /// `None` for the header's own file.
    pub name: Option<String>,
    /// Bytes before the first voxel.
    pub offset: u64,
}

#[derive(Clone, Debug)]
pub struct Header {
    /// At least three, in the order of the header; those beyond the stated ones are 1.
    pub sizes: Vec<usize>,
    /// NaN for an axis without a spacing.
    pub spacings: Vec<f64>,
    pub order: Vec<AxisOrder>,
    pub value_type: ValueType,
    pub type_name: &'static str,
    pub big_endian: bool,
    /// From voxels of 1 mm to the world; `None` if it is not stated.
    pub transform: Option<DAffine3>,
    /// Slope and intercept; `None` if values are used as stored.
    pub scaling: Option<(f64, f64)>,
    pub data: DataFile,
    /// The rows of a scan's gradients, `x,y,z,b` in world axes.
    pub scheme: Vec<String>,
    /// Every other line, key and value.
    pub pairs: Vec<(String, String)>,
    /// Number of lines without a key.
    pub ignored_lines: usize,
}

impl Header {
    pub fn read(path: &Path, control: &Control) -> Result<Self, Error> {
        let mut source = Source::open(path, control)?;
        let mut bytes = Vec::new();
        let mut target = FIRST_BYTES;
        loop {
            let before = bytes.len();
            bytes.resize(target, 0);
            let bytes_read = source.read(&mut bytes[before..])?;
            bytes.truncate(before + bytes_read);
            if !bytes.starts_with(MAGIC.as_bytes()) {
                let found = format!("a file that does not start with “{MAGIC}”");
                return Err(Error::other_format(path, found, "an MRtrix image"));
            }
            if let Some(text) = before_end(&bytes, bytes.len() < target) {
                return Self::parse(path, &String::from_utf8_lossy(text));
            }
            if bytes.len() < target || target == HEADER_LIMIT {
                return Err(Error::malformed(
                    path,
                    "a header without an end",
                    ("a line “END” before the voxels", "copy the file again"),
                ));
            }
            target *= 2;
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let fields = Fields::new(path, text);
        let (mut sizes, mut spacings) = (fields.sizes()?, fields.spacings()?);
        let min_spacings = sizes.len().min(3);
        if spacings.len() < min_spacings {
            return Err(Error::malformed(
                path,
                format!("{} voxel sizes for {} axes", spacings.len(), sizes.len()),
                "one for each axis in space",
            ));
        }
        let mut order = fields.order(sizes.len())?;
        for rank in sizes.len()..3 {
            sizes.push(1);
            order.push(AxisOrder {
                rank,
                is_reversed: false,
            });
        }
        spacings.resize(sizes.len(), f64::NAN);
        let (value_type, type_name, big_endian) = fields.value_type()?;
        Ok(Self {
            sizes,
            spacings,
            order,
            value_type,
            type_name,
            big_endian,
            transform: fields.transform()?,
            scaling: fields.scaling()?,
            data: fields.data_file()?,
            scheme: fields.rows(SCHEME).map(str::to_owned).collect(),
            pairs: fields.pairs,
            ignored_lines: fields.ignored_lines,
        })
    }
}

/// b-value (s/mm²) and vector of a row of gradients.
pub fn gradient(path: &Path, row: &str) -> Result<(f64, DVec3), Error> {
    match numbers(row).as_deref() {
        Some(&[x, y, z, b]) => Ok((b, DVec3::new(x, y, z))),
        _ => Err(Error::malformed(
            path,
            format!("the gradient “{row}”"),
            "four numbers: x y z b",
        )),
    }
}

/// Numbers separated by commas or blanks.
fn numbers<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    let separates = |c: char| c == ',' || c.is_whitespace();
    let numbers = text.split(separates).filter(|word| !word.is_empty());
    numbers.map(|word| word.parse().ok()).collect()
}

/// The header's bytes before the line `END`, if that was read. The last line may go on unless the file is whole.
fn before_end(bytes: &[u8], is_whole: bool) -> Option<&[u8]> {
    let mut start = 0;
    for (at, _) in bytes.iter().enumerate().filter(|(_, b)| **b == b'\n') {
        if bytes[start..at].trim_ascii() == b"END" {
            return Some(&bytes[..start]);
        }
        start = at + 1;
    }
    // A header without voxels may end without a line break.
    (is_whole && bytes[start..].trim_ascii() == b"END").then_some(&bytes[..start])
}

/// The lines of a header. Values of the keys that place and type the voxels are without comments.
struct Fields<'a> {
    path: &'a Path,
    known: Vec<(String, String)>,
    pairs: Vec<(String, String)>,
    ignored_lines: usize,
}

/// Keys that this program reads, in lower case.
const KNOWN: [&str; 8] = [
    "dim",
    "vox",
    "layout",
    "datatype",
    "transform",
    "scaling",
    "file",
    SCHEME,
];

impl<'a> Fields<'a> {
    fn new(path: &'a Path, text: &str) -> Self {
        let mut fields = Self {
            path,
            known: Vec::new(),
            pairs: Vec::new(),
            ignored_lines: 0,
        };
        for line in text.lines().skip(1) {
            let content = line.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let Some((key, value)) = content.split_once(':').filter(|(key, _)| !key.is_empty())
            else {
                fields.ignored_lines += 1;
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            let lower = key.to_ascii_lowercase();
            if KNOWN.contains(&lower.as_str()) {
                fields.known.push((lower, value.to_owned()));
            } else if let Some((_, whole)) = line.split_once(':')
                && !value.is_empty()
            {
                fields.pairs.push((key.to_owned(), whole.trim().to_owned()));
            }
        }
        fields
    }

    /// The lines of a key.
    fn rows(&self, key: &str) -> impl Iterator<Item = &str> {
        let rows = self.known.iter().filter(move |(known, _)| known == key);
        rows.map(|(_, value)| value.as_str())
    }

    /// The last line of a key, as MRtrix reads it.
    fn needed(&self, key: &str) -> Result<&str, Error> {
        let value = self.rows(key).last().filter(|value| !value.is_empty());
        value.ok_or_else(|| {
            Error::malformed(
                self.path,
                format!("an MRtrix header without “{key}”"),
                "that key",
            )
        })
    }

    fn malformed(&self, found: String, expected: &str) -> Error {
        Error::malformed(self.path, found, expected)
    }

    fn numbers<T: std::str::FromStr>(&self, key: &str, text: &str) -> Result<Vec<T>, Error> {
        let separates = |c: char| c == ',' || c.is_whitespace();
        let numbers = text.split(separates).filter(|word| !word.is_empty());
        let numbers: Option<Vec<T>> = numbers.map(|word| word.parse().ok()).collect();
        numbers.ok_or_else(|| {
            self.malformed(format!("“{text}” as {key}"), "numbers separated by commas")
        })
    }

    fn sizes(&self) -> Result<Vec<usize>, Error> {
        let text = self.needed("dim")?;
        let sizes: Vec<usize> = self.numbers("dim", text)?;
        if sizes.is_empty() || sizes.len() > MAX_AXES || sizes.contains(&0) {
            return Err(self.malformed(
                format!("the sizes “{text}”"),
                "one size from 1 for each of at most 16 axes",
            ));
        }
        Ok(sizes)
    }

    fn spacings(&self) -> Result<Vec<f64>, Error> {
        let text = self.needed("vox")?;
        let spacings: Vec<f64> = self.numbers("vox", text)?;
        if spacings
            .iter()
            .any(|edge| *edge < 0.0 || edge.is_infinite())
        {
            return Err(self.malformed(
                format!("the voxel sizes “{text}”"),
                "finite sizes of at least 0",
            ));
        }
        Ok(spacings)
    }

    fn order(&self, axes: usize) -> Result<Vec<AxisOrder>, Error> {
        let text = self.needed("layout")?;
        let layout_error = || {
            self.malformed(
                format!("the layout “{text}” for {axes} axes"),
                "a rank from 0 with a sign for each axis, as in +0,+1,+2",
            )
        };
        let parse_axis = |word: &str| {
            let word = word.trim();
            let is_reversed = word.starts_with('-');
            let rank = word.strip_prefix(['+', '-']).unwrap_or(word);
            // A second sign is invalid.
            let rank = Some(rank).filter(|r| r.bytes().all(|b| b.is_ascii_digit()));
            let rank = rank?.parse::<usize>().ok()?;
            Some(AxisOrder { rank, is_reversed })
        };
        let order: Option<Vec<AxisOrder>> = text.split(',').map(parse_axis).collect();
        let order = order
            .filter(|order| order.len() == axes)
            .ok_or_else(layout_error)?;
        let is_used = |rank: usize| order.iter().any(|axis| axis.rank == rank);
        match (0..axes).all(is_used) {
            true => Ok(order),
            false => Err(layout_error()),
        }
    }

    /// The type, its name, and whether its most significant byte comes first.
    fn value_type(&self) -> Result<(ValueType, &'static str, bool), Error> {
        let name = self.needed("datatype")?;
        let lower = name.to_ascii_lowercase();
        if lower == "bit" {
            return Ok((ValueType::Bit, "bit", false));
        }
        let big_endian = lower.ends_with("be");
        let plain = lower.strip_suffix("le").or(lower.strip_suffix("be"));
        let number = match plain.unwrap_or(&lower) {
            "int8" => Type::I8,
            "uint8" => Type::U8,
            "int16" => Type::I16,
            "uint16" => Type::U16,
            "int32" => Type::I32,
            "uint32" => Type::U32,
            "int64" => Type::I64,
            "uint64" => Type::U64,
            "float32" => Type::F32,
            "float64" => Type::F64,
            complex if complex.starts_with("cfloat") => {
                return Err(Error::unsupported(
                    self.path,
                    format!("an MRtrix image of complex numbers ({name})"),
                    "convert it with mrcalc -abs or -real",
                ));
            }
            _ => {
                return Err(Error::unsupported(
                    self.path,
                    format!("an MRtrix image of the type “{name}”"),
                    "convert it with mrconvert -datatype float32",
                ));
            }
        };
        Ok((ValueType::Number(number), number.name(), big_endian))
    }

    fn transform(&self) -> Result<Option<DAffine3>, Error> {
        let rows: Vec<&str> = self.rows("transform").collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let rows: Vec<Vec<f64>> = rows
            .into_iter()
            .map(|row| self.numbers("transform", row))
            .collect::<Result<_, _>>()?;
        let is_whole = rows.len() >= 3 && rows.iter().all(|row| row.len() == 4);
        let is_finite = rows.iter().flatten().all(|number| number.is_finite());
        if !is_whole || !is_finite {
            return Err(self.malformed(
                format!("a transform of {} rows", rows.len()),
                "three rows of four finite numbers",
            ));
        }
        let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
        Ok(Some(DAffine3::from_cols(
            column(0),
            column(1),
            column(2),
            column(3),
        )))
    }

    fn scaling(&self) -> Result<Option<(f64, f64)>, Error> {
        let Some(text) = self.rows("scaling").last() else {
            return Ok(None);
        };
        let numbers: Vec<f64> = self.numbers("scaling", text)?;
        match numbers.as_slice() {
            [0.0, 1.0] => Ok(None),
            &[offset, scale] if offset.is_finite() && scale.is_finite() && scale != 0.0 => {
                Ok(Some((scale, offset)))
            }
            _ => Err(self.malformed(
                format!("the scaling “{text}”"),
                "a finite offset and a finite scale that is not 0",
            )),
        }
    }

    fn data_file(&self) -> Result<DataFile, Error> {
        let text = self.needed("file")?;
        let several = self.rows("file").count() > 1 || text.contains(['[', ']']);
        if several {
            return Err(Error::unsupported(
                self.path,
                format!("an MRtrix header of several files of voxels (“{text}”)"),
                "join them with mrconvert into one .mif",
            ));
        }
        // MRtrix ends the name at the first blank; an offset may follow.
        let split = text.rsplit_once(char::is_whitespace);
        let split = split.and_then(|(name, offset)| Some((name, offset.parse().ok()?)));
        let (name, offset) = split.unwrap_or((text, 0));
        match (name.trim(), offset) {
            (".", 0) => Err(self.malformed(
                format!("“{text}” as the place of the voxels"),
                "the number of bytes before them",
            )),
            (".", offset) => Ok(DataFile { name: None, offset }),
            (name, offset) => Ok(DataFile {
                name: Some(name.to_owned()),
                offset,
            }),
        }
    }
}
