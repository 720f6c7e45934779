//! The files that a session refers to: their properties when it was saved, whether they have changed, and where they
//! may have been moved.

use super::super::text::count;
use super::super::{Error, checksum, disk, gradients, with_extension};
use crate::compute::Control;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A file as it was when the session was saved.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to the session's folder, with `/`; absolute if there is no relative path.
    pub path: String,
    /// Size of the file.
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub modified_ns: u64,
    /// The checksum as `sha256sum` prints it; empty if the file could not be read.
    pub sha256: String,
    /// Files that belong to it: gradients, the other half of an image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<Entry>,
}

/// How a file compares with its entry.
#[derive(Clone, PartialEq, Debug)]
pub enum FileComparison {
    /// Size and checksum are equal.
    Same,
    /// The file differs from its entry.
    Changed(Change),
    /// The file cannot be read.
    Missing(Missing),
}

/// How a file, or a companion file of this name, differs from its entry. `Display` gives one sentence without the path.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// `None`: the file itself.
    pub companion: Option<String>,
    /// The first difference found.
    pub difference: Difference,
}

/// How a file differs from its entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// The file could not be read when the session was saved.
    Unknown,
    /// The size differs.
    Bytes {
        /// Size at present, bytes.
        now: u64,
        /// Size when the session was saved, bytes.
        before: u64,
    },
    /// Equal size but another checksum.
    Content,
    /// Another folder.
    Folder,
    /// The companion file is no longer there.
    CompanionGone,
}

impl Change {
    /// A clause without the time of the comparison: `it has 7 bytes and had 5`.
    pub fn clause(&self) -> String {
        self.clause_about("it")
    }

    /// `it`: the subject if the file itself differs.
    fn clause_about(&self, it: &str) -> String {
        let name = self.companion.as_deref();
        let it = name.map_or_else(|| it.to_owned(), companion_subject);
        match self.difference {
            Difference::Unknown => format!(
                "{it} could not be read when the session was saved, so the session cannot tell whether it has changed"
            ),
            Difference::Bytes { now, before } => {
                format!("{it} has {} bytes and had {}", count(now), count(before))
            }
            Difference::Content => format!("{it} has other content"),
            Difference::Folder => format!("{it} is another folder"),
            Difference::CompanionGone => {
                let name = name.unwrap_or_default();
                format!("{name} is no longer beside this file: put it back, or name its folder")
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.clause_about(FILE_SUBJECT))?;
        f.write_str(match self.difference {
            Difference::Bytes { .. } => " when the session was saved",
            Difference::Content | Difference::Folder => " than when the session was saved",
            Difference::Unknown | Difference::CompanionGone => "",
        })
    }
}

impl FileComparison {
    /// One sentence about how the file differs, without its path; `None` for the same file.
    pub fn difference_text(&self) -> Option<String> {
        match self {
            Self::Same => None,
            Self::Changed(change) => Some(change.to_string()),
            Self::Missing(why) => Some(why.to_string()),
        }
    }
}

/// Why a file of a session is not available. `Display` gives one sentence without the path.
#[derive(Clone, PartialEq, Debug)]
pub enum Missing {
    /// No file has this name.
    Gone,
    /// A folder now has the name of the file.
    Folder,
    /// The system refuses to let this user read the file.
    Denied,
    /// The file cannot be read, for this reason.
    Unreadable(String),
    /// A companion file of this name cannot be read, for this reason.
    Companion(String, Box<Missing>),
    /// The file has changed, and the user left it out.
    Rejected(Change),
}

impl Missing {
    /// One sentence whose subject is `it`.
    fn sentence(&self, it: &str) -> String {
        match self {
            Self::Gone => "There is no such file".to_owned(),
            Self::Folder => format!("{it} was a file and is now a folder"),
            Self::Denied => format!("{it} cannot be read (permission denied)"),
            Self::Unreadable(why) => format!("{it} cannot be read ({why})"),
            Self::Companion(name, why) => why.sentence(&companion_subject(name)),
            Self::Rejected(change) => change.to_string(),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(FILE_SUBJECT))
    }
}

/// The subject of a sentence about the file itself.
const FILE_SUBJECT: &str = "It";

/// The subject of a sentence about a companion file.
fn companion_subject(name: &str) -> String {
    format!("{name} beside it")
}

/// File metadata that change whenever the file does, even if its modification time was set back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    bytes: u64,
    modified_ns: u64,
    /// Inode, and the time of the last change of any metadata; zero where the system has none.
    changed: (u64, i64, i64),
}

impl Stamp {
    /// `None` if there is no such file, or if it is a folder, whose files may change by themselves.
    pub fn new(path: &Path) -> Option<Self> {
        let metadata = disk::metadata(path).ok().filter(|m| m.is_file())?;
        let (bytes, modified_ns) = size_and_age(path)?;
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt as _;
            (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = {
            let _ = metadata;
            (0, 0, 0)
        };
        Some(Self {
            bytes,
            modified_ns,
            changed,
        })
    }
}

/// Size and modification time; `None` if there is no such file.
fn size_and_age(path: &Path) -> Option<(u64, u64)> {
    let metadata = disk::metadata(path).ok()?;
    let modified = metadata.modified().ok();
    let since = modified.and_then(|m| m.duration_since(UNIX_EPOCH).ok());
    let bytes = if metadata.is_dir() { 0 } else { metadata.len() };
    Some((bytes, since.map_or(0, |d| d.as_nanos() as u64)))
}

/// Existing files that are read together with this one; gradients only for a scan.
pub fn companions(path: &Path, scan: bool) -> Vec<PathBuf> {
    let table = gradients::find_companion(path).filter(|_| scan);
    let table = table.map_or(Vec::new(), |t| t.paths());
    let halves = [("hdr", "img"), ("img", "hdr")].into_iter();
    let halves = halves.filter(|(half, _)| super::super::extension(path) == *half);
    let halves = halves.map(|(_, other)| with_extension(path, other));
    let all = table.into_iter().chain(halves);
    all.filter(|p| p.is_file()).collect()
}

/// Describes a file for a session in `folder`; `known` returns its checksum if the file has not changed since that
/// was computed.
pub fn describe(
    path: &Path,
    scan: bool,
    folder: &Path,
    known: &dyn Fn(&Path) -> Option<String>,
    control: &Control,
) -> Result<Entry, Error> {
    let describe_file = |path: &Path| -> Result<Entry, Error> {
        let (bytes, modified_ns) = size_and_age(path).ok_or_else(|| Error::Missing {
            path: path.to_owned(),
        })?;
        let sha256 = match known(path) {
            Some(sha256) => sha256,
            None => checksum::of_file(path, control)?,
        };
        Ok(Entry {
            path: relative(path, folder),
            bytes,
            modified_ns,
            sha256,
            companions: Vec::new(),
        })
    };
    let mut entry = describe_file(path)?;
    for companion in companions(path, scan) {
        entry.companions.push(describe_file(&companion)?);
    }
    Ok(entry)
}

impl Entry {
    /// The entry of a file that cannot be read.
    pub fn unreadable(path: &Path, folder: &Path) -> Self {
        Self {
            path: relative(path, folder),
            bytes: 0,
            modified_ns: 0,
            sha256: String::new(),
            companions: Vec::new(),
        }
    }

    /// The file's own name.
    pub fn name(&self) -> &str {
        file_name(&self.path)
    }

    /// Its path, for a session in `folder`.
    pub fn path_from(&self, folder: &Path) -> PathBuf {
        without_dots(&folder.join(&self.path))
    }

    /// This file for a session in another folder.
    pub fn moved(&self, from: &Path, to: &Path) -> Self {
        Self {
            path: relative(&self.path_from(from), to),
            companions: self.companions.iter().map(|b| b.moved(from, to)).collect(),
            ..self.clone()
        }
    }
}

/// Compares a file and its companion files with an entry. `strict`: its bytes are read even if size and age are
/// unchanged.
pub fn check(
    path: &Path,
    entry: &Entry,
    strict: bool,
    control: &Control,
) -> Result<FileComparison, Error> {
    let own = check_one(path, entry, None, strict, control)?;
    if own != FileComparison::Same {
        return Ok(own);
    }
    for companion in &entry.companions {
        let name = Path::new(&companion.path).file_name().unwrap_or_default();
        let adjacent = path.with_file_name(name);
        let name = name.to_string_lossy().into_owned();
        match check_one(&adjacent, companion, Some(&name), strict, control)? {
            FileComparison::Same => {}
            FileComparison::Missing(Missing::Gone) => {
                return Ok(FileComparison::Changed(Change {
                    companion: Some(name),
                    difference: Difference::CompanionGone,
                }));
            }
            FileComparison::Missing(why) => {
                return Ok(FileComparison::Missing(Missing::Companion(
                    name,
                    Box::new(why),
                )));
            }
            changed @ FileComparison::Changed(_) => return Ok(changed),
        }
    }
    Ok(FileComparison::Same)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Compares one file with its entry; `companion`: the name of a file that belongs to another one.
fn check_one(
    path: &Path,
    entry: &Entry,
    companion: Option<&str>,
    strict: bool,
    control: &Control,
) -> Result<FileComparison, Error> {
    let changed = |difference| {
        FileComparison::Changed(Change {
            companion: companion.map(str::to_owned),
            difference,
        })
    };
    let Some((bytes, modified_ns)) = size_and_age(path) else {
        let is_denied = |e: std::io::Error| e.kind() == ErrorKind::PermissionDenied;
        return Ok(FileComparison::Missing(
            match disk::metadata(path).is_err_and(is_denied) {
                true => Missing::Denied,
                false => Missing::Gone,
            },
        ));
    };
    if entry.sha256.is_empty() {
        return Ok(changed(Difference::Unknown));
    }
    if !strict && (bytes, modified_ns) == (entry.bytes, entry.modified_ns) {
        return Ok(FileComparison::Same);
    }
    // A TRX folder has the size 0 in its entry.
    if entry.bytes > 0 && path.is_dir() {
        return Ok(FileComparison::Missing(Missing::Folder));
    }
    if bytes != entry.bytes {
        let (now, before) = (bytes, entry.bytes);
        return Ok(changed(Difference::Bytes { now, before }));
    }
    Ok(match checksum::of_file(path, control) {
        Ok(sum) if sum == entry.sha256 => FileComparison::Same,
        Ok(_) => changed(Difference::Content),
        Err(Error::Cancelled) => return Err(Error::Cancelled),
        Err(Error::Missing { .. }) => FileComparison::Missing(Missing::Gone),
        Err(Error::Denied { .. }) => FileComparison::Missing(Missing::Denied),
        Err(Error::Unreadable { reason, .. }) => {
            FileComparison::Missing(Missing::Unreadable(reason))
        }
        // The checksum of a folder fails if it contains other files.
        Err(_) => changed(Difference::Folder),
    })
}

/// A file that may be the missing one, in one of these folders: with the same name and size, otherwise with the same
/// content, otherwise with the same name.
pub fn find_moved(entry: &Entry, folders: &[PathBuf], control: &Control) -> Option<PathBuf> {
    let name = entry.name();
    let same_name = folders.iter().map(|f| f.join(name));
    let mut same_name = same_name.filter(|p| p.exists());
    let of_size = |path: &Path| size_and_age(path).is_some_and(|(bytes, _)| bytes == entry.bytes);
    if let Some(candidate) = same_name.clone().find(|p| of_size(p)) {
        return Some(candidate);
    }
    if entry.bytes == 0 {
        return same_name.next();
    }
    // Study folders may contain thousands of files.
    const MAX_FILES: usize = 2_000;
    let all = folders
        .iter()
        .filter_map(|f| super::super::names_in(f).ok());
    let all = all.flatten().take(MAX_FILES);
    let same_size = all.filter(|p| of_size(p) && p.is_file());
    let mut same =
        same_size.filter(|p| checksum::of_file(p, control).is_ok_and(|sum| sum == entry.sha256));
    same.next().or_else(|| same_name.next())
}

/// The path from a folder to a file, with `/`; the absolute path if they have nothing in common.
fn relative(path: &Path, folder: &Path) -> String {
    let absolute =
        |p: &Path| without_dots(&std::path::absolute(p).unwrap_or_else(|_| p.to_owned()));
    let (path, folder) = (absolute(path), absolute(folder));
    let [file, base] = [&path, &folder].map(|p| p.components().collect::<Vec<_>>());
    let same = file.iter().zip(&base).take_while(|(a, b)| a == b).count();
    // Drives have no common root, and a path through the root is not relative.
    if same < 2 || base.len() - same > 8 {
        return path.to_string_lossy().replace('\\', "/");
    }
    let up = base[same..].iter().map(|_| "..".to_owned());
    let down = file[same..].iter();
    let down = down.map(|c| c.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// Removes `.` and `..`, as far as names alone permit.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
