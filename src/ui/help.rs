//! Help: the pages of the guide in a window that may stay open during work, with search.

use super::theme::{self, radius, size};
use super::widgets::button::{Button, IconButton};
use super::widgets::{field, focus, paint, rows};
use super::{Memory, icons};
use crate::guide::{Match, PAGES, Page, search};
use crate::state::{Action, State};
use egui::{
    Align, FontId, Frame, Margin, Rect, ScrollArea, Sense, Stroke, TextStyle, Ui, UiBuilder, Vec2,
    pos2, vec2,
};
use egui_commonmark::{CommonMarkCache, CommonMarkViewer};

const SIZE: Vec2 = vec2(832.0, 736.0);
const SMALLEST: Vec2 = vec2(520.0, 320.0);
const HEAD: f32 = 44.0;
const LIST: f32 = 202.0;
const SEARCH: f32 = 220.0;
/// Longer lines are hard to read.
const WIDEST: f32 = 680.0;

/// State of Help between frames.
pub struct Help {
    /// The sheet of keys and mouse is shown.
    pub keys: bool,
    pub shown: bool,
    page: &'static Page,
    /// Sections of the page in the form that the viewer expects.
    sections: Vec<String>,
    /// The section to scroll to.
    scroll_to: Option<usize>,
    query: String,
    /// The text that `matches` belong to.
    searched: String,
    matches: Vec<Match>,
    markdown: CommonMarkCache,
    place: WindowPlace,
}

/// The window's place as the user wants it, whatever space there is at present.
struct WindowPlace {
    /// Offset of the window's upper right corner from that of the available space.
    offset: Vec2,
    size: Vec2,
    /// The space that it was placed in, and its last place.
    room: Rect,
    shown: Rect,
}

impl Default for WindowPlace {
    fn default() -> Self {
        Self {
            offset: Vec2::ZERO,
            size: SIZE,
            room: Rect::NOTHING,
            shown: Rect::NOTHING,
        }
    }
}

impl WindowPlace {
    /// The user's place, moved and shrunk to fit the available space.
    fn within(&self, window: Rect, room: Rect) -> Rect {
        let size = self.size.min(room.size());
        let corner = room.right_top() + self.offset;
        let left = (corner.x - size.x).min(window.right() - size.x);
        let top = corner.y.min(window.bottom() - size.y);
        let at = pos2(left.max(window.left()), top.max(window.top()));
        Rect::from_min_size(at, size)
    }
}

impl Default for Help {
    fn default() -> Self {
        let page = &PAGES[0];
        Self {
            keys: false,
            shown: false,
            page,
            sections: sections(page),
            scroll_to: None,
            query: String::new(),
            searched: String::new(),
            matches: Vec::new(),
            markdown: CommonMarkCache::default(),
            place: WindowPlace::default(),
        }
    }
}

impl Help {
    /// Opens a page of this name.
    pub fn open(&mut self, name: &str) {
        if let Some(page) = Page::named(name) {
            self.turn_to(page, 0);
        }
        self.shown = true;
    }

    fn turn_to(&mut self, page: &'static Page, section: usize) {
        if page != self.page {
            self.page = page;
            self.sections = sections(page);
        }
        self.scroll_to = Some(section);
    }
}

/// The sections of a page in the Markdown that the viewer supports: keys as code; code without a language, whose colours
/// would be pale in the light theme; wide tables as lists, since cells are not wrapped; and no pictures, since the window itself
/// is visible.
fn sections(page: &Page) -> Vec<String> {
    let sections = page.sections().into_iter().map(|section| {
        let lines = section.text.lines().filter(|line| !line.starts_with("!["));
        let lines = lines.map(|line| line.replace("<kbd>", "`").replace("</kbd>", "`"));
        viewable(&lines.collect::<Vec<_>>())
    });
    sections.collect()
}

/// Characters of a row of a table that fit in [`WIDEST`].
const WIDEST_ROW: usize = 86;

/// The text with code and wide tables as the viewer shows them well.
fn viewable(lines: &[String]) -> String {
    let mut text = String::new();
    let mut rest = lines;
    while let Some((line, more)) = rest.split_first() {
        let is_row = |line: &&String| line.starts_with('|');
        if line.starts_with("```") {
            let code = more.iter().take_while(|line| !line.starts_with("```"));
            let count = code.clone().count();
            // Indented code has no language.
            text.push('\n');
            code.for_each(|line| text += &format!("    {line}\n"));
            rest = more.get(count + 1..).unwrap_or_default();
        } else if is_row(&line) {
            let count = rest.iter().take_while(is_row).count();
            let (table, more) = rest.split_at(count);
            rest = more;
            match table.iter().any(|row| row.chars().count() > WIDEST_ROW) {
                true => text += &as_list(table),
                false => table.iter().for_each(|row| text += &format!("{row}\n")),
            }
        } else {
            text += &format!("{line}\n");
            rest = more;
        }
    }
    text
}

/// An item for each row of a table: `name: value` for two columns; in wider tables, each cell after the first follows the
/// head of its column.
fn as_list(table: &[String]) -> String {
    let cells = |row: &String| -> Vec<String> {
        let row = row.trim().trim_matches('|').replace("\\|", "\u{1}");
        let cells = row.split('|').map(|cell| cell.trim().replace('\u{1}', "|"));
        cells.collect()
    };
    let heads = table.first().map(cells).unwrap_or_default();
    let mut text = String::from("\n");
    // The second row rules off the head.
    for row in table.iter().skip(2).map(cells) {
        let Some((name, values)) = row.split_first() else {
            continue;
        };
        if let [value] = values {
            text += &format!("- {name}: {value}\n");
            continue;
        }
        text += &format!("- {name}\n");
        let named = heads.iter().skip(1).zip(values);
        for (head, value) in named.filter(|(_, value)| !value.is_empty()) {
            text += &format!("  - {head}: {value}\n");
        }
    }
    text + "\n"
}

pub fn show(ui: &Ui, window: Rect, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    if !memory.help.shown {
        return;
    }
    let p = theme::palette(ui.style());
    let room = window.shrink(16.0);
    let wish = memory.help.place.within(window, room);
    let frame = Frame::new()
        .fill(p.b1)
        .stroke(Stroke::new(1.0, p.line))
        .corner_radius(radius::CARD)
        .inner_margin(Margin::same(0));
    let mut shown = egui::Window::new("Help")
        .id(egui::Id::unique("help"))
        .title_bar(false)
        .frame(frame)
        .default_size(wish.size())
        .min_size(SMALLEST.min(wish.size()))
        .constrain_to(window);
    if memory.help.place.room != room {
        // Otherwise a main window that was once small would leave it small.
        memory.help.place.room = room;
        shown = shown.fixed_size(wish.size());
        // It is kept inside using its previous size; the next frame knows the new one.
        ui.ctx().request_repaint();
    }
    let pressed = ui.input(|i| i.pointer.any_down());
    if !pressed {
        shown = shown.current_pos(wish.min);
    }
    let shown = shown.show(ui.ctx(), |ui| contents(ui, state, memory, actions));
    let Some(shown) = shown else { return };
    let (rect, place) = (shown.response.rect, &mut memory.help.place);
    if pressed && rect != place.shown {
        place.offset = rect.right_top() - room.right_top();
        place.size = rect.size();
    }
    place.shown = rect;
}

fn contents(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    ui.spacing_mut().item_spacing.y = 0.0;
    let size = ui.available_size();
    let (all, _) = ui.allocate_exact_size(size, Sense::hover());
    let head = all.with_max_y(all.top() + HEAD);
    self::head(ui, head, memory);
    ui.painter()
        .hline(all.x_range(), head.bottom(), Stroke::new(1.0, p.line));
    let below = all.with_min_y(head.bottom() + 1.0);
    let list = below.with_max_x(below.left() + LIST);
    ui.painter()
        .vline(list.right(), below.y_range(), Stroke::new(1.0, p.line));
    let foot = list.with_min_y(list.bottom() - 84.0);
    // Children of their own, so that their content does not change the size of the window.
    let mut child = ui.new_child(UiBuilder::new().max_rect(list.with_max_y(foot.top())));
    pages(&mut child, &mut memory.help);
    self::foot(ui, foot, state, memory, actions);
    let text = below.with_min_x(list.right() + 1.0);
    let mut child = ui.new_child(UiBuilder::new().max_rect(text));
    page(&mut child, &mut memory.help);
}

fn head(ui: &mut Ui, place: Rect, memory: &mut Memory) {
    let p = theme::palette(ui.style());
    let title = paint::inset(place, 16.0, 16.0);
    let font = theme::semibold(size::BODY);
    paint::left(ui.painter(), title, "Help", font, p.t1);
    let close = IconButton::new(icons::CLOSE, "Close Help").hint("Close (Esc)");
    let right = place.with_max_x(place.right() - 10.0);
    if close.show_right(ui, right).clicked() {
        memory.help.shown = false;
    }
    let field = paint::at_right(
        place.with_max_x(place.right() - 48.0),
        vec2(SEARCH.min(place.width() * 0.5), 28.0),
    );
    let help = &mut memory.help;
    field::text(
        ui,
        field,
        "Search in Help",
        &mut help.query,
        "Search",
        false,
    );
    if help.query != help.searched {
        help.searched.clone_from(&help.query);
        help.matches = search(&help.query);
    }
}

/// The pages, or the matches in them.
fn pages(ui: &mut Ui, help: &mut Help) {
    let p = theme::palette(ui.style());
    let searching = !help.query.trim().is_empty();
    ScrollArea::vertical()
        .id_salt(("help list", searching))
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            ui.add_space(8.0);
            if !searching {
                for page in PAGES {
                    let chosen = page.name == help.page.name;
                    let response = rows::list_row(ui, page.title(), page.name, chosen);
                    let place = paint::inset(response.rect, 16.0, 8.0);
                    let font = theme::regular(size::LABEL);
                    let colour = if chosen { p.t1 } else { p.t2 };
                    paint::left(ui.painter(), place, page.title(), font, colour);
                    if response.clicked() {
                        help.turn_to(page, 0);
                    }
                }
                return;
            }
            if help.matches.is_empty() {
                rows::hint(ui, "No section contains all of these words");
            }
            let mut chosen = None;
            for (i, matched) in help.matches.iter().enumerate() {
                if result(ui, matched, i) {
                    chosen = Some((matched.page, matched.section));
                }
            }
            if let Some((page, section)) = chosen {
                help.turn_to(page, section);
            }
        });
}

/// A match: its heading, its page and the text around the first occurrence.
fn result(ui: &mut Ui, matched: &Match, number: usize) -> bool {
    let p = theme::palette(ui.style());
    let width = ui.available_width() - 24.0;
    let (caption, label) = (theme::regular(size::CAPTION), theme::medium(size::LABEL));
    let at = ui.cursor().min + vec2(16.0, 6.0);
    let name = format!("{}: {}", matched.page.title(), matched.heading);
    let title = if matched.section == 0 {
        matched.heading
    } else {
        &name
    };
    let painter = ui.painter().clone();
    let first = paint::paragraph(&painter, at, width, title, label, p.t1);
    let second = paint::paragraph(
        &painter,
        first.left_bottom() + vec2(0.0, 2.0),
        width,
        &matched.excerpt,
        caption,
        p.t3,
    );
    let place = Rect::from_min_max(
        ui.cursor().min,
        pos2(ui.cursor().min.x + width + 24.0, second.bottom() + 6.0),
    );
    ui.allocate_rect(place, Sense::hover());
    let id = ui.make_persistent_id(("found in help", number));
    let response = ui.interact(place, id, Sense::click());
    focus::named_button(&response, title);
    if response.hovered() {
        ui.painter().rect_stroke(
            place,
            4.0,
            Stroke::new(1.0, p.line),
            egui::StrokeKind::Inside,
        );
    }
    paint::focus_ring(ui.painter(), p, &response, place, 0);
    response.clicked()
}

/// Below the pages: further help.
fn foot(ui: &mut Ui, place: Rect, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let row = |i: f32| {
        Rect::from_min_size(
            place.left_top() + vec2(12.0, 8.0 + i * 34.0),
            vec2(place.width() - 24.0, 28.0),
        )
    };
    let keys = Button::plain("Keys and mouse");
    if keys.show_at(ui, row(0.0)).clicked() {
        memory.help.keys = true;
    }
    let guide = Button::plain("Start the guide").icon(icons::COMPASS);
    if guide.show_at(ui, row(1.0)).clicked() {
        memory.help.shown = false;
        actions.push(start_guide(state));
    }
}

/// The tour of the window, on the demo head if nothing is open.
pub fn start_guide(state: &State) -> Action {
    if state.document.is_empty() {
        Action::OpenDemo { tour: true }
    } else {
        Action::StartTour
    }
}

fn page(ui: &mut Ui, help: &mut Help) {
    let styles = &mut ui.style_mut().text_styles;
    styles.insert(TextStyle::Body, theme::regular(size::BODY));
    styles.insert(TextStyle::Heading, theme::semibold(size::TITLE));
    // At this size it stands on the baseline of the surrounding text, in a row of the same height.
    styles.insert(TextStyle::Monospace, FontId::monospace(size::BODY));
    // The viewer makes the first row of an item as high as a row with a button: its bullet and its links would be above
    // the text.
    ui.spacing_mut().interact_size.y = ui.text_style_height(&TextStyle::Body).ceil();
    for name in PAGES.iter().map(|page| format!("{}.md", page.name)) {
        if help.markdown.get_link_hook(&name).is_none() {
            help.markdown.add_link_hook(name);
        }
    }
    let Help {
        sections,
        scroll_to,
        markdown,
        ..
    } = help;
    let scroll_to = scroll_to.take();
    let mut followed = None;
    ScrollArea::vertical()
        .id_salt("help page")
        .auto_shrink(false)
        .show(ui, |ui| {
            let width = (ui.available_width() - 40.0).min(WIDEST);
            let inner = Frame::new().inner_margin(Margin::symmetric(20, 12));
            inner.show(ui, |ui| {
                ui.set_max_width(width);
                ui.spacing_mut().item_spacing.y = 4.0;
                for (i, text) in sections.iter().enumerate() {
                    let response = ui.push_id(i, |ui| {
                        CommonMarkViewer::new()
                            .default_width(Some(width as usize))
                            .show(ui, markdown, text)
                    });
                    // The viewer forgets a click when it shows the next section.
                    followed = followed.or_else(|| clicked_link(markdown));
                    if scroll_to == Some(i) {
                        ui.scroll_to_rect(response.response.rect, Some(Align::TOP));
                    }
                }
            });
        });
    if let Some(page) = followed {
        help.turn_to(page, 0);
    }
}

/// The page of a link that was clicked in the section shown last.
fn clicked_link(markdown: &CommonMarkCache) -> Option<&'static Page> {
    let mut hooks = markdown.link_hooks().iter();
    let (name, _) = hooks.find(|(_, clicked)| **clicked)?;
    Page::named(name.trim_end_matches(".md"))
}
