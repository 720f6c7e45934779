//! The nearest of many points (k-d tree; Bentley 1975).

use glam::Vec3;

/// A k-d tree of points, mm.
#[derive(Clone, Debug)]
pub struct Nearest {
    points: Vec<Vec3>,
}

impl Nearest {
    /// Sorts the points into the tree.
    pub fn new(mut points: Vec<Vec3>) -> Self {
        order(&mut points, 0);
        Self { points }
    }

    /// Distance to the nearest point; infinite without points.
    pub fn distance(&self, to: Vec3) -> f32 {
        self.min_distance(std::iter::once(to))
    }

    /// The smallest of the distances to all of these, much faster than one by one: each search is limited to smaller
    /// distances.
    pub fn min_distance(&self, all: impl Iterator<Item = Vec3>) -> f32 {
        let mut best = f32::INFINITY;
        for to in all {
            search(&self.points, 0, to, &mut best);
        }
        best.sqrt()
    }
}

/// Puts the median along an axis in the middle, smaller ones before it, and so on in both halves.
fn order(points: &mut [Vec3], axis: usize) {
    if points.len() < 2 {
        return;
    }
    let middle = points.len() / 2;
    points.select_nth_unstable_by(middle, |a, b| a[axis].total_cmp(&b[axis]));
    let (low, high) = points.split_at_mut(middle);
    order(low, (axis + 1) % 3);
    order(&mut high[1..], (axis + 1) % 3);
}

fn search(points: &[Vec3], axis: usize, to: Vec3, best: &mut f32) {
    let middle = points.len() / 2;
    let Some(&point) = points.get(middle) else {
        return;
    };
    *best = best.min(point.distance_squared(to));
    let off = to[axis] - point[axis];
    let (low, high) = (&points[..middle], &points[middle + 1..]);
    let (near, far) = if off < 0.0 { (low, high) } else { (high, low) };
    search(near, (axis + 1) % 3, to, best);
    if off * off < *best {
        search(far, (axis + 1) % 3, to, best);
    }
}
