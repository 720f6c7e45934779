//! Fits the weights of streamlines to the signal that they explain.

use crate::compute::{Backend, Control, DataId};
use crate::data::region::RegionId;
use crate::data::{Gradients, Mask, Region, Role, Sentence, Shape, Tractogram, Volume};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, memory_for_curves,
};
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::dictionary::Dictionary;
use crate::solvers::commit::lines::Lines;
use crate::solvers::commit::operator::OperatorKind;
use crate::solvers::commit::solver::Curve;
use crate::solvers::commit::{Fit, Inputs, MemoryDemand, Params, Prepared, TimeEstimate};
use crate::solvers::tensor_fit::{self, MaskReport};
use crate::solvers::tractogram::selection::{SelectionRules, select as select_streamlines};
use crate::state::filter::jobs::FileLines;
use crate::state::job_end::ended;
use crate::state::pathways::PathwayResult;
use crate::state::streamlines::jobs::from_file::select;
use crate::state::tensors::jobs::fit::fitted;
use crate::state::{Effect, State, filter};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

pub const FIT_WEIGHTS: Slot = Slot::latest_wins("commit").keeping_result();
/// Estimates of time and memory.
pub const ESTIMATE: Slot = Slot::latest_wins("estimate");

/// Fits the weights of streamlines to a scan.
#[derive(Clone, Debug)]
pub struct FitWeights {
    pub tractogram: Tractogram,
    /// Where the points of the streamlines are, if the tractogram has none of them.
    pub from_file: Option<FileLines>,
    /// A diffusion scan or, for the density model, an image without gradients.
    pub scan: Volume,
    pub gradients: Option<Arc<Gradients>>,
    /// None, one for all volumes, or one each.
    pub timing: Vec<Timing>,
    pub mask: Option<Mask>,
    /// `None`: those of the tensors, which are fitted first if the model needs them.
    pub peaks: Option<Volume>,
    pub tensors: tensor_fit::Params,
    pub params: Params,
    /// Data structures from an earlier fit of the same streamlines, scan and model.
    pub prepared: Option<Arc<Prepared>>,
    pub start: StartFrom,
    pub excluded: Excluded,
    /// The remaining streamlines of the tractogram, in its order: the others stay at 0 and get no weight.
    pub remaining: Option<Tractogram>,
    /// The unexplained signal before: its increase is returned as an image.
    pub rmse_before: Option<Volume>,
    /// The objective, for observers.
    pub curve: Curve,
}

/// Initial values of the first iteration.
#[derive(Clone, Debug, Default)]
pub enum StartFrom {
    #[default]
    Zero,
    /// All unknowns of the prepared fit.
    Fit(Arc<[f32]>),
    /// Weights of the streamlines, of any origin.
    Weights(Arc<[f32]>),
}

/// Streamlines that stay at 0.
#[derive(Clone, Debug, Default)]
pub enum Excluded {
    #[default]
    None,
    Marked(Arc<[bool]>),
    /// All that pass a region.
    Region(Region),
    /// All that pass the voxels of a pathway of some width.
    Along(Arc<PathwayResult>, f64),
}

#[derive(Clone, Debug)]
pub struct CommitFit {
    pub tractogram: DataId,
    pub fit: Fit,
    /// The streamlines that the preparation covers.
    pub all_streamlines: Tractogram,
    /// One for each remaining streamline.
    pub weights: Arc<[f32]>,
    /// The weights above 0, ascending.
    pub sorted: Arc<[f32]>,
    /// Sum of weight times length for streamlines in no group, mm.
    pub rest_mm: f64,
    /// Number of remaining streamlines that were to stay at 0.
    pub excluded: usize,
    /// Their voxels, if the unexplained signal before is known.
    pub lesion_evidence: Option<LesionEvidence>,
    /// The difference of the unexplained signal, now minus before.
    pub rmse_increase: Option<Volume>,
    pub prepared: Arc<Prepared>,
    /// One value per iteration, including the start.
    pub curve: Vec<f64>,
    pub prepare_ms: f64,
    pub fit_ms: f64,
    /// Reliability of the mask of the tensors' fit, if it was found.
    pub mask_report: Option<MaskReport>,
}

/// Sum of weight times length of the streamlines that are in no group, mm; it passes over all segments.
fn rest_mm(tractogram: &Tractogram, dictionary: &Dictionary, weights: &[f32]) -> f64 {
    let mut rest = dictionary.lengths_mm();
    for members in tractogram.groups.values() {
        members.iter().for_each(|m| rest[*m as usize] = 0.0);
    }
    let each = weights.iter().zip(&rest);
    each.map(|(weight, mm)| f64::from(*weight) * mm).sum()
}

/// The voxels that the excluded streamlines pass, the only ones where their signal is missing (the evidence for a
/// tract: Pestilli et al. 2014, Nat Methods 11:1058).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LesionEvidence {
    pub voxels: u64,
    /// Root mean square of the unexplained signal, with them and without.
    pub rmse: [f64; 2],
}

impl LesionEvidence {
    fn new(out: &[bool], dictionary: &Dictionary, [before, now]: [&Volume; 2]) -> Option<Self> {
        let voxels = dictionary.voxels.iter().enumerate();
        let run = |i: usize| {
            dictionary
                .in_voxel(i)
                .iter()
                .any(|s| out[s.streamline as usize])
        };
        let (mut count, mut squares) = (0, [0.0; 2]);
        for (_, voxel) in voxels.filter(|(i, _)| run(*i)) {
            count += 1;
            for (sum, map) in squares.iter_mut().zip([before, now]) {
                *sum += f64::from(map.frame(0)[*voxel as usize]).powi(2);
            }
        }
        (count > 0).then(|| Self {
            voxels: count,
            rmse: squares.map(|sum| (sum / count as f64).sqrt()),
        })
    }
}

/// Computes the cost of a fit, or why it is impossible.
#[derive(Clone, Debug)]
pub struct EstimateFit {
    pub fit: FitWeights,
}

/// Memory and time that a fit will take, estimated before it starts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FitEstimate {
    pub demand: MemoryDemand,
    /// Bytes available to it.
    pub free: Option<u64>,
    /// Bytes on each graphics card, and those free on the first.
    pub on_card: Option<(u64, u64)>,
    pub time_estimate: TimeEstimate,
}

impl Job for FitWeights {
    type Output = Box<CommitFit>;

    fn slot(&self) -> Slot {
        FIT_WEIGHTS
    }

    fn label(&self) -> String {
        "Fitting weights".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        Ok(Box::new(self.fit(&worker.backend(), control)?))
    }
}

impl Receive<State> for FitWeights {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, fit, _, _| {
            filter::update::done(state, *fit);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        match end.sentence() {
            Some(sentence) => filter::update::failed(state, sentence),
            None => filter::update::stopped(state),
        }
        !matches!(end, Unfinished::DeviceFailed(_))
    }
}

impl Job for EstimateFit {
    type Output = FitEstimate;

    fn slot(&self) -> Slot {
        ESTIMATE
    }

    fn label(&self) -> String {
        "Counting segments".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<FitEstimate>,
    ) -> Result<FitEstimate, JobError> {
        self.fit.estimate(&worker.backend(), control)
    }
}

impl Receive<State> for EstimateFit {
    fn receive(
        &self,
        delivery: Delivery<FitEstimate>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, estimate, _, _| {
            filter::update::estimated(state, estimate);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        match end {
            Unfinished::Cancelled => state.runtime.filter.estimate.fail(),
            Unfinished::Failed(sentence) => filter::update::receive_refusal(state, sentence),
            // The estimate waits until the user permits the CPU.
            Unfinished::DeviceFailed(_) => return false,
        }
        true
    }
}

impl FitWeights {
    fn fit(mut self, backend: &Backend, control: &Control) -> Result<CommitFit, JobError> {
        let started = Instant::now();
        if self.prepared.is_none() {
            self.count(backend, control)?;
        }
        self.mask = self.ordered_mask();
        let left = self
            .remaining
            .as_ref()
            .map(|left| marks_of(&self.tractogram, left));
        let left = match (left, self.remaining.take()) {
            // Some edits were not removals.
            (Some(None), Some(now)) => {
                (self.tractogram, self.prepared) = (now, None);
                None
            }
            (marks, now) => {
                self.remaining = now;
                marks.flatten()
            }
        };
        let known = self.prepared.take().filter(|p| p.supports(backend));
        let is_known = known.is_some();
        let (prepared, mask_report) = match known {
            Some(prepared) => (prepared, None),
            None => {
                let (prepared, mask_report) = self.prepare(backend, control)?;
                (Arc::new(prepared), mask_report)
            }
        };
        let start = match &self.start {
            StartFrom::Fit(x) if is_known => Some(Cow::Borrowed(&**x)),
            // Unknowns of another operator have a different order.
            StartFrom::Zero | StartFrom::Fit(_) => None,
            StartFrom::Weights(weights) => {
                Some(Cow::Owned(prepared.unknowns_from_weights(weights)))
            }
        };
        let without = self.without(left.as_deref(), backend, control)?;
        let prepare_ms = started.elapsed().as_secs_f64() * 1e3;
        let started = Instant::now();
        let fit = prepared.fit(
            &self.tractogram,
            &self.params,
            start.as_deref(),
            without.as_deref(),
            &self.curve,
            backend,
            control,
        )?;
        let weights = match &left {
            Some(marks) => {
                let each = fit.weights.iter().zip(marks);
                each.filter(|(_, left)| **left).map(|(w, _)| *w).collect()
            }
            None => fit.weights.clone(),
        };
        let rmse_increase = self
            .rmse_before
            .as_ref()
            .map(|before| difference(&fit.maps.rmse, before));
        // Streamlines already removed do not count as excluded.
        let out = without.map_or_else(Vec::new, |marks| {
            let is_left = |i: usize| left.as_ref().is_none_or(|left| left[i]);
            let each = marks.iter().enumerate();
            each.map(|(i, out)| *out && is_left(i)).collect()
        });
        let before = self.rmse_before.as_ref().filter(|_| !out.is_empty());
        let lesion_evidence = before.and_then(|before| {
            let maps = [before, &fit.maps.rmse];
            LesionEvidence::new(&out, &prepared.dictionary, maps)
        });
        // Computed here to keep it off the interface thread.
        let maps = &fit.maps;
        for map in [&maps.intra, &maps.extra, &maps.free, &maps.rmse] {
            map.precompute_windows();
        }
        rmse_increase.iter().for_each(Volume::precompute_windows);
        let sorted = filter::sorted(&weights);
        let rest_mm = rest_mm(&self.tractogram, &prepared.dictionary, &fit.weights);
        Ok(CommitFit {
            tractogram: self.remaining.as_ref().unwrap_or(&self.tractogram).id(),
            all_streamlines: self.tractogram,
            weights,
            sorted,
            rest_mm,
            excluded: out.iter().filter(|m| **m).count(),
            lesion_evidence,
            rmse_increase,
            fit,
            prepared,
            curve: self.curve.values(),
            prepare_ms,
            fit_ms: started.elapsed().as_secs_f64() * 1e3,
            mask_report,
        })
    }

    /// One mark for each streamline of the whole.
    fn without(
        &self,
        left: Option<&[bool]>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Option<Vec<bool>>, JobError> {
        let now = self.remaining.as_ref().unwrap_or(&self.tractogram);
        // Weights of the remaining streamlines.
        let marks: Option<Vec<bool>> = match &self.excluded {
            Excluded::None => None,
            Excluded::Marked(marks) => Some(marks.to_vec()),
            Excluded::Region(region) => {
                let region = Region {
                    role: Role::Include,
                    ..region.clone()
                };
                Some(self.passes_region(region, backend, control)?)
            }
            Excluded::Along(pathway, epsilon) => {
                let mask = backend.install(|| pathway.mask(*epsilon));
                let region = Region {
                    id: RegionId(0),
                    name: String::new(),
                    role: Role::Include,
                    shape: Arc::new(Shape::Mask(mask)),
                    colour: None,
                    visible: false,
                    label_number: None,
                };
                Some(self.passes_region(region, backend, control)?)
            }
        };
        if marks.as_ref().is_some_and(|m| m.len() != now.len()) {
            return Err(OtherTractogram.into());
        }
        let Some(left) = left else {
            return Ok(marks);
        };
        let mut own = marks.unwrap_or_default().into_iter();
        let all = left.iter();
        let out = all.map(|is_left| !is_left || own.next().unwrap_or(false));
        Ok(Some(out.collect()))
    }

    /// One mark for each streamline that remains: whether it passes a region.
    fn passes_region(
        &self,
        region: Region,
        backend: &Backend,
        control: &Control,
    ) -> Result<Vec<bool>, JobError> {
        let rules = SelectionRules {
            regions: vec![region],
            ..SelectionRules::default()
        };
        let mut marks = marks_by_rules(self, &[rules], backend, control)?;
        Ok(marks.swap_remove(0))
    }

    /// Counts the segments of streamlines in a file; if another job counts them, waits for its result.
    fn count(&self, backend: &Backend, control: &Control) -> Result<(), JobError> {
        if let Some(lines) = &self.from_file {
            lines.count(&self.scan.grid, backend, control)?;
        }
        Ok(())
    }

    /// Estimates memory and time; an error says why the fit is impossible.
    fn estimate(&self, backend: &Backend, control: &Control) -> Result<FitEstimate, JobError> {
        self.count(backend, control)?;
        let mask = self.ordered_mask();
        let inputs = Inputs {
            mask: mask.as_ref(),
            ..self.inputs()
        };
        backend.install(|| {
            let survey = inputs.survey(control)?;
            let samples = inputs.check(&self.without_missing(), &survey)?;
            let demand = inputs.demand(&self.params, &samples, &survey, backend.devices());
            let free = memory_for_curves();
            demand.check(self.tractogram.len(), free)?;
            let by_table = matches!(self.params.way, Some(OperatorKind::Dense { .. }));
            let card = backend.devices().first().filter(|_| !by_table);
            let card_free = card.and_then(|device| device.memory().ok());
            Ok(FitEstimate {
                demand,
                free,
                on_card: card_free.map(|(free, _)| (demand.on_card, free)),
                time_estimate: inputs.estimate(&self.params, &samples, &demand, backend),
            })
        })
    }

    /// The course of its streamlines through the fit's voxels.
    pub(super) fn course(
        &self,
        memory: Option<u64>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Dictionary, JobError> {
        self.count(backend, control)?;
        let mask = self.ordered_mask();
        let inputs = Inputs {
            mask: mask.as_ref(),
            peaks: None,
            ..self.inputs()
        };
        Ok(inputs.dictionary_without_peaks(&self.params, memory, backend, control)?)
    }

    fn ordered_mask(&self) -> Option<Mask> {
        let mask = self.mask.clone();
        mask.map(|mask| mask.in_order(&self.scan.grid))
    }

    /// Whether peaks must be computed.
    fn lacks_peaks(&self) -> bool {
        self.peaks.is_none() && !self.params.model.extra.is_empty()
    }

    /// The parameters as if nothing needed the missing peaks.
    fn without_missing(&self) -> Params {
        let mut params = self.params.clone();
        if self.lacks_peaks() && self.gradients.is_some() {
            params.model.extra.clear();
        }
        params
    }

    fn prepare(
        &mut self,
        backend: &Backend,
        control: &Control,
    ) -> Result<(Prepared, Option<MaskReport>), JobError> {
        let mut mask_report = None;
        // Invalid inputs are refused before tensors are fitted.
        if self.lacks_peaks() {
            backend.install(|| {
                let inputs = self.inputs();
                inputs.check(&self.without_missing(), &inputs.survey(control)?)
            })?;
            if let Some(gradients) = self.gradients.as_deref() {
                let (scan, tensors) = (&self.scan, &self.tensors);
                let mask = self.mask.clone();
                let fitted = fitted(scan, Some(gradients), mask, tensors, backend, control)?;
                mask_report = fitted.mask_report;
                self.peaks = Some(fitted.maps.direction);
            }
        }
        let memory = memory_for_curves();
        let prepared = Prepared::new(&self.inputs(), &self.params, memory, backend, control)?;
        Ok((prepared, mask_report))
    }

    fn inputs(&self) -> Inputs<'_> {
        let lines: &dyn Lines = match &self.from_file {
            Some(lines) => lines,
            None => &self.tractogram,
        };
        Inputs {
            tractogram: lines,
            scan: &self.scan,
            gradients: self.gradients.as_deref(),
            timing: &self.timing,
            mask: self.mask.as_ref(),
            peaks: self.peaks.as_ref(),
        }
    }
}

/// One mark for each streamline that remains and each of several rules: whether they keep it.
pub(super) fn marks_by_rules(
    fit: &FitWeights,
    all: &[SelectionRules],
    backend: &Backend,
    control: &Control,
) -> Result<Vec<Vec<bool>>, JobError> {
    if let Some(lines) = &fit.from_file {
        return select::marks_by_rules(lines.pieces(), all, backend, control);
    }
    let lines = fit.remaining.as_ref().unwrap_or(&fit.tractogram);
    let marks = |rules| Ok(select_streamlines(lines, rules, backend, control)?.marks);
    all.iter().map(marks).collect()
}

/// Marks of the fitted streamlines that remain, if the edits only removed some; `None` after any other edit.
fn marks_of(all: &Tractogram, left: &Tractogram) -> Option<Vec<bool>> {
    let mut rest = left.streamlines().peekable();
    let marks = all.streamlines().map(|line| {
        let same = rest.peek().is_some_and(|next| same_bits(next, line));
        if same {
            rest.next();
        }
        same
    });
    let marks: Vec<bool> = marks.collect();
    rest.peek().is_none().then_some(marks)
}

/// NaN equals itself, too.
fn same_bits(a: &[[f32; 3]], b: &[[f32; 3]]) -> bool {
    bytemuck::cast_slice::<_, u32>(a) == bytemuck::cast_slice::<_, u32>(b)
}

/// Now minus before, voxel by voxel.
fn difference(now: &Volume, before: &Volume) -> Volume {
    let (now_values, before) = (now.frame(0), before.frame(0));
    let values: Vec<f32> = now_values.iter().zip(before).map(|(n, b)| n - b).collect();
    Volume::scalar(now.grid.clone(), values)
}

/// The marks of the chosen streamlines belong to another tractogram.
#[derive(Clone, PartialEq, Debug)]
struct OtherTractogram;

impl fmt::Display for OtherTractogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The chosen streamlines belong to another tractogram: choose again")
    }
}

impl std::error::Error for OtherTractogram {}

impl From<OtherTractogram> for JobError {
    fn from(error: OtherTractogram) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}
