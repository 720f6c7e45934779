//! Between a session file and the state.

pub(in crate::state) mod alignment;
pub(in crate::state) mod density;
pub(in crate::state) mod filter;
pub(in crate::state) mod fods;
mod found_file;
mod found_later;
mod missing;
pub(in crate::state) mod origins;
pub(in crate::state) mod pathways;
pub(in crate::state) mod read;
pub(in crate::state) mod regions;
mod results;
pub(in crate::state) mod segment;
pub(in crate::state) mod snapshots;
mod stored;
pub(in crate::state) mod write;

pub(in crate::state) use crate::state::sessions::saved::found_file::point_to;
pub use crate::state::sessions::saved::found_later::{
    maps_of, relocated, restore_missing, restore_weights,
};
pub(in crate::state) use crate::state::sessions::saved::missing::add_missing;
pub use crate::state::sessions::saved::missing::{missing_parts, not_stored_text, unopened};
pub use crate::state::sessions::saved::read::{build, items, parse, surface_cameras, view};
pub(in crate::state) use crate::state::sessions::saved::results::results_not_final;
pub use crate::state::sessions::saved::snapshots::restore as snapshots;
pub use crate::state::sessions::saved::write::{autosave, draft};
pub use crate::state::sessions::types::content::*;
pub use crate::state::sessions::types::fods::*;
pub use crate::state::sessions::types::missing::{
    AwaitedLayers, MissingGroup, MissingItem, MissingLayer, MissingPart, MissingWeights,
    SessionPart, SpeedRegion,
};
pub use crate::state::sessions::types::origins::*;

use crate::data::text::file_name;
use crate::state::sessions::types::file::{Change, Entry};
use std::path::Path;

/// The sentence about a layer whose file has changed: `refFA.nii.gz is not the file this session was saved with: it has
/// 683 319 bytes and had 752 851`.
pub(in crate::state) fn changed_file(entry: &Entry, path: &Path, change: &Change) -> String {
    let name = entry.name();
    let now = file_name(path);
    let what = match now == name {
        true => name.to_owned(),
        false => format!("{now}, used in place of {name},"),
    };
    let why = change.clause();
    format!("{what} is not the file this session was saved with: {why}")
}
