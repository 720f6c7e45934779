//! Files of running processes, in a private folder of the user: each stays locked as long as its process runs. However the
//! process ends, the system then releases the lock, and other processes remove the file.

use super::Error;
use super::disk::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A file that does not have its final name yet.
pub const UNFINISHED: &str = "new";

/// A folder of this name for files of running processes: `$XDG_RUNTIME_DIR/arcuate/NAME`, which the system empties when
/// the user logs out; without that variable, a folder among the user's temporary files or caches. `None` without any of
/// these.
pub fn folder(name: &str) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|text| !text.is_empty());
    let base = if cfg!(any(windows, target_os = "macos")) {
        // Each user has a folder of temporary files.
        Some(std::env::temp_dir())
    } else {
        let absolute = |name| set(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let cache = || set("HOME").map(|home| PathBuf::from(home).join(".cache"));
        absolute("XDG_RUNTIME_DIR")
            .or_else(|| absolute("XDG_CACHE_HOME"))
            .or_else(cache)
    };
    base.map(|base| base.join("arcuate").join(name))
}

/// A name that no other process has, nor this one at another time.
pub fn unique_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |d| d.as_nanos());
    format!("{now}-{}", std::process::id())
}

/// The path of a file with this name and ending.
pub fn path(folder: &Path, name: &str, ending: &str) -> PathBuf {
    folder.join(format!("{name}.{ending}"))
}

/// Creates a file and locks it before it receives its name, so that no other process can lock it first.
pub fn create_locked(folder: &Path, name: &str, ending: &str) -> Result<File, Error> {
    let unnamed = path(folder, name, UNFINISHED);
    let failed = |e: std::io::Error| Error::writing(&unnamed, &e);
    let file = File::create_new(&unnamed, 0o600).map_err(failed)?;
    let locked = file.try_lock().map_err(|e| failed(e.into()));
    let named =
        locked.and_then(|()| disk::rename(&unnamed, &path(folder, name, ending)).map_err(failed));
    if named.is_err() {
        let _ = disk::remove_file(&unnamed);
    }
    named.map(|()| file)
}

/// Whether the process that created this file still runs; `None` if this cannot be determined.
pub fn is_running(file: &File) -> Option<bool> {
    match file.try_lock() {
        Ok(()) => {
            file.unlock();
            Some(false)
        }
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}
