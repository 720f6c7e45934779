//! Points of streamlines in the layout that the renderer draws: 6 bytes each, in blocks with bounds. A graphics card that
//! computes streamlines writes the same bytes (kernels/drawn_lines.cu).
//!
//! A point is three 16-bit numbers that count steps from the low corner of its block. Steps are powers of two and
//! corners whole steps, so that a point does not depend on the others in its block; in a head the error is at most 2
//! µm. Directions are computed from neighbouring points, so that they take no memory (shaders/lines.wgsl).

use bytemuck::{Pod, Zeroable};
use glam::{DVec3, Vec3};

/// Slots of a block; slices test blocks, so that they draw only those near them.
pub const BLOCK: usize = 32;
/// Corner and step, then the slots.
pub const BLOCK_LEN: usize = 4 + BLOCK * 3 / 2;
/// Size of a block.
pub const BLOCK_BYTES: u64 = BLOCK_LEN as u64 * 4;
/// Marks the gap between two streamlines.
pub const GAP: u16 = u16::MAX;
/// The largest coordinate of a point.
const MAXIMUM_COORDINATE: f32 = 65_534.0;
/// Rounding of points, mm, unless all of them lie closer or those of a block farther apart.
const STEP_MM: f32 = 1.0 / 256.0;

/// A point, world mm, or the gap between two streamlines.
pub type Slot = Option<Vec3>;

/// The smallest power of two with this reach.
fn step_over(mm: f32) -> f32 {
    // One less, since a corner may lie up to a step lower.
    let min_step = (mm / (MAXIMUM_COORDINATE - 1.0)).max(f32::MIN_POSITIVE);
    let below = f32::from_bits(min_step.to_bits() & 0x7f80_0000);
    if below < min_step { 2.0 * below } else { below }
}

/// Packs up to [`BLOCK`] slots of a tractogram into the device's numbers of 32 bits; if there are fewer, gaps follow.
pub fn pack(frame: &Frame, block: &[Slot], packed: &mut [u32]) {
    let points = || block.iter().flatten();
    let low = points().fold(Vec3::MAX, |low, p| low.min(*p));
    let high = points().fold(Vec3::MIN, |high, p| high.max(*p));
    // Halved, since the difference of the ends may overflow.
    let half = (high * 0.5 - low * 0.5).max_element();
    let step = frame.step_mm.max(2.0 * step_over(half));
    let corner = (low / step).floor() * step;
    let low = if corner.is_finite() { corner } else { low };
    let (head, numbers_of_slots) = packed.split_at_mut(4);
    head[..3].copy_from_slice(&low.to_array().map(f32::to_bits));
    head[3] = step.to_bits();
    let numbers = |slot: &Slot| match slot {
        Some(point) => ((point - low) / step + 0.5)
            .to_array()
            .map(|n| n.min(MAXIMUM_COORDINATE) as u16),
        None => [GAP; 3],
    };
    let all = block.iter().map(numbers);
    let mut all = all.chain(std::iter::repeat([GAP; 3]));
    for pair in numbers_of_slots.chunks_exact_mut(3) {
        let mut next = || all.next().unwrap_or([GAP; 3]).map(u32::from);
        let ([a, b, c], [d, e, f]) = (next(), next());
        pair.copy_from_slice(&[a | b << 16, c | d << 16, e | f << 16]);
    }
}

/// A box within a tractogram's bounds, in 255ths of them, rounded outwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Reach {
    low: [u8; 3],
    high: [u8; 3],
}

impl Reach {
    /// The box of no points.
    pub const EMPTY: Self = Self {
        low: [u8::MAX; 3],
        high: [0; 3],
    };

    /// Includes another box.
    pub fn extend(&mut self, other: &Self) {
        for axis in 0..3 {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
        }
    }
}

/// The bounds of a tractogram, which define the rounding of its slots.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The corner from which boxes are counted, world mm.
    pub low: DVec3,
    /// A 255th of the bounds, mm.
    pub step: DVec3,
    /// The smallest step of points, mm.
    pub step_mm: f32,
}

impl Frame {
    /// The frame of points within these bounds, mm.
    pub fn new((low, high): (DVec3, DVec3)) -> Self {
        // A little wider, for rounding; flat bounds need a step, too.
        let wider = (high - low) * 1e-3 + 1e-6;
        Self {
            low: low - wider,
            step: (high - low + 2.0 * wider) / 255.0,
            step_mm: STEP_MM.min(step_over((high - low).max_element() as f32)),
        }
    }

    /// The box around points.
    pub fn reach_of(&self, points: impl Iterator<Item = Vec3>) -> Reach {
        let (low, high) = points.fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), p| {
            (low.min(p), high.max(p))
        });
        let within = |p: Vec3| (p.as_dvec3() - self.low) / self.step;
        if low.x > high.x {
            return Reach::EMPTY;
        }
        Reach {
            low: within(low).floor().to_array().map(|n| n as u8),
            high: within(high).ceil().to_array().map(|n| n as u8),
        }
    }

    /// The corners of a box, world mm.
    pub fn bounds(&self, reach: &Reach) -> (Vec3, Vec3) {
        let at = |n: [u8; 3]| (self.low + self.step * DVec3::from(n.map(f64::from))).as_vec3();
        (at(reach.low), at(reach.high))
    }
}
