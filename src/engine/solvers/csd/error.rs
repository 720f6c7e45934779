//! Errors of the inputs of a spherical deconvolution.

use crate::data::sentence::Sentence;
use crate::data::spherical_harmonics::count;
use crate::data::text::counted;
use crate::solvers::Error;
use std::fmt;

/// A scan, gradients, a mask or response functions that allow no deconvolution: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The numbers of volumes and of rows of the gradient table differ.
    Counts {
        /// Volumes of the scan.
        volumes: usize,
        /// Rows of the gradient table.
        rows: usize,
    },
    /// A b-value is not a number.
    NotNumber,
    /// The mask has another grid than the scan.
    MaskGrid,
    /// The mask holds no voxel.
    EmptyMask,
    /// The method of the paper lacks its shell or its response function.
    NoShell,
    /// No response function was given.
    NoResponse,
    /// A response function has another number of rows than the first.
    ResponseShells {
        /// Rows of the first response function.
        first: usize,
        /// Rows of the other.
        other: usize,
        /// Number of the other, from 1.
        number: usize,
    },
    /// The first response function has no directions.
    FirstIsotropic,
    /// The number, from 1, of a further response function that has directions.
    Directional(usize),
    /// The response functions have other rows than the scan has shells.
    ResponseRows {
        /// Rows of each response function.
        rows: usize,
        /// Shells of the scan, b = 0 included.
        shells: usize,
        /// The shells as text.
        summary: String,
    },
    /// Fewer shells than tissues.
    Tissues {
        /// Shells of the scan, b = 0 included.
        shells: usize,
        /// Tissues, one per response function.
        tissues: usize,
    },
    /// The b-values of a response function and of the scan differ, s/mm².
    ResponseB {
        /// b-value of the response function, s/mm².
        response: f64,
        /// b-value of the scan's shell, s/mm².
        scan: f64,
        /// Number of the response function, from 1.
        number: usize,
    },
    /// The chosen order is higher than that of the response function.
    ResponseOrder {
        /// Chosen order of the distributions.
        order: usize,
        /// Order of the response function of white matter.
        response: usize,
    },
    /// The chosen order has more than twice as many coefficients as the shells used have directions.
    FewDirections {
        /// Chosen order of the distributions.
        order: usize,
        /// Directions of the shells used.
        directions: usize,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counts { volumes, rows } => write!(
                f,
                "The scan has {} but the gradient table has {}; open the table that belongs to this scan",
                counted(*volumes, "volume"),
                counted(*rows, "row")
            ),
            Self::NotNumber => f.write_str(
                "The gradient table has a b-value that is not a number; correct the table",
            ),
            Self::MaskGrid => {
                f.write_str(
                "Found a mask on another grid, expected the scan's; resample the mask to it",
            )
            }
            Self::EmptyMask => f.write_str(
                "The mask holds no voxel, so there is nothing to fit; choose another mask",
            ),
            Self::NoShell => f.write_str(
                "Found no shell with diffusion weighting or no response function, expected both; open a scan with \
                 diffusion weighting and a response function of white matter",
            ),
            Self::NoResponse => f.write_str(
                "Found no response function, expected that of white matter; estimate or open one",
            ),
            Self::ResponseShells {
                first,
                other,
                number,
            } => write!(
                f,
                "Response function {number} has {}, expected {first} as in the first; open functions of one scan",
                counted(*other, "shell")
            ),
            Self::FirstIsotropic => f.write_str(
                "The first response function is the same in all directions; name that of white matter first",
            ),
            Self::Directional(number) => write!(
                f,
                "Response function {number} depends on the direction, expected this of the first only; give one for \
                 white matter, then those of tissues without fibres"
            ),
            Self::ResponseRows {
                rows,
                shells,
                summary,
            } => write!(
                f,
                "The response functions have {} but the scan has {} ({summary}); estimate them from this scan, or \
                 use those of its protocol",
                counted(*rows, "row"),
                counted(*shells, "shell")
            ),
            Self::Tissues { shells, tissues } => write!(
                f,
                "Found {} for {}, expected at least one shell per tissue; use fewer response functions or a scan with \
                 more shells",
                counted(*shells, "shell"),
                counted(*tissues, "tissue")
            ),
            Self::ResponseB { response, scan, .. } => write!(
                f,
                "A response function is for b = {response:.0} s/mm² where the scan has {scan:.0}; estimate it from \
                 this scan, or open that of its protocol"
            ),
            Self::ResponseOrder { order, response } => write!(
                f,
                "Order {order} needs a response function of white matter of this order, but it has order {response}; \
                 estimate the response function from this scan, or choose order {response} or less"
            ),
            Self::FewDirections { order, directions } => {
                write!(
                    f,
                    "Order {order} has {} but the shells used have {}, expected at least half as many; ",
                    counted(count(*order), "coefficient"),
                    counted(*directions, "direction")
                )?;
                match highest_order(*directions) {
                    0 => f.write_str("open a scan with more"),
                    order => write!(f, "choose order {order} or less"),
                }
            }
        }
    }
}

impl InputError {
    /// The place, from 0, of the response function at fault, if it is one of them.
    pub fn response_index(&self) -> Option<usize> {
        match self {
            Self::ResponseShells { number, .. }
            | Self::Directional(number)
            | Self::ResponseB { number, .. } => Some(number - 1),
            Self::FirstIsotropic | Self::ResponseRows { .. } | Self::ResponseOrder { .. } => {
                Some(0)
            }
            _ => None,
        }
    }
}

/// The highest order with at most twice as many coefficients as directions: the constraint determines about twice as
/// many coefficients as there are directions, not more.
pub fn highest_order(directions: usize) -> usize {
    let orders = (2..).step_by(2);
    orders
        .take_while(|order| count(*order) <= 2 * directions)
        .last()
        .unwrap_or(0)
}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
