//! Relative positions of data sets, as text. Problems are reported here, not corrected.

use crate::data::{AffineSource, Grid, Mask, Tractogram};
use crate::state::core::text::{fixed, with_unit};
use glam::DVec3;

/// A data set by its name.
#[derive(Clone, Copy)]
pub struct NamedData<'a> {
    pub name: &'a str,
    pub data: SpatialData<'a>,
}

#[derive(Clone, Copy)]
pub enum SpatialData<'a> {
    Image(&'a Grid),
    Mask(&'a Mask),
    Streamlines(&'a Tractogram),
}

impl<'a> SpatialData<'a> {
    fn grid(self) -> Option<&'a Grid> {
        match self {
            Self::Image(grid) => Some(grid),
            Self::Mask(mask) => Some(&mask.grid),
            Self::Streamlines(_) => None,
        }
    }
}

/// Number of tractogram points sampled: enough for one percent.
const SAMPLE: usize = 20_000;
/// Number of samples along each axis of a grid.
const LATTICE: usize = 9;
/// A few streamlines may leave the image; a larger fraction is reported.
const OUTSIDE: f64 = 0.02;
/// Fibres end in grey matter, and masks are cut tightly; a larger fraction is reported.
const OUTSIDE_MASK: f64 = 0.12;
/// Diameter of the smallest mask that can be of a brain, as a fraction of the image's shortest edge: brains have 0.53
/// and more, tumours and other structures less than 0.4.
const HEAD_SIZED: f64 = 0.45;
/// Smallest gain by exchanging sides that is reported.
const BETTER: f64 = 0.15;

/// A finding about a data set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    pub sentence: String,
    /// The indices of both among the items, the reference first; the same index twice if the two forms of one header
    /// disagree.
    pub between: Option<[usize; 2]>,
}

/// One sentence for each disagreement.
pub fn disagreements(items: &[NamedData]) -> Vec<String> {
    let pairs = compared(items).into_iter();
    pairs.map(|d| d.sentence).collect()
}

/// All disagreements. The first image is the reference for the others.
pub fn compared(items: &[NamedData]) -> Vec<Disagreement> {
    let mut disagreements = Vec::new();
    let alone = |sentence| Disagreement {
        sentence,
        between: None,
    };
    for (number, item) in items.iter().enumerate() {
        let Some(grid) = item.data.grid() else {
            continue;
        };
        if grid.source == AffineSource::Pixdim {
            disagreements.push(alone(format!(
                "{}: left and right are unknown, since the file has neither sform nor qform",
                item.name
            )));
        }
        disagreements.extend(grid.by_qform().map(|other| Disagreement {
            sentence: forms(item.name, grid, &other),
            between: Some([number, number]),
        }));
    }
    let image = items
        .iter()
        .position(|i| matches!(i.data, SpatialData::Image(_)));
    let with_grid = || items.iter().position(|i| i.data.grid().is_some());
    let Some(at) = image.or_else(with_grid) else {
        return disagreements;
    };
    let first = &items[at];
    let Some(reference) = first.data.grid() else {
        return disagreements;
    };
    for (number, item) in items.iter().enumerate() {
        let pair = |sentence| Disagreement {
            sentence,
            between: Some([at, number]),
        };
        match item.data {
            SpatialData::Streamlines(tractogram) => {
                let message = streamlines(item.name, tractogram, first.name, reference, items);
                disagreements.extend(message.into_iter().map(pair));
            }
            _ if number == at => {}
            _ => {
                let grid = item.data.grid();
                let message = grid.and_then(|g| grids(item.name, g, first.name, reference));
                disagreements.extend(message.map(pair));
            }
        }
    }
    disagreements
}

/// Position of a grid relative to the reference; `None` if it is as expected.
fn grids(name: &str, grid: &Grid, other: &str, reference: &Grid) -> Option<String> {
    if reference.matches(grid) {
        return None;
    }
    if reference.reordered(grid).is_some() {
        return reversed(name, grid, other, reference);
    }
    if reference.shape == grid.shape {
        return Some(same_shape_report(name, grid, other, reference));
    }
    let inside = lattice(grid)
        .filter(|p| reference.nearest(*p).is_some())
        .count();
    let share = inside as f64 / lattice(grid).count().max(1) as f64;
    let around = lattice(reference)
        .filter(|p| grid.nearest(*p).is_some())
        .count();
    let covered = around as f64 / lattice(reference).count().max(1) as f64;
    if inside + around == 0 {
        let far = grid.centre().distance(reference.centre());
        return Some(format!(
            "{name} does not overlap {other} at all: their centres are {} apart",
            mm(far)
        ));
    }
    // A slab inside a head, or a head around a slab, is a common acquisition.
    if share.max(covered) < 0.5 {
        return Some(format!(
            "{name} and {other} share only {} of their space",
            percent(share.max(covered))
        ));
    }
    None
}

/// A report that two grids store the same positions from opposite sides. Other programs write such grids, but a header
/// that lost its sign looks alike, and only inspection can distinguish the two. If axes are exchanged as well, no such
/// error is possible.
fn reversed(name: &str, grid: &Grid, other: &str, reference: &Grid) -> Option<String> {
    let (own, theirs) = (grid.orientation(), reference.orientation());
    let pairs: Vec<(char, char)> = own.chars().zip(theirs.chars()).collect();
    let changed: Vec<_> = pairs.into_iter().filter(|(a, b)| a != b).collect();
    let [('L' | 'R', 'L' | 'R')] = changed[..] else {
        return None;
    };
    Some(format!(
        "{name} stores {other}'s voxels in another order ({own}, not {theirs}): correct if both look alike; \
         otherwise left and right are swapped in one of them"
    ))
}

/// Positions of the same voxels under another affine.
enum GridDifference {
    Shifted(DVec3),
    /// The exchanged sides.
    Mirrored(&'static str),
    Elsewhere,
}

fn grid_difference(grid: &Grid, reference: &Grid) -> GridDifference {
    let (a, b) = (
        grid.world_from_voxel.matrix3,
        reference.world_from_voxel.matrix3,
    );
    let edge = reference.spacing().min_element();
    // Largest displacement of a voxel by the axes.
    let between = |axis: usize| (a - b).col(axis).length() * reference.shape[axis] as f64;
    let tilt: f64 = (0..3).map(between).sum();
    if tilt < 0.1 * edge {
        return GridDifference::Shifted(grid.world(DVec3::ZERO) - reference.world(DVec3::ZERO));
    }
    for (axis, sides) in ["left and right", "front and back", "top and bottom"]
        .into_iter()
        .enumerate()
    {
        let mut mirror = DVec3::ONE;
        mirror[axis] = -1.0;
        let corners = grid.corners().map(|c| c * mirror);
        let middle = |c: &[DVec3; 8]| c.iter().sum::<DVec3>() / 8.0;
        let theirs = reference.corners();
        let moved = middle(&theirs) - middle(&corners);
        let far = corners
            .iter()
            .zip(theirs)
            .map(|(c, t)| (*c + moved).distance(t));
        if far.fold(0.0, f64::max) < 0.5 * edge {
            return GridDifference::Mirrored(sides);
        }
    }
    GridDifference::Elsewhere
}

/// Grids of the same shape that do not match: most likely the same voxels with another affine.
fn same_shape_report(name: &str, grid: &Grid, other: &str, reference: &Grid) -> String {
    match grid_difference(grid, reference) {
        GridDifference::Shifted(shift) => format!(
            "{name} has {other}'s voxels but lies {} away ({} of a voxel's edge): {}",
            mm(shift.length()),
            fixed(shift.length() / reference.spacing().min_element(), 2),
            direction(shift)
        ),
        GridDifference::Mirrored(sides) => format!(
            "{name} has {other}'s voxels with {sides} swapped: one of the two affines is wrong"
        ),
        GridDifference::Elsewhere => format!(
            "{name} has {other}'s number of voxels ({} × {} × {}) but lies up to {} away",
            grid.shape[0],
            grid.shape[1],
            grid.shape[2],
            mm(reference.separation_mm(grid))
        ),
    }
}

/// Difference between the qform of a header and its sform, which is used.
fn forms(name: &str, grid: &Grid, by_qform: &Grid) -> String {
    let says = match grid_difference(by_qform, grid) {
        GridDifference::Shifted(shift) => format!("puts it elsewhere, {}", direction(shift)),
        GridDifference::Mirrored(sides) => format!("exchanges {sides}"),
        GridDifference::Elsewhere => {
            format!("turns it, by up to {}", mm(grid.separation_mm(by_qform)))
        }
    };
    format!("{name}: the qform of its header {says}; the sform is used")
}

/// Points spread along a tractogram.
fn sampled(tractogram: &Tractogram) -> Vec<DVec3> {
    let every = sampling_step(tractogram.points.len());
    let points = tractogram.points.iter().step_by(every);
    let points = points.map(|p| DVec3::from_array(p.map(f64::from)));
    points.filter(|p| p.is_finite()).collect()
}

/// One in how many points of a tractogram is sampled; all of the sampled points are used.
pub fn sampling_step(points: usize) -> usize {
    (points / SAMPLE).max(1)
}

/// Fraction of a tractogram inside an image's grid or a mask; `None` without points, or if compared with streamlines.
fn share_inside(tractogram: &Tractogram, what: SpatialData) -> Option<f64> {
    let points = sampled(tractogram);
    let inside = |p: &&DVec3| match what {
        SpatialData::Image(grid) => grid.nearest(**p).is_some(),
        SpatialData::Mask(mask) => mask.contains(**p),
        SpatialData::Streamlines(_) => false,
    };
    let comparable = !points.is_empty() && !matches!(what, SpatialData::Streamlines(_));
    comparable.then(|| points.iter().filter(inside).count() as f64 / points.len() as f64)
}

/// Fraction of each tractogram inside the first image and inside each mask.
pub fn shares_inside<'a>(items: &[NamedData<'a>]) -> Vec<(&'a str, &'a str, f64)> {
    let image = items
        .iter()
        .find(|i| matches!(i.data, SpatialData::Image(_)));
    let masks = items
        .iter()
        .filter(|i| matches!(i.data, SpatialData::Mask(_)));
    let around: Vec<&NamedData<'a>> = image.into_iter().chain(masks).collect();
    let sentence_for = |tracks: &NamedData<'a>| {
        let SpatialData::Streamlines(tractogram) = tracks.data else {
            return Vec::new();
        };
        let name = tracks.name;
        let shares = |i: &&NamedData<'a>| Some((name, i.name, share_inside(tractogram, i.data)?));
        around.iter().filter_map(shares).collect()
    };
    items.iter().flat_map(sentence_for).collect()
}

/// Whether a mask is as large as a head in an image. Streamlines leave all smaller masks, which therefore test nothing.
fn is_head_sized(mask: &Mask, image: &Grid) -> bool {
    let volume_mm3 = mask.volume_ml() * 1e3;
    let diameter = (6.0 * volume_mm3 / std::f64::consts::PI).cbrt();
    let edges = image.spacing() * DVec3::from_array(image.shape.map(|n| n as f64));
    diameter >= HEAD_SIZED * edges.min_element()
}

fn streamlines(
    name: &str,
    tractogram: &Tractogram,
    other: &str,
    reference: &Grid,
    items: &[NamedData],
) -> Vec<String> {
    let mut sentences = Vec::new();
    let points = sampled(tractogram);
    if points.is_empty() {
        return sentences;
    }
    // The largest mask is taken to be that of the brain, unless all are too small.
    let masks = items.iter().filter_map(|i| match i.data {
        SpatialData::Mask(mask) if is_head_sized(mask, reference) => Some((i.name, mask)),
        _ => None,
    });
    let brain = masks.max_by(|a, b| a.1.volume_ml().total_cmp(&b.1.volume_ml()));
    let inside = |p: DVec3| match brain {
        Some((_, mask)) => mask.contains(p),
        None => reference.nearest(p).is_some(),
    };
    let share = |flip: DVec3| {
        let count = points.iter().filter(|p| !inside(**p * flip)).count();
        count as f64 / points.len() as f64
    };
    let outside = share(DVec3::ONE);
    let (limit, where_) = match brain {
        Some((mask, _)) => (OUTSIDE_MASK, mask.to_owned()),
        None => (OUTSIDE, format!("the box of {other}")),
    };
    if outside > limit {
        let mut sentence = format!("{} of {name} lie outside {where_}", percent(outside));
        if brain.is_none() {
            sentence += ", the only test without a brain mask";
        }
        let flips = [
            (DVec3::new(-1.0, 1.0, 1.0), "left and right were swapped"),
            (DVec3::new(-1.0, -1.0, 1.0), "its points were LPS, not RAS"),
        ];
        let best = flips
            .into_iter()
            .map(|(flip, sides)| (share(flip), sides))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((left, sides)) = best.filter(|(left, _)| left + BETTER < outside) {
            sentence += &format!("; if {sides}, {} would", percent(left));
        }
        sentences.push(sentence);
    }
    let own = tractogram.grid.as_deref();
    if let Some(own) = own.filter(|own| own.shape == reference.shape && !reference.matches(own)) {
        let name = format!("The grid that {name} names");
        sentences.push(same_shape_report(&name, own, other, reference));
    }
    sentences
}

/// Points spread over a grid.
fn lattice(grid: &Grid) -> impl Iterator<Item = DVec3> + '_ {
    let at = |a: usize, i: usize| i as f64 / (LATTICE - 1) as f64 * (grid.shape[a] as f64 - 1.0);
    (0..LATTICE.pow(3)).map(move |i| {
        let (x, y, z) = (i % LATTICE, i / LATTICE % LATTICE, i / LATTICE / LATTICE);
        grid.world(DVec3::new(at(0, x), at(1, y), at(2, z)))
    })
}

fn mm(length: f64) -> String {
    let decimals = if length < 10.0 { 2 } else { 0 };
    with_unit(&fixed(length, decimals), "mm")
}

fn percent(share: f64) -> String {
    let decimals = usize::from(share < 0.1);
    with_unit(&fixed(100.0 * share, decimals), "%")
}

/// `1.00 mm to the left, 0.50 mm up`.
fn direction(shift: DVec3) -> String {
    let sides = [
        ["to the left", "to the right"],
        ["to the back", "to the front"],
        ["down", "up"],
    ];
    let parts = (0..3).filter(|&a| shift[a].abs() > 0.05 * shift.length());
    let parts = parts.map(|a| {
        let way = sides[a][usize::from(shift[a] > 0.0)];
        format!("{} {way}", mm(shift[a].abs()))
    });
    parts.collect::<Vec<_>>().join(", ")
}
