//! Clip planes and boxes in the form that shaders read (shaders/clips.wgsl).

use crate::scene::draw_list::{Clip, ClipShape, Clips};
use bytemuck::{Pod, Zeroable};
use glam::DVec3;

pub(super) const SHADER: &str = include_str!("../../shaders/clips.wgsl");

/// Beyond everything that a row can give.
const OPEN: f32 = 1e9;

/// Clips of one kind of objects.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct ClipTable {
    rows: [[f32; 4]; 3 * Clips::MAX_COUNT],
    limits: [[f32; 4]; Clips::MAX_COUNT],
}

impl ClipTable {
    pub fn new(clips: &[Clip]) -> Self {
        let mut table = Self {
            rows: [[0.0; 4]; 3 * Clips::MAX_COUNT],
            limits: [[-OPEN, OPEN, 0.0, 0.0]; Clips::MAX_COUNT],
        };
        for (i, clip) in clips.iter().take(Clips::MAX_COUNT).enumerate() {
            let (rows, limits) = match clip.shape {
                ClipShape::Plane { normal, offset_mm } => {
                    // A plane that hides its inside is one that hides its outside, turned over: it has no hole.
                    let sign = if clip.hides_inside { -1.0 } else { 1.0 };
                    let row = (normal * sign).extend(-offset_mm * sign);
                    ([row; 3], [-OPEN, 0.0, 0.0, 0.0])
                }
                ClipShape::Box { low, high } => {
                    let (centre, half) = ((low + high) * 0.5, (high - low) * 0.5);
                    let row = |axis: usize| {
                        let across = DVec3::AXES[axis] / half[axis].max(1e-6);
                        across.extend(-across.dot(centre))
                    };
                    let hides = if clip.hides_inside { 1.0 } else { 0.0 };
                    ([0, 1, 2].map(row), [-1.0, 1.0, hides, 0.0])
                }
            };
            table.limits[i] = limits;
            for (to, row) in table.rows[3 * i..].iter_mut().zip(rows) {
                *to = row.as_vec4().to_array();
            }
        }
        table
    }
}
