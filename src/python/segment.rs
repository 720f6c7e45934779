//! A level set in an image.

use crate::errors::Failure;
use crate::parameters::{Given, filled, given, is_given, split};
use crate::regions::{GivenRegion, OwnRegion, owned, union};
use crate::results::{Array, Fact, Parts};
use crate::run::{Common, run};
use crate::types::Image;
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::text::counted;
use arcuate_engine::data::{Shape, Volume};
use arcuate_engine::parameters::Parameters;
use arcuate_engine::solvers::level_set::{
    Ended, Evolution, Inputs, LayerSpeed, Layout, Params, Probe, RunHistory, Sphere, Start,
    TargetParts, measures, surface,
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
    add: Vec<Vec<f64>>,
    remove: Vec<Vec<f64>>,
    mask: Option<PyRef<'py, Image>>,
    threshold: Option<(f32, f32)>,
    fill: Option<[f64; 3]>,
    layer: Option<PyRef<'py, Image>>,
    layer_range: Option<(f32, f32)>,
    grow_here: Vec<GivenRegion<'py>>,
    not_here: Vec<GivenRegion<'py>>,
    steps: u64,
    ignore_leaks: bool,
}

/// [`Beginning`] with values that are independent of Python.
struct Plan {
    frame: usize,
    probes: Vec<Vec<f64>>,
    spheres: [Vec<Vec<f64>>; 2],
    mask: Option<Image>,
    threshold: Option<(f32, f32)>,
    fill: Option<DVec3>,
    layer: Option<(Image, LayerSpeed)>,
    painted: [Vec<OwnRegion>; 2],
    steps: u64,
    watched: bool,
}

impl Plan {
    fn new(beginning: Beginning<'_>) -> Result<Self, Failure> {
        let layer = match (beginning.layer, beginning.layer_range) {
            (Some(layer), Some((low, high))) => {
                let speed = LayerSpeed { low, high };
                Some((layer.clone(), speed))
            }
            (None, None) => None,
            _ => {
                return Err(Failure::Input(
                    "Found one of layer and layer_range, expected both or neither; give the other one".to_owned(),
                ));
            }
        };
        let starts = [
            beginning.mask.is_some(),
            beginning.threshold.is_some(),
            beginning.fill.is_some(),
        ];
        match starts.iter().filter(|given| **given).count() {
            0 if beginning.add.is_empty() => {
                return Err(Failure::Input(
                    "Found no start of the segmentation, expected one; give add, mask, threshold or fill".to_owned(),
                ));
            }
            0 | 1 => {}
            _ => {
                return Err(Failure::Input(
                    "Found several of mask, threshold and fill, expected one of them; leave the others out".to_owned(),
                ));
            }
        }
        Ok(Self {
            frame: beginning.volume,
            probes: beginning.probe,
            spheres: [beginning.add, beginning.remove],
            mask: beginning.mask.map(|mask| mask.clone()),
            threshold: beginning.threshold,
            fill: beginning.fill.map(DVec3::from_array),
            layer,
            painted: [owned(beginning.grow_here), owned(beginning.not_here)],
            steps: beginning.steps,
            watched: !beginning.ignore_leaks,
        })
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
                        "Found the numbers {numbers:?} for probe, expected x, y, z and perhaps a radius above 0, in mm"
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
            (_, _, Some(at)) => {
                let all = f64::INFINITY;
                let filled = region::fill(image, self.frame, at, tolerance, all, control);
                Some(filled?.mask)
            }
            _ => None,
        };
        let mut spheres = Vec::new();
        for (all, (name, add)) in self.spheres.iter().zip([("add", true), ("remove", false)]) {
            for numbers in all {
                let [x, y, z, radius_mm] = numbers[..] else {
                    return Err(Failure::Input(format!(
                        "Found the numbers {numbers:?} for {name}, expected x, y, z and a radius, in mm; give a mask as \
                         mask"
                    )));
                };
                let centre = DVec3::new(x, y, z);
                spheres.push(Sphere {
                    add,
                    centre,
                    radius_mm,
                });
            }
        }
        Ok(Start { mask, spheres })
    }

    /// The image with the other inputs of the speed.
    fn inputs(&self, image: &Image, backend: &Backend) -> Result<Inputs, Failure> {
        let [grow, hold] = [
            union("grow_here", &self.painted[0], image)?,
            union("not_here", &self.painted[1], image)?,
        ];
        if let Some((layer, _)) = &self.layer {
            layer.scalar("layer")?;
        }
        backend.install(|| {
            let inputs = Inputs::new(&image.volume, self.frame).map_err(solvers::Error::from)?;
            let inputs = match &self.layer {
                Some((layer, _)) => inputs.with_layer(&layer.volume, 0),
                None => inputs,
            };
            Ok(inputs.with_painted(grow.as_ref(), hold.as_ref()))
        })
    }
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
        let volume = image.scalar("the image")?;
        if plan.frame >= volume.frames {
            return Err(Failure::Input(format!(
                "Found {}, expected one with number {}; count from 0",
                counted(volume.frames, "volume"),
                plan.frame
            )));
        }
        let (of_target, rest) = split::<TargetParts>(given);
        let TargetParts { target, tolerance } = plan.target(&of_target, volume, backend)?;
        let defaults = Params {
            layer: plan.layer.as_ref().map(|(_, speed)| *speed),
            ..Params::defaults_for(target, tolerance)
        };
        let params = filled(defaults, &rest, &[])?;
        let start = plan.start(volume, params.tolerance, backend, control)?;
        let inputs = plan.inputs(&image, backend)?;
        let history = RunHistory {
            params,
            layout: Layout::BEST,
            events: Vec::new(),
            steps: plan.steps,
        };
        history.check(1).map_err(solvers::Error::from)?;
        let (params, layout) = (&history.params, history.layout);
        let mut evolution = Evolution::new(&inputs, &start, params, layout, backend, control)?;
        evolution.watched = plan.watched;
        let ended = evolution.run(history.steps, backend, control)?;
        let field = evolution.field()?;
        let mask = backend.install(|| field.mask());
        let measured = backend.install(|| measures(&field));
        let surface = surface(&field);
        let points = surface.points.len();
        let triangles: Arc<[[u32; 3]]> = surface.triangles.into();
        let shape = [triangles.len(), 3];
        Ok(Parts::default()
            .mask("labels", &mask)
            .array("points", Array::Points(surface.points.into()), &[points, 3])
            .array("triangles", Array::Triangles(triangles), &shape)
            .fact("target", Fact::Number(f64::from(target)))
            .fact("tolerance", Fact::Number(f64::from(tolerance)))
            .fact("steps", Fact::Whole(evolution.step()))
            .fact("at_rest", Fact::Flag(matches!(ended, Ended::Converged)))
            .fact("leaked", Fact::Flag(matches!(ended, Ended::Leaked(_))))
            .fact("remark", Fact::Text(ended.sentence().unwrap_or_default()))
            .fact("volume_ml", Fact::Number(measured.volume_ml))
            .fact("area_mm2", Fact::Number(measured.area_mm2))
            .fact("diameter_mm", Fact::Number(measured.diameter_mm)))
    })
}
