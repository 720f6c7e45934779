//! Streamlines near the pointer and within an outline on the screen.
//!
//! Every segment is projected in single precision; segments behind the eye are skipped. On a slice only the part in
//! the slab counts, and in the 3-D view only the parts that clips keep.
//!
//! # Example
//!
//! The streamline nearest to a point of the screen, seen along z:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::Tractogram;
//! use arcuate_engine::solvers::tractogram::pick::{PickQuery, Screen, pick};
//! use glam::{DMat4, DVec2};
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let points = vec![[0.0; 3], [9.0, 0.0, 0.0], [0.0, 5.0, 0.0], [9.0, 5.0, 0.0]];
//! let tractogram = Tractogram::new(points, vec![0, 2, 4]);
//! let screen = Screen {
//!     from_world: DMat4::IDENTITY,
//!     slab: false,
//!     clips: Vec::new(),
//! };
//! let near = PickQuery::Nearest {
//!     at: DVec2::new(4.0, 4.0),
//!     radius: 3.0,
//! };
//! let picked = pick(&tractogram, None, &screen, &near, &backend, &control)?;
//! assert_eq!(picked, [1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::compute::{Backend, Cancelled, Control};
use crate::data::Tractogram;
use crate::data::clip::{Clip, keep, kept_parts};
use crate::solvers::Error;
use glam::{DMat4, DVec2, DVec3, Mat4, Vec2, Vec3};
use rayon::prelude::*;

const CHUNK: usize = 2048;
/// Approximate width of streamlines on the screen, points: of several within it, the one in front is chosen.
const STREAMLINE_WIDTH: f32 = 2.0;
/// Sampling distance of segments within an outline, points.
const STEP: f32 = 1.5;

/// Projection from the world to the screen.
#[derive(Clone, PartialEq, Debug)]
pub struct Screen {
    /// x and y in points, z a depth (smaller in front), all times w.
    pub from_world: DMat4,
    /// Whether depths beyond -1 and 1 are hidden.
    pub slab: bool,
    /// Planes and boxes that hide parts of streamlines.
    pub clips: Vec<Clip>,
}

/// The query.
#[derive(Clone, PartialEq, Debug)]
pub enum PickQuery {
    /// The streamline nearest to a point on the screen, at most this many points away.
    Nearest {
        /// Position on the screen, points.
        at: DVec2,
        /// Largest distance from it, points.
        radius: f64,
    },
    /// The streamlines that enter a closed outline.
    Within(Vec<DVec2>),
}

/// Indices of the streamlines found, ascending; with marks, only of marked streamlines.
pub fn pick(
    tractogram: &Tractogram,
    among: Option<&[bool]>,
    screen: &Screen,
    requested: &PickQuery,
    backend: &Backend,
    control: &Control,
) -> Result<Vec<u32>, Error> {
    match requested {
        PickQuery::Nearest { at, radius } => {
            let at = at.as_vec2();
            let radius = *radius as f32;
            let key = |(off, depth): (f32, f32)| ((off - STREAMLINE_WIDTH).max(0.0), depth);
            let distances = for_each_streamline(tractogram, among, backend, control, |line| {
                let near = nearest(tractogram.streamline(line), screen, at);
                near.filter(|(off, _)| *off <= radius).map(key)
            })?;
            let nearest_line = distances
                .into_iter()
                .min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            Ok(nearest_line.into_iter().map(|(line, _)| line).collect())
        }
        PickQuery::Within(outline) => {
            let Some(inside) = FilledOutline::new(outline) else {
                return Ok(Vec::new());
            };
            let entering = for_each_streamline(tractogram, among, backend, control, |line| {
                enters_lasso(tractogram.streamline(line), screen, &inside).then_some(())
            })?;
            Ok(entering.into_iter().map(|(line, ())| line).collect())
        }
    }
}

/// The results of a test of each streamline, in order.
fn for_each_streamline<T: Send>(
    tractogram: &Tractogram,
    among: Option<&[bool]>,
    backend: &Backend,
    control: &Control,
    look: impl Fn(usize) -> Option<T> + Sync,
) -> Result<Vec<(u32, T)>, Error> {
    let shown = |line: usize| among.is_none_or(|marks| marks[line]);
    let chunks = tractogram.len().div_ceil(CHUNK);
    let tested: Result<Vec<Vec<(u32, T)>>, Cancelled> = backend.install(|| {
        let chunk = |chunk: usize| {
            control.check()?;
            let lines = chunk * CHUNK..((chunk + 1) * CHUNK).min(tractogram.len());
            let lines = lines.filter(|line| shown(*line));
            Ok(lines
                .filter_map(|line| Some((line as u32, look(line)?)))
                .collect())
        };
        (0..chunks).into_par_iter().map(chunk).collect()
    });
    Ok(tested?.into_iter().flatten().collect())
}

/// Calls `visit` with the ends of every visible segment: x, y, depth.
fn segments(points: &[[f32; 3]], screen: &Screen, mut visit: impl FnMut(Vec3, Vec3) -> bool) {
    let m: Mat4 = screen.from_world.as_mat4();
    let project = |p: &[f32; 3]| {
        let v = m * Vec3::from(*p).extend(1.0);
        (v.w > 1e-6)
            .then(|| v.truncate() / v.w)
            .filter(|v| v.is_finite())
    };
    if !screen.clips.is_empty() {
        return kept_segments(points, screen, project, visit);
    }
    let mut last = points.first().and_then(project);
    if let (Some(only), 1) = (last, points.len()) {
        if let Some((a, b)) = clip_depth(only, only, screen.slab) {
            visit(a, b);
        }
        return;
    }
    for point in points.iter().skip(1) {
        let here = project(point);
        if let (Some(a), Some(b)) = (last, here)
            && let Some((a, b)) = clip_depth(a, b, screen.slab)
            && visit(a, b)
        {
            return;
        }
        last = here;
    }
}

/// Calls `visit` with the ends of every part of a segment that all clips keep.
fn kept_segments(
    points: &[[f32; 3]],
    screen: &Screen,
    project: impl Fn(&[f32; 3]) -> Option<Vec3>,
    mut visit: impl FnMut(Vec3, Vec3) -> bool,
) {
    let world = |p: &[f32; 3]| DVec3::from_array(p.map(f64::from));
    let projected = |p: DVec3| project(&p.as_vec3().to_array());
    let mut visit = |a: DVec3, b: DVec3| {
        let ends = projected(a).zip(projected(b));
        let part = ends.and_then(|(a, b)| clip_depth(a, b, screen.slab));
        part.is_some_and(|(a, b)| visit(a, b))
    };
    if let [only] = points {
        let only = world(only);
        if keep(&screen.clips, only) {
            visit(only, only);
        }
        return;
    }
    for pair in points.windows(2) {
        let (from, to) = (world(&pair[0]), world(&pair[1]));
        let along = to - from;
        for (start, end) in kept_parts(&screen.clips, (from, along), (0.0, 1.0)) {
            if visit(from + along * start, from + along * end) {
                return;
            }
        }
    }
}

/// The part of a segment between the depths -1 and 1.
fn clip_depth(a: Vec3, b: Vec3, slab: bool) -> Option<(Vec3, Vec3)> {
    if !slab {
        return Some((a, b));
    }
    if a.z.min(b.z) > 1.0 || a.z.max(b.z) < -1.0 {
        return None;
    }
    let rise = b.z - a.z;
    if rise.abs() < 1e-6 {
        return Some((a, b));
    }
    let (s, t) = ((-1.0 - a.z) / rise, (1.0 - a.z) / rise);
    let (s, t) = (s.min(t).clamp(0.0, 1.0), s.max(t).clamp(0.0, 1.0));
    Some((a.lerp(b, s), a.lerp(b, t)))
}

/// Distance on the screen, and the depth at the nearest point.
fn nearest(points: &[[f32; 3]], screen: &Screen, at: Vec2) -> Option<(f32, f32)> {
    let mut best: Option<(f32, f32)> = None;
    segments(points, screen, |a, b| {
        let (start, along) = (a.truncate(), (b - a).truncate());
        let squared = along.length_squared();
        let t = if squared > 0.0 {
            ((at - start).dot(along) / squared).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let off = (start + along * t).distance(at);
        if best.is_none_or(|(known, _)| off < known) {
            best = Some((off, a.z + (b.z - a.z) * t));
        }
        false
    });
    best
}

fn enters_lasso(points: &[[f32; 3]], screen: &Screen, inside: &FilledOutline) -> bool {
    let mut enters = false;
    segments(points, screen, |a, b| {
        let (a, b) = (a.truncate(), b.truncate());
        if a.max(b).cmplt(inside.low).any() || a.min(b).cmpgt(inside.high).any() {
            return false;
        }
        let steps = (a.distance(b) / STEP).ceil().clamp(1.0, 4096.0) as usize;
        enters = (0..=steps).any(|i| inside.contains(a.lerp(b, i as f32 / steps as f32)));
        enters
    });
    enters
}

/// The inside of an outline, rasterised in points.
struct FilledOutline {
    low: Vec2,
    high: Vec2,
    size: [usize; 2],
    inside: Vec<bool>,
}

impl FilledOutline {
    /// Even-odd rule; `None` for fewer than three corners or an empty outline.
    fn new(outline: &[DVec2]) -> Option<Self> {
        const MAX_EXTENT: f64 = 1e4;
        if outline.len() < 3
            || !outline
                .iter()
                .all(|p| p.is_finite() && p.abs().max_element() < MAX_EXTENT)
        {
            return None;
        }
        let start = outline[0];
        let low = outline.iter().fold(start, |m, p| m.min(*p)).floor();
        let high = outline.iter().fold(start, |m, p| m.max(*p)).ceil();
        let size = (high - low).max(DVec2::ONE);
        let [w, h] = [size.x as usize, size.y as usize];
        let mut inside = vec![false; w * h];
        for row in 0..h {
            let y = low.y + row as f64 + 0.5;
            let mut crossings: Vec<f64> = Vec::new();
            for (i, a) in outline.iter().enumerate() {
                let b = outline[(i + 1) % outline.len()];
                if (a.y <= y) != (b.y <= y) {
                    crossings.push(a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y));
                }
            }
            crossings.sort_by(f64::total_cmp);
            for pair in crossings.chunks_exact(2) {
                let cell = |x: f64| (x - low.x - 0.5).ceil().clamp(0.0, w as f64) as usize;
                inside[row * w + cell(pair[0])..row * w + cell(pair[1])].fill(true);
            }
        }
        Some(Self {
            low: low.as_vec2(),
            high: high.as_vec2(),
            size: [w, h],
            inside,
        })
    }

    fn contains(&self, at: Vec2) -> bool {
        let d = at - self.low;
        let [w, h] = self.size;
        let (x, y) = (d.x.floor(), d.y.floor());
        x >= 0.0
            && y >= 0.0
            && (x as usize) < w
            && (y as usize) < h
            && self.inside[y as usize * w + x as usize]
    }
}
