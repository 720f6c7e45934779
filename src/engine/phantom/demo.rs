//! The demo: one head, ready to explore.

use super::head::Head;
use super::images::{PictureOptions, oblique_grid};
use super::parameters::ScanParams;
use super::scan::ScanOptions;
use crate::compute::{Cancelled, Control};
use crate::data::{BuiltInHead, Gradients, Grid, Mask, Role, Volume};
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

/// The default scan, on a grid.
pub fn scan_options(grid: Arc<Grid>, noise_seed: u64) -> ScanOptions {
    ScanParams::defaults().options(grid, noise_seed)
}

fn default_grid() -> Option<Arc<Grid>> {
    scan_grid(ScanParams::defaults().spacing_mm)
}

/// The scan of a built-in head where a command names it.
fn scan_of(head: BuiltInHead, grid: Arc<Grid>) -> ScanOptions {
    ScanParams::defaults_for(head.kind).options(grid, head.seed)
}

impl Demo {
    /// Memory that the images of a head take, bytes.
    pub fn bytes(head: BuiltInHead) -> u64 {
        let voxels = |grid: Option<Arc<Grid>>| grid.map_or(0, |grid| grid.voxel_count() as u64);
        let options = default_grid().map(|grid| scan_of(head, grid));
        let volumes = options.map_or(0, |o| o.gradients().directions.len() as u64);
        (voxels(default_grid()) * volumes + voxels(oblique_grid())) * size_of::<f32>() as u64
    }

    /// Never panics: both grids are constants of this program.
    pub fn new(built_in: BuiltInHead, control: &Control) -> Result<Self, Cancelled> {
        // Shares of time per stage; the last stage prepares the views.
        control.plan(&[0.3, 0.6, 0.1]);
        let head = Head::built_in(built_in);
        let (Some(grid), Some(oblique)) = (default_grid(), oblique_grid()) else {
            return Err(Cancelled);
        };
        let scan = scan_of(built_in, grid);
        let (dwi, gradients, mask) = head.scan_and_mask(&scan, control)?;
        let options = PictureOptions {
            snr: Some(40.0),
            shading: 0.08,
            noise_seed: built_in.seed,
        };
        let t1 = head.t1(&oblique, &options, control)?.image;
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

/// Seeds and targets in the best-known bundles of the left side.
pub fn suggestions(head: &Head) -> Vec<Suggestion> {
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
