//! The voxels of a field that have a glyph: those that planes cross, or those within pathways.

use crate::data::{DataId, Grid, Volume};
use crate::scene::draw_list::{ById, GlyphPlace};
use glam::DVec3;
use std::sync::{Mutex, PoisonError};

/// Images of pathways whose voxels are cached: the live one's, coarse and full, and those of some kept ones.
const IMAGES: usize = 16;

/// The grid of a field, and where it has values.
pub(super) struct FieldVoxels<'a> {
    pub id: DataId,
    pub grid: &'a Grid,
    pub inside: &'a dyn Fn(usize) -> bool,
}

impl FieldVoxels<'_> {
    fn all(&self) -> impl Iterator<Item = usize> {
        (0..self.grid.voxel_count()).filter(|&voxel| (self.inside)(voxel))
    }
}

/// World position of a voxel's centre, mm.
pub(super) fn centre(grid: &Grid, voxel: usize) -> DVec3 {
    let at = grid.voxel(voxel).map(|v| v as f64);
    grid.world(DVec3::from_array(at))
}

/// Chooses voxels, and caches the values of images at them.
#[derive(Default)]
pub(super) struct GlyphVoxels {
    /// Most recently used first.
    candidates: Mutex<Vec<Candidates>>,
}

impl GlyphVoxels {
    /// One voxel in `every` along each axis.
    pub fn chosen(&self, field: &FieldVoxels, (place, every): (&GlyphPlace, usize)) -> Vec<usize> {
        let every = every.max(1);
        match place {
            GlyphPlace::Planes(planes) => {
                let crossed = planes
                    .iter()
                    .flat_map(|plane| voxels_crossed(field, plane.point, plane.normal, every));
                crossed.collect()
            }
            GlyphPlace::Below(images) => {
                let voxels = self.voxels_below(field, images, every);
                voxels.into_iter().map(|voxel| voxel as usize).collect()
            }
        }
    }

    /// Voxels where one of these images is at most its limit, each listed once.
    fn voxels_below(
        &self,
        field: &FieldVoxels,
        images: &[(ById<Volume>, f32)],
        every: usize,
    ) -> Vec<u32> {
        let mut known = self
            .candidates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut voxels = Vec::new();
        for (image, limit) in images {
            let key = (field.id, image.0.id(), every);
            match known.iter().position(|c| c.key == key) {
                Some(at) => {
                    known[..=at].rotate_right(1);
                    known[0].sort_values();
                }
                None => known.insert(0, Candidates::new(field, &image.0, every)),
            }
            voxels.extend(known[0].voxels_up_to(*limit));
        }
        known.truncate(IMAGES.max(images.len()));
        if images.len() > 1 {
            voxels.sort_unstable();
            voxels.dedup();
        }
        voxels
    }
}

/// Voxels of a field with an image's value at each.
struct Candidates {
    /// The field, the image, and the spacing along each axis.
    key: (DataId, DataId, usize),
    values: Vec<(f32, u32)>,
    ascending: bool,
}

impl Candidates {
    fn new(field: &FieldVoxels, image: &Volume, every: usize) -> Self {
        let some = field.all().filter(|i| {
            let voxel = field.grid.voxel(*i);
            every == 1 || voxel.iter().all(|v| v.is_multiple_of(every))
        });
        let value = |i: usize| {
            let value = image.nearest(0, centre(field.grid, i))?;
            (!value.is_nan()).then_some((value, i as u32))
        };
        Self {
            key: (field.id, image.id(), every),
            values: some.filter_map(value).collect(),
            ascending: false,
        }
    }

    /// Sorts once a second limit is requested: an image that a drag replaces has only one.
    fn sort_values(&mut self) {
        if !self.ascending {
            self.values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            self.ascending = true;
        }
    }

    /// Voxels whose value is at most this.
    fn voxels_up_to(&self, limit: f32) -> impl Iterator<Item = u32> {
        let end = match self.ascending {
            true => self.values.partition_point(|(value, _)| *value <= limit),
            false => self.values.len(),
        };
        let some = self.values[..end].iter();
        some.filter(move |(value, _)| *value <= limit)
            .map(|(_, i)| *i)
    }
}

/// Voxels that a plane crosses: one layer of them, at this spacing along it.
fn voxels_crossed(
    field: &FieldVoxels,
    through: DVec3,
    normal: DVec3,
    every: usize,
) -> impl Iterator<Item = usize> {
    let edges = field.grid.world_from_voxel.matrix3;
    let normal = normal.normalize_or_zero();
    let across: [f64; 3] = [0, 1, 2].map(|a| edges.col(a).dot(normal).abs());
    let along = (0..3).max_by(|&a, &b| across[a].total_cmp(&across[b]));
    let along = along.unwrap_or(2);
    let half = 0.5 * across[along];
    let near = move |i: &usize| {
        let (voxel, centre) = (field.grid.voxel(*i), centre(field.grid, *i));
        let off = (centre - through).dot(normal);
        let kept = (0..3).all(|a| a == along || voxel[a].is_multiple_of(every));
        // A plane halfway between two layers crosses one of them.
        off > -half && off <= half && kept
    };
    field.all().filter(near)
}
