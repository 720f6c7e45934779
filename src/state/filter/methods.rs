//! The methods text of COMMIT fits.

use crate::data::text::{counted, singular_or_plural};
use crate::parameters::Parameters as _;
use crate::solvers::commit::Params;
use crate::solvers::commit::model::Intra;
use crate::solvers::commit::solver::Ended;
use crate::state::core::citations::Citations;
use crate::state::core::settings::other_settings;
use crate::state::core::text::count;
use crate::state::filter::{
    FitInputs, FittedWeights, GivenPeaks, PeakInput, ScanTimings, VirtualLesion,
};
use crate::state::streamlines::in_place::all_streamlines_of;
use crate::state::{Document, Layer, State};
use std::fmt::Write as _;

const COMMIT: &str = "Daducci A, Dal Palù A, Lemkaddem A, Thiran JP (2015). COMMIT: convex optimization modeling \
    for microstructure informed tractography. IEEE Transactions on Medical Imaging 34:246–257.";
const PEAKS: &str = "Jeurissen B, Leemans A, Tournier JD, Jones DK, Sijbers J (2013). Investigating the prevalence of \
    complex fiber configurations in white matter tissue with diffusion magnetic resonance imaging. Human Brain \
    Mapping 34:2747–2766.";
const PARTS: &str = "Panagiotaki E, Schneider T, Siow B, Hall MG, Lythgoe MF, Alexander DC (2012). Compartment \
    models of the diffusion MR signal in brain white matter: a taxonomy and comparison. NeuroImage 59:2241–2254.";
const CYLINDERS: &str = "Van Gelderen P, DesPres D, van Zijl PCM, Moonen CTW (1994). Evaluation of restricted \
    diffusion in cylinders. Journal of Magnetic Resonance B 103:255–260.";
const GROUPS: &str = "Schiavi S, Ocampo-Pineda M, Barakovic M, Petit L, Descoteaux M, Thiran JP, Daducci A (2020). \
    A new method for accurate in vivo mapping of human brain connections using microstructural and anatomical \
    information. Science Advances 6:eaba8245.";
const DENSITY: &str = "Smith RE, Tournier JD, Calamante F, Connelly A (2015). SIFT2: enabling dense quantitative \
    assessment of brain white matter connectivity using streamlines tractography. NeuroImage 119:338–351.";
const PROXIMAL: &str = "Beck A, Teboulle M (2009). A fast iterative shrinkage-thresholding algorithm for linear \
    inverse problems. SIAM Journal on Imaging Sciences 2:183–202.";

/// Describes all layers whose streamlines have weights of their own.
pub(in crate::state) fn weights(state: &State, citations: &mut Citations) -> String {
    let document = &state.document;
    let mut text = String::new();
    let fits = document.layers.iter();
    let fits = fits.filter_map(|layer| Some((layer, document.weights_of_layer(layer)?.0)));
    let fits: Vec<_> = fits.collect();
    let current = |layer: &Layer, fitted: &FittedWeights| {
        all_streamlines_of(layer).is_some_and(|lines| lines.id() == fitted.weighted)
    };
    for (layer, fitted) in &fits {
        // A subset kept from streamlines that still exist was not fitted separately.
        let mut all = fits.iter();
        let whole = all.any(|(other, w)| w.weighted == fitted.weighted && current(other, w));
        if current(layer, fitted) || !whole {
            text += &fit_text(state, layer, fitted, citations);
        }
    }
    text
}

fn fit_text(
    state: &State,
    layer: &Layer,
    weights: &FittedWeights,
    citations: &mut Citations,
) -> String {
    let name = &layer.name;
    let f = &weights.figures;
    let Some(from) = state.document.fit_inputs(weights) else {
        return String::new();
    };
    let named = |id| state.document.layer(id).map(|l| format!("“{}”", l.name));
    let scan = named(from.scan).unwrap_or_else(|| "the scan".to_owned());
    let within = match from.mask.and_then(named) {
        Some(mask) => format!(" within {mask}"),
        None => String::new(),
    };
    let mut text = format!(
        " Weights of the {} “{name}” were fitted to the signal of {scan}{within} {} by {}",
        counted(f.streamlines as usize, "streamline"),
        citations.cite(COMMIT),
        model(&state.document, &from, citations)
    );
    match &from.times {
        ScanTimings::Unknown => {}
        ScanTimings::Both(t) => {
            let _ = write!(text, " (δ = {} ms, Δ = {} ms)", t.pulse_ms, t.between_ms);
        }
        ScanTimings::Scheme { .. } => text += " (timing of a scheme file)",
    }
    text += &steering(&from.params, citations);
    let ended = match f.ended {
        Ended::Objective => "the objective no longer changed",
        Ended::Kkt => "the conditions of optimality were met",
        Ended::Target => "a given objective was reached",
        Ended::Iterations => "the iteration limit was reached",
        Ended::Cancelled => "the user stopped it",
    };
    let _ = write!(
        text,
        ", by accelerated proximal gradients {} in {}, until {ended}; {} of them have a non-zero weight (root \
         mean square error {:.4} over {}).",
        citations.cite(PROXIMAL),
        counted(f.iterations as usize, "iteration"),
        count(weights.sorted.len() as u64),
        f.rmse,
        counted(f.voxels as usize, "voxel")
    );
    text += &other_settings(&from.params, &Params::defaults(), STATED);
    let excluded = f.outside + f.single_points;
    if excluded > 0 {
        let _ = write!(
            text,
            " {} {} outside those voxels or {} a single point, and {} weight 0.",
            count(excluded),
            singular_or_plural(excluded as usize, "lies", "lie"),
            singular_or_plural(excluded as usize, "has", "have"),
            singular_or_plural(excluded as usize, "has", "have")
        );
    }
    let cut = state.document.filter.cut_of(layer.id);
    if cut > 0.0 {
        let _ = write!(
            text,
            " {} with a weight of at least {cut} {} kept.",
            count(weights.count_above(cut) as u64),
            singular_or_plural(weights.count_above(cut), "was", "were")
        );
    }
    for lesion in &weights.lesions {
        text += &without(lesion);
    }
    text
}

fn without(lesion: &VirtualLesion) -> String {
    let [before, after] = lesion.rmse;
    format!(
        " Without {} ({}) and with the other weights fitted again, the root mean square error was {after:.4} \
         instead of {before:.4}.",
        lesion.name,
        counted(lesion.streamlines as usize, "streamline")
    )
}

/// `sticks (1.7), …`, diffusivities in 10⁻³ mm²/s.
fn model(document: &Document, from: &FitInputs, citations: &mut Citations) -> String {
    let params = &from.params;
    let shown = |d: f64| format!("{}", (d * 1e6).round() / 1e3);
    let list = |values: &mut dyn Iterator<Item = f64>| -> String {
        values.map(shown).collect::<Vec<_>>().join(", ")
    };
    let model = &params.model;
    let mut parts = vec![match &model.intra {
        Intra::Density => {
            return format!(
                "only the length of their segments in each voxel {}",
                citations.cite(DENSITY)
            );
        }
        Intra::Stick { along } => format!("sticks (axial diffusivity {})", shown(*along)),
        Intra::Cylinders { along, radii_um } => {
            let radii: Vec<String> = radii_um.iter().map(f64::to_string).collect();
            format!(
                "cylinders {} (axial diffusivity {}, radii {} µm)",
                citations.cite(CYLINDERS),
                shown(*along),
                radii.join(", ")
            )
        }
        Intra::GammaCylinders { along, radii } => {
            let radii: Vec<String> = radii
                .iter()
                .map(|g| format!("shape {}, scale {} µm", g.shape, g.scale_um))
                .collect();
            format!(
                "cylinders {} of gamma-distributed radii (axial diffusivity {}; {})",
                citations.cite(CYLINDERS),
                shown(*along),
                radii.join("; ")
            )
        }
    }];
    if !model.extra.is_empty() {
        let radial = list(&mut model.extra.iter().map(|z| z.across));
        let along = along_peaks(document, from.peaks, citations);
        parts.push(format!("zeppelins around them (radial {radial}){along}"));
    }
    if !model.free.is_empty() {
        let free = list(&mut model.free.iter().copied());
        parts.push(format!("isotropic water ({free})"));
    }
    format!(
        "{} {}, in 10⁻³ mm²/s",
        parts.join(", "),
        citations.cite(PARTS)
    )
}

/// The source of peaks that are not those of tensors.
fn along_peaks(document: &Document, peaks: Option<PeakInput>, citations: &mut Citations) -> String {
    match peaks {
        None => String::new(),
        Some(GivenPeaks::Image(id)) => match document.layer(id) {
            Some(layer) => format!(" along the peaks in “{}”", layer.name),
            None => " along the peaks in an image".to_owned(),
        },
        Some(GivenPeaks::Distributions(id)) => {
            let recipe = document.origins.fods(id);
            let limit =
                recipe.map(|fods| format!(", at most {} in a voxel", fods.peak_params.count));
            format!(
                " along the peaks of the fibre orientation distributions {}{}",
                citations.cite(PEAKS),
                limit.unwrap_or_default()
            )
        }
    }
}

/// Keys of the rows that the sentences state.
const STATED: &[&str] = &[
    "model",
    "along",
    "across",
    "free",
    "radii",
    "blur",
    "lasso",
    "group",
    "keep-b0",
    "raw-signal",
    "raw-kernels",
];

fn steering(params: &Params, citations: &mut Citations) -> String {
    let mut text = String::new();
    if params.lasso > 0.0 {
        let _ = write!(
            text,
            ", with a penalty on the sum of weights ({} of the penalty that sets all to 0)",
            params.lasso
        );
    }
    if params.group > 0.0 {
        let _ = write!(
            text,
            ", with a penalty on bundles {} ({} of the penalty that sets all to 0)",
            citations.cite(GROUPS),
            params.group
        );
    }
    if let Some(mm) = params.blur_mm {
        let _ = write!(text, ", each spread over a disc of {mm} mm radius");
    }
    let switches = params.switches;
    let off = [
        (switches.merge_b0, "b = 0 volumes kept separate"),
        (switches.normalise_signal, "signals not normalised"),
        (switches.normalise_kernels, "kernels not normalised"),
    ];
    for (_, phrase) in off.iter().filter(|(on, _)| !on) {
        let _ = write!(text, ", {phrase}");
    }
    text
}
