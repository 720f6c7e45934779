//! Values that parameters start with, and why. The window and the command line share them.

use super::Recipe;
use super::document::{Display, LineColouring, Rays};
use super::recipe::MediumRecipe;
use super::volume_look::Cut;
use crate::data::appearance::ColourMap;
use crate::data::appearance::{Interpolation, LineStyle, Transfer};
use crate::data::gradients::Weighting;
use crate::data::{Gradients, Role, Volume};
use crate::solvers::commit;
use crate::solvers::eikonal::LocalSolver;
use crate::solvers::geodesic;
use crate::solvers::gradient_check;
use crate::solvers::level_set;
use crate::solvers::metric::Cost;
use crate::solvers::pathway;
use crate::solvers::tensor_check;
use crate::solvers::tensor_fit::{self, Method};
use crate::solvers::tracking::{self, Integrator, Interpolation as FieldInterpolation, Seeding};

/// Colours of things that would else look alike (regions of one label map, pathways, profiles), in
/// turn; told apart by red-green blind eyes too.
pub const CATEGORIES: [[u8; 3]; 6] = [
    [0x56, 0xB4, 0xE9],
    [0xCC, 0x79, 0xA7],
    [0x2B, 0xB6, 0x8A],
    [0xE6, 0x9F, 0x00],
    [0x9A, 0x86, 0xFF],
    [0xD5, 0xDB, 0xE5],
];
pub const CATEGORY_NAMES: [&str; 6] =
    ["Sky blue", "Pink", "Green", "Orange", "Violet", "Pale grey"];

/// WLS with two reweighted solves is the field's common choice (Veraart et al. 2013).
pub fn fit() -> tensor_fit::Params {
    tensor_fit::Params {
        method: Method::Iwls { iterations: 2 },
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        // 0.01 × 10⁻³ mm²/s: a hundredth of tissue, so that FA of a repaired voxel stays below 1.
        min_eigenvalue_mm2_per_s: 1e-5,
    }
}

/// Above b = 1500 s/mm² log signal bends away from the tensor model (kurtosis): such volumes are
/// left out wherever the lower ones determine tensors well by themselves.
pub fn fit_b_range(gradients: &Gradients) -> (f64, f64) {
    const LINEAR_UP_TO: f64 = 1550.0;
    // Six solve for a tensor but leave noise as it is; twice the seven unknowns average it.
    const WELL: usize = 15;
    const AT_LEAST: usize = 6;
    let weighted = (0..gradients.len()).filter(|&v| gradients.weighting(v) == Weighting::Diffusion);
    let (low, high): (Vec<usize>, Vec<usize>) =
        weighted.partition(|&v| gradients.b_s_per_mm2[v] <= LINEAR_UP_TO);
    // A few low volumes beside many high ones are there for other models than the tensor: without
    // the high ones the noise would weigh more than the curvature.
    if low.len() >= WELL || (low.len() >= AT_LEAST && low.len() >= high.len()) {
        (0.0, LINEAR_UP_TO)
    } else {
        (0.0, f64::INFINITY)
    }
}

/// The fit of a scan with these gradients.
pub fn fit_of(gradients: Option<&Gradients>) -> tensor_fit::Params {
    let usual = fit();
    tensor_fit::Params {
        b_range_s_per_mm2: gradients.map_or(usual.b_range_s_per_mm2, fit_b_range),
        ..usual
    }
}

pub fn track() -> tracking::Params {
    tracking::Params {
        integrator: Integrator::Rk4,
        interpolation: FieldInterpolation::Trilinear,
        seeding: Seeding::Random { count: 2_000 },
        random_seed: 1,
        step_mm: 0.5,
        max_angle_rad: Some(45f64.to_radians()),
        min_fa: Some(0.15),
        min_length_mm: 30.0,
        max_length_mm: Some(300.0),
        // A guard only: the length limit ends a streamline long before.
        max_steps: 10_000,
        // The roles say so: reach one of the targets, pass through all of the includes.
        targets: tracking::Match::Any,
        includes: tracking::Match::All,
        both_ways: true,
        deflection: None,
        repetitions: None,
    }
}

/// Mostly the tensor's own deflection, a little of the principal direction: stays on course where
/// fibres cross, still turns with a bundle (the middle of what Lazar et al. 2003 tried).
pub fn deflection() -> tracking::Deflection {
    tracking::Deflection { f: 0.3, g: 0.7 }
}

/// Repetitions of a bootstrap where it is switched on: shares of one in ten are known to ±0.04.
pub const REPETITIONS: usize = 50;

/// Many rays in a wide cone about the main direction: most miss. The FA stop is off: geodesics carry
/// on where streamlines lose their way.
pub fn geodesic() -> geodesic::Params {
    geodesic::Params {
        walk: tracking::Params {
            // The best in accuracy for its cost on linear interpolation.
            integrator: Integrator::Rk2,
            seeding: Seeding::Random { count: 400 },
            max_angle_rad: None,
            min_fa: None,
            both_ways: false,
            ..track()
        },
        form: geodesic::Form::Hamiltonian,
        directions: geodesic::Directions::Cone {
            count: 20,
            half_angle_rad: 45f64.to_radians(),
        },
        keep_every: 1,
        loop_guard: true,
    }
}

/// The comparison of gradient axes, with the least repair of tensors.
pub fn tensor_check() -> tensor_check::Params {
    tensor_check::Params {
        fit: fit(),
        tracking: gradient_check(),
        // Twice its size on a usual screen.
        picture: 150,
    }
}

/// Enough fibres to make the mean length steady to a few percent, in a second or two.
pub fn gradient_check() -> gradient_check::Params {
    gradient_check::Params {
        seeds: 3_000,
        min_fa: 0.2,
        max_angle_rad: 45f64.to_radians(),
        random_seed: 1,
    }
}

/// Measured on a real scan (1 b = 0 and 32 directions, 1.75 × 1.75 × 2.5 mm) between seven pairs of regions of
/// genu, splenium, corticospinal tracts and inferior longitudinal fasciculus: of the strongest tenth of the
/// rays 39 % ran with the streamlines of the same regions at α = 1, 64 % at 3, 76 % at 6 and 64 % at 8.
pub const RAYS_ALPHA: f64 = 6.0;

pub fn sharpening() -> geodesic::Sharpening {
    geodesic::Sharpening::Power { alpha: RAYS_ALPHA }
}

/// Of all rays between those regions 20 % ran with the streamlines at α = 1 and 39 % at 6: half of those that
/// pass are false, and mostly the weaker half.
pub const RAYS_SHARE: f64 = 0.1;

pub fn rays() -> Rays {
    Rays {
        medium: MediumRecipe {
            sharpening: sharpening(),
            // Half precision would do for plain tensors. At α = 6 eigenvalues differ by 10⁴, more than
            // its 11 bits tell apart; kernels are as fast on either.
            precision: geodesic::Precision::Single,
        },
        params: geodesic(),
        cut: geodesic::Cut::TopShare(RAYS_SHARE),
    }
}

/// The metric as in Jeong et al. 2007; the local solver that errs least.
pub fn pathway() -> pathway::Params {
    pathway::Params {
        cost: Cost::Sharpened { alpha: 3.0 },
        local: LocalSolver::Hybrid,
        // Lower values let paths through grey matter and fluid.
        min_fa: 0.15,
        tolerance: 1e-6,
    }
}

/// Smooth enough for noise of a third of the contrast, rough enough to follow gyri and the horns of
/// ventricles, which a surface of 0.25 and more does not enter; redistanced before speeds of opposite sign
/// have squeezed the band.
pub fn level_set(target: f32, tolerance: f32) -> level_set::Params {
    level_set::Params {
        mode: level_set::Mode::Scaled,
        target,
        tolerance,
        smoothness: 0.15,
        intensity: 1.0,
        region: 0.0,
        edge: None,
        layer: None,
        bias: 1.0,
        rescaling: 0.1,
        redistance_every: 20,
    }
}

/// Nothing is looked for yet; leaks pause what runs.
pub fn segment() -> super::segment::Settings {
    super::segment::Settings {
        params: level_set(0.5, 0.1),
        told: false,
        watched: true,
        pace: None,
        speed_opacity: 0.0,
        curve: false,
        dims: false,
        fade_mm: None,
        shown: true,
    }
}

/// The radius of a sphere that a click places, mm.
pub const SPHERE_MM: f64 = 4.0;

/// On voxels of 2 mm the sets of most pathways join from ε = 10 to 20 %, and up to there lie within
/// their bundle (tests/pathway/phantom.rs).
pub const EPSILON: f64 = 0.2;

/// Diffusivities are COMMIT's for the living brain (Daducci et al. 2015): 1.7 × 10⁻³ mm²/s along fibres, 0.51
/// across them outside, which is what a volume fraction of 0.7 leaves (Szafer et al. 1995), free water in
/// tissue and in cerebrospinal fluid.
pub fn commit(shells: usize) -> commit::Params {
    const ALONG: f64 = 1.7e-3;
    let zeppelin = |across: f64| commit::model::Zeppelin {
        along: ALONG,
        across,
    };
    commit::Params {
        model: commit::model::Model {
            intra: commit::model::Intra::Stick { along: ALONG },
            // One shell does not tell free water from the others: a rounder zeppelin takes its part.
            extra: match shells {
                0 | 1 => vec![zeppelin(0.51e-3), zeppelin(1.2e-3)],
                _ => vec![zeppelin(0.51e-3)],
            },
            free: match shells {
                0 | 1 => Vec::new(),
                _ => vec![ALONG, 3.0e-3],
            },
        },
        switches: commit::samples::Switches {
            merge_b0: true,
            normalise_signal: true,
            normalise_kernels: true,
        },
        blur_mm: None,
        lasso: 0.0,
        group: 0.0,
        stop: commit::solver::Stop {
            iterations: COMMIT_ITERATIONS,
            objective: 0.0,
            kkt: 0.0,
            target: 0.0,
        }
        .with_tolerance(1e-5),
        way: None,
        precision: commit::operator::Precision::Exact,
        force_model: false,
    }
}

/// Largest number of iterations of a fit. Fits of one bundle of nearly equal streamlines took 760 to 1 600 to the
/// default tolerance (about a second), fits of whole brains 350.
pub const COMMIT_ITERATIONS: u32 = 5000;

/// From 0.5 to 5 µm, as COMMIT's demonstrations have them.
pub const COMMIT_RADII_UM: [f64; 4] = [0.5, 2.0, 3.5, 5.0];

/// A mean radius of 1 µm, as axons of the living brain have (Alexander et al. 2010).
pub const COMMIT_GAMMA: commit::cylinder::Gamma = commit::cylinder::Gamma {
    shape: 2.0,
    scale_um: 0.5,
};

pub fn pathways() -> super::pathways::Settings {
    super::pathways::Settings {
        params: pathway(),
        epsilon: EPSILON,
        shown: super::pathways::Shown::Total,
        opacity: 0.75,
        range: super::pathways::EXCESS_SHOWN,
        greys: true,
        outline: true,
        contours: None,
        surface: false,
        cloud: true,
        transfer: Transfer::cost(),
        cut: Cut::Nothing,
    }
}

/// sRGB of a role: its glyph, ring and solid.
pub const fn role_rgb(role: Role) -> [u8; 3] {
    match role {
        Role::Seed => [0xF5, 0xD9, 0x0A],
        Role::Target => [0xFF, 0x5C, 0x55],
        Role::Include => [0x2B, 0xB6, 0x8A],
        Role::Exclude => [0xB4, 0x8C, 0xFF],
        Role::Terminate => [0xE6, 0x9F, 0x00],
        Role::Mask => [0x9A, 0xA4, 0xB2],
        Role::Region => [0x6F, 0xB7, 0xE8],
    }
}

/// Radius or half edge of a new region, mm.
pub fn region_radius_mm(role: Role) -> f64 {
    match role {
        Role::Seed => 5.0,
        Role::Target | Role::Include | Role::Mask | Role::Region => 8.0,
        Role::Exclude | Role::Terminate => 6.0,
    }
}

/// The window an image starts with, and goes back to.
pub fn window(volume: &Volume, frame: usize, recipe: &Recipe) -> (f32, f32) {
    let map = match recipe {
        Recipe::Fit { map, .. } => map.as_str(),
        _ => "",
    };
    match map {
        "fa" => (0.0, volume.percentiles(frame, 0.01, 0.998).1.max(0.5)),
        "md" | "ad" | "rd" => (0.0, volume.percentiles(frame, 0.01, 0.99).1),
        "dec" => (0.0, 1.0),
        _ => volume.percentiles(frame, 0.01, 0.99),
    }
}

/// Over an image both are to be seen.
pub const LABEL_OPACITY: f32 = 0.6;

/// The brightness a colour image starts with: colour by direction is dark, since FA rarely is 1.
pub fn brightness(recipe: &Recipe) -> f32 {
    match recipe {
        Recipe::Fit { map, .. } if map == "dec" => 1.5,
        _ => 1.0,
    }
}

pub fn image_display(window: (f32, f32)) -> Display {
    Display {
        visible: true,
        opacity: 1.0,
        window,
        colour_map: ColourMap::Grey,
        interpolation: Interpolation::Linear,
        brightness: 1.0,
        hide_below_fa: 0.0,
        frame: 0,
        line_style: LineStyle::Tubes { radius_mm: 0.35 },
        line_colouring: LineColouring::Direction,
        volume: None,
    }
}

pub fn mask_display() -> Display {
    Display {
        opacity: 0.3,
        colour_map: ColourMap::Mask,
        visible: false,
        ..image_display((0.0, 1.0))
    }
}

/// Where there is no image that it could hide.
pub fn mask_alone() -> Display {
    Display {
        opacity: 0.6,
        visible: true,
        ..mask_display()
    }
}

pub fn line_display() -> Display {
    image_display((0.0, 1.0))
}

pub fn ray_display() -> Display {
    Display {
        line_colouring: LineColouring::Measure,
        colour_map: ColourMap::Viridis,
        ..line_display()
    }
}

/// Opacity of a result that belongs to earlier settings, as a share of its opacity when it is current.
pub const STALE_OPACITY: f32 = 0.45;
