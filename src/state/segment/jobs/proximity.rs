//! Distances of a surface from streamlines and pathways.

use crate::data::{DataId, Tractogram, Volume};
use crate::solvers::level_set::Field;
use crate::solvers::level_set::distance::{
    Approach, Crossings, EXACT_MM, Isosurface, overlap, through, to_streamlines, to_surface, within,
};
use glam::DVec3;

/// Streamlines with more points wait until the surface rests: preparing them takes seconds.
const AT_ONCE: usize = 30_000_000;

/// Precision of distances while the surface moves, mm: less than the last digit that is shown.
pub const MOVING_MM: f64 = 0.03;

/// An object whose distance from the surface is measured.
#[derive(Clone, Debug)]
pub enum ProximityTarget {
    Streamlines(String, Tractogram),
    Pathway(PathwayVoxels),
}

/// The voxels of a pathway: those where an image is at most this value.
#[derive(Clone, Debug)]
pub struct PathwayVoxels {
    pub name: String,
    pub excess: Volume,
    pub level: f32,
    /// Whether it is the live one, which follows the surface.
    pub is_live: bool,
}

impl PartialEq for ProximityTarget {
    fn eq(&self, other: &Self) -> bool {
        let is_live = |target: &Self| matches!(target, Self::Pathway(p) if p.is_live);
        self.name() == other.name() && self.key() == other.key() && is_live(self) == is_live(other)
    }
}

/// Relative position of a surface and an object, both as drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distance {
    /// Unknown until the surface rests.
    Later,
    /// One of them is empty.
    Never,
    /// They do not touch.
    Away {
        /// The distance; no part of the object is nearer.
        mm: f64,
        /// The nearest point, world mm.
        point: DVec3,
    },
    /// `count` of its streamlines, or voxels, lie within the surface, wholly or partly.
    Crossing { count: u64, total: u64, at: DVec3 },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Proximity {
    pub name: String,
    /// Whether the object is streamlines.
    pub is_streamlines: bool,
    /// The excess cost of the live pathway, if it is that one.
    pub live: Option<DataId>,
    pub met: Distance,
    /// For the voxels of a pathway; `None` for streamlines.
    pub margin: Option<WithinMargin>,
}

/// The voxels of a pathway that lie inside the surface, or nearer to it than the margin.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WithinMargin {
    pub margin_mm: f64,
    pub count: u64,
    pub total: u64,
}

impl ProximityTarget {
    pub fn name(&self) -> &str {
        match self {
            Self::Streamlines(name, _) => name,
            Self::Pathway(pathway) => &pathway.name,
        }
    }

    fn key(&self) -> (DataId, u32) {
        match self {
            Self::Streamlines(_, lines) => (lines.id(), 0),
            Self::Pathway(pathway) => (pathway.excess.id(), pathway.level.to_bits()),
        }
    }

    fn is_large(&self) -> bool {
        matches!(self, Self::Streamlines(_, lines) if lines.points.len() > AT_ONCE)
    }

    /// Total number of streamlines or voxels.
    fn count(&self) -> u64 {
        match self {
            Self::Streamlines(_, lines) => lines.len() as u64,
            Self::Pathway(pathway) => {
                let values = pathway.excess.frame(0).iter();
                values.filter(|v| **v <= pathway.level).count() as u64
            }
        }
    }
}

/// Precision of the distances of a surface that rests or moves.
pub fn precision_mm(rests: bool) -> f64 {
    match rests {
        true => EXACT_MM,
        false => MOVING_MM,
    }
}

/// The parts of an object's distance that do not change while the surface moves.
struct KnownTarget {
    key: (DataId, u32),
    /// The surface of a pathway.
    surface: Option<Isosurface>,
    count: u64,
    /// The last nearest point.
    nearest: Option<DVec3>,
}

/// Cached data of the objects.
#[derive(Default)]
pub(super) struct ProximityCache(Vec<KnownTarget>);

impl ProximityCache {
    /// Distances of a surface from each object. If the surface `rests`, they are exact, and include those from large
    /// objects. Needs the backend's threads installed.
    pub fn distances(
        &mut self,
        targets: &[ProximityTarget],
        field: &Field,
        margin_mm: f64,
        rests: bool,
    ) -> Vec<Proximity> {
        self.0
            .retain(|known| targets.iter().any(|t| t.key() == known.key));
        if targets.is_empty() {
            return Vec::new();
        }
        let surface = Isosurface::of_field(field);
        let precision_mm = precision_mm(rests);
        let near = targets.iter().map(|target| Proximity {
            name: target.name().to_owned(),
            is_streamlines: matches!(target, ProximityTarget::Streamlines(..)),
            live: match target {
                ProximityTarget::Pathway(pathway) if pathway.is_live => Some(pathway.excess.id()),
                _ => None,
            },
            met: match target.is_large() && !rests {
                true => Distance::Later,
                false => self.proximity(target, (field, &surface), precision_mm),
            },
            margin: self.within_margin(target, (field, &surface), margin_mm),
        });
        near.collect()
    }

    /// Counts the voxels of the pathways within another margin of the same surface. Needs the backend's threads installed.
    pub fn change_margin(
        &mut self,
        distances: &mut [Proximity],
        targets: &[ProximityTarget],
        field: &Field,
        margin_mm: f64,
    ) {
        let surface = Isosurface::of_field(field);
        for (near, target) in distances.iter_mut().zip(targets) {
            near.margin = self.within_margin(target, (field, &surface), margin_mm);
        }
    }

    fn within_margin(
        &mut self,
        target: &ProximityTarget,
        (field, surface): (&Field, &Isosurface),
        margin_mm: f64,
    ) -> Option<WithinMargin> {
        let ProximityTarget::Pathway(pathway) = target else {
            return None;
        };
        Some(WithinMargin {
            margin_mm,
            count: within(field, surface, (&pathway.excess, pathway.level), margin_mm),
            total: self.known_target(target).count,
        })
    }

    fn proximity(
        &mut self,
        target: &ProximityTarget,
        (field, surface): (&Field, &Isosurface),
        precision_mm: f64,
    ) -> Distance {
        let known = self.known_target(target);
        let (through, total) = match target {
            ProximityTarget::Streamlines(_, lines) => (through(field, surface, lines), known.count),
            ProximityTarget::Pathway(pathway) => {
                let (excess, level) = (&pathway.excess, pathway.level);
                (overlap(field, surface, excess, level), known.count)
            }
        };
        if let Crossings {
            count,
            point: Some(point),
            ..
        } = through
        {
            known.nearest = Some(point);
            return Distance::Crossing {
                count,
                total,
                at: point,
            };
        }
        let approach: Option<Approach> = match (target, &known.surface) {
            (ProximityTarget::Streamlines(_, lines), _) => {
                to_streamlines(surface, lines, known.nearest, precision_mm)
            }
            (ProximityTarget::Pathway(_), Some(other)) => {
                to_surface(surface, other, known.nearest, precision_mm)
            }
            (ProximityTarget::Pathway(_), None) => None,
        };
        let Some(Approach { mm, point, .. }) = approach else {
            return Distance::Never;
        };
        known.nearest = Some(point);
        Distance::Away { mm, point }
    }

    fn known_target(&mut self, target: &ProximityTarget) -> &mut KnownTarget {
        let key = target.key();
        let at = self.0.iter().position(|known| known.key == key);
        let at = at.unwrap_or_else(|| {
            self.0.push(KnownTarget {
                key,
                surface: match target {
                    ProximityTarget::Streamlines(..) => None,
                    ProximityTarget::Pathway(pathway) => {
                        Some(Isosurface::at_most(&pathway.excess, pathway.level))
                    }
                },
                count: target.count(),
                nearest: None,
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}
