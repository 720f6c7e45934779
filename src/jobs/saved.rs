//! Files that jobs have written.

use crate::data::{DataId, Shared, Tractogram};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A written file, read back and found equal.
#[derive(Clone, Debug)]
pub struct Saved {
    pub path: PathBuf,
    /// `450 streamlines`.
    pub content: String,
    /// The data that the file holds in full: none of it would be lost with the window.
    pub complete: Option<CompleteData>,
    /// All files that hold one mask each, with the id of the mask that a file holds in full.
    pub masks: Vec<(PathBuf, Option<DataId>)>,
    /// Parts of the opened file that this one does not hold, one sentence each.
    pub losses: Vec<String>,
}

/// Data that a file holds in full.
#[derive(Clone, Debug)]
pub struct CompleteData {
    /// Several for the structures of one label map.
    pub ids: Vec<DataId>,
    /// The values per streamline that were written, to be compared with later ones.
    pub per_streamline: BTreeMap<String, Shared<f32>>,
}

impl From<DataId> for CompleteData {
    fn from(id: DataId) -> Self {
        Self::from(vec![id])
    }
}

impl From<Vec<DataId>> for CompleteData {
    fn from(ids: Vec<DataId>) -> Self {
        let per_streamline = BTreeMap::new();
        Self {
            ids,
            per_streamline,
        }
    }
}

impl From<&Tractogram> for CompleteData {
    fn from(tractogram: &Tractogram) -> Self {
        Self {
            ids: vec![tractogram.id()],
            per_streamline: tractogram.per_streamline.clone(),
        }
    }
}
