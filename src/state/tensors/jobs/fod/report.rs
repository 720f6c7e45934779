//! The report of distributions as JSON: parameters, shells, order, and where response functions were measured.

use super::FodFiles;
use crate::data::odf_field::Tissue;
use crate::data::spherical_harmonics::count as coefficients;
use crate::data::{Gradients, Response};
use crate::solvers::csd;
use crate::state::tensors::recipe::fod::{FodArguments, ResponseSource, deconvolution_json};
use crate::state::tensors::types::fods::Fods;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The members that describe how the distributions were computed. Without gradients they were read from an image.
pub fn json(
    files: &FodFiles<'_>,
    params: &csd::Params,
    recipe: &FodArguments,
    fods: &Fods,
    gradients: Option<&Gradients>,
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
    let in_mask = fods.mask.count();
    json!({
        "command": "fod",
        "parameters": gradients.map(|_| deconvolution_json(params)),
        "response_parameters": recipe.response_json(),
        "peak_parameters": recipe.peak_json(),
        "order": output.order.order,
        "order_reason": output.order.reason,
        "coefficients": coefficients(output.order.order),
        "gradients": gradients.map(Gradients::summary),
        "shells": shells,
        "volumes_used": fods.used_volumes(),
        "volumes_without_direction": output.shells.without_direction,
        "responses_from": recipe.responses.key(),
        "responses": responses(files, recipe, fods),
        "mask_voxels": in_mask,
        "mask_automatic": fods.mask_report.is_some(),
        "mask_file": recipe.mask,
        "mask_quality": fods.mask_report.map(|m| json!({
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
        "median_cone_deg": fods.median_cone_deg(),
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
fn responses(files: &FodFiles<'_>, recipe: &FodArguments, fods: &Fods) -> Vec<Value> {
    let entry = |tissue: Tissue, response: &Response, used: bool| {
        let measured = fods.measured.iter().find(|t| t.tissue == tissue);
        let signals: Vec<f64> = (0..response.shell_count())
            .map(|k| response.mean_signal(k))
            .collect();
        let from = match &recipe.responses {
            ResponseSource::Files(files) => {
                let at = fods.responses.iter().position(|(t, _)| *t == tissue);
                at.and_then(|at| files.get(at)).cloned()
            }
            ResponseSource::Each { tissues, .. } => {
                let own = tissues.iter().find(|(t, _)| *t == tissue);
                own.and_then(|(_, source)| source.text().map(PathBuf::from))
            }
            ResponseSource::Algorithm(_) | ResponseSource::NotUsed => None,
        };
        json!({
            "tissue": tissue.key(),
            "used": used,
            "from": from,
            "file": used.then(|| files.response(tissue)),
            "order": response.order(),
            "mean_signals": signals,
            "rows": response.rows,
            "voxels": measured.map(|t| t.voxels.count()),
            "candidates": measured.and_then(|t| t.candidates),
        })
    };
    let used = fods.responses.iter().map(|(t, r)| entry(*t, r, true));
    let is_used = |tissue: Tissue| fods.responses.iter().any(|(t, _)| *t == tissue);
    let others = fods.measured.iter().filter(|t| !is_used(t.tissue));
    used.chain(others.map(|t| entry(t.tissue, &t.response, false)))
        .collect()
}
