//! The list of layers.

use super::dialogs::rename::{self, RenameTarget, Renamed};
use super::files::{DialogPosition, PathPurpose, suggestion};
use super::theme::{self, size, space};
use super::widgets::button::{eye, eye_unless};
use super::widgets::{menu, paint, rows, section};
use super::{Memory, figures, format, icons, recovery};
use crate::data::VolumeKind;
use crate::state::segment::{LIVE_RGB, SegmentAction, SegmentSettings};
use crate::state::streamlines::BottomPanel;
use crate::state::update::selection_command;
use crate::state::{
    Action, Content, Display, FigureSubject, Layer, LayerAction, LayerId, Phase, State,
    StreamlineAction, SurfaceUpdate, Task, TrackAction, ViewAction,
};
use egui::{Color32, Rect, Response, Stroke, Ui, pos2};
use std::sync::Arc;

/// Radius of the coloured disc before a name.
const DISC: f32 = 5.0;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let add = section::head_with_add(ui, "Layers", "Add a layer");
    enum Add {
        Dialog,
        Path,
    }
    let chosen = menu::popup(&add, 190.0, |ui| {
        let mut chosen = None;
        if menu::Item::new("Open…")
            .icon(icons::FOLDER)
            .key("Ctrl+O")
            .show(ui)
        {
            chosen = Some(Add::Dialog);
        }
        if menu::Item::new("Enter a path")
            .icon(icons::TERMINAL)
            .show(ui)
        {
            chosen = Some(Add::Path);
        }
        chosen
    });
    match chosen {
        Some(Add::Dialog) => {
            memory
                .files
                .ask_for_path(ui.ctx(), PathPurpose::Open, DialogPosition::Middle, "")
        }
        Some(Add::Path) => memory
            .files
            .type_path(PathPurpose::Open, DialogPosition::Middle, ""),
        None => {}
    }
    if state.document.is_empty() {
        rows::hint(ui, "No layers yet. Press Ctrl+O to open a scan");
    }
    if let Some(live) = state.runtime.track.live.value() {
        live_row(ui, state, live.output.kept.len(), actions);
    }
    if let Some(live) = &state.runtime.segment.live {
        surface_row(ui, state, live, actions);
    }
    let mut places: Vec<(LayerId, Rect)> = Vec::new();
    for layer in state.document.layers.iter().rev() {
        let response = row(ui, state, layer, memory, actions);
        places.push((layer.id, response.rect));
    }
    move_dragged_layer(ui, &places, actions);
    let mut missing = state.document.missing_layers();
    if missing.next().is_some() || state.document.missing_parts().next().is_some() {
        ui.add_space(8.0);
        recovery::missing(ui, state, memory, actions);
    }
}

fn row_sign(state: &State, layer: &Layer) -> Sign {
    if let Some(surface) = state.document.surfaces.get(&layer.id) {
        return Sign::Colour(surface.colour);
    }
    Sign::Icon(match &layer.content {
        Content::Scan { .. } => icons::IMAGE,
        Content::Image(_) if state.document.origin(layer).is_recomputed_from_scan() => icons::MAP,
        Content::Image(_) => icons::IMAGE,
        Content::Mask(_) => icons::REGION,
        Content::Tractogram(_) | Content::InPlace(_) => icons::PATH,
    })
}

/// Volume of a segmentation, opacity, or number of streamlines.
fn row_fact(state: &State, layer: &Layer) -> String {
    match &layer.content {
        Content::Scan { dwi, .. } => format::with_unit(&dwi.frames.to_string(), "vol"),
        Content::Image(volume) if volume.fixels.is_some() => {
            let count = volume.fixels.as_ref().map_or(0, |fixels| fixels.count);
            format::count(count as u64)
        }
        Content::Image(volume) if volume.frames > 1 && volume.kind == VolumeKind::Scalar => {
            format::with_unit(&volume.frames.to_string(), "vol")
        }
        Content::Mask(mask) if state.document.surfaces.contains_key(&layer.id) => {
            format::ml(mask.volume_ml(), 2)
        }
        Content::Image(_) | Content::Mask(_) => {
            let percent = format::fixed(f64::from(layer.display.opacity) * 100.0, 0);
            format::with_unit(&percent, "%")
        }
        Content::InPlace(lines) => {
            let drawn = state
                .drawn_streamlines(layer)
                .map_or(0, |lines| lines.len());
            // A filter may keep so few streamlines that all of them are drawn.
            let kept = state.counted_in_place(layer.id);
            let some = kept.map_or(drawn, |kept| kept.outline.streamlines);
            format!(
                "{} of {}",
                format::count(some as u64),
                format::count(lines.file.len() as u64)
            )
        }
        Content::Tractogram(t) => {
            let all = format::count(t.len() as u64);
            match state.selection(layer.id) {
                Some(selection) if selection.kept < t.len() => {
                    format!("{} of {all}", format::count(selection.kept as u64))
                }
                _ => all,
            }
        }
    }
}

/// The mark at the start of a row.
enum Sign {
    Icon(&'static str),
    /// A disc in the colour of the surface, sRGB.
    Colour([u8; 3]),
}

/// Sign, name and fact; the right end stays free for the eye.
fn paint_row(ui: &Ui, rect: Rect, sign: Sign, name: &str, fact: &str, shown: bool) {
    let p = theme::palette(ui.style());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let painter = ui.painter();
    let ink = if shown { p.t1 } else { p.t2 };
    let at = pos2(inner.left() + 8.0, inner.center().y);
    match sign {
        Sign::Icon(icon) => {
            paint::icon(painter, at, icon, size::ICON, p.t2);
        }
        Sign::Colour([r, g, b]) => {
            let rim = Stroke::new(1.0, p.t2);
            painter.circle(at, DISC, Color32::from_rgb(r, g, b), rim);
        }
    }
    let text = paint::inset(inner, 25.0, 28.0);
    let fact = paint::right(painter, text, fact, theme::regular(size::LABEL), p.t3);
    let name_at = Rect::from_min_max(text.min, pos2(fact.left() - 8.0, text.bottom()));
    paint::name(painter, name_at, name, theme::regular(size::LABEL), ink);
}

/// The surface that is not kept yet; visible in the task that makes it.
fn surface_row(ui: &mut Ui, state: &State, live: &SurfaceUpdate, actions: &mut Vec<Action>) {
    const NAME: &str = "Surface, live";
    let fact = live.figures.as_ref().map_or("…".to_owned(), |figures| {
        let ml = format::ml(figures.measures.volume_ml, 2);
        match figures.step == live.step {
            true => ml,
            false => format!("{ml} at step {}", format::count(figures.step)),
        }
    });
    let response = rows::list_row(ui, &format!("{NAME}, {fact}"), "surface", false);
    let settings = &state.document.segment.settings;
    let here = state.view.task == Task::Segment;
    let seen = settings.shown && here;
    paint_row(ui, response.rect, Sign::Colour(LIVE_RGB), NAME, &fact, seen);
    let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
    let elsewhere =
        (!here).then_some("Visible only in Segment. Keep as mask makes it a layer for every task");
    if eye_unless(ui, place, NAME, settings.shown, elsewhere) {
        let settings = SegmentSettings {
            shown: !settings.shown,
            ..settings.clone()
        };
        let phase = Phase::Done;
        actions.push(Action::Segment(SegmentAction::Set { settings, phase }));
    }
    if response.clicked() {
        actions.push(Action::View(ViewAction::SelectTask(Task::Segment)));
    }
    response.on_hover_text("The surface of the task Segment. Keep as mask makes it a layer");
}

/// The result of the current regions; kept only on request.
fn live_row(ui: &mut Ui, state: &State, count: usize, actions: &mut Vec<Action>) {
    let name = state.document.track.method.live_name();
    let response = rows::list_row(ui, name, "live", false);
    let display = state.document.live_display();
    let count = format::count(count as u64);
    paint_row(
        ui,
        response.rect,
        Sign::Icon(icons::PATH),
        name,
        &count,
        display.visible,
    );
    let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
    if eye(ui, place, name, display.visible) {
        let display = Display {
            visible: !display.visible,
            ..display.clone()
        };
        actions.push(Action::Track(TrackAction::SetDisplay {
            display,
            phase: Phase::Done,
        }));
    }
    if response.clicked() {
        actions.push(Action::View(ViewAction::SelectTask(Task::Track)));
    }
    response.on_hover_text("Live streamlines of the current regions. Keep as layer stores them");
}

fn row(
    ui: &mut Ui,
    state: &State,
    layer: &Arc<Layer>,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) -> Response {
    let selected = state.runtime.selected_layer == Some(layer.id);
    let mut name = format!("Layer {}", layer.name);
    if state.document.surfaces.contains_key(&layer.id) {
        name = format!("{name}, {}", row_fact(state, layer));
    }
    let response = rows::list_row(ui, &name, layer.id, selected);
    let renamed = rename::rename(ui, response.rect, RenameTarget::Layer(layer.id), memory);
    match renamed {
        Renamed::Inactive => {
            paint_row(
                ui,
                response.rect,
                row_sign(state, layer),
                &layer.name,
                &row_fact(state, layer),
                state.shows(layer),
            );
        }
        Renamed::Editing => {}
        Renamed::Done(name) => actions.push(Action::Layer(LayerAction::Rename {
            layer: layer.id,
            name,
        })),
    }
    let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
    if eye(ui, place, &layer.name, state.shows(layer)) {
        actions.push(Action::Layer(LayerAction::Show {
            layer: layer.id,
            visible: !state.shows(layer),
        }));
    }
    if response.double_clicked() {
        rename::begin(RenameTarget::Layer(layer.id), &layer.name, memory);
    } else if response.clicked() {
        actions.push(Action::Layer(LayerAction::Select(Some(layer.id))));
    }
    menu::context(&response, |ui| {
        context_menu(ui, state, layer, memory, actions)
    });
    response
}

fn context_menu(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    ui.set_width(190.0);
    ui.spacing_mut().item_spacing.y = 0.0;
    if layer.content.volume().is_some()
        && menu::Item::new("Show only this image")
            .icon(icons::EYE)
            .show(ui)
    {
        actions.push(Action::Layer(LayerAction::ShowOnly(layer.id)));
        ui.close();
    }
    if matches!(layer.content, Content::Mask(_))
        && figures::item(ui, FigureSubject::Mask(layer.id), actions)
    {
        ui.close();
    }
    if matches!(layer.content, Content::Mask(_))
        && menu::Item::new("Use as region")
            .icon(icons::REGION)
            .show(ui)
    {
        actions.push(super::regions::from_layer(state, layer.id));
        ui.close();
    }
    if matches!(layer.content, Content::Tractogram(_)) {
        for (drawer, text) in [
            (BottomPanel::Table, "Table of streamlines"),
            (BottomPanel::Profile, "Profile along them"),
            (BottomPanel::Matrix, "Matrix of connections"),
            (BottomPanel::Bundles, "Bundles"),
            (BottomPanel::Scores, "Score against truth"),
        ] {
            if menu::Item::new(text).icon(icons::PATH).show(ui) {
                actions.push(Action::Layer(LayerAction::Select(Some(layer.id))));
                actions.push(Action::Streamline(StreamlineAction::Open(Some(drawer))));
                ui.close();
            }
        }
    }
    if matches!(layer.content, Content::InPlace(_))
        && menu::Item::new("Matrix of connections")
            .icon(icons::PATH)
            .show(ui)
    {
        actions.push(Action::Layer(LayerAction::Select(Some(layer.id))));
        let open = StreamlineAction::Open(Some(BottomPanel::Matrix));
        actions.push(Action::Streamline(open));
        ui.close();
    }
    if menu::Item::new("Export…").icon(icons::EXPORT).show(ui) {
        export(state, layer, memory, DialogPosition::Middle);
        ui.close();
    }
    if menu::Item::new("Copy as command")
        .icon(icons::TERMINAL)
        .show(ui)
    {
        actions.extend(selection_command(state, layer).map(Action::CopyCommand));
        ui.close();
    }
    rename::rename_item(ui, RenameTarget::Layer(layer.id), &layer.name, memory);
    menu::line(ui);
    if rename::delete_item(ui) {
        actions.push(Action::Layer(LayerAction::Delete(layer.id)));
    }
}

/// Asks where to write a layer.
pub fn export(state: &State, layer: &Layer, memory: &mut Memory, place: DialogPosition) {
    let purpose = match layer.content {
        Content::Tractogram(_) | Content::InPlace(_) => {
            PathPurpose::streamlines(state, Some(layer.id))
        }
        _ => PathPurpose::Layer {
            layer: layer.id,
            mask: matches!(layer.content, Content::Mask(_)),
            labels: matches!(&layer.content, Content::Image(v) if v.labels.is_some()),
        },
    };
    let text = suggestion(state, &layer.name, &purpose);
    memory.files.type_path(purpose, place, &text);
}

/// Dragging a row moves its layer.
fn move_dragged_layer(ui: &Ui, places: &[(LayerId, Rect)], actions: &mut Vec<Action>) {
    let Some((_, first)) = places.first() else {
        return;
    };
    let ids = places.iter().map(|(layer, _)| *layer);
    let Some(drag) = rows::dragged_row(ui, ids, *first).filter(|drag| drag.is_released) else {
        return;
    };
    // The list runs from the top, the document from the bottom.
    let last = places.len() - 1;
    let Some(to) = drag.index().map(|index| last - index) else {
        return;
    };
    actions.push(Action::Layer(LayerAction::Move {
        layer: places[drag.from].0,
        index: to,
    }));
}
