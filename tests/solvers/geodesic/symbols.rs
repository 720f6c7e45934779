//! Christoffel symbols.

use crate::support::{Random, test};
use arcuate::phantom::fields::{Field, PulledBack};
use arcuate::solvers::geodesic::{PAIRS, christoffel};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("geodesic::18 symbols of random metrics", by_definition),
        test("geodesic::18 symbols of a bent flat space", by_bending),
    ]
}

fn symmetric(m: DMat3) -> [f64; 6] {
    let [x, y, z] = [m.x_axis, m.y_axis, m.z_axis];
    [x.x, x.y, x.z, y.y, y.z, z.z]
}

/// Γ makes the metric covariantly constant: ∂ₐ Gᵦᵧ = Γᵈₐᵦ G_dᵧ + Γᵈₐᵧ G_dᵦ, 18 equations for 18 symbols.
fn by_definition() {
    let mut random = Random::fresh("symbols");
    for _ in 0..50 {
        let mut any = || DMat3::from_cols_array(&[0.0; 9].map(|_: f64| random.normal()));
        let root = any();
        let g = root * root.transpose() + DMat3::IDENTITY;
        let dg = [0; 3].map(|_| {
            let m = any();
            m + m.transpose()
        });
        let symbols = christoffel(symmetric(g.inverse()), dg.map(symmetric));
        let gamma = |c: usize, a: usize, b: usize| {
            let pair = PAIRS.iter().position(|p| *p == (a.min(b), a.max(b)));
            symbols[c][pair.unwrap()]
        };
        for a in 0..3 {
            for (b, c) in PAIRS {
                let sum: f64 = (0..3)
                    .map(|d| gamma(d, a, b) * g.col(d)[c] + gamma(d, a, c) * g.col(d)[b])
                    .sum();
                assert!((sum - dg[a].col(b)[c]).abs() < 1e-9, "{a} {b} {c}");
            }
        }
    }
}

/// Where G = JᵀJ with J = dφ: Γᶜₐᵦ = (J⁻¹)ᶜₖ ∂ₐ∂ᵦφᵏ.
fn by_bending() {
    let mut random = Random::fresh("bending");
    for _ in 0..20 {
        let field = PulledBack {
            a: random.uniform(1.0, 3.0),
            b: random.uniform(1.0, 3.0),
            k: random.uniform(0.1, 0.3),
        };
        let x = random.direction() * random.uniform(0.0, 20.0);
        let h = 1e-4;
        let dg = DVec3::AXES.map(|e| {
            let slope = (field.metric(x + h * e) - field.metric(x - h * e)) * (0.5 / h);
            symmetric(slope)
        });
        let found = christoffel(symmetric(field.tensor(x)), dg);
        let inverse = field.jacobian(x).inverse();
        let k2 = field.k * field.k;
        let second = |pair: usize| match PAIRS[pair] {
            (1, 1) => DVec3::new(-field.a * k2 * (field.k * x.y).sin(), 0.0, 0.0),
            (2, 2) => DVec3::new(0.0, -field.b * k2 * (field.k * x.z).sin(), 0.0),
            _ => DVec3::ZERO,
        };
        for pair in 0..6 {
            let truth = inverse * second(pair);
            for c in 0..3 {
                assert!((found[c][pair] - truth[c]).abs() < 1e-6, "{c} {pair}");
            }
        }
    }
}
