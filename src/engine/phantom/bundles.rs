//! Fibre bundles in closed form: a smooth centre line with an elliptical cross-section that varies along it, so that
//! bundles can bend, fan and flatten and nevertheless have an exact direction everywhere.
//!
//! A bundle is the map X(t, u, v) = C(t) + u a(t) N(t) + v b(t) B(t) with u² + v² ≤ 1 and t in `0..=1`: (u, v) is
//! constant along a fibre. C, a, b and the reference vector from which N is computed are natural cubic splines
//! through given knots. N is the reference made perpendicular to the tangent T, and B = T × N.

use super::implicit::hypot;
use glam::DVec3;

/// Position (3), reference (3), radii along N and B.
const CHANNELS: usize = 8;
const SAMPLES: usize = 64;

/// Natural cubic spline (second derivative 0 at both ends) of several values at once.
#[derive(Clone, Debug)]
struct Spline {
    knots: Vec<f64>,
    value: Vec<[f64; CHANNELS]>,
    second: Vec<[f64; CHANNELS]>,
}

impl Spline {
    fn new(knots: Vec<f64>, value: Vec<[f64; CHANNELS]>) -> Self {
        let n = knots.len();
        let mut second = vec![[0.0; CHANNELS]; n];
        let mut upper = vec![0.0; n];
        // Thomas algorithm for the tridiagonal system of the second derivatives.
        for i in 1..n - 1 {
            let (h0, h1) = (knots[i] - knots[i - 1], knots[i + 1] - knots[i]);
            let pivot = 2.0 * (h0 + h1) - h0 * upper[i - 1];
            upper[i] = h1 / pivot;
            for c in 0..CHANNELS {
                let right = 6.0
                    * ((value[i + 1][c] - value[i][c]) / h1 - (value[i][c] - value[i - 1][c]) / h0);
                second[i][c] = (right - h0 * second[i - 1][c]) / pivot;
            }
        }
        for i in (1..n - 1).rev() {
            for c in 0..CHANNELS {
                second[i][c] -= upper[i] * second[i + 1][c];
            }
        }
        Self {
            knots,
            value,
            second,
        }
    }

    /// Value, first and second derivative.
    fn evaluate(&self, t: f64) -> [[f64; CHANNELS]; 3] {
        self.evaluate_first(t)
    }

    /// Value, first and second derivative of the first `N` channels only.
    fn evaluate_first<const N: usize>(&self, t: f64) -> [[f64; N]; 3] {
        let i = self.knots[1..self.knots.len() - 1].partition_point(|&knot| knot <= t);
        let h = self.knots[i + 1] - self.knots[i];
        let (b, a) = ((t - self.knots[i]) / h, (self.knots[i + 1] - t) / h);
        let mut out = [[0.0; N]; 3];
        for c in 0..N {
            let (y0, y1) = (self.value[i][c], self.value[i + 1][c]);
            let (m0, m1) = (self.second[i][c], self.second[i + 1][c]);
            out[0][c] =
                a * y0 + b * y1 + ((a * a * a - a) * m0 + (b * b * b - b) * m1) * h * h / 6.0;
            out[1][c] =
                (y1 - y0) / h + ((3.0 * b * b - 1.0) * m1 - (3.0 * a * a - 1.0) * m0) * h / 6.0;
            out[2][c] = a * m0 + b * m1;
        }
        out
    }
}

/// One knot of a bundle, world mm.
#[derive(Clone, Copy, Debug)]
pub struct Knot {
    /// Point of the centre line, mm.
    pub centre: DVec3,
    /// Any vector not parallel to the tangent; its perpendicular part is the first axis of the cross-section.
    pub across: DVec3,
    /// Half widths along `across` and perpendicular to it, mm.
    pub radii: [f64; 2],
}

/// Coordinates of a point in a bundle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Coordinates {
    /// Position along the bundle, `0..=1`.
    pub t: f64,
    /// Position across; the bundle is u² + v² ≤ 1.
    pub u: f64,
    /// Position across, along B.
    pub v: f64,
    /// Distance of the point beyond the nearer end along the axis, mm; 0 between the ends.
    pub beyond_mm: f64,
}

impl Coordinates {
    /// Whether the point belongs to the bundle.
    pub fn inside(&self) -> bool {
        self.u * self.u + self.v * self.v <= 1.0 && self.beyond_mm == 0.0
    }
}

/// One end of a bundle: the elliptical disc where its fibres begin or end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct End {
    /// Centre of the disc, world mm.
    pub centre: DVec3,
    /// Unit vector out of the bundle.
    pub outward: DVec3,
    /// The larger half width, mm.
    pub radius_mm: f64,
}

/// The frame of a cross-section and its derivatives with respect to t.
struct Frame {
    centre: DVec3,
    velocity: DVec3,
    axes: [DVec3; 2],
    axes_rate: [DVec3; 2],
    radii: [f64; 2],
    radii_rate: [f64; 2],
}

/// A bundle of fibres with a known course.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// `Corticospinal tract left`.
    pub name: String,
    /// Its value in label volumes.
    pub label: u16,
    /// Share of a voxel that it claims where bundles compete; the largest determines the first direction.
    pub weight: f64,
    spline: Spline,
    /// The centre line at equally spaced t, for the initial guess of projections.
    samples: Vec<DVec3>,
    /// Largest distance of the bundle's points from their nearest sample, mm.
    sample_reach_mm: Vec<f64>,
}

fn vector<const N: usize>(v: &[f64; N], from: usize) -> DVec3 {
    DVec3::new(v[from], v[from + 1], v[from + 2])
}

impl Bundle {
    /// Panics with fewer than two knots (a broken invariant, not data).
    pub fn new(name: impl Into<String>, label: u16, weight: f64, knots: &[Knot]) -> Self {
        assert!(knots.len() >= 2, "a bundle has two ends");
        let mut at = vec![0.0];
        for w in knots.windows(2) {
            at.push(at[at.len() - 1] + w[0].centre.distance(w[1].centre));
        }
        let total = at[at.len() - 1];
        let at = at.into_iter().map(|s| s / total).collect();
        let value = knots
            .iter()
            .map(|k| {
                let (c, a) = (k.centre, k.across.normalize());
                [c.x, c.y, c.z, a.x, a.y, a.z, k.radii[0], k.radii[1]]
            })
            .collect();
        let spline = Spline::new(at, value);
        let even: Vec<[f64; CHANNELS]> = (0..=SAMPLES)
            .map(|i| spline.evaluate(i as f64 / SAMPLES as f64)[0])
            .collect();
        let samples: Vec<DVec3> = even.iter().map(|v| vector(v, 0)).collect();
        // The radius between samples is at most that of a neighbour plus a margin for the oscillation of the spline;
        // the point itself is at most one gap away.
        let sample_reach_mm = (0..=SAMPLES)
            .map(|i| {
                let (from, to) = (i.saturating_sub(1), (i + 1).min(SAMPLES));
                let radius = even[from..=to].iter().map(|v| v[6].max(v[7]));
                let gap = samples[from].distance(samples[to]);
                radius.fold(0.0, f64::max) * 1.05 + gap
            })
            .collect();
        Self {
            name: name.into(),
            label,
            weight,
            spline,
            samples,
            sample_reach_mm,
        }
    }

    /// World mm; `t` in `0..=1`.
    pub fn centre_line(&self, t: f64) -> DVec3 {
        vector(&self.spline.evaluate(t)[0], 0)
    }

    /// Unit tangent of the centre line.
    pub fn tangent(&self, t: f64) -> DVec3 {
        vector(&self.spline.evaluate(t)[1], 0).normalize()
    }

    /// Half widths of the cross-section, mm.
    pub fn radii_mm(&self, t: f64) -> [f64; 2] {
        let value = self.spline.evaluate(t)[0];
        [value[6], value[7]]
    }

    /// Smallest half width anywhere, mm.
    pub fn thinnest_mm(&self) -> f64 {
        (0..=SAMPLES)
            .flat_map(|i| self.radii_mm(i as f64 / SAMPLES as f64))
            .fold(f64::INFINITY, f64::min)
    }

    /// Largest half width anywhere, mm.
    pub fn widest_mm(&self) -> f64 {
        (0..=SAMPLES)
            .flat_map(|i| self.radii_mm(i as f64 / SAMPLES as f64))
            .fold(0.0, f64::max)
    }

    /// Length of the centre line, mm (Simpson's rule on 200 intervals of the speed).
    pub fn length_mm(&self) -> f64 {
        const N: usize = 200;
        let speed = |i: usize| vector(&self.spline.evaluate(i as f64 / N as f64)[1], 0).length();
        let weight = |i: usize| match i {
            0 | N => 1.0,
            _ if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        (0..=N).map(|i| weight(i) * speed(i)).sum::<f64>() / (3 * N) as f64
    }

    fn frame(&self, t: f64) -> Frame {
        let [value, first, second] = self.spline.evaluate(t);
        let (velocity, acceleration) = (vector(&first, 0), vector(&second, 0));
        let speed = velocity.length();
        let tangent = velocity / speed;
        let tangent_rate = (acceleration - acceleration.dot(tangent) * tangent) / speed;
        let (across, across_rate) = (vector(&value, 3), vector(&first, 3));
        let along = across.dot(tangent);
        let raw = across - along * tangent;
        let raw_rate = across_rate
            - (across_rate.dot(tangent) + across.dot(tangent_rate)) * tangent
            - along * tangent_rate;
        let length = raw.length();
        let n = raw / length;
        let n_rate = (raw_rate - raw_rate.dot(n) * n) / length;
        Frame {
            centre: vector(&value, 0),
            velocity,
            axes: [n, tangent.cross(n)],
            axes_rate: [n_rate, tangent_rate.cross(n) + tangent.cross(n_rate)],
            radii: [value[6], value[7]],
            radii_rate: [first[6], first[7]],
        }
    }

    /// A point on the fibre with these `(u, v)`.
    pub fn point(&self, t: f64, u: f64, v: f64) -> DVec3 {
        let f = self.frame(t);
        f.centre + u * f.radii[0] * f.axes[0] + v * f.radii[1] * f.axes[1]
    }

    /// The nearest t on the centre line: Newton's method on (x − C)·C′ = 0, limited to the interval around the
    /// nearest sample.
    fn nearest(&self, x: DVec3) -> f64 {
        let (best, _) = self
            .samples
            .iter()
            .enumerate()
            .map(|(i, s)| (i, s.distance_squared(x)))
            .fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
        self.refine(x, best, 1e-12)
    }

    fn refine(&self, x: DVec3, sample: usize, tolerance: f64) -> f64 {
        let step = 1.0 / SAMPLES as f64;
        let mut low = (sample as f64 - 1.0).max(0.0) * step;
        let mut high = ((sample + 1) as f64 * step).min(1.0);
        let mut t = sample as f64 * step;
        for _ in 0..60 {
            let [value, first, second] = self.spline.evaluate_first::<3>(t);
            let (away, velocity) = (x - vector(&value, 0), vector(&first, 0));
            let slope = away.dot(velocity);
            if slope > 0.0 {
                low = t;
            } else {
                high = t;
            }
            let curvature = away.dot(vector(&second, 0)) - velocity.length_squared();
            let newton = t - slope / curvature;
            let next = if curvature < 0.0 && newton >= low && newton <= high {
                newton
            } else {
                0.5 * (low + high)
            };
            if (next - t).abs() < tolerance {
                return next;
            }
            t = next;
        }
        t
    }

    /// Distance from the centre line, mm.
    pub fn distance(&self, x: DVec3) -> f64 {
        self.centre_line(self.nearest(x)).distance(x)
    }

    /// Bundle coordinates of a world point, including points outside the bundle.
    pub fn coordinates(&self, x: DVec3) -> Coordinates {
        self.coordinates_at(x, self.nearest(x)).0
    }

    fn coordinates_at(&self, x: DVec3, t: f64) -> (Coordinates, Frame) {
        let frame = self.frame(t);
        let away = x - frame.centre;
        let past = away.dot(frame.velocity.normalize());
        let coordinates = Coordinates {
            t,
            u: away.dot(frame.axes[0]) / frame.radii[0],
            v: away.dot(frame.axes[1]) / frame.radii[1],
            // Only at an end can the offset from the nearest point have a component along the axis.
            beyond_mm: if t <= 0.0 {
                (-past).max(0.0)
            } else if t >= 1.0 {
                past.max(0.0)
            } else {
                0.0
            },
        };
        (coordinates, frame)
    }

    /// Coordinates of a point, and its distance from the bundle's side or its extension beyond an end (mm, negative
    /// inside; first-order).
    pub(super) fn coordinates_and_side(&self, x: DVec3) -> (Coordinates, f64) {
        let (c, frame) = self.coordinates_at(x, self.nearest(x));
        (c, Self::side_mm(&c, &frame))
    }

    fn side_mm(c: &Coordinates, frame: &Frame) -> f64 {
        let rho = hypot(c.u, c.v);
        let slope = hypot(c.u / frame.radii[0], c.v / frame.radii[1]);
        if rho < 1e-6 {
            -frame.radii[0].min(frame.radii[1])
        } else {
            (rho - 1.0) * rho / slope
        }
    }

    /// Whether a world point belongs to the bundle.
    pub fn contains(&self, x: DVec3) -> bool {
        self.coordinates(x).inside()
    }

    /// Unit direction of the fibre through a world point (its sign follows t): ∂X/∂t at constant (u, v). Defined
    /// slightly outside, too, by extending the nearest cross-section.
    pub fn direction(&self, x: DVec3) -> DVec3 {
        let (c, frame) = self.coordinates_at(x, self.nearest(x));
        Self::direction_in(&c, &frame)
    }

    fn direction_in(c: &Coordinates, f: &Frame) -> DVec3 {
        let side =
            |i: usize, w: f64| w * (f.radii_rate[i] * f.axes[i] + f.radii[i] * f.axes_rate[i]);
        (f.velocity + side(0, c.u) + side(1, c.v)).normalize()
    }

    /// Discs at t = 0 and at t = 1.
    pub fn ends(&self) -> [End; 2] {
        [0.0, 1.0].map(|t| {
            let [a, b] = self.radii_mm(t);
            End {
                centre: self.centre_line(t),
                outward: self.tangent(t) * (2.0 * t - 1.0),
                radius_mm: a.max(b),
            }
        })
    }

    /// The fibre through a point inside the bundle, as `count` points at equally spaced t.
    pub fn fibre(&self, u: f64, v: f64, count: usize) -> Vec<DVec3> {
        let last = (count.max(2) - 1) as f64;
        (0..count.max(2))
            .map(|i| self.point(i as f64 / last, u, v))
            .collect()
    }

    /// This many of its fibres, distributed evenly over its cross-section, as points 1 mm apart.
    pub fn fibres(&self, count: usize) -> impl Iterator<Item = Vec<[f32; 3]>> {
        const STEP_MM: f64 = 1.0;
        let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
        let points = (self.length_mm() / STEP_MM).ceil() as usize + 1;
        (0..count).map(move |i| {
            // Sunflower pattern: equal areas, the first point in the middle.
            let radius = (i as f64 / count as f64).sqrt();
            let turn = golden * i as f64;
            let fibre = self.fibre(radius * turn.cos(), radius * turn.sin(), points);
            fibre.iter().map(|p| p.as_vec3().to_array()).collect()
        })
    }

    /// The bundle relative to x, found from any sample of the centre line that is not too distant; `None` if its
    /// surface is certainly farther than `reach_mm`.
    pub(super) fn near(&self, x: DVec3, sample: usize, reach_mm: f64) -> Option<NearBundle> {
        let distance = |s: usize| self.samples[s].distance_squared(x);
        // Descends along the samples; the distance has a single minimum this close to the line.
        let mut s = sample;
        while s < SAMPLES && distance(s + 1) < distance(s) {
            s += 1;
        }
        while s > 0 && distance(s - 1) < distance(s) {
            s -= 1;
        }
        let far = reach_mm + self.sample_reach_mm[s];
        if distance(s) > far * far {
            return None;
        }
        let (c, frame) = self.coordinates_at(x, self.refine(x, s, 1e-4));
        let radial = Self::side_mm(&c, &frame);
        let distance = if c.beyond_mm > 0.0 {
            hypot(radial.max(0.0), c.beyond_mm)
        } else {
            radial
        };
        Some(NearBundle {
            distance,
            direction: Self::direction_in(&c, &frame),
        })
    }

    pub(super) fn samples(&self) -> &[DVec3] {
        &self.samples
    }
}

/// A bundle relative to a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearBundle {
    /// Distance from its surface, mm, negative inside; first-order.
    pub distance: f64,
    pub direction: DVec3,
}
