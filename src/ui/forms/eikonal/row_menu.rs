//! Actions on one pathway: from the menu of its row, or by a right click on it.

use super::{ask_for_path, sensitivity};
use crate::data::Role;
use crate::state::pathways::{PathwayAction, PathwayFile};
use crate::state::track::types::odf::Model;
use crate::state::{Action, FigureAction, FigureSubject, KeptPathway, Phase, State};
use crate::ui::dialogs::rename::{self, RenameTarget};
use crate::ui::files::DialogPosition;
use crate::ui::widgets::menu;
use crate::ui::{Memory, figures, icons, theme};
use egui::{Color32, Rect, Response, Ui, vec2};
use std::sync::Arc;

const WIDTH: f32 = 230.0;

enum PathwayMenuItem {
    File(PathwayFile),
    Region,
    Figures,
    Sensitivity,
    AmplitudeSensitivity,
    Command,
    Again,
    Rename,
    Colour([u8; 3]),
    Delete,
}

/// Opens under the row's button, and at a right click on the row.
pub fn show(
    (button, row): (&Response, &Response),
    state: &State,
    kept: Option<&Arc<KeptPathway>>,
    solved: Option<Model>,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let unsolved = kept.is_some_and(|k| state.runtime.pathways.unsolved.contains(&k.id));
    let entries = |ui: &mut Ui| entries(ui, kept.map(|k| &**k), solved, unsolved);
    let mut chosen = menu::popup(button, WIDTH, entries);
    menu::context(row, |ui| {
        ui.set_width(WIDTH - 8.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        if let Some(more) = entries(ui) {
            chosen = Some(more);
            ui.close();
        }
    });
    if let Some(more) = chosen {
        act(more, state, kept, memory, actions);
    }
}

/// The files that can be written.
pub fn files(ui: &mut Ui) -> Option<PathwayFile> {
    menu::choice(ui, PathwayFile::ALL, |what| what.name())
}

pub fn colour(rgb: [u8; 3]) -> Color32 {
    Color32::from_rgb(rgb[0], rgb[1], rgb[2])
}

fn entries(
    ui: &mut Ui,
    kept: Option<&KeptPathway>,
    solved: Option<Model>,
    unsolved: bool,
) -> Option<PathwayMenuItem> {
    let item = |ui: &mut Ui, item: menu::Item, more: PathwayMenuItem| item.show(ui).then_some(more);
    let mut chosen = None;
    if unsolved {
        chosen = item(ui, menu::Item::new("Solve again"), PathwayMenuItem::Again);
        menu::line(ui);
    }
    if let Some(model) = solved {
        menu::caption(ui, "Export");
        chosen = chosen.or(files(ui).map(PathwayMenuItem::File));
        menu::line(ui);
        let region = menu::Item::new("Region of its voxels").icon(icons::REGION);
        chosen = chosen.or(item(ui, region, PathwayMenuItem::Region));
        let figures = menu::Item::new(figures::ITEM).icon(icons::GRID);
        chosen = chosen.or(item(ui, figures, PathwayMenuItem::Figures));
        let map = menu::Item::new(sensitivity::NAME).icon(icons::LAYERS);
        chosen = chosen.or(item(ui, map, PathwayMenuItem::Sensitivity));
        if model == Model::Distributions {
            let map = menu::Item::new(sensitivity::TO_AMPLITUDES).icon(icons::LAYERS);
            chosen = chosen.or(item(ui, map, PathwayMenuItem::AmplitudeSensitivity));
        }
        let command = menu::Item::new("Copy as command").icon(icons::TERMINAL);
        chosen = chosen.or(item(ui, command, PathwayMenuItem::Command));
    }
    let Some(kept) = kept else {
        return chosen;
    };
    menu::line(ui);
    let rename = menu::Item::new("Rename").icon(icons::COPY);
    chosen = chosen.or(item(
        ui,
        rename.key("double click"),
        PathwayMenuItem::Rename,
    ));
    for (name, rgb) in theme::CATEGORY_NAMES.into_iter().zip(theme::CATEGORIES) {
        let clicked = menu::glyph_item(ui, name, "", kept.colour == rgb, |painter, at| {
            let square = Rect::from_center_size(at, vec2(10.0, 10.0));
            painter.rect_filled(square, 2.0, colour(rgb));
        });
        if clicked {
            chosen = Some(PathwayMenuItem::Colour(rgb));
        }
    }
    menu::line(ui);
    if menu::Item::new("Delete").icon(icons::TRASH).show(ui) {
        chosen = Some(PathwayMenuItem::Delete);
    }
    chosen
}

fn act(
    more: PathwayMenuItem,
    state: &State,
    kept: Option<&Arc<KeptPathway>>,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let id = kept.map(|k| k.id);
    let action = match (more, kept) {
        (PathwayMenuItem::File(what), _) => {
            return ask_for_path(state, memory, id, what, DialogPosition::Middle);
        }
        (PathwayMenuItem::Region, _) => PathwayAction::Region {
            layer: id,
            role: Role::Mask,
        },
        (PathwayMenuItem::Figures, _) => {
            let measure = FigureAction::Measure(FigureSubject::Pathway(id));
            return actions.push(Action::Figures(measure));
        }
        (PathwayMenuItem::Sensitivity, _) => PathwayAction::Sensitivity(id),
        (PathwayMenuItem::AmplitudeSensitivity, _) => PathwayAction::AmplitudeSensitivity(id),
        (PathwayMenuItem::Command, _) => {
            let line = crate::state::update::pathway_command(state, id);
            return actions.extend(line.map(Action::CopyCommand));
        }
        (_, None) => return,
        (PathwayMenuItem::Again, Some(kept)) => PathwayAction::SolveKept(kept.id),
        (PathwayMenuItem::Rename, Some(kept)) => {
            return rename::begin(RenameTarget::Pathway(kept.id), &kept.name, memory);
        }
        (PathwayMenuItem::Colour(colour), Some(kept)) => PathwayAction::SetKept {
            kept: KeptPathway {
                colour,
                ..(**kept).clone()
            },
            phase: Phase::Done,
        },
        (PathwayMenuItem::Delete, Some(kept)) => PathwayAction::Delete(kept.id),
    };
    actions.push(Action::Pathway(action));
}
