//! The orbit camera of the 3-D view.

use glam::{DMat3, DMat4, DVec2, DVec3};
use serde::{Deserialize, Serialize};

/// Looks at `focus` from `distance_mm`; angles in radians.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Camera {
    pub focus: DVec3,
    pub distance_mm: f64,
    /// About the world's z axis: 0 looks along +y (from behind), π from the front.
    pub azimuth: f64,
    /// Above the horizon; clamped short of the poles.
    pub elevation: f64,
}

/// Full vertical field of view, radians.
const FIELD_OF_VIEW: f64 = 0.5;
/// Largest distance of the camera and its focus: beyond some 1e19 mm matrices overflow in single precision, and
/// software drivers then draw for hours.
const FARTHEST_MM: f64 = 1e9;
const STEEPEST: f64 = std::f64::consts::FRAC_PI_2 - 1e-3;

impl Camera {
    /// Frames the world bounds of a head from the patient's left, front and a little above.
    pub fn framing(low: DVec3, high: DVec3) -> Self {
        // A head is round: it fills this fraction of the sphere around its box.
        Self::around((low + high) * 0.5, (high - low).length() * 0.5 * 0.64)
    }

    /// Frames a ball, from the direction of [`Camera::framing`].
    pub fn around(centre: DVec3, radius_mm: f64) -> Self {
        let limit = DVec3::splat(FARTHEST_MM);
        // `max` returns the other value if one is NaN.
        let radius_mm = radius_mm.max(0.64).clamp(0.64, FARTHEST_MM);
        Self {
            focus: centre.clamp(-limit, limit),
            distance_mm: radius_mm / (FIELD_OF_VIEW * 0.5).sin(),
            azimuth: 1.95,
            elevation: 0.22,
        }
    }

    /// Whether a picture can be drawn with this camera: a file may contain any numbers.
    pub fn is_valid(&self) -> bool {
        let angles = [self.azimuth, self.elevation];
        // The largest element of a vector may ignore NaN.
        self.focus.is_finite()
            && self.focus.abs().max_element() <= FARTHEST_MM
            && self.distance_mm > 0.0
            && self.distance_mm.is_finite()
            && angles.iter().all(|v| v.is_finite())
    }

    /// Unit vector from the eye to the focus.
    pub fn forward(&self) -> DVec3 {
        let (sa, ca) = self.azimuth.sin_cos();
        let (se, ce) = self.elevation.sin_cos();
        DVec3::new(sa * ce, ca * ce, -se)
    }

    pub fn eye(&self) -> DVec3 {
        self.focus - self.forward() * self.distance_mm
    }

    /// Columns: screen right, screen up, towards the viewer, in world axes.
    pub fn axes(&self) -> DMat3 {
        let forward = self.forward();
        let right = forward.cross(DVec3::Z).normalize();
        DMat3::from_cols(right, right.cross(forward), -forward)
    }

    /// wgpu clip space (depth 0 near to 1 far, y up); `aspect` is width over height.
    pub fn clip_from_world(&self, aspect: f64) -> DMat4 {
        let axes = self.axes();
        let view = DMat4::from_mat3(axes.transpose()) * DMat4::from_translation(-self.eye());
        // The head is never farther from the focus than this.
        let (near, far) = (
            (self.distance_mm - 400.0).max(self.distance_mm * 0.02),
            self.distance_mm + 400.0,
        );
        let f = 1.0 / (FIELD_OF_VIEW * 0.5).tan();
        // A narrow pane shows the whole head: the smaller side spans the field of view.
        let (fx, fy) = if aspect >= 1.0 {
            (f / aspect, f)
        } else {
            (f, f * aspect)
        };
        let depth = far / (near - far);
        let projection = DMat4::from_cols_array_2d(&[
            [fx, 0.0, 0.0, 0.0],
            [0.0, fy, 0.0, 0.0],
            [0.0, 0.0, depth, -1.0],
            [0.0, 0.0, near * depth, 0.0],
        ]);
        projection * view
    }

    /// World mm per pixel at the focus for a pane of this size.
    pub fn mm_per_pixel(&self, size_px: DVec2) -> f64 {
        2.0 * self.distance_mm * (FIELD_OF_VIEW * 0.5).tan() / size_px.min_element().max(1.0)
    }

    /// Rotates by a drag, radians.
    pub fn orbited(mut self, right: f64, down: f64) -> Self {
        self.azimuth = (self.azimuth + right).rem_euclid(std::f64::consts::TAU);
        self.elevation = (self.elevation + down).clamp(-STEEPEST, STEEPEST);
        self
    }

    /// Moves the focus with the pointer, mm on the screen plane.
    pub fn panned(mut self, right_mm: f64, down_mm: f64) -> Self {
        let axes = self.axes();
        self.focus += axes.y_axis * down_mm - axes.x_axis * right_mm;
        self
    }

    pub fn zoomed(mut self, factor: f64) -> Self {
        self.distance_mm = (self.distance_mm / factor).clamp(20.0, 5000.0);
        self
    }

    /// World ray through a pixel (`at` in 0..1, y down): origin and unit direction.
    pub fn ray(&self, at: DVec2, aspect: f64) -> (DVec3, DVec3) {
        let world_from_clip = self.clip_from_world(aspect).inverse();
        let clip = DVec2::new(at.x * 2.0 - 1.0, 1.0 - at.y * 2.0);
        let far = world_from_clip.project_point3(clip.extend(1.0));
        (self.eye(), (far - self.eye()).normalize())
    }

    /// Where a world point lies in the pane (0..1, y down) and its depth; `None` behind the eye.
    pub fn project(&self, world: DVec3, aspect: f64) -> Option<(DVec2, f64)> {
        let clip = self.clip_from_world(aspect) * world.extend(1.0);
        (clip.w > 0.0).then(|| {
            let ndc = clip.truncate() / clip.w;
            (DVec2::new(ndc.x * 0.5 + 0.5, 0.5 - ndc.y * 0.5), ndc.z)
        })
    }
}
