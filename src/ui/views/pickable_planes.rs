//! Planes in 3-D on which the user places and samples: slices, and the faces of cut volumes.

use super::scene_view::Scene;
use crate::scene;
use crate::scene::draw_list::{VolumeDraw, VolumeStyle};
use egui::Pos2;
use glam::DVec3;

/// Smallest share of the window at which a face that is not bound to the head counts as visible; `shaders/volume.wgsl`
/// fades it in around this value.
const GROUND: f32 = 0.04;
/// A face closer to a slice than this is that slice.
const SAME_MM: f64 = 1e-6;

/// A point on such a plane.
#[derive(Clone, Copy)]
pub struct PlanePoint {
    pub point: DVec3,
    pub normal: DVec3,
    /// Distance from the eye.
    pub mm: f64,
}

impl Scene<'_> {
    /// The nearest of the visible slices and cut faces that the ray through a position meets.
    pub fn flat_under(&self, at: Pos2) -> Option<PlanePoint> {
        let ray = self.ray(at);
        let slices = self.state.view.slices_in_scene();
        let slice = slices.then(|| self.slice_on(ray)).flatten();
        let volumes = scene::layer_volumes(self.state, &self.camera);
        let faces = volumes.iter().filter_map(|volume| face_on(volume, ray));
        let face = faces.min_by(|a, b| a.mm.total_cmp(&b.mm));
        match (slice, face) {
            (Some(slice), Some(face)) if face.mm < slice.mm - SAME_MM => Some(face),
            (slice, face) => slice.or(face),
        }
    }

    /// The nearest of the three slices that a ray meets inside the head.
    fn slice_on(&self, (origin, direction): (DVec3, DVec3)) -> Option<PlanePoint> {
        let head = scene::head_mask(&self.state.document);
        let turn = self.state.view.turn;
        let within = |p: DVec3, low: DVec3, high: DVec3| {
            p.cmpge(low - 1e-6).all() && p.cmple(high + 1e-6).all()
        };
        let (first, last) = self.state.document.bounds();
        let shows = |world: DVec3| {
            // The rectangles of turned slices extend beyond the images.
            let is_inside = turn.is_straight() || within(world, first, last);
            is_inside && head.as_ref().is_none_or(|mask| mask.contains(world))
        };
        let (origin, direction) = (
            turn.straight_point(origin),
            turn.straight_direction(direction),
        );
        let hit = |flat: &scene::Flat| {
            let axis = flat.normal;
            let mm = (flat.low[axis] - origin[axis]) / direction[axis];
            let mut point = origin + direction * mm;
            // Exactly on the slice, so that its view does not move.
            point[axis] = flat.low[axis];
            let normal = turn.direction(DVec3::AXES[axis]);
            let met = mm.is_finite() && mm > 0.0 && within(point, flat.low, flat.high);
            let point = turn.point(point);
            (met && shows(point)).then_some(PlanePoint { point, normal, mm })
        };
        let flats = scene::flats(self.state, &self.camera);
        flats
            .iter()
            .filter_map(hit)
            .min_by(|a, b| a.mm.total_cmp(&b.mm))
    }
}

/// Where a ray leaves the part of a volume that is cut away, if it shows values there.
fn face_on(drawn: &VolumeDraw, (origin, direction): (DVec3, DVec3)) -> Option<PlanePoint> {
    let cut = drawn.cut.as_ref().filter(|cut| cut.face.is_some())?;
    let mut enters = 0.0f64;
    let mut leaves: Option<(f64, DVec3)> = None;
    for plane in &cut.planes {
        let off = plane.normal.dot(origin - plane.point);
        let rate = plane.normal.dot(direction);
        let mm = -off / rate;
        if rate.abs() < 1e-9 {
            // Parallel to the plane, behind which nothing is cut away.
            if off <= 0.0 {
                return None;
            }
        } else if rate > 0.0 {
            enters = enters.max(mm);
        } else if leaves.is_none_or(|(nearest, _)| mm < nearest) {
            leaves = Some((mm, plane.normal));
        }
    }
    let (mm, normal) = leaves.filter(|(mm, _)| *mm > enters)?;
    let point = origin + direction * mm;
    shows(drawn, point).then_some(PlanePoint { point, normal, mm })
}

/// Whether a cut face is visible at a point.
fn shows(drawn: &VolumeDraw, at: DVec3) -> bool {
    let face = drawn.cut.as_ref().and_then(|cut| cut.face.as_ref());
    let value = drawn.volume.0.nearest(drawn.frame, at);
    let Some((face, value)) = face.zip(value.filter(|v| v.is_finite())) else {
        return false;
    };
    let solid = match drawn.style {
        VolumeStyle::Surface { level, below, .. } => (value > level) != below,
        VolumeStyle::Cloud | VolumeStyle::Projection { .. } => true,
    };
    let (low, high) = face.window;
    solid
        && match &face.mask {
            Some(head) => head.0.contains(at),
            None => (value - low) / (high - low) > GROUND,
        }
}
