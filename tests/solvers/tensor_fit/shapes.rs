//! Maps of the shape of tensors: closed forms, limits, repaired tensors.

use super::{
    METHODS, backend, components, everywhere, fa, fit, noisy_scan, random_gradients, random_tensor,
};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Grid, Tensor, TensorField, Volume, VolumeKind};
use arcuate::solvers::tensor_fit::{self, FitMap, eigen_symmetric};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("tensor_fit::shapes_of_known_tensors", known_tensors),
        test("tensor_fit::shapes_at_their_limits", limits),
        test("tensor_fit::shapes_in_the_requested_order", order),
        test("tensor_fit::shapes_of_repaired_tensors", repaired),
        test("tensor_fit::shapes_with_any_threads", threads),
    ]
}

fn field(tensors: Vec<Tensor>) -> TensorField {
    let shape = [tensors.len(), 1, 1];
    let grid = Grid::axis_aligned(shape, DVec3::ONE, DVec3::ZERO).unwrap();
    TensorField::new(Arc::new(grid), tensors)
}

fn shapes(field: &TensorField, threads: usize) -> [Volume; 6] {
    let (backend, control) = (backend(threads), Control::new());
    let maps = tensor_fit::shape_maps(field, &FitMap::SHAPES, &backend, &control).unwrap();
    let maps: Vec<Volume> = maps.into_iter().map(|(_, map)| map).collect();
    maps.try_into().unwrap()
}

/// A tensor with these eigenvalues and random axes.
fn turned(random: &mut Random, values: DVec3) -> Tensor {
    let r = DMat3::from_quat(random.rotation());
    let d = r * DMat3::from_diagonal(values) * r.transpose();
    Tensor::new(components(&d).map(|v| v as f32))
}

/// Mode by the eigenvalues, and the norm of the deviator in units of the trace.
fn mode(values: [f64; 3]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / 3.0;
    let deviator = values.map(|v| v - mean);
    let norm = deviator.iter().map(|v| v * v).sum::<f64>().sqrt();
    let product: f64 = deviator.iter().product();
    let mode = 3.0 * 6f64.sqrt() * product / norm.powi(3);
    (mode, norm / (3.0 * mean))
}

fn known_tensors() {
    // A few roundings of single precision.
    const ROUNDING: f64 = 2e-6;
    let mut random = Random::fresh("shapes");
    let mut tensors = Vec::new();
    // Not a multiple of the lanes, and more than one task.
    for voxel in 0..9001 {
        let d = components(&random_tensor(&mut random)).map(|v| v as f32);
        tensors.push(if voxel % 7 == 3 {
            Tensor::default()
        } else {
            Tensor::new(d)
        });
    }
    let maps = shapes(&field(tensors.clone()), 2);
    let [modes, cl, cp, cs, norms, colours] = &maps;
    assert_eq!((colours.kind, colours.frames), (VolumeKind::Rgb, 3));
    for (voxel, tensor) in tensors.iter().enumerate() {
        let scalars = [modes, cl, cp, cs, norms].map(|map| f64::from(map.values[voxel]));
        let colour = [0, 1, 2].map(|channel| f64::from(colours.frame(channel)[voxel]));
        if tensor.inside == 0.0 {
            assert_eq!((scalars, colour), ([0.0; 5], [0.0; 3]));
            continue;
        }
        let [found_mode, linear, planar, spherical, norm] = scalars;
        let d = tensor.d.map(f64::from);
        let values = eigen_symmetric(d).0;
        let (expected, deviator) = mode(values);
        // Each component of the deviator is rounded to 1e-7 of the trace; the determinant has three of them, times 3 √6.
        let tolerance = 5e-6 / deviator;
        assert!(
            (found_mode - expected).abs() < tolerance,
            "{found_mode} {expected}"
        );
        assert!((-1.0..=1.0).contains(&found_mode));
        let [first, second, third] = values;
        let near = |a: f64, b: f64| (a - b).abs() < ROUNDING;
        assert!(near(linear, (first - second) / first), "{linear}");
        assert!(near(planar, (second - third) / first), "{planar}");
        assert!(near(spherical, third / first), "{spherical}");
        assert!(near(linear + planar + spherical, 1.0));
        let expected = values.iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!(
            (norm - expected).abs() < ROUNDING * expected,
            "{norm} {expected}"
        );
        let hue = ColourMap::Diverging.at(0.5 * (modes.values[voxel] + 1.0));
        for (channel, hue) in colour.iter().zip(hue) {
            assert!((channel - f64::from(hue) / 255.0 * fa(d)).abs() < ROUNDING);
        }
    }
}

fn limits() {
    let mut random = Random::fresh("limits");
    // Eigenvalues, mode, cl, cp, cs.
    let cases = [
        ([2e-3, 1e-3, 1e-3], 1.0, [0.5, 0.0, 0.5]),
        ([2e-3, 1e-5, 1e-5], 1.0, [0.995, 0.0, 0.005]),
        ([2e-3, 2e-3, 1e-3], -1.0, [0.0, 0.5, 0.5]),
        ([3e-3, 2e-3, 1e-3], 0.0, [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
        // All eigenvalues of 10⁻⁶ times as much: the shape does not depend on the unit.
        ([3e-9, 2e-9, 1e-9], 0.0, [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
    ];
    for (values, mode, westin) in cases {
        for _ in 0..30 {
            let tensor = turned(&mut random, DVec3::from_array(values));
            let [modes, cl, cp, cs, ..] = shapes(&field(vec![tensor]), 1);
            let found = [&cl, &cp, &cs].map(|map| f64::from(map.values[0]));
            // The mode is flat at its limits; halfway, the deviator is at least 0.2 of the trace.
            let off = f64::from(modes.values[0]) - mode;
            assert!(off.abs() < 3e-5, "mode off by {off} for {values:?}");
            for (found, expected) in found.iter().zip(westin) {
                assert!((found - expected).abs() < 2e-6, "{found} for {values:?}");
            }
        }
    }
    // Eigenvalues that are equal have no mode, and no colour.
    for value in [1e-3, 1e-8, 0.7] {
        let d = [value, 0.0, 0.0, value, 0.0, value].map(|v| v as f32);
        let maps = shapes(&field(vec![Tensor::new(d)]), 1);
        let [mode, linear, planar, spherical, norm, _] = &maps;
        assert_eq!([mode, linear, planar].map(|m| m.values[0]), [0.0; 3]);
        // One division and one product.
        assert!((spherical.values[0] - 1.0).abs() < 2e-7);
        let expected = 3f64.sqrt() * value;
        assert!((f64::from(norm.values[0]) - expected).abs() < 1e-6 * expected);
        assert!(
            maps[5].values.iter().all(|v| v.abs() < 1e-3),
            "FA is 0 within rounding"
        );
    }
}

fn order() {
    let mut random = Random::fresh("order");
    let tensors = (0..20).map(|_| turned(&mut random, DVec3::new(2e-3, 7e-4, 2e-4)));
    let field = field(tensors.collect());
    let all = shapes(&field, 2);
    let (backend, control) = (backend(2), Control::new());
    // A map of another kind is left out.
    let requested = [FitMap::Norm, FitMap::Fa, FitMap::ModeColour, FitMap::Mode];
    let found = tensor_fit::shape_maps(&field, &requested, &backend, &control).unwrap();
    let keys: Vec<&str> = found.iter().map(|(map, _)| map.key()).collect();
    assert_eq!(keys, ["norm", "mode-colour", "mode"]);
    for ((_, map), number) in found.iter().zip([4, 5, 0]) {
        assert_eq!(map.values, all[number].values);
    }
    let none = tensor_fit::shape_maps(&field, &[FitMap::Fa], &backend, &control).unwrap();
    assert!(none.is_empty());
}

fn repaired() {
    let mut random = Random::fresh("repaired shapes");
    let gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 12)]);
    // Strong noise: some tensors have eigenvalues below the smallest permitted.
    let (dwi, ..) = noisy_scan(&mut random, &gradients, 2000, 3.0);
    let output = fit(&dwi, &gradients, METHODS[1]);
    let repaired = output.repaired.count();
    assert!(repaired > 20, "{repaired}");
    let [mode, cl, cp, cs, norm, _] = shapes(&output.field, 2);
    for (voxel, tensor) in output.field.tensors.iter().enumerate() {
        if tensor.inside == 0.0 {
            continue;
        }
        assert!((-1.0..=1.0).contains(&mode.values[voxel]));
        let parts = [&cl, &cp, &cs].map(|map| map.values[voxel]);
        // The smallest eigenvalue is positive after the repair, up to the rounding of the largest.
        assert!(
            parts.iter().all(|part| (-1e-6..=1.0).contains(part)),
            "{parts:?}"
        );
        assert!((parts.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(norm.values[voxel] > 0.0 && norm.values[voxel].is_finite());
    }
}

fn threads() {
    let mut random = Random::fresh("threads of shapes");
    let gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 12)]);
    let (dwi, ..) = noisy_scan(&mut random, &gradients, 9001, 8.0);
    assert_eq!(everywhere(&dwi).count(), 9001);
    let field = fit(&dwi, &gradients, METHODS[1]).field;
    let alone = shapes(&field, 1);
    for threads in [2, 3] {
        for (a, b) in alone.iter().zip(shapes(&field, threads)) {
            assert!(a.values == b.values, "{threads} threads gave other values");
        }
    }
}
