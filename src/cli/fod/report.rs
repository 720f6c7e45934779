//! The report of `arcuate fod`: warnings, JSON and text.

use super::super::output::shown;
use super::Options;
use super::responses::GivenResponses;
use crate::data::Gradients;
use crate::data::gradients::volume_numbers;
use crate::data::odf_field::Tissue;
use crate::data::text::{count, counted, enumerated, singular_or_plural};
use crate::state::core::text::duration_text;
use crate::state::tensors::recipe::fod::FodMap;
use crate::state::tensors::types::fods::Fods;
use crate::state::tensors::{fod_text, mask_text};
use std::path::PathBuf;

/// Warns of samples that were left out and of tissues that are missing.
pub fn warn(options: &Options, maps: &[FodMap], given: &GivenResponses<'_>, fods: &Fods) {
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
            "The deconvolution of {} did not converge, so their distributions are approximate: {scan}",
            counted(counts.unfinished, "voxel")
        );
    }
    if let Some(why) = fods.output.on_cpu {
        note!("The deconvolution ran on the CPU: {why}: {scan}");
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
            "The response function of {} was measured and not used, since the signal of {} separates at most {}: {scan}",
            tissue.tissue.name(),
            counted(fods.used_shells.len(), "shell"),
            counted(fods.responses.len(), "tissue")
        );
    }
    let unused_files = Tissue::ALL
        .into_iter()
        .filter(|tissue| given.file(*tissue).is_some() && !used(*tissue));
    let unused_files: Vec<&str> = unused_files.map(Tissue::name).collect();
    if !unused_files.is_empty() {
        note!(
            "The paper's method takes one tissue, so the response {} of {} {} not used: {scan}",
            singular_or_plural(unused_files.len(), "function", "functions"),
            enumerated(&unused_files),
            singular_or_plural(unused_files.len(), "was", "were")
        );
    }
    let asks_for_fractions = maps.contains(&FodMap::Fractions);
    if asks_for_fractions && fods.output.tissues.is_empty() {
        note!("There is a single tissue, so no fractions are written: {scan}");
    }
    if options.maps.contains(&FodMap::ResponseVoxels) && fods.measured.is_empty() {
        note!(
            "The response functions were read from files, so no image of their voxels is written: {scan}"
        );
    }
    if let Some(sentence) = fod_text::outer_shell_alone(fods) {
        note!("{sentence}: {scan}");
    }
    for doubt in fod_text::doubts(fods) {
        warning!("{doubt}: {scan}");
    }
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
        output.shells.summary(),
    );
    text += &format!(
        "Order {}: {}; {} of {} used\n",
        output.order.order,
        output.order.reason,
        count(fods.used_volumes() as u64),
        counted(gradients.len(), "volume"),
    );
    for (tissue, response) in &fods.responses {
        let signals =
            (0..response.shell_count()).map(|k| format!("{:.1}", response.mean_signal(k)));
        let signals: Vec<String> = signals.collect();
        let measured = fods.measured.iter().find(|t| t.tissue == *tissue);
        let place = measured.map(|t| {
            let voxels = t.voxels.count();
            match t.candidates {
                Some(all) => format!(" in {} of {}", count(voxels as u64), counted(all, "voxel")),
                None => format!(" in {}", counted(voxels, "voxel")),
            }
        });
        text += &format!(
            "Response of {}{}: mean signal by shell {}\n",
            tissue.name(),
            place.unwrap_or_default(),
            signals.join(", ")
        );
    }
    if let Some(cone) = fods.median_cone_deg() {
        text += &format!("Cone of uncertainty of the largest peaks: median {cone:.1}°\n");
    }
    if let Some(report) = &fods.mask_report {
        text += &format!("Brain mask computed: {}\n", mask_text::facts(report));
    }
    text += &format!(
        "Without signal: {}; not finite: {}; computed in double precision: {}; not converged: {}\n",
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
