//! How far a surface is from streamlines and pathways.

use crate::data::{DataId, Tractogram, Volume};
use crate::solvers::level_set::{Field, Nearest};
use glam::{DVec3, Vec3};

/// Trees of more points wait until the surface rests: they take seconds.
const AT_ONCE: usize = 300_000;

/// Something that a surface comes near to.
#[derive(Clone, Debug)]
pub enum Thing {
    Lines(String, Tractogram),
    /// The voxels where an image is at most so much.
    Set(String, Volume, f32),
}

impl PartialEq for Thing {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.key() == other.key()
    }
}

/// The shortest way from the surface; 0 where it goes through.
#[derive(Clone, PartialEq, Debug)]
pub struct Near {
    pub name: String,
    /// `None` while it is not known.
    pub mm: Option<f64>,
}

impl Thing {
    fn name(&self) -> &str {
        match self {
            Self::Lines(name, _) | Self::Set(name, ..) => name,
        }
    }

    fn key(&self) -> (DataId, u32) {
        match self {
            Self::Lines(_, lines) => (lines.id(), 0),
            Self::Set(_, volume, level) => (volume.id(), level.to_bits()),
        }
    }

    fn points(&self) -> Vec<Vec3> {
        match self {
            Self::Lines(_, lines) => lines.points.iter().map(|p| Vec3::from(*p)).collect(),
            Self::Set(_, volume, level) => {
                let grid = &volume.grid;
                let values = volume.frame(0).iter().enumerate();
                let centre = |i| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
                let within = values.filter(|(_, v)| **v <= *level);
                within.map(|(i, _)| centre(i).as_vec3()).collect()
            }
        }
    }

    fn is_large(&self) -> bool {
        matches!(self, Self::Lines(_, lines) if lines.points.len() > AT_ONCE)
    }
}

/// The points of a thing, and which is nearest to others.
struct Known {
    key: (DataId, u32),
    points: Vec<Vec3>,
    tree: Nearest,
}

/// What is known of things.
#[derive(Default)]
pub(super) struct Trees(Vec<Known>);

impl Trees {
    /// Makes ready what distances need: of large things only while the surface rests.
    pub fn prepare(&mut self, things: &[Thing], rests: bool) {
        self.0
            .retain(|known| things.iter().any(|t| t.key() == known.key));
        for thing in things {
            let known = self.0.iter().any(|known| known.key == thing.key());
            if !known && (rests || !thing.is_large()) {
                let points = thing.points();
                self.0.push(Known {
                    key: thing.key(),
                    tree: Nearest::new(points.clone()),
                    points,
                });
            }
        }
    }

    /// Distances from a surface through these points to what is made ready.
    pub fn near(&self, things: &[Thing], field: &Field, surface: &[[f32; 3]]) -> Vec<Near> {
        let near = |thing: &Thing| {
            let known = self.0.iter().find(|known| known.key == thing.key())?;
            let through = known.points.iter().any(|p| {
                let voxel = field.grid.nearest(p.as_dvec3());
                voxel.is_some_and(|v| field.value(v) > 0.0)
            });
            let away = || {
                let all = surface.iter().map(|p| Vec3::from(*p));
                f64::from(known.tree.least(all))
            };
            Some(if through { 0.0 } else { away() }).filter(|mm| mm.is_finite())
        };
        let things = things.iter().map(|thing| Near {
            name: thing.name().to_owned(),
            mm: near(thing),
        });
        things.collect()
    }
}
