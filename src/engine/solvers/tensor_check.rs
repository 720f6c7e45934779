//! Finds the order and frame in which an image of six volumes stores tensors.
//!
//! No header states them. A wrong order mixes diagonal and off-diagonal components, so that many voxels are not
//! positive definite; a wrong frame mirrors directions, which looks right in single voxels. Each of the six
//! candidates is therefore tracked through the whole brain and ranked as the axes of gradients are (see
//! [`super::gradient_check`]): by the length and coherence of streamlines, times the cube of the fraction of voxels that
//! are positive definite without repair.
//!
//! # Example
//!
//! An image of tensors whose order and frame no header states:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::TensorFrame;
//! use arcuate_engine::phantom::{Head, scan_grid, scan_options};
//! use arcuate_engine::solvers::{tensor_check, tensor_fit};
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let head = Head::new(1);
//! let grid = scan_grid(4.0).ok_or("a spacing above 0")?;
//! let (scan, gradients) = head.diffusion_scan(&scan_options(grid.clone(), 1), &control)?;
//! let mask = head.brain_mask(&grid, &control)?;
//! let params = tensor_fit::Params::defaults();
//! let fitted = tensor_fit::fit(&scan, &gradients, &mask, &params, &backend, &control)?;
//! let image = fitted.field.volume().with_tensors(None);
//! let params = tensor_check::Params::defaults();
//! let compared = tensor_check::compare(&image, &params, &backend, &control)?;
//! let layout = compared.clear_layout().ok_or(compared.sentence())?;
//! assert_eq!(layout.frame, TensorFrame::World);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::gradient_check::{self, CLEAR, MIN_STARTED, field_quality};
use super::{Error, tensor_fit};
use crate::compute::{Backend, Control};
use crate::data::{TensorField, TensorLayout, Tractogram, Volume};
use glam::DVec3;
use std::sync::Arc;

/// Parameters of the check.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Fit whose repair of eigenvalues is applied to each reading.
    pub fit: tensor_fit::Params,
    /// Parameters of tracking with each reading.
    pub tracking: gradient_check::Params,
    /// Edge of a picture in pixels.
    pub picture: usize,
}

impl Params {
    /// The parameters of the gradient comparison, with the smallest repair of tensors.
    pub fn defaults() -> Self {
        Self {
            fit: tensor_fit::Params::defaults(),
            tracking: gradient_check::Params::defaults(),
            // Twice its displayed size on a typical screen.
            picture: 150,
        }
    }
}

/// One of the six layouts.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Order and frame of this reading.
    pub layout: TensorLayout,
    /// Fraction of the voxels that are positive definite without repair, 0..1.
    pub definite: f64,
    /// Mean over all seeds that start.
    pub mean_length_mm: f64,
    /// Mean |cos| between directions of neighbours: 0.5 by chance.
    pub coherence: f64,
    /// Streamlines with this reading, for display.
    pub streamlines: Tractogram,
    /// Picture of the principal directions.
    pub slice: Slice,
}

impl Candidate {
    /// The score for the ranking, mm.
    pub fn score(&self) -> f64 {
        // Cubed, so that long fibres of repaired tensors cannot compensate for it.
        self.definite.powi(3) * self.mean_length_mm * self.coherence
    }
}

/// A square picture of directions times FA in the world's horizontal plane through the centre, with the patient's
/// right on the left.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Width and height, pixels.
    pub side: usize,
    /// Red, green and blue of each pixel, row by row.
    pub rgb: Arc<[u8]>,
}

/// All readings with their scores.
#[derive(Clone, Debug)]
pub struct Output {
    /// Best first, without layouts in which the image holds no tensors.
    pub ranked: Arc<[Candidate]>,
    /// Number of seeds that start with the best layout.
    pub started: u64,
}

impl Output {
    /// The layout, if one leads clearly.
    pub fn clear_layout(&self) -> Option<TensorLayout> {
        let best = self.ranked.first()?;
        let second = self.ranked.get(1).map_or(0.0, Candidate::score);
        let clear = best.score() > CLEAR * second && self.started >= MIN_STARTED;
        clear.then_some(best.layout)
    }

    /// The result as one sentence.
    pub fn sentence(&self) -> String {
        match self.clear_layout() {
            Some(layout) => format!(
                "As tensors, the six volumes are most likely {}, judged by positive definite voxels and the length and \
                 coherence of streamlines together",
                layout.description()
            ),
            None if self.ranked.is_empty() => {
                "The six volumes are not tensors in any known order".to_owned()
            }
            None => {
                "The order of the tensors is undecided: no reading of the six volumes is clearly the best"
                    .to_owned()
            }
        }
    }
}

/// Reads the tensors in all six layouts and ranks these.
pub fn compare(
    volume: &Volume,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let layouts: Vec<TensorLayout> = TensorLayout::all().collect();
    control.begin("Comparing tensor orders", layouts.len() as u64);
    let (cpu, silent) = (backend.cpu(), control.silent());
    let mut ranked: Vec<(Candidate, u64)> = Vec::new();
    for layout in layouts {
        control.check()?;
        match candidate(volume, layout, params, &cpu, &silent) {
            Ok(candidate) => ranked.push(candidate),
            // The image holds no tensors in this layout.
            Err(Error::Input(_)) => {}
            Err(other) => return Err(other),
        }
        control.advance(1);
    }
    ranked.sort_by(|a, b| b.0.score().total_cmp(&a.0.score()));
    Ok(Output {
        started: ranked.first().map_or(0, |(_, started)| *started),
        ranked: ranked.into_iter().map(|(candidate, _)| candidate).collect(),
    })
}

fn candidate(
    volume: &Volume,
    layout: TensorLayout,
    params: &Params,
    cpu: &Backend,
    control: &Control,
) -> Result<(Candidate, u64), Error> {
    let volume = volume.with_tensors(Some(layout));
    let mask = tensor_fit::given_mask(&volume)?;
    let given = tensor_fit::imported_field(&volume, &mask, &params.fit, cpu, control)?;
    let maps = tensor_fit::maps(&given.field, cpu, control)?;
    let quality = field_quality(&given.field, &params.tracking, cpu, control)?;
    let fitted = (mask.count() - given.unfitted).max(1);
    let candidate = Candidate {
        layout,
        definite: 1.0 - given.repaired.count() as f64 / fitted as f64,
        mean_length_mm: quality.mean_length_mm,
        coherence: quality.coherence,
        streamlines: quality.streamlines,
        slice: slice(&given.field, &maps.dec, params.picture),
    };
    Ok((candidate, quality.started))
}

pub(super) fn slice(field: &TensorField, dec: &Volume, side: usize) -> Slice {
    // Brightens the picture: directions times FA are dark at this size.
    const BRIGHTER: f32 = 1.4;
    let bounds = field.mask().bounds_inside();
    let (low, high) = bounds.unwrap_or_else(|| field.grid.bounds());
    let (middle, extent) = ((low + high) * 0.5, high - low);
    let mm = extent.x.max(extent.y).max(1.0) / side as f64;
    let half = side as f64 / 2.0 - 0.5;
    let pixel = |i: usize| {
        let (row, column) = ((i / side) as f64, (i % side) as f64);
        let world = middle + DVec3::new((half - column) * mm, (half - row) * mm, 0.0);
        [0, 1, 2].map(|colour| {
            let level = dec.nearest(colour, world).unwrap_or(0.0);
            (level * BRIGHTER * 255.0).clamp(0.0, 255.0) as u8
        })
    };
    let rgb: Vec<u8> = (0..side * side).flat_map(pixel).collect();
    Slice {
        side,
        rgb: rgb.into(),
    }
}
