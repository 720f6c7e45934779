//! The picture on the demo's card: idealised bundles of a head, seen from the left and the front.
//!
//! Drawn from formulas, so that the first page needs no file and no solver.

use egui::{Color32, Mesh, Painter, Pos2, Rect, Shape, Stroke, vec2};
use glam::{Vec2, Vec3};
use std::sync::Arc;

const POINTS: usize = 20;

/// A streamline on the screen: x to the right and y down in head units (1 is about 90 mm), depth
/// towards the viewer, colour by direction.
struct Thread {
    points: Vec<(Vec2, Color32)>,
    depth: f32,
}

pub struct Picture {
    threads: Vec<Thread>,
    /// The mesh of the rectangle it was last painted into.
    mesh: Option<(Rect, Arc<Mesh>)>,
}

/// Uniform in −1..1, the same picture every time (Steele, Lea and Flood 2014: SplitMix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

/// A point on a Catmull–Rom spline through `knots`, `t` in 0..1.
fn spline(knots: &[Vec3], t: f32) -> Vec3 {
    let last = knots.len() - 1;
    let at = t.clamp(0.0, 1.0) * last as f32;
    let i = (at as usize).min(last - 1);
    let u = at - i as f32;
    let knot = |j: isize| knots[j.clamp(0, last as isize) as usize];
    let [a, b, c, d] = [-1, 0, 1, 2].map(|o| knot(i as isize + o));
    let linear = (c - a) * u;
    let square = (a * 2.0 - b * 5.0 + c * 4.0 - d) * u * u;
    let cube = (b * 3.0 - a - c * 3.0 + d) * u * u * u;
    b + (linear + square + cube) * 0.5
}

/// One kind of bundle: how many streamlines, its spline (mm, x right, y front, z up) with the
/// spread of each knot.
type Bundle = (usize, Vec<(Vec3, Vec3)>);

fn bundles(noise: &mut Noise) -> Vec<Bundle> {
    let v = Vec3::new;
    let mut all: Vec<Bundle> = Vec::new();
    for side in [-1.0, 1.0] {
        let s = |x: f32, y: f32, z: f32| v(side * x, y, z);
        // Corticospinal tract with its fan.
        all.push((
            120,
            vec![
                (s(6.0, -28.0, -66.0), v(3.0, 3.0, 2.0)),
                (s(9.0, -24.0, -38.0), v(4.0, 4.0, 2.0)),
                (s(20.0, -16.0, -6.0), v(4.0, 6.0, 3.0)),
                (s(26.0, -16.0, 22.0), v(5.0, 12.0, 3.0)),
                (s(32.0, -16.0, 56.0), v(16.0, 26.0, 9.0)),
            ],
        ));
        // Arcuate fascicle.
        all.push((
            80,
            vec![
                (s(46.0, 34.0, 8.0), v(5.0, 7.0, 7.0)),
                (s(40.0, 8.0, 25.0), v(4.0, 4.0, 4.0)),
                (s(38.0, -26.0, 27.0), v(4.0, 5.0, 4.0)),
                (s(42.0, -46.0, 8.0), v(4.0, 5.0, 4.0)),
                (s(50.0, -26.0, -14.0), v(4.0, 8.0, 4.0)),
                (s(54.0, 0.0, -24.0), v(4.0, 9.0, 4.0)),
            ],
        ));
        // Cingulum.
        all.push((
            60,
            vec![
                (s(8.0, 42.0, -6.0), v(2.0, 5.0, 5.0)),
                (s(8.0, 44.0, 18.0), v(2.0, 4.0, 4.0)),
                (s(8.0, 14.0, 34.0), v(2.0, 6.0, 3.0)),
                (s(8.0, -26.0, 35.0), v(2.0, 6.0, 3.0)),
                (s(10.0, -52.0, 18.0), v(2.0, 5.0, 4.0)),
                (s(20.0, -38.0, -8.0), v(3.0, 5.0, 4.0)),
            ],
        ));
        // Inferior fronto-occipital fascicle and its ends.
        all.push((
            90,
            vec![
                (s(22.0, -84.0, 4.0), v(8.0, 5.0, 12.0)),
                (s(34.0, -48.0, -2.0), v(5.0, 5.0, 5.0)),
                (s(34.0, -6.0, -10.0), v(4.0, 5.0, 4.0)),
                (s(30.0, 28.0, -4.0), v(5.0, 5.0, 6.0)),
                (s(26.0, 58.0, 6.0), v(10.0, 6.0, 15.0)),
            ],
        ));
        // Cerebellum.
        all.push((
            60,
            vec![
                (s(4.0, -34.0, -46.0), v(3.0, 4.0, 4.0)),
                (s(18.0, -50.0, -44.0), v(5.0, 5.0, 5.0)),
                (s(32.0, -66.0, -46.0), v(12.0, 10.0, 11.0)),
            ],
        ));
    }
    // Corpus callosum, front to back.
    for i in 0..13 {
        let along = i as f32 / 12.0 * 2.0 - 1.0;
        let y = along * 36.0 - 4.0;
        let top = 26.0 - 12.0 * along * along;
        let fan = along * 26.0;
        let (out, up) = (40.0 - 8.0 * along.abs(), 58.0 - 34.0 * along.abs().powi(3));
        let knots = [-1.0f32, -0.55, 0.0, 0.55, 1.0].map(|x| {
            let w = x.abs();
            let at = v(x * out, y + fan * w, top + (up - top) * w * w);
            (at, v(4.0, 5.0, 3.0 + 6.0 * w))
        });
        all.push((34, knots.to_vec()));
    }
    // Short fibres under the folds, along the surface and out of it.
    for _ in 0..320 {
        let towards = (noise.vector() + v(0.0, 0.0, 0.25)).normalize_or(Vec3::Z);
        if towards.z < -0.45 {
            continue;
        }
        let surface = towards * v(60.0, 80.0, 60.0) + v(0.0, -8.0, 8.0);
        let tangent = towards.cross(noise.vector()).normalize_or(Vec3::Y) * 13.0;
        let knots = vec![
            (surface - tangent, v(2.5, 2.5, 2.5)),
            (surface - towards * 12.0 - tangent * 0.5, v(2.0, 2.0, 2.0)),
            (surface - towards * 12.0 + tangent * 0.5, v(2.0, 2.0, 2.0)),
            (surface + tangent, v(2.5, 2.5, 2.5)),
        ];
        all.push((3, knots));
    }
    all
}

/// World mm to the screen: from the patient's left, turned a little to the front.
fn project(p: Vec3) -> (Vec2, f32) {
    let (turn, tilt) = (0.42f32, 0.14f32);
    let (sin, cos) = turn.sin_cos();
    // Screen right is the back, towards the viewer is the left.
    let right = -p.y * cos - p.x * sin;
    let near = -p.x * cos + p.y * sin;
    let (sin, cos) = tilt.sin_cos();
    let up = p.z * cos - near * sin;
    let near = near * cos + p.z * sin;
    (Vec2::new(right, -up) / 90.0, near)
}

fn thread(knots: &[(Vec3, Vec3)], noise: &mut Noise) -> Thread {
    // One offset per streamline for all knots keeps bundles coherent, a second one lets them fan.
    let common = noise.vector();
    let knots: Vec<Vec3> = knots
        .iter()
        .map(|(at, spread)| *at + *spread * (common * 0.75 + noise.vector() * 0.35))
        .collect();
    let world: Vec<Vec3> = (0..POINTS)
        .map(|i| spline(&knots, i as f32 / (POINTS - 1) as f32))
        .collect();
    let mut depth = 0.0;
    let points = (0..POINTS)
        .map(|i| {
            let (a, b) = (world[i.saturating_sub(1)], world[(i + 1).min(POINTS - 1)]);
            let direction = (b - a).normalize_or_zero();
            let (at, near) = project(world[i]);
            depth += near / POINTS as f32;
            // What is further away is darker, as in fog; what lies across the view is lit.
            let fog = ((near + 90.0) / 150.0).clamp(0.0, 1.0);
            let lit = 0.35 + 0.65 * fog * fog;
            let channel = |v: f32| ((0.10 + 0.90 * v.abs().powf(0.9)) * lit * 255.0) as u8;
            let colour = Color32::from_rgb(
                channel(direction.x),
                channel(direction.y),
                channel(direction.z),
            );
            (at, colour)
        })
        .collect();
    Thread { points, depth }
}

impl Picture {
    pub fn new() -> Self {
        let mut noise = Noise(11);
        let mut threads = Vec::new();
        for (count, knots) in bundles(&mut noise) {
            threads.extend((0..count).map(|_| thread(&knots, &mut noise)));
        }
        threads.sort_by(|a, b| a.depth.total_cmp(&b.depth));
        Self {
            threads,
            mesh: None,
        }
    }

    pub fn paint(&mut self, painter: &Painter, rect: Rect) {
        rim(painter, rect);
        let known = self.mesh.as_ref().filter(|(r, _)| *r == rect);
        let mesh = match known {
            Some((_, mesh)) => mesh.clone(),
            None => Arc::new(self.build(rect)),
        };
        painter.add(Shape::Mesh(mesh.clone()));
        self.mesh = Some((rect, mesh));
    }

    /// Ribbons with a bright middle and soft edges: they read as thin tubes.
    fn build(&self, rect: Rect) -> Mesh {
        const ACROSS: [(f32, f32, f32); 5] = [
            (-1.55, 0.25, 0.0),
            (-0.85, 0.45, 1.0),
            (0.0, 1.0, 1.0),
            (0.85, 0.45, 1.0),
            (1.55, 0.25, 0.0),
        ];
        let mut mesh = Mesh::default();
        for thread in &self.threads {
            let place: Vec<Pos2> = thread
                .points
                .iter()
                .map(|(p, _)| on_screen(*p, rect))
                .collect();
            for (i, (_, colour)) in thread.points.iter().enumerate() {
                let along = place[(i + 1).min(POINTS - 1)] - place[i.saturating_sub(1)];
                let normal = along.normalized().rot90();
                for (offset, light, alpha) in ACROSS {
                    let [r, g, b] =
                        [colour.r(), colour.g(), colour.b()].map(|c| (f32::from(c) * light) as u8);
                    let colour = Color32::from_rgb(r, g, b).gamma_multiply(alpha);
                    mesh.colored_vertex(place[i] + normal * offset, colour);
                }
                if i == 0 {
                    continue;
                }
                let n = mesh.vertices.len() as u32;
                for k in 0..ACROSS.len() as u32 - 1 {
                    let (a, b) = (n - 10 + k, n - 5 + k);
                    mesh.add_triangle(a, a + 1, b);
                    mesh.add_triangle(a + 1, b, b + 1);
                }
            }
        }
        mesh
    }
}

fn on_screen(p: Vec2, rect: Rect) -> Pos2 {
    let scale = (rect.width() / 2.16).min(rect.height() / 1.86);
    rect.center() + vec2(p.x * scale, p.y * scale) + vec2(0.0, -0.02 * rect.height())
}

/// The outline of brain and brain stem as a soft rim.
fn rim(painter: &Painter, rect: Rect) {
    let knots = [
        (-0.86, 0.14),
        (-0.84, -0.22),
        (-0.70, -0.56),
        (-0.40, -0.80),
        (0.00, -0.89),
        (0.46, -0.82),
        (0.82, -0.55),
        (1.00, -0.12),
        (0.96, 0.22),
        (0.80, 0.47),
        (0.72, 0.68),
        (0.50, 0.76),
        (0.34, 0.66),
        (0.26, 0.84),
        (0.14, 0.83),
        (0.12, 0.56),
        (-0.05, 0.44),
        (-0.30, 0.50),
        (-0.50, 0.45),
        (-0.57, 0.28),
        (-0.75, 0.30),
    ];
    let n = knots.len();
    let outline = |grow: f32| -> Vec<Pos2> {
        (0..n * 8)
            .map(|i| {
                let at = |j: usize| {
                    let (x, y) = knots[j % n];
                    Vec3::new(x, y, 0.0)
                };
                let k = i / 8;
                let four = [at(k + n - 1), at(k), at(k + 1), at(k + 2)];
                let p = spline(&four, (1.0 + (i % 8) as f32 / 8.0) / 3.0);
                on_screen(Vec2::new(p.x, p.y) * grow, rect)
            })
            .collect()
    };
    let glow = |points: Vec<Pos2>, width: f32, alpha: u8| {
        let colour = Color32::from_rgba_unmultiplied(0x88, 0xA8, 0xE0, alpha);
        painter.add(Shape::closed_line(points, Stroke::new(width, colour)));
    };
    for (width, alpha) in [(16.0, 9), (11.0, 12), (7.0, 18), (4.0, 28), (1.8, 60)] {
        glow(outline(1.02), width, alpha);
    }
}
