//! Temporary files and folders. They are removed when their value is dropped and when a signal ends the process;
//! those of a killed process are removed when a file is written next to them at least a day later.

use super::super::{Error, disk, ending};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// No file takes longer to write.
const LEFT_FOR: Duration = Duration::from_secs(24 * 3600);

/// Permissions of a file and of a folder before the process's umask is applied.
pub const FILE: u32 = 0o666;
pub const FOLDER: u32 = 0o777;
/// Permissions of a private file and of a private folder.
pub const PRIVATE_FILE: u32 = 0o600;
pub const PRIVATE_FOLDER: u32 = 0o700;

/// A temporary file, removed when dropped unless it is kept.
pub struct Temporary {
    pub path: PathBuf,
    kept: bool,
    _at_end: ending::AtEnd,
}

impl Temporary {
    fn new(path: PathBuf) -> Self {
        let own = path.clone();
        Self {
            _at_end: ending::at_end(move || drop(disk::remove_file(&own))),
            path,
            kept: false,
        }
    }

    /// A free name next to a file, at which `make` creates something. Must not be called while [`ending::hold_off_end`]
    /// is held.
    fn adjacent_to<T>(
        target: &Path,
        make: impl Fn(&Path) -> std::io::Result<T>,
    ) -> std::io::Result<(Self, T)> {
        let _whole = ending::hold_off_end();
        Self::adjacent_to_undivided(target, make)
    }

    /// Like `adjacent_to`, for a caller that holds [`ending::hold_off_end`].
    pub fn adjacent_to_undivided<T>(
        target: &Path,
        make: impl Fn(&Path) -> std::io::Result<T>,
    ) -> std::io::Result<(Self, T)> {
        loop {
            let path = target.with_file_name(temporary_name());
            match make(&path) {
                Ok(value) => return Ok((Self::new(path), value)),
                // Left by a killed process with the same number.
                Err(e)
                    if e.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_ok() => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// A new file next to the one that it will replace, with the permissions of that one from the first byte on.
    pub fn create(target: &Path) -> std::io::Result<(Self, disk::File)> {
        if target.file_name().is_none() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let old = disk::metadata(target).ok();
        let old = old.as_ref().and_then(disk::mode_of);
        let new = match is_private(target) {
            true => PRIVATE_FILE,
            false => FILE,
        };
        let create = |path: &Path| disk::File::create_new(path, old.unwrap_or(new));
        let (temporary, file) = Self::adjacent_to(target, create)?;
        remove_stale(target);
        if let Some(old) = old
            && disk::mode_of(&file.inner().metadata()?) != Some(old)
        {
            // The process's umask has removed some.
            disk::set_mode(&temporary.path, old)?;
        }
        Ok((temporary, file))
    }

    /// Keeps the file, which now has its own name.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing can be done if even this fails; the original error is the one to report.
            let _ = disk::remove_file(&self.path);
        }
    }
}

/// A temporary folder, removed when dropped unless it was renamed.
pub struct TemporaryFolder {
    pub path: PathBuf,
    _at_end: ending::AtEnd,
}

impl TemporaryFolder {
    pub fn adjacent_to(target: &Path) -> std::io::Result<Self> {
        let _whole = ending::hold_off_end();
        Self::adjacent_to_undivided(target)
    }

    /// Like `adjacent_to`, for a caller that holds [`ending::hold_off_end`].
    pub fn adjacent_to_undivided(target: &Path) -> std::io::Result<Self> {
        let old = disk::metadata(target).ok();
        let old = old.as_ref().and_then(disk::mode_of);
        let new = match is_private(target) {
            true => PRIVATE_FOLDER,
            false => FOLDER,
        };
        loop {
            let path = target.with_file_name(temporary_name());
            match disk::make_folder(&path, old.unwrap_or(new), false) {
                Ok(()) => {
                    let own = path.clone();
                    let folder = Self {
                        path,
                        _at_end: ending::at_end(move || drop(disk::remove_folder_with_all(&own))),
                    };
                    if let Some(old) = old {
                        disk::set_mode(&folder.path, old)?;
                    }
                    return Ok(folder);
                }
                // Left by a killed process with the same number.
                Err(e)
                    if e.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_ok() => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // It may already have its final name.
        let _ = disk::remove_folder_with_all(&self.path);
    }
}

/// Short and independent of the target, whose long name would make it too long.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".arcuate-{}-{number}.tmp", std::process::id())
}

static PRIVATE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// From now on everything created in a folder is private to its owner.
pub fn keep_private(folder: &Path) {
    let mut all = PRIVATE.lock().unwrap_or_else(PoisonError::into_inner);
    all.insert(folder.to_owned());
}

pub(super) fn is_private(path: &Path) -> bool {
    let all = PRIVATE.lock().unwrap_or_else(PoisonError::into_inner);
    path.ancestors().any(|above| all.contains(above))
}

/// The folder that contains a file.
pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Removes temporary files that killed processes left next to a file and that have not been written to for a day.
/// Folders stay, because one of them may hold what a power cut was about to replace. Files that cannot be removed, or
/// are not ours, stay as well.
fn remove_stale(adjacent: &Path) {
    static CLEANED_FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let folder = folder_of(adjacent);
    // Once per folder, which may contain very many files.
    let first = CLEANED_FOLDERS
        .lock()
        .is_ok_and(|mut done| done.insert(folder.to_owned()));
    if !first {
        return;
    }
    let Ok(entries) = disk::list(folder) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|e| is_temporary_name(&e.file_name().to_string_lossy()))
    {
        let old = |m: &disk::Metadata| {
            let age = m.modified().ok().and_then(|at| at.elapsed().ok());
            m.is_file() && age.is_some_and(|age| age > LEFT_FOR)
        };
        if entry.metadata().is_ok_and(|m| old(&m)) {
            let _ = disk::remove_file(&entry.path());
        }
    }
}

/// Whether a name was made by [`temporary_name`].
fn is_temporary_name(name: &str) -> bool {
    let numbers = name
        .strip_prefix(".arcuate-")
        .and_then(|n| n.strip_suffix(".tmp"));
    let whole = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    numbers
        .and_then(|n| n.split_once('-'))
        .is_some_and(|(process, number)| whole(process) && whole(number))
}

/// A folder of our own for temporary files, removed when dropped.
pub struct Scratch {
    path: PathBuf,
    _at_end: ending::AtEnd,
}

impl Scratch {
    /// Creates an empty folder that no other process uses, in the system's folder for temporary files.
    pub fn new() -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let _whole = ending::hold_off_end();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("arcuate-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match disk::make_folder(&path, PRIVATE_FOLDER, false) {
                Ok(()) => {
                    let own = path.clone();
                    let _at_end = ending::at_end(move || drop(disk::remove_folder_with_all(&own)));
                    return Ok(Self { path, _at_end });
                }
                // Left by a killed process with the same number.
                Err(e)
                    if e.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_ok() => {}
                Err(e) => {
                    return Err(Error::Scratch {
                        path: std::env::temp_dir(),
                        reason: super::super::error::without_os_error(&e),
                    });
                }
            }
        }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Links a file into this folder under another name.
    pub fn link(&self, file: &Path, name: &str) -> Result<(), Error> {
        let failed = |e: std::io::Error| Error::reading(file, &e);
        let from = std::path::absolute(file).map_err(failed)?;
        // The system also creates links to files that do not exist.
        if !from.is_file() {
            return Err(failed(std::io::ErrorKind::NotFound.into()));
        }
        let to = self.path.join(name);
        disk::symlink_or_copy(&from, &to).map_err(failed)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The system clears its temporary folder of anything that cannot be removed here.
        let _ = disk::remove_folder_with_all(&self.path);
    }
}
