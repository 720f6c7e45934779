//! The bar at the top: name, tasks, orientation, undo, layouts.

use super::dialogs::unsaved_changes;
use super::files::{DialogPosition, PathPurpose, suggestion};
use super::theme::{self, radius, size};
use super::widgets::button::IconButton;
use super::widgets::{focus, menu, paint};
use super::{Memory, file_menu, icons, quit};
use crate::data::text::within_sentence;
use crate::state::core::text::counted;
use crate::state::{Action, Convention, Layout, Look, State, Task, ViewAction};
use egui::{Color32, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

/// Why a control of the views or of sessions is greyed out.
pub const NOTHING_OPEN: &str = "Nothing is open yet";

const LAYOUTS: [(Layout, &str, &str); 5] = [
    (Layout::Grid, icons::GRID, "Four views"),
    (
        Layout::SceneFirst,
        icons::SCENE_FIRST,
        "3-D with three slices",
    ),
    (Layout::Single, icons::SINGLE, "One view"),
    (Layout::Mosaic, icons::LAYERS, "Mosaic of slices"),
    (
        Layout::SpeedComparison,
        icons::POLYGON,
        "Image beside speed",
    ),
];

/// A document's name in less space is illegible.
const LEGIBLE: f32 = 40.0;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let bar = ui.max_rect();
    ui.painter().rect_filled(bar, 0.0, p.b0);
    paint::underline(ui.painter(), bar, p.line);
    let name_end = name(ui, bar, state, memory, actions);
    let right_side = RightSide::place(ui, bar, state, memory.narrow);
    tabs(ui, bar, (name_end, right_side.left()), state, actions);
    right_side.show(ui, bar, state, memory, actions);
}

pub fn task_icon(task: Task) -> &'static str {
    match task {
        Task::View => icons::BRAIN,
        Task::Track => icons::PATH,
        Task::Pathways => icons::CURVE,
        Task::Segment => icons::POLYGON,
        Task::Filter => icons::FUNNEL,
    }
}

fn divider(ui: &Ui, x: f32, bar: Rect) {
    let p = theme::palette(ui.style());
    let y = bar.center().y;
    ui.painter().vline(
        x.round() + 0.5,
        y - 10.0..=y + 10.0,
        Stroke::new(1.0, p.line),
    );
}

/// Logo and document name; returns the right edge.
fn name(
    ui: &mut Ui,
    bar: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) -> f32 {
    let p = theme::palette(ui.style());
    let painter = ui.painter();
    let y = bar.center().y;
    let logo = Rect::from_center_size(pos2(bar.left() + 22.0, y), vec2(17.0, 16.0));
    paint::logo(painter, logo, p.accent);
    let place = Rect::from_min_max(
        pos2(bar.left() + 40.0, bar.top()),
        pos2(bar.left() + 110.0, bar.bottom()),
    );
    let title = paint::left(
        painter,
        place,
        "arcuate",
        theme::semibold(size::BODY + 0.5),
        p.t1,
    );
    let end = file_button(ui, title.right() + 10.0, bar, state, memory, actions);
    // In a narrow window the tasks take the space of the name.
    let wide = ((bar.width() - 640.0) * 0.4).clamp(0.0, 210.0);
    if state.document.is_empty() || wide < LEGIBLE {
        return end;
    }
    let unsaved = state.unsaved();
    let unsaved_layers = state.saved_without();
    let saved = match (&state.runtime.sessions.file, unsaved.is_empty()) {
        (_, false) => " · not saved".to_owned(),
        (Some(_), true) if !unsaved_layers.is_empty() => {
            format!(
                " · saved without {}",
                counted(unsaved_layers.len(), "layer")
            )
        }
        (Some(_), true) => " · saved".to_owned(),
        (None, true) => String::new(),
    };
    let left = end + 22.0;
    let name = quit::name(state);
    divider(ui, end + 10.0, bar);
    let place = Rect::from_min_max(pos2(left, bar.top()), pos2(left + wide, bar.bottom()));
    let painter = ui.painter();
    let spans = [
        (&*name, theme::regular(size::LABEL), p.t2),
        (&*saved, theme::regular(size::LABEL), p.t3),
    ];
    let shown = paint::spans(painter, place, egui::Align2::LEFT_CENTER, &spans);
    let id = ui.make_persistent_id("document name");
    let response = ui.interact(shown, id, Sense::hover());
    let label = format!("{name}{saved}");
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
    let file = state.runtime.sessions.file.as_deref();
    let mut layers = state.document.layers.iter();
    let path = file.or(layers.find_map(|l| state.document.path(l)));
    let mut hint = path.map_or(state.document.name.clone(), |path| {
        path.display().to_string()
    });
    if let Some(verified) = &state.runtime.sessions.verified {
        hint += &format!("\n{}", verified.label());
    }
    for layer in &unsaved_layers {
        hint += &format!("\nKept as its recipe alone: {layer}");
    }
    for row in unsaved_changes::rows(state) {
        hint += &format!("\nNot saved: {row}");
    }
    response.on_hover_text(hint);
    shown.right()
}

/// The menu of sessions and files; returns its right edge.
fn file_button(
    ui: &mut Ui,
    left: f32,
    bar: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) -> f32 {
    let p = theme::palette(ui.style());
    let font = theme::medium(size::LABEL);
    let width = paint::width(ui, "File", font.clone()) + 34.0;
    let y = bar.center().y;
    let rect = Rect::from_min_max(pos2(left, y - 14.0), pos2(left + width, y + 14.0));
    let response = ui.interact(rect, ui.make_persistent_id("file menu"), Sense::click());
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect, radius::CONTROL, p.b2);
    }
    let ink = if response.hovered() { p.t1 } else { p.t2 };
    let text = paint::inset(rect, 8.0, 20.0);
    paint::left(painter, text, "File", font, ink);
    let caret = pos2(rect.right() - 13.0, y + 1.0);
    paint::icon(painter, caret, icons::CARET_DOWN, 12.0, p.t3);
    paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
    focus::named_button(&response, "File");
    file_menu::show(ui, &response, state, memory, actions);
    rect.right()
}

/// The tasks that show their names next to their icons.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedTasks {
    All,
    Active,
    None,
}

fn tabs(ui: &mut Ui, bar: Rect, free: (f32, f32), state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let enabled = !state.document.is_empty();
    let font = theme::medium(size::BODY);
    let active = |task| enabled && state.view.task == task;
    let (pad, gap) = (8.0, 8.0);
    let named =
        |names, task| names == NamedTasks::All || names == NamedTasks::Active && active(task);
    let widths = |names| {
        Task::ALL.map(|task| match named(names, task) {
            true => size::ICON + 8.0 + paint::width(ui, task.name(), font.clone()),
            false => size::ICON,
        })
    };
    let total = |names| {
        let widths = widths(names);
        widths.iter().map(|w| w + 2.0 * pad).sum::<f32>() + gap * (widths.len() - 1) as f32
    };
    let (first, last) = (free.0 + 16.0, free.1 - 16.0);
    // The names disappear before anything overlaps the orientation.
    let fits = |names: &NamedTasks| total(*names) <= last - first;
    let names = [NamedTasks::All, NamedTasks::Active, NamedTasks::None];
    let Some(names) = names.into_iter().find(fits) else {
        return tasks_menu(ui, bar, (first, last), state, actions);
    };
    let (widths, total) = (widths(names), total(names));
    let centred = bar.center().x - total * 0.5;
    let mut x = centred.clamp(first, (last - total).max(first)).round();
    for (i, (task, width)) in Task::ALL.into_iter().zip(widths).enumerate() {
        let rect = Rect::from_min_size(pos2(x, bar.top()), vec2(width + 2.0 * pad, bar.height()));
        x = rect.right() + gap;
        let sense = if enabled {
            Sense::click()
        } else {
            Sense::hover()
        };
        let id = ui.make_persistent_id(("tab", task.name()));
        let response = ui.interact(rect, id, sense);
        let active = active(task);
        let (icon, ink) = match (enabled, active) {
            (false, _) => (p.t3.gamma_multiply(0.75), p.t3.gamma_multiply(0.75)),
            (true, true) => (p.accent, p.t1),
            (true, false) if response.hovered() => (p.t1, p.t1),
            (true, false) => (p.t2, p.t2),
        };
        let painter = ui.painter();
        let at = pos2(rect.left() + pad + size::ICON * 0.5, bar.center().y);
        paint::icon(painter, at, task_icon(task), size::ICON, icon);
        if named(names, task) {
            let text = paint::inset(rect, pad + size::ICON + 8.0, 0.0);
            paint::left(painter, text, task.name(), font.clone(), ink);
        }
        if active {
            let line = Rect::from_min_max(
                pos2(rect.left() + 2.0, bar.bottom() - 2.0),
                pos2(rect.right() - 2.0, bar.bottom()),
            );
            painter.rect_filled(line, 0.0, p.accent);
        }
        paint::focus_ring(painter, p, &response, rect.shrink(4.0), radius::CONTROL);
        response.widget_info(|| WidgetInfo::selected(Role::Tab, enabled, active, task.name()));
        if response.clicked() {
            actions.push(Action::View(ViewAction::SelectTask(task)));
        }
        let hint = if enabled && named(names, task) {
            format!("Ctrl+{}", i + 1)
        } else if enabled {
            format!("{} (Ctrl+{})", task.name(), i + 1)
        } else {
            "Open a scan or the demo head first".to_owned()
        };
        response.on_hover_text(hint);
    }
}

/// The active task with a menu of all tasks, where not even their icons fit.
fn tasks_menu(
    ui: &mut Ui,
    bar: Rect,
    (first, last): (f32, f32),
    state: &State,
    actions: &mut Vec<Action>,
) {
    const PAD: f32 = 8.0;
    const CARET: f32 = 20.0;
    let p = theme::palette(ui.style());
    let enabled = !state.document.is_empty();
    let task = state.view.task;
    let font = theme::medium(size::BODY);
    let bare = PAD + size::ICON + CARET;
    let named = bare + 8.0 + paint::width(ui, task.name(), font.clone());
    let width = if named <= last - first { named } else { bare };
    let rect = Rect::from_min_size(pos2(first, bar.top()), vec2(width, bar.height()));
    let sense = if enabled {
        Sense::click()
    } else {
        Sense::hover()
    };
    let response = ui.interact(rect, ui.make_persistent_id("tasks"), sense);
    let (icon, ink) = match enabled {
        true => (p.accent, p.t1),
        false => (p.t3, p.t3),
    };
    let painter = ui.painter();
    let at = pos2(rect.left() + PAD + size::ICON * 0.5, bar.center().y);
    paint::icon(painter, at, task_icon(task), size::ICON, icon);
    if width == named {
        let text = paint::inset(rect, PAD + size::ICON + 8.0, CARET);
        paint::left(painter, text, task.name(), font, ink);
    }
    let caret = pos2(rect.right() - 10.0, bar.center().y + 1.0);
    paint::icon(painter, caret, icons::CARET_DOWN, 12.0, p.t3);
    paint::focus_ring(painter, p, &response, rect.shrink(4.0), radius::CONTROL);
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(task.name().to_owned()),
        ..WidgetInfo::labeled(Role::ComboBox, enabled, "Tasks")
    });
    let chosen = menu::popup(&response, 200.0, |ui| {
        let mut chosen = None;
        for (i, task) in Task::ALL.into_iter().enumerate() {
            let key = format!("Ctrl+{}", i + 1);
            let item = menu::Item::new(task.name()).icon(task_icon(task));
            let current = state.view.task == task;
            if item.key(&key).chosen(current).show(ui) {
                chosen = Some(task);
            }
        }
        chosen
    });
    actions.extend(chosen.map(|task| Action::View(ViewAction::SelectTask(task))));
    let hint = if enabled {
        "All tasks"
    } else {
        "Open a scan or the demo head first"
    };
    response.on_hover_text(hint);
}

/// Positions at the right, which are placed from right to left and shown from left to right: Tab follows the latter.
struct RightSide {
    help: Rect,
    camera: Rect,
    /// One per layout, or one for the menu of layouts.
    layouts: Vec<Rect>,
    redo: Rect,
    undo: Rect,
    /// Horizontal positions of the dividers.
    dividers: [f32; 3],
    /// The orientation's place, which is shown for an open document.
    orientation: Option<Rect>,
}

impl RightSide {
    fn place(ui: &Ui, bar: Rect, state: &State, narrow: bool) -> Self {
        const STEP: f32 = 36.0;
        let y = bar.center().y;
        let button = |x| Rect::from_center_size(pos2(x, y), vec2(28.0, 28.0));
        let help = button(bar.right() - 26.0);
        let camera = button(bar.right() - 26.0 - STEP);
        let after_layouts = camera.left() - 8.0;
        let count = if narrow { 1 } else { LAYOUTS.len() };
        let last = after_layouts - 22.0;
        let layouts = (0..count).rev().map(|at| button(last - STEP * at as f32));
        let before_layouts = last - STEP * (count - 1) as f32 - 22.0;
        let redo = button(before_layouts - 22.0);
        let undo = button(before_layouts - 22.0 - STEP);
        let before_history = undo.center().x - 22.0;
        Self {
            help,
            camera,
            layouts: layouts.collect(),
            redo,
            undo,
            dividers: [before_history, before_layouts, after_layouts],
            orientation: (!state.document.is_empty())
                .then(|| orientation_place(ui, pos2(before_history - 12.0, y), state)),
        }
    }

    /// Left edge of all.
    fn left(&self) -> f32 {
        self.orientation
            .map_or(self.dividers[0], |place| place.left())
    }

    fn show(
        &self,
        ui: &mut Ui,
        bar: Rect,
        state: &State,
        memory: &mut Memory,
        actions: &mut Vec<Action>,
    ) {
        let open = !state.document.is_empty();
        let closed = (!open).then_some(NOTHING_OPEN);
        for x in self.dividers {
            divider(ui, x, bar);
        }
        if let Some(place) = self.orientation {
            orientation(ui, place, state, actions);
        }
        self.history(ui, state, actions);
        match self.layouts[..] {
            [place] => layouts_menu(ui, place, state, open, actions),
            _ => {
                for ((layout, icon, name), place) in LAYOUTS.into_iter().zip(&self.layouts) {
                    let active = open && state.view.layout == layout;
                    let button = IconButton::new(icon, name).active(active).disabled(closed);
                    if button.show_at(ui, *place).clicked() {
                        actions.push(Action::View(ViewAction::SetLayout(layout)));
                    }
                }
            }
        }
        let camera = IconButton::new(icons::CAMERA, "Screenshot")
            .disabled(closed)
            .hint("Save a screenshot…");
        if camera.show_at(ui, self.camera).clicked() {
            let purpose = PathPurpose::Screenshot {
                pane: None,
                look: Look::default(),
            };
            let text = suggestion(state, "view", &purpose);
            let below = self.camera.right_bottom() + vec2(0.0, 14.0);
            let below = DialogPosition::Below(below);
            memory.files.type_path(purpose, below, &text);
        }
        let help = IconButton::new(icons::HELP, "Help").hint("Help (F1)");
        if help.show_at(ui, self.help).clicked() {
            memory.help.shown = !memory.help.shown;
        }
    }

    fn history(&self, ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
        let (undo, redo) = (state.history.undo_label(), state.history.redo_label());
        let steps = [
            (self.undo, icons::UNDO, "Undo", undo, "Ctrl+Z", Action::Undo),
            (self.redo, icons::REDO, "Redo", redo, "Ctrl+Y", Action::Redo),
        ];
        for (place, icon, name, step, key, action) in steps {
            let hint = step.map(|step| format!("{name}: {} ({key})", within_sentence(step)));
            let none = format!("Nothing to {}", name.to_lowercase());
            let button = IconButton::new(icon, name)
                .hint(hint.as_deref().unwrap_or(name))
                .disabled(step.is_none().then_some(&*none));
            if button.show_at(ui, place).clicked() {
                actions.push(action);
            }
        }
    }
}

fn layouts_menu(ui: &mut Ui, place: Rect, state: &State, open: bool, actions: &mut Vec<Action>) {
    let shown = LAYOUTS
        .iter()
        .find(|l| l.0 == state.view.layout)
        .map_or(icons::GRID, |l| l.1);
    let button = IconButton::new(shown, "Layouts")
        .disabled((!open).then_some(NOTHING_OPEN))
        .show_at(ui, place);
    let chosen = menu::popup(&button, 200.0, |ui| {
        let mut chosen = None;
        for (layout, icon, name) in LAYOUTS {
            let current = state.view.layout == layout;
            if menu::Item::new(name).icon(icon).chosen(current).show(ui) {
                chosen = Some(layout);
            }
        }
        chosen
    });
    actions.extend(chosen.map(|layout| Action::View(ViewAction::SetLayout(layout))));
}

/// Where the orientation lies whose right end is centred at `right_centre`.
fn orientation_place(ui: &Ui, right_centre: egui::Pos2, state: &State) -> Rect {
    let font = theme::medium(size::LABEL);
    let text_width = paint::width(ui, state.view.convention.name(), font);
    let letter_width = paint::width(ui, "R", theme::regular(size::LABEL));
    let width = 9.0 + size::ICON + 7.0 + text_width + 7.0 + letter_width + 9.0;
    Rect::from_min_max(
        right_centre - vec2(width.round(), 12.0),
        right_centre + vec2(0.0, 12.0),
    )
}

/// The orientation, always on screen; amber in the neurological convention.
fn orientation(ui: &mut Ui, rect: Rect, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let convention = state.view.convention;
    let neurological = convention == Convention::Neurological;
    let ink: Color32 = if neurological { p.warning } else { p.t1 };
    let font = theme::medium(size::LABEL);
    let id = ui.make_persistent_id("orientation");
    let response = ui.interact(rect, id, Sense::click());
    let fill = if response.hovered() { p.b3 } else { p.b2 };
    let line = if neurological {
        p.warning
    } else {
        p.field_line
    };
    let painter = ui.painter();
    painter.rect(
        rect,
        radius::CONTROL,
        fill,
        Stroke::new(1.0, line),
        StrokeKind::Inside,
    );
    let at = pos2(rect.left() + 9.0 + 8.0, rect.center().y);
    paint::icon(
        painter,
        at,
        icons::COMPASS,
        size::ICON,
        if neurological { p.warning } else { p.t2 },
    );
    let inner = paint::inset(rect, 9.0 + size::ICON + 7.0, 9.0);
    paint::left(painter, inner, convention.name(), font, ink);
    paint::right(painter, inner, "R", theme::regular(size::LABEL), p.t3);
    paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
    let name = format!("Orientation: {}", convention.name().to_lowercase());
    focus::named_button(&response, &name);
    if response.clicked() {
        actions.push(Action::View(ViewAction::SetConvention(other(convention))));
    }
    let hint = match convention {
        Convention::Radiological => "The patient's right is on the left of the screen. R switches",
        Convention::Neurological => "The patient's right is on the right of the screen. R switches",
    };
    response.on_hover_text(hint);
}

pub fn other(convention: Convention) -> Convention {
    match convention {
        Convention::Radiological => Convention::Neurological,
        Convention::Neurological => Convention::Radiological,
    }
}
