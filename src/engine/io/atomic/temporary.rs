//! Temporary files and folders. They are removed when their value is dropped and when a signal ends the process;
//! those of a killed process are removed when a file is written beside them at least a day later.

use super::super::{Error, disk, ending};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Longer than any file is being written.
const LEFT_FOR: Duration = Duration::from_secs(24 * 3600);

/// Permissions of a file and of a folder before the process's mask takes some away.
pub const FILE: u32 = 0o666;
pub const FOLDER: u32 = 0o777;
/// Permissions of a file and of a folder for their owner alone.
pub const PRIVATE_FILE: u32 = 0o600;
pub const PRIVATE_FOLDER: u32 = 0o700;

/// A file; removed with this, unless it is kept.
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

    /// A free name beside a file, of which `make` makes one. Not while [`ending::undivided`] is held.
    fn adjacent_to<T>(
        target: &Path,
        make: impl Fn(&Path) -> std::io::Result<T>,
    ) -> std::io::Result<(Self, T)> {
        let _whole = ending::undivided();
        Self::adjacent_to_undivided(target, make)
    }

    /// Does what `beside` does, for a caller that holds [`ending::undivided`].
    pub fn adjacent_to_undivided<T>(
        target: &Path,
        make: impl Fn(&Path) -> std::io::Result<T>,
    ) -> std::io::Result<(Self, T)> {
        loop {
            let path = target.with_file_name(temporary_name());
            match make(&path) {
                Ok(made) => return Ok((Self::new(path), made)),
                // Left by a process of the same number that was killed.
                Err(e)
                    if e.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_ok() => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// A new file beside the one that it is to replace, with that one's permissions from the first byte on.
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
        sweep(target);
        if let Some(old) = old
            && disk::mode_of(&file.inner().metadata()?) != Some(old)
        {
            // The process's mask took some away.
            disk::set_mode(&temporary.path, old)?;
        }
        Ok((temporary, file))
    }

    /// It has its own name now.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing to be done if even this fails; the error that led here is the one to show.
            let _ = disk::remove_file(&self.path);
        }
    }
}

/// A folder; removed with this, unless it was renamed.
pub struct TemporaryFolder {
    pub path: PathBuf,
    _at_end: ending::AtEnd,
}

impl TemporaryFolder {
    pub fn adjacent_to(target: &Path) -> std::io::Result<Self> {
        let _whole = ending::undivided();
        Self::adjacent_to_undivided(target)
    }

    /// Does what `beside` does, for a caller that holds [`ending::undivided`].
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
                // Left by a process of the same number that was killed.
                Err(e)
                    if e.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_ok() => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // It may have its final name by now.
        let _ = disk::remove_folder_with_all(&self.path);
    }
}

/// Short and of its own, so that a long target name does not make it too long.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".arcuate-{}-{number}.tmp", std::process::id())
}

static PRIVATE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// From now on what is made in a folder is for its owner alone.
pub fn keep_private(folder: &Path) {
    let mut all = PRIVATE.lock().unwrap_or_else(PoisonError::into_inner);
    all.insert(folder.to_owned());
}

pub(super) fn is_private(path: &Path) -> bool {
    let all = PRIVATE.lock().unwrap_or_else(PoisonError::into_inner);
    path.ancestors().any(|above| all.contains(above))
}

/// The folder that a file is in.
pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Removes what killed processes left beside a file: temporary files of ours that nobody has written to
/// for a day. Folders stay, since one of them can hold what a power cut was about to replace. What
/// cannot be removed, or is not ours, stays as well.
fn sweep(adjacent: &Path) {
    static DONE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let folder = folder_of(adjacent);
    // Once a folder: it may hold very many files.
    let first = DONE
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
        .filter(|e| is_left(&e.file_name().to_string_lossy()))
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

/// Whether a name is one of [`temporary_name`]'s.
fn is_left(name: &str) -> bool {
    let numbers = name
        .strip_prefix(".arcuate-")
        .and_then(|n| n.strip_suffix(".tmp"));
    let whole = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    numbers
        .and_then(|n| n.split_once('-'))
        .is_some_and(|(process, number)| whole(process) && whole(number))
}

/// A folder of our own for files that nobody keeps; it goes with this.
pub struct Scratch {
    path: PathBuf,
    _at_end: ending::AtEnd,
}

impl Scratch {
    pub fn new() -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let _whole = ending::undivided();
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
                // Left by a process of the same number that was killed.
                Err(e)
                    if e.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_ok() => {}
                Err(e) => {
                    return Err(Error::Scratch {
                        path: std::env::temp_dir(),
                        why: super::super::error::plain(&e),
                    });
                }
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file appear here under another name.
    pub fn link(&self, file: &Path, name: &str) -> Result<(), Error> {
        let failed = |e: std::io::Error| Error::reading(file, &e);
        let from = std::path::absolute(file).map_err(failed)?;
        // The system also makes links to files that do not exist.
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
