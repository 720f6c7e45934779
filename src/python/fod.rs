//! Fibre orientation distributions of a scan.

use crate::errors::{Failure, unknown_key};
use crate::parameters::{Given, filled, given, is_given, split};
use crate::results::{Fact, Parts};
use crate::run::{Common, run};
use crate::types::Image;
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::odf_field::Tissue;
use arcuate_engine::data::text::{count, counted};
use arcuate_engine::data::{Mask, OdfField, Response, Shells};
use arcuate_engine::io;
use arcuate_engine::parameters::Parameters;
use arcuate_engine::solvers::response::ResponseAlgorithm;
use arcuate_engine::solvers::{csd, peaks, response, tensor_fit, uncertainty};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Where the response functions come from: text files of MRtrix by tissue, or an algorithm by its key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Responses {
    files: Vec<(String, PathBuf)>,
    algorithm: Option<String>,
}

/// Estimates distributions and the maps of their lobes. Returns the distributions by tissue, the maps, and the response
/// functions as text.
#[pyfunction]
pub fn fod(
    py: Python<'_>,
    scan: PyRef<'_, Image>,
    mask: Option<PyRef<'_, Image>>,
    responses: Responses,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Parts> {
    let given = given(arguments)?;
    let (scan, mask) = (scan.clone(), mask.map(|mask| mask.clone()));
    run(py, &common, |backend, control| {
        let estimation = Estimation {
            scan: &scan,
            backend,
            control,
        };
        estimation.run(mask.as_ref(), &responses, given)
    })
}

/// A scan, and where to compute.
struct Estimation<'a> {
    scan: &'a Image,
    backend: &'a Backend,
    control: &'a Control,
}

/// The parameters of the three steps.
struct Steps {
    csd: csd::Params,
    response: response::Params,
    peaks: peaks::Params,
}

impl Steps {
    fn new(given: Given, has_files: bool) -> Result<Self, Failure> {
        let (of_csd, rest) = split::<csd::Params>(given);
        let (of_response, of_peaks) = split::<response::Params>(rest);
        if has_files && let Some((name, _)) = of_response.first() {
            return Err(Failure::Parameter(format!(
                "Found {name}, which has no effect: the response functions are given; leave it out"
            )));
        }
        Ok(Self {
            csd: filled(csd::Params::defaults(), &of_csd, &[])?,
            response: filled(response::Params::defaults(), &of_response, &[])?,
            peaks: filled(peaks::Params::defaults(), &of_peaks, &[])?,
        })
    }
}

impl Estimation<'_> {
    fn run(
        &self,
        mask: Option<&Image>,
        responses: &Responses,
        given: Given,
    ) -> Result<Parts, Failure> {
        let (dwi, gradients) = (&self.scan.volume, self.scan.scan_gradients()?);
        let (backend, control) = (self.backend, self.control);
        let algorithm = algorithm(responses, &given)?;
        let steps = Steps::new(given, !responses.files.is_empty())?;
        let mask = match mask {
            Some(mask) => mask.as_mask("mask")?.in_order(&dwi.grid),
            None => tensor_fit::brain_mask(dwi, gradients, backend, control)?.mask,
        };
        let shells = Shells::new(gradients);
        if shells.weighted().next().is_none() {
            return Err(Failure::Input(format!(
                "Found no volume with diffusion weighting and a direction among {}, expected at least one shell; \
                 name the gradients of this scan",
                counted(dwi.frames, "volume")
            )));
        }
        let mut used = match responses.files.is_empty() {
            true => {
                let default = || ResponseAlgorithm::default_for(&shells, steps.csd.method);
                let algorithm = algorithm.unwrap_or_else(default);
                let estimate =
                    algorithm.estimate(dwi, gradients, &mask, &steps.response, backend, control)?;
                response::used(&estimate, &shells)
            }
            false => self.read(&responses.files, &shells, &mask)?,
        };
        if steps.csd.method != csd::Method::Paper {
            let separable = response::check_separable(&used, &shells);
            separable.map_err(|error| Failure::Input(error.to_string()))?;
        }
        // Without the compartment of fluid, only the shell with the least signal of fluid is used.
        if let [(_, white)] = used.as_mut_slice() {
            *white = white.outer_shell();
        }
        let functions: Vec<Response> = used.iter().map(|(_, r)| r.clone()).collect();
        let output = csd::fit(
            dwi, gradients, &mask, &functions, &steps.csd, backend, control,
        )?;
        let counts = &output.counts;
        if counts.not_finite + counts.without_signal >= mask.count() {
            return Err(Failure::Input(format!(
                "Found no signal in the {} of the mask ({} with a sample that is not a finite number), expected \
                 samples above 0; check the scan and its mask",
                counted(mask.count(), "voxel"),
                count(counts.not_finite as u64)
            )));
        }
        let maps = self.maps(&output.field, &mask, &functions, output.order.order, &steps)?;
        let mut parts = maps.image("wm_fod", output.field.volume());
        let others = used.iter().skip(1).zip(&output.tissues);
        for ((tissue, _), amount) in others {
            parts = parts.image(tissue.key(), amount.clone());
        }
        parts = parts.image_if("fractions", output.fractions());
        // The method of the paper has one tissue.
        for (tissue, function) in used.iter().take(1 + output.tissues.len()) {
            let name = format!("{}_response", tissue.key());
            parts = parts.fact(&name, Fact::Text(io::response::text(function)));
        }
        let order = output.order.order as u64;
        Ok(parts.mask("mask", &mask).fact("order", Fact::Whole(order)))
    }

    /// The response functions of these files, white matter first.
    fn read(
        &self,
        files: &[(String, PathBuf)],
        shells: &Shells,
        mask: &Mask,
    ) -> Result<Vec<(Tissue, Response)>, Failure> {
        let mut used = Vec::new();
        for tissue in Tissue::ALL {
            let Some((_, path)) = files.iter().find(|(key, _)| key == tissue.key()) else {
                continue;
            };
            let function = io::response::read(path)?;
            let scale = response::check_scale(&self.scan.volume, shells, mask, (tissue, &function));
            scale.map_err(|error| Failure::Input(format!("{error}: {}", path.display())))?;
            used.push((tissue, function));
        }
        let is_known = |key: &str| Tissue::ALL.iter().any(|tissue| tissue.key() == key);
        if let Some((key, _)) = files.iter().find(|(key, _)| !is_known(key)) {
            let known = Tissue::ALL.map(|tissue| tissue.key()).join(", ");
            return Err(Failure::Input(format!(
                "Found the tissue {key} in responses, expected {known}; change it"
            )));
        }
        match used.first() {
            Some((Tissue::WhiteMatter, _)) => Ok(used),
            _ => Err(Failure::Input(
                "Found no response function of white matter in responses, expected one; name it as wm".to_owned(),
            )),
        }
    }

    /// Peaks, maps of lobes and, with a bootstrap, maps of uncertainty.
    fn maps(
        &self,
        field: &OdfField,
        mask: &Mask,
        functions: &[Response],
        order: usize,
        steps: &Steps,
    ) -> Result<Parts, Failure> {
        let (backend, control) = (self.backend, self.control);
        let found = peaks::find(field, &steps.peaks, backend, control)?;
        let maps = peaks::maps(field, &steps.peaks, backend, control)?;
        let mut parts = Parts::default()
            .image("peaks", found.image_with_gaps())
            .image("afd", maps.density)
            .image("afd_total", maps.total)
            .image("dispersion", maps.dispersion)
            .image("complexity", maps.complexity)
            .image("dec", maps.dec);
        if let Some(repetitions) = steps.csd.repetitions {
            let params = csd::Params {
                order: Some(order),
                ..steps.csd.clone()
            };
            let (dwi, gradients) = (&self.scan.volume, self.scan.scan_gradients()?);
            let residuals =
                csd::residuals(dwi, gradients, mask, functions, &params, backend, control)?;
            let seed = steps.csd.random_seed;
            let maps = uncertainty::maps(&residuals, &found, repetitions, seed, backend, control)?;
            parts = parts
                .image("cone", maps.cone)
                .image("peak_dispersion", maps.dispersion);
        }
        Ok(parts)
    }
}

/// The algorithm that is chosen. Refuses parameters of the other one.
fn algorithm(responses: &Responses, given: &Given) -> Result<Option<ResponseAlgorithm>, Failure> {
    let Some(key) = &responses.algorithm else {
        return Ok(None);
    };
    let algorithm = ResponseAlgorithm::from_key(key).ok_or_else(|| {
        let keys = ResponseAlgorithm::KEYS;
        Failure::Parameter(unknown_key(key, "response_algorithm", keys))
    })?;
    if !responses.files.is_empty() {
        return Err(Failure::Parameter(
            "Found response_algorithm beside responses, expected one of them; leave one out"
                .to_owned(),
        ));
    }
    let rows = response::Params::TABLE.iter();
    let mut foreign = rows.filter(|row| !algorithm.rows().contains(&row.key));
    match foreign.find(|row| is_given(given, &row.member())) {
        None => Ok(Some(algorithm)),
        Some(row) => Err(Failure::Parameter(format!(
            "Found {}, which has no effect: only for the other algorithm than {key}; leave it out",
            row.member()
        ))),
    }
}
