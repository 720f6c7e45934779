//! Empty panes to draw into.

use arcuate::scene::draw_list::{ScenePane, SlicePane};
use glam::{DMat3, DMat4, DVec3};

/// A square pane through `centre` (at its centre) with these unit axes.
pub fn pane(size: u32, centre: DVec3, right: DVec3, down: DVec3, mm: f64) -> SlicePane {
    let half = (f64::from(size) - 1.0) * 0.5;
    SlicePane {
        size_px: [size, size],
        scale: 1.0,
        origin: centre - (right + down) * mm * half,
        right: right * mm,
        down: down * mm,
        images: Vec::new(),
        images_above: 0,
        contours: Vec::new(),
        lines: Vec::new(),
        ends: Vec::new(),
        slab_mm: 1.0,
        glyphs: None,
    }
}

/// Black, seen from `eye` towards the origin, z up; the field of view is 40 mm wide at the origin.
pub fn scene(size: u32, eye: DVec3) -> ScenePane {
    let backward = eye.normalize();
    let right = DVec3::Z.cross(backward).normalize();
    let up = backward.cross(right);
    let axes = DMat3::from_cols(right, up, backward);
    let view = DMat4::from_mat3(axes.transpose()) * DMat4::from_translation(-eye);
    let (f, near, far) = (
        eye.length() / 20.0,
        eye.length() - 60.0,
        eye.length() + 60.0,
    );
    let depth = far / (near - far);
    let projection = DMat4::from_cols_array_2d(&[
        [f, 0.0, 0.0, 0.0],
        [0.0, f, 0.0, 0.0],
        [0.0, 0.0, depth, -1.0],
        [0.0, 0.0, near * depth, 0.0],
    ]);
    ScenePane {
        size_px: [size, size],
        scale: 1.0,
        clip_from_world: projection * view,
        eye,
        background: [0; 3],
        slices: Vec::new(),
        outline: None,
        lines: Vec::new(),
        ends: Vec::new(),
        slab: None,
        depth_cue: 0.0,
        clips: Default::default(),
        solids: Vec::new(),
        volumes: Vec::new(),
        surfaces: Vec::new(),
        glyphs: None,
        moving: false,
    }
}
