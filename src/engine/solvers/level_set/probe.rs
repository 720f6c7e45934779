//! Target and tolerance from voxels that a user sampled, and from their surroundings.

use super::background::Background;
use super::error::InputError;
use crate::data::Volume;
use crate::data::statistics::quantile;
use glam::DVec3;

/// Target T and tolerance ε, and the measures from which they were chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probe {
    /// T, grey value of the structure.
    pub target: f32,
    /// ε, distance from T at which the speed turns inwards.
    pub tolerance: f32,
    /// Sampled voxels with a value.
    pub count: usize,
    /// Their standard deviation.
    pub spread: f64,
    /// The difference of values just outside from T; `None` if no border is within reach.
    pub contrast: Option<f64>,
    /// The values just outside: the darker and the brighter ones.
    pub adjacent: [Option<f64>; 2],
    /// The most frequent value of the background; `None` without a background, or if the background was sampled.
    pub background: Option<f64>,
    /// The sample contains more than one tissue: the range then covers all of them, and the surface does not stop at
    /// their borders.
    pub mixed: bool,
    /// The background limits the range on one side, so T is the middle of the remaining range, not the mean of the
    /// sample.
    pub moved: bool,
}

impl Probe {
    /// Radius of the sampled ball if none is given, mm.
    pub const DEFAULT_RADIUS_MM: f64 = 2.0;
}

/// Why a range extends beyond the border of the sampled structure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RangeDoubt {
    /// The sample contains more than one tissue.
    Mixed,
    /// This value just outside the sample lies within the range.
    TakesIn(f64),
    /// The most frequent value of the background lies within the range.
    Background,
}

/// ε is nearly half of the contrast to the surroundings: half is where the border is, but there the partial volumes
/// of two borders one voxel apart would merge. It is at least this many standard deviations of the sample, beyond
/// which one voxel of noise in seven lies, which the curvature tolerates, …
const SPREADS: f64 = 1.5;
/// Nearly one half.
const HALF: f64 = 0.42;
/// … but at most this share of the contrast.
const MAX_SHARE: f64 = 0.75;
/// Variance of the sample beyond this multiple of the noise variance is structure; structure extends `SIDE` times its
/// standard deviation.
const STRUCTURE_RATIO: f64 = 1.2;
const SIDE: f64 = 1.6;
/// Structure of more than this share of the contrast is another tissue in the sample: a fraction p of a tissue that
/// differs by D gives a standard deviation of √(p (1 − p)) D about a mean that is (1 − p) D away, so this corresponds
/// to one voxel in ten.
const MIXED: f64 = 1.0 / 3.0;
/// If no border is within reach: this share of the image's range, if that is more.
const SHARE: f64 = 0.25;
/// Quantiles of the voxels, background excluded, that limit the range; those of the display, which are already known.
const RANGE: (f64, f64) = (0.01, 0.99);
/// The background counts as a neighbour: the range ends at the same share of the distance to it, or at two widths of
/// the sample's spread if that is more, and always stays away from it by this share.
const OFF: f64 = 0.1;
/// Rays are followed this far, mm, from at most this many sampled voxels.
const REACH_MM: f64 = 25.0;
const MAX_RAY_ORIGINS: usize = 24;
/// Points of a ray lie this share of a step short of half steps: half way between two voxels, the one closer to the
/// origin counts, however the axes are stored.
const SHORT_OF_HALF: f64 = 1e-3;
/// Another tissue begins where this share of the typical contrast is reached, and the border is blurred over this
/// many voxels: the largest difference within them is the contrast.
const BEGINS: f64 = 0.35;
const BLURRED: f64 = 2.5;
/// Differences below this share of the range count as variation within a tissue.
const MIN_DIFFERENCE: f64 = 0.1;
/// Smallest share of rays that must end in another tissue, and the share of these whose contrast is below the chosen
/// one.
const ENDING: f64 = 0.25;
const NEARER: f64 = 0.25;
/// Smallest share of rays that must end in a darker or in a brighter tissue for it to count as adjacent.
const MIN_ADJACENT_SHARE: f64 = 0.1;

impl Probe {
    /// A probe of voxels by index, each counted once. Needs the backend's threads installed.
    pub fn new(image: &Volume, frame: usize, voxels: &[usize]) -> Result<Self, InputError> {
        let values = image.frame(frame);
        let mut known: Vec<usize> = voxels
            .iter()
            .copied()
            .filter(|v| values[*v].is_finite())
            .collect();
        // The order in which voxels are stored must not choose the origins of rays.
        known.sort_by_cached_key(|v| {
            let [x, y, z] = image.grid.voxel_in_ras_order(*v);
            [z, y, x]
        });
        known.dedup();
        let count = known.len();
        if count == 0 {
            return Err(InputError::NothingProbed);
        }
        let own = || known.iter().map(|v| f64::from(values[*v]));
        let mean = own().sum::<f64>() / count as f64;
        let squares: f64 = own().map(|v| (v - mean).powi(2)).sum();
        let spread = (squares / (count.max(2) - 1) as f64).sqrt();
        let (low, high) = image.percentiles(frame, RANGE.0, RANGE.1);
        let range = f64::from(high - low);
        let around = Around {
            image,
            values,
            mean,
        };
        let min_difference = (SPREADS * spread).max(MIN_DIFFERENCE * range);
        let (contrast, adjacent) = around.contrast(&known, min_difference);
        // The spread of the sample beyond noise is structure, such as two tissues: the border is half way from there.
        let structure = (spread.powi(2) - STRUCTURE_RATIO * around.noise(&known))
            .max(0.0)
            .sqrt();
        let mixed = structure > contrast.map_or(SHARE * range, |contrast| MIXED * contrast);
        let default_value = match contrast {
            Some(contrast) => (HALF * contrast + 0.5 * SIDE * structure)
                .max(SPREADS * spread)
                .min(MAX_SHARE * contrast)
                .max(SPREADS * structure),
            None => (SPREADS * spread).max(SHARE * range),
        };
        let (mut low, mut high) = (mean - default_value, mean + default_value);
        let background = Background::from_image(image, frame).filter(|b| !b.is_target(mean as f32));
        let background = background.map(|b| f64::from(b.mode));
        if let Some(mode) = background {
            let away = (mean - mode).abs();
            let max_away = (1.0 - OFF) * away;
            let half_width = (HALF * away).max((2.0 * SPREADS * spread).min(max_away));
            if mode < mean {
                low = low.max(mean - half_width);
            } else {
                high = high.min(mean + half_width);
            }
        }
        // Where the background limits one side, the target moves away from it: the border stays on the other side.
        let (target, tolerance) = (0.5 * (low + high), 0.5 * (high - low));
        if !(tolerance > 0.0) {
            return Err(InputError::ProbedLikeAll(mean));
        }
        Ok(Self {
            moved: (target - mean).abs() > 1e-6 * (high - low),
            target: target as f32,
            tolerance: tolerance as f32,
            count,
            spread,
            contrast,
            adjacent,
            background,
            mixed,
        })
    }

    /// Why a surface in a range will not stop at the border of the sample. A mixed sample comes first: values just
    /// outside are those of tissues that it contains.
    pub fn range_doubt(&self, range: [f64; 2]) -> Option<RangeDoubt> {
        match self.mixed {
            true => Some(RangeDoubt::Mixed),
            false => {
                let adjacent = self.neighbour_within(range).map(RangeDoubt::TakesIn);
                let air = self.background_within(range);
                adjacent.or_else(|| air.then_some(RangeDoubt::Background))
            }
        }
    }

    /// Whether a range, with any target, includes the most frequent value of the background: the surface then leaks
    /// into air.
    pub fn background_within(&self, [low, high]: [f64; 2]) -> bool {
        let within = |mode: f64| (low..=high).contains(&mode);
        self.background.is_some_and(within)
    }

    /// The value just outside the sample that lies within a range, where the surface does not stop; of two values,
    /// the one closer to an end of the range.
    pub fn neighbour_within(&self, [low, high]: [f64; 2]) -> Option<f64> {
        let [darker, brighter] = self.adjacent;
        let darker = darker.filter(|value| *value >= low);
        let brighter = brighter.filter(|value| *value <= high);
        let from_end = |value: f64| (value - low).min(high - value);
        darker
            .into_iter()
            .chain(brighter)
            .min_by(|a, b| from_end(*a).total_cmp(&from_end(*b)))
    }
}

/// The surroundings of sampled voxels.
struct Around<'a> {
    image: &'a Volume,
    values: &'a [f32],
    mean: f64,
}

impl Around<'_> {
    /// The mean over 3³ voxels.
    fn mean_at(&self, at: DVec3) -> Option<f64> {
        let grid = &self.image.grid;
        let centre = grid.nearest(at)?;
        let range = |a: usize| centre[a].saturating_sub(1)..(centre[a] + 2).min(grid.shape[a]);
        let (mut sum, mut count) = (0.0, 0);
        for z in range(2) {
            for y in range(1) {
                for x in range(0) {
                    let value = self.values[grid.index([x, y, z])];
                    if value.is_finite() {
                        (sum, count) = (sum + f64::from(value), count + 1);
                    }
                }
            }
        }
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Variance of the noise, from the differences of voxels from the mean of the 3³ around them.
    fn noise(&self, voxels: &[usize]) -> f64 {
        let grid = &self.image.grid;
        let off = |v: usize| {
            let at = grid.world(DVec3::from_array(grid.voxel(v).map(|c| c as f64)));
            let mean = self.mean_at(at).unwrap_or(self.mean);
            (f64::from(self.values[v]) - mean).powi(2)
        };
        let sum: f64 = voxels.iter().map(|v| off(*v)).sum();
        sum / voxels.len().max(1) as f64 * (27.0 / 26.0)
    }

    /// Signed differences from the sample along a ray, up to the image's border.
    fn differences_along_ray(&self, from: DVec3, direction: DVec3, step: f64) -> Vec<f64> {
        let steps = (REACH_MM / step) as usize;
        let at = |i: usize| from + direction * (step * (i as f64 - SHORT_OF_HALF));
        let deviation = |mean: f64| mean - self.mean;
        (1..=steps)
            .map_while(|i| self.mean_at(at(i)).map(deviation))
            .collect()
    }

    /// The contrast to values just outside, and the darker and brighter ones: along rays from sampled voxels.
    fn contrast(&self, voxels: &[usize], min_difference: f64) -> (Option<f64>, [Option<f64>; 2]) {
        let grid = &self.image.grid;
        let step = 0.5 * grid.spacing().min_element();
        let every = voxels.len().div_ceil(MAX_RAY_ORIGINS);
        let mut rays: Vec<Vec<f64>> = Vec::new();
        for &voxel in voxels.iter().step_by(every) {
            let from = grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
            for k in (0..27).filter(|k| *k != 13) {
                let towards = DVec3::new((k % 3) as f64, (k / 3 % 3) as f64, (k / 9) as f64) - 1.0;
                rays.push(self.differences_along_ray(from, towards.normalize(), step));
            }
        }
        let deviation = rays.iter().flatten().map(|d| d.abs());
        let mut others: Vec<f64> = deviation.filter(|d| *d > min_difference).collect();
        let Some(typical) = quantile(&mut others, 0.5) else {
            return (None, [None; 2]);
        };
        let begins = (BEGINS * typical).max(min_difference);
        let blurred = (BLURRED * grid.spacing().max_element() / step) as usize;
        let end = |ray: &Vec<f64>| {
            let first = ray.iter().position(|d| d.abs() > begins)?;
            let near = &ray[first..(first + blurred).min(ray.len())];
            near.iter()
                .copied()
                .max_by(|a, b| a.abs().total_cmp(&b.abs()))
        };
        let ends: Vec<f64> = rays.iter().filter_map(end).collect();
        let nearest = |share: f64, counts: &dyn Fn(f64) -> bool| {
            let ends = ends.iter().copied().filter(|d| counts(*d));
            let mut ends: Vec<f64> = ends.map(f64::abs).collect();
            let many = ends.len() as f64 >= share * rays.len() as f64;
            quantile(&mut ends, NEARER).filter(|_| many)
        };
        let darker = nearest(MIN_ADJACENT_SHARE, &|d| d < 0.0).map(|d| self.mean - d);
        let brighter = nearest(MIN_ADJACENT_SHARE, &|d| d > 0.0).map(|d| self.mean + d);
        (nearest(ENDING, &|_| true), [darker, brighter])
    }
}
