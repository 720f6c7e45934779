//! A paragraph for the methods section of a paper: the processing, with its numbers and citations.

use super::document::FitMask;
use crate::data::text::counted;
use crate::data::{Region, Role};
use crate::solvers::curves::{self, Integrator, Interpolation, Match, Seeding};
use crate::solvers::geodesic::{
    self, Cut, Directions, Form, Precision, RayMetricParams, Sharpening,
};
use crate::solvers::tensor_fit;
use crate::solvers::tractogram::selection::SelectionOptions;
use crate::state::alignment::AlignedBy;
use crate::state::core::citations::Citations;
use crate::state::core::layer::{Content, Layer};
use crate::state::core::text::count;
use crate::state::document::Method;
use crate::state::origin::TensorFit;
use crate::state::regions::methods::names_with_positions;
use crate::state::tensors::recipe::ScanSource;
use crate::state::track::types::CurveParams;
use crate::state::{Document, Recipe, State, density, filter, pathways, segment};
use std::fmt::Write as _;

const TENSOR: &str = "Basser PJ, Mattiello J, LeBihan D (1994). MR diffusion tensor spectroscopy and \
    imaging. Biophysical Journal 66:259–267.";
const LEAST_SQUARES: &str = "Veraart J, Sijbers J, Sunaert S, Leemans A, Jeurissen B (2013). Weighted linear \
    least squares estimation of diffusion MRI parameters: strengths, limitations, and pitfalls. \
    NeuroImage 81:335–346.";
const BRAIN_MASK: &str = "Otsu N (1979). A threshold selection method from gray-level histograms. IEEE \
    Transactions on Systems, Man, and Cybernetics 9:62–66.";
const STREAMLINES: &str = "Basser PJ, Pajevic S, Pierpaoli C, Duda J, Aldroubi A (2000). In vivo fiber \
    tractography using DT-MRI data. Magnetic Resonance in Medicine 44:625–632.";
const DEFLECTION: &str = "Lazar M, Weinstein DM, Tsuruda JS, et al. (2003). White matter tractography using \
    diffusion tensor deflection. Human Brain Mapping 18:306–321.";
const BOOTSTRAP: &str = "Whitcher B, Tuch DS, Wisco JJ, Sorensen AG, Wang L (2008). Using the wild bootstrap to \
    quantify uncertainty in diffusion tensor imaging. Human Brain Mapping 29:346–362.";
const BOOTSTRAP_TRACKING: &str = "Jones DK (2008). Tractography gone wild: probabilistic fibre tracking using the \
    wild bootstrap with diffusion tensor MRI. IEEE Transactions on Medical Imaging 27:1268–1274.";
const GEODESICS: &str = "Sepasian N, ten Thije Boonkkamp JHM, ter Haar Romeny BM, Vilanova A (2012). \
    Multivalued geodesic ray-tracing for computing brain connections using diffusion tensor imaging. \
    SIAM Journal on Imaging Sciences 5:483–504.";
const GEODESICS_ON_CARDS: &str = "van Aart E, Sepasian N, Jalba A, Vilanova A (2011). CUDA-accelerated \
    geodesic ray-tracing for fiber tracking. International Journal of Biomedical Imaging 2011:698908.";
const ALIGNMENT: &str = "Studholme C, Hill DLG, Hawkes DJ (1999). An overlap invariant entropy measure of 3D \
    medical image alignment. Pattern Recognition 32:71–86.";
const MEASURE: &str = "Astola L, Florack L, ter Haar Romeny B (2007). Measures for pathway analysis in brain \
    white matter using diffusion tensor images. Information Processing in Medical Imaging, LNCS 4584:642–649.";

/// The paragraph, followed by the works it cites; empty for an empty document.
pub fn methods(state: &State) -> String {
    let document = &state.document;
    if document.is_empty() {
        return String::new();
    }
    let mut citations = Citations::default();
    let mut text = scans(document);
    if let Some(tensors) = &document.tensors {
        let mask = document.fit_mask.and_then(|id| document.layer(id));
        let mask = mask.map(|layer| format!("the mask \"{}\"", layer.name));
        let verb = match document.origins.is_imported(tensors.origin) {
            true => "have a tensor",
            false => {
                text += &fit(&document.fit, mask, &mut citations);
                "were fitted"
            }
        };
        let raised = match tensors.repaired {
            0 => "none of which had an eigenvalue below this limit".to_owned(),
            n => format!(
                "{} of which had an eigenvalue raised to this limit",
                count(n as u64)
            ),
        };
        let _ = write!(
            text,
            " {} {verb}, {raised}.",
            counted(tensors.fitted, "voxel")
        );
    }
    text += &moves(document, &mut citations);
    text += &file_changes(document);
    for layer in &document.layers {
        let Content::Tractogram(tractogram) = &layer.content else {
            continue;
        };
        // An empty layer is not worth reporting.
        if tractogram.is_empty() {
            continue;
        }
        let edits = edits(document, layer, tractogram.len());
        let kept = match edits {
            None => format!("{} ", count(tractogram.len() as u64)),
            Some(_) => String::new(),
        };
        let Some(made) = document.curve_recipe(layer.id) else {
            let _ = write!(
                text,
                " The {kept}streamlines \"{}\" were read from a file.{}",
                layer.name,
                edits.unwrap_or_default()
            );
            continue;
        };
        let _ = write!(text, " \"{}\": ", layer.name);
        let basis = document.origins.fit(made.fit);
        let basis = basis.filter(|_| !document.origins.is_imported(made.fit));
        let other = |fit: &TensorFit| fit.params != document.fit || document.tensors.is_none();
        if let Some(basis) = basis.filter(|fit| other(fit)) {
            let mask = match &basis.mask {
                FitMask::Found => None,
                FitMask::File(path) => Some(format!("the mask {}", file_name(path))),
                FitMask::Head => Some("the head's own mask".to_owned()),
            };
            text += fit(&basis.params, mask, &mut citations).trim_start();
            text += " ";
        }
        text += &curves(&made.curves, &made.regions, made.cut, &kept, &mut citations);
        text += &edits.unwrap_or_default();
    }
    let live = state.session.track.live.value();
    if let Some(live) = live.filter(|l| !l.coarse && !l.output.kept.is_empty()) {
        let regions: Vec<Region> = document.regions.iter().map(|r| (**r).clone()).collect();
        let made = match document.track.method {
            Method::Streamlines => CurveParams::Streamlines(document.track.streamlines.clone()),
            Method::Rays => CurveParams::Rays(
                document.track.rays.medium,
                document.track.rays.params.clone(),
            ),
        };
        let kept = format!("{} ", count(live.output.kept.len() as u64));
        let sentences = curves(
            &made,
            &regions,
            document.track.rays.cut,
            &kept,
            &mut citations,
        );
        // A result that was kept is already described with its layer.
        if !text.contains(&sentences) {
            text.push(' ');
            text += &sentences;
        }
    }
    text += &density::methods::maps(document, &mut citations);
    text += &pathways::methods::pathways(state, &mut citations);
    text += &segment::methods::segments(state, &mut citations);
    text += &filter::methods::weights(state, &mut citations);
    let _ = write!(
        text,
        " Everything was computed with Arcuate {} ({}).",
        env!("CARGO_PKG_VERSION"),
        state.session.device.backend.label
    );
    let mut all = text.trim().to_owned();
    for (number, work) in (1..).zip(citations.0) {
        all += if number == 1 { "\n\n" } else { "\n" };
        let _ = write!(all, "[{number}] {work}");
    }
    all + "\n"
}

/// The text with an upper-case first letter, to begin a sentence.
fn begins(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

/// Files that had changed since the session was saved.
fn file_changes(document: &Document) -> String {
    let layers = document.layers.iter();
    let changes = layers.filter_map(|l| Some((&l.name, l.file_change.as_ref()?)));
    changes
        .map(|(name, change)| format!(" Of \"{name}\", {change}."))
        .collect()
}

/// Moved layers, with the method and the distance.
fn moves(document: &Document, citations: &mut Citations) -> String {
    let mut text = String::new();
    for layer in &document.layers {
        let Some(moved) = document.moved(layer.id) else {
            continue;
        };
        let centre = layer.unmoved.as_ref().and_then(Content::volume);
        let centre = centre.map(|v| v.grid.centre());
        let centre = centre.unwrap_or_default();
        let shift = moved.transform.transform_point3(centre).distance(centre);
        let turn = glam::DQuat::from_mat3(&moved.transform.matrix3)
            .to_axis_angle()
            .1;
        let far = format!("{shift:.1} mm at its centre and {:.1}°", turn.to_degrees());
        let name = &layer.name;
        let _ = match moved.aligned_by {
            AlignedBy::Manually => write!(text, " \"{name}\" was moved manually by {far}."),
            AlignedBy::File => write!(text, " \"{name}\" was moved by an affine from a file."),
            AlignedBy::Alignment => write!(
                text,
                " \"{name}\" was aligned rigidly by normalised mutual information {}, by {far}, without \
                 resampling.",
                citations.cite(ALIGNMENT)
            ),
        };
    }
    text
}

/// Edits of a layer's streamlines, step by step, and the number that remained.
fn edits(document: &Document, layer: &Layer, left: usize) -> Option<String> {
    let Recipe::Edited { steps, .. } = document.recipe(layer) else {
        return None;
    };
    let one = |step: &Option<SelectionOptions>| match step {
        Some(selected) => format!("selected by the rules \"{}\"", selected.options.trim()),
        None => "chosen by hand".to_owned(),
    };
    let steps: Vec<String> = steps.iter().map(one).collect();
    Some(format!(
        " Of these, {} were kept, {}.",
        count(left as u64),
        steps.join(", then ")
    ))
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The scans.
fn scans(document: &Document) -> String {
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
            ScanSource::Phantom { seed } => format!("the built-in head (seed {seed})"),
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
fn fit(params: &tensor_fit::Params, mask: Option<String>, citations: &mut Citations) -> String {
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

/// How curves were computed and which were kept.
fn curves(
    made: &CurveParams,
    regions: &[Region],
    cut: Cut,
    kept: &str,
    citations: &mut Citations,
) -> String {
    let (walk, cut) = match made {
        CurveParams::Streamlines(walk) => (walk, None),
        CurveParams::Rays(_, params) => (&params.curves, Some(cut)),
    };
    let mut text = following(made, walk, regions, citations);
    text += &ends(walk);
    text += &kept_curves(walk, regions, cut, kept);
    if let Some(names) = names_with_positions(regions, Role::Terminate) {
        let _ = write!(text, " They ended at {names}.");
    }
    if let Some(names) = names_with_positions(regions, Role::Mask) {
        let _ = write!(text, " They had to stay within {names}.");
    }
    text
}

/// The first sentence: how curves were followed, and where they began.
fn following(
    made: &CurveParams,
    walk: &curves::Params,
    regions: &[Region],
    citations: &mut Citations,
) -> String {
    let mut text = match made {
        CurveParams::Rays(medium, params) => geodesics(medium, params, citations),
        CurveParams::Streamlines(_) => match walk.deflection {
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
    let integrator = match walk.integrator {
        Integrator::Euler => "Euler's method",
        Integrator::Rk2 => "the midpoint method",
        Integrator::Rk4 => "a fourth-order Runge–Kutta method",
    };
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

/// The conditions that ended curves.
fn ends(walk: &curves::Params) -> String {
    let mut text = String::from(" They ended outside the mask");
    if let Some(fa) = walk.min_fa {
        let _ = write!(text, ", where the fractional anisotropy was below {fa}");
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
        return format!(" {}.", begins(&format!("{kept}{what} were kept")));
    }
    // The condition of the cut follows with an "and" of its own.
    let more = cut.is_some_and(|cut| cut != Cut::All);
    let conditions = match kept_if.split_last() {
        Some((last, others)) if !more && !others.is_empty() => {
            format!("{} and {last}", others.join(", "))
        }
        _ => kept_if.join(", "),
    };
    let sentence = format!("{kept}{what} were kept, which {conditions}");
    let cut = cut.map_or_else(String::new, cut_condition);
    format!(" {}{cut}.", begins(&sentence))
}

/// The condition of a cut by the connectivity measure, after other conditions.
fn cut_condition(cut: Cut) -> String {
    match cut {
        Cut::All => String::new(),
        Cut::AtLeast(least) => {
            format!(" and had a connectivity measure of at least {least}")
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
        let count = regions
            .iter()
            .filter(|r| r.visible && r.role == role)
            .count();
        kept_if.extend(names_with_positions(regions, role).map(|names| text(names, count)));
    };
    let several = |text: &str, names: String, count: usize| {
        if count > 1 {
            format!("{text} {names}")
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
    medium: &RayMetricParams,
    params: &geodesic::Params,
    citations: &mut Citations,
) -> String {
    let mut text = format!(
        "Geodesic rays {} of the metric D⁻¹ were shot {}",
        citations.cite(GEODESICS),
        citations.cite(GEODESICS_ON_CARDS)
    );
    let _ = match params.directions {
        Directions::Principal => write!(text, " along the principal eigenvector"),
        Directions::Towards {
            direction: [x, y, z],
        } => {
            write!(text, " in the direction ({x}, {y}, {z})")
        }
        Directions::Sphere { count: n } => {
            write!(
                text,
                " in {} uniform on the sphere",
                counted(n, "direction")
            )
        }
        Directions::Cone {
            count: n,
            half_angle_rad,
        } => write!(
            text,
            " in {} within {:.1}° of the principal eigenvector",
            counted(n, "direction"),
            half_angle_rad.to_degrees()
        ),
        Directions::Icosphere { level } => {
            write!(text, " in the directions of an icosphere of level {level}")
        }
    };
    let _ = match medium.sharpening {
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
    if medium.precision == Precision::Half {
        text += ", held in half precision,";
    }
    let _ = write!(
        text,
        " and ranked by Euclidean over Riemannian length {},",
        citations.cite(MEASURE)
    );
    text
}

fn seeds(seeding: Seeding) -> String {
    match seeding {
        Seeding::Random { count: n } => counted(n, "random point"),
        Seeding::Grid { spacing_mm } => format!("points {spacing_mm} mm apart"),
        Seeding::PerVoxel { count: n } => format!("{} per voxel", counted(n, "point")),
    }
}
