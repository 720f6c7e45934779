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

const FORMS: &str = "plane:X,Y,Z:MM, box:X,Y,Z:X,Y,Z or around:REGION:MM, then inverted, volumes, surfaces, streamlines or \
                     glyphs, each at most once, as in plane:1,0,0:10:streamlines";
const PLANE: &str = "plane:X,Y,Z:MM with a normal other than 0,0,0 and a distance of at most 100000 mm from the origin";
const BOX: &str = "box:X,Y,Z:X,Y,Z with two corners that differ by at least 0.1 mm along each axis and lie within 100000 mm \
                   of the origin";
const AROUND: &str = "around:REGION:MM with a margin of 0 to 100000 mm";

/// A clip, or the form that its text should have.
fn clip(text: &str) -> Result<NamedClip, ValueError> {
    read_clip(text).map_err(|expected| ValueError::new(expected, text))
}

fn number(text: &str) -> Option<f64> {
    let farthest = ClipShape::FARTHEST_MM;
    let number = text.trim().parse::<f64>().ok();
    number.filter(|v| (-farthest..=farthest).contains(v))
}

fn point(text: &str) -> Option<DVec3> {
    let parts: Option<Vec<f64>> = text.split(',').map(number).collect();
    match parts.as_deref() {
        Some(&[x, y, z]) => Some(DVec3::new(x, y, z)),
        _ => None,
    }
}

fn read_clip(text: &str) -> Result<NamedClip, &'static str> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let [kind, first, second, more @ ..] = parts.as_slice() else {
        return Err(FORMS);
    };
    let spec = match *kind {
        "plane" => ClipSpec::Shape(plane(first, second).ok_or(PLANE)?),
        "box" => ClipSpec::Shape(corners(first, second).ok_or(BOX)?),
        "around" if !first.is_empty() => {
            let margin = number(second).filter(|mm| *mm >= 0.0);
            ClipSpec::Around {
                region: (*first).to_owned(),
                margin_mm: margin.ok_or(AROUND)?,
            }
        }
        _ => return Err(FORMS),
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
            _ => return Err(FORMS),
        };
        if std::mem::replace(chosen, true) {
            return Err(FORMS);
        }
    }
    if kinds == none {
        kinds = ClippedKinds::default();
    }
    Ok(NamedClip {
        spec,
        hides_inside,
        kinds,
    })
}

fn plane(normal: &str, offset: &str) -> Option<ClipShape> {
    let (normal, offset_mm) = (point(normal)?.try_normalize()?, number(offset)?);
    ClipShape::Plane { normal, offset_mm }.valid()
}

/// A box that is not flat; its corners may be in any order.
fn corners(one: &str, other: &str) -> Option<ClipShape> {
    let (low, high) = (point(one)?, point(other)?);
    let edges = (high - low).abs();
    // Rounding must not refuse the shortest edge.
    let is_flat = edges.min_element() < ClipShape::MIN_EDGE_MM - 1e-9;
    (!is_flat).then(|| ClipShape::Box { low, high }.valid())?
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
                        [only] => format!("“{only}”, the only one"),
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
