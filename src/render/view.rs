//! A 3-D view's geometry in the form that its shaders need.

use super::clips::ClipTable;
use crate::scene::draw_list::ScenePane;
use glam::{DMat4, DVec3, DVec4};

pub(super) struct SceneView {
    pub clip_from_world: DMat4,
    pub world_from_clip: DMat4,
    pub size_px: [u32; 2],
    /// Pixels of the target per logical pixel.
    pub pixel_scale: f32,
    /// The eye (w = 1), or the direction to the viewer of a parallel projection (w = 0).
    pub eye: DVec4,
    /// Unit vector in world axes.
    pub forward: DVec3,
    /// Direction to the light.
    pub light: DVec3,
    /// Pixels per mm where the clip coordinate w is 1.
    pub px_per_mm: f64,
    /// Applied to (world, 1): 0 at the nearest, 1 at the farthest object.
    pub depth_cue: DVec4,
    /// Applied to (world, 1): from -1 to 1 within the slab that lines are cut to; zeros without one.
    pub slab: DVec4,
    /// Colour of distant objects, and the fraction of it that streamlines take at 1.
    pub haze: [f32; 4],
    /// The fraction of it that all objects take there, by the user's depth cue.
    pub fade: f32,
    /// Clips of volumes, of surfaces and of streamlines.
    pub clips: [ClipTable; 3],
}

impl SceneView {
    /// Colour of the background, and the fraction that objects take at the far end.
    pub fn fading(&self) -> [f32; 4] {
        let [r, g, b, _] = self.haze;
        [r, g, b, self.fade]
    }
}

impl SceneView {
    /// The view for a target of `size_px`, which may be smaller than the pane's; `bounds` enclose all that is drawn.
    pub fn new(list: &ScenePane, size_px: [u32; 2], bounds: (DVec3, DVec3)) -> Self {
        let m = list.clip_from_world;
        let row = |i: usize| m.row(i).truncate();
        let perspective = row(3).length() > 1e-9;
        let backward = row(0).cross(row(1)).normalize_or(DVec3::NEG_Y);
        let forward = if perspective {
            row(3).normalize()
        } else {
            -backward
        };
        // If only a part of the view is drawn, its rows tilt into the distance.
        let (across, upright) = (
            row(0).reject_from_normalized(forward),
            row(1).reject_from_normalized(forward),
        );
        let right = across.normalize_or(DVec3::X);
        let up = upright.normalize_or(DVec3::Z);
        let eye = if perspective {
            list.eye.extend(1.0)
        } else {
            (-forward).extend(0.0)
        };
        // Over the viewer's left shoulder.
        let light = (-forward + up * 0.55 - right * 0.35).normalize();
        let px_per_mm = upright.length() * f64::from(size_px[1]) * 0.5;
        let (centre, radius) = (
            (bounds.0 + bounds.1) * 0.5,
            ((bounds.1 - bounds.0).length() * 0.5).max(1e-3),
        );
        // 0.8: the corners of the box are empty.
        let cue = forward / (1.6 * radius);
        let depth_cue = cue.extend(0.5 - cue.dot(centre));
        let [r, g, b] = list.background.map(|c| f32::from(c) / 255.0);
        Self {
            clip_from_world: m,
            world_from_clip: m.inverse(),
            size_px,
            pixel_scale: list.scale * size_px[1] as f32 / list.size_px[1].max(1) as f32,
            eye,
            forward,
            light,
            px_per_mm,
            depth_cue,
            slab: list.slab.map_or(DVec4::ZERO, |slab| {
                let across = slab.normal / slab.half_mm;
                across.extend(-across.dot(slab.point))
            }),
            haze: [r, g, b, 0.42],
            fade: list.depth_cue.clamp(0.0, 1.0),
            clips: {
                let clips = &list.clips;
                [&clips.volumes, &clips.surfaces, &clips.streamlines]
                    .map(|clips| ClipTable::new(clips))
            },
        }
    }
}
