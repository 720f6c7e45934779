//! Distances of streamlines.

/// Sums that run side by side: one vector register.
pub(super) const LANES: usize = 8;

/// Minimum average direct-flip distance of two curves with the same number of corresponding points, mm. Computed in single
/// precision: eight partial sums take turns over the points, and are then added in pairs. NaN if the numbers of points
/// differ or are 0.
pub fn mdf(a: &[[f32; 3]], b: &[[f32; 3]]) -> f32 {
    if a.len() != b.len() || a.is_empty() {
        return f32::NAN;
    }
    let direct = mean_distance(a.iter().zip(b));
    let flipped = mean_distance(a.iter().zip(b.iter().rev()));
    direct.min(flipped)
}

/// The mean distance of pairs of points.
fn mean_distance<'a>(pairs: impl ExactSizeIterator<Item = (&'a [f32; 3], &'a [f32; 3])>) -> f32 {
    let count = pairs.len();
    let mut sums = [0f32; LANES];
    for (i, ([ax, ay, az], [bx, by, bz])) in pairs.enumerate() {
        let (x, y, z) = (ax - bx, ay - by, az - bz);
        sums[i % LANES] += (x * x + y * y + z * z).sqrt();
    }
    total(&sums) / count as f32
}

/// The sum of eight values, in pairs.
#[inline(always)]
pub(super) fn total(sums: &[f32; LANES]) -> f32 {
    let [a, b, c, d, e, f, g, h] = *sums;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// The mean of the closest distances from each of two curves to the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeanClosest {
    /// From the points of the first curve to the nearest points of the second one, mm.
    pub to_second: f64,
    /// From the points of the second curve to the nearest points of the first one, mm.
    pub to_first: f64,
}

impl MeanClosest {
    /// The smaller of the two: 0 if one curve is a part of the other.
    pub fn min(&self) -> f64 {
        self.to_second.min(self.to_first)
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        0.5 * (self.to_second + self.to_first)
    }

    /// The larger of the two.
    pub fn max(&self) -> f64 {
        self.to_second.max(self.to_first)
    }
}

/// The mean of the closest distances (MAM) of two curves with any numbers of points. NaN without points.
pub fn mam(a: &[[f32; 3]], b: &[[f32; 3]]) -> MeanClosest {
    let squared = |p: &[f32; 3], q: &[f32; 3]| -> f64 {
        let offsets = p.iter().zip(q).map(|(p, q)| f64::from(*p) - f64::from(*q));
        offsets.map(|d| d * d).sum()
    };
    let mean = |from: &[[f32; 3]], to: &[[f32; 3]]| {
        let nearest = |p: &[f32; 3]| {
            let distances = to.iter().map(|q| squared(p, q));
            distances.reduce(f64::min).map_or(f64::NAN, f64::sqrt)
        };
        from.iter().map(nearest).sum::<f64>() / from.len() as f64
    };
    MeanClosest {
        to_second: mean(a, b),
        to_first: mean(b, a),
    }
}
