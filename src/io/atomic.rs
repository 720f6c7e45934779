//! How every file is written: to a temporary name in the same folder, flushed to the disk, read
//! back and compared, and only then renamed. So the name holds either the old file or the whole
//! new one, whatever fails and whenever.

use super::Error;
use super::checksum::{self, Summed};
use crate::compute::Control;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longer than any file is being written.
const LEFT_FOR: Duration = Duration::from_secs(24 * 3600);

/// A file that is whole, and was read back, under a temporary name; without its own it goes with this.
pub struct Ready {
    temporary: Temporary,
    target: PathBuf,
    /// As it was asked for.
    path: PathBuf,
}

impl Ready {
    /// Where it is until then.
    pub fn file(&self) -> &Path {
        &self.temporary.0
    }

    /// Gives it its name.
    pub fn put(self) -> Result<(), Error> {
        let failed = |e: &std::io::Error| Error::writing(&self.path, e);
        if let Ok(old) = std::fs::metadata(&self.target) {
            std::fs::set_permissions(self.file(), old.permissions()).map_err(|e| failed(&e))?;
        }
        std::fs::rename(self.file(), &self.target).map_err(|e| failed(&e))?;
        self.temporary.keep();
        sync_folder(&self.target);
        Ok(())
    }

    /// The file that it takes the place of, under a name of ours as well.
    fn old(&self) -> Result<Option<Temporary>, Error> {
        if !self.target.exists() {
            return Ok(None);
        }
        let old = Temporary(self.target.with_file_name(temporary_name()));
        // Not every disk has links.
        std::fs::hard_link(&self.target, &old.0)
            .or_else(|_| std::fs::copy(&self.target, &old.0).map(drop))
            .map_err(|e| Error::writing(&self.path, &e))?;
        Ok(Some(old))
    }
}

/// Gives files that belong together their names: all of them or none, whatever fails. Only a power cut
/// between two of them can leave some new and some old.
pub fn put_together(files: Vec<Ready>) -> Result<(), Error> {
    let old: Result<Vec<_>, Error> = files.iter().map(Ready::old).collect();
    let targets: Vec<PathBuf> = files.iter().map(|file| file.target.clone()).collect();
    let before: Vec<_> = targets.iter().zip(old?).collect();
    for (done, file) in files.into_iter().enumerate() {
        if let Err(error) = file.put() {
            for (target, old) in &before[..done] {
                // Back to what it was; the first error is the one to tell.
                let _ = match old {
                    Some(old) => std::fs::rename(&old.0, target),
                    None => std::fs::remove_file(target),
                };
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Writes a file.
///
/// `write` fills it; an `std::io::Error` becomes a sentence about `path`. `verify` receives the
/// temporary file, complete and flushed, and says in words what differs, or that it was cancelled. On any
/// error the temporary file is removed and a file that was there before is untouched.
pub fn write_verified<E: Into<Unlike>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Stop>,
    verify: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), Error> {
    prepare(path, write, verify)?.put()
}

/// Does all of that but the last step.
pub fn prepare<E: Into<Unlike>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Stop>,
    verify: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<Ready, Error> {
    let failed = |e: &std::io::Error| Error::writing(path, e);
    let target = target(path)?;
    let (temporary, file) = create_beside(&target).map_err(|e| failed(&e))?;
    let mut writer = BufWriter::with_capacity(1 << 18, file);
    let sync = |writer: BufWriter<File>| {
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
    let verified = written.and_then(|()| verify(&temporary.0).map_err(|e| e.into().of(path)));
    verified?;
    Ok(Ready {
        temporary,
        target,
        path: path.to_owned(),
    })
}

/// Writes a folder of files: `write` fills one of a temporary name, which then takes the place of the
/// old one, if there is one that `may_replace` says is of the same kind. Whatever fails, the name holds
/// the old folder or the whole new one; only a power cut between two renames can leave neither, and
/// then both are there under temporary names.
pub fn write_folder_verified<E: Into<Unlike>>(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), Stop>,
    verify: impl FnOnce(&Path) -> Result<(), E>,
    may_replace: impl Fn(&Path) -> bool,
) -> Result<(), Error> {
    // With a slash at its end the name of a file would be that of nothing.
    let path: &Path = &path.components().collect::<PathBuf>();
    let failed = |e: &std::io::Error| Error::writing(path, e);
    let old = in_place(path, may_replace)?;
    let temporary = TemporaryFolder::beside(path).map_err(|e| failed(&e))?;
    write(&temporary.0).map_err(|stop| match stop {
        Stop::Io(e) => failed(&e),
        Stop::Error(e) => e,
    })?;
    verify(&temporary.0).map_err(|e| e.into().of(path))?;
    if old {
        // Renamed onto, then removed with it.
        let aside = TemporaryFolder::beside(path).map_err(|e| failed(&e))?;
        std::fs::rename(path, &aside.0).map_err(|e| failed(&e))?;
        if let Err(error) = std::fs::rename(&temporary.0, path) {
            // Back to where it was; the first error is the one to tell.
            let _ = std::fs::rename(&aside.0, path);
            return Err(failed(&error));
        }
    } else {
        std::fs::rename(&temporary.0, path).map_err(|e| failed(&e))?;
    }
    sync_folder(path);
    Ok(())
}

/// Whether a folder is there to be replaced; refuses what may not be.
fn in_place(path: &Path, may_replace: impl Fn(&Path) -> bool) -> Result<bool, Error> {
    match path.exists() {
        true if !path.is_dir() => Err(no_folder(path)),
        true if !may_replace(path) => Err(Error::FolderInPlace {
            path: path.to_owned(),
        }),
        old => Ok(old),
    }
}

/// Whether [`write_folder_verified`] could write a folder here now.
pub fn check_new_folder(path: &Path, may_replace: impl Fn(&Path) -> bool) -> Result<(), Error> {
    let path: &Path = &path.components().collect::<PathBuf>();
    in_place(path, may_replace)?;
    check_file(&path.with_file_name(".arcuate"))
}

/// A folder of our own beside another; removed with this, unless it was renamed.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn beside(path: &Path) -> std::io::Result<Self> {
        loop {
            let folder = path.with_file_name(temporary_name());
            match std::fs::create_dir(&folder) {
                Ok(()) => return Ok(Self(folder)),
                // Left by a process of the same number that was killed.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // It may have its final name by now.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Short and of its own, so that a long target name does not make it too long.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".arcuate-{}-{number}.tmp", std::process::id())
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
    Cancelled,
}

impl Unlike {
    fn of(self, path: &Path) -> Error {
        match self {
            Self::Differs(why) => Error::ReadBack {
                path: path.to_owned(),
                why,
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

/// Of reading it back.
impl From<Error> for Unlike {
    fn from(error: Error) -> Self {
        match error {
            Error::Cancelled => Self::Cancelled,
            error => Self::Differs(error.to_string()),
        }
    }
}

impl From<crate::compute::Cancelled> for Unlike {
    fn from(_: crate::compute::Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Removes the file unless told to keep it.
struct Temporary(PathBuf);

impl Temporary {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing to be done if even this fails; the error that led here is the one to show.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The file to replace: a link is followed, so that what it points to changes and not the link.
fn target(path: &Path) -> Result<PathBuf, Error> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == ErrorKind::InvalidFilename => return Err(Error::writing(path, &e)),
        Err(_) => return Ok(path.to_owned()),
    };
    if metadata.is_dir() {
        return Err(Error::FolderInPlace {
            path: path.to_owned(),
        });
    }
    if !metadata.is_file() {
        return Err(Error::malformed(path, "a device", "the name of a file"));
    }
    if metadata.permissions().readonly() {
        return Err(Error::Protected {
            path: path.to_owned(),
        });
    }
    std::fs::canonicalize(path).map_err(|e| Error::writing(path, &e))
}

fn create_beside(target: &Path) -> std::io::Result<(Temporary, File)> {
    if target.file_name().is_none() {
        return Err(ErrorKind::IsADirectory.into());
    }
    loop {
        let temporary = target.with_file_name(temporary_name());
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Ok(file) => {
                sweep(target);
                return Ok((Temporary(temporary), file));
            }
            // Left by a process of the same number that was killed.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// Removes what killed processes left beside a file: temporary files of ours that nobody has written to
/// for a day. Folders stay, since one of them can hold what a power cut was about to replace. What
/// cannot be removed, or is not ours, stays as well.
fn sweep(beside: &Path) {
    static DONE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let folder = match beside.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Once a folder: it may hold very many files.
    let first = DONE
        .lock()
        .is_ok_and(|mut done| done.insert(folder.to_owned()));
    let Some(entries) = std::fs::read_dir(folder).ok().filter(|_| first) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|e| is_left(&e.file_name().to_string_lossy()))
    {
        let old = |m: &std::fs::Metadata| {
            let age = m.modified().ok().and_then(|at| at.elapsed().ok());
            m.is_file() && age.is_some_and(|age| age > LEFT_FOR)
        };
        if entry.metadata().is_ok_and(|m| old(&m)) {
            let _ = std::fs::remove_file(entry.path());
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

/// Makes the rename survive a power cut where the system can; the file itself is already safe.
fn sync_folder(target: &Path) {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Copies a file that another program made to where it is wanted.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    write_verified(
        to,
        |file| {
            let mut made = File::open(from)?;
            std::io::copy(&mut made, file)?;
            Ok(())
        },
        |written| {
            let bytes = |file: &Path| file.metadata().map(|m| m.len()).map_err(|e| e.to_string());
            match (bytes(from)?, bytes(written)?) {
                (made, kept) if made == kept && made > 0 => Ok(()),
                (made, kept) => Err(format!("it has {kept} bytes instead of {made}")),
            }
        },
    )
}

/// Writes a short text file; what reads back must be the same text.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write_verified(
        path,
        |file| Ok(file.write_all(text.as_bytes())?),
        |written| match std::fs::read_to_string(written) {
            Ok(found) if found == text => Ok(()),
            Ok(_) => Err("the text differs".to_owned()),
            Err(e) => Err(e.to_string()),
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
    // What is made to try is removed at once.
    create_beside(&target(path)?)
        .map(drop)
        .map_err(|e| Error::writing(path, &e))
}

/// Whether a folder could be made here, or is there, and files could be written into it.
pub fn check_folder(path: &Path) -> Result<(), Error> {
    let is_there = |p: &&Path| p.as_os_str().is_empty() || p.exists();
    let above = path.ancestors().find(is_there).unwrap_or(Path::new("."));
    if above.as_os_str().is_empty() || above.is_dir() {
        return create_beside(&above.join("a file"))
            .map(drop)
            .map_err(|e| Error::writing(path, &e));
    }
    Err(no_folder(path))
}

/// What stands in the way is a file.
fn no_folder(path: &Path) -> Error {
    Error::malformed(
        path,
        "a file in place of a folder",
        "a folder or a name that is free",
    )
}

/// Makes a folder, with those above it.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => no_folder(path),
        _ => Error::writing(path, &e),
    })
}

/// A folder of our own for files that nobody keeps; it goes with this.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("arcuate-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).map_err(|e| Error::writing(&path, &e))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes a file appear here under another name.
    pub fn link(&self, file: &Path, name: &str) -> Result<(), Error> {
        let failed = |e: std::io::Error| Error::reading(file, &e);
        let from = std::path::absolute(file).map_err(failed)?;
        let to = self.0.join(name);
        #[cfg(unix)]
        let made = std::os::unix::fs::symlink(from, to);
        #[cfg(not(unix))]
        let made = std::fs::copy(from, to).map(|_| ());
        made.map_err(failed)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is the system's to tidy up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
