//! Streamlines: the live result, keeping and saving it.

use super::edit;
use crate::data::{DataId, Region, Role, Shape};
use crate::jobs::{Request, Slot};
use crate::solvers::tracking::{self, Seeding};
use crate::state::document::{Content, Layer, LayerId};
use crate::state::recipe::{RegionSpec, ShapeSpec};
use crate::state::session::{GuideStep, Live, Severity};
use crate::state::words::{THIN, count};
use crate::state::{Document, Effect, Recipe, State};
use std::path::PathBuf;
use std::sync::Arc;

/// While dragging, at most this many seeds: a few milliseconds of work.
const COARSE_SEEDS: usize = 400;

fn regions(document: &Document) -> Vec<Region> {
    document.regions.iter().map(|r| (**r).clone()).collect()
}

/// What streamlines were asked for with.
pub struct Asked {
    pub field: DataId,
    pub regions: Vec<Region>,
    pub params: tracking::Params,
    pub coarse: bool,
}

/// The recipe of streamlines; `None` where the tensors are not those of the document.
fn recipe(document: &Document, asked: &Asked) -> Option<Recipe> {
    let tensors = document.tensors.as_ref();
    let tensors = tensors.filter(|t| t.field.id() == asked.field)?;
    let Recipe::Fit { fit, .. } = &tensors.recipe else {
        return None;
    };
    let path_of = |region: &Region| {
        let Shape::Mask(mask) = &*region.shape else {
            return None;
        };
        let same = |l: &&Arc<Layer>| matches!(&l.content, Content::Mask(m) if m.id() == mask.id());
        document.layers.iter().find(same)?.path.clone()
    };
    let spec = |r: &Region| {
        let shape = ShapeSpec::of(&r.shape, path_of(r).as_deref()).ok_or(r.name.clone())?;
        let role = r.role;
        Ok(RegionSpec { role, shape })
    };
    let regions: Result<Vec<_>, String> = asked.regions.iter().map(spec).collect();
    Some(match regions {
        Ok(regions) => Recipe::Track {
            fit: fit.clone(),
            regions,
            params: asked.params.clone(),
        },
        Err(region) => Recipe::NoCommand { region },
    })
}

/// Whether live streamlines are those of the document as it is.
fn is_current(document: &Document, asked: &Asked) -> bool {
    let same = |(a, b): (&Arc<Region>, &Region)| {
        (a.id, a.role) == (b.id, b.role) && Arc::ptr_eq(&a.shape, &b.shape)
    };
    let field = document.tensors.as_ref().map(|t| t.field.id());
    let params = params(document, asked.coarse);
    field == Some(asked.field)
        && asked.regions.len() == document.regions.len()
        && document
            .regions
            .iter()
            .map(|r| r.role)
            .any(|r| r == Role::Seed)
        && document.regions.iter().zip(&asked.regions).all(same)
        && params == asked.params
}

/// Takes in the streamlines of the regions. What is out of date is dropped: newer ones were asked
/// for, or there is no seed any more.
pub fn live_done(state: &mut State, output: Arc<tracking::Output>, asked: &Asked, wall_ms: f64) {
    let current = is_current(&state.document, asked);
    let Some(recipe) = recipe(&state.document, asked).filter(|_| current) else {
        return;
    };
    let seeds = output.fates.iter().sum::<u64>() as usize;
    state.session.status = format!(
        "Tracked {} streamlines in {wall_ms:.0}{THIN}ms",
        count(seeds as u64)
    );
    let targets = asked.regions.iter().filter(|r| r.role == Role::Target);
    state.session.live = Some(Live {
        output,
        coarse: asked.coarse,
        seeds,
        wall_ms,
        recipe,
        targets: targets.map(|r| r.id).collect(),
    });
}

/// Makes the streamlines of the whole brain a layer, unless their tensors are gone.
pub fn whole_brain_done(
    state: &mut State,
    output: Arc<tracking::Output>,
    asked: &Asked,
    wall_ms: f64,
) {
    let Some(recipe) = recipe(&state.document, asked) else {
        state.session.say(
            Severity::Information,
            "The tensors changed while the whole brain was tracked, so its streamlines were \
             dropped: track it again",
        );
        return;
    };
    let content = Content::Tractogram(output.kept.clone());
    add_layer(state, "Whole brain", content, recipe);
    state.session.status = format!(
        "Tracked {} of {} streamlines in {:.1}{THIN}s",
        count(output.kept.len() as u64),
        count(output.fates.iter().sum()),
        wall_ms / 1e3
    );
}

/// The parameters of the live result; coarse while something is dragged.
fn params(document: &Document, coarse: bool) -> tracking::Params {
    let mut params = document.track.clone();
    if coarse {
        params.seeding = match params.seeding {
            Seeding::Random { count } => Seeding::Random {
                count: count.min(COARSE_SEEDS),
            },
            Seeding::Grid { .. } | Seeding::PerVoxel { .. } => Seeding::Random {
                count: COARSE_SEEDS,
            },
        };
    }
    params
}

/// Tracks again from the regions as they are; without a seed there is no live result.
pub fn retrack(state: &mut State, coarse: bool, effects: &mut Vec<Effect>) {
    state.session.unsettled = coarse;
    state.session.live_error = None;
    let document = &state.document;
    let seeded = document.regions.iter().any(|r| r.role == Role::Seed);
    let (Some(tensors), true) = (&document.tensors, seeded) else {
        state.session.live = None;
        effects.push(Effect::Cancel(Slot::Live));
        return;
    };
    effects.push(Effect::Submit(Request::Track {
        field: tensors.field.clone(),
        fa: tensors.fa.clone(),
        regions: regions(document),
        params: params(document, coarse),
        coarse,
        whole_brain: false,
    }));
}

pub fn whole_brain(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(tensors) = &state.document.tensors else {
        state.session.say(
            Severity::Error,
            "Tracking needs tensors: open a diffusion scan with its gradients",
        );
        return;
    };
    let mut regions = regions(&state.document);
    regions.retain(|r| r.role != Role::Seed);
    effects.push(Effect::Submit(Request::Track {
        field: tensors.field.clone(),
        fa: tensors.fa.clone(),
        regions,
        params: state.document.track.clone(),
        coarse: false,
        whole_brain: true,
    }));
}

/// Adds a tractogram as a layer, shown as live results are.
pub fn add_layer(state: &mut State, name: &str, content: Content, recipe: Recipe) {
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
        let display = document.track_display.clone();
        let layer = Layer {
            id,
            name,
            content,
            display,
            recipe,
            path: None,
            unit: "",
            unit_scale: 1.0,
            notes: Vec::new(),
        };
        document.layers.push(Arc::new(layer));
    });
    state.session.selected_layer = Some(id);
    state.session.selected_region = None;
}

pub fn keep(state: &mut State) {
    let Some(live) = state.session.live.clone().filter(|l| !l.coarse) else {
        state.session.say(
            Severity::Information,
            "There is nothing to keep yet: place a seed first",
        );
        return;
    };
    if live.output.kept.is_empty() {
        state.session.say(
            Severity::Information,
            "No streamline reached what was asked for: nothing to keep",
        );
        return;
    }
    add_layer(
        state,
        "Tracks",
        Content::Tractogram(live.output.kept.clone()),
        live.recipe,
    );
    state.session.status = format!(
        "Kept {} streamlines as a layer",
        count(live.output.kept.len() as u64)
    );
}

/// Saves a layer's streamlines, or the live ones.
pub fn save(state: &mut State, layer: Option<LayerId>, path: PathBuf, effects: &mut Vec<Effect>) {
    let found = match layer {
        Some(id) => state.document.layer(id).and_then(|l| match &l.content {
            Content::Tractogram(t) => Some((t.clone(), l.recipe.command())),
            _ => None,
        }),
        None => {
            let live = state.session.live.as_ref().filter(|l| !l.coarse);
            live.map(|l| (l.output.kept.clone(), l.recipe.command()))
        }
    };
    let Some((tractogram, command)) = found else {
        state.session.say(
            Severity::Error,
            "There are no streamlines to save yet: place a seed first",
        );
        return;
    };
    effects.push(Effect::Submit(Request::SaveTractogram {
        tractogram,
        path,
        command,
        revision: state.session.revision,
    }));
    state.session.guide_done(GuideStep::Save);
}
