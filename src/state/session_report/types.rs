//! Requests for reports, and the pictures of a report.

use crate::state::core::pane::Pane;
use std::path::PathBuf;
use std::sync::Arc;

/// The views that a report shows, in this order.
pub const REPORT_PANES: [Pane; 4] = [Pane::Axial, Pane::Coronal, Pane::Sagittal, Pane::Scene];
/// Size of each picture in points: that in which a page shows it on a screen, so that letters and scales can be read.
pub const REPORT_PICTURE_POINTS: [u32; 2] = [480, 360];
/// Pixels per point, for paper and for screens with small pixels.
pub const REPORT_PICTURE_SCALE: u32 = 2;

/// Pixels of a view, 8-bit RGBA, rows from the top.
#[derive(Clone, PartialEq, Debug)]
pub struct DrawnView {
    pub size_px: [u32; 2],
    pub rgba: Arc<[u8]>,
}

/// A picture of a view, or the sentence why there is none.
#[derive(Clone, PartialEq, Debug)]
pub struct ReportPicture {
    pub pane: Pane,
    pub drawn: Result<DrawnView, String>,
}

#[derive(Clone, Debug)]
pub enum ReportAction {
    /// Draws the views, then writes the page.
    Save(PathBuf),
    /// The window drew a view, or cannot.
    Drawn { ticket: u64, picture: ReportPicture },
    /// Drawing was stopped by the user.
    Cancelled { ticket: u64 },
}
