//! Depth cue, clip planes and clip boxes, as undo restores them; and the values in the plot of a transfer function.

use crate::data::DataId;
use crate::data::clip::{Clip, ClipShape};
use crate::data::joint_histogram::JointSamples;
use crate::state::core::layer::LayerId;
use crate::state::core::live::{Live, LiveKey};
use crate::state::core::phase::Phase;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The kinds of objects that a clip hides parts of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct ClippedKinds {
    /// Clouds and projections.
    pub volumes: bool,
    /// Surfaces, and regions.
    pub surfaces: bool,
    pub streamlines: bool,
    pub glyphs: bool,
}

impl Default for ClippedKinds {
    fn default() -> Self {
        Self {
            volumes: true,
            surfaces: true,
            streamlines: true,
            glyphs: true,
        }
    }
}

/// A plane or a box of the 3-D view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SceneClip {
    pub name: String,
    pub shape: ClipShape,
    #[serde(default = "yes")]
    pub is_on: bool,
    /// Whether it hides its inside, not its outside.
    #[serde(default)]
    pub hides_inside: bool,
    #[serde(default)]
    pub kinds: ClippedKinds,
}

fn yes() -> bool {
    true
}

impl SceneClip {
    /// Its place and side, without its name.
    pub fn clip(&self) -> Clip {
        Clip {
            shape: self.shape,
            hides_inside: self.hides_inside,
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SceneLook {
    /// How far distant objects take the colour of the background, 0..1.
    pub depth_cue: f32,
    pub clips: Vec<SceneClip>,
    /// The clip whose outline is drawn, by its index.
    #[serde(skip)]
    pub selected: Option<usize>,
}

impl SceneLook {
    /// Largest number of clips.
    pub const MAX_CLIPS: usize = 6;

    pub fn is_default(&self) -> bool {
        self.depth_cue == 0.0 && self.clips.is_empty()
    }

    /// A form that can be drawn: valid shapes, and not too many of them.
    pub fn valid(&self) -> Self {
        let valid = |clip: &SceneClip| {
            let shape = clip.shape.valid()?;
            Some(SceneClip {
                shape,
                ..clip.clone()
            })
        };
        let cue = self.depth_cue;
        Self {
            depth_cue: if cue.is_finite() {
                cue.clamp(0.0, 1.0)
            } else {
                0.0
            },
            clips: self
                .clips
                .iter()
                .filter_map(valid)
                .take(Self::MAX_CLIPS)
                .collect(),
            selected: None,
        }
    }

    /// A sentence that names the clips of a session that are not drawn, because they exceed the largest number or have
    /// no valid shape; `None` if all are drawn.
    pub fn omitted(&self) -> Option<String> {
        let drawn = self.valid().clips;
        let is_omitted = |clip: &&SceneClip| {
            let valid = clip.shape.valid();
            !drawn
                .iter()
                .any(|d| d.name == clip.name && Some(d.shape) == valid)
        };
        let names: Vec<&str> = self
            .clips
            .iter()
            .filter(is_omitted)
            .map(|clip| clip.name.as_str())
            .collect();
        let count = self.clips.len() - drawn.len();
        (count > 0).then(|| {
            format!(
                "Found {} clip planes and boxes, expected at most {} with valid numbers; left out: {}. Delete some in the \
                 session's file, or continue without these",
                self.clips.len(),
                Self::MAX_CLIPS,
                names.join(", ")
            )
        })
    }

    /// The clips that hide parts of one kind of objects.
    pub fn clips_of(&self, is_kind: impl Fn(&ClippedKinds) -> bool) -> Vec<Clip> {
        let active = self.clips.iter().filter(|c| c.is_on && is_kind(&c.kinds));
        active.map(SceneClip::clip).collect()
    }

    /// `Plane 2`: the first free name for a shape.
    pub fn free_name(&self, shape: &ClipShape) -> String {
        let kind = match shape {
            ClipShape::Plane { .. } => "Plane",
            ClipShape::Box { .. } => "Box",
        };
        let is_free = |name: &String| self.clips.iter().all(|c| c.name != *name);
        let mut names = (1..).map(|n| format!("{kind} {n}"));
        names.find(is_free).unwrap_or_else(|| kind.to_owned())
    }
}

/// Everything that the values in the plot of a transfer function depend on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JointKey {
    pub layer: LayerId,
    pub image: DataId,
    /// Index of the image's volume.
    pub frame: usize,
    /// The image of the second value, if it is another one.
    pub other: Option<DataId>,
}

impl LiveKey for JointKey {
    /// The plot of another volume stays, dimmed; values of another second image would mislead.
    fn stands_in_for(&self, requested: &Self) -> bool {
        self.layer == requested.layer
            && (requested.other.is_none() || self.other == requested.other)
    }
}

/// Runtime state of the plot of a transfer function.
#[derive(Clone, Debug, Default)]
pub struct JointRuntime {
    /// The layer whose plot is open; otherwise nothing is measured.
    pub layer: Option<LayerId>,
    pub live: Live<JointKey, Arc<JointSamples>>,
}

/// Actions on the look of the 3-D view; those with an index concern one clip.
#[derive(Clone, Debug)]
pub enum SceneLookAction {
    SetDepthCue(f32, Phase),
    /// Adds a clip with a name of its own, or with a free one.
    AddClip(Box<SceneClip>),
    SetClip {
        index: usize,
        clip: Box<SceneClip>,
        phase: Phase,
    },
    RemoveClip(usize),
    /// Draws the outline of a clip; not a step of undo.
    SelectClip(Option<usize>),
    /// Measures the values for the plot of this layer's transfer function while it is open; not a step of undo.
    ShowJoint(Option<LayerId>),
}
