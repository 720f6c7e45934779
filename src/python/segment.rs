//! A level set in an image.

use crate::errors::Failure;
use crate::parameters::{Given, filled, given, is_given, split};
use crate::regions::{GivenRegion, OwnRegion, owned, union};
use crate::results::{Array, Fact, Parts};
use crate::run::{Common, run};
use crate::types::Image;
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::text::counted;
use arcuate_engine::data::{Mask, Shape, Volume};
use arcuate_engine::parameters::Parameters;
use arcuate_engine::solvers::level_set::{
    Ended, Evolution, Inputs, LayerSpeed, Layout, Params, Probe, RunHistory, Sphere, Start,
    TargetParts, agreement, measures, surface,
};
use arcuate_engine::solvers::{self, region};
use glam::DVec3;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// The start of a run and the inputs of its speed.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Beginning<'py> {
    volume: usize,
    probe: Vec<Vec<f64>>,
    /// Spheres that are added (`true`) or removed, in their order.
    spheres: Vec<(bool, Vec<f64>)>,
    mask: Option<PyRef<'py, Image>>,
    threshold: Option<(f32, f32)>,
    fill: Option<[f64; 3]>,
    /// Largest difference from the value at `fill`; `None`: the tolerance of the run.
    fill_tolerance: Option<f32>,
    layer_range: Option<(f32, f32)>,
    /// The inputs of the speed besides the image, by the numbers of a script.
    speeds: Vec<GivenSpeed<'py>>,
    steps: u64,
    ignore_leaks: bool,
    reference: Option<PyRef<'py, Image>>,
    /// The member `run` of a script to repeat.
    script: Option<String>,
}

/// A layer with the number of its volume, regions to grow into, and regions to avoid.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenSpeed<'py> {
    layer: Option<PyRef<'py, Image>>,
    layer_volume: usize,
    grow_here: Vec<GivenRegion<'py>>,
    not_here: Vec<GivenRegion<'py>>,
}

/// [`GivenSpeed`] with values that are independent of Python.
struct Speed {
    layer: Option<(Image, usize)>,
    painted: [Vec<OwnRegion>; 2],
}

/// [`Beginning`] with values that are independent of Python.
struct Plan {
    frame: usize,
    probes: Vec<Vec<f64>>,
    spheres: Vec<(bool, Vec<f64>)>,
    mask: Option<Image>,
    threshold: Option<(f32, f32)>,
    fill: Option<(DVec3, Option<f32>)>,
    layer_speed: Option<LayerSpeed>,
    speeds: Vec<Speed>,
    steps: u64,
    watched: bool,
    reference: Option<Image>,
    script: Option<RunHistory>,
}

/// The run of a script.
fn history(text: &str) -> Result<RunHistory, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::Input(format!(
            "Found a script whose run cannot be read ({error}), expected the run.json that arcuate segment wrote; name \
             that file, or make it again"
        ))
    })
}

impl Plan {
    fn new(beginning: Beginning<'_>) -> Result<Self, Failure> {
        let script = beginning.script.as_deref().map(history).transpose()?;
        let speeds = beginning.speeds.into_iter().map(|speed| Speed {
            layer: speed.layer.map(|layer| (layer.clone(), speed.layer_volume)),
            painted: [owned(speed.grow_here), owned(speed.not_here)],
        });
        let plan = Self {
            frame: beginning.volume,
            probes: beginning.probe,
            spheres: beginning.spheres,
            mask: beginning.mask.map(|mask| mask.clone()),
            threshold: beginning.threshold,
            fill: (beginning.fill).map(|at| (DVec3::from_array(at), beginning.fill_tolerance)),
            layer_speed: (beginning.layer_range).map(|(low, high)| LayerSpeed { low, high }),
            speeds: speeds.collect(),
            steps: beginning.steps,
            watched: !beginning.ignore_leaks,
            reference: beginning.reference.map(|mask| mask.clone()),
            script,
        };
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), Failure> {
        let has_layer = self.speeds.iter().any(|speed| speed.layer.is_some());
        let refuse = |sentence: &str| Err(Failure::Input(sentence.to_owned()));
        if self.script.is_none() && has_layer != self.layer_speed.is_some() {
            return refuse(
                "Found one of layer and layer_range, expected both or neither; give the other one",
            );
        }
        let starts = [
            self.mask.is_some(),
            self.threshold.is_some(),
            self.fill.is_some(),
        ];
        match starts.iter().filter(|given| **given).count() {
            0 if self.spheres.iter().all(|(add, _)| !add) => refuse(
                "Found no start of the segmentation, expected one; give add, mask, threshold or fill",
            ),
            0 | 1 => Ok(()),
            _ => refuse(
                "Found several of mask, threshold and fill, expected one of them; leave the others out",
            ),
        }
    }

    /// Target and tolerance as given, otherwise from the probes.
    fn target(
        &self,
        given: &Given,
        image: &Volume,
        backend: &Backend,
    ) -> Result<TargetParts, Failure> {
        let stated = filled(TargetParts::defaults(), given, &[])?;
        let has = [is_given(given, "target"), is_given(given, "tolerance")];
        if self.probes.is_empty() {
            let sentence = match has {
                [true, true] => return Ok(stated),
                [true, false] => "Found no tolerance, expected one; give tolerance, or probe",
                [false, true] => "Found no target, expected one; give target, or probe",
                [false, false] => {
                    "Found no target, expected one; give probe, or target and tolerance"
                }
            };
            return Err(Failure::Input(sentence.to_owned()));
        }
        let mut voxels: Vec<usize> = Vec::new();
        for numbers in &self.probes {
            let (centre, radius_mm) = match numbers[..] {
                [x, y, z] => (DVec3::new(x, y, z), Probe::DEFAULT_RADIUS_MM),
                [x, y, z, radius] if radius > 0.0 => (DVec3::new(x, y, z), radius),
                _ => {
                    return Err(Failure::Input(format!(
                        "Found the numbers {numbers:?} for probe, expected x, y, z and perhaps a radius above 0, in mm; \
                         change them"
                    )));
                }
            };
            let ball = Shape::Sphere { centre, radius_mm }.mask_on(&image.grid);
            if ball.count() == 0 {
                let [x, y, z] = centre.to_array();
                return Err(Failure::Input(format!(
                    "Found a probe of {radius_mm} mm at {x}, {y}, {z} mm that holds no voxel of the image, expected \
                     one within it; move it or make it larger"
                )));
            }
            voxels.extend(ball.voxels_inside().map(|v| image.grid.index(v)));
        }
        let probe = backend.install(|| Probe::new(image, self.frame, &voxels));
        let probe = probe.map_err(solvers::Error::from)?;
        Ok(TargetParts {
            target: if has[0] { stated.target } else { probe.target },
            tolerance: match has[1] {
                true => stated.tolerance,
                false => probe.tolerance,
            },
        })
    }

    fn start(
        &self,
        image: &Volume,
        tolerance: f32,
        backend: &Backend,
        control: &Control,
    ) -> Result<Start, Failure> {
        let mask = match (&self.mask, self.threshold, self.fill) {
            (Some(mask), _, _) => Some(mask.as_mask("mask")?),
            (_, Some(range), _) => {
                let threshold = || region::threshold(image, self.frame, range, control);
                Some(backend.install(threshold)?)
            }
            (_, _, Some((at, own))) => {
                let (all, tolerance) = (f64::INFINITY, own.unwrap_or(tolerance));
                let filled = region::fill(image, self.frame, at, tolerance, all, control);
                Some(filled?.mask)
            }
            _ => None,
        };
        let spheres = self.spheres.iter().map(|(add, numbers)| {
            let name = if *add { "add" } else { "remove" };
            let [x, y, z, radius_mm] = numbers[..] else {
                return Err(Failure::Input(format!(
                    "Found the numbers {numbers:?} for {name}, expected x, y, z and a radius, in mm; give a mask as \
                     mask"
                )));
            };
            Ok(Sphere {
                add: *add,
                centre: DVec3::new(x, y, z),
                radius_mm,
            })
        });
        let spheres = spheres.collect::<Result<_, _>>()?;
        Ok(Start { mask, spheres })
    }

    /// The image with the other inputs of the speed, by the numbers of a script.
    fn inputs(&self, image: &Image, backend: &Backend) -> Result<Vec<Inputs>, Failure> {
        let plain = backend.install(|| Inputs::new(&image.volume, self.frame));
        let plain = plain.map_err(solvers::Error::from)?;
        let mut all = Vec::with_capacity(self.speeds.len());
        for speed in &self.speeds {
            // Later edits may have moved regions off the image.
            let meets = all.is_empty();
            let [grow, hold] = [
                union("grow_here", &speed.painted[0], image, meets)?,
                union("not_here", &speed.painted[1], image, meets)?,
            ];
            let inputs = match &speed.layer {
                Some((layer, frame)) => {
                    let layer = volume_of(layer, *frame, "layer")?;
                    backend.install(|| plain.clone().with_layer(layer, *frame))
                }
                None => plain.clone(),
            };
            all.push(backend.install(|| inputs.with_painted(grow.as_ref(), hold.as_ref())));
        }
        Ok(all)
    }

    /// The parameters, with the given values in place of those that follow from the probes.
    fn params(&self, given: Given, image: &Volume, backend: &Backend) -> Result<Params, Failure> {
        let (of_target, rest) = split::<TargetParts>(given);
        let TargetParts { target, tolerance } = self.target(&of_target, image, backend)?;
        let defaults = Params {
            layer: self.layer_speed,
            ..Params::defaults_for(target, tolerance)
        };
        filled(defaults, &rest, &[])
    }

    /// The run to repeat, or a new one with the given parameters.
    fn run_history(
        &self,
        given: Given,
        image: &Volume,
        backend: &Backend,
    ) -> Result<RunHistory, Failure> {
        match &self.script {
            Some(script) => Ok(script.clone()),
            None => Ok(RunHistory {
                params: self.params(given, image, backend)?,
                layout: Layout::BEST,
                events: Vec::new(),
                steps: self.steps,
            }),
        }
    }

    /// Runs the level set to its end.
    fn run(
        &self,
        image: &Image,
        given: Given,
        backend: &Backend,
        control: &Control,
    ) -> Result<(Evolution, Ended), Failure> {
        let volume = volume_of(image, self.frame, "the image")?;
        let history = self.run_history(given, volume, backend)?;
        let start = self.start(volume, history.params.tolerance, backend, control)?;
        let inputs = self.inputs(image, backend)?;
        if self.script.is_some() {
            return Ok(Evolution::replay(
                &inputs, &start, &history, backend, control,
            )?);
        }
        history.check(inputs.len()).map_err(solvers::Error::from)?;
        let (params, layout) = (&history.params, history.layout);
        let mut evolution = Evolution::new(&inputs[0], &start, params, layout, backend, control)?;
        evolution.watched = self.watched;
        let ended = evolution.run(history.steps, backend, control)?;
        Ok((evolution, ended))
    }
}

/// The values of an image that has a volume with this number.
fn volume_of<'a>(image: &'a Image, frame: usize, name: &str) -> Result<&'a Volume, Failure> {
    let volume = image.scalar(name)?;
    match frame < volume.frames {
        true => Ok(volume),
        false => Err(Failure::Input(format!(
            "Found {} in {name}, expected one with number {frame}; count from 0",
            counted(volume.frames, "volume")
        ))),
    }
}

/// Adds how far a mask agrees with a reference.
fn with_agreement(parts: Parts, mask: &Mask, reference: &Image) -> Result<Parts, Failure> {
    let reference = reference.as_mask("reference")?;
    let found = agreement(mask, &reference).map_err(solvers::Error::from)?;
    let number = |value: f64| Fact::Number(value);
    Ok(parts
        .fact("dice", number(found.dice))
        .fact("sensitivity", number(found.sensitivity))
        .fact("specificity", number(found.specificity))
        .fact("correct", number(found.correct))
        .fact("mean_mm", number(found.mean_mm))
        .fact("hausdorff95_mm", number(found.hausdorff95_mm)))
}

/// Runs a level set. Returns its voxels, its surface and its measures.
#[pyfunction]
pub fn segment(
    py: Python<'_>,
    image: PyRef<'_, Image>,
    beginning: Beginning<'_>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Parts> {
    let given = given(arguments)?;
    let image = image.clone();
    let plan = Plan::new(beginning).map_err(|failure| crate::errors::raised(py, failure))?;
    run(py, &common, move |backend, control| {
        let (evolution, ended) = plan.run(&image, given, backend, control)?;
        let field = evolution.field()?;
        let mask = backend.install(|| field.mask());
        let measured = backend.install(|| measures(&field));
        let surface = surface(&field);
        let points = surface.points.len();
        let triangles: Arc<[[u32; 3]]> = surface.triangles.into();
        let shape = [triangles.len(), 3];
        let script = evolution.script();
        let run = serde_json::to_string(&script).map_err(|error| {
            Failure::Input(format!(
                "Found a run that cannot be written ({error}), expected finite parameters; report this error"
            ))
        })?;
        let number = |value: f32| Fact::Number(f64::from(value));
        let parts = Parts::default()
            .mask("labels", &mask)
            .array("points", Array::Points(surface.points.into()), &[points, 3])
            .array("triangles", Array::Triangles(triangles), &shape)
            .fact("target", number(script.params.target))
            .fact("tolerance", number(script.params.tolerance))
            .fact("run", Fact::Text(run))
            .fact("steps", Fact::Whole(evolution.step()))
            .fact("at_rest", Fact::Flag(matches!(ended, Ended::Converged)))
            .fact("leaked", Fact::Flag(matches!(ended, Ended::Leaked(_))))
            .fact("remark", Fact::Text(ended.sentence().unwrap_or_default()))
            .fact("volume_ml", Fact::Number(measured.volume_ml))
            .fact("area_mm2", Fact::Number(measured.area_mm2))
            .fact("diameter_mm", Fact::Number(measured.diameter_mm));
        match &plan.reference {
            Some(reference) => backend.install(|| with_agreement(parts, &mask, reference)),
            None => Ok(parts),
        }
    })
}
