//! The data of a session: layers with their origins, missing parts, files with their checksums.

use super::Report;
use crate::data::text::{count, counted, file_name};
use crate::data::{Grid, Tractogram, VolumeKind};
use crate::io::checksum;
use crate::io::html::Column;
use crate::jobs::JobError;
use crate::state::core::layer::{Content, Layer};
use crate::state::document::Document;
use crate::state::origin::{Origin, Recipe};
use std::path::{Path, PathBuf};

/// The grid of an image in words.
fn grid_text(grid: &Grid) -> String {
    let ([x, y, z], mm) = (grid.shape, grid.spacing());
    format!(
        "{x} × {y} × {z} voxels of {:.2} × {:.2} × {:.2} mm",
        mm.x, mm.y, mm.z
    )
}

/// The kind of a layer, and its size.
fn content_text(content: &Content) -> (&'static str, String) {
    match content {
        Content::Scan { dwi, .. } => (
            "Scan",
            format!(
                "{}, {}",
                grid_text(&dwi.grid),
                counted(dwi.frames, "volume")
            ),
        ),
        Content::Image(volume) => {
            let kind = match (volume.kind, &volume.labels) {
                (VolumeKind::Rgb, _) => "Colour image",
                (_, Some(_)) => "Label map",
                _ => "Image",
            };
            let size = match volume.frames {
                1 => grid_text(&volume.grid),
                n => format!("{}, {}", grid_text(&volume.grid), counted(n, "volume")),
            };
            (kind, size)
        }
        Content::Mask(mask) => {
            let voxels = counted(mask.count(), "voxel");
            ("Mask", format!("{voxels} of {}", grid_text(&mask.grid)))
        }
        Content::Tractogram(lines) => ("Streamlines", size_of_lines(lines)),
        Content::InPlace(lines) => {
            let points = counted(lines.file.point_count(), "point");
            let streamlines = counted(lines.file.len(), "streamline");
            let text = format!("{streamlines}, {points}, read from the file by need");
            ("Streamlines", text)
        }
    }
}

fn size_of_lines(lines: &Tractogram) -> String {
    let points = counted(lines.points.len(), "point");
    format!("{}, {points}", counted(lines.len(), "streamline"))
}

/// Where a layer comes from, in words.
fn origin_text(document: &Document, layer: &Layer) -> String {
    let origins = &document.origins;
    let base = match origins.base(layer.origin) {
        Origin::File { file, .. } => file.display().to_string(),
        Origin::Phantom { head, .. } => {
            format!(
                "built-in phantom: {}, seed {}",
                head.kind.label(),
                head.seed
            )
        }
        Origin::Computed(recipe) => computed_text(recipe).to_owned(),
        _ => "unknown".to_owned(),
    };
    let mut text = base;
    let steps = document.edits(layer.id).len();
    if steps > 0 {
        text += &format!("; edited in {}", counted(steps, "step"));
    }
    if document.moved(layer.id).is_some() {
        text += "; moved by a transform";
    }
    text
}

fn computed_text(recipe: &Recipe) -> &'static str {
    match recipe {
        Recipe::BrainMask(_) => "brain mask found from the scan",
        Recipe::Fit(_) => "tensor fit",
        Recipe::FitMap(_) => "map of the tensor fit",
        Recipe::Fods(_) => "fibre orientation distributions",
        Recipe::FodMap(_) => "map of the fibre orientation distributions",
        Recipe::Curves(_) => "tracked here",
        Recipe::Density(_) => "density of streamlines",
        Recipe::Segment(_) => "segmented by a level set",
        Recipe::Sensitivity(_) => "sensitivity of a pathway",
        Recipe::Share(_) => "share of the repetitions of a pathway",
        Recipe::StreamlineShare(_) => "share of the repetitions of streamlines",
        Recipe::Weights(_) => "COMMIT fit",
        Recipe::WeightMap(_) => "map of a COMMIT fit",
    }
}

impl Report<'_> {
    /// The layers, and the parts of the session that are missing.
    pub(super) fn contents(&mut self) {
        let document = &self.state.document;
        self.page.heading(2, "Data");
        let row = |layer: &Layer| {
            let (kind, size) = content_text(&layer.content);
            let shown = if layer.display.visible { "yes" } else { "no" };
            let origin = origin_text(document, layer);
            vec![
                layer.name.clone(),
                kind.to_owned(),
                size,
                origin,
                shown.to_owned(),
            ]
        };
        let mut rows: Vec<_> = document.layers.iter().map(|l| row(l)).collect();
        let columns = ["Layer", "Kind", "Size", "Origin", "Shown"].map(Column::text);
        let mut caption = counted(document.layers.len(), "layer") + ", from the bottom to the top";
        if let Some(live) = self.state.final_live() {
            let shown = match document.live_display().visible {
                true => "yes",
                false => "no",
            };
            let name = document.track.method.live_name();
            let size = size_of_lines(&live.output.kept);
            let texts = [
                name,
                "Streamlines",
                &size,
                "tracked here, not kept as a layer",
                shown,
            ];
            rows.push(texts.map(str::to_owned).into());
            caption += ", and the live result";
        }
        self.page.table(&caption, &columns, &rows);
        let layers = document.missing_layers().map(|missing| {
            format!(
                "The layer “{}” is missing. {}.",
                missing.layer.name, missing.reason
            )
        });
        let parts = document.missing_parts().map(|missing| {
            let label = missing.part.label();
            format!("Not restored: {label}, since {}.", missing.reason)
        });
        let missing: Vec<String> = layers.chain(parts).collect();
        if !missing.is_empty() {
            self.page.heading(3, "Missing parts");
            self.page.list(&missing);
        }
        let changes = document.file_changes();
        if !changes.is_empty() {
            self.page
                .heading(3, "Files that changed after the session was saved");
            self.page.list(&changes);
        }
    }

    /// The files that were read, with their checksums, and the versions.
    pub(super) fn files(&mut self) -> Result<(), JobError> {
        self.page.heading(2, "Versions and checksums");
        let backend = &self.state.runtime.device.backend.label;
        let program = format!("Arcuate {}", env!("CARGO_PKG_VERSION"));
        let rows = [("Program", program), ("Computed on", backend.clone())];
        let rows = rows.map(|(name, value)| vec![name.to_owned(), value]);
        let columns = ["Version", "Value"].map(Column::text);
        self.page.table("Versions", &columns, &rows);
        let mut rows = Vec::new();
        for path in self.paths() {
            self.control.check()?;
            rows.push(self.file_row(&path)?);
        }
        if rows.is_empty() {
            self.page.note("The session reads no file.");
            return Ok(());
        }
        let columns = ["File", "Folder", "SHA-256"].map(Column::text);
        self.page.table("Files that were read", &columns, &rows);
        self.page.note(
            "A line “checksum  file” of these values is checked by sha256sum --check; the sum of a folder is that of its \
             files in the order of their names.",
        );
        Ok(())
    }

    /// The files of the session and of its layers, each once, with the gradients that belong to scans.
    fn paths(&self) -> Vec<PathBuf> {
        let document = &self.state.document;
        let session = self.state.runtime.sessions.file.clone();
        let mut paths: Vec<PathBuf> = session.into_iter().collect();
        for layer in &document.layers {
            if let Origin::File {
                file, gradients, ..
            } = document.origins.base(layer.origin)
            {
                paths.push(file.clone());
                paths.extend(gradients.iter().cloned());
            }
        }
        let mut known = std::collections::BTreeSet::new();
        paths.retain(|path| known.insert(path.clone()));
        paths
    }

    /// The name, the folder and the checksum of a file; a sentence in place of the checksum if it cannot be read.
    fn file_row(&self, path: &Path) -> Result<Vec<String>, JobError> {
        let sum = match checksum::of_file(path, &self.control.silent()) {
            Ok(sum) => sum,
            Err(error) => {
                self.control.check()?;
                format!("no checksum: {error}")
            }
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(vec![file_name(path), folder.display().to_string(), sum])
    }
}

/// A number of things, for tables.
pub(super) fn number(n: usize) -> String {
    count(n as u64)
}
