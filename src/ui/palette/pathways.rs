//! Commands for pathways and tensor glyphs.

use super::{Entry, EntryAction};
use crate::data::Role;
use crate::data::text::within_sentence;
use crate::state::pathways::{
    KEEP_SHARE, PathwayAction, PathwayNoiseAction, PathwayNoiseSettings, PathwaySettings,
    SURFACE_USE, ShownCost, SurfaceUse, percent_joined,
};
use crate::state::track::types::odf::Model;
use crate::state::{
    Action, KeptPathway, LayerId, Phase, State, StreamlineAction, Task, ViewAction,
};
use crate::ui::format;
use crate::ui::forms::can_have_tensors;
use crate::ui::forms::eikonal::look::SHAPES;
use crate::ui::forms::eikonal::{agreement, noise, sensitivity, surface};
use crate::ui::forms::glyphs;
use std::sync::Arc;

/// Other words for a map of sensitivity.
const MAP: &str = "depends, voxels";

/// Commands of the task only while it is active: elsewhere their effect is invisible.
pub(super) fn entries(state: &State) -> Vec<Entry> {
    let mut all = Vec::new();
    if state.document.tensors.is_some() {
        all.extend(of_glyphs(state));
    }
    if state.view.task == Task::Pathways {
        all.extend(of_live(state));
        all.extend(looks(state));
        all.extend(state.document.kept_pathways.iter().flat_map(of_kept));
        all.extend(maps(state));
        all.extend(comparison(state));
        all.extend(commands(state));
        all.extend(repetitions(state));
    }
    if matches!(state.view.task, Task::Pathways | Task::Segment) && surface::is_shown(state) {
        all.extend(surface_uses(state));
    }
    all
}

/// The comparison of the selected pathway, else the live one, with streamlines.
fn comparison(state: &State) -> Option<Entry> {
    let is_possible = state.runtime.pathways.selected.is_some() || state.final_pathway().is_some();
    let compare = Action::Streamline(StreamlineAction::ComparePathway);
    (is_possible && state.current_streamlines().is_some())
        .then(|| entry(agreement::NAME.to_owned(), "overlap, dice", compare))
}

/// Maps of the sensitivity of kept pathways that are solved.
fn maps(state: &State) -> impl Iterator<Item = Entry> {
    let kept = state.document.kept_pathways.iter();
    kept.flat_map(|kept| {
        let model = kept.result.as_ref().map(|r| r.key.params.model());
        let all = model.map(|model| maps_of(model, Some(kept.id)));
        all.into_iter().flatten().map(|(name, map)| {
            let name = format!("{name} of {}", kept.name);
            entry(name, MAP, Action::Pathway(map))
        })
    })
}

/// The maps of a pathway with costs of this model.
fn maps_of(model: Model, id: Option<LayerId>) -> Vec<(&'static str, PathwayAction)> {
    let mut all = vec![(sensitivity::NAME, PathwayAction::Sensitivity(id))];
    if model == Model::Distributions {
        all.push((
            sensitivity::TO_AMPLITUDES,
            PathwayAction::AmplitudeSensitivity(id),
        ));
    }
    all
}

/// The treatments of the surface that are not in use.
fn surface_uses(state: &State) -> impl Iterator<Item = Entry> {
    let settings = &state.document.pathways;
    let others = SurfaceUse::ALL.into_iter();
    others
        .filter(move |surface_use| *surface_use != settings.surface_use)
        .map(move |surface_use| {
            let name = format!("{SURFACE_USE}: {}", within_sentence(surface_use.name()));
            let settings = settings.clone();
            let changed = PathwaySettings {
                surface_use,
                ..settings
            };
            entry(name, "obstacle, tumour", set(changed))
        })
}

/// Repetitions of the live pathway: the switch, and what they can be used for.
fn repetitions(state: &State) -> Vec<Entry> {
    const ALSO: &str = "noise, uncertainty, bootstrap";
    let settings = &state.document.pathways;
    let repeats = !settings.noise.repeats;
    let switched = PathwaySettings {
        noise: PathwayNoiseSettings {
            repeats,
            ..settings.noise.clone()
        },
        ..settings.clone()
    };
    let name = match repeats {
        true => noise::REPEAT,
        false => "Stop repeating the pathway",
    };
    let mut all = Vec::new();
    if !repeats || state.document.why_no_repetitions().is_none() {
        all.push(entry(name.to_owned(), ALSO, set(switched)));
    }
    if state.why_no_pathway_noise().is_none() {
        let keep = Action::Pathway(PathwayAction::Noise(PathwayNoiseAction::KeepShare));
        all.push(entry(KEEP_SHARE.to_owned(), ALSO, keep));
        let line = crate::state::update::pathway_noise_command(state);
        let copy = line.map(Action::CopyCommand);
        let name = "Copy as command: repetitions of the pathway";
        all.extend(copy.map(|copy| entry(name.to_owned(), ALSO, copy)));
    }
    all
}

fn entry(name: String, synonyms: &'static str, action: Action) -> Entry {
    Entry {
        name,
        synonyms,
        key: "",
        run: EntryAction::Act(action),
    }
}

fn set(settings: PathwaySettings) -> Action {
    let phase = Phase::Done;
    Action::Pathway(PathwayAction::Set { settings, phase })
}

fn of_live(state: &State) -> Vec<Entry> {
    let mut all = Vec::new();
    let settings = &state.document.pathways;
    if let Some(live) = state.final_pathway() {
        let keep = Action::Pathway(PathwayAction::Keep);
        all.push(entry("Keep pathway".to_owned(), "path", keep));
        for (name, map) in maps_of(live.key.params.model(), None) {
            all.push(entry(name.to_owned(), MAP, Action::Pathway(map)));
        }
        let from = live.pathway.joining_epsilon;
        let percent = percent_joined(from);
        let epsilon = percent / 100.0;
        if settings.epsilon < from && PathwaySettings::EPSILON.contains(&epsilon) {
            let percent = format::with_unit(&format::fixed(percent, 1), "%");
            let name = format!("Widen the pathway until it joins the regions: {percent}");
            let settings = settings.clone();
            let wider = set(PathwaySettings {
                epsilon,
                ..settings
            });
            all.push(entry(name, "epsilon, width, path", wider));
        }
    }
    for percent in [5.0, 10.0, 20.0, 50.0] {
        let epsilon = percent / 100.0;
        if epsilon != settings.epsilon {
            let percent = format::with_unit(&format::fixed(percent, 0), "%");
            let settings = settings.clone();
            let set = set(PathwaySettings {
                epsilon,
                ..settings
            });
            all.push(entry(format!("Pathway width ε {percent}"), "epsilon", set));
        }
    }
    let has_role = |role| state.document.regions.iter().any(|r| r.role == role);
    if has_role(Role::Seed) && has_role(Role::Target) {
        let swap = Action::Pathway(PathwayAction::SwapEnds);
        all.push(entry("Swap seed and target".to_owned(), "ends, path", swap));
    }
    all
}

/// Switches of the task's panel: the options not in use.
fn looks(state: &State) -> Vec<Entry> {
    let settings = &state.document.pathways;
    let mut all = Vec::new();
    let has_fods = state.document.distributions.field().is_some();
    let is_available = |model: &Model| match model {
        Model::Tensors => can_have_tensors(state),
        Model::Distributions => has_fods,
    };
    let others = Model::ALL.into_iter().filter(|m| *m != settings.model);
    for model in others.filter(is_available) {
        let name = PathwaySettings::directions(model).to_lowercase();
        let changed = PathwaySettings {
            model,
            ..settings.clone()
        };
        let name = format!("Directions of pathways: {name}");
        all.push(entry(name, "fod, lifted, model", set(changed)));
    }
    for (shown, also) in ShownCost::ALL
        .into_iter()
        .zip(["u1 + u2", "u1", "u2", "cost off"])
    {
        if Some(shown) != settings.shown_cost() {
            let name = match shown {
                ShownCost::Off => "Hide the cost on slices".to_owned(),
                shown => format!("Show cost {}", shown.name()),
            };
            all.push(entry(name, also, set(settings.with_cost(shown))));
        }
    }
    for (name_of_shape, (cloud, surface)) in SHAPES {
        if (cloud, surface) != (settings.cloud, settings.surface) {
            let name = format!("Pathway in 3-D: {}", name_of_shape.to_lowercase());
            let settings = settings.clone();
            let changed = PathwaySettings {
                cloud,
                surface,
                ..settings
            };
            all.push(entry(name, "volume", set(changed)));
        }
    }
    let verb = |on: bool| if on { "Hide" } else { "Show" };
    let outline = PathwaySettings {
        outline: !settings.outline,
        ..settings.clone()
    };
    let name = format!("{} the pathway's outline on slices", verb(settings.outline));
    all.push(entry(name, "contour", set(outline)));
    let greys = PathwaySettings {
        greys: !settings.greys,
        ..settings.clone()
    };
    let name = match settings.greys {
        true => "Images below the cost: in their colours",
        false => "Images below the cost: grey",
    };
    all.push(entry(name.to_owned(), "gray, underlay", set(greys)));
    all
}

fn of_kept(kept: &Arc<KeptPathway>) -> [Entry; 2] {
    let verb = if kept.visible { "Hide" } else { "Show" };
    let other = KeptPathway {
        visible: !kept.visible,
        ..(**kept).clone()
    };
    let show = PathwayAction::SetKept {
        kept: other,
        phase: Phase::Done,
    };
    let select = PathwayAction::Select(Some(kept.id));
    [
        (format!("{verb} pathway {}", kept.name), show),
        (format!("Select pathway {}", kept.name), select),
    ]
    .map(|(name, action)| entry(name, "", Action::Pathway(action)))
}

/// Entries that copy the commands of kept pathways; a key copies that of the live one.
fn commands(state: &State) -> Vec<Entry> {
    let kept = state.document.kept_pathways.iter();
    let command_entry = |kept: &Arc<KeptPathway>| {
        let line = crate::state::update::pathway_command(state, Some(kept.id))?;
        let name = format!("Copy as command: pathway {}", kept.name);
        Some(entry(name, "", Action::CopyCommand(line)))
    };
    kept.filter_map(command_entry).collect()
}

fn of_glyphs(state: &State) -> Vec<Entry> {
    let look = state.view.glyphs;
    let now = look.shown.then_some(look.shape);
    let others = glyphs::SHAPES
        .into_iter()
        .filter(|(_, shape)| *shape != now);
    let glyph_entry = |(shape_name, shape): (&str, Option<_>)| {
        let mut changed = look;
        changed.shown = shape.is_some();
        changed.shape = shape.unwrap_or(look.shape);
        let name = format!("Tensor glyphs: {}", shape_name.to_lowercase());
        entry(name, "", Action::View(ViewAction::SetGlyphs(changed)))
    };
    others.map(glyph_entry).collect()
}
