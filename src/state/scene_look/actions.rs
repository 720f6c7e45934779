//! Actions on the look of the 3-D view.

use crate::state::edit::edit;
use crate::state::scene_look::{SceneLook, SceneLookAction};
use crate::state::{Phase, State};

/// Applies one action.
pub fn act(state: &mut State, action: SceneLookAction) {
    match action {
        SceneLookAction::SetDepthCue(cue, phase) if cue.is_finite() => {
            edit(state, "Depth cue", phase == Phase::Live, |d| {
                d.scene_look.depth_cue = cue.clamp(0.0, 1.0);
            });
        }
        SceneLookAction::SetDepthCue(..) => {}
        SceneLookAction::AddClip(mut clip) => {
            let known = &state.document.scene_look;
            if known.clips.len() >= SceneLook::MAX_CLIPS {
                let text = format!(
                    "There are {} clips, the most that can be drawn: delete one first",
                    known.clips.len()
                );
                state.runtime.notices.status = text.into();
                return;
            }
            let Some(shape) = clip.shape.valid() else {
                return;
            };
            clip.shape = shape;
            if clip.name.is_empty() {
                clip.name = known.free_name(&shape);
            }
            edit(state, "Add clip", false, |d| {
                d.scene_look.clips.push(*clip);
                d.scene_look.selected = Some(d.scene_look.clips.len() - 1);
            });
        }
        SceneLookAction::SetClip {
            index,
            mut clip,
            phase,
        } => {
            let exists = index < state.document.scene_look.clips.len();
            let Some(shape) = clip.shape.valid().filter(|_| exists) else {
                return;
            };
            clip.shape = shape;
            edit(state, "Clip", phase == Phase::Live, |d| {
                d.scene_look.clips[index] = *clip;
            });
        }
        SceneLookAction::RemoveClip(index) => {
            if index < state.document.scene_look.clips.len() {
                edit(state, "Delete clip", false, |d| {
                    d.scene_look.clips.remove(index);
                    d.scene_look.selected = None;
                });
            }
        }
        SceneLookAction::SelectClip(index) => {
            let look = &mut state.document.scene_look;
            look.selected = index.filter(|i| *i < look.clips.len());
        }
        SceneLookAction::ShowJoint(layer) => state.runtime.figures.joint.layer = layer,
    }
}
