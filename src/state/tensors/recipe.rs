//! Scans and fits as text.

pub mod fod;

use crate::data::axis_change::AxisChange;
use crate::data::{BuiltInPhantom, OdfLayout, TensorLayout};
use crate::io::AffineReading;
use crate::parameters::{arguments, arguments_of};
use crate::solvers::tensor_fit;
use crate::state::core::text::quoted_path;
use crate::state::files::types::PhantomName;
use glam::DAffine3;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Source of a diffusion scan.
#[derive(Clone, PartialEq, Debug)]
pub enum ScanSource {
    /// A file; `gradients` if they are not next to it: one `.b`, or bval and bvec.
    File {
        dwi: PathBuf,
        gradients: Vec<PathBuf>,
    },
    /// A built-in head.
    Phantom { head: BuiltInPhantom },
    /// An image of tensors.
    Tensors { file: PathBuf, layout: TensorLayout },
    /// An image of fibre orientation distributions, and the transform that moves and turns it, if any.
    Distributions {
        file: PathBuf,
        layout: OdfLayout,
        transform: Option<Box<DAffine3>>,
    },
    /// A source whose gradient axes were permuted or flipped.
    Turned {
        base: Box<ScanSource>,
        turn: AxisChange,
    },
}

/// A scan, its mask and the parameters of its fit, as arguments of a command.
#[derive(Clone, PartialEq, Debug)]
pub struct FitArguments {
    pub source: ScanSource,
    /// `None`: the mask is computed from the scan itself.
    pub mask: Option<PathBuf>,
    pub params: tensor_fit::Params,
}

/// ` --odf-affine matrix:…`
pub fn odf_affine(affine: &AffineReading) -> String {
    affine.argument("odf-affine")
}

impl ScanSource {
    /// The source without the axis change of its gradients, and that change.
    pub fn untouched(&self) -> (&Self, Option<AxisChange>) {
        match self {
            Self::Turned { base, turn } => (base, Some(*turn)),
            source => (source, None),
        }
    }

    /// The source with this axis change of its gradients, if any.
    pub fn with_turn(self, turn: Option<AxisChange>) -> Self {
        match turn {
            Some(turn) => Self::Turned {
                base: Box::new(self),
                turn,
            },
            None => self,
        }
    }

    pub fn arguments(&self) -> String {
        match self {
            Self::Phantom { head } => PhantomName {
                head: *head,
                is_scan: false,
            }
            .to_string(),
            Self::Tensors { file, layout } => format!("{}{layout}", quoted_path(file)),
            Self::Distributions {
                file,
                layout,
                transform,
            } => {
                let affine = transform.as_deref();
                let affine = affine.map(|by| odf_affine(&AffineReading::matrix(*by)));
                format!(
                    "{}{layout}{}",
                    quoted_path(file),
                    affine.unwrap_or_default()
                )
            }
            Self::Turned { base, turn } => format!("{} --turn={turn}", base.arguments()),
            Self::File { dwi, gradients } => match gradients.as_slice() {
                [b] => format!("{} --gradients {}", quoted_path(dwi), quoted_path(b)),
                [bval, bvec] => {
                    format!(
                        "{} --bval {} --bvec {}",
                        quoted_path(dwi),
                        quoted_path(bval),
                        quoted_path(bvec)
                    )
                }
                _ => quoted_path(dwi),
            },
        }
    }
}

impl FitArguments {
    pub(in crate::state) fn text(&self) -> String {
        let mut text = self.source.arguments();
        if let Some(mask) = &self.mask {
            let _ = write!(text, " --mask {}", quoted_path(mask));
        }
        match self.source {
            // For tensors in a file, only the smallest eigenvalue has an effect.
            ScanSource::Tensors { .. } => {
                text += &arguments_of(&self.params, &["min-eigenvalue"]);
            }
            _ => text += &arguments(&self.params),
        }
        text
    }
}

/// The mask of a tensor fit.
#[derive(Clone, PartialEq, Debug)]
pub enum FitMask {
    /// Computed from the scan itself.
    Automatic,
    File(PathBuf),
    /// The built-in head's own mask.
    Head,
}
