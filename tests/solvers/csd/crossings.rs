//! Crossings in noise: how often both bundles are found, and how many peaks are spurious.

use super::cases::{Fixture, responses, row};
use super::{backend, params};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::Gradients;
use arcuate::solvers::csd::{self, Precision};
use arcuate::solvers::peaks::{Params, Search};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("csd::crossings at 45° need order 12", order_12),
        test("csd::crossings at 60° and single bundles", others),
    ]
}

const VOXELS: usize = 150;

/// Share of the voxels in which both bundles are found within 20°, and spurious peaks a voxel, at SNR 20 with 10 % of
/// fluid; peaks above 10 % of the largest count.
fn quality(order: usize, angle_deg: f64) -> (f64, f64) {
    let gradients: Gradients = Fixture::read().gradients();
    let mut random = Random::fresh("crossings");
    let (mut truth, mut voxels) = (Vec::new(), Vec::new());
    for _ in 0..VOXELS {
        let u = random.direction();
        let across = u.cross(random.direction()).normalize();
        let (sine, cosine) = angle_deg.to_radians().sin_cos();
        let v = cosine * u + sine * across;
        let fibres = [(u, 0.45), (v, 0.45)];
        let mut voxel = super::cases::samples(&gradients, &fibres, 0.0, 0.1);
        for sample in &mut voxel {
            let (re, im) = (50.0 * random.normal(), 50.0 * random.normal());
            *sample = (f64::from(*sample) + re).hypot(im) as f32;
        }
        truth.push([u, v]);
        voxels.push(voxel);
    }
    let (dwi, mask) = row(&voxels);
    let settings = params(order, Precision::Single);
    let control = Control::new();
    let all = responses(order);
    let output = csd::fit(
        &dwi,
        &gradients,
        &mask,
        &all,
        &settings,
        &backend(1),
        &control,
    )
    .unwrap();
    let accepted = Params {
        count: 10,
        min_amplitude: 0.0,
        min_share: 0.1,
    };
    let search = Search::new(order, accepted);
    let (mut found, mut spurious) = (0, 0);
    for (voxel, bundles) in truth.iter().enumerate() {
        let peaks = search.of_coefficients(&output.field.coefficients_at(voxel));
        let near = |a: DVec3, b: DVec3| a.dot(b).abs() > 20f64.to_radians().cos();
        // Each bundle has its own peak.
        let nearest = bundles.map(|u| {
            let by = |i: &usize, j: &usize| {
                let cosine = |i: usize| peaks[i].direction.dot(u).abs();
                cosine(*i).total_cmp(&cosine(*j))
            };
            (0..peaks.len())
                .max_by(by)
                .filter(|&i| near(peaks[i].direction, u))
        });
        let both = nearest[0].is_some() && nearest[1].is_some();
        let distinct = nearest[0] != nearest[1] || angle_deg == 0.0;
        found += usize::from(both && distinct);
        let is_spurious = |i: &usize| !bundles.iter().any(|u| near(peaks[*i].direction, *u));
        spurious += (0..peaks.len()).filter(is_spurious).count();
    }
    let share = |n: usize| n as f64 / VOXELS as f64;
    (share(found), share(spurious))
}

fn order_12() {
    let (found, spurious) = quality(12, 45.0);
    assert!(found >= 0.85 && spurious <= 0.15, "{found} {spurious}");
    let (at_order_8, _) = quality(8, 45.0);
    assert!(at_order_8 < 0.3, "{at_order_8}");
}

fn others() {
    for order in [8, 12] {
        for angle_deg in [0.0, 60.0, 90.0] {
            let (found, spurious) = quality(order, angle_deg);
            let text = format!("order {order}, {angle_deg}°: {found} {spurious}");
            assert!(found >= 0.97 && spurious <= 0.1, "{text}");
        }
    }
}
