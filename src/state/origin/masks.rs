//! Origins of masks without a layer: a region keeps its mask after the layer is deleted, and an exported region has a
//! file.

use crate::data::{DataId, Mask};
use crate::io::WarpReading;
use crate::state::core::layer::{Content, OriginId};
use crate::state::document::Document;
use crate::state::origin::Origin;
use std::path::Path;

/// Masks without a layer, each with an origin: a file that holds it. A mask may be in several files, the last of which
/// commands name.
#[derive(Clone, Debug, Default)]
pub struct MaskOrigins(Vec<(DataId, OriginId)>);

impl MaskOrigins {
    pub(in crate::state) fn add(&mut self, mask: DataId, origin: OriginId) {
        if self.get(mask) != Some(origin) {
            self.0.push((mask, origin));
        }
    }

    fn get(&self, mask: DataId) -> Option<OriginId> {
        let entry = self.0.iter().rev().find(|(id, _)| *id == mask);
        entry.map(|(_, origin)| *origin)
    }

    pub fn iter(&self) -> impl Iterator<Item = (DataId, OriginId)> {
        self.0.iter().copied()
    }

    /// Replaces each origin.
    pub(in crate::state) fn replace(&mut self, mut by: impl FnMut(OriginId) -> OriginId) {
        for (_, origin) in &mut self.0 {
            *origin = by(*origin);
        }
    }
}

impl Document {
    /// Records that a file holds a mask.
    pub(in crate::state) fn add_mask_file(&mut self, mask: DataId, file: &Path) {
        let origin = self.origins.add(Origin::file(file));
        self.mask_origins.add(mask, origin);
    }

    /// Drops the masks that were read from this file before it was overwritten.
    pub(in crate::state) fn remove_mask_file(&mut self, file: &Path) {
        let origins = &self.origins;
        let all = &mut self.mask_origins.0;
        all.retain(|(_, origin)| origins.path(*origin) != Some(file));
    }

    /// The file that holds a mask: that of its layer, or the one recorded last.
    pub(in crate::state) fn mask_file(&self, mask: &Mask) -> Option<&Path> {
        let id = mask.id();
        let is_mask = |content: &Content| matches!(content, Content::Mask(m) if m.id() == id);
        let layer = self.layers.iter().find(|l| is_mask(&l.content));
        let of_layer = layer.and_then(|l| self.origins.path_in_place(l.origin));
        of_layer.or_else(|| self.origins.path_in_place(self.mask_origins.get(id)?))
    }

    /// The file of a mask that a warp resampled when its layer was opened, and that warp.
    pub(in crate::state) fn warped_mask(&self, mask: &Mask) -> Option<(&Path, &WarpReading)> {
        let is_mask =
            |content: &Content| matches!(content, Content::Mask(m) if m.id() == mask.id());
        let layer = self.layers.iter().find(|l| is_mask(&l.content))?;
        match self.origins.get(layer.origin) {
            Origin::File { file, reading, .. } => Some((file, reading.warp.as_deref()?)),
            _ => None,
        }
    }
}
