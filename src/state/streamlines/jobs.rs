//! Jobs on the streamlines of one layer: selection, values, picking, edits, profiles, connections.

pub mod agreement;
pub mod bundles;
pub mod colours;
pub mod connectome;
pub mod csv;
pub mod edit;
pub mod from_file;
pub mod in_place;
pub mod pick;
pub mod profile;
pub mod score;
pub mod select;
pub mod table;

use crate::data::Tractogram;
use std::sync::Arc;

/// Streamlines, and which of them count.
#[derive(Clone, Debug)]
pub struct CountedStreamlines {
    pub tractogram: Tractogram,
    pub marks: Option<Arc<[bool]>>,
}
