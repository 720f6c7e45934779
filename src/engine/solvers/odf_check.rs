//! Finds the basis and the frame in which an image stores fibre orientation distributions.
//!
//! No header states them. A voxel with one bundle holds a function that is symmetric about one axis u, and for such a
//! function (Σ_m c_lm Y_lm(u))² is (2l + 1)/4π Σ_m c_lm² in every degree l, its largest value. In a wrong basis it is
//! not: the right one has the largest mean ratio of the two over the voxels with most fibres, each at its best axis.
//! MRtrix 0.2's basis differs from MRtrix 3's by a factor √2 that changes the ratio little; read as MRtrix 3's, its
//! distributions are negative in places, and MRtrix 3's own are not.
//!
//! In an image that holds something else, a basis may lead by chance. Such an image is recognised by coefficients that no
//! distribution has: a first one that others exceed or that is not positive, and others of one sign (see
//! [`order_of_distributions`]). Functions that are as symmetric as those of single bundles are never refused.
//!
//! A wrong frame mirrors directions and looks right in single voxels. For each reading, streamlines follow the
//! first axis of the second moments ∫ f u uᵀ du, and frames are ranked as the axes of gradients are (see
//! [`super::gradient_check`]), by the length and coherence of streamlines.
//!
//! # Example
//!
//! An image of distributions in MRtrix's basis, a narrow lobe along each principal direction:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::spherical_harmonics::{Basis, count, degrees, evaluate};
//! use arcuate_engine::data::{OdfField, TensorFrame};
//! use arcuate_engine::phantom::{Head, scan_grid, scan_options};
//! use arcuate_engine::solvers::{odf_check, tensor_fit};
//! use glam::DVec3;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let head = Head::new(1);
//! let grid = scan_grid(4.0).ok_or("a spacing above 0")?;
//! let (scan, gradients) = head.diffusion_scan(&scan_options(grid.clone(), 1), &control)?;
//! let mask = head.brain_mask(&grid, &control)?;
//! let params = tensor_fit::Params::defaults();
//! let fitted = tensor_fit::fit(&scan, &gradients, &mask, &params, &backend, &control)?;
//! let maps = tensor_fit::maps(&fitted.field, &backend, &control)?;
//!
//! let (order, n) = (6, grid.voxel_count());
//! let mut coefficients = vec![0.0f32; count(order) * n];
//! for voxel in 0..n {
//!     let axis = DVec3::from_array([0, 1, 2].map(|k| f64::from(maps.direction.frame(k)[voxel])));
//!     let lobe = evaluate(order, axis.normalize_or(DVec3::Z));
//!     for (i, ((l, _), y)) in degrees(order).zip(lobe).enumerate() {
//!         let narrow = (-0.05 * (l * (l + 1)) as f64).exp();
//!         coefficients[i * n + voxel] = maps.fa.values[voxel] * (narrow * y) as f32;
//!     }
//! }
//! let image = OdfField::new(grid, order, coefficients).volume();
//! let compared = odf_check::compare(&image, &odf_check::Params::defaults(), &backend, &control)?;
//! let layout = compared.clear_layout().ok_or(compared.sentence())?;
//! assert_eq!((layout.basis, layout.frame), (Basis::MRtrix, TensorFrame::World));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod tensors;

use super::gradient_check::{self, CLEAR, MIN_STARTED, field_quality};
use super::tensor_check::{Slice, slice};
use super::{Error, tensor_fit};
use crate::compute::{Backend, Control};
use crate::data::odf_field::{
    MAX_IMPLAUSIBLE_SHARE, MAX_ODF_ORDER, OdfConversion, implausible_share, order_of_distributions,
};
use crate::data::odf_turn::half_sphere;
use crate::data::spherical_harmonics::{Basis, count, evaluate};
use crate::data::statistics::quantile;
use crate::data::text::counted;
use crate::data::{OdfLayout, Sentence, Tensor, TensorField, TensorFrame, Tractogram, Volume};
use rayon::prelude::*;
use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;
use tensors::holds_tensors;

/// Degrees whose symmetry is measured: higher ones are narrower than the distance of the axes tried.
const SYMMETRY_ORDER: usize = 4;
/// Number of axes tried.
const AXES: usize = 400;
/// Largest number of voxels whose symmetry is measured.
const MAX_VOXELS: usize = 2000;
/// Share of the largest amounts of fibres from which a voxel counts for the symmetry, and for tracking.
const MANY_FIBRES: f64 = 0.4;
const SOME_FIBRES: f64 = 0.1;
/// The lead of the best basis over another, in standard errors, from which it is clear.
const CLEAR_LEAD: f64 = 4.0;
/// The negative share of distributions up to which they have no notable negative lobes. In a real scan with hard
/// non-negativity it is 0.1 %, and 15 % if the factor √2 is wrong.
const LITTLE_NEGATIVE: f64 = 0.05;
/// The symmetry from which any image holds distributions: that of random numbers is 0.6 to 0.7, of real distributions
/// with crossings 0.64 to 0.8, of single bundles 1.
const SINGLE_BUNDLES: f64 = 0.9;
/// Number of directions at which distributions are tested for negative values.
const TESTED_DIRECTIONS: usize = 150;
/// A second-order tensor contains degrees 0 and 2.
const TENSOR_ORDER: usize = 2;
/// Sum of the eigenvalues of a distribution's tensor, as in tissue, and the part that is added to each, mm²/s.
const TRACE_MM2_PER_S: f64 = 2.1e-3;
const MIN_ADDED_MM2_PER_S: f64 = 1e-5;

/// Parameters of the check.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Parameters of tracking with each reading.
    pub tracking: gradient_check::Params,
    /// Edge of a picture in pixels.
    pub picture: usize,
}

impl Params {
    /// Tracking as in the check of gradients, and pictures of 150 pixels.
    pub fn defaults() -> Self {
        Self {
            tracking: gradient_check::Params::defaults(),
            // Twice its displayed size on a typical screen.
            picture: 150,
        }
    }
}

/// One reading of the image.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Basis and frame of this reading.
    pub layout: OdfLayout,
    /// How symmetric distributions are about one axis in this basis, 0..1.
    pub symmetry: f64,
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
    /// The score by which the frames of a basis are ranked, mm.
    pub fn score(&self) -> f64 {
        self.mean_length_mm * self.coherence
    }
}

/// All readings with their scores.
#[derive(Clone, Debug)]
pub struct Output {
    /// Best basis first, and its better frame before the other.
    pub ranked: Arc<[Candidate]>,
    /// Whether the best basis leads over every other by more than noise.
    pub basis_is_clear: bool,
    /// Whether the image can hold distributions in one of the bases at all.
    pub is_plausible: bool,
    /// Number of seeds that start with the best reading.
    pub started: u64,
}

impl Output {
    /// The layout, if its basis and its frame lead clearly.
    pub fn clear_layout(&self) -> Option<OdfLayout> {
        let best = self.ranked.first()?;
        let same_basis = |c: &&Candidate| c.layout.basis == best.layout.basis;
        let other = self.ranked[1..].iter().find(same_basis);
        let frame_is_clear = best.score() > CLEAR * other.map_or(0.0, Candidate::score);
        let basis_is_clear = self.basis_is_clear && self.is_plausible;
        let clear = basis_is_clear && frame_is_clear && self.started >= MIN_STARTED;
        clear.then_some(best.layout)
    }

    /// The result as one sentence.
    pub fn sentence(&self) -> String {
        match (self.clear_layout(), self.ranked.first()) {
            _ if !self.is_plausible => {
                "The image does not look like fibre orientation distributions: no basis gives its coefficients the sizes \
                 and signs of functions without negative values"
                    .to_owned()
            }
            (Some(layout), _) => format!(
                "The distributions are most likely {}, judged by the symmetry of their lobes and the length and \
                 coherence of streamlines",
                layout.description()
            ),
            (None, Some(best)) if self.basis_is_clear => format!(
                "The distributions are most likely in the basis of {}, but their axes are undecided: both give \
                 streamlines of similar length and coherence",
                best.layout.basis.label()
            ),
            _ => "The basis of the distributions is undecided: no reading is clearly the best"
                .to_owned(),
        }
    }
}

/// An image with this number of volumes holds no distributions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InputError {
    /// Number of volumes found.
    pub volumes: usize,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Found {}, expected 6, 15, 28, 45, 66 or 91 coefficients of distributions; open an image that holds them",
            counted(self.volumes, "volume")
        )
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}

/// Reads the distributions in every basis and frame and ranks these.
pub fn compare(
    volume: &Volume,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let layouts = readings(volume)?;
    let fibres = Fibres::new(volume);
    let bases = Bases::ranked(volume, &fibres, &layouts, backend);
    bases.tracked(volume, &fibres, layouts, params, backend, control)
}

/// Judgement of the layout in which an image of distributions is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Its basis and its axes lead clearly over all others.
    Agrees,
    /// This other layout is clearly better: another basis, or other axes of the same one.
    Other(OdfLayout),
    /// Its basis leads clearly, but nothing decides between its axes.
    AxesUndecided,
    /// No basis leads clearly, or the image does not look like distributions.
    Undecided,
    /// The image holds tensors.
    Tensors,
}

/// Compares a layout with all others, as [`compare`] does. Streamlines follow the axes of the best basis alone, a fifth
/// of the readings, so that every file can be examined when it is opened.
pub fn verdict(
    volume: &Volume,
    layout: OdfLayout,
    backend: &Backend,
    control: &Control,
) -> Result<Verdict, Error> {
    let mut layouts = readings(volume)?;
    if holds_tensors(volume) {
        return Ok(Verdict::Tensors);
    }
    let fibres = Fibres::new(volume);
    let bases = Bases::ranked(volume, &fibres, &layouts, backend);
    let Some(best) = bases.best().filter(|_| bases.is_clear) else {
        return Ok(Verdict::Undecided);
    };
    layouts.retain(|layout| layout.basis == best);
    let params = Params::defaults();
    let output = bases.tracked(volume, &fibres, layouts, &params, backend, control)?;
    Ok(match (output.clear_layout(), output.ranked.first()) {
        // A basis may lead by chance.
        _ if !output.is_plausible => Verdict::Undecided,
        (Some(clear), _) if clear == layout => Verdict::Agrees,
        (Some(clear), _) => Verdict::Other(clear),
        // The axes are undecided, but the basis is another one.
        (None, Some(first)) if best != layout.basis => Verdict::Other(first.layout),
        _ => Verdict::AxesUndecided,
    })
}

/// All readings of an image, if every one has directions.
fn readings(volume: &Volume) -> Result<Vec<OdfLayout>, InputError> {
    let layouts: Vec<OdfLayout> = OdfLayout::of_volumes(volume.frames).collect();
    let has_directions = |layout: &OdfLayout| layout.order(volume.frames) >= Some(TENSOR_ORDER);
    match !layouts.is_empty() && layouts.iter().all(has_directions) {
        true => Ok(layouts),
        false => Err(InputError {
            volumes: volume.frames,
        }),
    }
}

/// All bases by the symmetry of lobes, the best one first.
struct Bases {
    /// The ratio of each measured voxel.
    ranked: Vec<(Basis, Vec<f64>)>,
    /// Whether the best basis leads over every other by more than noise.
    is_clear: bool,
}

impl Bases {
    fn ranked(volume: &Volume, fibres: &Fibres, layouts: &[OdfLayout], backend: &Backend) -> Self {
        let cpu = backend.cpu();
        let mut ranked = cpu.install(|| ranked_bases(volume, fibres, layouts));
        let mut basis_is_clear = is_clear(&ranked);
        if !basis_is_clear && let Some(at) = first_of_mrtrix(&ranked) {
            let share = cpu.install(|| negative_share(volume, fibres, Basis::MRtrix));
            if share < LITTLE_NEGATIVE {
                let own = ranked.remove(at);
                ranked.insert(0, own);
                // The basis of MRtrix 0.2 is excluded.
                let others = ranked
                    .iter()
                    .filter(|(basis, _)| *basis != Basis::MRtrixLegacy);
                let others: Vec<(Basis, Vec<f64>)> = others.cloned().collect();
                basis_is_clear = is_clear(&others);
            }
        }
        Self {
            ranked,
            is_clear: basis_is_clear,
        }
    }

    fn best(&self) -> Option<Basis> {
        self.ranked.first().map(|(basis, _)| *basis)
    }

    /// Streamlines with some of the layouts, ranked by their basis, then by the streamlines.
    fn tracked(
        &self,
        volume: &Volume,
        fibres: &Fibres,
        layouts: Vec<OdfLayout>,
        params: &Params,
        backend: &Backend,
        control: &Control,
    ) -> Result<Output, Error> {
        control.begin("Comparing bases of distributions", layouts.len() as u64);
        let (cpu, silent) = (backend.cpu(), control.silent());
        let is_plausible = cpu.install(|| is_plausible(volume, fibres, &self.ranked));
        let mut candidates = Vec::new();
        for layout in layouts {
            control.check()?;
            let field = cpu.install(|| second_moments(volume, fibres, layout));
            let maps = tensor_fit::maps(&field, &cpu, &silent)?;
            let quality = field_quality(&field, &params.tracking, &cpu, &silent)?;
            let mut bases = self.ranked.iter();
            let rank = bases.position(|(basis, _)| *basis == layout.basis);
            let ratios = rank.map_or(&[][..], |rank| &self.ranked[rank].1);
            let candidate = Candidate {
                layout,
                symmetry: mean(ratios),
                mean_length_mm: quality.mean_length_mm,
                coherence: quality.coherence,
                streamlines: quality.streamlines,
                slice: slice(&field, &maps.dec, params.picture),
            };
            candidates.push((rank, candidate, quality.started));
            control.advance(1);
        }
        candidates.sort_by(|(rank, a, _), (other, b, _)| {
            let score = b.score().total_cmp(&a.score());
            rank.cmp(other).then(score)
        });
        Ok(Output {
            basis_is_clear: self.is_clear,
            is_plausible,
            started: candidates.first().map_or(0, |(.., started)| *started),
            ranked: candidates
                .into_iter()
                .map(|(_, candidate, _)| candidate)
                .collect(),
        })
    }
}

/// The amount of fibres in each voxel, which is the same in every basis.
struct Fibres {
    amounts: Vec<f64>,
    /// The volume of the amounts.
    first: usize,
    /// The amount in the voxels with most fibres.
    high: f64,
}

impl Fibres {
    fn new(volume: &Volume) -> Self {
        // Camino's two values come before the coefficients.
        let conversions = OdfLayout::of_volumes(volume.frames)
            .filter_map(|layout| OdfConversion::new(layout, volume.frames, &volume.grid));
        let first = conversions.map(|c| c.first_volume()).min().unwrap_or(0);
        let n = volume.grid.voxel_count();
        let amount = |voxel: usize| match f64::from(volume.values[first * n + voxel]) {
            amount if amount.is_finite() => amount.max(0.0),
            _ => 0.0,
        };
        let amounts: Vec<f64> = (0..n).map(amount).collect();
        let mut positive: Vec<f64> = amounts.iter().copied().filter(|a| *a > 0.0).collect();
        let high = quantile(&mut positive, 0.99).unwrap_or(f64::INFINITY);
        Self {
            amounts,
            first,
            high,
        }
    }

    /// Some of the voxels with most fibres.
    fn measured(&self) -> Vec<usize> {
        let many = (0..self.amounts.len()).filter(|&voxel| self.is_above(voxel, MANY_FIBRES));
        let many: Vec<usize> = many.collect();
        let step = many.len().div_ceil(MAX_VOXELS).max(1);
        many.into_iter().step_by(step).collect()
    }

    fn is_above(&self, voxel: usize, share: f64) -> bool {
        self.amounts[voxel] > share * self.high
    }
}

/// The stored coefficients of a voxel up to an order.
fn stored(volume: &Volume, first: usize, order: usize, voxel: usize) -> Vec<f64> {
    let n = volume.grid.voxel_count();
    let planes = first..first + count(order);
    planes
        .map(|plane| f64::from(volume.values[plane * n + voxel]))
        .collect()
}

/// A conversion of the coefficients up to an order, whatever higher ones the image has, and the first of their volumes.
fn conversion(volume: &Volume, layout: OdfLayout, order: usize) -> Option<(OdfConversion, usize)> {
    let whole = OdfConversion::new(layout, volume.frames, &volume.grid)?;
    let part = OdfConversion::new(layout, count(order.min(whole.order())), &volume.grid)?;
    Some((part, whole.first_volume()))
}

/// The place of MRtrix 3's basis, if it and that of MRtrix 0.2 are the best two.
fn first_of_mrtrix(bases: &[(Basis, Vec<f64>)]) -> Option<usize> {
    let best = bases.get(..2)?;
    let place = |basis: Basis| best.iter().position(|(b, _)| *b == basis);
    place(Basis::MRtrixLegacy)?;
    place(Basis::MRtrix)
}

/// The integral of the negative parts of distributions over that of all.
fn negative_share(volume: &Volume, fibres: &Fibres, basis: Basis) -> f64 {
    let layout = OdfLayout {
        basis,
        frame: TensorFrame::World,
    };
    let Some((conversion, first)) = conversion(volume, layout, MAX_ODF_ORDER) else {
        return 1.0;
    };
    let order = conversion.order();
    let directions = half_sphere(TESTED_DIRECTIONS).map(|u| evaluate(order, u));
    let directions: Vec<Vec<f64>> = directions.collect();
    let sums = |&voxel: &usize| {
        let own = conversion.convert(&stored(volume, first, order, voxel));
        let value = |y: &Vec<f64>| y.iter().zip(&own).map(|(y, c)| y * c).sum::<f64>();
        let values = directions.iter().map(value);
        values.fold((0.0, 0.0), |(negative, all), value| {
            (negative + (-value).max(0.0), all + value)
        })
    };
    let sums: Vec<(f64, f64)> = fibres.measured().par_iter().map(sums).collect();
    let negative: f64 = sums.iter().map(|(negative, _)| negative).sum();
    let all: f64 = sums.iter().map(|(_, all)| all).sum();
    match negative / all {
        share if share.is_finite() && all > 0.0 => share,
        _ => 1.0,
    }
}

/// Whether the image can hold distributions. Those of parallel bundles may have coefficients of one sign.
fn is_plausible(volume: &Volume, fibres: &Fibres, bases: &[(Basis, Vec<f64>)]) -> bool {
    let orders = OdfLayout::of_volumes(volume.frames).filter_map(|l| l.order(volume.frames));
    let order = orders.max().unwrap_or(0);
    if fibres.first == 0 && order > TENSOR_ORDER {
        let symmetry = bases.first().map_or(0.0, |(_, ratios)| mean(ratios));
        return order_of_distributions(volume).is_some() || symmetry > SINGLE_BUNDLES;
    }
    let n = volume.grid.voxel_count();
    let share = implausible_share(order, n, &volume.values[fibres.first * n..]);
    share <= MAX_IMPLAUSIBLE_SHARE
}

/// Every basis with the ratio of each measured voxel, the one with the largest mean first.
fn ranked_bases(volume: &Volume, fibres: &Fibres, layouts: &[OdfLayout]) -> Vec<(Basis, Vec<f64>)> {
    let chosen = fibres.measured();
    // Symmetry does not depend on the frame.
    let in_world = layouts.iter().filter(|l| l.frame == TensorFrame::World);
    let mut ranked: Vec<(Basis, Vec<f64>)> = in_world
        .filter_map(|&layout| {
            let (conversion, first) = conversion(volume, layout, SYMMETRY_ORDER)?;
            let order = conversion.order();
            let axes: Vec<Vec<f64>> = half_sphere(AXES).map(|u| evaluate(order, u)).collect();
            let ratio = |&voxel: &usize| {
                let own = conversion.convert(&stored(volume, first, order, voxel));
                symmetry(&own, &axes)
            };
            Some((layout.basis, chosen.par_iter().map(ratio).collect()))
        })
        .collect();
    ranked.sort_by(|(_, a), (_, b)| mean(b).total_cmp(&mean(a)));
    ranked
}

/// Σ_l 4π/(2l + 1) (Σ_m c_lm Y_lm(u))² over Σ_lm c_lm², l > 0, at the best of the axes; 0 without directions.
fn symmetry(coefficients: &[f64], axes: &[Vec<f64>]) -> f64 {
    let energy: f64 = coefficients[1..].iter().map(|c| c * c).sum();
    if !(energy.is_finite() && energy > 0.0) {
        return 0.0;
    }
    let along = |functions: &Vec<f64>| {
        let (mut first, mut size, mut sum) = (1, 5, 0.0);
        while first < coefficients.len() {
            let range = first..first + size;
            let pairs = coefficients[range.clone()].iter().zip(&functions[range]);
            let value: f64 = pairs.map(|(c, y)| c * y).sum();
            // There are 2l + 1 coefficients of degree l.
            sum += 4.0 * PI / size as f64 * value * value;
            (first, size) = (first + size, size + 4);
        }
        sum
    };
    axes.iter().map(along).fold(0.0, f64::max) / energy
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Whether the first basis leads over each other in the same voxels by more than chance.
fn is_clear(bases: &[(Basis, Vec<f64>)]) -> bool {
    let Some(((_, best), others)) = bases.split_first() else {
        return false;
    };
    let leads = |(_, other): &(Basis, Vec<f64>)| {
        let leads: Vec<f64> = best.iter().zip(other).map(|(a, b)| a - b).collect();
        let lead = mean(&leads);
        let squares: Vec<f64> = leads.iter().map(|l| (l - lead) * (l - lead)).collect();
        lead > CLEAR_LEAD * (mean(&squares) / leads.len().max(1) as f64).sqrt()
    };
    !best.is_empty() && others.iter().all(leads)
}

/// ∫ f u uᵀ du of each voxel as a tensor, scaled to the trace of tissue: for degrees 0 and 2 of MRtrix's basis in closed
/// form.
fn second_moments(volume: &Volume, fibres: &Fibres, layout: OdfLayout) -> TensorField {
    let conversion = conversion(volume, layout, TENSOR_ORDER);
    let (k, s) = ((5.0 / (16.0 * PI)).sqrt(), (15.0 / (4.0 * PI)).sqrt());
    let tensor = |voxel: usize| {
        let Some((conversion, first)) = &conversion else {
            return Tensor::default();
        };
        if !fibres.is_above(voxel, SOME_FIBRES) {
            return Tensor::default();
        }
        let c = conversion.convert(&stored(volume, *first, TENSOR_ORDER, voxel));
        let total = c[0] * (4.0 * PI).sqrt();
        // Coefficients 1 to 5 are those of m = −2 to 2.
        let (xy, yz, xz) = (c[1] / s, -c[2] / s, -c[4] / s);
        let zz = (total + c[3] / k) / 3.0;
        let difference = 2.0 * c[5] / s;
        let (xx, yy) = (
            (total - zz + difference) / 2.0,
            (total - zz - difference) / 2.0,
        );
        let scale = TRACE_MM2_PER_S / total;
        let own = [xx, xy, xz, yy, yz, zz].map(|part| part * scale);
        // A distribution that is negative in places has a negative moment across its fibres.
        let (values, _) = tensor_fit::eigen_symmetric(own);
        let raised = MIN_ADDED_MM2_PER_S - values[2].min(0.0);
        let diagonal = [raised, 0.0, 0.0, raised, 0.0, raised];
        let d: [f64; 6] = std::array::from_fn(|i| own[i] + diagonal[i]);
        match d.iter().all(|part| part.is_finite()) {
            true => Tensor::new(d.map(|part| part as f32)),
            false => Tensor::default(),
        }
    };
    let n = volume.grid.voxel_count();
    let tensors: Vec<Tensor> = (0..n)
        .into_par_iter()
        .with_min_len(4096)
        .map(tensor)
        .collect();
    TensorField::new(volume.grid.clone(), tensors)
}
