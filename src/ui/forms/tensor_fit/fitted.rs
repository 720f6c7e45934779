//! Checks of the tensor fit, while it runs and after it.

use super::checks::{Check, CheckSubject};
use crate::data::gradients::{Weighting, volume_numbers};
use crate::solvers::tensor_fit::{FitMap, Method};
use crate::state::core::text::counted;
use crate::state::tensors::jobs::fit::FIT;
use crate::state::tensors::mask_text;
use crate::state::tensors::recipe::ScanSource;
use crate::state::{Content, State};
use crate::ui::format;
use crate::ui::widgets::rows::Verdict;

/// The checks of the fit.
pub fn checks(state: &State) -> Vec<Check> {
    let running = state.runtime.jobs.is_running(&[FIT]);
    let Some(tensors) = &state.document.tensors else {
        return match running {
            true => running_fit(state),
            false => Vec::new(),
        };
    };
    let method = match tensors.key.params.method {
        Method::Ols => "ordinary",
        Method::Wls => "weighted",
        Method::Iwls { .. } => "reweighted",
    };
    let fitted = counted(tensors.fitted, "voxel");
    let seconds = format::with_unit(&format::fixed(tensors.wall_ms / 1e3, 2), "s");
    let mut report = vec![format!("{fitted} of the mask in {seconds}")];
    if tensors.unfitted > 0 {
        let n = counted(tensors.unfitted, "voxel");
        report.push(format!(
            "{n} of the mask with too few usable samples: no tensor there"
        ));
    }
    let given = state.document.origins.is_imported(tensors.origin);
    let method = if given { "as in the image" } else { method };
    let fit = Check {
        verdict: Verdict::Passed,
        subject: CheckSubject::Fit,
        fact: format!("{method}, {fitted}"),
        report,
    };
    let awaited = running && state.awaits_fit();
    let brain = tensors.mask_report.map(|report| Check {
        verdict: match report.doubtful() {
            true => Verdict::Warning,
            false => Verdict::Passed,
        },
        subject: CheckSubject::BrainMask,
        fact: match report.doubtful() {
            true => "doubtful".to_owned(),
            false => format::with_unit(&format::fixed(report.volume_ml, 0), "ml"),
        },
        report: [format!(
            "Computed from the scan: {}",
            mask_text::facts(&report)
        )]
        .into_iter()
        .chain(mask_text::doubt(&report))
        .collect(),
    });
    // The mask of the awaited fit may be another.
    let brain = match awaited {
        true => brain.map(|_| waiting(CheckSubject::BrainMask)),
        false => brain,
    };
    let excluded_volumes = excluded_volumes(state, &tensors.outside_range);
    let visible = state
        .document
        .fit_layer(FitMap::Repaired)
        .is_some_and(|l| l.display.visible);
    let overlay = if visible { ", overlay on" } else { "" };
    let repaired = Check {
        verdict: if tensors.repaired == 0 { Verdict::Passed } else { Verdict::Note },
        subject: CheckSubject::Repaired,
        fact: match tensors.repaired {
            0 => "none needed".to_owned(),
            n => format!("{}{overlay}", counted(n, "voxel")),
        },
        report: vec![
            "Voxels whose tensor had an eigenvalue below the smallest allowed: it was raised to that value, \
             and the directions were kept".to_owned(),
        ],
    };
    [Some(fit), brain, excluded_volumes, Some(repaired)]
        .into_iter()
        .flatten()
        .collect()
}

/// A row of a fit that is still awaited.
fn waiting(subject: CheckSubject) -> Check {
    Check {
        verdict: Verdict::Running,
        subject,
        fact: "waiting for the fit".to_owned(),
        report: Vec::new(),
    }
}

/// The rows of a running fit: the same as after it, so that nothing moves when it ends.
fn running_fit(state: &State) -> Vec<Check> {
    let source = state.document.scan().map(|l| state.document.source(l));
    let given = matches!(
        source,
        Some(ScanSource::Phantom { .. } | ScanSource::Tensors { .. })
    );
    let is_mask_automatic = !given && state.document.chosen_mask().is_none();
    let mut rows = vec![Check {
        fact: "running".to_owned(),
        ..waiting(CheckSubject::Fit)
    }];
    if is_mask_automatic {
        rows.push(waiting(CheckSubject::BrainMask));
    }
    rows.extend(excluded_volumes(state, &outside_range(state)));
    rows.push(waiting(CheckSubject::Repaired));
    rows
}

/// Volumes of the scan whose b is outside the range of the next fit.
fn outside_range(state: &State) -> Vec<usize> {
    let scan = state.document.scan().map(|l| &l.content);
    let Some(Content::Scan {
        gradients: Some(gradients),
        ..
    }) = scan
    else {
        return Vec::new();
    };
    let (low, high) = state.document.fit.b_range_s_per_mm2;
    let outside = |v: &usize| {
        let weighted = gradients.weighting(*v) == Weighting::Diffusion;
        weighted && !(low..=high).contains(&gradients.b_s_per_mm2[*v])
    };
    (0..gradients.len()).filter(outside).collect()
}

/// Volumes whose b is outside the fit's range.
fn excluded_volumes(state: &State, volumes: &[usize]) -> Option<Check> {
    let scan = state.document.scan()?;
    let Content::Scan {
        gradients: Some(gradients),
        ..
    } = &scan.content
    else {
        return None;
    };
    let (first, n) = (volumes.first()?, volumes.len());
    let b = |v: &usize| gradients.b_s_per_mm2.get(*v).copied().unwrap_or(0.0);
    let (low, high) = volumes
        .iter()
        .map(b)
        .fold((b(first), b(first)), |(l, h), b| (l.min(b), h.max(b)));
    let round = |b: f64| format::count((b / 100.0).round() as u64 * 100);
    let range = if round(low) == round(high) {
        format!("b{}{}", format::THIN, round(low))
    } else {
        format!("b{}{} to {}", format::THIN, round(low), round(high))
    };
    Some(Check {
        verdict: Verdict::Note,
        subject: CheckSubject::ExcludedVolumes,
        fact: format!("{n} with {range}"),
        report: vec![
            format!("Volumes {}", volume_numbers(volumes)),
            "Their b-value is outside the range of the fit. Above 1 500 s/mm², the signal departs from the \
             tensor model".to_owned(),
        ],
    })
}
