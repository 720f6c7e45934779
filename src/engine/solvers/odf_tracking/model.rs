//! How a streamline starts and continues: by arcs or lobes of distributions, or by the nearest peak.

use super::arcs::{self, ArcTables};
use super::harmonics::{Amplitudes, amplitudes};
use super::lattice::Lattice;
use super::records::Records;
use crate::data::PeakField;
use crate::data::random::{Random, sine};
use crate::data::spherical_harmonics::Polynomials;
use crate::solvers::curves::StopReason;
use crate::solvers::peaks::{self, Search};
use glam::{DVec3, Vec3};
use std::sync::Arc;

/// A point of a streamline and its direction there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Position {
    pub at: [f32; 3],
    pub along: [f32; 3],
}

pub trait Model: Sync {
    fn lattice(&self) -> &Lattice;

    /// Whether the nearest voxel has fibres.
    fn has_fibres(&self, voxel: usize) -> bool;

    /// The direction in which a streamline starts; `None` if no amplitude reaches the cut. Either sense, unless it has
    /// to point `inwards`, a direction with which it makes less than a right angle.
    fn start(&self, at: [f32; 3], inwards: Option<[f32; 3]>, numbers: Random) -> Option<[f32; 3]>;

    /// The next position.
    fn advance(&self, from: Position, numbers: Random) -> Result<Position, StopReason>;
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + (a[1] * b[1] + a[2] * b[2])
}

/// The sense of an axis with positive z (then y, then x), or the one that points inwards.
fn oriented([x, y, z]: [f32; 3], inwards: Option<[f32; 3]>) -> [f32; 3] {
    let keeps = match inwards {
        Some(inwards) => dot([x, y, z], inwards) >= 0.0,
        None => z > 0.0 || (z == 0.0 && (y > 0.0 || (y == 0.0 && x >= 0.0))),
    };
    if keeps { [x, y, z] } else { [-x, -y, -z] }
}

pub fn moved(at: [f32; 3], along: [f32; 3], mm: f32) -> [f32; 3] {
    [0, 1, 2].map(|a| at[a] + mm * along[a])
}

/// Arcs through distributions, drawn by their shares.
pub struct Arcs {
    pub records: Arc<Records>,
    pub tables: ArcTables,
}

/// Directions among which that of a start is drawn.
const START_CANDIDATES: usize = 64;

impl Model for Arcs {
    fn lattice(&self) -> &Lattice {
        &self.records.lattice
    }

    fn has_fibres(&self, voxel: usize) -> bool {
        self.records.record_of[voxel] != 0
    }

    /// Drawn by its amplitude among directions of a half sphere: a Fibonacci lattice with a random rotation and offset.
    fn start(&self, at: [f32; 3], inwards: Option<[f32; 3]>, numbers: Random) -> Option<[f32; 3]> {
        let [turn, offset, choice] = [0, 1, 2].map(|i| numbers.uniform(i));
        let direction = |k: usize| {
            let z = (k as f64 + offset) / START_CANDIDATES as f64;
            let turns = (turn + arcs::GOLDEN_TURN * k as f64).fract() as f32;
            let radius = (1.0 - z * z).max(0.0).sqrt() as f32;
            [radius * sine(turns + 0.25), radius * sine(turns), z as f32]
        };
        let directions: Vec<[f32; 3]> = (0..START_CANDIDATES).map(direction).collect();
        let mut coefficients = Vec::new();
        self.records.at(at, &mut coefficients);
        let values = amplitudes(Amplitudes {
            table: &self.tables.harmonics,
            coefficients: &coefficients,
            directions: &directions,
        });
        let share = |f: &f32| if *f >= self.tables.cut { *f } else { 0.0 };
        let total: f32 = values.iter().map(share).sum();
        if !(total > 0.0) {
            return None;
        }
        let mut rest = choice as f32 * total;
        let mut chosen = None;
        for (direction, f) in directions.iter().zip(&values) {
            if share(f) > 0.0 {
                chosen = Some(*direction);
                rest -= share(f);
                if rest < 0.0 {
                    break;
                }
            }
        }
        let [x, y, z] = chosen?;
        let length = dot([x, y, z], [x, y, z]).sqrt();
        Some(oriented([x, y, z].map(|c| c / length), inwards))
    }

    fn advance(&self, from: Position, numbers: Random) -> Result<Position, StopReason> {
        let uniform = [0, 1, 2].map(|i| numbers.uniform(i) as f32);
        let end = arcs::draw(&self.records, &self.tables, from.at, from.along, uniform);
        let Some(end) = end else {
            return Err(StopReason::LowAmplitude);
        };
        Ok(Position {
            at: moved(from.at, end.shift_mm, 1.0),
            along: end.direction,
        })
    }
}

/// Rules of a deterministic step.
#[derive(Clone, Copy)]
pub struct StepRules {
    pub step_mm: f32,
    pub min_cos: f32,
    pub cut: f32,
}

impl StepRules {
    /// The midpoint rule in a field of directions, each of which is continued from the one before.
    fn midpoint(
        &self,
        from: Position,
        direction: impl Fn([f32; 3], [f32; 3]) -> Result<[f32; 3], StopReason>,
    ) -> Result<Position, StopReason> {
        let middle = moved(from.at, from.along, 0.5 * self.step_mm);
        let along = direction(middle, from.along)?;
        let at = moved(from.at, along, self.step_mm);
        Ok(Position {
            at,
            along: direction(at, from.along)?,
        })
    }
}

/// The peak of the lobe that is followed, by Newton's method from the direction before.
pub struct Lobes {
    pub records: Arc<Records>,
    pub polynomials: Polynomials,
    pub search: Search,
    pub rules: StepRules,
}

impl Model for Lobes {
    fn lattice(&self) -> &Lattice {
        &self.records.lattice
    }

    fn has_fibres(&self, voxel: usize) -> bool {
        self.records.record_of[voxel] != 0
    }

    /// The largest peak.
    fn start(&self, at: [f32; 3], inwards: Option<[f32; 3]>, _: Random) -> Option<[f32; 3]> {
        let mut coefficients = Vec::new();
        self.records.at(at, &mut coefficients);
        let peaks = self.search.of_coefficients(&coefficients);
        let largest = peaks.first()?;
        let valid = largest.amplitude as f32 >= self.rules.cut;
        let direction = largest.direction.as_vec3().to_array();
        valid.then(|| oriented(direction, inwards))
    }

    fn advance(&self, from: Position, _: Random) -> Result<Position, StopReason> {
        self.rules.midpoint(from, |at, along| {
            let lattice = &self.records.lattice;
            if !lattice.contains(lattice.voxel(at)) {
                return Err(StopReason::LeftVolume);
            }
            let mut coefficients = Vec::new();
            self.records.at(at, &mut coefficients);
            let series = self.polynomials.series(&coefficients);
            let start = DVec3::from_array(along.map(f64::from)).normalize();
            let peak = peaks::uphill(&series, start);
            let direction = peak.direction.as_vec3().to_array();
            if !(peak.amplitude as f32 >= self.rules.cut) {
                Err(StopReason::LowAmplitude)
            } else if !(dot(direction, along) >= self.rules.min_cos) {
                Err(StopReason::Angle)
            } else {
                Ok(direction)
            }
        })
    }
}

/// The peaks of an image: in each of the eight voxels around a point the one nearest to the direction before, in its
/// sense, interpolated.
pub struct Peaks {
    pub field: PeakField,
    pub lattice: Lattice,
    pub rules: StepRules,
}

impl Model for Peaks {
    fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    fn has_fibres(&self, voxel: usize) -> bool {
        self.field.peaks(voxel).next().is_some()
    }

    /// The largest peak of the nearest voxel. At the rim, where that voxel has none, peaks reach as far as a step follows
    /// them: the largest interpolated one among those of the eight voxels around.
    fn start(&self, at: [f32; 3], inwards: Option<[f32; 3]>, _: Random) -> Option<[f32; 3]> {
        let largest_in = |voxel: usize| {
            let peaks = self.field.peaks(voxel);
            peaks.max_by(|a, b| a.length().total_cmp(&b.length()))
        };
        if let Some(largest) = largest_in(self.lattice.nearest(at)?) {
            let valid = largest.length() as f32 >= self.rules.cut;
            let direction = largest.normalize().as_vec3().to_array();
            return valid.then(|| oriented(direction, inwards));
        }
        let corners = self.lattice.corners(at)?;
        let sums = corners.into_iter().filter_map(|(voxel, _)| {
            let along = largest_in(voxel)?.normalize().as_vec3();
            Some(self.sum(&corners, along).0)
        });
        let largest = sums.max_by(|a, b| a.length().total_cmp(&b.length()))?;
        let valid = largest.length() >= self.least();
        valid.then(|| oriented(largest.normalize().to_array(), inwards))
    }

    fn advance(&self, from: Position, _: Random) -> Result<Position, StopReason> {
        self.rules
            .midpoint(from, |at, along| self.direction(at, along))
    }
}

impl Peaks {
    /// The smallest amplitude that is followed.
    fn least(&self) -> f32 {
        self.rules.cut.max(f32::MIN_POSITIVE)
    }

    /// The interpolated peak along a direction, and whether there are peaks that turn away from it too much.
    fn sum(&self, corners: &[(usize, f32); 8], forward: Vec3) -> (Vec3, bool) {
        let (mut sum, mut turns_more) = (Vec3::ZERO, false);
        for &(voxel, weight) in corners {
            let peaks = self.field.peaks(voxel).map(|p| p.as_vec3());
            let aligned = peaks.map(|p| if p.dot(forward) < 0.0 { -p } else { p });
            let cosine = |p: &Vec3| p.dot(forward) / p.length();
            let Some(nearest) = aligned.max_by(|a, b| cosine(a).total_cmp(&cosine(b))) else {
                continue;
            };
            match cosine(&nearest) >= self.rules.min_cos {
                true => sum += weight * nearest,
                false => turns_more = true,
            }
        }
        (sum, turns_more)
    }

    fn direction(&self, at: [f32; 3], along: [f32; 3]) -> Result<[f32; 3], StopReason> {
        let corners = self.lattice.corners(at).ok_or(StopReason::LeftVolume)?;
        let (sum, turns_more) = self.sum(&corners, Vec3::from(along));
        let amplitude = sum.length();
        if amplitude >= self.least() {
            Ok((sum / amplitude).to_array())
        } else if turns_more {
            Err(StopReason::Angle)
        } else {
            Err(StopReason::LowAmplitude)
        }
    }
}
