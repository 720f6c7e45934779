//! Streamlines under the pointer, against densely sampled points on them.

use super::{on, walks, world};
use crate::support::Random;
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::data::clip::{Clip, ClipShape, keep};
use arcuate::solvers::tractogram::pick::{PickQuery, Screen, pick};
use glam::{DMat4, DVec2, DVec3, DVec4};

/// A camera that looks at the origin, 600 by 400 points; or a slice of 8 mm there.
fn screen(random: &mut Random, slab: bool) -> Screen {
    let turn = DMat4::from_quat(random.rotation());
    let from_world = if slab {
        let half = 4.0;
        let scale = DMat4::from_scale(DVec3::new(6.0, 6.0, 1.0 / half));
        DMat4::from_translation(DVec3::new(300.0, 200.0, 0.0)) * scale * turn
    } else {
        // 100 mm away, with a depth that grows away from the eye.
        let away = DMat4::from_translation(DVec3::new(0.0, 0.0, 100.0)) * turn;
        let project = DMat4::from_cols(
            DVec4::new(500.0, 0.0, 0.0, 0.0),
            DVec4::new(0.0, 500.0, 0.0, 0.0),
            DVec4::new(300.0, 200.0, 1.0, 1.0),
            DVec4::new(0.0, 0.0, -1.0, 0.0),
        );
        project * away
    };
    // In the 3-D view, a plane hides a part of half of the cases, and a box another.
    let clipped = !slab && random.bits() & 1 == 1;
    let plane = ClipShape::plane_through(random.direction() * 5.0, random.direction());
    let low = random.direction() * 8.0;
    let hole = ClipShape::Box {
        low,
        high: low + 12.0,
    };
    let clip = |shape, hides_inside| Clip {
        shape,
        hides_inside,
    };
    let plane = plane.map(|shape| clip(shape, false));
    let clips = plane.into_iter().chain([clip(hole, true)]);
    Screen {
        from_world,
        slab,
        clips: clips.filter(|_| clipped).collect(),
    }
}

/// Projected points of a streamline, a two-hundredth of a segment apart.
fn projected_points(line: &[[f32; 3]], screen: &Screen) -> Vec<DVec3> {
    let dense = line.windows(2).flat_map(|w| {
        let [a, b] = [w[0], w[1]].map(world);
        (0..=200).map(move |k| a.lerp(b, f64::from(k) / 200.0))
    });
    let only = line
        .iter()
        .take(usize::from(line.len() == 1))
        .map(|p| world(*p));
    let project = |p: DVec3| {
        let v = screen.from_world * p.extend(1.0);
        v.truncate() / v.w
    };
    let kept = dense.chain(only).filter(|p| keep(&screen.clips, *p));
    let all = kept.map(project);
    all.filter(|p| !screen.slab || p.z.abs() <= 1.0).collect()
}

pub(super) fn nearest() {
    let mut random = Random::fresh("selection nearest");
    let mut hits = 0;
    for round in 0..40 {
        let lines = walks(&mut random, 40);
        let screen = screen(&mut random, round % 2 == 0);
        let at = DVec2::new(random.uniform(150.0, 450.0), random.uniform(50.0, 350.0));
        let radius = 12.0;
        let requested = PickQuery::Nearest { at, radius };
        let among: Vec<bool> = (0..40).map(|_| random.uniform(0.0, 1.0) < 0.8).collect();
        let found = pick(
            &lines,
            Some(&among),
            &screen,
            &requested,
            &on(2),
            &Control::new(),
        )
        .unwrap();
        let off = |i: usize| {
            let points = projected_points(lines.streamline(i), &screen).into_iter();
            points
                .map(|p| p.truncate().distance(at))
                .fold(f64::INFINITY, f64::min)
        };
        let least = (0..40)
            .filter(|i| among[*i])
            .map(off)
            .fold(f64::INFINITY, f64::min);
        match found.as_slice() {
            [] => assert!(least > radius - 0.5, "{least}"),
            [one] => {
                hits += 1;
                let own = off(*one as usize);
                assert!(among[*one as usize]);
                // The nearest, or one in front of it within two points.
                assert!(
                    own <= least.max(2.0) + 0.5 && own <= radius + 0.5,
                    "{own}, {least}"
                );
            }
            many => panic!("{many:?}"),
        }
    }
    assert!(hits > 5, "{hits}");
    // The front one of two that cross on the screen.
    let front = [[-5.0, 0.0, -10.0f32], [5.0, 0.0, -10.0]];
    let behind = [[0.0, -5.0, 10.0f32], [0.0, 5.0, 10.0]];
    for order in [[front, behind], [behind, front]] {
        let lines = Tractogram::new(order.concat(), vec![0, 2, 4]);
        let mut screen = screen(&mut random, false);
        screen.clips.clear();
        let turn = glam::DQuat::from_mat4(&screen_turn(&screen));
        screen.from_world *= DMat4::from_quat(turn.inverse());
        let at = DVec2::new(300.0, 200.0);
        let requested = PickQuery::Nearest { at, radius: 5.0 };
        let found = pick(&lines, None, &screen, &requested, &on(1), &Control::new()).unwrap();
        let expected = u32::from(order[0] == behind);
        assert_eq!(found, [expected]);
    }
}

/// The rotation in a camera's matrix.
fn screen_turn(screen: &Screen) -> DMat4 {
    // Its last row is the depth, its first two are the picture without the middle.
    let m = screen.from_world;
    let depth = m.row(3).truncate();
    let x = (m.row(0).truncate() - 300.0 * depth) / 500.0;
    let y = (m.row(1).truncate() - 200.0 * depth) / 500.0;
    DMat4::from_mat3(glam::DMat3::from_cols(x, y, depth).transpose())
}

pub(super) fn enclosed() {
    let mut random = Random::fresh("selection enclosed");
    let (mut hits, mut grazed) = (0, 0);
    for round in 0..30 {
        let lines = walks(&mut random, 60);
        let screen = screen(&mut random, round % 2 == 0);
        let middle = DVec2::new(random.uniform(200.0, 400.0), random.uniform(100.0, 300.0));
        // A star: users do not draw convex outlines.
        let outline: Vec<DVec2> = (0..24)
            .map(|i| {
                let angle = f64::from(i) / 24.0 * std::f64::consts::TAU;
                middle + DVec2::from_angle(angle) * random.uniform(20.0, 90.0)
            })
            .collect();
        let inside = |p: DVec2| {
            let mut odd = false;
            for (i, a) in outline.iter().enumerate() {
                let b = outline[(i + 1) % outline.len()];
                let crosses = (a.y <= p.y) != (b.y <= p.y);
                odd ^= crosses && p.x < a.x + (b.x - a.x) * (p.y - a.y) / (b.y - a.y);
            }
            odd
        };
        let requested = PickQuery::Within(outline.clone());
        let found = pick(&lines, None, &screen, &requested, &on(2), &Control::new()).unwrap();
        for i in 0..60u32 {
            let points = projected_points(lines.streamline(i as usize), &screen);
            // A corner cut by less than the sampling step may be missed, and pixels are whole.
            let deep = points.iter().filter(|p| inside(p.truncate())).count();
            match (found.contains(&i), deep) {
                (true, 0) => grazed += 1,
                (true, _) => hits += 1,
                (false, 0) => {}
                (false, _) => grazed += 1,
            }
        }
    }
    assert!(hits > 100 && grazed * 20 < hits, "{hits}, {grazed}");
    let few = PickQuery::Within(vec![DVec2::ZERO, DVec2::ONE]);
    let lines = walks(&mut random, 5);
    let screen = screen(&mut random, false);
    let found = pick(&lines, None, &screen, &few, &on(1), &Control::new()).unwrap();
    assert!(found.is_empty());
}
