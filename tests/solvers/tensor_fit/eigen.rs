//! Symmetric eigen-decomposition: the result reproduces any matrix.

use super::components;
use crate::support::{Random, test};
use arcuate::compute::Lanes;
use arcuate::compute::simd::{Kernel, base, dispatch};
use arcuate::solvers::tensor_fit::eigen::{eigen_symmetric, eigenvalues, principal};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "tensor_fit::eigen_gives_the_matrix_back",
            eigen_gives_the_matrix_back,
        ),
        test("tensor_fit::principal_lanes_match", principal_lanes_match),
        test("tensor_fit::eigenvalue_lanes_match", eigenvalue_lanes_match),
    ]
}

/// Matrices with distant, nearly equal, equal, zero and negative eigenvalues.
fn matrices(random: &mut Random) -> Vec<DMat3> {
    let mut matrices = vec![DMat3::ZERO, DMat3::IDENTITY, DMat3::from_diagonal(DVec3::X)];
    let spectra = [
        [3.0, 2.0, 1.0],
        [1.0, 1.0, 1.0],
        [1.0, 1.0, 1e-9],
        [1.0, 1.0 - 1e-12, 0.5],
        [1.0, 0.3, 0.3],
        [1.0, 0.3, 0.3 - 1e-14],
        [1.0, 1e-7, 1e-14],
        [2.0, 0.0, 0.0],
        [1.0, 0.0, -1.0],
        [-1.0, -1.0, -2.0],
    ];
    for spectrum in spectra {
        for _ in 0..20 {
            let r = DMat3::from_quat(random.rotation());
            let d = DMat3::from_diagonal(DVec3::from_array(spectrum));
            matrices.push(r * d * r.transpose());
        }
    }
    matrices
}

fn eigen_gives_the_matrix_back() {
    let mut random = Random::fresh("eigen");
    // A dozen rotations, with one or two roundings each.
    const ROUNDING: f64 = 30.0 * f64::EPSILON;
    for matrix in matrices(&mut random) {
        for scale in [1.0, 1e-3, 1e-300, 1e300] {
            let d = components(&(matrix * scale));
            let (values, vectors) = eigen_symmetric(d);
            let largest = d.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            assert!(
                values[0] >= values[1] && values[1] >= values[2],
                "{values:?}"
            );
            let v = DMat3::from_cols(vectors[0], vectors[1], vectors[2]);
            let orthonormal = (v.transpose() * v).abs_diff_eq(DMat3::IDENTITY, ROUNDING);
            assert!(orthonormal, "{vectors:?}");
            if largest > 0.0 {
                let relative = DMat3::from_diagonal(DVec3::from_array(values) / largest);
                let back = components(&(v * relative * v.transpose()));
                for (back, d) in back.iter().zip(d) {
                    assert!(
                        (back - d / largest).abs() < ROUNDING,
                        "{back} {}",
                        d / largest
                    );
                }
            }
        }
    }
}

struct Principal([Lanes<8>; 6]);

impl Kernel for Principal {
    type Output = (Lanes<8>, [Lanes<8>; 3]);
    fn run<const FMA: bool>(self) -> Self::Output {
        principal::<8, FMA>(self.0)
    }
}

struct Eigenvalues([Lanes<8>; 6]);

impl Kernel for Eigenvalues {
    type Output = [Lanes<8>; 3];
    fn run<const FMA: bool>(self) -> Self::Output {
        eigenvalues::<8, FMA>(self.0)
    }
}

fn lanes(eight: &[DMat3]) -> [Lanes<8>; 6] {
    let mut d = [Lanes::ZERO; 6];
    for (lane, matrix) in eight.iter().enumerate() {
        for (lanes, value) in d.iter_mut().zip(components(matrix)) {
            lanes.0[lane] = value as f32;
        }
    }
    d
}

fn eigenvalue_lanes_match() {
    let mut random = Random::fresh("eigenvalues");
    for eight in matrices(&mut random).chunks(8) {
        let d = lanes(eight);
        for values in [dispatch(Eigenvalues(d)), base(Eigenvalues(d))] {
            for (lane, matrix) in eight.iter().enumerate() {
                let exact = eigen_symmetric(components(matrix)).0;
                let found = values.map(|value| f64::from(value.0[lane]));
                assert!(found[0] >= found[1] && found[1] >= found[2], "{found:?}");
                for (found, exact) in found.iter().zip(exact) {
                    // Single precision relative to the largest entry, which is at most 3.
                    assert!((found - exact).abs() < 3e-6, "{found} for {exact}");
                }
            }
        }
    }
}

fn principal_lanes_match() {
    let mut random = Random::fresh("principal");
    let matrices = matrices(&mut random);
    for eight in matrices.chunks(8) {
        let d = lanes(eight);
        for (values, vectors) in [dispatch(Principal(d)), base(Principal(d))] {
            for (lane, matrix) in eight.iter().enumerate() {
                let exact = eigen_symmetric(components(matrix)).0[0];
                let value = f64::from(values.0[lane]);
                // Single precision relative to the largest entry, which is at most 3.
                assert!((value - exact).abs() < 3e-6, "{value} for {exact}");
                let v = DVec3::from_array(vectors.map(|axis| f64::from(axis.0[lane])));
                assert!((v.length() - 1.0).abs() < 2e-6, "{v}");
                // Any vector in a plane of equal eigenvalues is correct, so the residual is tested.
                let residual = (*matrix * v - exact * v).length();
                assert!(residual < 6e-6, "{residual} for {matrix}");
            }
        }
    }
}
