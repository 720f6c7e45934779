//! The menu at the left of the top bar: sessions and files.

use super::files::{Place, Purpose};
use super::widgets::menu::{self, Item};
use super::{Memory, icons, leaving};
use crate::state::saving::Store;
use crate::state::update::is_session;
use crate::state::{Action, Leaving, SessionAction, State};
use egui::{Response, Ui};
use std::path::PathBuf;

enum Chosen {
    New,
    Open,
    Path,
    Recent(PathBuf),
    Save,
    SaveAs,
    Store(Store),
    Quit,
}

/// As many as fit beside the rest on a small screen.
const RECENT: usize = 6;

pub fn show(
    ui: &mut Ui,
    anchor: &Response,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let chosen = menu::popup(anchor, 260.0, |ui| rows(ui, state));
    let mut session = |action| actions.push(Action::Session(action));
    match chosen {
        None => {}
        Some(Chosen::New) => session(SessionAction::Leave(Leaving::New)),
        Some(Chosen::Open) => memory.files.ask(ui.ctx(), Purpose::Open, Place::Middle, ""),
        Some(Chosen::Path) => memory.files.type_path(Purpose::Open, Place::Middle, ""),
        Some(Chosen::Recent(path)) => actions.push(Action::Open(vec![path])),
        Some(Chosen::Save) => leaving::save(ui, state, memory, None, actions),
        Some(Chosen::SaveAs) => leaving::save_as(ui, state, memory, None),
        Some(Chosen::Store(store)) => session(SessionAction::SetStore(store)),
        Some(Chosen::Quit) => session(SessionAction::Leave(Leaving::Quit)),
    }
}

fn rows(ui: &mut Ui, state: &State) -> Option<Chosen> {
    let open = !state.document.is_empty();
    let mut chosen = None;
    let mut row = |ui: &mut Ui, item: Item, what: Chosen| {
        if item.show(ui) {
            chosen = Some(what);
        }
    };
    let item = Item::new("New").icon(icons::PLUS).key("Ctrl+N");
    row(ui, item.enabled(open), Chosen::New);
    let item = Item::new("Open…").icon(icons::FOLDER).key("Ctrl+O");
    row(ui, item, Chosen::Open);
    let item = Item::new("Enter a path").icon(icons::TERMINAL);
    row(ui, item, Chosen::Path);
    menu::line(ui);
    let item = Item::new("Save session").icon(icons::SAVE).key("Ctrl+S");
    row(ui, item.enabled(open), Chosen::Save);
    let item = Item::new("Save session as…").icon(" ");
    row(ui, item.key("Ctrl+Shift+S").enabled(open), Chosen::SaveAs);
    if !state.document.made.is_empty() {
        let all = state.document.store == Store::All;
        let other = if all { Store::Small } else { Store::All };
        let item = Item::new("With streamlines above 64 MB");
        let icon = if all { icons::CHECK } else { " " };
        row(ui, item.icon(icon).chosen(all), Chosen::Store(other));
    }
    if !state.session.recent.is_empty() {
        menu::line(ui);
        menu::caption(ui, "Recent");
        for recent in state.session.recent.iter().take(RECENT) {
            let name = recent.path.file_name().unwrap_or_default();
            let name = name.to_string_lossy();
            let icon = match is_session(&recent.path) {
                true => icons::LAYERS,
                false => icons::IMAGE,
            };
            let item = Item::new(&name).icon(icon);
            row(ui, item, Chosen::Recent(recent.path.clone()));
        }
    }
    menu::line(ui);
    row(ui, Item::new("Quit").icon(" "), Chosen::Quit);
    chosen
}
