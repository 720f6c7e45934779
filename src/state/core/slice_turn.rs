//! The rotation of the three slice planes together.
//!
//! The planes stay at right angles. Positions and directions of straight slices are those of the world; a turn moves them
//! rigidly, so that everything on a slice is computed for straight slices and then turned.

use crate::data::rotation::rotation;
use crate::data::text::number;
use crate::data::{Grid, Sentence};
use glam::{DMat3, DQuat, DVec3, EulerRot};
use serde::{Deserialize, Serialize};

/// A rotation, then a translation, of the planes and of what their views frame. Slices at the axes have exactly
/// [`SliceTurn::STRAIGHT`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct SliceTurn {
    /// A unit quaternion: x, y, z, w.
    rotation: DQuat,
    /// World mm.
    offset_mm: DVec3,
}

impl Default for SliceTurn {
    fn default() -> Self {
        Self::STRAIGHT
    }
}

/// A smaller turn is none, degrees: rounding leaves about this much.
const NONE_DEG: f64 = 1e-7;

impl SliceTurn {
    pub const STRAIGHT: Self = Self {
        rotation: DQuat::IDENTITY,
        offset_mm: DVec3::ZERO,
    };

    /// Whether the slices lie at the axes.
    pub fn is_straight(&self) -> bool {
        *self == Self::STRAIGHT
    }

    pub fn rotation(&self) -> DQuat {
        self.rotation
    }

    /// This rotation about a point; straight if it is none, or no rotation at all.
    pub fn about(centre: DVec3, rotation: DQuat) -> Self {
        Self::STRAIGHT.turned(centre, rotation)
    }

    /// Turned further about a point by a rotation in the world.
    pub fn turned(self, centre: DVec3, by: DQuat) -> Self {
        let rotation = (by * self.rotation).normalize();
        let offset_mm = centre + by * (self.offset_mm - centre);
        Self {
            rotation,
            offset_mm,
        }
        .valid()
    }

    /// Turned about a point so that its rotation is this one.
    pub fn turned_to(self, centre: DVec3, rotation: DQuat) -> Self {
        self.turned(centre, rotation * self.rotation.inverse())
    }

    /// With the same rotation, such that this point stays where it is.
    pub fn centred(self, centre: DVec3) -> Self {
        Self::about(centre, self.rotation)
    }

    /// Straight in place of a turn that is none, or that has no meaning: a file may contain any numbers.
    pub fn valid(self) -> Self {
        let has_meaning = self.rotation.is_finite()
            && self.offset_mm.is_finite()
            && (self.rotation.length() - 1.0).abs() < 1e-6;
        match has_meaning && self.degrees() > NONE_DEG {
            true => Self {
                rotation: self.rotation.normalize(),
                ..self
            },
            false => Self::STRAIGHT,
        }
    }

    /// The angle of the rotation, degrees.
    pub fn degrees(&self) -> f64 {
        let axis = DVec3::new(self.rotation.x, self.rotation.y, self.rotation.z);
        let half = axis.length().atan2(self.rotation.w.abs());
        (2.0 * half).to_degrees()
    }

    /// The axes of the slices: along the patient's right, front and top if they are straight.
    pub fn axes(&self) -> [DVec3; 3] {
        DVec3::AXES.map(|axis| self.direction(axis))
    }

    /// A direction on straight slices, in the world.
    pub fn direction(&self, straight: DVec3) -> DVec3 {
        match self.is_straight() {
            true => straight,
            false => self.rotation * straight,
        }
    }

    /// A point on straight slices, in the world.
    pub fn point(&self, straight: DVec3) -> DVec3 {
        match self.is_straight() {
            true => straight,
            false => self.rotation * straight + self.offset_mm,
        }
    }

    /// The direction on straight slices that becomes a direction in the world.
    pub fn straight_direction(&self, world: DVec3) -> DVec3 {
        match self.is_straight() {
            true => world,
            false => self.rotation.inverse() * world,
        }
    }

    /// The point on straight slices that becomes a point in the world.
    pub fn straight_point(&self, world: DVec3) -> DVec3 {
        match self.is_straight() {
            true => world,
            false => self.rotation.inverse() * (world - self.offset_mm),
        }
    }

    /// The smallest box of straight slices that contains a box of the world.
    pub fn straight_bounds(&self, (low, high): (DVec3, DVec3)) -> (DVec3, DVec3) {
        if self.is_straight() {
            return (low, high);
        }
        let ends = [low, high];
        let corner = |i: usize| DVec3::new(ends[i & 1].x, ends[(i >> 1) & 1].y, ends[i >> 2].z);
        let corners = (0..8).map(|i| self.straight_point(corner(i)));
        corners.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), c| {
            (l.min(c), h.max(c))
        })
    }

    /// Rotations about the patient's axes, first x, then y, then z, degrees.
    pub fn angles(&self) -> DVec3 {
        let (z, y, x) = self.rotation.to_euler(EulerRot::ZYX);
        DVec3::new(x, y, z).map(f64::to_degrees)
    }

    /// The rotation with these [`SliceTurn::angles`].
    pub fn rotation_from_angles(degrees: DVec3) -> DQuat {
        let [x, y, z] = degrees.map(f64::to_radians).to_array();
        DQuat::from_euler(EulerRot::ZYX, z, y, x)
    }
}

/// Three points that define the standard position of a head, world mm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Commissures {
    pub anterior: DVec3,
    pub posterior: DVec3,
    /// Any point between the hemispheres, away from the line through the commissures.
    pub midline: DVec3,
}

/// Smallest distance of the commissures from each other, and of the third point from their line, mm: over a shorter one,
/// an error of a voxel turns the slices by many degrees.
const SHORTEST_MM: f64 = 8.0;

/// Largest angles between a head and the axes of its scan, degrees: of the line through the commissures, and of left and
/// right.
const STEEPEST: f64 = 60.0;
const LARGEST_ROLL: f64 = 45.0;

impl Commissures {
    /// The front of a head with these commissures, a unit vector; the reason if they do not lie as in a head.
    pub fn front(anterior: DVec3, posterior: DVec3) -> Result<DVec3, Sentence> {
        const AGAIN: &str =
            "click the posterior one again, or right-click and click the anterior one again";
        let line = anterior - posterior;
        if !(line.length() >= SHORTEST_MM) {
            let [length, shortest] = [line.length(), SHORTEST_MM].map(mm);
            return Err(Sentence::worded(
                &format!(
                    "Found the commissures (--ac, --pc) {length} mm apart, expected at least {shortest} mm: give both again"
                ),
                &format!(
                    "Found the commissures {length} mm apart, expected at least {shortest} mm: {AGAIN}"
                ),
            ));
        }
        let front = line.normalize();
        if front.y <= 0.0 {
            return Err(Sentence::worded(
                "Found the anterior commissure (--ac) behind the posterior one (--pc), expected it in front: exchange \
                 the two",
                &format!(
                    "Found the posterior commissure in front of the anterior one, expected it behind: {AGAIN}"
                ),
            ));
        }
        let tilt = lean(front.y);
        if tilt > STEEPEST {
            return Err(Sentence::worded(
                &format!(
                    "Found the line through the commissures (--ac, --pc) {tilt:.0}° from the front of the scan, expected \
                     at most {STEEPEST:.0}°: give both again"
                ),
                &format!(
                    "Found the line through the commissures {tilt:.0}° from the front of the scan, expected at most \
                     {STEEPEST:.0}°: {AGAIN}"
                ),
            ));
        }
        Ok(front)
    }

    /// The rotation with which the front lies along the line from the posterior to the anterior commissure and the
    /// sagittal slice contains all three points; the reason if they do not lie as in a head.
    pub fn rotation(&self) -> Result<DQuat, Sentence> {
        let front = Self::front(self.anterior, self.posterior)?;
        let off = self.midline - self.anterior;
        let off = off - front * off.dot(front);
        if !(off.length() >= SHORTEST_MM) {
            let [length, shortest] = [off.length(), SHORTEST_MM].map(mm);
            return Err(Sentence::worded(
                &format!(
                    "Found the point of the midline (--midline) {length} mm from the line through the commissures (--ac, \
                     --pc), expected at least {shortest} mm: give one farther up or down, between the hemispheres"
                ),
                &format!(
                    "Found the point of the midline {length} mm from the line through the commissures, expected at least \
                     {shortest} mm: choose one farther up or down, between the hemispheres"
                ),
            ));
        }
        // The midline lies above the commissures or below them; the top of the head is up in either case.
        let top = off.normalize();
        let top = if top.z < 0.0 { -top } else { top };
        let right = front.cross(top);
        // A third point in one hemisphere would roll the slices; far enough to the side, left and right would change.
        let roll = lean(right.x);
        if !(roll <= LARGEST_ROLL) {
            return Err(Sentence::worded(
                &format!(
                    "Found three points (--ac, --pc, --midline) whose left and right lie {roll:.0}° from those of the \
                     scan, expected at most {LARGEST_ROLL:.0}°: give a --midline between the hemispheres"
                ),
                &format!(
                    "Found three points whose left and right lie {roll:.0}° from those of the scan, expected at most \
                     {LARGEST_ROLL:.0}°: choose the third between the hemispheres"
                ),
            ));
        }
        Ok(DQuat::from_mat3(&DMat3::from_cols(right, front, top)))
    }
}

/// A distance in a sentence, with one decimal.
fn mm(distance: f64) -> String {
    number((distance * 10.0).round() / 10.0)
}

/// The angle of a unit vector to an axis, given its component along the axis, degrees.
fn lean(along: f64) -> f64 {
    along.clamp(-1.0, 1.0).acos().to_degrees()
}

/// The rotation from the world's axes to those of an image's voxels that are nearest to them.
pub fn voxel_rotation(grid: &Grid) -> DQuat {
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let own = rotation(grid.world_from_voxel.matrix3);
    let along = |order: &[usize; 3]| -> f64 { (0..3).map(|a| own.col(order[a])[a].abs()).sum() };
    let best = ORDERS
        .into_iter()
        .max_by(|a, b| along(a).total_cmp(&along(b)));
    let order = best.unwrap_or([0, 1, 2]);
    let mut axes = [0, 1, 2].map(|a| {
        let axis = own.col(order[a]);
        if axis[a] < 0.0 { -axis } else { axis }
    });
    if axes[0].cross(axes[1]).dot(axes[2]) < 0.0 {
        // Voxels as oblique as this have no nearest axes: a rotation must not mirror.
        let least = (0..3).min_by(|&a, &b| axes[a][a].total_cmp(&axes[b][b]));
        let least = least.unwrap_or(0);
        axes[least] = -axes[least];
    }
    DQuat::from_mat3(&DMat3::from_cols(axes[0], axes[1], axes[2])).normalize()
}

/// The last point on the way from one point to another that lies within bounds, which contain the first.
pub fn last_within(from: DVec3, to: DVec3, (low, high): (DVec3, DVec3)) -> DVec3 {
    let way = to - from;
    let share = |a: usize| {
        let edge = if way[a] > 0.0 { high[a] } else { low[a] };
        let share = (edge - from[a]) / way[a];
        // NaN along an axis without a way.
        if share < 1.0 { share.max(0.0) } else { 1.0 }
    };
    let share = (0..3).map(share).fold(1.0, f64::min);
    if share < 1.0 { from + way * share } else { to }
}
