//! Directions at a seed.

use crate::support::{Random, test};
use arcuate::solvers::geodesic::Directions;
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("geodesic::fans are even", even),
        test("geodesic::cones keep their angle", cones),
        test("geodesic::cones share the peaks of a seed", peaks),
        test("geodesic::icospheres have their corners", icospheres),
    ]
}

/// The mean of directions, and of their outer products, equal those of the whole sphere.
fn even() {
    for count in [50, 200, 1000] {
        let fan = Directions::Sphere { count }.fan(false, DVec3::X);
        assert_eq!(fan.len(), count);
        let mean = fan.iter().sum::<DVec3>() / count as f64;
        assert!(mean.length() < 2.0 / count as f64, "{mean}");
        for axis in DVec3::AXES {
            let square = fan.iter().map(|v| v.dot(axis).powi(2)).sum::<f64>() / count as f64;
            assert!((square - 1.0 / 3.0).abs() < 4.0 / count as f64, "{square}");
        }
        assert!(fan.iter().all(|v| (v.length() - 1.0).abs() < 1e-12));
    }
}

fn cones() {
    let mut random = Random::fresh("cones");
    for both_ways in [false, true] {
        for count in [1, 2, 33] {
            let axis = random.direction();
            let half_angle_rad = random.uniform(0.1, 1.5);
            let cone = Directions::Cone {
                count,
                half_angle_rad,
            };
            let fan = cone.fan(both_ways, axis);
            assert_eq!(fan.len(), count);
            let widest = fan.iter().map(|v| v.dot(axis).abs().min(1.0).acos());
            assert!(widest.fold(0.0, f64::max) <= half_angle_rad + 1e-9);
            let behind = fan.iter().filter(|v| v.dot(axis) < 0.0).count();
            assert_eq!(behind, if both_ways { 0 } else { count / 2 });
        }
    }
    let axis = random.direction();
    assert_eq!(Directions::Principal.fan(false, axis), [axis]);
}

/// Successive directions of a cone lie around successive peaks; other fans ignore all but the largest.
fn peaks() {
    let half_angle_rad = 0.1;
    let cone = Directions::Cone {
        count: 9,
        half_angle_rad,
    };
    // The sense of a peak has no meaning.
    let axes = [DVec3::X, DVec3::NEG_Y];
    let fan = cone.fan_of_peaks(true, &axes);
    assert_eq!(fan.len(), 9);
    for (i, direction) in fan.iter().enumerate() {
        let from_axis = direction.dot(axes[i % 2]).abs().min(1.0).acos();
        assert!(from_axis <= half_angle_rad + 1e-9, "{i}: {from_axis}");
        let opposite = cone.fan_of_peaks(true, &[-axes[0], -axes[1]])[i];
        assert_eq!(opposite, *direction);
    }
    assert_eq!(Directions::Principal.fan_of_peaks(true, &axes), [DVec3::X]);
    let sphere = Directions::Sphere { count: 7 };
    assert_eq!(sphere.fan_of_peaks(true, &[]), sphere.fan(true, DVec3::X));
    for needs_peak in [cone, Directions::Principal] {
        assert!(needs_peak.fan_of_peaks(true, &[]).is_empty());
    }
}

fn icospheres() {
    for level in 0..4 {
        let directions = Directions::Icosphere { level };
        let corners = directions.fan(false, DVec3::X);
        assert_eq!(corners.len(), [12, 42, 162, 642][level]);
        assert_eq!(corners.len(), directions.count());
        for (i, a) in corners.iter().enumerate() {
            // Its opposite is a corner too, and no corner appears twice.
            assert!(corners.iter().any(|b| (*a + *b).length() < 1e-9));
            assert!(corners[..i].iter().all(|b| a.distance(*b) > 1e-3));
        }
    }
    assert_eq!(Directions::Icosphere { level: 99 }.count(), usize::MAX);
}
