//! Streamlines and rays that stay: those of the whole brain, and live results kept as layers.

use crate::data::Role;
use crate::data::text::counted;
use crate::parameters;
use crate::solvers::curves;
use crate::solvers::geodesic::Cut;
use crate::state::core::display::Display;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::notices::Severity;
use crate::state::core::text::{THIN, count};
use crate::state::edit::edit;
use crate::state::origin::Origin;
use crate::state::origin::commands;
use crate::state::streamlines::Column;
use crate::state::track::jobs::LIVE;
use crate::state::track::jobs::streamlines::{TrackStreamlines, TrackWholeBrain};
use crate::state::track::types::CurveKey;
use crate::state::track::types::odf::Model;
use crate::state::{Effect, Phase, State, WholeBrain, track};
use std::sync::Arc;

pub(in crate::state) const NOT_FINAL: &str =
    "The result shown is not final: wait for it, or undo the last change";

/// Adds the streamlines of the whole brain as a layer, unless their tensors or distributions are gone.
pub fn whole_brain_done(
    state: &mut State,
    output: Arc<curves::Output>,
    requested: &CurveKey,
    wall_ms: f64,
) {
    let Some(recipe) = commands::curve_recipe(&state.document, requested, Cut::All) else {
        let sentence = match requested.curves.kind().model() {
            Model::Tensors => {
                "Whole-brain streamlines discarded because the tensors changed during tracking: track again"
            }
            Model::Distributions => {
                "Whole-brain streamlines discarded because the distributions changed during tracking: track again"
            }
        };
        state.runtime.notify(Severity::Information, sentence);
        return;
    };
    let content = Content::Tractogram(output.kept.clone());
    let display = state.document.track.streamline_display.clone();
    add_layer(state, "Whole brain", content, recipe.into(), display);
    state.runtime.notices.status = format!(
        "{} from {} in {:.1}{THIN}s",
        counted(output.kept.len(), "streamline"),
        counted(output.seed_outcomes.iter().sum::<u64>() as usize, "seed"),
        wall_ms / 1e3
    )
    .into();
}

pub fn set_whole_brain(state: &mut State, whole_brain: WholeBrain, phase: Phase) {
    edit(state, "Whole brain", phase == Phase::Live, |document| {
        document.track.whole_brain = parameters::sanitized(&whole_brain);
    });
}

pub fn whole_brain(state: &mut State, effects: &mut Vec<Effect>) {
    let whole_brain = state.document.track.whole_brain;
    let mut regions = match whole_brain.by_regions {
        true => track::update::regions(&state.document),
        false => Vec::new(),
    };
    regions.retain(|r| r.role != Role::Seed);
    if state.document.track.model == Model::Distributions {
        let params = whole_brain.odf_params(&state.document.odf_params());
        match track::update::odf_job(state, regions, params) {
            Some(job) => effects.push(Effect::submit(TrackWholeBrain(job))),
            None => state.runtime.notify(Severity::Error, NO_DISTRIBUTIONS),
        }
        return;
    }
    let Some(tensors) = &state.document.tensors else {
        state.runtime.notify(
            Severity::Error,
            "Tracking needs tensors: open a diffusion scan with its gradients",
        );
        return;
    };
    effects.push(Effect::submit(TrackWholeBrain(TrackStreamlines {
        field: tensors.field.clone(),
        fa: tensors.fa.clone(),
        regions,
        params: whole_brain.params(&state.document.track.streamlines),
        resample: track::update::resample(&state.document),
        coarse: false,
        drawing: None,
    })));
}

const NO_DISTRIBUTIONS: &str = "Tracking needs the distributions and the chosen tissues: estimate the \
                                distributions, or choose other tissues";

/// Adds a tractogram as a layer.
fn add_layer(state: &mut State, name: &str, content: Content, origin: Origin, display: Display) {
    let mut id = LayerId(0);
    edit(state, "Keep streamlines", false, |document| {
        id = LayerId(document.fresh_id());
        let name = document.free_layer_name(name);
        let origin = document.origins.add(origin);
        let layer = Layer::new(id, name, content, display, origin);
        document.layers.push(Arc::new(layer));
    });
    state.runtime.selected_layer = Some(id);
    state.runtime.regions.selected = None;
}

pub fn keep(state: &mut State) {
    let Some(live) = state.final_live().cloned() else {
        let sentence = match state.runtime.track.live.value() {
            None => "There is nothing to keep yet: place a seed first",
            Some(_) => NOT_FINAL,
        };
        state.runtime.notify_blocked(LIVE, sentence.to_owned());
        return;
    };
    if live.output.kept.is_empty() {
        let sentence = "The result is empty: there is nothing to keep";
        state.runtime.notify_blocked(LIVE, sentence.to_owned());
        return;
    }
    let mut display = state.document.live_display().clone();
    let (name, what) = match &live.rays {
        Some(rays) => {
            // The colour scale stays that of all rays, including those cut.
            display.window = rays.range;
            let table = &mut state.view.table;
            if table.column.is_none() {
                // The strongest rays come first.
                (table.column, table.descending) = (Some(Column::Value("cm".to_owned())), true);
            }
            ("Rays", "rays")
        }
        None => ("Streamlines", "streamlines"),
    };
    let kept = live.output.kept.clone();
    let number = count(kept.len() as u64);
    let content = Content::Tractogram(kept);
    let origin = Origin::from(commands::live_curve_recipe(&live));
    add_layer(state, name, content, origin, display);
    state.runtime.notices.status = format!("Kept {number} {what} as a layer").into();
}
