//! The block of glyphs: tensors, distributions, peaks, or a choice between them.

use super::display::{segment_row, select_row};
use super::parameters::{self, Rows};
use crate::scene;
use crate::scene::draw_list::{GlyphShape, TensorGlyphs};
use crate::state::core::glyph_look::{GlyphContent, GlyphLook, GlyphPlace, OdfLook, PeakLook};
use crate::state::{Action, State, ViewAction};
use crate::ui::widgets::{menu, rows, section};
use crate::ui::{Memory, format};
use egui::Ui;

const BLOCK: &str = "Tensor glyphs";

/// The shapes of glyphs, by name; `None`: no glyphs.
pub const SHAPES: [(&str, Option<GlyphShape>); 3] = [
    ("Off", None),
    ("Ellipsoids", Some(GlyphShape::Ellipsoid)),
    ("Superquadrics", Some(GlyphShape::Superquadric)),
];

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let look = state.view.glyphs;
    let Some(content) = state.document.glyph_content(look.content) else {
        return;
    };
    let contents = state.document.glyph_contents();
    let title = match (contents.len(), content) {
        (2.., _) => "Glyphs",
        (_, GlyphContent::Tensors) => BLOCK,
        (_, GlyphContent::Distributions) => "Glyphs of distributions",
        (_, GlyphContent::Peaks) => "Peaks",
    };
    let (open, clicked) = section::fold(ui, title, memory.is_open(BLOCK, false));
    if clicked {
        memory.toggle(BLOCK);
    }
    if !open {
        return;
    }
    let mut set = |look: GlyphLook| actions.push(Action::View(ViewAction::SetGlyphs(look)));
    if contents.len() > 1 {
        let names: Vec<&str> = contents.iter().map(|c| c.name()).collect();
        let now = contents.iter().position(|c| *c == content);
        let help = "What the glyphs show in each voxel";
        let chosen = segment_row(ui, "Show", help, &names, now.unwrap_or(0));
        if let Some(content) = chosen.and_then(|i| contents.get(i).copied()) {
            set(GlyphLook { content, ..look });
        }
    }
    match content {
        GlyphContent::Tensors => tensors(ui, state, look, &mut set),
        GlyphContent::Distributions => distributions(ui, look, &mut set),
        GlyphContent::Peaks => peaks(ui, state, look, &mut set),
    }
    if look.shown {
        scaled_by(ui, state, look, &mut set);
    }
}

/// The image whose value scales glyphs.
fn scaled_by(ui: &mut Ui, state: &State, look: GlyphLook, set: &mut dyn FnMut(GlyphLook)) {
    let layers = state.document.layers.iter();
    let images: Vec<_> = layers.filter(|l| scene::volume_of(l).is_some()).collect();
    let now = images.iter().find(|l| Some(l.id) == look.scaled_by);
    let shown = match (now, look.scaled_by) {
        (Some(layer), _) => layer.name.as_str(),
        (None, Some(_)) => "An image that is not open",
        (None, None) => "Nothing",
    };
    let help = "Glyphs grow with an image: from nothing at the low end of its range to the full size at its high end";
    let chosen = select_row(ui, "Scaled by", help, shown, |ui| {
        let mut chosen = None;
        if menu::Item::new("Nothing")
            .chosen(look.scaled_by.is_none())
            .show(ui)
        {
            chosen = Some(None);
        }
        for layer in &images {
            let is_chosen = look.scaled_by == Some(layer.id);
            if menu::Item::new(&layer.name).chosen(is_chosen).show(ui) {
                chosen = Some(Some(layer.id));
            }
        }
        chosen
    });
    if let Some(scaled_by) = chosen {
        set(GlyphLook { scaled_by, ..look });
    }
}

/// The rows of distributions.
fn distributions(ui: &mut Ui, look: GlyphLook, set: &mut dyn FnMut(GlyphLook)) {
    const PLACES: [(&str, Option<GlyphPlace>); 3] = [
        ("Off", None),
        ("Slices", Some(GlyphPlace::Slices)),
        ("3-D only", Some(GlyphPlace::Scene)),
    ];
    let odfs = look.distributions;
    let now = look.shown.then_some(odfs.place);
    let at = PLACES.iter().position(|(_, place)| *place == now);
    let help = "Surfaces whose distance from the centre is the amplitude, coloured by direction (Shift+G). Where \
                voxels are small on screen, one in several is drawn";
    let names = PLACES.map(|(name, _)| name);
    if let Some(i) = segment_row(ui, "Glyphs", help, &names, at.unwrap_or(1)) {
        let place = PLACES[i].1;
        set(GlyphLook {
            shown: place.is_some(),
            distributions: OdfLook {
                place: place.unwrap_or(odfs.place),
                ..odfs
            },
            ..look
        });
    }
    if look.shown {
        let defaults = OdfLook::default();
        parameters::rows(
            ui,
            &odfs,
            &defaults,
            Rows::AllBut(&[]),
            &mut |distributions, _| {
                set(GlyphLook {
                    distributions,
                    ..look
                });
            },
        );
    }
}

/// The rows of an image of peaks.
fn peaks(ui: &mut Ui, state: &State, look: GlyphLook, set: &mut dyn FnMut(GlyphLook)) {
    const PLACES: [(&str, Option<GlyphPlace>); 3] = [
        ("Off", None),
        ("Slices", Some(GlyphPlace::Slices)),
        ("3-D only", Some(GlyphPlace::Scene)),
    ];
    let now = look.shown.then_some(look.peak_place());
    let at = PLACES.iter().position(|(_, place)| *place == now);
    let help =
        "A line along each fixel, or each peak of an image with three volumes per peak (Shift+G)";
    let names = PLACES.map(|(name, _)| name);
    if let Some(i) = segment_row(ui, "Lines", help, &names, at.unwrap_or(1)) {
        let place = PLACES[i].1;
        set(GlyphLook {
            shown: place.is_some(),
            content: GlyphContent::Peaks,
            place: place.unwrap_or(look.peak_place()),
            ..look
        });
    }
    if !look.shown {
        return;
    }
    let layers: Vec<_> = state.document.peak_layers().collect();
    let shown = state.document.shown_peaks(look.peaks);
    if layers.len() > 1 {
        let help = "Fixels, and images whose number of volumes is a multiple of three";
        let name = shown.map_or("", |layer| layer.name.as_str());
        let chosen = select_row(ui, "Peaks of", help, name, |ui| {
            let mut chosen = None;
            for layer in &layers {
                let is_chosen = shown.is_some_and(|shown| shown.id == layer.id);
                if menu::Item::new(&layer.name).chosen(is_chosen).show(ui) {
                    chosen = Some(layer.id);
                }
            }
            chosen
        });
        if let Some(layer) = chosen {
            let peaks = PeakLook {
                layer: Some(layer),
                ..look.peaks
            };
            set(GlyphLook { peaks, ..look });
        }
    }
    let fixels = shown.and_then(|layer| layer.content.volume()?.fixels.as_ref());
    if fixels.is_none_or(|fixels| fixels.has_values()) {
        peak_values(ui, look, set);
    }
    let (defaults, all) = (GlyphLook::default(), Rows::AllBut(&[]));
    parameters::rows(ui, &look, &defaults, all, &mut |look, _| set(look));
    if let Some(thinned) = scene::thinned_peaks(state) {
        rows::hint(ui, &thinned_text(thinned));
    }
}

/// The rows of what the values of peaks do; fixels without values have none.
fn peak_values(ui: &mut Ui, look: GlyphLook, set: &mut dyn FnMut(GlyphLook)) {
    let help = "By amplitude, the high end of the layer's range has the full length";
    let texts = ["By amplitude", "Same"];
    let now = usize::from(look.peaks.same_length);
    if let Some(i) = segment_row(ui, "Length", help, &texts, now) {
        let peaks = PeakLook {
            same_length: i == 1,
            ..look.peaks
        };
        set(GlyphLook { peaks, ..look });
    }
    let help = "By value, in the colour map and the range of the layer: of fixels their value, of peaks their amplitude";
    let now = usize::from(look.peaks.by_value);
    if let Some(i) = segment_row(ui, "Colour", help, &["Direction", "Value"], now) {
        let peaks = PeakLook {
            by_value: i == 1,
            ..look.peaks
        };
        set(GlyphLook { peaks, ..look });
    }
}

/// How many lines are drawn where not all can be.
fn thinned_text(thinned: scene::ThinnedPeaks) -> String {
    format!(
        "More than {} lines: those of {} of {} voxels on the slices are shown, one in {} along each axis",
        format::count(TensorGlyphs::MAXIMUM_COUNT as u64),
        format::count(thinned.drawn as u64),
        format::count(thinned.requested as u64),
        thinned.every
    )
}

/// The rows of tensors.
fn tensors(ui: &mut Ui, state: &State, look: GlyphLook, set: &mut dyn FnMut(GlyphLook)) {
    let now = look.shown.then_some(look.shape);
    let help = "A glyph for each tensor. Superquadrics have edges that distinguish shapes which look alike as \
                ellipsoids";
    let name = SHAPES.iter().find(|s| s.1 == now).map_or("", |s| s.0);
    let chosen = select_row(ui, "Glyphs", help, name, |ui| {
        let mut chosen = None;
        for (name, shape) in SHAPES {
            if menu::Item::new(name).chosen(shape == now).show(ui) {
                chosen = Some(shape);
            }
        }
        chosen
    });
    if let Some(shape) = chosen {
        set(GlyphLook {
            shown: shape.is_some(),
            shape: shape.unwrap_or(look.shape),
            ..look
        });
    }
    if !look.shown {
        return;
    }
    let help = "Tensors to show in 3-D: those that slices cross, or those within the pathways";
    let chosen = select_row(ui, "Glyphs of", help, look.place.name(), |ui| {
        let mut chosen = None;
        for place in GlyphPlace::ALL {
            let item = menu::Item::new(place.name()).chosen(place == look.place);
            if item.show(ui) {
                chosen = Some(place);
            }
        }
        chosen
    });
    if let Some(place) = chosen {
        set(GlyphLook { place, ..look });
    }
    let (defaults, all) = (GlyphLook::default(), Rows::AllBut(&[]));
    parameters::rows(ui, &look, &defaults, all, &mut |look, _| set(look));
    if let Some(hint) = hint(state) {
        rows::hint(ui, &hint);
    }
}

/// Why fewer glyphs are shown than requested.
fn hint(state: &State) -> Option<String> {
    let look = state.view.glyphs;
    if look.place == GlyphPlace::Pathways && scene::pathways::sets(state).is_empty() {
        let text = match state.document.kept_pathways.is_empty() {
            true => "There is no pathway yet: place a seed and a target in the task Pathways",
            false => "No pathway is shown: open an eye in the task Pathways",
        };
        return Some(text.to_owned());
    }
    let every = scene::glyphs_every(state);
    (every > look.every).then(|| {
        let max_glyphs = format::count(TensorGlyphs::MAXIMUM_COUNT as u64);
        format!("More than {max_glyphs} glyphs: one voxel in {every} along each axis is shown")
    })
}
