//! Headers of both versions as one plain value, checked against the file before anything uses them.

use super::TAIL_LIMIT;
use super::rest::{EXTENSIONS_LIMIT, Rest};
pub use super::voxel_type::VoxelType;
use crate::data::text::counted;
use crate::io::Error;
use crate::io::source::Source;
use nifti::NiftiHeader;
use std::path::Path;

/// NIfTI-1 and Analyze 7.5.
const BYTES_1: usize = 348;
const BYTES_2: usize = 540;
const MAGIC_2_SINGLE: &[u8; 8] = b"n+2\0\r\n\x1a\n";
const MAGIC_2_PAIR: &[u8; 8] = b"ni2\0\r\n\x1a\n";
/// The four bytes after the header that state whether extensions follow.
const EXTENDER_BYTES: usize = 4;
/// Extension code of plain text, NIFTI_ECODE_COMMENT.
pub(super) const COMMENT: i32 = 6;

/// Version of the format, by the size of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Header of 348 bytes.
    Nifti1,
    /// Header of 540 bytes.
    Nifti2,
}

impl Version {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nifti1 => "NIfTI-1",
            Self::Nifti2 => "NIfTI-2",
        }
    }
}

/// The two transforms from voxels to space: a rotation with an offset (qform), and a matrix (sform).
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Orientation {
    pub qform_code: i32,
    pub sform_code: i32,
    /// b, c, d of a unit quaternion.
    pub quatern: [f64; 3],
    pub qoffset: [f64; 3],
    pub srow: [[f64; 4]; 3],
}

/// The fields of a header, in one form for both versions. Unused fields are left out.
#[derive(Clone, PartialEq, Debug)]
pub struct Header {
    /// Version of the header.
    pub version: Version,
    /// Whether numbers begin with their most significant byte.
    pub big_endian: bool,
    /// Whether header and voxels are in one file instead of a `.hdr` and `.img` pair.
    pub single_file: bool,
    /// `dim[1]..=dim[dim[0]]`, each at least 1.
    pub dims: Vec<usize>,
    /// x, y, z.
    pub shape: [usize; 3],
    /// Product of the dimensions after the third.
    pub frames: usize,
    /// Stored type of the voxels.
    pub voxel_type: VoxelType,
    /// Offset of the voxels in the file that holds them.
    pub vox_offset: u64,
    /// Slope and intercept; `None` if values are used as stored.
    pub scaling: Option<(f64, f64)>,
    /// `pixdim`: qfac, then voxel sizes and the spacing of further dimensions in the units of `xyzt_units`.
    pub pixdim: [f64; 8],
    /// sform, qform and their codes.
    pub orientation: Orientation,
    /// Codes of the units of space and time, combined as in the file.
    pub xyzt_units: i32,
    /// `intent_code`, the meaning of the values.
    pub intent_code: i32,
    /// `intent_p1` to `intent_p3`, parameters of the intent.
    pub intent_numbers: [f64; 3],
    /// `intent_name`, the meaning of the values in words.
    pub intent_name: String,
    /// `descrip`, or the comment extension if there is one.
    pub description: String,
    /// Fields that only rewriting the header needs.
    pub rest: Rest,
    /// Irregularities that did not prevent reading.
    pub warnings: Vec<String>,
    /// Facts that a reader of a report may want, not irregular.
    pub notes: Vec<String>,
}

/// Fields as stored, before any check.
struct RawHeader {
    dim: [i64; 8],
    datatype: i16,
    bitpix: i16,
    vox_offset: f64,
    slope: f64,
    inter: f64,
}

impl Header {
    /// Bytes of voxel data.
    pub fn data_bytes(&self) -> u64 {
        let voxels: u64 = self.dims.iter().map(|&n| n as u64).product();
        voxels * self.voxel_type.bytes() as u64
    }

    /// The error for a file that ends after this many bytes of its voxels.
    pub(super) fn truncated(&self, path: &Path, found_bytes: usize) -> Error {
        Error::Short {
            path: path.to_owned(),
            found_bytes: self.vox_offset + found_bytes as u64,
            expected_bytes: self.vox_offset + self.data_bytes(),
        }
    }

    /// Reads and checks a header at the start of a stream and leaves the stream after the header and its extensions:
    /// for a single file, at the voxels.
    pub(in crate::io) fn read(source: &mut Source) -> Result<Self, Error> {
        let mut bytes = [0; BYTES_2];
        let bytes_read = source.read(&mut bytes[..BYTES_1])?;
        let path = source.path().to_owned();
        if bytes_read < BYTES_1 {
            return Err(Error::other_format(
                &path,
                format!("{}, which is not a NIfTI file", counted(bytes_read, "byte")),
                &format!("at least a header of {BYTES_1} bytes"),
            ));
        }
        let size = [bytes[0], bytes[1], bytes[2], bytes[3]];
        let is =
            |n: usize| [i32::from_le_bytes(size), i32::from_be_bytes(size)].map(|s| s == n as i32);
        let mut header = match (is(BYTES_1), is(BYTES_2)) {
            ([little, big], _) if little || big => Self::parse_1(&path, &bytes[..BYTES_1], big)?,
            (_, [little, big]) if little || big => {
                if source.read(&mut bytes[BYTES_1..])? < BYTES_2 - BYTES_1 {
                    return Err(Error::malformed(
                        &path,
                        "a header that is cut off",
                        format!("a NIfTI-2 header of {BYTES_2} bytes"),
                    ));
                }
                Self::parse_2(&path, &bytes, big)?
            }
            _ => {
                return Err(Error::malformed(
                    &path,
                    "no NIfTI file",
                    "one that starts with a NIfTI header",
                ));
            }
        };
        header.read_extensions(source)?;
        Ok(header)
    }

    fn parse_1(path: &Path, bytes: &[u8], big_endian: bool) -> Result<Self, Error> {
        let magic = &bytes[BYTES_1 - 4..];
        let single_file = match magic {
            b"n+1\0" => true,
            b"ni1\0" => false,
            _ => {
                return Err(Error::unsupported(
                    path,
                    "an Analyze 7.5 image, which does not say where left and right are",
                    "convert it to NIfTI with a program that knows where it comes from",
                ));
            }
        };
        // The crate infers the byte order from dim[0]: passing a valid count makes it agree.
        let count = Fields { bytes, big_endian }.i16(40);
        if !(1..=7).contains(&count) {
            return Err(Error::malformed(path, dimensions(count.into()), "1 to 7"));
        }
        let h = NiftiHeader::from_reader(bytes)
            .map_err(|e| Error::malformed(path, e.to_string(), "a NIfTI-1 header"))?;
        let raw = RawHeader {
            // The standard's type is signed: a large unsigned value is negative.
            dim: h.dim.map(|d| i64::from(d as i16)),
            datatype: h.datatype,
            bitpix: h.bitpix,
            vox_offset: f64::from(h.vox_offset),
            slope: f64::from(h.scl_slope),
            inter: f64::from(h.scl_inter),
        };
        let min_offset = if single_file {
            BYTES_1 + EXTENDER_BYTES
        } else {
            0
        };
        let checked = raw.check(path, min_offset)?;
        Ok(Self {
            version: Version::Nifti1,
            big_endian,
            single_file,
            pixdim: h.pixdim.map(f64::from),
            orientation: Orientation {
                qform_code: i32::from(h.qform_code),
                sform_code: i32::from(h.sform_code),
                quatern: [h.quatern_b, h.quatern_c, h.quatern_d].map(f64::from),
                qoffset: [h.quatern_x, h.quatern_y, h.quatern_z].map(f64::from),
                srow: [h.srow_x, h.srow_y, h.srow_z].map(|row| row.map(f64::from)),
            },
            xyzt_units: i32::from(h.xyzt_units),
            intent_code: i32::from(h.intent_code),
            intent_numbers: [h.intent_p1, h.intent_p2, h.intent_p3].map(f64::from),
            intent_name: text(&h.intent_name),
            description: text(&h.descrip),
            rest: Rest::from_fields(&Fields { bytes, big_endian }, Version::Nifti1),
            ..checked
        })
    }

    fn parse_2(path: &Path, bytes: &[u8; BYTES_2], big_endian: bool) -> Result<Self, Error> {
        let f = Fields { bytes, big_endian };
        let single_file = match &bytes[4..12] {
            magic if magic == MAGIC_2_SINGLE => true,
            magic if magic == MAGIC_2_PAIR => false,
            _ => {
                return Err(Error::malformed(
                    path,
                    "a header of NIfTI-2's size without its mark",
                    (
                        "a NIfTI-2 header",
                        "if the file was copied as text, copy it again as binary",
                    ),
                ));
            }
        };
        // Offsets of the 540-byte header, nifti2.h (Cox and others 2011).
        let raw = RawHeader {
            dim: std::array::from_fn(|i| f.i64(16 + 8 * i)),
            datatype: f.i16(12),
            bitpix: f.i16(14),
            vox_offset: f.i64(168) as f64,
            slope: f.f64(176),
            inter: f.f64(184),
        };
        let min_offset = if single_file {
            BYTES_2 + EXTENDER_BYTES
        } else {
            0
        };
        let checked = raw.check(path, min_offset)?;
        Ok(Self {
            version: Version::Nifti2,
            big_endian,
            single_file,
            pixdim: std::array::from_fn(|i| f.f64(104 + 8 * i)),
            description: text(&bytes[240..320]),
            rest: Rest::from_fields(&f, Version::Nifti2),
            orientation: Orientation {
                qform_code: f.i32(344),
                sform_code: f.i32(348),
                quatern: std::array::from_fn(|i| f.f64(352 + 8 * i)),
                qoffset: std::array::from_fn(|i| f.f64(376 + 8 * i)),
                srow: std::array::from_fn(|row| {
                    std::array::from_fn(|c| f.f64(400 + 32 * row + 8 * c))
                }),
            },
            xyzt_units: f.i32(500),
            intent_code: f.i32(504),
            intent_numbers: [80, 88, 96].map(|at| f.f64(at)),
            intent_name: text(&bytes[508..524]),
            ..checked
        })
    }

    /// Reads the header extensions up to their size limit and counts the bytes beyond it. The first comment also
    /// becomes the description.
    fn read_extensions(&mut self, source: &mut Source) -> Result<(), Error> {
        let header = match self.version {
            Version::Nifti1 => BYTES_1,
            Version::Nifti2 => BYTES_2,
        } as u64;
        // The voxels of a pair are in another file, so extensions fill the rest of this one. Its length is unknown if
        // it is compressed.
        let between = match self.single_file {
            true => {
                source.verify_size(self.vox_offset)?;
                Some(self.vox_offset - header)
            }
            false => source.known_bytes().map(|b| b.saturating_sub(header)),
        };
        let mut says = [0; EXTENDER_BYTES];
        let extender_bytes =
            between.map_or(EXTENDER_BYTES, |b| b.min(EXTENDER_BYTES as u64) as usize);
        let extender_read = source.read(&mut says[..extender_bytes])?;
        let left = between.map(|b| b - extender_bytes as u64);
        if extender_read < EXTENDER_BYTES || says[0] == 0 {
            return match self.single_file {
                true => source.skip(left.unwrap_or(0)).map(drop),
                false => Ok(()),
            };
        }
        let mut bytes = vec![0; left.unwrap_or(u64::MAX).min(EXTENSIONS_LIMIT + 1) as usize];
        let bytes_read = source.read(&mut bytes)?;
        bytes.truncate(bytes_read);
        let behind = match left {
            Some(left) => source.skip(left - bytes_read as u64)?,
            None => source.finish(TAIL_LIMIT)?,
        };
        if bytes_read as u64 > EXTENSIONS_LIMIT {
            self.rest.add_skipped(bytes_read as u64 + behind);
            return Ok(());
        }
        let comment = self.rest.extend(&bytes, self.big_endian, COMMENT);
        if let Some(comment) = comment {
            self.description = text(comment);
        }
        Ok(())
    }
}

impl RawHeader {
    /// Fields that determine how much is read; the caller fills in the others. `min_offset` is the earliest
    /// possible offset of the voxels in this file.
    fn check(&self, path: &Path, min_offset: usize) -> Result<Header, Error> {
        let bad = |found: String, expected: &str| Err(Error::malformed(path, found, expected));
        let (mut warnings, mut notes) = (Vec::new(), Vec::new());
        let count = match self.dim[0] {
            n @ 1..=7 => n as usize,
            n => return bad(dimensions(n), "1 to 7"),
        };
        let mut dims = Vec::with_capacity(count);
        for (i, &n) in self.dim[1..=count].iter().enumerate() {
            match usize::try_from(n) {
                Ok(n) if n >= 1 => dims.push(n),
                _ => {
                    return bad(format!("size {n} of dimension {}", i + 1), "at least 1");
                }
            }
        }
        let voxel_type = VoxelType::of_code(self.datatype).map_err(|unknown| {
            Error::unsupported(
                path,
                unknown.to_string(),
                "convert it to float32 with another program",
            )
        })?;
        if usize::try_from(self.bitpix) != Ok(8 * voxel_type.bytes()) {
            warnings.push(format!(
                "The header says {} bits per voxel; {} has {} and was read so",
                self.bitpix,
                voxel_type.name(),
                8 * voxel_type.bytes()
            ));
        }
        // The bytes that the machine can address, with room for every value as float32.
        let values = dims.iter().try_fold(1usize, |p, &n| p.checked_mul(n));
        let fits = |n: usize| {
            n.checked_mul(voxel_type.bytes().max(12))
                .is_some_and(|b| b <= isize::MAX as usize / 2)
        };
        if !values.is_some_and(fits) {
            return bad(
                format!("sizes {dims:?}, more voxels than any memory holds"),
                "the sizes of an image",
            );
        }
        let side = |a: usize| dims.get(a).copied().unwrap_or(1);
        let frames: usize = dims.iter().skip(3).product();
        if voxel_type.is_colour() && frames > 1 {
            return Err(Error::unsupported(
                path,
                format!("a colour image of {frames} volumes"),
                "save one volume of it",
            ));
        }
        let vox_offset = match self.vox_offset {
            0.0 if min_offset > 0 => {
                warnings.push(format!(
                    "The header does not say where the voxels begin; they were read from byte {min_offset}, \
                     directly after it"
                ));
                min_offset as u64
            }
            o if o >= min_offset as f64 && o < 2f64.powi(62) && o.fract() == 0.0 => o as u64,
            o => {
                return bad(
                    format!("voxels that begin at byte {o}"),
                    &format!("a whole number of at least {min_offset}"),
                );
            }
        };
        Ok(Header {
            version: Version::Nifti1,
            big_endian: false,
            single_file: false,
            shape: [side(0), side(1), side(2)],
            frames,
            dims,
            voxel_type,
            vox_offset,
            scaling: self.scaling(path, voxel_type, &mut warnings, &mut notes)?,
            pixdim: [0.0; 8],
            orientation: Orientation::default(),
            xyzt_units: 0,
            intent_code: 0,
            intent_numbers: [0.0; 3],
            intent_name: String::new(),
            description: String::new(),
            rest: Rest::default(),
            warnings,
            notes,
        })
    }

    /// A slope of 0 means "not set" in the standard, as does NaN in files of nibabel; colours are never scaled.
    fn scaling(
        &self,
        path: &Path,
        voxel_type: VoxelType,
        warnings: &mut Vec<String>,
        notes: &mut Vec<String>,
    ) -> Result<Option<(f64, f64)>, Error> {
        let (slope, inter) = (self.slope, self.inter);
        if slope == 0.0 || (slope == 1.0 && inter == 0.0) {
            return Ok(None);
        }
        if voxel_type.is_colour() {
            if !slope.is_nan() {
                notes.push(format!(
                    "The header has slope {slope} and intercept {inter}, which do not apply to colours; the colours are used \
                     as stored"
                ));
            }
            return Ok(None);
        }
        if slope.is_nan() {
            if !inter.is_nan() && inter != 0.0 {
                warnings.push(
                    "The slope in the header is not a number; values were used as stored".into(),
                );
            }
            return Ok(None);
        }
        if !slope.is_finite() || !inter.is_finite() {
            return Err(Error::malformed(
                path,
                format!("slope {slope} and intercept {inter}"),
                "finite numbers",
            ));
        }
        Ok(Some((slope, inter)))
    }
}

fn dimensions(count: i64) -> String {
    format!("{count} dimensions")
}

/// Numbers at given offsets, in the file's byte order.
pub(super) struct Fields<'a> {
    pub bytes: &'a [u8],
    pub big_endian: bool,
}

impl Fields<'_> {
    /// `N` bytes, least significant first.
    pub fn at<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.bytes[offset..offset + N]);
        if self.big_endian {
            field.reverse();
        }
        field
    }

    pub fn i16(&self, offset: usize) -> i16 {
        i16::from_le_bytes(self.at(offset))
    }

    pub fn i32(&self, offset: usize) -> i32 {
        i32::from_le_bytes(self.at(offset))
    }

    pub fn i64(&self, offset: usize) -> i64 {
        i64::from_le_bytes(self.at(offset))
    }

    pub fn f64(&self, offset: usize) -> f64 {
        f64::from_le_bytes(self.at(offset))
    }
}

/// Text up to the first zero byte.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}
