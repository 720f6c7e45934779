//! Reads and writes files. The only module that opens files.
//!
//! Reading: [`open`] examines a path and returns its contents; [`gradients`] reads the tables of a scan, [`mask`] a
//! mask for a given grid. Sizes in a header are compared with the file before memory is allocated, so a broken or
//! hostile file gives an [`Error`], which is one sentence. Writing: every file goes through [`atomic`] and is read
//! back before it is renamed; only the window's action log, which grows while it runs, is written line by line
//! ([`lines`]).
//!
//! # Example
//!
//! Writes an image and opens it again:
//!
//! ```
//! use arcuate_engine::compute::Control;
//! use arcuate_engine::data::{Grid, Volume};
//! use arcuate_engine::io::{self, Opened, image};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let control = Control::new();
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("ramp.nii.gz");
//! let grid = Grid::axis_aligned([4, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let ramp = Volume::scalar(Arc::new(grid), vec![0.0, 1.0, 2.0, 3.0]);
//! image::save_volume(&path, &ramp, "an example", &control)?;
//! match io::open(&path, &control)? {
//!     Opened::Volume(volume, _) => assert_eq!(volume.frame(0), ramp.frame(0)),
//!     Opened::Tractogram(..) => unreachable!("a .nii.gz file contains an image"),
//! }
//!
//! // An error is one sentence.
//! let missing = io::open(&folder.path().join("none.nii.gz"), &control);
//! assert!(missing.is_err_and(|error| !error.to_string().is_empty()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod affine;
pub mod arrays;
pub mod atomic;
pub mod bids;
pub mod bundle_recipe;
pub mod card_claims;
pub mod checksum;
pub mod cohort;
pub mod colours;
pub mod convert;
pub mod crosshair_link;
pub mod disk;
mod dsi_studio;
pub mod ending;
mod error;
mod file_bytes;
pub mod film;
pub mod fixels;
mod format;
mod freesurfer;
mod gifti;
pub mod gradients;
pub mod html;
pub mod image;
pub mod json;
pub mod label_table;
pub mod lines;
mod mask;
mod matlab;
mod members;
mod mgh;
mod mif;
mod mmap;
pub mod nifti;
mod nrrd;
mod numbers;
mod obj;
pub mod orientations;
pub mod pieces;
mod ply;
pub mod png;
mod polydata;
pub mod protocol;
mod reading;
pub mod recovery;
mod remark;
pub mod response;
mod running;
pub mod scalars;
pub mod scheme;
pub mod session;
mod source;
mod stl;
mod stored;
pub mod streamlines;
pub mod surface;
pub mod svg;
pub mod tck;
pub mod text;
pub mod tinytrack;
pub mod trk;
pub mod truth;
pub mod trx;
mod voxels;
pub mod vtk;
pub mod vtp;
mod warp;
mod written_voxels;

pub use crate::compute::memory::{
    available_bytes, forget_peak, limit_memory, limit_memory_for_good, private_bytes,
    resident_bytes,
};
pub use error::without_os_error;
pub use error::{Error, Expected};
pub use format::{Content, Format, NameSupport};
pub use mask::{as_mask, companion_mask, mask, mask_on_own_grid};
pub use nifti::SpaceInfo;
pub use pieces::{InPlace, Sample, SampleLimits, ViewPart};
pub use png::decoded_png;
pub use reading::{AffineReading, Reading, Space, quoted};
pub use remark::{Remark, RemarkTopic};
pub use streamlines::FibreInfo;
pub use warp::{FieldConvention, PointWarp, TransformFile, WarpReading};

/// Written to every exported file.
pub const DISCLAIMER: &str = "For research only: not a medical device";

use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::{Grid, Sentence, TensorLayout, Tractogram, Volume, VolumeKind};
use glam::DAffine3;
use source::Source;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Common formats that are not read: extension, name, advice.
const KNOWN: &[(&str, &str, &str)] = &[
    ("mha", "a MetaImage", "convert it to .nii.gz"),
    ("mhd", "a MetaImage", "convert it to .nii.gz"),
    ("gipl", "a GIPL image", "convert it to .nii.gz"),
    ("gipl.gz", "a GIPL image", "convert it to .nii.gz"),
    ("mnc", "a MINC image", "convert it with mnc2nii to .nii.gz"),
    (
        "par",
        "a Philips PAR/REC image",
        "convert it with dcm2niix to .nii.gz",
    ),
    (
        "rec",
        "a Philips PAR/REC image",
        "convert it with dcm2niix to .nii.gz",
    ),
    (
        "fib.gz",
        "a model of DSI Studio",
        "export its streamlines as .tt.gz or .trk.gz, its maps as .nii.gz",
    ),
    (
        "src.gz",
        "a scan of DSI Studio",
        "open the .nii.gz, .bval and .bvec that it was made from",
    ),
    (
        "tsf",
        "a file of values along streamlines",
        "open the .tck file next to it",
    ),
    (
        "arcuate",
        "an Arcuate session",
        "open it in the window, or recompute its results with arcuate replay",
    ),
    ("dcm", A_DICOM, FROM_DICOM),
    ("ima", A_DICOM, FROM_DICOM),
];
const A_DICOM: &str = "a DICOM file";
const FROM_DICOM: &str = "convert its series with dcm2niix to .nii.gz";

/// The extension of a file name in lower case: the last, with the one before it if the last is `gz`.
pub fn extension(path: &Path) -> String {
    let name = file_name(path).to_ascii_lowercase();
    let mut parts = name.rsplit('.');
    let last = parts.next().unwrap_or_default();
    match parts.next() {
        Some(before) if last == "gz" && parts.next().is_some() => format!("{before}.gz"),
        Some(_) => last.to_owned(),
        None => String::new(),
    }
}

/// `dwi.nii.gz` and `bval` → `dwi.bval`.
pub fn with_extension(path: &Path, new: &str) -> PathBuf {
    let name = file_name(path);
    let stem = &name[..name.len() - extension(path).len()];
    path.with_file_name(format!("{}.{new}", stem.trim_end_matches('.')))
}

/// Values as the bytes of a little-endian file; a view without a copy if memory has that order.
fn little_endian(values: &[f32]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(values))
    } else {
        Cow::Owned(values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }
}

/// All entries of a folder, in the order of their names.
pub fn names_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = disk::list(folder).map_err(|e| Error::reading(folder, &e))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Reads a text file of at most 64 MB.
pub fn text(path: &Path) -> Result<String, Error> {
    source::read_text(path, 64 << 20)
}

/// Size of a file on disk in bytes, if it can be queried.
pub fn length_of(path: &Path) -> Option<u64> {
    disk::metadata(path).ok().map(|m| m.len())
}

/// The format of a file by its name, or by its first bytes if the name is not conclusive.
pub fn detect(path: &Path) -> Result<Format, Error> {
    // A folder with a TRX is a TRX, whatever its name; any other folder is refused when it is opened.
    if trx::is_folder(path) {
        return Ok(Format::Trx);
    }
    let extension = extension(path);
    if let Some(format) = Format::named(path) {
        return Ok(format);
    }
    if let Some((_, description, instead)) = KNOWN.iter().find(|(e, ..)| *e == extension) {
        return Err(Error::unsupported(path, *description, *instead));
    }
    sniff(path)?.ok_or_else(|| Error::Unknown {
        path: path.to_owned(),
    })
}

/// The format indicated by the first bytes of a file; `None` if they are not conclusive.
fn sniff(path: &Path) -> Result<Option<Format>, Error> {
    let mut start = [0; 348];
    let mut source = Source::open(path, &Control::new())?;
    let n = source.read(&mut start)?;
    let start = &start[..n];
    let size = start
        .first_chunk()
        .map(|&b| [i32::from_le_bytes(b), i32::from_be_bytes(b)]);
    Ok(
        if size.is_some_and(|s| s.contains(&348) || s.contains(&540)) {
            Some(Format::Nifti)
        } else if start.starts_with(b"mrtrix tracks") {
            Some(Format::Tck)
        } else if start.starts_with(mif::MAGIC.as_bytes()) {
            Some(Format::Mif)
        } else if start.starts_with(b"TRACK\0") {
            Some(Format::Trk)
        } else if start.starts_with(b"# vtk DataFile") {
            Some(Format::Vtk)
        } else if start.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Format::Png)
        } else if start.starts_with(b"NRRD000") {
            Some(Format::Nrrd)
        } else if mgh::is_start(start) {
            Some(Format::Mgh)
        } else if start.get(128..132) == Some(b"DICM") {
            return Err(Error::unsupported(path, A_DICOM, FROM_DICOM));
        } else {
            None
        },
    )
}

/// Why a file could not be read, if more is known than that it violates the rules of the format in its name: it is
/// empty, or in another format.
fn misnamed(path: &Path, named: Format, error: Error) -> Error {
    if !matches!(
        error,
        Error::Malformed { .. } | Error::Short { .. } | Error::Damaged { .. }
    ) {
        return error;
    }
    // The error covers a pipe, on which reading would wait.
    if !path.is_file() && !path.is_dir() {
        return error;
    }
    if length_of(path) == Some(0) {
        return Error::malformed(
            path,
            "an empty file",
            (
                format!("a whole .{} file", extension(path)),
                "copy it again",
            ),
        );
    }
    match sniff(path) {
        Ok(Some(actual)) if actual != named => {
            let (is, ending) = (actual.extensions()[0], extension(path));
            Error::malformed(
                path,
                format!("the content of a .{is} file"),
                (
                    format!("that of a .{ending} file, as it is named"),
                    format!("change the end of its name to .{is}"),
                ),
            )
        }
        Err(refused @ Error::Unsupported { .. }) => refused,
        _ => error,
    }
}

/// The result of [`open`].
#[derive(Clone, Debug)]
pub enum Opened {
    /// An image, with the header fields that placed it in space.
    Volume(Volume, SpaceInfo),
    /// Streamlines, with properties of the file that they do not hold.
    Tractogram(Tractogram, FibreInfo),
}

impl Opened {
    /// Warnings, followed by notes.
    pub fn remarks(&self) -> Vec<Remark> {
        match self {
            Self::Volume(_, info) => info.remarks(),
            Self::Tractogram(_, info) => Remark::all(&info.warnings, &info.notes),
        }
    }

    /// Warnings about parts that were not read.
    fn unread(&self) -> &[String] {
        match self {
            Self::Volume(..) => &[],
            Self::Tractogram(_, info) => &info.unread,
        }
    }
}

/// Opens an image or a streamline file. Progress is in bytes of the file on disk.
pub fn open(path: &Path, control: &Control) -> Result<Opened, Error> {
    open_with_reading(path, &Reading::default(), control)
}

/// Does the same as [`open`], with the user's statements about the file.
pub fn open_with_reading(
    path: &Path,
    reported: &Reading,
    control: &Control,
) -> Result<Opened, Error> {
    let opened = open_unmoved(path, reported, control)?;
    match (&reported.affine, &reported.warp) {
        (_, Some(reading)) => warp::warped(path, opened, reported, reading, control),
        (Some(affine), None) => moved(path, opened, affine, control),
        (None, None) => Ok(opened),
    }
}

fn moved(
    path: &Path,
    opened: Opened,
    by: &AffineReading,
    control: &Control,
) -> Result<Opened, Error> {
    let own = match &opened {
        Opened::Volume(volume, _) => Some(volume.grid.clone()),
        Opened::Tractogram(tractogram, _) => tractogram.grid.clone(),
    };
    let by = in_world(by, own.as_deref(), control)?;
    Ok(match opened {
        Opened::Volume(volume, mut info) => {
            let grid = moved_grid(path, &volume.grid, by)?;
            info.warnings.extend(affine::mirror_warning(by));
            Opened::Volume(volume.on_grid(grid.into()), info)
        }
        Opened::Tractogram(tractogram, mut info) => {
            if !affine::is_invertible(by) {
                return Err(leaves_no_volume(path));
            }
            info.warnings.extend(affine::mirror_warning(by));
            Opened::Tractogram(tractogram.moved(by), info)
        }
    })
}

fn leaves_no_volume(path: &Path) -> Error {
    Error::unsupported(path, "an affine that leaves no volume", "name another")
}

fn moved_grid(path: &Path, grid: &Grid, by: DAffine3) -> Result<Grid, Error> {
    grid.moved(by).ok_or_else(|| leaves_no_volume(path))
}

/// The world transform that an affine describes for data on this grid.
fn in_world(by: &AffineReading, own: Option<&Grid>, control: &Control) -> Result<DAffine3, Error> {
    match by {
        AffineReading::Matrix(rows) => Ok(AffineReading::of_rows(rows)),
        AffineReading::File { path: file, fixed } => {
            let fixed = fixed.as_ref().map(|p| image::read_grid(p, control));
            let fixed = fixed.transpose()?;
            let affine = affine::read(file)?;
            affine.in_world(own, fixed.as_ref()).ok_or_else(|| {
                Error::unsupported(
                    file,
                    "a FLIRT matrix, which refers to the voxels of two images",
                    Sentence::worded(
                        "name the fixed image of the alignment with --fixed, and move an image or \
                         streamlines with a grid",
                        "choose the fixed image of the alignment, and move an image or streamlines with a \
                         grid",
                    ),
                )
            })
        }
    }
}

/// Treats an image as tensors, as the user stated.
fn as_tensors(path: &Path, volume: &Volume, layout: TensorLayout) -> Result<Volume, Error> {
    if volume.frames != TensorLayout::VOLUMES || volume.kind != VolumeKind::Scalar {
        return Err(Error::malformed(
            path,
            text::counted(volume.frames, "volume"),
            "the six of a tensor image",
        ));
    }
    Ok(volume.with_tensors(Some(layout)))
}

fn open_unmoved(path: &Path, reported: &Reading, control: &Control) -> Result<Opened, Error> {
    let format = detect(path)?;
    match format.content() {
        Content::Image => {
            let read = image::read(path, control);
            let (volume, mut info) = read.map_err(|e| misnamed(path, format, e))?;
            if let Some(layout) = reported.tensors {
                let volume = as_tensors(path, &volume, layout)?;
                return Ok(Opened::Volume(volume, info));
            }
            let volume = match colours::labels_of(path, &volume, &mut info, reported)? {
                Some(labels) => volume.with_labels(labels),
                None => volume,
            };
            Ok(Opened::Volume(volume, info))
        }
        Content::Surface => Err(Error::unsupported(
            path,
            "a surface, which is only written",
            "open an image or streamlines",
        )),
        Content::Streamlines => {
            let read = streamlines::read(format, path, reported, control);
            let (tractogram, info) = read.map_err(|e| misnamed(path, format, e))?;
            Ok(Opened::Tractogram(tractogram, info))
        }
        Content::Gradients => Err(Error::unsupported(
            path,
            "a gradient table",
            "open the scan it belongs to",
        )),
        Content::Picture => Err(Error::unsupported(
            path,
            "a picture",
            "open an image or streamlines",
        )),
    }
}
