//! The report of distributions: where the response functions were measured, their values, and what was left out.

use crate::data::odf_field::Tissue;
use crate::state::core::text::counted;
use crate::state::tensors::types::fods::{FodResult, FodSource, TissueChoice};
use crate::state::tensors::{fod_text, mask_text};
use crate::state::{Action, State, TensorAction};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::{paint, rows};
use crate::ui::{format, panels};
use egui::{Sense, Ui, vec2};

/// Whether a finding needs attention.
pub fn warns(result: &FodResult) -> bool {
    !warnings(result).is_empty()
}

/// Findings that need attention, one sentence each.
fn warnings(result: &FodResult) -> Vec<String> {
    let fods = &result.fods;
    let counts = &fods.output.counts;
    // In an image, a value that is not a number often marks voxels outside the brain.
    let not_finite = match result.key.is_read() {
        true => 0,
        false => counts.not_finite,
    };
    let voxels = [
        (
            not_finite,
            "with a sample that is not a number: no distribution",
        ),
        (
            counts.unfinished,
            "not converged: the distribution is approximate",
        ),
    ];
    let voxels = voxels.into_iter().filter(|(count, _)| *count > 0);
    let voxels = voxels.map(|(count, what)| format!("{} {what}", counted(count, "voxel")));
    let mask = fods.mask_report.as_ref().and_then(mask_text::doubt);
    voxels.chain(mask).chain(fod_text::doubts(fods)).collect()
}

pub fn show(ui: &mut Ui, state: &State, result: &FodResult, actions: &mut Vec<Action>) {
    let lines = match result.key.is_read() {
        true => read_lines(state, result),
        false => lines(state, result),
    };
    for warning in warnings(result) {
        rows::warning_with_room(ui, &warning, []);
    }
    for line in lines {
        rows::hint(ui, &line);
    }
    if !result.fods.measured.is_empty() {
        let button = Button::plain("Show the voxels of the responses")
            .hint("Adds a label map of the voxels in which the response functions were measured");
        let size = vec2(ui.available_width(), space::BUTTON + 8.0);
        let (place, _) = ui.allocate_exact_size(size, Sense::hover());
        let place = paint::inset(place, space::INSET, 4.0);
        let (responses, _) = panels::button_row(ui, place, vec![button]);
        if responses[0].clicked() {
            actions.push(Action::Tensors(TensorAction::ShowResponseVoxels));
        }
    }
    ui.add_space(4.0);
}

/// Distributions that an image holds: one sentence each.
fn read_lines(state: &State, result: &FodResult) -> Vec<String> {
    let document = &state.document;
    let image = match result.key.settings.source {
        FodSource::Image(layer) => document.fod_image(layer),
        FodSource::Scan => None,
    };
    let image = image.filter(|(_, volume, _)| volume.id() == result.key.image);
    let image = image.map(|(layer, _, layout)| {
        format!(
            "{}: {}. Nothing was deconvolved",
            layer.name,
            layout.description()
        )
    });
    let fods = &result.fods;
    let order = format!(
        "Order {}, from {}",
        fods.output.order.order, fods.output.order.reason
    );
    let voxels = format!("Distributions in {}", counted(fods.mask.count(), "voxel"));
    let not_finite = match fods.output.counts.not_finite {
        0 => None,
        n => Some(format!(
            "{} with a value that is not a number: no distribution",
            counted(n, "voxel")
        )),
    };
    let facts = image.into_iter().chain([order, voxels]);
    facts.chain(not_finite).collect()
}

/// One sentence each.
fn lines(state: &State, result: &FodResult) -> Vec<String> {
    let (fods, output) = (&result.fods, &result.fods.output);
    let mut lines = Vec::new();
    let shells = &output.shells.shells;
    for (tissue, response) in &fods.responses {
        let measured = fods.measured.iter().find(|m| m.tissue == *tissue);
        let place = match (measured, region(state, result, *tissue)) {
            (Some(measured), Some(region)) => format!(
                "measured in {} of “{region}”",
                counted(measured.voxels.count(), "voxel")
            ),
            (Some(measured), None) => {
                let voxels = measured.voxels.count();
                match measured.candidates {
                    Some(all) => format!(
                        "measured in {} of {}",
                        format::count(voxels as u64),
                        counted(all, "voxel")
                    ),
                    None => format!("measured in {}", counted(voxels, "voxel")),
                }
            }
            (None, _) => "from a file".to_owned(),
        };
        // A response with fewer rows than shells is that of the outermost ones.
        let first = shells.len().saturating_sub(response.shell_count());
        let values = shells[first..].iter().enumerate().map(|(k, shell)| {
            let signal = format::significant(response.mean_signal(k));
            format!("{signal} at b = {:.0}", shell.b_s_per_mm2)
        });
        let values: Vec<String> = values.collect();
        lines.push(format!(
            "{}: {place}. Mean signal {}",
            tissue.label(),
            format::with_unit(&values.join(", "), "s/mm²")
        ));
    }
    let unused = fods.measured.iter().filter(|m| {
        let mut used = fods.responses.iter();
        used.all(|(tissue, _)| *tissue != m.tissue)
    });
    for tissue in unused {
        lines.push(format!(
            "The response of {} was measured and not used: the signal of {} separates at most {}",
            tissue.tissue.name(),
            counted(fods.used_shells.len(), "shell"),
            counted(fods.responses.len(), "tissue")
        ));
    }
    lines.extend(fod_text::outer_shell_alone(fods));
    lines.push(format!(
        "Order {}: {}",
        output.order.order, output.order.reason
    ));
    if let (Some(cone), Some(repetitions)) = (
        fods.median_cone_deg(),
        result.key.settings.params.repetitions,
    ) {
        lines.push(format!(
            "Cone of uncertainty of the largest peaks: median {}°, from {}",
            format::significant(cone),
            counted(repetitions, "repetition")
        ));
    }
    let all: usize = shells.iter().map(|shell| shell.volumes.len()).sum();
    let without = output.shells.without_direction.len();
    let used = fods.used_volumes();
    lines.push(format!(
        "{} of {} used",
        format::count(used as u64),
        counted(all + without, "volume")
    ));
    let counts = &output.counts;
    let problems = [
        (counts.without_signal, "without signal: no distribution"),
        (counts.negative_voxels, "with negative samples, taken as 0"),
    ];
    for (count, what) in problems.into_iter().filter(|(count, _)| *count > 0) {
        lines.push(format!("{} {what}", counted(count, "voxel")));
    }
    if let Some(why) = output.on_cpu {
        lines.push(format!("The deconvolution ran on the CPU: {why}"));
    }
    if let Some(report) = &fods.mask_report {
        lines.push(format!("Mask found: {}", mask_text::facts(report)));
    }
    lines
}

/// The name of the region that a response function was measured in.
fn region(state: &State, result: &FodResult, tissue: Tissue) -> Option<String> {
    let document = &state.document;
    match result.key.settings.responses.of_tissue(tissue)? {
        TissueChoice::Region(id) => Some(document.region(*id)?.name.clone()),
        TissueChoice::Layer(id) => Some(document.layer(*id)?.name.clone()),
        TissueChoice::Estimated | TissueChoice::File(_) | TissueChoice::Omitted => None,
    }
}
