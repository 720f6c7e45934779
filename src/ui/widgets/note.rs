//! Notes: one sentence next to its subject, with at most one suggestion.

use super::super::icons;
use super::super::theme::{self, Palette, radius, size, space};
use super::button::{Button, IconButton};
use super::paint;
use crate::state::Severity;
use egui::{Color32, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};

/// The user's response to a note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteResponse {
    /// The suggestion was taken.
    Accepted,
    /// The second button was clicked.
    SecondAction,
    /// The button in the corner was clicked: the cross, or the caret that folds the note.
    Dismissed,
}

/// The small button at the right of a note.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Corner {
    Cross,
    /// Beside the other buttons: the text keeps its width.
    Caret,
}

impl Corner {
    fn icon(self) -> &'static str {
        match self {
            Self::Cross => icons::CLOSE,
            Self::Caret => icons::CARET_DOWN,
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Cross => "Dismiss",
            Self::Caret => "Fold",
        }
    }

    /// The name of the button of a note with this text.
    fn name(self, text: &str) -> String {
        match self {
            Self::Cross => format!("Dismiss: {text}"),
            Self::Caret => "Fold the note".to_owned(),
        }
    }
}

pub struct Note<'a> {
    fill: Color32,
    icon: &'a str,
    ink: Color32,
    title: Option<&'a str>,
    text: &'a str,
    action: Option<(&'a str, Option<&'a str>)>,
    action_hint: Option<&'a str>,
    second_action: Option<&'a str>,
    corner: Option<Corner>,
    primary: bool,
    /// Texts that may replace it: the note is as high as the highest of them.
    others: &'a [&'a str],
}

impl<'a> Note<'a> {
    pub fn new(p: &Palette, severity: Severity, text: &'a str) -> Self {
        let (fill, icon, ink) = match severity {
            Severity::Information => (p.b2, icons::INFORMATION, p.t2),
            Severity::Warning => (p.warning_tint, icons::WARNING, p.warning),
            Severity::Error => (p.error_tint, icons::WARNING, p.error),
        };
        Self {
            fill,
            icon,
            ink,
            title: None,
            text,
            action: None,
            action_hint: None,
            second_action: None,
            corner: None,
            primary: false,
            others: &[],
        }
    }

    /// A step of the tour.
    pub fn guide(p: &Palette, title: &'a str, text: &'a str) -> Self {
        Self {
            fill: p.tint,
            icon: icons::COMPASS,
            ink: p.accent,
            title: Some(title),
            primary: true,
            ..Self::new(p, Severity::Information, text)
        }
    }

    pub fn action(mut self, label: &'a str) -> Self {
        self.action = Some((label, None));
        self
    }

    pub fn action_with_icon(mut self, label: &'a str, icon: &'a str) -> Self {
        self.action = Some((label, Some(icon)));
        self
    }

    /// Explains the suggestion on hover.
    pub fn action_hint(mut self, hint: &'a str) -> Self {
        self.action_hint = Some(hint);
        self
    }

    /// A quiet second button.
    pub fn second_action(mut self, label: &'a str) -> Self {
        self.second_action = Some(label);
        self
    }

    /// Reserves the height of the highest of these texts, so that nothing below moves when one replaces another.
    pub fn room_for(mut self, others: &'a [&'a str]) -> Self {
        self.others = others;
        self
    }

    /// Adds a cross that removes the note.
    pub fn dismissable(mut self) -> Self {
        self.corner = Some(Corner::Cross);
        self
    }

    /// Adds a caret that folds the note.
    pub fn foldable(mut self) -> Self {
        self.corner = Some(Corner::Caret);
        self
    }

    /// Like [`Note::show_all`], for notes whose second button and cross have the same effect.
    pub fn show(self, ui: &mut Ui) -> Option<NoteResponse> {
        self.show_all(ui).map(|answer| match answer {
            NoteResponse::SecondAction => NoteResponse::Dismissed,
            answer => answer,
        })
    }

    /// Across the whole width, inset on both sides.
    pub fn show_all(self, ui: &mut Ui) -> Option<NoteResponse> {
        let p = theme::palette(ui.style());
        let outer = ui.available_width();
        let width = outer - 2.0 * space::INSET;
        let titled = self.title.is_some();
        let corner = self.corner.filter(|_| !titled);
        let cross = if corner == Some(Corner::Cross) {
            24.0
        } else {
            0.0
        };
        let text_width = width - 34.0 - space::INSET - cross;
        let layout = |text: &str| {
            let (text, font) = (paint::unbroken(text), theme::regular(size::LABEL));
            paint::wrapped(ui.painter(), text_width, &text, font, p.t1)
        };
        let galley = layout(self.text);
        let others = self.others.iter().map(|text| layout(text).size().y);
        let text_height = others.fold(galley.size().y, f32::max);
        let title_height = if titled { space::BUTTON + 4.0 } else { 0.0 };
        let buttons = !titled && (self.action.is_some() || self.second_action.is_some());
        let button_height = if buttons { space::BUTTON + 8.0 } else { 0.0 };
        let height = 10.0 + title_height + text_height + button_height + 10.0;
        let (rect, response) = ui.allocate_exact_size(vec2(outer, height), Sense::hover());
        let rect = paint::inset(rect, space::INSET, space::INSET);
        let painter = ui.painter();
        painter.rect_filled(rect, radius::CONTROL, self.fill);
        let left = rect.left() + 34.0;
        paint::icon(
            painter,
            rect.min + vec2(18.0, if titled { 22.0 } else { 18.0 }),
            self.icon,
            size::ICON,
            self.ink,
        );
        let mut y = rect.top() + 10.0;
        let head = Rect::from_min_max(
            pos2(left, y - 3.0),
            pos2(rect.right() - 6.0, y - 3.0 + space::BUTTON),
        );
        y += title_height;
        painter.galley(pos2(left, y), galley, p.t1);
        y += text_height + 8.0;
        let spoken = self
            .title
            .map_or(self.text.to_owned(), |t| format!("{t}: {}", self.text));
        response.widget_info(|| WidgetInfo::labeled(Role::Note, true, &spoken));

        let mut answer = None;
        if let Some(title) = self.title {
            answer = self.titled(ui, head, title);
        } else {
            self.buttons(ui, pos2(left, y), &mut answer);
        }
        if let Some(corner) = corner {
            let top = match corner {
                Corner::Cross => rect.top() + 6.0,
                Corner::Caret => rect.bottom() - 34.0,
            };
            let place = Rect::from_min_size(pos2(rect.right() - 28.0, top), vec2(24.0, 24.0));
            let name = corner.name(self.text);
            if IconButton::new(corner.icon(), &name)
                .hint(corner.hint())
                .show_at(ui, place)
                .clicked()
            {
                answer = Some(NoteResponse::Dismissed);
            }
        }
        ui.add_space(8.0);
        answer
    }

    /// Shows the note in one row with `short_text`; hovering shows the whole text. `second_action` is the icon of the
    /// quiet button.
    pub fn show_row(
        self,
        ui: &mut Ui,
        short_text: &str,
        second_action: &str,
    ) -> Option<NoteResponse> {
        let answer = self.row(ui, short_text, second_action, 36.0);
        ui.add_space(8.0);
        answer
    }

    /// Height of [`Note::show_low_row`].
    pub const LOW_ROW: f32 = 28.0;

    /// Shows the note in one row between other rows, as high as they are, with `short_text`; hovering shows the whole
    /// text.
    pub fn show_low_row(self, ui: &mut Ui, short_text: &str) -> Option<NoteResponse> {
        self.row(ui, short_text, "", Self::LOW_ROW)
    }

    fn row(
        self,
        ui: &mut Ui,
        short_text: &str,
        second_action: &str,
        height: f32,
    ) -> Option<NoteResponse> {
        let p = theme::palette(ui.style());
        let (rect, response) =
            ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        let row = paint::inset(rect, space::INSET, space::INSET);
        let painter = ui.painter().clone();
        painter.rect_filled(row, radius::CONTROL, self.fill);
        let middle = row.center().y;
        let sign = pos2(row.left() + 18.0, middle);
        paint::icon(&painter, sign, self.icon, size::ICON, self.ink);
        response.widget_info(|| WidgetInfo::labeled(Role::Note, true, self.text));
        response.on_hover_text(self.text);
        let mut answer = None;
        let mut right = row.right() - 4.0;
        let mut from_right = |wide: f32, high: f32| {
            let place =
                Rect::from_min_size(pos2(right - wide, middle - 0.5 * high), vec2(wide, high));
            right = place.left() - 2.0;
            place
        };
        let kind = self.corner.unwrap_or(Corner::Cross);
        let name = kind.name(self.text);
        let corner = (
            self.corner.is_some(),
            kind.icon(),
            &*name,
            kind.hint(),
            NoteResponse::Dismissed,
        );
        let second_label = self.second_action.unwrap_or_default();
        let other = (
            self.second_action.is_some(),
            second_action,
            second_label,
            second_label,
            NoteResponse::SecondAction,
        );
        for (is_shown, icon, name, hint, which) in [corner, other] {
            if is_shown {
                let button = IconButton::new(icon, name).hint(hint).side(24.0);
                let place = from_right(24.0, 24.0);
                answer = answer.or(button.show_at(ui, place).clicked().then_some(which));
            }
        }
        if let Some((label, icon)) = self.action {
            let button = self.button(label, icon);
            let place = from_right(button.width(ui), (height - 4.0).min(28.0));
            if button.show_at(ui, place).clicked() {
                answer = Some(NoteResponse::Accepted);
            }
        }
        let place = Rect::from_min_max(
            pos2(row.left() + 34.0, row.top()),
            pos2(right - 6.0, row.bottom()),
        );
        // A text that needs a second line is smaller.
        let font = theme::regular(size::LABEL);
        let font = match paint::width(ui, short_text, font.clone()) <= place.width() {
            true => font,
            false => theme::regular(size::CAPTION),
        };
        paint::name_in_lines(&painter, place, short_text, font, p.t1);
        answer
    }

    fn button(&self, label: &'a str, icon: Option<&'a str>) -> Button<'a> {
        let button = match self.primary {
            true => Button::primary(label),
            false => Button::plain(label),
        };
        let button = match icon {
            Some(icon) => button.icon(icon),
            None => button,
        };
        match self.action_hint {
            Some(hint) => button.hint(hint),
            None => button,
        }
    }

    /// The suggestion and the second button, below the text.
    fn buttons(&self, ui: &mut Ui, at: egui::Pos2, answer: &mut Option<NoteResponse>) {
        let mut x = at.x;
        if let Some((label, icon)) = self.action {
            let button = self.button(label, icon);
            let place = Rect::from_min_size(pos2(x, at.y), vec2(button.width(ui), space::BUTTON));
            x = place.right() + 4.0;
            if button.show_at(ui, place).clicked() {
                *answer = Some(NoteResponse::Accepted);
            }
        }
        if let Some(label) = self.second_action {
            let button = Button::quiet(label);
            let place = Rect::from_min_size(pos2(x, at.y), vec2(button.width(ui), space::BUTTON));
            if button.show_at(ui, place).clicked() {
                *answer = Some(NoteResponse::SecondAction);
            }
        }
    }

    /// The title, the suggestion and a cross in one row: a step of the tour must not cover its subject.
    fn titled(&self, ui: &mut Ui, head: Rect, title: &str) -> Option<NoteResponse> {
        let p = theme::palette(ui.style());
        let mut answer = None;
        let mut right = head.right();
        if let Some(label) = self.second_action {
            let side = 24.0;
            let place =
                Rect::from_center_size(pos2(right - side * 0.5, head.center().y), vec2(side, side));
            right = place.left() - 4.0;
            if IconButton::new(icons::CLOSE, label)
                .show_at(ui, place)
                .clicked()
            {
                answer = Some(NoteResponse::SecondAction);
            }
        }
        let title_width = paint::width(ui, title, theme::semibold(size::LABEL)) + 8.0;
        if let Some((label, icon)) = self.action {
            let room = right - head.left() - title_width;
            let with_icon = self.button(label, icon);
            let button = match with_icon.width(ui) <= room {
                true => with_icon,
                false => self.button(label, None),
            };
            let wide = button.width(ui);
            let place =
                Rect::from_min_max(pos2(right - wide, head.top()), pos2(right, head.bottom()));
            right = place.left() - 4.0;
            if button.show_at(ui, place).clicked() {
                answer = Some(NoteResponse::Accepted);
            }
        }
        let place = head.with_max_x(right);
        paint::name(
            ui.painter(),
            place,
            title,
            theme::semibold(size::LABEL),
            p.t1,
        );
        answer
    }
}
