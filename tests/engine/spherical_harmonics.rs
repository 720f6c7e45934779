//! Spherical harmonics: closed forms, orthonormality, derivatives, rotations, and the bases of other programs.

use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::spherical_harmonics::{
    Basis, Derivatives, Polynomials, Rotation, at_pole, count, degrees, evaluate, gauss_legendre,
    index, order_of_count, products, quadrature, zonal,
};
use arcuate::io::nifti;
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::f64::consts::PI;

pub fn tests() -> Vec<Trial> {
    vec![
        test("harmonics::indices", indices),
        test("harmonics::degree 2 in closed form", degree_2),
        test("harmonics::orthonormal", orthonormal),
        test("harmonics::zonal functions", zonal_functions),
        test("harmonics::integrals of polynomials", integrals),
        test("harmonics::products", product_sums),
        test("harmonics::series equal their sums", series_values),
        test("harmonics::derivatives", derivatives),
        test("harmonics::eigenfunctions of the Laplacian", laplacian),
        test("harmonics::rotations compose", compose),
        test("harmonics::axis turns are exact", axis_turns),
        test("harmonics::a rotated function", rotated),
        test("harmonics::bases there and back", round_trips),
        data_test(
            "harmonics::DIPY's bases",
            "mrtrix_reference/dipy_bases",
            |folder| dipy(&folder),
        ),
    ]
}

/// Order of most tests: the highest of a fibre orientation distribution.
const ORDER: usize = 12;

fn coefficients(random: &mut Random, order: usize) -> Vec<f64> {
    (0..count(order)).map(|_| random.normal()).collect()
}

fn sum(coefficients: &[f64], direction: DVec3) -> f64 {
    let order = order_of_count(coefficients.len()).unwrap();
    let functions = evaluate(order, direction);
    functions.iter().zip(coefficients).map(|(y, c)| y * c).sum()
}

fn worst(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f64::max)
}

fn indices() {
    let orders = (0..=ORDER).step_by(2);
    let counts: Vec<usize> = orders.map(count).collect();
    assert_eq!(counts, [1, 6, 15, 28, 45, 66, 91]);
    for (i, (l, m)) in degrees(ORDER).enumerate() {
        assert_eq!(index(l, m), i);
    }
    assert_eq!(degrees(ORDER).count(), count(ORDER));
    assert_eq!(order_of_count(45), Some(8));
    assert_eq!(order_of_count(44), None);
}

/// MRtrix's signs: those of odd m are opposite to the functions without the Condon-Shortley phase.
fn degree_2() {
    let mut random = Random::fresh("directions");
    let scale = (15.0 / (4.0 * PI)).sqrt();
    for _ in 0..20 {
        let u = random.direction();
        let expected = [
            (4.0 * PI).recip().sqrt(),
            scale * u.x * u.y,
            -scale * u.y * u.z,
            (5.0 / (16.0 * PI)).sqrt() * (3.0 * u.z * u.z - 1.0),
            -scale * u.x * u.z,
            0.5 * scale * (u.x * u.x - u.y * u.y),
        ];
        assert!(worst(&evaluate(2, u), &expected) < 1e-15);
    }
}

fn orthonormal() {
    let n = count(ORDER);
    let mut products = vec![0.0; n * n];
    for (u, weight) in quadrature(2 * ORDER) {
        let y = evaluate(ORDER, u);
        for (row, a) in products.chunks_exact_mut(n).zip(&y) {
            for (entry, b) in row.iter_mut().zip(&y) {
                *entry += weight * a * b;
            }
        }
    }
    for (i, product) in products.iter().enumerate() {
        let expected = f64::from(u8::from(i / n == i % n));
        assert!((product - expected).abs() < 1e-13, "{i}: {product}");
    }
}

fn zonal_functions() {
    let mut random = Random::fresh("directions");
    for _ in 0..20 {
        let u = random.direction();
        let all = evaluate(ORDER, u);
        for (half, value) in zonal(ORDER, u.z).into_iter().enumerate() {
            assert!((value - all[index(2 * half, 0)]).abs() < 1e-14);
        }
    }
    for (half, value) in zonal(ORDER, 1.0).into_iter().enumerate() {
        assert!((value - at_pole(2 * half)).abs() < 1e-13);
    }
}

/// ∫ t^k over −1..1, and ∫ x²y² over the sphere.
fn integrals() {
    let rule = gauss_legendre(9);
    for k in 0..18 {
        let integral: f64 = rule.iter().map(|(t, w)| w * t.powi(k)).sum();
        let expected = if k % 2 == 0 {
            2.0 / f64::from(k + 1)
        } else {
            0.0
        };
        assert!((integral - expected).abs() < 1e-14, "{k}: {integral}");
    }
    let squares = quadrature(4);
    let integral: f64 = squares.iter().map(|(u, w)| w * u.x * u.x * u.y * u.y).sum();
    assert!((integral - 4.0 * PI / 15.0).abs() < 1e-14);
}

/// Products of harmonics are sums of harmonics at every direction; the counts are those of a quadrature of all triples.
fn product_sums() {
    let mut random = Random::fresh("directions");
    for (order, terms) in [(8, 7405), (10, 19398), (12, 43473)] {
        let all = products(order);
        assert_eq!(all.len(), terms, "order {order}");
        let u = random.direction();
        let (y, twice) = (evaluate(order, u), evaluate(2 * order, u));
        let n = count(order);
        let mut sums = vec![0.0; n * n];
        for product in &all {
            assert!(product.b <= product.a);
            sums[product.a * n + product.b] += product.value * twice[product.c];
        }
        for a in 0..n {
            for b in 0..=a {
                assert!((sums[a * n + b] - y[a] * y[b]).abs() < 1e-12, "{a} {b}");
            }
        }
    }
}

fn series_values() {
    let mut random = Random::fresh("series");
    for order in [0, 2, 8, ORDER] {
        let polynomials = Polynomials::new(order);
        let coefficients = coefficients(&mut random, order);
        let series = polynomials.series(&coefficients);
        let poles = [DVec3::Z, -DVec3::Z, DVec3::X, DVec3::Y];
        let others: Vec<DVec3> = (0..50).map(|_| random.direction()).collect();
        for u in poles.into_iter().chain(others) {
            let expected = sum(&coefficients, u);
            // Sums of up to 91 functions, whose polynomials have coefficients up to 1e3.
            assert!((series.value(u) - expected).abs() < 1e-11);
            assert!((series.derivatives(u).value - expected).abs() < 1e-11);
        }
    }
}

/// Against central differences along geodesics, at any direction and at the poles.
fn derivatives() {
    let mut random = Random::fresh("series");
    let polynomials = Polynomials::new(8);
    for case in 0..40 {
        let series = polynomials.series(&coefficients(&mut random, 8));
        let u = match case {
            0 => DVec3::Z,
            1 => -DVec3::Z,
            _ => random.direction(),
        };
        let Derivatives {
            value,
            gradient,
            hessian,
        } = series.derivatives(u);
        assert!(gradient.dot(u).abs() < 1e-12 && (hessian * u).length() < 1e-11);
        let tangent = random.direction().cross(u).normalize();
        let along = |angle: f64| series.value(angle.cos() * u + angle.sin() * tangent);
        let (near, far) = (1e-3, 2e-3);
        let first = |h: f64| (along(h) - along(-h)) / (2.0 * h);
        let second = |h: f64| (along(h) - 2.0 * value + along(-h)) / (h * h);
        // Richardson's combination has an error of h⁴ times the fifth and sixth derivatives, up to 8⁶ of the value.
        let slope = (4.0 * first(near) - first(far)) / 3.0;
        let curvature = (4.0 * second(near) - second(far)) / 3.0;
        assert!((gradient.dot(tangent) - slope).abs() < 1e-6);
        assert!((tangent.dot(hessian * tangent) - curvature).abs() < 1e-5);
    }
}

fn laplacian() {
    let mut random = Random::fresh("directions");
    let polynomials = Polynomials::new(ORDER);
    for (i, (l, _)) in degrees(ORDER).enumerate() {
        let mut unit = vec![0.0; count(ORDER)];
        unit[i] = 1.0;
        let series = polynomials.series(&unit);
        for u in [DVec3::Z, random.direction(), random.direction()] {
            let at = series.derivatives(u);
            let trace = at.hessian.x_axis.x + at.hessian.y_axis.y + at.hessian.z_axis.z;
            let expected = -((l * (l + 1)) as f64) * at.value;
            assert!((trace - expected).abs() < 1e-9, "{i}: {trace} {expected}");
        }
    }
}

fn orthogonal(random: &mut Random, mirrored: bool) -> DMat3 {
    let rotation = DMat3::from_quat(random.rotation());
    let mirror = DMat3::from_diagonal(DVec3::new(-1.0, 1.0, 1.0));
    if mirrored {
        rotation * mirror
    } else {
        rotation
    }
}

fn compose() {
    let mut random = Random::fresh("rotations");
    for case in 0..8 {
        let r = orthogonal(&mut random, case % 2 == 1);
        let s = orthogonal(&mut random, case % 4 > 1);
        let f = coefficients(&mut random, ORDER);
        let [first, second, both] = [s, r, r * s].map(|m| Rotation::new(ORDER, m));
        assert!(worst(&second.apply(&first.apply(&f)), &both.apply(&f)) < 1e-12);
        let back = Rotation::new(ORDER, r.transpose());
        assert!(worst(&back.apply(&second.apply(&f)), &f) < 1e-12);
    }
}

/// The 24 rotations that permute the axes, each the composition of quarter turns.
fn axis_turns() {
    let mut random = Random::fresh("series");
    let f = coefficients(&mut random, 8);
    let about_x = DMat3::from_cols(DVec3::X, DVec3::Z, -DVec3::Y);
    let about_z = DMat3::from_cols(DVec3::Y, -DVec3::X, DVec3::Z);
    let (turn_x, turn_z) = (Rotation::new(8, about_x), Rotation::new(8, about_z));
    let mut found = vec![(DMat3::IDENTITY, f.clone())];
    let mut next = 0;
    while next < found.len() {
        let (matrix, turned) = found[next].clone();
        for (by, turn) in [(about_x, &turn_x), (about_z, &turn_z)] {
            let product = by * matrix;
            let values = turn.apply(&turned);
            match found.iter().find(|(known, _)| *known == product) {
                Some((_, known)) => assert!(worst(known, &values) < 1e-12),
                None => found.push((product, values)),
            }
        }
        next += 1;
    }
    assert_eq!(found.len(), 24);
    for (matrix, values) in found {
        assert!(worst(&Rotation::new(8, matrix).apply(&f), &values) < 1e-12);
    }
}

/// A rotated function has the value of the function at the direction turned back; a point function moves with R.
fn rotated() {
    let mut random = Random::fresh("rotations");
    for case in 0..6 {
        let matrix = orthogonal(&mut random, case % 2 == 1);
        let rotation = Rotation::new(ORDER, matrix);
        let f = coefficients(&mut random, ORDER);
        let turned = rotation.apply(&f);
        for _ in 0..10 {
            let u = random.direction();
            assert!((sum(&turned, matrix * u) - sum(&f, u)).abs() < 1e-12);
        }
        let u = random.direction();
        let point = rotation.apply(&evaluate(ORDER, u));
        assert!(worst(&point, &evaluate(ORDER, matrix * u)) < 1e-12);
        // A lower order has the same blocks.
        let low = rotation.apply(&evaluate(4, u));
        assert!(worst(&low, &evaluate(4, matrix * u)) < 1e-12);
    }
}

fn round_trips() {
    let mut random = Random::fresh("series");
    for basis in Basis::ALL {
        let f = coefficients(&mut random, 8);
        let back = basis.to_mrtrix(8, &basis.from_mrtrix(8, &f));
        assert!(worst(&back, &f) < 1e-15, "{}", basis.label());
        let mut sources: Vec<usize> = basis.table(8).iter().map(|row| row.0).collect();
        sources.sort_unstable();
        assert_eq!(sources, (0..45).collect::<Vec<_>>(), "{}", basis.label());
    }
}

/// Conversions of one distribution from DIPY's four bases agree with the file in MRtrix's basis.
fn dipy(folder: &std::path::Path) {
    let read = |name: &str| {
        let path = folder.join(format!("wm_{name}.nii.gz"));
        nifti::read(&path, &Control::new()).unwrap().0
    };
    let expected = read("mrtrix");
    let voxels = expected.grid.voxel_count();
    let peak = expected
        .values
        .iter()
        .fold(0f32, |peak, v| peak.max(v.abs()));
    for (basis, name) in [
        (Basis::MRtrix, "tournier07_new"),
        (Basis::MRtrixLegacy, "tournier07_legacy"),
        (Basis::Dipy, "descoteaux07_new"),
        (Basis::DipyLegacy, "descoteaux07_legacy"),
    ] {
        let given = read(name);
        assert_eq!(given.frames, 45);
        for voxel in 0..voxels {
            let at = |frame: usize| f64::from(given.values[frame * voxels + voxel]);
            let source: Vec<f64> = (0..45).map(at).collect();
            for (frame, c) in basis.to_mrtrix(8, &source).into_iter().enumerate() {
                let reference = f64::from(expected.values[frame * voxels + voxel]);
                // The files' README states agreement to 1e-6 of the peak.
                assert!(
                    (c - reference).abs() < 2e-6 * f64::from(peak),
                    "{name}, voxel {voxel}, coefficient {frame}: {c} against {reference}"
                );
            }
        }
    }
}
