//! The panel below the views: the table of streamlines, the profile along them, the matrix of the labels that they
//! connect, their bundles and scores.

mod bundles;
mod matrix;
mod profile;
mod scores;
mod table;

use super::files::{DialogPosition, PathPurpose, suggestion};
use super::theme::{self, size, space};
use super::widgets::button::{Button, IconButton, segmented};
use super::widgets::{paint, rows};
use super::{Memory, icons};
use crate::state::core::live::{Live, LiveKey};
use crate::state::streamlines::BottomPanel;
use crate::state::update::panel_command;
use crate::state::{Action, State, StreamlineAction};
use egui::{CursorIcon, Rect, Sense, Stroke, Ui, pos2, vec2};

const HEAD: f32 = 38.0;
/// Height of the upper edge, which can be dragged.
const EDGE: f32 = 5.0;
/// Smallest share of the height that the views keep.
const VIEWS: f32 = 0.3;

/// State kept between frames.
#[derive(Default)]
pub struct Cache {
    table: table::Scrolled,
    matrix: matrix::Picture,
}

/// The panel's rectangle below the views, if it is open.
pub fn rect(state: &State, views: Rect) -> Option<Rect> {
    state.view.bottom_panel?;
    let max_height = views.height() * (1.0 - VIEWS);
    let height = state
        .view
        .visible
        .bottom_panel_height
        .clamp(140.0, max_height.max(140.0));
    let top = (views.bottom() - height).round();
    Some(Rect::from_min_max(pos2(views.left(), top), views.max))
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some(drawer) = state.view.bottom_panel else {
        return;
    };
    let p = theme::palette(ui.style());
    let all = ui.max_rect();
    ui.painter().rect_filled(all, 0.0, p.b1);
    let line = Stroke::new(1.0, p.line);
    ui.painter().hline(all.x_range(), all.top() + 0.5, line);
    edge(ui, all, actions);
    let head = Rect::from_min_size(all.min, vec2(all.width(), HEAD));
    self::head(ui, state, drawer, head, memory, actions);
    let body = Rect::from_min_max(pos2(all.left(), head.bottom()), all.max);
    super::part(ui, drawer.name(), body, |ui| {
        if let Some((_, lines)) = state.current_in_place() {
            return match drawer {
                BottomPanel::Matrix => matrix::show(ui, state, &lines.names, memory, actions),
                BottomPanel::Table => {
                    if let Some(listed) = state.current_table() {
                        table::show(ui, state, listed, memory, actions);
                    }
                }
                _ => empty(
                    ui,
                    body,
                    "These streamlines stay in their file: switch their filter on, then click Keep matching",
                ),
            };
        }
        let Some((layer, lines)) = state.current_streamlines() else {
            return empty(ui, body, "Open or keep streamlines first");
        };
        match drawer {
            BottomPanel::Table => {
                if let Some(listed) = state.current_table() {
                    table::show(ui, state, listed, memory, actions);
                }
            }
            BottomPanel::Profile => profile::show(ui, state, lines, actions),
            BottomPanel::Matrix => matrix::show(ui, state, lines, memory, actions),
            BottomPanel::Bundles => bundles::show(ui, state, (layer, lines), memory, actions),
            BottomPanel::Scores => scores::show(ui, state, memory),
        }
    });
}

fn edge(ui: &mut Ui, all: Rect, actions: &mut Vec<Action>) {
    let rect = Rect::from_min_size(all.min, vec2(all.width(), EDGE));
    let id = ui.make_persistent_id("edge of the bottom panel");
    let response = ui.interact(rect, id, Sense::drag());
    let response = response.on_hover_cursor(CursorIcon::ResizeVertical);
    let by = response.drag_delta().y;
    if by != 0.0 {
        // The height on screen, which is less than the requested one if the window is too small.
        let height = all.height() - by;
        actions.push(Action::Streamline(StreamlineAction::SetHeight(height)));
    }
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Splitter, true, "Height below the views")
    });
}

fn head(
    ui: &mut Ui,
    state: &State,
    panel: BottomPanel,
    head: Rect,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let inner = paint::inset(head, space::INSET, 8.0);
    let tabs = Rect::from_min_size(
        pos2(inner.left(), inner.center().y - 12.0),
        vec2(400.0, 24.0),
    );
    let labels = BottomPanel::ALL.map(BottomPanel::name);
    let now = BottomPanel::ALL
        .iter()
        .position(|d| *d == panel)
        .unwrap_or(0);
    if let Some(i) = segmented(ui, tabs, "Panel", &labels, now) {
        let open = StreamlineAction::Open(Some(BottomPanel::ALL[i]));
        actions.push(Action::Streamline(open));
    }
    let close = IconButton::new(icons::CLOSE, "Close the panel below the views").side(24.0);
    if close.show_right(ui, inner).clicked() {
        actions.push(Action::Streamline(StreamlineAction::Open(None)));
    }
    let right = paint::inset(inner, 0.0, 32.0);
    let ready = match panel {
        BottomPanel::Table => state.runtime.streamlines.order.shown().is_some(),
        BottomPanel::Profile => state.runtime.streamlines.profile.shown().is_some(),
        BottomPanel::Matrix => state.runtime.streamlines.connect.shown().is_some(),
        BottomPanel::Bundles => state.runtime.streamlines.groups.shown().is_some(),
        BottomPanel::Scores => state.runtime.streamlines.scores.shown().is_some(),
    };
    let streams = matches!(panel, BottomPanel::Matrix | BottomPanel::Table);
    let is_shown = streams || state.current_in_place().is_none();
    let not_yet = (!ready || !is_shown).then_some("There is nothing to export yet");
    let export = Button::plain("Export CSV…")
        .icon(icons::EXPORT)
        .disabled(not_yet);
    let width = export.width(ui);
    let at = paint::at_right(right, vec2(width, 26.0));
    if export.show_at(ui, at).clicked() {
        let purpose = PathPurpose::Csv(panel);
        let name = match panel {
            BottomPanel::Table => "streamlines",
            BottomPanel::Profile => "profile",
            BottomPanel::Matrix => "connectome",
            BottomPanel::Bundles => "bundles",
            BottomPanel::Scores => "scores",
        };
        let text = suggestion(state, name, &purpose);
        let above = DialogPosition::Above(at.right_top() - vec2(0.0, 12.0));
        memory.files.type_path(purpose, above, &text);
    }
    let copy = IconButton::new(icons::TERMINAL, "Copy the panel below the views as command")
        .hint("Copy as command")
        .disabled(not_yet);
    let rect = Rect::from_min_size(at.left_top() - vec2(32.0, 0.0), vec2(26.0, 26.0));
    if copy.show_at(ui, rect).clicked() {
        actions.extend(panel_command(state, panel).map(Action::CopyCommand));
    }
    let at = at.with_min_x(rect.left());
    let in_place = || state.current_in_place().map(|(layer, _)| layer);
    let layer = state.current_streamlines().map(|(layer, _)| layer);
    let name = layer.or_else(in_place).map_or("", |l| l.name.as_str());
    let sentence = figures(state, panel);
    let text = Rect::from_min_max(
        pos2(tabs.right() + 14.0, head.top()),
        pos2(at.left() - 12.0, head.bottom()),
    );
    let spans = [
        (name, theme::medium(size::LABEL), p.t1),
        ("  ", theme::regular(size::LABEL), p.t3),
        (&*sentence, theme::regular(size::LABEL), p.t3),
    ];
    if text.width() > 40.0 {
        paint::spans(ui.painter(), text, egui::Align2::LEFT_CENTER, &spans);
    }
}

/// The figures next to the name.
fn figures(state: &State, panel: BottomPanel) -> String {
    use super::format::count;
    use crate::state::core::text::{counted, streamlines};
    let runtime = &state.runtime.streamlines;
    match panel {
        BottomPanel::Table => {
            let Some(lines) = state.current_table() else {
                return String::new();
            };
            let known = runtime.order.shown();
            let Some((_, rows)) = known.filter(|(key, _)| key.tractogram == lines.id) else {
                return String::new();
            };
            let (rows, all) = (rows.len(), lines.count);
            let chosen = state.manual_selection().map_or(0, |c| c.count);
            let mut text = match rows == all {
                true => streamlines(all as u64),
                false => format!("{} of {}", count(rows as u64), streamlines(all as u64)),
            };
            if chosen > 0 {
                text += &format!(", {} chosen", count(chosen as u64));
            }
            text
        }
        BottomPanel::Profile => runtime.profile.shown().map_or(String::new(), |(_, named)| {
            let lines = streamlines(named.profile.used as u64);
            let mm = super::format::fixed(f64::from(named.profile.length_mm), 0);
            format!("{lines}, {} long", super::format::with_unit(&mm, "mm"))
        }),
        BottomPanel::Matrix => runtime
            .connect
            .shown()
            .map_or(String::new(), |(_, labelled)| {
                let c = &labelled.connectome;
                let both = c.examined - c.one_end - c.no_end;
                let all = streamlines(c.examined as u64);
                let labels = counted(c.nodes.len(), "label");
                format!("{} of {all} connect {labels}", count(both as u64))
            }),
        BottomPanel::Bundles => runtime.groups.shown().map_or(String::new(), |(_, table)| {
            counted(table.groups.len(), "bundle")
        }),
        BottomPanel::Scores => runtime.scores.shown().map_or(String::new(), |(_, scores)| {
            streamlines(scores.connections.len() as u64)
        }),
    }
}

/// Adds the settings at the left; returns the rectangle to the right of them.
fn rect_after_settings(ui: &mut Ui, add: impl FnOnce(&mut Ui)) -> Rect {
    const WIDTH: f32 = 300.0;
    let all = ui.max_rect();
    let side = Rect::from_min_size(all.min, vec2(WIDTH.min(all.width() * 0.4), all.height()));
    super::part(ui, "settings", side, |ui| {
        let area = egui::ScrollArea::vertical().auto_shrink(false);
        area.show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            add(ui);
        });
    });
    Rect::from_min_max(pos2(side.right(), all.top()), all.max)
}

/// A sentence shown where there is nothing else to show.
/// Shows a result, dimmed while it is an earlier one: for longer than a drag explains, or because the newer one failed or
/// was stopped.
fn dimmed<K: LiveKey, V>(ui: &mut Ui, live: &Live<K, V>, add: impl FnOnce(&mut Ui)) {
    rows::dimmed(ui, live.lags() || live.has_failed(), add);
}

fn empty(ui: &Ui, rect: Rect, text: &str) {
    let p = theme::palette(ui.style());
    paint::centre(ui.painter(), rect, text, theme::regular(size::LABEL), p.t3);
}
