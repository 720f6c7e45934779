//! Weights of streamlines by which they explain the signal of a scan.

use crate::errors::Failure;
use crate::parameters::{Given, filled, given};
use crate::results::{Array, Fact, Parts};
use crate::run::{Common, run};
use crate::solve::memory;
use crate::types::{Image, Streamlines};
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::text::counted;
use arcuate_engine::data::{Gradients, Mask, Tractogram, Volume};
use arcuate_engine::io::scheme;
use arcuate_engine::solvers::commit::cylinder::{GammaRadii, Timing};
use arcuate_engine::solvers::commit::model::Intra;
use arcuate_engine::solvers::commit::samples::Samples;
use arcuate_engine::solvers::commit::solver::{Curve, Ended};
use arcuate_engine::solvers::commit::{Inputs, Params, Prepared};
use arcuate_engine::solvers::tensor_fit;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Value per streamline of the weights, as in files.
const WEIGHT: &str = "commit";

/// Optional inputs of a fit, besides its parameters.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Further<'py> {
    mask: Option<PyRef<'py, Image>>,
    peaks: Option<PyRef<'py, Image>>,
    start: Option<Vec<f32>>,
    gamma: Vec<(f64, f64)>,
    pulse: Option<f64>,
    between: Option<f64>,
    /// A Camino scheme file with the timing of each volume.
    scheme: Option<PathBuf>,
}

/// Fits the weights. Returns them with the maps of the three compartments and of the error.
#[pyfunction]
pub fn commit(
    py: Python<'_>,
    streamlines: PyRef<'_, Streamlines>,
    scan: PyRef<'_, Image>,
    further: Further<'_>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Parts> {
    let given = given(arguments)?;
    let fit = Weights {
        tractogram: streamlines.tractogram.clone(),
        scan: scan.clone(),
        mask: further.mask.map(|mask| mask.clone()),
        peaks: further.peaks.map(|peaks| peaks.volume.clone()),
        start: further.start,
        gamma: further.gamma,
        pulses: (further.pulse, further.between),
        scheme: further.scheme,
    };
    run(py, &common, move |backend, control| {
        fit.run(&given, backend, control)
    })
}

struct Weights {
    tractogram: Tractogram,
    scan: Image,
    mask: Option<Image>,
    peaks: Option<Volume>,
    start: Option<Vec<f32>>,
    gamma: Vec<(f64, f64)>,
    pulses: (Option<f64>, Option<f64>),
    scheme: Option<PathBuf>,
}

impl Weights {
    fn run(
        mut self,
        given: &Given,
        backend: &Backend,
        control: &Control,
    ) -> Result<Parts, Failure> {
        // Parameters that fit no scan are refused first.
        self.params(given, 1)?;
        let gradients = self.scan.gradients.clone();
        let (timing, remarks) = self.timing(gradients.as_deref())?;
        let switches = Params::defaults_for(1).switches;
        let samples = gradients
            .as_ref()
            .and_then(|gradients| Samples::new(gradients, &timing, &switches).ok());
        let params = self.params(given, samples.as_ref().map_or(1, |s| s.shells.len()))?;
        let mask = match &self.mask {
            Some(mask) => Some(mask.as_mask("mask")?.in_order(&self.scan.volume.grid)),
            None => None,
        };
        if self.peaks.is_none() && !params.model.extra.is_empty() {
            self.peaks = self.directions(
                gradients.as_deref(),
                &timing,
                mask.as_ref(),
                &params,
                backend,
                control,
            )?;
        }
        let inputs = self.inputs(gradients.as_deref(), &timing, mask.as_ref());
        let prepared = Prepared::new(&inputs, &params, memory(), backend, control)?;
        let streamlines = self.tractogram.len();
        let start = match &self.start {
            Some(weights) if weights.len() != streamlines => {
                return Err(Failure::Input(format!(
                    "Found {} to start from for {}, expected one for each; give them in the order of the streamlines",
                    counted(weights.len(), "weight"),
                    counted(streamlines, "streamline")
                )));
            }
            Some(weights) => Some(prepared.unknowns_from_weights(weights)),
            None => None,
        };
        let curve = Curve::default();
        let fit = prepared.fit(
            &self.tractogram,
            &params,
            start.as_deref(),
            None,
            &curve,
            backend,
            control,
        )?;
        let shape = prepared.operator.shape();
        let if_has = |has: bool, volume: &Volume| has.then(|| volume.clone());
        let weighted = self
            .tractogram
            .with_per_streamline(WEIGHT, fit.weights.clone());
        let weights = fit.weights.to_vec();
        Ok(Parts::default()
            .array("weights", Array::Floats(weights.into()), &[streamlines])
            .image("intra", fit.maps.intra)
            .image_if("extra", if_has(shape.extra > 0, &fit.maps.extra))
            .image_if("free", if_has(shape.free > 0, &fit.maps.free))
            .image("rmse", fit.maps.rmse)
            .streamlines("streamlines", weighted)
            .fact("objective", Fact::Number(fit.objective))
            .fact("total_rmse", Fact::Number(fit.rmse))
            .fact("iterations", Fact::Whole(u64::from(fit.iterations)))
            .fact("converged", Fact::Flag(fit.ended != Ended::Iterations))
            .fact("outside", Fact::Whole(prepared.dictionary.counts.outside))
            .fact("remarks", Fact::Names(remarks)))
    }

    fn inputs<'a>(
        &'a self,
        gradients: Option<&'a Gradients>,
        timing: &'a [Timing],
        mask: Option<&'a Mask>,
    ) -> Inputs<'a> {
        Inputs {
            tractogram: &self.tractogram,
            scan: &self.scan.volume,
            gradients,
            timing,
            mask,
            peaks: self.peaks.as_ref(),
        }
    }

    /// The parameters; the defaults are those for this number of shells.
    fn params(&self, given: &Given, shells: usize) -> Result<Params, Failure> {
        let mut params = filled(Params::defaults_for(shells), given, &[])?;
        match &mut params.model.intra {
            Intra::GammaCylinders { radii, .. } if !self.gamma.is_empty() => {
                let given = self.gamma.iter();
                let given = given.map(|&(shape, scale_um)| GammaRadii { shape, scale_um });
                *radii = given.collect();
            }
            Intra::GammaCylinders { .. } => {}
            _ if self.gamma.is_empty() => {}
            _ => {
                return Err(Failure::Parameter(
                    "Found gamma, which has no effect: only gamma cylinders have distributions of radii; leave it out, \
                     or choose model=\"gamma-cylinder\""
                        .to_owned(),
                ));
            }
        }
        Ok(params)
    }

    /// The timing of all volumes or of each, and remarks about its units.
    fn timing(&self, gradients: Option<&Gradients>) -> Result<(Vec<Timing>, Vec<String>), Failure> {
        let timing = |[pulse_ms, between_ms]: [f64; 2]| Timing {
            pulse_ms,
            between_ms,
        };
        match (self.pulses, &self.scheme) {
            ((None, None), Some(path)) => {
                let read = scheme::timing(path)?;
                let differs = gradients.and_then(|g| read.against(&g.b_s_per_mm2));
                let remarks = read.notes.into_iter().chain(differs);
                let remarks = remarks.map(|remark| format!("{remark}: {}", path.display()));
                Ok((
                    read.rows.into_iter().map(timing).collect(),
                    remarks.collect(),
                ))
            }
            (_, Some(_)) => Err(Failure::Parameter(
                "Found scheme beside pulse or between, expected one of them; leave out the others"
                    .to_owned(),
            )),
            ((Some(pulse), Some(between)), None) => {
                let (pulses, remark) = scheme::in_ms(pulse, between)
                    .map_err(|error| Failure::Parameter(error.to_string()))?;
                Ok((vec![timing(pulses)], remark.into_iter().collect()))
            }
            ((None, None), None) => Ok((Vec::new(), Vec::new())),
            _ => Err(Failure::Parameter(
                "Found one of pulse and between, expected both or neither; give the other one"
                    .to_owned(),
            )),
        }
    }

    /// The directions of tensors that are fitted to the scan, for the water around fibres.
    fn directions(
        &self,
        gradients: Option<&Gradients>,
        timing: &[Timing],
        mask: Option<&Mask>,
        params: &Params,
        backend: &Backend,
        control: &Control,
    ) -> Result<Option<Volume>, Failure> {
        // Invalid inputs are refused before tensors are fitted.
        let mut without = params.clone();
        if gradients.is_some() {
            without.model.extra.clear();
        }
        let inputs = self.inputs(gradients, timing, mask);
        backend.install(|| {
            let survey = inputs.survey(control)?;
            inputs.check(&without, &survey)
        })?;
        let Some(gradients) = gradients else {
            return Ok(None);
        };
        let tensors = tensor_fit::Params::defaults_for(Some(gradients));
        let (scan, mask) = (&self.scan.volume, mask.cloned());
        let whole = tensor_fit::whole_fit(scan, Some(gradients), mask, &tensors, backend, control)?;
        Ok(Some(whole.maps.direction))
    }
}
