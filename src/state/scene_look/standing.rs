//! Questions to the state: which values the plot of a transfer function needs, and whether those shown are current.

use crate::data::Volume;
use crate::data::joint_histogram::JointSamples;
use crate::state::core::layer::LayerId;
use crate::state::core::live::{LiveKey as _, Standing};
use crate::state::core::task::Task;
use crate::state::core::volume_look::SecondValue;
use crate::state::scene_look::JointKey;
use crate::state::{Document, State};
use std::sync::Arc;

/// The image of numbers of a layer.
fn scalar(document: &Document, id: LayerId) -> Option<&Volume> {
    document.layer(id)?.content.scalar()
}

impl State {
    /// Everything that the values of the open plot depend on; `None` if none is open.
    pub(in crate::state::scene_look) fn joint_request(
        &self,
    ) -> Option<(JointKey, Volume, Option<Volume>)> {
        let id = self.runtime.figures.joint.layer?;
        let layer = self.document.layer(id);
        let layer = layer.filter(|_| self.view.task == Task::View)?;
        let volume = layer.content.scalar()?;
        let look = layer.display.volume.as_ref();
        let second = look.and_then(|look| Some(look.two_values.as_ref()?.second));
        let other = match second {
            Some(SecondValue::Image(other)) => scalar(&self.document, other),
            Some(SecondValue::Gradient | SecondValue::Curvature) | None => None,
        };
        let key = JointKey {
            layer: id,
            image: volume.id(),
            frame: layer.display.frame.min(volume.frames.saturating_sub(1)),
            other: other.map(Volume::id),
        };
        Some((key, volume.clone(), other.cloned()))
    }

    /// The values measured last for the plot of a layer, with what they were measured in; not those with an earlier second
    /// image, since the plot would show them under the name of the present one.
    pub fn joint_samples(&self, layer: LayerId) -> Option<(&JointKey, &Arc<JointSamples>)> {
        let shown = self.runtime.figures.joint.live.shown();
        let (key, samples) = shown.filter(|(key, _)| key.layer == layer)?;
        let (requested, ..) = self.joint_request()?;
        key.stands_in_for(&requested).then_some((key, samples))
    }

    /// Whether the plot is dimmed: it shows the values of another volume until those of the present one are measured.
    pub fn joint_is_stale(&self) -> bool {
        let key = self.joint_request().map(|(key, ..)| key);
        let standing = self.runtime.figures.joint.live.standing(key.as_ref());
        standing.is_some_and(|standing| standing != Standing::Final)
    }
}
