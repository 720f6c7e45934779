//! The work of a window that ended unexpectedly.
//!
//! Each window has its own folder under [`root`], with a file that it keeps locked while it runs: the system releases
//! the lock when the process ends, however it ends. A folder that is not locked belongs to no window; a process that
//! locks it may take it over, and no other window can do so meanwhile.

use super::disk::{self, File, TryLockError};
use super::{Error, atomic};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const LOCK: &str = "lock";
const SESSION: &str = "session.arcuate";
/// A folder without a lock is being created; after this time its creator no longer runs.
const CREATION_TIME: Duration = Duration::from_secs(60);

/// A folder locked by this process: its own, or one left behind.
#[derive(Debug)]
pub struct RecoveryFolder {
    folder: PathBuf,
    lock: File,
}

impl Drop for RecoveryFolder {
    fn drop(&mut self) {
        self.lock.unlock();
    }
}

/// The folder for recoverable work: `$XDG_STATE_HOME/arcuate/recovery`, usually `~/.local/state/arcuate/recovery`;
/// `None` without a home.
pub fn root() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|text| !text.is_empty());
    let home = |rest: &str| set("HOME").map(|home| PathBuf::from(home).join(rest));
    let base = if cfg!(windows) {
        set("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        home("Library/Application Support")
    } else {
        set("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
            .or_else(|| home(".local/state"))
    };
    base.map(|base| base.join("arcuate").join("recovery"))
}

impl RecoveryFolder {
    /// Creates a new folder for this window.
    pub fn new(root: &Path) -> Result<Self, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |d| d.as_nanos());
        let folder = root.join(format!("{now}-{}", std::process::id()));
        // Other users of this machine must not read it.
        atomic::make_private_folder(root)?;
        atomic::make_folder(&folder)?;
        let failed = |e: std::io::Error| Error::writing(&folder, &e);
        // Locked before it has its name, so that no other process can lock it first.
        let unnamed = folder.join("new");
        let lock = File::create_new(&unnamed, 0o600).map_err(failed)?;
        lock.try_lock().map_err(|e| failed(e.into()))?;
        disk::rename(&unnamed, &folder.join(LOCK)).map_err(failed)?;
        Ok(Self { folder, lock })
    }

    /// The path of the session in it, which may not exist yet.
    pub fn session(&self) -> PathBuf {
        self.folder.join(SESSION)
    }

    /// Seconds since 1970 at which the session was written.
    pub fn written_s(&self) -> Option<u64> {
        let modified = disk::metadata(&self.session()).ok()?.modified().ok()?;
        Some(modified.duration_since(UNIX_EPOCH).ok()?.as_secs())
    }

    /// Removes the folder, which is no longer needed.
    pub fn remove(self) {
        // The session is removed first: if the rest fails, nothing recoverable is left.
        let _ = disk::remove_file(&self.session());
        let _ = disk::remove_folder_with_all(&self.folder);
    }
}

/// Folders left behind with a session in them, newest first; those without one are removed.
pub fn recoverable_folders(root: &Path) -> Vec<RecoveryFolder> {
    let mut recoverable = Vec::new();
    for folder in super::names_in(root).unwrap_or_default() {
        let path = folder.join(LOCK);
        let Ok(lock) = File::open_to_write(&path) else {
            remove_unfinished(&folder);
            continue;
        };
        match lock.try_lock() {
            Ok(()) => {}
            // Its window is running, or this cannot be determined.
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => continue,
        }
        // It may have been removed between opening and locking.
        if !path.exists() {
            continue;
        }
        let recovery_folder = RecoveryFolder { folder, lock };
        if recovery_folder.session().is_file() {
            recoverable.push(recovery_folder);
        } else {
            recovery_folder.remove();
        }
    }
    recoverable.sort_by_key(|recovery_folder| std::cmp::Reverse(recovery_folder.written_s()));
    recoverable
}

/// Whether a folder with a session in it is locked by another process: by a running window, or by one that was killed
/// and has not ended yet.
pub fn is_any_locked(root: &Path, here: &[&RecoveryFolder]) -> bool {
    let mut folders = super::names_in(root).unwrap_or_default();
    folders.retain(|folder| {
        here.iter()
            .all(|recovery_folder| recovery_folder.folder != *folder)
    });
    folders.iter().any(|folder| {
        let lock = File::open(&folder.join(LOCK));
        let stored =
            lock.is_ok_and(|l| matches!(l.try_lock_shared(), Err(TryLockError::WouldBlock)));
        stored && folder.join(SESSION).is_file()
    })
}

fn remove_unfinished(folder: &Path) {
    let age = disk::metadata(folder).and_then(|m| m.modified());
    let age = age.ok().and_then(|m| m.elapsed().ok());
    if folder.is_dir() && age.is_some_and(|age| age > CREATION_TIME) {
        let _ = disk::remove_folder_with_all(folder);
    }
}
