//! The demo: one head, ready to explore.

use super::blocks;
use super::bundles::Bundle;
use super::head::Head;
use super::images::{PictureOptions, oblique_grid};
use super::parameters::ScanParams;
use super::scan::ScanOptions;
use crate::compute::{Cancelled, Control};
use crate::data::{BuiltInPhantom, Gradients, Grid, Mask, PhantomKind, Role, Volume};
use glam::DVec3;
use std::sync::Arc;

/// An initial region.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement {
    /// Such as `Capsule L`.
    pub name: &'static str,
    /// Effect on streamlines.
    pub role: Role,
    /// World mm.
    pub centre: DVec3,
    /// Radius of the sphere, world mm.
    pub radius_mm: f64,
}

/// Regions that select one bundle.
#[derive(Clone, PartialEq, Debug)]
pub struct Suggestion {
    /// The bundle's name.
    pub bundle: String,
    /// Regions that select the bundle.
    pub placements: Vec<Placement>,
}

/// The data that the demo opens.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Head from which the images were made.
    pub head: Head,
    /// Diffusion scan.
    pub dwi: Volume,
    /// Gradients of the scan, world axes.
    pub gradients: Gradients,
    /// T1-weighted image on its own grid.
    pub t1: Volume,
    /// True brain mask, on the scan's grid.
    pub mask: Mask,
    /// The guide starts with the first one.
    pub suggestions: Vec<Suggestion>,
}

/// Scan grid of a head, stored right to left as most scanners do (LAS).
pub fn scan_grid(spacing_mm: f64) -> Option<Arc<Grid>> {
    let field_mm = DVec3::new(184.0, 224.0, 176.0);
    let middle = DVec3::new(0.0, -12.0, 10.0);
    let shape = (field_mm / spacing_mm).round();
    let step = DVec3::new(-spacing_mm, spacing_mm, spacing_mm);
    let origin = middle - 0.5 * (shape - 1.0) * step;
    let shape = shape.to_array().map(|n| n as usize);
    Grid::axis_aligned(shape, step, origin).map(Arc::new)
}

/// Scan grid of a phantom: that of heads, or the block with a margin of air.
pub fn scan_grid_of(kind: PhantomKind, spacing_mm: f64) -> Option<Arc<Grid>> {
    match blocks::half_edges(kind) {
        None => scan_grid(spacing_mm),
        Some(half_edges) => {
            let step = DVec3::new(-spacing_mm, spacing_mm, spacing_mm);
            around_block(half_edges, step)
        }
    }
}

/// Grid of the T1-weighted image of a phantom.
pub fn picture_grid_of(kind: PhantomKind) -> Option<Arc<Grid>> {
    match blocks::half_edges(kind) {
        None => oblique_grid(),
        Some(half_edges) => around_block(half_edges, DVec3::new(-1.0, 1.0, 1.0)),
    }
}

/// A grid with these steps between voxels; around a block it has a margin of air.
fn around_block(half_edges: DVec3, step: DVec3) -> Option<Arc<Grid>> {
    const MARGIN_MM: f64 = 4.0;
    let shape = (2.0 * (half_edges + MARGIN_MM) / step.abs()).round();
    let origin = -0.5 * (shape - 1.0) * step;
    let shape = shape.to_array().map(|n| n as usize);
    Grid::axis_aligned(shape, step, origin).map(Arc::new)
}

/// The default scan, on a grid.
pub fn scan_options(grid: Arc<Grid>, noise_seed: u64) -> ScanOptions {
    ScanParams::defaults().options(grid, noise_seed)
}

fn default_grid(kind: PhantomKind) -> Option<Arc<Grid>> {
    scan_grid_of(kind, ScanParams::defaults().spacing_mm)
}

/// The scan of a built-in head where a command names it.
fn scan_of(head: BuiltInPhantom, grid: Arc<Grid>) -> ScanOptions {
    ScanParams::defaults_for(head.kind).options(grid, head.seed)
}

impl Demo {
    /// Memory that the images of a head take, bytes.
    pub fn bytes(head: BuiltInPhantom) -> u64 {
        let voxels = |grid: Option<Arc<Grid>>| grid.map_or(0, |grid| grid.voxel_count() as u64);
        let options = default_grid(head.kind).map(|grid| scan_of(head, grid));
        let volumes = options.map_or(0, |o| o.gradients().directions.len() as u64);
        (voxels(default_grid(head.kind)) * volumes + voxels(picture_grid_of(head.kind)))
            * size_of::<f32>() as u64
    }

    /// Never panics: both grids are constants of this program.
    pub fn new(built_in: BuiltInPhantom, control: &Control) -> Result<Self, Cancelled> {
        // Shares of time per stage; the last stage prepares the views.
        control.plan(&[0.3, 0.6, 0.1]);
        let head = Head::built_in(built_in);
        let kind = built_in.kind;
        let (Some(grid), Some(picture_grid)) = (default_grid(kind), picture_grid_of(kind)) else {
            return Err(Cancelled);
        };
        let scan = scan_of(built_in, grid);
        let (dwi, gradients, mask) = head.scan_and_mask(&scan, control)?;
        let options = PictureOptions {
            snr: Some(40.0),
            shading: 0.08,
            noise_seed: built_in.seed,
        };
        let t1 = head.t1(&picture_grid, &options, control)?.image;
        let suggestions = suggestions(&head);
        Ok(Self {
            head,
            dwi,
            gradients,
            t1,
            mask,
            suggestions,
        })
    }
}

/// Seeds and targets in the best-known bundles of the left side, or in all bundles of a block.
pub fn suggestions(head: &Head) -> Vec<Suggestion> {
    if !head.kind.is_head() {
        return head.bundles().iter().map(through).collect();
    }
    let on = |bundle: &str, t: f64| {
        head.bundle(bundle)
            .map_or(DVec3::ZERO, |b| b.centre_line(t))
    };
    let placement = |name, role, bundle: &str, t, radius_mm| Placement {
        name,
        role,
        centre: on(bundle, t),
        radius_mm,
    };
    let tract = "Corticospinal tract left";
    let arcuate = "Arcuate fasciculus left";
    vec![
        Suggestion {
            bundle: tract.to_owned(),
            placements: vec![
                placement("Capsule L", Role::Seed, tract, 0.58, 5.0),
                placement("Motor L", Role::Target, tract, 0.96, 11.0),
            ],
        },
        Suggestion {
            bundle: arcuate.to_owned(),
            placements: vec![
                placement("Arcuate L", Role::Seed, arcuate, 0.42, 5.0),
                placement("Temporal L", Role::Target, arcuate, 0.94, 8.0),
                placement("Broca L", Role::Target, arcuate, 0.05, 8.0),
            ],
        },
    ]
}

/// A bundle of a block from one end to the other.
fn through(bundle: &Bundle) -> Suggestion {
    const END_MM: f64 = 5.0;
    let placement = |name, role, t| Placement {
        name,
        role,
        centre: bundle.centre_line(t),
        radius_mm: END_MM,
    };
    Suggestion {
        bundle: bundle.name.clone(),
        placements: vec![
            placement("Start", Role::Seed, 0.06),
            placement("End", Role::Target, 0.94),
        ],
    }
}
