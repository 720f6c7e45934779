//! A level set grows from a sphere into the lateral ventricles of a synthetic head: `cargo run --release --example
//! segment_phantom`.

use arcuate_engine::compute::{Backend, BackendChoice, Control};
use arcuate_engine::data::Shape;
use arcuate_engine::phantom::{Head, Imaging, Weighting, WholeHead, scan_grid};
use arcuate_engine::solvers::level_set::{
    Evolution, Inputs, Layout, Params, Probe, Sphere, Start, agreement,
};
use glam::DVec3;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
    let head = Head::new(1);
    let grid = scan_grid(1.0).ok_or("a spacing above 0")?;
    let make = || WholeHead::new(&head, &grid, &control);
    let whole = backend.install(make).map_err(|_| "cancelled")?;
    let image = whole.image(&Imaging {
        weighting: Weighting::T1,
        noise: 0.03,
        bias: 0.2,
        seed: 1,
    });

    // Sample a ball of 2 mm, and start from a sphere of 3 mm at its centre.
    let centre = head.world(DVec3::new(-7.5, 8.0, 16.0));
    let ball = Shape::Sphere {
        centre,
        radius_mm: 2.0,
    }
    .mask_on(&grid);
    let voxels: Vec<usize> = ball.voxels_inside().map(|v| grid.index(v)).collect();
    let probe = backend.install(|| Probe::new(&image, 0, &voxels))?;
    let params = Params::defaults_for(probe.target, probe.tolerance);
    let sphere = Sphere {
        add: true,
        centre,
        radius_mm: 3.0,
    };
    let start = Start {
        mask: None,
        spheres: vec![sphere],
    };
    let inputs = backend.install(|| Inputs::new(&image, 0))?;
    let mut run = Evolution::new(&inputs, &start, &params, Layout::BEST, &backend, &control)?;
    let ended = run.run(4000, &backend, &control)?;

    let mask = run.field()?.mask();
    let agreement = agreement(&mask, &whole.ventricles)?;
    println!("{ended:?} after {} steps", run.step());
    println!(
        "{:.1} ml, Dice with all ventricles {:.3}",
        mask.volume_ml(),
        agreement.dice
    );
    Ok(())
}
