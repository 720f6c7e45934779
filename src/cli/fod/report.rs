//! The report of `arcuate fod`: warnings, JSON and text.

use super::super::output::shown;
use super::Options;
use super::responses::GivenResponses;
use crate::data::gradients::volume_numbers;
use crate::data::odf_field::Tissue;
use crate::data::spherical_harmonics::count as coefficients;
use crate::data::text::{count, counted};
use crate::data::{Gradients, Response};
use crate::parameters;
use crate::solvers::csd;
use crate::state::core::text::duration_text;
use crate::state::tensors::mask_text;
use crate::state::tensors::recipe::fod::{FodArguments, FodMap, ResponseSource, tissue_key};
use crate::state::tensors::types::fods::Fods;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Warns of samples that were left out and of tissues that are missing.
pub fn warn(options: &Options, given: &GivenResponses<'_>, fods: &Fods) {
    let (counts, scan) = (&fods.output.counts, &options.scan.scan);
    if counts.not_finite > 0 {
        warning!(
            "{} of the mask hold a sample that is not a finite number, so their distributions are 0; check the scan: \
             {scan}",
            counted(counts.not_finite, "voxel")
        );
    }
    if counts.unfinished > 0 {
        warning!(
            "The deconvolution of {} did not come to rest, so their distributions are approximate: {scan}",
            counted(counts.unfinished, "voxel")
        );
    }
    if counts.negative_samples > 0 {
        note!(
            "{} in {} of the mask are negative and were taken as 0: {scan}",
            counted(counts.negative_samples, "sample"),
            counted(counts.negative_voxels, "voxel")
        );
    }
    let used = |tissue: Tissue| fods.responses.iter().any(|(t, _)| *t == tissue);
    let unused_tissue = fods.measured.iter().find(|t| !used(t.tissue));
    if let Some(tissue) = unused_tissue {
        note!(
            "The response function of {} was measured and not used: {} tell {} apart: {scan}",
            tissue.tissue.name(),
            counted(fods.used_shells.len(), "shell"),
            counted(fods.responses.len(), "tissue")
        );
    }
    let asks_for_fractions = options.maps.contains(&FodMap::Fractions);
    if asks_for_fractions && fods.output.tissues.is_empty() {
        note!("There is a single tissue, so no fractions are written: {scan}");
    }
    // Volumes of the other shells are the part of a scan that is easily forgotten.
    let unused = fods.output.shells.shells.len() - fods.used_shells.len();
    let is_b0 = fods.used_shells.start == 1 && fods.output.shells.has_b0();
    if unused > 0 && !is_b0 {
        let file = given.file(Tissue::WhiteMatter).map(shown);
        note!(
            "Only the shell with the highest b is used, as the response function of {} has one row: {scan}",
            file.unwrap_or_else(|| Tissue::WhiteMatter.name().to_owned())
        );
    }
}

/// The members that describe how the distributions were computed.
pub fn json(
    options: &Options,
    params: &csd::Params,
    recipe: &FodArguments,
    fods: &Fods,
    gradients: &Gradients,
) -> Value {
    let (output, counts) = (&fods.output, &fods.output.counts);
    let shells = output.shells.shells.iter().enumerate().map(|(i, shell)| {
        json!({
            "b_s_per_mm2": shell.b_s_per_mm2,
            "volumes": shell.volumes.len(),
            "used": fods.used_shells.contains(&i),
        })
    });
    let shells: Vec<Value> = shells.collect();
    let source = match &recipe.responses {
        ResponseSource::Files(_) => "files",
        ResponseSource::Algorithm(algorithm) => algorithm.key(),
        ResponseSource::Masks(_) => "masks",
    };
    let in_mask = fods.mask.count();
    json!({
        "command": "fod",
        "parameters": parameters::json(params),
        "response_parameters": recipe.response_json(),
        "peak_parameters": parameters::json(&recipe.peak_params),
        "order": output.order.order,
        "order_reason": output.order.reason,
        "coefficients": coefficients(output.order.order),
        "gradients": gradients.summary(),
        "shells": shells,
        "volumes_used": used_volumes(fods),
        "volumes_without_direction": output.shells.without_direction,
        "responses_from": source,
        "responses": responses(options, recipe, fods),
        "mask_voxels": in_mask,
        "mask_found": fods.mask_found.is_some(),
        "mask": fods.mask_found.map(|m| json!({
            "volume_ml": m.volume_ml,
            "agreement": m.agreement,
            "doubtful": m.doubtful(),
        })),
        "voxels_not_finite": counts.not_finite,
        "voxels_without_signal": counts.without_signal,
        "negative_samples": counts.negative_samples,
        "voxels_negative": counts.negative_voxels,
        "voxels_repeated": counts.repeated,
        "voxels_unfinished": counts.unfinished,
        "median_afd_total": median_total(fods),
    })
}

/// The report as a file: it names the program, and holds no times, so that equal runs write equal files.
pub fn provenance(value: &Value) -> String {
    let mut value = value.clone();
    value["program"] = json!(format!("Arcuate {}", env!("CARGO_PKG_VERSION")));
    match serde_json::to_string_pretty(&value) {
        Ok(text) => text + "\n",
        Err(e) => e.to_string(),
    }
}

fn used_volumes(fods: &Fods) -> usize {
    let used = &fods.output.shells.shells[fods.used_shells.clone()];
    used.iter().map(|shell| shell.volumes.len()).sum()
}

/// The median of the integral of the distribution in the mask; 1 is white matter like that of the response.
fn median_total(fods: &Fods) -> Option<f64> {
    let inside = fods
        .mask
        .inside
        .iter()
        .zip(fods.output.field.coefficients.iter());
    let means = inside.filter(|(inside, c)| **inside != 0 && **c > 0.0);
    let mut totals: Vec<f64> = means.map(|(_, c)| csd::fraction(f64::from(*c))).collect();
    crate::data::statistics::upper_median(&mut totals)
}

/// Each response function: where it comes from, and its mean signals.
fn responses(options: &Options, recipe: &FodArguments, fods: &Fods) -> Vec<Value> {
    let of = |tissue: Tissue, response: &Response, used: bool| {
        let measured = fods.measured.iter().find(|t| t.tissue == tissue);
        let signals: Vec<f64> = (0..response.shell_count())
            .map(|k| response.mean_signal(k))
            .collect();
        let from = match &recipe.responses {
            ResponseSource::Files(files) => {
                let at = fods.responses.iter().position(|(t, _)| *t == tissue);
                at.and_then(|at| files.get(at)).cloned()
            }
            ResponseSource::Masks(masks) => {
                let mut masks = masks.iter();
                masks.find(|(t, _)| *t == tissue).map(|(_, f)| f.clone())
            }
            ResponseSource::Algorithm(_) => None,
        };
        json!({
            "tissue": tissue_key(tissue),
            "used": used,
            "from": from,
            "file": used.then(|| options.response_file(tissue)),
            "order": response.order(),
            "mean_signals": signals,
            "rows": response.rows,
            "voxels": measured.map(|t| t.voxels.count()),
            "candidates": measured.map(|t| t.candidates),
        })
    };
    let used = fods.responses.iter().map(|(t, r)| of(*t, r, true));
    let is_used = |tissue: Tissue| fods.responses.iter().any(|(t, _)| *t == tissue);
    let others = fods.measured.iter().filter(|t| !is_used(t.tissue));
    used.chain(others.map(|t| of(t.tissue, &t.response, false)))
        .collect()
}

pub fn text(fods: &Fods, gradients: &Gradients, wall_ms: f64, written: &[PathBuf]) -> String {
    let (output, counts) = (&fods.output, &fods.output.counts);
    let in_mask = fods.mask.count();
    let empty = counts.not_finite + counts.without_signal;
    let mut text = format!(
        "Distributions of order {} in {} of {} in {} ({})\n",
        output.order.order,
        count(in_mask.saturating_sub(empty) as u64),
        counted(in_mask, "voxel"),
        duration_text(wall_ms),
        gradients.summary(),
    );
    text += &format!(
        "Order {}: {}; {} of {} used\n",
        output.order.order,
        output.order.reason,
        count(used_volumes(fods) as u64),
        counted(gradients.len(), "volume"),
    );
    for (tissue, response) in &fods.responses {
        let signals =
            (0..response.shell_count()).map(|k| format!("{:.1}", response.mean_signal(k)));
        let signals: Vec<String> = signals.collect();
        let measured = fods.measured.iter().find(|t| t.tissue == *tissue);
        let place = measured.map(|t| {
            format!(
                " in {} of {}",
                count(t.voxels.count() as u64),
                counted(t.candidates, "voxel")
            )
        });
        text += &format!(
            "Response of {}{}: mean signal by shell {}\n",
            tissue.name(),
            place.unwrap_or_default(),
            signals.join(", ")
        );
    }
    if let Some(found) = &fods.mask_found {
        text += &format!("Brain mask found: {}\n", mask_text::facts(found));
    }
    text += &format!(
        "Without signal: {}; not finite: {}; computed in double precision: {}; not at rest: {}\n",
        count(counts.without_signal as u64),
        count(counts.not_finite as u64),
        count(counts.repeated as u64),
        count(counts.unfinished as u64)
    );
    if !output.shells.without_direction.is_empty() {
        text += &format!(
            "Left out, b above 50 but no direction: volumes {}\n",
            volume_numbers(&output.shells.without_direction)
        );
    }
    for path in written {
        text += &format!("{}\n", shown(path));
    }
    text
}
