//! Rules on the values of an image along streamlines.

use super::{on, run, walks};
use crate::support::Random;
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume, VolumeKind};
use arcuate::solvers::tractogram::selection::{
    OnImage, PointStatistic, RejectReason, SelectionRules, means,
};
use glam::DVec3;
use std::sync::Arc;

/// Against the values looked up point by point, one image rule at a time, and all together.
pub fn images() {
    let mut random = Random::fresh("selection images");
    let grid =
        Arc::new(Grid::axis_aligned([9, 8, 7], DVec3::splat(6.0), DVec3::splat(-25.0)).unwrap());
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|_| random.uniform(0.0, 1.0) as f32)
        .collect();
    let volume = Volume::new(grid, 1, VolumeKind::Scalar, values);
    let lines = walks(&mut random, 300);
    let all_values = column_of(&volume, &lines);
    let mut together: Option<Vec<bool>> = None;
    let mut rules = SelectionRules::default();
    for (counting, low, high) in [
        (PointStatistic::Mean, 0.45, 0.55),
        (PointStatistic::Any, 0.8, 0.82),
        (PointStatistic::All, 0.1, f32::INFINITY),
    ] {
        let image = OnImage {
            volume: volume.clone(),
            frame: 0,
            counting,
            low,
            high,
        };
        let within = |v: f32| low <= v && v <= high;
        let expected: Vec<bool> = all_values
            .iter()
            .map(|values| match counting {
                PointStatistic::Mean => {
                    // Points outside the image do not count.
                    let inside = values.iter().filter(|v| !v.is_nan());
                    let sum: f64 = inside.clone().map(|v| f64::from(*v)).sum();
                    within((sum / inside.count() as f64) as f32)
                }
                PointStatistic::Any => values.iter().any(|v| within(*v)),
                PointStatistic::All => values.iter().all(|v| within(*v)),
            })
            .collect();
        let some = expected.iter().filter(|e| **e).count();
        assert!(some > 0 && some < lines.len(), "{counting:?} {some}");
        let one = SelectionRules {
            images: vec![image.clone()],
            ..SelectionRules::default()
        };
        let found = run(&lines, &one);
        assert_eq!(found.marks, expected, "{counting:?}");
        let without = all_values.iter().filter(|v| v.iter().all(|v| v.is_nan()));
        let without = without.count();
        assert_eq!(
            [RejectReason::Value, RejectReason::NoValue]
                .map(|r| found.dropped[r as usize] as usize),
            [lines.len() - some - without, without]
        );
        rules.images.push(image);
        together = Some(match together {
            None => expected,
            Some(before) => before
                .iter()
                .zip(&expected)
                .map(|(a, b)| *a && *b)
                .collect(),
        });
    }
    assert_eq!(Some(run(&lines, &rules).marks), together);
    // A streamline without points passes no rule, and a NaN point is within no limits.
    let odd = Tractogram::new(vec![[f32::NAN; 3], [0.0; 3]], vec![0, 0, 2]);
    for (counting, expected) in [
        (PointStatistic::Mean, [false, false]),
        (PointStatistic::Any, [false, true]),
        (PointStatistic::All, [false, false]),
    ] {
        let open = OnImage {
            counting,
            low: f32::NEG_INFINITY,
            high: f32::INFINITY,
            ..rules.images[0].clone()
        };
        let rules = SelectionRules {
            images: vec![open],
            ..SelectionRules::default()
        };
        assert_eq!(run(&odd, &rules).marks, expected, "{counting:?}");
    }
}

/// The trilinear values at all points of each streamline.
fn column_of(volume: &Volume, lines: &Tractogram) -> Vec<Vec<f32>> {
    lines
        .streamlines()
        .map(|line| {
            let single = line.iter().map(|p| Tractogram::new(vec![*p], vec![0, 1]));
            single
                .map(|point| means(&point, volume, 0, &on(1), &Control::new()).unwrap()[0])
                .collect()
        })
        .collect()
}
