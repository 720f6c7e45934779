//! Streamlines that end at a region.

use super::{by_regions, cuboid, run, sphere, world};
use crate::support::Random;
use arcuate::data::{Role, Tractogram};
use arcuate::solvers::tractogram::selection::SelectionRules;
use glam::DVec3;

/// Rounded to single precision, the end of a curve cut where it enters a region lies on either side.
pub fn cut_at_a_region() {
    let mut random = Random::fresh("selection cut");
    let place = DVec3::new(-18.049, -4.311, 52.149);
    let shapes = [
        sphere(Role::Include, place, 8.0),
        cuboid(Role::Include, place, DVec3::new(7.3, 5.1, 6.7)),
    ];
    for region in shapes {
        let (mut points, mut offsets) = (Vec::new(), vec![0]);
        while offsets.len() < 200 {
            let from = place + random.direction() * 40.0;
            let to = place + random.direction() * 4.0;
            // Bisected until nothing is between its two ends.
            let (mut out, mut inside) = (0.0, 1.0);
            while inside - out > 1e-12 {
                let middle = f64::midpoint(out, inside);
                match region.shape.contains(from.lerp(to, middle)) {
                    true => inside = middle,
                    false => out = middle,
                }
            }
            let line = [from, from.lerp(to, 0.5 * out), from.lerp(to, inside)];
            points.extend(line.map(|p| p.as_vec3().to_array()));
            offsets.push(points.len() as u64);
        }
        let lines = Tractogram::new(points, offsets);
        let out = |line: &[[f32; 3]]| !region.shape.contains(world(line[2]));
        assert!(lines.streamlines().any(out), "some end before it");
        for by_ends in [false, true] {
            let rules = SelectionRules {
                by_ends,
                ..by_regions(vec![region.clone()])
            };
            assert_eq!(run(&lines, &rules).kept_count(), lines.len(), "{by_ends}");
        }
        // A curve that stops short of it does not meet it.
        let short: Vec<[f32; 3]> = lines
            .streamlines()
            .flat_map(|l| {
                [
                    l[0],
                    l[1],
                    (world(l[1]).lerp(world(l[2]), 0.999)).as_vec3().into(),
                ]
            })
            .collect();
        let short = Tractogram::new(short, lines.offsets.to_vec());
        assert_eq!(run(&short, &by_regions(vec![region])).kept_count(), 0);
    }
}
