//! One pass over one brick.

use super::cpu::{Pass, Report};
use super::row::{self, Around, ExtraTerms, LANES, LevelSetRules, SHEARED};
use crate::compute::lanes::Lanes;
use crate::compute::simd::Kernel;

/// Values before the first one of each row of the tile.
const MARGIN: usize = 4;

/// A plane of three pages along a row.
#[inline(always)]
fn slices<'a, const B: usize>(
    now: &'a [f32],
    neighbours: &[u32; 27],
    first: usize,
    plane: usize,
) -> [&'a [f32]; 3] {
    let from = |k: usize| neighbours[first + k] as usize * B * B * B + plane * B * B;
    [
        &now[from(0)..][..B * B],
        &now[from(1)..][..B * B],
        &now[from(2)..][..B * B],
    ]
}

/// Neighbours touched by a voxel of the band; `x`: which of the three along x.
#[inline(always)]
pub fn spread(x: u32, y: usize, z: usize, brick: usize) -> u32 {
    let mut plane = x << 3;
    if y == 0 {
        plane |= x;
    }
    if y == brick - 1 {
        plane |= x << 6;
    }
    let mut all = plane << 9;
    if z == 0 {
        all |= plane;
    }
    if z == brick - 1 {
        all |= plane << 18;
    }
    all
}

pub struct Visit<'a, const B: usize> {
    pub pass: Pass,
    pub rules: &'a LevelSetRules,
    pub now: &'a [f32],
    pub neighbours: &'a [u32; 27],
    pub first: [usize; 3],
    pub shape: [usize; 3],
    pub data: &'a [f32],
    pub planes: usize,
    pub tile: &'a mut Vec<f32>,
    pub next: &'a mut [f32],
    pub report: &'a mut Report,
    pub quantum: &'a (dyn Fn(usize) -> i64 + Sync),
}

pub struct StencilVisit<'a, const B: usize, const KIND: u8>(pub Visit<'a, B>);

impl<const B: usize, const KIND: u8> Kernel for StencilVisit<'_, B, KIND> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let visit = self.0;
        match visit.pass {
            // AVX2 implies the fused form on x86-64; elsewhere the flags are not used.
            _ if cfg!(target_arch = "x86_64") && FMA => visit.run::<KIND, true, FMA>(),
            _ => visit.run::<KIND, false, FMA>(),
        }
    }
}

impl<const B: usize> Visit<'_, B> {
    /// Row length of the tile of a brick with a margin of one voxel.
    pub const ROW: usize = B + 2 * MARGIN;
    pub const PLANE: usize = (B + 2) * Self::ROW;
    pub const TILE: usize = (B + 2) * Self::PLANE;

    /// The source of a row before, behind or within the brick: the brick along the axis and its row. Beyond the grid
    /// its last row is repeated.
    fn from(&self, i: usize, axis: usize) -> (usize, usize) {
        let n = self.shape[axis] - self.first[axis];
        let i = match i {
            0 if self.first[axis] == 0 => 1,
            i => i.min(n),
        };
        match i {
            0 => (0, B - 1),
            i if i <= B => (1, i - 1),
            _ => (2, 0),
        }
    }

    /// Copies the brick with a margin of one voxel.
    #[inline(always)]
    fn load(&mut self) {
        let edge = (0..3).any(|a| self.first[a] == 0 || self.first[a] + B >= self.shape[a]);
        if edge {
            return self.load_at_edge();
        }
        let planes = self.tile.chunks_exact_mut(Self::PLANE);
        for (z, plane) in planes.enumerate() {
            let (dz, iz) = match z {
                0 => (0, B - 1),
                z if z <= B => (9, z - 1),
                _ => (18, 0),
            };
            let (before, rest) = plane.split_at_mut(Self::ROW);
            let (own, behind) = rest.split_at_mut(B * Self::ROW);
            let [left, middle, right] = slices::<B>(self.now, self.neighbours, dz + 3, iz);
            let rows = middle
                .chunks_exact(B)
                .zip(left.chunks_exact(B))
                .zip(right.chunks_exact(B));
            for (row, ((m, l), r)) in own.chunks_exact_mut(Self::ROW).zip(rows) {
                row[MARGIN..MARGIN + B].copy_from_slice(m);
                row[MARGIN - 1] = l[B - 1];
                row[MARGIN + B] = r[0];
            }
            for (row, dy, at) in [(before, 0, B * (B - 1)), (behind, 6, 0)] {
                let [l, m, r] = slices::<B>(self.now, self.neighbours, dz + dy, iz);
                let (l, m, r) = (&l[at..at + B], &m[at..at + B], &r[at..at + B]);
                row[MARGIN..MARGIN + B].copy_from_slice(m);
                row[MARGIN - 1] = l[B - 1];
                row[MARGIN + B] = r[0];
            }
        }
    }

    #[inline(never)]
    fn load_at_edge(&mut self) {
        let page = B * B * B;
        let valid = B.min(self.shape[0] - self.first[0]);
        for z in 0..B + 2 {
            let (dz, iz) = self.from(z, 2);
            for y in 0..B + 2 {
                let (dy, iy) = self.from(y, 1);
                let k = 9 * dz + 3 * dy;
                let [left, middle, right] =
                    [0, 1, 2].map(|d| self.neighbours[k + d] as usize * page + (iz * B + iy) * B);
                let at = z * Self::PLANE + y * Self::ROW;
                let row = &mut self.tile[at..at + Self::ROW];
                row[MARGIN..MARGIN + B].copy_from_slice(&self.now[middle..middle + B]);
                row[MARGIN - 1] = self.now[left + B - 1];
                row[MARGIN + B] = self.now[right];
                if self.first[0] == 0 {
                    row[MARGIN - 1] = row[MARGIN];
                }
                if self.first[0] + B >= self.shape[0] {
                    let last = row[MARGIN + valid - 1];
                    row[MARGIN + valid..=MARGIN + B].fill(last);
                }
            }
        }
    }

    /// A bit for each row of each plane that lies entirely inside, or entirely outside, beyond the band.
    #[inline(always)]
    fn sides<const AVX: bool>(&self) -> [[u32; 18]; 2] {
        let mut sides = [[0; 18]; 2];
        for z in 0..B + 2 {
            for y in 0..B + 2 {
                let at = z * Self::PLANE + y * Self::ROW + MARGIN;
                let row = &self.tile[at - 1..at + B + 1];
                let (mut above, mut below) = (0xFF, 0xFF);
                // Eight at a time; the last eight may overlap those before.
                for part in 0..B / LANES + 1 {
                    let from = (part * LANES).min(B + 2 - LANES);
                    let values = Lanes::load(row, from);
                    let [high, low] = row::beyond::<AVX>(values, self.rules.clamp);
                    above &= high;
                    below &= low;
                }
                sides[0][z] |= u32::from(above == 0xFF) << y;
                sides[1][z] |= u32::from(below == 0xFF) << y;
            }
        }
        sides
    }

    #[inline(always)]
    fn run<const KIND: u8, const AVX: bool, const FMA: bool>(mut self) {
        self.load();
        let sides = self.sides::<AVX>();
        let size = [0, 1, 2].map(|a| B.min(self.shape[a] - self.first[a]));
        let mut report = Report::default();
        for z in 0..B {
            let quiet = |rows: &[u32; 18]| {
                let (before, own, behind) = (rows[z], rows[z + 1], rows[z + 2]);
                let mut all = own & own << 1 & own >> 1 & before & behind;
                if KIND == SHEARED {
                    // Gradients use diagonal neighbours, too.
                    all &= before << 1 & before >> 1 & behind << 1 & behind >> 1;
                }
                all >> 1
            };
            let quiet = quiet(&sides[0]) | quiet(&sides[1]);
            for y in 0..B {
                let out = (z * B + y) * B;
                let within = y < size[1] && z < size[2];
                if quiet >> y & 1 == 1 || !within {
                    let value = self.tile[(z + 1) * Self::PLANE + (y + 1) * Self::ROW + MARGIN];
                    self.next[out..out + B].fill(value);
                    if within {
                        report.sides |= if value > 0.0 { 1 } else { 2 };
                    }
                    continue;
                }
                for part in 0..B / LANES {
                    let x = part * LANES;
                    if x >= size[0] {
                        continue;
                    }
                    let valid = if x + LANES > size[0] {
                        (1u32 << (size[0] - x)) - 1
                    } else {
                        0xFF
                    };
                    let at = (z + 1) * Self::PLANE + (y + 1) * Self::ROW + MARGIN + x;
                    let around = Around::new(self.tile, at, Self::ROW, Self::PLANE);
                    let before = around.centre::<AVX>();
                    let after = self.voxels::<KIND, AVX, FMA>(&around, out + x);
                    self.next[out + x..out + x + LANES].copy_from_slice(&after.0);
                    let was = row::inside(before) & valid;
                    let is = row::inside(after) & valid;
                    report.sides |= u32::from(is != 0) | u32::from(is != valid) << 1;
                    let flips = was ^ is;
                    if flips != 0 {
                        report.growth += is.count_ones() as i32 - was.count_ones() as i32;
                        if self.planes > 1 {
                            report.sum += self.changed_sum(flips, is, [x, y, z]);
                        }
                    }
                    let band = row::in_band(after, self.rules.clamp) & valid;
                    if band != 0 {
                        let first = u32::from(x == 0) & band;
                        let last = u32::from(x + LANES == B) & band >> (LANES - 1);
                        report.touched |= spread(2 | first | last << 2, y, z, B);
                    }
                }
            }
        }
        *self.report = report;
    }

    #[inline(always)]
    fn voxels<const KIND: u8, const AVX: bool, const FMA: bool>(
        &self,
        around: &Around,
        at: usize,
    ) -> Lanes<LANES, AVX> {
        if let Pass::Redistance { first } = self.pass {
            return row::redistance::<KIND, AVX, FMA>(around, self.rules, first);
        }
        let plane = |k: usize| Lanes::<LANES, AVX>::load(self.data, k * B * B * B + at);
        let speed = plane(0);
        if self.rules.paper {
            return row::paper::<AVX, FMA>(around, self.rules, speed);
        }
        if self.planes == 1 {
            return row::step::<KIND, false, AVX, FMA>(around, self.rules, speed, None);
        }
        let extra = ExtraTerms {
            stop: plane(1),
            drift: [plane(2), plane(3), plane(4)],
            value: plane(5),
        };
        row::step::<KIND, true, AVX, FMA>(around, self.rules, speed, Some(&extra))
    }

    /// The sum of the grey values of voxels that joined, minus those that left.
    fn changed_sum(&self, flips: u32, is: u32, [x, y, z]: [usize; 3]) -> i64 {
        let [nx, ny, _] = self.shape;
        let row = self.first[0] + x + nx * (self.first[1] + y + ny * (self.first[2] + z));
        let lanes = (0..LANES).filter(|i| flips >> i & 1 == 1);
        lanes
            .map(|i| {
                let value = (self.quantum)(row + i);
                if is >> i & 1 == 1 { value } else { -value }
            })
            .sum()
    }
}
