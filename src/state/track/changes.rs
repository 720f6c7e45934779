//! Streamlines, rays, the whole brain and the tensor fit.

use crate::solvers::curves::{Integrator, Interpolation, Match, Params, Seeding};
use crate::solvers::geodesic::{Cut, Directions, Form, Precision, Sharpening};
use crate::solvers::tensor_fit::Method as Fit;
use crate::state::changes::Fields;
use crate::state::core::words::{measure, significant};
use crate::state::document::{Document, Rays};

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let mut all = Vec::new();
    for of in [method, streamlines, rays, whole_brain, fit] {
        all.extend(of(before).differences(&of(after)));
    }
    all
}

fn method(document: &Document) -> Fields {
    let mut fields = Fields::default();
    fields.name("Method", document.method.name());
    fields
}

fn streamlines(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let params = &document.track;
    match params.seeding {
        Seeding::Random { count } => fields.whole("Streamlines", count),
        Seeding::Grid { spacing_mm } => fields.number("Seed spacing", spacing_mm, 2, "mm"),
        Seeding::PerVoxel { count } => fields.whole("Seeds per voxel", count),
    }
    let kind = match params.seeding {
        Seeding::Random { .. } => "At random",
        Seeding::Grid { .. } => "On a grid",
        Seeding::PerVoxel { .. } => "Per voxel",
    };
    fields.name("Seed points", kind);
    let repetitions = params.repetitions.map(|n| n as f64);
    fields.or_off("Bootstrap", repetitions, 0, "");
    let directions = ["Principal", "Deflected"];
    let deflected = usize::from(params.deflection.is_some());
    fields.name("Direction", directions[deflected]);
    if let Some(deflection) = params.deflection {
        fields.number("Principal f", deflection.f, 2, "");
        fields.number("Deflected g", deflection.g, 2, "");
    }
    walk(&mut fields, params);
    fields
}

/// Parameters that streamlines and rays share.
fn walk(fields: &mut Fields, params: &Params) {
    fields.number("Step", params.step_mm, 2, "mm");
    // As the row rounds it: 45° are no whole number after radians.
    let degrees = |angle: f64| (angle.to_degrees() * 1e6).round() / 1e6;
    let angle = params.max_angle_rad.map(degrees);
    fields.or_off("Maximum angle", angle, 0, "°");
    fields.or_off("Stop below FA", params.min_fa, 2, "");
    // Without a limit the row's upper end stands at the end of its rail.
    let ends = [params.min_length_mm, params.max_length_mm.unwrap_or(500.0)];
    fields.numbers("Length", &ends, "–", (0, "mm"));
    let matches = [(Match::Any, "Any"), (Match::All, "All")];
    fields.choice("Targets", &params.targets, &matches);
    fields.choice("Includes", &params.includes, &matches);
    let integrators = [
        (Integrator::Euler, "Euler"),
        (Integrator::Rk2, "RK2"),
        (Integrator::Rk4, "RK4"),
    ];
    fields.choice("Integrator", &params.integrator, &integrators);
    let interpolations = [
        (Interpolation::Trilinear, "Trilinear"),
        (Interpolation::CubicBSpline, "Cubic"),
    ];
    fields.choice("Interpolation", &params.interpolation, &interpolations);
    // Its digits are not grouped.
    fields.name("Random seed", params.random_seed.to_string());
    fields.check("Both ways from the seed", params.both_ways);
}

fn rays(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let Rays {
        medium,
        params,
        cut,
    } = &document.rays;
    if let Some(count) = document.rays.count() {
        fields.whole("Rays", count);
    }
    let (kind, each) = match params.directions {
        Directions::Cone { count, .. } => ("Cone", Some(count)),
        Directions::Sphere { count } => ("Sphere", Some(count)),
        Directions::Icosphere { .. } => ("Icosphere", None),
        Directions::Principal => ("Main direction", None),
        Directions::Towards { .. } => ("One direction", None),
    };
    fields.name("Directions", kind);
    if let Directions::Cone { half_angle_rad, .. } = params.directions {
        let degrees = (half_angle_rad.to_degrees() * 1e6).round() / 1e6;
        fields.number("Opening angle", degrees, 0, "°");
    }
    if let Some(each) = each {
        fields.whole("Rays per seed point", each);
    }
    if let Directions::Icosphere { level } = params.directions {
        fields.whole("Subdivisions", level);
    }
    match medium.sharpening {
        Sharpening::Power { alpha } => {
            fields.name("Sharpen", "All");
            fields.number("Sharpening α", alpha, 1, "");
        }
        Sharpening::Paper { power, below_fa } => {
            fields.name("Sharpen", "Low FA only");
            fields.number("Sharpening n", f64::from(power), 0, "");
            fields.number("Sharpen below FA", below_fa, 2, "");
        }
    }
    let forms = [
        (Form::Hamiltonian, "Hamiltonian"),
        (Form::Christoffel, "Christoffel"),
    ];
    fields.choice("Equations", &params.form, &forms);
    let precisions = [(Precision::Half, "Half"), (Precision::Single, "Single")];
    fields.choice("Precision", &medium.precision, &precisions);
    fields.check("Stop rays that circle", params.loop_guard);
    walk(&mut fields, &params.walk);
    fields.detailed("Keep", kept(*cut), format!("{cut:?}"));
    fields
}

/// As the field under the measures has it.
fn kept(cut: Cut) -> String {
    match cut {
        Cut::All => "all".to_owned(),
        Cut::AtLeast(least) => format!("≥\u{202F}{}", measure(f64::from(least))),
        Cut::Top(count) => format!("best {}", crate::state::core::words::count(count as u64)),
        Cut::TopShare(share) => format!("best {}\u{202F}%", significant(share * 100.0)),
    }
}

fn whole_brain(document: &Document) -> Fields {
    let mut fields = Fields::default();
    fields.whole("Seeds", document.whole_brain.seeds);
    let by_regions = document.whole_brain.by_regions;
    fields.check("Use targets and regions", by_regions);
    fields
}

fn fit(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let params = &document.fit;
    let method = match params.method {
        Fit::Ols => "Ordinary least squares",
        Fit::Wls => "Weighted",
        Fit::Iwls { .. } => "Reweighted",
    };
    fields.name("Method", method);
    if let Fit::Iwls { iterations } = params.method {
        fields.number("Iterations", f64::from(iterations), 0, "");
    }
    let (low, high) = params.b_range_s_per_mm2;
    fields.numbers("b range", &[low, high], "–", (0, "s/mm²"));
    let mask = document.fit_mask.and_then(|id| document.layer(id));
    let mask = mask.map_or("Found from the scan", |layer| &layer.name);
    fields.name("Mask", mask);
    fields
}
