//! The tensors of an earlier fit, to recompute results in them.

use crate::data::Mask;
use crate::state::Document;
use crate::state::core::layer::{Content, Layer, OriginId};
use crate::state::tensors::jobs::input::Tensors;
use crate::state::tensors::recipe::{FitMask, ScanSource};
use std::path::Path;
use std::sync::Arc;

/// The sentence about a result whose input is missing; if opening that has failed, it gives the reason.
fn without(document: &Document, name: &str, what: &str, path: Option<&Path>) -> String {
    let missing = document.missing_layers();
    let mut missing = missing.filter(|m| path.is_some() && m.file() == path);
    let why = match missing.next() {
        Some(missing) => format!("which could not be opened: {}", missing.reason),
        None => "open it first".to_owned(),
    };
    format!("{name} cannot be recomputed without {what}, {why}")
}

fn without_scan(document: &Document, name: &str, source: &ScanSource) -> String {
    let path = match source.untouched().0 {
        ScanSource::File { dwi: file, .. } | ScanSource::Tensors { file, .. } => Some(&**file),
        ScanSource::Phantom { .. } | ScanSource::Turned { .. } => None,
    };
    let is_here = |l: &Arc<Layer>| path.is_some() && document.path(l) == path;
    match document.layers.iter().find(|l| is_here(l)) {
        // A note of the layer gives the reason.
        Some(scan) => format!(
            "{name} cannot be recomputed without the gradients of its scan {}: open them first",
            scan.name
        ),
        None => without(document, name, "its scan", path),
    }
}

/// The tensors of a fit: those of the document, or to be fitted again. An error is a sentence about the result called
/// `name`.
pub fn tensors(document: &Document, name: &str, fit: OriginId) -> Result<Tensors, String> {
    let Some(fit) = document.origins.fit(fit) else {
        return Err(without(document, name, "its scan", None));
    };
    let source = document.origins.source(fit.scan);
    let scans = document.layers.iter();
    let mut scans = scans.filter(|l| document.source(l) == source);
    let scan = scans.find_map(|l| match &l.content {
        Content::Scan { dwi, gradients } if gradients.is_some() || dwi.tensors.is_some() => {
            Some((dwi, gradients))
        }
        _ => None,
    });
    let (dwi, gradients) = scan.ok_or_else(|| without_scan(document, name, &source))?;
    let mask_of = |found: &dyn Fn(&Layer) -> bool| {
        let mut masks = document.layers.iter().filter(|l| found(l));
        masks.find_map(|l| match &l.content {
            Content::Mask(mask) => Some(mask.clone()),
            _ => None,
        })
    };
    let mask = match &fit.mask {
        FitMask::Found => None,
        FitMask::File(path) => mask_of(&|l| document.path(l) == Some(path)),
        FitMask::Head => mask_of(&|l| document.origin(l).is_phantom()),
    };
    if mask.is_none() && fit.mask != FitMask::Found {
        let path = match &fit.mask {
            FitMask::File(path) => Some(&**path),
            FitMask::Found | FitMask::Head => None,
        };
        return Err(without(document, name, "the mask of its fit", path));
    }
    let here = document.tensors.as_ref().filter(|t| {
        t.key.scan == dwi.id()
            && t.key.mask == mask.as_ref().map(Mask::id)
            && t.key.params == fit.params
    });
    Ok(match here {
        Some(t) => Tensors::Here {
            field: t.field.clone(),
            fa: t.fa.clone(),
            resample: document.resample().map(Box::new),
        },
        None => Tensors::Fit {
            dwi: dwi.clone(),
            gradients: gradients.clone(),
            mask,
            params: fit.params.clone(),
        },
    })
}
