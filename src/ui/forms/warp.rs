//! The transforms of a non-linear alignment: their order and directions, the images they refer to, and the button that
//! applies them.

use super::display::select_row;
use crate::data::warp::WarpInterpolation;
use crate::state::{
    Action, AlignmentAction, Content, Document, FieldConvention, Layer, LayerId, State,
    TransformFile, WarpReading,
};
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::{menu, paint, rows};
use crate::ui::{Memory, icons, panels};
use egui::{Sense, Ui, vec2};
use std::path::PathBuf;

/// The button that collects the first transforms.
pub fn button<'a>(state: &State, layer: LayerId) -> Button<'a> {
    Button::plain("Warp…")
        .icon(icons::FOLDER)
        .disabled(state.document.no_warp(layer))
        .hint(
            "Applies a non-linear alignment: displacement fields and affines of ANTs or ITK, or a field of FNIRT. \
             Choose all of its files",
        )
}

/// Asks for the files of transforms.
pub fn ask(ui: &Ui, layer: LayerId, memory: &mut Memory) {
    let purpose = PathPurpose::Warp(layer);
    memory
        .files
        .ask_for_path(ui.ctx(), purpose, DialogPosition::Middle, "");
}

/// The transforms collected for a layer, if there are any.
pub fn show(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let Some(warp) = state.collected_warp(layer.id) else {
        return;
    };
    let mut changed = warp.clone();
    rows::line(ui, "Transforms, from the fixed image on");
    for number in 0..warp.transforms.len() {
        transform_row(ui, number, &mut changed);
    }
    images(ui, &state.document, layer.id, &mut changed);
    if layer.content.volume().is_some() || matches!(layer.content, Content::Mask(_)) {
        interpolation(ui, &mut changed);
    }
    if changed != *warp {
        actions.push(Action::Alignment(AlignmentAction::SetWarp {
            layer: layer.id,
            warp: changed,
        }));
    }
    let hint = "Opens the file again: an image is resampled on the voxels of the fixed image, streamlines take the \
                inverse way";
    let empty = warp.transforms.is_empty();
    let why = state.document.no_warp(layer.id);
    let why = why
        .or(empty.then_some("Add a transform first; the file without a warp can be opened again"));
    let buttons = vec![
        Button::primary("Apply warp").disabled(why).hint(hint),
        Button::plain("Add…")
            .icon(icons::PLUS)
            .hint("Adds files to the list"),
    ];
    let size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (place, _) = ui.allocate_exact_size(size, Sense::hover());
    let mut place = paint::inset(place, space::INSET, space::INSET);
    place.min.y += 4.0;
    let (responses, _) = panels::button_row(ui, place, buttons);
    if responses[0].clicked() {
        actions.push(Action::Alignment(AlignmentAction::ApplyWarp(layer.id)));
    }
    if responses[1].clicked() {
        ask(ui, layer.id, memory);
    }
}

/// The number and the name of a transform, with its direction, and buttons that move it up and remove it.
fn transform_row(ui: &mut Ui, number: usize, warp: &mut WarpReading) {
    let Some(transform) = warp.transforms.get(number).cloned() else {
        return;
    };
    let name = crate::data::text::file_name(&transform.path);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::ROW), Sense::hover());
    let rect = paint::inset(rect, space::INSET, space::INSET);
    let p = theme::palette(ui.style());
    let inverse = if transform.inverse { ", inverse" } else { "" };
    let text = format!("{}. {name}{inverse}", number + 1);
    const SIDE: f32 = 24.0;
    let mut label = rect;
    label.max.x -= 4.0 * SIDE + 4.0;
    paint::left(
        ui.painter(),
        label,
        &text,
        theme::regular(size::LABEL),
        p.t1,
    );
    let mut right = rect;
    let mut place = |ui: &mut Ui, button: IconButton<'_>| {
        let clicked = button.side(SIDE).show_right(ui, right).clicked();
        right.max.x -= SIDE;
        clicked
    };
    if place(ui, IconButton::new(icons::CLOSE, &format!("Remove {name}"))) {
        warp.transforms.remove(number);
        return;
    }
    let first = (number == 0).then_some("It is the first one");
    if place(
        ui,
        IconButton::new(icons::SWAP, &format!("Move {name} up")).disabled(first),
    ) {
        warp.transforms.swap(number - 1, number);
        return;
    }
    let inverse_of = format!("Inverse of {name}");
    let turn = IconButton::new(icons::UNDO, &inverse_of)
        .active(transform.inverse)
        .hint("Whether the inverse of this transform applies");
    let turned = place(ui, turn);
    let convention = convention_menu(ui, right, &name, &transform);
    let now = &mut warp.transforms[number];
    now.inverse ^= turned;
    if let Some(convention) = convention {
        now.convention = convention;
    }
}

/// The program whose field it is, where the header does not say so.
fn convention_menu(
    ui: &mut Ui,
    right: egui::Rect,
    name: &str,
    transform: &TransformFile,
) -> Option<Option<FieldConvention>> {
    const SIDE: f32 = 24.0;
    let place = egui::Rect::from_min_max(egui::pos2(right.max.x - SIDE, right.min.y), right.max);
    let field = IconButton::new(icons::MORE, &format!("Convention of {name}"))
        .active(transform.convention.is_some())
        .hint("Whose field it is, if its header does not say so")
        .show_at(ui, place);
    let options = [None].into_iter().chain(FieldConvention::ALL.map(Some));
    menu::drop_down(&field, 220.0, |ui| {
        let mut chosen = None;
        for option in options {
            let label = convention_label(option);
            if menu::Item::new(label)
                .chosen(option == transform.convention)
                .show(ui)
            {
                chosen = Some(option);
            }
        }
        chosen
    })
}

fn convention_label(convention: Option<FieldConvention>) -> &'static str {
    match convention {
        None => "As its header says",
        Some(FieldConvention::Ants) => "ANTs or ITK: displacements, LPS",
        Some(FieldConvention::FslRelative) => "FSL: displacements",
        Some(FieldConvention::FslAbsolute) => "FSL: positions",
    }
}

/// The fixed and the moving image among the opened files.
fn images(ui: &mut Ui, document: &Document, layer: LayerId, warp: &mut WarpReading) {
    let opened: Vec<(String, PathBuf)> = document
        .layers
        .iter()
        .filter(|l| l.content.volume().is_some() || matches!(l.content, Content::Mask(_)))
        .filter_map(|l| {
            let path = document.origins.path_in_place(l.origin)?;
            // A warped image lies on other voxels than its file.
            let reading = document.origins.reading(l.origin)?;
            (reading.warp.is_none()).then(|| (l.name.clone(), path.to_owned()))
        })
        .collect();
    let own = document.layer(layer).and_then(|l| document.path(l));
    let others: Vec<(String, PathBuf)> = opened
        .into_iter()
        .filter(|(_, path)| own != Some(path.as_path()))
        .collect();
    let help = "The image to which the alignment leads: a warped image gets its voxels, and streamlines its space";
    image_row(
        ui,
        ("Fixed image", help),
        "Voxels of the first field",
        &others,
        &mut warp.fixed,
    );
    let help =
        "The image that FNIRT or FLIRT registered; its voxels give FSL's coordinates their meaning";
    image_row(
        ui,
        ("Moving image", help),
        "This layer",
        &others,
        &mut warp.moving,
    );
}

fn image_row(
    ui: &mut Ui,
    (title, help): (&str, &str),
    none: &str,
    images: &[(String, PathBuf)],
    chosen: &mut Option<PathBuf>,
) {
    let now = images
        .iter()
        .find(|(_, path)| Some(path) == chosen.as_ref());
    let shown = match (now, &*chosen) {
        (Some((name, _)), _) => name.clone(),
        (None, Some(path)) => crate::data::text::file_name(path),
        (None, None) => none.to_owned(),
    };
    let selected = select_row(ui, title, help, &shown, |ui| {
        let mut selected = None;
        if menu::Item::new(none).chosen(chosen.is_none()).show(ui) {
            selected = Some(None);
        }
        for (name, path) in images {
            let is_now = Some(path) == chosen.as_ref();
            if menu::Item::new(name).chosen(is_now).show(ui) {
                selected = Some(Some(path.clone()));
            }
        }
        selected
    });
    if let Some(selected) = selected {
        *chosen = selected;
    }
}

/// How values between voxels are found.
fn interpolation(ui: &mut Ui, warp: &mut WarpReading) {
    let options = [
        None,
        Some(WarpInterpolation::Linear),
        Some(WarpInterpolation::Nearest),
        Some(WarpInterpolation::Labels),
    ];
    let now = label(warp.interpolation);
    let help = "Labels for masks and label maps, otherwise linear, unless another is chosen. Labels: the label with the \
                largest weight among the eight voxels around a point";
    let chosen = select_row(ui, "Between voxels", help, now, |ui| {
        let mut chosen = None;
        for option in options {
            let is_now = option == warp.interpolation;
            if menu::Item::new(label(option)).chosen(is_now).show(ui) {
                chosen = Some(option);
            }
        }
        chosen
    });
    if let Some(interpolation) = chosen {
        warp.interpolation = interpolation;
    }
}

fn label(interpolation: Option<WarpInterpolation>) -> &'static str {
    match interpolation {
        None => "By content",
        Some(WarpInterpolation::Linear) => "Linear",
        Some(WarpInterpolation::Nearest) => "Nearest voxel",
        Some(WarpInterpolation::Labels) => "Labels",
    }
}
