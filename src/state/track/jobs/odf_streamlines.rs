//! Tracking along the distributions of the document, from the regions and in the whole brain.

use crate::compute::{Backend, Control};
use crate::data::tissue_map::TissueMapError;
use crate::data::{OdfField, Region};
use crate::jobs::{JobError, memory_for_curves};
use crate::solvers::odf_tracking::{self, Fibres, Prepared};
use crate::solvers::{self, curves};
use crate::state::files::jobs::open::{with_lengths, with_target_names};
use crate::state::tensors::types::fods::FodBootstrapInput;
use crate::state::track::jobs::bootstrap::fod_residuals;
use crate::state::track::jobs::streamlines::Streamlines;
use crate::state::track::types::odf::{OdfInput, TissueDoubt, TissueInput, TissueKey};
use crate::state::track::types::{CurveKey, CurveParams};
use std::sync::PoisonError;

/// Tracks from the regions along distributions, with anatomical rules if there are tissues.
#[derive(Clone, Debug)]
pub struct TrackOdfStreamlines {
    pub distributions: OdfInput,
    /// The input of a bootstrap, if one is requested.
    pub resample: Option<Box<FodBootstrapInput>>,
    pub tissues: Option<(TissueKey, TissueInput)>,
    pub regions: Vec<Region>,
    pub params: odf_tracking::Params,
    /// Fewer seeds: a drag is in progress.
    pub coarse: bool,
}

impl Streamlines for TrackOdfStreamlines {
    fn key(&self) -> CurveKey {
        CurveKey {
            field: self.distributions.field.id(),
            regions: self.regions.clone(),
            curves: CurveParams::OdfStreamlines(self.params.clone()),
            tissues: self.tissues.as_ref().map(|(key, _)| *key),
            coarse: self.coarse,
        }
    }

    fn track(self, backend: &Backend, control: &Control) -> Result<curves::Output, JobError> {
        let tissues = self.tissues.as_ref().map(|(_, input)| input.read());
        let tissues = tissues.transpose()?;
        let tissues = tissues.map(|tissues| &tissues.map);
        let tissue_doubt = match &self.tissues {
            Some((_, input)) if !self.coarse => tissue_doubt(input, &self.distributions.field)?,
            _ => None,
        };
        let (regions, params) = (&self.regions, &self.params);
        let mut output = match self.resample.filter(|_| params.repetitions.is_some()) {
            Some(input) => {
                let residuals = fod_residuals(&input, params.repetitions, backend, control)?;
                odf_tracking::track_bootstrap(
                    &self.distributions.field,
                    &residuals,
                    tissues,
                    regions,
                    params,
                    memory_for_curves(),
                    backend,
                    control,
                )?
            }
            None => {
                let prepared = prepared(&self.distributions, backend, control)?;
                odf_tracking::track_prepared(
                    &prepared,
                    tissues,
                    regions,
                    params,
                    memory_for_curves(),
                    backend,
                    control,
                )?
            }
        };
        let kept = with_target_names(with_lengths(output.kept), &self.regions);
        output.kept = kept.with_grid(self.distributions.field.grid.clone());
        output.tissue_doubt = tissue_doubt;
        Ok(output)
    }
}

/// A sentence if the tissues do not seem to belong to the distributions, from the cache if they are those of the last run.
fn tissue_doubt(tissues: &TissueInput, field: &OdfField) -> Result<Option<String>, TissueMapError> {
    let mut known = tissues.doubt.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(doubt) = &*known
        && doubt.distributions == field.id()
    {
        return Ok(doubt.sentence.clone());
    }
    let fibres = Fibres::Distributions(field.clone());
    let sentence = odf_tracking::tissue_doubt(&fibres, &tissues.read()?.map);
    *known = Some(TissueDoubt {
        distributions: field.id(),
        sentence: sentence.clone(),
    });
    Ok(sentence)
}

/// The distributions as tracking reads them, from the cache if they are there.
fn prepared(
    input: &OdfInput,
    backend: &Backend,
    control: &Control,
) -> Result<Prepared, solvers::Error> {
    if let Some(prepared) = input.prepared.get() {
        return Ok(prepared.clone());
    }
    let fibres = Fibres::Distributions(input.field.clone());
    let prepared = Prepared::new(&fibres, backend, control)?;
    Ok(input.prepared.get_or_init(|| prepared).clone())
}
