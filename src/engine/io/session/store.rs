//! Streamlines stored next to a session, in the folder `NAME.arcuate.files`: each under the checksum of its content,
//! so that a file never changes and is written once.

use super::super::{Error, atomic, checksum, disk, names_in, trx};
use crate::compute::Control;
use crate::data::Tractogram;
use crate::data::text::file_name;
use std::path::{Path, PathBuf};

/// Larger ones are stored only on request.
pub const STORED_MAX_BYTES: u64 = 64 << 20;

/// Digits of the checksum in a file name.
const DIGITS: usize = 16;

/// `tracts.arcuate` → `tracts.arcuate.files`.
pub fn folder_of(session: &Path) -> PathBuf {
    let mut name = session.file_name().unwrap_or_default().to_owned();
    name.push(".files");
    session.with_file_name(name)
}

/// Writes streamlines next to a session unless they exist; returns the name by which the session refers to them.
/// `known`: a file that was compared before and has not changed since.
pub fn store(
    session: &Path,
    tractogram: &Tractogram,
    sha256: &str,
    known: &dyn Fn(&Path) -> bool,
    control: &Control,
) -> Result<String, Error> {
    let folder = folder_of(session);
    let name = format!("{}.trx", &sha256[..DIGITS.min(sha256.len())]);
    let path = folder.join(&name);
    // A name alone is no proof: the file may be damaged or belong to another program.
    let is_stored = path.is_file()
        && (known(&path)
            || match restore(&path, sha256, &control.silent()) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                read => read.is_ok(),
            });
    if !is_stored {
        atomic::make_folder(&folder)?;
        trx::save(&path, tractogram, control)?;
    }
    let folder = file_name(&folder);
    Ok(format!("{folder}/{name}"))
}

/// Reads streamlines stored next to a session and checks that they are the right ones.
pub fn restore(path: &Path, sha256: &str, control: &Control) -> Result<Tractogram, Error> {
    let (tractogram, _) = trx::read(path, control)?;
    if checksum::of_tractogram(&tractogram) == sha256 {
        return Ok(tractogram);
    }
    Err(Error::malformed(
        path,
        "other streamlines than the session kept",
        "the file that was saved with it",
    ))
}

/// Whether a file's name was given by [`store`].
pub fn is_stored_name(name: &str) -> bool {
    let stem = name.strip_suffix(".trx");
    stem.is_some_and(|s| s.len() == DIGITS && s.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Removes files to which no session of this name refers any more.
pub fn remove_unreferenced(session: &Path, names: &[String]) {
    let folder = folder_of(session);
    let kept = |name: &str| names.iter().any(|n| n.rsplit('/').next() == Some(name));
    for path in names_in(&folder).unwrap_or_default() {
        let name = file_name(&path);
        if is_stored_name(&name) && !kept(&name) {
            // A file that cannot be removed takes space and does no harm.
            let _ = disk::remove_file(&path);
        }
    }
    // Succeeds only if it is empty.
    let _ = disk::remove_folder(&folder);
}
