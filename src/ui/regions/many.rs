//! Many regions: a search field, and actions on several at once.

use crate::data::region::RegionId;
use crate::data::{Region, Role};
use crate::state::{Action, RegionAction, RegionsChange, State};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::IconButton;
use crate::ui::widgets::{field, menu, paint, region, section};
use crate::ui::{format, icons};
use egui::{Modifiers, Rect, Sense, Ui, pos2, vec2};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A list with at least this many regions has a search field.
pub const SEARCHED: usize = 12;

/// The visible part of the list, and the regions selected together with the selected one.
#[derive(Default)]
pub struct RegionListState {
    pub search: String,
    also_selected: BTreeSet<RegionId>,
    /// Start of a range.
    anchor: Option<RegionId>,
}

impl RegionListState {
    /// The regions selected together, in the order of the list: at least two. A region selected elsewhere is selected
    /// alone.
    pub fn several(&self, state: &State) -> Vec<RegionId> {
        let selected = state.runtime.regions.selected;
        if !selected.is_some_and(|id| self.also_selected.contains(&id)) {
            return Vec::new();
        }
        let regions = state.document.regions.iter().map(|r| r.id);
        let several: Vec<_> = regions
            .filter(|id| self.also_selected.contains(id))
            .collect();
        if several.len() > 1 {
            several
        } else {
            Vec::new()
        }
    }

    /// Handles a click on one of the visible rows: with Shift all from the last one, with Ctrl one more or one less.
    /// Returns the new selected region.
    pub fn click(
        &mut self,
        (shown, now): (&[&Arc<Region>], Option<RegionId>),
        id: RegionId,
        modifiers: Modifiers,
    ) -> Option<RegionId> {
        let at = |id: RegionId| shown.iter().position(|r| r.id == id);
        let known = now.is_some_and(|now| self.also_selected.contains(&now));
        if !known {
            self.also_selected = now.into_iter().collect();
            self.anchor = now;
        }
        let anchor = self.anchor.and_then(at);
        match (modifiers.shift, anchor, at(id)) {
            (true, Some(from), Some(to)) => {
                let range = &shown[from.min(to)..=from.max(to)];
                self.also_selected = range.iter().map(|r| r.id).collect();
                Some(id)
            }
            _ if modifiers.command => {
                self.anchor = Some(id);
                if self.also_selected.remove(&id) {
                    return self.also_selected.last().copied();
                }
                self.also_selected.insert(id);
                Some(id)
            }
            _ => {
                self.also_selected = BTreeSet::from([id]);
                self.anchor = Some(id);
                Some(id)
            }
        }
    }
}

/// Whether a name contains the search text, ignoring case.
pub fn matches(name: &str, search: &str) -> bool {
    let search = search.trim().to_lowercase();
    search.is_empty() || name.to_lowercase().contains(&search)
}

/// A search field with the number of names; with `shown` of `all` if some are hidden.
pub fn search_field(
    ui: &mut Ui,
    (name, hint): (&str, &str),
    text: &mut String,
    (shown, all): (usize, usize),
    focus: bool,
) {
    let requested = vec2(ui.available_width(), space::ROW + 6.0);
    let (rect, _) = ui.allocate_exact_size(requested, Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let (shown, all) = (format::count(shown as u64), format::count(all as u64));
    let sentence = match shown == all {
        true => all,
        false => format!("{shown} of {all}"),
    };
    let width = paint::width(ui, &sentence, theme::regular(size::LABEL));
    let place = Rect::from_min_max(
        row.min,
        pos2(row.right() - width - 10.0, row.bottom() - 6.0),
    );
    if field::text(ui, place, name, text, hint, focus) == field::Typed::Cancelled {
        text.clear();
    }
    let count = Rect::from_min_max(
        pos2(place.right(), row.top()),
        pos2(row.right(), place.bottom()),
    );
    let p = theme::palette(ui.style());
    section::label(ui, count, &sentence, true, p.t3);
}

/// Actions on several regions, above the list.
pub fn bar(ui: &mut Ui, state: &State, several: &[RegionId], actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let requested = vec2(ui.available_width(), space::ROW);
    let (rect, _) = ui.allocate_exact_size(requested, Sense::hover());
    ui.painter().rect_filled(rect, 0.0, p.tint);
    let mut row = paint::inset(rect, space::INSET, space::INSET - 3.0);
    let text = format!("{} selected", format::count(several.len() as u64));
    section::label(ui, row, &text, false, p.t1);
    let mut button = |ui: &mut Ui, icon: &str, name: &str| {
        let response = IconButton::new(icon, name).side(22.0).show_right(ui, row);
        row.max.x -= 26.0;
        response
    };
    let mut change = |change| {
        let regions = several.to_vec();
        actions.push(Action::Region(RegionAction::ChangeSeveral {
            regions,
            change,
        }));
    };
    if button(ui, icons::TRASH, "Delete the selected regions").clicked() {
        change(RegionsChange::Delete);
    }
    let (icon, name, show) = match any_visible(state, several) {
        true => (icons::EYE, "Hide the selected regions", false),
        false => (icons::EYE_OFF, "Show the selected regions", true),
    };
    if button(ui, icon, name).clicked() {
        change(RegionsChange::Show(show));
    }
    let roles = button(ui, icons::TARGET, "Role of the selected regions");
    if let Some(role) = menu::popup(&roles, 150.0, role_rows) {
        change(RegionsChange::Role(role));
    }
}

fn any_visible(state: &State, several: &[RegionId]) -> bool {
    let mut regions = several.iter().filter_map(|id| state.document.region(*id));
    regions.any(|r| r.visible)
}

/// The roles as rows of a menu.
fn role_rows(ui: &mut Ui) -> Option<Role> {
    let mut chosen = None;
    for role in Role::ALL {
        if menu::glyph_item(ui, role.name(), "", false, |painter, at| {
            region::glyph(painter, at, role, theme::role_colour(role));
        }) {
            chosen = Some(role);
        }
    }
    chosen
}

/// The context menu of one of several regions.
pub fn context_menu(ui: &mut Ui, state: &State, several: &[RegionId], actions: &mut Vec<Action>) {
    ui.set_width(200.0);
    ui.spacing_mut().item_spacing.y = 0.0;
    let n = format::count(several.len() as u64);
    let show = !any_visible(state, several);
    let mut change = None;
    let (icon, verb) = match show {
        true => (icons::EYE, "Show"),
        false => (icons::EYE_OFF, "Hide"),
    };
    if menu::Item::new(&format!("{verb} {n} regions"))
        .icon(icon)
        .show(ui)
    {
        change = Some(RegionsChange::Show(show));
    }
    menu::caption(ui, "Role");
    change = role_rows(ui).map(RegionsChange::Role).or(change);
    menu::line(ui);
    let delete = format!("Delete {n} regions");
    if menu::Item::new(&delete)
        .icon(icons::TRASH)
        .key("Del")
        .show(ui)
    {
        change = Some(RegionsChange::Delete);
    }
    if let Some(change) = change {
        let regions = several.to_vec();
        actions.push(Action::Region(RegionAction::ChangeSeveral {
            regions,
            change,
        }));
        ui.close();
    }
}
