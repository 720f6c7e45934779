//! Inputs of a fit: streamlines, scan, mask, peaks, timing.

use super::act;
use crate::parameters::Parameters as _;
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::tensor_fit::{self, FitMap};
use crate::state::core::text::counted;
use crate::state::filter::{FilterAction, GivenPeaks, ScanTimings};
use crate::state::streamlines::in_place::all_streamlines_of;
use crate::state::{Action, Content, LayerId, Phase, State};
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::format::{count, fixed};
use crate::ui::forms::display::select_row;
use crate::ui::forms::parameters::{self, Rows};
use crate::ui::widgets::{menu, rows};
use crate::ui::{Memory, icons};
use egui::Ui;

/// A row to choose one of the layers, or none if that is permitted.
fn layer_row(
    ui: &mut Ui,
    state: &State,
    (name, help, icon): (&str, &str, &str),
    (now, shown): (Option<LayerId>, &str),
    none: Option<&str>,
    fits: impl Fn(&crate::state::Layer) -> bool,
) -> Option<Option<LayerId>> {
    select_row(ui, name, help, shown, |ui| {
        let mut chosen = None;
        if let Some(none) = none
            && menu::Item::new(none).chosen(now.is_none()).show(ui)
        {
            chosen = Some(None);
        }
        for layer in state.document.layers.iter().rev().filter(|l| fits(l)) {
            let item = menu::Item::new(&layer.name).icon(icon);
            if item.chosen(now == Some(layer.id)).show(ui) {
                chosen = Some(Some(layer.id));
            }
        }
        chosen
    })
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let document = &state.document;
    let streamlines = document.filtered();
    let shown = streamlines.map_or("none".to_owned(), |(layer, lines)| {
        format!("{}  {}", layer.name, count(lines.len() as u64))
    });
    let now = streamlines.map(|(layer, _)| layer.id);
    let live = state
        .final_live()
        .is_some_and(|l| !l.output.kept.is_empty());
    let help = "Streamlines whose weights are fitted: tracked here, or from a file of any format";
    let chosen = select_row(ui, "Streamlines", help, &shown, |ui| {
        let mut chosen = None;
        for layer in document.layers.iter().rev() {
            let Some(lines) = all_streamlines_of(layer) else {
                continue;
            };
            let name = format!("{}  {}", layer.name, count(lines.len() as u64));
            let item = menu::Item::new(&name).icon(icons::PATH);
            if item.chosen(now == Some(layer.id)).show(ui) {
                chosen = Some(FilterAction::Tractogram(layer.id));
            }
        }
        if live && menu::Item::new("Keep live streamlines").show(ui) {
            chosen = Some(FilterAction::TakeLive);
        }
        chosen
    });
    if let Some(action) = chosen {
        act(actions, action);
    }
    let scan = document.explained();
    let now = scan.map(|(layer, ..)| layer.id);
    let shown = scan.map_or("none", |(layer, ..)| &layer.name);
    let description = (
        "Scan",
        "Scan whose signal the streamlines should explain: a diffusion scan with its gradients",
        icons::IMAGE,
    );
    let fits = |layer: &crate::state::Layer| document.explains(layer);
    if let Some(Some(id)) = layer_row(ui, state, description, (now, shown), None, fits) {
        act(actions, FilterAction::Scan(id));
    }
    if let Some((_, volume, Some(gradients))) = scan {
        let fact = format!(
            "{}, {}",
            counted(volume.frames, "volume"),
            gradients.summary()
        );
        rows::hint(ui, &fact);
    }
    mask(ui, state, actions);
    peaks(ui, state, actions);
    if document.filter_params().model.needs_timing() {
        timing(ui, state, memory, actions);
    }
}

const EVERYWHERE: &str = "voxels they cross";

fn mask(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    let mask = document.filter_mask();
    let head = document
        .explained()
        .is_some_and(|(layer, ..)| document.origin(layer).is_phantom());
    let description = (
        "Mask",
        "Voxels whose signal is explained: the whole brain, or its white matter",
        icons::REGION,
    );
    let now = mask.map(|(layer, _)| layer.id);
    let shown = mask.map_or(EVERYWHERE, |(layer, _)| &layer.name);
    let none = (!head).then_some(EVERYWHERE);
    // The map of repaired tensors is a mask, too, but not one to fit within.
    let mark =
        |layer: &crate::state::Layer| document.origin(layer).fit_map() == Some(FitMap::Repaired);
    let fits =
        |layer: &crate::state::Layer| matches!(layer.content, Content::Mask(_)) && !mark(layer);
    if let Some(id) = layer_row(ui, state, description, (now, shown), none, fits) {
        act(actions, FilterAction::Mask(id));
    }
}

/// Shown if the model has water around fibres.
fn peaks(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    const TENSORS: &str = "from the tensor fit";
    const DISTRIBUTIONS: &str = "from the distributions";
    let document = &state.document;
    if document.filter_params().model.extra.is_empty() {
        return;
    }
    let fods = Some(GivenPeaks::Distributions(()));
    let image = document.peak_image().map(|(layer, _)| layer);
    let now = match document.filter.peaks == fods {
        true => fods,
        false => image.map(|layer| GivenPeaks::Image(layer.id)),
    };
    let shown = match now {
        Some(GivenPeaks::Distributions(())) => DISTRIBUTIONS,
        _ => image.map_or(TENSORS, |layer| &layer.name),
    };
    let mut offered = vec![(TENSORS, None, None)];
    if now == fods || document.fod_peaks().is_some() {
        offered.push((DISTRIBUTIONS, None, fods));
    }
    let images = document.layers.iter().rev();
    for layer in images.filter(|layer| document.can_be_peaks(layer)) {
        let peaks = Some(GivenPeaks::Image(layer.id));
        offered.push((&layer.name, Some(icons::MAP), peaks));
    }
    let help = "Directions of the water around fibres: those of the tensors, the peaks of fibre orientation \
                distributions, or an image with three volumes per peak in world axes";
    let chosen = select_row(ui, "Peaks", help, shown, |ui| {
        let mut chosen = None;
        for (name, icon, peaks) in offered {
            let item = menu::Item::new(name).chosen(peaks == now);
            let item = match icon {
                Some(icon) => item.icon(icon),
                None => item,
            };
            if item.show(ui) {
                chosen = Some(peaks);
            }
        }
        chosen
    });
    if let Some(peaks) = chosen {
        act(actions, FilterAction::Peaks(peaks));
    }
    if let Some(text) = volumes_of_peaks(state) {
        rows::hint(ui, &text);
    }
}

/// How many volumes of the scan give the directions of peaks: weights are fitted to all of them. `None` where these are
/// all volumes of a tensor fit, or not known.
fn volumes_of_peaks(state: &State) -> Option<String> {
    let document = &state.document;
    let (_, scan, gradients) = document.explained()?;
    let all = count(scan.frames as u64);
    match document.filter.peaks {
        Some(GivenPeaks::Distributions(())) => {
            let result = document.distributions.result.as_ref()?;
            let peaks = counted(result.fods.peaks.as_ref()?.count(), "peak");
            let used = count(result.fods.used_volumes() as u64);
            Some(match result.key.is_read() {
                true => format!("Up to {peaks} in a voxel, from an image of distributions"),
                false => format!("Up to {peaks} in a voxel, from {used} of {all} volumes"),
            })
        }
        _ if document.peak_image().is_some() => None,
        _ => {
            let gradients = gradients?;
            let params = tensor_fit::Params::defaults_for(Some(gradients));
            let used = params.used_volumes(gradients);
            let text = || format!("Tensors use {} of {all} volumes", count(used as u64));
            (used < scan.frames).then(text)
        }
    }
}

enum From {
    Unknown,
    Entered,
    File,
}

fn timing(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let times = &state.document.filter.times;
    let shown = match times {
        ScanTimings::Unknown => "not known".to_owned(),
        ScanTimings::Both(_) => "δ and Δ".to_owned(),
        ScanTimings::Scheme { path, .. } => path
            .file_name()
            .map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
    };
    let help = "Timing of the gradient pulses, on which the signal of cylinders depends";
    let chosen = select_row(ui, "Timing", help, &shown, |ui| {
        let items = [
            ("Not known", From::Unknown, *times == ScanTimings::Unknown),
            (
                "δ and Δ, for all volumes",
                From::Entered,
                matches!(times, ScanTimings::Both(_)),
            ),
            (
                "Camino scheme file…",
                From::File,
                matches!(times, ScanTimings::Scheme { .. }),
            ),
        ];
        let mut chosen = None;
        for (name, from, now) in items {
            if menu::Item::new(name).chosen(now).show(ui) {
                chosen = Some(from);
            }
        }
        chosen
    });
    let mut set =
        |times: ScanTimings, phase: Phase| act(actions, FilterAction::Times { times, phase });
    match chosen {
        Some(From::Unknown) => set(ScanTimings::Unknown, Phase::Done),
        Some(From::Entered) => set(ScanTimings::Both(Timing::defaults()), Phase::Done),
        Some(From::File) => {
            memory
                .files
                .ask_for_path(ui.ctx(), PathPurpose::Scheme, DialogPosition::Middle, "")
        }
        None => {}
    }
    let ScanTimings::Both(timing) = times else {
        return;
    };
    let (defaults, all) = (Timing::defaults(), Rows::AllBut(&[]));
    parameters::rows(ui, timing, &defaults, all, &mut |timing, phase| {
        set(ScanTimings::Both(timing), phase);
    });
    if let Err(why) = timing.check() {
        rows::hint(ui, &why.to_string());
    } else {
        let effective = timing.between_ms - timing.pulse_ms / 3.0;
        let text = format!("Diffusion time Δ − δ/3: {} ms", fixed(effective, 1));
        rows::hint(ui, &text);
    }
}
