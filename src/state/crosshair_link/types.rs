//! Whether this window shares its crosshair, and what it knows of the others.

use glam::DVec3;
use std::path::PathBuf;

/// Actions on the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkAction {
    /// Shares the crosshair with the other windows in which this is switched on, or stops doing so.
    Link(bool),
}

/// The link of this window's crosshair to those of other windows. Neither undone nor saved: a file must not move the
/// crosshair of another window.
#[derive(Clone, Debug, Default)]
pub struct CrosshairLink {
    pub is_on: bool,
    /// Number of other windows that share their crosshair.
    pub others: usize,
    /// The position in another window, world mm, if it lies outside the data here.
    pub outside: Option<DVec3>,
    /// The position that the other windows know, world mm: this window gives them only a different one.
    pub(in crate::state) shared: Option<DVec3>,
    /// Bounds of the data when the position was taken over or given last, world mm.
    pub(in crate::state) bounds: Option<(DVec3, DVec3)>,
    /// Folder of the positions; `None`: that of the user's running programs.
    pub folder: Option<PathBuf>,
}
