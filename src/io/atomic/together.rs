//! Files that belong together get their names together. While they do, the old ones have second names, `.NAME.previous`:
//! a process that is killed in between leaves the old set whole, some of it under these names.

use super::super::{Error, disk, ending};
use super::Ready;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Leaves room for the rest in the 255 bytes that a name may have.
const MOST_BYTES: usize = 240;

/// The name that a file of a set has while another takes its place.
pub fn previous_name(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    // The end tells files of a set apart.
    let start = name.len().saturating_sub(MOST_BYTES);
    let start = (start..).find(|i| name.is_char_boundary(*i)).unwrap_or(0);
    file.with_file_name(format!(".{}.previous", &name[start..]))
}

/// A file of a set as it was before a process began to replace the set and was killed: `None` where it is that file
/// still. `first` is what the others belong to.
pub fn before(first: &Path, file: &Path) -> Option<PathBuf> {
    let old = previous_name(file);
    let is_other = old.is_file() && !disk::are_one(file, &old);
    (is_other && is_half(first)).then_some(old)
}

/// The sentence about a file of which [`before`] was read.
pub fn says_before(file: &Path) -> String {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    format!(
        "{} is newer than the files that it belongs to, since a program was killed while it replaced them; read {} in its \
         place, make all of them again with --force",
        name(file),
        name(&previous_name(file))
    )
}

/// Whether a set has some new files and some old ones: the first is replaced last.
fn is_half(first: &Path) -> bool {
    disk::are_one(first, &previous_name(first))
}

/// Second names of the old files of a set.
struct Old {
    /// As in the set.
    targets: Vec<PathBuf>,
}

impl Old {
    /// Takes back what a killed process had begun, and gives second names to files that will be replaced.
    fn keep(files: &[Ready]) -> Result<Self, Error> {
        let targets: Vec<PathBuf> = files.iter().map(|file| file.target.clone()).collect();
        let old = Self { targets };
        let failed = |file: &Ready, e: &std::io::Error| Error::writing(&file.path, e);
        let is_half = old.targets.first().is_some_and(|first| is_half(first));
        // The first comes last: as long as its second name is there, so are the others'.
        for file in files.iter().rev() {
            let name = previous_name(&file.target);
            let taken_back = match is_half && !disk::are_one(&file.target, &name) {
                true => disk::rename(&name, &file.target),
                false => remove(&name),
            };
            let is_there = |e: &std::io::Error| e.kind() != ErrorKind::NotFound;
            taken_back
                .or_else(|e| if is_there(&e) { Err(e) } else { Ok(()) })
                .map_err(|e| failed(file, &e))?;
        }
        let is_replaced = |file: &&Ready| file.replaces && file.target.exists();
        let [first, others @ ..] = files else {
            return Ok(old);
        };
        let mut is_needed = false;
        for file in others.iter().filter(is_replaced) {
            let linked = disk::link_or_copy(&file.target, &previous_name(&file.target));
            linked.map_err(|e| old.given_up(failed(file, &e)))?;
            is_needed = true;
        }
        if is_needed && is_replaced(&first) {
            match disk::link(&first.target, &previous_name(&first.target)) {
                // Not every disk has links: without one a killed process leaves what cannot be told apart.
                Err(e) if is_about_links(&e) => {}
                linked => linked.map_err(|e| old.given_up(failed(first, &e)))?,
            }
        }
        Ok(old)
    }

    fn given_up(&self, error: Error) -> Error {
        self.forget();
        error
    }

    /// All new ones have their names, or all old ones. The first goes first: without it nobody looks at the others.
    fn forget(&self) {
        for target in &self.targets {
            let _ = remove(&previous_name(target));
        }
    }

    /// Gives a file back its name, or takes it from a new one that nothing was there before.
    fn restore(&self, target: &Path) -> std::io::Result<()> {
        let name = previous_name(target);
        match name.exists() {
            true => disk::rename(&name, target),
            false => disk::remove_file(target),
        }
    }
}

fn is_about_links(error: &std::io::Error) -> bool {
    let kinds = [
        ErrorKind::Unsupported,
        ErrorKind::PermissionDenied,
        ErrorKind::TooManyLinks,
    ];
    kinds.contains(&error.kind())
}

/// Removes a file that may not be there.
fn remove(file: &Path) -> std::io::Result<()> {
    match file.exists() {
        true => disk::remove_file(file),
        false => Ok(()),
    }
}

/// Gives files that belong together their names: all of them or none, whatever fails. The first is what the
/// others belong to, and gets its name last: a process that is killed in between leaves the old set, of which
/// [`before`] finds what was replaced.
pub fn put_together(files: Vec<Ready>) -> Result<(), Error> {
    let _whole = ending::undivided();
    let old = Old::keep(&files)?;
    for (done, file) in files.into_iter().rev().enumerate() {
        if let Err(error) = file.put_undivided() {
            let replaced = old.targets.iter().rev().take(done);
            let failed = replaced.filter(|target| old.restore(target).is_err());
            // The first error is the one to tell; what cannot be restored keeps its second name.
            if failed.count() == 0 {
                old.forget();
            }
            return Err(error);
        }
    }
    old.forget();
    Ok(())
}
