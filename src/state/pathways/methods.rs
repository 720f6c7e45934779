//! The methods text of pathways.

use crate::data::{Region, Role};
use crate::parameters::differing;
use crate::solvers::eikonal::LocalSolver;
use crate::solvers::lifted::{self, SensitivityTo};
use crate::solvers::metric::Cost;
use crate::solvers::pathway::{NEAR_MM, Params, RepetitionParams};
use crate::state::core::citations::Citations;
use crate::state::core::settings::listed_settings;
use crate::state::core::text::{counted, percentiles_text};
use crate::state::pathways::jobs::PathwayNoise;
use crate::state::pathways::recipe::{PathwayInputs, ShareRecipe};
use crate::state::pathways::{NOISE_ONLY, PathwayKey, PathwayParams, PathwayResult};
use crate::state::regions::methods::names_with_positions;
use crate::state::track::methods::{BOOTSTRAP, BOOTSTRAP_TRACKING, FOD_BOOTSTRAP};
use crate::state::track::types::odf::Model;
use crate::state::{Document, State, Task};
use std::fmt::Write as _;

const COST_FIELDS: &str = "Jeong WK, Fletcher PT, Tao R, Whitaker R (2007). Interactive visualization of volumetric \
    white matter connectivity in DT-MRI using a parallel-hardware Hamilton–Jacobi solver. IEEE \
    Transactions on Visualization and Computer Graphics 13:1480–1487.";
const INVERSE: &str = "O'Donnell L, Haker S, Westin CF (2002). New approaches to estimation of white matter \
    connectivity in diffusion tensor MRI: elliptic PDEs and geodesics in a tensor-warped space. Medical Image \
    Computing and Computer-Assisted Intervention, LNCS 2488:459–466.";
const ADJUGATE: &str = "Fuster A, Dela Haije T, Tristán-Vega A, Plantinga B, Westin CF, Florack L (2016). Adjugate \
    diffusion tensors for geodesic tractography in white matter. Journal of Mathematical Imaging and Vision \
    54:1–14.";
const SELLING: &str = "Fehrenbach J, Mirebeau JM (2014). Sparse non-negative stencils for anisotropic diffusion. \
    Journal of Mathematical Imaging and Vision 49:123–147.";

const POSITIONS_AND_DIRECTIONS: &str = "Duits R, Meesters SPL, Mirebeau JM, Portegies JM (2018). Optimal paths for \
    variants of the 2D and 3D Reeds–Shepp car with applications in image analysis. Journal of Mathematical Imaging \
    and Vision 60:816–848.";
const SELLING_IN_DIRECTIONS: &str = "Mirebeau JM (2018). Fast-marching methods for curvature penalized shortest \
    paths. Journal of Mathematical Imaging and Vision 60:784–815.";

/// Describes kept pathways, and the live one if it is shown; equal ones once.
pub(in crate::state) fn pathways(state: &State, citations: &mut Citations) -> String {
    let kept = state.document.kept_pathways.iter();
    let kept = kept.filter_map(|k| Some((k.result.as_deref()?, k.epsilon, Some(&*k.name))));
    let live = state.final_pathway();
    let is_shown = state.view.task == Task::Pathways || state.shows_pathway_in_segment();
    let live = live.filter(|_| is_shown);
    let described_live = live.map(|pathway| (&**pathway, state.document.pathways.epsilon, None));
    let mut described: Vec<(&PathwayResult, f64, Vec<&str>)> = Vec::new();
    for (pathway, epsilon, name) in kept.chain(described_live) {
        let requested = PathwayKey::from_result(pathway);
        let alike = |t: &&mut (&PathwayResult, f64, Vec<&str>)| {
            t.1 == epsilon && PathwayKey::from_result(t.0) == requested
        };
        match described.iter_mut().find(alike) {
            Some((.., names)) => names.extend(name),
            None => described.push((pathway, epsilon, name.into_iter().collect())),
        }
    }
    let mut text = String::new();
    for (pathway, epsilon, names) in &described {
        let names: Vec<String> = names.iter().map(|name| format!("“{name}”")).collect();
        if !names.is_empty() {
            let _ = write!(text, " {}:", names.join(", "));
        }
        text += &pathway_text(&state.document, pathway, *epsilon, citations);
    }
    let distributions = state.document.distributions.result.as_ref();
    let shown_origin = distributions.map(|result| result.origin);
    // The costs of a layer's pathway, unless they are described above.
    let costs = |inputs: PathwayInputs, citations: &mut Citations| {
        let mut pathways = described.iter().map(|(pathway, ..)| *pathway);
        if pathways.any(|pathway| inputs.are_those_of(pathway)) {
            return String::new();
        }
        let is_shown = Some(inputs.fit) == shown_origin;
        let (costs, settings) =
            costs_and_settings(inputs.regions, &inputs.params, is_shown, citations);
        format!("{costs}.{settings}")
    };
    let live = live.filter(|_| is_shown).and(state.current_pathway_noise());
    if let Some(noise) = live.filter(|_| state.pathway_noise_growth().is_none()) {
        text += &repetitions_text(noise, citations);
    }
    for layer in &state.document.layers {
        if let Some(share) = state.document.share_recipe(layer.id) {
            text += &costs(share.pathway(), citations);
            text += &share_text(&layer.name, share, citations);
        }
        if let Some(map) = state.document.sensitivity_recipe(layer.id) {
            text += &costs(map.pathway(), citations);
            let input = match map.to {
                SensitivityTo::Cost => "the cost of each voxel",
                SensitivityTo::Amplitude => {
                    "the amplitudes of each voxel at a constant reference amplitude"
                }
            };
            let _ = write!(
                text,
                " “{}” maps the relative change of the least cost of paths between {} and {} with {input}, computed with \
                 the adjoint of the discrete equation.",
                layer.name,
                names(&map.regions, Role::Seed),
                names(&map.regions, Role::Target)
            );
        }
    }
    text
}

/// How the fit was repeated, within a sentence.
fn bootstrap(params: &RepetitionParams, model: Model, citations: &mut Citations) -> String {
    let (fit, second) = match model {
        Model::Tensors => ("fit", BOOTSTRAP_TRACKING),
        Model::Distributions => ("deconvolution", FOD_BOOTSTRAP),
    };
    format!(
        "{} with random signs of the residuals of the {fit} (wild bootstrap {} {}, random seed {})",
        counted(params.repetitions, "repetition"),
        citations.cite(BOOTSTRAP),
        citations.cite(second),
        params.random_seed
    )
}

/// Figures of the repetitions of the live pathway.
fn repetitions_text(noise: &PathwayNoise, citations: &mut Citations) -> String {
    let params = RepetitionParams {
        repetitions: noise.key.repetitions,
        random_seed: noise.key.random_seed,
    };
    let model = noise.key.pathway.params.model();
    let input = match model {
        Model::Tensors => "tensors",
        Model::Distributions => "distributions",
    };
    let mut text = format!(
        " The pathway was solved in the {input} of {}: the cheapest path stayed within {NEAR_MM} mm of that of the \
         measured {input} in {} of them",
        bootstrap(&params, model, citations),
        noise.near
    );
    if let Some(range) = noise.costs {
        let _ = write!(
            text,
            ", and the median of the least cost was {:.3}",
            range.median
        );
        let number = |cost: f64| format!("{cost:.3}");
        text += &percentiles_text(range, noise.key.repetitions, number);
    }
    if let Some([low, high]) = noise.band {
        let _ = write!(
            text,
            "; the 90 % band of the least cost without noise, calibrated on synthetic heads, was {low:.3} to {high:.3}"
        );
    }
    text + ". " + NOISE_ONLY + "."
}

/// A layer of shares of repetitions.
fn share_text(name: &str, share: &ShareRecipe, citations: &mut Citations) -> String {
    format!(
        " “{name}” gives the share of {} whose pathway between {} and {}, up to {:.1} % above its least cost, contains \
         each voxel.",
        bootstrap(&share.repetitions, share.params.model(), citations),
        names(&share.regions, Role::Seed),
        names(&share.regions, Role::Target),
        share.epsilon * 100.0
    )
}

fn names(regions: &[Region], role: Role) -> String {
    names_with_positions(regions, role).unwrap_or_default()
}

/// How costs were solved through distributions, and where. `is_shown`: they are those of the document.
fn lifted_costs(
    regions: &[Region],
    params: &lifted::Params,
    is_shown: bool,
    citations: &mut Citations,
) -> String {
    let others = match is_shown {
        true => "the fibre orientation distributions",
        false => "other fibre orientation distributions",
    };
    format!(
        " Costs of paths between {} and {} were solved in positions and {} directions from a Hamilton–Jacobi equation \
         {}, by a scheme on Selling's decomposition {} with Hopf–Lax updates: a path costs 1 per mm along the fibres \
         of {others}, up to {:.0} where none runs along it, and a turn by one radian as much as {} mm along a fibre. \
         The cost of the cheapest path was summed along its smoothed course. Paths ran where the largest amplitude \
         was at least {}",
        names(regions, Role::Seed),
        names(regions, Role::Target),
        params.directions.key(),
        citations.cite(POSITIONS_AND_DIRECTIONS),
        citations.cite(SELLING_IN_DIRECTIONS),
        1.0 / params.background_speed,
        params.curvature_price_mm,
        params.min_amplitude,
    )
}

/// A sentence about the costs of paths between regions, without its full stop.
fn costs_text(regions: &[Region], params: &Params, citations: &mut Citations) -> String {
    let equation = citations.cite(COST_FIELDS);
    let metric = match params.metric.cost {
        Cost::Inverse => format!("the inverse tensor {}", citations.cite(INVERSE)),
        Cost::Sharpened => format!(
            "the inverse of the tensor sharpened to the power {} at constant volume",
            params.metric.alpha
        ),
        Cost::Isotropic => "an isotropic metric".to_owned(),
        Cost::Adjugate => format!("the adjugate tensor {}", citations.cite(ADJUGATE)),
    };
    let local = match params.local {
        LocalSolver::Godunov6 => "an upwind scheme on 6 neighbours".to_owned(),
        LocalSolver::HopfLax26 => "Hopf–Lax updates on 26 neighbours".to_owned(),
        LocalSolver::Selling => {
            format!(
                "a scheme on Selling's decomposition {}",
                citations.cite(SELLING)
            )
        }
        LocalSolver::Hybrid => format!(
            "the smaller of Hopf–Lax updates on 26 neighbours and a scheme on Selling's decomposition {}",
            citations.cite(SELLING)
        ),
    };
    let text = format!(
        " Costs of paths between {} and {} were solved from the anisotropic Hamilton–Jacobi equation {equation} \
         with {metric}, by {local}, where the FA was at least {}",
        names(regions, Role::Seed),
        names(regions, Role::Target),
        params.min_fa
    );
    text + &walls_text(regions, params.costly_factor)
}

/// Where paths ran, and where they cost more.
fn walls_text(regions: &[Region], costly_factor: f64) -> String {
    let mut text = String::new();
    for (role, relation) in [(Role::Mask, "inside"), (Role::Exclude, "outside")] {
        if let Some(names) = names_with_positions(regions, role) {
            let _ = write!(text, ", {relation} {names}");
        }
    }
    if let Some(names) = names_with_positions(regions, Role::Costly) {
        let _ = write!(text, ", at {costly_factor} times the cost inside {names}");
    }
    text
}

/// The sentence about the costs of paths without its full stop, and that about parameters that differ from their defaults.
/// `is_shown`: distributions are those of the document.
fn costs_and_settings(
    regions: &[Region],
    params: &PathwayParams,
    is_shown: bool,
    citations: &mut Citations,
) -> (String, String) {
    match params {
        PathwayParams::Tensors(params) => (
            costs_text(regions, params, citations),
            settings_text(params),
        ),
        PathwayParams::Distributions(params) => {
            let costs = lifted_costs(regions, params, is_shown, citations);
            let others = differing(params, &lifted::Params::defaults(), STATED_OF_LIFTED);
            (
                costs + &walls_text(regions, params.costly_factor),
                listed_settings(&others),
            )
        }
    }
}

fn pathway_text(
    document: &Document,
    result: &PathwayResult,
    epsilon: f64,
    citations: &mut Citations,
) -> String {
    let field = document.distributions.field();
    let is_shown = field.is_some_and(|field| field.id() == result.key.field);
    let (mut text, settings) =
        costs_and_settings(&result.key.regions, &result.key.params, is_shown, citations);
    let along = match result.mean_fa {
        Some(mean_fa) => format!("with a mean FA of {mean_fa:.3}"),
        None => format!("and costs {:.1}", result.path.total_cost()),
    };
    let _ = write!(
        text,
        ". The pathway holds the voxels whose cost exceeds the minimum ({:.3}) by up to {:.1} %{}: {:.2} ml; \
         the cheapest path is {:.1} mm long {along}.",
        result.pathway.min_cost,
        epsilon * 100.0,
        match epsilon < result.pathway.joining_epsilon {
            true => ", which do not join the regions at this width",
            false => " and that join the regions",
        },
        result.volume_ml(epsilon),
        result.path.total_mm(),
    );
    text + &settings
}

/// The parameters that no sentence states, where they differ from their defaults.
fn settings_text(params: &Params) -> String {
    let defaults = Params::defaults();
    let mut others = differing(params, &defaults, STATED);
    others.extend(differing(
        &params.metric,
        &defaults.metric,
        STATED_OF_METRIC,
    ));
    listed_settings(&others)
}

/// Keys of the rows that the sentences about pathways state.
const STATED: &[&str] = &["min-fa", "local-solver", "costly-factor"];
/// Keys of the rows of the metric that the sentences about pathways state.
const STATED_OF_METRIC: &[&str] = &["metric", "alpha"];
/// Keys of the rows that the sentences about pathways through distributions state.
const STATED_OF_LIFTED: &[&str] = &[
    "curvature-price",
    "directions",
    "background-speed",
    "min-amplitude",
    "costly-factor",
];
