//! `arcuate report`: the report of a session as a page.

use super::headless::Headless;
use super::options::SessionOptions;
use super::output::shown;
use super::pictures::Pictures;
use super::runner::{Failure, Runner};
use crate::data::text::counted;
use crate::state::State;
use crate::state::methods::methods;
use crate::state::session_report::jobs::SaveReport;
use crate::state::session_report::{
    DrawnView, REPORT_PANES, REPORT_PICTURE_POINTS, REPORT_PICTURE_SCALE, ReportPicture,
};
use glam::DVec2;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate report tracts.arcuate
  arcuate report tracts.arcuate --out report.html --look-in /data/sub-01

Writes one page that a browser opens without a network: the layers with their origins, pictures of the three slices and
of the 3-D view, the methods paragraph, tables of regions, streamlines, bundles and pathways, the profile of each bundle,
connections of labels, parameters, commands, versions and checksums. In the window, it is in the File menu.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    pub from: SessionOptions,
    /// Page to write (.html) [default: the name of the session, with .html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Leave out the pictures
    #[arg(long)]
    pub no_pictures: bool,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let session = &options.from.session;
    let default = || session.with_extension("html");
    let out = options.out.clone().unwrap_or_else(default);
    let is_page = out
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"));
    if !is_page {
        return Err(Failure::usage(format!(
            "Reports are written as HTML, expected a name ending in .html: {}",
            out.display()
        )));
    }
    runner.may_make(&out)?;
    let mut window = Headless::new(runner);
    window.open_session(session, &options.from.look.look_in, false)?;
    window.report_warnings();
    let state = window.state;
    let pictures = match options.no_pictures {
        true => Vec::new(),
        false => pictures(&state),
    };
    let without: Vec<&ReportPicture> = pictures.iter().filter(|p| p.drawn.is_err()).collect();
    if let Some(Err(sentence)) = without.first().map(|picture| &picture.drawn) {
        warning!(
            "The report lacks {}: {sentence}",
            counted(without.len(), "picture")
        );
    }
    let drawn = pictures.len() - without.len();
    let layers = state.document.layers.len();
    let (_, wall_ms) = runner.run(SaveReport {
        path: out.clone(),
        methods: methods(&state),
        state: Arc::new(state),
        pictures,
    })?;
    let report = json!({
        "command": "report", "session": session, "file": out, "layers": layers, "pictures": drawn, "wall_ms": wall_ms,
    });
    runner.report(&report, &shown(&out));
    Ok(())
}

/// The views of a report; each without a picture states why.
fn pictures(state: &State) -> Vec<ReportPicture> {
    let mut drawer = Pictures::new();
    let [width, height] = REPORT_PICTURE_POINTS.map(f64::from);
    let look = (DVec2::new(width, height), REPORT_PICTURE_SCALE, false);
    let view = |pane| {
        let picture = match &mut drawer {
            Ok(drawer) => drawer.draw(state, Some(pane), look),
            Err(failure) => Err(Failure::new(failure.sentence.clone())),
        };
        let drawn = picture.map(|picture| DrawnView {
            size_px: picture.size_px,
            rgba: picture.rgba.into(),
        });
        ReportPicture {
            pane,
            drawn: drawn.map_err(|failure| failure.sentence),
        }
    };
    REPORT_PANES.map(view).into()
}
