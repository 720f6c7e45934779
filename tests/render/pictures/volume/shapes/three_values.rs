//! Transfer functions of three values: the gradient magnitude or the curvature limits shapes over two others.

use super::super::{WIDE, any_eye, any_grid, cloud, distances, field, pixels, shown};
use super::{compare_three, shape, shaped, with};
use crate::pictures::offscreen;
use crate::support::{Random, test};
use arcuate::data::appearance::{ShapeKind, TransferShape};
use arcuate::data::joint_histogram::DerivedValue;
use arcuate::scene::draw_list::{ById, SecondSource, ShapedTransfer, Transfer, VolumeDraw};
use arcuate::state::core::volume_look::{SecondValue as Second, ThirdValue, TwoValues, VolumeLook};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "render::clouds by value, gradient and curvature are integrals",
            three_values,
        ),
        test(
            "render::limits of a third value show nothing where the image is flat",
            flat_third,
        ),
    ]
}

/// Distances from a point have the gradient 1 and the curvature −1 / radius. Either limits shapes over the other, and both
/// limit shapes over another image; an end of the window without a limit is open.
fn three_values() {
    let mut random = Random::fresh("three values");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 64, 19.0), DVec3::ZERO);
    let axis = random.direction();
    let other = field(any_grid(&mut random, 50, 24.0), |at| at.dot(axis) as f32);
    let (gradients, curvatures) = ((0.0f32, 2.0f32), (-0.3f32, 0.1f32));
    let by_gradient = SecondSource::Gradient;
    let by_curvature = SecondSource::Curvature;
    let by_image = SecondSource::Image(ById(other));
    let curvature = (DerivedValue::Curvature, curvatures);
    let gradient = (DerivedValue::Gradient, gradients);
    let share =
        |value: f64, (low, high): (f32, f32)| (value - f64::from(low)) / f64::from(high - low);
    let radii = [[0.3, 0.7], [0.1, 0.9]];
    // From -0.094 to -0.068 1/mm, that is from radii of 10.6 to 14.7 mm, the opacity falls to 0.
    let within = [0.25f32, 0.58];
    let mut cases = Vec::new();
    for kind in ShapeKind::ALL {
        cases.push((
            by_gradient.clone(),
            gradients,
            curvature,
            kind,
            radii,
            within,
        ));
    }
    let rest = [
        (
            by_gradient,
            gradients,
            curvature,
            ShapeKind::Box,
            radii,
            [0.45, 1.0],
        ),
        (
            by_curvature.clone(),
            curvatures,
            gradient,
            ShapeKind::Box,
            [[0.3, 0.7], [0.05, 0.7]],
            [0.2, 0.8],
        ),
        (
            by_image.clone(),
            (-15.0, 15.0),
            curvature,
            ShapeKind::Ellipse,
            [[0.35, 0.7], [0.2, 0.9]],
            within,
        ),
        (
            by_image,
            (-15.0, 15.0),
            gradient,
            ShapeKind::Box,
            [[0.1, 0.6], [0.2, 0.9]],
            [0.0, 0.8],
        ),
    ];
    cases.extend(rest);
    for (second, window, third, kind, limits, range) in cases {
        let limited = TransferShape {
            third: range,
            ..shape(kind, limits, 0.2)
        };
        // A second shape without limits of the third value adds its density.
        let other = shape(ShapeKind::Box, [[0.35, 0.5], limits[1]], 0.15);
        let is_curvature = second == SecondSource::Curvature;
        let is_gradient = second == SecondSource::Gradient;
        let draw = VolumeDraw {
            shapes: Some(ShapedTransfer {
                second,
                window,
                third: Some(third),
                shapes: vec![limited, other],
            }),
            ..cloud(&volume, Transfer::rising())
        };
        let list = shown(vec![draw], any_eye(&mut random));
        let picture = offscreen.scene(&list).expect("a picture");
        compare_three(&picture, &list, &[limited, other], |at| {
            let curvature = -1.0 / at.length();
            let second = match (is_gradient, is_curvature) {
                (true, _) => 1.0,
                (_, true) => curvature,
                _ => at.dot(axis),
            };
            let limiting = match third.0 {
                DerivedValue::Gradient => 1.0,
                DerivedValue::Curvature => curvature,
            };
            [
                at.length() / f64::from(WIDE),
                share(second, window),
                share(limiting, third.1),
            ]
        });
    }
    // Gradients of 1 are outside the limits.
    let away = TransferShape {
        third: [0.6, 0.9],
        ..shape(ShapeKind::Box, [[0.2, 0.7], [0.05, 0.7]], 0.9)
    };
    let mut draw = shaped(&volume, None, curvatures);
    if let Some(shaped) = &mut draw.shapes {
        (shaped.second, shaped.third) = (by_curvature, Some(gradient));
    }
    let list = shown(vec![with(&draw, &[away])], any_eye(&mut random));
    let picture = offscreen.scene(&list).expect("a picture");
    let brightest = pixels().map(|(x, y)| picture.pixel(x, y)[0]).max();
    assert!(brightest <= Some(2), "{brightest:?}");
}

/// A flat image has no curvature: limits of it show nothing, also open ones; shapes without limits show all of it.
fn flat_third() {
    let mut random = Random::fresh("flat third value");
    let mut offscreen = offscreen();
    // Sums of zeros are exact, whatever the weights of the interpolation.
    let flat = field(any_grid(&mut random, 24, 12.0), |_| 0.0);
    let everywhere = shape(ShapeKind::Box, [[0.3, 0.7], [0.0, 0.5]], 0.9);
    let draw = VolumeDraw {
        shapes: Some(ShapedTransfer {
            second: SecondSource::Gradient,
            window: (0.0, 2.0),
            third: Some((DerivedValue::Curvature, (-1.0, 1.0))),
            shapes: Vec::new(),
        }),
        window: (-20.0, 20.0),
        ..cloud(&flat, Transfer::rising())
    };
    let eye = any_eye(&mut random);
    let mut brightest = |third| {
        let limited = TransferShape {
            third,
            ..everywhere
        };
        let list = shown(vec![with(&draw, &[limited])], eye);
        let picture = offscreen.scene(&list).expect("a picture");
        pixels().map(|(x, y)| picture.pixel(x, y)[0]).max()
    };
    assert!(brightest(TransferShape::NO_THIRD) > Some(200));
    assert_eq!(brightest([0.0, 0.9]), Some(0));
    assert_eq!(brightest([0.1, 1.0]), Some(0));
    assert_eq!(brightest([1.3, 1.0]), Some(0));
}

/// A third value is stored with its limits; without numbers, or equal to the second value, it is dropped with them.
pub fn stored(two: &TwoValues) {
    let value = DerivedValue::Curvature;
    let window = (-0.5, 0.5);
    let mut limited = two.with_third(Some(ThirdValue { value, window }));
    limited.shapes[0].third = [0.25, 1.0];
    let look = VolumeLook {
        two_values: Some(limited.clone()),
        ..VolumeLook::default()
    };
    let text = serde_json::to_string(&look).expect("text");
    assert!(text.contains(r#""third":{"value":"curvature""#), "{text}");
    assert_eq!(serde_json::from_str::<VolumeLook>(&text).ok(), Some(look));
    assert_eq!(limited.finite(), limited);
    let limits = limited.third_limits(0);
    assert_eq!(limits, Some((value, (-0.25, f32::INFINITY))));
    let same = TwoValues {
        second: Second::Curvature,
        ..limited.clone()
    };
    let window = (1.0, 0.0);
    let broken = TwoValues {
        third: Some(ThirdValue { value, window }),
        ..limited.clone()
    };
    for repaired in [same.finite(), broken.finite()] {
        assert_eq!(repaired.third, None);
        assert_eq!(repaired.shapes[0].third, TransferShape::NO_THIRD);
    }
    // Another third value has other limits, the same one keeps them in another window.
    let wider = limited.with_third(Some(ThirdValue {
        value,
        window: (-1.0, 1.0),
    }));
    assert_eq!(wider.shapes[0].third, [0.25, 1.0]);
    assert_eq!(
        limited.with_third(None).shapes[0].third,
        TransferShape::NO_THIRD
    );
    // A limit beyond an open end stays: the shape shows nothing within the window, not the part between both.
    for (third, expected) in [
        ([1.5, 1.0], (1.0, f32::INFINITY)),
        ([1.0, 1.0], (0.5, f32::INFINITY)),
        ([0.0, -0.25], (f32::NEG_INFINITY, -0.75)),
        ([0.0, 0.0], (f32::NEG_INFINITY, -0.5)),
        ([1.25, 1.5], (0.75, 1.0)),
    ] {
        let mut beyond = limited.clone();
        beyond.shapes[0].third = third;
        assert_eq!(beyond.finite(), beyond, "{third:?}");
        assert_eq!(beyond.third_limits(0), Some((value, expected)));
        // Another window changes no limit.
        let (_, (low, high)) = (beyond.in_third_window((-4.0, 4.0)).finite().third_limits(0))
            .expect("limits in the other window");
        for (found, expected) in [(low, expected.0), (high, expected.1)] {
            assert!(
                found == expected || (found - expected).abs() < 1e-5,
                "{third:?}: {found} {expected}"
            );
        }
        let [low, high, rise, _] = beyond.shapes[0].texels()[4];
        assert!(low < 1e6 && high > -1e6 && rise > 1e-4, "{third:?}");
    }
}
