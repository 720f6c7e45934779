//! The header of NIfTI-1 (read by the crate `nifti`) and NIfTI-2 (read here: the crate has none),
//! in one form, with every claim checked before anything is allocated.

use crate::data::{AffineSource, Grid};
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// What both versions say, as far as it matters here.
#[derive(Clone, Debug)]
pub struct Header {
    pub big_endian: bool,
    /// x, y, z and the number of volumes (the product of all further dimensions).
    pub shape: [usize; 3],
    pub frames: usize,
    pub kind: Number,
    /// Bytes before the first voxel; 0 in a pair.
    pub offset: u64,
    /// Value = stored × slope + inter.
    pub slope: f64,
    pub inter: f64,
    pub grid: Grid,
    /// Header and image in two files.
    pub pair: bool,
    pub notes: Vec<String>,
}

/// How one voxel is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
    Rgb,
    Rgba,
}

impl Number {
    fn from_code(code: i16) -> Result<Self, String> {
        Ok(match code {
            2 => Self::U8,
            4 => Self::I16,
            8 => Self::I32,
            16 => Self::F32,
            64 => Self::F64,
            128 => Self::Rgb,
            256 => Self::I8,
            512 => Self::U16,
            768 => Self::U32,
            1024 => Self::I64,
            1280 => Self::U64,
            2304 => Self::Rgba,
            32 | 1792 | 2048 => {
                return Err(
                    "Voxels are complex numbers, expected real ones: save the magnitude".to_owned(),
                );
            }
            1 | 1536 => {
                let kind = if code == 1 {
                    "single bits"
                } else {
                    "128-bit floats"
                };
                return Err(format!(
                    "Voxels are {kind}, which no tool here reads: save them as float32"
                ));
            }
            _ => {
                return Err(format!(
                    "The header names voxel type {code}, which NIfTI does not define"
                ));
            }
        })
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::Rgb => 3,
            Self::U32 | Self::I32 | Self::F32 | Self::Rgba => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    pub fn is_colour(self) -> bool {
        matches!(self, Self::Rgb | Self::Rgba)
    }
}

/// The fields that both versions have.
struct Raw {
    big_endian: bool,
    dim: [i64; 8],
    datatype: i16,
    pixdim: [f64; 8],
    offset: f64,
    slope: f64,
    inter: f64,
    units: i32,
    qform_code: i32,
    sform_code: i32,
    quatern: [f64; 3],
    shift: [f64; 3],
    srow: [[f64; 4]; 3],
    pair: bool,
}

/// Parses the first bytes of a file (540 are enough for either version).
pub fn parse(bytes: &[u8]) -> Result<Header, String> {
    let size = bytes
        .get(..4)
        .and_then(|b| b.try_into().ok())
        .map(i32::from_ne_bytes);
    let size = size.ok_or("The file is too short for a NIfTI header")?;
    let swapped = matches!(size.swap_bytes(), 348 | 540);
    let big_endian = swapped != cfg!(target_endian = "big");
    match (size, size.swap_bytes()) {
        (348, _) | (_, 348) => check(version_1(bytes, big_endian)?),
        (540, _) | (_, 540) => check(version_2(bytes, big_endian)?),
        _ => Err("Not a NIfTI file: it starts with neither 348 nor 540".to_owned()),
    }
}

fn version_1(bytes: &[u8], big_endian: bool) -> Result<Raw, String> {
    if bytes.get(344..348) == Some(&[0; 4]) {
        return Err(
            "Analyze 7.5 without orientation, expected NIfTI: convert it, naming left and right"
                .to_owned(),
        );
    }
    let h = ::nifti::NiftiHeader::from_reader(bytes)
        .map_err(|_| "The NIfTI-1 header is damaged or cut short".to_owned())?;
    Ok(Raw {
        big_endian,
        // The crate reads the signed field as unsigned.
        dim: h.dim.map(|d| i64::from(d.cast_signed())),
        datatype: h.datatype,
        pixdim: h.pixdim.map(f64::from),
        offset: f64::from(h.vox_offset),
        slope: f64::from(h.scl_slope),
        inter: f64::from(h.scl_inter),
        units: i32::from(h.xyzt_units),
        qform_code: i32::from(h.qform_code),
        sform_code: i32::from(h.sform_code),
        quatern: [h.quatern_b, h.quatern_c, h.quatern_d].map(f64::from),
        shift: [h.quatern_x, h.quatern_y, h.quatern_z].map(f64::from),
        srow: [h.srow_x, h.srow_y, h.srow_z].map(|row| row.map(f64::from)),
        pair: &h.magic == b"ni1\0",
    })
}

/// Field offsets of NIfTI-2 (nifti2.h, R. Cox and others 2011).
fn version_2(bytes: &[u8], big_endian: bool) -> Result<Raw, String> {
    if bytes.len() < 540 {
        return Err("The NIfTI-2 header is cut short: copy or download the file again".to_owned());
    }
    let field = Fields { bytes, big_endian };
    let magic = &bytes[4..8];
    if magic != b"n+2\0" && magic != b"ni2\0" {
        return Err("The NIfTI-2 header has the wrong signature: the file is damaged".to_owned());
    }
    let row = |at: usize| std::array::from_fn(|i| field.f64(at + 8 * i));
    Ok(Raw {
        big_endian,
        dim: std::array::from_fn(|i| field.i64(16 + 8 * i)),
        datatype: field.i16(12),
        pixdim: std::array::from_fn(|i| field.f64(104 + 8 * i)),
        offset: field.i64(168) as f64,
        slope: field.f64(176),
        inter: field.f64(184),
        units: field.i32(500),
        qform_code: field.i32(344),
        sform_code: field.i32(348),
        quatern: [field.f64(352), field.f64(360), field.f64(368)],
        shift: [field.f64(376), field.f64(384), field.f64(392)],
        srow: [row(400), row(432), row(464)],
        pair: magic == b"ni2\0",
    })
}

/// Numbers at fixed places of a header whose length was checked.
struct Fields<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl Fields<'_> {
    fn raw<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut raw: [u8; N] = std::array::from_fn(|i| self.bytes[at + i]);
        if self.big_endian {
            raw.reverse();
        }
        raw
    }

    fn i16(&self, at: usize) -> i16 {
        i16::from_le_bytes(self.raw(at))
    }

    fn i32(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.raw(at))
    }

    fn i64(&self, at: usize) -> i64 {
        i64::from_le_bytes(self.raw(at))
    }

    fn f64(&self, at: usize) -> f64 {
        f64::from_le_bytes(self.raw(at))
    }
}

/// Turns claims into facts, or into a sentence.
fn check(raw: Raw) -> Result<Header, String> {
    let mut notes = Vec::new();
    let rank = raw.dim[0];
    if !(1..=7).contains(&rank) {
        return Err(format!(
            "The header claims {rank} dimensions, expected 1 to 7"
        ));
    }
    let mut sides = [1usize; 7];
    for (axis, side) in sides.iter_mut().enumerate().take(rank as usize) {
        let claimed = raw.dim[axis + 1];
        // Further dimensions of 0 are written by some tools for "none".
        *side = match claimed {
            0 if axis >= 3 => 1,
            1..=0x7fff_ffff => claimed as usize,
            _ => {
                return Err(format!(
                    "The header claims a side of {claimed} voxels, expected 1 or more"
                ));
            }
        };
    }
    let product = |sides: &[usize]| sides.iter().try_fold(1usize, |a, &b| a.checked_mul(b));
    let frames = product(&sides[3..]);
    let total = product(&sides).and_then(|n| n.checked_mul(8));
    let (Some(frames), Some(_)) = (frames, total) else {
        return Err(format!(
            "The header claims {sides:?} voxels, more than any memory holds"
        ));
    };
    let kind = Number::from_code(raw.datatype)?;
    if !(raw.offset.is_finite() && raw.offset >= 0.0 && raw.offset < 1e15) {
        return Err(format!(
            "The header puts the voxels at byte {}, expected 0 or more",
            raw.offset
        ));
    }
    // Slope 0 means "not scaled" by the standard; the tools' rule for the rest is to ignore it.
    let scaled = raw.slope.is_finite() && raw.inter.is_finite() && raw.slope != 0.0;
    if !(raw.slope.is_finite() && raw.inter.is_finite()) {
        notes.push("The header's scale factor is not a number and was ignored".to_owned());
    }
    let shape = [sides[0], sides[1], sides[2]];
    let (affine, source) = affine(&raw, shape, &mut notes)?;
    let grid = Grid::new(shape, affine, source).ok_or_else(|| {
        format!(
            "The {} affine is not finite or flattens space, expected a regular one",
            source.name()
        )
    })?;
    Ok(Header {
        big_endian: raw.big_endian,
        shape,
        frames,
        kind,
        offset: if raw.pair { 0 } else { raw.offset as u64 },
        slope: if scaled { raw.slope } else { 1.0 },
        inter: if scaled { raw.inter } else { 0.0 },
        grid,
        pair: raw.pair,
        notes,
    })
}

/// Millimetres per unit of length in the header.
fn unit_mm(units: i32, notes: &mut Vec<String>) -> f64 {
    match units & 7 {
        1 => 1000.0,
        3 => 0.001,
        0 | 2 => 1.0,
        other => {
            notes.push(format!(
                "The header's unit of length {other} is not defined: millimetres assumed"
            ));
            1.0
        }
    }
}

/// sform if its code is above 0, else qform, else voxel sizes only.
fn affine(
    raw: &Raw,
    shape: [usize; 3],
    notes: &mut Vec<String>,
) -> Result<(DAffine3, AffineSource), String> {
    let mm = unit_mm(raw.units, notes);
    let spacing = DVec3::new(raw.pixdim[1], raw.pixdim[2], raw.pixdim[3]).abs() * mm;
    let [x, y, z] = raw.srow.map(|row| row.map(|v| v * mm));
    let column = |c: usize| DVec3::new(x[c], y[c], z[c]);
    let sform = DAffine3::from_mat3_translation(
        DMat3::from_cols(column(0), column(1), column(2)),
        column(3),
    );
    let qform = qform(raw, spacing, mm);
    match (raw.sform_code > 0, raw.qform_code > 0) {
        (true, also) => {
            if also && qform.is_finite() && sform.is_finite() {
                let apart = disagreement_mm(&sform, &qform, shape);
                if apart > 0.1 * spacing.min_element().max(0.1) {
                    notes.push(format!(
                        "sform and qform disagree by up to {apart:.1} mm; the sform is used"
                    ));
                }
            }
            Ok((sform, AffineSource::Sform))
        }
        (false, true) => Ok((qform, AffineSource::Qform)),
        (false, false) => {
            if !(spacing.is_finite() && spacing.min_element() > 0.0) {
                return Err("The header has neither an affine nor voxel sizes above 0".to_owned());
            }
            notes.push("Neither sform nor qform: left and right unknown".to_owned());
            let middle = (DVec3::from_array(shape.map(|n| n as f64)) - 1.0) * 0.5;
            let affine =
                DAffine3::from_mat3_translation(DMat3::from_diagonal(spacing), -spacing * middle);
            Ok((affine, AffineSource::Pixdim))
        }
    }
}

/// nifti1.h, method 2: unit quaternion, voxel sizes, and the sign of z in pixdim[0].
fn qform(raw: &Raw, spacing: DVec3, mm: f64) -> DAffine3 {
    let [b, c, d] = raw.quatern;
    let a = (1.0 - (b * b + c * c + d * d)).max(0.0).sqrt();
    let rotation = DMat3::from_quat(DQuat::from_xyzw(b, c, d, a).normalize());
    let sign = if raw.pixdim[0] < 0.0 { -1.0 } else { 1.0 };
    let scale = DMat3::from_diagonal(spacing * DVec3::new(1.0, 1.0, sign));
    DAffine3::from_mat3_translation(rotation * scale, DVec3::from_array(raw.shift) * mm)
}

/// Largest distance between where two affines put a corner of the image, mm.
fn disagreement_mm(a: &DAffine3, b: &DAffine3, shape: [usize; 3]) -> f64 {
    let corner = |c: usize| {
        DVec3::from_array(std::array::from_fn(|axis| {
            if c >> axis & 1 == 1 {
                shape[axis] as f64
            } else {
                0.0
            }
        }))
    };
    (0..8)
        .map(|c| {
            a.transform_point3(corner(c))
                .distance(b.transform_point3(corner(c)))
        })
        .fold(0.0, f64::max)
}
