//! Questions about streamlines: what they connect, values along them, and those that rules keep.

use crate::errors::{Failure, unknown_key};
use crate::parameters::{filled, given};
use crate::regions::{GivenRegion, by_role, owned, regions_of, shape};
use crate::results::{Array, Fact, Parts};
use crate::run::{Common, run};
use crate::types::{Image, Streamlines};
use arcuate_engine::data::region::RegionId;
use arcuate_engine::data::{Region, Role};
use arcuate_engine::solvers::connectivity::{self, connectome as connected};
use arcuate_engine::solvers::curves::StopReason;
use arcuate_engine::solvers::region::numbers;
use arcuate_engine::solvers::tractogram::ProfileParams;
use arcuate_engine::solvers::tractogram::profile::{Along, Start, profile as along_bundle};
use arcuate_engine::solvers::tractogram::selection::{
    OnImage, PointStatistic, RejectReason, SelectionRules, ValueCondition, column, means,
    select as selected,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// The matrices of how streamlines connect the labels of a map. The mean value is that of a value of the streamlines, or
/// of an image along them.
#[pyfunction]
pub fn connectome(
    py: Python<'_>,
    streamlines: PyRef<'_, Streamlines>,
    labels: PyRef<'_, Image>,
    value: (Option<String>, Option<PyRef<'_, Image>>),
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Parts> {
    let given = given(arguments)?;
    let (tractogram, labels) = (streamlines.tractogram.clone(), labels.clone());
    let (name, image) = (value.0, value.1.map(|image| image.clone()));
    run(py, &common, move |backend, control| {
        let params = filled(connectivity::Params::defaults(), &given, &[])?;
        let map = labels.scalar("labels")?;
        let known = backend.install(|| numbers(map, 0, control))?;
        let values = match (&name, &image) {
            (Some(name), _) => Some(column(&tractogram, name, backend, control)?),
            (None, Some(image)) => {
                let volume = image.scalar("value")?;
                Some(means(&tractogram, volume, 0, backend, control)?)
            }
            (None, None) => None,
        };
        let values = values.as_deref();
        let found = connected(
            &tractogram,
            None,
            (map, 0, &known),
            &params,
            values,
            backend,
            control,
        )?;
        let n = found.nodes.len();
        let names = found.names(map);
        let mut parts = Parts::default()
            .array("count", Array::Counts(found.count.into()), &[n, n])
            .array("length", Array::Floats(found.length_mm.into()), &[n, n])
            .fact("labels", Fact::Numbers(found.nodes))
            .fact("names", Fact::Names(names))
            .fact("examined", Fact::Whole(found.examined as u64))
            .fact("one_end", Fact::Whole(found.one_end as u64))
            .fact("no_end", Fact::Whole(found.no_end as u64));
        if values.is_some() {
            parts = parts.array("value", Array::Floats(found.value.into()), &[n, n]);
        }
        Ok(parts)
    })
}

/// Values along a bundle: those per point by name, and images.
#[pyfunction]
pub fn profile(
    py: Python<'_>,
    streamlines: PyRef<'_, Streamlines>,
    along: (Vec<String>, Vec<(String, PyRef<'_, Image>)>),
    start: Option<GivenRegion<'_>>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Parts> {
    let given = given(arguments)?;
    let tractogram = streamlines.tractogram.clone();
    let (values, images) = along;
    let images = images
        .into_iter()
        .map(|(name, image)| (name, image.clone()));
    let images: Vec<(String, Image)> = images.collect();
    let start = owned(start.into_iter().collect());
    run(py, &common, move |backend, control| {
        if values.is_empty() && images.is_empty() {
            return Err(Failure::Input(
                "Found nothing to sample along the bundle, expected values or images; name one"
                    .to_owned(),
            ));
        }
        let params = filled(ProfileParams::defaults(), &given, &[])?;
        let start = match start.first() {
            None => Start::Axis,
            Some((_, numbers, mask)) => Start::Near(Arc::new(Region {
                id: RegionId(0),
                name: "start".to_owned(),
                role: Role::Include,
                shape: Arc::new(shape("start", numbers, mask.as_ref())?),
                colour: None,
                visible: true,
                label_number: None,
            })),
        };
        let mut along: Vec<Along> = values.iter().cloned().map(Along::Value).collect();
        for (name, image) in &images {
            along.push(Along::Image(image.scalar(name)?.clone(), 0));
        }
        let found = along_bundle(&tractogram, None, &along, &start, &params, backend, control)?;
        let names = values
            .into_iter()
            .chain(images.into_iter().map(|(name, _)| name));
        let names: Vec<String> = names.collect();
        let nodes = found.centre.len();
        let mut parts = Parts::default()
            .array("centre", Array::Points(found.centre.into()), &[nodes, 3])
            .fact("length_mm", Fact::Number(f64::from(found.length_mm)))
            .fact("used", Fact::Whole(found.used as u64))
            .fact("left_out", Fact::Whole(found.passed_over as u64));
        for (name, curve) in names.iter().zip(found.curves) {
            let shape = &[nodes];
            parts = parts
                .array(
                    &format!("{name} mean"),
                    Array::Floats(curve.mean.into()),
                    shape,
                )
                .array(&format!("{name} sd"), Array::Floats(curve.sd.into()), shape)
                .array(
                    &format!("{name} count"),
                    Array::Counts(curve.count.into()),
                    shape,
                );
        }
        Ok(parts.fact("names", Fact::Names(names)))
    })
}

/// Limits of an image's values along streamlines, and the statistic by its key.
type ImageLimits<'py> = (PyRef<'py, Image>, f32, f32, String);

/// The rules of a selection besides regions.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Rules<'py> {
    group: Option<String>,
    ends: bool,
    values: Vec<(String, f32, f32)>,
    images: Vec<ImageLimits<'py>>,
    stop: Option<String>,
    invert: bool,
    number: Option<usize>,
    random_seed: u64,
}

/// Keeps the streamlines that the rules keep. Returns them, and whether each was kept.
#[pyfunction]
pub fn select(
    py: Python<'_>,
    streamlines: PyRef<'_, Streamlines>,
    regions: Vec<GivenRegion<'_>>,
    rules: Rules<'_>,
    common: Common,
) -> PyResult<Parts> {
    let tractogram = streamlines.tractogram.clone();
    let regions = owned(regions);
    let images = rules.images.into_iter();
    let images = images.map(|(image, low, high, how)| (image.clone(), low, high, how));
    let images: Vec<(Image, f32, f32, String)> = images.collect();
    let values = rules.values.into_iter();
    let values = values.map(|(name, low, high)| ValueCondition { name, low, high });
    let mut all = SelectionRules {
        group: rules.group,
        by_ends: rules.ends,
        values: values.collect(),
        invert: rules.invert,
        at_most: rules.number.map(|number| (number, rules.random_seed)),
        ..SelectionRules::default()
    };
    let stop = rules.stop;
    run(py, &common, move |backend, control| {
        all.regions = regions_of(regions, by_role)?;
        for (image, low, high, how) in &images {
            let counting = PointStatistic::from_key(how)
                .ok_or_else(|| Failure::Input(unknown_key(how, "images", PointStatistic::KEYS)))?;
            all.images.push(OnImage {
                volume: image.scalar("images")?.clone(),
                frame: 0,
                counting,
                low: *low,
                high: *high,
            });
        }
        if let Some(key) = &stop {
            all.stop = Some(
                StopReason::from_key(key)
                    .ok_or_else(|| Failure::Input(unknown_key(key, "stop", StopReason::KEYS)))?,
            );
        }
        if all.is_empty() || all == only_inverted() {
            return Err(Failure::Input(
                "Found no selection rule, expected one; give a region, group, length, values, images, stop or number"
                    .to_owned(),
            ));
        }
        let selection = selected(&tractogram, &all, backend, control)?;
        let kept = tractogram.filtered(&selection.marks);
        let marks: Vec<u32> = selection.marks.iter().map(|m| u32::from(*m)).collect();
        let count = marks.len();
        let dropped = RejectReason::ALL.iter().zip(selection.dropped);
        let dropped = dropped.filter(|(_, n)| *n > 0);
        let dropped = dropped.map(|(reason, n)| format!("{n} {}", reason.clause(n)));
        Ok(Parts::default()
            .streamlines("kept", kept)
            .array("marks", Array::Counts(marks.into()), &[count])
            .fact("dropped", Fact::Names(dropped.collect())))
    })
}

/// No rule, whose opposite nothing passes.
fn only_inverted() -> SelectionRules {
    SelectionRules {
        invert: true,
        ..SelectionRules::default()
    }
}
