//! Connectomes: counts, lengths and values of streamlines for each pair of structures in a label map.
//!
//! A streamline counts for the pair of labels at its two ends (Hagmann et al. 2008, without a correction for length).
//! An end has the label of the voxel that contains it or, in the background, of the labelled voxel whose centre is
//! nearest within a radius (a radial search, Smith et al. 2015). Matrices are symmetric because streamlines have no
//! direction. On the diagonal both ends have the same label.
//!
//! The ends and the lengths of streamlines whose points are on a graphics card are examined there, by the same
//! operations, each rounded as on the CPU; the host adds them in the order of the streamlines.
//!
//! # Example
//!
//! One streamline between two structures:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, Tractogram, Volume};
//! use arcuate_engine::solvers::connectivity::{Params, connectome};
//! use arcuate_engine::solvers::region::numbers;
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([5, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let labels = Volume::scalar(Arc::new(grid), vec![10.0, 0.0, 0.0, 0.0, 20.0]);
//! let numbers = numbers(&labels, 0, &control)?;
//! let line = Tractogram::new(vec![[0.0; 3], [4.0, 0.0, 0.0]], vec![0, 2]);
//! let map = (&labels, 0, &numbers);
//! let params = Params::defaults();
//! let connectome = connectome(&line, None, map, &params, None, &backend, &control)?;
//! assert_eq!(connectome.nodes, [10, 20]);
//! assert_eq!(connectome.count, [0, 1, 1, 0]);
//! assert_eq!(connectome.length_mm[1], 4.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cuda;
mod ends;
mod error;
mod parameters;

pub use parameters::Params;

use super::Error;
use super::region::Numbers;
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::{Tractogram, Volume};
use ends::Ends;
use error::InputError;
use rayon::prelude::*;

const CHUNK: usize = 1024;
/// A larger matrix would be unreadable, as a picture or a table.
pub const MAX_NODES: usize = 4000;
/// Marks an end without a label in `pairs`.
pub const NO_LABEL: u32 = u32::MAX;

/// Pairs of labels and the streamlines that connect them.
#[derive(Clone, PartialEq, Debug)]
pub struct Connectome {
    /// Label numbers, ascending: rows and columns of the matrices.
    pub nodes: Vec<i64>,
    /// Streamlines per pair, row by row, symmetric.
    pub count: Vec<u32>,
    /// Mean length per pair, mm; 0 without streamlines.
    pub length_mm: Vec<f32>,
    /// Mean value per pair; 0 without streamlines; empty without values.
    pub value: Vec<f32>,
    /// The rows that each streamline connects, the lower one first; [`NO_LABEL`] for an end without a label, and for
    /// both ends of an excluded streamline.
    pub pairs: Vec<[u32; 2]>,
    /// Connected pairs of rows, the lower one first; pairs with the most streamlines come first.
    pub connected: Vec<[u32; 2]>,
    /// Streamlines examined.
    pub examined: usize,
    /// Streamlines with a label at one end only.
    pub one_end: usize,
    /// Streamlines with a label at neither end.
    pub no_end: usize,
    /// Seconds that the kernels of graphics cards took; `None` if the CPU examined all streamlines.
    pub kernel_s: Option<f64>,
}

impl Connectome {
    /// Index of a pair of nodes in the matrices, row by row.
    pub fn at(&self, row: usize, column: usize) -> usize {
        row * self.nodes.len() + column
    }

    /// Names of the nodes from the label map's table; otherwise their numbers.
    pub fn names(&self, labels: &Volume) -> Vec<String> {
        let table = labels.labels.as_ref();
        let known = |number: i64| table?.name(u32::try_from(number).ok()?);
        let name = |number: &i64| known(*number).map_or(number.to_string(), str::to_owned);
        self.nodes.iter().map(name).collect()
    }

    /// Marks of the streamlines of a pair.
    pub fn members(&self, row: usize, column: usize) -> Vec<bool> {
        let requested = [row.min(column) as u32, row.max(column) as u32];
        self.pairs.iter().map(|pair| *pair == requested).collect()
    }
}

fn ascending([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// The connectome of the marked streamlines, or of all; `values`, if given, holds one value per streamline.
pub fn connectome(
    tractogram: &Tractogram,
    among: Option<&[bool]>,
    map: (&Volume, usize, &Numbers),
    params: &Params,
    values: Option<&[f32]>,
    backend: &Backend,
    control: &Control,
) -> Result<Connectome, Error> {
    let mut counting = Counting::new(map, params, values.is_some())?;
    counting.pairs = Some(Vec::new());
    control.begin("Labels at the ends", tractogram.len() as u64);
    counting.add(tractogram, among, values, backend, control)?;
    Ok(counting.connectome())
}

/// The connectome of streamlines that are not all in memory at once. They are added in their order, so it does not
/// depend on the pieces.
pub struct Counting<'a> {
    ends: Ends<'a>,
    nodes: Vec<i64>,
    count: Vec<u32>,
    lengths: Vec<f64>,
    /// Sums and numbers of values; empty without values.
    sums: Vec<(f64, u32)>,
    /// The rows that each streamline connects, if they are needed.
    pairs: Option<Vec<[u32; 2]>>,
    examined: usize,
    one_end: usize,
    no_end: usize,
    kernel_s: Option<f64>,
}

impl<'a> Counting<'a> {
    /// No streamlines yet; each has a value if `valued` is set.
    pub fn new(
        (labels, frame, numbers): (&'a Volume, usize, &Numbers),
        params: &Params,
        valued: bool,
    ) -> Result<Self, Error> {
        let nodes: Vec<i64> = numbers.0.iter().map(|label| label.number).collect();
        if nodes.len() > MAX_NODES || nodes.is_empty() {
            return Err(InputError::Labels(nodes.len()).into());
        }
        params.check()?;
        let n = nodes.len();
        memory::claim("The connectome", (n * n) as u64 * 28)?;
        Ok(Self {
            ends: Ends::new(labels, frame, params.radius_mm),
            count: vec![0; n * n],
            lengths: vec![0.0; n * n],
            sums: vec![(0.0, 0); if valued { n * n } else { 0 }],
            nodes,
            pairs: None,
            examined: 0,
            one_end: 0,
            no_end: 0,
            kernel_s: None,
        })
    }

    /// Adds the marked streamlines, or all, on the cards that have their points, otherwise on the CPU; advances `control`
    /// by the number of all.
    pub fn add(
        &mut self,
        tractogram: &Tractogram,
        among: Option<&[bool]>,
        values: Option<&[f32]>,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        // The labels at the ends and the length of each streamline, up to three times while those of cards are joined, and
        // its place on a card.
        memory::claim("The connectome", tractogram.len() as u64 * (3 * 12 + 28))?;
        let row = |label: i64| match label {
            0 => NO_LABEL,
            label => self
                .nodes
                .binary_search(&label)
                .map_or(NO_LABEL, |at| at as u32),
        };
        let shown = |line: usize| among.is_none_or(|marks| marks[line]);
        let on_card = cuda::examine(tractogram, &self.ends, backend, control)?;
        let pairs: Vec<([u32; 2], f32)> = if let Some(known) = on_card {
            *self.kernel_s.get_or_insert(0.0) += known.kernel_s;
            let pair = |line: usize| match shown(line) {
                true => (
                    ascending(known.labels[line].map(row)),
                    known.lengths_mm[line],
                ),
                false => ([NO_LABEL; 2], 0.0),
            };
            backend.install(|| (0..tractogram.len()).into_par_iter().map(pair).collect())
        } else {
            backend.install(|| tractogram.points.on_host())?;
            let pair = |line: usize| -> ([u32; 2], f32) {
                let points = tractogram.streamline(line);
                match (points.first(), points.last()) {
                    (Some(first), Some(last)) if shown(line) => {
                        let labels = [*first, *last].map(|end| self.ends.label(end));
                        (ascending(labels.map(row)), tractogram.length_mm(line))
                    }
                    _ => ([NO_LABEL; 2], 0.0),
                }
            };
            let chunks = tractogram.len().div_ceil(CHUNK);
            let pairs: Result<Vec<Vec<_>>, Cancelled> = backend.install(|| {
                let chunk = |chunk: usize| {
                    control.check()?;
                    let lines = chunk * CHUNK..((chunk + 1) * CHUNK).min(tractogram.len());
                    control.advance(lines.len() as u64);
                    Ok(lines.map(pair).collect())
                };
                (0..chunks).into_par_iter().map(chunk).collect()
            });
            pairs?.concat()
        };
        let n = self.nodes.len();
        for (line, ([a, b], length)) in pairs.iter().enumerate() {
            if among.is_some_and(|marks| !marks[line]) {
                continue;
            }
            self.examined += 1;
            match (*a, *b) {
                (NO_LABEL, NO_LABEL) => self.no_end += 1,
                (_, NO_LABEL) => self.one_end += 1,
                (a, b) => {
                    let at = a as usize * n + b as usize;
                    self.count[at] += 1;
                    self.lengths[at] += f64::from(*length);
                    if let Some(value) = values.map(|v| v[line]).filter(|v| v.is_finite()) {
                        self.sums[at].0 += f64::from(value);
                        self.sums[at].1 += 1;
                    }
                }
            }
        }
        if let Some(all) = &mut self.pairs {
            all.extend(pairs.iter().map(|(pair, _)| *pair));
        }
        Ok(())
    }

    /// The connectome of all streamlines so far, with their pairs if these were to be kept.
    pub fn connectome(self) -> Connectome {
        let (n, mut count) = (self.nodes.len(), self.count);
        let all = (0..n).flat_map(|a| (a..n).map(move |b| [a as u32, b as u32]));
        let many = |[a, b]: [u32; 2]| count[a as usize * n + b as usize];
        let mut connected: Vec<[u32; 2]> = all.filter(|pair| many(*pair) > 0).collect();
        connected.sort_by_key(|pair| std::cmp::Reverse(many(*pair)));
        let mean = |sum: f64, n: u32| {
            if n == 0 {
                0.0
            } else {
                (sum / f64::from(n)) as f32
            }
        };
        let lengths = self.lengths.iter().zip(&count);
        let mut length_mm: Vec<f32> = lengths.map(|(l, n)| mean(*l, *n)).collect();
        let mut value: Vec<f32> = self.sums.iter().map(|(sum, n)| mean(*sum, *n)).collect();
        for a in 0..n {
            for b in a + 1..n {
                let (from, to) = (a * n + b, b * n + a);
                count[to] = count[from];
                length_mm[to] = length_mm[from];
                if let Some(known) = value.get(from).copied() {
                    value[to] = known;
                }
            }
        }
        Connectome {
            nodes: self.nodes,
            count,
            length_mm,
            value,
            pairs: self.pairs.unwrap_or_default(),
            connected,
            examined: self.examined,
            one_end: self.one_end,
            no_end: self.no_end,
            kernel_s: self.kernel_s,
        }
    }
}
