//! Files that belong together are renamed together. Meanwhile, the old ones have second names, `.NAME.previous`: a
//! process killed in between leaves the old set complete, partly under these names.

use super::super::{Error, disk, ending};
use super::{PreparedFile, folder_of, record_file};
use crate::data::text::file_name;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Largest number of bytes of a name that go into its second name; names may have 255.
const MAX_BYTES: usize = 235;

/// On disks without links, the first file of a set is copied while the set is renamed; copying a larger file would
/// take too long, and if the process is killed, a half-replaced set with such a file is not recognised.
const MAX_COPIED: u64 = 256 << 20;

/// Renaming a set takes milliseconds: a program that locks the folder for longer is doing something else.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// The name of a set's old file while a new one takes its place.
pub fn previous_name(file: &Path) -> PathBuf {
    second_name(file, "previous")
}

/// The second name of the first file of a set. It differs from the others: a file may be the first of one set and
/// belong to another, with the same bytes before and after.
fn first_name(file: &Path) -> PathBuf {
    second_name(file, "first.previous")
}

/// The second name of a file that is newer than its half-replaced set, while it is replaced.
fn newer_name(file: &Path) -> PathBuf {
    second_name(file, "newer.previous")
}

fn second_name(file: &Path, ending: &str) -> PathBuf {
    let name = file_name(file);
    // The files of a set differ at the end of their names.
    let start = name.len().saturating_sub(MAX_BYTES);
    let start = (start..).find(|i| name.is_char_boundary(*i)).unwrap_or(0);
    file.with_file_name(format!(".{}.{ending}", &name[start..]))
}

/// A file of a set as it was before a process that began to replace the set was killed: `None` if the file itself is
/// still the old one. `first` is the first file of the set.
pub fn previous_file(first: &Path, file: &Path) -> Option<PathBuf> {
    let old = previous_name(file);
    (old.is_file() && is_half_replaced(first) && !is_same(file, &old)).then_some(old)
}

/// The sentence about files whose earlier versions were read through [`previous_file`].
pub fn previous_files_note(files: &[&Path]) -> String {
    let names = |path_of: &dyn Fn(&Path) -> PathBuf| {
        let named = files.iter().map(|file| {
            let name = path_of(file).file_name().unwrap_or_default().to_owned();
            name.to_string_lossy().into_owned()
        });
        let mut named: Vec<String> = named.collect();
        let last = named.pop().unwrap_or_default();
        match named.is_empty() {
            true => last,
            false => format!("{} and {last}", named.join(", ")),
        }
    };
    let (is, was) = match files {
        [_] => ("is", "was"),
        _ => ("are", "were"),
    };
    format!(
        "A program was killed while it replaced a set of files: {} {is} newer than the rest, and {} {was} read \
         instead; recreate all of them with --force, or delete the .previous files to use the newer ones",
        names(&|file| file.to_owned()),
        names(&previous_name)
    )
}

/// Whether a set has some new files and some old ones: the first is replaced last.
fn is_half_replaced(first: &Path) -> bool {
    is_same(first, &first_name(first))
}

/// Whether two names refer to one file or to copies of it: not every disk has links, and copies of a folder seldom
/// keep them.
fn is_same(first: &Path, second: &Path) -> bool {
    disk::are_same_file(first, second) || have_the_same_bytes(first, second).unwrap_or(false)
}

fn have_the_same_bytes(first: &Path, second: &Path) -> std::io::Result<bool> {
    if disk::metadata(first)?.len() != disk::metadata(second)?.len() {
        return Ok(false);
    }
    let mut files = [disk::File::open(first)?, disk::File::open(second)?]
        .map(|file| BufReader::with_capacity(1 << 18, file).bytes());
    let [first, second] = &mut files;
    loop {
        match (first.next().transpose()?, second.next().transpose()?) {
            (None, None) => return Ok(true),
            (a, b) if a != b => return Ok(false),
            _ => {}
        }
    }
}

/// Prevents other processes from renaming a set in the same folder while this value lives; otherwise the names of two
/// sets could mix. `None` if the disk has no locks, or another program keeps the folder locked.
fn lock_folder(files: &[PreparedFile]) -> Option<disk::File> {
    let [first, _, ..] = files else { return None };
    let folder = disk::File::open(folder_of(&first.target)).ok()?;
    let since = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(disk::TryLockError::WouldBlock) if since.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(PAUSE);
            }
            Err(_) => return None,
        }
    }
}

/// Second names of the old files of a set.
struct OldNames {
    /// In the order of the set.
    targets: Vec<PathBuf>,
    /// Second names given by this process: without any, everything is as it was before.
    given: Vec<PathBuf>,
}

impl OldNames {
    /// Gives second names to files that will be replaced. Those given by a killed process in a half-replaced set
    /// stay: they are the old files.
    fn keep_old_files(files: &[PreparedFile]) -> Result<Self, Error> {
        let targets: Vec<PathBuf> = files.iter().map(|file| file.target.clone()).collect();
        let is_half = targets.first().is_some_and(|first| is_half_replaced(first));
        let mut old = Self {
            targets,
            given: Vec::new(),
        };
        match old.rename_all(files, is_half) {
            Ok(()) => Ok(old),
            Err((file, error)) => {
                old.restore_all();
                Err(Error::writing(&file.path, &error))
            }
        }
    }

    fn rename_all<'a>(
        &mut self,
        files: &'a [PreparedFile],
        is_half: bool,
    ) -> Result<(), (&'a PreparedFile, std::io::Error)> {
        // The first comes last: while its second name exists, so do those of the others.
        for (number, file) in files.iter().enumerate().rev() {
            let mut stale = vec![newer_name(&file.target)];
            if number == 0 || !is_half {
                stale.push(previous_name(&file.target));
            }
            if number > 0 || !is_half {
                stale.push(first_name(&file.target));
            }
            let gone = stale.iter().try_for_each(|name| remove(name));
            gone.map_err(|e| (file, e))?;
        }
        let is_replaced = |file: &&PreparedFile| file.replaces && file.target.exists();
        let [first, others @ ..] = files else {
            return Ok(());
        };
        let mut is_needed = false;
        for file in others.iter().filter(is_replaced) {
            let previous = previous_name(&file.target);
            is_needed = true;
            let name = match is_half && previous.exists() {
                false => previous,
                true if disk::are_same_file(&file.target, &previous) => continue,
                // Another program may have written it since: it is restored if this set is not written.
                true => newer_name(&file.target),
            };
            // Recorded before it exists: a failed copy may leave a part.
            self.given.push(name.clone());
            disk::link_or_copy(&file.target, &name).map_err(|e| (file, e))?;
        }
        if is_needed && !is_half && is_replaced(&first) {
            let is_small = disk::metadata(&first.target).is_ok_and(|m| m.len() <= MAX_COPIED);
            let link = match is_small {
                true => disk::link_or_copy,
                false => disk::link,
            };
            let name = first_name(&first.target);
            self.given.push(name.clone());
            match link(&first.target, &name) {
                Err(e) if is_about_links(&e) => {}
                linked => linked.map_err(|e| (first, e))?,
            }
        }
        Ok(())
    }

    /// Restores the set and the second names. The second name of the first file is removed first: without it the
    /// others are ignored.
    fn restore_all(&self) {
        for name in self.given.iter().rev() {
            let _ = remove(name);
        }
    }

    /// Finishes after all new files have their names. The second name of the first file is removed first: without it
    /// the others are ignored.
    fn forget(&self) {
        for (number, target) in self.targets.iter().enumerate() {
            let names = match number {
                0 => vec![first_name(target)],
                _ => vec![newer_name(target), previous_name(target)],
            };
            for name in names {
                let _ = remove(&name);
            }
        }
    }

    /// Restores the old file of a name, or removes the new one if there was none before.
    fn restore(&self, target: &Path) -> std::io::Result<()> {
        let names = [newer_name(target), previous_name(target)];
        match names.iter().find(|name| name.exists()) {
            Some(name) => disk::rename(name, target),
            None => disk::remove_file(target),
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

/// Removes a file that may not exist.
fn remove(file: &Path) -> std::io::Result<()> {
    match file.exists() {
        true => disk::remove_file(file),
        false => Ok(()),
    }
}

/// Files that are written but not yet renamed; `None` unless a [`PendingSet`] exists.
static PENDING: Mutex<Option<Vec<PreparedFile>>> = Mutex::new(None);

fn pending_list() -> MutexGuard<'static, Option<Vec<PreparedFile>>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this value exists, every file that the process writes keeps its temporary name: [`PendingSet::rename`] renames
/// them together, and dropping the value removes them. For a command that writes one set with several jobs.
#[must_use]
pub struct PendingSet(());

impl PendingSet {
    /// Starts a set; files written by this process are renamed only with the set.
    pub fn begin() -> Self {
        *pending_list() = Some(Vec::new());
        Self(())
    }

    /// Renames all files written since [`PendingSet::begin`], the first one last.
    pub fn rename(self) -> Result<(), Error> {
        let files = pending_list().take().unwrap_or_default();
        rename_together(files)
    }
}

impl Drop for PendingSet {
    fn drop(&mut self) {
        // The lock is released before the files are removed.
        let files = pending_list().take();
        drop(files);
    }
}

/// Adds files to the pending set; returns them if there is none.
pub(super) fn add_to_pending(files: Vec<PreparedFile>) -> Result<(), Vec<PreparedFile>> {
    match &mut *pending_list() {
        Some(pending) => {
            pending.extend(files);
            Ok(())
        }
        None => Err(files),
    }
}

/// Renames files that belong together: all of them or none, whatever fails. The first is the file to which the others
/// belong, and is renamed last: a process killed in between leaves the old set, whose replaced files [`previous_file`]
/// finds.
pub fn rename_together(files: Vec<PreparedFile>) -> Result<(), Error> {
    let Err(files) = add_to_pending(files) else {
        return Ok(());
    };
    let _alone = lock_folder(&files);
    let _whole = ending::hold_off_end();
    let old = OldNames::keep_old_files(&files)?;
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    for (done, file) in files.into_iter().rev().enumerate() {
        if let Err(error) = file.put_undivided() {
            let replaced = old.targets.iter().rev().take(done);
            let failed = replaced.filter(|target| old.restore(target).is_err());
            // The first error is the one to report; files that cannot be restored keep their second names.
            if failed.count() == 0 {
                old.restore_all();
            }
            return Err(error);
        }
    }
    old.forget();
    paths.into_iter().for_each(record_file);
    Ok(())
}
