//! Files that belong together get their names together. While they do, the old ones have second names, `.NAME.previous`:
//! a process that is killed in between leaves the old set whole, some of it under these names.

use super::super::{Error, disk, ending};
use super::{Ready, folder_of, was_written};
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most bytes of a name that go into a second name, which may have 255.
const MOST_BYTES: usize = 235;

/// Where the disk has no links, the first of a set has a copy of itself as long as the set gets its names; a larger one
/// would take too long, and a set that a killed process has half replaced is then not recognised.
const MOST_COPIED: u64 = 256 << 20;

/// Giving a set its names takes milliseconds: a program that holds the folder for longer does something else.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// The name that a file of a set has while another takes its place.
pub fn previous_name(file: &Path) -> PathBuf {
    second_name(file, "previous")
}

/// The name of the first file of a set. It is another: a file may be the first of one set and belong to another, with the
/// same bytes before and after.
fn first_name(file: &Path) -> PathBuf {
    second_name(file, "first.previous")
}

fn second_name(file: &Path, ending: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    // The files of a set differ at the end of their names.
    let start = name.len().saturating_sub(MOST_BYTES);
    let start = (start..).find(|i| name.is_char_boundary(*i)).unwrap_or(0);
    file.with_file_name(format!(".{}.{ending}", &name[start..]))
}

/// A file of a set as it was before a process began to replace the set and was killed: `None` where it is that file
/// still. `first` is what the others belong to.
pub fn before(first: &Path, file: &Path) -> Option<PathBuf> {
    let old = previous_name(file);
    (old.is_file() && is_half(first) && !is_same(file, &old)).then_some(old)
}

/// The sentence about files of which [`before`] was read.
pub fn says_before(files: &[&Path]) -> String {
    let names = |of: &dyn Fn(&Path) -> PathBuf| {
        let named = files.iter().map(|file| {
            let name = of(file).file_name().unwrap_or_default().to_owned();
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
        "A program was killed while it replaced files that belong together: {} {is} newer than the rest, and {} {was} read \
         instead; make all of them again with --force, or remove the files that end in .previous to use what is newer",
        names(&|file| file.to_owned()),
        names(&previous_name)
    )
}

/// Whether a set has some new files and some old ones: the first is replaced last.
fn is_half(first: &Path) -> bool {
    is_same(first, &first_name(first))
}

/// Whether two names have one file, or one is a copy: not every disk has links, and copies of a folder seldom keep them.
fn is_same(one: &Path, other: &Path) -> bool {
    disk::are_one(one, other) || have_the_same_bytes(one, other).unwrap_or(false)
}

fn have_the_same_bytes(one: &Path, other: &Path) -> std::io::Result<bool> {
    if disk::metadata(one)?.len() != disk::metadata(other)?.len() {
        return Ok(false);
    }
    let mut files = [disk::File::open(one)?, disk::File::open(other)?]
        .map(|file| BufReader::with_capacity(1 << 18, file).bytes());
    let [one, other] = &mut files;
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (a, b) if a != b => return Ok(false),
            _ => {}
        }
    }
}

/// Keeps other processes from giving names to a set in the same folder as long as this lives; without it the names of
/// two sets could mix. `None` where the disk has no locks, or another program keeps the folder locked.
fn alone(files: &[Ready]) -> Option<disk::File> {
    let [first, _, ..] = files else { return None };
    let folder = disk::File::open(folder_of(&first.target)).ok()?;
    let since = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(disk::TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
            }
            Err(_) => return None,
        }
    }
}

/// Second names of the old files of a set.
struct Old {
    /// In the order of the set.
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
        for (number, file) in files.iter().enumerate().rev() {
            let name = previous_name(&file.target);
            let taken_back = match is_half && !disk::are_one(&file.target, &name) {
                true if number > 0 => disk::rename(&name, &file.target),
                _ => remove(&name),
            };
            let taken_back = taken_back.and_then(|()| remove(&first_name(&file.target)));
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
            let is_small = disk::metadata(&first.target).is_ok_and(|m| m.len() <= MOST_COPIED);
            let link = match is_small {
                true => disk::link_or_copy,
                false => disk::link,
            };
            match link(&first.target, &first_name(&first.target)) {
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

    /// All new ones have their names, or all old ones. The first goes first: without it the others are ignored.
    fn forget(&self) {
        for (number, target) in self.targets.iter().enumerate() {
            let name = match number {
                0 => first_name(target),
                _ => previous_name(target),
            };
            let _ = remove(&name);
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
    let _alone = alone(&files);
    let _whole = ending::undivided();
    let old = Old::keep(&files)?;
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
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
    paths.into_iter().for_each(was_written);
    Ok(())
}
