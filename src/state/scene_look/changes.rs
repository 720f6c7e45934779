//! The names that undo shows for the depth cue and for clips.

use crate::data::clip::ClipShape;
use crate::state::Document;
use crate::state::core::fields::{Fields, event_text, prefixed, renamed};
use crate::state::scene_look::SceneClip;

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let cue = |document: &Document| {
        let mut fields = Fields::default();
        fields.percent("Depth cue", document.scene_look.depth_cue);
        fields
    };
    let mut all = cue(before).differences(&cue(after));
    let (was, now) = (&before.scene_look.clips, &after.scene_look.clips);
    if was.len() == now.len() {
        for (was, now) in was.iter().zip(now) {
            all.extend(renamed(&was.name, &now.name));
            all.extend(prefixed(&now.name, fields(was).differences(&fields(now))));
        }
    }
    all
}

pub fn added_or_removed(before: &Document, after: &Document) -> Vec<String> {
    let missing = |from: &Document, other: &Document| {
        let other = other.scene_look.clips.clone();
        let clips = from.scene_look.clips.iter();
        let gone = clips.filter(|clip| !other.contains(clip));
        gone.map(|clip| clip.name.clone()).collect::<Vec<_>>()
    };
    let text = |names: Vec<String>, done| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        event_text(&names, "clip", done)
    };
    let gone = text(missing(before, after), "removed");
    let back = text(missing(after, before), "restored");
    gone.into_iter().chain(back).collect()
}

fn fields(clip: &SceneClip) -> Fields {
    let mut fields = Fields::default();
    fields.name("", if clip.is_on { "on" } else { "off" });
    let sides = [(false, "Outside"), (true, "Inside")];
    fields.choice("Hides", &clip.hides_inside, &sides);
    match clip.shape {
        ClipShape::Plane { normal, offset_mm } => {
            fields.numbers("Normal", &normal.to_array(), ", ", (2, ""));
            fields.number("Position", offset_mm, 1, "mm");
        }
        ClipShape::Box { low, high } => {
            for (axis, name) in ["Left–right", "Back–front", "Bottom–top"]
                .into_iter()
                .enumerate()
            {
                fields.numbers(name, &[low[axis], high[axis]], "–", (1, "mm"));
            }
        }
    }
    let kinds = clip.kinds;
    fields.check("Clips volumes", kinds.volumes);
    fields.check("Clips surfaces", kinds.surfaces);
    fields.check("Clips streamlines", kinds.streamlines);
    fields.check("Clips glyphs", kinds.glyphs);
    fields
}
