//! Bricks visited by all threads, those with the smallest values first.

use super::layout::{Brick, Layout, NONE};
use super::row::{Axes, Godunov, HopfLax, LANES, STRIDE, Stencil, lanes, selling};
use super::{CostSource, LocalSolver, OUTSIDE, Params, Prepared, Schedule, UNREACHED};
use crate::compute::simd::{self, Kernel};
use crate::compute::{Cancelled, Control, Lanes};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Rows of the largest tile, 8 × 8 plus a margin of one, and rows of the largest brick.
const TILE_ROWS: usize = 100;
/// The brick itself, as a bit among the woken neighbours.
const SELF: u32 = 1 << 13;
/// Set if a cell that is read through a long offset has changed.
const FAR: u32 = 1 << 27;
/// Marks bricks that are not waiting.
const NOT_WAITING: u32 = u32::MAX;
/// Smallest number of bricks visited at a time.
const MIN_BATCH: usize = 16;

/// Values by place for each source, infinity where no path leads; `look` is called after every batch of bricks.
pub fn solve(
    prepared: &Prepared,
    sources: &[Arc<CostSource>],
    params: &Params,
    control: &Control,
    mut look: impl FnMut(&Front),
) -> Result<Vec<Vec<f32>>, Cancelled> {
    let schedule = params.schedule.unwrap_or(Schedule::BEST);
    prepared.with_layout(schedule.brick, control, |layout| {
        control.check()?;
        let total = (sources.len() * prepared.metric.len()) as u64;
        control.begin("Spreading costs", total);
        let mut front = Front::new(prepared, layout, sources, params, schedule);
        while front.batch(control)? {
            look(&front);
        }
        Ok(front.values())
    })
}

/// All fields that are being solved.
pub struct Front<'a> {
    fields: usize,
    local: LocalSolver,
    layout: &'a Layout,
    schedule: Schedule,
    tolerance: f32,
    /// Whether the calling thread makes all visits.
    alone: bool,
    /// Bits of the values: by field, then cell.
    cells: Vec<AtomicU32>,
    /// Bits of the values with which voxels last woke their readers: by field, then row and lane. Small decreases add
    /// up relative to these. Only the visit of a row's brick reads and writes them.
    known: Vec<AtomicU32>,
    /// By field, then brick: bits of the smallest value that woke it, and the direction from which it was woken.
    keys: Vec<AtomicU32>,
    woken: Vec<AtomicU32>,
    /// Indices of the waiting bricks.
    list: Vec<u32>,
}

impl<'a> Front<'a> {
    fn new(
        prepared: &Prepared,
        layout: &'a Layout,
        sources: &[Arc<CostSource>],
        params: &Params,
        schedule: Schedule,
    ) -> Self {
        let fields = sources.len();
        let filled = |count: usize, value: f32| -> Vec<AtomicU32> {
            let all = (0..count).into_par_iter();
            let all = all.with_min_len(prepared.min_part(1));
            all.map(|_| AtomicU32::new(value.to_bits())).collect()
        };
        let cells = filled(fields * layout.cells, OUTSIDE);
        let known = filled(fields * layout.rows.len() * LANES, UNREACHED);
        let of_bricks = |value: u32| -> Vec<AtomicU32> {
            let each = (0..fields * layout.bricks.len()).map(|_| AtomicU32::new(value));
            each.collect()
        };
        let front = Self {
            fields,
            local: prepared.local,
            layout,
            schedule,
            tolerance: params.tolerance,
            alone: prepared.alone,
            cells,
            known,
            keys: of_bricks(NOT_WAITING),
            woken: of_bricks(0),
            list: Vec::new(),
        };
        for (f, source) in sources.iter().enumerate() {
            let cells = front.field(f);
            for &cell in &layout.cell_of {
                cells[cell as usize].store(UNREACHED.to_bits(), Ordering::Relaxed);
            }
            for seed in &source.seeds {
                let cell = layout.cell_of[seed.place as usize];
                cells[cell as usize].fetch_min(seed.value.to_bits(), Ordering::Relaxed);
            }
        }
        front.with_list(sources)
    }

    /// Lists the bricks that can read a cell of a source.
    fn with_list(mut self, sources: &[Arc<CostSource>]) -> Self {
        let count = self.layout.bricks.len();
        for (f, source) in sources.iter().enumerate() {
            for seed in &source.seeds {
                let (name, row) = self.layout.row_of(seed.place as usize);
                let brick = &self.layout.bricks[name];
                let key = seed.value.to_bits();
                let mut wake = |name: u32, bits: u32| {
                    let at = f * count + name as usize;
                    self.woken[at].fetch_or(bits, Ordering::Relaxed);
                    if self.keys[at].fetch_min(key, Ordering::Relaxed) == NOT_WAITING {
                        self.list.push(at as u32);
                    }
                };
                for (k, &next) in brick.around.iter().enumerate() {
                    if next != NONE {
                        wake(next, 1 << (26 - k));
                    }
                }
                for &(reader, rows) in &brick.readers {
                    if rows >> row & 1 == 1 {
                        wake(reader, FAR);
                    }
                }
            }
        }
        self
    }

    fn row_cell(&self, brick: &Brick, y: u8, z: u8) -> usize {
        let [sy, sz] = self.layout.stride;
        brick.cell + sy * usize::from(y) + sz * usize::from(z)
    }

    fn field(&self, field: usize) -> &[AtomicU32] {
        let cells = self.layout.cells;
        &self.cells[field * cells..(field + 1) * cells]
    }

    fn known(&self, field: usize) -> &[AtomicU32] {
        let voxels = self.layout.rows.len() * LANES;
        &self.known[field * voxels..(field + 1) * voxels]
    }

    /// The current values, by place.
    pub fn values(&self) -> Vec<Vec<f32>> {
        let costs = |f: usize| {
            let cells = self.field(f);
            let value = |&c: &u32| {
                let value = f32::from_bits(cells[c as usize].load(Ordering::Relaxed));
                if value < UNREACHED {
                    value
                } else {
                    f32::INFINITY
                }
            };
            let cells = self.layout.cell_of.par_iter();
            let part = if self.alone { usize::MAX } else { 1 };
            cells.with_min_len(part).map(value).collect()
        };
        (0..self.fields).map(costs).collect()
    }

    /// Visits the waiting bricks with the smallest values; false if none waits.
    fn batch(&mut self, control: &Control) -> Result<bool, Cancelled> {
        if self.list.is_empty() {
            return Ok(false);
        }
        control.check()?;
        let mut now = std::mem::take(&mut self.list);
        let count = (now.len() / self.schedule.one_in).max(MIN_BATCH);
        if count < now.len() {
            let key = |&b: &u32| self.keys[b as usize].load(Ordering::Relaxed);
            now.select_nth_unstable_by_key(count, key);
            self.list.extend_from_slice(&now[count..]);
            now.truncate(count);
        }
        let visit = |mut woken: Vec<u32>, &brick: &u32| {
            let reached = self.visit(brick, &mut woken);
            control.advance(reached);
            woken
        };
        let woken: Vec<u32> = if self.alone || now.len() < 4 {
            now.iter().fold(Vec::new(), visit)
        } else {
            let parts = now.par_iter().with_min_len(2).fold(Vec::new, visit);
            parts.reduce(Vec::new, |mut a, b| {
                a.extend(b);
                a
            })
        };
        self.list.extend(woken);
        Ok(true)
    }

    /// Visits a brick and adds those that start waiting. Returns the number of voxels reached for the first time.
    fn visit(&self, at: u32, list: &mut Vec<u32>) -> u64 {
        let count = self.layout.bricks.len();
        let (field, name) = (at as usize / count, at as usize % count);
        // The key is cleared first: a thread that wakes the brick sets it last.
        self.keys[at as usize].swap(NOT_WAITING, Ordering::AcqRel);
        let woken = self.woken[at as usize].swap(0, Ordering::AcqRel);
        let brick = &self.layout.bricks[name];
        let visit = Visit {
            front: self,
            cells: self.field(field),
            known: self.known(field),
            brick,
            woken,
        };
        let done = simd::dispatch(visit);
        if done.key == NOT_WAITING {
            return done.reached;
        }
        let mut wake = |name: u32, bits: u32| {
            let at = field * count + name as usize;
            self.woken[at].fetch_or(bits, Ordering::AcqRel);
            if self.keys[at].fetch_min(done.key, Ordering::AcqRel) == NOT_WAITING {
                list.push(at as u32);
            }
        };
        for (k, &next) in brick.around.iter().enumerate() {
            if next != NONE && done.toward >> k & 1 == 1 {
                wake(next, 1 << (26 - k));
            }
        }
        if !done.quiet {
            wake(name as u32, SELF);
        }
        for &(reader, rows) in &brick.readers {
            if rows & done.rows != 0 {
                wake(reader, FAR);
            }
        }
        done.reached
    }
}

/// The result of a visit.
struct VisitResult {
    /// Bits of the smallest value that decreased.
    key: u32,
    /// Neighbours that can read a cell that decreased.
    toward: u32,
    /// Rows in which a cell decreased, by y and z.
    rows: u64,
    quiet: bool,
    reached: u64,
}

struct Visit<'a> {
    front: &'a Front<'a>,
    cells: &'a [AtomicU32],
    known: &'a [AtomicU32],
    brick: &'a Brick,
    woken: u32,
}

/// Changed cells of a tile's rows: one bit for each of the ten cells.
type ChangedCells = [u16; TILE_ROWS];

impl Kernel for Visit<'_> {
    type Output = VisitResult;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> VisitResult {
        let [ny, nz] = self.front.layout.brick;
        let [sy, sz] = self.front.layout.stride;
        let side = ny + 2;
        let mut tile = [OUTSIDE; TILE_ROWS * STRIDE];
        let corner = self.brick.cell - 1 - sy - sz;
        for z in 0..nz + 2 {
            for y in 0..side {
                let from = &self.cells[corner + y * sy + z * sz..][..LANES + 2];
                let to = &mut tile[(y + side * z) * STRIDE..][..LANES + 2];
                for (to, from) in to.iter_mut().zip(from) {
                    *to = f32::from_bits(from.load(Ordering::Relaxed));
                }
            }
        }
        let mut old = self.changed_neighbour_cells();
        let (mut key, mut reached) = (NOT_WAITING, 0);
        let mut all: ChangedCells = [0; TILE_ROWS];
        let mut quiet = false;
        let rows = self.brick.rows.clone();
        let mut member = self.front.local.uses_selling();
        for turn in 0..self.front.schedule.inner {
            let mut new: ChangedCells = [0; TILE_ROWS];
            let mut any = 0;
            for i in rows.clone() {
                // In alternating order, so that a front crosses the brick in either direction.
                let index = if turn % 2 == 0 {
                    i
                } else {
                    rows.start + rows.end - 1 - i
                };
                let row = &self.front.layout.rows[index];
                let (y, z) = (usize::from(row.y) + 1, usize::from(row.z) + 1);
                let at = y + side * z;
                let dirty = self.dirty(at, side, row.lanes, &old, &new);
                if dirty == [0; 8] && !member {
                    continue;
                }
                let first = at * STRIDE + 1;
                let before = Lanes::load(&tile, first);
                let stencil = Stencil {
                    tile: &tile,
                    slice: side * STRIDE,
                    cell: first,
                };
                let after = self.min_values::<FMA>(index, &stencil, before, dirty, member);
                let cell = self.front.row_cell(self.brick, row.y, row.z);
                let known = &self.known[index * LANES..][..LANES];
                for lane in 0..LANES {
                    let (was, is) = (before.0[lane], after.0[lane]);
                    if row.lanes >> lane & 1 == 0 || !(is < was) {
                        continue;
                    }
                    tile[first + lane] = is;
                    self.cells[cell + lane].store(is.to_bits(), Ordering::Relaxed);
                    reached += u64::from(was >= UNREACHED);
                    let read = f32::from_bits(known[lane].load(Ordering::Relaxed));
                    if read - is > self.front.tolerance * is {
                        known[lane].store(is.to_bits(), Ordering::Relaxed);
                        new[at] |= 2 << lane;
                        key = key.min(is.to_bits());
                    }
                }
                all[at] |= new[at];
                any |= new[at];
            }
            if any == 0 {
                quiet = true;
                break;
            }
            old = new;
            member = self.front.local.uses_selling();
        }
        let mut done = VisitResult {
            key,
            toward: 0,
            rows: 0,
            quiet,
            reached,
        };
        for z in 1..=nz {
            for y in 1..=ny {
                let bits = all[y + side * z];
                if bits == 0 {
                    continue;
                }
                done.rows |= 1 << (y - 1 + ny * (z - 1));
                // Whether the positions before, here and after along an axis can be affected.
                let reach = |low: bool, high: bool| [low, true, high];
                let x = reach(bits >> 1 & 1 == 1, bits >> 8 & 1 == 1);
                let (yy, zz) = (reach(y == 1, y == ny), reach(z == 1, z == nz));
                for k in 0..27 {
                    if k != 13 && x[k % 3] && yy[k / 3 % 3] && zz[k / 9] {
                        done.toward |= 1 << k;
                    }
                }
            }
        }
        done
    }
}

impl Visit<'_> {
    /// The cells of the tile that belong to the neighbours that woke the brick.
    #[inline(always)]
    fn changed_neighbour_cells(&self) -> ChangedCells {
        let [ny, nz] = self.front.layout.brick;
        let side = ny + 2;
        let mut out = [0; TILE_ROWS];
        for k in 0..27 {
            if self.woken >> k & 1 == 0 {
                continue;
            }
            let range = |third: usize, n: usize| match third {
                0 => 0..1,
                1 => 1..n + 1,
                _ => n + 1..n + 2,
            };
            let bits = [1, 0x1FE, 0x200][k % 3];
            for z in range(k / 9, nz) {
                for y in range(k / 3 % 3, ny) {
                    out[y + side * z] |= bits;
                }
            }
        }
        out
    }

    /// For each octant (bits: + along x, y, z) the voxels that can read a cell that decreased.
    #[inline(always)]
    fn dirty(
        &self,
        at: usize,
        side: usize,
        lanes: u8,
        old: &ChangedCells,
        new: &ChangedCells,
    ) -> [u8; 8] {
        let row = |at: usize| u32::from(old[at] | new[at]);
        let here = row(at);
        let mut out = [0; 8];
        if self.front.local == LocalSolver::Godunov6 {
            let along = [row(at - 1), row(at + 1)];
            let up = [row(at - side), row(at + side)];
            for (o, out) in out.iter_mut().enumerate() {
                let bits = here >> (2 * (o & 1)) | (along[o >> 1 & 1] | up[o >> 2]) >> 1;
                *out = bits as u8 & lanes;
            }
            return out;
        }
        for (o, out) in out.iter_mut().enumerate().filter(|_| lanes != 0) {
            let y = if o >> 1 & 1 == 1 { at + 1 } else { at - 1 };
            let (z, yz) = if o >> 2 == 1 {
                (at + side, y + side)
            } else {
                (at - side, y - side)
            };
            let others = row(y) | row(z) | row(yz);
            let bits = (here | others) >> (2 * (o & 1)) | others >> 1;
            *out = bits as u8 & lanes;
        }
        out
    }

    /// The smallest values of a row's voxels.
    #[inline(always)]
    fn min_values<const F: bool>(
        &self,
        index: usize,
        stencil: &Stencil<'_>,
        mut best: Lanes<8, F>,
        dirty: [u8; 8],
        member: bool,
    ) -> Lanes<8, F> {
        let layout = self.front.layout;
        let local = self.front.local;
        if local != LocalSolver::Selling && dirty != [0; 8] {
            let axes = Axes::<F>::new(&layout.rows[index].weights);
            let (sy, sz) = (STRIDE as isize, stencil.slice as isize);
            for pair in 0..4 {
                // The octant with + along x, and the opposite octant.
                let (o, opposite) = (1 | pair << 1, 7 ^ (1 | pair << 1));
                if dirty[o] | dirty[opposite] == 0 {
                    continue;
                }
                let (y, z) = (2 * (pair & 1) as isize - 1, (pair & 2) as isize - 1);
                let forward = [1, sy * y, sz * z];
                let back = [-1, -sy * y, -sz * z];
                let (fy, fz) = (y as f32, z as f32);
                if local == LocalSolver::Godunov6 {
                    let solver = Godunov::<F>::new(&axes, fy, fz);
                    for (o, steps) in [(o, forward), (opposite, back)] {
                        if dirty[o] != 0 {
                            best = solver.octant(stencil, steps, best);
                        }
                    }
                } else {
                    let solver = HopfLax::<F>::new(&axes, fy, fz);
                    for (o, steps) in [(o, forward), (opposite, back)] {
                        if dirty[o] != 0 {
                            best = solver.octant(stencil, steps, best);
                        }
                    }
                }
            }
        }
        if member {
            let terms = &layout.terms[index];
            let row = &layout.rows[index];
            let first = self.front.row_cell(self.brick, row.y, row.z);
            let mut values = [Lanes::splat(OUTSIDE); 6];
            for k in 0..6 {
                for lane in 0..LANES {
                    let end = |e: usize| match terms.ends[2 * k + e][lane] {
                        0 => OUTSIDE,
                        offset => {
                            let cell = (first + lane).wrapping_add_signed(offset as isize);
                            f32::from_bits(self.cells[cell].load(Ordering::Relaxed))
                        }
                    };
                    values[k].0[lane] = end(0).min(end(1));
                }
            }
            best = selling(values, lanes(&terms.rho), best);
        }
        best
    }
}
