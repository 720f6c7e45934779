//! Selections among streamlines whose points are on a card, and their values, against those of the CPU: all are equal.

use crate::density::walks;
use crate::support::fields::{backend, cuboid, odd_grid, region, sphere};
use crate::support::{Random, lines};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Mask, Region, Role, Shape, Tractogram, Volume};
use arcuate::solvers::on_card::on_cards_alone;
use arcuate::solvers::tractogram::selection::{
    OnImage, PointStatistic, Selection, SelectionRules, ValueCondition, column, means, select,
};
use glam::DVec3;
use std::sync::Arc;

fn run(lines: &Tractogram, rules: &SelectionRules, backend: &Backend) -> Selection {
    select(lines, rules, backend, &Control::new()).expect("a selection")
}

fn check(host: &Tractogram, card_curves: &Tractogram, rules: &SelectionRules, card: &Backend) {
    let on_card = run(card_curves, rules, card);
    assert!(!card_curves.points.is_on_host());
    assert!(on_card == run(host, rules, &backend(2)), "{rules:?}");
}

/// Voxels at random, a tenth of them.
fn mask(random: &mut Random, role: Role) -> Region {
    let grid = Arc::new(odd_grid(random));
    let inside = (0..grid.voxel_count()).map(|_| u8::from(random.uniform(0.0, 1.0) < 0.1));
    let inside: Vec<u8> = inside.collect();
    region(role, Shape::Mask(Mask::new(grid, inside)))
}

fn any_region(random: &mut Random, role: Role) -> Region {
    let centre = random.direction() * random.uniform(0.0, 20.0);
    match random.uniform(0.0, 3.0) as usize {
        0 => sphere(role, centre, random.uniform(0.5, 9.0)),
        1 => {
            let half = [0; 3].map(|_| random.uniform(0.5, 8.0));
            cuboid(role, centre, DVec3::from_array(half))
        }
        _ => mask(random, role),
    }
}

fn with_values(host: Tractogram) -> Tractogram {
    let of_points: Vec<f32> = (0..host.points.len()).map(|i| (i as f32).sin()).collect();
    let of_lines: Vec<f32> = (0..host.len()).map(|i| (i % 17) as f32).collect();
    host.with_per_point("fa", of_points)
        .with_per_streamline("weight", of_lines)
}

pub fn regions(card: Backend) {
    let mut random = Random::fresh("selection parity");
    for round in 0..30 {
        let host = walks(&mut random, 700, 25.0);
        let card_curves = on_cards_alone(&host, 90, &card).expect("on the cards");
        let roles = [Role::Exclude, Role::Include, Role::Target, Role::Mask];
        let mut regions = Vec::new();
        for role in roles {
            for _ in 0..random.uniform(0.0, 2.5) as usize {
                regions.push(any_region(&mut random, role));
            }
        }
        let rules = SelectionRules {
            regions,
            by_ends: round % 3 == 0,
            invert: round % 5 == 0,
            ..SelectionRules::default()
        };
        check(&host, &card_curves, &rules, &card);
    }
}

/// Streamlines that touch borders of regions, end on them, and have points that are not finite.
pub fn borders(card: Backend) {
    let mut random = Random::fresh("selection parity borders");
    let mut all: Vec<Vec<DVec3>> = vec![
        vec![],
        vec![DVec3::ONE],
        vec![DVec3::splat(f64::NAN), DVec3::ONE],
        vec![DVec3::ONE, DVec3::splat(f64::INFINITY)],
        vec![DVec3::splat(-300.0), DVec3::splat(300.0)],
    ];
    for _ in 0..600 {
        let half = |random: &mut Random| random.uniform(-8.0, 16.0).floor() * 0.5;
        let point = |_| DVec3::from_array([0; 3].map(|_| half(&mut random)));
        all.push((0..4).map(point).collect());
    }
    let host = lines(&all);
    let card_curves = on_cards_alone(&host, 200, &card).expect("on the cards");
    let grid = arcuate::data::Grid::axis_aligned([6; 3], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let grid = Arc::new(grid);
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|i| u8::from(i % 11 == 3))
        .collect();
    let blocks = |role| region(role, Shape::Mask(Mask::new(grid.clone(), inside.clone())));
    let none = |role| region(role, Shape::Mask(Mask::new(grid.clone(), vec![0u8; 216])));
    let cube = |role| cuboid(role, DVec3::splat(1.0), DVec3::splat(1.5));
    let ball = |role| sphere(role, DVec3::splat(2.0), 1.5);
    for role in [Role::Exclude, Role::Include, Role::Target, Role::Mask] {
        for region in [blocks(role), none(role), cube(role), ball(role)] {
            for by_ends in [false, true] {
                let rules = SelectionRules {
                    regions: vec![region.clone()],
                    by_ends,
                    ..SelectionRules::default()
                };
                check(&host, &card_curves, &rules, &card);
            }
        }
    }
}

/// Segments across more voxels than the card follows: the CPU tests them.
pub fn distant(card: Backend) {
    let host = lines(&[
        vec![DVec3::new(-3e6, 1.0, 1.0), DVec3::new(3e6, 1.0, 1.0)],
        vec![DVec3::ZERO, DVec3::ONE],
    ]);
    let card_curves = on_cards_alone(&host, 9, &card).expect("on the cards");
    let mut random = Random::fresh("selection parity distant");
    let rules = SelectionRules {
        regions: vec![mask(&mut random, Role::Include)],
        ..SelectionRules::default()
    };
    assert_eq!(
        run(&card_curves, &rules, &card),
        run(&host, &rules, &backend(2))
    );
}

pub fn values(card: Backend) {
    let mut random = Random::fresh("selection parity values");
    let control = Control::new();
    for round in 0..8 {
        let host = with_values(walks(&mut random, 600, 25.0));
        let card_curves = on_cards_alone(&host, 70, &card).expect("on the cards");
        let bits = |values: Vec<f32>| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
        for name in ["length", "fa", "weight"] {
            let on_card = column(&card_curves, name, &card, &control).expect("values");
            let on_cpu = column(&host, name, &backend(2), &control).expect("values");
            assert_eq!(bits(on_card), bits(on_cpu), "{name}");
        }
        let grid = Arc::new(odd_grid(&mut random));
        let voxel = |_| random.uniform(-1.0, 1.0) as f32;
        let mut voxels: Vec<f32> = (0..grid.voxel_count()).map(voxel).collect();
        voxels[7] = f32::NAN;
        let image = Volume::scalar(grid, voxels);
        let on_card = means(&card_curves, &image, 0, &card, &control).expect("means");
        let on_cpu = means(&host, &image, 0, &backend(2), &control).expect("means");
        for (on_card, on_cpu) in on_card.iter().zip(&on_cpu) {
            assert!(on_card.to_bits() == on_cpu.to_bits() || (on_card.is_nan() && on_cpu.is_nan()));
        }
        let limits = |name: &str, low, high| ValueCondition {
            name: name.to_owned(),
            low,
            high,
        };
        for counting in PointStatistic::ALL {
            let rules = SelectionRules {
                values: vec![
                    limits("length", 5.0, 90.0),
                    limits("fa", -0.4, 0.5),
                    limits("weight", 1.0, f32::INFINITY),
                ],
                images: vec![OnImage {
                    volume: image.clone(),
                    frame: 0,
                    counting,
                    low: -0.6,
                    high: 0.7,
                }],
                regions: match round % 2 {
                    0 => vec![sphere(Role::Exclude, DVec3::ONE, 3.0)],
                    _ => Vec::new(),
                },
                ..SelectionRules::default()
            };
            check(&host, &card_curves, &rules, &card);
        }
        assert!(!card_curves.points.is_on_host() && !card_curves.per_point["fa"].is_on_host());
    }
}
