//! Transformed layers of a session.

use crate::data::Tractogram;
use crate::state::Document;
use crate::state::alignment::{AlignedBy, ShiftError};
use crate::state::core::layer::{Content, LayerId};
use glam::DAffine3;

/// Applies the saved transform of a layer. `moved_curves`: the streamlines already transformed by the reader, if
/// available.
pub(in crate::state) fn set_transform(
    document: &mut Document,
    id: LayerId,
    moved: Option<(DAffine3, AlignedBy)>,
    moved_curves: Option<Tractogram>,
) -> Result<(), ShiftError> {
    let Some((by, how)) = moved else {
        return Ok(());
    };
    match moved_curves.filter(|_| document.can_move(id)) {
        Some(moved_curves) => {
            document.set_transform(id, Content::Tractogram(moved_curves), by, how);
            Ok(())
        }
        None => document.shift(id, by, how),
    }
}
