//! The methods text of streamlines and rays.

use crate::data::text::{capitalised, counted, enumerated};
use crate::data::{Region, Role};
use crate::parameters::Parameters as _;
use crate::solvers::curves::{self, Integrator, Interpolation, Match, Seeding};
use crate::solvers::geodesic::{
    self, Cut, Directions, Form, OdfSpeed, Precision, RayMetricParams, Rays, Sharpening,
};
use crate::solvers::odf_tracking;
use crate::state::Document;
use crate::state::core::citations::Citations;
use crate::state::core::layer::Input;
use crate::state::core::settings::other_settings;
use crate::state::core::text::{count, file_name};
use crate::state::regions::methods::names_with_positions;
use crate::state::track::recipe::CurveRecipe;
use crate::state::track::types::CurveParams;
use crate::state::track::types::odf::shared_params;
use std::fmt::Write as _;

const STREAMLINES: &str = "Basser PJ, Pajevic S, Pierpaoli C, Duda J, Aldroubi A (2000). In vivo fiber \
    tractography using DT-MRI data. Magnetic Resonance in Medicine 44:625–632.";
const DEFLECTION: &str = "Lazar M, Weinstein DM, Tsuruda JS, et al. (2003). White matter tractography using \
    diffusion tensor deflection. Human Brain Mapping 18:306–321.";
pub(in crate::state) const BOOTSTRAP: &str = "Whitcher B, Tuch DS, Wisco JJ, Sorensen AG, Wang L (2008). Using the wild bootstrap to \
    quantify uncertainty in diffusion tensor imaging. Human Brain Mapping 29:346–362.";
pub(in crate::state) const FOD_BOOTSTRAP: &str = "Jeurissen B, Leemans A, Jones DK, Tournier JD, Sijbers J (2011). \
    Probabilistic fiber tracking using the residual bootstrap with constrained spherical deconvolution. Human Brain \
    Mapping 32:461–479.";
pub(in crate::state) const BOOTSTRAP_TRACKING: &str = "Jones DK (2008). Tractography gone wild: probabilistic fibre tracking using the \
    wild bootstrap with diffusion tensor MRI. IEEE Transactions on Medical Imaging 27:1268–1274.";
const GEODESICS: &str = "Sepasian N, ten Thije Boonkkamp JHM, ter Haar Romeny BM, Vilanova A (2012). \
    Multivalued geodesic ray-tracing for computing brain connections using diffusion tensor imaging. \
    SIAM Journal on Imaging Sciences 5:483–504.";
const GEODESICS_ON_CARDS: &str = "van Aart E, Sepasian N, Jalba A, Vilanova A (2011). CUDA-accelerated \
    geodesic ray-tracing for fiber tracking. International Journal of Biomedical Imaging 2011:698908.";
const ARCS: &str = "Tournier JD, Calamante F, Connelly A (2010). Improved probabilistic streamlines tractography by \
    2nd order integration over fibre orientation distributions. Proceedings of the ISMRM 18:1670.";
const LOBES: &str = "Tournier JD, Calamante F, Connelly A (2012). MRtrix: diffusion tractography in crossing fiber \
    regions. International Journal of Imaging Systems and Technology 22:53–66.";
const TISSUES: &str = "Smith RE, Tournier JD, Calamante F, Connelly A (2012). Anatomically-constrained tractography: \
    improved diffusion MRI streamlines tractography through effective use of anatomical information. NeuroImage \
    62:1924–1938.";
const FINSLER: &str = "Astola L, Florack L (2011). Finsler geometry on higher order tensor fields and applications to high \
    angular resolution diffusion imaging. International Journal of Computer Vision 92:325–336.";
const MEASURE: &str = "Astola L, Florack L, ter Haar Romeny B (2007). Measures for pathway analysis in brain \
    white matter using diffusion tensor images. Information Processing in Medical Imaging, LNCS 4584:642–649.";

/// How curves were computed and which were kept; `kept` is their number.
pub(in crate::state) fn curves(
    document: &Document,
    recipe: &CurveRecipe,
    kept: &str,
    citations: &mut Citations,
) -> String {
    let curve_params = &recipe.curves;
    // A point takes the place of targets, and of what ends rays elsewhere.
    let to_point = matches!(curve_params, CurveParams::Rays(_, params) if params.through.is_some());
    let has_effect =
        |region: &&Region| !(to_point && matches!(region.role, Role::Target | Role::Terminate));
    let regions: Vec<Region> = recipe.regions.iter().filter(has_effect).cloned().collect();
    let regions = &regions;
    let (mut text, walk, cut) = match curve_params {
        CurveParams::Streamlines(walk) => {
            let text = following(curve_params, walk, regions, citations) + &ends(walk);
            (text, walk.clone(), None)
        }
        CurveParams::Rays(_, params) => {
            let walk = &params.curves;
            let text = following(curve_params, walk, regions, citations) + &ends(walk);
            (text, walk.clone(), Some(recipe.cut))
        }
        CurveParams::OdfStreamlines(params) => {
            let mut text = along_distributions(document, recipe, params, citations);
            if let Some(input) = recipe.tissues {
                text += &rules(document, input, params, citations);
            }
            (text, shared_params(params), None)
        }
        CurveParams::OdfRays(speed, params) => {
            let text = along_lobes(document, recipe, (speed, params), citations);
            (text, params.curves.clone(), Some(recipe.cut))
        }
    };
    text += &kept_curves(&walk, regions, cut, kept);
    if let Some(names) = names_with_positions(regions, Role::Terminate) {
        let _ = write!(text, " They ended at {names}.");
    }
    if let Some(names) = names_with_positions(regions, Role::Mask) {
        let _ = write!(text, " They had to stay within {names}.");
    }
    text += &match curve_params {
        CurveParams::Streamlines(walk) => other_settings(walk, &curves::Params::defaults(), STATED),
        CurveParams::Rays(metric, params) => {
            let rays = Rays {
                metric: *metric,
                params: params.clone(),
                cut: recipe.cut,
            };
            let defaults = Rays::defaults();
            other_settings(&params.curves, &defaults.params.curves, STATED)
                + &other_settings(&rays, &defaults, STATED_FOR_RAYS)
        }
        CurveParams::OdfStreamlines(params) => {
            let defaults = document.odf_defaults(params.method);
            other_settings(params, &defaults, STATED_ALONG_DISTRIBUTIONS)
        }
        CurveParams::OdfRays(speed, params) => {
            let defaults = Rays::lobe_defaults();
            let rays = Rays {
                params: params.clone(),
                cut: recipe.cut,
                ..defaults.clone()
            };
            other_settings(&params.curves, &defaults.params.curves, STATED)
                + &other_settings(&rays, &defaults, STATED_FOR_RAYS)
                + &other_settings(speed, &OdfSpeed::defaults(), STATED_FOR_LOBES)
        }
    };
    text
}

/// Keys of the rows that the sentences about streamlines and rays state.
const STATED: &[&str] = &[
    "seeds",
    "step",
    "angle",
    "fa",
    "min-length",
    "max-length",
    "integrator",
    "interpolation",
    "targets",
    "includes",
    "deflect",
    "bootstrap",
    "one-way",
];
/// Keys of the further rows that the sentences about rays state.
const STATED_FOR_RAYS: &[&str] = &[
    "directions",
    "through",
    "sharpen",
    "precision",
    "form",
    "cut",
    "both-ways",
];
/// Keys of the rows of their speed that the sentences about rays along distributions state.
const STATED_FOR_LOBES: &[&str] = &["speed-exponent", "speed-floor", "speed-reference", "cutoff"];
/// Keys of the rows that the sentences about streamlines along distributions state.
const STATED_ALONG_DISTRIBUTIONS: &[&str] = &[
    "method",
    "seeds",
    "seed-interface",
    "select",
    "step",
    "angle",
    "cutoff",
    "samples",
    "min-length",
    "max-length",
    "one-way",
    "targets",
    "includes",
    "bootstrap",
    "no-back-track",
];

/// `the fibre orientation distributions`; others than those of the document by their order.
fn which_distributions(document: &Document, recipe: &CurveRecipe) -> String {
    let now = document.distributions.result.as_ref();
    match document.origins.fods(recipe.fit) {
        Some(fods) if now.is_none_or(|now| now.origin != recipe.fit) => {
            let order = fods.params.order.map(|order| format!(" of order {order}"));
            format!("other distributions{}", order.unwrap_or_default())
        }
        _ => "the fibre orientation distributions".to_owned(),
    }
}

/// How rays followed the lobes of distributions, where they began, and what ended them.
fn along_lobes(
    document: &Document,
    recipe: &CurveRecipe,
    (speed, params): (&OdfSpeed, &geodesic::Params),
    citations: &mut Citations,
) -> String {
    let walk = &params.curves;
    let axis = match params.directions {
        Directions::Principal => "the largest peak at their seed",
        _ => "the peaks at their seed",
    };
    let mut text = format!(
        "Geodesic rays of a Finsler metric {} were traced along the lobes of {}{}. Each stayed on its lobe; its speed was \
         ({} + f / f₀)^{}, where f is the amplitude of the lobe and f₀ {}, and rays were ranked by their mean speed. They \
         were followed with {} in steps of {} mm and trilinear interpolation of the coefficients, from {}{}",
        citations.cite(FINSLER),
        which_distributions(document, recipe),
        fan(params.directions, axis),
        speed.floor,
        speed.exponent,
        speed.reference.map_or_else(
            || "the median of the largest peaks of all voxels with fibres".to_owned(),
            |reference| format!("= {reference}")
        ),
        integrator_text(walk.integrator),
        walk.step_mm,
        seeds(walk.seeding),
        names_with_positions(&recipe.regions, Role::Seed)
            .map_or(String::from(" in all voxels with fibres"), |r| format!(
                " in {r}"
            ))
    );
    text += if walk.both_ways {
        ", in both directions."
    } else {
        "."
    };
    let mut conditions = Vec::new();
    if let Some(limit) = speed.min_amplitude {
        conditions.push(format!(
            "where the amplitude of their lobe was below {limit}"
        ));
    }
    text + &ended(walk, "the voxels with fibres", conditions)
}

/// How streamlines followed distributions, where they began, and what ended them.
fn along_distributions(
    document: &Document,
    recipe: &CurveRecipe,
    params: &odf_tracking::Params,
    citations: &mut Citations,
) -> String {
    let others = which_distributions(document, recipe);
    let mut text = match params.method {
        odf_tracking::Method::Probabilistic => format!(
            "Streamlines were tracked along {others} by arcs of second order, drawn by their amplitudes {} ({} each)",
            citations.cite(ARCS),
            counted(params.samples, "sample")
        ),
        odf_tracking::Method::Deterministic => format!(
            "Streamlines were tracked along {others}, following the lobe nearest to the last direction {}",
            citations.cite(LOBES)
        ),
    };
    let place = names_with_positions(&recipe.regions, Role::Seed);
    let (begin, place) = match (params.at_interface, place) {
        (true, place) => (
            " at the interface of grey and white matter",
            place.map_or(String::new(), |r| format!(" in {r}")),
        ),
        (false, Some(r)) => ("", format!(" in {r}")),
        (false, None) => ("", " in all voxels with fibres".to_owned()),
    };
    let (points, until) = match params.select {
        None => (seeds(params.seeding), String::new()),
        Some(n) => (
            "random points".to_owned(),
            format!(", until {} were kept", counted(n, "streamline")),
        ),
    };
    let ways = if params.both_ways {
        ", in both directions"
    } else {
        ""
    };
    let degrees = (params.max_angle_rad.to_degrees() * 1e6).round() / 1e6;
    let _ = write!(
        text,
        ", in steps of {} mm, from {points}{begin}{place}{ways}{until}. They ended where no amplitude reached {}",
        params.step_mm, params.min_amplitude,
    );
    let turned = format!("where a step turned by more than {degrees}°");
    let _ = match params.max_length_mm {
        Some(mm) => write!(text, ", {turned}, and at a length of {mm} mm."),
        None => write!(text, " or {turned}."),
    };
    if let Some(repetitions) = params.repetitions {
        let _ = write!(
            text,
            " They followed {} of the deconvolution, whose samples were those of the scan plus the residuals of an \
             unconstrained fit with random signs, divided by the square roots of 1 minus the leverages (wild bootstrap) \
             {} {}.",
            counted(repetitions, "repetition"),
            citations.cite(BOOTSTRAP),
            citations.cite(FOD_BOOTSTRAP)
        );
    }
    text
}

/// The anatomical rules.
fn rules(
    document: &Document,
    input: Input,
    params: &odf_tracking::Params,
    citations: &mut Citations,
) -> String {
    let name = match (
        document.layer(input.layer),
        document.origins.path(input.origin),
    ) {
        (Some(layer), _) => layer.name.clone(),
        (None, Some(path)) => file_name(path),
        (None, None) => "an image".to_owned(),
    };
    let retry = match params.back_track && params.method == odf_tracking::Method::Probabilistic {
        true => ", after repeated attempts from earlier points",
        false => "",
    };
    format!(
        " According to the tissues in “{name}” {}, streamlines ended in cortical grey matter, inside deep grey matter or at \
         the brain stem. Those that ended in CSF or white matter were rejected{retry}.",
        citations.cite(TISSUES)
    )
}

/// The first sentence: how curves were followed, and where they began.
fn following(
    params: &CurveParams,
    walk: &curves::Params,
    regions: &[Region],
    citations: &mut Citations,
) -> String {
    let mut text = match params {
        CurveParams::Rays(metric, params) => geodesics(metric, params, citations),
        _ => match walk.deflection {
            None => format!(
                "Streamlines along the principal eigenvector {} were followed",
                citations.cite(STREAMLINES)
            ),
            Some(deflection) => format!(
                "Streamlines by tensor deflection (f = {}, g = {}) {} were followed",
                deflection.f,
                deflection.g,
                citations.cite(DEFLECTION)
            ),
        },
    };
    let integrator = integrator_text(walk.integrator);
    let interpolation = match walk.interpolation {
        Interpolation::Trilinear => "trilinear interpolation",
        Interpolation::CubicBSpline => "cubic B-spline interpolation",
    };
    let _ = write!(
        text,
        " with {integrator} in steps of {} mm and {interpolation} of the tensors, from {}{}",
        walk.step_mm,
        seeds(walk.seeding),
        names_with_positions(regions, Role::Seed)
            .map_or(String::from(" in the whole mask"), |r| format!(" in {r}"))
    );
    if let Some(repetitions) = walk.repetitions {
        let _ = write!(
            text,
            ", {} each with tensors of a wild bootstrap of the fit's residuals {} {}",
            counted(repetitions, "time"),
            citations.cite(BOOTSTRAP),
            citations.cite(BOOTSTRAP_TRACKING)
        );
    }
    text += if walk.both_ways {
        ", in both directions."
    } else {
        "."
    };
    text
}

fn integrator_text(integrator: Integrator) -> &'static str {
    match integrator {
        Integrator::Euler => "Euler's method",
        Integrator::Rk2 => "the midpoint method",
        Integrator::Rk4 => "a fourth-order Runge–Kutta method",
    }
}

/// The conditions that ended curves in tensors.
fn ends(walk: &curves::Params) -> String {
    let low_fa = walk.min_fa;
    let low_fa = low_fa.map(|fa| format!("where the fractional anisotropy was below {fa}"));
    ended(walk, "the mask", low_fa.into_iter().collect())
}

/// The conditions that ended curves: outside a place, where more conditions held, and those of all curves.
fn ended(walk: &curves::Params, place: &str, more: Vec<String>) -> String {
    let mut text = format!(" They ended outside {place}");
    for condition in more {
        let _ = write!(text, ", {condition}");
    }
    if let Some(angle) = walk.max_angle_rad {
        // The conversion from radians adds digits that were not typed.
        let degrees = (angle.to_degrees() * 1e6).round() / 1e6;
        let _ = write!(text, ", where a step turned by more than {degrees}°");
    }
    if let Some(mm) = walk.max_length_mm {
        let _ = write!(text, ", and at a length of {mm} mm");
    }
    text + "."
}

/// The sentence about the curves that were kept; `kept` is their number, and only rays have a cut.
fn kept_curves(walk: &curves::Params, regions: &[Region], cut: Option<Cut>, kept: &str) -> String {
    let what = if cut.is_some() { "rays" } else { "streamlines" };
    let kept_if = conditions(walk, regions);
    if kept_if.is_empty() {
        return format!(" {}.", capitalised(&format!("{kept}{what} were kept")));
    }
    // The condition of the cut follows with an "and" of its own.
    let more = cut.is_some_and(|cut| cut != Cut::All);
    let conditions = match more {
        true => kept_if.join(", "),
        false => enumerated(&kept_if),
    };
    let sentence = format!("{kept}{what} were kept, which {conditions}");
    let cut = cut.map_or_else(String::new, cut_condition);
    format!(" {}{cut}.", capitalised(&sentence))
}

/// The condition of a cut by the connectivity measure, after other conditions.
fn cut_condition(cut: Cut) -> String {
    match cut {
        Cut::All => String::new(),
        Cut::AtLeast(threshold) => {
            format!(" and had a connectivity measure of at least {threshold}")
        }
        Cut::Top(n) => {
            format!(" and were the {} with the highest measure", count(n as u64))
        }
        Cut::TopShare(share) => {
            format!(" and were the {} % with the highest measure", 100.0 * share)
        }
    }
}

/// The conditions that the kept curves met: regions, and a least length.
fn conditions(walk: &curves::Params, regions: &[Region]) -> Vec<String> {
    let mut kept_if = Vec::new();
    let every = |rule: Match| {
        if rule == Match::All {
            "all of"
        } else {
            "any of"
        }
    };
    let mut rule = |role: Role, text: &dyn Fn(String, usize) -> String| {
        let count = regions.iter().filter(|r| r.role == role).count();
        kept_if.extend(names_with_positions(regions, role).map(|names| text(names, count)));
    };
    let several = |quantity: &str, names: String, count: usize| {
        if count > 1 {
            format!("{quantity} {names}")
        } else {
            names
        }
    };
    rule(Role::Target, &|names, n| {
        format!(
            "reached {} (and were cut there)",
            several(every(walk.targets), names, n)
        )
    });
    rule(Role::Include, &|names, n| {
        format!("passed {}", several(every(walk.includes), names, n))
    });
    rule(Role::Exclude, &|names, _| format!("did not touch {names}"));
    if walk.min_length_mm > 0.0 {
        kept_if.push(format!("were at least {} mm long", walk.min_length_mm));
    }
    kept_if
}

fn geodesics(
    metric: &RayMetricParams,
    params: &geodesic::Params,
    citations: &mut Citations,
) -> String {
    let mut text = format!(
        "Geodesic rays {} of the metric D⁻¹ were traced {}",
        citations.cite(GEODESICS),
        citations.cite(GEODESICS_ON_CARDS)
    );
    text += &match params.through {
        None => fan(params.directions, "the principal eigenvector"),
        Some([x, y, z]) => format!(
            " to the point ({x}, {y}, {z}) mm, by Newton's method on their initial direction from that of the cheapest \
             path"
        ),
    };
    let _ = match metric.sharpening {
        Sharpening::Power { alpha: 1.0 } => Ok(()),
        Sharpening::Power { alpha } => write!(
            text,
            ", of tensors raised to the power {alpha} at constant determinant"
        ),
        Sharpening::Paper { power, below_fa } => write!(
            text,
            ", of tensors raised to the power {power} where the fractional anisotropy was below {below_fa}"
        ),
    };
    if params.form == Form::Christoffel {
        text += ", by Christoffel symbols from four interpolated fields,";
    }
    if metric.precision == Precision::Half {
        text += ", held in half precision,";
    }
    let _ = write!(
        text,
        " and ranked by Euclidean over Riemannian length {},",
        citations.cite(MEASURE)
    );
    text
}

/// The initial directions of rays, after a space; `axis`: what a cone surrounds.
fn fan(directions: Directions, axis: &str) -> String {
    match directions {
        Directions::Principal => format!(" along {axis}"),
        Directions::Towards {
            direction: [x, y, z],
        } => format!(" in the direction ({x}, {y}, {z})"),
        Directions::Sphere { count: n } => {
            format!(" in {} uniform on the sphere", counted(n, "direction"))
        }
        Directions::Cone {
            count: n,
            half_angle_rad,
        } => format!(
            " in {} within {:.1}° of {axis}",
            counted(n, "direction"),
            half_angle_rad.to_degrees()
        ),
        Directions::Icosphere { level } => {
            format!(" in the directions of an icosphere of level {level}")
        }
    }
}

fn seeds(seeding: Seeding) -> String {
    match seeding {
        Seeding::Random { count: n } => counted(n, "random point"),
        Seeding::Grid { spacing_mm } => format!("points {spacing_mm} mm apart"),
        Seeding::PerVoxel { count: n } => format!("{} per voxel", counted(n, "point")),
    }
}
