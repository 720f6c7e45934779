//! Arc and chord: a bundle along an arc, and a straight one that crosses it twice and is shorter, in a scan with noise; and
//! paths and other curves from one end of the arc to the other.

use crate::support::fields::{backend, sphere};
use arcuate::compute::Control;
use arcuate::data::random::Random;
use arcuate::data::spherical_harmonics::{gauss_legendre, zonal};
use arcuate::data::{
    Gradients, Grid, Mask, OdfField, Region, Response, Role, TensorField, Tractogram, Volume,
    VolumeKind,
};
use arcuate::parameters::Parameters;
use arcuate::phantom::directions::half_sphere;
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::eikonal::{self, CostSource};
use arcuate::solvers::geodesic::{
    Cut, LOBE_DIRECTIONS, OdfMetric, OdfSpeed, Rays, rank, trace_lobes,
};
use arcuate::solvers::lifted::{LiftedPathway, Params, Prepared, Source, UNREACHED, solve_both};
use arcuate::solvers::metric::{Metric, Places};
use arcuate::solvers::odf_tracking::{self, Fibres, Method};
use arcuate::solvers::pathway::{self, Pathway};
use arcuate::solvers::{csd, tensor_fit};
use glam::{DVec3, Vec3};
use std::f64::consts::PI;
use std::sync::Arc;

const SHELLS: [f64; 4] = [0.0, 700.0, 1200.0, 2800.0];

pub fn gradients() -> Gradients {
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

/// The response of white matter in closed form up to order 12, and that of grey matter.
pub fn responses() -> [Response; 2] {
    let rows = SHELLS.map(|b| {
        let mut out = vec![0.0; 7];
        for (z, weight) in gauss_legendre(64) {
            for (sum, y) in out.iter_mut().zip(zonal(12, z)) {
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

/// Two bundles in grey matter that cross twice at an angle.
pub struct Bundles {
    pub grid: Arc<Grid>,
    pub centre: DVec3,
    /// Radius of the arc, mm.
    pub radius: f64,
    /// Half the thickness of both bundles, mm.
    half_width: f64,
    /// Height of the straight bundle above the centre of the arc.
    pub chord: f64,
    /// Angle of either end of the arc.
    pub ends: [f64; 2],
}

/// Shares of a curve on the arc and on the chord.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// Share of the upper half of the curve on the arc.
    pub arc: f64,
    /// Share of it on the chord alone.
    pub chord: f64,
}

impl Shares {
    pub fn keeps(&self) -> bool {
        self.arc > 0.95 && self.chord < 0.05
    }
}

/// Curves that reached the other end of the arc, and those of them that keep to it.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Arrived {
    pub all: usize,
    pub right: usize,
}

impl Arrived {
    /// Whether most of them keep to the arc.
    pub fn is_right(&self) -> bool {
        2 * self.right > self.all
    }
}

impl Bundles {
    /// At 60 degrees or more the arc has a radius of 24 mm and bundles are 6 mm thick; at smaller angles 50 and 4 mm, so
    /// that grey matter separates the bundles in the middle.
    pub fn new(crossing_deg: f64) -> Self {
        let (radius, half_width, rows) = match crossing_deg >= 60.0 {
            true => (24.0, 3.0, 36),
            false => (50.0, 2.0, 28),
        };
        let columns = radius as usize + 16;
        let grid = Grid::axis_aligned([columns, rows, 7], DVec3::splat(2.0), DVec3::ZERO);
        let chord = radius * crossing_deg.to_radians().cos();
        let height = if crossing_deg < 90.0 {
            22.0 - chord
        } else {
            16.0
        };
        Self {
            grid: Arc::new(grid.unwrap()),
            centre: DVec3::new(radius + 15.0, height, 6.0),
            radius,
            half_width,
            chord,
            ends: [90.0 - crossing_deg - 28.0, 90.0 + crossing_deg + 28.0],
        }
    }

    /// A point within an end of the arc.
    pub fn end(&self, side: usize) -> DVec3 {
        let inwards = [6.0, -6.0][side];
        let angle = (self.ends[side] + inwards).to_radians();
        self.centre + DVec3::new(angle.cos(), angle.sin(), 0.0) * self.radius
    }

    /// Half the thickness of the bundles and half a voxel: a curve this far from the middle of a bundle counts as in it.
    pub fn within(&self) -> f64 {
        self.half_width + 1.0
    }

    /// The scan with noise.
    pub fn scan(&self, gradients: &Gradients, snr: f64, seed: u64) -> Volume {
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
            let arc = (radius - self.radius).hypot(x.z) < self.half_width && within;
            let chord = (x.y - self.chord).hypot(x.z) < self.half_width;
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

    pub fn everywhere(&self) -> Mask {
        Mask::new(self.grid.clone(), vec![1u8; self.grid.voxel_count()])
    }

    /// The voxels up to 6 mm around the middle of either bundle.
    pub fn around(&self) -> Mask {
        const REACH_MM: f64 = 6.0;
        let inside = (0..self.grid.voxel_count()).map(|v| {
            let voxel = self.grid.voxel(v).map(|c| c as f64);
            let x = self.grid.world(DVec3::from_array(voxel)) - self.centre;
            let arc = (x.x.hypot(x.y) - self.radius).hypot(x.z);
            let chord = (x.y - self.chord).hypot(x.z);
            u8::from(arc.min(chord) < REACH_MM)
        });
        Mask::new(self.grid.clone(), inside.collect::<Vec<u8>>())
    }

    pub fn distributions(&self, scan: &Volume, order: usize) -> OdfField {
        let params = csd::Params {
            order: Some(order),
            ..csd::Params::defaults()
        };
        let (on, control) = (backend(2), Control::new());
        let (gradients, mask) = (gradients(), self.everywhere());
        let responses = responses();
        let fitted = csd::fit(scan, &gradients, &mask, &responses, &params, &on, &control);
        fitted.unwrap().field
    }

    pub fn tensors(&self, scan: &Volume) -> TensorField {
        let gradients = gradients();
        let params = tensor_fit::Params::defaults_for(Some(&gradients));
        let (on, control, mask) = (backend(2), Control::new(), self.everywhere());
        let fitted = tensor_fit::fit(scan, &gradients, &mask, &params, &on, &control);
        fitted.unwrap().field
    }

    /// How the upper half of a curve runs.
    pub fn shares(&self, points: &[DVec3]) -> Shares {
        let (mut arc, mut chord, mut upper) = (0.0, 0.0, 0.0f64);
        for x in points.iter().map(|p| *p - self.centre) {
            if x.x.abs() < 0.6 * self.radius && x.y > self.chord - 6.0 {
                upper += 1.0;
                if (x.x.hypot(x.y) - self.radius).abs() < self.within() {
                    arc += 1.0;
                } else if (x.y - self.chord).abs() < self.within() {
                    chord += 1.0;
                }
            }
        }
        Shares {
            arc: arc / upper.max(1.0),
            chord: chord / upper.max(1.0),
        }
    }

    /// The voxel at an end and its neighbours.
    fn places(&self, places: &Places, side: usize) -> Vec<u32> {
        let centre = self.grid.voxel_at(self.end(side)).round();
        let around = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let around = around.into_iter().flat_map(|d| [centre + d, centre - d]);
        let mut all: Vec<u32> = around
            .map(|at| {
                let voxel = at.to_array().map(|c| c as i64);
                places.place_of(voxel).unwrap() as u32
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The pathway through distributions, and how its cheapest path runs.
    pub fn lifted(&self, field: &OdfField, params: &Params) -> (LiftedPathway, Shares) {
        let (on, control) = (backend(2), Control::new());
        let prepared = Prepared::new(field, &self.everywhere(), params, &on, &control).unwrap();
        let ends = [0, 1].map(|side| {
            Arc::new(Source {
                name: "end".to_owned(),
                zero: self.places(&prepared.places, side),
                direction: None,
            })
        });
        let [a, b] = solve_both(&prepared, &ends, 0.3, UNREACHED, &on, &control).unwrap();
        let pathway = on.install(|| LiftedPathway::new(a, b)).unwrap();
        let path = pathway.minimal_path().unwrap();
        let shares = self.shares(&path.points);
        (pathway, shares)
    }

    /// How the cheapest path through tensors runs, with the metric of the program.
    pub fn through_tensors(&self, field: &TensorField) -> Shares {
        let (on, control) = (backend(2), Control::new());
        let params = pathway::Params::defaults();
        let metric = Metric::new(field, &params.metric, None, &on, &control).unwrap();
        let prepared = eikonal::Prepared::new(&metric, params.local, &on, &control).unwrap();
        let ends = [0, 1].map(|side| {
            let zero = self.places(&metric, side);
            Arc::new(CostSource::places(&metric, "end", zero))
        });
        let solver = eikonal::Params {
            tolerance: pathway::TOLERANCE,
            schedule: None,
        };
        let mut fields = eikonal::solve(&prepared, &ends, &solver, &on, &control).unwrap();
        let second = fields.pop().unwrap();
        let pathway = Pathway::new(fields.pop().unwrap(), second).unwrap();
        self.shares(&pathway.minimal_path().unwrap().points)
    }

    /// A ball as thick as the arc at its first end to start from, and one at the other end to reach.
    pub fn regions(&self) -> [Region; 2] {
        let within = self.within();
        [
            sphere(Role::Seed, self.end(0), self.half_width),
            sphere(Role::Target, self.end(1), within),
        ]
    }

    fn arrived(&self, curves: &Tractogram) -> Arrived {
        let mut arrived = Arrived::default();
        for curve in curves.streamlines() {
            let points = curve.iter().map(|p| Vec3::from(*p).as_dvec3());
            let points: Vec<DVec3> = points.collect();
            arrived.all += 1;
            arrived.right += usize::from(self.shares(&points).keeps());
        }
        arrived
    }

    /// The strongest tenth of the rays along lobes from one end that reach the other, with the program's fan.
    pub fn rays(&self, field: &OdfField) -> Arrived {
        let (on, control) = (backend(2), Control::new());
        let metric = OdfMetric::new(field, OdfSpeed::defaults(), &on, &control).unwrap();
        let mut params = Rays::defaults().params;
        params.directions = LOBE_DIRECTIONS;
        // One sense of each lobe leaves the arc at once.
        params.curves.both_ways = true;
        let regions = self.regions();
        let output = trace_lobes(&metric, &regions, &params, None, &on, &control).unwrap();
        self.arrived(&rank(&output.rays.kept, Cut::TopShare(0.1)).0)
    }

    /// Streamlines of probabilistic arcs, the method of iFOD2, from one end that reach the other.
    pub fn streamlines(&self, field: &OdfField, seeds: usize) -> Arrived {
        let (on, control) = (backend(2), Control::new());
        let params = odf_tracking::Params {
            seeding: Seeding::Random { count: seeds },
            ..odf_tracking::Params::defaults_for(Method::Probabilistic, 2.0, false)
        };
        let fibres = Fibres::Distributions(field.clone());
        let regions = self.regions();
        let output = odf_tracking::track(&fibres, None, &regions, &params, None, &on, &control);
        self.arrived(&output.unwrap().kept)
    }
}
