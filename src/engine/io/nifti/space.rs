//! The position of an image: sform if its code is above 0, otherwise qform if above 0, otherwise the voxel sizes.

use super::header::{Header, Version};
use crate::data::labels::LARGEST_WHOLE;
use crate::data::{AffineSource, Grid};
use crate::io::numbers::Type;
use crate::io::{Error, Remark};
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::fmt;
use std::path::Path;

/// Difference of sform and qform, as a share of the smallest voxel edge, above which a warning is given: a hundred
/// times the rounding of a float32 header.
const DISAGREE_VOXELS: f64 = 0.02;
/// A stated unit is accepted if it gives voxel edges in this range (mm).
const PLAUSIBLE_EDGE_MM: [f64; 2] = [1e-4, 100.0];

/// The header's information about space and content, for the data panel and `arcuate info`.
#[derive(Clone, PartialEq, Debug)]
pub struct SpaceInfo {
    /// `NIfTI-1`, `NIfTI-2`, or another format's name.
    pub version: &'static str,
    /// The dimensions stated in the file, one to seven.
    pub dims: Vec<usize>,
    /// Such as `int16`; in memory voxels are always float32.
    pub stored_as: &'static str,
    /// Whether numbers begin with their most significant byte.
    pub big_endian: bool,
    /// Slope and intercept that were applied.
    pub scaling: Option<(f64, f64)>,
    /// Code of the sform; 0 if it is not set.
    pub sform_code: i32,
    /// Code of the qform; 0 if it is not set.
    pub qform_code: i32,
    /// The name of the world space, from the code of the form used: `scanner`, `MNI 152`, …
    pub space: &'static str,
    /// Unit of length in the file; always mm in memory.
    pub units: &'static str,
    /// Largest distance between a corner placed by the sform and by the qform, if both are set and differ.
    pub sform_qform_disagree_mm: Option<f64>,
    /// `intent_code`, the meaning of the values.
    pub intent_code: i32,
    /// `intent_name`, the meaning of the values in words.
    pub intent_name: String,
    /// `descrip`, free text of the program that wrote the file.
    pub description: String,
    /// Problems that may make the result wrong, one sentence each, without the path.
    pub warnings: Vec<String>,
    /// Information without consequences for the result.
    pub notes: Vec<String>,
}

impl SpaceInfo {
    /// Warnings first, then notes.
    pub fn remarks(&self) -> Vec<Remark> {
        Remark::all(&self.warnings, &self.notes)
    }

    /// The space for a format with a single affine in mm.
    pub(in crate::io) fn with_one_affine(
        version: &'static str,
        dims: &[usize],
        stored_as: &'static str,
        big_endian: bool,
    ) -> Self {
        Self {
            version,
            dims: dims.to_vec(),
            stored_as,
            big_endian,
            scaling: None,
            sform_code: 0,
            qform_code: 0,
            space: space_name(1),
            units: "mm",
            sform_qform_disagree_mm: None,
            intent_code: 0,
            intent_name: String::new(),
            description: String::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Warns about integers that float32 rounds.
    pub(in crate::io) fn warn_of_rounding(&mut self, number: Type, values: &[f32]) {
        if number.is_wide_integer() {
            self.warn_of_large(values);
        }
    }

    pub(super) fn warn_of_large(&mut self, values: &[f32]) {
        if values.iter().any(|v| v.abs() > LARGEST_WHOLE) {
            self.warnings.push(format!(
                "The file holds whole numbers above {LARGEST_WHOLE}; their last digits are rounded"
            ));
        }
    }
}

/// The grid described by a header, and warnings about it.
pub(super) fn grid(path: &Path, header: &Header) -> Result<(Grid, SpaceInfo), Error> {
    let (mut warnings, mut notes) = (header.warnings.clone(), header.notes.clone());
    let (affine, source, code) = if header.orientation.sform_code > 0 {
        (
            sform(header),
            AffineSource::Sform,
            header.orientation.sform_code,
        )
    } else if header.orientation.qform_code > 0 {
        let affine = qform(header).map_err(|error| {
            Error::malformed(
                path,
                error.to_string(),
                ("a rotation", "repair the header's qform"),
            )
        })?;
        (affine, AffineSource::Qform, header.orientation.qform_code)
    } else {
        warnings.push(
            "The header has voxel sizes only; the image centre was put at 0 and left and right \
             are unknown"
                .to_owned(),
        );
        (centred(header), AffineSource::Pixdim, 0)
    };
    if !affine.is_finite() {
        return Err(Error::malformed(
            path,
            format!(
                "numbers in the header's {} that are not finite",
                source.label()
            ),
            ("an affine of finite numbers", "repair the header"),
        ));
    }
    let (mm, units) = unit_mm(header, &affine, &mut warnings, &mut notes);
    let scaled = DAffine3::from_scale(DVec3::splat(mm)) * affine;
    let grid = Grid::new(header.shape, scaled, source).ok_or_else(|| {
        Error::malformed(
            path,
            format!("a header whose {} flattens the image", source.label()),
            ("three independent axes", "repair the header"),
        )
    })?;
    // An unknown code counts as the scanner's.
    let space_code = i16::try_from(code).ok().filter(|c| *c > 0).unwrap_or(1);
    let grid = grid.with_space_code(space_code);
    let other = disagreement(header, &grid, mm);
    let disagree = other.as_ref().map(|other| grid.separation_mm(other));
    if let (Some(d), Some(other)) = (disagree, &other) {
        let handed = |g: &Grid| g.world_from_voxel.matrix3.determinant() > 0.0;
        let mirrored = match handed(&grid) == handed(other) {
            true => "",
            false => ", and one mirrors the other",
        };
        // Hundredths of a millimetre are meaningless for a distance of centimetres.
        let decimals = if d < 1.0 { 3 } else { 1 };
        warnings.push(format!(
            "sform and qform of the header differ by up to {d:.decimals$} mm{mirrored}; the sform was used"
        ));
    }
    let grid = match other {
        Some(other) => grid.with_other_form(other.world_from_voxel),
        None => grid,
    };
    let info = SpaceInfo {
        version: header.version.name(),
        dims: header.dims.clone(),
        stored_as: header.voxel_type.name(),
        big_endian: header.big_endian,
        scaling: header.scaling,
        sform_code: header.orientation.sform_code,
        qform_code: header.orientation.qform_code,
        space: space_name(code),
        units,
        sform_qform_disagree_mm: disagree,
        intent_code: header.intent_code,
        intent_name: header.intent_name.clone(),
        description: header.description.clone(),
        warnings,
        notes,
    };
    Ok((grid, info))
}

fn sform(header: &Header) -> DAffine3 {
    let [x, y, z] = header.orientation.srow;
    let column = |c: usize| DVec3::new(x[c], y[c], z[c]);
    DAffine3::from_cols(column(0), column(1), column(2), column(3))
}

/// The rotation, voxel sizes and offset of the quaternion form; nifti1.h, method 2.
fn qform(header: &Header) -> Result<DAffine3, LongQuaternion> {
    let [b, c, d] = header.orientation.quatern;
    let squares = b * b + c * c + d * d;
    if squares.is_nan() || squares > 1.001 {
        return Err(LongQuaternion([b, c, d]));
    }
    // For a half turn (most sagittal and coronal storage orders) a² is the rounding error of 0, and its root would
    // displace the far corner of a head by 0.1 mm; the limits are NiBabel's.
    let rounding = match header.version {
        Version::Nifti1 => 3.0 * f64::from(f32::EPSILON),
        Version::Nifti2 => 3.0 * f64::EPSILON,
    };
    let a = match 1.0 - squares {
        rest if rest < rounding => 0.0,
        rest => rest.sqrt(),
    };
    let rotation = DQuat::from_xyzw(b, c, d, a).normalize();
    let handed = if header.pixdim[0] < 0.0 { -1.0 } else { 1.0 };
    let edges = edges(header) * DVec3::new(1.0, 1.0, handed);
    Ok(DAffine3::from_mat3_translation(
        DMat3::from_quat(rotation) * DMat3::from_diagonal(edges),
        DVec3::from_array(header.orientation.qoffset),
    ))
}

/// A quaternion that is not a rotation: a part of a sentence.
struct LongQuaternion([f64; 3]);

impl fmt::Display for LongQuaternion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [b, c, d] = self.0;
        write!(f, "the quaternion part ({b}, {c}, {d}), longer than 1")
    }
}

fn centred(header: &Header) -> DAffine3 {
    let last = DVec3::from_array(header.shape.map(|n| n as f64 - 1.0));
    let edges = edges(header);
    DAffine3::from_mat3_translation(DMat3::from_diagonal(edges), -0.5 * last * edges)
}

/// Voxel edges; 1 if the header has 0 (common for axes of one voxel).
fn edges(header: &Header) -> DVec3 {
    let edge = |a: usize| match header.pixdim[a].abs() {
        0.0 => 1.0,
        e => e,
    };
    DVec3::new(edge(1), edge(2), edge(3))
}

/// Millimetres per unit of the file. Units that give absurd voxels count as mistakes.
fn unit_mm(
    header: &Header,
    affine: &DAffine3,
    warnings: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> (f64, &'static str) {
    let (mm, name) = match header.xyzt_units & 7 {
        1 => (1000.0, "m"),
        2 => return (1.0, "mm"),
        3 => (0.001, "µm"),
        _ => return (1.0, "mm (not stated)"),
    };
    let edge = affine.matrix3.x_axis.length() * mm;
    let [min_edge, max_edge] = PLAUSIBLE_EDGE_MM;
    if (min_edge..=max_edge).contains(&edge) {
        notes.push(format!("The file's unit is {name}; it was converted to mm"));
        (mm, name)
    } else {
        warnings.push(format!(
            "The header's unit {name} would give voxels of {edge} mm; mm was assumed"
        ));
        (1.0, "mm (header says otherwise)")
    }
}

/// The grid placed by the qform, if both forms are set and differ.
fn disagreement(header: &Header, grid: &Grid, mm: f64) -> Option<Grid> {
    if header.orientation.sform_code <= 0 || header.orientation.qform_code <= 0 {
        return None;
    }
    // A qform that is not a rotation is not used here and cannot be compared.
    let other = DAffine3::from_scale(DVec3::splat(mm)) * qform(header).ok()?;
    let other = Grid::new(header.shape, other, AffineSource::Qform)?;
    let tolerance_mm = DISAGREE_VOXELS * grid.spacing().min_element();
    (grid.separation_mm(&other) > tolerance_mm).then_some(other)
}

fn space_name(code: i32) -> &'static str {
    match code {
        1 => "scanner",
        2 => "aligned with another image",
        3 => "Talairach",
        4 => "MNI 152",
        5 => "template",
        _ => "unknown",
    }
}
