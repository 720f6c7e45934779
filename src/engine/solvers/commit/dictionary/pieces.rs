//! One streamline as records.

use super::blur::Blur;
use super::{Counts, MERGE_DEG, Segment, UNUSED};
use crate::data::Grid;
use crate::solvers::commit::directions;
use crate::solvers::density::Walk;
use glam::DVec3;

struct Piece {
    slot: u32,
    /// Unit vector times `length`.
    way: DVec3,
    length: f64,
}

/// Cuts streamlines at the faces between voxels.
pub struct Cutter<'a> {
    walk: Walk,
    slots: &'a [u32],
    unit_mm: f64,
    blur: Option<Blur>,
    pieces: Vec<Piece>,
    line: Vec<DVec3>,
    copy: Vec<DVec3>,
}

impl<'a> Cutter<'a> {
    pub fn new(grid: &Grid, slots: &'a [u32], unit_mm: f64, blur_mm: Option<f64>) -> Self {
        Self {
            walk: Walk::new(grid),
            slots,
            unit_mm,
            blur: blur_mm.map(Blur::new),
            pieces: Vec::new(),
            line: Vec::new(),
            copy: Vec::new(),
        }
    }

    pub fn cut(
        &mut self,
        points: &[[f32; 3]],
        streamline: u32,
        out: &mut Vec<(u32, Segment)>,
        counts: &mut Counts,
    ) {
        if points.len() < 2 {
            counts.single_points += 1;
            return;
        }
        self.pieces.clear();
        self.line.clear();
        let world = |p: &[f32; 3]| DVec3::from_array(p.map(f64::from));
        self.line.extend(points.iter().map(world));
        match self.blur.take() {
            None => {
                let line = std::mem::take(&mut self.line);
                self.add(&line, 1.0, counts);
                self.line = line;
            }
            Some(blur) => {
                let line = std::mem::take(&mut self.line);
                let mut copy = std::mem::take(&mut self.copy);
                for i in 0..super::blur::COPIES {
                    let weight = blur.copy(&line, i, &mut copy);
                    self.add(&copy, weight, counts);
                }
                (self.line, self.copy, self.blur) = (line, copy, Some(blur));
            }
        }
        let before = out.len();
        self.merge(streamline, out);
        if out.len() == before {
            counts.outside += 1;
        }
    }

    fn add(&mut self, line: &[DVec3], weight: f64, counts: &mut Counts) {
        for pair in line.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if !(from.is_finite() && to.is_finite()) {
                counts.not_finite += 1;
                continue;
            }
            let along = (to - from) * weight;
            let length = along.length();
            let mut inside = 0.0;
            let (slots, pieces) = (self.slots, &mut self.pieces);
            self.walk.segment(from, to, |voxel, (begin, end)| {
                let slot = slots[voxel];
                let share = end - begin;
                if slot != UNUSED && share > 0.0 {
                    inside += share;
                    pieces.push(Piece {
                        slot,
                        way: along * share,
                        length: length * share,
                    });
                }
            });
            counts.inside_mm += inside * length;
            counts.outside_mm += (1.0 - inside) * length;
        }
    }

    /// Merges pieces of one voxel with nearly equal directions into one record.
    fn merge(&mut self, streamline: u32, out: &mut Vec<(u32, Segment)>) {
        let cosine = MERGE_DEG.to_radians().cos();
        self.pieces.sort_by_key(|p| p.slot);
        // Exact and written length so far, in units.
        let (mut requested, mut written) = (0.0, 0u64);
        for run in self.pieces.chunk_by_mut(|a, b| a.slot == b.slot) {
            let mut groups = 0;
            for i in 0..run.len() {
                let (slot, mut way, length) = (run[i].slot, run[i].way, run[i].length);
                let near = run[..groups]
                    .iter()
                    .position(|g| way.dot(g.way).abs() >= cosine * way.length() * g.way.length());
                match near {
                    Some(g) => {
                        if way.dot(run[g].way) < 0.0 {
                            way = -way;
                        }
                        run[g].way += way;
                        run[g].length += length;
                    }
                    None => {
                        run[groups] = Piece { slot, way, length };
                        groups += 1;
                    }
                }
            }
            for group in &run[..groups] {
                requested += group.length / self.unit_mm;
                let direction = directions::code(group.way);
                let mut units = (requested.round() as u64).saturating_sub(written);
                written += units;
                while units > 0 {
                    let part = units.min(u64::from(u16::MAX));
                    units -= part;
                    let segment = Segment {
                        streamline,
                        direction,
                        length: part as u16,
                    };
                    out.push((group.slot, segment));
                }
            }
        }
    }
}
