//! The sheet of keys and mouse, opened by `?`.

use super::theme::{self, size};
use super::widgets::button::{Button, IconButton, checkbox};
use super::widgets::paint;
use super::{Memory, help, icons};
use crate::state::report::DISCLAIMER;
use crate::state::{Action, Mouse, State, ViewAction};
use egui::{
    Align2, Area, Frame, Margin, Order, Pos2, Rect, Role, ScrollArea, Sense, Stroke, Ui, Vec2,
    WidgetInfo, pos2, vec2,
};

/// The effects of these two buttons are a setting.
const LEFT: &str = "Move the crosshair";
const RIGHT: &str = "Window and level";

/// Text of a row for the mouse setting in use.
fn text(what: &'static str, mouse: Mouse) -> &'static str {
    match (what, mouse) {
        (LEFT, Mouse::Slicer) => "Crosshair; drag: window, level",
        (RIGHT, Mouse::ItkSnap | Mouse::Slicer) => "Zoom; Ctrl: window, level",
        (what, _) => what,
    }
}

type Group = (&'static str, &'static [(&'static str, &'static str)]);

const GROUPS: [[Group; 2]; 3] = [
    [
        (
            "Slices",
            &[
                ("Click or drag", LEFT),
                ("Wheel, page ↑ ↓", "Next slice; Shift: ten"),
                ("↑ ↓ over a slice", "Next slice; Shift: ten"),
                ("Arrows otherwise", "Crosshair by a voxel"),
                ("Enter", "Click at the crosshair"),
                ("Ctrl + wheel", "Zoom"),
                ("Middle drag", "Pan; also Shift + drag"),
                ("Right-drag", RIGHT),
                ("Right double-click", "Reset window and level"),
                ("P + drag", "Sample values"),
                ("Drag an end ring", "Turn the slices"),
                ("Z", "Slices back to the axes"),
                ("F,  O", "Crosshair, letters"),
                ("Shift + G", "Glyphs"),
            ],
        ),
        (
            "3-D",
            &[
                ("Drag", "Turn"),
                ("Middle drag", "Pan"),
                ("Wheel", "Zoom"),
                ("Arrows,  +  −", "Turn, zoom, after F6"),
                ("Home", "Frame all"),
                ("Alt + 1, 3, 7", "Front, side, top"),
            ],
        ),
    ],
    [
        (
            "Regions",
            &[
                ("S", "Place a seed"),
                ("T", "Place a target"),
                ("I", "Place an include region"),
                ("X", "Place an exclude region"),
                ("E", "Place a terminate region"),
                ("B", "Brush; again: eraser"),
                ("U,  L,  G", "Rectangle, polygon, fill"),
                ("C,  Shift + C", "Drawing to the next slice"),
                ("A,  D", "Add a sphere, a keep-out"),
                ("Space", "Run, pause, stop a fit"),
                ("+  −", "Larger, smaller"),
                ("Drag", "Move; its rim resizes"),
                ("Right-drag", "Erase with a drawing tool"),
            ],
        ),
        (
            "Selection",
            &[
                ("H", "Show or hide"),
                ("Alt + ↑ ↓", "Move in the list"),
                ("K,  Ctrl + A", "Choose streamlines, all"),
                ("Delete", "Delete"),
                ("Shift or Ctrl + click", "Several regions in the list"),
                ("Ctrl + arrows", "Move an image 0.5 mm"),
                ("Esc", "End the tool, cancel, deselect"),
            ],
        ),
    ],
    [
        (
            "Window",
            &[
                ("F6,  Tab", "Next view or panel, control"),
                ("Space", "Press the focused control"),
                ("Ctrl + 1 – 5", "The tasks, in their order"),
                ("1 – 4", "Enlarge a view"),
                ("Alt + ← →", "Earlier or later view"),
                ("R", "Left–right convention"),
                ("M,  N", "Distance, angle"),
                ("Ctrl + \\", "Side panels"),
                ("Ctrl + plus, minus", "Interface size"),
            ],
        ),
        (
            "Work",
            &[
                ("Ctrl + K", "Find a command"),
                ("F1", "Help"),
                ("Ctrl + Z, Y", "Undo, redo"),
                ("Ctrl + O, N", "Open, new"),
                ("Ctrl + S", "Save the session"),
                ("Ctrl + Shift + S", "Save the session as…"),
                ("Ctrl + ,", "Settings"),
                ("Ctrl + E", "Export"),
                ("Ctrl + Shift + C", "Copy as command"),
                ("Ctrl + B", "Take a snapshot"),
                ("Ctrl + Shift + B", "Compare with it"),
            ],
        ),
    ],
];

/// Width of a column if there is space.
const COLUMN: f32 = 326.0;
/// A narrower column would cut its text: there are fewer columns, one below the other.
const NARROWEST: f32 = 284.0;
const KEY: f32 = 134.0;
const TITLE: f32 = 34.0;
const HEAD: f32 = 30.0;
const FOOT: f32 = 46.0;
/// From the sheet's edge to that of the window, and to its content.
const AROUND: f32 = 64.0;
const ROW: f32 = 22.0;

pub fn show(ui: &Ui, window: Rect, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let area = Area::new(egui::Id::unique("shortcuts"))
        .order(Order::Foreground)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .constrain_to(window)
        .accessible_name("Shortcuts");
    let response = area.show(ui.ctx(), |ui| {
        let frame = Frame::new()
            .fill(p.b2)
            .stroke(Stroke::new(1.0, p.line))
            .corner_radius(theme::radius::CARD)
            .inner_margin(Margin::same(20));
        let room = window.size() - vec2(AROUND, AROUND);
        frame.show(ui, |ui| contents(ui, room, state, memory, actions));
    });
    let elsewhere = response.response.clicked_elsewhere();
    if elsewhere && ui.input(|i| i.pointer.primary_clicked()) && memory.help.keys {
        // The click that opened the sheet does not count as a click outside.
        let fresh = ui.data_mut(|d| {
            std::mem::replace(
                d.get_temp_mut_or(response.response.id.with("shown"), false),
                true,
            )
        });
        if fresh {
            memory.help.keys = false;
        }
    }
    if !memory.help.keys {
        ui.data_mut(|d| d.remove::<bool>(response.response.id.with("shown")));
    }
}

fn contents(
    ui: &mut Ui,
    room: Vec2,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    ui.spacing_mut().item_spacing.y = 0.0;
    let columns = ((room.x / NARROWEST) as usize).clamp(1, GROUPS.len());
    let column_width = (room.x / columns as f32).min(COLUMN);
    let width = columns as f32 * column_width;
    let (head, _) = ui.allocate_exact_size(vec2(width, HEAD), Sense::hover());
    let head = Rect::from_min_size(head.min, vec2(width, 24.0));
    paint::left(
        ui.painter(),
        head,
        "Keys and mouse",
        theme::semibold(size::BODY),
        p.t1,
    );
    if IconButton::new(icons::CLOSE, "Close")
        .hint("Close (Esc)")
        .show_right(ui, head)
        .clicked()
    {
        memory.help.keys = false;
    }
    let in_column = |i: usize| {
        let all = GROUPS
            .iter()
            .enumerate()
            .filter(move |(n, _)| n % columns == i);
        all.flat_map(|(_, groups)| groups)
    };
    let height = |i| {
        in_column(i)
            .map(|g| TITLE + g.1.len() as f32 * ROW)
            .sum::<f32>()
    };
    let highest = (0..columns).map(height).fold(0.0, f32::max);
    let seen = highest.min(room.y - HEAD - FOOT);
    ScrollArea::vertical()
        .max_height(seen)
        // A new window is low: the sheet opens as high as its content requires.
        .min_scrolled_height(seen)
        .show(ui, |ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(width, highest), Sense::hover());
            for i in 0..columns {
                let at = rect.min + vec2(column_width * i as f32, 0.0);
                groups(
                    ui,
                    at,
                    column_width,
                    in_column(i),
                    state.runtime.settings.mouse,
                );
            }
        });
    let (foot, _) = ui.allocate_exact_size(vec2(width, FOOT), Sense::hover());
    foot_of(ui, foot, state, memory, actions);
}

/// A column of the sheet.
fn groups<'a>(
    ui: &mut Ui,
    at: Pos2,
    width: f32,
    groups: impl Iterator<Item = &'a Group>,
    mouse: Mouse,
) {
    let p = theme::palette(ui.style());
    let (left, mut y) = (at.x, at.y);
    for (title, keys) in groups {
        let place = Rect::from_min_size(pos2(left, y), vec2(width, TITLE));
        let font = theme::semibold(size::LABEL);
        paint::left(ui.painter(), place, title, font, p.t2);
        y += TITLE;
        for (key, what) in *keys {
            let what = text(what, mouse);
            let row = Rect::from_min_size(pos2(left, y), vec2(width - 16.0, ROW));
            let font = theme::regular(size::LABEL);
            let key_at = Rect::from_min_size(row.min, vec2(KEY - 8.0, ROW));
            paint::left(ui.painter(), key_at, key, theme::medium(size::LABEL), p.t1);
            paint::left(ui.painter(), paint::inset(row, KEY, 0.0), what, font, p.t2);
            let id = ui.make_persistent_id((title, key));
            let response = ui.interact(row, id, Sense::hover());
            let label = format!("{key}: {what}");
            response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
            y += ROW;
        }
    }
}

fn foot_of(
    ui: &mut Ui,
    place: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let foot = place.with_min_y(place.bottom() - 30.0);
    let text = format!("Arcuate {} · {DISCLAIMER}", env!("CARGO_PKG_VERSION"));
    paint::left(
        ui.painter(),
        foot,
        &text,
        theme::regular(size::CAPTION),
        p.t3,
    );
    let guide = Button::plain("Start the guide").icon(icons::COMPASS);
    let place = paint::at_right(foot, vec2(guide.width(ui), 30.0));
    if guide.show_at(ui, place).clicked() {
        memory.help.keys = false;
        actions.push(help::start_guide(state));
    }
    let theme = Rect::from_min_max(
        pos2(place.left() - 116.0, foot.top()),
        pos2(place.left() - 16.0, foot.bottom()),
    );
    if checkbox(ui, theme, "Light theme", state.view.light_theme).is_some() {
        actions.push(Action::View(ViewAction::ToggleTheme));
    }
}
