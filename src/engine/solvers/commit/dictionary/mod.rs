//! The voxels that each streamline crosses, with lengths and directions.
//!
//! Every segment is cut exactly at the faces between voxels ([`crate::solvers::density::Walk`]), on any grid. Pieces
//! of one streamline in one voxel whose directions differ by at most [`MERGE_DEG`] become one record with the summed
//! length and the mean direction: the mean of Y_lm over directions spread evenly by ±δ differs from Y_lm of the mean
//! direction by the relative amount l (l + 1) δ² / 12, 0.1 % at l = 2 and 4 % at l = 12, where a response has almost
//! no power. Lengths are integers; the rounding of one record is carried to the next, so that a streamline keeps its
//! length to half a unit.

mod blur;
mod imported;
mod pieces;
mod slab;

pub use imported::ImportedDictionary;
pub use slab::Slab;

use super::directions;
use super::lines::Lines;
use crate::compute::kernel_struct;
use crate::compute::{Cancelled, Control};
use crate::data::{Grid, Tractogram, Volume};
use crate::solvers::Error;
use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use pieces::Cutter;
use rayon::prelude::*;
use std::sync::Arc;

/// Pieces whose directions differ by at most this angle are merged.
pub const MERGE_DEG: f64 = 3.0;
/// Peaks shorter than this share of the voxel's longest peak are left out.
pub const MIN_PEAK: f32 = 0.1;
/// Marks unused voxels.
const UNUSED: u32 = u32::MAX;

/// One record.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Segment {
    /// Index of the streamline in its tractogram.
    pub streamline: u32,
    /// [`directions::code`], or a row of an imported table.
    pub direction: u16,
    /// Units of [`Dictionary::unit_mm`].
    pub length: u16,
}
kernel_struct!(Segment as "words of `records` in kernels/commit.cu", 8 { streamline: 0, direction: 4, length: 6 });

/// Statistics of building the dictionary.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Counts {
    /// Length inside the used voxels, mm.
    pub inside_mm: f64,
    /// Length outside the used voxels, mm.
    pub outside_mm: f64,
    /// Streamlines with one point or none.
    pub single_points: u64,
    /// Streamlines of several points that cross no used voxel; like those of one point they keep their index, with
    /// weight 0.
    pub outside: u64,
    /// Segments with a non-finite end point, which are left out.
    pub not_finite: u64,
}

/// Segments of all streamlines by voxel, and the peaks of each voxel: the sparse form of A, before responses are
/// applied.
#[derive(Clone, Debug)]
pub struct Dictionary {
    /// Grid of the scan; `voxels` are indices of its voxels.
    pub grid: Arc<Grid>,
    /// Grid indices of the used voxels, ascending.
    pub voxels: Vec<u32>,
    /// Voxel i owns `segments[offsets[i]..offsets[i + 1]]`.
    pub offsets: Vec<u64>,
    /// Segments of all used voxels, voxel by voxel.
    pub segments: Vec<Segment>,
    /// Length of one unit of [`Segment::length`], mm.
    pub unit_mm: f64,
    /// Number of streamlines, including those without segments.
    pub streamlines: usize,
    /// Peak slots per voxel.
    pub places: usize,
    /// Directions of the peaks, `places` per voxel; occupied slots come first.
    pub peaks: Vec<u16>,
    /// Occupied slots per voxel.
    pub peak_counts: Vec<u8>,
    /// Lengths and streamlines that the dictionary does and does not cover.
    pub counts: Counts,
}

/// Estimated before anything is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Upper bound on the number of records, to within a few percent.
    pub segments: u64,
    /// Peak memory during building.
    pub bytes: u64,
}

/// Choice of voxels and peaks when a dictionary is built.
pub struct Options<'a> {
    /// Voxels of the grid that may be used.
    pub usable: &'a [u8],
    /// Use all of them instead of only those that a streamline crosses.
    pub all: bool,
    /// Spreads each streamline over a disc of this radius, mm.
    pub blur_mm: Option<f64>,
    /// Three frames per peak, world axes.
    pub peaks: Option<&'a Volume>,
}

/// Streamlines per work item.
const CHUNK: usize = 256;

/// Counts face crossings and bends without tracing voxels: merges as `pieces` does, and treats each step as if it lay
/// in one voxel except for its end.
pub fn count_segments(tractogram: &Tractogram, grid: &Grid) -> u64 {
    let cosine = MERGE_DEG.to_radians().cos();
    let shape = DVec3::from_array(grid.shape.map(|n| n as f64));
    let cell = |p: DVec3| {
        (grid.voxel_at(p) + 0.5)
            .floor()
            .clamp(DVec3::splat(-1.0), shape)
    };
    let segments = |line: &[[f32; 3]]| -> u64 {
        let mut count = 1;
        // The mean of the steps since the last bend or face crossing.
        let mut mean = DVec3::ZERO;
        for pair in line.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|p| DVec3::from_array(p.map(f64::from)));
            let way = to - from;
            if !way.is_finite() {
                continue;
            }
            if way.dot(mean) < cosine * way.length() * mean.length() {
                mean = way;
                count += 1;
            } else {
                mean += way;
            }
            let crossed = (cell(to) - cell(from)).abs().element_sum();
            if crossed > 0.0 {
                mean = 0.5 * way;
                count += crossed as u64;
            }
        }
        count
    };
    let lines = (0..tractogram.len()).into_par_iter();
    lines.map(|i| segments(tractogram.streamline(i))).sum()
}

/// Records and memory of a dictionary of streamlines that have this many segments without copies.
pub fn estimate(once: u64, grid: &Grid, blur_mm: Option<f64>) -> Estimate {
    let copies = blur_mm.map_or(1, |_| blur::COPIES as u64);
    let segments = once * copies;
    // A record with its voxel, then the record in its final position.
    Estimate {
        segments,
        bytes: segments * 20 + grid.voxel_count() as u64 * 4,
    }
}

type Chunk = (Vec<(u32, Segment)>, Counts);

impl Dictionary {
    /// Cuts all streamlines at voxel faces and collects their segments by voxel.
    pub fn build(
        lines: &dyn Lines,
        grid: &Arc<Grid>,
        options: &Options,
        control: &Control,
    ) -> Result<Self, Error> {
        let mut slots = vec![UNUSED; grid.voxel_count()];
        let mut voxels: Vec<u32> = Vec::new();
        for (voxel, slot) in slots.iter_mut().enumerate() {
            if options.usable[voxel] != 0 {
                *slot = voxels.len() as u32;
                voxels.push(voxel as u32);
            }
        }
        let spacing = grid.world_from_voxel.matrix3;
        let diagonal = (0..4).map(|c| {
            let sign = |bit: usize| if c >> bit & 1 == 1 { -1.0 } else { 1.0 };
            (spacing.x_axis + spacing.y_axis * sign(0) + spacing.z_axis * sign(1)).length()
        });
        // Twice the longest path through a voxel; longer sums in one voxel are split.
        let unit_mm = 2.0 * diagonal.fold(0.0, f64::max) / f64::from(u16::MAX);
        let count = lines.count();
        control.begin("Cutting streamlines", count as u64);
        let cutter = || Cutter::new(grid, &slots, unit_mm, options.blur_mm);
        let mut chunks: Vec<Chunk> = Vec::new();
        lines.pass(&control.silent(), &mut |first, tractogram| {
            let count = tractogram.len();
            let cut = |cutter: &mut Cutter, piece: usize| {
                control.check()?;
                let range = piece * CHUNK..count.min((piece + 1) * CHUNK);
                let done = range.len() as u64;
                let mut chunk = Chunk::default();
                for i in range {
                    let (line, streamline) = (tractogram.streamline(i), (first + i) as u32);
                    cutter.cut(line, streamline, &mut chunk.0, &mut chunk.1);
                }
                control.advance(done);
                Ok(chunk)
            };
            let pieces = (0..count.div_ceil(CHUNK)).into_par_iter();
            let cut = pieces.map_init(cutter, cut);
            chunks.extend(cut.collect::<Result<Vec<Chunk>, Cancelled>>()?);
            Ok(())
        })?;
        let mut counts = Counts::default();
        for (_, c) in &chunks {
            counts.inside_mm += c.inside_mm;
            counts.outside_mm += c.outside_mm;
            counts.single_points += c.single_points;
            counts.outside += c.outside;
            counts.not_finite += c.not_finite;
        }
        let (mut offsets, segments) = in_voxels(&chunks, voxels.len());
        drop(chunks);
        control.check()?;
        if !options.all {
            let passed = |i: &usize| offsets[i + 1] > offsets[*i];
            let kept: Vec<usize> = (0..voxels.len()).filter(passed).collect();
            voxels = kept.iter().map(|&i| voxels[i]).collect();
            offsets = kept
                .iter()
                .map(|&i| offsets[i])
                .chain(offsets.last().copied())
                .collect();
        }
        let (places, peaks, peak_counts) = match options.peaks {
            Some(volume) => peaks_in(volume, &voxels),
            None => (0, Vec::new(), vec![0; voxels.len()]),
        };
        Ok(Self {
            grid: grid.clone(),
            voxels,
            offsets,
            segments,
            unit_mm,
            streamlines: count,
            places,
            peaks,
            peak_counts,
            counts,
        })
    }

    /// Segments in a used voxel, given by its place in [`Dictionary::voxels`].
    pub fn in_voxel(&self, voxel: usize) -> &[Segment] {
        &self.segments[self.offsets[voxel] as usize..self.offsets[voxel + 1] as usize]
    }

    /// The peaks of a voxel.
    pub fn peaks_in(&self, voxel: usize) -> &[u16] {
        let begin = voxel * self.places;
        &self.peaks[begin..begin + usize::from(self.peak_counts[voxel])]
    }

    /// Number of peaks of all voxels.
    pub fn peak_count(&self) -> u64 {
        self.peak_counts.iter().map(|&n| u64::from(n)).sum()
    }

    /// Length of a record, mm.
    pub fn length_mm(&self, segment: &Segment) -> f64 {
        f64::from(segment.length) * self.unit_mm
    }

    /// Length of each streamline in the used voxels, mm.
    pub fn lengths_mm(&self) -> Vec<f64> {
        let mut units = vec![0u64; self.streamlines];
        for segment in &self.segments {
            units[segment.streamline as usize] += u64::from(segment.length);
        }
        units.into_iter().map(|u| u as f64 * self.unit_mm).collect()
    }

    /// How many voxels have this many segments, in bins of doubling width: 0, 1, 2–3, 4–7, …
    pub fn histogram(&self) -> Vec<u64> {
        let mut bins = Vec::new();
        for pair in self.offsets.windows(2) {
            let n = pair[1] - pair[0];
            let bin = (u64::BITS - n.leading_zeros()) as usize;
            if bins.len() <= bin {
                bins.resize(bin + 1, 0);
            }
            bins[bin] += 1;
        }
        bins
    }
}

/// Sorts records by voxel; each thread fills one range.
fn in_voxels(chunks: &[Chunk], voxels: usize) -> (Vec<u64>, Vec<Segment>) {
    let mut offsets = vec![0u64; voxels + 1];
    for (records, _) in chunks {
        for (voxel, _) in records {
            offsets[*voxel as usize + 1] += 1;
        }
    }
    for i in 0..voxels {
        offsets[i + 1] += offsets[i];
    }
    let total = offsets[voxels] as usize;
    let mut segments = vec![Segment::default(); total];
    let parts = rayon::current_num_threads() as u64;
    let mut rest = segments.as_mut_slice();
    let mut jobs = Vec::new();
    let mut first = 0;
    for part in 1..=parts {
        let until = match part == parts {
            true => voxels,
            false => offsets
                .partition_point(|&o| o < part * total as u64 / parts)
                .min(voxels),
        };
        let until = until.max(first);
        let (own, others) = rest.split_at_mut((offsets[until] - offsets[first]) as usize);
        rest = others;
        jobs.push((first..until, own));
        first = until;
    }
    jobs.into_par_iter().for_each(|(range, own)| {
        let base = offsets[range.start];
        let mut next: Vec<u64> = offsets[range.clone()].iter().map(|o| o - base).collect();
        for (records, _) in chunks {
            for (voxel, segment) in records {
                let voxel = *voxel as usize;
                if range.contains(&voxel) {
                    let place = &mut next[voxel - range.start];
                    own[*place as usize] = *segment;
                    *place += 1;
                }
            }
        }
    });
    (offsets, segments)
}

/// Codes of the peaks at voxels, and the number of occupied slots.
fn peaks_in(volume: &Volume, voxels: &[u32]) -> (usize, Vec<u16>, Vec<u8>) {
    let places = (volume.frames / 3).min(usize::from(u8::MAX));
    let mut codes = vec![0u16; places * voxels.len()];
    let mut counts = vec![0u8; voxels.len()];
    if places == 0 {
        return (0, codes, counts);
    }
    let each = codes.par_chunks_mut(places).zip(&mut counts).zip(voxels);
    each.for_each(|((codes, count), &voxel)| {
        let peak = |p: usize| {
            let v = [0, 1, 2].map(|a| volume.frame(3 * p + a)[voxel as usize]);
            glam::Vec3::from(v)
        };
        let length = |p: usize| match peak(p) {
            v if v.is_finite() => v.length(),
            _ => 0.0,
        };
        let longest = (0..places).map(length).fold(0.0, f32::max);
        for p in 0..places {
            if length(p) > 0.0 && length(p) >= MIN_PEAK * longest {
                codes[usize::from(*count)] = directions::code(peak(p).as_dvec3());
                *count += 1;
            }
        }
    });
    (places, codes, counts)
}
