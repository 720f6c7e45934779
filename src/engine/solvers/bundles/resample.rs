//! Streamlines by points that are equally spaced along their lengths.

/// Streamlines farther from the origin, mm, belong to no head, and their positions have lost their fractions.
const FARTHEST_MM: f32 = 1e6;

/// Points that are equally spaced along a curve, from its first point to its last one. `None` if it has no length, a point
/// that is not finite, or one more than a kilometre from the origin; or if fewer than two points are requested.
pub fn resampled(points: &[[f32; 3]], count: usize) -> Option<Vec<[f32; 3]>> {
    let mut out = vec![[0.0; 3]; count];
    let mut along = Vec::new();
    resample(points, &mut along, &mut out).then_some(out)
}

/// Fills `out`; `along` is scratch memory. Returns `false` where [`resampled`] returns `None`.
pub(super) fn resample(points: &[[f32; 3]], along: &mut Vec<f64>, out: &mut [[f32; 3]]) -> bool {
    let is_near = |p: &[f32; 3]| p.iter().all(|c| c.abs() <= FARTHEST_MM);
    if out.len() < 2 || !points.iter().all(is_near) {
        return false;
    }
    let wide = |p: &[f32; 3]| p.map(f64::from);
    along.clear();
    let mut length = 0.0;
    along.push(length);
    for pair in points.windows(2) {
        let ([ax, ay, az], [bx, by, bz]) = (wide(&pair[0]), wide(&pair[1]));
        let (x, y, z) = (bx - ax, by - ay, bz - az);
        length += (x * x + y * y + z * z).sqrt();
        along.push(length);
    }
    if !(length > 0.0) {
        return false;
    }
    let last = out.len() - 1;
    let step = length / last as f64;
    let mut before = 0;
    for (i, place) in out.iter_mut().enumerate() {
        let s = step * i as f64;
        while before + 2 < points.len() && along[before + 1] < s {
            before += 1;
        }
        let run = along[before + 1] - along[before];
        let t = match run > 0.0 {
            true => ((s - along[before]) / run).min(1.0),
            false => 0.0,
        };
        let (a, b) = (wide(&points[before]), wide(&points[before + 1]));
        *place = std::array::from_fn(|c| (a[c] + t * (b[c] - a[c])) as f32);
    }
    // The ends are exact, however the length was rounded.
    (out[0], out[last]) = (points[0], points[points.len() - 1]);
    true
}
