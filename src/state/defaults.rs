//! Values that parameters start with, and why. The window and the command line share them.

use super::document::{Display, LineColouring, Rays};
use super::volume_look::Cut;
use crate::data::appearance::ColourMap;
use crate::data::appearance::{Interpolation, LineStyle, Transfer};
use crate::data::{Role, Volume};
use crate::solvers::level_set;
use crate::solvers::pathway;
use crate::solvers::tensor_fit::FitMap;

/// Colours of things that would else look alike (regions of one label map, pathways, profiles), in
/// turn; told apart by red-green blind eyes too.
pub const CATEGORIES: [[u8; 3]; 6] = [
    [0x56, 0xB4, 0xE9],
    [0xCC, 0x79, 0xA7],
    [0x2B, 0xB6, 0x8A],
    [0xE6, 0x9F, 0x00],
    [0x9A, 0x86, 0xFF],
    [0xD5, 0xDB, 0xE5],
];
pub const CATEGORY_NAMES: [&str; 6] =
    ["Sky blue", "Pink", "Green", "Orange", "Violet", "Pale grey"];

pub fn rays() -> Rays {
    Rays::defaults()
}

/// Nothing is looked for yet; leaks pause what runs.
pub fn segment() -> super::segment::SegmentSettings {
    super::segment::SegmentSettings {
        params: level_set::Params::defaults_for(0.5, 0.1),
        told: false,
        watched: true,
        pace: None,
        speed_opacity: 0.0,
        curve: false,
        dims: false,
        fade_mm: None,
        shown: true,
    }
}

/// The radius of a sphere that a click places, mm.
pub const SPHERE_MM: f64 = 4.0;

pub fn pathways() -> super::pathways::PathwaySettings {
    super::pathways::PathwaySettings {
        params: pathway::Params::defaults(),
        epsilon: pathway::DEFAULT_EPSILON,
        shown: super::pathways::Shown::Total,
        opacity: 0.75,
        range: super::pathways::EXCESS_SHOWN,
        greys: true,
        outline: true,
        contours: None,
        surface: false,
        cloud: true,
        transfer: Transfer::cost(),
        cut: Cut::Nothing,
    }
}

/// sRGB of a role: its glyph, ring and solid.
pub const fn role_rgb(role: Role) -> [u8; 3] {
    match role {
        Role::Seed => [0xF5, 0xD9, 0x0A],
        Role::Target => [0xFF, 0x5C, 0x55],
        Role::Include => [0x2B, 0xB6, 0x8A],
        Role::Exclude => [0xB4, 0x8C, 0xFF],
        Role::Terminate => [0xE6, 0x9F, 0x00],
        Role::Mask => [0x9A, 0xA4, 0xB2],
        Role::Region => [0x6F, 0xB7, 0xE8],
    }
}

/// Radius or half edge of a new region, mm.
pub fn region_radius_mm(role: Role) -> f64 {
    match role {
        Role::Seed => 5.0,
        Role::Target | Role::Include | Role::Mask | Role::Region => 8.0,
        Role::Exclude | Role::Terminate => 6.0,
    }
}

/// The window an image starts with, and goes back to.
pub fn window(volume: &Volume, frame: usize, map: Option<FitMap>) -> (f32, f32) {
    match map {
        Some(FitMap::Fa) => (0.0, volume.percentiles(frame, 0.01, 0.998).1.max(0.5)),
        Some(map) if map.is_diffusivity() => (0.0, volume.percentiles(frame, 0.01, 0.99).1),
        Some(FitMap::Dec) => (0.0, 1.0),
        _ => volume.percentiles(frame, 0.01, 0.99),
    }
}

/// Over an image both are to be seen.
pub const LABEL_OPACITY: f32 = 0.6;

/// The brightness a colour image starts with: colour by direction is dark, since FA rarely is 1.
pub fn brightness(map: Option<FitMap>) -> f32 {
    match map {
        Some(FitMap::Dec) => 1.5,
        _ => 1.0,
    }
}

pub fn image_display(window: (f32, f32)) -> Display {
    Display {
        visible: true,
        opacity: 1.0,
        window,
        colour_map: ColourMap::Grey,
        interpolation: Interpolation::Linear,
        brightness: 1.0,
        hide_below_fa: 0.0,
        frame: 0,
        line_style: LineStyle::Tubes { radius_mm: 0.35 },
        line_colouring: LineColouring::Direction,
        volume: None,
    }
}

pub fn mask_display() -> Display {
    Display {
        opacity: 0.3,
        colour_map: ColourMap::Mask,
        visible: false,
        ..image_display((0.0, 1.0))
    }
}

/// Where there is no image that it could hide.
pub fn mask_alone() -> Display {
    Display {
        opacity: 0.6,
        visible: true,
        ..mask_display()
    }
}

pub fn line_display() -> Display {
    image_display((0.0, 1.0))
}

pub fn ray_display() -> Display {
    Display {
        line_colouring: LineColouring::Measure,
        colour_map: ColourMap::Viridis,
        ..line_display()
    }
}

/// Opacity of a result that belongs to earlier settings, as a share of its opacity when it is current.
pub const STALE_OPACITY: f32 = 0.45;
