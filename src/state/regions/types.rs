//! A region that is being made by computation: what is set, and what of it is there. It follows its
//! controls; the tool in the hand says which.

use crate::data::Outline;
use crate::data::region::RegionId;
use crate::data::{DataId, Role, Shape, Stroke};
use crate::solvers::region::{Change, Combine, LabelCount, Numbers};
use crate::state::{Drawing, Layer, LayerId, Phase, RegionsChange};
use glam::DVec3;
use std::path::PathBuf;
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

/// Changes of one region, or of their list.
#[derive(Clone, Debug)]
pub enum RegionAction {
    Save {
        region: RegionId,
        path: PathBuf,
    },
    Place {
        role: Role,
        shape: Shape,
    },
    FromLayer {
        layer: LayerId,
        role: Role,
    },
    Select(Option<RegionId>),
    SetShape {
        region: RegionId,
        shape: Shape,
        phase: Phase,
    },
    SetRole {
        region: RegionId,
        role: Role,
    },
    Rename {
        region: RegionId,
        name: String,
    },
    SetColour {
        region: RegionId,
        colour: Option<[u8; 3]>,
    },
    Toggle(RegionId),
    Delete(RegionId),
    /// The same with several, as one step.
    ChangeSeveral {
        regions: Vec<RegionId>,
        change: RegionsChange,
    },
    /// To another place in the list, counted from the top.
    Move {
        region: RegionId,
        to: usize,
    },
    Duplicate(RegionId),
    /// All of them: one label map, or a mask each.
    SaveAll {
        path: PathBuf,
        as_labels: bool,
    },
    Make {
        source: Source,
        phase: Phase,
    },
    /// Shows the labels of a label map.
    CountLabels(LayerId),
    FromLabels {
        labels: Vec<LabelCount>,
        role: Role,
    },
    SetDrawing(Drawing),
    /// Which region the next stroke goes into; `None`: a new one of this role.
    DrawInto {
        region: Option<RegionId>,
        role: Role,
    },
    /// A piece of the brush's way.
    Stroke {
        stroke: Stroke,
        erase: bool,
        /// The button has just gone down.
        begins: bool,
        phase: Phase,
    },
    DrawOutline {
        outline: Outline,
        erase: bool,
    },
}
