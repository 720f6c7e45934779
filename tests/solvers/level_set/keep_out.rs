//! Voxels that the user cuts away stay empty, even where the image attracts the surface, until something is added
//! there.

use super::invariants::{body, everything, inputs};
use super::{CURVATURE, DEFAULTS, GROWTH, axes, grid, ones, run, sphere};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Shape};
use arcuate::solvers::level_set::{
    Ended, Evolution, Field, Inputs, Layout, Mode, Params, Sphere, Start,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::parts that are cut away stay away", stays_empty),
        test("level_set::parts added in its place grow", added),
        test("level_set::a start keeps out of what it lacks", started),
    ]
}

pub fn cut(centre: DVec3, radius_mm: f64) -> Sphere {
    Sphere {
        add: false,
        ..sphere(centre, radius_mm)
    }
}

/// The number of voxels within a sphere that are inside the surface, and the number of all voxels within it.
pub fn within(field: &Field, cut: &Sphere) -> (usize, usize) {
    let shape = Shape::Sphere {
        centre: cut.centre,
        // Rounding decides about voxels exactly on its border.
        radius_mm: cut.radius_mm - 1e-3,
    };
    let voxels: Vec<_> = shape.mask_on(&field.grid).voxels_inside().collect();
    let inside = voxels.iter().filter(|voxel| field.value(**voxel) > 0.0);
    (inside.count(), voxels.len())
}

/// The centre of a voxel near a place.
fn on_voxel(grid: &Grid, at: DVec3) -> DVec3 {
    let voxel = grid.nearest(at).expect("a voxel");
    grid.world(DVec3::from_array(voxel.map(|v| v as f64)))
}

/// Every mixture of speeds, every kind of grid, from a single voxel to a large ball.
fn stays_empty() {
    let mut random = Random::fresh("level set keep out");
    let smooth = Params {
        smoothness: 0.9,
        ..DEFAULTS
    };
    let paper = Params {
        mode: Mode::Paper,
        ..DEFAULTS
    };
    let all = Params {
        bias: 3.0,
        ..everything()
    };
    for (kind, axes) in axes(&mut random) {
        let grid = grid(axes, 36.0);
        let image = body(&mut random, &grid, 0.1);
        let inputs = inputs(&mut random, &image);
        for (name, params) in [
            ("usual", &DEFAULTS),
            ("growth", &GROWTH),
            ("smooth", &smooth),
            ("curvature", &CURVATURE),
            ("all", &all),
            ("paper", &paper),
        ] {
            for radius in [0.6, 1.0, 1.5, 2.5, 4.0] {
                let place = on_voxel(&grid, random.direction() * 4.0);
                let place = place
                    + if radius > 1.0 {
                        random.direction() * 0.4
                    } else {
                        DVec3::ZERO
                    };
                let black = cut(place, radius);
                let (backend, control) = (backend(2), Control::new());
                let begin = Start {
                    mask: None,
                    spheres: vec![sphere(DVec3::ZERO, 9.0)],
                };
                let evolution =
                    Evolution::new(&inputs, &begin, params, Layout::BEST, &backend, &control);
                let mut evolution = evolution.unwrap();
                evolution.watched = false;
                run(&mut evolution, 20);
                let before = evolution.field().unwrap().values_by_voxel();
                evolution.apply_sphere(&black, &backend).unwrap();
                let label = format!("{kind}, {name}, {radius} mm");
                for steps in [5, 25, 60, 110] {
                    if !matches!(run(&mut evolution, steps), Ended::Steps | Ended::Converged) {
                        break;
                    }
                    let (inside, voxels) = within(&evolution.field().unwrap(), &black);
                    assert!(voxels > 0, "{label}");
                    assert_eq!(
                        inside,
                        0,
                        "{label}: of {voxels} at {} steps",
                        evolution.step()
                    );
                }
                // Rewinding leads back to before it, and the script to the same result.
                let (script, end) = (
                    evolution.script(),
                    evolution.field().unwrap().values_by_voxel(),
                );
                let given = [inputs.clone()];
                let repeated = Evolution::replay(&given, &begin, &script, &backend, &control);
                assert!(
                    repeated.unwrap().0.field().unwrap().values_by_voxel() == end,
                    "{label}"
                );
                evolution.rewind(20, &backend, &control).unwrap();
                assert!(
                    evolution.field().unwrap().values_by_voxel() == before,
                    "{label}"
                );
                assert_eq!(evolution.spheres().len(), 1);
            }
        }
    }
}

/// A white sphere replaces a black one; after rewinding to before the black one the surface grows there.
fn added() {
    let grid = grid(DMat3::IDENTITY, 36.0);
    let image = ones(&grid);
    let (backend, control) = (backend(2), Control::new());
    let inputs = backend.install(|| Inputs::new(&image, 0)).unwrap();
    let begin = Start {
        mask: None,
        spheres: vec![sphere(DVec3::ZERO, 8.0)],
    };
    let new =
        || Evolution::new(&inputs, &begin, &DEFAULTS, Layout::BEST, &backend, &control).unwrap();
    let black = cut(DVec3::X * 6.0, 3.0);
    let mut evolution = new();
    evolution.watched = false;
    evolution.apply_sphere(&black, &backend).unwrap();
    run(&mut evolution, 60);
    assert_eq!(within(&evolution.field().unwrap(), &black).0, 0);
    // Other speeds do not admit it either.
    let other = Params {
        smoothness: 0.6,
        ..DEFAULTS
    };
    evolution.set(&other, &backend).unwrap();
    run(&mut evolution, 30);
    assert_eq!(within(&evolution.field().unwrap(), &black).0, 0);
    // Little smoothness: alone in the cut-away region, a ball of 2 mm would shrink under more.
    evolution.set(&DEFAULTS, &backend).unwrap();
    let white = sphere(DVec3::X * 6.0, 2.0);
    evolution.apply_sphere(&white, &backend).unwrap();
    run(&mut evolution, 30);
    let field = evolution.field().unwrap();
    let (inside, voxels) = within(&field, &white);
    assert!(
        inside + 8 >= voxels,
        "{inside} of {voxels} are inside again"
    );
    let (inside, voxels) = within(&field, &black);
    assert!(
        inside + 30 < voxels,
        "{inside} of {voxels}: its rim stays away"
    );
    evolution.rewind(0, &backend, &control).unwrap();
    run(&mut evolution, 60);
    let (inside, voxels) = within(&evolution.field().unwrap(), &black);
    assert_eq!(inside, voxels, "nothing keeps it out any more");
}

fn started() {
    let grid = grid(DMat3::IDENTITY, 36.0);
    let (backend, control) = (backend(2), Control::new());
    let image = ones(&grid);
    let inputs = backend.install(|| Inputs::new(&image, 0)).unwrap();
    let black = cut(DVec3::Y * 5.0, 2.5);
    let begin = Start {
        mask: None,
        spheres: vec![sphere(DVec3::ZERO, 6.0), black],
    };
    let evolution = Evolution::new(&inputs, &begin, &DEFAULTS, Layout::BEST, &backend, &control);
    let mut evolution = evolution.unwrap();
    evolution.watched = false;
    run(&mut evolution, 80);
    let field = evolution.field().unwrap();
    assert_eq!(within(&field, &black).0, 0);
    assert!(field.mask().count() > 4000, "it went around");
}
