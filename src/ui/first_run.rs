//! The first page: open a scan, or try the demo head.

use super::files::{DialogPosition, PathPurpose};
use super::theme::{self, radius, size, space};
use super::views::opening;
use super::widgets::button::Button;
use super::widgets::{focus, paint};
use super::{Memory, format, icons, keys, panels, recovery, status_bar, top_bar};
use crate::data::BuiltInPhantom;
use crate::data::text::file_name;
use crate::state::files::jobs::LOAD;
use crate::state::files::types::RecentKind;
use crate::state::report::DISCLAIMER;
use crate::state::{Action, FilesAction, SessionAction, State, Task, UnsavedAction};
use egui::epaint::RectShape;
use egui::{
    Color32, ColorImage, CornerRadius, Rect, Role, ScrollArea, Sense, Stroke, StrokeKind,
    TextureHandle, TextureOptions, Ui, WidgetInfo, pos2, vec2,
};

/// Opens the built-in head for fibre orientation distributions.
pub const CROSSINGS: &str = "Open with crossings";

const WIDTH: f32 = 1040.0;
const GAP: f32 = 16.0;
/// Space between tasks.
const BETWEEN: f32 = 10.0;
const CARDS: f32 = 292.0;
/// Left edge of a task's text in its card.
const TITLE_HEIGHT: f32 = 40.0;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let page = ui.max_rect();
    let p = theme::palette(ui.style());
    ui.painter().rect_filled(page, 0.0, p.b0);
    let loading = state.runtime.jobs.is_running(&[LOAD]);
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let width = WIDTH.min(page.width() - 48.0);
        let margin = ((page.width() - width) * 0.5).round();
        // A third of the spare height goes above, so that large windows do not look top-heavy.
        let spare = (page.height() - 730.0).max(0.0);
        ui.add_space(50.0 + spare * 0.33);
        let column = |ui: &mut Ui, height: f32| {
            let size = vec2(page.width(), height);
            let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
            paint::inset(rect, margin, margin)
        };
        let title = column(ui, 34.0);
        let text = "Open a scan, or try the demo head";
        let shown = paint::left(
            ui.painter(),
            title,
            text,
            theme::semibold(size::TITLE),
            p.t1,
        );
        let response = ui.interact(shown, ui.make_persistent_id("title"), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Heading, true, text));
        let adjacent = title.with_min_x(shown.right() + 16.0);
        status_bar::progress(ui, adjacent, state, actions);
        let under = column(ui, 26.0);
        // While a session is opened, how far that is.
        let text = opening::text(state)
            .unwrap_or_else(|| format!("Everything stays on this computer. {DISCLAIMER}"));
        let font = theme::regular(size::BODY);
        paint::left(ui.painter(), under, &text, font, p.t2);
        ui.add_space(15.0);
        if !state.runtime.notices.messages.is_empty() || recovery::is_any_offered(state) {
            let place = column(ui, 0.0);
            let mut notes = ui.new_child(
                egui::UiBuilder::new()
                    .id_salt("notes")
                    .max_rect(place.expand2(vec2(space::INSET, 0.0))),
            );
            recovery::show(&mut notes, state, actions);
            panels::messages(&mut notes, state, |_| true, actions);
            ui.add_space(notes.min_rect().height());
        }
        let cards = column(ui, CARDS);
        let half = (cards.width() - GAP) * 0.5;
        let drop = Rect::from_min_size(cards.min, vec2(half, CARDS));
        drop_zone(ui, drop, memory);
        let demo = Rect::from_min_size(pos2(drop.right() + GAP, cards.top()), vec2(half, CARDS));
        demo_card(ui, demo, memory, loading, actions);

        let caption = column(ui, 50.0);
        let caption = Rect::from_min_max(pos2(caption.left(), caption.top() + 14.0), caption.max);
        paint::left(
            ui.painter(),
            caption,
            "What you can do here",
            theme::regular(size::LABEL),
            p.t2,
        );
        let count = Task::ALL.len() as f32;
        let width = (width - BETWEEN * (count - 1.0)) / count;
        let text = |task| {
            let font = theme::regular(size::LABEL);
            let lines = paint::wrapped(ui.painter(), width - 30.0, task_text(task), font, p.t2);
            lines.size().y
        };
        let tallest = Task::ALL.into_iter().map(text).fold(0.0, f32::max);
        let cards = column(ui, TITLE_HEIGHT + tallest + 14.0);
        for (i, task) in Task::ALL.into_iter().enumerate() {
            let left = cards.left() + (width + BETWEEN) * i as f32;
            let place = Rect::from_min_size(pos2(left, cards.top()), vec2(width, cards.height()));
            task_card(ui, place, task);
        }
        if !state.runtime.files.recent.is_empty() {
            let caption = column(ui, 48.0);
            let caption =
                Rect::from_min_max(pos2(caption.left(), caption.top() + 14.0), caption.max);
            paint::left(
                ui.painter(),
                caption,
                "Recent",
                theme::regular(size::LABEL),
                p.t2,
            );
            recent(ui, state, column, actions);
        }
        ui.add_space(24.0);
    });
}

fn drop_zone(ui: &mut Ui, rect: Rect, memory: &mut Memory) {
    let p = theme::palette(ui.style());
    let hovering = ui.input(|i| !i.raw.hovered_files.is_empty());
    let painter = ui.painter();
    let line = if hovering { p.accent } else { p.t3 };
    if hovering {
        painter.rect_filled(rect, radius::CARD, p.tint);
    }
    let round = 5.0;
    paint::dashed_round(
        painter,
        rect.shrink(0.5),
        round,
        Stroke::new(1.0, line),
        4.0,
        3.0,
    );
    let centre = rect.center().x;
    let icon = pos2(centre, rect.top() + 87.0);
    paint::icon(
        painter,
        icon,
        icons::FILE_UP,
        40.0,
        if hovering { p.accent } else { p.t2 },
    );
    let line_at = |y: f32, height: f32| {
        Rect::from_min_size(
            pos2(rect.left() + 24.0, rect.top() + y),
            vec2(rect.width() - 48.0, height),
        )
    };
    let title = line_at(120.0, 20.0);
    paint::centre(
        painter,
        title,
        "Drop a scan here",
        theme::medium(15.0),
        p.t1,
    );
    let font = theme::regular(size::LABEL);
    let first = "NIfTI with bval and bvec beside it, or MRtrix’s .mif. You can add";
    paint::centre(painter, line_at(145.0, 16.0), first, font.clone(), p.t2);
    let second = "masks, other images, tractograms or a session at any time";
    paint::centre(painter, line_at(161.0, 16.0), second, font, p.t2);

    let open = Button::plain("Open…").icon(icons::FOLDER).hint("Ctrl+O");
    let path = Button::quiet("Enter a path");
    let (open_width, path_width) = (open.width(ui), path.width(ui));
    let left = centre - (open_width + 4.0 + path_width) * 0.5;
    let y = rect.top() + 194.0;
    let place = Rect::from_min_size(pos2(left.round(), y), vec2(open_width, space::BUTTON));
    if open.show_at(ui, place).clicked() {
        memory
            .files
            .ask_for_path(ui.ctx(), PathPurpose::Open, DialogPosition::Middle, "");
    }
    let place = Rect::from_min_size(
        pos2(place.right() + 4.0, y),
        vec2(path_width, space::BUTTON),
    );
    if path.show_at(ui, place).clicked() {
        memory
            .files
            .type_path(PathPurpose::Open, DialogPosition::Middle, "");
    }
}

fn demo_card(
    ui: &mut Ui,
    rect: Rect,
    memory: &mut Memory,
    loading: bool,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let v = theme::IN_VIEW;
    // The picture shows data on black in either theme.
    ui.painter().rect_filled(rect, radius::CARD, v.canvas);
    memory.demo.paint(ui, rect);
    let painter = ui.painter();
    painter.rect_stroke(
        rect,
        radius::CARD,
        Stroke::new(1.0, p.line),
        StrokeKind::Inside,
    );
    let left = rect.left() + 20.0;
    let title = Rect::from_min_size(pos2(left, rect.top() + 20.0), vec2(220.0, 20.0));
    paint::left(painter, title, "Demo head", theme::medium(15.0), v.t1);
    let text = "Built in, with known wiring. A five-minute guide leads from a seed to its pathway and weights";
    let at = pos2(left, rect.top() + 46.0);
    let wide = Picture::FROM - 20.0 - GAP;
    paint::paragraph(painter, at, wide, text, theme::regular(size::LABEL), v.t2);

    let busy = loading.then_some("Building the demo head…");
    let guide = Button::primary("Start the guide")
        .icon(icons::PLAY)
        .disabled(busy);
    let place = Rect::from_min_size(
        pos2(left, rect.bottom() - 20.0 - space::BUTTON),
        vec2(guide.width(ui), space::BUTTON),
    );
    if guide.show_at(ui, place).clicked() {
        actions.push(Action::OpenDemo { tour: true });
    }
    let open = Action::OpenDemo { tour: false };
    let crossing = UnsavedAction::Head(BuiltInPhantom::crossing(1));
    let crossing = Action::Session(SessionAction::CloseDocument(crossing));
    let mut bottom = place.top() - 8.0;
    for (name, action) in [("Open the demo head", open), (CROSSINGS, crossing)] {
        let button = Button::plain(name).disabled(busy);
        let at = pos2(left, bottom - space::BUTTON);
        let place = Rect::from_min_size(at, vec2(button.width(ui), space::BUTTON));
        // White on black in either theme.
        let mut dark = ui.new_child(egui::UiBuilder::new().id_salt(name).max_rect(place));
        dark.visuals_mut().dark_mode = true;
        if button.show_at(&mut dark, place).clicked() {
            actions.push(action);
        }
        bottom = place.top() - 8.0;
    }
}

/// A picture made by this program, at twice its displayed size.
#[derive(Default)]
pub struct Picture {
    image: Option<ColorImage>,
    texture: Option<TextureHandle>,
}

impl Picture {
    /// Smallest width on the left that stays free for text and buttons.
    const FROM: f32 = 176.0;

    pub fn from_rgba(size: [usize; 2], rgba: &[u8]) -> Self {
        // Data of any other length do not form a picture of this size.
        let whole = rgba.len() == size[0] * size[1] * 4 && !rgba.is_empty();
        let image = whole.then(|| ColorImage::from_rgba_unmultiplied(size, rgba));
        Self {
            image,
            texture: None,
        }
    }

    /// Paints it at the right end of a card and as high as the card; cropped on the right if the card is narrow.
    fn paint(&mut self, ui: &Ui, card: Rect) {
        if let Some(image) = self.image.take() {
            let options = TextureOptions::LINEAR;
            self.texture = Some(ui.ctx().load_texture("demo", image, options));
        }
        let Some(texture) = &self.texture else { return };
        let size = texture.size_vec2();
        let whole = size.x * card.height() / size.y;
        let wide = whole.min(card.width() - Self::FROM);
        let place = Rect::from_min_max(pos2(card.right() - wide, card.top()), card.max);
        let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(wide / whole, 1.0));
        let round = CornerRadius {
            ne: radius::CARD,
            se: radius::CARD,
            nw: 0,
            sw: 0,
        };
        let shape = RectShape::filled(place, round, Color32::WHITE);
        ui.painter().add(shape.with_texture(texture.id(), uv));
    }
}

fn task_text(task: Task) -> &'static str {
    match task {
        Task::View => "See slices and 3-D. Check orientation, gradients and the tensor fit",
        Task::Track => {
            "Place a seed and a target with the mouse: streamlines and geodesic rays update live"
        }
        Task::Segment => "Sample a structure, drop a sphere into it, and steer the growing surface",
        Task::Pathways => {
            "See the cheapest path between two regions, and what paths through each voxel cost"
        }
        Task::Filter => "Fit a weight to each streamline: how much of the signal it explains",
    }
}

fn task_card(ui: &mut Ui, rect: Rect, task: Task) {
    let p = theme::palette(ui.style());
    let painter = ui.painter();
    painter.rect(
        rect,
        radius::CARD,
        p.b1,
        Stroke::new(1.0, p.line),
        StrokeKind::Inside,
    );
    let sentence = task_text(task);
    let inner = paint::inset(rect, 15.0, 15.0);
    let head = Rect::from_min_size(
        pos2(inner.left(), rect.top() + 13.0),
        vec2(inner.width(), 20.0),
    );
    let at = pos2(head.left() + 8.0, head.center().y);
    paint::icon(painter, at, top_bar::task_icon(task), size::ICON, p.accent);
    let name = paint::inset(head, 24.0, 0.0);
    let name = paint::left(painter, name, task.name(), theme::medium(size::BODY), p.t1);
    let (key, font) = (keys::task_key(task), theme::regular(size::LABEL));
    if name.right() + 8.0 + paint::width(ui, key, font.clone()) <= head.right() {
        paint::right(painter, head, key, font, p.t3);
    }
    let text = pos2(inner.left(), rect.top() + TITLE_HEIGHT);
    paint::paragraph(
        painter,
        text,
        inner.width(),
        sentence,
        theme::regular(size::LABEL),
        p.t2,
    );
    let id = ui.make_persistent_id(("card", task.name()));
    let response = ui.interact(rect, id, Sense::hover());
    let label = format!("{}: {sentence}", task.name());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
}

pub fn recent_icon(kind: RecentKind) -> &'static str {
    match kind {
        RecentKind::Image => icons::IMAGE,
        RecentKind::Streamlines => icons::PATH,
        RecentKind::Session => icons::LAYERS,
    }
}

fn recent(
    ui: &mut Ui,
    state: &State,
    column: impl Fn(&mut Ui, f32) -> Rect,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |d| d.as_secs());
    for (i, file) in state.runtime.files.recent.iter().enumerate() {
        let rect = column(ui, 30.0);
        let id = ui.make_persistent_id(("recent", i));
        let response = ui.interact(rect, id, Sense::click());
        let painter = ui.painter();
        if response.hovered() {
            painter.rect_filled(rect.expand2(vec2(8.0, 0.0)), radius::CONTROL, p.b2);
        }
        paint::underline(painter, rect, p.line);
        let name = file_name(&file.path);
        let centre = rect.center().y;
        paint::icon(
            painter,
            pos2(rect.left() + 8.0, centre),
            recent_icon(file.kind),
            size::ICON,
            p.t2,
        );
        let name_at = Rect::from_min_max(
            pos2(rect.left() + 24.0, rect.top()),
            pos2(rect.left() + 244.0, rect.bottom()),
        );
        paint::name(painter, name_at, &name, theme::medium(size::LABEL), p.t1);
        let age = format::age(file.opened, now);
        let age_at = paint::right(painter, rect, &age, theme::regular(size::LABEL), p.t3);
        let summary = Rect::from_min_max(
            pos2(rect.left() + 256.0, rect.top()),
            pos2(age_at.left() - 16.0, rect.bottom()),
        );
        paint::left(
            painter,
            summary,
            &file.summary,
            theme::regular(size::LABEL),
            p.t2,
        );
        paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
        let label = format!("Open {name}, {}, {age}", file.summary);
        focus::named_button(&response, &label);
        if response.clicked() {
            actions.push(Action::Files(FilesAction::Open(vec![file.path.clone()])));
        }
        response.on_hover_text(file.path.display().to_string());
    }
}

/// Frame and text shown while files are dragged over the window.
pub fn drop_highlight(ui: &Ui, window: Rect, first_page: bool) {
    if first_page || ui.input(|i| i.raw.hovered_files.is_empty()) {
        return;
    }
    let p = theme::palette(ui.style());
    let layer = egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("drop"));
    let painter = ui.ctx().layer_painter(layer);
    painter.rect_filled(window, 0.0, p.b0.gamma_multiply(0.6));
    let stroke = Stroke::new(2.0, p.accent);
    painter.rect_stroke(window.shrink(1.0), 0.0, stroke, StrokeKind::Inside);
    let plate = Rect::from_center_size(window.center(), vec2(220.0, 44.0));
    painter.rect(
        plate,
        radius::CARD,
        p.b2,
        Stroke::new(1.0, p.line),
        StrokeKind::Inside,
    );
    paint::centre(
        &painter,
        plate,
        "Drop to open",
        theme::medium(size::BODY),
        p.t1,
    );
}
