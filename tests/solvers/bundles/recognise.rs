//! Bundles recognised by the labels of a map: closed forms, plain sampling, and the built-in recipe.

use crate::support::fields::{backend, odd_grid};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::bundle_recipe::{BundleRecipe, BundleRule};
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::bundle_recipe;
use arcuate::solvers::Error;
use arcuate::solvers::bundles::{Recognised, RecognitionParams, recognise};
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "bundles::labels that streamlines pass, avoid and end in",
            known,
        ),
        test("bundles::labels as by plain sampling", sampled),
        test(
            "bundles::the built-in recipe is symmetric and cited",
            built_in,
        ),
        test(
            "bundles::the built-in recipe tells its bundles apart",
            each_of_built_in,
        ),
        test("bundles::recipes without labels", refused),
        test("bundles::recipes that are not understood", malformed),
    ]
}

fn run(
    lines: &Tractogram,
    labels: &Volume,
    recipe: &BundleRecipe,
    radius_mm: f64,
) -> Result<Recognised, Error> {
    let params = RecognitionParams { radius_mm };
    recognise(
        lines,
        (labels, 0),
        recipe,
        &params,
        &backend(2),
        &Control::new(),
    )
}

/// Voxels of 1 mm along x with these labels.
fn row(labels: &[f32]) -> Volume {
    let grid = Grid::axis_aligned([labels.len(), 1, 1], DVec3::ONE, DVec3::ZERO).unwrap();
    Volume::scalar(Arc::new(grid), labels.to_vec())
}

/// A line along x.
fn along(from: f32, to: f32) -> Vec<[f32; 3]> {
    vec![[from, 0.0, 0.0], [to, 0.0, 0.0]]
}

fn rule(through: &[&[u32]], avoid: &[u32], ends: &[&[u32]]) -> BundleRecipe {
    let lists = |lists: &[&[u32]]| lists.iter().map(|list| list.to_vec()).collect();
    let rule = BundleRule {
        name: "a bundle".to_owned(),
        through: lists(through),
        avoid: avoid.to_vec(),
        ends: lists(ends),
        ..BundleRule::default()
    };
    BundleRecipe {
        bundles: vec![rule],
    }
}

fn known() {
    // x:                 0    1    2    3    4    5    6    7    8    9
    let labels = row(&[10.0, 10.0, 0.0, 20.0, 0.0, 0.0, 30.0, 0.0, 40.0, 40.0]);
    let lines = Tractogram::of_curves([
        along(0.0, 9.0),
        along(9.0, 0.0),
        along(2.0, 9.0),
        along(4.0, 5.4),
        along(1.4, 2.6),
        vec![],
        vec![[3.0, 0.0, 0.0]],
    ]);
    let members = |recipe: &BundleRecipe, radius_mm: f64| {
        let found = run(&lines, &labels, recipe, radius_mm).expect("bundles");
        let assigned: BTreeSet<u32> = found.members.iter().flatten().copied().collect();
        assert_eq!(found.unassigned, lines.len() - assigned.len());
        found.members[0].clone()
    };
    assert_eq!(members(&rule(&[&[20]], &[], &[]), 0.0), [0, 1, 2, 4, 6]);
    assert_eq!(members(&rule(&[&[20], &[30]], &[], &[]), 0.0), [0, 1, 2]);
    assert_eq!(members(&rule(&[&[20, 30]], &[], &[]), 0.0), [0, 1, 2, 4, 6]);
    assert_eq!(members(&rule(&[&[20]], &[40], &[]), 0.0), [4, 6]);
    assert_eq!(members(&rule(&[], &[], &[&[10]]), 0.0), [0, 1, 4]);
    // One end in each, in either order, and not both in one.
    assert_eq!(members(&rule(&[], &[], &[&[10], &[40]]), 0.0), [0, 1]);
    assert_eq!(members(&rule(&[], &[], &[&[40], &[10]]), 0.0), [0, 1]);
    assert_eq!(
        members(&rule(&[], &[], &[&[10], &[10]]), 0.0),
        Vec::<u32>::new()
    );
    // An end at x = 2 lies 1 mm from the centres of labels 10 and 20, whatever label its own voxel has.
    assert_eq!(members(&rule(&[], &[], &[&[10], &[40]]), 0.99), [0, 1]);
    assert_eq!(members(&rule(&[], &[], &[&[10], &[40]]), 1.0), [0, 1, 2]);
    assert_eq!(members(&rule(&[], &[], &[&[20], &[40]]), 1.0), [2]);
    // A streamline does not pass a label that merely lies near its end.
    assert_eq!(members(&rule(&[&[10]], &[], &[&[40]]), 1.0), [0, 1]);
    let mut limited = rule(&[&[20]], &[], &[]);
    limited.bundles[0].length_mm = Some((7.0, 8.0));
    assert_eq!(members(&limited, 0.0), [2]);
    // A label that is a fraction is none.
    let fractions = row(&[10.5, 0.0, 0.0, 20.0]);
    let mut recipe = rule(&[&[10], &[20]], &[], &[]);
    recipe.bundles.extend(rule(&[&[20]], &[20], &[]).bundles);
    let found = run(&lines, &fractions, &recipe, 0.0).expect("bundles");
    assert_eq!(found.members, [Vec::new(), Vec::<u32>::new()]);
    assert_eq!(found.lacks_labels, [true, false]);
    let grouped = found.grouped(&lines, &limited);
    assert!(
        grouped.groups.is_empty(),
        "bundles without streamlines are no groups"
    );
}

/// Random lines on a random grid, against dense points along them.
fn sampled() {
    let mut random = Random::fresh("labels along streamlines");
    for _ in 0..4 {
        let grid = Arc::new(odd_grid(&mut random));
        let values = (0..grid.voxel_count()).map(|_| random.uniform(0.0, 12.0).floor() as f32);
        let labels = Volume::scalar(grid.clone(), values.collect::<Vec<f32>>());
        let curves: Vec<Vec<[f32; 3]>> = (0..60)
            .map(|_| {
                let ends = [(); 3].map(|()| random.direction() * random.uniform(0.0, 25.0));
                ends.map(|p| p.as_vec3().to_array()).to_vec()
            })
            .collect();
        let lines = Tractogram::of_curves(curves.clone());
        let recipe = rule(&[&[3, 4]], &[7], &[&[1, 2, 3], &[4, 5, 6]]);
        let radius = 3.0;
        let found = run(&lines, &labels, &recipe, radius).expect("bundles");
        let label = |world: DVec3| {
            let voxel = grid.nearest(world)?;
            Some(labels.values[grid.index(voxel)] as u32)
        };
        let around = |end: [f32; 3]| -> BTreeSet<u32> {
            let end = Vec3::from(end).as_dvec3();
            let near = |i: &usize| {
                let centre = grid.world(DVec3::from_array(grid.voxel(*i).map(|c| c as f64)));
                centre.distance(end) <= radius
            };
            let near = (0..grid.voxel_count()).filter(near);
            near.map(|i| labels.values[i] as u32)
                .chain(label(end))
                .collect()
        };
        let mut differing = 0;
        for (line, curve) in (0..).zip(&curves) {
            let points = curve.windows(2).flat_map(|pair| {
                let [a, b] = [0, 1].map(|i| Vec3::from(pair[i]).as_dvec3());
                (0..=4000).map(move |i| a.lerp(b, f64::from(i) / 4000.0))
            });
            let passed: BTreeSet<u32> = points.filter_map(label).collect();
            let ends = [curve[0], curve[2]].map(around);
            let within = |set: &BTreeSet<u32>, list: [u32; 3]| list.iter().any(|l| set.contains(l));
            let (a, b) = ([1, 2, 3], [4, 5, 6]);
            let joins = within(&ends[0], a) && within(&ends[1], b)
                || within(&ends[0], b) && within(&ends[1], a);
            let passes = passed.contains(&3) || passed.contains(&4);
            let expected = joins && passes && !passed.contains(&7);
            differing += usize::from(expected != found.members[0].contains(&line));
        }
        // Points 10 µm apart may miss the corner of a voxel.
        assert!(differing <= 1, "{differing}");
    }
}

/// The label on the other side.
fn mirrored(label: u32) -> u32 {
    const PAIRS: [(u32, u32); 6] = [(2, 41), (10, 49), (11, 50), (12, 51), (18, 54), (7, 46)];
    match label {
        1001..=1035 => label + 1000,
        2001..=2035 => label - 1000,
        8 => 47,
        47 => 8,
        label => {
            let pair = PAIRS.iter().find(|(a, b)| [*a, *b].contains(&label));
            pair.map_or(label, |(a, b)| if *a == label { *b } else { *a })
        }
    }
}

fn built_in() {
    let recipe = bundle_recipe::freesurfer().expect("a recipe");
    assert_eq!(recipe.bundles.len(), 21);
    let sorted = |list: &[u32]| list.iter().copied().collect::<BTreeSet<u32>>();
    for rule in &recipe.bundles {
        let citation = rule.citation.as_ref().expect("a citation");
        assert!(
            citation.contains("(20") && citation.ends_with('.'),
            "{citation}"
        );
        // The other side has the mirrored rule; a bundle of the midline is its own mirror.
        let other = match rule.name.strip_suffix(", left") {
            Some(name) => format!("{name}, right"),
            None => rule.name.replace(", right", ", left"),
        };
        let other = recipe
            .bundles
            .iter()
            .find(|rule| rule.name == other)
            .expect("a mirror");
        let mirror = |list: &[u32]| list.iter().map(|l| mirrored(*l)).collect::<BTreeSet<u32>>();
        assert_eq!(mirror(&rule.avoid), sorted(&other.avoid), "{}", rule.name);
        for (own, others) in [(&rule.through, &other.through), (&rule.ends, &other.ends)] {
            let own: BTreeSet<_> = own.iter().map(|list| mirror(list)).collect();
            let others: BTreeSet<_> = others.iter().map(|list| sorted(list)).collect();
            assert_eq!(own, others, "{}", rule.name);
        }
        // No rule avoids what it requires.
        assert!(
            rule.required()
                .all(|list| list.iter().all(|l| !rule.avoid.contains(l)))
        );
        assert_eq!(rule.length_mm, other.length_mm);
    }
}

/// A line for each rule, through one label of each list, on a map that holds just these: it belongs to its own bundle and
/// not to that of the other side.
fn each_of_built_in() {
    let recipe = bundle_recipe::freesurfer().expect("a recipe");
    for (number, rule) in recipe.bundles.iter().enumerate() {
        let mut labels = vec![0.0; 80];
        labels[0] = rule.ends[0][0] as f32;
        labels[79] = rule.ends.last().expect("ends")[0] as f32;
        if let [only] = rule.ends.as_slice() {
            labels[0] = only[0] as f32;
            labels[79] = 0.0;
        }
        for (i, list) in rule.through.iter().enumerate() {
            labels[10 + 10 * i] = list[0] as f32;
        }
        let lines = Tractogram::of_curves([along(0.0, 79.0)]);
        let found = run(&lines, &row(&labels), &recipe, 2.0).expect("bundles");
        let bundles: Vec<usize> = (0..21).filter(|i| !found.members[*i].is_empty()).collect();
        assert!(bundles.contains(&number), "{}", rule.name);
        let side = |name: &str| [", left", ", right"].map(|side| name.ends_with(side));
        for other in bundles {
            assert_eq!(side(&recipe.bundles[other].name), side(&rule.name));
        }
        // It no longer belongs to the bundle if a label that the rule avoids lies on its way.
        if let Some(avoided) = rule.avoid.first() {
            labels[40] = *avoided as f32;
            let found = run(&lines, &row(&labels), &recipe, 2.0).expect("bundles");
            assert!(found.members[number].is_empty(), "{}", rule.name);
        }
    }
}

fn refused() {
    let lines = Tractogram::of_curves([along(0.0, 3.0)]);
    let labels = row(&[1.0, 2.0, 3.0, 4.0]);
    let mut recipe = rule(&[&[1], &[9]], &[], &[]);
    recipe.bundles.extend(rule(&[&[9, 2]], &[], &[]).bundles);
    let found = run(&lines, &labels, &recipe, 0.0).expect("bundles");
    assert_eq!(found.lacks_labels, [true, false]);
    // Labels that are only avoided make no bundle.
    let none = run(&lines, &labels, &rule(&[&[8]], &[1], &[]), 0.0);
    let Err(Error::Input(sentence)) = none else {
        panic!("{none:?}");
    };
    assert!(sentence.starts_with("The label map lacks labels of every bundle"));
    for radius in [-1.0, f64::NAN, 1000.0] {
        assert!(run(&lines, &labels, &rule(&[&[1]], &[], &[]), radius).is_err());
    }
}

fn malformed() {
    let parse = |text: &str| bundle_recipe::parse(text, Path::new("r.toml"));
    let good =
        "[[bundle]]\nname = \"a\"\nthrough = [[1, 2], [3]]\nends = [[4]]\nlength_mm = [20, 90.5]\n";
    let recipe = parse(good).expect("a recipe");
    assert_eq!(recipe.bundles[0].through, [vec![1, 2], vec![3]]);
    assert_eq!(recipe.bundles[0].length_mm, Some((20.0, 90.5)));
    for (text, found) in [
        ("", "0 bundles"),
        (
            "[[bundle]]\nname = \"a\"\n",
            "neither through nor ends in the bundle “a”",
        ),
        ("[[bundle]]\nname = \" \"\nends = [[1]]\n", "without a name"),
        ("[[bundle]]\nends = [[1]]\n", "no member \"name\""),
        (
            "[[bundle]]\nname = \"a\"\nends = [[1], [2], [3]]\n",
            "more than two lists of ends",
        ),
        (
            "[[bundle]]\nname = \"a\"\nends = [[]]\n",
            "a list without labels",
        ),
        ("[[bundle]]\nname = \"a\"\nends = [[0]]\n", "label 0"),
        (
            "[[bundle]]\nname = \"a\"\nthru = [[1]]\n",
            "unknown member \"thru\" in line 3",
        ),
        ("[[bundle]]\nname = \"a\"\nends = [[-1]]\n", "in line 3"),
        (
            "[[bundle]]\nname = \"a\"\nends = [[1]]\nlength_mm = [9, 2]\n",
            "smallest length above",
        ),
        ("[[bundle]]\nname = \"a\"\nends = [[1]\n", "line"),
        ("{\"bundle\": 1}", "line 1"),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(found) && error.contains("r.toml"), "{error}");
    }
    let twice = format!("{good}{good}");
    assert!(
        parse(&twice)
            .expect_err("twice")
            .to_string()
            .contains("two bundles named “a”")
    );
}
