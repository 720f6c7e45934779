//! Pathways: requesting the live one for the current regions, showing it, keeping it.

mod compare;
mod follow;
pub mod noise;
mod restored_pathways;
mod sensitivity;

use crate::data::region::RegionId;
use crate::data::{DataId, Mask, OdfField, Role, Shape};
use crate::jobs::ValueNames;
use crate::parameters;
use crate::state::core::glyph_look::{GlyphLook, GlyphPlace};
use crate::state::core::layer::LayerId;
use crate::state::core::live::{Detail, Live, Order, Pace};
use crate::state::core::notices::{Severity, StatusSubject};
use crate::state::core::text::{duration_text, fixed, with_unit};
use crate::state::files::jobs::{SaveTractogram, SaveVolume};
use crate::state::origin::commands;
use crate::state::origin::pathways::pathway_command;
use crate::state::pathways::jobs::SavePathway;
pub use crate::state::pathways::update::compare::{compared, not_compared};
pub use crate::state::pathways::update::follow::follow;
use crate::state::pathways::update::follow::is_looked_at;
pub use crate::state::pathways::update::restored_pathways::{
    FindKept, find, find_of_layer, kept_failed,
};
pub(in crate::state) use crate::state::pathways::update::sensitivity::map as map_sensitivity;
pub use crate::state::pathways::update::sensitivity::{sensitivity_mapped, take_pending_map};
use crate::state::pathways::{
    HoverKey, KeptPathway, PathQuery, PathwayFile, PathwayKey, PathwayResult, PathwayRuntime,
    PathwaySettings, RandomPairRank, SURFACE_USE, percent_joined,
};
use crate::state::regions::document::automatic_names;
use crate::state::runtime::TourStep;
use crate::state::track::types::odf::Model;
use crate::state::{CommandLine, Document, Effect, Phase, State, Task};
use glam::DVec3;
use std::path::PathBuf;
use std::sync::Arc;

pub(in crate::state) use crate::state::edit::edit;

/// Changes the controls.
pub fn set(state: &mut State, settings: PathwaySettings, phase: Phase) {
    let settings = settings.sanitized();
    let was = &state.document.pathways;
    if settings == *was {
        // The last live change of the drag was already the final one.
        return if_done(state, phase);
    }
    let label = match was {
        w if w.epsilon != settings.epsilon => "Pathway width",
        w if w.surface_use != settings.surface_use => SURFACE_USE,
        w if w.model != settings.model => "Directions of pathways",
        w if w.params != settings.params => "Pathway metric",
        w if w.lifted != settings.lifted => "Costs through crossings",
        w if w.transfer != settings.transfer => "Transfer function",
        w if w.shown != settings.shown => "Shown cost",
        w if w.noise.repeats != settings.noise.repeats => match settings.noise.repeats {
            true => "Repeat the pathway",
            false => "No repetitions",
        },
        w if w.noise != settings.noise => "Noise of the pathway",
        _ => "Look of pathways",
    };
    if state.runtime.tour == Some(TourStep::Width) && was.epsilon != settings.epsilon {
        state.runtime.tour_step_done(TourStep::Width);
    }
    let live = phase == Phase::Live;
    edit(state, label, live, |d| d.pathways = settings);
}

/// Ends a drag without a further change.
fn if_done(state: &mut State, phase: Phase) {
    if phase == Phase::Done {
        state.history.close();
    }
}

/// Closes a document with all its running jobs.
pub fn close_document(state: &mut State) {
    let runtime = &mut state.runtime.pathways;
    let left = runtime.closed_jobs + usize::from(runtime.solving.is_some());
    *runtime = PathwayRuntime {
        closed_jobs: left,
        ..PathwayRuntime::default()
    };
}

/// Whether the end of a kept pathway's job belongs to a closed document.
pub fn belongs_to_closed_document(state: &mut State) -> bool {
    let left = &mut state.runtime.pathways.closed_jobs;
    let was = *left > 0;
    *left -= usize::from(was);
    was
}

/// A pathway was found: a kept one, or that of the regions.
pub fn done(state: &mut State, result: PathwayResult, wall_ms: f64) {
    let result = Arc::new(result);
    if let Some(id) = result.kept {
        let id = LayerId(id);
        state.runtime.pathways.solving = None;
        let put = |document: &mut Document| {
            for kept in &mut document.kept_pathways {
                let regions = kept.regions.clone();
                let key = PathwayKey::new(
                    result.key.field,
                    regions,
                    kept.params,
                    kept.solved_epsilon(),
                );
                if kept.id == id && kept.result.is_none() && key == PathwayKey::from_result(&result)
                {
                    Arc::make_mut(kept).result = Some(result.clone());
                }
            }
        };
        state.history.documents_mut().for_each(put);
        put(&mut state.document);
        return;
    }
    let (key, detail) = (PathwayKey::from_result(&result), result.detail());
    // Outside the task Pathways, a result of an earlier key is of no use.
    let requested_key = state.pathway_key();
    let requested_key = requested_key.filter(|r| *r == key || is_looked_at(state));
    let runtime = &mut state.runtime.pathways;
    runtime.prepared[usize::from(result.coarse)].clone_from(&result.prepared);
    if detail == Detail::Full {
        runtime.full_ms[usize::from(result.metric_was_computed)] = Some(wall_ms);
    }
    let value = result.clone();
    let is_shown = runtime
        .live
        .done(key, detail, value, requested_key.as_ref());
    if !is_shown {
        return;
    }
    let joined = percent_joined(result.pathway.joining_epsilon);
    let message = match result.coarse {
        // With voxels of twice the size the pathway joins at another ε than at full resolution.
        true => {
            let few = match result.key.params.model() {
                Model::Tensors => "",
                Model::Distributions => " in 42 directions: a preview",
            };
            format!(
                "Solved in {} on voxels of twice the size{few}",
                duration_text(wall_ms)
            )
        }
        false => format!(
            "Solved in {}; joined from ε = {}",
            duration_text(wall_ms),
            with_unit(&fixed(joined, 1), "%"),
        ),
    };
    // In Segment the status is that of the surface, which the pathway follows.
    if state.view.task == Task::Pathways {
        let status = &mut state.runtime.notices.status;
        status.add_result(StatusSubject::ResultOf(Task::Pathways), message);
    }
    let runtime = &mut state.runtime.pathways;
    (runtime.wall_ms, runtime.hover) = (wall_ms, Live::default());
}

/// Whether the document has the tensors or the distributions of a pathway.
fn has_field(document: &Document, field: DataId) -> bool {
    let tensors = document.tensors.as_ref().map(|t| t.field.id());
    let distributions = document.distributions.field().map(OdfField::id);
    [tensors, distributions].contains(&Some(field))
}

/// A pathway was not found, and why.
pub fn failed(state: &mut State, why: &str) {
    let live = &mut state.runtime.pathways.live;
    live.fail_because(why);
    // Where the coarse grid closes a gap or loses a small region, the full result decides.
    if live.has_failed() {
        live.clear_shown();
        forget_status(state);
    }
}

/// Removes a status about a result that is no longer that of the present controls.
fn forget_status(state: &mut State) {
    let status = &mut state.runtime.notices.status;
    if status.subject() == StatusSubject::ResultOf(Task::Pathways) {
        status.forget_result();
    }
}

/// The user stopped the job.
pub fn stopped(state: &mut State) {
    let requested_key = state.pathway_key();
    let live = &mut state.runtime.pathways.live;
    live.give_up(requested_key.as_ref(), Some("Stopped before it was solved"));
    forget_status(state);
}

/// Another backend: prepared data belong to the previous one.
pub fn backend_changed(state: &mut State) {
    let runtime = &mut state.runtime.pathways;
    (runtime.prepared, runtime.pairs) = ([None, None], None);
    runtime.compared.retry();
    runtime.live.retry();
    // Repetitions of two backends agree within a tolerance only.
    runtime.noise.live = Default::default();
    runtime.noise.distances = Default::default();
    runtime.full_ms = [None, None];
    runtime.unsolved.clear();
}

/// Permits another attempt at failed or stopped solves.
pub(in crate::state) fn solve_again(state: &mut State) {
    state.runtime.pathways.live.retry();
    state.runtime.pathways.unsolved.clear();
}

/// The command of a kept pathway, or of the live one with its present width.
pub fn command_line(state: &State, kept: Option<LayerId>) -> Option<CommandLine> {
    let document = &state.document;
    match kept {
        None => {
            let result = state.final_pathway()?;
            let origin = commands::field_origin(document, result.key.field)?;
            let (regions, params) = (&result.key.regions, &result.key.params);
            let epsilon = document.pathways.epsilon;
            pathway_command(document, origin, (&regions[..], params, epsilon), None)
        }
        Some(id) => {
            let kept = document.kept_pathways.iter().find(|k| k.id == id)?;
            let result = kept.result.as_ref()?;
            let (regions, params) = (&result.key.regions, &result.key.params);
            let pathway = (&regions[..], params, kept.epsilon);
            pathway_command(document, kept.fit, pathway, None)
        }
    }
}

/// `Seed – Target`: a name by the ends of a pathway.
fn ends_name(result: &PathwayResult) -> String {
    let name = |role| {
        let region = result.key.regions.iter().find(|r| r.role == role);
        region.map_or("", |r| &r.name)
    };
    format!("{} – {}", name(Role::Seed), name(Role::Target))
}

/// Reports why a pathway cannot be used yet: the live one, or a kept one that is not solved.
fn report_not_final(state: &mut State, kept: Option<LayerId>) {
    let why = match kept {
        None => state.why_not_final(),
        Some(_) => {
            Some("The costs of this pathway are not in memory: solve it again from its menu")
        }
    };
    let sentence = why.unwrap_or("There is no pathway yet").to_owned();
    state.runtime.notify(Severity::Information, sentence);
}

/// Keeps the live pathway.
pub(in crate::state) fn keep(state: &mut State) {
    let Some(result) = state.final_pathway().cloned() else {
        return report_not_final(state, None);
    };
    let Some(fit) = commands::field_origin(&state.document, result.key.field) else {
        return;
    };
    let base = ends_name(&result);
    let compared = state.pathway_compared();
    let compared = compared.and_then(|c| RandomPairRank::from_compared(c));
    edit(state, "Keep pathway", false, |document| {
        let kept = KeptPathway {
            name: document.pathway_name(&base, None),
            colour: document.next_pathway_colour(),
            id: LayerId(document.fresh_id()),
            visible: true,
            epsilon: document.pathways.epsilon,
            fit,
            regions: result.key.regions.clone(),
            params: result.key.params,
            max_excess: result.key.max_excess,
            result: Some(Arc::new(result.to_keep())),
            compared,
        };
        document.kept_pathways.push(Arc::new(kept));
    });
    state.runtime.notices.status = "Kept the pathway".into();
}

/// Changes a kept pathway.
pub(in crate::state) fn change(state: &mut State, changed: KeptPathway, phase: Phase) {
    let (low, high) = PathwaySettings::EPSILON.into_inner();
    let changed = KeptPathway {
        epsilon: changed.epsilon.clamp(low, high),
        ..changed
    };
    let mut kept = state.document.kept_pathways.iter();
    let Some(was) = kept.find(|k| k.id == changed.id) else {
        return;
    };
    let label = if was.visible != changed.visible {
        match changed.visible {
            true => "Show pathway",
            false => "Hide pathway",
        }
    } else if was.colour != changed.colour {
        "Colour of pathway"
    } else if was.epsilon != changed.epsilon {
        "Width of pathway"
    } else if was.name != changed.name {
        "Rename pathway"
    } else {
        return if_done(state, phase);
    };
    edit(state, label, phase == Phase::Live, |document| {
        let same = |k: &&mut Arc<KeptPathway>| k.id == changed.id;
        if let Some(kept) = document.kept_pathways.iter_mut().find(same) {
            *kept = Arc::new(changed);
        }
    });
}

pub(in crate::state) fn rename(state: &mut State, id: LayerId, typed: &str) {
    let name = state.document.pathway_name(typed, Some(id));
    let other = |k: &Arc<KeptPathway>| k.id == id && k.name != name;
    if typed.is_empty() || !state.document.kept_pathways.iter().any(other) {
        return;
    }
    edit(state, "Rename pathway", false, |document| {
        let kept = document.kept_pathways.iter_mut().find(|k| k.id == id);
        if let Some(kept) = kept {
            Arc::make_mut(kept).name = name;
        }
    });
}

pub(in crate::state) fn delete(state: &mut State, id: LayerId) {
    if !state.document.kept_pathways.iter().any(|k| k.id == id) {
        return;
    }
    edit(state, "Delete pathway", false, |document| {
        document.kept_pathways.retain(|k| k.id != id);
    });
    state.runtime.pathways.selected.take_if(|s| *s == id);
}

/// Numbers up to this one are looked for in automatic names of regions.
const MAX_NUMBERED: usize = 1000;

/// Exchanges seeds and targets.
pub(in crate::state) fn swap(state: &mut State) {
    edit(state, "Swap ends", false, |document| {
        for region in &mut document.regions {
            let role = match region.role {
                Role::Seed => Role::Target,
                Role::Target => Role::Seed,
                _ => continue,
            };
            let region = Arc::make_mut(region);
            // The automatic name with this number, if the user has not named it.
            let pairs = automatic_names(region.role).zip(automatic_names(role));
            let mut pairs = pairs.take(MAX_NUMBERED);
            if let Some((_, name)) = pairs.find(|(own, _)| *own == region.name) {
                region.name = name;
            }
            region.role = role;
        }
    });
}

/// Requests the best path through the voxel at a point.
pub(in crate::state) fn hover(state: &mut State, at: Option<DVec3>, effects: &mut Vec<Effect>) {
    let runtime = &mut state.runtime.pathways;
    let voxel = |live: &PathwayResult| live.pathway.places.grid.nearest(at?);
    let live = runtime.live.value();
    let requested = live.and_then(|l| Some((l.clone(), voxel(l)?)));
    let key = requested.as_ref().map(|(pathway, voxel)| HoverKey {
        pathway: pathway.excess.id(),
        voxel: *voxel,
    });
    let order = runtime.hover.follow(key.as_ref(), false, Pace::Newest);
    // A query that is no longer needed ends within milliseconds.
    if let (Order::Start(..), Some((pathway, voxel))) = (order, requested) {
        effects.push(Effect::submit(PathQuery { pathway, voxel }));
    }
}

/// The result, width and name of a kept pathway, or of the live one.
pub(in crate::state) fn chosen_pathway(
    state: &State,
    layer: Option<LayerId>,
) -> Option<(Arc<PathwayResult>, f64, String)> {
    match layer {
        None => {
            let result = state.final_pathway()?.clone();
            Some((
                result,
                state.document.pathways.epsilon,
                "Pathway".to_owned(),
            ))
        }
        Some(id) => {
            let mut kept = state.document.kept_pathways.iter();
            let kept = kept.find(|k| k.id == id)?;
            Some((kept.result.clone()?, kept.epsilon, kept.name.clone()))
        }
    }
}

/// If a pathway exists, glyphs that are switched on start inside it, because its 3-D view hides the slices.
pub(in crate::state) fn set_glyphs(state: &mut State, glyphs: GlyphLook) {
    let on = glyphs.shown && !state.view.glyphs.shown;
    let any =
        state.runtime.pathways.live.value().is_some() || !state.document.kept_pathways.is_empty();
    state.view.glyphs = GlyphLook {
        distributions: parameters::sanitized(&glyphs.distributions),
        ..parameters::sanitized(&glyphs)
    };
    if on && any && state.view.task == Task::Pathways && glyphs.place == GlyphPlace::Scene {
        state.view.glyphs.place = GlyphPlace::Pathways;
    }
}

/// Writes a file of a pathway.
pub(in crate::state) fn save(
    state: &mut State,
    layer: Option<LayerId>,
    what: PathwayFile,
    path: PathBuf,
    effects: &mut Vec<Effect>,
) {
    let Some((pathway, epsilon, _)) = chosen_pathway(state, layer) else {
        return report_not_final(state, layer);
    };
    state.runtime.tour_step_done(TourStep::Save);
    let command = command_line(state, layer).map_or_else(String::new, |r| r.text());
    let volume = match what {
        PathwayFile::Mask => {
            return effects.push(Effect::submit(SavePathway {
                pathway,
                epsilon,
                path,
                command,
            }));
        }
        PathwayFile::Path => {
            return effects.push(Effect::submit(SaveTractogram {
                tractogram: pathway.curve.clone(),
                path,
                command,
                values: ValueNames::default(),
            }));
        }
        PathwayFile::Total => pathway.pathway.image(),
        PathwayFile::First => pathway.sides[0].clone(),
        PathwayFile::Second => pathway.sides[1].clone(),
    };
    effects.push(Effect::submit(SaveVolume {
        source: None,
        volume,
        path,
        command,
    }));
}

/// Adds the region of a pathway's voxels, which can confine streamlines, rays and other pathways.
pub fn region_computed(
    state: &mut State,
    pathway: DataId,
    (name, role, mask): (String, Role, Mask),
) {
    // The region arrives even if its document was closed.
    let mut kept = state.document.kept_pathways.iter().flat_map(|k| &k.result);
    if !has_field(&state.document, pathway) && !kept.any(|f| f.key.field == pathway) {
        return;
    }
    let (shape, mut id) = (Arc::new(Shape::Mask(mask)), RegionId(0));
    edit(state, "Region of a pathway", false, |document| {
        id = document.add_region(name, role, shape);
    });
    state.runtime.regions.selected = Some(id);
    state.runtime.notices.status =
        "Made a region of the pathway: paths stay inside it until its role is changed".into();
}
