//! Streamlines through the tensors of a fit or through fibre orientation distributions.

use crate::errors::Failure;
use crate::model::{Distributions, GivenModel, Model};
use crate::parameters::{Given, filled, given, is_given};
use crate::regions::{GivenRegion, by_role, owned, regions_of};
use crate::run::{Common, run};
use crate::solve::{Fit, finished, memory};
use crate::tables;
use crate::types::{Image, Streamlines};
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::odf_field::Tissue;
use arcuate_engine::data::tissue_map::{numbering_text, unknown_labels_text};
use arcuate_engine::data::{Mask, OdfField, Region, Response, Shells, TissueMap, Tractogram};
use arcuate_engine::io;
use arcuate_engine::solvers::odf_tracking::{self, Fibres, Method};
use arcuate_engine::solvers::{csd, curves, tensor_fit, tracking, tractogram};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

/// Optional inputs of tracking through distributions.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Further<'py> {
    tissues: Option<PyRef<'py, Image>>,
    scan: Option<PyRef<'py, Image>>,
    /// Response functions by tissue: files of MRtrix, or their contents.
    files: Vec<(String, PathBuf)>,
    texts: Vec<(String, String)>,
}

/// [`Further`] with values that are independent of Python.
struct Inputs {
    tissues: Option<Image>,
    scan: Option<Image>,
    files: Vec<(String, PathBuf)>,
    texts: Vec<(String, String)>,
}

impl Further<'_> {
    fn owned(self) -> Inputs {
        Inputs {
            tissues: self.tissues.map(|image| image.clone()),
            scan: self.scan.map(|image| image.clone()),
            files: self.files,
            texts: self.texts,
        }
    }
}

/// Follows streamlines. Returns them, and remarks.
#[pyfunction]
pub fn track(
    py: Python<'_>,
    model: GivenModel<'_>,
    regions: Vec<GivenRegion<'_>>,
    further: Further<'_>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<(Streamlines, Vec<String>)> {
    let given = given(arguments)?;
    let (regions, inputs) = (owned(regions), further.owned());
    let model = Model::from_given(py, &model)?;
    run(py, &common, move |backend, control| {
        model.refuse_foreign(&given, &tables::track_rows())?;
        let regions = regions_of(regions, by_role)?;
        let tracking = Tracking {
            given: &given,
            regions: &regions,
            backend,
            control,
        };
        let (tractogram, remarks) = match &model {
            Model::Tensors(fit) => (tracking.in_tensors(fit, &inputs)?, Vec::new()),
            Model::Distributions(fibres) => tracking.in_distributions(fibres, &inputs)?,
        };
        Ok((Streamlines { tractogram }, remarks))
    })
}

/// The arguments of either model, and where to compute.
struct Tracking<'a> {
    given: &'a Given,
    regions: &'a [Region],
    backend: &'a Backend,
    control: &'a Control,
}

impl Tracking<'_> {
    fn in_tensors(&self, fit: &Fit, inputs: &Inputs) -> Result<Tractogram, Failure> {
        if inputs.tissues.is_some() || inputs.scan.is_some() || !inputs.files.is_empty() {
            return Err(Failure::Parameter(
                "Found tissues, scan or responses with a fit of tensors, expected them with distributions only; leave \
                 them out"
                    .to_owned(),
            ));
        }
        let (backend, control) = (self.backend, self.control);
        let (field, fa) = (&fit.whole.fit.field, &fit.whole.maps.fa);
        let mut defaults = curves::Params::defaults();
        if is_given(self.given, "deflect") && !is_given(self.given, "integrator") {
            defaults.integrator = curves::Integrator::Euler;
        }
        let params = filled(defaults, self.given, &[])?;
        params.check_reach()?;
        let regions = self.regions;
        let output = match params.repetitions {
            None => tracking::track_within(field, regions, &params, memory(), backend, control)?,
            Some(_) => {
                let residuals = self.residuals(fit)?;
                tracking::track_bootstrap(
                    field,
                    &residuals,
                    regions,
                    &params,
                    memory(),
                    backend,
                    control,
                )?
            }
        };
        let along = backend.install(|| {
            output.on_host()?;
            Ok::<_, Failure>(tractogram::sampled(fa, &output.kept))
        })?;
        let kept = output.kept.with_per_point("fa", along);
        Ok(finished(kept, regions, &field.grid))
    }

    /// The residuals of a fit, which a bootstrap draws from.
    fn residuals(&self, fit: &Fit) -> Result<tensor_fit::Residuals, Failure> {
        let scan = &fit.scan;
        let residuals = tensor_fit::residuals(
            &scan.volume,
            scan.scan_gradients()?,
            &fit.whole.mask,
            &fit.params,
            memory(),
            self.backend,
            self.control,
        );
        Ok(residuals?)
    }

    fn in_distributions(
        &self,
        distributions: &Distributions,
        inputs: &Inputs,
    ) -> Result<(Tractogram, Vec<String>), Failure> {
        let (backend, control, regions) = (self.backend, self.control, self.regions);
        let mut remarks = Vec::new();
        let tissues = inputs.tissues.as_ref();
        let tissues = tissues.map(|image| tissue_map(image, &mut remarks));
        let tissues = tissues.transpose()?;
        let field = distributions.field(control)?;
        let spacing = field.grid.spacing();
        let voxel_mm = (spacing.x + spacing.y + spacing.z) / 3.0;
        let params = self.odf_params(voxel_mm, tissues.is_some())?;
        let residuals = match params.repetitions {
            Some(_) => Some(self.odf_residuals(&field, inputs, params.random_seed)?),
            None => None,
        };
        let (grid, map) = (field.grid.clone(), tissues.as_ref());
        let fibres = Fibres::Distributions(field);
        let output = match (&residuals, &fibres) {
            (Some(residuals), Fibres::Distributions(field)) => odf_tracking::track_bootstrap(
                field,
                residuals,
                map,
                regions,
                &params,
                memory(),
                backend,
                control,
            )?,
            _ => odf_tracking::track(&fibres, map, regions, &params, memory(), backend, control)?,
        };
        backend.install(|| output.on_host())?;
        remarks.extend(map.and_then(|map| odf_tracking::tissue_doubt(&fibres, map)));
        Ok((finished(output.kept, regions, &grid), remarks))
    }

    /// The parameters for voxels of this size: some defaults follow from the method, which is an argument, too.
    fn odf_params(
        &self,
        voxel_mm: f64,
        has_tissues: bool,
    ) -> Result<odf_tracking::Params, Failure> {
        let for_method = |method: Method| {
            let defaults = odf_tracking::Params::defaults_for(method, voxel_mm, has_tissues);
            filled(defaults, self.given, &[])
        };
        let params = for_method(for_method(Method::Probabilistic)?.method)?;
        match params.at_interface && !has_tissues {
            true => Err(Failure::Parameter(
                "Found seed_interface without tissues, expected them; give an image as tissues"
                    .to_owned(),
            )),
            false => Ok(params),
        }
    }

    /// The residuals of a deconvolution of the scan, whose random signs a bootstrap draws.
    fn odf_residuals(
        &self,
        field: &OdfField,
        inputs: &Inputs,
        random_seed: u64,
    ) -> Result<csd::Residuals, Failure> {
        let Some(scan) = &inputs.scan else {
            return Err(Failure::Input(
                "Found bootstrap without the scan of the distributions, expected it; give it as scan, or track what \
                 arcuate.fod returns"
                    .to_owned(),
            ));
        };
        let (dwi, gradients) = (&scan.volume, scan.scan_gradients()?);
        if !dwi.grid.matches(&field.grid) {
            return Err(Failure::Input(
                "Found a scan on another grid than the distributions, expected that of their deconvolution; give \
                 another scan"
                    .to_owned(),
            ));
        }
        let responses = inputs.responses(&Shells::new(gradients))?;
        let params = csd::Params {
            order: Some(field.order()),
            random_seed,
            ..csd::Params::defaults()
        };
        let mean = field.coefficients.iter().take(field.grid.voxel_count());
        let inside: Vec<u8> = mean.map(|c| u8::from(*c > 0.0)).collect();
        let mask = Mask::new(field.grid.clone(), inside);
        let (backend, control) = (self.backend, self.control);
        Ok(csd::residuals(
            dwi, gradients, &mask, &responses, &params, backend, control,
        )?)
    }
}

impl Inputs {
    /// The response functions, white matter first. Without other tissues, only the outer shell is used.
    fn responses(&self, shells: &Shells) -> Result<Vec<Response>, Failure> {
        let mut all = Vec::new();
        for tissue in Tissue::ALL {
            let file = self.files.iter().find(|(key, _)| key == tissue.key());
            let text = self.texts.iter().find(|(key, _)| key == tissue.key());
            all.extend(match (file, text) {
                (Some((_, path)), _) => Some(io::response::read(path)?),
                (None, Some((_, text))) => Some(io::response::parse(text, Path::new("responses"))?),
                (None, None) => None,
            });
        }
        csd::matching_shells(shells, &all).map_err(|error| Failure::Input(error.to_string()))?;
        if let [white] = all.as_mut_slice() {
            *white = white.outer_shell();
        }
        Ok(all)
    }
}

/// The tissues of five volumes or of labels, and remarks about labels.
fn tissue_map(image: &Image, remarks: &mut Vec<String>) -> Result<TissueMap, Failure> {
    let volume = image.scalar("tissues")?;
    let refused = |error: &dyn std::fmt::Display| Failure::Input(error.to_string());
    if volume.frames != 1 {
        return TissueMap::from_volume(volume).map_err(|error| refused(&error));
    }
    let (map, unknown) = TissueMap::from_labels(volume).map_err(|error| refused(&error))?;
    remarks.extend(numbering_text(volume).map(str::to_owned));
    remarks.extend(unknown_labels_text(&unknown));
    Ok(map)
}
