//! Initial positions and momenta p of rays in distributions.

use super::half_ray::root;
use super::odf_metric::OdfMetric;
use super::start::Start;
use super::{Directions, Params};
use crate::data::spherical_harmonics::{Polynomials, Series, count};
use crate::solvers::curves::cells::Axis;
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::peaks::{self, Search};
use glam::{DMat3, DVec3};

/// Largest number of Newton steps, and the length of a step after which no other follows, rad.
const MAX_STEPS: usize = 60;
const CONVERGED: f64 = 1e-9;
/// Longest step, rad.
const MAX_TURN: f64 = 0.087;

/// Finds the starts of rays in distributions.
pub struct OdfStarts<'a> {
    metric: &'a OdfMetric,
    polynomials: Polynomials,
    search: Search,
    root: DMat3,
}

impl<'a> OdfStarts<'a> {
    pub fn new(metric: &'a OdfMetric) -> Self {
        let order = metric.records.order;
        let params = peaks::Params {
            min_amplitude: metric.speed.min_amplitude.unwrap_or(0.0),
            ..peaks::Params::defaults()
        };
        Self {
            metric,
            polynomials: Polynomials::new(order),
            search: Search::new(order, params),
            root: root(metric.grid().world_from_voxel.matrix3),
        }
    }

    /// The rays of a seed point (world mm), in the order of the fan; `None` outside volume or mask, or where no peak
    /// reaches the minimum amplitude. The directions of a cone, and those of the principal direction, need a peak; those of a
    /// cone are distributed over the peaks in turn.
    pub fn at(&self, gates: &RegionTests, params: &Params, seed: [f32; 3]) -> Option<Vec<Start>> {
        let grid = self.metric.grid();
        let voxel = grid.voxel_at(DVec3::from_array(seed.map(f64::from)));
        let in_volume = (0..3).all(|a| voxel[a] >= -0.5 && voxel[a] <= grid.shape[a] as f64 - 0.5);
        if !(in_volume && gates.allows(seed)) {
            return None;
        }
        let coefficients = self.interpolated(voxel)?;
        let peaks = self.search.of_coefficients(&coefficients);
        let axes: Vec<DVec3> = peaks.iter().map(|peak| peak.direction).collect();
        let need_peak = match params.directions {
            Directions::Principal | Directions::Cone { .. } => true,
            _ => self.metric.speed.min_amplitude.is_some(),
        };
        if axes.is_empty() && need_peak {
            return None;
        }
        let series = self.polynomials.series(&coefficients);
        let both_ways = params.curves.both_ways;
        let fan = params.directions.fan_of_peaks(both_ways, &axes);
        let starts = fan.into_iter().map(|direction| {
            let (along, p) = self.lobe(&series, direction)?;
            Some(Start {
                x: voxel.as_vec3().into(),
                p: (grid.world_from_voxel.matrix3.transpose() * p)
                    .as_vec3()
                    .into(),
                direction: (self.root * (grid.voxel_from_world.matrix3 * along))
                    .as_vec3()
                    .into(),
            })
        });
        starts.collect()
    }

    /// F = δ + f / f_ref, its gradient and its second derivatives on the sphere.
    fn speed_base(&self, series: &Series, u: DVec3) -> (f64, DVec3, DMat3) {
        let at = series.derivatives(u);
        let per_reference = 1.0 / self.metric.reference;
        let floor = self.metric.speed.floor;
        match at.value >= 0.0 {
            true => (
                floor + per_reference * at.value,
                per_reference * at.gradient,
                per_reference * at.hessian,
            ),
            false => (floor, DVec3::ZERO, DMat3::ZERO),
        }
    }

    /// The direction of the lobe uphill from one, and the momentum with w(x, u) (p · u) = 1 there. The momentum is that
    /// of the direction itself: ∂F/∂v of the length F(v) = |v| / w.
    fn lobe(&self, series: &Series, direction: DVec3) -> Option<(DVec3, DVec3)> {
        let a = self.metric.speed.exponent;
        let mut u = direction.normalize();
        let (base, slope, _) = self.speed_base(series, u);
        let mut p = u - (a / base) * slope;
        let height = |u: DVec3, p: DVec3| {
            let (base, ..) = self.speed_base(series, u);
            let ahead = p.dot(u);
            (ahead > 0.0).then(|| a * base.ln() + ahead.ln())
        };
        for _ in 0..MAX_STEPS {
            let now = height(u, p)?;
            let (base, slope, curvature) = self.speed_base(series, u);
            let ahead = p.dot(u);
            let q = (p - ahead * u) / ahead;
            let slope = slope / base;
            let gradient = a * slope + q;
            let (e, g) = u.any_orthonormal_pair();
            let second = |x: DVec3, y: DVec3| {
                let of_speed = x.dot(curvature * y) / base - x.dot(slope) * y.dot(slope);
                a * of_speed - x.dot(q) * y.dot(q) - x.dot(y)
            };
            let (ee, eg, gg) = (second(e, e), second(e, g), second(g, g));
            let (s, t) = (e.dot(gradient), g.dot(gradient));
            let determinant = ee * gg - eg * eg;
            let step = match ee < 0.0 && determinant > 0.0 {
                true => ((eg * t - gg * s) * e + (eg * s - ee * t) * g) / determinant,
                false => gradient.normalize_or_zero() * MAX_TURN,
            };
            let length = step.length();
            if !(length > 0.0) {
                break;
            }
            let mut share = (MAX_TURN / length).min(1.0);
            let mut next = (u + share * step).normalize();
            // The step is halved until it leads uphill; the limit ends the search where rounding decides.
            while share * length > CONVERGED && !height(next, p).is_some_and(|then| then >= now) {
                share *= 0.5;
                next = (u + share * step).normalize();
            }
            u = next;
            if share * length <= CONVERGED {
                break;
            }
        }
        let (base, ..) = self.speed_base(series, u);
        p /= base.powf(a) * p.dot(u);
        (p.is_finite() && u.is_finite()).then_some((u, p))
    }

    /// The coefficients at voxel coordinates in the volume; `None` where most voxels have no distribution.
    fn interpolated(&self, voxel: DVec3) -> Option<Vec<f64>> {
        let records = &self.metric.records;
        let grid_shape = self.metric.grid().shape;
        let axes = [0, 1, 2].map(|a| {
            let axis = Axis::new(records.shape[a], grid_shape[a]);
            axis.position(voxel[a] as f32)
        });
        let strides = self.metric.strides();
        let [x, y, z] = axes.map(|axis| (axis.cell as usize, f64::from(axis.t)));
        let base = x.0 + strides[0] * y.0 + strides[1] * z.0;
        let mut sum = vec![0.0; count(records.order)];
        let mut inside = 0.0;
        for corner in 0..8 {
            let high = [corner & 1, corner >> 1 & 1, corner >> 2];
            let share = |t: f64, high: usize| if high == 1 { t } else { 1.0 - t };
            let weight = share(x.1, high[0]) * share(y.1, high[1]) * share(z.1, high[2]);
            let at = base + high[0] + strides[0] * high[1] + strides[1] * high[2];
            let number = records.record_of[at];
            if number > 0 && number <= records.fitted {
                inside += weight;
            }
            for (sum, c) in sum.iter_mut().zip(records.record(number)) {
                *sum += weight * f64::from(*c);
            }
        }
        (inside >= 0.5).then_some(sum)
    }
}
