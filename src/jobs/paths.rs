//! Checks of paths on the disk, before anything is read or written there.
//!
//! A disk may be slow, or never answer: each question waits on a thread of its own, which is abandoned once its job is
//! cancelled. The next question is then answered at once.

use super::JobError;
use crate::compute::thread::{self, ThreadError};
use crate::compute::{Cancelled, Control};
use crate::data::text::file_name;
use crate::io;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Whether files can be written, and which of them exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckDestination {
    pub path: PathBuf,
    /// Default endings of such a file, for the sentence about a wrong one.
    pub endings: Vec<&'static str>,
    /// All endings that it may have.
    pub accepted: Vec<&'static str>,
    /// All files to be written.
    pub files: Vec<PathBuf>,
    /// Alternative folder if this one is not writable.
    pub home: Option<PathBuf>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Destination {
    /// Why nothing can be written there, as far as this can be determined beforehand.
    pub error: Option<PathError>,
    /// Warns of files that would be replaced.
    pub existing: Vec<PathBuf>,
    /// A file of this name in the home folder, if only that folder is writable.
    pub suggestion: Option<PathBuf>,
}

/// Whether files can be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckReadable {
    pub paths: Vec<PathBuf>,
    /// Whether a folder is acceptable, too.
    pub folders: bool,
}

/// Completes a path as far as the names in its folder leave only one possibility.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompletePath {
    /// The whole typed text.
    pub text: String,
    /// The part of it before the path.
    pub prefix: String,
    pub path: PathBuf,
    /// Whether to list the names in `path` itself, rather than those that begin like its last one.
    pub list_folder: bool,
}

/// A path completed as far as there is only one possibility.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completed {
    pub text: String,
    /// The names to choose from, if there are several.
    pub names: Vec<String>,
}

/// Why a path cannot be read or written: one sentence each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PathError {
    /// A folder instead of a file to be written.
    FolderToWrite(PathBuf),
    /// A folder instead of a file to be read.
    FolderToRead(PathBuf),
    /// The name has none of these endings.
    WrongEnding(Vec<&'static str>),
    NoFolder(PathBuf),
    NoFile(PathBuf),
    /// The folder is not writable.
    NotWritable(PathBuf),
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FolderToWrite(path) => {
                let path = path.display();
                write!(f, "This is a folder; add the name of a file: {path}")
            }
            Self::FolderToRead(path) => {
                write!(f, "This is a folder, expected a file: {}", path.display())
            }
            Self::WrongEnding(endings) => {
                let listed = match endings.as_slice() {
                    [ending, other] => format!("{ending} or .{other}"),
                    several => several.join(", ."),
                };
                write!(f, "Expected a name that ends in .{listed}")
            }
            Self::NoFolder(folder) => write!(f, "There is no folder {}", folder.display()),
            Self::NoFile(path) => {
                write!(f, "File not found: {}", path.display())
            }
            Self::NotWritable(folder) => {
                let folder = folder.display();
                write!(
                    f,
                    "No file can be created in {folder}; choose another folder"
                )
            }
        }
    }
}

impl std::error::Error for PathError {}

/// A question about paths; the newest replaces the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PathQuestion {
    Destination(CheckDestination),
    Readable(CheckReadable),
    Complete(CompletePath),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PathAnswer {
    Destination(Destination),
    /// The first path that cannot be read.
    Readable(Result<(), PathError>),
    Complete(Completed),
}

impl PathQuestion {
    /// The first path that the question concerns.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Destination(check) => Some(&check.path),
            Self::Readable(check) => check.paths.first().map(PathBuf::as_path),
            Self::Complete(complete) => Some(&complete.path),
        }
    }

    /// Answers the question on a thread of its own, so that cancelling need not wait for the disk.
    pub fn answer_unless_cancelled(self, control: &Control) -> Result<PathAnswer, JobError> {
        let answer = unless_cancelled(control, move || self.answer())?;
        Ok(answer.ok_or(Cancelled)?)
    }

    /// Answers the question; blocks on the disk.
    pub fn answer(&self) -> PathAnswer {
        match self {
            Self::Destination(check) => PathAnswer::Destination(check.answer()),
            Self::Readable(check) => PathAnswer::Readable(check.answer()),
            Self::Complete(complete) => PathAnswer::Complete(complete.answer()),
        }
    }
}

/// Why there is no answer about a path: one sentence.
enum NoAnswer {
    Thread(ThreadError),
    Disk,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(error) => error.fmt(f),
            Self::Disk => f.write_str("The disk did not answer for this path; try again"),
        }
    }
}

impl From<NoAnswer> for JobError {
    fn from(error: NoAnswer) -> Self {
        Self::Sentence(error.to_string().into())
    }
}

/// The result of `ask`; `None` if the job is cancelled first: the disk cannot be interrupted, so the thread is left to
/// finish by itself.
fn unless_cancelled<T: Send + 'static>(
    control: &Control,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, NoAnswer> {
    let (sender, receiver) = channel();
    // The receiver may be gone when the answer arrives.
    thread::start("path", move || drop(sender.send(ask()))).map_err(NoAnswer::Thread)?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(20)) {
            Ok(answer) => return Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) if control.is_cancelled() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(NoAnswer::Disk),
        }
    }
}

impl CheckDestination {
    fn answer(&self) -> Destination {
        let folder = self.path.parent();
        // The check creates a file as a trial, so only for an acceptable name.
        let error = self.error(folder);
        let suggestion = match (&error, folder) {
            (Some(PathError::NotWritable(_) | PathError::NoFolder(_)), Some(folder)) => {
                self.better(folder)
            }
            _ => None,
        };
        let files = self.files.iter().filter(|file| file.exists());
        Destination {
            error,
            existing: files.cloned().collect(),
            suggestion,
        }
    }

    fn error(&self, folder: Option<&Path>) -> Option<PathError> {
        if self.path.is_dir() {
            return Some(PathError::FolderToWrite(self.path.clone()));
        }
        let name = file_name(&self.path);
        let name = name.to_lowercase();
        let ends = |e: &&str| name.ends_with(&format!(".{e}"));
        if !self.accepted.iter().any(ends) {
            return Some(PathError::WrongEnding(self.endings.clone()));
        }
        let folder = folder?;
        if !folder.is_dir() {
            return Some(PathError::NoFolder(folder.to_owned()));
        }
        (!takes_files(folder)).then(|| PathError::NotWritable(folder.to_owned()))
    }

    fn better(&self, folder: &Path) -> Option<PathBuf> {
        let (home, name) = (self.home.as_ref()?, self.path.file_name()?);
        (folder != home && takes_files(home)).then(|| home.join(name))
    }
}

/// Whether a file can be created in this folder now.
fn takes_files(folder: &Path) -> bool {
    io::atomic::check_file(&folder.join("a file")).is_ok()
}

impl CheckReadable {
    fn answer(&self) -> Result<(), PathError> {
        self.paths.iter().try_for_each(|path| self.check_path(path))
    }

    fn check_path(&self, path: &Path) -> Result<(), PathError> {
        if path.is_dir() {
            return match self.folders {
                true => Ok(()),
                false => Err(PathError::FolderToRead(path.to_owned())),
            };
        }
        if path.exists() {
            return Ok(());
        }
        Err(match path.parent().filter(|above| !above.is_dir()) {
            Some(above) => PathError::NoFolder(above.to_owned()),
            None => PathError::NoFile(path.to_owned()),
        })
    }
}

impl CompletePath {
    fn answer(&self) -> Completed {
        let begin = self.path.file_name().filter(|_| !self.list_folder);
        let begin = begin.unwrap_or_default().to_string_lossy().into_owned();
        let folder = match self.list_folder {
            true => Some(&*self.path),
            false => self.path.parent(),
        };
        let paths = folder.map(io::names_in).and_then(Result::ok);
        let named = |path: &PathBuf| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && !begin.starts_with('.');
            let ending = if path.is_dir() { "/" } else { "" };
            (name.starts_with(&begin) && !hidden).then(|| format!("{name}{ending}"))
        };
        let mut names: Vec<String> = paths.iter().flatten().filter_map(named).collect();
        let shared = names.iter().cloned().reduce(|a, b| common(&a, &b));
        if names.len() < 2 {
            names.clear();
        }
        Completed {
            text: format!("{}{}", self.prefix, shared.unwrap_or(begin)),
            names,
        }
    }
}

/// The characters that two names begin with.
fn common(a: &str, b: &str) -> String {
    let same = a.chars().zip(b.chars()).take_while(|(x, y)| x == y);
    same.map(|(x, _)| x).collect()
}
