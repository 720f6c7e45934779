//! Errors of files, one sentence each: found, expected, what to do; the path comes last.

mod mismatches;

use super::atomic::ReadBackDifference;
use super::text::{in_line, is_control};
use crate::compute::Cancelled;
use crate::compute::memory::{Shortage, against_limit};
use crate::data::Sentence as Advice;
use crate::data::text::counted;
use mismatches::{write_counts, write_mask_grid};
use std::fmt::{Display, Formatter, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Failure to read or write a file, or the user's cancellation.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    /// The user cancelled the job.
    Cancelled,
    /// There is no file of this name.
    Missing {
        /// Path as it was given.
        path: PathBuf,
    },
    /// A folder where a file is expected.
    Folder {
        /// Path of the folder.
        path: PathBuf,
    },
    /// A folder without BIDS names where a file or a BIDS folder is expected.
    PlainFolder {
        /// Path of the folder.
        path: PathBuf,
    },
    /// A folder of DICOM files.
    Dicom {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The system denies permission to read.
    Denied {
        /// Path of the file.
        path: PathBuf,
    },
    /// A name that no disk here accepts.
    LongName {
        /// Path with the name that is too long.
        path: PathBuf,
    },
    /// Any other refusal of the system during reading.
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Reason given by the system.
        reason: String,
    },
    /// Neither the name nor the content is of a known format.
    Unknown {
        /// Path of the file.
        path: PathBuf,
    },
    /// Known, but not opened here; `instead` states what to do.
    Unsupported {
        /// Path of the file.
        path: PathBuf,
        /// Unsupported content, as a noun phrase.
        found: String,
        /// Advice: a supported way to the same end.
        instead: Advice,
    },
    /// Content that violates its format's rules.
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Content that breaks the format, as a noun phrase.
        found: String,
        /// Content that the format requires.
        expected: Expected,
    },
    /// The file ends before the data announced in its header.
    Short {
        /// Path of the file.
        path: PathBuf,
        /// Bytes found.
        found_bytes: u64,
        /// Bytes that the header requires.
        expected_bytes: u64,
    },
    /// The compressed stream cannot be decoded.
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Reason given by the decoder.
        reason: String,
    },
    /// More memory than this machine has.
    Memory {
        /// Path of the file.
        path: PathBuf,
        /// Memory needed, bytes.
        bytes: u64,
    },
    /// The gradient table contradicts itself or the scan. `vectors` is `None` for a one-file table.
    Counts {
        /// Path of the table.
        path: PathBuf,
        /// Number of b-values in the table.
        b_values: usize,
        /// Number of vectors in the table; `None` if rows hold both.
        vectors: Option<usize>,
        /// Number of volumes of the scan.
        volumes: usize,
    },
    /// A mask with several volumes.
    MaskFrames {
        /// Path of the mask.
        path: PathBuf,
        /// Number of volumes found.
        frames: usize,
    },
    /// A mask on another grid: another shape, or the same shape elsewhere.
    MaskGrid {
        /// Path of the mask.
        path: PathBuf,
        /// Shape of the mask, voxels.
        found: [usize; 3],
        /// Shape of the scan, voxels.
        expected: [usize; 3],
        /// Largest distance between corners of the two grids.
        off_mm: f64,
    },
    /// A mask without any voxel.
    MaskEmpty {
        /// Path of the mask.
        path: PathBuf,
    },
    /// The folder to write to does not exist, or is a file.
    NoFolder {
        /// Path of the file to write.
        path: PathBuf,
    },
    /// The folder to write to is not writable.
    ReadOnly {
        /// Path of the file to write.
        path: PathBuf,
    },
    /// The file to replace is write-protected.
    Protected {
        /// Path of the file to write.
        path: PathBuf,
    },
    /// A folder has the name of the file to write.
    FolderInPlace {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The name of the file was taken while it was being made.
    Appeared {
        /// Path of the file that now exists.
        path: PathBuf,
    },
    /// Larger than the system or the user's own limit permits.
    TooLarge {
        /// Path of the file to write.
        path: PathBuf,
    },
    /// The disk is full.
    Full {
        /// Path of the file to write.
        path: PathBuf,
    },
    /// The free memory does not suffice to read the written file back.
    NoRoomToCompare {
        /// Path of the written file.
        path: PathBuf,
        /// Memory needed, bytes.
        bytes: u64,
    },
    /// Streamlines of a format that is written as a whole do not fit into memory.
    NoRoomToJoin {
        /// Path of the file to write.
        path: PathBuf,
        /// Memory needed, bytes.
        bytes: u64,
    },
    /// Any other refusal of the system during writing.
    Unwritable {
        /// Path of the file to write.
        path: PathBuf,
        /// Reason given by the system.
        reason: String,
    },
    /// The program that makes films failed.
    Film {
        /// Path of the film.
        path: PathBuf,
        /// Reason given by the system or the encoder.
        reason: String,
    },
    /// No folder for temporary files; the path is that of the folder that accepts none.
    Scratch {
        /// Path of the folder for temporary files.
        path: PathBuf,
        /// Reason given by the system.
        reason: String,
    },
    /// The written file differs when read back.
    ReadBack {
        /// Path of the file to write.
        path: PathBuf,
        /// First difference found.
        difference: ReadBackDifference,
    },
}

/// The content expected in a file, and the advice for a file with other content.
#[derive(Clone, PartialEq, Debug)]
pub struct Expected {
    content: String,
    /// `None` for the advice that applies to any damaged file.
    remedy: Option<Advice>,
}

impl From<&str> for Expected {
    fn from(what: &str) -> Self {
        what.to_owned().into()
    }
}

impl From<String> for Expected {
    fn from(content: String) -> Self {
        Self {
            content,
            remedy: None,
        }
    }
}

impl<W: Into<String>, R: Into<Advice>> From<(W, R)> for Expected {
    fn from((what, remedy): (W, R)) -> Self {
        Self {
            content: what.into(),
            remedy: Some(remedy.into()),
        }
    }
}

/// Whether the folder of a file exists.
fn has_folder(path: &Path) -> bool {
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return false,
    };
    // A link may lead to another folder.
    folder.is_dir() && !path.is_symlink()
}

impl Error {
    pub(super) fn reading(path: &Path, error: &std::io::Error) -> Self {
        // A name from a file may contain characters that file names cannot.
        let cannot_be = path.as_os_str().as_encoded_bytes().contains(&0);
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Missing { path },
            ErrorKind::InvalidInput if cannot_be => Self::Missing { path },
            ErrorKind::PermissionDenied => Self::Denied { path },
            ErrorKind::IsADirectory => Self::Folder { path },
            ErrorKind::InvalidFilename => Self::LongName { path },
            _ => Self::Unreadable {
                path,
                reason: without_os_error(error),
            },
        }
    }

    pub(super) fn writing(path: &Path, error: &std::io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            // Some folders of the system accept no files and report that the folder does not exist.
            ErrorKind::NotFound if has_folder(&path) => Self::ReadOnly { path },
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NoFolder { path },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full { path },
            ErrorKind::IsADirectory => Self::FolderInPlace { path },
            ErrorKind::FileTooLarge => Self::TooLarge { path },
            ErrorKind::InvalidFilename => Self::LongName { path },
            _ => Self::Unwritable {
                path,
                reason: without_os_error(error),
            },
        }
    }

    /// The contents of a file do not fit into memory.
    pub(super) fn memory(path: &Path, shortage: Shortage) -> Self {
        Self::Memory {
            path: path.to_owned(),
            bytes: shortage.bytes,
        }
    }

    pub(super) fn malformed(
        path: &Path,
        found: impl Into<String>,
        expected: impl Into<Expected>,
    ) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            found: one_line(found.into()),
            expected: expected.into(),
        }
    }

    /// The file contains nothing specific to the format: it is of another format or damaged.
    pub(super) fn other_format(path: &Path, found: impl Into<String>, expected: &str) -> Self {
        let then = "copy the file again, or give it the ending of its format";
        Self::malformed(path, found, (expected, then))
    }

    pub(super) fn unsupported(
        path: &Path,
        found: impl Into<String>,
        instead: impl Into<Advice>,
    ) -> Self {
        Self::Unsupported {
            path: path.to_owned(),
            found: one_line(found.into()),
            instead: instead.into(),
        }
    }

    /// The sentence without the file's name.
    pub fn sentence(&self) -> String {
        // Text from a damaged file may contain anything; a sentence is one line.
        in_line(&Sentence(self).to_string(), '·')
    }

    /// The file concerned; `None` for a cancelled job.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Cancelled => None,
            Self::Missing { path }
            | Self::Folder { path }
            | Self::PlainFolder { path }
            | Self::Dicom { path }
            | Self::Denied { path }
            | Self::LongName { path }
            | Self::Unreadable { path, .. }
            | Self::Unknown { path }
            | Self::Unsupported { path, .. }
            | Self::Malformed { path, .. }
            | Self::Short { path, .. }
            | Self::Damaged { path, .. }
            | Self::Memory { path, .. }
            | Self::Counts { path, .. }
            | Self::MaskFrames { path, .. }
            | Self::MaskGrid { path, .. }
            | Self::MaskEmpty { path }
            | Self::NoFolder { path }
            | Self::ReadOnly { path }
            | Self::Protected { path }
            | Self::FolderInPlace { path }
            | Self::Appeared { path }
            | Self::TooLarge { path }
            | Self::Full { path }
            | Self::NoRoomToCompare { path, .. }
            | Self::NoRoomToJoin { path, .. }
            | Self::Unwritable { path, .. }
            | Self::Film { path, .. }
            | Self::Scratch { path, .. }
            | Self::ReadBack { path, .. } => Some(path),
        }
    }

    fn write_sentence(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Cancelled => f.write_str("Cancelled"),
            Self::Missing { .. } => f.write_str("No such file; check its name"),
            Self::Folder { .. } => {
                f.write_str("This is a folder, expected a file; choose one in it")
            }
            Self::PlainFolder { .. } => {
                f.write_str(
                    "Found a folder without BIDS names, expected a file or a BIDS folder; choose a file in it",
                )
            }
            Self::Dicom { .. } => {
                f.write_str("This folder holds DICOM files; convert them with dcm2niix")
            }
            Self::Denied { .. } => f.write_str(
                "Permission to read this file or folder was denied; ask its owner",
            ),
            Self::LongName { .. } => f.write_str(
                "The file's name is longer than the system allows; choose a shorter one",
            ),
            Self::Unreadable { reason, .. } => write!(
                f,
                "The file could not be read ({reason}); try again, or copy it to another place first"
            ),
            Self::Unknown { .. } => write!(
                f,
                "Unknown kind of file, expected {}; convert it to one of these",
                super::Format::readable_names()
            ),
            Self::Unsupported { found, instead, .. } => write_unsupported(f, found, instead),
            Self::Malformed {
                found, expected, ..
            } => write_malformed(f, found, expected),
            Self::Short {
                found_bytes,
                expected_bytes,
                ..
            } => write!(
                f,
                "The data end after {found_bytes} of the {expected_bytes} bytes stated in the \
                 header; the file was cut off: copy it again"
            ),
            Self::Damaged { reason, .. } => write!(
                f,
                "The compressed data are damaged ({reason}); copy the file again"
            ),
            Self::Memory { bytes, .. } => {
                f.write_str("Opening this ")?;
                against_limit(f, *bytes, "crop the file")
            }
            Self::NoRoomToCompare { bytes, .. } => {
                f.write_str("The file was not kept because reading it back for comparison ")?;
                against_limit(f, *bytes, "write a smaller part")
            }
            Self::NoRoomToJoin { bytes, .. } => {
                f.write_str("A file of this format, which is written as a whole, ")?;
                against_limit(f, *bytes, "end its name in .trx")
            }
            Self::Counts {
                b_values,
                vectors,
                volumes,
                ..
            } => write_counts(f, *b_values, *vectors, *volumes),
            Self::MaskFrames { frames, .. } => write!(
                f,
                "Found {}, expected a mask of one volume; extract the one you need",
                counted(*frames, "volume")
            ),
            Self::MaskGrid {
                found,
                expected,
                off_mm,
                ..
            } => write_mask_grid(f, *found, *expected, *off_mm),
            Self::MaskEmpty { .. } => f.write_str(
                "Found a mask without any voxel above 0.5, expected at least one; choose another",
            ),
            Self::NoFolder { .. } => {
                f.write_str("The folder to write to does not exist; create it or choose another")
            }
            Self::ReadOnly { .. } => {
                f.write_str("The folder may not be written to; choose another")
            }
            Self::Protected { .. } => f.write_str(
                "A write-protected file has this name and was left unchanged; choose another name",
            ),
            Self::FolderInPlace { .. } => {
                f.write_str("A folder has this name and was left unchanged; choose another name")
            }
            Self::Appeared { .. } => write_appeared(f),
            Self::TooLarge { .. } => f.write_str(
                "The file is larger than the disk or your limit (ulimit -f) allows and was not written; \
                 raise the limit or choose another folder",
            ),
            Self::Full { .. } => f.write_str(
                "The disk is full and this file was not written; free some space or choose another folder",
            ),
            Self::Unwritable { reason, .. } => write!(
                f,
                "The file could not be written ({reason}); choose another folder"
            ),
            Self::Film { reason, .. } => write!(
                f,
                "The film could not be made ({reason}); its pictures were saved, so close other programs, free \
                 some space for temporary files (in {}, or set TMPDIR) and try again",
                std::env::temp_dir().display()
            ),
            Self::Scratch { reason, .. } => write!(
                f,
                "No temporary files can be made ({reason}); free some space there, or set TMPDIR to another folder"
            ),
            Self::ReadBack { difference, .. } => write!(
                f,
                "The written file did not read back as it should ({difference}) and was removed; check \
                 the disk"
            ),
        }
    }
}

fn write_unsupported(f: &mut Formatter<'_>, found: &str, instead: &Advice) -> Result {
    write!(f, "This is {found}; ")?;
    instead.fmt(f)
}

fn write_appeared(f: &mut Formatter<'_>) -> Result {
    write!(
        f,
        "Another program took this name meanwhile, and its file was left unchanged; {}choose another name",
        match f.alternate() {
            true => "",
            false => "add --force to replace it, or ",
        }
    )
}

fn write_malformed(f: &mut Formatter<'_>, found: &str, expected: &Expected) -> Result {
    // Damage or a mistake of another program: the advice is the same.
    const DEFAULT_ADVICE: &str =
        "choose another file, or write this one again with the program that made it";
    write!(f, "Found {found}, expected {}; ", expected.content)?;
    match &expected.remedy {
        Some(remedy) => remedy.fmt(f),
        None => f.write_str(DEFAULT_ADVICE),
    }
}

/// The sentence without the path.
struct Sentence<'a>(&'a Error);

impl Display for Sentence<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0.write_sentence(f)
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&match f.alternate() {
            true => in_line(&format!("{:#}", Sentence(self)), '·'),
            false => self.sentence(),
        })?;
        match self.path() {
            // The file's name may contain anything, too.
            Some(path) => write!(f, ": {}", in_line(&path.to_string_lossy(), '·')),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Text from a file, made fit for a sentence: a damaged header may contain anything.
fn one_line(text: String) -> String {
    const MAX_LENGTH: usize = 200;
    if text.chars().count() <= MAX_LENGTH && !text.contains(is_control) {
        return text;
    }
    let shortened: String = in_line(&text, '·').chars().take(MAX_LENGTH).collect();
    if text.chars().count() > MAX_LENGTH {
        shortened + "…"
    } else {
        shortened
    }
}

/// The system's message without Rust's `(os error 28)`, for use within a sentence.
pub fn without_os_error(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    text.trim_end_matches('.').to_lowercase()
}
