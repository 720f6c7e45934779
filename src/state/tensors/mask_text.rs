//! Sentences about the mask of the tensors, and about seeds outside it.

use crate::solvers::tensor_fit::MaskReport;
use crate::state::Document;
use crate::state::core::layer::{Content, Layer, OriginId};
use crate::state::core::text::{count, fixed, with_unit};
use crate::state::tensors::recipe::FitMask;

/// The mask that a fit finds from its scan.
pub const AUTOMATIC: &str = "the automatic mask";
/// The voxels in which an image of tensors has one.
pub const GIVEN: &str = "the mask of the tensors";

/// The name of the mask of a document's tensors, as part of a sentence.
pub fn name_of(document: &Document) -> String {
    let Some(tensors) = &document.tensors else {
        return AUTOMATIC.to_owned();
    };
    if tensors.mask_report.is_some() {
        return AUTOMATIC.to_owned();
    }
    let chosen = document
        .chosen_mask()
        .filter(|(_, mask)| Some(mask.id()) == tensors.key.mask);
    match chosen {
        Some((layer, _)) => format!("the mask “{}”", layer.name),
        None => GIVEN.to_owned(),
    }
}

/// The mask of the tensors of a kept result; the document's present tensors may have another.
pub fn name_of_fit(document: &Document, fit: OriginId) -> String {
    let origins = &document.origins;
    let named = |matches: &dyn Fn(&Layer) -> bool| {
        let mut masks = document.layers.iter().filter(|l| matches(l));
        let mask = masks.find(|l| matches!(l.content, Content::Mask(_)));
        mask.map_or(GIVEN.to_owned(), |layer| {
            format!("the mask “{}”", layer.name)
        })
    };
    match origins.fit(fit).map(|fit| &fit.mask) {
        Some(FitMask::Automatic) if origins.is_imported(fit) => GIVEN.to_owned(),
        None | Some(FitMask::Automatic) => AUTOMATIC.to_owned(),
        Some(FitMask::File(path)) => named(&|l| document.path(l) == Some(path)),
        Some(FitMask::Head) => named(&|l| document.origin(l).is_phantom()),
    }
}

fn ml(value: f64) -> String {
    if value < 0.05 {
        return format!("under {}", with_unit("0.1", "ml"));
    }
    with_unit(&fixed(value, usize::from(value < 100.0)), "ml")
}

/// `1 392 ml, 2 holes filled (13.8 ml, the largest 8.6 ml), agreement of two thresholds 0.97`.
pub fn facts(report: &MaskReport) -> String {
    let holes = match report.holes {
        0 => "no hole filled".to_owned(),
        1 => format!("1 hole of {} filled", ml(report.holes_ml)),
        n => format!(
            "{} holes filled ({}, the largest {})",
            count(n as u64),
            ml(report.holes_ml),
            ml(report.largest_hole_ml)
        ),
    };
    format!(
        "{}, {holes}, agreement of two thresholds {}",
        ml(report.volume_ml),
        fixed(report.agreement, 2)
    )
}

/// Doubts about a mask that was found from a scan.
pub fn doubt(report: &MaskReport) -> Option<String> {
    let why = if report.changes_with_threshold() {
        format!(
            "it changes with the threshold (agreement {}, expected at least {})",
            fixed(report.agreement, 2),
            fixed(MaskReport::MIN_AGREEMENT, 2)
        )
    } else if report.has_large_hole() {
        format!(
            "a hole of {} was filled ({} of the mask, expected at most {})",
            ml(report.largest_hole_ml),
            with_unit(
                &fixed(100.0 * report.largest_hole_ml / report.volume_ml, 0),
                "%"
            ),
            with_unit(&fixed(100.0 * MaskReport::LARGEST_HOLE, 0), "%")
        )
    } else {
        return None;
    };
    Some(format!("The automatic brain mask is doubtful: {why}"))
}

/// A doubtful mask in one sentence, for commands.
pub fn doubtful(report: &MaskReport) -> Option<String> {
    let doubt = doubt(report)?;
    Some(format!(
        "{doubt}; {}. Look at it (arcuate fit --maps mask), or give one with --mask",
        facts(report)
    ))
}
