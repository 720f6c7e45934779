//! Sampling: the choice of the image, its values, and the resulting transfer function.

use crate::data::appearance::Transfer;
use crate::data::text::counted;
use crate::state::core::notices::Severity;
use crate::state::core::volume_look::{VolumeLook, VolumeStyle};
use crate::state::edit::edit;
use crate::state::pathways::{self, PathwayResult, PathwaySettings};
use crate::state::sampling::{Sample, SampleSource};
use crate::state::{Display, Effect, Layer, Phase, State, Task, segment};
use std::sync::Arc;

/// Half width of the opaque range, in standard deviations.
const DEVIATIONS: f64 = 2.0;
/// Fraction of an image's window that is background.
const GROUND: f32 = 0.02;

/// The cost if it is shown as a cloud; else the selected image, else the topmost visible one. `adds`: to the voxels
/// sampled before.
pub(in crate::state) fn begin(state: &State, adds: bool) -> Option<Sample> {
    let live = state.runtime.pathways.live.value().map(Arc::as_ref);
    if let Some(live) =
        live.filter(|_| state.view.task == Task::Pathways && state.document.pathways.cloud)
    {
        let excess = Sample::new(
            SampleSource::Excess,
            "excess cost".to_owned(),
            (&live.excess, 0),
        );
        let max_excess = f64::from(PathwayResult::MAXIMUM_EXCESS);
        return Some(excess.only_below(max_excess).shown_as(100.0, "%"));
    }
    if state.view.task == Task::Segment {
        let (layer, image) = state.document.segmented_image()?;
        // Without a new sample, one that holds several tissues could not be corrected.
        let known = state.segment_sample().filter(|_| adds);
        let known = known.map(|sample| (**sample).clone());
        let known = known.filter(|s| s.source == SampleSource::Layer(layer.id));
        let frame = crate::state::segment::frame_of(layer, image);
        let fresh = || {
            Sample::new(
                SampleSource::Layer(layer.id),
                layer.name.clone(),
                (image, frame),
            )
        };
        let sample = known.unwrap_or_else(fresh);
        return Some(sample.shown_as(f64::from(layer.unit_scale), ""));
    }
    let scalar = |l: &&Layer| l.content.scalar().is_some();
    let layers = || state.document.layers.iter().map(|l| &**l).filter(scalar);
    let selected = layers().find(|l| state.runtime.selected_layer == Some(l.id));
    let layer = selected.or_else(|| layers().rfind(|l| state.shows(l)))?;
    let image = (layer.content.volume()?, layer.display.frame);
    let sample = Sample::new(SampleSource::Layer(layer.id), layer.name.clone(), image);
    Some(sample.shown_as(f64::from(layer.unit_scale), ""))
}

pub(in crate::state) fn end(state: &mut State, sample: &Sample, effects: &mut Vec<Effect>) {
    if sample.count() == 0 {
        let sentence = format!("The pointer crossed no value of {}", sample.name);
        return state.runtime.notify(Severity::Information, sentence);
    }
    take_over(state, sample, effects);
    // Last, because an edit clears the status.
    let more = match state.view.task {
        Task::Segment => " · drag with Shift to add to it",
        _ => "",
    };
    state.runtime.notices.status = format!(
        "Sampled {} of {}: {}{more}",
        counted(sample.count(), "voxel"),
        sample.name,
        sample.text(),
    )
    .into();
}

/// Sets the curve of the image that is shown as a cloud.
fn take_over(state: &mut State, sample: &Sample, effects: &mut Vec<Effect>) {
    if state.view.task == Task::Segment {
        segment::update::sampled(state, sample, effects);
        if !state.document.segment.settings.curve {
            return;
        }
    }
    match sample.source {
        SampleSource::Excess => {
            let settings = state.document.pathways.clone();
            let transfer = transfer_around(&settings.transfer, sample, (0.0, settings.range), None);
            pathways::update::set(
                state,
                PathwaySettings {
                    transfer,
                    ..settings
                },
                Phase::Done,
            );
        }
        SampleSource::Layer(id) => {
            let Some(layer) = state.document.layer(id) else {
                return;
            };
            let look = layer.display.volume.clone();
            let Some(look) = look.filter(|l| l.style == VolumeStyle::Cloud) else {
                return;
            };
            let transfer =
                transfer_around(&look.transfer, sample, layer.display.window, Some(GROUND));
            let display = Display {
                volume: Some(VolumeLook { transfer, ..look }),
                ..layer.display.clone()
            };
            edit(state, "Opacity curve of the sample", false, |d| {
                d.edit_layer(id, |l| l.display = display);
            });
        }
    }
}

/// Opaque around the mean, as wide as the spread of the values.
fn transfer_around(
    transfer: &Transfer,
    sample: &Sample,
    (low, high): (f32, f32),
    ground: Option<f32>,
) -> Transfer {
    let (low, width) = (f64::from(low), f64::from(high - low));
    let middle = (sample.mean() - low) / width;
    let half = DEVIATIONS * sample.deviation() / width;
    transfer.around(middle as f32, half as f32, ground)
}
