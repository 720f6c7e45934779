//! A report whose views are being drawn.

use crate::state::State;
use crate::state::session_report::ReportPicture;
use std::path::PathBuf;
use std::sync::Arc;

/// The page that is written once all views are drawn: it shows the state at the time of the request.
#[derive(Clone, Debug)]
pub struct ReportProgress {
    pub path: PathBuf,
    /// The methods paragraph with the works that it cites.
    pub methods: String,
    pub seen: Arc<State>,
    pub pictures: Vec<ReportPicture>,
}

/// The request to draw the views of a report.
#[derive(Clone, Debug)]
pub struct ReportViews {
    pub path: PathBuf,
    pub seen: Arc<State>,
}
