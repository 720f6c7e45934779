//! Quantitative tests of the renderer: pictures are drawn offscreen and their pixels compared with the geometry.

mod clips;
mod contours;
mod cut_outs;
mod end_marks;
mod fluid;
mod glyphs;
mod idle;
mod line_blend;
mod line_raster;
mod line_values;
mod loading;
mod odf_glyphs;
mod odf_rays;
mod overlays;
mod scenes;
mod slices;
mod streamlines;
mod through;
mod volume;

use arcuate::data::appearance::ColourMap;
use arcuate::data::{AffineSource, Grid, Mask, Tractogram, Volume};
use arcuate::render::offscreen::Offscreen;
use arcuate::scene::draw_list::{
    ById, Image, Interpolation, LineColour, LineStyle, Lines, ScenePane, SlicePane,
};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::support::Random;
use crate::support::lines as tractogram;

pub fn tests() -> Vec<Trial> {
    let all = [
        slices::tests(),
        contours::tests(),
        line_raster::tests(),
        line_blend::tests(),
        line_values::tests(),
        streamlines::tests(),
        cut_outs::tests(),
        scenes::tests(),
        loading::tests(),
        fluid::tests(),
        idle::tests(),
        through::tests(),
        volume::tests(),
        glyphs::tests(),
        odf_glyphs::tests(),
        odf_rays::tests(),
        overlays::tests(),
        end_marks::tests(),
        clips::tests(),
    ];
    all.into_iter().flatten().collect()
}

/// egui stores the renderer among its callback resources, which requires this.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<arcuate::render::Renderer>();
};

/// A device that tests use in turn: creating one costs more than most of their pictures.
fn offscreen() -> MutexGuard<'static, Offscreen> {
    static SHARED: OnceLock<Mutex<Offscreen>> = OnceLock::new();
    SHARED
        .get_or_init(|| Mutex::new(fresh_offscreen()))
        .lock()
        // A failed test leaves a renderer that the next one can use.
        .unwrap_or_else(PoisonError::into_inner)
}

fn fresh_offscreen() -> Offscreen {
    Offscreen::new().unwrap_or_else(|e| panic!("{e}"))
}

/// A grid with any rotation, mirrored or not.
fn random_grid(random: &mut Random, shape: [usize; 3]) -> Grid {
    let spacing = DVec3::from_array([0; 3].map(|_| random.uniform(0.8, 3.0)));
    let mirror = DVec3::from_array([0; 3].map(|_| [-1.0, 1.0][(random.bits() & 1) as usize]));
    let matrix = DMat3::from_quat(random.rotation()) * DMat3::from_diagonal(spacing * mirror);
    let affine = DAffine3::from_mat3_translation(matrix, random.direction() * 80.0);
    Grid::new(shape, affine, AffineSource::Computed).expect("a regular affine")
}

/// Voxels of 1 mm, the first centred at 0.
fn plain_grid(shape: [usize; 3]) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(shape, DVec3::ONE, DVec3::ZERO).expect("regular"))
}

fn image(volume: &Volume, window: (f32, f32)) -> Image {
    Image {
        volume: ById(volume.clone()),
        frame: 0,
        window,
        colour_map: ColourMap::Grey,
        opacity: 1.0,
        interpolation: Interpolation::Nearest,
        brightness: 1.0,
        hide_below: None,
        transparent_below: false,
        fades: false,
        limits: None,
        is_symmetric: false,
        opacity_by_value: false,
        is_outlined: false,
    }
}

/// World position of a pixel's centre.
fn world(pane: &SlicePane, x: u32, y: u32) -> DVec3 {
    pane.origin + pane.right * f64::from(x) + pane.down * f64::from(y)
}

fn lines(tractogram: &Tractogram, colour: LineColour, style: LineStyle) -> Lines {
    Lines {
        tractogram: ById(tractogram.clone()),
        colour,
        style,
        opacity: 1.0,
        every: 1,
        context: false,
    }
}

/// Where a world point is drawn, px.
fn project(scene: &ScenePane, world: DVec3) -> [u32; 2] {
    let ndc = scene.clip_from_world.project_point3(world);
    let [w, h] = scene.size_px.map(f64::from);
    [
        ((ndc.x * 0.5 + 0.5) * w) as u32,
        ((0.5 - ndc.y * 0.5) * h) as u32,
    ]
}

/// A ball on its own grid.
fn ball(radius_mm: f64, spacing: f64) -> Mask {
    let n = (2.0 * radius_mm / spacing).ceil() as usize + 7;
    let origin = DVec3::splat(-(n as f64 - 1.0) * 0.5 * spacing);
    let grid = Grid::axis_aligned([n; 3], DVec3::splat(spacing), origin).expect("regular");
    let inside = |i| u8::from(voxel_centre(&grid, i).length() < radius_mm);
    let inside: Vec<u8> = (0..grid.voxel_count()).map(inside).collect();
    Mask::new(Arc::new(grid), inside)
}

fn voxel_centre(grid: &Grid, index: usize) -> DVec3 {
    grid.world(DVec3::from_array(grid.voxel(index).map(|v| v as f64)))
}

/// Largest difference of two colours' bytes.
fn colour_difference(a: [u8; 4], b: [u8; 3]) -> i32 {
    let off = |c: usize| (i32::from(a[c]) - i32::from(b[c])).abs();
    off(0).max(off(1)).max(off(2))
}

/// A smooth random curve.
fn curve(random: &mut Random, points: usize, step_mm: f64) -> Vec<DVec3> {
    let mut at = random.direction() * random.uniform(0.0, 12.0);
    let mut direction = random.direction();
    (0..points)
        .map(|_| {
            direction = (direction + random.direction() * 0.15).normalize();
            at += direction * step_mm;
            at
        })
        .collect()
}
