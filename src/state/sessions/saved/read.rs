//! From a session to the state.

use crate::data::axis_change::AxisChange;
use crate::io::{Reading, Remark};
use crate::jobs::session::{Item, NotRestored, ReadSession, Restored, RestoredLayers, Standing};
use crate::solvers::tractogram::selection::{Edit, SelectionRules, Within};
use crate::state::core::layer::{Content as DocumentContent, Layer, LayerId, OriginId};
use crate::state::density::{self, quantity};
use crate::state::document::{DensityMap, Made, Rays};
use crate::state::files::jobs::open::Loaded;
use crate::state::origin::{Origin, Origins, PhantomPart};
use crate::state::pathways::saved::basis;
use crate::state::regions::saved::region;
use crate::state::sessions::saved::results::result_name;
use crate::state::sessions::saved::{
    Content, MissingLayer, SavedCurves, SavedDocument, SavedEdit, SavedLayer, SavedOrigin, held,
    not_what_it_was,
};
use crate::state::snapshots::{self, MOST as MOST_SNAPSHOTS};
use crate::state::{
    Camera, Document, Slab, Tool, View, alignment, filter, pathways, regions, segment,
};
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// The content of a session, and the names of its unknown parts. An error is the beginning of a sentence.
pub type Parse = Result<(Arc<Content>, Vec<String>), String>;

/// Parses the content of a session's file; nothing is read for its layers yet.
pub fn parse(text: Value) -> Parse {
    let content = Content::deserialize(&text)
        .map_err(|e| format!("Found a session with {}", crate::io::json::found(&e)))?;
    // Far below overflow.
    const MOST: u64 = 1 << 53;
    let snapshots = content.snapshots.iter().map(|s| &s.document);
    for document in snapshots.chain([&content.document]) {
        let mut ids = BTreeSet::new();
        let mut layers = document.layers.iter();
        if !layers.all(|l| l.id < MOST && ids.insert(l.id)) {
            return Err("Found a session with two layers of one number".to_owned());
        }
    }
    if content.snapshots.len() > MOST_SNAPSHOTS {
        return Err(format!(
            "Found a session with {} snapshots",
            content.snapshots.len()
        ));
    }
    let known = serde_json::to_value(&content).unwrap_or(Value::Null);
    let unknown = crate::io::json::unknown(&text, &known);
    Ok((Arc::new(content), unknown))
}

/// Files that must be read, by the layers' numbers.
pub type Items = Vec<(u64, Item)>;
/// Layers that cannot be read, and why.
pub type Missing = Vec<(u64, String)>;

/// Files that must be read for a session's layers, and the layers that cannot be read, with the reasons.
pub fn items(content: &Content, read: &ReadSession) -> (Items, Missing) {
    let (mut items, mut absent) = (Vec::new(), Vec::new());
    for layer in &content.document.layers {
        match item(layer, &result_name(layer.id), read) {
            Ok(Some(item)) => items.push((layer.id, item)),
            Ok(None) => {}
            Err(why) => absent.push((layer.id, why)),
        }
    }
    let (more, lost) = snapshots::saved::items(content, read);
    items.extend(more);
    absent.extend(lost);
    snapshots::saved::add_moves(content, &mut items);
    (items, absent)
}

/// A session's file, if it exists.
fn file(read: &ReadSession, number: usize) -> Result<PathBuf, String> {
    let found = read.files.get(number);
    let found = found.ok_or_else(|| format!("The session has no file {number}"))?;
    match &found.standing {
        Standing::Missing(why) => Err(format!("{why}: {}", found.path.display())),
        Standing::Same | Standing::Changed(_) => Ok(found.path.clone()),
    }
}

fn files(read: &ReadSession, numbers: &[usize]) -> Result<Vec<PathBuf>, String> {
    numbers.iter().map(|n| file(read, *n)).collect()
}

/// `name`: of its streamlines, if they are stored next to the session.
pub(in crate::state) fn item(
    layer: &SavedLayer,
    name: &str,
    read: &ReadSession,
) -> Result<Option<Item>, String> {
    Ok(match &layer.from {
        SavedOrigin::File {
            file: number,
            gradients,
            told,
        } => Some(Item::File {
            path: file(read, *number)?,
            gradients: files(read, gradients)?,
            reading: Reading {
                vtk_space: told.vtk_space,
                colours: told.colours.map(|n| file(read, n)).transpose()?,
                tensors: told.tensors,
                affine: None,
            },
            edits: edits(read, &layer.edits)?,
            moves: layer.by().into_iter().collect(),
            entry: None,
        }),
        SavedOrigin::Head { seed, .. } => Some(Item::Head { seed: *seed }),
        SavedOrigin::Made { .. } | SavedOrigin::Segmented(_) | SavedOrigin::Weights(_) => None,
        SavedOrigin::Density(saved) => {
            let map = density::saved::read(saved)?;
            Some(Item::Density {
                of: map.of.0,
                by: map.by,
                on: map.on,
                params: map.params,
            })
        }
        SavedOrigin::Kept(_) => {
            let sum = read.results.iter().find(|r| r.of == name);
            let stored = sum.and_then(|s| Some((s, s.file.as_ref()?)));
            let (sum, stored) = stored.ok_or("The session has its recipe, not its streamlines")?;
            let folder = read.path.parent().unwrap_or(std::path::Path::new("/"));
            Some(Item::Stored {
                path: folder.join(stored),
                sha256: sum.sha256.clone(),
            })
        }
    })
}

/// The edits of a layer's streamlines; an error is a sentence.
pub fn edits(read: &ReadSession, saved: &[SavedEdit]) -> Result<Vec<Edit>, String> {
    // All its masks are in the session.
    let nothing = Document::default();
    let one = |edit: &SavedEdit| {
        let rules = match edit {
            SavedEdit::Keep(runs) => return Ok(Edit::Keep(runs.clone())),
            SavedEdit::Select(rules) => rules,
        };
        let regions = rules.regions.iter().map(|r| region(&nothing, read, r));
        let value = |(name, low, high): &(String, Option<f32>, Option<f32>)| Within {
            name: name.clone(),
            low: low.unwrap_or(f32::NEG_INFINITY),
            high: high.unwrap_or(f32::INFINITY),
        };
        Ok(Edit::Select(Box::new(SelectionRules {
            group: rules.group.clone(),
            regions: regions.collect::<Result<_, String>>()?,
            by_ends: rules.by_ends,
            values: rules.values.iter().map(value).collect(),
            given: Vec::new(),
            images: Vec::new(),
            stop: rules.stop,
            invert: rules.invert,
            at_most: rules.at_most,
        })))
    };
    saved.iter().map(one).collect()
}

/// A document of a session, with sentences about changes, and about parts left out, which stay in the session.
pub struct Built {
    pub document: Document,
    pub notes: Vec<Remark>,
    pub left_out: Vec<String>,
}

/// A document of a session from what was read for it; documents of one session share the table of origins.
pub fn build(
    origins: &Origins,
    saved: &SavedDocument,
    read: &Arc<ReadSession>,
    restored: RestoredLayers,
    absent: Missing,
) -> Built {
    let mut notes = Vec::new();
    let mut document = Document::default();
    document.origins = origins.clone();
    fill(&mut document, saved);
    let mask = |number: usize| read.masks.get(number)?.as_ref().ok();
    let files = read.mask_files.iter();
    let files = files.filter_map(|(number, path)| Some((mask(*number)?.id(), path.clone())));
    document.mask_files = files.collect();
    let last = saved.layers.iter().map(|l| l.id).max().unwrap_or(0);
    document.reserve_ids(last + 1);
    let mut missing = absent;
    for (id, one) in restored {
        let Some(of) = saved.layers.iter().find(|l| l.id == id) else {
            continue;
        };
        match one.and_then(|one| Ok((of.there(&one)?, restore(&document.origins, of, one)?))) {
            Ok((there, (layer, message))) => {
                let path = layer.path.as_ref();
                let path = path.map_or(layer.name.clone(), |p| p.display().to_string());
                notes.extend(message.into_iter().map(|note| note.about(&path)));
                document.layers.push(Arc::new(layer));
                let unmoved = alignment::saved::lay(&mut document, of, there).err();
                notes.extend(unmoved.map(Remark::from));
            }
            Err(why) => {
                // One sentence names all missing kept results.
                if !(matches!(of.from, SavedOrigin::Kept(_)) && matches!(why, NotRestored::Gone(_)))
                {
                    let name = &of.name;
                    let sentence =
                        format!("The layer \"{name}\" is left out and stays in the session: {why}");
                    notes.push(sentence.into());
                }
                missing.push((id, why.to_string()));
            }
        }
    }
    // Regions report why their masks are missing.
    document.absent = absent_layers(&missing, saved, read);
    let regions = regions::saved::put(&mut document, read, saved);
    for layer in &saved.layers {
        let id = LayerId(layer.id);
        if document.layer(id).is_none() {
            continue;
        }
        let steps = edits(read, &layer.edits).unwrap_or_default();
        put_edits(&mut document, id, &steps);
        let SavedOrigin::Kept(curves) = &layer.from else {
            continue;
        };
        match made(&document, read, curves) {
            Ok(made) => {
                let origin = document.origins.add(made);
                let origin = document.origins.edited(origin, &steps);
                document.edit_layer(id, |l| l.origin = origin);
            }
            Err(why) => {
                notes.push(format!("{} cannot be recomputed: {why}", layer.name).into());
                let (layer, read) = (layer.clone(), read.clone());
                let unread = MissingLayer { layer, why, read };
                document.unread.insert(id, Arc::new(unread));
            }
        }
    }
    map_recipes(&mut document, read, saved);
    for layer in &saved.layers {
        let id = LayerId(layer.id);
        let now = replaced(layer, read);
        notes.extend(now.clone().map(Remark::from));
        let message = now.or_else(|| layer.replaced.clone());
        if let (Some(message), Some(_)) = (message, document.layer(id)) {
            document.replaced.insert(id, message);
        }
    }
    pathways::saved::put(&mut document, read, saved);
    let mut left_out = Vec::new();
    let masks = held::put(&mut document, read, saved, ("mask", segment::saved::make));
    segment::saved::put_surface(&mut document, read, saved, &regions);
    filter::saved::put(&mut document, read, saved);
    let maps = held::put(&mut document, read, saved, ("map", filter::saved::make));
    for (sentence, lacking) in masks.into_iter().chain(maps) {
        left_out.push(sentence);
        missing.push(lacking);
    }
    let others = regions::saved::left_out(&document).into_iter();
    left_out.extend(others.map(|(_, sentence)| sentence));
    document.absent = absent_layers(&missing, saved, read);
    document.awaited = Some(saved.layers.clone().into());
    Built {
        document,
        notes,
        left_out,
    }
}

fn absent_layers(
    missing: &Missing,
    saved: &SavedDocument,
    read: &Arc<ReadSession>,
) -> Vec<Arc<MissingLayer>> {
    let one = |(id, why): &(u64, String)| {
        let layer = saved.layers.iter().find(|l| l.id == *id)?.clone();
        let (why, read) = (why.clone(), read.clone());
        Some(Arc::new(MissingLayer { layer, why, read }))
    };
    missing.iter().filter_map(one).collect()
}

/// Records the edits of a layer's streamlines, which have already been applied.
pub(in crate::state) fn put_edits(document: &mut Document, id: LayerId, steps: &[Edit]) {
    let Some(before) = document.layer(id).map(|l| l.origin) else {
        return;
    };
    let origin = document.origins.edited(before, steps);
    document.edit_layer(id, |l| l.origin = origin);
}

/// The sentence about a layer with a file that has changed.
fn replaced(layer: &SavedLayer, read: &ReadSession) -> Option<String> {
    let SavedOrigin::File {
        file,
        gradients,
        told,
    } = &layer.from
    else {
        return None;
    };
    let numbers = [file].into_iter().chain(gradients).chain(&told.colours);
    let mut found = numbers.filter_map(|n| read.files.get(*n));
    found.find_map(|found| match &found.standing {
        Standing::Changed(why) => Some(not_what_it_was(&found.entry, &found.path, why)),
        Standing::Same | Standing::Missing(_) => None,
    })
}

/// The origins of the maps among the layers.
fn map_recipes(document: &mut Document, read: &ReadSession, saved: &SavedDocument) {
    for layer in &saved.layers {
        let (id, SavedOrigin::Density(from)) = (LayerId(layer.id), &layer.from) else {
            continue;
        };
        let (Some(_), Ok(map)) = (document.layer(id), density::saved::read(from)) else {
            continue;
        };
        let of = document.input(map.of);
        if document.layer(of.layer).is_none() {
            continue;
        }
        let template = from.template.and_then(|n| read.files.get(n));
        let (_, unit, unit_scale) = quantity(&map.params);
        let origin = document.origins.add(DensityMap {
            of,
            by: map.by,
            on: map.on,
            template: template.map(|f| f.path.clone()),
            params: map.params,
        });
        document.edit_layer(id, |l| {
            (l.origin, l.unit, l.unit_scale) = (origin, unit, unit_scale)
        });
    }
}

/// Everything except layers and regions.
fn fill(document: &mut Document, saved: &SavedDocument) {
    document.name.clone_from(&saved.name);
    document.fit = saved.fit.clone();
    document.fit_mask = saved.fit_mask.map(LayerId);
    document.method = saved.method;
    document.track = saved.track.clone();
    document.track_display = saved.track_display.clone();
    document.whole_brain = saved.whole_brain.sanitized();
    document.rays = Rays {
        medium: saved.medium,
        params: saved.rays.clone(),
        cut: saved.cut,
    };
    document.ray_display = saved.ray_display.clone();
    document.store = saved.store;
}

pub(in crate::state) fn restore(
    origins: &Origins,
    saved: &SavedLayer,
    restored: Restored,
) -> Result<(Layer, Vec<Remark>), String> {
    let mut notes = Vec::new();
    let (content, origin, path) = match (&saved.from, restored) {
        (
            SavedOrigin::File { .. },
            Restored::File {
                loaded,
                path,
                reading: reported,
                notes: said,
                ..
            },
        ) => {
            notes = said;
            let mut origin = Origin::opened(path.clone(), reported);
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
            };
            (content, origin, Some(path))
        }
        (SavedOrigin::Head { seed, part }, Restored::Head(head)) => {
            let content = match part {
                PhantomPart::Dwi => DocumentContent::Scan {
                    dwi: head.dwi.clone(),
                    gradients: Some(Arc::new(head.gradients.clone())),
                },
                PhantomPart::BrainMask => DocumentContent::Mask(head.mask.clone()),
                PhantomPart::T1 => DocumentContent::Image(head.t1.clone()),
            };
            let (seed, part) = (*seed, *part);
            (content, Origin::Phantom { seed, part }, None)
        }
        // Their origins follow once all layers are loaded.
        (SavedOrigin::Kept(_), Restored::Curves(tractogram)) => {
            let content = DocumentContent::Tractogram(tractogram);
            (content, Origin::Unknown, None)
        }
        (SavedOrigin::Density(_), Restored::Density(volume)) => {
            (DocumentContent::Image(volume), Origin::Unknown, None)
        }
        _ => return Err("The session file describes this layer differently".to_owned()),
    };
    let can_turn = matches!(&origin, Origin::Phantom { .. })
        || matches!(&origin, Origin::File { reading, .. } if reading.is_nothing());
    let origin = origins.add(origin);
    let (content, origin) = match saved.turn.filter(|_| can_turn) {
        Some(turn) => turned(origins, content, origin, turn),
        None => (content, origin),
    };
    let mut display = saved.display.clone();
    if let Some(volume) = content.volume() {
        display.frame = display.frame.min(volume.frames.saturating_sub(1));
    }
    let id = LayerId(saved.id);
    let layer = Layer {
        path,
        notes: notes.iter().map(ToString::to_string).collect(),
        ..Layer::new(id, saved.name.clone(), content, display, origin)
    };
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
            let gradients = Arc::new(gradients.turned(turn.in_world(&dwi.grid)));
            let gradients = Some(gradients);
            let origin = origins.reoriented(origin, Some(turn));
            (DocumentContent::Scan { dwi, gradients }, origin)
        }
        content => (content, origin),
    }
}

/// The recipe of kept streamlines; an error is half a sentence.
pub fn made(document: &Document, read: &ReadSession, saved: &SavedCurves) -> Result<Made, String> {
    let regions = saved.regions.iter().map(|r| region(document, read, r));
    Ok(Made {
        fit: basis(&document.origins, read, &saved.basis)?,
        regions: regions.collect::<Result<_, _>>()?,
        curves: saved.curves.clone(),
        cut: saved.cut,
    })
}

/// The saved view, as far as it still applies; theme and tool are those of the window.
pub fn view(saved: &View, now: &View) -> View {
    let camera = &saved.camera;
    let mut view = View {
        camera: if camera.is_sound() {
            camera.zoomed(1.0)
        } else {
            Camera::framing(glam::DVec3::splat(-90.0), glam::DVec3::splat(90.0))
        },
        light_theme: now.light_theme,
        tool: Tool::Crosshair,
        moving: false,
        slab: saved.slab.filter(Slab::is_sound),
        ..saved.clone()
    };
    for slice in &mut view.slices {
        if !(slice.zoom.is_finite() && slice.pan_mm.is_finite()) {
            *slice = View::default().slices[0];
        }
        slice.zoom = slice.zoom.clamp(0.2, 40.0);
    }
    if !View::MOSAIC_LIMITS_MM.contains(&view.mosaic_mm) {
        view.mosaic_mm = View::MOSAIC_MM;
    }
    view.bottom_panel_height = match view.bottom_panel_height.is_finite() {
        true => view.bottom_panel_height.clamp(140.0, 2000.0),
        false => View::default().bottom_panel_height,
    };
    if !view.crosshair.is_finite() {
        view.crosshair = glam::DVec3::ZERO;
    }
    view
}
