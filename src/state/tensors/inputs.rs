//! The tensors of an earlier fit and the distributions of an earlier estimation, to recompute results in them.

use crate::data::{Gradients, Mask, Shape, Volume};
use crate::solvers::csd;
use crate::state::Document;
use crate::state::core::layer::{Content, Layer, OriginId};
use crate::state::regions::recipe::ShapeSpec;
use crate::state::tensors::jobs::fod::{
    EstimateFods, MovedImage, ReadFods, ResponseInput, Responses,
};
use crate::state::tensors::jobs::input::{Distributions, Tensors};
use crate::state::tensors::recipe::fod::{ResponseSource, TissueSource};
use crate::state::tensors::recipe::{FitMask, ScanSource};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A result that cannot be recomputed because an input is missing: one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingInput {
    /// Name of the result.
    pub(in crate::state) result: String,
    pub(in crate::state) input: FitInput,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::state) enum FitInput {
    /// The reason why it could not be opened, if that has failed.
    Scan(Option<String>),
    /// The reason why it could not be opened, if that has failed.
    Mask(Option<String>),
    /// The gradients of the scan of this name.
    Gradients(String),
    /// The image of tissues.
    Tissues,
}

impl MissingInput {
    /// The result called `name` lacks its scan.
    pub(in crate::state) fn scan(name: &str) -> Self {
        Self {
            result: name.to_owned(),
            input: FitInput::Scan(None),
        }
    }
}

impl fmt::Display for MissingInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, why) = match &self.input {
            FitInput::Scan(why) => ("its scan", why),
            FitInput::Mask(why) => ("the mask of its fit", why),
            FitInput::Tissues => ("its tissues", &None),
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

/// The layer of a scan.
fn scan(
    document: &Document,
    origin: OriginId,
) -> Result<(&Volume, &Option<Arc<Gradients>>), FitInput> {
    let source = document.origins.source(origin);
    let scans = document.layers.iter();
    let mut scans = scans.filter(|l| document.source(l) == source);
    let scan = scans.find_map(|l| match &l.content {
        Content::Scan { dwi, gradients } if gradients.is_some() || dwi.tensors.is_some() => {
            Some((dwi, gradients))
        }
        _ => None,
    });
    scan.ok_or_else(|| missing_scan(document, &source))
}

/// The mask of a fit; `None` if it is computed from the scan.
fn mask(document: &Document, mask: &FitMask) -> Result<Option<Mask>, FitInput> {
    let mask_of = |is_chosen: &dyn Fn(&Layer) -> bool| {
        let mut masks = document.layers.iter().filter(|l| is_chosen(l));
        masks.find_map(|l| match &l.content {
            Content::Mask(mask) => Some(mask.clone()),
            _ => None,
        })
    };
    let (layer, path) = match mask {
        FitMask::Automatic => return Ok(None),
        FitMask::File(path) => (mask_of(&|l| document.path(l) == Some(path)), Some(&**path)),
        FitMask::Head => (mask_of(&|l| document.origin(l).is_phantom()), None),
    };
    match layer {
        Some(mask) => Ok(Some(mask)),
        None => Err(FitInput::Mask(not_opened(document, path))),
    }
}

/// The image of distributions before it was moved.
pub fn as_opened<'a>(document: &'a Document, layer: &Layer, volume: &'a Volume) -> &'a Volume {
    let opened = document.unmoved(layer.id).and_then(Content::volume);
    opened.unwrap_or(volume)
}

/// How an image of distributions was moved; `volume` is the one in its present position.
pub fn moved_image(document: &Document, layer: &Layer, volume: &Volume) -> Option<MovedImage> {
    let moved = document.moved(layer.id)?;
    Some(MovedImage {
        grid: volume.grid.clone(),
        linear: moved.transform.matrix3,
    })
}

/// Distributions: those of the document, or to be estimated again. An error is about the result called `name`.
pub fn distributions(
    document: &Document,
    name: &str,
    origin: OriginId,
) -> Result<Distributions, MissingInput> {
    let missing = |input| MissingInput {
        result: name.to_owned(),
        input,
    };
    let here = document.distributions.result.as_ref();
    if let Some(here) = here.filter(|here| here.origin == origin) {
        return Ok(Distributions::Here {
            field: here.fods.output.field.clone(),
            resample: document.fod_resample().map(Box::new),
        });
    }
    let Some(recipe) = document.origins.fods(origin) else {
        return Err(missing(FitInput::Scan(None)));
    };
    let source = document.origins.source(recipe.scan);
    if let ScanSource::Distributions { file, .. } = &source {
        let mut layers = document.layers.iter();
        let layer = layers.find(|layer| document.source(layer) == source);
        let image = layer.and_then(|layer| document.fod_image(layer.id));
        let Some((layer, volume, layout)) = image else {
            return Err(missing(missing_scan(document, &source)));
        };
        return Ok(Distributions::Read(ReadFods {
            key: None,
            path: file.clone(),
            volume: as_opened(document, layer, volume).clone(),
            layout,
            moved: moved_image(document, layer, volume),
            peak_params: recipe.peak_params.clone(),
            wants_peaks: false,
            wants_lobes: false,
        }));
    }
    let (dwi, gradients) = scan(document, recipe.scan).map_err(missing)?;
    let Some(gradients) = gradients.clone() else {
        return Err(missing(missing_scan(document, &source)));
    };
    Ok(Distributions::Estimate(EstimateFods {
        key: None,
        dwi: dwi.clone(),
        gradients,
        mask: mask(document, &recipe.mask).map_err(missing)?,
        responses: responses(document, &recipe.responses).map_err(missing)?,
        response_params: recipe.response_params.clone(),
        // Streamlines need no maps of uncertainty.
        params: csd::Params {
            repetitions: None,
            ..recipe.params.clone()
        },
        peak_params: recipe.peak_params.clone(),
        wants_peaks: false,
        wants_lobes: false,
    }))
}

/// The response functions of an earlier estimation, or how to measure them again.
fn responses(document: &Document, source: &ResponseSource) -> Result<Responses, FitInput> {
    let shape = |spec: &ShapeSpec| spec.to_shape(|path| mask_file(document, path));
    let input = |source: &TissueSource| {
        Ok(match source {
            TissueSource::Algorithm => ResponseInput::Algorithm,
            TissueSource::File(path) => ResponseInput::File(path.clone()),
            TissueSource::Mask(path) => {
                ResponseInput::Inside(Arc::new(Shape::Mask(mask_file(document, path)?)))
            }
            TissueSource::Region(spec) => ResponseInput::Inside(Arc::new(shape(spec)?)),
            TissueSource::NoFile(_) => ResponseInput::Missing,
        })
    };
    Ok(match source {
        ResponseSource::Files(files) => Responses::Files(files.clone()),
        ResponseSource::Algorithm(algorithm) => Responses::Estimated(Some(*algorithm)),
        ResponseSource::Each { algorithm, tissues } => {
            let tissues = tissues
                .iter()
                .map(|(tissue, source)| Ok((*tissue, input(source)?)));
            Responses::Each {
                algorithm: *algorithm,
                tissues: tissues.collect::<Result<_, _>>()?,
            }
        }
        ResponseSource::NotUsed => Responses::Estimated(None),
    })
}

/// The mask of a file.
fn mask_file(document: &Document, path: &Path) -> Result<Mask, FitInput> {
    let mask = mask(document, &FitMask::File(path.to_owned()))?;
    mask.ok_or_else(|| FitInput::Mask(not_opened(document, Some(path))))
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
    let (dwi, gradients) = scan(document, fit.scan).map_err(missing)?;
    let mask = mask(document, &fit.mask).map_err(missing)?;
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
