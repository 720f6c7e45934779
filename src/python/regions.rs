//! Regions as Python gives them: spheres and boxes by their numbers, and masks.

use crate::errors::{Failure, unknown_key};
use crate::types::Image;
use arcuate_engine::data::region::RegionId;
use arcuate_engine::data::{Mask, Region, Role, Shape};
use arcuate_engine::solvers::region::{Combine, combine};
use glam::DVec3;
use pyo3::prelude::*;
use std::sync::Arc;

/// A region: its role, with the numbers of a sphere (4) or a box (6), or with a mask.
pub type GivenRegion<'py> = (String, Vec<f64>, Option<PyRef<'py, Image>>);
/// [`GivenRegion`] with values that are independent of Python.
pub type OwnRegion = (String, Vec<f64>, Option<Image>);

pub fn owned(regions: Vec<GivenRegion<'_>>) -> Vec<OwnRegion> {
    let regions = regions.into_iter();
    let own = regions.map(|(role, numbers, mask)| (role, numbers, mask.map(|m| m.clone())));
    own.collect()
}

/// The name of a region in sentences, from its role and the number of earlier ones with this role.
pub fn by_role(role: Role, earlier: usize) -> String {
    match earlier {
        0 => role.name().to_owned(),
        n => format!("{} {}", role.name(), n + 1),
    }
}

/// The region's shape; `name` is that of sentences.
pub fn shape(name: &str, numbers: &[f64], mask: Option<&Image>) -> Result<Shape, Failure> {
    let finite = numbers.iter().all(|n| n.is_finite());
    match (numbers, mask) {
        (_, Some(mask)) => Ok(Shape::Mask(mask.as_mask(name)?)),
        ([x, y, z, radius], None) if finite && *radius > 0.0 => Ok(Shape::Sphere {
            centre: DVec3::new(*x, *y, *z),
            radius_mm: *radius,
        }),
        ([x, y, z, a, b, c], None) if finite && [a, b, c].into_iter().all(|h| *h > 0.0) => {
            Ok(Shape::Box {
                centre: DVec3::new(*x, *y, *z),
                half_mm: DVec3::new(*a, *b, *c),
            })
        }
        _ => Err(Failure::Input(format!(
            "Found the numbers {numbers:?} for {name}, expected x, y, z and a radius, or x, y, z and three half-edges, \
             in mm, with sizes above 0; change them"
        ))),
    }
}

/// The regions with their names in sentences.
pub fn regions_of(
    given: Vec<OwnRegion>,
    name: impl Fn(Role, usize) -> String,
) -> Result<Vec<Region>, Failure> {
    let mut all: Vec<Region> = Vec::with_capacity(given.len());
    for (key, numbers, mask) in given {
        let role = Role::from_key(&key).ok_or_else(|| {
            let keys = Role::ALL.map(|role: Role| role.key());
            Failure::Input(unknown_key(&key, "a role", &keys))
        })?;
        let earlier = all.iter().filter(|r| r.role == role).count();
        let name = name(role, earlier);
        let shape = shape(&name, &numbers, mask.as_ref())?;
        all.push(Region {
            id: RegionId(all.len() as u64),
            name,
            role,
            shape: Arc::new(shape),
            colour: None,
            visible: true,
            label_number: None,
        });
    }
    Ok(all)
}

/// The union of regions on the grid of an image; `None` without regions. `meets`: each must contain a voxel of it.
pub fn union(
    name: &str,
    given: &[OwnRegion],
    image: &Image,
    meets: bool,
) -> Result<Option<Mask>, Failure> {
    let grid = &image.volume.grid;
    let join = |all: Mask, one: &Shape| combine(Combine::Union, &Shape::Mask(all), one, grid);
    let mut all: Option<Mask> = None;
    for (_, numbers, mask) in given {
        let here = join(Mask::empty(grid), &shape(name, numbers, mask.as_ref())?);
        if meets && here.count() == 0 {
            return Err(Failure::Input(format!(
                "Found a region for {name} that holds no voxel of the image, expected one within it; move it"
            )));
        }
        all = Some(match all {
            Some(before) => join(before, &Shape::Mask(here)),
            None => here,
        });
    }
    Ok(all)
}
