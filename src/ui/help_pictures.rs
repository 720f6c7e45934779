//! Small pictures of the effect of a control: three of its values side by side, on the demo head. The hint of the control
//! shows its picture below its text once the pointer has rested there for a while.
//!
//! `assets/make_help_pictures.sh` makes the files; a picture belongs to a row of a table of parameters by its key, or to
//! a control that no table holds by a name of its own.

use super::theme::{self, size};
use super::widgets::paint;
use crate::io::decoded_png;
use crate::parameters::{Parameters, row};
use crate::solvers::{bundles, curves, density, geodesic, level_set, metric, pathway, region};
use egui::{Align2, Color32, ColorImage, Context, Id, Label, Response, Sense, TextureHandle};
use egui::{TextureOptions, Ui, pos2, vec2};
use std::any::TypeId;

/// Size of every picture, points and pixels: three squares.
pub const SIZE: [u32; 2] = [360, 120];
/// Time for which a hint is open before it shows the picture, seconds; with the time before it opens, one second.
pub const DELAY_S: f64 = 0.6;
/// A hint that was closed for longer than this is another one, seconds.
const GAP_S: f64 = 0.5;
/// Height of the line of values below a picture.
const VALUES: f32 = 18.0;

/// The picture of a control.
#[derive(Clone, Copy, Debug)]
pub struct HelpPicture {
    table: fn() -> TypeId,
    /// The key of the row in its table, or the name of a control without one.
    pub key: &'static str,
    /// Whether the table has the row; true for a control without a table.
    pub exists: fn() -> bool,
    /// The values, from left to right.
    pub values: [&'static str; 3],
    /// One sentence.
    pub caption: &'static str,
    /// The file.
    pub png: &'static [u8],
}

/// The place of a table, for controls that none holds.
struct Unlisted;

const fn picture<P: Parameters>(
    key: &'static str,
    exists: fn() -> bool,
    values: [&'static str; 3],
    caption: &'static str,
    png: &'static [u8],
) -> HelpPicture {
    HelpPicture {
        table: TypeId::of::<P>,
        key,
        exists,
        values,
        caption,
        png,
    }
}

const fn unlisted(
    key: &'static str,
    values: [&'static str; 3],
    caption: &'static str,
    png: &'static [u8],
) -> HelpPicture {
    HelpPicture {
        table: TypeId::of::<Unlisted>,
        key,
        exists: || true,
        values,
        caption,
        png,
    }
}

/// A row of [`ALL`]: table, key and file; values; caption.
macro_rules! row {
    ($table:ty, $key:literal, $file:literal, $values:expr, $caption:literal) => {
        picture::<$table>(
            $key,
            || row::<$table>($key).is_some(),
            $values,
            $caption,
            include_bytes!(concat!("../../assets/help/", $file, ".png")),
        )
    };
    ($key:literal, $file:literal, $values:expr, $caption:literal) => {
        unlisted(
            $key,
            $values,
            $caption,
            include_bytes!(concat!("../../assets/help/", $file, ".png")),
        )
    };
}

/// All pictures.
pub const ALL: [HelpPicture; 20] = [
    row!(
        curves::SeedingParts,
        "count",
        "streamlines",
        ["20", "200", "2000"],
        "More seed points fill the tract; few show single streamlines."
    ),
    row!(
        curves::Params,
        "step",
        "step",
        ["0.5 mm", "4 mm", "10 mm"],
        "Long steps cut the corners of curved fibres."
    ),
    row!(
        curves::Params,
        "angle",
        "angle",
        ["6°", "15°", "60°"],
        "A small angle ends streamlines where they turn; a large one lets them follow bends, and change bundles."
    ),
    row!(
        curves::Params,
        "fa",
        "fa",
        ["0.1", "0.3", "0.6"],
        "A high limit keeps only the parts with strongly directed fibres."
    ),
    row!(
        curves::Params,
        "min-length",
        "length",
        ["from 10 mm", "from 60 mm", "from 120 mm"],
        "A lower limit of the length removes short streamlines."
    ),
    row!(
        geodesic::DirectionParts,
        "kind",
        "directions",
        ["main direction", "cone", "sphere"],
        "Rays leave a seed along the fibres, around them or in all directions."
    ),
    row!(
        geodesic::DirectionParts,
        "half-angle",
        "opening",
        ["10°", "30°", "80°"],
        "A wide cone also tries directions across the fibres."
    ),
    row!(
        pathway::Width,
        "epsilon",
        "epsilon",
        ["0.05", "0.2", "0.6"],
        "A wider pathway also holds voxels whose best path costs more."
    ),
    row!(
        metric::Params,
        "metric",
        "metric",
        ["sharpened", "inverse", "isotropic"],
        "A sharpened metric keeps the pathway on the fibres; an isotropic one ignores them."
    ),
    row!(
        metric::Params,
        "alpha",
        "alpha",
        ["1", "3", "6"],
        "The sharper the metric, the more a path across fibres costs."
    ),
    row!(
        pathway::Params,
        "min-fa",
        "domain",
        ["0.1", "0.3", "0.5"],
        "Paths stay in voxels with at least this FA."
    ),
    row!(
        level_set::TargetParts,
        "tolerance",
        "tolerance",
        ["40", "350", "1100"],
        "A larger tolerance lets the surface grow into values farther from the target."
    ),
    row!(
        level_set::Params,
        "smoothness",
        "smoothness",
        ["0.02", "0.3", "0.9"],
        "A smooth surface skips thin and pointed parts."
    ),
    row!(
        level_set::TargetParts,
        "target",
        "target",
        ["420", "1440", "780"],
        "The surface keeps to the tissue with this grey value: here core, rim and oedema of a tumour."
    ),
    row!(
        region::Change,
        "grow",
        "grow",
        ["−4 mm", "0 mm", "4 mm"],
        "The border moves outwards, or inwards if the distance is negative."
    ),
    row!(
        region::Change,
        "smooth",
        "smooth",
        ["0 mm", "5 mm", "10 mm"],
        "Details finer than this width disappear from the border."
    ),
    row!(
        density::Voxels,
        "voxel",
        "voxel",
        ["0.5 mm", "2 mm", "4 mm"],
        "Small voxels show the course of streamlines within a voxel of the scan."
    ),
    row!(
        bundles::Params,
        "threshold",
        "threshold",
        ["6 mm", "15 mm", "40 mm"],
        "A larger distance joins streamlines to fewer clusters, one colour each."
    ),
    row!(
        "mosaic-spacing",
        "spacing",
        ["30 mm", "16 mm", "9 mm"],
        "The closer the slices, the more of them the mosaic shows."
    ),
    row!(
        "turn",
        "turn",
        ["0°", "15°", "30°"],
        "The axial slice turns about the left–right axis; its front rises."
    ),
];

/// The picture of a row of a table.
pub fn of_row<P: Parameters>(key: &str) -> Option<&'static HelpPicture> {
    find(TypeId::of::<P>(), key)
}

/// The picture of a control that no table holds.
pub fn of_control(name: &str) -> Option<&'static HelpPicture> {
    find(TypeId::of::<Unlisted>(), name)
}

fn find(table: TypeId, key: &str) -> Option<&'static HelpPicture> {
    ALL.iter().find(|p| p.key == key && (p.table)() == table)
}

fn current_id() -> Id {
    Id::unique("picture of the row that is laid out")
}

/// Lays out a row whose hints show this picture.
pub fn with<R>(
    ui: &mut Ui,
    picture: Option<&'static HelpPicture>,
    add: impl FnOnce(&mut Ui) -> R,
) -> R {
    let before = ui.data_mut(|data| {
        let before = data.get_temp::<Option<&'static HelpPicture>>(current_id());
        data.insert_temp(current_id(), picture);
        before
    });
    let added = add(ui);
    ui.data_mut(|data| data.insert_temp(current_id(), before.flatten()));
    added
}

/// The hint of a part of a row: its text and, after a while, the picture of the row.
pub fn hint(response: Response, text: &str) -> Response {
    let ctx = response.ctx.clone();
    let current = ctx.data(|data| data.get_temp::<Option<&'static HelpPicture>>(current_id()));
    let Some(picture) = current.flatten() else {
        return response.on_hover_text(text);
    };
    response.on_hover_ui(|ui| {
        let is_due = is_due(ui, picture);
        // The width of the text does not change when the picture appears.
        ui.set_max_width(SIZE[0] as f32);
        ui.add(Label::new(text));
        if is_due {
            picture.show(ui);
        }
    })
}

/// Whether the hint with this picture is open for long enough; otherwise requests a frame for when it will be.
fn is_due(ui: &Ui, picture: &HelpPicture) -> bool {
    let now = ui.input(|i| i.time);
    let id = Id::unique(("hint with a picture", picture.key, (picture.table)()));
    let open_since = ui.data_mut(|data| {
        let known = data.get_temp::<(f64, f64)>(id);
        let since = known.filter(|(_, last)| now - last < GAP_S + DELAY_S);
        let since = since.map_or(now, |(since, _)| since);
        data.insert_temp(id, (since, now));
        since
    });
    let left = open_since + DELAY_S - now;
    if left > 0.0 {
        let left = std::time::Duration::from_secs_f64(left);
        ui.ctx().request_repaint_after(left);
    }
    left <= 0.0
}

impl HelpPicture {
    /// The picture, the values below its three parts, and the caption.
    fn show(&self, ui: &mut Ui) {
        let Some(texture) = self.texture(ui.ctx()) else {
            return;
        };
        ui.add_space(4.0);
        let [width, height] = SIZE.map(|side| side as f32);
        let (rect, _) = ui.allocate_exact_size(vec2(width, height + VALUES), Sense::hover());
        let place = egui::Rect::from_min_size(rect.min, vec2(width, height));
        paint::picture(ui.painter(), place, texture.id(), theme::radius::CHIP);
        let p = theme::palette(ui.style());
        for (i, value) in self.values.iter().enumerate() {
            let x = rect.left() + width * (i as f32 + 0.5) / self.values.len() as f32;
            let at = pos2(x, place.bottom() + 0.5 * VALUES + 1.0);
            let font = theme::medium(size::CAPTION);
            ui.painter()
                .text(at, Align2::CENTER_CENTER, *value, font, p.t2);
        }
        ui.add(Label::new(self.caption));
    }

    /// The texture, which is made when it is shown first.
    fn texture(&self, ctx: &Context) -> Option<TextureHandle> {
        let id = Id::unique(("help picture", self.key, (self.table)()));
        if let Some(texture) = ctx.data(|data| data.get_temp::<TextureHandle>(id)) {
            return Some(texture);
        }
        let (size, rgba) = decoded_png(self.png)?;
        let pixels = rgba.chunks_exact(4);
        let pixels = pixels.map(|p| Color32::from_rgba_unmultiplied(p[0], p[1], p[2], p[3]));
        let image = ColorImage::new(size.map(|side| side as usize), pixels.collect());
        let texture = ctx.load_texture(self.key, image, TextureOptions::LINEAR);
        ctx.data_mut(|data| data.insert_temp(id, texture.clone()));
        Some(texture)
    }
}
