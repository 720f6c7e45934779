//! Fits tensors to a made-up scan and follows streamlines along the corticospinal tract:
//! `cargo run --release -p arcuate-engine --example fit_and_track`.

use arcuate_engine::compute::{Backend, BackendChoice, Control};
use arcuate_engine::data::region::RegionId;
use arcuate_engine::data::{Region, Role, Shape};
use arcuate_engine::io::fibres;
use arcuate_engine::phantom::{Head, scan_grid, scan_options, suggestions};
use arcuate_engine::solvers::tensor_fit::{self, Method, fit};
use arcuate_engine::solvers::tracking::{self, Integrator, Interpolation, Match, Seeding, track};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
    let head = Head::new(1);
    let grid = scan_grid(2.5).ok_or("a spacing above 0")?;
    let (dwi, gradients) = backend
        .install(|| head.diffusion_scan(&scan_options(grid.clone(), 1), &control))
        .map_err(|_| "cancelled")?;
    let mask = backend
        .install(|| head.brain_mask(&grid, &control))
        .map_err(|_| "cancelled")?;

    let params = tensor_fit::Params {
        method: Method::Iwls { iterations: 2 },
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        min_eigenvalue_mm2_per_s: 1e-5,
    };
    let tensors = fit(&dwi, &gradients, &mask, &params, &backend, &control)?;

    let bundle = suggestions(&head)
        .into_iter()
        .find(|s| s.bundle == "Corticospinal tract");
    let placements = bundle.ok_or("no such bundle")?.placements;
    let regions = placements.iter().enumerate().map(|(i, placed)| Region {
        id: RegionId(i as u64),
        name: placed.role.name().to_owned(),
        role: placed.role,
        shape: Arc::new(Shape::Sphere {
            centre: placed.centre,
            radius_mm: placed.radius_mm,
        }),
        colour: None,
        visible: true,
    });
    let params = tracking::Params {
        integrator: Integrator::Rk4,
        interpolation: Interpolation::Trilinear,
        seeding: Seeding::Random { count: 2000 },
        random_seed: 1,
        step_mm: 0.5,
        max_angle_rad: Some(45f64.to_radians()),
        min_fa: Some(0.15),
        min_length_mm: 30.0,
        max_length_mm: Some(300.0),
        max_steps: 10_000,
        targets: Match::Any,
        includes: Match::All,
        both_ways: true,
        deflection: None,
        repetitions: None,
    };
    let regions: Vec<Region> = regions.collect();
    assert!(regions.iter().any(|r| r.role == Role::Seed));
    let tracked = track(&tensors.field, &regions, &params, &backend, &control)?;
    let path = Path::new("corticospinal.trk");
    fibres::save(path, &tracked.kept, "fit_and_track", &control)?;
    println!("{} streamlines in {}", tracked.kept.len(), path.display());
    Ok(())
}
