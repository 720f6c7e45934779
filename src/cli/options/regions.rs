//! Regions on the command line; each option may be given several times.

use super::super::runner::Failure;
use super::noted;
use crate::data::region::RegionId;
use crate::data::{Region, Role, Shape};
use crate::io;
use crate::state::regions::recipe::{RegionSpec, ShapeSpec};
use std::sync::Arc;

/// Where something may run.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct DomainOptions {
    /// Regions to stay inside; several count as one
    #[arg(long, value_name = "REGION")]
    pub within: Vec<ShapeSpec>,
    /// Regions not to touch
    #[arg(long, value_name = "REGION")]
    pub exclude: Vec<ShapeSpec>,
}

/// Regions that streamlines are kept or dropped by.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct PassingOptions {
    /// Regions to reach; tracked curves end there
    #[arg(long, value_name = "REGION")]
    pub target: Vec<ShapeSpec>,
    /// Regions to pass through
    #[arg(long, value_name = "REGION")]
    pub include: Vec<ShapeSpec>,
    #[command(flatten)]
    pub domain: DomainOptions,
}

/// All regions of tracking.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct RegionOptions {
    /// Regions to start in
    #[arg(long, value_name = "REGION")]
    pub seed: Vec<ShapeSpec>,
    #[command(flatten)]
    pub passing: PassingOptions,
    /// Regions to end in
    #[arg(long, value_name = "REGION")]
    pub terminate: Vec<ShapeSpec>,
}

/// The shape of an option, with its mask read from the file.
pub fn shape(spec: &ShapeSpec) -> Result<Shape, Failure> {
    spec.to_shape(|path| noted(io::mask_on_own_grid(path), path))
}

impl RegionOptions {
    /// Regions without seeds.
    pub fn passing(passing: &PassingOptions) -> Self {
        Self {
            passing: passing.clone(),
            ..Self::default()
        }
    }

    fn by_role(&self) -> [(Role, &[ShapeSpec]); 6] {
        let PassingOptions {
            target,
            include,
            domain,
        } = &self.passing;
        [
            (Role::Seed, &self.seed),
            (Role::Target, target),
            (Role::Include, include),
            (Role::Exclude, &domain.exclude),
            (Role::Terminate, &self.terminate),
            (Role::Mask, &domain.within),
        ]
    }

    pub fn specs(&self) -> Vec<RegionSpec> {
        let of_role = |(role, shapes): (Role, &[ShapeSpec])| {
            let shapes = shapes.iter().cloned();
            let specs = shapes.map(|shape| RegionSpec { role, shape });
            specs.collect::<Vec<_>>()
        };
        self.by_role().into_iter().flat_map(of_role).collect()
    }

    /// The regions, with masks read from their files; a mask may be on any grid.
    pub fn regions(&self) -> Result<Vec<Region>, Failure> {
        let mut regions = Vec::new();
        for (role, shapes) in self.by_role() {
            for (i, spec) in shapes.iter().enumerate() {
                let shape = shape(spec)?;
                let number = if i == 0 {
                    String::new()
                } else {
                    format!(" {}", i + 1)
                };
                regions.push(Region {
                    id: RegionId(regions.len() as u64),
                    name: format!("{}{number}", role.name()),
                    role,
                    shape: Arc::new(shape),
                    colour: None,
                    visible: true,
                    label_number: None,
                });
            }
        }
        Ok(regions)
    }
}
