//! The crosshair that several windows of this user share: one small file per window in a private folder.
//!
//! The file of a window has the newest position that it knows, in world millimetres, the number that orders the positions
//! of all windows, and which window gave it; nothing else. Each window keeps a second file locked while it runs: the system
//! releases the lock when the process ends, however it ends, and the other windows then remove both files.
//!
//! A window that takes over the position of another writes it with the same number, which is not newer for any window: no
//! echo can arise.

use super::disk::{self, File};
use super::running::{self, UNFINISHED, path as file};
use super::{Error, atomic};
use glam::DVec3;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOCK: &str = "lock";
const POSITION: &str = "position";
/// First words of a file with a position, with the version of its format.
const HEAD: &str = "arcuate-crosshair 1";
/// Files without a lock are being created; after this time their creator no longer runs.
const CREATION_TIME: Duration = Duration::from_secs(60);
/// Coordinates beyond this are no positions in a scanner, mm.
const FARTHEST_MM: f64 = 1e5;

/// The folder of the shared positions; `None` if the system has no folder for files of running programs.
pub fn folder() -> Option<PathBuf> {
    running::folder("crosshair")
}

/// The other windows, as read from their files.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OtherWindows {
    /// Number of other windows that share their crosshair.
    pub count: usize,
    /// The newest position of one of them, world mm, if it was not read before.
    pub position: Option<DVec3>,
}

/// The files of this window.
#[derive(Debug)]
pub struct SharedCrosshair {
    folder: PathBuf,
    name: String,
    lock: File,
    /// The newest position that was read or written.
    newest: Option<Shared>,
}

impl Drop for SharedCrosshair {
    fn drop(&mut self) {
        // Removed while it is still locked, so that no other window does so at the same time.
        remove(&self.folder, &self.name);
        self.lock.unlock();
    }
}

fn remove(folder: &Path, name: &str) {
    for ending in [POSITION, UNFINISHED, LOCK] {
        let _ = disk::remove_file(&file(folder, name, ending));
    }
}

impl SharedCrosshair {
    /// Creates the files of this window, and the folder.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        atomic::make_private_folder(folder)?;
        let name = running::unique_name();
        let lock = running::create_locked(folder, &name, LOCK)?;
        Ok(Self {
            folder: folder.to_owned(),
            name,
            lock,
            newest: None,
        })
    }

    /// Gives the other windows a position, world mm, that is newer than all before.
    pub fn share(&mut self, at: DVec3) -> Result<(), Error> {
        // A window may have moved its crosshair since its files were read last.
        self.read_others();
        let newest = Shared {
            number: self.newest.as_ref().map_or(0, |newest| newest.number) + 1,
            from: self.name.clone(),
            at: at.to_array(),
        };
        self.write(&newest)?;
        self.newest = Some(newest);
        Ok(())
    }

    /// The position that this window has if it joins the others: the newest of all; `None` if there are no others.
    pub fn join(&mut self) -> OtherWindows {
        let others = self.read_others();
        let newest = self.newest.as_ref().filter(|_| others.count > 0);
        OtherWindows {
            position: newest.map(|newest| DVec3::from_array(newest.at)),
            ..others
        }
    }

    /// Reads the files of the other windows, and removes those of windows that have ended.
    pub fn read_others(&mut self) -> OtherWindows {
        let mut others = OtherWindows::default();
        let paths = super::names_in(&self.folder).unwrap_or_default();
        let names = paths.iter().filter_map(|path| path.file_stem()?.to_str());
        let names: BTreeSet<&str> = names.filter(|name| *name != self.name).collect();
        for name in names {
            match is_running(&self.folder, name) {
                Some(true) => {}
                Some(false) => {
                    remove(&self.folder, name);
                    continue;
                }
                // Its window is starting or ending.
                None => continue,
            }
            others.count += 1;
            // A file of another version is never read, one that is just being replaced is read the next time.
            let text = disk::read_to_string(&file(&self.folder, name, POSITION));
            let Some(shared) = text.ok().and_then(|text| Shared::parsed(&text)) else {
                continue;
            };
            let is_newer = |newest: &Shared| shared.order() > newest.order();
            if self.newest.as_ref().is_none_or(is_newer) {
                others.position = Some(DVec3::from_array(shared.at));
                self.newest = Some(shared);
            }
        }
        if let (Some(newest), Some(_)) = (&self.newest, others.position) {
            // A window that joins later finds it here even if the one that gave it has ended. If this fails, it finds an
            // older one.
            let _ = self.write(newest);
        }
        others
    }

    fn write(&self, shared: &Shared) -> Result<(), Error> {
        let unnamed = file(&self.folder, &self.name, UNFINISHED);
        let path = file(&self.folder, &self.name, POSITION);
        let failed = |e: std::io::Error| Error::writing(&path, &e);
        let mut new = File::create(&unnamed).map_err(failed)?;
        new.write_all(shared.text().as_bytes()).map_err(failed)?;
        drop(new);
        disk::rename(&unnamed, &path).map_err(failed)
    }
}

/// A position, as all windows know it.
#[derive(Clone, PartialEq, Debug)]
struct Shared {
    /// Larger than those of all positions before.
    number: u64,
    /// The window that gave it; decides between two with one number.
    from: String,
    /// World mm.
    at: [f64; 3],
}

impl Shared {
    fn order(&self) -> (u64, &str) {
        (self.number, &self.from)
    }

    fn text(&self) -> String {
        let Self { number, from, at } = self;
        let [x, y, z] = at;
        format!("{HEAD}\n{number} {from}\n{x} {y} {z}\n")
    }

    /// `None` for any other text.
    fn parsed(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return None;
        }
        let (number, from) = lines.next()?.split_once(' ')?;
        let number = number.parse().ok().filter(|n| *n < u64::MAX)?;
        let at = lines.next()?.split(' ').map(|n| n.parse::<f64>().ok());
        let at: Option<Vec<f64>> = at.collect();
        let at: [f64; 3] = at?.try_into().ok()?;
        // NaN is not near.
        let is_near = at.iter().all(|v| v.abs() <= FARTHEST_MM);
        is_near.then(|| Self {
            number,
            from: from.to_owned(),
            at,
        })
    }
}

/// Whether the window with these files runs; `None` if this cannot be determined yet.
fn is_running(folder: &Path, name: &str) -> Option<bool> {
    let lock = file(folder, name, LOCK);
    let Ok(lock) = File::open_to_write(&lock) else {
        let files = [POSITION, UNFINISHED].map(|ending| file(folder, name, ending));
        let changed = |path: &PathBuf| disk::metadata(path).and_then(|m| m.modified()).ok();
        let newest = files.iter().filter_map(changed).max();
        let age = newest.and_then(|changed| changed.elapsed().ok());
        return age.is_some_and(|age| age > CREATION_TIME).then_some(false);
    };
    running::is_running(&lock)
}
