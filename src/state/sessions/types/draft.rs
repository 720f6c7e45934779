//! Sessions to be written.

use crate::data::{DataId, Mask, Shared, TensorField, Tractogram};
use crate::state::sessions::types::file::{Entry, PackedMask, PackedNumbers, ResultStorage, Sum};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// The content of a session, serialized by the thread that writes it: lists of manually selected streamlines may be
/// long.
#[derive(Clone)]
pub struct ContentText(Arc<dyn Fn() -> Value + Send + Sync>);

impl ContentText {
    pub fn new(write: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    pub fn value(&self) -> Value {
        (self.0)()
    }
}

impl std::fmt::Debug for ContentText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value().fmt(f)
    }
}

/// A session to be written.
#[derive(Clone, Debug)]
pub struct SessionDraft {
    pub content: ContentText,
    pub computed_on: String,
    /// In the order of their numbers in the content.
    pub files: Vec<ListedFile>,
    pub masks: Vec<StoredMask>,
    /// Also in the order of their numbers.
    pub numbers: Vec<StoredNumbers>,
    pub results: Vec<ResultToSum>,
    pub store: ResultStorage,
    /// Revision of the document; the base of later changes.
    pub revision: u64,
}

/// A mask stored in a session.
#[derive(Clone, Debug)]
pub enum StoredMask {
    Mask(Mask),
    /// Not read here: as the session had it.
    Unchanged(Arc<PackedMask>),
}

/// Numbers stored in a session.
#[derive(Clone, Debug)]
pub enum StoredNumbers {
    Numbers(Shared<f32>),
    /// Not read here: as the session had them.
    Unchanged(Arc<PackedNumbers>),
}

/// A file that a session refers to.
#[derive(Clone, Debug)]
pub struct ListedFile {
    pub path: PathBuf,
    /// The gradients next to it belong to it.
    pub scan: bool,
    /// The entry in the session that was read, and that session's folder: used if the file cannot be read now.
    pub earlier_entry: Option<(Entry, PathBuf)>,
    /// Another file may now have this path, which the user has not accepted: the entry stays as in the session.
    pub as_known: bool,
}

/// A result whose checksum a session holds.
#[derive(Clone, Debug)]
pub enum ResultToSum {
    Tensors(String, TensorField),
    /// `stored`: a layer, which may be stored next to the session.
    Curves {
        name: String,
        tractogram: Tractogram,
        stored: bool,
    },
    /// u₁ + u₂ of a pathway, φ of a surface, or a density map; the id is that of its image.
    Values(String, DataId, Shared<f32>),
    /// Not available: as in the session, with that session's folder.
    Known(Sum, PathBuf),
}
