//! The menu at the left of the top bar: sessions and files.

use super::dialogs::unsaved_changes;
use super::files::{DialogPosition, PathPurpose, suggestion};
use super::theme::{self, size};
use super::top_bar::NOTHING_OPEN;
use super::widgets::menu::{self, Item};
use super::widgets::paint;
use super::{Memory, first_run, icons};
use crate::data::text::file_name;
use crate::state::sessions::ResultStorage;
use crate::state::{Action, FilesAction, SessionAction, SnapshotAction, State, UnsavedAction};
use egui::{Response, Ui};
use std::path::PathBuf;
use std::sync::Arc;

enum Chosen {
    New,
    Open,
    Path,
    Recent(PathBuf),
    Save,
    SaveAs,
    Store(ResultStorage),
    Methods,
    Report,
    Protocol,
    Settings,
    Snapshot,
    Compare(Option<usize>),
    Quit,
}

/// The number that fits with the other entries on a small screen.
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
        Some(Chosen::New) => session(SessionAction::CloseDocument(UnsavedAction::New)),
        Some(Chosen::Open) => {
            memory
                .files
                .ask_for_path(ui.ctx(), PathPurpose::Open, DialogPosition::Middle, "")
        }
        Some(Chosen::Path) => memory
            .files
            .type_path(PathPurpose::Open, DialogPosition::Middle, ""),
        Some(Chosen::Recent(path)) => actions.push(Action::Files(FilesAction::Open(vec![path]))),
        Some(Chosen::Save) => unsaved_changes::save(ui, state, memory, None, actions),
        Some(Chosen::SaveAs) => unsaved_changes::save_as(ui, state, memory, None),
        Some(Chosen::Settings) => super::settings::open(memory, actions),
        Some(Chosen::Methods) => actions.push(Action::CopyMethods),
        Some(Chosen::Report) => {
            let text = suggestion(state, "report", &PathPurpose::Report);
            let files = &mut memory.files;
            files.ask_for_path(ui.ctx(), PathPurpose::Report, DialogPosition::Middle, &text);
        }
        Some(Chosen::Protocol) => {
            let text = suggestion(state, "protocol", &PathPurpose::Protocol);
            let files = &mut memory.files;
            files.ask_for_path(
                ui.ctx(),
                PathPurpose::Protocol,
                DialogPosition::Middle,
                &text,
            );
        }
        Some(Chosen::Snapshot) => actions.push(Action::Snapshot(SnapshotAction::Take)),
        Some(Chosen::Compare(with)) => {
            actions.push(Action::Snapshot(SnapshotAction::Compare(with)))
        }
        Some(Chosen::Store(store)) => session(SessionAction::SetStore(store)),
        Some(Chosen::Quit) => session(SessionAction::CloseDocument(UnsavedAction::Quit)),
    }
}

fn rows(ui: &mut Ui, state: &State) -> Option<Chosen> {
    let open = !state.document.is_empty();
    let closed = (!open).then_some(NOTHING_OPEN);
    let mut chosen = None;
    let mut row = |ui: &mut Ui, item: Item, what: Chosen| {
        if item.show(ui) {
            chosen = Some(what);
        }
    };
    let item = Item::new("New").icon(icons::PLUS).key("Ctrl+N");
    row(ui, item.enabled(open).reason(closed), Chosen::New);
    let item = Item::new("Open…").icon(icons::FOLDER).key("Ctrl+O");
    row(ui, item, Chosen::Open);
    let item = Item::new("Enter a path").icon(icons::TERMINAL);
    row(ui, item, Chosen::Path);
    menu::line(ui);
    let item = Item::new("Save session").icon(icons::SAVE).key("Ctrl+S");
    row(ui, item.enabled(open).reason(closed), Chosen::Save);
    let item = Item::new("Save session as…").icon(" ");
    let item = item.key("Ctrl+Shift+S").enabled(open);
    row(ui, item.reason(closed), Chosen::SaveAs);
    let item = Item::new("Copy methods paragraph").icon(icons::COPY);
    row(ui, item.enabled(open).reason(closed), Chosen::Methods);
    let item = Item::new("Save report…").icon(" ");
    row(ui, item.enabled(open).reason(closed), Chosen::Report);
    let item = Item::new("Save as protocol…").icon(" ");
    row(ui, item.enabled(open).reason(closed), Chosen::Protocol);
    let mut layers = state.document.layers.iter();
    if layers.any(|l| state.document.curve_recipe(l.id).is_some()) {
        let all = state.document.session.store == ResultStorage::All;
        let other = if all {
            ResultStorage::Small
        } else {
            ResultStorage::All
        };
        let item = Item::new("Also store streamlines above 64 MB");
        let icon = if all { icons::CHECK } else { " " };
        row(ui, item.icon(icon).chosen(all), Chosen::Store(other));
    }
    menu::line(ui);
    let item = Item::new("Take a snapshot").icon(icons::FLAG).key("Ctrl+B");
    row(ui, item.enabled(open).reason(closed), Chosen::Snapshot);
    let now = state
        .runtime
        .snapshots
        .comparing
        .as_ref()
        .map(|c| &c.snapshot);
    for (i, snapshot) in state.runtime.snapshots.all.iter().enumerate() {
        let chosen = now.is_some_and(|with| Arc::ptr_eq(with, snapshot));
        let name = format!("Compare with {}", snapshot.label());
        let icon = if chosen { icons::CHECK } else { " " };
        // The key starts the comparison with the last snapshot, or ends the present one.
        let last = i + 1 == state.runtime.snapshots.all.len();
        let keyed = chosen || now.is_none() && last;
        let key = if keyed { "Ctrl+Shift+B" } else { "" };
        let item = Item::new(&name).icon(icon).chosen(chosen).key(key);
        row(ui, item, Chosen::Compare((!chosen).then_some(i)));
    }
    if !state.runtime.files.recent.is_empty() {
        menu::line(ui);
        menu::caption(ui, "Recent");
        for recent in state.runtime.files.recent.iter().take(RECENT) {
            let name = file_name(&recent.path);
            let room = ui.available_width() - 48.0;
            let name = paint::elided(ui.painter(), &name, theme::regular(size::LABEL), room);
            let item = Item::new(&name).icon(first_run::recent_icon(recent.kind));
            row(ui, item, Chosen::Recent(recent.path.clone()));
        }
    }
    menu::line(ui);
    let item = Item::new("Settings…").icon(" ").key("Ctrl+,");
    row(ui, item, Chosen::Settings);
    row(ui, Item::new("Quit").icon(" "), Chosen::Quit);
    chosen
}
