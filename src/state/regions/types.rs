//! A region that is being made by computation: what is set, and what of it is there. It follows its
//! controls; the tool in the hand says which.

use crate::data::region::RegionId;
use crate::data::{DataId, Shape};
use crate::solvers::region::{Change, Combine, Numbers};
use crate::state::{Layer, LayerId};
use glam::DVec3;
use std::sync::Arc;

/// What a region is made of; plain values, compared to see whether anything changed.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    Threshold {
        layer: LayerId,
        frame: usize,
        low: f32,
        high: f32,
    },
    Fill {
        layer: LayerId,
        frame: usize,
        /// World mm.
        from: DVec3,
        tolerance: f32,
        most_ml: f64,
        /// Taken away from the region, not joined to it.
        erase: bool,
    },
    Change(Change),
    Combine {
        how: Combine,
        with: RegionId,
    },
}

impl Source {
    /// For undo.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Threshold { .. } => "Threshold region",
            Self::Fill { erase: false, .. } => "Fill region",
            Self::Fill { erase: true, .. } => "Empty region",
            Self::Change(_) => "Change region",
            Self::Combine { how, .. } => match how {
                Combine::Union => "Add region",
                Combine::Intersection => "Intersect regions",
                Combine::Difference => "Subtract region",
            },
        }
    }
}

#[derive(Clone, Debug)]
pub struct Making {
    /// `None` until the first result of a new region.
    pub region: Option<RegionId>,
    /// The region as it was.
    pub base: Option<Arc<Shape>>,
    pub source: Source,
    /// Tells its jobs from those of others.
    pub serial: u64,
    /// A job is on its way; whether another is wanted after it.
    pub running: bool,
    pub again: bool,
    /// A control is in the hand.
    pub live: bool,
    /// What is to be said about the result.
    pub note: Option<String>,
}

/// The numbers of a label map, for the panel.
#[derive(Clone, Debug)]
pub struct Labels {
    pub layer: LayerId,
    pub of: DataId,
    pub frame: usize,
    /// `None` while they are counted.
    pub numbers: Option<Result<Arc<Numbers>, String>>,
}

/// What the region of a label is called: as in the label map's table, else by its name and the number.
pub fn region_name(layer: &Layer, number: i64) -> String {
    let table = layer.content.volume().and_then(|v| v.labels.as_ref());
    let known = u32::try_from(number).ok().zip(table);
    let name = known.and_then(|(number, table)| table.name(number));
    name.map_or_else(|| format!("{} {number}", layer.name), str::to_owned)
}
