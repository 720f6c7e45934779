//! Parameters of a region's border, and of flood fills.

use crate::parameters::{
    self, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Unit,
};
use serde::{Deserialize, Serialize};

/// Changes of a region's border.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Outwards, mm; negative: inwards.
    pub grow_mm: f64,
    /// Full width at half maximum of the Gaussian, mm; 0: not smoothed.
    pub smooth_mm: f64,
}

impl Change {
    /// No change.
    pub const fn defaults() -> Self {
        Self {
            grow_mm: 0.0,
            smooth_mm: 0.0,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

/// Larger than any head.
const FAR_MM: f64 = 500.0;

impl Parameters for Change {
    const TABLE: &'static [Param<Self>] = &[
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
