//! Synthetic heads with a known truth, for the demo, the tests and the benchmarks.
//!
//! [`Head::new`] generates a head from a seed: folded cortex, white matter, ventricles, deep grey matter, cerebellum,
//! brain stem, skull and face as implicit surfaces, and fibre bundles ([`Bundle`]) as curves in closed form. It can
//! be scanned ([`Head::diffusion_scan`]) and imaged ([`Head::t1`], [`Head::tumour_t1`]), and it provides the ground
//! truth ([`Head::labels`], [`Head::brain_mask`], [`Head::true_fibres`], [`Head::bundle_regions`],
//! [`Head::five_tissues`]). [`Head::built_in`] also makes a head whose bundles cross in equal shares, and blocks of grey
//! matter with bundles of simple courses. [`fields`] contains analytic fields whose streamlines and geodesics are known
//! exactly.
//!
//! World space is RAS mm with the anterior commissure near the origin.
//!
//! # Example
//!
//! A bundle of a head, and the brain on a coarse grid:
//!
//! ```
//! use arcuate_engine::compute::Control;
//! use arcuate_engine::phantom::{Head, scan_grid};
//!
//! let head = Head::new(7);
//! let tract = head.bundle("Corticospinal tract left").ok_or("a bundle")?;
//! assert!(tract.length_mm() > 100.0);
//! let middle = tract.centre_line(0.5);
//! assert!(tract.contains(middle));
//! assert!(head.tissues(middle, 1.0).white() > 0.9);
//!
//! let grid = scan_grid(8.0).ok_or("a spacing above 0")?;
//! let brain = head.brain_mask(&grid, &Control::new())?;
//! assert!((900.0..2000.0).contains(&brain.volume_ml()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arcs;
mod blocks;
mod bundles;
mod cortex;
mod crossings;
mod deep_structures;
mod demo;
pub mod directions;
pub mod fields;
pub mod folded_sheets;
mod head;
mod images;
mod implicit;
mod parameters;
mod scan;
mod shell;
mod tissue;
mod tracts;
mod truth;
mod waves;
mod whole_head;

pub use arcs::Arcs;
pub use blocks::{HELIX_PITCH_MM, HELIX_RADIUS_MM, U_RADIUS_MM};
pub use bundles::{Bundle, Coordinates, End, Knot};
pub use demo::{
    Demo, Placement, Suggestion, picture_grid_of, scan_grid, scan_grid_of, scan_options,
    suggestions,
};
pub use head::Head;
pub use images::{Labels, Picture, PictureOptions, TumourPicture, oblique_grid, t1_intensity};
pub use parameters::{SPACINGS_MM, ScanParams};
pub use scan::{
    BUNDLE_MM2_PER_S, Compartment, REST_MM2_PER_S, ScanOptions, Shell, WHITE_SIGNAL, noise_free,
    signal,
};
pub use tissue::{Fractions, Tissue};
pub use truth::{BundleRegions, TRUTH_FIBRES, fibres_per_bundle};
pub use whole_head::{Imaging, Weighting, WholeHead};
