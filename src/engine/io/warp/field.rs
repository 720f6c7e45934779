//! Displacement fields in NIfTI files, as vectors in world RAS mm.
//!
//! *ITK and ANTs* store five dimensions, x × y × z × 1 × 3, with the intent 1007 (vector); the vectors are in LPS mm and
//! point from the fixed image to the moving one. ITK's `NiftiImageIO` writes such vectors unconverted
//! (`ConvertRASVectors` is off), and NiTransforms negates the first two components when it reads them
//! (`nitransforms/io/itk.py`, `ITKDisplacementsField`). Files with the intent 1006 (displacement vector) are read in
//! LPS by older versions of ITK and in RAS since 5.4, so they are refused.
//!
//! *FNIRT* stores four dimensions, x × y × z × 3, with the intent 2006. The field lies on the grid of the reference; the
//! vectors are displacements, or positions in the source image, in FSL's coordinates: voxel indices times edge lengths,
//! with the first axis counted from the other end where the image's affine has a positive determinant
//! (fslpy, `fsl/transform/fnirt.py`). No header says which of the two they are. The standard deviations tell, as in fslpy
//! (`nonlinear.detectDeformationType`), if the affine that fits the field best agrees; otherwise the user must say it. Coefficients of splines (intents 2007 to 2009) and fields of TOPUP (2016 to
//! 2018) are refused.

use super::{FieldConvention, Grids, OpenedWarp, TransformFile, check_placed, without_grids};
use crate::compute::{Control, memory};
use crate::data::text::counted;
use crate::data::warp::{DisplacementField, fitted_affine};
use crate::data::{Grid, Sentence, Volume, VolumeKind};
use crate::io::affine::fsl_from_voxel;
use crate::io::{Error, Format, SpaceInfo, detect, nifti};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::path::Path;

/// NIfTI's code for vectors.
const VECTOR: i32 = 1007;
/// NIfTI's code for displacement vectors.
const DISPLACEMENT: i32 = 1006;
/// FSL's code for a field of FNIRT.
const FNIRT_FIELD: i32 = 2006;
/// FSL's codes for coefficients of FNIRT: cubic splines, cosines, quadratic splines.
const FNIRT_COEFFICIENTS: std::ops::RangeInclusive<i32> = 2007..=2009;
/// FSL's codes for files of TOPUP.
const TOPUP: std::ops::RangeInclusive<i32> = 2016..=2018;
/// Begins the intent's name in transforms of NiftyReg, which are positions.
const NIFTY_REG: &str = "NREG";

/// Standard deviations whose ratio is nearer to 1 do not tell positions from displacements.
const TELLING_RATIO: f64 = 1.25;

const EXPECTED: &str = "a displacement field of ANTs or ITK (five dimensions, vector intent) or of FNIRT (four dimensions)";

/// Names the work in a message about memory.
const WORK: &str = "Reading a displacement field";

/// Reads a field. The second result holds notes, one sentence each; warnings go into `opened`.
pub(super) fn read(
    transform: &TransformFile,
    grids: Grids,
    opened: &mut OpenedWarp,
    control: &Control,
) -> Result<(DisplacementField, Vec<String>), Error> {
    let path = &transform.path;
    if detect(path)? != Format::Nifti {
        return Err(Error::malformed(
            path,
            "an image in another format than NIfTI",
            EXPECTED,
        ));
    }
    let (volume, info) = nifti::read(path, control)?;
    opened.warnings.extend(
        info.warnings
            .iter()
            .map(|warning| format!("{warning}: {}", path.display())),
    );
    check_components(path, &volume, &info)?;
    check_placed(path, &volume.grid)?;
    let (convention, mut notes) = match transform.convention {
        Some(convention) => (checked(path, convention, &info)?, Vec::new()),
        None => found_convention(path, &volume, &info, grids)?,
    };
    control.check()?;
    let claimed = memory::claim_for::<[f32; 3]>(WORK, volume.grid.voxel_count(), 1);
    claimed.map_err(|shortage| Error::memory(path, shortage))?;
    let vectors = match convention {
        FieldConvention::Ants => from_lps(&volume),
        FieldConvention::FslRelative | FieldConvention::FslAbsolute => {
            let is_absolute = convention == FieldConvention::FslAbsolute;
            let moving = moving_grid(path, grids)?;
            let displacement = fsl_displacement(&volume, moving, is_absolute);
            each(volume.grid.voxel_count(), displacement)
        }
    };
    let field = DisplacementField::new((*volume.grid).clone(), vectors);
    if field.not_finite() == volume.grid.voxel_count() {
        return Err(Error::malformed(path, "no number in the field", EXPECTED));
    }
    // The determinant of the best affine: an image of one head never has the other handedness.
    if field.affine().matrix3.determinant() <= 0.0 {
        return Err(Error::malformed(
            path,
            "a field that mirrors the image",
            (
                "one that does not, as between any two heads",
                Sentence::worded(
                    "check that --moving names the image that FNIRT registered, and the convention of the field",
                    "check the moving image and the convention of the field",
                ),
            ),
        ));
    }
    warn_of_damage(path, &field, opened);
    let size = largest_mm(&field);
    notes.push(format!(
        "The field {} moves points by up to {size:.1} mm",
        path.display()
    ));
    Ok((field, notes))
}

/// Refuses files that are no fields of three components.
fn check_components(path: &Path, volume: &Volume, info: &SpaceInfo) -> Result<(), Error> {
    if FNIRT_COEFFICIENTS.contains(&info.intent_code) {
        return Err(Error::unsupported(
            path,
            "spline coefficients of FNIRT",
            "make a field of them: fnirtfileutils --in=COEFFICIENTS --ref=REFERENCE --out=FIELD --withaff",
        ));
    }
    if TOPUP.contains(&info.intent_code) {
        return Err(Error::unsupported(
            path,
            "a field of TOPUP, which describes distortions of a scan",
            "correct the scan with applytopup or eddy",
        ));
    }
    if info.intent_code == DISPLACEMENT {
        return Err(Error::unsupported(
            path,
            "displacement vectors with NIfTI's intent 1006, whose axes programs read differently",
            "write the field with ANTs or ITK as vectors (intent 1007)",
        ));
    }
    if info.intent_name.starts_with(NIFTY_REG) {
        return Err(Error::unsupported(
            path,
            "a transform of NiftyReg",
            "write it as a displacement field of ITK",
        ));
    }
    if volume.kind == VolumeKind::Rgb {
        return Err(Error::malformed(path, "a colour image", EXPECTED));
    }
    let dims = &info.dims;
    let is_field = match dims.len() {
        4 => dims[3] == 3,
        5 => dims[3] == 1 && dims[4] == 3,
        _ => false,
    };
    if !is_field {
        let sizes: Vec<String> = dims.iter().map(usize::to_string).collect();
        let found = format!("an image of {} voxels", sizes.join(" × "));
        return Err(Error::malformed(path, found, EXPECTED));
    }
    Ok(())
}

/// A convention that the user stated, if the file can have it.
fn checked(
    path: &Path,
    convention: FieldConvention,
    info: &SpaceInfo,
) -> Result<FieldConvention, Error> {
    let is_fsl = convention != FieldConvention::Ants;
    let contradicts = match info.intent_code {
        VECTOR => is_fsl,
        FNIRT_FIELD => !is_fsl,
        _ => false,
    };
    match contradicts {
        false => Ok(convention),
        true => Err(Error::unsupported(
            path,
            format!(
                "a field whose header (intent {}) contradicts the convention {}",
                info.intent_code,
                convention.key()
            ),
            "state the convention of the program that wrote it",
        )),
    }
}

/// The grid of the image that FNIRT registered.
fn moving_grid<'a>(path: &Path, grids: Grids<'a>) -> Result<&'a Grid, Error> {
    let moving = grids.moving;
    let moving = moving.ok_or_else(|| without_grids(path, "a field of FNIRT"))?;
    check_placed(path, moving)?;
    Ok(moving)
}

/// The convention that the header states, with a note where the values decide.
fn found_convention(
    path: &Path,
    volume: &Volume,
    info: &SpaceInfo,
    grids: Grids,
) -> Result<(FieldConvention, Vec<String>), Error> {
    match (info.intent_code, info.dims.len()) {
        (VECTOR, 5) => Ok((FieldConvention::Ants, Vec::new())),
        (FNIRT_FIELD, _) => fsl_convention(path, volume, moving_grid(path, grids)?),
        (intent, _) => Err(Error::unsupported(
            path,
            format!(
                "an image of {} with the intent {intent}, which does not say whose field it is",
                counted(volume.frames, "volume")
            ),
            Sentence::worded(
                "state it before the name, as in ants:FILE, fsl-relative:FILE or fsl-absolute:FILE",
                "choose the convention of the field",
            ),
        )),
    }
}

/// Tells positions from displacements: by their standard deviations, and by the affine that fits them best, which does not
/// stretch much between two heads. Displacements taken for positions collapse an axis; positions taken for displacements
/// stretch one to twice its length. Where the two rules differ or say nothing, the user must say it.
fn fsl_convention(
    path: &Path,
    volume: &Volume,
    moving: &Grid,
) -> Result<(FieldConvention, Vec<String>), Error> {
    let grid = &*volume.grid;
    let fsl = fsl_from_voxel(grid);
    let as_stored = deviation(volume, |_| DVec3::ZERO);
    let without_position = deviation(volume, |voxel| fsl.transform_point3(voxel));
    let [relative, absolute] = [false, true].map(|is_absolute| {
        let displacement = fsl_displacement(volume, moving, is_absolute);
        stretch(fitted_affine(grid, displacement).0.matrix3)
    });
    let by_deviation = match (as_stored, without_position) {
        (stored, rest) if stored > TELLING_RATIO * rest => Some(FieldConvention::FslAbsolute),
        (stored, rest) if rest > TELLING_RATIO * stored => Some(FieldConvention::FslRelative),
        _ => None,
    };
    let by_stretch = match (relative, absolute) {
        (near, far) if near <= LIKELY_STRETCH && far >= UNLIKELY_STRETCH => {
            Some(FieldConvention::FslRelative)
        }
        (far, near) if near <= LIKELY_STRETCH && far >= UNLIKELY_STRETCH => {
            Some(FieldConvention::FslAbsolute)
        }
        _ => None,
    };
    let Some(convention) = by_deviation.filter(|found| by_stretch == Some(*found)) else {
        return Err(Error::unsupported(
            path,
            "a field of FNIRT whose values may be displacements or positions",
            Sentence::worded(
                "state it before the name, as in fsl-relative:FILE or fsl-absolute:FILE",
                "choose the convention of the field",
            ),
        ));
    };
    let values = match convention {
        FieldConvention::FslAbsolute => "positions",
        _ => "displacements",
    };
    let note = format!(
        "The values of the field of FNIRT were taken for {values}, as their sizes show: {}",
        path.display()
    );
    Ok((convention, vec![note]))
}

/// Stretch of an axis that occurs between two heads, and stretch that does not.
const LIKELY_STRETCH: f64 = 1.6;
const UNLIKELY_STRETCH: f64 = 1.85;

/// The largest factor by which a linear map stretches or shortens a direction.
fn stretch(linear: DMat3) -> f64 {
    if !linear.is_finite() {
        return f64::INFINITY;
    }
    // The squares of the factors are the eigenvalues of this symmetric matrix, in closed form.
    let square = linear.transpose() * linear;
    let trace = |m: DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
    let mean = trace(square) / 3.0;
    let rest = square - DMat3::from_diagonal(DVec3::splat(mean));
    let spread = (trace(rest * rest) / 6.0).sqrt();
    let (least, most) = match spread > 1e-12 * mean {
        true => {
            let half = (rest.determinant() / (2.0 * spread.powi(3))).clamp(-1.0, 1.0);
            let angle = half.acos() / 3.0;
            let turn = std::f64::consts::TAU / 3.0;
            (
                mean + 2.0 * spread * (angle + turn).cos(),
                mean + 2.0 * spread * angle.cos(),
            )
        }
        false => (mean, mean),
    };
    most.sqrt().max(1.0 / least.max(0.0).sqrt())
}

/// The vector of a voxel as stored.
fn stored(volume: &Volume, index: usize) -> DVec3 {
    let n = volume.grid.voxel_count();
    DVec3::from_array([0, 1, 2].map(|c| f64::from(volume.values[c * n + index])))
}

fn position(grid: &Grid, index: usize) -> DVec3 {
    DVec3::from_array(grid.voxel(index).map(|v| v as f64))
}

/// The sum of the standard deviations of the three components after something is subtracted from each vector.
fn deviation(volume: &Volume, subtracted: impl Fn(DVec3) -> DVec3) -> f64 {
    let grid = &*volume.grid;
    let vectors = || {
        let all =
            (0..grid.voxel_count()).map(|i| stored(volume, i) - subtracted(position(grid, i)));
        all.filter(|v| v.is_finite())
    };
    let count = vectors().count().max(1) as f64;
    let mean = vectors().sum::<DVec3>() / count;
    let squares = vectors().map(|v| (v - mean) * (v - mean)).sum::<DVec3>() / count;
    squares.to_array().into_iter().map(f64::sqrt).sum()
}

/// Voxels that one thread converts at a time.
const BATCH: usize = 1 << 14;

/// One vector for each voxel, by all threads.
fn each(count: usize, vector: impl Fn(usize) -> DVec3 + Sync) -> Vec<[f32; 3]> {
    let mut vectors = vec![[0.0; 3]; count];
    let parts = vectors.par_chunks_mut(BATCH).enumerate();
    parts.for_each(|(part, places)| {
        for (i, place) in places.iter_mut().enumerate() {
            *place = vector(part * BATCH + i).as_vec3().to_array();
        }
    });
    vectors
}

fn from_lps(volume: &Volume) -> Vec<[f32; 3]> {
    let ras = DVec3::new(-1.0, -1.0, 1.0);
    each(volume.grid.voxel_count(), |i| stored(volume, i) * ras)
}

/// The displacement of a voxel, world RAS mm, in a field of FSL.
fn fsl_displacement(
    volume: &Volume,
    moving: &Grid,
    is_absolute: bool,
) -> impl Fn(usize) -> DVec3 + Sync {
    let grid = &*volume.grid;
    let fsl_from_fixed = fsl_from_voxel(grid);
    let world_from_fsl = moving.world_from_voxel * fsl_from_voxel(moving).inverse();
    move |i| {
        let voxel = position(grid, i);
        let start = match is_absolute {
            true => DVec3::ZERO,
            false => fsl_from_fixed.transform_point3(voxel),
        };
        world_from_fsl.transform_point3(start + stored(volume, i)) - grid.world(voxel)
    }
}

/// Warns of voxels that are no number, and where the field folds.
fn warn_of_damage(path: &Path, field: &DisplacementField, opened: &mut OpenedWarp) {
    let grid = field.grid();
    let all = grid.voxel_count();
    let shown = path.display();
    match field.not_finite() {
        0 => {}
        some => opened.warnings.push(format!(
            "{some} of the field's {} hold no number; nothing is mapped there: {shown}",
            counted(all, "voxel")
        )),
    }
    let folds = |i: usize| field.folds_at(grid.voxel(i));
    match (0..all).into_par_iter().filter(|i| folds(*i)).count() {
        0 => {}
        some => opened.warnings.push(format!(
            "The field folds at {some} of its {}: it reverses the orientation there and has no inverse: {shown}",
            counted(all, "voxel")
        )),
    }
}

/// The largest distance by which a voxel moves, mm.
fn largest_mm(field: &DisplacementField) -> f64 {
    field
        .lengths()
        .filter(|mm| mm.is_finite())
        .fold(0.0, f64::max)
}
