//! Regions being computed or drawn: their settings, the results so far, and the actions on regions. A computed region
//! follows its controls; the active tool determines the kind.

use crate::data::region::RegionId;
use crate::data::{DataId, Outline, Role, Shape, Stroke};
use crate::solvers;
use crate::solvers::region::{
    Change, Combine, DEFAULT_MAX_ML, DEFAULT_TOLERANCE, LabelCount, Numbers, SliceAxis,
};
use crate::state::core::layer::{Layer, LayerId};
use crate::state::core::live::{Live, LiveKey};
use crate::state::core::phase::Phase;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Inputs of a computed region; plain values, compared to detect changes.
#[derive(Clone, PartialEq, Debug)]
pub enum RegionSource {
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
        seed: DVec3,
        tolerance: f32,
        max_ml: f64,
        /// Subtracted from the region instead of added.
        erase: bool,
    },
    Change(Change),
    Combine {
        operation: Combine,
        other: RegionId,
    },
}

impl RegionSource {
    /// Label of the undo step.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Threshold { .. } => "Threshold region",
            Self::Fill { erase: false, .. } => "Fill region",
            Self::Fill { erase: true, .. } => "Empty region",
            Self::Change(_) => "Change region",
            Self::Combine { operation, .. } => match operation {
                Combine::Union => "Add region",
                Combine::Intersection => "Intersect regions",
                Combine::Difference => "Subtract region",
            },
        }
    }
}

/// The number of a request for a region being made. Each is computed, also one with the values of the last: the end of a
/// drag needs its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestNumber(pub u64);

impl LiveKey for RequestNumber {}

/// A region that follows its controls.
#[derive(Clone, Debug)]
pub struct RegionInProgress {
    /// `None` until the first result of a new region.
    pub region: Option<RegionId>,
    /// The region before the change.
    pub base: Option<Arc<Shape>>,
    pub source: RegionSource,
    /// Distinguishes its jobs from those of others.
    pub serial: u64,
    /// Number of the last request.
    pub requests: u64,
    /// Its jobs, by the numbers of the requests.
    pub jobs: Live<RequestNumber, ()>,
    /// A control is being dragged.
    pub live: bool,
    /// A remark about the result.
    pub note: Option<String>,
}

/// The numbers of a label map, for the panel.
#[derive(Clone, Debug)]
pub struct Labels {
    pub layer: LayerId,
    pub image: DataId,
    pub frame: usize,
    /// `None` while they are being counted.
    pub numbers: Option<Result<Arc<Numbers>, solvers::Error>>,
}

pub const MINIMUM_RADIUS_MM: f64 = 0.25;
pub const MAXIMUM_RADIUS_MM: f64 = 100.0;

/// Settings for drawing regions: brush, outlines and flood fill.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Drawing {
    pub radius_mm: f64,
    /// The brush is a disc in the slice, one voxel thick; otherwise a ball.
    pub flat: bool,
    /// The left button erases; the right one always does.
    pub erase: bool,
    /// The brush paints only voxels whose values of the shown image are within these, both included.
    pub range: Option<(f32, f32)>,
    /// For rectangles and polygons; `None`: one voxel.
    pub thickness_mm: Option<f64>,
    /// Orientation of the slices that are copied and interpolated: that of the view last drawn in.
    pub slices: SliceAxis,
    /// For a flood fill: largest difference from the clicked value, as a fraction of the image's window.
    pub tolerance: f32,
    /// Largest volume of a flood fill, ml.
    pub most_ml: f64,
    /// Role of a region that the next stroke creates.
    pub role: Role,
}

impl Default for Drawing {
    fn default() -> Self {
        Self {
            // About the width of a gyrus.
            radius_mm: 4.0,
            flat: false,
            erase: false,
            range: None,
            thickness_mm: None,
            slices: SliceAxis::Axial,
            tolerance: DEFAULT_TOLERANCE,
            most_ml: DEFAULT_MAX_ML,
            role: Role::Seed,
        }
    }
}

impl Drawing {
    /// Changes the brush size by this many steps: smaller ones for a small brush.
    pub fn resized(&self, steps: i32) -> Self {
        let mm = self.radius_mm;
        let step = match mm {
            mm if mm < 2.0 => 0.25,
            mm if mm < 10.0 => 0.5,
            _ => 1.0,
        };
        let radius = ((mm / step).round() + f64::from(steps)) * step;
        Self {
            radius_mm: radius.clamp(MINIMUM_RADIUS_MM, MAXIMUM_RADIUS_MM),
            ..self.clone()
        }
    }
}

/// The name for the region of a label: from the label map's table, else its layer's name and the number.
pub fn region_name(layer: &Layer, number: i64) -> String {
    let table = layer.content.volume().and_then(|v| v.labels.as_ref());
    let known = u32::try_from(number).ok().zip(table);
    let name = known.and_then(|(number, table)| table.name(number));
    name.map_or_else(|| format!("{} {number}", layer.name), str::to_owned)
}

/// A change of several regions at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionsChange {
    Show(bool),
    Role(Role),
    Delete,
}

/// Changes of one region, or of their list.
#[derive(Clone, Debug)]
pub enum RegionAction {
    Save {
        region: RegionId,
        path: PathBuf,
    },
    Add {
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
    /// Changes several regions as one step.
    ChangeSeveral {
        regions: Vec<RegionId>,
        change: RegionsChange,
    },
    /// To another index in the list, counted from the top.
    Move {
        region: RegionId,
        index: usize,
    },
    Duplicate(RegionId),
    /// All regions: as one label map, or as one mask each.
    SaveAll {
        path: PathBuf,
        as_labels: bool,
    },
    Make {
        source: RegionSource,
        phase: Phase,
    },
    /// Shows the labels of a label map.
    CountLabels(LayerId),
    FromLabels {
        labels: Vec<LabelCount>,
        role: Role,
    },
    SetDrawing(Drawing),
    /// The region that the next stroke is drawn into; `None`: a new one of this role.
    DrawInto {
        region: Option<RegionId>,
        role: Role,
    },
    /// A part of the brush's path.
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
    /// Adds the region's voxels of the slice at the crosshair to the next slice, and moves the crosshair there.
    CopySlice {
        slices: SliceAxis,
        /// Towards the patient's right, front or top; otherwise the other way.
        forward: bool,
    },
}

/// The moment at which a region was placed with a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacedRegion {
    /// The revision of the document afterwards.
    pub revision: u64,
    /// The ticket of the newest job before; 0 if none was running.
    pub newest_job: u64,
}

/// The region that is selected, drawn or made.
#[derive(Clone, Debug, Default)]
pub struct RegionRuntime {
    pub selected: Option<RegionId>,
    /// A region that follows its controls.
    pub making: Option<RegionInProgress>,
    /// Counter for the serial numbers of such regions.
    pub making_serial: u64,
    /// The label map whose labels the panel lists.
    pub labels: Option<Labels>,
    /// The region that strokes go into; `None`: the next begins a new one.
    pub drawn: Option<RegionId>,
    /// The region that was placed last, which ended its tool.
    pub placed: Option<PlacedRegion>,
}
