//! Folders of results of a cohort: one process at a time works in a subject's folder, and the folder of a step is replaced
//! as a whole, so that an interrupted run leaves the old results or all of the new ones.

use super::disk::{self, File, TryLockError};
use super::{Error, atomic, names_in};
use std::path::{Path, PathBuf};

/// Name of the locked file in a subject's folder.
const LOCK: &str = ".arcuate-lock";
/// Depth of nested folders of results.
const DEEPEST: usize = 8;

/// A folder in which no other process may work; dropping it ends this.
#[derive(Debug)]
pub struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// Locks a folder, which is created if missing; `None` if another process has locked it.
pub fn lock(folder: &Path) -> Result<Option<FolderLock>, Error> {
    atomic::make_folder(folder)?;
    let path = folder.join(LOCK);
    let failed = |e: std::io::Error| Error::writing(&path, &e);
    if !path.exists() {
        match File::create_new(&path, 0o666) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(e)),
            _ => {}
        }
    }
    let file = File::open_to_write(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FolderLock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(e)) => Err(failed(e)),
    }
}

/// Makes an empty folder, in place of what an interrupted run left under this name.
pub fn empty_folder(path: &Path) -> Result<(), Error> {
    if path.exists() {
        disk::remove_folder_with_all(path).map_err(|e| Error::writing(path, &e))?;
    }
    atomic::make_folder(path)
}

/// Removes a folder with everything in it; does nothing if it does not exist.
pub fn remove_folder(path: &Path) -> Result<(), Error> {
    match path.exists() {
        true => disk::remove_folder_with_all(path).map_err(|e| Error::writing(path, &e)),
        false => Ok(()),
    }
}

/// Gives a complete folder its name, in place of an earlier folder of that name.
pub fn replace_folder(complete: &Path, target: &Path) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::writing(target, &e);
    if !target.exists() {
        return disk::rename(complete, target).map_err(failed);
    }
    match disk::exchange(complete, target) {
        Some(exchanged) => exchanged.map_err(failed)?,
        None => {
            disk::remove_folder_with_all(target).map_err(failed)?;
            return disk::rename(complete, target).map_err(failed);
        }
    }
    remove_folder(complete)
}

/// The files below a folder, relative to it, in the order of their names.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    add_files(folder, DEEPEST, &mut files)?;
    let relative = files.into_iter().filter_map(|file| {
        let relative = file.strip_prefix(folder);
        relative.ok().map(Path::to_owned)
    });
    Ok(relative.collect())
}

fn add_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for path in names_in(folder)? {
        if !path.is_dir() {
            files.push(path);
        } else if depth > 1 {
            add_files(&path, depth - 1, files)?;
        }
    }
    Ok(())
}

/// Whether a name follows a pattern, in which `*` stands for any letters.
pub fn follows(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    match rest.contains('*') {
        false => name.ends_with(rest),
        true => {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            let mut ends = ends.collect::<Vec<_>>().into_iter();
            ends.any(|at| follows(&name[at..], rest))
        }
    }
}

/// The files of a folder that follow a pattern, whose parts are separated by `/`; none if there is no such folder.
pub fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let (own, rest) = match pattern.split_once('/') {
        Some((own, rest)) => (own, Some(rest)),
        None => (pattern, None),
    };
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        follows(&name, own) && !name.starts_with('.')
    };
    let names = names_in(folder).unwrap_or_default();
    let names = names.into_iter().filter(named);
    match rest {
        None => names.filter(|path| path.is_file()).collect(),
        Some(rest) => {
            let folders = names.filter(|path| path.is_dir());
            folders.flat_map(|folder| matching(&folder, rest)).collect()
        }
    }
}

/// Gives a file a second name, in place of an earlier file of that name; a copy if the disk has no links.
pub fn link(from: &Path, to: &Path) -> Result<(), Error> {
    if let Some(folder) = to.parent() {
        atomic::make_folder(folder)?;
    }
    let failed = |e: std::io::Error| Error::writing(to, &e);
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let temporary = to.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    disk::link_or_copy(from, &temporary).map_err(failed)?;
    disk::rename(&temporary, to).map_err(|e| {
        let _ = disk::remove_file(&temporary);
        failed(e)
    })?;
    // Renaming one name of a file to another of the same file keeps both.
    let _ = disk::remove_file(&temporary);
    Ok(())
}

/// Removes a file; does nothing if it does not exist.
pub fn remove_file(path: &Path) -> Result<(), Error> {
    match disk::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::writing(path, &e)),
        _ => Ok(()),
    }
}

/// Cuts a file off in its middle, as a transfer that was interrupted does: for data on which errors are tried.
pub fn cut_off(path: &Path) -> Result<(), Error> {
    let cut = || {
        let file = File::open_to_write(path)?;
        let bytes = disk::metadata(path)?.len();
        file.inner().set_len(bytes / 2)
    };
    cut().map_err(|e| Error::writing(path, &e))
}
