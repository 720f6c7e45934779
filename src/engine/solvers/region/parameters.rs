//! Parameters of a region's border and parts, and of flood fills.

use super::{Connectivity, SliceAxis};
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Switch,
    Unit,
};
use serde::{Deserialize, Serialize};

/// Changes of a region's border and parts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// The orientation of the slices between which it is interpolated; `None`: not interpolated.
    pub interpolate: Option<SliceAxis>,
    /// Outwards, mm; negative: inwards.
    pub grow_mm: f64,
    /// Full width at half maximum of the Gaussian, mm; 0: not smoothed.
    pub smooth_mm: f64,
    /// Whether all connected parts but the largest are removed.
    #[serde(rename = "keep_largest")]
    pub only_largest: bool,
    /// Connected parts with fewer voxels are removed; `None`: none.
    #[serde(rename = "remove_below")]
    pub smallest_voxels: Option<usize>,
    /// Whether its holes are filled.
    pub fill_holes: bool,
    /// The neighbours that are connected.
    pub connectivity: Connectivity,
}

impl Change {
    /// No change.
    pub const fn defaults() -> Self {
        Self {
            interpolate: None,
            grow_mm: 0.0,
            smooth_mm: 0.0,
            only_largest: false,
            smallest_voxels: None,
            fill_holes: false,
            connectivity: Connectivity::Corners,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

/// Larger than any head.
const FAR_MM: f64 = 500.0;

/// Why the connectivity has no effect.
fn only_parts(change: &Change) -> Option<&'static str> {
    let finds_parts = change.only_largest || change.smallest_voxels.is_some() || change.fill_holes;
    (!finds_parts).then_some("no parts or holes are sought")
}

const INTERPOLATE: Param<Change> = Param {
    value_name: "SLICES",
    help: "Fill the empty slices between drawn ones, which have this orientation, by shape-based interpolation",
    hint: "Fills the empty slices between drawn ones: the distance from the border is interpolated (Raya and Udupa 1990)",
    default_text: DefaultText::Omitted,
    ..Param::new(
        "interpolate",
        "Interpolate slices",
        Kind::OneOf(&[
            Choice::new(
                "off",
                "Off",
                |p| p.interpolate.is_none(),
                |p| p.interpolate = None,
            ),
            Choice::new(
                SliceAxis::Axial.key(),
                "Axial",
                |p| p.interpolate == Some(SliceAxis::Axial),
                |p| p.interpolate = Some(SliceAxis::Axial),
            ),
            Choice::new(
                SliceAxis::Sagittal.key(),
                "Sagittal",
                |p| p.interpolate == Some(SliceAxis::Sagittal),
                |p| p.interpolate = Some(SliceAxis::Sagittal),
            ),
            Choice::new(
                SliceAxis::Coronal.key(),
                "Coronal",
                |p| p.interpolate == Some(SliceAxis::Coronal),
                |p| p.interpolate = Some(SliceAxis::Coronal),
            ),
        ]),
    )
};

const CONNECTIVITY: Param<Change> = Param {
    value_name: "N",
    help: "Neighbours with which a voxel of a part is connected; voxels of holes by 6, or by 26 if those of parts are by 6",
    reason: "the parts that are separate for 26 neighbours are separate for all",
    default_text: DefaultText::Implied,
    unused: only_parts,
    ..Param::new(
        "connectivity",
        "Connected by",
        Kind::OneOf(&[
            Choice {
                key: Connectivity::Faces.key(),
                label: "6",
                help: "a common face",
                is: |p| p.connectivity == Connectivity::Faces,
                choose: |p| p.connectivity = Connectivity::Faces,
            },
            Choice {
                key: Connectivity::Edges.key(),
                label: "18",
                help: "a common face or edge",
                is: |p| p.connectivity == Connectivity::Edges,
                choose: |p| p.connectivity = Connectivity::Edges,
            },
            Choice {
                key: Connectivity::Corners.key(),
                label: "26",
                help: "a common face, edge or corner",
                is: |p| p.connectivity == Connectivity::Corners,
                choose: |p| p.connectivity = Connectivity::Corners,
            },
        ]),
    )
};

impl Parameters for Change {
    const TABLE: &'static [Param<Self>] = &[
        INTERPOLATE,
        Param {
            value_name: "MM",
            help: "Move the border outwards by this distance, mm; inwards if negative",
            hint: "Moves the border outwards by this distance, or inwards if negative",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "grow",
                "Grow, shrink",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    decimals: 1,
                    soft: (-15.0, 15.0),
                    hard: Limits::between(-FAR_MM, FAR_MM),
                    ..Number::new(
                        |p| Some(p.grow_mm),
                        |p, v| p.grow_mm = v.unwrap_or(p.grow_mm),
                    )
                }),
            )
        },
        Param {
            value_name: "MM",
            help: "Smooth away details finer than about this, mm",
            hint: "Full width at half maximum of the Gaussian: details finer than this are smoothed away, and widths \
                   below about two voxels have almost no effect",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "smooth",
                "Smooth, FWHM",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    decimals: 1,
                    soft: (0.0, 20.0),
                    hard: Limits::between(0.0, FAR_MM),
                    ..Number::new(
                        |p| Some(p.smooth_mm),
                        |p, v| p.smooth_mm = v.unwrap_or(p.smooth_mm),
                    )
                }),
            )
        },
        Param {
            help: "Keep only the largest connected part",
            hint: "Removes all connected parts but the one with most voxels",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "keep-largest",
                "Keep only the largest part",
                Kind::Switch(Switch {
                    flag: true,
                    labels: None,
                    get: |p| p.only_largest,
                    set: |p, v| p.only_largest = v,
                }),
            )
        },
        Param {
            value_name: "N|off",
            help: "Remove connected parts with fewer than N voxels",
            hint: "Removes connected parts with fewer voxels than this",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "remove-below",
                "Smallest part",
                Kind::Number(Number {
                    scale: Scale::Logarithmic,
                    decimals: 0,
                    soft: (2.0, 10_000.0),
                    hard: Limits::whole(1.0, 1e9),
                    off: Some("off: any"),
                    on: Some(10.0),
                    ..Number::new(
                        |p| p.smallest_voxels.map(|n| n as f64),
                        |p, v| p.smallest_voxels = v.map(|v| v as usize),
                    )
                }),
            )
        },
        Param {
            help: "Fill holes: voxels outside that are not connected with the space around the region",
            hint: "Adds the voxels outside that are not connected with the space around the region",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "fill-holes",
                "Fill holes",
                Kind::Switch(Switch {
                    flag: true,
                    labels: None,
                    get: |p| p.fill_holes,
                    set: |p, v| p.fill_holes = v,
                }),
            )
        },
        CONNECTIVITY,
    ];

    fn defaults() -> Self {
        Self::defaults()
    }
}

/// Limits of a flood fill.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fill {
    /// Largest difference from the first voxel's value, in the image's unit.
    pub tolerance: f64,
    /// Largest volume, ml.
    pub max_ml: f64,
}

/// Default tolerance as a share of the width of the image's window.
pub const DEFAULT_TOLERANCE: f32 = 0.15;

/// Larger than most structures, and small enough to show where a fill leaks.
pub const DEFAULT_MAX_ML: f64 = 50.0;

impl Fill {
    /// Defaults for an image with this window width.
    pub fn defaults_for(width: f64) -> Self {
        Self {
            tolerance: f64::from(DEFAULT_TOLERANCE) * width,
            max_ml: DEFAULT_MAX_ML,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for Fill {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "V",
            help: "Largest difference of their values from its value",
            hint: "Values that differ by more from the clicked one stay out",
            reason: "a share of the width of the image's window",
            default_text: DefaultText::Listed,
            ..Param::new(
                "tolerance",
                "Tolerance",
                Kind::Number(Number {
                    soft: (0.0, 0.6),
                    hard: Limits::between(0.0, 1e30),
                    ..Number::new(
                        |p| Some(p.tolerance),
                        |p, v| p.tolerance = v.unwrap_or(p.tolerance),
                    )
                }),
            )
        },
        Param {
            value_name: "ML",
            // The number is that of `DEFAULT_MAX_ML`; a test compares them.
            help: "End a fill at this volume, ml (default: 50)",
            hint: "A fill that leaks into its surroundings ends here",
            reason: "more than most structures",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "at-most",
                "At most",
                Kind::Number(Number {
                    unit: Unit::Ml,
                    scale: Scale::Logarithmic,
                    decimals: 0,
                    soft: (1.0, 2000.0),
                    hard: Limits::above(0.0, f64::INFINITY),
                    ..Number::new(|p| Some(p.max_ml), |p, v| p.max_ml = v.unwrap_or(p.max_ml))
                }),
            )
        },
    ];

    /// Defaults for an image with a window width of 1.
    fn defaults() -> Self {
        Self::defaults_for(1.0)
    }
}
