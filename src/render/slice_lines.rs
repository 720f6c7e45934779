//! Streamlines on slices: capsules within a slab around the plane.

use super::gpu::Gpu;
use super::line_buffers::{Chunk, LineKey, LineStore};
use super::lines::{
    FIXED, LinePipelines, MINIMUM_HALF_WIDTH_PX, StyleUniform, chunk_values, overlap,
    slots_per_chunk, style_uniform, sum_of_slots, values_of,
};
use super::textures::Textures;
use crate::data::line_blocks::{BLOCK, Frame};
use crate::scene::draw_list::{LineStyle, Lines, SlicePane};
use glam::{DMat4, DVec3, DVec4, Mat4, Vec3};
use std::ops::Range;

/// Lines have a dark rim, without which they would vanish among similar colours. It is drawn before any line so that it
/// covers none.
const RIM_PX: f64 = 1.0;
const RIM_OPACITY: f32 = 0.6;

/// Slots of all streamlines of a slice that can be drawn, with at most this many per tractogram: once for their rims,
/// once for themselves.
pub(super) fn slice_slots(
    lines: &[Lines],
    keys: &[LineKey],
    store: &LineStore,
    max_slots: usize,
) -> usize {
    2 * sum_of_slots((lines, keys), store, max_slots, |_, slots| slots)
}

/// Some of them, ready to draw: with the numbers of blocks near the plane.
#[derive(Default)]
pub(super) struct Capsules {
    rims: Vec<(wgpu::BindGroup, u32)>,
    lines: Vec<(wgpu::BindGroup, u32)>,
}

impl LinePipelines {
    /// The capsules near the plane for a part of the slots that [`slice_slots`] counts.
    pub fn capsules(
        &self,
        gpu: &Gpu,
        (textures, store): (&Textures, &LineStore),
        pane: &SlicePane,
        keys: &[LineKey],
        (max_slots, part): (usize, &Range<usize>),
    ) -> Capsules {
        let mut capsules = Capsules::default();
        let total = slice_slots(&pane.lines, keys, store, max_slots) / 2;
        let slab = slab_from_world(pane).as_mat4();
        let mm_per_px = (pane.right.length() + pane.down.length()) * 0.5;
        let rim = RIM_PX * f64::from(pane.scale);
        let [width, height] = pane.size_px.map(|n| n as f32);
        let mut before = 0;
        for (lines, key) in pane.lines.iter().zip(keys) {
            let Some(buffers) = store.get(*key) else {
                continue;
            };
            let half_width = match lines.style {
                LineStyle::Lines { width_px } => f64::from(width_px * pane.scale) * 0.5,
                LineStyle::Tubes { radius_mm } => f64::from(radius_mm) / mm_per_px,
            };
            // A cut streamline narrower than a logical pixel would be hard to find.
            let half_width = half_width.max(MINIMUM_HALF_WIDTH_PX * f64::from(pane.scale));
            let near = SliceBounds::new(&slab, pane.size_px, (half_width + rim + 1.0) as f32);
            let frame = buffers.frame();
            let name = values_of(lines);
            for (index, slots) in slots_per_chunk(buffers, name, max_slots).enumerate() {
                let chunk = &buffers.chunks[index];
                let own = |from: usize| {
                    let first = from + before;
                    let slots = overlap(part, first..first + slots);
                    slots.start.div_ceil(BLOCK)..slots.end.div_ceil(BLOCK)
                };
                let (of_rims, of_lines) = (own(0), own(total));
                before += slots;
                let rims = near.blocks((chunk, &frame), of_rims.clone());
                let seen = match of_lines == of_rims {
                    true => rims.clone(),
                    false => near.blocks((chunk, &frame), of_lines),
                };
                let mut style = style_uniform(lines);
                style.from_world = slab.to_cols_array_2d();
                style.view = [width, height, 0.0, half_width as f32];
                style.tube = [0.0, 0.0, lines.opacity, 0.0];
                style.kind[2] = slots as u32;
                let mut dark = style;
                dark.view[3] = (half_width + rim) as f32;
                dark.tube[2] *= RIM_OPACITY;
                dark.kind[0] = FIXED;
                dark.colour = [0.0, 0.0, 0.0, 1.0];
                let values = chunk_values(buffers, name, index);
                let ready = |style: &StyleUniform, blocks: &[u32]| {
                    let buffer = gpu.storage(blocks.len() as u64 * 4);
                    gpu.queue
                        .write_buffer(&buffer, 0, bytemuck::cast_slice(blocks));
                    let uniform = gpu.uniform(style);
                    let group = self.group(
                        gpu,
                        textures,
                        (&uniform, self.no_clips()),
                        (chunk, values, Some(&buffer)),
                    );
                    (group, blocks.len() as u32)
                };
                if !rims.is_empty() {
                    capsules.rims.push(ready(&dark, &rims));
                }
                if !seen.is_empty() {
                    capsules.lines.push(ready(&style, &seen));
                }
            }
        }
        capsules
    }

    /// The capsules of all lines except those of the context, which are drawn once more over the images that cover it.
    pub fn foreground(
        &self,
        gpu: &Gpu,
        (textures, store): (&Textures, &LineStore),
        (pane, keys, max_slots): (&SlicePane, &[LineKey], usize),
    ) -> Capsules {
        let own = pane.lines.iter().zip(keys);
        let own = own.filter(|(lines, _)| !lines.context && pane.images_above > 0);
        let (lines, keys): (Vec<Lines>, Vec<LineKey>) =
            own.map(|(lines, key)| (lines.clone(), *key)).unzip();
        let pane = SlicePane {
            lines,
            images: Vec::new(),
            ..pane.clone()
        };
        let slots = slice_slots(&pane.lines, &keys, store, max_slots);
        self.capsules(
            gpu,
            (textures, store),
            &pane,
            &keys,
            (max_slots, &(0..slots)),
        )
    }

    pub fn draw_slice(&self, pass: &mut wgpu::RenderPass, capsules: &Capsules) {
        pass.set_pipeline(&self.capsule);
        for (group, blocks) in capsules.rims.iter().chain(&capsules.lines) {
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..6 * BLOCK as u32, 0..*blocks);
        }
    }
}

/// The part of the world that a slice view shows: its slab, within its edges.
struct SliceBounds {
    /// Rows of (pixel x, pixel y, slab): a linear part and an offset.
    rows: [(Vec3, f32); 3],
    /// Their permitted ranges.
    ranges: [(f32, f32); 3],
}

impl SliceBounds {
    fn new(slab_from_world: &Mat4, size_px: [u32; 2], reach_px: f32) -> Self {
        let row = |i| {
            let row = slab_from_world.row(i);
            (row.truncate(), row.w)
        };
        let [width, height] = size_px.map(|n| n as f32);
        Self {
            rows: [0, 1, 2].map(row),
            ranges: [
                (-reach_px, width + reach_px),
                (-reach_px, height + reach_px),
                // A little more than the slab, for rounding.
                (-1.001, 1.001),
            ],
        }
    }

    /// The blocks of a chunk that may reach into it.
    fn blocks(&self, (chunk, frame): (&Chunk, &Frame), among: Range<usize>) -> Vec<u32> {
        let known = among.start..among.end.min(chunk.blocks.len());
        let touched = known.filter(|&i| self.touches(frame.bounds(&chunk.blocks[i])));
        touched.map(|i| i as u32).collect()
    }

    /// Whether a box may reach into it; one whose size overflows may.
    fn touches(&self, (low, high): (Vec3, Vec3)) -> bool {
        let (centre, half) = ((low + high) * 0.5, (high - low) * 0.5);
        // The slab first: it decides most often.
        [2, 0, 1].into_iter().all(|i| {
            let ((normal, offset), (from, to)) = (self.rows[i], self.ranges[i]);
            let middle = normal.dot(centre) + offset;
            let reach = normal.abs().dot(half);
            !(middle + reach < from || middle - reach > to)
        })
    }
}

/// Rows: pixel x, pixel y (both 0 at the centre of the first pixel), distance from the plane in
/// half slabs, 1.
pub(super) fn slab_from_world(pane: &SlicePane) -> DMat4 {
    let normal = pane.right.cross(pane.down).normalize_or_zero();
    // Pixel coordinates by the dual basis, so that right and down need not be at right angles.
    let dual = |a: DVec3, b: DVec3| {
        let along = b.cross(normal);
        along / a.dot(along)
    };
    let (x, y) = (dual(pane.right, pane.down), dual(pane.down, pane.right));
    let z = normal / (pane.slab_mm * 0.5).max(1e-6);
    let row = |v: DVec3| v.extend(-v.dot(pane.origin));
    DMat4::from_cols(row(x), row(y), row(z), DVec4::W).transpose()
}
