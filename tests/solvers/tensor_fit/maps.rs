//! Maps of tensors with known eigenvalues and directions.

use super::{backend, components, fa, random_tensor};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tensor, TensorField, VolumeKind};
use arcuate::solvers::tensor_fit::{self, Maps, eigen_symmetric};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("tensor_fit::maps_of_known_tensors", maps_of_known_tensors),
        test(
            "tensor_fit::maps_where_eigenvalues_meet",
            maps_where_eigenvalues_meet,
        ),
    ]
}

fn maps_of(tensors: Vec<Tensor>) -> Maps {
    let shape = [tensors.len(), 1, 1];
    let grid = Grid::axis_aligned(shape, DVec3::ONE, DVec3::ZERO).unwrap();
    let field = TensorField::new(Arc::new(grid), tensors);
    tensor_fit::maps(&field, &backend(2), &Control::new()).unwrap()
}

fn vector(volume: &arcuate::data::Volume, voxel: usize) -> DVec3 {
    DVec3::from_array([0, 1, 2].map(|f| f64::from(volume.frame(f)[voxel])))
}

fn maps_of_known_tensors() {
    // A few roundings of single precision.
    const ROUNDING: f64 = 2e-6;
    let mut random = Random::fresh("maps");
    let mut tensors = Vec::new();
    for voxel in 0..9001 {
        let d = components(&random_tensor(&mut random)).map(|v| v as f32);
        tensors.push(if voxel % 7 == 3 {
            Tensor::default()
        } else {
            Tensor::new(d)
        });
    }
    let maps = maps_of(tensors.clone());
    assert_eq!(maps.dec.kind, VolumeKind::Rgb);
    for (voxel, tensor) in tensors.iter().enumerate() {
        let scalars = [&maps.fa, &maps.md, &maps.ad, &maps.rd];
        let [found_fa, md, ad, rd] = scalars.map(|m| f64::from(m.values[voxel]));
        let (direction, dec) = (vector(&maps.direction, voxel), vector(&maps.dec, voxel));
        if tensor.inside == 0.0 {
            assert_eq!([found_fa, md, ad, rd], [0.0; 4]);
            assert_eq!([direction, dec], [DVec3::ZERO; 2]);
            continue;
        }
        let d = tensor.d.map(f64::from);
        let (values, axes) = eigen_symmetric(d);
        let near = |a: f64, b: f64| (a - b).abs() < ROUNDING * values[0];
        assert!((found_fa - fa(d)).abs() < ROUNDING, "{found_fa} {}", fa(d));
        assert!(near(md, values.iter().sum::<f64>() / 3.0));
        assert!(near(ad, values[0]) && near(rd, (values[1] + values[2]) / 2.0));
        assert!((direction.length() - 1.0).abs() < ROUNDING);
        assert!((dec - direction.abs() * found_fa).length() < ROUNDING);
        // The direction's error grows as the gap between the eigenvalues closes.
        let gap = (values[0] - values[1]) / values[0];
        let sine = direction.cross(axes[0]).length();
        assert!(sine * gap < ROUNDING, "{sine} with gap {gap}");
    }
}

fn maps_where_eigenvalues_meet() {
    let mut random = Random::fresh("meet");
    let spectra = [
        DVec3::splat(1e-3),
        DVec3::new(1e-3, 1e-3, 1e-5),
        DVec3::new(2e-3, 1e-5, 1e-5),
        DVec3::splat(1e-8),
        DVec3::new(3e-3, 1e-8, 1e-8),
    ];
    for values in spectra {
        let r = DMat3::from_quat(random.rotation());
        let d = r * DMat3::from_diagonal(values) * r.transpose();
        let maps = maps_of(vec![Tensor::new(components(&d).map(|v| v as f32))]);
        // FA is the root of a difference of rounded squares: 1e-7 becomes 3e-4 where it is 0.
        let off = f64::from(maps.fa.values[0]) - fa([values.x, 0.0, 0.0, values.y, 0.0, values.z]);
        assert!(off.abs() < 1e-3, "FA off by {off} for {values}");
        assert!(maps.fa.values[0] <= 1.0);
        let v = vector(&maps.direction, 0);
        assert!((v.length() - 1.0).abs() < 1e-5);
        assert!((d * v - values.x * v).length() < 3e-6 * values.x);
    }
}
