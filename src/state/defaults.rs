//! Values that parameters start with, and why. The window and the command line share them.

use super::document::{Display, LineColouring};
use crate::data::{Gradients, Role};
use crate::render::colour_map::ColourMap;
use crate::render::draw_list::{Interpolation, LineStyle};
use crate::solvers::tensor_fit::{self, Method};
use crate::solvers::tracking::{self, Integrator, Interpolation as FieldInterpolation, Seeding};

/// WLS with two reweighted solves is the field's common choice (Veraart et al. 2013).
pub fn fit() -> tensor_fit::Params {
    tensor_fit::Params {
        method: Method::Iwls { iterations: 2 },
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        // 0.01 × 10⁻³ mm²/s: a hundredth of tissue, so that FA of a repaired voxel stays below 1.
        min_eigenvalue_mm2_per_s: 1e-5,
    }
}

/// Above b = 1500 s/mm² log signal bends away from the tensor model (kurtosis): such shells are
/// left out wherever a lower one is there.
pub fn fit_b_range(gradients: &Gradients) -> (f64, f64) {
    const LINEAR_UP_TO: f64 = 1550.0;
    let lower_shell = gradients
        .shells()
        .iter()
        .any(|&(b, n)| b > 0 && f64::from(b) <= LINEAR_UP_TO && n >= 6);
    if lower_shell {
        (0.0, LINEAR_UP_TO)
    } else {
        (0.0, f64::INFINITY)
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
        both_ways: true,
    }
}

/// Radius or half edge of a new region, mm.
pub fn region_radius_mm(role: Role) -> f64 {
    match role {
        Role::Seed => 5.0,
        Role::Target | Role::Include | Role::Mask => 8.0,
        Role::Exclude | Role::Terminate => 6.0,
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

pub fn line_display() -> Display {
    image_display((0.0, 1.0))
}
