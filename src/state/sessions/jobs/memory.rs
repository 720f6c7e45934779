//! The memory of session workers.

use crate::compute::DataId;
use crate::data::Mask;
use crate::io;
use crate::io::recovery::{self, RecoveryFolder};
use crate::io::session::{PackedMask, SessionFile, Stamp, Sum};
use crate::jobs::JobError;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why the work cannot be saved for recovery: one sentence.
pub(in crate::state) enum NoRecoveryFolder {
    NoHome,
    NotCreated(io::Error),
}

impl fmt::Display for NoRecoveryFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => f.write_str("There is no home folder for the recovery copy"),
            Self::NotCreated(error) => error.fmt(f),
        }
    }
}

impl From<NoRecoveryFolder> for JobError {
    fn from(error: NoRecoveryFolder) -> Self {
        Self::Sentence(error.to_string().into())
    }
}

#[derive(Default)]
pub(in crate::state) struct SessionMemory(Mutex<Inner>);

#[derive(Default)]
pub(in crate::state) struct Inner {
    pub recovery_folder: Option<RecoveryFolder>,
    /// Recovery folders of other windows; no other process takes them meanwhile.
    pub left: Vec<RecoveryFolder>,
    /// Checksums of files, valid as long as their stamps are unchanged.
    pub files: HashMap<PathBuf, (Stamp, String)>,
    /// Streamlines next to sessions that were compared with those of the same name.
    pub kept: HashMap<PathBuf, Stamp>,
    sums: HashMap<DataId, Sum>,
    masks: HashMap<DataId, PackedMask>,
    /// The session last saved for recovery, without its time.
    pub last: Option<SessionFile>,
}

impl SessionMemory {
    pub(in crate::state) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file to which this window saves for recovery.
    pub(in crate::state) fn own_session(&self) -> Result<PathBuf, NoRecoveryFolder> {
        let mut inner = self.lock();
        if let Some(recovery_folder) = &inner.recovery_folder {
            return Ok(recovery_folder.session());
        }
        let root = recovery::root().ok_or(NoRecoveryFolder::NoHome)?;
        let recovery_folder = RecoveryFolder::new(&root).map_err(NoRecoveryFolder::NotCreated)?;
        let path = recovery_folder.session();
        inner.recovery_folder = Some(recovery_folder);
        Ok(path)
    }

    /// Removes the recovery folder: there is nothing to recover any more.
    pub(in crate::state) fn remove_own_folder(&self) {
        let mut inner = self.lock();
        inner.last = None;
        if let Some(recovery_folder) = inner.recovery_folder.take() {
            recovery_folder.remove();
        }
    }

    /// Discards the recovery folder of another window.
    pub(in crate::state) fn forget(&self, session: &Path) {
        let mut inner = self.lock();
        if let Some(at) = inner.left.iter().position(|d| d.session() == session) {
            inner.left.remove(at).remove();
        }
    }

    /// A mask as text, computed once.
    pub fn packed(&self, mask: &Mask) -> PackedMask {
        const MAXIMUM_MASKS: usize = 1024;
        let known = self.lock().masks.get(&mask.id()).cloned();
        known.unwrap_or_else(|| {
            let packed = PackedMask::pack(mask);
            let mut inner = self.lock();
            if inner.masks.len() >= MAXIMUM_MASKS {
                inner.masks.clear();
            }
            inner.masks.insert(mask.id(), packed.clone());
            packed
        })
    }

    /// The checksum of a value, computed once.
    pub(in crate::state) fn sum(&self, id: DataId, make: impl FnOnce() -> Sum) -> Sum {
        // Checksums of a few results that no longer exist are kept.
        const MAXIMUM_SUMS: usize = 256;
        let known = self.lock().sums.get(&id).cloned();
        known.unwrap_or_else(|| {
            let sum = make();
            let mut inner = self.lock();
            if inner.sums.len() >= MAXIMUM_SUMS {
                inner.sums.clear();
            }
            inner.sums.insert(id, sum.clone());
            sum
        })
    }
}
