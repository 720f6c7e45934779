//! The minimal path between two spheres and its cost, in the tensors of a synthetic head: `cargo run --release
//! --example pathway_between_spheres`.

use arcuate_engine::compute::{Backend, BackendChoice, Control};
use arcuate_engine::data::region::RegionId;
use arcuate_engine::data::{Region, Shape};
use arcuate_engine::phantom::{Head, Placement, scan_grid, scan_options, suggestions};
use arcuate_engine::solvers::eikonal::{self, CostSource, Prepared, solve};
use arcuate_engine::solvers::metric::Metric;
use arcuate_engine::solvers::pathway::{self, Pathway};
use arcuate_engine::solvers::tensor_fit::{self, fit};
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
    let head = Head::new(1);
    let grid = scan_grid(2.5).ok_or("a spacing above 0")?;
    let scan = || head.diffusion_scan(&scan_options(grid.clone(), 1), &control);
    let (dwi, gradients) = backend.install(scan).map_err(|_| "cancelled")?;
    let mask = || head.brain_mask(&grid, &control);
    let mask = backend.install(mask).map_err(|_| "cancelled")?;
    let params = tensor_fit::Params::defaults_for(Some(&gradients));
    let tensors = fit(&dwi, &gradients, &mask, &params, &backend, &control)?;

    let params = pathway::Params::defaults();
    let metric = Metric::new(&tensors.field, &params.metric, None, &backend, &control)?;
    let prepared = Prepared::new(&metric, params.local, &backend, &control)?;
    let source = |placed: &Placement| {
        let (centre, radius_mm) = (placed.centre, placed.radius_mm);
        let region = Region {
            id: RegionId(0),
            name: placed.name.to_owned(),
            role: placed.role,
            shape: Arc::new(Shape::Sphere { centre, radius_mm }),
            colour: None,
            visible: true,
            label_number: None,
        };
        CostSource::region(&metric, &region).map(Arc::new)
    };
    let bundle = suggestions(&head).into_iter().next().ok_or("no bundle")?;
    let [start, end] = [0, 1].map(|end| source(&bundle.placements[end]));
    let solver_params = eikonal::Params {
        tolerance: pathway::TOLERANCE,
        schedule: None,
    };
    let sources = [start?, end?];
    let mut fields = solve(&prepared, &sources, &solver_params, &backend, &control)?;
    let second = fields.pop().ok_or("a field")?;
    let pathway = Pathway::new(fields.pop().ok_or("a field")?, second)?;
    let (name, cost) = (bundle.bundle, pathway.min_cost);
    let length_mm = pathway.minimal_path().ok_or("no path")?.total_mm();
    let inside = pathway.mask(pathway::DEFAULT_EPSILON).count();
    println!("{name}: cost {cost:.1} along {length_mm:.1} mm");
    println!("{inside} voxels lie on paths that cost little more");
    Ok(())
}
