//! What the jobs bring back.

use super::{edit, tracks};
use crate::data::{AffineSource, Gradients, Mask, Volume};
use crate::jobs::{Event, Loaded, Outcome, Output, Request, Saved, Slot};
use crate::render::colour_map::ColourMap;
use crate::solvers::tensor_fit;
use crate::state::document::{Content, Display, Layer, LayerId, Tensors};
use crate::state::recipe::{FitRecipe, Source};
use crate::state::session::{Live, Recent, Severity};
use crate::state::words::{THIN, count};
use crate::state::{Camera, Document, Effect, Recipe, State, defaults};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many files the first page remembers.
const RECENT: usize = 8;

pub fn event(state: &mut State, event: Event, effects: &mut Vec<Effect>) {
    let label = state
        .session
        .jobs
        .iter()
        .find(|j| j.ticket == event.ticket)
        .map(|j| j.label.clone());
    state.session.jobs.retain(|j| j.ticket != event.ticket);
    match event.outcome {
        Outcome::Cancelled if event.slot == Slot::Live => {}
        Outcome::Cancelled => {
            state.session.status = format!("Stopped: {}", label.unwrap_or_default().to_lowercase());
        }
        Outcome::Failed(why) if event.slot == Slot::Live => {
            state.session.live = None;
            state.session.live_error = Some(why);
        }
        Outcome::Failed(why) => state.session.failed(event.slot, why),
        Outcome::Done(output) => {
            // Of several files that are opened together, one must not hide another's failure.
            if event.slot != Slot::Load {
                state.session.forget_failures(event.slot);
            }
            done(state, output, event.wall_ms, effects);
        }
    }
}

fn done(state: &mut State, output: Output, wall_ms: f64, effects: &mut Vec<Effect>) {
    match output {
        Output::Opened {
            path,
            loaded,
            notes,
        } => opened(state, path, loaded, notes, effects),
        Output::Demo { seed, demo } => {
            let gradients = Arc::new(demo.gradients.clone());
            let recipe = Recipe::Phantom { seed };
            let scan = Content::Scan {
                dwi: demo.dwi.clone(),
                gradients: Some(gradients.clone()),
            };
            state.document = Document::default();
            state.history.clear();
            add(state, "dwi", scan, recipe.clone(), None, Vec::new());
            "Demo head".clone_into(&mut state.document.name);
            add(
                state,
                "T1",
                Content::Image(demo.t1.clone()),
                recipe.clone(),
                None,
                Vec::new(),
            );
            add(
                state,
                "Brain mask",
                Content::Mask(demo.mask.clone()),
                recipe,
                None,
                Vec::new(),
            );
            show_first(state);
            state.document.fit.b_range_s_per_mm2 = defaults::fit_b_range(&gradients);
            state.history.clear();
            state.session.unsaved = false;
            fit(state, effects);
        }
        Output::Fitted {
            fit,
            maps,
            mask,
            mask_found,
        } => {
            fitted(state, &fit, &maps, mask, mask_found, wall_ms);
            tracks::retrack(state, false, effects);
        }
        Output::Tracked {
            output,
            coarse,
            whole_brain,
        } => {
            let Some(recipe) = tracks::recipe(&state.document, whole_brain)
                .or_else(|| state.document.tensors.as_ref().map(|t| t.recipe.clone()))
            else {
                return;
            };
            let seeds = output.fates.iter().sum::<u64>() as usize;
            if whole_brain {
                let n = count(output.kept.len() as u64);
                tracks::add_layer(
                    state,
                    "Whole brain",
                    Content::Tractogram(output.kept.clone()),
                    recipe,
                );
                state.session.status = format!(
                    "Tracked {n} of {} streamlines in {:.1}{THIN}s",
                    count(seeds as u64),
                    wall_ms / 1e3
                );
                return;
            }
            state.session.status = format!(
                "Tracked {} streamlines in {wall_ms:.0}{THIN}ms",
                count(seeds as u64)
            );
            let targets = state
                .document
                .regions
                .iter()
                .filter(|r| r.role == crate::data::Role::Target);
            let targets = targets.map(|r| r.id).collect();
            state.session.live = Some(Live {
                output,
                coarse,
                seeds,
                wall_ms,
                recipe,
                targets,
            });
        }
        Output::Saved(Saved { path, what }) => {
            state.session.unsaved = false;
            state.session.status = format!("Saved {what}, read back and equal: {}", path.display());
        }
    }
}

fn opened(
    state: &mut State,
    path: PathBuf,
    loaded: Loaded,
    notes: Vec<String>,
    effects: &mut Vec<Effect>,
) {
    let name = stem(&path);
    let recipe = Recipe::File(path.clone());
    let first = state.document.is_empty();
    for note in &notes {
        state
            .session
            .say(Severity::Warning, format!("{note}: {}", path.display()));
    }
    let summary = match &loaded {
        Loaded::Scan { dwi, gradients, .. } => scan_summary(dwi, gradients.as_deref()),
        Loaded::Image(volume) => grid_summary(volume),
        Loaded::Mask(mask) => format!("{} voxels inside", mask.count()),
        Loaded::Tractogram(tractogram) => format!("{} streamlines", tractogram.len()),
    };
    let mut refit = false;
    let content = match loaded {
        Loaded::Scan { dwi, gradients, .. } => {
            if let Some(gradients) = &gradients {
                state.document.fit.b_range_s_per_mm2 = defaults::fit_b_range(gradients);
                refit = true;
            }
            // The same file opened again, with its gradients this time, takes the old one's place.
            state
                .document
                .layers
                .retain(|l| l.path.as_deref() != Some(&path));
            Content::Scan { dwi, gradients }
        }
        Loaded::Image(volume) => Content::Image(volume),
        Loaded::Mask(mask) => {
            let scan = state
                .document
                .scan()
                .and_then(|l| l.content.volume())
                .map(|v| v.grid.clone());
            refit = scan.is_some_and(|grid| grid.same_space(&mask.grid, 0.01));
            Content::Mask(mask)
        }
        Loaded::Tractogram(tractogram) => Content::Tractogram(tractogram),
    };
    add(state, &name, content, recipe, Some(path.clone()), notes);
    if first {
        state.document.name = name;
        show_first(state);
        state.history.clear();
        state.session.unsaved = false;
    }
    remember(state, path, summary, effects);
    if refit {
        fit(state, effects);
    }
}

/// File name without folder and without `.nii.gz` and the like.
fn stem(path: &Path) -> String {
    let name = path
        .file_name()
        .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.')
        .map_or(name, |(stem, _)| stem)
        .to_owned()
}

fn grid_summary(volume: &Volume) -> String {
    let [x, y, z] = volume.grid.shape;
    let frames = if volume.frames > 1 {
        format!(" × {}", volume.frames)
    } else {
        String::new()
    };
    format!("{x} × {y} × {z}{frames}")
}

fn scan_summary(dwi: &Volume, gradients: Option<&Gradients>) -> String {
    let shells = gradients.map_or("no gradients".to_owned(), Gradients::summary);
    format!("{}, {shells}", grid_summary(dwi))
}

fn remember(state: &mut State, path: PathBuf, summary: String, effects: &mut Vec<Effect>) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let opened = now.map_or(0, |d| d.as_secs());
    state.session.recent.retain(|r| r.path != path);
    state.session.recent.insert(
        0,
        Recent {
            path,
            summary,
            opened,
        },
    );
    state.session.recent.truncate(RECENT);
    effects.push(Effect::StoreRecent);
}

/// Looks at what was just opened first.
fn show_first(state: &mut State) {
    let (low, high) = state.document.bounds();
    state.view.crosshair = (low + high) * 0.5;
    state.view.camera = Camera::framing(low, high);
    super::frame_all(state);
}

fn add(
    state: &mut State,
    name: &str,
    content: Content,
    recipe: Recipe,
    path: Option<PathBuf>,
    mut notes: Vec<String>,
) -> LayerId {
    let display = match &content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => {
            if volume.grid.source == AffineSource::Pixdim {
                notes.push(
                    "The file says neither sform nor qform: left and right unknown".to_owned(),
                );
            }
            defaults::image_display(volume.percentiles(0, 0.01, 0.99))
        }
        Content::Mask(_) => defaults::mask_display(),
        Content::Tractogram(_) => state.document.track_display.clone(),
    };
    let mut id = LayerId(0);
    edit(state, "Open", false, |document| {
        id = LayerId(document.fresh_id());
        let name = name.to_owned();
        let layer = Layer {
            id,
            name,
            content,
            display,
            recipe,
            path,
            unit: "",
            unit_scale: 1.0,
            notes,
        };
        document.layers.push(Arc::new(layer));
    });
    id
}

/// Asks for a fit of the scan with the parameters as they are.
pub fn fit(state: &mut State, effects: &mut Vec<Effect>) {
    let document = &state.document;
    let Some(layer) = document.scan() else { return };
    let Content::Scan {
        dwi,
        gradients: Some(gradients),
    } = &layer.content
    else {
        return;
    };
    let mask = document.fit_mask().and_then(|l| match &l.content {
        // A mask that an earlier fit found is found again, so that the command does the same.
        Content::Mask(mask) if !matches!(l.recipe, Recipe::BrainMask(_)) => Some(mask.clone()),
        _ => None,
    });
    effects.push(Effect::Submit(Request::Fit {
        dwi: dwi.clone(),
        gradients: gradients.clone(),
        mask,
        params: document.fit.clone(),
    }));
}

fn source(layer: &Layer) -> Source {
    match (&layer.recipe, &layer.path) {
        (Recipe::Phantom { seed }, _) => Source::Phantom { seed: *seed },
        (_, path) => Source::File {
            dwi: path.clone().unwrap_or_default(),
            gradients: Vec::new(),
        },
    }
}

/// Puts the maps of a new fit where those of an earlier one were, keeping how they are shown.
fn fitted(
    state: &mut State,
    fit: &tensor_fit::Output,
    maps: &tensor_fit::Maps,
    mask: Mask,
    mask_found: bool,
    wall_ms: f64,
) {
    let Some(scan) = state.document.scan().cloned() else {
        return;
    };
    let source = source(&scan);
    let from_file = state
        .document
        .fit_mask()
        .filter(|l| !matches!(l.recipe, Recipe::BrainMask(_)));
    let mask_path = from_file.and_then(|l| l.path.clone());
    let recipe = FitRecipe {
        source: source.clone(),
        mask: mask_path,
        params: state.document.fit.clone(),
    };
    let map = |name: &str| Recipe::Fit {
        fit: recipe.clone(),
        map: name.to_owned(),
    };
    let first = state.document.tensors.is_none();

    let shown_as = |name: &str, volume: &Volume| {
        let recipe = map(name);
        Display {
            brightness: defaults::brightness(&recipe),
            ..defaults::image_display(defaults::window(volume, 0, &recipe))
        }
    };
    let hidden = |display: Display| Display {
        visible: false,
        ..display
    };
    let document = &mut state.document;
    if mask_found {
        put(
            document,
            "Brain mask",
            Content::Mask(mask.clone()),
            defaults::mask_display(),
            Recipe::BrainMask(source),
            "",
            1.0,
        );
    }
    for (name, volume) in [("MD", &maps.md), ("AD", &maps.ad), ("RD", &maps.rd)] {
        let content = Content::Image(volume.clone());
        put(
            document,
            name,
            content,
            hidden(shown_as(&name.to_lowercase(), volume)),
            map(&name.to_lowercase()),
            "×10⁻³ mm²/s",
            1e3,
        );
    }
    let repaired = fit.repaired.count();
    if repaired > 0 {
        let display = Display {
            opacity: 0.8,
            colour_map: ColourMap::Mask,
            ..defaults::mask_display()
        };
        put(
            document,
            "Repaired tensors",
            Content::Mask(fit.repaired.clone()),
            display,
            map("repaired"),
            "",
            1.0,
        );
    } else {
        document.layers.retain(|l| l.name != "Repaired tensors");
    }
    put(
        document,
        "FA",
        Content::Image(maps.fa.clone()),
        hidden(shown_as("fa", &maps.fa)),
        map("fa"),
        "",
        1.0,
    );
    put(
        document,
        "DEC",
        Content::Image(maps.dec.clone()),
        shown_as("dec", &maps.dec),
        map("dec"),
        "",
        1.0,
    );
    if first {
        // The picture a user expects first: colour by direction, on black.
        for layer in document.layers.iter().map(|l| l.id).collect::<Vec<_>>() {
            document.edit_layer(layer, |l| {
                if l.content.volume().is_some() {
                    l.display.visible = l.name == "DEC";
                }
            });
        }
        state.session.selected_layer = document.layer_named("DEC").map(|l| l.id);
    }
    let document = &mut state.document;
    let fitted = mask.count().saturating_sub(fit.unfitted);
    document.tensors = Some(Arc::new(Tensors {
        field: fit.field.clone(),
        fa: maps.fa.clone(),
        head: mask.bounds_inside().unwrap_or_else(|| mask.grid.bounds()),
        mask,
        params: document.fit.clone(),
        recipe: map("tensor"),
        fitted,
        repaired,
        unfitted: fit.unfitted,
        without_direction: fit.without_direction.clone(),
        wall_ms,
    }));
    if first {
        let (low, high) = state.document.framed();
        state.view.camera = Camera::framing(low, high);
        state.view.crosshair = (low + high) * 0.5;
    }
    state.session.status = format!(
        "Fitted {} voxels in {:.2}{THIN}s",
        count(fitted as u64),
        wall_ms / 1e3
    );
    if !fit.without_direction.is_empty() {
        let volumes: Vec<String> = fit
            .without_direction
            .iter()
            .map(ToString::to_string)
            .collect();
        state.session.say(
            Severity::Warning,
            format!(
                "Volumes left out of the fit, b above 50 but no direction (usually the scanner's trace image): {}",
                volumes.join(", ")
            ),
        );
    }
}

fn put(
    document: &mut Document,
    name: &str,
    content: Content,
    display: Display,
    recipe: Recipe,
    unit: &'static str,
    unit_scale: f32,
) {
    let made_here =
        |l: &Layer| l.name == name && matches!(l.recipe, Recipe::Fit { .. } | Recipe::BrainMask(_));
    if let Some(layer) = document.layers.iter_mut().find(|l| made_here(l)) {
        let layer = Arc::make_mut(layer);
        layer.content = content;
        layer.recipe = recipe;
        return;
    }
    let id = LayerId(document.fresh_id());
    let name = name.to_owned();
    let layer = Layer {
        id,
        name,
        content,
        display,
        recipe,
        path: None,
        unit,
        unit_scale,
        notes: Vec::new(),
    };
    document.layers.push(Arc::new(layer));
}
