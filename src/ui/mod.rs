//! Widgets: the user interface.
//!
//! [`show`] lays out the window and returns the user's actions as [`Action`]s; it changes nothing of the state, opens
//! no file and waits for nothing. State that widgets keep between frames (a half-typed path, an open list) lives in
//! [`Memory`].

mod bottom_panel;
pub mod crosshair;
mod devices;
mod dialogs;
mod figures;
mod file_menu;
pub mod files;
mod first_run;
pub mod format;
mod forms;
mod help;
pub mod help_pictures;
pub mod icons;
mod keys;
mod layers;
pub mod odf_picture;
pub mod paint_callback;
pub mod palette;
mod panels;
pub mod probe;
pub mod quit;
pub mod rays;
mod recovery;
mod regions;
mod settings;
mod shortcuts;
pub mod snapshot;
pub mod status_bar;
pub mod streamline_summary;
pub mod theme;
mod top_bar;
mod tour;
pub mod views;
pub mod weights;
pub mod widgets;

use crate::state::sessions::ReadSession;
use crate::state::{Action, FilesAction, Pane, State, Task, ViewAction};
use dialogs::{choose_visit, locate_files, rename, unsaved_changes};
use egui::{Rect, Ui, UiBuilder, pos2};
use files::{Files, StartThread};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use theme::space;
use widgets::focus::{self, WindowPart};

/// State of widgets between frames; none of it is worth saving.
pub struct Memory {
    files: Files,
    drag: widgets::drag::Watch,
    /// The task that the panels last showed, and the session that was open.
    task: Option<(Task, Option<Arc<ReadSession>>)>,
    help: help::Help,
    settings: bool,
    /// The first page was shown: the next document is shown from its beginning.
    begins: bool,
    /// The active tool when the panel was last drawn.
    tool_kind: Option<std::mem::Discriminant<crate::state::Tool>>,

    palette: Option<palette::Palette>,
    /// Keys and letters of this frame that follow the key that opens the palette, until it has opened.
    typed_early: Vec<egui::Event>,
    renaming: Option<rename::Renaming>,
    /// The window has no space for the lists beside the views.
    narrow: bool,
    /// Height of the task's panel below the notes at its top.
    panel_height: f32,
    /// A text field had the keyboard when the last frame ended.
    typing: bool,
    /// A control had it.
    control_focused: bool,
    /// Blocks and reports that the user folded or opened against their default.
    toggled: BTreeSet<&'static str>,
    region_panel: RegionPanel,
    forms: FormMemory,
    caches: Caches,
    /// Picture of the demo's card on the first page.
    demo: first_run::Picture,
    /// The view as in which the distribution at the crosshair is seen.
    glyph_pane: Pane,
}

/// The lists and forms of regions.
struct RegionPanel {
    /// The second of two regions to be combined.
    combine_with: Option<crate::data::region::RegionId>,
    /// The role of regions from labels.
    label_role: crate::data::Role,
    /// Search and multiple selection in the list of regions.
    chosen: regions::many::RegionListState,
    /// The text searched for among the labels of a label map.
    label_search: String,
    /// The region that was selected when the list was last seen.
    shown_region: Option<crate::data::region::RegionId>,
    /// The next region is a box.
    cube: bool,
}

impl RegionPanel {
    fn new() -> Self {
        Self {
            combine_with: None,
            label_role: crate::data::Role::Region,
            chosen: regions::many::RegionListState::default(),
            label_search: String::new(),
            shown_region: None,
            cube: false,
        }
    }
}

/// State of forms besides the state's parameters.
#[derive(Default)]
struct FormMemory {
    /// Last settings of each kind of rays.
    kinds: forms::geodesic::RayKinds,
    density: forms::density::Chosen,
    space: forms::tensor_fit::checks::SpaceReport,
    axes: forms::tensor_fit::axes::Pictures,
    orders: forms::tensor_fit::candidates::Pictures,
    bases: forms::tensor_fit::candidates::Pictures,
}

/// Values computed from the state that are shown in every frame.
#[derive(Default)]
struct Caches {
    visits: choose_visit::Cache,
    shells: forms::ShellCache,
    streamlines: streamline_summary::Cache,
    rays: rays::Cache,
    weights: weights::Cache,
    /// Smallest and largest value of a frame of a volume.
    ranges: BTreeMap<(crate::data::DataId, usize), (f32, f32)>,
    /// Values behind the transfer function.
    counted: widgets::transfer::HistogramCache,
    /// Values behind the transfer function of two values.
    joint: widgets::shapes::JointCache,
    values: widgets::histogram::HistogramCache,
    /// Smallest and largest value of columns of streamlines.
    extents: Vec<(crate::state::streamlines::ColumnKey, (f32, f32))>,
    bottom_panel: bottom_panel::Cache,
}

impl Memory {
    /// Uses the desktop's file dialogs, which block: `start_thread` keeps them off the window's thread.
    pub fn new(start_thread: StartThread) -> Self {
        Self::with_dialogs(true, start_thread)
    }

    /// Uses no file dialogs of the desktop: paths are typed.
    pub fn without_dialogs() -> Self {
        Self::with_dialogs(false, |_, work| work())
    }

    /// Whether letters belong to a field that is open or about to open.
    fn takes_typing(&self) -> bool {
        self.files.takes_typing() || self.renaming.is_some() || self.palette.is_some()
    }

    fn with_dialogs(native: bool, start_thread: StartThread) -> Self {
        Self {
            files: Files::new(native, start_thread),
            drag: widgets::drag::Watch::default(),
            task: None,
            help: help::Help::default(),
            begins: false,
            settings: false,
            tool_kind: None,

            palette: None,
            typed_early: Vec::new(),
            renaming: None,
            narrow: false,
            panel_height: f32::INFINITY,
            typing: false,
            control_focused: false,
            toggled: BTreeSet::new(),
            region_panel: RegionPanel::new(),
            forms: FormMemory::default(),
            caches: Caches::default(),
            demo: first_run::Picture::default(),
            glyph_pane: Pane::Axial,
        }
    }

    /// Shows this picture on the demo's card: straight RGBA, row by row from the top.
    pub fn with_demo_picture(mut self, size: [usize; 2], rgba: &[u8]) -> Self {
        self.demo = first_run::Picture::from_rgba(size, rgba);
        self
    }

    fn toggle(&mut self, name: &'static str) {
        if !self.toggled.remove(name) {
            self.toggled.insert(name);
        }
    }

    /// Whether a block is open, given its default.
    fn is_open(&self, name: &'static str, by_default: bool) -> bool {
        by_default != self.toggled.contains(name)
    }
}

/// Lays out the window, each part on a background of its own: the parts leave none of it free, and a CPU that renders
/// is slowed by every pixel. `views` fills the middle once something is open: it gets a [`Ui`] whose `max_rect` is its
/// place.
pub fn show(
    ui: &mut Ui,
    state: &State,
    memory: &mut Memory,
    views: &mut dyn FnMut(&mut Ui, &mut Vec<Action>),
) -> Vec<Action> {
    let mut actions = Vec::new();
    focus::begin(ui);
    theme::select(ui.ctx(), state.view.light_theme);
    let popup_was_open = egui::Popup::is_any_open(ui.ctx());
    memory.files.poll(ui.ctx(), state, &mut actions);
    take_dropped_files(ui, &mut actions);
    let given_up = memory.drag.given_up(ui, state);
    let arrived = actions.len();
    let is_modal = asks(ui, state) || memory.settings || state.runtime.files.folder.is_some();
    let opens_palette = given_up.is_none() && !is_modal && memory.palette.is_none();
    palette::return_early(ui, std::mem::take(&mut memory.typed_early));
    memory.typed_early = match opens_palette {
        true => palette::take_early(ui),
        false => Vec::new(),
    };

    let window = ui.max_rect();
    let (left, right) = (window.left(), window.right());
    let (top, bottom) = (
        window.top() + space::TOP_BAR,
        window.bottom() - space::STATUS_BAR,
    );
    let narrow = window.width() < space::NARROW;
    memory.narrow = narrow;

    let bar = Rect::from_min_max(window.min, pos2(right, top));
    place(ui, WindowPart::TopBar, bar, |ui| {
        top_bar::show(ui, state, memory, &mut actions)
    });
    let bar = Rect::from_min_max(pos2(left, bottom), window.max);
    place(ui, WindowPart::StatusBar, bar, |ui| {
        status_bar::show(ui, state, narrow, &mut actions)
    });

    let middle = Rect::from_min_max(pos2(left, top), pos2(right, bottom));
    if state.document.is_empty() {
        place(ui, WindowPart::Task, middle, |ui| {
            memory.begins = true;
            first_run::show(ui, state, memory, &mut actions)
        });
    } else {
        let mut centre = match state.view.visible.panels {
            true => sides(ui, middle, state, memory, &mut actions),
            false => middle,
        };
        if let Some(below) = bottom_panel::rect(state, centre) {
            centre.max.y = below.top();
            place(ui, WindowPart::Drawer, below, |ui| {
                bottom_panel::show(ui, state, memory, &mut actions)
            });
        }
        focus::views(ui, centre);
        part(ui, WindowPart::View, centre, |ui| views(ui, &mut actions));
    }
    settings::follow_size(ui, state, &mut actions);
    let asks = asks(ui, state);
    // They would cover the path field that they opened.
    if !memory.files.is_open() {
        unsaved_changes::show(ui, state, memory, &mut actions);
        recovery::discard_question(ui, state, &mut actions);
        locate_files::show(ui, state, memory, &mut actions);
        choose_visit::show(ui, state, memory, &mut actions);
        settings::show(ui, state, memory, &mut actions);
    }
    memory.files.show(ui, state, window, &mut actions);
    // A field just opened by a click appears at once.
    if memory.renaming.as_ref().is_some_and(|r| r.fresh) {
        ui.ctx().request_repaint();
    }
    help::show(ui, window, state, memory, &mut actions);
    if memory.help.keys {
        shortcuts::show(ui, window, state, memory, &mut actions);
    }
    palette::show(ui, window, state, memory, &mut actions);
    first_run::drop_highlight(ui, window, state.document.is_empty());
    widgets::notice::show(ui, window);
    if let Some(before) = given_up {
        // For widgets the drag has ended at its last point, which is not wanted.
        actions.truncate(arrived);
        actions.push(Action::AbandonDrag(before));
    } else if !(asks || memory.settings || state.runtime.files.folder.is_some()) {
        keys::handle(ui, state, memory, popup_was_open, &mut actions);
    }
    if !memory.typed_early.is_empty() {
        // No palette opened.
        ui.ctx().request_repaint();
    }
    actions
}

/// Whether a question waits for an answer.
fn asks(ui: &Ui, state: &State) -> bool {
    unsaved_changes::is_open(state) || recovery::is_asking(ui)
}

/// Shows the panels at both sides, and returns the rectangle between them for the views. A list that was opened from
/// the rail takes the place of the task where both would leave too little to the views; another task closes it there.
fn sides(
    ui: &mut Ui,
    middle: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) -> Rect {
    let (lists, task) = match memory.narrow {
        true => (space::RAIL, space::RIGHT_NARROW),
        false => (space::LEFT, space::RIGHT),
    };
    let between = middle.width() - lists - task;
    let one_of_two = between - space::LEFT < space::VIEWS;
    let now = (state.view.task, state.runtime.sessions.opened.clone());
    let session = |opened: &Option<Arc<ReadSession>>| opened.as_ref().map(Arc::as_ptr);
    let before = memory.task.replace(now.clone());
    // A session that is opened shows the list that was open when it was saved.
    let is_new = before.is_some_and(|b| b.0 != now.0 && session(&b.1) == session(&now.1));
    let closes = one_of_two && is_new && state.view.visible.side_list.is_some();
    if closes {
        actions.push(Action::View(ViewAction::OpenList(None)));
    }
    let mut views = middle;
    let side = middle.with_max_x(middle.left() + lists);
    views.min.x = side.right();
    place(ui, WindowPart::Lists, side, |ui| {
        panels::left(ui, state, memory, actions)
    });
    let list = state.view.visible.side_list;
    let list = list.filter(|_| memory.narrow && !closes);
    if list.is_none() || !one_of_two {
        let side = middle.with_min_x(middle.right() - task);
        views.max.x = side.left();
        place(ui, WindowPart::Task, side, |ui| {
            panels::right(ui, state, memory, actions)
        });
    }
    if let Some(list) = list {
        let max_width = (views.width() - space::VIEWS).max(0.5 * views.width());
        let side = views.with_max_x(views.left() + space::LEFT.min(max_width));
        views.min.x = side.right();
        part(ui, "list of the rail", side, |ui| {
            panels::list_of_rail(ui, list, state, memory, actions)
        });
    }
    views
}

/// A part of the window: F6 goes to it, Tab to the controls in it.
fn place<R>(ui: &mut Ui, window_part: WindowPart, rect: Rect, add: impl FnOnce(&mut Ui) -> R) -> R {
    focus::panel(ui, window_part, rect);
    let added = part(ui, window_part, rect, add);
    focus::ring(ui, window_part, rect);
    added
}

/// A child that keeps to its rectangle.
fn part<R>(ui: &mut Ui, name: impl Hash + Debug, rect: Rect, add: impl FnOnce(&mut Ui) -> R) -> R {
    let builder = UiBuilder::new().id_salt(name).max_rect(rect);
    let mut child = ui.new_child(builder);
    child.shrink_clip_rect(rect);
    child.spacing_mut().item_spacing = egui::vec2(8.0, 0.0);
    add(&mut child)
}

fn take_dropped_files(ui: &Ui, actions: &mut Vec<Action>) {
    let paths: Vec<_> = ui.input(|i| {
        let dropped = i.raw.dropped_files.iter();
        dropped.map(|f| f.path().to_owned()).collect()
    });
    if !paths.is_empty() {
        actions.push(Action::Files(FilesAction::Open(paths)));
    }
}
