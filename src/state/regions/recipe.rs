//! Regions as text.

use crate::data::{Mask, Role, Shape, ShellCommand, text};
use crate::io::quoted;
use crate::state::core::text::quoted_path;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Limit of coordinates and sizes of a region; a head is far smaller.
const MAXIMUM_MM: f64 = 1e4;

/// A region as text: `sphere:x,y,z,radius`, `box:x,y,z,hx,hy,hz` (world mm) or `mask:path`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeSpec {
    Sphere { centre: DVec3, radius_mm: f64 },
    Box { centre: DVec3, half_mm: DVec3 },
    Mask(PathBuf),
}

impl ShapeSpec {
    /// `None` for a mask without a file.
    pub fn from_shape(shape: &Shape, mask_path: Option<&Path>) -> Option<Self> {
        match shape {
            Shape::Sphere { centre, radius_mm } => Some(Self::Sphere {
                centre: *centre,
                radius_mm: *radius_mm,
            }),
            Shape::Box { centre, half_mm } => Some(Self::Box {
                centre: *centre,
                half_mm: *half_mm,
            }),
            Shape::Mask(_) => mask_path.map(|p| Self::Mask(p.to_owned())),
        }
    }

    /// The shape, whose mask `mask` finds or reads.
    pub fn to_shape<E>(&self, mask: impl FnOnce(&Path) -> Result<Mask, E>) -> Result<Shape, E> {
        Ok(match self {
            Self::Sphere { centre, radius_mm } => Shape::Sphere {
                centre: *centre,
                radius_mm: *radius_mm,
            },
            Self::Box { centre, half_mm } => Shape::Box {
                centre: *centre,
                half_mm: *half_mm,
            },
            Self::Mask(path) => Shape::Mask(mask(path)?),
        })
    }
}

impl std::fmt::Display for ShapeSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The shortest text that reads back as the same number.
        match self {
            Self::Sphere {
                centre: c,
                radius_mm,
            } => {
                write!(f, "sphere:{},{},{},{radius_mm}", c.x, c.y, c.z)
            }
            Self::Box {
                centre: c,
                half_mm: h,
            } => {
                write!(f, "box:{},{},{},{},{},{}", c.x, c.y, c.z, h.x, h.y, h.z)
            }
            Self::Mask(path) => write!(f, "mask:{}", path.display()),
        }
    }
}

/// Errors in the text of a region: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum ShapeError {
    /// The text has no colon.
    NoKind(String),
    UnknownKind(String),
    NoNumber(String),
    NotFinite(String, f64),
    /// A number far outside any head, mm.
    Far(String, f64),
    Radius(String, f64),
    HalfEdge(String, f64),
    /// Expected number of values.
    Count(String, usize),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const EXPECTED: &str =
            "expected sphere:x,y,z,radius or box:x,y,z,hx,hy,hz in mm, or mask:path";
        match self {
            Self::NoKind(text) => write!(f, "“{text}” is not a region: {EXPECTED}"),
            Self::UnknownKind(kind) => write!(f, "“{kind}” is not a kind of region: {EXPECTED}"),
            Self::NoNumber(text) => {
                write!(
                    f,
                    "“{text}” holds something that is not a number: {EXPECTED}"
                )
            }
            Self::NotFinite(text, n) => write!(f, "“{text}” holds the number {n}: {EXPECTED}"),
            Self::Far(text, mm) => {
                let far = text::number(*mm);
                write!(
                    f,
                    "“{text}” holds {far} mm, expected {MAXIMUM_MM} mm at most"
                )
            }
            Self::Radius(text, mm) => {
                write!(f, "“{text}” has the radius {mm}, expected one above 0 mm")
            }
            Self::HalfEdge(text, mm) => {
                write!(
                    f,
                    "“{text}” has the half-edge {mm}, expected three above 0 mm"
                )
            }
            Self::Count(text, n) => write!(f, "“{text}” has {n} numbers: {EXPECTED}"),
        }
    }
}

impl std::error::Error for ShapeError {}

impl std::str::FromStr for ShapeSpec {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Self, ShapeError> {
        let own = || text.to_owned();
        let (kind, rest) = text
            .split_once(':')
            .ok_or_else(|| ShapeError::NoKind(own()))?;
        if kind == "mask" {
            return Ok(Self::Mask(PathBuf::from(rest)));
        }
        let numbers: Result<Vec<f64>, _> =
            rest.split(',').map(|n| n.trim().parse::<f64>()).collect();
        let numbers = numbers.map_err(|_| ShapeError::NoNumber(own()))?;
        if let (Some(n), "sphere" | "box") = (numbers.iter().find(|n| !n.is_finite()), kind) {
            return Err(ShapeError::NotFinite(own(), *n));
        }
        let are_positive = |sizes: &[f64]| sizes.iter().all(|&s| s > 0.0);
        let far = numbers.iter().find(|n| n.abs() > MAXIMUM_MM);
        if let (Some(far), "sphere" | "box") = (far, kind) {
            return Err(ShapeError::Far(own(), *far));
        }
        match (kind, numbers.as_slice()) {
            ("sphere", &[x, y, z, r]) if are_positive(&[r]) => Ok(Self::Sphere {
                centre: DVec3::new(x, y, z),
                radius_mm: r,
            }),
            ("box", &[x, y, z, a, b, c]) if are_positive(&[a, b, c]) => Ok(Self::Box {
                centre: DVec3::new(x, y, z),
                half_mm: DVec3::new(a, b, c),
            }),
            ("sphere", &[.., size]) if numbers.len() == 4 => Err(ShapeError::Radius(own(), size)),
            ("box", [_, _, _, sizes @ ..]) if sizes.len() == 3 => {
                let invalid = sizes.iter().find(|&&s| !are_positive(&[s]));
                Err(ShapeError::HalfEdge(
                    own(),
                    invalid.copied().unwrap_or_default(),
                ))
            }
            ("sphere" | "box", _) => Err(ShapeError::Count(own(), numbers.len())),
            _ => Err(ShapeError::UnknownKind(kind.to_owned())),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RegionSpec {
    pub role: Role,
    pub shape: ShapeSpec,
}

/// The options of every command that accepts regions.
pub fn region_arguments(regions: &[RegionSpec]) -> String {
    let part = regions.iter().filter(|r| r.role.affects_curves());
    let option = |region: &RegionSpec| {
        let name = match region.role {
            Role::Mask => "within",
            ref role => role.key(),
        };
        format!(" --{name} {}", quoted(&region.shape.to_string()))
    };
    part.map(option).collect()
}

/// A command of `arcuate region`.
#[derive(Clone, PartialEq, Debug)]
pub struct RegionCommand {
    /// Commands that compute its inputs.
    pub needs: Vec<ShellCommand>,
    /// Its options, without `--out`.
    pub options: String,
    /// Whether it writes the region.
    pub writes: bool,
    /// An input that no file holds, as in a sentence: `the region “Seed”`.
    pub unfiled: Option<String>,
}

impl RegionCommand {
    /// Why there is no command.
    pub fn no_command(&self) -> Option<String> {
        let what = self.unfiled.as_ref()?;
        Some(format!(
            "There is no command for this, since {what} is not in a file: export it first, and open the file"
        ))
    }

    /// The commands that write the region to this file.
    pub fn commands(&self, out: &Path) -> Vec<ShellCommand> {
        let mut text = format!("arcuate region{}", self.options);
        if self.writes {
            text += &format!(" --out {}", quoted_path(out));
        }
        let mut commands = self.needs.clone();
        commands.push(text.into());
        commands
    }
}

/// Name of the live surface of Segment among the regions of a pathway.
pub const SURFACE_REGION: &str = "Surface";

/// The name of a region whose mask has no file, so that no command can name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MaskWithoutFile(pub String);
