//! MATLAB 4 files of DSI Studio: named matrices, one after the other.

use super::Error;
use super::numbers::Type;
use std::path::Path;

/// A matrix of a MATLAB 4 file.
pub struct Matrix<'a> {
    pub name: &'a str,
    pub number_type: Type,
    pub big_endian: bool,
    pub bytes: &'a [u8],
}

impl Matrix<'_> {
    pub fn floats(&self) -> Vec<f32> {
        self.number_type.floats(self.bytes, self.big_endian)
    }
}

pub fn truncated(path: &Path, what: &str) -> Error {
    Error::malformed(
        path,
        format!("the end of {what} too early"),
        ("a whole DSI Studio file", "it was cut off: copy it again"),
    )
}

/// All matrices. Each begins with five numbers: type, rows, columns, whether there is an imaginary part, and the
/// length of the name (MathWorks, "MAT-File Format", level 4).
pub fn matrices<'a>(path: &Path, bytes: &'a [u8]) -> Result<Vec<Matrix<'a>>, Error> {
    let mut matrices = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some((head, behind)) = rest.split_first_chunk::<20>() else {
            return Err(truncated(path, "the file"));
        };
        let number = |i: usize, big: bool| {
            let four = [
                head[4 * i],
                head[4 * i + 1],
                head[4 * i + 2],
                head[4 * i + 3],
            ];
            match big {
                true => u32::from_be_bytes(four),
                false => u32::from_le_bytes(four),
            }
        };
        // The type is below 5000; in the wrong byte order it is not.
        let big_endian = number(0, false) >= 5000;
        let kind = number(0, big_endian);
        let unknown = || {
            Error::malformed(
                path,
                format!("a matrix of type {kind}"),
                "a DSI Studio file (MATLAB 4)",
            )
        };
        let precision = match (kind / 1000, kind / 100 % 10, kind / 10 % 10, kind % 10) {
            (0 | 1, 0, 0, 0 | 1) => Type::F64,
            (0 | 1, 0, 1, 0 | 1) => Type::F32,
            (0 | 1, 0, 2, 0 | 1) => Type::I32,
            (0 | 1, 0, 3, 0 | 1) => Type::I16,
            (0 | 1, 0, 4, 0 | 1) => Type::U16,
            (0 | 1, 0, 5, 0 | 1) => Type::U8,
            _ => return Err(unknown()),
        };
        if number(3, big_endian) != 0 {
            return Err(unknown());
        }
        let size = [number(1, big_endian), number(2, big_endian)].map(u64::from);
        let length = size[0].checked_mul(size[1]);
        let length = length.and_then(|n| n.checked_mul(precision.bytes() as u64));
        let name = behind.split_at_checked(number(4, big_endian) as usize);
        let (name, behind) = name.ok_or_else(|| truncated(path, "the file"))?;
        let name = name.split(|&b| b == 0).next().unwrap_or_default();
        let name = std::str::from_utf8(name).unwrap_or("?");
        let data = length.and_then(|n| behind.split_at_checked(usize::try_from(n).ok()?));
        let (data, behind) = data.ok_or_else(|| truncated(path, "a matrix"))?;
        matrices.push(Matrix {
            name,
            number_type: precision,
            big_endian,
            bytes: data,
        });
        rest = behind;
    }
    Ok(matrices)
}
