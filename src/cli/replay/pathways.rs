//! Pathways, maps of their sensitivity, and shares of repetitions of pathways and of streamlines.

use super::*;
use crate::data::Volume;
use crate::solvers::lifted::LEAST_EXCESS;
use crate::state::KeptPathway;
use crate::state::pathways::PathwayResult;
use crate::state::pathways::jobs::MapSensitivity;
use crate::state::pathways::recipe::{SensitivityRecipe, ShareRecipe};
use crate::state::track_noise::jobs::CompareRepetitions;
use crate::state::track_noise::recipe::StreamlineShareRecipe;
use crate::state::update::{find_pathway, find_pathway_of_layer, repeat_share};

/// Largest part of a map, in percent, that may lie in other voxels within tolerance: two backends may choose other
/// neighbours where several cost about the same.
const MAX_MOVED: f64 = 1.0;

fn costs(name: &str, result_name: &str, read: &ReadSession, solved: &PathwayResult) -> Replayed {
    let recomputed = RecomputedResult::Values(&solved.pathway.total);
    Replayed::new(name, result_name, read, &recomputed)
}

/// The pathway of the regions, if no surface is needed or it was restored.
pub fn live(window: &Headless, read: &ReadSession) -> Option<Replayed> {
    let solved = window.state.final_pathway()?;
    Some(costs(PATHWAY, saved::PATHWAY, read, solved))
}

/// The pathway of the regions if it depends on the surface of Segment, once that was restored.
pub fn around_surface(
    window: &mut Headless,
    read: &ReadSession,
) -> Option<(String, Result<Replayed, Failure>)> {
    let state = &window.state;
    let depends = state.document.pathways.surface_use.role().is_some();
    let is_recorded = read.results.iter().any(|sum| sum.result == saved::PATHWAY);
    if !depends || !is_recorded || state.runtime.segment.live.is_none() {
        return None;
    }
    let shown = window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    let replayed = shown.and_then(|()| {
        live(window, read).ok_or_else(|| {
            let why = window.state.why_no_pathway();
            Failure::new(format!("{PATHWAY} could not be recomputed: {why}"))
        })
    });
    Some((saved::PATHWAY.to_owned(), replayed))
}

/// Kept pathways.
pub fn kept(window: &mut Headless, read: &ReadSession) -> Outcomes {
    let document = window.state.document.clone();
    let mut replay = |kept: &Arc<KeptPathway>, result_name: &str| {
        // Opening the session solved it, or failed: then the reason is requested.
        if let Some(solved) = &kept.result {
            return Ok(costs(&kept.name, result_name, read, solved));
        }
        let solved = window.solve(find_pathway(&document, kept)?)?;
        Ok(costs(&kept.name, result_name, read, &solved))
    };
    let all = document.kept_pathways.iter();
    all.map(|kept| {
        let result_name = saved::result_name(kept.id.0);
        let result = replay(kept, &result_name);
        (result_name, result)
    })
    .collect()
}

/// Maps of the voxels on which pathways depend.
pub fn sensitivities(window: &mut Headless, read: &ReadSession) -> Outcomes {
    let document = window.state.document.clone();
    let now = |window: &mut Headless, layer: &Layer| {
        let recipe = document.sensitivity_recipe(layer.id)?;
        Some(map(window, &document, &layer.name, recipe))
    };
    images(window, read, now)
}

fn map(
    window: &mut Headless,
    document: &Document,
    name: &str,
    recipe: &SensitivityRecipe,
) -> Result<Volume, Failure> {
    let find = find_pathway_of_layer(document, name, recipe.pathway(), LEAST_EXCESS)?;
    let solved = window.solve(find)?;
    let pathway = Arc::new(*solved);
    let (to, find) = (recipe.to, None);
    Ok(window.run(MapSensitivity { pathway, to, find })?.volume)
}

/// Shares of the repetitions of pathways that were kept as layers.
pub fn shares(window: &mut Headless, read: &ReadSession) -> Outcomes {
    let document = window.state.document.clone();
    let now = |window: &mut Headless, layer: &Layer| {
        let recipe = document.share_recipe(layer.id)?;
        Some(share(window, &document, &layer.name, recipe))
    };
    images(window, read, now)
}

fn share(
    window: &mut Headless,
    document: &Document,
    name: &str,
    recipe: &ShareRecipe,
) -> Result<Volume, Failure> {
    let epsilon = recipe.epsilon.max(LEAST_EXCESS);
    let solved = window.solve(find_pathway_of_layer(
        document,
        name,
        recipe.pathway(),
        epsilon,
    )?)?;
    let pathway = Arc::new(*solved);
    let repeated = window.run(repeat_share(document, name, recipe, pathway)?)?;
    Ok(repeated.repetitions.share())
}

/// Shares of the repetitions of streamlines that were kept as layers.
pub fn streamline_shares(window: &mut Headless, read: &ReadSession) -> Outcomes {
    let document = window.state.document.clone();
    let now = |window: &mut Headless, layer: &Layer| {
        let recipe = document.streamline_share_recipe(layer.id)?;
        Some(streamline_share(window, &document, &layer.name, recipe))
    };
    images(window, read, now)
}

fn streamline_share(
    window: &mut Headless,
    document: &Document,
    name: &str,
    recipe: &StreamlineShareRecipe,
) -> Result<Volume, Failure> {
    let curves = document.origins.curves(recipe.curves);
    let repeated = curves.and_then(|curves| Some((curves, curves.curves.repetitions()?)));
    let unknown = || {
        Failure::new(format!(
            "{name} could not be recomputed: its streamlines are unknown"
        ))
    };
    let (curves, repetitions) = repeated.ok_or_else(unknown)?;
    let job = RecomputeCurves::new(document, 0, name, curves)?;
    let kept = window.run(job)?.tractogram;
    let grid = kept.grid.clone().ok_or_else(unknown)?;
    let noise = window.run(CompareRepetitions {
        kept,
        repetitions,
        grid,
    })?;
    Ok(noise.share)
}

/// Recomputes the images of some layers and compares them with the stored values: a session stores these images in full.
/// `now` returns the recomputed image, `None` for other layers.
fn images(
    window: &mut Headless,
    read: &ReadSession,
    mut now: impl FnMut(&mut Headless, &Layer) -> Option<Result<Volume, Failure>>,
) -> Outcomes {
    let layers = window.state.document.layers.clone();
    let mut all = Outcomes::new();
    for layer in &layers {
        let Content::Image(then) = &layer.content else {
            continue;
        };
        let Some(now) = now(window, layer) else {
            continue;
        };
        let result_name = saved::result_name(layer.id.0);
        let replayed = now.map(|now| {
            let recomputed = RecomputedResult::Values(&now.values);
            Replayed {
                outcome: Some(agree(&then.values, &now.values)),
                expected_count: Some(then.values.len() as u64),
                ..Replayed::new(&layer.name, &result_name, read, &recomputed).with_noun("values")
            }
        });
        all.push((result_name, replayed));
    }
    all
}

/// Whether at most [`MAX_MOVED`] percent of the sum of a map have moved to other voxels.
fn agree(then: &[f32], now: &[f32]) -> Match {
    if then == now {
        return Match::SameBytes;
    }
    let sum: f64 = then.iter().map(|value| f64::from(*value)).sum();
    let pairs = then.iter().zip(now);
    let moved: f64 = pairs.map(|(a, b)| f64::from((a - b).abs())).sum();
    match then.len() == now.len() && 0.5 * moved <= 0.01 * MAX_MOVED * sum {
        true => Match::WithinTolerance,
        false => Match::Differs,
    }
}
