//! The tensors of an earlier fit, to recompute results in them.

use crate::data::Mask;
use crate::state::Document;
use crate::state::core::layer::{Content, Layer, OriginId};
use crate::state::tensors::jobs::input::Tensors;
use crate::state::tensors::recipe::{FitMask, ScanSource};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A result that cannot be recomputed because an input is missing: one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingInput {
    /// Name of the result.
    result: String,
    input: FitInput,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum FitInput {
    /// The reason why it could not be opened, if that has failed.
    Scan(Option<String>),
    /// The reason why it could not be opened, if that has failed.
    Mask(Option<String>),
    /// The gradients of the scan of this name.
    Gradients(String),
}

impl fmt::Display for MissingInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, why) = match &self.input {
            FitInput::Scan(why) => ("its scan", why),
            FitInput::Mask(why) => ("the mask of its fit", why),
            FitInput::Gradients(scan) => {
                return write!(
                    f,
                    "{} cannot be recomputed without the gradients of its scan {scan}: open them first",
                    self.result
                );
            }
        };
        write!(f, "{} cannot be recomputed without {what}, ", self.result)?;
        match why {
            Some(why) => write!(f, "which could not be opened: {why}"),
            None => f.write_str("open it first"),
        }
    }
}

impl std::error::Error for MissingInput {}

/// Why the file could not be opened, if that has failed.
fn not_opened(document: &Document, path: Option<&Path>) -> Option<String> {
    let path = path?;
    let mut missing = document.missing_layers();
    let missing = missing.find(|m| m.file() == Some(path))?;
    Some(missing.reason.to_string())
}

fn missing_scan(document: &Document, source: &ScanSource) -> FitInput {
    let path = match source.untouched().0 {
        ScanSource::File { dwi: file, .. }
        | ScanSource::Tensors { file, .. }
        | ScanSource::Distributions { file, .. } => Some(&**file),
        ScanSource::Phantom { .. } | ScanSource::Turned { .. } => None,
    };
    let is_here = |l: &Arc<Layer>| path.is_some() && document.path(l) == path;
    match document.layers.iter().find(|l| is_here(l)) {
        // A note of the layer gives the reason.
        Some(scan) => FitInput::Gradients(scan.name.clone()),
        None => FitInput::Scan(not_opened(document, path)),
    }
}

/// The tensors of a fit: those of the document, or to be fitted again. An error is about the result called `name`.
pub fn tensors(document: &Document, name: &str, fit: OriginId) -> Result<Tensors, MissingInput> {
    let missing = |input| MissingInput {
        result: name.to_owned(),
        input,
    };
    let Some(fit) = document.origins.fit(fit) else {
        return Err(missing(FitInput::Scan(None)));
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
    let (dwi, gradients) = scan.ok_or_else(|| missing(missing_scan(document, &source)))?;
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
        return Err(missing(FitInput::Mask(not_opened(document, path))));
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
