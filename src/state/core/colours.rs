//! Colours of roles, and of similar objects side by side.

use crate::data::Role;
use crate::data::odf_field::Tissue;

/// Colours for items that would look alike otherwise (regions of one label map, pathways, profiles), used in turn;
/// distinguishable with red-green colour blindness, too.
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

/// sRGB of a role: its glyph, ring and solid.
pub const fn role_rgb(role: Role) -> [u8; 3] {
    match role {
        Role::Seed => [0xF5, 0xD9, 0x0A],
        Role::Target => [0xFF, 0x5C, 0x55],
        Role::Include => [0x2B, 0xB6, 0x8A],
        Role::Exclude => [0xB4, 0x8C, 0xFF],
        Role::Terminate => [0xE6, 0x9F, 0x00],
        Role::Mask => [0x9A, 0xA4, 0xB2],
        Role::Costly => [0xD9, 0x8F, 0xC0],
        Role::Region => [0x6F, 0xB7, 0xE8],
    }
}

/// sRGB of a tissue: its response function, and the voxels in which that was measured, on grey images.
pub const fn tissue_rgb(tissue: Tissue) -> [u8; 3] {
    match tissue {
        Tissue::WhiteMatter => [0xE6, 0x9F, 0x00],
        Tissue::GreyMatter => [0x2B, 0xB6, 0x8A],
        Tissue::Csf => [0x56, 0xB4, 0xE9],
    }
}

/// The colour of one of many similar objects by its number: [`CATEGORIES`], then darker and paler ones.
pub fn category_rgb(number: usize) -> [u8; 3] {
    let base = CATEGORIES[number % CATEGORIES.len()];
    let mix = |to: f32, share: f32| base.map(|c| (f32::from(c) * (1.0 - share) + to * share) as u8);
    match number / CATEGORIES.len() % 3 {
        0 => base,
        1 => mix(0.0, 0.4),
        _ => mix(255.0, 0.5),
    }
}
