//! The only module that operates on the disk: `io` opens, creates, reads, writes, flushes, lists, renames, links,
//! locks and removes files and folders, and changes permissions, only through here (`tests/architecture`). A test
//! observes each of these operations and can make any of them fail ([`watch`]); without a test each costs one relaxed
//! load.
//!
//! Not observed: questions about existence (`Path::exists`, [`metadata`] and similar), pages of a mapped file after
//! `io::mmap` has opened it here, seeking in an open file, and the files of the external program `ffmpeg`. Large
//! memory has its own module, `compute::memory`, which also reads Linux's information about the process in `/proc`.

pub use std::fs::{Metadata, TryLockError};
use std::io::{Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The operation about to be performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A file is opened for reading.
    Open,
    /// A file is created.
    Create,
    /// Part of a file is read.
    Read,
    /// A written file is about to be compared with its contents in memory.
    ReadBack,
    /// Part of a file is written.
    Write,
    /// A file or folder is flushed to the disk.
    Sync,
    /// A file is renamed; the path is the new one.
    Rename,
    /// A file gets a second name.
    Link,
    /// A file or folder is removed.
    Remove,
    /// A folder is created.
    MakeFolder,
    /// The entries of a folder are listed.
    List,
    /// Permissions are changed.
    Permit,
    /// A file is locked against other processes.
    Lock,
}

/// Observes operations; an error becomes the error of the operation, which is then not performed.
pub type Watcher = Arc<dyn Fn(Operation, &Path) -> Result<()> + Send + Sync>;

static WATCHED: AtomicBool = AtomicBool::new(false);
static WATCHERS: RwLock<Vec<(u64, PathBuf, Watcher)>> = RwLock::new(Vec::new());

/// Ends the observation when dropped.
pub struct Watch(u64);

/// From now on `watcher` is called before each operation on a path in `folder`: for tests.
pub fn watch(folder: &Path, watcher: Watcher) -> Watch {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut all = WATCHERS.write().unwrap_or_else(PoisonError::into_inner);
    all.push((number, absolute(folder), watcher));
    WATCHED.store(true, Ordering::Relaxed);
    Watch(number)
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut all = WATCHERS.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(number, ..)| *number != self.0);
        WATCHED.store(!all.is_empty(), Ordering::Relaxed);
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[inline]
fn step(operation: Operation, path: &Path) -> Result<()> {
    match WATCHED.load(Ordering::Relaxed) {
        false => Ok(()),
        true => ask_watchers(operation, path),
    }
}

#[cold]
fn ask_watchers(operation: Operation, path: &Path) -> Result<()> {
    let path = absolute(path);
    let all = WATCHERS.read().unwrap_or_else(PoisonError::into_inner);
    let own = all.iter().filter(|(_, folder, _)| path.starts_with(folder));
    let own: Vec<Watcher> = own.map(|(.., watcher)| watcher.clone()).collect();
    // A watcher may use the disk itself.
    drop(all);
    own.iter().try_for_each(|watcher| watcher(operation, &path))
}

/// To be called before a written file is read back.
pub fn reads_back(path: &Path) -> Result<()> {
    step(Operation::ReadBack, path)
}

/// An open file.
#[derive(Debug)]
pub struct File {
    file: std::fs::File,
    path: PathBuf,
}

impl File {
    /// Opens an existing file for reading.
    pub fn open(path: &Path) -> Result<Self> {
        step(Operation::Open, path)?;
        let file = std::fs::File::open(path)?;
        let path = path.to_owned();
        Ok(Self { file, path })
    }

    /// Opens a file for reading and writing, without truncating it.
    pub fn open_to_write(path: &Path) -> Result<Self> {
        step(Operation::Open, path)?;
        let file = std::fs::File::options().read(true).write(true).open(path)?;
        let path = path.to_owned();
        Ok(Self { file, path })
    }

    /// Creates a file without a name in a folder, for reading and writing by this process alone.
    #[cfg(target_os = "linux")]
    pub fn create_unnamed(folder: &Path) -> Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        /// asm-generic/fcntl.h: `__O_TMPFILE | O_DIRECTORY`.
        const O_TMPFILE: i32 = 0o20_200_000;
        step(Operation::Create, folder)?;
        let mut options = std::fs::File::options();
        options.read(true).write(true).mode(0o600);
        let file = options.custom_flags(O_TMPFILE).open(folder)?;
        let path = folder.to_owned();
        Ok(Self { file, path })
    }

    /// Creates a new file with at most these permissions (those of Unix; the process's umask removes some). Returns
    /// an error if the name exists.
    pub fn create_new(path: &Path, mode: u32) -> Result<Self> {
        step(Operation::Create, path)?;
        let mut options = std::fs::File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode & 0o777);
        let _ = mode;
        let file = options.open(path)?;
        let path = path.to_owned();
        Ok(Self { file, path })
    }

    /// Creates an empty file, or truncates an existing one.
    pub fn create(path: &Path) -> Result<Self> {
        step(Operation::Create, path)?;
        let file = std::fs::File::create(path)?;
        let path = path.to_owned();
        Ok(Self { file, path })
    }

    /// Flushes contents and metadata to the disk.
    pub(crate) fn sync_all(&self) -> Result<()> {
        step(Operation::Sync, &self.path)?;
        self.file.sync_all()
    }

    /// The standard library's file, for other uses than reading and writing.
    pub fn inner(&self) -> &std::fs::File {
        &self.file
    }

    /// Locks it exclusively, unless another process has locked it.
    pub fn try_lock(&self) -> std::result::Result<(), TryLockError> {
        step(Operation::Lock, &self.path).map_err(TryLockError::Error)?;
        self.file.try_lock()
    }

    /// Locks it together with other shared locks, unless one holds it exclusively.
    pub fn try_lock_shared(&self) -> std::result::Result<(), TryLockError> {
        step(Operation::Lock, &self.path).map_err(TryLockError::Error)?;
        self.file.try_lock_shared()
    }

    /// Releases the lock. Closing the file alone does not release it while another process has it open, and a process
    /// that this one is just starting still has all its files. If it fails, the lock ends when all have closed it.
    pub fn unlock(&self) {
        let _ = self.file.unlock();
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        step(Operation::Read, &self.path)?;
        self.file.read(buffer)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        step(Operation::Write, &self.path)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.file.seek(to)
    }
}

/// Reads all bytes of a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole text file.
pub fn read_to_string(path: &Path) -> Result<String> {
    let mut text = String::new();
    File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Metadata of a file or folder; links are followed.
pub fn metadata(path: &Path) -> Result<Metadata> {
    std::fs::metadata(path)
}

/// The target of a link.
pub fn read_link(path: &Path) -> Result<PathBuf> {
    std::fs::read_link(path)
}

/// Whether two names refer to the same existing file.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| without_links(path).ok();
    place(a).is_some_and(|a| place(b) == Some(a))
}

/// The absolute path of an existing file or folder, without links.
pub fn without_links(path: &Path) -> Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// The entries of a folder.
pub fn list(path: &Path) -> Result<std::fs::ReadDir> {
    step(Operation::List, path)?;
    std::fs::read_dir(path)
}

/// Renames a file or folder, replacing any existing file of that name.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    step(Operation::Rename, to)?;
    std::fs::rename(from, to)
}

/// Renames a file or folder to a name that does not exist; otherwise the error is `AlreadyExists`.
pub fn rename_new(from: &Path, to: &Path) -> Result<()> {
    step(Operation::Rename, to)?;
    if let Some(done) = system::rename_new(from, to) {
        return done;
    }
    if from.is_dir() {
        // An empty folder reserves the name until it is replaced.
        std::fs::create_dir(to)?;
        return std::fs::rename(from, to).inspect_err(|_| {
            let _ = std::fs::remove_dir(to);
        });
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(e),
        // Not every disk has links: an empty file reserves the name until it is replaced.
        Err(_) => {
            drop(
                std::fs::File::options()
                    .write(true)
                    .create_new(true)
                    .open(to)?,
            );
            std::fs::rename(from, to).inspect_err(|_| {
                let _ = std::fs::remove_file(to);
            })
        }
    }
}

/// Exchanges the names of two files or folders atomically; `None` if the system or the disk cannot.
pub fn exchange(first: &Path, second: &Path) -> Option<Result<()>> {
    match step(Operation::Rename, second) {
        Ok(()) => system::exchange(first, second),
        Err(e) => Some(Err(e)),
    }
}

/// Whether two names are hard links to one file; `false` if the system does not report it.
pub fn are_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let place = |path: &Path| metadata(path).ok().map(|m| (m.dev(), m.ino()));
        place(a).is_some_and(|a| place(b) == Some(a))
    }
    #[cfg(not(unix))]
    {
        let _ = (a, b);
        false
    }
}

/// Creates a hard link to a file.
pub fn link(from: &Path, to: &Path) -> Result<()> {
    step(Operation::Link, to)?;
    std::fs::hard_link(from, to)
}

/// Creates a hard link to a file, or a copy if the disk has no links.
pub fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    step(Operation::Link, to)?;
    std::fs::hard_link(from, to).or_else(|_| std::fs::copy(from, to).map(drop))
}

/// Creates a symbolic link to a file, or a copy if the system has no such links.
pub fn symlink_or_copy(from: &Path, to: &Path) -> Result<()> {
    step(Operation::Link, to)?;
    #[cfg(unix)]
    return std::os::unix::fs::symlink(from, to);
    #[cfg(not(unix))]
    std::fs::copy(from, to).map(drop)
}

/// Removes a file or a link, never a folder.
pub fn remove_file(path: &Path) -> Result<()> {
    step(Operation::Remove, path)?;
    std::fs::remove_file(path)
}

/// Removes an empty folder.
pub fn remove_folder(path: &Path) -> Result<()> {
    step(Operation::Remove, path)?;
    std::fs::remove_dir(path)
}

/// Removes a folder with everything below it.
pub(crate) fn remove_folder_with_all(path: &Path) -> Result<()> {
    step(Operation::Remove, path)?;
    std::fs::remove_dir_all(path)
}

/// Creates a folder with at most these permissions, with its parents if `above` is set.
pub fn make_folder(path: &Path, mode: u32, above: bool) -> Result<()> {
    step(Operation::MakeFolder, path)?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(above);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
    let _ = mode;
    builder.create(path)
}

/// Permissions from metadata, if the system has them.
pub fn mode_of(metadata: &Metadata) -> Option<u32> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777);
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// Sets exactly these permissions, if the system has them.
pub fn set_mode(path: &Path, mode: u32) -> Result<()> {
    step(Operation::Permit, path)?;
    #[cfg(unix)]
    {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, permissions)
    }
    #[cfg(not(unix))]
    {
        let _ = (path, mode);
        Ok(())
    }
}

/// Operations that exist on some systems only.
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod system {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    use std::io::Result;
    use std::path::Path;

    /// `None` if the system or the disk cannot.
    fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Option<Result<()>> {
        match renameat_with(CWD, from, CWD, to, flags) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => None,
            done => Some(done.map_err(Into::into)),
        }
    }

    pub fn rename_new(from: &Path, to: &Path) -> Option<Result<()>> {
        rename(from, to, RenameFlags::NOREPLACE)
    }

    pub fn exchange(first: &Path, second: &Path) -> Option<Result<()>> {
        rename(first, second, RenameFlags::EXCHANGE)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use std::io::Result;
    use std::path::Path;

    pub fn rename_new(_: &Path, _: &Path) -> Option<Result<()>> {
        None
    }

    pub fn exchange(_: &Path, _: &Path) -> Option<Result<()>> {
        None
    }
}
