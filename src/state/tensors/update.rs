//! Tensor fits: requesting the one that belongs to the document, and receiving its result.

use crate::data::appearance::ColourMap;
use crate::data::gradients::volume_numbers;
use crate::data::text::counted;
use crate::data::{Mask, Volume};
use crate::solvers::tensor_fit::{self, FitMap};
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::live::{Detail, Order, Pace};
use crate::state::core::notices::{Severity, StatusSubject};
use crate::state::core::text::THIN;
use crate::state::document::Tensors;
use crate::state::origin::commands::fit_mask;
use crate::state::origin::{BrainMaskRecipe, FitMapRecipe, FitRecipe, Origin};
use crate::state::tensors::jobs::fit::{FIT, FitTensors};
use crate::state::tensors::types::{FitKey, ResidualCache};
use crate::state::tensors::{mask_text, shapes, withdraw};
use crate::state::{Camera, Document, Effect, State};
use std::sync::Arc;

/// The label of the layer that marks voxels whose tensor was repaired.
const REPAIRED: &str = "Repaired tensors";

/// Largest number of new layers after a fit, without maps of the shape.
const LAYERS: u64 = 7;

/// A finished fit.
pub struct FinishedFit<'a> {
    pub key: FitKey,
    pub fit: &'a tensor_fit::Output,
    pub maps: &'a tensor_fit::Maps,
    pub shapes: &'a [(FitMap, Volume)],
    pub mask: Mask,
    pub mask_report: Option<tensor_fit::MaskReport>,
    pub wall_ms: f64,
}

/// Requests the fit of the current document unless it exists or is running; cancels one that is no longer needed.
pub fn fit(state: &mut State, effects: &mut Vec<Effect>) {
    let shapes = shapes::requested_anywhere(state);
    let document = &state.document;
    let fitted = document.tensors.as_ref();
    let live = &mut state.runtime.tensors.live;
    // Undo and sessions bring back earlier tensors.
    live.set_shown(fitted.map(|tensors| (tensors.key.clone(), Detail::Full, ())));
    // Only called when an input may have changed: a fit that failed or was stopped is requested again.
    live.retry();
    match live.follow(document.requested_fit().as_ref(), false, Pace::Newest) {
        Order::Nothing => {}
        Order::Cancel => effects.push(Effect::Cancel(FIT)),
        Order::Start(..) => effects.extend(request(document, shapes).map(Effect::submit)),
    }
}

/// The user stopped the fit: the request is withdrawn if there are earlier tensors.
pub fn stopped(state: &mut State) {
    state.runtime.tensors.live.stop();
    let requested = state.document.requested_fit();
    if requested.is_some_and(|key| withdraw::fit(state, &key)) {
        let sentence = "Stopped: the earlier tensors stay in use, with their settings";
        state.runtime.notices.status = sentence.into();
    }
}

/// Requests the tensors of the snapshot being compared, which a session does not store, if they differ from those of
/// the document.
pub fn fit_snapshot(state: &mut State, effects: &mut Vec<Effect>) {
    let shapes = shapes::requested_anywhere(state);
    let comparing = state.runtime.snapshots.comparing.as_ref();
    let awaiting = comparing.filter(|c| c.snapshot.document.lacks_requested_fit());
    let idle = !state.runtime.tensors.is_fitting();
    let Some(comparing) = awaiting.filter(|_| idle) else {
        return;
    };
    effects.extend(request(&comparing.snapshot.document, shapes).map(Effect::submit));
}

/// The fit of a document's scan.
fn request(document: &Document, shapes: Vec<FitMap>) -> Option<FitTensors> {
    let Content::Scan { dwi, gradients } = &document.scan()?.content else {
        return None;
    };
    Some(FitTensors {
        dwi: dwi.clone(),
        gradients: gradients.clone(),
        mask: document.chosen_mask().map(|(_, mask)| mask.clone()),
        params: document.fit.clone(),
        shapes,
    })
}

/// Stores a result in every document whose key it has: the present one and those that undo or redo restores.
pub fn fitted(state: &mut State, result: &FinishedFit) {
    let wants = |document: &Document| {
        document.requested_fit().as_ref() == Some(&result.key)
            && document.tensors.as_ref().map(|t| &t.key) != Some(&result.key)
    };
    // A layer has the same id in all of them.
    let ids = state.history.documents_mut().map(|d| d.next_id()).max();
    let ids = ids.unwrap_or(0).max(state.document.next_id());
    for document in state.history.documents_mut().filter(|d| wants(d)) {
        store(document, result, ids);
    }
    for number in 0..state.runtime.snapshots.all.len() {
        if !wants(&state.runtime.snapshots.all[number].document) {
            continue;
        }
        state.runtime.snapshots.change(number, |snapshot| {
            let ids = snapshot.document.next_id();
            store(&mut snapshot.document, result, ids);
        });
    }
    if !wants(&state.document) {
        return;
    }
    let first = store(&mut state.document, result, ids);
    if first {
        state.runtime.selected_layer = state.document.fit_layer(FitMap::Dec).map(|l| l.id);
        let (low, high) = state.document.framed();
        state.view.camera = Camera::framing(low, high);
        crate::state::edit::look_at_middle(state, (low, high));
    }
    let fitted = state.document.tensors.as_ref().map_or(0, |t| t.fitted);
    let given = result.fit.s0.is_none();
    let message = format!(
        "{} {} in {:.2}{THIN}s",
        if given {
            "Read the tensors of"
        } else {
            "Fitted"
        },
        counted(fitted, "voxel"),
        result.wall_ms / 1e3
    );
    let status = &mut state.runtime.notices.status;
    status.add_result(StatusSubject::Action, message);
    if let Some(doubt) = result.mask_report.as_ref().and_then(mask_text::doubt) {
        let text = format!("{doubt}. Look at it, or fit within a mask file");
        state.runtime.notify(Severity::Warning, text);
    }
    if let Some(unit) = result.fit.other_unit {
        state.runtime.notify(
            Severity::Warning,
            format!("The tensors are read as {unit}, since no tissue has such values in mm²/s"),
        );
    }
    if !result.fit.without_direction.is_empty() {
        state.runtime.notify(
            Severity::Warning,
            format!(
                "Volumes left out of the fit, b above 50 but no direction (usually the scanner's trace image): {}",
                volume_numbers(&result.fit.without_direction)
            ),
        );
    }
    let floor = result.key.params.min_eigenvalue_mm2_per_s;
    for doubt in result.fit.doubts(result.mask.count(), floor) {
        state.runtime.notify(Severity::Warning, doubt);
    }
}

/// Stores a result in a document, where new layers get the ids from `ids` on; returns whether there was no earlier display.
fn store(document: &mut Document, result: &FinishedFit, ids: u64) -> bool {
    let awaited = document.session.unrestored.awaited.take();
    let first = document.tensors.is_none() && awaited.is_none();
    let requested = shapes::requested(document, awaited.as_ref());
    replace_maps(document, result, (ids, &requested), first);
    if let Some(saved) = awaited {
        document.arrange_maps(&saved);
    }
    first
}

/// Replaces the tensors and maps of an earlier fit, keeping their display; new layers get the ids from `ids` on.
/// `requested`: the maps of the shape that the document shows. `first`: there is no earlier display.
fn replace_maps(
    document: &mut Document,
    result: &FinishedFit,
    (ids, requested): (u64, &[FitMap]),
    first: bool,
) {
    let Some(scan) = document.scan().map(|l| l.origin) else {
        return;
    };
    let FinishedFit {
        key,
        fit,
        maps,
        shapes,
        mask,
        mask_report,
        wall_ms,
    } = result;
    let origin = document.origins.add(FitRecipe {
        scan,
        mask: fit_mask(document, key.mask),
        params: key.params.clone(),
    });
    let map = |map: FitMap| FitMapRecipe { fit: origin, map };
    let shown_as = |name: FitMap, volume: &Volume| display::map_display(volume, Some(name));
    let hidden = |display: Display| Display {
        visible: false,
        ..display
    };
    document.reserve_ids(ids + LAYERS + shapes.len() as u64);
    let mut put = LayerInserter {
        document,
        next_id: ids,
    };
    let has_own_mask = key.mask.is_none();
    let brain = BrainMaskRecipe { scan };
    let content = || Content::Mask(mask.clone());
    put.insert(
        has_own_mask,
        "Brain mask",
        content,
        display::mask_display,
        brain,
    );
    for (fit_map, name, volume) in [
        (FitMap::Md, "MD", &maps.md),
        (FitMap::Ad, "AD", &maps.ad),
        (FitMap::Rd, "RD", &maps.rd),
    ] {
        let content = || Content::Image(volume.clone());
        let display = || hidden(shown_as(fit_map, volume));
        put.insert(true, name, content, display, map(fit_map));
    }
    for (shape, volume) in shapes.iter().filter(|(shape, _)| requested.contains(shape)) {
        put.insert_shape(*shape, volume, origin);
    }
    let repaired = fit.repaired.count();
    let content = || Content::Mask(fit.repaired.clone());
    let display = || Display {
        opacity: 0.8,
        colour_map: ColourMap::Mask,
        ..display::mask_display()
    };
    let marked = map(FitMap::Repaired);
    put.insert(repaired > 0, REPAIRED, content, display, marked);
    let content = || Content::Image(maps.fa.clone());
    let display = || hidden(shown_as(FitMap::Fa, &maps.fa));
    put.insert(true, "FA", content, display, map(FitMap::Fa));
    let content = || Content::Image(maps.dec.clone());
    let display = || shown_as(FitMap::Dec, &maps.dec);
    put.insert(true, "DEC", content, display, map(FitMap::Dec));
    let here = document.layers.iter();
    let of_fit = here.filter_map(|l| Some((l.id, document.origin(l).fit_map()?)));
    let of_fit: Vec<(LayerId, FitMap)> = of_fit.collect();
    if repaired == 0 {
        document
            .layers
            .retain(|l| !of_fit.contains(&(l.id, FitMap::Repaired)));
    }
    if first {
        // The picture that users expect first: colour by direction, on black.
        for layer in document.layers.iter().map(|l| l.id).collect::<Vec<_>>() {
            document.edit_layer(layer, |l| {
                if l.content.volume().is_some() {
                    l.display.visible = of_fit.contains(&(l.id, FitMap::Dec));
                }
            });
        }
    }
    document.tensors = Some(Arc::new(Tensors {
        field: fit.field.clone(),
        fa: maps.fa.clone(),
        head: mask.bounds_inside().unwrap_or_else(|| mask.grid.bounds()),
        mask: mask.clone(),
        mask_report: *mask_report,
        key: key.clone(),
        origin,
        fitted: mask.count().saturating_sub(fit.unfitted),
        repaired,
        unfitted: fit.unfitted,
        without_direction: fit.without_direction.clone(),
        outside_range: fit.outside_range.clone(),
        wall_ms: *wall_ms,
        residuals: ResidualCache::default(),
    }));
}

/// Adds computed layers to a document, or replaces the content of those from before.
pub(super) struct LayerInserter<'a> {
    pub document: &'a mut Document,
    pub next_id: u64,
}

impl LayerInserter<'_> {
    /// Creates a layer, or gives that with the same map new content, whatever its name; each call uses one id.
    pub fn insert(
        &mut self,
        requested: bool,
        name: &str,
        content: impl FnOnce() -> Content,
        display: impl FnOnce() -> Display,
        new_origin: impl Into<Origin>,
    ) {
        let id = LayerId(self.next_id);
        self.next_id += 1;
        if !requested {
            return;
        }
        let document = &mut *self.document;
        let new_origin = new_origin.into();
        let diffusivity = new_origin.fit_map().is_some_and(FitMap::is_diffusivity);
        let is_earlier = |l: &Layer| document.origins.get(l.origin).is_same_map(&new_origin);
        let earlier = document.layers.iter().position(|l| is_earlier(l));
        let origin = document.origins.add(new_origin);
        if let Some(layer) = earlier.and_then(|i| document.layers.get_mut(i)) {
            let layer = Arc::make_mut(layer);
            layer.content = content();
            layer.origin = origin;
            return;
        }
        let layer = Layer {
            unit: if diffusivity { "×10⁻³ mm²/s" } else { "" },
            unit_scale: if diffusivity { 1e3 } else { 1.0 },
            ..Layer::new(id, name.to_owned(), content(), display(), origin)
        };
        document.layers.push(Arc::new(layer));
    }
}
