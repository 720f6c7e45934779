//! Bundles: clusters of streamlines of similar course, bundles recognised by the labels that they pass, and figures of
//! groups of streamlines.
//!
//! *Distances.* Two streamlines are compared by points that are equally spaced along their lengths. The minimum average
//! direct-flip distance (MDF) is the mean distance of corresponding points, in the better of the two directions
//! (Garyfallidis et al. 2012, Front Neurosci 6:175): [`mdf`]. The mean of the closest distances has one value for
//! each of the two streamlines, from the points of one to the nearest points of the other; their minimum, mean and maximum
//! are symmetric (MAM, the same paper): [`mam`]. MDF obeys the triangle inequality, MAM does not.
//!
//! *Clusters* (QuickBundles, the same paper). Streamlines are taken in their order. Each joins the cluster whose centroid,
//! the mean of its members, is nearest by MDF, turned as it fits better; if no centroid is nearer than the threshold, it
//! begins a cluster. The result depends on the order, as in the paper.
//!
//! *Bounds.* Let the points of a streamline be divided into parts of equal numbers of points at the same places. By the
//! triangle inequality, the mean distance of corresponding points is at least the mean distance of the parts' mean points,
//! weighted by their numbers of points; with one part this is the distance of the mean points, which no reversal changes.
//! A grid over the mean points of the centroids lists those that may be nearer than the threshold, and the bound with three
//! parts rejects most of the rest, so that few distances are computed. Bounds are compared with a margin for rounding, and
//! the result is that of comparing each streamline with each centroid, bit for bit.
//!
//! *Labels* ([`recognise`]). A recipe states for each bundle the labels of a map that its streamlines pass, avoid and end
//! in (Wassermann et al. 2016, Brain Struct Funct 221:4705). The voxels that a streamline passes are exact (`Walk` of
//! `density`).
//!
//! *Arithmetic.* Distances are in single precision, in one order of operations without fused multiply-adds ([`mdf`]): the
//! same bytes with every instruction set. Sums of centroids are in double precision.
//!
//! *Cost.* Resampling n streamlines costs O(n), and their bounds O(n·c), where c, the number of centroids around a place in
//! the head, hardly grows with the number of clusters. Only resampling is shared among threads, since each assignment depends on all
//! before it.
//!
//! # Example
//!
//! Two lines side by side, one of them reversed, and one across:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::Tractogram;
//! use arcuate_engine::solvers::bundles::{Params, cluster};
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let lines = [
//!     [[0.0, 0.0, 0.0], [40.0, 0.0, 0.0]],
//!     [[40.0, 2.0, 0.0], [0.0, 2.0, 0.0]],
//!     [[20.0, -20.0, 0.0], [20.0, 20.0, 0.0]],
//! ];
//! let params = Params { min_size: 1, ..Params::defaults() };
//! let clusters = cluster(&Tractogram::of_curves(lines), None, &params, &backend, &control)?;
//! assert_eq!(clusters.assignment, [0, 0, 1]);
//! assert_eq!(clusters.clusters[0].centroid[0], [0.0, 1.0, 0.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod centroids;
mod cluster;
mod distance;
mod error;
mod parameters;
mod recognise;
mod resample;
mod statistics;

pub use super::Error;
pub use cluster::{Cluster, Clustering, Clusters, UNASSIGNED, cluster};
pub use distance::{MeanClosest, mam, mdf};
pub use parameters::{Params, RecognitionParams};
pub use recognise::{Recognised, recognise};
pub use resample::resampled;
pub use statistics::{GroupStatistics, group_statistics};
