//! Files ↔ data: the only place that opens files. A format is one file of this folder.

pub mod atomic;
pub mod gradients;
pub mod nifti;
pub mod png;
pub mod tck;

use crate::compute::{Cancelled, Control};
use crate::data::{Grid, Mask, Tractogram, Volume};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Nifti,
    Tck,
}

impl Format {
    pub const ALL: [Self; 2] = [Self::Nifti, Self::Tck];

    /// For help texts: `NIfTI (.nii, .nii.gz, .hdr/.img)`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nifti => "NIfTI (.nii, .nii.gz, .hdr/.img)",
            Self::Tck => "TCK (.tck)",
        }
    }
}

/// Why a file could not be read or written: one sentence, the path last.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    Cancelled,
    /// The operating system said no.
    System {
        doing: &'static str,
        why: String,
        path: PathBuf,
    },
    /// The file is not what it should be: found, expected, what to do.
    Content {
        sentence: String,
        path: PathBuf,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("Cancelled"),
            Self::System { doing, why, path } => {
                write!(f, "Could not {doing}, {why}: {}", path.display())
            }
            Self::Content { sentence, path } => write!(f, "{sentence}: {}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl Error {
    fn content(path: &Path, sentence: impl Into<String>) -> Self {
        Self::Content {
            sentence: sentence.into(),
            path: path.to_owned(),
        }
    }

    fn system(doing: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::System {
            doing,
            why: in_words(error),
            path: path.to_owned(),
        }
    }
}

/// What the operating system means, with what to do where that helps.
fn in_words(error: &std::io::Error) -> String {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::NotFound => "there is no such file or folder".to_owned(),
        K::PermissionDenied => "permission is denied: choose a folder you may write to".to_owned(),
        K::StorageFull => "the disk is full: free some space or choose another disk".to_owned(),
        K::ReadOnlyFilesystem => "the disk is read-only: choose another folder".to_owned(),
        K::NotADirectory => "part of the path is a file, not a folder".to_owned(),
        K::IsADirectory => "it is a folder, not a file".to_owned(),
        K::UnexpectedEof => "the file ends too early: copy or download it again".to_owned(),
        K::InvalidInput | K::InvalidData => {
            "its compressed data are damaged: copy or download it again".to_owned()
        }
        _ => error.to_string(),
    }
}

/// What a file held, with what reading it brought up.
#[derive(Clone, Debug)]
pub struct Opened {
    pub content: Content,
    /// One sentence each, without the path.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum Content {
    Volume(Volume),
    Tractogram(Tractogram),
}

/// The format of a file by its name, else by its first bytes.
pub fn detect(path: &Path) -> Result<Format, Error> {
    let name = path
        .file_name()
        .map_or_else(String::new, |n| n.to_string_lossy().to_lowercase());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if [".nii", ".hdr", ".img"].iter().any(|e| name.ends_with(e)) {
        return Ok(Format::Nifti);
    }
    if name.ends_with(".tck") {
        return Ok(Format::Tck);
    }
    let head = atomic::first_bytes(path, 352)?;
    if nifti::is_nifti(&head) {
        return Ok(Format::Nifti);
    }
    if head.starts_with(b"mrtrix tracks") {
        return Ok(Format::Tck);
    }
    let expected = Format::ALL.map(Format::name).join(" or ");
    let dicom = head.get(128..132) == Some(b"DICM") || name.ends_with(".dcm");
    let advice = if dicom {
        "This is DICOM: convert it with dcm2niix first"
    } else {
        "Not a file that Arcuate reads"
    };
    Err(Error::content(
        path,
        format!("{advice}, expected {expected}"),
    ))
}

/// Reads any file that [`detect`] knows.
pub fn open(path: &Path, control: &Control) -> Result<Opened, Error> {
    match detect(path)? {
        Format::Nifti => {
            let (volume, notes) = nifti::read(path, control)?;
            Ok(Opened {
                content: Content::Volume(volume),
                notes,
            })
        }
        Format::Tck => {
            let (tractogram, notes) = tck::read(path, control)?;
            Ok(Opened {
                content: Content::Tractogram(tractogram),
                notes,
            })
        }
    }
}

/// Reads a mask for data on `grid`: everything that is not 0 is inside.
pub fn mask(path: &Path, grid: &Arc<Grid>) -> Result<Mask, Error> {
    let (volume, _) = nifti::read(path, &Control::new())?;
    if volume.frames != 1 {
        let sentence = format!("The mask has {} volumes, expected one", volume.frames);
        return Err(Error::content(path, sentence));
    }
    if !volume.grid.same_space(grid, 0.1) {
        return Err(Error::content(path, misfit(&volume.grid, grid)));
    }
    let inside: Vec<u8> = volume
        .values
        .iter()
        .map(|&v| u8::from(v != 0.0 && !v.is_nan()))
        .collect();
    let mask = Mask::new(grid.clone(), inside);
    if mask.count() == 0 {
        return Err(Error::content(
            path,
            "The mask is empty, expected some voxels that are not 0",
        ));
    }
    Ok(mask)
}

fn misfit(found: &Grid, expected: &Grid) -> String {
    let [a, b] = [found.shape, expected.shape].map(|[x, y, z]| format!("{x} × {y} × {z}"));
    if a != b {
        return format!(
            "The mask is on another grid, {a} voxels where the scan has {b}: resample it to the scan"
        );
    }
    let furthest = found
        .corners()
        .iter()
        .zip(expected.corners())
        .map(|(p, q)| p.distance(q))
        .fold(0.0, f64::max);
    format!(
        "The mask is on another grid, up to {furthest:.1} mm away from the scan's: resample it to the scan"
    )
}
