//! The methods text of scans and tensor fits.

use crate::data::odf_field::Tissue;
use crate::data::text::{counted, enumerated, file_name};
use crate::parameters::differing;
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::{csd, peaks, response, tensor_fit};
use crate::state::Document;
use crate::state::core::citations::Citations;
use crate::state::core::layer::{Content, Layer};
use crate::state::core::settings::{listed_settings, other_settings};
use crate::state::tensors::recipe::ScanSource;
use crate::state::tensors::recipe::fod::ResponseAlgorithm;
use crate::state::tensors::types::fods::{FodResult, Fods, ResponseChoice, TissueChoice};
use std::fmt::Write as _;

const TENSOR: &str = "Basser PJ, Mattiello J, LeBihan D (1994). MR diffusion tensor spectroscopy and \
    imaging. Biophysical Journal 66:259–267.";
const LEAST_SQUARES: &str = "Veraart J, Sijbers J, Sunaert S, Leemans A, Jeurissen B (2013). Weighted linear \
    least squares estimation of diffusion MRI parameters: strengths, limitations, and pitfalls. \
    NeuroImage 81:335–346.";
const MODE: &str = "Ennis DB, Kindlmann G (2006). Orthogonal tensor invariants and the analysis of diffusion tensor \
    magnetic resonance images. Magnetic Resonance in Medicine 55:136–146.";
const WESTIN: &str = "Westin CF, Maier SE, Mamata H, Nabavi A, Jolesz FA, Kikinis R (2002). Processing and visualization \
    for diffusion tensor MRI. Medical Image Analysis 6:93–108.";
const BRAIN_MASK: &str = "Otsu N (1979). A threshold selection method from gray-level histograms. IEEE \
    Transactions on Systems, Man, and Cybernetics 9:62–66.";

const DECONVOLUTION: &str = "Tournier JD, Calamante F, Gadian DG, Connelly A (2004). Direct estimation of the \
    fiber orientation density function from diffusion-weighted MRI data using spherical deconvolution. \
    NeuroImage 23:1176–1185.";
const NON_NEGATIVE: &str = "Jeurissen B, Tournier JD, Dhollander T, Connelly A, Sijbers J (2014). Multi-tissue \
    constrained spherical deconvolution for improved analysis of multi-shell diffusion MRI data. NeuroImage \
    103:411–426.";
const PENALISED: &str = "Tournier JD, Calamante F, Connelly A (2007). Robust determination of the fibre \
    orientation distribution in diffusion MRI: non-negativity constrained super-resolved spherical deconvolution. \
    NeuroImage 35:1459–1472.";
const CONE: &str = "Jeurissen B, Leemans A, Jones DK, Tournier JD, Sijbers J (2011). Probabilistic fiber tracking using \
    the residual bootstrap with constrained spherical deconvolution. Human Brain Mapping 32:461–479.";
const DHOLLANDER: &str = "Dhollander T, Mito R, Raffelt D, Connelly A (2019). Improved white matter response \
    function estimation for 3-tissue constrained spherical deconvolution. Proceedings of the ISMRM 27:555.";
const TOURNIER: &str = "Tournier JD, Calamante F, Connelly A (2013). Determination of the appropriate b value and \
    number of gradient directions for high-angular-resolution diffusion-weighted imaging. NMR in Biomedicine \
    26:1775–1786.";

/// The fibre orientation distributions in use, as they were computed, whatever the settings are now.
pub(in crate::state) fn distributions(document: &Document, citations: &mut Citations) -> String {
    let Some(result) = &document.distributions.result else {
        return String::new();
    };
    let (fods, settings) = (&result.fods, &result.key.settings);
    if result.key.is_read() {
        return read_distributions(document, result);
    }
    let tissues: Vec<&str> = fods.responses.iter().map(|(t, _)| t.name()).collect();
    let tissues = enumerated(&tissues);
    let functions = match fods.responses.len() {
        1 => "response function",
        _ => "response functions",
    };
    let responses = match (&settings.responses, fods.algorithm) {
        (ResponseChoice::Files(_), _) => {
            format!("the {functions} of {tissues}, which were read from files")
        }
        (ResponseChoice::Each(_), algorithm) => {
            let work = algorithm.map(|algorithm| match algorithm {
                ResponseAlgorithm::Dhollander => citations.cite(DHOLLANDER),
                ResponseAlgorithm::Tournier => citations.cite(TOURNIER),
            });
            let each = fods.responses.iter().map(|(tissue, _)| {
                own_response(
                    document,
                    &settings.responses,
                    *tissue,
                    fods,
                    work.as_deref(),
                )
            });
            let each: Vec<String> = each.collect();
            format!("the {functions} of {}", enumerated(&each))
        }
        (ResponseChoice::Estimated, algorithm) => {
            let work = match algorithm {
                Some(ResponseAlgorithm::Dhollander) => citations.cite(DHOLLANDER),
                _ => citations.cite(TOURNIER),
            };
            let measured = fods.measured.iter().map(|t| {
                let voxels = counted(t.voxels.count(), "voxel");
                format!("{} in {voxels}", t.tissue.name())
            });
            let measured: Vec<String> = measured.collect();
            format!(
                "the {functions} of {tissues}, estimated in the scan {work} ({})",
                measured.join(", ")
            )
        }
    };
    let deconvolution = citations.cite(DECONVOLUTION);
    let constraint = match settings.params.method {
        csd::Method::Constrained => {
            format!("without negative values {}", citations.cite(NON_NEGATIVE))
        }
        csd::Method::Paper => {
            format!(
                "with a penalty on negative values {}",
                citations.cite(PENALISED)
            )
        }
    };
    let shells = &fods.output.shells.shells[fods.used_shells.clone()];
    let shells = shells
        .iter()
        .map(|s| format!("{} × {:.0}", s.volumes.len(), s.b_s_per_mm2));
    let shells: Vec<String> = shells.collect();
    let mut text = format!(
        " Fibre orientation distributions of order {} were estimated in {} by spherical deconvolution {deconvolution} \
         with {responses}, {constraint}, from {} (number × b in s/mm²: {}).",
        fods.output.order.order,
        counted(fods.mask.count(), "voxel"),
        counted(fods.used_volumes(), "volume"),
        shells.join(", ")
    );
    if let Some(repetitions) = settings.params.repetitions {
        let _ = write!(
            text,
            " The cone of uncertainty of each peak contains it in 95 % of {} of the deconvolution, whose samples were those \
             of the scan plus the residuals of an unconstrained fit with random signs, divided by the square roots of 1 \
             minus the leverages (wild bootstrap) {}.",
            counted(repetitions, "repetition"),
            citations.cite(CONE)
        );
    }
    let stated = ["method", "order", "bootstrap"];
    let mut others = differing(&settings.params, &csd::Params::defaults(), &stated);
    let unused = settings.responses.unused_rows(fods.algorithm);
    let defaults = response::Params::defaults();
    others.extend(differing(&settings.response_params, &defaults, &unused));
    others.extend(peak_settings(&settings.peak_params));
    text + &listed_settings(&others)
}

/// The settings of peaks that differ from their defaults.
fn peak_settings(params: &peaks::Params) -> Vec<String> {
    differing(params, &peaks::Params::defaults(), &[])
}

/// One tissue and where its response function comes from.
fn own_response(
    document: &Document,
    choices: &ResponseChoice,
    tissue: Tissue,
    fods: &Fods,
    work: Option<&str>,
) -> String {
    let measured = fods.measured.iter().find(|t| t.tissue == tissue);
    let voxels = measured.map(|t| counted(t.voxels.count(), "voxel"));
    let voxels = voxels.unwrap_or_default();
    let name = match choices.of_tissue(tissue) {
        Some(TissueChoice::Region(id)) => document.region(*id).map(|r| r.name.clone()),
        Some(TissueChoice::Layer(id)) => document.layer(*id).map(|l| l.name.clone()),
        _ => None,
    };
    let from = match (choices.of_tissue(tissue), name) {
        (Some(TissueChoice::File(_)), _) => "read from a file".to_owned(),
        (_, Some(name)) => format!("measured in {voxels} of the region “{name}”"),
        _ => format!(
            "estimated in {voxels} of the scan {}",
            work.unwrap_or_default()
        ),
    };
    format!("{} ({})", tissue.name(), from.trim_end())
}

/// Distributions that an image holds, which may be closed or read in another way by now.
fn read_distributions(document: &Document, result: &FodResult) -> String {
    let recipe = document.origins.fods(result.origin);
    let source = recipe.map(|recipe| document.origins.source(recipe.scan));
    let Some(ScanSource::Distributions { file, layout, .. }) = source else {
        return String::new();
    };
    let mut layers = document.layers.iter();
    let layer = layers.find(|layer| document.path(layer) == Some(&*file));
    let name = layer.map_or_else(|| file_name(&file), |layer| layer.name.clone());
    let (fods, peaks) = (&result.fods, &result.key.settings.peak_params);
    format!(
        " Fibre orientation distributions of order {} were read in {} from {} (basis of {}, {} axes).",
        fods.output.order.order,
        counted(fods.mask.count(), "voxel"),
        name,
        layout.basis.label(),
        layout.frame.name()
    ) + &listed_settings(&peak_settings(peaks))
}

/// The scans.
pub(in crate::state) fn scans(document: &Document) -> String {
    let mut text = String::new();
    let scan = |layer: &Layer| match &layer.content {
        Content::Scan { dwi, gradients } => Some((dwi.clone(), gradients.clone())),
        _ => None,
    };
    for layer in &document.layers {
        let Some((dwi, gradients)) = scan(layer) else {
            continue;
        };
        let [nx, ny, nz] = dwi.grid.shape;
        let mm = dwi.grid.spacing();
        let source = document.source(layer);
        let (source, turn) = source.untouched();
        let name = match source {
            ScanSource::Phantom { head } => {
                format!("the built-in {} (seed {})", head.kind.noun(), head.seed)
            }
            _ => layer.name.clone(),
        };
        let what = match (&dwi.tensors, source) {
            (Some(_), _) => "diffusion tensors were read from",
            (None, ScanSource::Distributions { .. }) => {
                "image of fibre orientation distributions was"
            }
            (None, _) if document.track.odf.tissues == Some(layer.id) => "tissue image was",
            (None, _) if gradients.is_none() => "image was",
            (None, _) => "diffusion scan was",
        };
        let _ = write!(
            text,
            " The {what} {name}: {nx} × {ny} × {nz} voxels of {:.2} × {:.2} × {:.2} mm",
            mm.x, mm.y, mm.z
        );
        if let Some(gradients) = gradients {
            let _ = write!(
                text,
                ", {} (number × b in s/mm²: {})",
                counted(gradients.len(), "volume"),
                gradients.summary()
            );
        }
        if let Some(layout) = &dwi.tensors {
            let _ = write!(text, ", six volumes: {}", layout.description());
        }
        text += ".";
        if let Some(turn) = turn {
            let _ = write!(
                text,
                " The axes of its gradient directions were changed to {turn}."
            );
        }
    }
    text
}

/// `mask` is `None` if one was computed from the scan.
pub(in crate::state) fn fit(
    params: &tensor_fit::Params,
    mask: Option<String>,
    citations: &mut Citations,
) -> String {
    let tensors = citations.cite(TENSOR);
    let mask = mask.unwrap_or_else(|| {
        format!(
            "a brain mask computed from the scan (mean images with and without diffusion weighting; the coil's \
             shading removed by a quadratic fit to the core given by Otsu's threshold {}; a median filter; \
             voxels above 32 % of the brain's brightness; the largest component with its holes filled)",
            citations.cite(BRAIN_MASK)
        )
    });
    let method = match params.method {
        tensor_fit::Method::Ols => "ordinary linear least squares".to_owned(),
        tensor_fit::Method::Wls => "weighted linear least squares".to_owned(),
        tensor_fit::Method::Iwls { iterations } => {
            format!(
                "iteratively reweighted linear least squares ({})",
                counted(iterations as usize, "iteration")
            )
        }
    };
    let (low, high) = params.b_range_s_per_mm2;
    let range = if high.is_finite() {
        format!("b from {low} to {high} s/mm²")
    } else {
        format!("b of at least {low} s/mm²")
    };
    format!(
        " Diffusion tensors {tensors} were fitted within {mask} to the volumes with {range}, and to those without \
         diffusion weighting, by {method} {}; eigenvalues were at least {:e} mm²/s.",
        citations.cite(LEAST_SQUARES),
        params.min_eigenvalue_mm2_per_s
    ) + &other_settings(
        params,
        &tensor_fit::Params::defaults(),
        &["method", "iterations", "b-range", "min-eigenvalue"],
    )
}

/// The maps of the shape of tensors among the layers.
pub(in crate::state) fn shape_maps(document: &Document, citations: &mut Citations) -> String {
    let mut maps: Vec<String> = Vec::new();
    for map in FitMap::SHAPES {
        if document.fit_layer(map).is_none() {
            continue;
        }
        maps.push(match map {
            FitMap::Mode => format!("mode {}", citations.cite(MODE)),
            FitMap::ModeColour => format!("mode {} in colour, times FA", citations.cite(MODE)),
            FitMap::Cl => format!("linear anisotropy (λ₁ − λ₂)/λ₁ {}", citations.cite(WESTIN)),
            FitMap::Cp => format!("planar anisotropy (λ₂ − λ₃)/λ₁ {}", citations.cite(WESTIN)),
            FitMap::Cs => format!("sphericity λ₃/λ₁ {}", citations.cite(WESTIN)),
            _ => "Frobenius norm".to_owned(),
        });
    }
    match maps.is_empty() {
        true => String::new(),
        false => format!(" Further maps of the tensors show: {}.", enumerated(&maps)),
    }
}
