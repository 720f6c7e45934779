//! Design tokens: colours, type, spacing, and the style of egui's own widgets.
//!
//! Colours and sizes are defined only here. Contrast of every text pair is at least 4.5.

use crate::data::{Region, Role};
pub use crate::state::core::colours::role_rgb;
use egui::epaint::Shadow;
use egui::style::{Selection, WidgetVisuals, Widgets};
use egui::{
    Color32, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, FontTweak, Margin,
    Stroke, Style, TextStyle, Theme, Visuals, vec2,
};
use std::sync::Arc;

/// Opaque sRGB from `0xRRGGBB`.
const fn rgb(hex: u32) -> Color32 {
    Color32::from_rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// Colours by their use.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Palette {
    /// 3-D canvas; slices are black in both themes.
    pub canvas: Color32,
    /// Bars.
    pub b0: Color32,
    /// Panels.
    pub b1: Color32,
    /// Fields, pop-ups.
    pub b2: Color32,
    /// Hover, selected, rails.
    pub b3: Color32,
    /// Lines, 1 px.
    pub line: Color32,
    /// Text; labels; units and hints.
    pub t1: Color32,
    pub t2: Color32,
    pub t3: Color32,
    /// Active elements.
    pub accent: Color32,
    /// One primary button per panel, with white text.
    pub fill: Color32,
    /// Used with a text or an icon, never alone.
    pub ok: Color32,
    pub warning: Color32,
    pub error: Color32,
    /// Selected rows and information; warnings; errors.
    pub tint: Color32,
    pub warning_tint: Color32,
    pub error_tint: Color32,
    /// Border of fields and buttons, which are white on nearly white in the light theme.
    pub field_line: Color32,
    /// Knobs of sliders.
    pub knob: Color32,
}

pub const DARK: Palette = Palette {
    canvas: Color32::BLACK,
    b0: rgb(0x0F1114),
    b1: rgb(0x15181C),
    b2: rgb(0x1E2227),
    b3: rgb(0x282D34),
    line: rgb(0x2B3038),
    t1: rgb(0xE9ECF0),
    t2: rgb(0xAEB5C0),
    t3: rgb(0x8D95A1),
    accent: rgb(0x7AA2FF),
    fill: rgb(0x3565D8),
    ok: rgb(0x4CC38A),
    warning: rgb(0xF5B83D),
    error: rgb(0xFF7A70),
    tint: rgb(0x1C2740),
    warning_tint: rgb(0x2C2514),
    error_tint: rgb(0x2E1A1A),
    field_line: Color32::TRANSPARENT,
    knob: rgb(0xE9ECF0),
};

pub const LIGHT: Palette = Palette {
    canvas: Color32::WHITE,
    b0: rgb(0xE9ECF0),
    b1: rgb(0xF6F7F9),
    b2: rgb(0xFFFFFF),
    b3: rgb(0xE1E6EE),
    line: rgb(0xD0D6DE),
    t1: rgb(0x15181C),
    t2: rgb(0x454D59),
    t3: rgb(0x5C6470),
    accent: rgb(0x1F4FC4),
    fill: rgb(0x2F5FD0),
    ok: rgb(0x16704A),
    warning: rgb(0x855400),
    error: rgb(0xB3261E),
    tint: rgb(0xE3EBFF),
    warning_tint: rgb(0xFFF3DC),
    error_tint: rgb(0xFDE8E6),
    field_line: rgb(0xD0D6DE),
    knob: rgb(0x1F4FC4),
};

/// Text and plates inside slice views, which are black in both themes.
pub const IN_VIEW: &Palette = &DARK;

/// Colours of the letters of a direction-encoded colour legend: R–L, A–P, S–I.
pub const DEC: [Color32; 3] = [rgb(0xFF5C55), rgb(0x5FD068), rgb(0x6E9BFF)];
/// Colours of these letters with a contrast of at least 4.5 : 1 on white.
pub const DEC_ON_WHITE: [Color32; 3] = [rgb(0xC62F28), rgb(0x1B7F35), rgb(0x2F5FD0)];

pub use crate::state::core::colours::CATEGORIES;
pub use crate::state::core::colours::CATEGORY_NAMES;

/// Text on the primary button.
pub const ON_FILL: Color32 = Color32::WHITE;

/// The palette of the style in use.
pub fn palette(style: &Style) -> &'static Palette {
    if style.visuals.dark_mode {
        &DARK
    } else {
        &LIGHT
    }
}

/// The colour of a role's regions.
pub fn role_colour(role: Role) -> Color32 {
    let [r, g, b] = role_rgb(role);
    Color32::from_rgb(r, g, b)
}

/// A region's own colour, else its role's.
pub fn region_colour(region: &Region) -> Color32 {
    let [r, g, b] = region.colour.unwrap_or(role_rgb(region.role));
    Color32::from_rgb(r, g, b)
}

/// Text sizes in points.
pub mod size {
    /// Captions and axes.
    pub const CAPTION: f32 = 11.0;
    /// Labels, values, lists.
    pub const LABEL: f32 = 12.0;
    pub const BODY: f32 = 13.0;
    /// Letters at the edges of slices.
    pub const LETTER: f32 = 14.0;
    /// First-run title.
    pub const TITLE: f32 = 24.0;
    pub const ICON: f32 = 16.0;
}

/// Distances in points, on a grid of 4.
pub mod space {
    pub const INSET: f32 = 12.0;
    pub const ROW: f32 = 28.0;
    pub const TABLE_HEAD: f32 = 20.0;
    pub const BUTTON: f32 = 30.0;
    pub const FIELD: f32 = 22.0;
    pub const TOP_BAR: f32 = 44.0;
    pub const STATUS_BAR: f32 = 28.0;
    pub const LEFT: f32 = 272.0;
    pub const RAIL: f32 = 44.0;
    pub const RIGHT: f32 = 344.0;
    pub const RIGHT_NARROW: f32 = 312.0;
    /// Least width of the views together: the longest title of a slice fits in each of two columns.
    pub const VIEWS: f32 = 280.0;
    /// Windows narrower than this get the rail.
    pub const NARROW: f32 = 1500.0;
    /// Space between views.
    pub const VIEW_GAP: f32 = 2.0;
}

pub mod radius {
    pub const CHIP: u8 = 3;
    pub const CONTROL: u8 = 4;
    pub const CARD: u8 = 6;
}

const MEDIUM: &str = "medium";
const SEMIBOLD: &str = "semibold";
const ICONS: &str = "icons";

pub fn regular(size: f32) -> FontId {
    FontId::new(size, FontFamily::Proportional)
}

pub fn medium(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name(MEDIUM.into()))
}

pub fn semibold(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name(SEMIBOLD.into()))
}

/// Font of the characters of [`super::icons`]: centred in its row.
pub fn icons(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name(ICONS.into()))
}

/// Installs fonts and both themes; called once, before the first frame.
pub fn install(ctx: &egui::Context) {
    ctx.set_fonts(fonts());
    ctx.set_style_of(Theme::Dark, style(&DARK, true));
    ctx.set_style_of(Theme::Light, style(&LIGHT, false));
    ctx.set_theme(Theme::Dark);
}

/// Follows the view's switch.
pub fn select(ctx: &egui::Context, light: bool) {
    let requested = if light { Theme::Light } else { Theme::Dark };
    if ctx.theme() != requested {
        ctx.set_theme(requested);
    }
}

fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let files: [(&str, &[u8]); 4] = [
        (
            "Inter",
            include_bytes!("../../assets/fonts/Inter-Regular.otf"),
        ),
        (
            "Inter medium",
            include_bytes!("../../assets/fonts/Inter-Medium.otf"),
        ),
        (
            "Inter semibold",
            include_bytes!("../../assets/fonts/Inter-SemiBold.otf"),
        ),
        (
            "Phosphor",
            include_bytes!("../../assets/fonts/Phosphor-subset.ttf"),
        ),
    ];
    for (name, bytes) in files {
        let data = FontData::from_static(bytes).tweak(FontTweak {
            // Width of the narrow space before units and between thousands, as a fraction of a normal space.
            thin_space_width: 0.75,
            ..FontTweak::default()
        });
        fonts.font_data.insert(name.to_owned(), Arc::new(data));
    }
    // egui's own fonts follow: Hack has the nabla and the element sign.
    let mut family = |family: FontFamily, first: &[&str]| {
        let names = first.iter().copied().chain(["Hack", "egui-icons"]);
        let names: Vec<String> = names.map(str::to_owned).collect();
        fonts.families.insert(family, names);
    };
    family(FontFamily::Proportional, &["Inter", "Phosphor"]);
    family(
        FontFamily::Name(MEDIUM.into()),
        &["Inter medium", "Phosphor"],
    );
    family(
        FontFamily::Name(SEMIBOLD.into()),
        &["Inter semibold", "Phosphor"],
    );
    family(FontFamily::Name(ICONS.into()), &["Phosphor", "Inter"]);
    family(FontFamily::Monospace, &["Hack", "Inter", "Phosphor"]);
    fonts
}

fn style(p: &Palette, dark: bool) -> Style {
    let mut style = Style {
        animation_time: 0.12,
        visuals: visuals(p, dark),
        ..Style::default()
    };
    style.text_styles = [
        (TextStyle::Small, regular(size::CAPTION)),
        (TextStyle::Body, regular(size::LABEL)),
        (TextStyle::Button, regular(size::LABEL)),
        (TextStyle::Heading, semibold(size::TITLE)),
        (TextStyle::Monospace, FontId::monospace(size::LABEL)),
    ]
    .into();
    let spacing = &mut style.spacing;
    spacing.item_spacing = vec2(8.0, 0.0);
    spacing.button_padding = vec2(8.0, 3.0);
    spacing.interact_size = vec2(22.0, space::ROW);
    spacing.menu_margin = Margin::same(4);
    spacing.window_margin = Margin::same(12);
    spacing.tooltip_width = 280.0;
    spacing.slider_rail_height = 2.0;
    spacing.text_edit_width = 200.0;
    spacing.scroll.bar_width = 8.0;
    spacing.scroll.floating_width = 4.0;
    // Rows that continue beyond the edge fade, so that a cut row is not taken for one drawn over.
    spacing.scroll.fade.strength = 0.9;
    spacing.scroll.fade.size = 16.0;
    // The handle has the colour of text, which at full strength is nearly black in the light theme.
    (
        spacing.scroll.active_handle_opacity,
        spacing.scroll.interact_handle_opacity,
    ) = (0.3, 0.5);
    style.interaction.selectable_labels = false;
    style.interaction.tooltip_delay = 0.4;
    style.explanation_tooltips = false;
    style
}

fn visuals(p: &Palette, dark: bool) -> Visuals {
    let widget = |fill: Color32, line: Color32, text: Color32| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, line),
        corner_radius: CornerRadius::same(radius::CONTROL),
        fg_stroke: Stroke::new(1.0, text),
        expansion: 0.0,
    };
    let mut v = if dark {
        Visuals::dark()
    } else {
        Visuals::light()
    };
    v.weak_text_color = Some(p.t3);
    v.widgets = Widgets {
        noninteractive: widget(p.b1, p.line, p.t2),
        inactive: widget(p.b2, p.field_line, p.t1),
        hovered: widget(p.b3, p.field_line, p.t1),
        active: widget(p.b3, p.accent, p.t1),
        open: widget(p.b3, p.field_line, p.t1),
    };
    v.selection = Selection {
        bg_fill: p.fill.gamma_multiply(if dark { 0.6 } else { 0.3 }),
        stroke: Stroke::new(1.0, p.t1),
    };
    v.hyperlink_color = p.accent;
    v.faint_bg_color = p.b2;
    v.extreme_bg_color = p.b2;
    v.text_edit_bg_color = Some(p.b2);
    v.code_bg_color = p.b2;
    v.warn_fg_color = p.warning;
    v.error_fg_color = p.error;
    v.window_corner_radius = CornerRadius::same(radius::CARD);
    v.window_shadow = Shadow::NONE;
    v.popup_shadow = Shadow::NONE;
    v.window_fill = p.b2;
    v.window_stroke = Stroke::new(1.0, p.line);
    v.menu_corner_radius = CornerRadius::same(radius::CONTROL);
    v.panel_fill = p.b1;
    v.slider_trailing_fill = true;
    v.handle_shape = egui::style::HandleShape::Circle;
    v.disabled_alpha = 0.45;
    v
}
