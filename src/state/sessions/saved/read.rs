//! From a session to the state.

use crate::data::BuiltInPhantom;
use crate::data::axis_change::AxisChange;
use crate::io::Remark;
use crate::parameters;
use crate::solvers::tractogram::selection::Edit;
use crate::state::core::layer::{Content as DocumentContent, Layer, LayerId, OriginId};
use crate::state::density::quantity;
use crate::state::document::Rays;
use crate::state::files::jobs::open::Loaded;
use crate::state::origin::{Origin, Origins, PhantomPart};
use crate::state::sessions::jobs::{LayerToRestore, RestoredLayer, RestoredLayers};
use crate::state::sessions::saved::origins::{ResolvedOrigins, edits};
use crate::state::sessions::saved::{
    AwaitedLayers, Content, MissingItem, MissingLayer, SavedDocument, SavedLayer, SavedOrigin,
    Table, alignment, changed_file, density, filter, fods, missing_parts, pathways, regions,
    result_name, segment, snapshots, stored,
};
use crate::state::sessions::types::file::Parse;
use crate::state::sessions::{FileComparison, NotRestored, ParseError, ReadSession};
use crate::state::snapshots::MAXIMUM_SNAPSHOTS;
use crate::state::view::SliceCamera;
use crate::state::{Camera, Document, Slab, Tool, View};
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Parses the content of a session's file; nothing is read for its layers yet.
pub fn parse(text: Value) -> Parse {
    let content =
        Content::deserialize(&text).map_err(|e| ParseError::Json(crate::io::json::problem(&e)))?;
    // Far below overflow.
    const MAXIMUM_ID: u64 = 1 << 53;
    let snapshots = content.snapshots.iter().map(|s| &s.document);
    for document in snapshots.chain([&content.document]) {
        let mut ids = BTreeSet::new();
        let mut layers = document.layers.iter();
        if !layers.all(|l| l.id < MAXIMUM_ID && ids.insert(l.id)) {
            return Err(ParseError::LayerNumbers);
        }
    }
    if content.snapshots.len() > MAXIMUM_SNAPSHOTS {
        return Err(ParseError::Snapshots(content.snapshots.len()));
    }
    let known = serde_json::to_value(&content).unwrap_or(Value::Null);
    let unknown = crate::io::json::unknown(&text, &known);
    Ok((Arc::new(content), unknown))
}

/// Files that must be read, by the layers' numbers.
pub type Items = Vec<(u64, LayerToRestore)>;
/// Layers that cannot be read, and why.
pub type Missing = Vec<(u64, NotRestored)>;

/// Files that must be read for a session's layers, and the layers that cannot be read, with the reasons.
pub fn items(content: &Content, read: &ReadSession) -> (Items, Missing) {
    let (mut items, mut unreadable) = (Vec::new(), Vec::new());
    let table = Table::of_content(content);
    for layer in &content.document.layers {
        match item(table, layer, &result_name(layer.id), read) {
            Ok(Some(item)) => items.push((layer.id, item)),
            Ok(None) => {}
            Err(why) => unreadable.push((layer.id, why)),
        }
    }
    let (more, lost) = snapshots::items(content, read);
    items.extend(more);
    unreadable.extend(lost);
    snapshots::add_moves(content, &mut items);
    (items, unreadable)
}

/// A session's file, if it exists.
fn file(read: &ReadSession, number: usize) -> Result<PathBuf, NotRestored> {
    let file = read.files.get(number);
    let file = file.ok_or(NotRestored::NoFile(number))?;
    match &file.standing {
        FileComparison::Missing(why) => Err(NotRestored::MissingFile {
            why: why.clone(),
            path: file.path.clone(),
        }),
        FileComparison::Same | FileComparison::Changed(_) => Ok(file.path.clone()),
    }
}

fn files(read: &ReadSession, numbers: &[usize]) -> Result<Vec<PathBuf>, NotRestored> {
    numbers.iter().map(|n| file(read, *n)).collect()
}

/// `name`: the name of its streamlines, if they are stored next to the session.
pub(in crate::state) fn item(
    table: Table,
    layer: &SavedLayer,
    name: &str,
    read: &ReadSession,
) -> Result<Option<LayerToRestore>, NotRestored> {
    let base = table.base(layer.origin);
    let base = base.ok_or(NotRestored::NoOrigin(layer.origin))?;
    Ok(match base {
        SavedOrigin::File {
            file: number,
            gradients,
            reading,
        } => Some(LayerToRestore::File {
            path: file(read, *number)?,
            gradients: files(read, gradients)?,
            reading: reading.reading(|n| file(read, n))?,
            edits: edits(read, &table.steps(layer.origin))?,
            moves: table
                .moved(layer.origin)
                .map(|(by, _)| by)
                .into_iter()
                .collect(),
            entry: None,
        }),
        SavedOrigin::Phantom { kind, seed, .. } => {
            let (kind, seed) = (*kind, *seed);
            let head = BuiltInPhantom { kind, seed };
            Some(LayerToRestore::Head { head })
        }
        SavedOrigin::BrainMask { .. }
        | SavedOrigin::FitMap { .. }
        | SavedOrigin::FodMap { .. }
        | SavedOrigin::Segment(_)
        | SavedOrigin::Sensitivity(_)
        | SavedOrigin::Share(_)
        | SavedOrigin::StreamlineShare { .. }
        | SavedOrigin::WeightMap { .. } => None,
        SavedOrigin::Density(saved) => {
            let map = density::read(saved)?;
            Some(LayerToRestore::Density {
                layer: map.layer.0,
                streamlines: None,
                transform: map.transform,
                grid: map.grid,
                params: map.params,
            })
        }
        SavedOrigin::Curves(_) => {
            let sum = read.results.iter().find(|r| r.result == name);
            let stored = sum.and_then(|s| Some((s, s.file.as_ref()?)));
            let (sum, stored) = stored.ok_or(NotRestored::RecipeOnly)?;
            let folder = read.path.parent().unwrap_or(std::path::Path::new("/"));
            Some(LayerToRestore::Stored {
                path: folder.join(stored),
                sha256: sum.sha256.clone(),
            })
        }
        SavedOrigin::Fit(_)
        | SavedOrigin::Fods(_)
        | SavedOrigin::Weights(_)
        | SavedOrigin::Edited { .. }
        | SavedOrigin::Moved { .. }
        | SavedOrigin::Reoriented { .. } => return Err(NotRestored::AnotherKind),
    })
}

/// A document of a session, with sentences about changes, and about parts left out, which stay in the session.
pub struct BuiltDocument {
    pub document: Document,
    pub notes: Vec<Remark>,
    pub omitted: Vec<String>,
}

/// A document of a session from what was read for it; documents of one session share the table of origins.
pub fn build(
    origins: &Origins,
    saved: &SavedDocument,
    session: &Arc<ReadSession>,
    restored: RestoredLayers,
    unreadable: Missing,
) -> BuiltDocument {
    let mut notes = Vec::new();
    let mut document = Document::default();
    document.origins = origins.clone();
    fill(&mut document, saved);
    document.distributions.settings = fods::settings(&saved.distributions, session);
    mask_origins(&mut document, session);
    let last = saved.layers.iter().map(|l| l.id).max().unwrap_or(0);
    document.reserve_ids(last + 1);
    let table = Table::new(session);
    let mut missing = unreadable;
    for (id, result) in restored {
        let Some(saved_layer) = saved.layers.iter().find(|l| l.id == id) else {
            continue;
        };
        let moved = table.moved(saved_layer.origin);
        let layer = result.and_then(|result| {
            let moved_curves = moved.map_or(Ok(None), |(by, _)| result.transformed(by))?;
            Ok((
                moved_curves,
                restore(&document.origins, table, saved_layer, result)?,
            ))
        });
        match layer {
            Ok((moved_curves, (layer, message))) => {
                let path = document.path(&layer);
                let path = path.map_or(layer.name.clone(), |p| p.display().to_string());
                notes.extend(message.into_iter().map(|note| note.about(&path)));
                document.layers.push(Arc::new(layer));
                let unmoved =
                    alignment::set_transform(&mut document, LayerId(id), moved, moved_curves).err();
                notes.extend(unmoved.map(|e| Remark::from(e.to_string())));
            }
            Err(reason) => {
                // One sentence names all missing kept results.
                let is_curves =
                    matches!(table.base(saved_layer.origin), Some(SavedOrigin::Curves(_)));
                if !(is_curves && matches!(reason, NotRestored::Gone(_))) {
                    let name = &saved_layer.name;
                    let sentence = format!(
                        "The layer “{name}” is left out and stays in the session: {reason}"
                    );
                    notes.push(sentence.into());
                }
                missing.push((id, reason));
            }
        }
    }
    // Regions report why their masks are missing.
    set_missing(&mut document, &missing, saved, session);
    let regions = regions::add_regions(&mut document, session, saved);
    fods::name_regions(&mut document, &regions);
    let origins = table.resolve(&document, session, saved.layers.iter().map(|l| l.origin));
    for layer in &saved.layers {
        let id = LayerId(layer.id);
        if document.layer(id).is_none() {
            continue;
        }
        let steps = edits(session, &table.steps(layer.origin)).unwrap_or_default();
        record_edits(&mut document, id, &steps);
        if !matches!(table.base(layer.origin), Some(SavedOrigin::Curves(_))) {
            continue;
        }
        match origins.get(table.unedited(layer.origin)) {
            Ok(origin) => {
                let origin = document.origins.edited(origin, &steps);
                document.edit_layer(id, |l| l.origin = origin);
            }
            Err(reason) => {
                notes.push(format!("{} cannot be recomputed: {reason}", layer.name).into());
                let (layer, session) = (layer.clone(), session.clone());
                let layer = Arc::new(MissingLayer {
                    layer,
                    reason: reason.into(),
                    session,
                });
                document.session.add(MissingItem::Origin(layer));
            }
        }
    }
    map_origins(&mut document, table, &origins, saved);
    for layer in &saved.layers {
        let id = LayerId(layer.id);
        let now = file_change(table, layer, session);
        notes.extend(now.clone().map(Remark::from));
        if let Some(change) = now.or_else(|| layer.file_change.clone()) {
            document.edit_layer(id, |l| l.file_change = Some(change));
        }
    }
    pathways::add_pathways(&mut document, session, saved);
    let mut omitted = Vec::new();
    let masks = stored::add_layers(&mut document, session, saved, ("mask", segment::make));
    filter::add_weights(&mut document, session, saved);
    let maps = stored::add_layers(&mut document, session, saved, ("map", filter::make));
    for (sentence, layer) in masks.into_iter().chain(maps) {
        omitted.push(sentence);
        missing.push(layer);
    }
    set_missing(&mut document, &missing, saved, session);
    let layers = saved.layers.clone().into();
    let awaited = AwaitedLayers::new(layers, session.clone());
    let is_requested = document.distributions.settings.requested;
    document.session.unrestored.awaited_fods = is_requested.then(|| awaited.clone());
    document.session.unrestored.awaited = Some(awaited);
    // It may use every other layer, also those that come with the fit.
    segment::insert_surface(&mut document, session, saved, &regions);
    let others = missing_parts(&document).into_iter();
    omitted.extend(others.map(|(_, sentence)| sentence));
    BuiltDocument {
        document,
        notes,
        omitted,
    }
}

/// Adds the origins of masks whose files are unchanged.
fn mask_origins(document: &mut Document, session: &ReadSession) {
    let Ok((content, _)) = &session.content else {
        return;
    };
    let table = Table::of_content(content);
    let is_same = |number: usize| {
        let file = match table.get(number) {
            Some(SavedOrigin::File { file, .. }) => session.files.get(*file),
            _ => None,
        };
        file.is_some_and(|file| file.standing == FileComparison::Same)
    };
    let saved = content.mask_origins.iter().filter(|m| is_same(m.origin));
    let origins = table.resolve(document, session, saved.clone().map(|m| m.origin));
    for saved in saved {
        let mask = session.masks.get(saved.mask);
        if let (Some(Ok(mask)), Ok(origin)) = (mask, origins.get(saved.origin)) {
            document.mask_origins.add(mask.id(), origin);
        }
    }
}

/// Notes the layers that are not here.
fn set_missing(
    document: &mut Document,
    missing: &Missing,
    saved: &SavedDocument,
    session: &Arc<ReadSession>,
) {
    let items = &mut document.session.unrestored.items;
    items.retain(|item| !matches!(item, MissingItem::Layer(_)));
    let missing_layer = |(id, reason): &(u64, NotRestored)| {
        let layer = saved.layers.iter().find(|l| l.id == *id)?.clone();
        let (reason, session) = (reason.clone(), session.clone());
        Some(MissingItem::Layer(Arc::new(MissingLayer {
            layer,
            reason,
            session,
        })))
    };
    items.extend(missing.iter().filter_map(missing_layer));
}

/// Records the edits of a layer's streamlines, which have already been applied.
pub(in crate::state) fn record_edits(document: &mut Document, id: LayerId, steps: &[Edit]) {
    let Some(before) = document.layer(id).map(|l| l.origin) else {
        return;
    };
    let origin = document.origins.edited(before, steps);
    document.edit_layer(id, |l| l.origin = origin);
}

/// How a file of a layer differs from the one that the session was saved with: a sentence.
fn file_change(table: Table, layer: &SavedLayer, read: &ReadSession) -> Option<String> {
    let SavedOrigin::File {
        file,
        gradients,
        reading,
    } = table.base(layer.origin)?
    else {
        return None;
    };
    let warp = reading.warp.iter().flat_map(|warp| warp.files());
    let numbers = [file].into_iter().chain(gradients).chain(&reading.colours);
    let mut entries = numbers
        .copied()
        .chain(warp)
        .filter_map(|n| read.files.get(n));
    entries.find_map(|file| match &file.standing {
        FileComparison::Changed(why) => Some(changed_file(&file.entry, &file.path, why)),
        FileComparison::Same | FileComparison::Missing(_) => None,
    })
}

/// The origins of the density maps among the layers.
fn map_origins(
    document: &mut Document,
    table: Table,
    origins: &ResolvedOrigins,
    saved: &SavedDocument,
) {
    for layer in &saved.layers {
        map_origin(document, table, origins, layer);
    }
}

/// The origin of a layer, if it is a density map.
pub(in crate::state) fn map_origin(
    document: &mut Document,
    table: Table,
    origins: &ResolvedOrigins,
    layer: &SavedLayer,
) {
    let Some(SavedOrigin::Density(from)) = table.base(layer.origin) else {
        return;
    };
    let here = document.layer(LayerId(from.input.layer)).is_some();
    let (Ok(origin), true) = (origins.get(layer.origin), here) else {
        return;
    };
    let (_, unit, unit_scale) = quantity(&from.params);
    document.edit_layer(LayerId(layer.id), |l| {
        (l.origin, l.unit, l.unit_scale) = (origin, unit, unit_scale)
    });
}

/// Everything except layers and regions.
fn fill(document: &mut Document, saved: &SavedDocument) {
    document.name.clone_from(&saved.name);
    document.fit = saved.fit.clone();
    document.fit_mask = saved.fit_mask.map(LayerId);
    document.track.method = saved.method;
    (document.track.model, document.track.odf) = fods::tracking(&saved.distributions.tracking);
    document.track.streamlines = saved.track.clone();
    document.track.streamline_display = saved.track_display.clone();
    document.track.whole_brain = parameters::sanitized(&saved.whole_brain);
    document.track.rays = Rays {
        metric: saved.rays.metric,
        params: saved.rays.params.clone(),
        cut: saved.rays.cut,
    };
    document.track.ray_display = saved.rays.display.clone();
    document.track.noise = saved.track_noise.clone().sanitized();
    document.scene_look = saved.scene_look.valid();
    document.session.store = saved.store;
}

pub(in crate::state) fn restore(
    origins: &Origins,
    table: Table,
    saved: &SavedLayer,
    restored: RestoredLayer,
) -> Result<(Layer, Vec<Remark>), NotRestored> {
    let mut notes = Vec::new();
    let (content, origin) = match (table.base(saved.origin), restored) {
        (
            Some(SavedOrigin::File { .. }),
            RestoredLayer::File {
                loaded,
                path,
                reading: reported,
                notes: of_file,
                ..
            },
        ) => {
            notes = of_file;
            let mut origin = Origin::opened(path, reported);
            let content = match loaded {
                Loaded::Scan {
                    dwi,
                    gradients,
                    gradient_files,
                } => {
                    origin = origin.with_gradients(gradient_files);
                    DocumentContent::Scan { dwi, gradients }
                }
                Loaded::Image(volume) => DocumentContent::Image(volume),
                Loaded::Mask(mask) => DocumentContent::Mask(mask),
                Loaded::Tractogram(tractogram) => DocumentContent::Tractogram(tractogram),
                Loaded::InPlace(lines) => DocumentContent::InPlace(lines),
            };
            (content, origin)
        }
        (Some(SavedOrigin::Phantom { kind, seed, part }), RestoredLayer::Head(head)) => {
            let content = match part {
                PhantomPart::Dwi => DocumentContent::Scan {
                    dwi: head.dwi.clone(),
                    gradients: Some(Arc::new(head.gradients.clone())),
                },
                PhantomPart::BrainMask => DocumentContent::Mask(head.mask.clone()),
                PhantomPart::T1 => DocumentContent::Image(head.t1.clone()),
            };
            let (kind, seed, part) = (*kind, *seed, *part);
            let head = BuiltInPhantom { kind, seed };
            (content, Origin::Phantom { head, part })
        }
        // Their origins follow once all layers are loaded.
        (Some(SavedOrigin::Curves(_)), RestoredLayer::Curves(tractogram)) => {
            (DocumentContent::Tractogram(tractogram), Origin::Unknown)
        }
        (Some(SavedOrigin::Density(_)), RestoredLayer::Density(volume)) => {
            (DocumentContent::Image(volume), Origin::Unknown)
        }
        _ => return Err(NotRestored::AnotherKind),
    };
    let can_turn = matches!(&origin, Origin::Phantom { .. })
        || matches!(&origin, Origin::File { reading, .. } if reading.is_empty());
    let origin = origins.add(origin);
    let (content, origin) = match table.turn(saved.origin).filter(|_| can_turn) {
        Some(turn) => turned(origins, content, origin, turn),
        None => (content, origin),
    };
    let mut display = saved.display.clone();
    if let Some(volume) = content.volume() {
        display.frame = display.frame.min(volume.frames.saturating_sub(1));
    }
    let id = LayerId(saved.id);
    let layer = Layer {
        notes: notes.clone(),
        ..Layer::new(id, saved.name.clone(), content, display, origin)
    };
    // The session states how such an image is read, and opening it changes nothing.
    notes.retain(|note| !note.is_about_distributions());
    Ok((layer, notes))
}

/// A scan with gradient axes permuted or flipped.
fn turned(
    origins: &Origins,
    content: DocumentContent,
    origin: OriginId,
    turn: AxisChange,
) -> (DocumentContent, OriginId) {
    match content {
        DocumentContent::Scan {
            dwi,
            gradients: Some(gradients),
        } => {
            let gradients = Arc::new(gradients.rotated(turn.in_world(&dwi.grid)));
            let gradients = Some(gradients);
            let origin = origins.reoriented(origin, Some(turn));
            (DocumentContent::Scan { dwi, gradients }, origin)
        }
        content => (content, origin),
    }
}

/// The saved cameras of Segment and of the other tasks, if pictures can be drawn with both.
pub fn surface_cameras(saved: Option<[Camera; 2]>) -> Option<(Camera, Camera)> {
    let [before, near] = saved?;
    let are_valid = before.is_valid() && near.is_valid();
    // Cameras are limited in the same way as that of the view, which is one of the two.
    are_valid.then(|| (before.zoomed(1.0), near.zoomed(1.0)))
}

/// The saved view, as far as it can be restored; the theme and the tool remain those of the window.
pub fn view(saved: &View, now: &View) -> View {
    let camera = &saved.camera;
    let mut view = View {
        camera: if camera.is_valid() {
            camera.zoomed(1.0)
        } else {
            Camera::framing(glam::DVec3::splat(-90.0), glam::DVec3::splat(90.0))
        },
        light_theme: now.light_theme,
        tool: Tool::Crosshair,
        moving: false,
        slab: saved.slab.filter(Slab::is_valid),
        turn: saved.turn.valid(),
        ..saved.clone()
    };
    view.slices = view.slices.map(SliceCamera::valid);
    view.named
        .retain_mut(|named| match named.viewpoint.valid() {
            Some(valid) => {
                named.viewpoint = valid;
                true
            }
            None => false,
        });
    if !View::MOSAIC_LIMITS_MM.contains(&view.mosaic_mm) {
        view.mosaic_mm = View::MOSAIC_MM;
    }
    view.visible.bottom_panel_height = match view.visible.bottom_panel_height.is_finite() {
        true => view.visible.bottom_panel_height.clamp(140.0, 2000.0),
        false => View::default().visible.bottom_panel_height,
    };
    if !view.crosshair.is_finite() {
        view.crosshair = glam::DVec3::ZERO;
    }
    view
}
