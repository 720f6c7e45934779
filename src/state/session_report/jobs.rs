//! Writing a report: the figures are computed by the same functions as in the panels and the commands.

mod contents;
mod pathways;
mod regions;
mod streamlines;

use crate::compute::Control;
use crate::io::html::{Column, Page, PagePicture};
use crate::io::text::counted;
use crate::jobs::{JobError, Saved, Worker};
use crate::state::State;
use crate::state::core::pane::Pane;
use crate::state::files::jobs::{WriteFile, saved};
use crate::state::session_report::ReportPicture;
use crate::state::session_report::parameters::{commands, parameter_tables};
use crate::state::view::{STRAIGHT_DEG, nearest_axis, tilt_deg};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Parts of a report, in which its progress is stated.
const PARTS: u64 = 6;

/// Computes the figures of a session and writes its report.
#[derive(Clone, Debug)]
pub struct SaveReport {
    pub path: PathBuf,
    /// The methods paragraph with the works that it cites.
    pub methods: String,
    pub state: Arc<State>,
    pub pictures: Vec<ReportPicture>,
}

/// The parts of a page, and the means of computing them.
struct Report<'a> {
    page: Page,
    state: &'a State,
    worker: &'a Worker,
    control: &'a Control,
}

impl WriteFile for SaveReport {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, worker: &Worker, control: &Control) -> Result<Saved, JobError> {
        let state = &*self.state;
        let name = match state.document.name.as_str() {
            "" => "Session",
            name => name,
        };
        let mut report = Report {
            page: Page::new(&format!("Report of {name}")),
            state,
            worker,
            control,
        };
        control.begin("Writing the report", PARTS);
        report.disclaimer();
        report.contents();
        report.pictures(self.pictures)?;
        report.methods(&self.methods);
        report.part()?;
        report.regions()?;
        report.part()?;
        report.streamlines()?;
        report.part()?;
        report.pathways();
        report.part()?;
        report.parameters();
        report.part()?;
        report.files()?;
        report.part()?;
        report.page.save(&self.path)?;
        let layers = counted(state.document.layers.len(), "layer");
        Ok(saved(self.path, format!("report of {layers}"), None))
    }
}

impl Report<'_> {
    /// A part of the report is done.
    fn part(&self) -> Result<(), JobError> {
        self.control.check()?;
        self.control.advance(1);
        Ok(())
    }

    fn disclaimer(&mut self) {
        let version = env!("CARGO_PKG_VERSION");
        let sentence = format!("Written by Arcuate {version}. {}.", crate::io::DISCLAIMER);
        self.page.note(&sentence);
    }

    fn pictures(&mut self, pictures: Vec<ReportPicture>) -> Result<(), JobError> {
        if pictures.is_empty() {
            return Ok(());
        }
        self.page.heading(2, "Pictures");
        let at = self.state.view.crosshair.to_array();
        let [x, y, z] = at.map(|mm| format!("{mm:.1}"));
        let layers = self.state.document.layers.iter();
        let shown: Vec<&str> = layers
            .filter(|l| l.display.visible)
            .map(|l| &*l.name)
            .collect();
        let shown = match shown.is_empty() {
            true => "no layer".to_owned(),
            false => shown.join(", "),
        };
        let mut drawn = Vec::new();
        for picture in pictures {
            let name = self.state.view.slice_name(picture.pane);
            let caption = match picture.pane {
                Pane::Scene => "3-D view".to_owned(),
                _ => format!(
                    "{name} slice{} at {x}, {y}, {z} mm",
                    self.plane_text(picture.pane)
                ),
            };
            let caption = match self.sides_text(picture.pane) {
                Some(sides) => format!("{caption}; {sides}"),
                None => caption,
            };
            match picture.drawn {
                Ok(view) => {
                    let pixels = PagePicture {
                        size: view.size_px,
                        rgba: view.rgba.to_vec(),
                    };
                    drawn.push((pixels, format!("{caption}, with {shown}"), caption));
                }
                Err(sentence) => self
                    .page
                    .note(&format!("{caption}: no picture. {sentence}.")),
            }
        }
        let drawn: Vec<_> = drawn
            .iter()
            .map(|(pixels, description, caption)| (pixels, description.clone(), caption.clone()))
            .collect();
        if !drawn.is_empty() {
            self.page.pictures(&drawn)?;
        }
        Ok(())
    }

    /// The tilt of a slice, for its caption; empty for a straight one.
    fn plane_text(&self, pane: Pane) -> String {
        let view = &self.state.view;
        let normal = view.normal(pane).filter(|_| !view.turn.is_straight());
        let tilt = normal.map(tilt_deg).filter(|tilt| *tilt >= STRAIGHT_DEG);
        tilt.map_or_else(String::new, |tilt| format!(", tilted by {tilt:.1}°,"))
    }

    /// The side of the patient on the left of a picture: its small letters are easily missed.
    fn sides_text(&self, pane: Pane) -> Option<String> {
        let (right, _) = self.state.view.screen_axes(pane)?;
        let axis = nearest_axis(right);
        let is_reversed = right[axis] < 0.0;
        if axis == 0 && self.state.sides_unknown() {
            return Some("the file does not state which side is the patient's left".to_owned());
        }
        let text = match (axis, is_reversed) {
            (0, true) => "radiological: the patient's right is on the left",
            (0, false) => "neurological: the patient's left is on the left",
            (1, true) => "the front of the head is on the left",
            (1, false) => "the front of the head is on the right",
            (_, true) => "the top of the head is on the left",
            (_, false) => "the top of the head is on the right",
        };
        Some(text.to_owned())
    }

    /// Tables of the parameters, and the commands.
    fn parameters(&mut self) {
        self.page.heading(2, "Parameters");
        let columns = ["Parameter", "Value", "Default"].map(Column::text);
        for table in parameter_tables(self.state) {
            self.page.table(&table.name, &columns, &table.rows);
        }
        let all = commands(self.state);
        if all.is_empty() {
            return;
        }
        self.page.heading(3, "Commands");
        let note =
            "Each command recomputes a result from the files; without one, a line states why.";
        self.page.note(note);
        let texts = all.iter().map(|(name, text)| format!("# {name}\n{text}"));
        let texts: Vec<String> = texts.collect();
        self.page.code(&texts.join("\n"));
    }

    fn methods(&mut self, text: &str) {
        self.page.heading(2, "Methods");
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
            self.page.paragraph(line);
        }
    }
}

/// A number with this many decimals; a dash if it is not finite.
fn fixed(value: f64, decimals: usize) -> String {
    match value.is_finite() {
        true => format!("{value:.decimals$}"),
        false => "–".to_owned(),
    }
}
