//! Volumes of the 3-D view, from the layers displayed as volumes.

use super::head_mask;
use crate::data::Volume;
use crate::scene::draw_list::{
    ById, CutAway, CutFace, CutPlane, Fade, SecondSource, ShapedTransfer, VolumeDraw,
    VolumeStyle as Drawn,
};
use crate::state::core::layer::Layer;
use crate::state::core::volume_look::{SecondValue, TwoValues, VolumeCut, VolumeLook, VolumeStyle};
use crate::state::{Camera, State, View};
use glam::DVec3;

/// The image of a layer if it can be shown as a volume: numbers, not colours, labels or fixels.
pub fn volume_of(layer: &Layer) -> Option<&Volume> {
    layer.content.scalar()
}

/// Bottom to top, of the visible layers.
pub fn layer_volumes(state: &State, camera: &Camera) -> Vec<VolumeDraw> {
    let layers = state.document.layers.iter().filter(|l| state.shows(l));
    let drawn = layers.filter_map(|layer| {
        let volume = volume_of(layer)?;
        let look = layer.display.volume.as_ref()?;
        draw(state, camera, layer, volume, look)
    });
    drawn.collect()
}

fn draw(
    state: &State,
    camera: &Camera,
    layer: &Layer,
    volume: &Volume,
    look: &VolumeLook,
) -> Option<VolumeDraw> {
    let display = &layer.display;
    let (low, high) = display.window;
    let style = match look.style {
        VolumeStyle::Hidden => return None,
        VolumeStyle::Cloud => Drawn::Cloud,
        VolumeStyle::Surface => Drawn::Surface {
            level: look.level,
            below: look.below,
            colour: look.transfer.colour((look.level - low) / (high - low)),
            opacity: look.opacity,
        },
        VolumeStyle::Maximum | VolumeStyle::Minimum => Drawn::Projection {
            smallest: look.style == VolumeStyle::Minimum,
            opacity: look.opacity,
        },
    };
    let shapes = match &look.two_values {
        Some(two) if style == Drawn::Cloud => Some(shaped(state, two)?),
        _ => None,
    };
    let planes = planes(look.cut, &state.view, camera);
    // A projection has no face: that would hide the values behind it.
    let is_projection = look.style.is_projection();
    let reach_mm = look.fade_mm.filter(|_| !planes.is_empty());
    let fade = reach_mm.map(|reach_mm| Fade {
        planes: planes.clone(),
        reach_mm,
    });
    Some(VolumeDraw {
        volume: ById(volume.clone()),
        frame: display.frame.min(volume.frames.saturating_sub(1)),
        window: display.window,
        transfer: look.transfer.clone(),
        reference_mm: look.reference_mm,
        style,
        interpolation: display.interpolation,
        lit: look.lit,
        cut: (!planes.is_empty()).then(|| CutAway {
            planes,
            face: (look.face && !is_projection).then(|| CutFace {
                window: display.window,
                colour_map: display.colour_map,
                opacity: 1.0,
                mask: head_mask(&state.document).map(ById),
            }),
        }),
        inside: super::segment::inside(state),
        fade,
        coloured_by: None,
        shapes,
    })
}

/// The second image of a transfer function of two values, if it has one and is open.
pub fn second_image(state: &State, second: SecondValue) -> Option<&Volume> {
    match second {
        SecondValue::Gradient | SecondValue::Curvature => None,
        SecondValue::Image(id) => volume_of(state.document.layer(id)?),
    }
}

/// `None` if the second image is not open: one value alone would show something else.
fn shaped(state: &State, two: &TwoValues) -> Option<ShapedTransfer> {
    let two = two.finite();
    let second = match two.second {
        SecondValue::Gradient => SecondSource::Gradient,
        SecondValue::Curvature => SecondSource::Curvature,
        image @ SecondValue::Image(_) => {
            SecondSource::Image(ById(second_image(state, image)?.clone()))
        }
    };
    Some(ShapedTransfer {
        second,
        window: two.window,
        third: two.third.map(|third| (third.value, third.window)),
        shapes: two.shapes,
    })
}

/// The planes of a cut for this camera.
pub(super) fn planes(cut: VolumeCut, view: &View, camera: &Camera) -> Vec<CutPlane> {
    let crosshair = view.crosshair;
    let plane = |normal| CutPlane {
        point: crosshair,
        normal,
    };
    match cut {
        VolumeCut::Nothing => Vec::new(),
        VolumeCut::Side(normal) => vec![plane(normal)],
        VolumeCut::Facing => vec![plane(-camera.forward())],
        VolumeCut::Corner => {
            let viewer = camera.eye() - crosshair;
            // The faces of the corner are the slices.
            let toward = |axis: DVec3| axis * viewer.dot(axis).signum();
            view.turn.axes().map(toward).map(plane).to_vec()
        }
        VolumeCut::Plane { at: point, normal } => vec![CutPlane { point, normal }],
    }
}
