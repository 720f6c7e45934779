//! Folders treated as one file: they are renamed as a whole.

use super::super::{Error, disk, ending};
use super::temporary::TemporaryFolder;
use super::{
    ReadBackDifference, VerifyFailure, WriteStop, check_file, no_folder, record_file,
    replaces_existing, resolve_links, sync_folder,
};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Writes a folder of files: `write` fills a folder with a temporary name, which then replaces the old one, if there
/// is one and `may_replace` permits it. Whatever fails, the name holds the old folder or the complete new one. Only
/// where the disk cannot exchange two names can a power cut between two renames leave neither; both then exist under
/// temporary names.
pub fn write_folder_verified<E: Into<VerifyFailure>>(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), WriteStop>,
    verify: impl FnOnce(&Path) -> Result<(), E>,
    may_replace: impl Fn(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let target = place_of(path)?;
    let failed = |e: &std::io::Error| Error::writing(path, e);
    in_place(&target, &may_replace)?;
    let temporary = TemporaryFolder::adjacent_to(&target).map_err(|e| failed(&e))?;
    write(&temporary.path).map_err(|stop| match stop {
        WriteStop::Io(e) => failed(&e),
        WriteStop::Error(e) => e,
    })?;
    let read = |e: std::io::Error| VerifyFailure::from(ReadBackDifference::from(e)).error(path);
    disk::reads_back(&temporary.path).map_err(read)?;
    verify(&temporary.path).map_err(|e| e.into().error(path))?;
    let _whole = ending::hold_off_end();
    loop {
        match disk::rename_new(&temporary.path, &target) {
            Ok(()) => break,
            Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(failed(&e)),
            Err(_) if !replaces_existing() => {
                return Err(Error::Appeared {
                    path: path.to_owned(),
                });
            }
            // Another program may have created or removed it meanwhile.
            Err(_) if !in_place(&target, &may_replace)? => {}
            Err(_) => {
                // The exchange moves the old folder to the temporary name, where it is removed.
                match disk::exchange(&temporary.path, &target) {
                    Some(Err(e)) if e.kind() == ErrorKind::NotFound => {}
                    Some(exchanged) => {
                        exchanged.map_err(|e| failed(&e))?;
                        break;
                    }
                    None => {
                        replace_by_renames(&temporary.path, &target).map_err(|e| failed(&e))?;
                        break;
                    }
                }
            }
        }
    }
    sync_folder(&target);
    record_file(path.to_owned());
    Ok(())
}

/// Replaces a folder where two names cannot be exchanged.
fn replace_by_renames(new: &Path, target: &Path) -> std::io::Result<()> {
    // The old folder is renamed to this one, then removed with it.
    let aside = TemporaryFolder::adjacent_to_undivided(target)?;
    disk::rename(target, &aside.path)?;
    disk::rename(new, target).inspect_err(|_| {
        // Renames it back; the first error is the one to report.
        let _ = disk::rename(&aside.path, target);
    })
}

/// The path of the folder, existing or not: without a trailing slash, which would make it the name of a file inside,
/// and with links followed.
fn place_of(path: &Path) -> Result<PathBuf, Error> {
    let path: PathBuf = path.components().collect();
    resolve_links(&path)
}

/// Whether there is a folder to replace; returns an error if it may not be replaced.
fn in_place(path: &Path, may_replace: impl Fn(&Path) -> Result<(), Error>) -> Result<bool, Error> {
    match path.exists() {
        true if !path.is_dir() => Err(no_folder(path)),
        true => may_replace(path).map(|()| true),
        false => Ok(false),
    }
}

/// Checks whether [`write_folder_verified`] could write a folder here now.
pub fn check_new_folder(
    path: &Path,
    may_replace: impl Fn(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let place = place_of(path)?;
    in_place(&place, may_replace)?;
    check_file(&place.with_file_name(".arcuate"))
}
