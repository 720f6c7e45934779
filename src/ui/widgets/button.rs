//! Text buttons, icon buttons, switches, checkboxes.

use super::super::icons;
use super::super::theme::{self, Palette, radius, size, space};
use super::{focus, paint};
use egui::{Color32, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Primary,
    Plain,
    Quiet,
}

/// A text button; the text is its accessible name.
pub struct Button<'a> {
    kind: Kind,
    text: &'a str,
    icon: Option<&'a str>,
    hint: Option<&'a str>,
    disabled: Option<&'a str>,
}

impl<'a> Button<'a> {
    fn new(kind: Kind, text: &'a str) -> Self {
        Self {
            kind,
            text,
            icon: None,
            hint: None,
            disabled: None,
        }
    }

    /// The main action of a panel.
    pub fn primary(text: &'a str) -> Self {
        Self::new(Kind::Primary, text)
    }

    pub fn plain(text: &'a str) -> Self {
        Self::new(Kind::Plain, text)
    }

    /// Text only, without a frame.
    pub fn quiet(text: &'a str) -> Self {
        Self::new(Kind::Quiet, text)
    }

    pub fn icon(mut self, icon: &'a str) -> Self {
        self.icon = Some(icon);
        self
    }

    /// The button without its icon, where there is space only for the text.
    pub fn without_icon(mut self) -> Self {
        self.icon = None;
        self
    }

    pub fn hint(mut self, hint: &'a str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Greys the button out and gives the reason on hover.
    pub fn disabled(mut self, because: Option<&'a str>) -> Self {
        self.disabled = because;
        self
    }

    pub fn width(&self, ui: &Ui) -> f32 {
        let text = paint::width(ui, self.text, theme::medium(size::LABEL));
        let icon = if self.icon.is_some() {
            size::ICON + 7.0
        } else {
            0.0
        };
        (text + icon + 2.0 * space::INSET).ceil()
    }

    pub fn show(self, ui: &mut Ui) -> Response {
        let sense = sense(self.disabled.is_none());
        let (rect, response) = ui.allocate_exact_size(vec2(self.width(ui), space::BUTTON), sense);
        self.paint(ui, rect, response)
    }

    pub fn show_at(self, ui: &mut Ui, rect: Rect) -> Response {
        let id = ui.make_persistent_id(("button", self.text));
        let response = ui.interact(rect, id, sense(self.disabled.is_none()));
        self.paint(ui, rect, response)
    }

    fn paint(self, ui: &mut Ui, rect: Rect, response: Response) -> Response {
        let p = theme::palette(ui.style());
        let enabled = self.disabled.is_none();
        let lit = enabled && (response.hovered() || response.is_pointer_button_down_on());
        let (fill, ink) = match self.kind {
            Kind::Primary if lit => (lighten(p.fill), theme::ON_FILL),
            Kind::Primary => (p.fill, theme::ON_FILL),
            Kind::Plain if lit => (hovered(p), p.t1),
            Kind::Plain => (p.b3, p.t1),
            Kind::Quiet if lit => (Color32::TRANSPARENT, p.t1),
            Kind::Quiet => (Color32::TRANSPARENT, p.t2),
        };
        let fade = if enabled { 1.0 } else { 0.45 };
        let painter = ui.painter();
        let border = if self.kind == Kind::Plain {
            p.field_line
        } else {
            Color32::TRANSPARENT
        };
        painter.rect(
            rect,
            radius::CONTROL,
            fill.gamma_multiply(fade),
            Stroke::new(1.0, border),
            StrokeKind::Inside,
        );
        let ink = ink.gamma_multiply(fade);
        let mut text = paint::inset(rect, space::INSET, space::INSET - 4.0);
        if let Some(icon) = self.icon {
            let centre = pos2(text.left() + size::ICON * 0.5, rect.center().y);
            paint::icon(painter, centre, icon, size::ICON, ink);
            text.min.x += size::ICON + 7.0;
        }
        paint::left(painter, text, self.text, theme::medium(size::LABEL), ink);
        paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
        focus::button(&response);
        response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, self.text));
        finish(response, self.disabled, self.hint)
    }
}

/// Shows on hover the reason of a disabled control, or the hint of an enabled one.
fn finish(response: Response, disabled: Option<&str>, hint: Option<&str>) -> Response {
    match disabled.or(hint) {
        Some(text) => response.on_hover_text(text),
        None => response,
    }
}

/// A disabled control ignores clicks. An enabled one also takes drags: pressing a button over a view would otherwise begin a
/// drag of the view, which hides its buttons before the click is complete.
fn sense(enabled: bool) -> Sense {
    if enabled {
        Sense::click_and_drag()
    } else {
        Sense::hover()
    }
}

fn lighten(colour: Color32) -> Color32 {
    colour.lerp_to_gamma(Color32::WHITE, 0.12)
}

fn hovered(p: &Palette) -> Color32 {
    p.b3.lerp_to_gamma(p.t3, 0.22)
}

/// A square button with an icon; `name` is its accessible name and its hover text.
pub struct IconButton<'a> {
    icon: &'a str,
    name: &'a str,
    hint: Option<&'a str>,
    active: bool,
    disabled: Option<&'a str>,
    side: f32,
    colour: Option<Color32>,
}

impl<'a> IconButton<'a> {
    pub fn new(icon: &'a str, name: &'a str) -> Self {
        Self {
            icon,
            name,
            hint: None,
            active: false,
            disabled: None,
            side: 28.0,
            colour: None,
        }
    }

    /// Additional text on hover.
    pub fn hint(mut self, hint: &'a str) -> Self {
        self.hint = Some(hint);
        self
    }

    pub fn active(mut self, active: bool) -> Self {
        self.active = active;
        self
    }

    /// Greys the button out and gives the reason on hover, below the name.
    pub fn disabled(mut self, because: Option<&'a str>) -> Self {
        self.disabled = because;
        self
    }

    pub fn side(mut self, side: f32) -> Self {
        self.side = side;
        self
    }

    pub fn colour(mut self, colour: Color32) -> Self {
        self.colour = Some(colour);
        self
    }

    pub fn show(self, ui: &mut Ui) -> Response {
        let (rect, response) =
            ui.allocate_exact_size(vec2(self.side, self.side), sense(self.disabled.is_none()));
        self.paint(ui, rect, response)
    }

    /// Ends at the right edge of a rectangle, centred vertically.
    pub fn show_right(self, ui: &mut Ui, rect: Rect) -> Response {
        let rect = paint::at_right(rect, vec2(self.side, self.side));
        self.show_at(ui, rect)
    }

    pub fn show_at(self, ui: &mut Ui, rect: Rect) -> Response {
        let id = ui.make_persistent_id(("icon", self.name));
        let response = ui.interact(rect, id, sense(self.disabled.is_none()));
        self.paint(ui, rect, response)
    }

    fn paint(self, ui: &mut Ui, rect: Rect, response: Response) -> Response {
        let p = theme::palette(ui.style());
        let enabled = self.disabled.is_none();
        let lit = enabled && response.hovered();
        let painter = ui.painter();
        if self.active || lit {
            painter.rect_filled(rect, radius::CONTROL, p.b3);
        }
        let colour = match self.colour {
            Some(colour) => colour,
            None if self.active || lit => p.t1,
            None => p.t2,
        };
        let colour = colour.gamma_multiply(if enabled { 1.0 } else { 0.45 });
        paint::icon(painter, rect.center(), self.icon, size::ICON, colour);
        paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
        focus::button(&response);
        response
            .widget_info(|| WidgetInfo::selected(Role::Button, enabled, self.active, self.name));
        match self.disabled {
            Some(why) => response.on_hover_text(format!("{}\n{why}", self.name)),
            None => response.on_hover_text(self.hint.unwrap_or(self.name)),
        }
    }
}

/// One of several labels, side by side; returns the one that was clicked.
pub fn segmented(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    labels: &[&str],
    chosen: usize,
) -> Option<usize> {
    segmented_but(ui, rect, name, labels, chosen, |_| None)
}

/// Like [`segmented`]; `why` gives the reason, on hover, why a label cannot be chosen.
pub fn segmented_but<'a>(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    labels: &[&str],
    chosen: usize,
    why: impl Fn(usize) -> Option<&'a str>,
) -> Option<usize> {
    let clicked = segments(ui, rect, name, labels, chosen, why);
    clicked.filter(|i| *i != chosen)
}

/// Like [`segmented`], but a click on the chosen label is returned, too, to deactivate it.
pub fn toggled(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    labels: &[&str],
    chosen: Option<usize>,
) -> Option<usize> {
    segments(ui, rect, name, labels, chosen.unwrap_or(usize::MAX), |_| {
        None
    })
}

/// Equal widths; if a label is too long for them, each label has the width that it needs and the same part of the rest.
fn segment_widths(ui: &Ui, width: f32, labels: &[&str]) -> Vec<f32> {
    /// The space that a segment needs besides its label, with the gap between segments.
    const PADDING: f32 = 8.0;
    let count = labels.len().max(1) as f32;
    let equal = width / count;
    let needed = |label: &&str| PADDING + paint::width(ui, label, theme::medium(size::LABEL));
    let needed: Vec<f32> = labels.iter().map(needed).collect();
    let rest = width - needed.iter().sum::<f32>();
    match rest >= 0.0 && needed.iter().any(|needed| *needed > equal) {
        true => needed.iter().map(|needed| needed + rest / count).collect(),
        false => vec![equal; labels.len()],
    }
}

fn segments<'a>(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    labels: &[&str],
    chosen: usize,
    why: impl Fn(usize) -> Option<&'a str>,
) -> Option<usize> {
    let p = theme::palette(ui.style());
    paint::field(
        ui.painter(),
        p,
        rect,
        if p.field_line == Color32::TRANSPARENT {
            p.b2
        } else {
            p.b3
        },
    );
    let widths = segment_widths(ui, rect.width(), labels);
    let mut left = rect.left();
    let mut clicked = None;
    for (i, (label, width)) in labels.iter().zip(widths).enumerate() {
        let cell = Rect::from_min_size(pos2(left, rect.top()), vec2(width, rect.height()));
        let cell = cell.shrink(2.0);
        left += width;
        let id = ui.make_persistent_id(("segment", name, i));
        let active = i == chosen;
        let why = why(i).filter(|_| !active);
        let response = ui.interact(cell, id, sense(why.is_none()));
        let painter = ui.painter();
        if active {
            let fill = if p.field_line == Color32::TRANSPARENT {
                // Dark levels are closer together than light ones.
                p.b3.lerp_to_gamma(p.t3, 0.3)
            } else {
                p.b2
            };
            painter.rect_filled(cell, radius::CHIP, fill);
        }
        let colour = match why {
            Some(_) => p.t3.gamma_multiply(0.6),
            None if active || response.hovered() => p.t1,
            None => p.t2,
        };
        let font = if active {
            theme::medium(size::LABEL)
        } else {
            theme::regular(size::LABEL)
        };
        paint::centre(painter, cell, label, font, colour);
        paint::focus_ring(painter, p, &response, cell, radius::CHIP);
        response.widget_info(|| {
            let label = format!("{name}: {label}");
            WidgetInfo::selected(Role::RadioButton, why.is_none(), active, label)
        });
        if response.clicked() && why.is_none() {
            clicked = Some(i);
        }
        if let Some(why) = why {
            response.on_hover_text(why);
        }
    }
    clicked
}

/// A box with a tick; returns the new value when clicked.
pub fn checkbox(ui: &mut Ui, rect: Rect, name: &str, on: bool) -> Option<bool> {
    let p = theme::palette(ui.style());
    let id = ui.make_persistent_id(("check", name));
    let response = ui.interact(rect, id, Sense::click());
    let painter = ui.painter();
    let tick = paint::at_left(rect, vec2(14.0, 14.0));
    if on {
        painter.rect_filled(tick, radius::CHIP, p.fill);
        paint::icon(painter, tick.center(), icons::CHECK, 11.0, theme::ON_FILL);
    } else {
        let stroke = Stroke::new(1.0, if response.hovered() { p.t2 } else { p.t3 });
        painter.rect_stroke(tick, radius::CHIP, stroke, StrokeKind::Inside);
    }
    let colour = if response.hovered() { p.t1 } else { p.t2 };
    let text = paint::inset(rect, 20.0, 0.0);
    paint::left(painter, text, name, theme::regular(size::LABEL), colour);
    paint::focus_ring(painter, p, &response, tick.expand(2.0), radius::CONTROL);
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, on, name));
    response.clicked().then_some(!on)
}

/// The eye at the end of a row; returns true when clicked.
pub fn eye(ui: &mut Ui, rect: Rect, name: &str, visible: bool) -> bool {
    eye_unless(ui, rect, name, visible, None)
}

/// An eye that does nothing here, for a reason that is shown on hover.
pub fn eye_unless(ui: &mut Ui, rect: Rect, name: &str, visible: bool, why: Option<&str>) -> bool {
    let (icon, verb) = if visible {
        (icons::EYE, "Hide")
    } else {
        (icons::EYE_OFF, "Show")
    };
    let p = theme::palette(ui.style());
    let name = format!("{verb} {name}");
    let colour = if visible { p.t2 } else { p.t3 };
    let button = IconButton::new(icon, &name).side(22.0).colour(colour);
    let button = button.disabled(why);
    button.show_right(ui, rect).clicked() && why.is_none()
}
