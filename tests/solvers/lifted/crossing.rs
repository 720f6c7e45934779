//! Arc and chord: a bundle along an arc, and a straight one that crosses it twice and is shorter. The way from one end
//! of the arc to the other that keeps to it pays for no turn into the other bundle.

use crate::support::fields::backend;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::random::Random;
use arcuate::data::spherical_harmonics::{gauss_legendre, zonal};
use arcuate::data::{Gradients, Grid, Mask, OdfField, Response, Volume, VolumeKind};
use arcuate::phantom::directions::half_sphere;
use arcuate::solvers::csd;
use arcuate::solvers::lifted::{
    DirectionSet, LiftedPathway, Params, Prepared, Source, UNREACHED, solve_both,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::f64::consts::PI;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "lifted::paths keep to their bundle through crossings",
            keeps,
        ),
        test(
            "lifted::without a price of turns paths leave their bundle",
            leaves,
        ),
    ]
}

const SHELLS: [f64; 4] = [0.0, 700.0, 1200.0, 2800.0];
const RADIUS: f64 = 24.0;
const HALF_WIDTH: f64 = 3.0;

fn gradients() -> Gradients {
    let mut gradients = Gradients {
        b_s_per_mm2: vec![0.0; 8],
        directions: vec![DVec3::ZERO; 8],
    };
    for (b, count) in SHELLS.into_iter().skip(1).zip([25, 45, 75]) {
        gradients.directions.extend(half_sphere(count));
        gradients.b_s_per_mm2.resize(gradients.directions.len(), b);
    }
    gradients
}

fn fibre(b: f64, cosine: f64) -> f64 {
    1000.0 * (-b * (0.25e-3 + 1.45e-3 * cosine * cosine)).exp()
}

fn grey(b: f64) -> f64 {
    1000.0 * (-b * 0.8e-3).exp()
}

fn responses() -> [Response; 2] {
    let rows = SHELLS.map(|b| {
        let mut out = vec![0.0; 5];
        for (z, weight) in gauss_legendre(64) {
            for (sum, y) in out.iter_mut().zip(zonal(8, z)) {
                *sum += 2.0 * PI * weight * fibre(b, z) * y;
            }
        }
        out
    });
    [
        Response::new(Some(SHELLS.to_vec()), rows.to_vec()),
        Response::isotropic(&SHELLS, &SHELLS.map(grey)),
    ]
}

/// The bundles cross at this angle.
struct Bundles {
    grid: Arc<Grid>,
    centre: DVec3,
    /// Height of the straight bundle above the centre of the arc.
    chord: f64,
    /// Angle of either end of the arc.
    ends: [f64; 2],
}

impl Bundles {
    fn new(crossing_deg: f64) -> Self {
        let grid = Grid::axis_aligned([40, 36, 7], DVec3::splat(2.0), DVec3::ZERO).unwrap();
        let chord = RADIUS * crossing_deg.to_radians().cos();
        let height = if crossing_deg < 90.0 {
            22.0 - chord
        } else {
            16.0
        };
        Self {
            grid: Arc::new(grid),
            centre: DVec3::new(39.0, height, 6.0),
            chord,
            ends: [90.0 - crossing_deg - 28.0, 90.0 + crossing_deg + 28.0],
        }
    }

    /// A point within an end of the arc.
    fn end(&self, side: usize) -> DVec3 {
        let inwards = [6.0, -6.0][side];
        let angle = (self.ends[side] + inwards).to_radians();
        self.centre + DVec3::new(angle.cos(), angle.sin(), 0.0) * RADIUS
    }

    /// The scan with noise.
    fn scan(&self, gradients: &Gradients, snr: f64, seed: u64) -> Volume {
        let n = self.grid.voxel_count();
        let mut values = vec![0f32; n * gradients.len()];
        let random = Random::new(seed);
        for v in 0..n {
            let voxel = self.grid.voxel(v).map(|c| c as f64);
            let x = self.grid.world(DVec3::from_array(voxel)) - self.centre;
            let radius = x.x.hypot(x.y);
            let mut angle = x.y.atan2(x.x).to_degrees();
            if angle < -90.0 {
                angle += 360.0;
            }
            let within = angle > self.ends[0] && angle < self.ends[1];
            let arc = (radius - RADIUS).hypot(x.z) < HALF_WIDTH && within;
            let chord = (x.y - self.chord).hypot(x.z) < HALF_WIDTH;
            let tangent = DVec3::new(-x.y, x.x, 0.0) / radius.max(1e-9);
            let volumes = gradients.b_s_per_mm2.iter().zip(&gradients.directions);
            let sample = |(&b, g): (&f64, &DVec3)| {
                let (a, c) = (fibre(b, tangent.dot(*g)), fibre(b, g.x));
                let signal = match (arc, chord) {
                    (true, true) => 0.1 * grey(b) + 0.45 * (a + c),
                    (true, false) => 0.1 * grey(b) + 0.9 * a,
                    (false, true) => 0.1 * grey(b) + 0.9 * c,
                    (false, false) => grey(b),
                };
                signal as f32
            };
            let mut samples: Vec<f32> = volumes.map(sample).collect();
            let first = (v * gradients.len()) as u64;
            random.add_rician((1000.0 / snr) as f32, first, &mut samples);
            for (i, sample) in samples.into_iter().enumerate() {
                values[i * n + v] = sample;
            }
        }
        let kind = VolumeKind::Scalar;
        Volume::new(self.grid.clone(), gradients.len(), kind, values)
    }

    fn distributions(&self, snr: f64, seed: u64) -> OdfField {
        let gradients = gradients();
        let scan = self.scan(&gradients, snr, seed);
        let mask = self.everywhere();
        let params = csd::Params {
            order: Some(8),
            ..csd::Params::defaults()
        };
        let (on, control) = (backend(2), Control::new());
        let fitted = csd::fit(
            &scan,
            &gradients,
            &mask,
            &responses(),
            &params,
            &on,
            &control,
        );
        fitted.unwrap().field
    }

    fn everywhere(&self) -> Mask {
        Mask::new(self.grid.clone(), vec![1u8; self.grid.voxel_count()])
    }

    /// The shares of the upper half of the path that lie on the arc and on the chord alone.
    fn shares(&self, points: &[DVec3]) -> [f64; 2] {
        let (mut arc, mut chord, mut upper) = (0.0, 0.0, 0.0f64);
        for x in points.iter().map(|p| *p - self.centre) {
            if x.x.abs() < 0.6 * RADIUS && x.y > self.chord - 6.0 {
                upper += 1.0;
                if (x.x.hypot(x.y) - RADIUS).abs() < 4.0 {
                    arc += 1.0;
                } else if (x.y - self.chord).abs() < 4.0 {
                    chord += 1.0;
                }
            }
        }
        [arc, chord].map(|count| count / upper.max(1.0))
    }

    fn path(&self, field: &OdfField, params: &Params) -> (LiftedPathway, [f64; 2]) {
        let (on, control) = (backend(2), Control::new());
        let prepared = Prepared::new(field, &self.everywhere(), params, &on, &control).unwrap();
        let ends = [0, 1].map(|side| {
            let centre = self.grid.voxel_at(self.end(side)).round();
            let around = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
            let around = around.into_iter().flat_map(|d| [centre + d, centre - d]);
            let places = around.map(|at| {
                let voxel = at.to_array().map(|c| c as i64);
                prepared.places.place_of(voxel).unwrap() as u32
            });
            let mut zero: Vec<u32> = places.collect();
            zero.sort_unstable();
            zero.dedup();
            Arc::new(Source {
                name: "end".to_owned(),
                zero,
                direction: None,
            })
        });
        let [a, b] = solve_both(&prepared, &ends, 0.3, UNREACHED, &on, &control).unwrap();
        let pathway = on.install(|| LiftedPathway::new(a, b)).unwrap();
        let path = pathway.minimal_path().unwrap();
        let shares = self.shares(&path.points);
        (pathway, shares)
    }
}

fn keeps() {
    for crossing in [90.0, 60.0] {
        let bundles = Bundles::new(crossing);
        for (snr, seed) in [(20.0, 1), (20.0, 2), (10.0, 3)] {
            let field = bundles.distributions(snr, seed);
            for directions in [DirectionSet::Lattice98, DirectionSet::Icosphere162] {
                let params = Params {
                    directions,
                    ..Params::defaults()
                };
                let (pathway, [arc, chord]) = bundles.path(&field, &params);
                let path = pathway.minimal_path().unwrap();
                println!(
                    "{} directions, {crossing}°, SNR {snr}: arc {arc:.2}, chord {chord:.2}, E* {:.1}, path {:.1} for {:.1} mm",
                    directions.key(),
                    pathway.min_cost,
                    path.total_cost(),
                    path.total_mm()
                );
                assert!(arc > 0.95 && chord < 0.05, "{arc} {chord}");
                // The arc itself, from region to region: the field overestimates its cost, the sum along the path is
                // nearly right.
                let angle = (bundles.ends[1] - bundles.ends[0] - 12.0).to_radians();
                let exact = angle * RADIUS.hypot(params.curvature_price_mm) / 1.03;
                // With this much noise the path wanders at the rim of the bundle.
                let most = if snr > 15.0 { 1.15 } else { 1.7 };
                assert!(path.total_cost() < most * exact && path.total_cost() > 0.85 * exact);
                assert!(pathway.min_cost > 0.9 * exact && pathway.min_cost < 1.6 * exact);
            }
        }
    }
}

fn leaves() {
    let bundles = Bundles::new(90.0);
    let field = bundles.distributions(20.0, 1);
    let params = Params {
        curvature_price_mm: 0.3,
        ..Params::defaults()
    };
    let (_, [arc, chord]) = bundles.path(&field, &params);
    assert!(chord > 0.9 && arc < 0.1, "{arc} {chord}");
}
