//! Commands for each layer.

use super::{Entry, EntryAction};
use crate::guide::synonyms::Subject;
use crate::scene::volume_of;
use crate::state::core::volume_look::{VolumeLook, VolumeStyle};
use crate::state::density::DensityOptions;
use crate::state::{
    Action, CommandLine, Content, DensityAction, Display, Layer, LayerAction, LayerId, Phase, State,
};

pub(super) fn entries(state: &State) -> Vec<Entry> {
    let document = &state.document;
    let layers = document.layers.iter();
    layers.flat_map(|l| of_layer(state, l)).collect()
}

/// Maps the density of a layer, or with `None` of the live result, with the panel's initial settings.
pub(super) fn density(layer: Option<LayerId>) -> Action {
    let options = DensityOptions::default();
    Action::Density(DensityAction::Map { layer, options })
}

fn entry(name: String, action: Action) -> Entry {
    named_elsewhere(name, None, action)
}

/// An entry that is also found by the other names of its subject.
fn named_elsewhere(name: String, subject: Option<Subject>, action: Action) -> Entry {
    Entry {
        synonyms: subject.map_or("", Subject::synonyms),
        name,
        key: "",
        run: EntryAction::Act(action),
    }
}

fn of_layer(state: &State, layer: &Layer) -> Vec<Entry> {
    let document = &state.document;
    let (id, name) = (layer.id, &layer.name);
    let visible = state.shows(layer);
    let set = Action::Layer(LayerAction::Show {
        layer: id,
        visible: !visible,
    });
    let mut all = vec![named_elsewhere(
        format!("{} layer {name}", if visible { "Hide" } else { "Show" }),
        Some(Subject::Layer),
        set,
    )];
    if matches!(layer.content, Content::Scan { .. } | Content::Image(_)) {
        all.push(entry(
            format!("Show only layer {name}"),
            Action::Layer(LayerAction::ShowOnly(id)),
        ));
        all.extend(in_scene(layer));
    }
    all.push(entry(
        format!("Select layer {name}"),
        Action::Layer(LayerAction::Select(Some(id))),
    ));
    let has_lines = match &layer.content {
        Content::Tractogram(lines) => !lines.is_empty(),
        Content::InPlace(_) => true,
        _ => false,
    };
    if has_lines {
        let map = density(Some(id));
        let text = format!("Map the density of {name}");
        all.push(named_elsewhere(text, Some(Subject::Density), map));
    }
    let line = document.command_line(layer);
    if !matches!(line, CommandLine::NoCommand(_)) {
        all.push(entry(
            format!("Copy as command: layer {name}"),
            Action::CopyCommand(line),
        ));
    }
    all.push(entry(
        format!("Delete layer {name}"),
        Action::Layer(LayerAction::Delete(id)),
    ));
    all
}

/// Shows an image as a volume, as a surface, or as neither in the 3-D view: the options not in use.
fn in_scene(layer: &Layer) -> Vec<Entry> {
    let Some(volume) = volume_of(layer) else {
        return Vec::new();
    };
    let display = &layer.display;
    let default_value = || VolumeLook::default_for(volume, display.window);
    let look = display.volume.clone().unwrap_or_else(default_value);
    let styles = [
        (VolumeStyle::Cloud, "Show as cloud in 3-D", Subject::Cloud),
        (
            VolumeStyle::Surface,
            "Show as surface in 3-D",
            Subject::SurfaceIn3d,
        ),
        (
            VolumeStyle::Maximum,
            "Show largest values in 3-D",
            Subject::Maximum,
        ),
        (
            VolumeStyle::Minimum,
            "Show smallest values in 3-D",
            Subject::Minimum,
        ),
        (VolumeStyle::Hidden, "Hide in 3-D", Subject::Layer),
    ];
    let others = styles
        .into_iter()
        .filter(|(style, ..)| *style != look.style);
    let set = |(style, label, subject): (VolumeStyle, &str, Subject)| {
        let volume = Some(VolumeLook {
            style,
            ..look.clone()
        });
        let set = Action::Layer(LayerAction::SetDisplay {
            layer: layer.id,
            display: Display {
                volume,
                ..display.clone()
            },
            phase: Phase::Done,
        });
        named_elsewhere(format!("{label}: {}", layer.name), Some(subject), set)
    };
    others.map(set).collect()
}
