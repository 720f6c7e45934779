//! Comparison of several segmentations of one structure, and of a pathway with streamlines.
//!
//! *Pairs.* Of two masks A and B: Dice coefficient 2 |A ∩ B| / (|A| + |B|) (Dice 1945, Ecology 26:297), Jaccard index
//! |A ∩ B| / |A ∪ B| (Jaccard 1912, New Phytol 11:37), and the distances between their borders ([`Border`]). The mean of
//! an index over the pairs of different operators is the precision between operators, that over the pairs of one operator
//! the precision within operators (Udupa et al. 2006, Comput Med Imaging Graph 30:75, with the Jaccard index).
//!
//! *Consensus* (STAPLE; Warfield, Zou and Wells 2004, IEEE Trans Med Imaging 23:903). Mask j has an unknown sensitivity
//! p_j = P(D_j = 1 | T = 1) and specificity q_j = P(D_j = 0 | T = 0), and decides independently of the others in each
//! voxel. Expectation: the probability that voxel i with the decisions D_ij belongs to the structure,
//!
//! ```text
//! W_i = γ a_i / (γ a_i + (1 − γ) b_i),
//! a_i = Π_j p_j^D_ij (1 − p_j)^(1 − D_ij),   b_i = Π_j q_j^(1 − D_ij) (1 − q_j)^D_ij.
//! ```
//!
//! Maximisation: p_j = Σ_i W_i D_ij / Σ_i W_i and q_j = Σ_i (1 − W_i) (1 − D_ij) / Σ_i (1 − W_i). As in the paper, the prior γ
//! is the mean of all decisions, and the iteration starts at p_j = q_j = 0.99999. It ends when no p_j or q_j changes by
//! more than 1e-10.
//!
//! W_i depends only on the decisions in the voxel. Of the 2ⁿ patterns of n decisions few occur, so the voxels of each
//! pattern are counted once, and the iteration runs over patterns: it gives what an iteration over all voxels gives, at a
//! cost that does not depend on their number. Sums run over patterns in ascending order: results are the same bytes at
//! any number of threads.
//!
//! *Pathway and streamlines* ([`agreement`]): the shares of streamlines and of their length within the pathway, the share
//! of the pathway near streamlines, and the Dice coefficient of the pathway and the voxels that streamlines pass, which are
//! exact (`Walk` of `density`): figures for what Fig. 9 of Jeong et al. 2007, IEEE Trans Vis Comput Graph 13:1480, shows.
//!
//! # Example
//!
//! Two of three masks agree; the consensus is theirs:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, Mask};
//! use arcuate_engine::solvers::compare::{pairs, staple};
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([6, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let masks = [[1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 0, 0]];
//! let masks = masks.map(|inside| Mask::new(grid.clone(), inside.to_vec()));
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let pairs = pairs(&masks, &backend, &control)?;
//! assert_eq!([pairs[0].dice(), pairs[1].jaccard()], [1.0, 0.5]);
//! let consensus = staple(&masks, None, &backend, &control)?;
//! assert!(consensus.probability.values[0] > 0.9 && consensus.probability.values[3] < 0.1);
//! assert!(consensus.sensitivity[0] > 0.99 && consensus.sensitivity[2] < 0.7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod masks;
mod staple;
mod streamlines;

pub use super::Error;
pub use super::level_set::{Border, BorderDistances};
pub use error::{InputError, MAX_MASKS};
pub use masks::{Pair, Precision, pairs, precision};
pub use staple::{Consensus, staple};
pub use streamlines::{PathwayAgreement, agreement};
