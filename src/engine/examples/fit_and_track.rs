//! Fits tensors to a synthetic scan and follows streamlines along the corticospinal tract: `cargo run --release
//! --example fit_and_track`.

use arcuate_engine::compute::{Backend, BackendChoice, Control};
use arcuate_engine::data::region::RegionId;
use arcuate_engine::data::{Region, Role, Shape};
use arcuate_engine::io::streamlines;
use arcuate_engine::phantom::{Head, scan_grid, scan_options, suggestions};
use arcuate_engine::solvers::curves;
use arcuate_engine::solvers::tensor_fit::{self, fit};
use arcuate_engine::solvers::tracking::track;
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

    let params = tensor_fit::Params::defaults_for(Some(&gradients));
    let tensors = fit(&dwi, &gradients, &mask, &params, &backend, &control)?;

    let bundle = suggestions(&head)
        .into_iter()
        .find(|s| s.bundle.starts_with("Corticospinal tract"));
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
        label_number: None,
    });
    let regions: Vec<Region> = regions.collect();
    assert!(regions.iter().any(|r| r.role == Role::Seed));
    let params = curves::Params::defaults();
    let tracked = track(&tensors.field, &regions, &params, &backend, &control)?;
    let path = Path::new("corticospinal.tck");
    streamlines::save(path, &tracked.kept, "fit_and_track", &control)?;
    println!("{} streamlines in {}", tracked.kept.len(), path.display());
    Ok(())
}
