//! Applies a fit to the document: weights of the streamlines, maps, contributions of bundles.

use crate::data::Volume;
use crate::data::appearance::{ColourMap, Interpolation};
use crate::data::text::{counted, singular_or_plural};
use crate::state::core::display::{self, LineColouring};
use crate::state::core::layer::{Content, Layer, LayerId, OriginId};
use crate::state::core::notices::Severity;
use crate::state::core::text::{THIN, count};
use crate::state::edit::{changed, edit};
use crate::state::filter::jobs::CommitFit;
use crate::state::filter::{
    FitPurpose, FitStatistics, FittedWeights, PreviousFit, Running, ShownStreamlines,
    VirtualLesion, WEIGHT, WeightMap, WeightMapRecipe,
};
use crate::state::origin::commands::weight_fit;
use crate::state::streamlines::in_place::{all_streamlines_of, with_values};
use crate::state::{Display, Document, State};
use std::sync::Arc;

const CHANGED: &str =
    "Weights discarded because the streamlines changed during the fit: run it again";

/// `earlier`: the fit that it continued.
fn figures(
    output: &CommitFit,
    streamlines: usize,
    earlier: Option<&FitStatistics>,
) -> FitStatistics {
    let (fit, prepared) = (&output.fit, &output.prepared);
    let dictionary = &prepared.dictionary;
    let counts = dictionary.counts;
    FitStatistics {
        streamlines: streamlines as u64,
        outside: counts.outside,
        single_points: counts.single_points,
        not_finite: counts.not_finite,
        segments: dictionary.segments.len() as u64,
        voxels: dictionary.voxels.len() as u64,
        samples: prepared.samples.count() as u64,
        iterations: fit.iterations,
        ended: fit.ended,
        objective: fit.objective,
        kkt: fit.kkt,
        rmse: fit.rmse,
        prepare_ms: output.prepare_ms + earlier.map_or(0.0, |f| f.prepare_ms),
        fit_ms: output.fit_ms + earlier.map_or(0.0, |f| f.fit_ms),
        bundles: fit.bundles.clone(),
        rest: output.rest_mm,
    }
}

/// The maps of a fit: none for compartments that it did not have.
fn maps(output: &CommitFit) -> Vec<(WeightMap, Volume)> {
    let shape = output.prepared.operator.shape();
    let maps = &output.fit.maps;
    let several = shape.extra > 0 || shape.free > 0;
    let all = [
        (several, WeightMap::Intra, &maps.intra),
        (shape.extra > 0, WeightMap::Extra, &maps.extra),
        (shape.free > 0, WeightMap::Free, &maps.free),
        (true, WeightMap::Error, &maps.rmse),
    ];
    let present = all.into_iter().filter(|(present, ..)| *present);
    present
        .map(|(_, map, volume)| (map, volume.clone()))
        .collect()
}

pub(in crate::state) fn weights(
    state: &mut State,
    running: Running,
    output: CommitFit,
) -> Option<String> {
    let id = running.layer;
    let layer = state.document.layer(id).cloned();
    let weighted = layer.as_ref().and_then(|layer| {
        let lines = all_streamlines_of(layer)?;
        let is_same = lines.id() == output.tractogram && lines.len() == output.weights.len();
        if !is_same {
            // Edited or replaced during the fit; there may be another number of them.
            return None;
        }
        let weights = output.weights.clone().into();
        with_values(layer, WEIGHT, &weights)
    });
    let fit = &output.fit;
    let mut key = running.key;
    key.tractogram = output.all_streamlines.clone();
    state.runtime.filter.previous_fit = Some(PreviousFit {
        layer: id,
        key,
        prepared: output.prepared.clone(),
        x: fit.x.clone(),
        weights: fit.weights.clone(),
        rmse: fit.maps.rmse.clone(),
        objective: fit.objective,
        error: fit.rmse,
    });
    let by_itself = running.purpose == FitPurpose::Refit;
    let Some((content, [now, weighted])) = weighted else {
        if !by_itself {
            state.runtime.notify(Severity::Information, CHANGED);
        }
        return None;
    };
    let sorted = output.sorted.clone();
    let kept = sorted.len();
    let all = output.weights.len();
    let known = state.document.weights.get(&id);
    // Contributions of bundles that were found with these streamlines and this model.
    let same = known.filter(|w| {
        state.document.fit_inputs(w).as_ref() == Some(&running.inputs) && w.weighted == now
    });
    // The curve and the time continue those of these weights.
    let earlier = known
        .filter(|_| running.earlier_iterations > 0)
        .map(|w| &w.figures);
    let figures = figures(&output, all, earlier);
    let before = state.document.without_weights(id, now);
    let fit = weight_fit(&state.document, id, &running.inputs);
    let fit = fit.map(|fit| state.document.origins.add(fit));
    let fitted = Arc::new(FittedWeights {
        weighted,
        unweighted: before,
        fit: fit.unwrap_or_default(),
        figures,
        curve: output.curve.clone().into(),
        sorted,
        lesions: same.map_or_else(Vec::new, |w| w.lesions.clone()),
    });
    let maps = maps(&output);
    let first = known.is_none();
    let put = |d: &mut Document| {
        let (low, high) = fitted.window();
        d.edit_layer(id, |layer| {
            layer.content = content;
            let display = &mut layer.display;
            if first {
                (display.line_colouring, display.colour_map) =
                    (LineColouring::Weight, ColourMap::Magma);
            }
            if display.line_colouring == LineColouring::Weight {
                display.window = (low, high);
            }
            display.visible = true;
        });
        let fit = fitted.fit;
        // Maps of an earlier model that this one does not have.
        let stays = |map: &WeightMap| match map {
            WeightMap::Worse(name) => fitted.lesions.iter().any(|l| l.name == *name),
            of_fit => maps.iter().any(|(map, _)| map == of_fit),
        };
        let maps_of = d
            .layers
            .iter()
            .filter_map(|l| Some((l.id, d.weight_map_recipe(l.id)?)));
        let gone = maps_of.filter(|(_, m)| m.layer == id && !stays(&m.map));
        let gone: Vec<LayerId> = gone.map(|(id, _)| id).collect();
        d.weights.insert(id, fitted);
        d.layers.retain(|l| !gone.contains(&l.id));
        for (map, volume) in maps {
            insert_map(d, id, map, volume, fit);
        }
        // In another task what is shown is suspended: it becomes known here, and is suspended again afterwards.
        d.restore_suspended_rules();
        let shown = match d.shown_by_weight(id) {
            ShownStreamlines::Before if first => ShownStreamlines::After,
            shown => shown,
        };
        d.show_by_weight(id, shown);
    };
    match by_itself {
        // The results of an edit belong to its step.
        true => {
            put(&mut state.document);
            changed(state);
        }
        false => edit(state, "Fit weights", false, put),
    }
    Some(format!(
        "{} of {} {} a weight",
        count(kept as u64),
        counted(all, "streamline"),
        singular_or_plural(kept, "has", "have")
    ))
}

fn holds_streamlines(layer: &Layer) -> bool {
    matches!(layer.content, Content::Tractogram(_) | Content::InPlace(_))
}

/// Replaces the earlier map, or adds one over all images, where it is visible once shown.
fn insert_map(
    document: &mut Document,
    layer: LayerId,
    map: WeightMap,
    volume: Volume,
    fit: OriginId,
) {
    let recipe = WeightMapRecipe {
        layer,
        map: map.clone(),
        fit,
    };
    let origin = document.origins.add(recipe);
    let window = window(&map, &volume);
    if let Some(known) = document.weight_map(layer, &map).map(|l| l.id) {
        document.edit_layer(known, |l| {
            (l.content, l.origin) = (Content::Image(volume), origin);
            l.display.window = window;
        });
        return;
    }
    let id = LayerId(document.fresh_id());
    let streamlines = document.layers.iter().filter(|l| holds_streamlines(l));
    let name = match streamlines.count() {
        0 | 1 => map.name(),
        _ => {
            let whose = document.layer(layer).map_or("", |l| &l.name);
            format!("{} · {whose}", map.name())
        }
    };
    let display = Display {
        visible: false,
        colour_map: colours(&map),
        // Most fitted voxels have unfitted neighbours, whose 0 must not be mixed in.
        interpolation: Interpolation::Nearest,
        ..display::image_display(window)
    };
    let layer = Layer::new(id, name, Content::Image(volume), display, origin);
    let image = |l: &Arc<Layer>| !holds_streamlines(l);
    let at = document.layers.iter().rposition(image).map_or(0, |i| i + 1);
    document.layers.insert(at, Arc::new(layer));
}

fn colours(map: &WeightMap) -> ColourMap {
    match map {
        WeightMap::Intra | WeightMap::Extra | WeightMap::Free => ColourMap::Viridis,
        WeightMap::Error => ColourMap::Cividis,
        WeightMap::Worse(_) => ColourMap::Diverging,
    }
}

/// Fractions range from 0 to 1, errors from 0, and changes symmetrically about 0.
fn window(map: &WeightMap, volume: &Volume) -> (f32, f32) {
    match map {
        WeightMap::Intra | WeightMap::Extra | WeightMap::Free => (0.0, 1.0),
        WeightMap::Error => (0.0, volume.percentiles(0, 0.01, 0.99).1.max(1e-6)),
        WeightMap::Worse(_) => {
            let (low, high) = volume.percentiles(0, 0.01, 0.998);
            let limit = high.max(-low).max(1e-6);
            (-limit, limit)
        }
    }
}

pub(in crate::state) fn lesion(
    state: &mut State,
    running: &Running,
    name: String,
    output: &CommitFit,
) -> Option<String> {
    let id = running.layer;
    let previous = state.runtime.filter.previous_fit.as_ref();
    let before = previous.map(|previous| (previous.objective, previous.error))?;
    let weights = state.document.weights.get(&id).cloned()?;
    let fit = &output.fit;
    let lesion = VirtualLesion {
        name: name.clone(),
        streamlines: output.excluded as u64,
        objective: [before.0, fit.objective],
        rmse: [before.1, fit.rmse],
        evidence: output.lesion_evidence,
        ended: fit.ended,
    };
    let message = format!(
        "Without {name} the fit error in its voxels is {:.1}{THIN}% higher",
        lesion.percent().max(0.0)
    );
    edit(state, "Virtual lesion", false, |d| {
        let mut weights = (*weights).clone();
        weights.lesions.retain(|l| l.name != name);
        weights.lesions.push(lesion);
        let fit = weights.fit;
        d.weights.insert(id, Arc::new(weights));
        if let Some(worse) = output.rmse_increase.clone() {
            insert_map(d, id, WeightMap::Worse(name), worse, fit);
        }
    });
    Some(message)
}
