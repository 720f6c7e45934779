//! How every file is written: to a temporary name in the same folder, flushed to the disk, read
//! back and compared, and only then renamed. So the name holds either the old file or the whole
//! new one, whatever fails and whenever. A name that something took meanwhile is left to it, unless the
//! user lets files be replaced.

mod folder;
mod temporary;
mod together;

pub use folder::{check_new_folder, write_folder_verified};
pub use temporary::{Scratch, keep_private};
pub use together::{before, previous_name, put_together, says_before};

use super::checksum::{self, Summed};
use super::{Error, disk, ending};
use crate::compute::Control;
use std::cell::RefCell;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use temporary::{Temporary, folder_of};

/// Links that lead to each other are followed this far, as the system does.
const MOST_LINKS: usize = 40;

/// Whether files that exist stay: what a command does without `--force`. Who saves in the window was asked
/// before.
static KEEPS: AtomicBool = AtomicBool::new(false);

/// From now on a name that something has is refused at the last step, however late it appeared.
pub fn keep_what_exists(keeps: bool) {
    KEEPS.store(keeps, Ordering::Relaxed);
}

/// Paths of the files that this process has written; `None` until [`record_written_files`].
static WRITTEN: Mutex<Option<Vec<PathBuf>>> = Mutex::new(None);

/// Starts the record of written files, so that a command that fails can name those that it wrote before.
pub fn record_written_files() {
    *record() = Some(Vec::new());
}

/// The files written since [`record_written_files`].
pub fn written_files() -> Vec<PathBuf> {
    record().clone().unwrap_or_default()
}

fn record() -> MutexGuard<'static, Option<Vec<PathBuf>>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn was_written(path: PathBuf) {
    if let Some(all) = &mut *record()
        && !all.contains(&path)
    {
        all.push(path);
    }
}

fn replaces() -> bool {
    !KEEPS.load(Ordering::Relaxed)
}

/// A file that is whole, and was read back, under a temporary name; without its own it goes with this.
pub struct Ready {
    temporary: Temporary,
    target: PathBuf,
    /// The path as it was asked for.
    path: PathBuf,
    replaces: bool,
}

impl Ready {
    /// Where it is until then.
    pub fn file(&self) -> &Path {
        &self.temporary.path
    }

    /// The same; a file that has its name by then stays and is an error.
    pub fn keeping_what_exists(self) -> Self {
        Self {
            replaces: false,
            ..self
        }
    }

    /// Gives it its name.
    pub fn put(self) -> Result<(), Error> {
        let _whole = ending::undivided();
        let path = self.path.clone();
        self.put_undivided().map(|()| was_written(path))
    }

    fn put_undivided(self) -> Result<(), Error> {
        let named = match self.replaces {
            true => disk::rename(self.file(), &self.target),
            false => disk::rename_new(self.file(), &self.target),
        };
        named.map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Error::Appeared {
                path: self.path.clone(),
            },
            _ => Error::writing(&self.path, &e),
        })?;
        self.temporary.keep();
        sync_folder(&self.target);
        Ok(())
    }
}

/// Writes a file.
///
/// `write` fills it; an `std::io::Error` becomes a sentence about `path`. `verify` receives the
/// temporary file, complete and flushed, and says in words what differs, or that it was cancelled. On any
/// error the temporary file is removed and a file that was there before is untouched.
pub fn write_verified<E: Into<Unlike>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<disk::File>) -> Result<(), Stop>,
    verify: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), Error> {
    prepare(path, write, verify)?.put()
}

/// Does all of that but the last step.
pub fn prepare<E: Into<Unlike>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<disk::File>) -> Result<(), Stop>,
    verify: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<Ready, Error> {
    let failed = |e: &std::io::Error| Error::writing(path, e);
    let target = target(path)?;
    let (temporary, file) = Temporary::create(&target).map_err(|e| failed(&e))?;
    let mut writer = BufWriter::with_capacity(1 << 18, file);
    let sync = |writer: BufWriter<disk::File>| {
        let file = writer.into_inner().map_err(|e| e.into_error())?;
        file.sync_all()
    };
    let written = match write(&mut writer) {
        Ok(()) => sync(writer).map_err(|e| failed(&e)),
        Err(stop) => {
            // Without this the drop would try to write the rest to a full disk.
            drop(writer.into_parts());
            Err(match stop {
                Stop::Io(e) => failed(&e),
                Stop::Error(e) => e,
            })
        }
    };
    written?;
    let read = |e: std::io::Error| Unlike::Differs(super::error::plain(&e)).error(path);
    disk::reads_back(&temporary.path).map_err(read)?;
    verify(&temporary.path).map_err(|e| e.into().error(path))?;
    Ok(Ready {
        temporary,
        target,
        path: path.to_owned(),
        replaces: replaces(),
    })
}

/// Why a `write` closure stopped.
#[derive(Debug)]
pub enum Stop {
    Io(std::io::Error),
    /// Already in words, or cancelled.
    Error(Error),
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<crate::compute::Cancelled> for Stop {
    fn from(_: crate::compute::Cancelled) -> Self {
        Self::Error(Error::Cancelled)
    }
}

/// Why a file that was written is not kept.
#[derive(Debug)]
pub enum Unlike {
    /// How it differs from what it was to hold.
    Differs(String),
    /// The memory that is free does not hold it, bytes.
    NoRoom(u64),
    Cancelled,
}

impl Unlike {
    fn error(self, path: &Path) -> Error {
        match self {
            Self::Differs(why) => Error::ReadBack {
                path: path.to_owned(),
                why,
            },
            Self::NoRoom(bytes) => Error::NoRoomToCompare {
                path: path.to_owned(),
                bytes,
            },
            Self::Cancelled => Error::Cancelled,
        }
    }
}

impl From<String> for Unlike {
    fn from(why: String) -> Self {
        Self::Differs(why)
    }
}

/// An error while it is read back.
impl From<Error> for Unlike {
    fn from(error: Error) -> Self {
        match error {
            Error::Cancelled => Self::Cancelled,
            Error::Memory { bytes, .. } => Self::NoRoom(bytes),
            error => Self::Differs(error.to_string()),
        }
    }
}

impl From<crate::compute::Cancelled> for Unlike {
    fn from(_: crate::compute::Cancelled) -> Self {
        Self::Cancelled
    }
}

/// The file to replace or to make: a link is followed, so that what it points to changes and not the link.
fn target(path: &Path) -> Result<PathBuf, Error> {
    let place = followed(path)?;
    let metadata = match disk::metadata(&place) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == ErrorKind::InvalidFilename => return Err(Error::writing(path, &e)),
        Err(_) => return Ok(place),
    };
    if metadata.is_dir() {
        return Err(Error::FolderInPlace {
            path: path.to_owned(),
        });
    }
    if !metadata.is_file() {
        let expected = ("the name of a file", "choose another name");
        return Err(Error::malformed(path, "a device or a pipe", expected));
    }
    if metadata.permissions().readonly() {
        return Err(Error::Protected {
            path: path.to_owned(),
        });
    }
    Ok(place)
}

/// Where links lead, whether anything is there or not.
fn followed(path: &Path) -> Result<PathBuf, Error> {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        match disk::read_link(&place) {
            Ok(to) => place = place.with_file_name("").join(to),
            Err(_) => return Ok(place),
        }
    }
    Err(Error::malformed(
        path,
        "a link that leads to itself",
        ("the name of a file", "choose another name"),
    ))
}

/// Makes the rename survive a power cut where the system can; the file itself is already safe.
fn sync_folder(target: &Path) {
    if let Ok(folder) = disk::File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
}

/// Copies a file that another program made to where it is wanted.
pub fn copy(from: &Path, to: &Path, control: &Control) -> Result<(), Error> {
    write_verified(
        to,
        |file| {
            let mut made = disk::File::open(from)?;
            std::io::copy(&mut made, file)?;
            Ok(())
        },
        |written| {
            let sum = |file: &Path| checksum::of_file(file, control).map_err(Unlike::from);
            match sum(from)? == sum(written)? {
                true => Ok(()),
                false => Err(Unlike::Differs("it is not what was copied".to_owned())),
            }
        },
    )
}

/// Writes a short text file; what reads back must be the same text.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    prepare_text(path, text)?.put()
}

/// Does all of that but the last step.
pub fn prepare_text(path: &Path, text: &str) -> Result<Ready, Error> {
    prepare(
        path,
        |file| Ok(file.write_all(text.as_bytes())?),
        |written| match disk::read_to_string(written) {
            Ok(found) if found == text => Ok(()),
            Ok(_) => Err("the text differs".to_owned()),
            Err(e) => Err(super::error::plain(&e)),
        },
    )
}

/// Writes a long text, row by row; what reads back must have the same checksum. `write` looks at `control`
/// for itself.
pub fn write_rows(
    path: &Path,
    control: &Control,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Stop>,
) -> Result<(), Error> {
    let sum = RefCell::new(String::new());
    write_verified(
        path,
        |file| {
            let mut summed = Summed::new(file);
            write(&mut summed)?;
            sum.replace(summed.sum());
            Ok(())
        },
        |written| match checksum::of_file(written, control) {
            Ok(found) if found == *sum.borrow() => Ok(()),
            Ok(_) => Err(Unlike::Differs("the text differs".to_owned())),
            Err(e) => Err(e.into()),
        },
    )
}

/// Whether a file could be written here now, so that an hour's work need not be done to find out.
pub fn check_file(path: &Path) -> Result<(), Error> {
    check_names(path, path.parent().unwrap_or(Path::new("")))?;
    // The file that is made as a trial is removed at once.
    Temporary::create(&target(path)?)
        .map(drop)
        .map_err(|e| Error::writing(path, &e))
}

/// Whether a folder could be made here, or is there, and files could be written into it.
pub fn check_folder(path: &Path) -> Result<(), Error> {
    let is_there = |p: &&Path| p.as_os_str().is_empty() || p.exists();
    let above = path.ancestors().find(is_there).unwrap_or(Path::new("."));
    check_names(path, above)?;
    if above.as_os_str().is_empty() || above.is_dir() {
        return Temporary::create(&above.join("a file"))
            .map(drop)
            .map_err(|e| Error::writing(path, &e));
    }
    Err(no_folder(path))
}

/// Refuses a path with a name that is too long for the file system of an existing folder.
fn check_names(path: &Path, there: &Path) -> Result<(), Error> {
    let too_long = |name: &Component<'_>| {
        let requested = disk::metadata(&there.join(name));
        requested.is_err_and(|e| e.kind() == ErrorKind::InvalidFilename)
    };
    match path.components().any(|name| too_long(&name)) {
        true => Err(Error::LongName {
            path: path.to_owned(),
        }),
        false => Ok(()),
    }
}

/// A file stands in the way.
fn no_folder(path: &Path) -> Error {
    Error::malformed(
        path,
        "a file in place of a folder",
        ("a folder or a name that is free", "choose another name"),
    )
}

/// Makes a folder, with those above it.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    let mode = match temporary::is_private(path) {
        true => temporary::PRIVATE_FOLDER,
        false => temporary::FOLDER,
    };
    disk::make_folder(path, mode, true).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => no_folder(path),
        _ => Error::writing(path, &e),
    })
}

/// A folder for output files. The folders that were made for it are removed with this value if they are still empty.
#[must_use]
pub struct OutputFolder {
    made: Vec<PathBuf>,
    _at_end: ending::AtEnd,
}

impl OutputFolder {
    pub fn make(path: &Path) -> Result<Self, Error> {
        let is_new = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
        let new = path.ancestors().take_while(is_new);
        let made: Vec<PathBuf> = new.map(Path::to_owned).collect();
        let own = made.clone();
        let folder = Self {
            made,
            _at_end: ending::at_end(move || remove_empty(&own)),
        };
        make_folder(path).map(|()| folder)
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        remove_empty(&self.made);
    }
}

/// The inner ones come first.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        // One with something in it stays, and so do those above it.
        if disk::remove_folder(folder).is_err() {
            return;
        }
    }
}

/// Makes a folder that only its owner may enter; files made in it from now on are private, too.
pub fn make_private_folder(path: &Path) -> Result<(), Error> {
    keep_private(path);
    make_folder(path)?;
    // It may have been there before.
    disk::set_mode(path, temporary::PRIVATE_FOLDER).map_err(|e| Error::writing(path, &e))
}
