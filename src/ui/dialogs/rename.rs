//! Names in the lists, typed in place, and the entries that the rows' context menus share.

use crate::data::region::RegionId;
use crate::state::LayerId;
use crate::ui::theme::space;
use crate::ui::widgets::field::{self, Typed};
use crate::ui::widgets::{menu, paint};
use crate::ui::{Memory, icons};
use egui::{Rect, Ui};

/// A name that is being typed.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::ui) struct Renaming {
    target: RenameTarget,
    text: String,
    /// The field has just opened.
    pub(in crate::ui) fresh: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ui) enum RenameTarget {
    Layer(LayerId),
    Region(RegionId),
    /// A kept pathway.
    Pathway(LayerId),
    /// A named viewpoint, by its index.
    Viewpoint(usize),
    /// A clip of the 3-D view, by its index.
    Clip(usize),
}

/// Opens the field for a new name.
pub(in crate::ui) fn begin(target: RenameTarget, name: &str, memory: &mut Memory) {
    memory.renaming = Some(Renaming {
        target,
        text: name.to_owned(),
        fresh: true,
    });
}

pub(in crate::ui) fn rename_item(ui: &mut Ui, what: RenameTarget, name: &str, memory: &mut Memory) {
    let item = menu::Item::new("Rename").key("double click");
    if item.icon(icons::COPY).show(ui) {
        begin(what, name, memory);
        ui.close();
    }
}

pub(in crate::ui) fn delete_item(ui: &mut Ui) -> bool {
    let item = menu::Item::new("Delete").icon(icons::TRASH);
    let chosen = item.key("Del").show(ui);
    if chosen {
        ui.close();
    }
    chosen
}

pub(in crate::ui) enum Renamed {
    Inactive,
    Editing,
    Done(String),
}

/// The text field over a row whose name is being typed.
pub(in crate::ui) fn rename(
    ui: &mut Ui,
    row: Rect,
    what: RenameTarget,
    memory: &mut Memory,
) -> Renamed {
    let Some(renaming) = memory.renaming.as_mut().filter(|r| r.target == what) else {
        return Renamed::Inactive;
    };
    let place =
        paint::inset(row, space::INSET + 18.0, space::INSET + 28.0).shrink2(egui::vec2(0.0, 3.0));
    let focus = std::mem::take(&mut renaming.fresh);
    let typed = field::text(ui, place, "New name", &mut renaming.text, "Name", focus);
    let clicked_away = ui.input(|i| i.pointer.any_pressed())
        && ui
            .ctx()
            .pointer_interact_pos()
            .is_some_and(|at| !place.contains(at));
    match typed {
        Typed::Editing if !clicked_away => Renamed::Editing,
        Typed::Cancelled => {
            memory.renaming = None;
            Renamed::Inactive
        }
        Typed::Editing | Typed::Entered => {
            let name = renaming.text.trim().to_owned();
            memory.renaming = None;
            if name.is_empty() {
                Renamed::Inactive
            } else {
                Renamed::Done(name)
            }
        }
    }
}
