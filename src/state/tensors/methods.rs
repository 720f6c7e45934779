//! The methods text of scans and tensor fits.

use crate::data::HeadKind;
use crate::data::text::counted;
use crate::solvers::tensor_fit;
use crate::state::Document;
use crate::state::core::citations::Citations;
use crate::state::core::layer::{Content, Layer};
use crate::state::tensors::recipe::ScanSource;
use std::fmt::Write as _;

const TENSOR: &str = "Basser PJ, Mattiello J, LeBihan D (1994). MR diffusion tensor spectroscopy and \
    imaging. Biophysical Journal 66:259–267.";
const LEAST_SQUARES: &str = "Veraart J, Sijbers J, Sunaert S, Leemans A, Jeurissen B (2013). Weighted linear \
    least squares estimation of diffusion MRI parameters: strengths, limitations, and pitfalls. \
    NeuroImage 81:335–346.";
const BRAIN_MASK: &str = "Otsu N (1979). A threshold selection method from gray-level histograms. IEEE \
    Transactions on Systems, Man, and Cybernetics 9:62–66.";

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
                let kind = match head.kind {
                    HeadKind::Plain => "head",
                    HeadKind::Crossing => "crossing head",
                };
                format!("the built-in {kind} (seed {})", head.seed)
            }
            _ => layer.name.clone(),
        };
        let what = match &dwi.tensors {
            Some(_) => "diffusion tensors were read from",
            None => "diffusion scan was",
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

/// `mask` is `None` if one was found from the scan.
pub(in crate::state) fn fit(
    params: &tensor_fit::Params,
    mask: Option<String>,
    citations: &mut Citations,
) -> String {
    let tensors = citations.cite(TENSOR);
    let mask = mask.unwrap_or_else(|| {
        format!(
            "a brain mask found from the scan (mean images with and without diffusion weighting; the coil's \
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
    )
}
