//! What the workers remember of sessions.

use crate::compute::DataId;
use crate::data::Mask;
use crate::io::recovery::{self, RecoveryFolder};
use crate::io::session::{PackedMask, SessionFile, Stamp, Sum};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(in crate::jobs) struct Memory(Mutex<Inner>);

#[derive(Default)]
pub(super) struct Inner {
    pub desk: Option<RecoveryFolder>,
    /// What other windows left behind; nobody else finds it meanwhile.
    pub left: Vec<RecoveryFolder>,
    /// Checksums of files, which hold as long as nothing about them has changed.
    pub files: HashMap<PathBuf, (Stamp, String)>,
    /// Streamlines beside sessions that were compared with those of the name.
    pub kept: HashMap<PathBuf, Stamp>,
    sums: HashMap<DataId, Sum>,
    masks: HashMap<DataId, PackedMask>,
    /// The session that was saved for recovery last, without its time.
    pub last: Option<SessionFile>,
}

impl Memory {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where this window saves for recovery.
    pub(super) fn own_session(&self) -> Result<PathBuf, String> {
        let mut inner = self.lock();
        if let Some(desk) = &inner.desk {
            return Ok(desk.session());
        }
        let root = recovery::root().ok_or("There is no home folder to save for recovery in")?;
        let desk = RecoveryFolder::new(&root).map_err(|e| e.to_string())?;
        let path = desk.session();
        inner.desk = Some(desk);
        Ok(path)
    }

    /// There is nothing to recover any more.
    pub(super) fn leave(&self) {
        let mut inner = self.lock();
        inner.last = None;
        if let Some(desk) = inner.desk.take() {
            desk.remove();
        }
    }

    /// Nobody wants what another window left behind.
    pub(super) fn forget(&self, session: &Path) {
        let mut inner = self.lock();
        if let Some(at) = inner.left.iter().position(|d| d.session() == session) {
            inner.left.remove(at).remove();
        }
    }

    /// A mask as text, made once.
    pub fn packed(&self, mask: &Mask) -> PackedMask {
        const MOST: usize = 1024;
        let known = self.lock().masks.get(&mask.id()).cloned();
        known.unwrap_or_else(|| {
            let packed = PackedMask::pack(mask);
            let mut inner = self.lock();
            if inner.masks.len() >= MOST {
                inner.masks.clear();
            }
            inner.masks.insert(mask.id(), packed.clone());
            packed
        })
    }

    /// The sum of a value, made once.
    pub(super) fn sum(&self, id: DataId, make: impl FnOnce() -> Sum) -> Sum {
        // Of results that nobody has any more a few are remembered.
        const MOST: usize = 256;
        let known = self.lock().sums.get(&id).cloned();
        known.unwrap_or_else(|| {
            let sum = make();
            let mut inner = self.lock();
            if inner.sums.len() >= MOST {
                inner.sums.clear();
            }
            inner.sums.insert(id, sum.clone());
            sum
        })
    }
}
