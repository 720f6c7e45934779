//! Overlays: undo, sessions, and the contours that views draw.

use crate::support::test;
use arcuate::data::{Grid, Mask, Volume};
use arcuate::scene::draw_list::Contour;
use arcuate::scene::{self, Size};
use arcuate::state::core::display::{image_display, mask_display};
use arcuate::state::core::overlay::Overlay;
use arcuate::state::origin::{Origin, Origins};
use arcuate::state::{
    Action, Content, Display, Layer, LayerAction, LayerId, Pane, Phase, State, update,
};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("overlays::borders are those of the limits", borders),
        test(
            "overlays::outlines of images and masks are contours",
            contours,
        ),
        test(
            "overlays::sessions keep them and read older ones",
            serialised,
        ),
    ]
}

fn borders() {
    let limits = |is_symmetric| Overlay {
        limits: Some((1.5, 4.0)),
        is_symmetric,
        ..Overlay::default()
    };
    assert_eq!(limits(false).borders(), [1.5, 4.0]);
    assert_eq!(limits(true).borders(), [-4.0, -1.5, 1.5, 4.0]);
    assert!(Overlay::default().borders().is_empty());
}

fn serialised() {
    let display = Display {
        overlay: Overlay {
            limits: Some((0.5, f32::INFINITY)),
            opacity_by_value: true,
            ..Overlay::default()
        },
        ..Display::default()
    };
    // Infinity cannot be written.
    assert_eq!(display.overlay.finite().limits, None);
    let text = serde_json::to_value(display.overlay.finite()).expect("JSON");
    let back: Overlay = serde_json::from_value(text).expect("an overlay");
    assert_eq!(back, display.overlay.finite());
    let mut older = serde_json::to_value(Display::default()).expect("JSON");
    assert!(older.get("overlay").is_none(), "the default is not written");
    older["opacity"] = 0.25.into();
    let back: Display = serde_json::from_value(older).expect("a display");
    assert!(back.opacity == 0.25 && back.overlay.is_default());
}

/// The contours on an axial slice.
fn drawn(state: &State) -> Vec<Contour> {
    let size = Size {
        points: DVec2::splat(100.0),
        pixels_per_point: 1.0,
    };
    scene::slice(state, Pane::Axial, size)
        .expect("a slice")
        .contours
}

/// An image has a line at each limit, a mask one around it; undo takes them away.
fn contours() {
    let grid = Grid::axis_aligned([4; 3], DVec3::ONE, DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let values = (0..64).map(|v| v as f32 - 30.0).collect::<Vec<f32>>();
    let image = Volume::scalar(grid.clone(), values);
    let mask = Mask::new(grid, (0..64).map(|v| u8::from(v > 20)).collect::<Vec<u8>>());
    let mut state = State::new(String::new());
    let origins = Origins::default();
    let mut add = |name: &str, content, display| {
        let id = LayerId(state.document.fresh_id());
        let origin = origins.add(Origin::file(format!("/data/{name}.nii.gz")));
        let layer = Layer::new(id, name.to_owned(), content, display, origin);
        state.document.layers.push(Arc::new(layer));
        id
    };
    let stat = add(
        "stat",
        Content::Image(image.clone()),
        image_display((-3.0, 3.0)),
    );
    let roi = add("roi", Content::Mask(mask.clone()), mask_display());
    state.document.origins = origins;
    let outline = |state: &mut State, layer: LayerId, limits, is_symmetric| {
        let display = state.document.layer(layer).unwrap().display.clone();
        let overlay = Overlay {
            limits,
            is_symmetric,
            is_outlined: true,
            ..Overlay::default()
        };
        let display = Display {
            visible: true,
            overlay,
            ..display
        };
        let action = LayerAction::SetDisplay {
            layer,
            display,
            phase: Phase::Done,
        };
        update(state, Action::Layer(action));
    };
    assert!(drawn(&state).is_empty());
    outline(&mut state, stat, Some((2.0, 5.0)), true);
    let levels: Vec<f32> = drawn(&state).iter().map(|c| c.level).collect();
    assert_eq!(levels, [-5.0, -2.0, 2.0, 5.0]);
    outline(&mut state, roi, None, false);
    let all = drawn(&state);
    assert!(all.iter().any(|contour| contour.level == 0.5));
    update(&mut state, Action::Undo);
    update(&mut state, Action::Undo);
    assert!(drawn(&state).is_empty());
}
