//! The way every file is written: under a temporary name in the same folder, flushed to the disk, read back and
//! compared, and only then renamed. The name therefore holds either the old file or the complete new one, whatever
//! fails and whenever. If another program takes the name meanwhile, its file is kept, unless the user permits
//! replacement.

mod checked;
mod folder;
mod read_back_difference;
mod temporary;
mod together;

pub use checked::{CheckedWriter, Sum, prepare_checked};
pub use folder::{check_new_folder, write_folder_verified};
pub use read_back_difference::ReadBackDifference;
pub(super) use temporary::Temporary as TemporaryFile;
pub use temporary::{Scratch, keep_private};
pub use together::{
    PendingSet, previous_file, previous_files_note, previous_name, rename_together,
};

use super::checksum::{self, ChecksumWriter};
use super::{Error, disk, ending};
use crate::compute::Control;
use std::cell::RefCell;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use temporary::{Temporary, folder_of};

/// Largest number of links followed in a chain, as in the system.
const MAX_LINKS: usize = 40;

/// Whether existing files are kept, as a command without `--force` does. In the window, the user is asked beforehand.
static KEEP_EXISTING: AtomicBool = AtomicBool::new(false);

/// From now on existing names are refused at the last step, however late they appeared.
pub fn keep_what_exists(keeps: bool) {
    KEEP_EXISTING.store(keeps, Ordering::Relaxed);
}

/// Paths of the files that this process has written; `None` until [`record_written_files`].
static WRITTEN: Mutex<Option<Vec<PathBuf>>> = Mutex::new(None);

/// Starts the record of written files, so that a failing command can name the files it has already written.
pub fn record_written_files() {
    *written_list() = Some(Vec::new());
}

/// The files written since [`record_written_files`].
pub fn written_files() -> Vec<PathBuf> {
    written_list().clone().unwrap_or_default()
}

fn written_list() -> MutexGuard<'static, Option<Vec<PathBuf>>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn record_file(path: PathBuf) {
    if let Some(all) = &mut *written_list()
        && !all.contains(&path)
    {
        all.push(path);
    }
}

fn replaces_existing() -> bool {
    !KEEP_EXISTING.load(Ordering::Relaxed)
}

/// A complete file, already read back, under a temporary name; removed when dropped unless it has received its final
/// name.
pub struct PreparedFile {
    temporary: Temporary,
    target: PathBuf,
    /// The requested path.
    path: PathBuf,
    replaces: bool,
}

impl PreparedFile {
    /// The temporary path.
    pub fn file(&self) -> &Path {
        &self.temporary.path
    }

    /// Makes it an error if the name is taken by then.
    pub fn keeping_what_exists(self) -> Self {
        Self {
            replaces: false,
            ..self
        }
    }

    /// Renames it to its final name.
    pub fn rename_into_place(self) -> Result<(), Error> {
        let Err(files) = together::add_to_pending(vec![self]) else {
            return Ok(());
        };
        files.into_iter().try_for_each(Self::rename_now)
    }

    fn rename_now(self) -> Result<(), Error> {
        let _whole = ending::hold_off_end();
        let path = self.path.clone();
        self.put_undivided().map(|()| record_file(path))
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
/// `write` fills it; an `std::io::Error` becomes a sentence about `path`. `verify` receives the temporary file,
/// complete and flushed, and returns a description of any difference, or that it was cancelled. On any error the
/// temporary file is removed and an existing file is untouched.
pub fn write_verified<E: Into<VerifyFailure>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<disk::File>) -> Result<(), WriteStop>,
    verify: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), Error> {
    prepare(path, write, verify)?.rename_into_place()
}

/// Does everything except the last step.
pub fn prepare<E: Into<VerifyFailure>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<disk::File>) -> Result<(), WriteStop>,
    verify: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<PreparedFile, Error> {
    let failed = |e: &std::io::Error| Error::writing(path, e);
    let target = final_path(path)?;
    let (temporary, file) = Temporary::create(&target).map_err(|e| failed(&e))?;
    let mut writer = BufWriter::with_capacity(1 << 18, file);
    let sync = |writer: BufWriter<disk::File>| {
        let file = writer.into_inner().map_err(|e| e.into_error())?;
        file.sync_all()
    };
    let written = match write(&mut writer) {
        Ok(()) => sync(writer).map_err(|e| failed(&e)),
        Err(stop) => {
            // Otherwise the drop would try to write the rest to a full disk.
            drop(writer.into_parts());
            Err(match stop {
                WriteStop::Io(e) => failed(&e),
                WriteStop::Error(e) => e,
            })
        }
    };
    written?;
    let read = |e: std::io::Error| VerifyFailure::from(ReadBackDifference::from(e)).error(path);
    disk::reads_back(&temporary.path).map_err(read)?;
    verify(&temporary.path).map_err(|e| e.into().error(path))?;
    Ok(PreparedFile {
        temporary,
        target,
        path: path.to_owned(),
        replaces: replaces_existing(),
    })
}

/// Why a `write` closure stopped.
#[derive(Debug)]
pub enum WriteStop {
    /// Failure of the system, to be put into a sentence with the path.
    Io(std::io::Error),
    /// Already a sentence, or cancelled.
    Error(Error),
}

impl From<std::io::Error> for WriteStop {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Error> for WriteStop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<crate::compute::Cancelled> for WriteStop {
    fn from(_: crate::compute::Cancelled) -> Self {
        Self::Error(Error::Cancelled)
    }
}

/// Why a written file is not kept.
#[derive(Debug)]
pub enum VerifyFailure {
    /// The file reads back differently.
    Differs(ReadBackDifference),
    /// The free memory cannot hold it, bytes.
    NoRoom(u64),
    /// The user cancelled the job while the file was compared.
    Cancelled,
}

impl VerifyFailure {
    fn error(self, path: &Path) -> Error {
        match self {
            Self::Differs(difference) => Error::ReadBack {
                path: path.to_owned(),
                difference,
            },
            Self::NoRoom(bytes) => Error::NoRoomToCompare {
                path: path.to_owned(),
                bytes,
            },
            Self::Cancelled => Error::Cancelled,
        }
    }
}

impl From<ReadBackDifference> for VerifyFailure {
    fn from(difference: ReadBackDifference) -> Self {
        Self::Differs(difference)
    }
}

/// Converts an error of reading back.
impl From<Error> for VerifyFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::Cancelled => Self::Cancelled,
            Error::Memory { bytes, .. } => Self::NoRoom(bytes),
            error => Self::Differs(ReadBackDifference::Invalid(Box::new(error))),
        }
    }
}

impl From<std::io::Error> for VerifyFailure {
    fn from(error: std::io::Error) -> Self {
        ReadBackDifference::from(error).into()
    }
}

impl From<crate::compute::Cancelled> for VerifyFailure {
    fn from(_: crate::compute::Cancelled) -> Self {
        Self::Cancelled
    }
}

/// The file to replace or create: links are followed, so that their target changes, not the link.
fn final_path(path: &Path) -> Result<PathBuf, Error> {
    let place = resolve_links(path)?;
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

/// The target of a chain of links, whether it exists or not.
fn resolve_links(path: &Path) -> Result<PathBuf, Error> {
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
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

/// Makes the rename survive a power cut if the system can; the file itself is already safe.
fn sync_folder(target: &Path) {
    if let Ok(folder) = disk::File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
}

/// Copies a file that another program made to its destination.
pub fn copy(from: &Path, to: &Path, control: &Control) -> Result<(), Error> {
    write_verified(
        to,
        |file| {
            let mut source = disk::File::open(from)?;
            std::io::copy(&mut source, file)?;
            Ok(())
        },
        |written| {
            let sum = |file: &Path| checksum::of_file(file, control).map_err(VerifyFailure::from);
            match sum(from)? == sum(written)? {
                true => Ok(()),
                false => Err(VerifyFailure::from(ReadBackDifference::Copy)),
            }
        },
    )
}

/// Writes a short text file; the text read back must be equal.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    prepare_text(path, text)?.rename_into_place()
}

/// Does everything except the last step.
pub fn prepare_text(path: &Path, text: &str) -> Result<PreparedFile, Error> {
    prepare(
        path,
        |file| Ok(file.write_all(text.as_bytes())?),
        |written| match disk::read_to_string(written) {
            Ok(stored) if stored == text => Ok(()),
            Ok(_) => Err(ReadBackDifference::Text),
            Err(e) => Err(e.into()),
        },
    )
}

/// Writes a long text, row by row; the text read back must have the same checksum. `write` checks `control` itself.
pub fn write_rows(
    path: &Path,
    control: &Control,
    write: impl FnOnce(&mut dyn Write) -> Result<(), WriteStop>,
) -> Result<(), Error> {
    let sum = RefCell::new(String::new());
    write_verified(
        path,
        |file| {
            let mut summed = ChecksumWriter::new(file);
            write(&mut summed)?;
            sum.replace(summed.sum());
            Ok(())
        },
        |written| match checksum::of_file(written, control) {
            Ok(stored_sum) if stored_sum == *sum.borrow() => Ok(()),
            Ok(_) => Err(VerifyFailure::from(ReadBackDifference::Text)),
            Err(e) => Err(e.into()),
        },
    )
}

/// Checks whether a file could be written here now, so that this is known before an hour's work.
pub fn check_file(path: &Path) -> Result<(), Error> {
    check_names(path, path.parent().unwrap_or(Path::new("")))?;
    // The trial file is removed at once.
    Temporary::create(&final_path(path)?)
        .map(drop)
        .map_err(|e| Error::writing(path, &e))
}

/// Checks whether a folder exists here or could be created, and whether files could be written into it.
pub fn check_folder(path: &Path) -> Result<(), Error> {
    let exists = |p: &&Path| p.as_os_str().is_empty() || p.exists();
    let above = path.ancestors().find(exists).unwrap_or(Path::new("."));
    check_names(path, above)?;
    if above.as_os_str().is_empty() || above.is_dir() {
        return Temporary::create(&above.join("a file"))
            .map(drop)
            .map_err(|e| Error::writing(path, &e));
    }
    Err(no_folder(path))
}

/// Returns an error for a path with a name too long for the file system of an existing folder.
fn check_names(path: &Path, folder: &Path) -> Result<(), Error> {
    let too_long = |name: &Component<'_>| {
        let requested = disk::metadata(&folder.join(name));
        requested.is_err_and(|e| e.kind() == ErrorKind::InvalidFilename)
    };
    match path.components().any(|name| too_long(&name)) {
        true => Err(Error::LongName {
            path: path.to_owned(),
        }),
        false => Ok(()),
    }
}

/// The error if a file is in the way.
fn no_folder(path: &Path) -> Error {
    Error::malformed(
        path,
        "a file in place of a folder",
        ("a folder or an unused name", "choose another name"),
    )
}

/// Creates a folder and its parents.
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

/// A folder for output files. Folders created for it are removed with this value if they are still empty.
#[must_use]
pub struct OutputFolder {
    created: Vec<PathBuf>,
    _at_end: ending::AtEnd,
}

impl OutputFolder {
    /// Creates the folder and its missing parents; those that are still empty are removed when the value is dropped.
    pub fn make(path: &Path) -> Result<Self, Error> {
        let is_new = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
        let new = path.ancestors().take_while(is_new);
        let created: Vec<PathBuf> = new.map(Path::to_owned).collect();
        let own = created.clone();
        let folder = Self {
            created,
            _at_end: ending::at_end(move || remove_empty(&own)),
        };
        make_folder(path).map(|()| folder)
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        remove_empty(&self.created);
    }
}

/// Removes empty folders, inner ones first.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        // A folder that is not empty stays, and so do its parents.
        if disk::remove_folder(folder).is_err() {
            return;
        }
    }
}

/// Creates a folder that only its owner may enter; files created in it from now on are private, too.
pub fn make_private_folder(path: &Path) -> Result<(), Error> {
    keep_private(path);
    make_folder(path)?;
    // It may have existed before.
    disk::set_mode(path, temporary::PRIVATE_FOLDER).map_err(|e| Error::writing(path, &e))
}
