//! Files that are opened together: gradients belong to their scan, a colour table to its label map, and every other file
//! becomes a layer.

use crate::io::Format;
use crate::state::core::layer::{Content, Layer};
use crate::state::core::text::file_name;
use crate::state::files::jobs::open::OpenFile;
use crate::state::{Effect, Reading, Severity, State};
use std::path::PathBuf;
use std::sync::Arc;

/// Opens files that contain no session.
pub(in crate::state) fn open_together(
    state: &mut State,
    paths: Vec<PathBuf>,
    effects: &mut Vec<Effect>,
) {
    let (mut gradients, files): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|p| Format::is_gradients(p));
    // bval before bvec, as every reader of the pair expects.
    gradients.sort_by_key(|p| {
        p.extension()
            .is_none_or(|e| !e.to_string_lossy().starts_with("bval"))
    });
    if files.is_empty() && !gradients.is_empty() {
        let scans = || {
            let layers = state.document.layers.iter().rev();
            layers.filter_map(|l| match (&l.content, state.document.path(l)) {
                (Content::Scan { gradients, .. }, Some(path)) => Some((gradients, path)),
                _ => None,
            })
        };
        // The one that waits for them, else the topmost.
        let waiting = scans().find(|(gradients, _)| gradients.is_none());
        match waiting.or_else(|| scans().next()) {
            Some((_, path)) => {
                let path = path.to_owned();
                effects.push(Effect::submit(OpenFile::with_gradients(path, gradients)));
            }
            None => state.runtime.notify(
                Severity::Error,
                "Gradient files need a scan: open the scan first, or drop both together",
            ),
        }
        return;
    }
    let (tables, files): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|p| Format::may_be_colour_table(p));
    for table in tables {
        open_colours(state, table, effects);
    }
    state.runtime.files.opened_together.clone_from(&files);
    for path in files {
        let open = OpenFile::with_gradients(path, gradients.clone());
        effects.push(Effect::submit(open.staying(state.runtime.files.stay)));
    }
}

/// Gives the topmost image that can be a label map its names and colours.
fn open_colours(state: &mut State, table: PathBuf, effects: &mut Vec<Effect>) {
    let layers = || state.document.layers.iter().rev();
    let image = |l: &&Arc<Layer>| matches!(&l.content, Content::Image(v) if v.frames == 1);
    let labelled = |l: &&Arc<Layer>| l.content.volume().is_some_and(|v| v.labels.is_some());
    let selected = state.runtime.selected_layer;
    let is_file = |l: &Layer| state.document.path(l).is_some();
    let chosen = layers()
        .filter(image)
        .find(|l| Some(l.id) == selected && is_file(l))
        .or_else(|| layers().filter(image).find(|l| labelled(l) && is_file(l)));
    match chosen.and_then(|l| state.document.path(l)) {
        Some(path) => {
            let path = path.to_owned();
            let reported = Reading {
                colours: Some(table),
                ..Reading::default()
            };
            effects.push(Effect::submit(OpenFile::with_reading(path, reported)));
        }
        None => state.runtime.notify(
            Severity::Error,
            format!(
                "Found “{}”, expected a scan, an image, streamlines or a session; a colour table needs an open label \
                 map: open that first, and select its layer",
                file_name(&table)
            ),
        ),
    }
}
