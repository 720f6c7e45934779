//! Questions about transforms of layers.

use crate::state::alignment::{AlignedBy, Nudge, PendingTransform, ShiftError};
use crate::state::core::layer::{Content, LayerId};
use crate::state::origin::Origin;
use crate::state::{Document, State};
use glam::DAffine3;

impl Document {
    /// Whether a layer can be moved: one that was opened and is not a scan, unless it holds distributions. Computed layers
    /// keep the position of their scan, and those opened with a warp that of their fixed image.
    pub fn can_move(&self, id: LayerId) -> bool {
        self.layer(id).is_some_and(|layer| {
            let opened = matches!(
                self.origin(layer),
                Origin::File { .. } | Origin::Phantom { .. } | Origin::Moved { .. }
            );
            let is_scan = matches!(layer.content, Content::Scan { .. });
            let opened = opened && self.origins.warp(layer.origin).is_none();
            opened && (!is_scan || self.fod_image(id).is_some())
        })
    }

    /// Transform of a layer, relative to its file.
    pub fn moved_by(&self, id: LayerId) -> DAffine3 {
        self.moved(id)
            .map_or(DAffine3::IDENTITY, |moved| moved.transform)
    }

    /// The content of a layer as it was opened.
    pub fn unmoved(&self, id: LayerId) -> Option<&Content> {
        let layer = self.layer(id)?;
        Some(layer.unmoved.as_ref().unwrap_or(&layer.content))
    }

    /// Sets the transform of a layer relative to its file.
    pub fn shift(&mut self, id: LayerId, by: DAffine3, how: AlignedBy) -> Result<(), ShiftError> {
        let Some(layer) = self.layer(id).filter(|_| self.can_move(id)) else {
            return Err(ShiftError::NotMovable);
        };
        if by == DAffine3::IDENTITY {
            if let Some(moved) = self.moved(id) {
                self.edit_layer(id, |l| {
                    l.origin = moved.input;
                    if let Some(content) = l.unmoved.take() {
                        l.content = content;
                    }
                });
            }
            return Ok(());
        }
        let original = layer.unmoved.as_ref().unwrap_or(&layer.content);
        let content = original.moved(by).ok_or(ShiftError::NoVolume)?;
        self.set_transform(id, content, by, how);
        Ok(())
    }

    /// Receives the transformed content of a layer.
    pub fn set_transform(
        &mut self,
        id: LayerId,
        content: Content,
        transform: DAffine3,
        aligned_by: AlignedBy,
    ) {
        let Some(origin) = self.layer(id).map(|l| l.origin) else {
            return;
        };
        let input = self.moved(id).map_or(origin, |moved| moved.input);
        let origin = self.origins.add(Origin::Moved {
            input,
            transform,
            aligned_by,
        });
        self.edit_layer(id, |l| {
            let before = std::mem::replace(&mut l.content, content);
            l.unmoved.get_or_insert(before);
            l.origin = origin;
        });
    }
}

impl Document {
    /// `moved by hand: 1.0 mm right, turned −27.9°`; `None` for a layer at the position of its file.
    pub fn transform_text(&self, id: LayerId) -> Option<String> {
        let moved = self.moved(id)?;
        let how = match moved.aligned_by {
            AlignedBy::Manually => "by hand",
            AlignedBy::File => "by a file",
            AlignedBy::Alignment => "by alignment",
        };
        let (low, high) = self.unmoved(id)?.bounds().unwrap_or_default();
        let nudge = Nudge::from_transform(moved.transform, (low + high) * 0.5);
        let so_far = nudge.map_or("scaled or sheared".to_owned(), |nudge| nudge.text());
        Some(format!("moved {how}: {so_far}"))
    }
}

impl State {
    /// The pending transform of a layer's streamlines.
    pub fn pending_transform(&self, id: LayerId) -> Option<&PendingTransform> {
        self.runtime
            .pending_transforms
            .requested
            .iter()
            .find(|s| s.layer == id)
    }

    /// Transform of a layer, or the one being applied, relative to its file.
    pub fn requested_transform(&self, id: LayerId) -> DAffine3 {
        let pending_transform = self.pending_transform(id);
        pending_transform.map_or_else(|| self.document.moved_by(id), |s| s.transform)
    }
}
