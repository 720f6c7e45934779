//! Non-linear alignments of ANTs, ITK and FSL: lists of transform files that become one [`Warp`].
//!
//! *Order.* The list is that of `antsApplyTransforms -t`: the first file maps points of the fixed image first, and the
//! last one arrives in the moving image (ANTs wiki, “Forward and inverse warps for warping images, pointsets and
//! Jacobians”: the forward transforms are `-t 1Warp.nii.gz -t 0GenericAffine.mat`, a point p goes to A(W(p)); back to
//! the moving image go `-t [0GenericAffine.mat,1] -t 1InverseWarp.nii.gz`). The same list serves images and
//! streamlines: images pull, streamlines are pushed by the inverse of the whole list.
//!
//! *Fields of ITK and ANTs* (`field.rs`): vectors in LPS mm in a NIfTI of five dimensions.
//!
//! *Fields of FNIRT* (`field.rs`): displacements or positions in FSL's coordinates of two images.
//!
//! *Affines* (`affine.rs`): ITK, ANTs and FLIRT. ITK's maps points of the fixed image, FLIRT's those of the moving one.
//!
//! *Composite transforms of ITK* (`.h5`) are HDF5 files, for which there is no reader here; ITK's
//! `CompositeTransformUtil --disassemble` writes the parts.

mod apply;
mod field;

pub(super) use apply::{PushCounts, push};

use super::affine::{self, Affine};
use super::gradients;
use super::{Content, Error, FibreInfo, Format, Opened, Reading, extension, image, quoted};
use crate::compute::Control;
use crate::data::odf_field::order_of_distributions;
use crate::data::warp::{Unmapped, Warp, WarpInterpolation, WarpStep};
use crate::data::{Grid, Sentence, Volume, keyed};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The meaning of the vectors in a displacement field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldConvention {
    /// Displacements in LPS mm, as ITK and ANTs write them.
    Ants,
    /// Displacements in FSL's coordinates, mm.
    FslRelative,
    /// Positions in FSL's coordinates of the moving image, mm.
    FslAbsolute,
}

keyed!(FieldConvention, serde {
    Ants = "ants",
    FslRelative = "fsl-relative",
    FslAbsolute = "fsl-absolute",
});

impl FieldConvention {
    /// All conventions.
    pub const ALL: [Self; 3] = [Self::Ants, Self::FslRelative, Self::FslAbsolute];
}

/// A file of a non-linear alignment, and its direction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransformFile {
    /// An affine or a displacement field.
    pub path: PathBuf,
    /// Whether its inverse applies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inverse: bool,
    /// The meaning of a field's vectors, if the user states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convention: Option<FieldConvention>,
}

/// Begins the text of a transform whose inverse applies.
const INVERSE: &str = "inverse:";

impl TransformFile {
    /// A file that applies as it is.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            inverse: false,
            convention: None,
        }
    }

    /// Reads `inverse:fsl-relative:FILE`; both words may be left out.
    pub fn parse(text: &str) -> Self {
        let (inverse, rest) = match text.strip_prefix(INVERSE) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let stated = FieldConvention::ALL.into_iter().find_map(|convention| {
            let rest = rest.strip_prefix(convention.key())?.strip_prefix(':')?;
            Some((convention, rest))
        });
        let (convention, path) = match stated {
            Some((convention, path)) => (Some(convention), path),
            None => (None, rest),
        };
        Self {
            path: PathBuf::from(path),
            inverse,
            convention,
        }
    }

    /// Whether its name is that of a field.
    pub fn is_field(&self) -> bool {
        Format::named(&self.path).is_some_and(|format| format.content() == Content::Image)
    }
}

/// Writes what [`TransformFile::parse`] reads.
impl fmt::Display for TransformFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inverse {
            f.write_str(INVERSE)?;
        }
        if let Some(convention) = self.convention {
            write!(f, "{}:", convention.key())?;
        }
        f.write_str(&self.path.to_string_lossy())
    }
}

/// The non-linear alignment of an image or of streamlines.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WarpReading {
    /// In the order in which they map points of the fixed image.
    pub transforms: Vec<TransformFile>,
    /// The fixed image: its grid is that of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<PathBuf>,
    /// The moving image of the registration, if FSL's coordinates need its grid and it is not the image itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<PathBuf>,
    /// How values between voxels are found; `None`: by the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<WarpInterpolation>,
}

impl WarpReading {
    /// All files that it names.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let transforms = self
            .transforms
            .iter_mut()
            .map(|transform| &mut transform.path);
        transforms.chain(&mut self.fixed).chain(&mut self.moving)
    }
}

/// Prints options of a command: ` --warp 1Warp.nii.gz --warp 0GenericAffine.mat --fixed t1.nii.gz`.
impl fmt::Display for WarpReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for transform in &self.transforms {
            write!(f, " --warp {}", quoted(&transform.to_string()))?;
        }
        for (option, image) in [("fixed", &self.fixed), ("moving", &self.moving)] {
            if let Some(image) = image {
                write!(f, " --{option} {}", quoted(&image.to_string_lossy()))?;
            }
        }
        if let Some(interpolation) = self.interpolation {
            write!(f, " --interpolation {}", interpolation.key())?;
        }
        Ok(())
    }
}

/// A warp that was read, with the grid of its fixed image.
#[derive(Clone, Debug)]
pub(super) struct OpenedWarp {
    pub warp: Warp,
    /// The grid of the result: of the named image, else of the first field.
    pub fixed: Option<Arc<Grid>>,
    /// One sentence each.
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
}

/// The grids between which FSL's coordinates lie.
#[derive(Clone, Copy)]
struct Grids<'a> {
    fixed: Option<&'a Grid>,
    moving: Option<&'a Grid>,
}

impl Grids<'_> {
    /// The grids of a transform whose inverse applies.
    fn exchanged(self) -> Self {
        Self {
            fixed: self.moving,
            moving: self.fixed,
        }
    }
}

/// Reads the files of a warp. `own` is the grid of the data, which counts as that of the moving image unless one is named.
pub(super) fn open(
    reading: &WarpReading,
    own: Option<&Grid>,
    control: &Control,
) -> Result<OpenedWarp, Error> {
    let read_grid = |path: &PathBuf| image::read_grid(path, &control.silent());
    let fixed = reading.fixed.as_ref().map(read_grid).transpose()?;
    let moving = reading.moving.as_ref().map(read_grid).transpose()?;
    let grids = Grids {
        fixed: fixed.as_ref(),
        moving: moving.as_ref().or(own),
    };
    let mut opened = OpenedWarp {
        warp: Warp::default(),
        fixed: None,
        warnings: Vec::new(),
        notes: Vec::new(),
    };
    let mut steps = Vec::new();
    let alone = reading.transforms.len() == 1;
    for transform in &reading.transforms {
        control.check()?;
        let step = open_step(transform, grids, alone, &mut opened, control)?;
        steps.push(step);
    }
    let of_field = match steps.first() {
        Some(WarpStep::Field(field)) => Some(field.grid().clone()),
        _ => None,
    };
    opened.fixed = fixed.or(of_field).map(Arc::new);
    opened.warp = Warp::new(steps);
    Ok(opened)
}

/// A warp that moves single points, such as the centres of spheres.
pub struct PointWarp(OpenedWarp);

impl PointWarp {
    /// Reads the transforms of a warp.
    pub fn open(reading: &WarpReading, control: &Control) -> Result<Self, Error> {
        open(reading, None, control).map(Self)
    }

    /// A point of the moving image in the space of the fixed one.
    pub fn push(&self, point: DVec3) -> Result<DVec3, Unmapped> {
        self.0.warp.push(point).map(|pushed| pushed.point)
    }

    /// Sentences about the transforms.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }
}

fn open_step(
    transform: &TransformFile,
    grids: Grids,
    alone: bool,
    opened: &mut OpenedWarp,
    control: &Control,
) -> Result<WarpStep, Error> {
    let path = &transform.path;
    let grids = match transform.inverse {
        true => grids.exchanged(),
        false => grids,
    };
    if ["h5", "hdf5"].contains(&&*extension(path)) {
        return Err(Error::unsupported(
            path,
            "a composite transform of ITK",
            "write its parts with ITK's CompositeTransformUtil --disassemble, and name them",
        ));
    }
    if transform.is_field() {
        let (field, notes) = field::read(transform, grids, opened, control)?;
        opened.notes.extend(notes);
        let field = Arc::new(field);
        return Ok(match transform.inverse {
            true => WarpStep::InverseField(field),
            false => WarpStep::Field(field),
        });
    }
    if transform.convention.is_some() {
        return Err(Error::unsupported(
            path,
            "an affine of which a convention for fields is stated",
            Sentence::worded(
                "leave out the word before its name",
                "choose no convention for it",
            ),
        ));
    }
    let affine = affine::read(path)?;
    if matches!(affine, Affine::Flirt(_)) {
        check_flirt(path, grids, alone)?;
    }
    let fixed_from_moving = affine
        .in_world(grids.moving, grids.fixed)
        .ok_or_else(|| without_grids(path, "a FLIRT matrix"))?;
    opened
        .warnings
        .extend(affine::mirror_warning(fixed_from_moving));
    Ok(WarpStep::Affine(match transform.inverse {
        true => fixed_from_moving,
        false => fixed_from_moving.inverse(),
    }))
}

/// FLIRT's coordinates belong to two images, and a list of several transforms does not say to which.
fn check_flirt(path: &Path, grids: Grids, alone: bool) -> Result<(), Error> {
    if !alone {
        return Err(Error::unsupported(
            path,
            "a FLIRT matrix among other transforms, which does not say whose voxels it refers to",
            "join them to one field with FSL's convertwarp (--premat or --postmat), or convert the matrix to ITK's form",
        ));
    }
    for grid in [grids.fixed, grids.moving].into_iter().flatten() {
        check_placed(path, grid)?;
    }
    Ok(())
}

/// Left and right in FSL's coordinates depend on the handedness of the image, which an unplaced image does not have.
fn check_placed(path: &Path, grid: &Grid) -> Result<(), Error> {
    if grid.is_placed() {
        return Ok(());
    }
    Err(Error::unsupported(
        path,
        "an image without a position in the patient, so that left and right are unknown",
        "give its header an sform or a qform",
    ))
}

/// The error for FSL's coordinates of an image that was not named.
fn without_grids(path: &Path, what: &str) -> Error {
    Error::unsupported(
        path,
        format!("{what}, which refers to the voxels of two images"),
        Sentence::worded(
            "name the fixed image with --fixed and the moving image with --moving",
            "choose the fixed image and the moving image of the registration",
        ),
    )
}

/// An opened file in the space of the fixed image.
pub(super) fn warped(
    path: &Path,
    opened: Opened,
    reported: &Reading,
    reading: &WarpReading,
    control: &Control,
) -> Result<Opened, Error> {
    check_alone(path, reported)?;
    match opened {
        Opened::Volume(volume, mut info) => {
            check_turns(path, &volume, reported)?;
            let warp = open(reading, Some(&volume.grid), control)?;
            let fixed = warp.fixed.clone().ok_or_else(|| without_fixed(path))?;
            let interpolation = reading.interpolation;
            let resampled = apply::resample(path, &volume, &warp, &fixed, interpolation, control)?;
            info.warnings.extend(warp.warnings);
            info.warnings.extend(resampled.warnings);
            info.notes.extend(warp.notes);
            info.notes.extend(resampled.notes);
            Ok(Opened::Volume(resampled.volume, info))
        }
        Opened::Tractogram(tractogram, mut info) => {
            let warp = open(reading, tractogram.grid.as_deref(), control)?;
            let mut counts = PushCounts::default();
            control.begin("Moving streamlines", 0);
            let pushed = push(path, &tractogram, &warp, &mut counts, control)?;
            counts.check(path)?;
            remark(&warp, &counts, &mut info);
            Ok(Opened::Tractogram(pushed, info))
        }
    }
}

/// Adds what is known of a warp and its inverse to the remarks about streamlines.
pub(super) fn remark(warp: &OpenedWarp, counts: &PushCounts, info: &mut FibreInfo) {
    let (warnings, notes) = counts.remarks();
    info.warnings
        .extend(warp.warnings.iter().cloned().chain(warnings));
    info.notes.extend(warp.notes.iter().cloned().chain(notes));
}

/// Refuses an affine beside a warp, whose order would be open.
pub(super) fn check_alone(path: &Path, reported: &Reading) -> Result<(), Error> {
    match reported.affine.is_none() {
        true => Ok(()),
        false => Err(Error::unsupported(
            path,
            "both an affine and a warp",
            Sentence::worded(
                "name the affine with --warp, at its place in the list",
                "add the affine to the transforms of the warp",
            ),
        )),
    }
}

/// Refuses images whose values are directions, which would have to turn with each voxel.
fn check_turns(path: &Path, volume: &Volume, reported: &Reading) -> Result<(), Error> {
    let refused = |what: &str, instead: &str| Err(Error::unsupported(path, what, instead));
    if reported.tensors.is_some() || volume.tensors.is_some() {
        return refused(
            "an image of tensors, which must turn with each voxel of a warp",
            "warp its maps, such as FA, or the streamlines",
        );
    }
    if reported.distributions.is_some() || order_of_distributions(volume).is_some() {
        return refused(
            "an image of fibre orientation distributions, which must turn with each voxel of a warp",
            "warp its maps or the streamlines",
        );
    }
    if volume.frames > 1 && matches!(gradients::rows_of(path, volume.frames), Ok(Some(_))) {
        return refused(
            "a diffusion scan, whose gradient directions a warp would turn differently in each voxel",
            "fit it first, and warp its maps or the streamlines",
        );
    }
    Ok(())
}

fn without_fixed(path: &Path) -> Error {
    Error::unsupported(
        path,
        "an image to be resampled without a fixed image, whose voxels the result would have",
        Sentence::worded("name it with --fixed", "choose the fixed image"),
    )
}
