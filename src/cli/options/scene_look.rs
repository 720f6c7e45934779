//! Options of the depth cue and of the clips of the 3-D view.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::value_error::ValueError;
use crate::data::clip::ClipShape;
use crate::state::scene_look::{ClippedKinds, SceneClip, SceneLook, SceneLookAction};
use crate::state::{Phase, State};
use glam::DVec3;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Clips and depth cue")]
pub struct SceneLookOptions {
    /// Hide a part of the 3-D view: plane:X,Y,Z:MM hides the side of its normal beyond that distance from the origin,
    /// box:X,Y,Z:X,Y,Z everything outside two corners (world mm), around:REGION:MM everything farther from the box around a
    /// region; then, each after a colon, inverted for the other part, and volumes, surfaces, streamlines or glyphs to clip
    /// only these, as in plane:1,0,0:10:streamlines
    #[arg(long, value_name = "SHAPE", value_parser = clip, allow_hyphen_values = true)]
    pub clip: Vec<NamedClip>,
    /// Fade streamlines, surfaces, clouds and glyphs to the background with their distance, from 0 (none) to 1
    #[arg(long, value_name = "0..1", value_parser = cue)]
    pub depth_cue: Option<f32>,
}

/// The place of a clip, which may be a region that is still a name.
#[derive(Clone, PartialEq, Debug)]
enum ClipSpec {
    Shape(ClipShape),
    Around { region: String, margin_mm: f64 },
}

/// A clip of the command line.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedClip {
    spec: ClipSpec,
    hides_inside: bool,
    kinds: ClippedKinds,
}

fn cue(text: &str) -> Result<f32, ValueError> {
    let value = text.trim().parse().ok().filter(|v| (0.0..=1.0).contains(v));
    value.ok_or_else(|| ValueError::new("a number from 0 to 1", text))
}

fn clip(text: &str) -> Result<NamedClip, ValueError> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    let point = |text: &str| {
        let parts: Option<Vec<f64>> = text.split(',').map(number).collect();
        match parts.as_deref() {
            Some(&[x, y, z]) => Some(DVec3::new(x, y, z)),
            _ => None,
        }
    };
    let read = || {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let (kind, first, second, more) = match parts.as_slice() {
            [kind, first, second, more @ ..] => (*kind, *first, *second, more),
            _ => return None,
        };
        let spec = match kind {
            "plane" => {
                let normal = point(first)?.try_normalize()?;
                let offset_mm = number(second)?;
                ClipSpec::Shape(ClipShape::Plane { normal, offset_mm }.valid()?)
            }
            "box" => {
                let (low, high) = (point(first)?, point(second)?);
                ClipSpec::Shape(ClipShape::Box { low, high }.valid()?)
            }
            "around" if !first.is_empty() => ClipSpec::Around {
                region: first.to_owned(),
                margin_mm: number(second)?,
            },
            _ => return None,
        };
        let none = ClippedKinds {
            volumes: false,
            surfaces: false,
            streamlines: false,
            glyphs: false,
        };
        let (mut kinds, mut hides_inside) = (none, false);
        for &part in more {
            let chosen = match part {
                "inverted" => &mut hides_inside,
                "volumes" => &mut kinds.volumes,
                "surfaces" => &mut kinds.surfaces,
                "streamlines" => &mut kinds.streamlines,
                "glyphs" => &mut kinds.glyphs,
                _ => return None,
            };
            *chosen = true;
        }
        if kinds == none {
            kinds = ClippedKinds::default();
        }
        Some(NamedClip {
            spec,
            hides_inside,
            kinds,
        })
    };
    let expected = "plane:X,Y,Z:MM, box:X,Y,Z:X,Y,Z or around:REGION:MM, then inverted, volumes, surfaces, streamlines \
                    or glyphs, as in plane:1,0,0:10:streamlines";
    read().ok_or_else(|| ValueError::new(expected, text))
}

impl SceneLookOptions {
    /// Adds the clips and sets the depth cue.
    pub fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
        if let Some(cue) = self.depth_cue {
            window.act(SceneLookAction::SetDepthCue(cue, Phase::Done))?;
        }
        let known = window.state.document.scene_look.clips.len();
        if known + self.clip.len() > SceneLook::MAX_CLIPS {
            return Err(Failure::usage(format!(
                "Found {} clips, expected at most {}: leave some out",
                known + self.clip.len(),
                SceneLook::MAX_CLIPS
            )));
        }
        for clip in &self.clip {
            let clip = SceneClip {
                name: String::new(),
                shape: clip.spec.shape(&window.state)?,
                is_on: true,
                hides_inside: clip.hides_inside,
                kinds: clip.kinds,
            };
            window.act(SceneLookAction::AddClip(Box::new(clip)))?;
        }
        // Outlines belong to the window.
        window.act(SceneLookAction::SelectClip(None))
    }
}

impl ClipSpec {
    fn shape(&self, state: &State) -> Result<ClipShape, Failure> {
        match self {
            Self::Shape(shape) => Ok(*shape),
            Self::Around { region, margin_mm } => {
                let regions = &state.document.regions;
                let named = regions.iter().find(|r| r.name.eq_ignore_ascii_case(region));
                let Some(named) = named else {
                    let names: Vec<&str> = regions.iter().map(|r| r.name.as_str()).collect();
                    let known = match names.as_slice() {
                        [] => "a region of the session, or one given by --seed or --include"
                            .to_owned(),
                        names => format!("one of {}", names.join(", ")),
                    };
                    return Err(Failure::usage(format!(
                        "There is no region “{region}”, expected {known}"
                    )));
                };
                let around = ClipShape::around(&named.shape, *margin_mm);
                around.ok_or_else(|| {
                    Failure::usage(format!(
                        "The region “{region}” has no voxel, expected at least one; choose another"
                    ))
                })
            }
        }
    }
}
