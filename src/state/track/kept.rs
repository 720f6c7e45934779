//! Permanent streamlines and rays: the whole brain, kept layers, files.

use crate::data::text::counted;
use crate::data::{Role, Tractogram};
use crate::io::Format;
use crate::jobs::Values;
use crate::solvers::curves;
use crate::solvers::geodesic::Cut;
use crate::state::core::display::Display;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::notices::Severity;
use crate::state::core::text::{THIN, count};
use crate::state::document::Method;
use crate::state::edit::edit;
use crate::state::files::jobs::{SaveTractogram, SaveWithValues};
use crate::state::origin::Origin;
use crate::state::session::TourStep;
use crate::state::streamlines::Column;
use crate::state::track::jobs::LIVE;
use crate::state::track::jobs::streamlines::{TrackStreamlines, TrackWholeBrain};
use crate::state::track::types::CurveKey;
use crate::state::update::selection_recipe;
use crate::state::{Effect, Phase, State, WholeBrain, recipes, track};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NOT_FINAL: &str = "The result shown is not final: wait for it, or undo the last change";

/// Adds the streamlines of the whole brain as a layer, unless their tensors are gone.
pub fn whole_brain_done(
    state: &mut State,
    output: Arc<curves::Output>,
    requested: &CurveKey,
    wall_ms: f64,
) {
    let Some(made) = recipes::made(&state.document, requested, Cut::All) else {
        state.session.notify(
            Severity::Information,
            "Whole-brain streamlines discarded because the tensors changed during tracking: track again",
        );
        return;
    };
    let content = Content::Tractogram(output.kept.clone());
    let display = state.document.track.streamline_display.clone();
    add_layer(state, "Whole brain", content, made.into(), display);
    state.session.notices.status = format!(
        "{} from {} in {:.1}{THIN}s",
        counted(output.kept.len(), "streamline"),
        counted(output.seed_outcomes.iter().sum::<u64>() as usize, "seed"),
        wall_ms / 1e3
    );
}

pub fn set_whole_brain(state: &mut State, whole_brain: WholeBrain, phase: Phase) {
    edit(state, "Whole brain", phase == Phase::Live, |document| {
        document.track.whole_brain = whole_brain.sanitized();
    });
}

pub fn whole_brain(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(tensors) = &state.document.tensors else {
        state.session.notify(
            Severity::Error,
            "Tracking needs tensors: open a diffusion scan with its gradients",
        );
        return;
    };
    let whole_brain = &state.document.track.whole_brain;
    let mut regions = match whole_brain.by_regions {
        true => track::update::regions(&state.document),
        false => Vec::new(),
    };
    regions.retain(|r| r.role != Role::Seed);
    effects.push(Effect::submit(TrackWholeBrain(TrackStreamlines {
        field: tensors.field.clone(),
        fa: tensors.fa.clone(),
        regions,
        params: whole_brain.params(&state.document.track.streamlines),
        resample: track::update::resample(&state.document),
        coarse: false,
    })));
}

/// Adds a tractogram as a layer.
fn add_layer(state: &mut State, name: &str, content: Content, origin: Origin, display: Display) {
    let mut id = LayerId(0);
    edit(state, "Keep tracks", false, |document| {
        id = LayerId(document.fresh_id());
        let same = document
            .layers
            .iter()
            .filter(|l| l.name.starts_with(name))
            .count();
        let name = if same == 0 {
            name.to_owned()
        } else {
            format!("{name} {}", same + 1)
        };
        let origin = document.origins.add(origin);
        let layer = Layer::new(id, name, content, display, origin);
        document.layers.push(Arc::new(layer));
    });
    state.session.selected_layer = Some(id);
    state.session.regions.selected = None;
}

pub fn keep(state: &mut State) {
    let Some(live) = state.final_live().cloned() else {
        let sentence = match state.session.track.live {
            None => "There is nothing to keep yet: place a seed first",
            Some(_) => NOT_FINAL,
        };
        state.session.refused(LIVE, sentence.to_owned());
        return;
    };
    if live.output.kept.is_empty() {
        let sentence = "The result is empty: there is nothing to keep";
        state.session.refused(LIVE, sentence.to_owned());
        return;
    }
    let mut display = state.document.live_display().clone();
    let (name, what) = match &live.rays {
        Some(rays) => {
            // The colour scale stays that of all rays, including those cut.
            display.window = rays.range;
            let table = &mut state.view.table;
            if table.by.is_none() {
                // The strongest rays come first.
                (table.by, table.descending) = (Some(Column::Value("cm".to_owned())), true);
            }
            ("Rays", "rays")
        }
        None => ("Tracks", "streamlines"),
    };
    let kept = live.output.kept.clone();
    let number = count(kept.len() as u64);
    let content = Content::Tractogram(kept);
    let origin = Origin::from(recipes::live_made(&live));
    add_layer(state, name, content, origin, display);
    state.session.notices.status = format!("Kept {number} {what} as a layer");
}

/// Saves a layer's streamlines, or the live ones; of a layer with rules only those that they keep.
pub fn save(state: &mut State, layer: Option<LayerId>, path: PathBuf, effects: &mut Vec<Effect>) {
    if let Some(id) = layer.filter(|id| state.has_rules(*id)) {
        return save_selection(state, id, path, effects);
    }
    let found = match layer {
        Some(id) => state.document.layer(id).and_then(|l| match &l.content {
            Content::Tractogram(t) => Some((t.clone(), state.document.recipe(l).command())),
            _ => None,
        }),
        None => {
            let live = state.final_live();
            live.map(|l| {
                let recipe = state.document.live_recipe(l);
                (l.output.kept.clone(), recipe.command())
            })
        }
    };
    let Some((tractogram, command)) = found else {
        let sentence = match (
            state.session.track.live.is_some(),
            state.document.track.method,
        ) {
            (true, _) => NOT_FINAL,
            (false, Method::Streamlines) => {
                "There are no streamlines to save yet: place a seed first"
            }
            (false, Method::Rays) => "There are no rays to save yet: place a seed first",
        };
        state.session.failed(LIVE, sentence.to_owned());
        return;
    };
    let tractogram = with_grid(state, tractogram);
    write(tractogram, path, command, effects);
    state.session.tour_step_done(TourStep::Save);
}

fn save_selection(state: &mut State, id: LayerId, path: PathBuf, effects: &mut Vec<Effect>) {
    let layer = state.document.layer(id).cloned();
    let marks = state.passing(id).map(|s| s.marks.0.clone());
    let recipe = layer.as_deref().and_then(|l| selection_recipe(state, l));
    let (Some(layer), Some(marks), Some(recipe)) = (layer, marks, recipe) else {
        return state.session.notify(
            Severity::Information,
            "The result of the filter is not ready: wait for it or change the filter, then export again",
        );
    };
    let Content::Tractogram(tractogram) = &layer.content else {
        return;
    };
    effects.push(Effect::submit(SaveWithValues {
        tractogram: with_grid(state, tractogram.clone()),
        only: Some(marks),
        path,
        command: recipe.command(),
        replace: true,
    }));
    state.session.tour_step_done(TourStep::Save);
}

/// Adds the grid of the document's scan, else of its first image, if a file has none: some formats require one. No
/// point is moved.
pub fn with_grid(state: &State, tractogram: Tractogram) -> Tractogram {
    if tractogram.grid.is_some() {
        return tractogram;
    }
    let mut layers = state
        .document
        .scan()
        .into_iter()
        .chain(&state.document.layers);
    match layers.find_map(|l| l.content.volume()) {
        Some(volume) => tractogram.with_grid(volume.grid.clone()),
        None => tractogram,
    }
}

/// The data of a layer's streamlines, or of the live ones, that a file of this name would not hold; values written to
/// files next to a TCK are not lost.
pub fn unsupported_contents(state: &State, layer: Option<LayerId>, path: &Path) -> Vec<String> {
    let found = match layer {
        Some(id) => state.document.layer(id).and_then(|l| match &l.content {
            Content::Tractogram(tractogram) => Some(tractogram),
            _ => None,
        }),
        None => state.final_live().map(|live| &live.output.kept),
    };
    let (Some(tractogram), Some(format)) = (found, Format::named(path)) else {
        return Vec::new();
    };
    let values = Values::of(tractogram);
    let mut unsupported = values.losses(tractogram, path);
    unsupported.extend(values.refusals_seen(tractogram, path));
    unsupported.extend(format.unsupported_grid(tractogram));
    unsupported
}

/// Writes a streamline file and, next to a TCK, the values that it does not hold.
pub fn write(tractogram: Tractogram, path: PathBuf, command: String, effects: &mut Vec<Effect>) {
    let values = Values::of(&tractogram);
    effects.push(Effect::submit(SaveTractogram {
        tractogram,
        path,
        command,
        values,
    }));
}
