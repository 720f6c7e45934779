//! Straight segments between two points.

use glam::DVec3;

/// The point of a segment nearest to a point.
pub fn nearest_on_segment(segment: [DVec3; 2], to: DVec3) -> DVec3 {
    let [a, b] = segment;
    let way = b - a;
    let t = (to - a).dot(way) / way.length_squared();
    // For two equal points this is 0 / 0, NaN.
    if t > 0.0 { a + t.min(1.0) * way } else { a }
}
