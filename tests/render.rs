//! The renderer by numbers: pictures are drawn offscreen and their pixels compared with what the
//! geometry says.

use crate::support::{Random, test};
use arcuate::data::{AffineSource, Grid, Volume, VolumeKind};
use arcuate::render::colour_map::ColourMap;
use arcuate::render::draw_list::{ById, Image, Interpolation, SlicePane};
use arcuate::render::offscreen::{Offscreen, Picture};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "render::voxels_land_where_the_affine_says",
            voxels_land_where_the_affine_says,
        ),
        test(
            "render::windows_and_maps_are_exact",
            windows_and_maps_are_exact,
        ),
    ]
}

pub fn offscreen() -> Offscreen {
    Offscreen::new().unwrap_or_else(|e| panic!("{e}"))
}

/// A grid turned any way, with or without a mirror.
fn random_grid(random: &mut Random, shape: [usize; 3]) -> Grid {
    let spacing = DVec3::from_array([0; 3].map(|_| random.uniform(0.8, 3.0)));
    let mirror = DVec3::from_array([0; 3].map(|_| [-1.0, 1.0][(random.bits() & 1) as usize]));
    let matrix = DMat3::from_quat(random.rotation()) * DMat3::from_diagonal(spacing * mirror);
    let affine = DAffine3::from_mat3_translation(matrix, random.direction() * 80.0);
    Grid::new(shape, affine, AffineSource::Computed).expect("a regular affine")
}

pub fn image(volume: &Volume, window: (f32, f32)) -> Image {
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
    }
}

/// A pane through `centre` (at the middle pixel) with these unit axes.
pub fn pane(size: u32, centre: DVec3, right: DVec3, down: DVec3, mm: f64) -> SlicePane {
    let half = (f64::from(size) - 1.0) * 0.5;
    SlicePane {
        size_px: [size, size],
        scale: 1.0,
        origin: centre - (right + down) * mm * half,
        right: right * mm,
        down: down * mm,
        images: Vec::new(),
        lines: Vec::new(),
        slab_mm: 1.0,
    }
}

/// egui keeps the renderer among its callback resources, which asks for this.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<arcuate::render::Renderer>();
};

fn world(pane: &SlicePane, x: u32, y: u32) -> DVec3 {
    pane.origin + pane.right * f64::from(x) + pane.down * f64::from(y)
}

/// Any oblique plane through any oblique grid: each pixel shows the voxel that holds its centre.
fn voxels_land_where_the_affine_says() {
    let mut random = Random::fresh("voxels_land");
    let mut offscreen = offscreen();
    for _ in 0..6 {
        let grid = random_grid(&mut random, [9, 7, 5]);
        // All different: a mirrored or transposed axis shows.
        let values: Vec<f32> = (0..grid.voxel_count())
            .map(|i| (i % 251 + 4) as f32)
            .collect();
        let volume = Volume::scalar(Arc::new(grid), values);
        let axes = DMat3::from_quat(random.rotation());
        let mut list = pane(61, volume.grid.centre(), axes.x_axis, axes.y_axis, 0.37);
        list.images = vec![image(&volume, (0.0, 255.0))];
        let picture = offscreen.slice(&list).expect("a picture");
        let mut seen = 0;
        for y in 0..61 {
            for x in 0..61 {
                let at = volume.grid.voxel_at(world(&list, x, y));
                // The device computes in f32: leave out centres on a border between voxels.
                if (at - at.floor() - 0.5).abs().min_element() < 1e-3 {
                    continue;
                }
                let expected = volume.nearest(0, world(&list, x, y)).unwrap_or(0.0);
                let [r, g, b, a] = picture.pixel(x, y);
                assert_eq!([r, g, b, a], [expected as u8, r, r, 255], "{x} {y}");
                seen += u32::from(expected > 0.0);
            }
        }
        assert!(seen > 300, "the grid is in view: {seen}");
    }
}

/// A ramp through every map and a random window: within rounding of the map's own colour.
fn windows_and_maps_are_exact() {
    let mut random = Random::fresh("windows");
    let mut offscreen = offscreen();
    let grid = Arc::new(Grid::axis_aligned([64, 1, 1], DVec3::ONE, DVec3::ZERO).expect("regular"));
    for colour_map in ColourMap::ALL {
        if colour_map == ColourMap::Mask {
            continue;
        }
        let values: Vec<f32> = (0..64).map(|_| random.uniform(-2.0, 3.0) as f32).collect();
        let volume = Volume::new(grid.clone(), 1, VolumeKind::Scalar, values.clone());
        let low = random.uniform(-1.0, 0.5) as f32;
        let high = low + random.uniform(0.2, 2.0) as f32;
        let centre = DVec3::new(31.5, 0.0, 0.0);
        let mut list = pane(64, centre, DVec3::X, DVec3::Y, 1.0);
        list.images = vec![Image {
            colour_map,
            ..image(&volume, (low, high))
        }];
        // Rows above and below the single row of voxels are black.
        list.origin.y = 0.0;
        let picture: Picture = offscreen.slice(&list).expect("a picture");
        for (x, &value) in values.iter().enumerate() {
            let expected = colour_map.at((value - low) / (high - low));
            let found = picture.pixel(x as u32, 0);
            for c in 0..3 {
                let off = i32::from(found[c]) - i32::from(expected[c]);
                assert!(
                    off.abs() <= 1,
                    "{colour_map:?} {value}: {found:?} {expected:?}"
                );
            }
            assert_eq!(picture.pixel(x as u32, 1), [0, 0, 0, 255]);
        }
    }
}
