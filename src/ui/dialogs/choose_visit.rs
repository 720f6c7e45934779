//! The question which visit to open from a folder with several subjects or sessions.

use super::unsaved_changes;
use crate::data::text::file_name;
use crate::state::{Action, FilesAction, Folder, State, Visit};
use crate::ui::Memory;
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::{field, paint, rows};
use egui::{Key, ScrollArea, Sense, Ui, pos2, vec2};

const WIDTH: f32 = 480.0;
/// From this number on, a search field is shown.
const MANY: usize = 12;

/// The field's text, and the folder's visits.
#[derive(Default)]
pub struct Cache {
    folder: Option<std::path::PathBuf>,
    /// Each with a list of its images.
    visits: Vec<(Visit, String)>,
    text: String,
    /// The one of the shown visits that the arrows have reached and Enter opens.
    highlighted: usize,
}

impl Cache {
    fn update(&mut self, folder: &Folder) {
        if self.folder.as_ref() == Some(&folder.path) {
            return;
        }
        let visits = folder.visits().into_iter();
        self.visits = visits.map(|v| (v.clone(), kinds(folder, &v))).collect();
        self.folder = Some(folder.path.clone());
        self.text.clear();
        self.highlighted = 0;
    }
}

/// `2 diffusion scans, T1`.
fn kinds(folder: &Folder, visit: &Visit) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for file in folder.files_of(visit) {
        let name = file.kind.name();
        match counted.iter_mut().find(|(n, _)| *n == name) {
            Some((_, n)) => *n += 1,
            None => counted.push((name, 1)),
        }
    }
    let text = counted.into_iter().map(|(name, n)| match n {
        1 => name.to_owned(),
        n => format!("{n} × {name}"),
    });
    text.collect::<Vec<_>>().join(", ")
}

pub fn show(ui: &Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some(folder) = &state.runtime.files.folder else {
        memory.caches.visits.folder = None;
        return;
    };
    memory.caches.visits.update(folder);
    let height = (ui.max_rect().height() - 260.0).max(120.0);
    let mut answer = None;
    let close = unsaved_changes::modal(ui, "visits", WIDTH, |ui| {
        answer = contents(ui, folder, &mut memory.caches.visits, height);
    });
    if let Some(answer) = answer {
        actions.push(Action::Files(FilesAction::OpenVisit(answer)));
    } else if close && ui.input(|i| i.key_pressed(Key::Escape)) {
        actions.push(Action::Files(FilesAction::OpenVisit(None)));
    }
}

fn contents(ui: &mut Ui, folder: &Folder, cache: &mut Cache, height: f32) -> Option<Option<usize>> {
    let p = theme::palette(ui.style());
    let name = file_name(&folder.path);
    unsaved_changes::heading(ui, &format!("Which one? {name}"));
    if cache.visits.len() >= MANY {
        let (rect, _) = ui.allocate_exact_size(vec2(WIDTH, 26.0), Sense::hover());
        let before = cache.text.clone();
        field::text(ui, rect, "Find", &mut cache.text, "part of a name", false);
        if cache.text != before {
            cache.highlighted = 0;
        }
    }
    let requested = cache.text.trim().to_lowercase();
    let fits = |v: &Visit| v.name().to_lowercase().contains(&requested);
    let shown: Vec<usize> = (0..cache.visits.len())
        .filter(|&i| fits(&cache.visits[i].0))
        .collect();
    let (up, down, enter) = ui.input(|i| {
        let pressed = |key| i.key_pressed(key);
        (
            pressed(Key::ArrowUp),
            pressed(Key::ArrowDown),
            pressed(Key::Enter),
        )
    });
    let last = shown.len().saturating_sub(1);
    let at = (cache.highlighted + usize::from(down)).saturating_sub(usize::from(up));
    cache.highlighted = at.min(last);
    let mut area = ScrollArea::vertical().max_height(height);
    if up || down {
        area = area.vertical_scroll_offset(cache.highlighted as f32 * space::ROW - height * 0.5);
    }
    let mut chosen = None;
    area.show_rows(ui, space::ROW, shown.len(), |ui, visible| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for place in visible {
            let i = shown[place];
            let (visit, kinds) = &cache.visits[i];
            let name = visit.name();
            let label = format!("{name}: {kinds}");
            let response = rows::list_row(ui, &label, ("visit", i), place == cache.highlighted);
            let inner = paint::inset(response.rect, 8.0, 8.0);
            let middle = pos2(inner.left() + 150.0, inner.bottom());
            let left = egui::Rect::from_min_max(inner.min, middle);
            paint::left(ui.painter(), left, &name, theme::medium(size::LABEL), p.t1);
            let right = paint::inset(inner, 158.0, 0.0);
            paint::left(
                ui.painter(),
                right,
                kinds,
                theme::regular(size::LABEL),
                p.t2,
            );
            if response.clicked() {
                chosen = Some(i);
            }
        }
    });
    if shown.is_empty() {
        let sentence = egui::RichText::new("No such name");
        ui.label(sentence.font(theme::regular(size::LABEL)).color(p.t2));
    }
    let mut cancelled = false;
    ui.horizontal(|ui| {
        let count = cache.visits.len();
        let sentence = match folder.cut {
            true => format!("{count}, and more that are not listed"),
            false => format!("{count} to choose from"),
        };
        let sentence = egui::RichText::new(sentence).font(theme::regular(size::LABEL));
        ui.label(sentence.color(p.t3));
        cancelled = Button::quiet("Cancel").show(ui).clicked();
    });
    match (chosen, shown.get(cache.highlighted)) {
        (Some(i), _) => Some(Some(i)),
        (None, Some(at)) if enter && !cancelled => Some(Some(*at)),
        _ => cancelled.then_some(None),
    }
}
