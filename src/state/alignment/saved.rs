//! Transformed layers of a session.

use crate::data::Tractogram;
use crate::io::AffineReading;
use crate::jobs::session::Restored;
use crate::state::Document;
use crate::state::core::layer::{Content, LayerId};
use crate::state::sessions::saved::SavedLayer;
use glam::DAffine3;

impl SavedLayer {
    /// Its transform, from the world of its file.
    pub(in crate::state) fn by(&self) -> Option<DAffine3> {
        self.moved.as_ref().map(AffineReading::of_rows)
    }

    /// Its transformed streamlines, if the reading job has transformed them.
    pub(in crate::state) fn there(
        &self,
        restored: &Restored,
    ) -> Result<Option<Tractogram>, String> {
        self.by().map_or(Ok(None), |by| restored.moved_to(by))
    }
}

/// Applies a layer's transform; an error is a sentence.
pub(in crate::state) fn lay(
    document: &mut Document,
    saved: &SavedLayer,
    there: Option<Tractogram>,
) -> Result<(), String> {
    let (id, how) = (LayerId(saved.id), saved.moved_how);
    let Some(by) = saved.by() else {
        return Ok(());
    };
    match there.filter(|_| document.can_move(id)) {
        Some(there) => {
            document.set_transform(id, Content::Tractogram(there), by, how);
            Ok(())
        }
        None => document.shift(id, by, how),
    }
}
