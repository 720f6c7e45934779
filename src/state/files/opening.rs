//! Turns opened files into layers.

use crate::data::appearance::{ColourMap, LineStyle};
use crate::data::{AffineSource, Gradients, Volume};
use crate::io::{Reading, Remark};
use crate::jobs::Folder;
use crate::solvers::tensor_fit;
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::notices::{Severity, Topic};
use crate::state::core::slice_turn::SliceTurn;
use crate::state::core::text::{counted, file_stem};
use crate::state::edit::edit;
use crate::state::files::jobs::SAVE;
use crate::state::files::jobs::open::{Loaded, OpenFile, OpenedFile};
use crate::state::files::types::{JustOpened, Recent, RecentKind};
use crate::state::origin::Origin;
use crate::state::tensors::types::OfferedMask;
use crate::state::{Camera, Document, Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of files that the first page lists.
const RECENT: usize = 8;

/// Description of a layer before it is added.
pub(in crate::state) struct NewLayer {
    pub name: String,
    pub content: Content,
    pub origin: Origin,
    pub notes: Vec<Remark>,
}

/// Shows a remark about a file, with the place in the window where it can be answered.
fn notify(state: &mut State, note: &Remark, path: &Path, reading: &Reading) {
    let (path, severity) = (path.display(), Severity::from(note));
    if !note.is_about_distributions() {
        return state.runtime.notify(severity, format!("{note}: {path}"));
    }
    let advice = match reading.distributions {
        Some(_) => "Compare bases in the task View ranks others",
        None => {
            "choose their basis and axes at Harmonics in the task View, or click Compare bases there"
        }
    };
    let text = format!("{note}; {advice}: {path}");
    let topic = Topic::DistributionsOpened;
    state.runtime.notify_about(topic, severity, text);
}

/// States that the streamlines of a large file stay there.
fn report_in_place(state: &mut State, content: &Content, path: &Path) {
    if let Content::InPlace(lines) = content {
        let sentence = format!(
            "{} stay in their file, which is large for the memory: the views draw some of them; the filter, density, \
             matrix and export use all: {}",
            counted(lines.file.len(), "streamline"),
            path.display()
        );
        state.runtime.notify(Severity::Information, sentence);
    }
}

pub fn opened(state: &mut State, file: OpenedFile, effects: &mut Vec<Effect>) {
    let OpenedFile {
        path,
        loaded,
        reading,
        notes,
        companion_mask,
        gradients_refused: _,
    } = file;
    let name = file_stem(&path);
    let first = state.document.is_empty();
    let lines_alone = state.document.lines_alone().is_some();
    for note in &notes {
        notify(state, note, &path, &reading);
    }
    if matches!(&loaded, Loaded::Tractogram(lines) if lines.is_empty()) {
        let text = format!("The file holds no streamlines: {}", path.display());
        state.runtime.notify(Severity::Information, text);
    }
    let kind = match &loaded {
        Loaded::Tractogram(_) | Loaded::InPlace(_) => RecentKind::Streamlines,
        _ => RecentKind::Image,
    };
    let summary = match &loaded {
        Loaded::Scan { dwi, gradients, .. } => scan_summary(dwi, gradients.as_deref()),
        Loaded::Image(volume) => match &volume.fixels {
            Some(fixels) => counted(fixels.count, "fixel"),
            None => grid_summary(volume),
        },
        Loaded::Mask(mask) => format!("{} inside", counted(mask.count(), "voxel")),
        Loaded::Tractogram(tractogram) => counted(tractogram.len(), "streamline"),
        Loaded::InPlace(lines) => counted(lines.file.len(), "streamline"),
    };
    let mut origin = Origin::opened(path.clone(), reading);
    let mut b_range = None;
    let content = match loaded {
        Loaded::Scan {
            dwi,
            gradients,
            gradient_files,
        } => {
            b_range = gradients
                .as_deref()
                .map(tensor_fit::Params::default_b_range);
            state.runtime.tensors.offered_mask = companion_mask.map(|path| OfferedMask {
                scan: dwi.id(),
                path,
                requested: false,
            });
            origin = origin.with_gradients(gradient_files);
            Content::Scan { dwi, gradients }
        }
        Loaded::Image(volume) => Content::Image(volume),
        Loaded::Mask(mask) => Content::Mask(mask),
        Loaded::Tractogram(tractogram) => Content::Tractogram(tractogram),
        Loaded::InPlace(lines) => Content::InPlace(lines),
    };
    let new = NewLayer {
        name: name.clone(),
        content,
        origin,
        notes,
    };
    report_in_place(state, &new.content, &path);
    if let Some(known) = already_open(&state.document, &new) {
        let sentence = format!(
            "The file is already open as “{known}”; it was opened once more as another layer: {}",
            path.display()
        );
        state.runtime.notify(Severity::Information, sentence);
    }
    let together = std::mem::take(&mut state.runtime.files.opened_together);
    if b_range.is_some() {
        // Messages about the previous scan.
        state.runtime.forget(Topic::MaskOnOtherGrid);
    }
    let mut passed_over = None;
    let before = state.document.clone();
    let session = state.runtime.sessions.opened.clone();
    let is_of_session = |scan: &Path| {
        let mut files = session.iter().flat_map(|session| &session.files);
        files.any(|file| file.path == scan)
    };
    add(state, new, |document, id| {
        if let Some(b_range) = b_range {
            document.fit.b_range_s_per_mm2 = b_range;
        }
        passed_over = choose_mask(document, id, &together, is_of_session);
    });
    state.runtime.files.opened_together = together;
    // With a mask chosen by the user, the fit differs from that after reopening the scan.
    let adjacent = state.runtime.tensors.offered_mask.as_mut();
    let taken = adjacent.filter(|b| b.requested && b.path == path);
    match taken {
        Some(adjacent) => adjacent.requested = false,
        None => {
            let base = Arc::make_mut(&mut state.runtime.sessions.base);
            base.follow_fit(&before, &state.document);
        }
    }
    if let Some(sentence) = passed_over {
        let topic = Topic::MaskOnOtherGrid;
        state
            .runtime
            .notify_about(topic, Severity::Information, sentence);
    }
    if first {
        state.document.name = name;
        show_first(state);
        state.history.clear();
    } else if lines_alone && state.document.lines_alone().is_none() {
        // Frames the head around the streamlines.
        crate::state::edit::frame_all(state);
    }
    remember(state, path, kind, summary, effects);
    state.runtime.files.just_opened = Some(JustOpened { is_first: first });
}

/// The layer that shows the file of a new layer; `None` where the new layer takes its place.
fn already_open<'a>(document: &'a Document, new: &NewLayer) -> Option<&'a str> {
    let Origin::File { file, .. } = &new.origin else {
        return None;
    };
    let shows = |l: &&Arc<Layer>| {
        let own = document.origin(l);
        let same = matches!(own, Origin::File { file: known, .. } if known == file);
        same && !replaces(document, (&new.content, &new.origin), l)
    };
    let known = document.layers.iter().find(shows);
    known.map(|l| l.name.as_str())
}

/// Whether a new layer takes the place of a layer of the same file: a scan does, and so does another reading.
fn replaces(document: &Document, (content, origin): (&Content, &Origin), old: &Layer) -> bool {
    let Origin::File { file, .. } = origin else {
        return false;
    };
    let scans = [&old.content, content].map(|c| matches!(c, Content::Scan { .. }));
    let reading = |origin: &Origin| match origin {
        Origin::File {
            reading, gradients, ..
        } => Some(!reading.is_empty()).filter(|_| gradients.is_empty()),
        _ => None,
    };
    let same_reading = reading(document.origin(old)).is_some() && reading(origin) == Some(true);
    (scans == [true; 2] || same_reading) && document.path(old) == Some(file.as_path())
}

/// Opens the mask file next to the scan as the fit's mask.
pub fn take_offered_mask(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(path) = state.offered_mask().cloned() else {
        return;
    };
    if let Some(mask) = &mut state.runtime.tensors.offered_mask {
        mask.requested = true;
    }
    let scan = state.document.scan();
    let scan = scan.and_then(|l| state.document.path(l).map(Path::to_owned));
    state.runtime.files.opened_together = scan.into_iter().chain([path.clone()]).collect();
    let open = OpenFile::new(path).staying(state.runtime.files.stay);
    effects.push(Effect::submit(open));
}

/// A folder with data sets: a single visit is opened; with several, the user is asked.
pub fn open_folder(state: &mut State, folder: Folder, effects: &mut Vec<Effect>) {
    if let Some(first) = folder.unreadable.first() {
        let text = format!(
            "{} in the data set cannot be read, so files are missing; grant permission to read it: {}",
            counted(folder.unreadable.len(), "folder"),
            first.display()
        );
        state.runtime.notify(Severity::Warning, text);
    }
    let visits = folder.visits();
    state.runtime.files.folder = Some(Arc::new(folder));
    if visits.len() < 2 {
        open_visit(state, 0, effects);
    }
}

/// Opens the files of one visit of a folder, and reports its other files.
pub fn open_visit(state: &mut State, number: usize, effects: &mut Vec<Effect>) {
    let Some(folder) = state.runtime.files.folder.take() else {
        return;
    };
    let visits = folder.visits();
    let Some(visit) = visits.get(number) else {
        return;
    };
    let chosen = folder.chosen(visit);
    let kinds: Vec<&str> = chosen.iter().map(|f| f.kind.name()).collect();
    let mut text = format!("Opened from the folder: {}", kinds.join(", "));
    let name = visit.name();
    if !name.is_empty() {
        text += &format!(" of {name}");
    }
    let left = folder.files_of(visit).count() - chosen.len();
    if left > 0 {
        text += &format!("; {} can be opened by name", counted(left, "more file"));
    }
    let text = format!("{text}: {}", folder.path.display());
    state.runtime.notify(Severity::Information, text);
    state.runtime.files.opened_together = chosen.iter().map(|f| f.path.clone()).collect();
    for file in chosen {
        // Files next to the scan are found anyway, and the recipe stays short.
        let own = file.path.parent();
        let inherited = file.gradients.iter().any(|g| g.parent() != own);
        let gradients = match inherited {
            true => file.gradients.clone(),
            false => Vec::new(),
        };
        let path = file.path.clone();
        let open = OpenFile::with_gradients(path, gradients).staying(state.runtime.files.stay);
        effects.push(Effect::submit(open));
    }
}

/// Chooses an opened mask for the fit if the intention is clear: before anything is fitted, or if it was opened
/// together with the scan. A session has chosen the mask of its scan. Returns a sentence about a mask on another grid.
fn choose_mask(
    document: &mut Document,
    new: LayerId,
    together: &[PathBuf],
    is_of_session: impl Fn(&Path) -> bool,
) -> Option<String> {
    let scan = document.scan()?.clone();
    let grid = &scan.content.volume()?.grid;
    let mut candidates: Vec<Arc<Layer>> = document.layers.iter().rev().cloned().collect();
    // A new scan considers the masks that were opened before it.
    candidates.retain(|l| l.id == new || (new == scan.id && document.chosen_mask().is_none()));
    let joined = |l: &Layer| {
        let path = document.path(l);
        path.is_some_and(|path| together.iter().any(|p| p == path))
    };
    let is_open = document.tensors.is_none() && !document.path(&scan).is_some_and(is_of_session);
    let meant = |l: &Layer| is_open || (joined(l) && joined(&scan));
    let mut passed_over = None;
    for layer in candidates.iter().filter(|l| meant(l)) {
        let plain = document.origin(layer).is_plain_file();
        let (Content::Mask(mask), Some(path), true) = (&layer.content, document.path(layer), plain)
        else {
            continue;
        };
        if document.can_be_fit_mask(layer) {
            // The largest of several is that of the brain; the others lie within it.
            let chosen = document.chosen_mask().map_or(0, |(_, m)| m.count());
            if mask.count() > chosen {
                document.fit_mask = Some(layer.id);
            }
            return None;
        }
        let difference = mask.grid.difference_from_scan(grid);
        passed_over = Some(format!(
            "The mask lies on another grid than the scan ({difference}), so the fit does not use it; \
             make a brain mask on the scan's grid: {}",
            path.display()
        ));
    }
    passed_over
}

fn grid_summary(volume: &Volume) -> String {
    let [x, y, z] = volume.grid.shape;
    let frames = if volume.frames > 1 {
        format!(" × {}", volume.frames)
    } else {
        String::new()
    };
    format!("{x} × {y} × {z}{frames}")
}

fn scan_summary(dwi: &Volume, gradients: Option<&Gradients>) -> String {
    let shells = gradients.map_or("no gradients".to_owned(), Gradients::summary);
    format!("{}, {shells}", grid_summary(dwi))
}

pub fn remember(
    state: &mut State,
    path: PathBuf,
    kind: RecentKind,
    summary: String,
    effects: &mut Vec<Effect>,
) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let opened = now.map_or(0, |d| d.as_secs());
    let recent = &mut state.runtime.files.recent;
    let before = recent.iter().position(|r| r.path == path);
    let window = before.and_then(|at| recent.remove(at).window);
    recent.insert(
        0,
        Recent {
            path,
            kind,
            summary,
            opened,
            window,
        },
    );
    state.runtime.files.recent.truncate(RECENT);
    effects.push(Effect::Store);
}

/// Stores the window of a file for the next time it is opened.
pub fn remember_window(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    let Some(layer) = state.document.layer(layer) else {
        return;
    };
    let (path, window) = (state.document.path(layer), Some(layer.display.window));
    let mut recent = state.runtime.files.recent.iter_mut();
    let Some(recent) = recent.find(|r| path == Some(&r.path)) else {
        return;
    };
    if recent.window != window && layer.content.volume().is_some() {
        recent.window = window;
        effects.push(Effect::Store);
    }
}

/// Shows the new data first. The export folder of the previous document is not reused.
pub(in crate::state) fn show_first(state: &mut State) {
    state.runtime.files.exports.folder = None;
    state.view.turn = SliceTurn::STRAIGHT;
    let (low, high) = state.document.bounds();
    crate::state::edit::look_at_middle(state, (low, high));
    state.view.camera = Camera::framing(low, high);
    crate::state::edit::frame_all(state);
}

/// Adds a layer on top as one step, with related changes. A scan that is reopened, this time with its gradients,
/// replaces the old one, and so does a file with a new reading.
pub(in crate::state) fn add(
    state: &mut State,
    new: NewLayer,
    then: impl FnOnce(&mut Document, LayerId),
) {
    let NewLayer {
        name,
        content,
        origin,
        mut notes,
    } = new;
    let path = match &origin {
        Origin::File { file, .. } => Some(file.clone()),
        _ => None,
    };
    let mut layers = state.document.layers.iter();
    let ground = layers.find_map(|l| l.content.volume());
    let first = ground.is_none() && content.volume().is_some();
    let display = match &content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => {
            if volume.grid.source == AffineSource::Pixdim {
                let sentence = "The file has neither sform nor qform: left and right unknown";
                notes.push(sentence.to_owned().into());
            }
            let mut recent = state.runtime.files.recent.iter();
            let known = recent.find(|r| path.as_ref() == Some(&r.path));
            let known = known
                .and_then(|r| r.window)
                .filter(|(low, high)| low < high);
            let default_value = || match &volume.fixels {
                Some(fixels) => fixels.window,
                None => volume.percentiles(0, 0.01, 0.99),
            };
            let display = display::image_display(known.unwrap_or_else(default_value));
            let display = match volume.fixels {
                Some(_) => Display {
                    colour_map: ColourMap::Viridis,
                    ..display
                },
                None => display,
            };
            match volume.labels.is_some() && !state.document.is_empty() {
                true => Display {
                    opacity: display::LABEL_OPACITY,
                    ..display
                },
                false => display,
            }
        }
        Content::Mask(_) if ground.is_none() => display::mask_alone(),
        Content::Mask(_) => display::mask_display(),
        Content::Tractogram(_) => state.document.track.streamline_display.clone(),
        // Drawing that many streamlines as tubes takes long.
        Content::InPlace(_) => Display {
            line_style: LineStyle::Lines { width_px: 1.5 },
            ..state.document.track.streamline_display.clone()
        },
    };
    let mut opened = None;
    edit(state, "Open", false, |document| {
        let is_replaced = |l: &Arc<Layer>| replaces(document, (&content, &origin), l);
        let old = document.layers.iter().position(is_replaced);
        let (id, at, display, file_change) = match old.map(|at| (at, document.layers.remove(at))) {
            Some((at, old)) => {
                let display = Display {
                    visible: old.display.visible,
                    opacity: old.display.opacity,
                    ..display
                };
                (old.id, at, display, old.file_change.clone())
            }
            None => {
                let id = LayerId(document.fresh_id());
                (id, document.layers.len(), display, None)
            }
        };
        let covers = content.volume().is_some_and(|v| v.fixels.is_none());
        let name = document.free_layer_name(&name);
        let layer = Layer {
            notes,
            file_change,
            ..Layer::new(id, name, content, display, document.origins.add(origin))
        };
        document.layers.insert(at, Arc::new(layer));
        // In either order of opening: masks do not hide an image unless the user wants it.
        for mask in document.layers.iter_mut().filter(|_| first) {
            if mask.display == display::mask_alone() {
                Arc::make_mut(mask).display = display::mask_display();
            }
        }
        // The contour of a surface must lie on the image in which it grows.
        if covers && document.segment.image.is_some() {
            document.show_segmented_image();
        } else if covers {
            document.segment.image_alone = false;
        }
        then(document, id);
        opened = Some(id);
    });
    if let Some(opened) = opened {
        report_hidden(state, opened);
        show_fixels(state, opened);
    }
}

/// The user opens fixels to see them: their lines are shown.
fn show_fixels(state: &mut State, opened: LayerId) {
    let layer = state.document.layer(opened);
    let volume = layer.and_then(|layer| layer.content.volume());
    if volume.is_none_or(|volume| volume.fixels.is_none()) {
        return;
    }
    state.view.glyphs = state.view.glyphs.showing_peaks_of(opened);
}

/// The user opens an image to see it: why Segment does not show it.
fn report_hidden(state: &mut State, opened: LayerId) {
    let opened = state.document.layer(opened);
    let is_image = |layer: &Layer| {
        let volume = layer.content.volume();
        volume.is_some_and(|volume| volume.fixels.is_none())
    };
    let opened = opened.filter(|layer| is_image(layer) && layer.display.visible);
    let (Some(image), Some(opened)) = (state.image_alone(), opened) else {
        return;
    };
    if opened.id != image
        && let Some(segmented) = state.document.layer(image)
    {
        let sentence = format!(
            "Opened {}; Segment still shows {}, the image to segment",
            opened.name, segmented.name
        );
        state.runtime.notices.status = sentence.into();
    }
}

/// An export has started: the next one goes to the same folder, in the same format.
pub fn exported(state: &mut State, what: &str, path: &Path, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(SAVE);
    let before = state.runtime.files.exports.clone();
    state
        .runtime
        .files
        .paths
        .exports_before
        .get_or_insert(before);
    state.runtime.files.exports.remember(what, path);
    effects.push(Effect::Store);
}

/// The export failed: its folder is not suggested again, and the status line repeats the message.
pub fn export_failed(state: &mut State, why: &str, effects: &mut Vec<Effect>) {
    state.runtime.notices.status = format!("Not saved: {why}").into();
    if let Some(before) = state.runtime.files.paths.exports_before.take() {
        state.runtime.files.exports = before;
        effects.push(Effect::Store);
    }
}
