//! The command that draws a picture from the opened files, where options of `arcuate render` describe everything it shows.

use crate::data::VolumeKind;
use crate::data::appearance::{ColourMap, Colours, TransferShape, value_at};
use crate::data::clip::ClipShape;
use crate::io::{Reading, quoted};
use crate::state::command_line::picture_options;
use crate::state::core::display;
use crate::state::core::glyph_look::GlyphLook;
use crate::state::core::layer::Layer;
use crate::state::core::overlay::Overlay;
use crate::state::core::slice_turn::SliceTurn;
use crate::state::core::task::Task;
use crate::state::core::text::quoted_path;
use crate::state::core::volume_look::{SecondValue, TwoValues, VolumeLook, VolumeStyle};
use crate::state::origin::Origin;
use crate::state::pictures::Look;
use crate::state::scene_look::{ClippedKinds, SceneClip, SceneLook};
use crate::state::track::types::TrackSettings;
use crate::state::view::{Layout, SliceCamera, View, Visibility};
use crate::state::{Camera, Content, Convention, Display, Document, Pane, State};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The part of a picture that the options cannot describe, to be named in a sentence.
type NoOption = String;

/// The command of a picture of a view, from the opened files.
pub(in crate::state::pictures) fn from_files(
    state: &State,
    pane: Option<Pane>,
    look: &Look,
) -> Result<String, NoOption> {
    let document = &state.document;
    let pane = pane.ok_or("the panels of the window")?;
    if document.layers.is_empty() {
        return Err("an empty view".to_owned());
    }
    only_files(state)?;
    let mut options = String::new();
    let mut inputs = String::new();
    let mut glyphs = GlyphLook::default();
    let last = document.layers.last();
    for layer in &document.layers {
        let file = quoted_path(&file_of(document, layer)?);
        match &layer.content {
            Content::Image(volume) if volume.fixels.is_some() => {
                if last.is_none_or(|last| last.id != layer.id) {
                    return Err(format!(
                        "the position of the fixels “{}” below other layers",
                        layer.name
                    ));
                }
                glyphs = glyphs.showing_peaks_of(layer.id);
                let _ = write!(options, " --fixels {file}");
                options += &fixel_options(state, layer)?;
                (glyphs.peaks.same_length, glyphs.peaks.by_value) = (
                    state.view.glyphs.peaks.same_length,
                    state.view.glyphs.peaks.by_value,
                );
            }
            _ => {
                let _ = write!(inputs, " {file}");
                options += &layer_options(document, layer, pane)?;
            }
        }
    }
    if state.view.glyphs != glyphs {
        return Err("the glyphs".to_owned());
    }
    options += &scene_options(&document.scene_look, pane)?;
    options += &view_options(&state.view, pane)?;
    let at = state.view.crosshair;
    let picture = picture_options(Some(pane), look, at);
    Ok(format!("arcuate render{inputs}{options}{picture}"))
}

/// The part of a picture that neither a session nor options describe, since it is not stored, and its remedy.
pub(in crate::state::pictures) fn not_stored(
    state: &State,
) -> Option<(&'static str, &'static str)> {
    let pending = &state.runtime.pending_transforms;
    if state.manual_selection().is_some() {
        Some(("the selected streamlines", "Clear the selection first"))
    } else if !pending.requested.is_empty() || pending.live.running().is_some() {
        Some((
            "the transform that is still being applied",
            "Wait until it is applied",
        ))
    } else {
        None
    }
}

/// Refuses what the options cannot describe: everything but files.
fn only_files(state: &State) -> Result<(), NoOption> {
    let document = &state.document;
    let runtime = &state.runtime;
    let parts = [
        ("the regions", !document.regions.is_empty()),
        ("the kept pathways", !document.kept_pathways.is_empty()),
        ("the surfaces", !document.surfaces.is_empty()),
        ("the tensors of a fit", document.tensors.is_some()),
        ("the surface of Segment", runtime.segment.live.is_some()),
        (
            "the comparison with a snapshot",
            runtime.snapshots.comparing.is_some(),
        ),
        ("the weights of streamlines", !document.weights.is_empty()),
        (
            "the selection rules of streamlines",
            document.streamlines.has_rules(),
        ),
        (
            "the measurements",
            !document.streamlines.measurements.is_empty(),
        ),
        ("the views of another task", state.view.task != Task::View),
    ];
    let missing = parts.into_iter().find(|(_, is_shown)| *is_shown);
    missing.map_or(Ok(()), |(what, _)| Err(what.to_owned()))
}

/// The file of a layer that is opened without questions and has its default name.
fn file_of(document: &Document, layer: &Layer) -> Result<PathBuf, NoOption> {
    let unfiled = || format!("the origin of “{}”", layer.name);
    let Origin::File {
        file,
        reading,
        gradients,
    } = document.origins.get(layer.origin)
    else {
        return Err(unfiled());
    };
    let is_scan = matches!(
        &layer.content,
        Content::Scan {
            gradients: Some(_),
            ..
        }
    );
    if *reading != Reading::default() || !gradients.is_empty() || is_scan {
        return Err(unfiled());
    }
    let name = &layer.name;
    let is_of_file = file.file_name().is_some_and(|file| {
        let rest = file.to_string_lossy();
        let rest = rest.strip_prefix(&**name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    let same = document
        .layers
        .iter()
        .filter(|l| l.name.eq_ignore_ascii_case(name));
    match is_of_file && same.count() == 1 && !name.contains([':', '=', ',']) {
        true => Ok(file.clone()),
        false => Err(format!("the layer name “{name}”")),
    }
}

/// The option with this argument.
fn option(name: &str, argument: &str) -> String {
    format!(" --{name} {}", quoted(argument))
}

fn range_text((low, high): (f32, f32)) -> String {
    format!("{low}..{high}")
}

fn default_of_masks(document: &Document) -> Display {
    let mut layers = document.layers.iter();
    match layers.any(|layer| layer.content.volume().is_some()) {
        true => display::mask_display(),
        false => display::mask_alone(),
    }
}

/// The options of a layer that is no list of fixels.
fn layer_options(document: &Document, layer: &Layer, pane: Pane) -> Result<String, NoOption> {
    let look_of = || format!("the look of “{}”", layer.name);
    let name = &layer.name;
    let shown = &layer.display;
    let mut options = String::new();
    let scalar = layer.content.scalar();
    // Their default opacity depends on the layers that are open before, so that it is always given.
    let is_label_map = layer.content.volume().is_some_and(|v| v.labels.is_some());
    let (default, has_range) = match (&layer.content, scalar) {
        (Content::Image(volume) | Content::Scan { dwi: volume, .. }, _) => {
            let window = volume.percentiles(0, 0.01, 0.99);
            let is_plain = volume.kind == VolumeKind::Scalar && volume.labels.is_none();
            (display::image_display(window), is_plain)
        }
        (Content::Tractogram(_), _) => (TrackSettings::default().streamline_display, false),
        (Content::Mask(_), _) if *shown == default_of_masks(document) => return Ok(options),
        (Content::Mask(_), _) => return Err(format!("the mask “{name}”")),
        (Content::InPlace(_), _) => {
            return Err(format!("the streamlines “{name}” that stay in their file"));
        }
    };
    let mut expressed = default.clone();
    let look = shown
        .volume
        .as_ref()
        .filter(|look| look.style != VolumeStyle::Hidden);
    if has_range && !has_range_of_options(shown) {
        return Err(look_of());
    }
    if has_range && (shown.window, shown.colour_map) != (default.window, default.colour_map) {
        let map = match shown.colour_map == default.colour_map {
            true => String::new(),
            false => format!(":{}", shown.colour_map.key()),
        };
        options += &option(
            "range",
            &format!("{name}:{}{map}", range_text(shown.window)),
        );
        (expressed.window, expressed.colour_map) = (shown.window, shown.colour_map);
    }
    options += &overlay_options(name, &shown.overlay);
    expressed.overlay = shown.overlay.clone();
    if let (Some(look), Some(volume), Pane::Scene) = (look, scalar, pane) {
        let default = VolumeLook::default_for(volume, shown.window);
        options += &volume_options(document, layer, look, &default)?;
    }
    // Looks in 3-D change no slice.
    expressed.volume.clone_from(&shown.volume);
    if is_label_map || shown.opacity != default.opacity {
        options += &option("opacity", &format!("{name}:{}", shown.opacity));
        expressed.opacity = shown.opacity;
    }
    if !shown.visible {
        options += &option("hide", name);
        expressed.visible = false;
    }
    match expressed == *shown {
        true => Ok(options),
        false => Err(look_of()),
    }
}

/// Whether `--range` can describe the range and the colour map.
fn has_range_of_options(shown: &Display) -> bool {
    shown.window.0 < shown.window.1 && ColourMap::FOR_IMAGES.contains(&shown.colour_map)
}

fn overlay_options(name: &str, overlay: &Overlay) -> String {
    let mut options = String::new();
    if let Some(limits) = overlay.limits {
        options += &option("limits", &format!("{name}:{}", range_text(limits)));
    }
    for (flag, is_on) in [
        ("symmetric", overlay.is_symmetric),
        ("opacity-by-value", overlay.opacity_by_value),
        ("outline", overlay.is_outlined),
    ] {
        if is_on {
            options += &option(flag, name);
        }
    }
    options
}

/// The options of fixels, which `--fixels` opens with a range of their own.
fn fixel_options(state: &State, layer: &Layer) -> Result<String, NoOption> {
    let shown = &layer.display;
    let fixels = layer
        .content
        .volume()
        .and_then(|volume| volume.fixels.as_ref());
    let window = fixels.map_or(shown.window, |fixels| fixels.window);
    // Options of values are refused for fixels without any, whose picture they would not change.
    let has_values = fixels.is_some_and(|fixels| fixels.has_values());
    let mut options = String::new();
    let default = Display {
        colour_map: ColourMap::Viridis,
        ..display::image_display(window)
    };
    if has_values && shown.window != window {
        options += &option("fixel-range", &range_text(shown.window));
    }
    if !has_range_of_options(shown) {
        return Err(format!("the look of “{}”", layer.name));
    }
    if shown.colour_map != default.colour_map {
        let (range, map) = (range_text(shown.window), shown.colour_map.key());
        options += &option("range", &format!("{}:{range}:{map}", layer.name));
    }
    if let Some(limits) = shown.overlay.limits.filter(|_| has_values) {
        options += &option("fixel-limits", &range_text(limits));
    }
    if shown.overlay.is_symmetric {
        options += &option("symmetric", &layer.name);
    }
    let peaks = state.view.glyphs.peaks;
    if peaks.same_length {
        options += " --peak-length same";
    }
    if has_values && peaks.by_value {
        options += " --peak-colour value";
    }
    if !shown.visible {
        options += &option("hide", &layer.name);
    }
    let expressed = Display {
        window: shown.window,
        colour_map: shown.colour_map,
        visible: shown.visible,
        overlay: Overlay {
            limits: shown.overlay.limits,
            is_symmetric: shown.overlay.is_symmetric,
            ..Overlay::default()
        },
        ..default
    };
    match expressed == *shown {
        true => Ok(options),
        false => Err(format!("the look of “{}”", layer.name)),
    }
}

fn colours_text(colours: Colours) -> String {
    match colours {
        Colours::Map(map) => map.key().to_owned(),
        Colours::Fixed(rgb) => colour_text(rgb),
    }
}

fn colour_text([r, g, b]: [u8; 3]) -> String {
    format!("{r:02X}{g:02X}{b:02X}")
}

/// The options of a cloud or a projection.
fn volume_options(
    document: &Document,
    layer: &Layer,
    look: &VolumeLook,
    default: &VolumeLook,
) -> Result<String, NoOption> {
    let name = &layer.name;
    let look_of = || format!("the look of “{name}” in 3-D");
    let is_projection = look.style.is_projection();
    // The level and its side are those of a surface, the face that of a cut; clouds have no opacity of their own.
    let expressed = VolumeLook {
        style: look.style,
        transfer: look.transfer.clone(),
        reference_mm: look.reference_mm,
        level: look.level,
        below: look.below,
        lit: look.lit,
        opacity: if is_projection { 1.0 } else { look.opacity },
        face: look.face,
        two_values: look.two_values.clone(),
        ..default.clone()
    };
    let has_colours = match look.transfer.colours {
        Colours::Map(map) => ColourMap::FOR_IMAGES.contains(&map),
        Colours::Fixed(_) => !is_projection,
    };
    if look.style == VolumeStyle::Surface || expressed != *look || !has_colours {
        return Err(look_of());
    }
    let colours = colours_text(look.transfer.colours);
    if is_projection {
        let (kind, range) = (look.style.key(), range_text(layer.display.window));
        let projection = format!("{name}:{kind}:{range}:{colours}");
        return Ok(option("projection", &projection));
    }
    let mut options = option("cloud", &format!("{name}:{colours}"));
    if look.reference_mm != default.reference_mm {
        options += &option("cloud-thickness", &format!("{name}:{}", look.reference_mm));
    }
    if !look.lit {
        options += &option("cloud-flat", name);
    }
    match &look.two_values {
        Some(two) => options += &shapes_options(document, layer, two)?,
        None => {
            let points = look.transfer.points().iter();
            let points: Vec<String> = points
                .map(|(at, opacity)| format!("{at}={opacity}"))
                .collect();
            options += &option("cloud-curve", &format!("{name}:{}", points.join(",")));
        }
    }
    Ok(options)
}

/// The options of a transfer function of two or three values.
fn shapes_options(document: &Document, layer: &Layer, two: &TwoValues) -> Result<String, NoOption> {
    let two = two.finite();
    let name = &layer.name;
    let second = match two.second {
        SecondValue::Gradient | SecondValue::Curvature => {
            two.second.derived().map(|value| value.key().to_owned())
        }
        SecondValue::Image(id) => document.layer(id).map(|layer| layer.name.clone()),
    };
    let is_named = |second: &String| match two.second {
        // The key of a derived value would hide the layer.
        SecondValue::Image(_) => !matches!(second.as_str(), "gradient" | "curvature"),
        SecondValue::Gradient | SecondValue::Curvature => true,
    };
    let second = second.filter(is_named);
    let second = second.ok_or_else(|| format!("the second value of “{name}”"))?;
    if two.shapes.is_empty() {
        return Err(format!("the cloud of “{name}” without shapes"));
    }
    let mut options = String::new();
    for shape in &two.shapes {
        options += &option("cloud-shape", &shape_text(layer, &second, &two, shape));
    }
    options += &option(
        "cloud-second-range",
        &format!("{name}:{}", range_text(two.window)),
    );
    if let Some(third) = two
        .third
        .filter(|_| two.shapes.iter().any(TransferShape::has_third))
    {
        options += &option(
            "cloud-third-range",
            &format!("{name}:{}", range_text(third.window)),
        );
    }
    Ok(options)
}

fn shape_text(layer: &Layer, second: &str, two: &TwoValues, shape: &TransferShape) -> String {
    let windows = [layer.display.window, two.window];
    let limits = [0, 1].map(|axis| {
        let value = |share| value_at(share, windows[axis]);
        range_text((value(shape.low[axis]), value(shape.high[axis])))
    });
    let mut text = format!(
        "{}:{second}:{}:{}:{}:{}:{}:softness={}",
        layer.name,
        shape.kind.key(),
        limits[0],
        limits[1],
        colour_text(shape.colour),
        shape.opacity,
        shape.softness
    );
    if shape.foot != TransferShape::FOOT {
        let _ = write!(text, ":foot={}", shape.foot);
    }
    if let Some(third) = two.third.filter(|_| shape.has_third()) {
        let [low, high] = shape.third;
        let end = |share: f32, open: f32| match share == open {
            true => String::new(),
            false => six_digits(value_at(share, third.window)).to_string(),
        };
        let (low, high) = (end(low, 0.0), end(high, 1.0));
        let _ = write!(text, ":{}={low}..{high}", third.value.key());
    }
    text
}

/// A value that was computed in single precision, without the digits that are its rounding errors.
fn six_digits(value: f32) -> f32 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The options of clips and of the depth cue.
fn scene_options(look: &SceneLook, pane: Pane) -> Result<String, NoOption> {
    let mut options = String::new();
    if pane != Pane::Scene {
        return Ok(options);
    }
    for clip in look.clips.iter().filter(|clip| clip.is_on) {
        options += &option("clip", &clip_text(clip)?);
    }
    if look.depth_cue != 0.0 {
        let _ = write!(options, " --depth-cue {}", look.depth_cue);
    }
    Ok(options)
}

fn clip_text(clip: &SceneClip) -> Result<String, NoOption> {
    let point = |p: glam::DVec3| format!("{},{},{}", p.x, p.y, p.z);
    let mut text = match clip.shape {
        ClipShape::Plane { normal, offset_mm } => format!("plane:{}:{offset_mm}", point(normal)),
        ClipShape::Box { low, high } => format!("box:{}:{}", point(low), point(high)),
    };
    if clip.hides_inside {
        text += ":inverted";
    }
    let kinds = clip.kinds;
    let named = [
        ("volumes", kinds.volumes),
        ("surfaces", kinds.surfaces),
        ("streamlines", kinds.streamlines),
        ("glyphs", kinds.glyphs),
    ];
    if !named.iter().any(|(_, is_clipped)| *is_clipped) {
        return Err(format!("the clip “{}”", clip.name));
    }
    if kinds != ClippedKinds::default() {
        for (name, _) in named.iter().filter(|(_, is_clipped)| *is_clipped) {
            let _ = write!(text, ":{name}");
        }
    }
    Ok(text)
}

/// The options of the view, if they describe all of it that a picture of this pane shows.
fn view_options(view: &View, pane: Pane) -> Result<String, NoOption> {
    let default = View::default();
    let mut options = String::new();
    let visible = Visibility {
        panels: default.visible.panels,
        slices_in_scene: default.visible.slices_in_scene,
        slices_with_tracks: default.visible.slices_with_tracks,
        side_list: default.visible.side_list,
        bottom_panel_height: default.visible.bottom_panel_height,
        ..view.visible.clone()
    };
    let is_mosaic = view.layout == Layout::Mosaic && view.single == pane;
    let parts = [
        (
            "the parts of the views that are shown or hidden",
            visible != default.visible,
        ),
        ("the light theme", view.light_theme != default.light_theme),
        ("streamlines near a slice only", view.slab.is_some()),
        (
            "streamlines by the reason why they stopped",
            view.stop.is_some(),
        ),
        ("turned slices", view.turn != SliceTurn::STRAIGHT),
        ("a mosaic", is_mosaic),
        (
            "a slice that is magnified or moved",
            pane != Pane::Scene && view.slices != [SliceCamera::default(); 3],
        ),
    ];
    if let Some((what, _)) = parts.into_iter().find(|(_, is_shown)| *is_shown) {
        return Err(what.to_owned());
    }
    if view.convention == Convention::Neurological {
        options += " --neurological";
    }
    if pane == Pane::Scene {
        if !view.visible.slices_in_scene {
            options += " --no-slices";
        }
        let Camera {
            focus,
            distance_mm,
            azimuth,
            elevation,
        } = view.camera;
        // Thousandths of mm and of degrees move no pixel; adding 0 turns −0 into 0.
        let rounded = |value: f64| (1e3 * value).round() / 1e3 + 0.0;
        let [x, y, z] = focus.to_array().map(rounded);
        let [azimuth, elevation] = [azimuth, elevation].map(|v| rounded(v.to_degrees()));
        let distance_mm = rounded(distance_mm);
        let _ = write!(
            options,
            " --camera {x},{y},{z}:{distance_mm}:{azimuth},{elevation}"
        );
    }
    Ok(options)
}
