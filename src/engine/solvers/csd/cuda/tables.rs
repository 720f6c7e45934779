//! The matrices of a problem as kernels/csd.cuh reads them.

use super::super::problem::Problem;
use super::super::tables::{Class, Tables, Tiled};

/// Terms that the kernel reads at once, and reads ahead.
const TERMS_AT_ONCE: usize = 4;

/// Packed tables of one order and number of voxels in each block.
pub struct PackedTables {
    /// Values, rows in fours, moments in fours, H.
    pub matrices: Vec<f32>,
    /// First term and number of terms of each bundle of elements.
    pub bundles: Vec<[u32; 2]>,
    /// Place in the matrix, and the bits of H there.
    pub elements: Vec<[u32; 2]>,
    /// Moment, and the bits of its coefficient.
    pub terms: Vec<[u32; 2]>,
    /// Samples to sums, one row for each volume.
    pub projection: Vec<f32>,
}

/// One element of H + AᵀDA.
struct Element {
    place: usize,
    normal: f32,
    terms: Vec<[u32; 2]>,
}

impl PackedTables {
    /// `bundle`: the elements that a warp assembles at once.
    pub fn new(problem: &Problem, tables: &Tables<f32>, padded: usize, bundle: usize) -> Self {
        let n = tables.unknowns;
        let mut matrices = Vec::new();
        for class in &tables.classes {
            for j in 0..class.unknowns.len() {
                let values = (0..tables.representatives).map(|i| class.to_values.at(j, i));
                matrices.extend(values);
            }
        }
        let mut in_fours = |of: &dyn Fn(&Class<f32>) -> &Tiled<f32>| {
            for matrix in tables.classes.iter().map(of) {
                push_in_fours(&mut matrices, matrix.inputs, matrix.outputs, |i, o| {
                    matrix.at(i, o)
                });
            }
        };
        in_fours(&|class| &class.to_coefficients);
        in_fours(&|class| &class.to_moments);
        push_in_fours(&mut matrices, padded, padded, |i, o| {
            if i < n && o < n {
                tables.normal[i * n + o]
            } else {
                0.0
            }
        });
        let mut elements = elements(tables, padded);
        elements.sort_by_key(|element| std::cmp::Reverse(element.terms.len()));
        let (bundles, packed, terms) = bundles(&elements, bundle);
        let volumes = problem.volumes.len();
        let projection = (0..volumes * padded).map(|e| {
            let (volume, unknown) = (e / padded, e % padded);
            if unknown < n {
                tables.project.at(volume, unknown)
            } else {
                0.0
            }
        });
        Self {
            bundles,
            elements: packed,
            terms,
            projection: projection.collect(),
            matrices,
        }
    }
}

/// Outputs in fours: for each four, all inputs.
fn push_in_fours(
    to: &mut Vec<f32>,
    inputs: usize,
    outputs: usize,
    at: impl Fn(usize, usize) -> f32,
) {
    for first in (0..outputs).step_by(4) {
        for input in 0..inputs {
            to.extend((first..first + 4).map(|output| at(input, output)));
        }
    }
}

/// First element of a column, less its first row: columns come in fours, from the first row of the four on.
fn column(padded: usize, k: usize) -> usize {
    let first = k / 4 * 4;
    // Σ 4 (padded − 4 h) over the fours before.
    let before = first * padded - first * first.saturating_sub(4) / 2;
    before + k % 4 * (padded - first) - first
}

/// The elements of the lower triangle.
fn elements(tables: &Tables<f32>, padded: usize) -> Vec<Element> {
    let (n, fibre, all) = (tables.unknowns, tables.fibre, &tables.terms);
    let moments = tables.classes.last();
    let moments = moments.map_or(0, |class| class.first_moment + class.to_moments.outputs);
    let mut out = Vec::with_capacity(padded * (padded + 1) / 2);
    for row in 0..padded {
        for k in 0..=row {
            let mut terms = Vec::new();
            if row < fibre {
                let element = row * (row + 1) / 2 + k;
                let range = all.starts[element] as usize..all.starts[element + 1] as usize;
                let pairs = all.moments[range.clone()].iter().zip(&all.values[range]);
                terms.extend(pairs.map(|(moment, value)| [u32::from(*moment), value.to_bits()]));
            } else if row < n && row == k {
                // D of a tissue without fibres comes after the moments.
                terms.push([(moments + row - fibre) as u32, 1f32.to_bits()]);
            }
            let normal = match row < n {
                true => tables.normal[row * n + k],
                false => f32::from(row == k),
            };
            out.push(Element {
                place: column(padded, k) + row,
                normal,
                terms,
            });
        }
    }
    out
}

type Pairs = Vec<[u32; 2]>;

/// Bundles, elements, and terms interleaved by element.
fn bundles(elements: &[Element], size: usize) -> (Pairs, Pairs, Pairs) {
    let (mut bundles, mut packed, mut terms) = (Pairs::new(), Pairs::new(), Pairs::new());
    for bundle in elements.chunks(size) {
        let longest = bundle.iter().map(|e| e.terms.len()).max().unwrap_or(0);
        let longest = longest.next_multiple_of(TERMS_AT_ONCE);
        bundles.push([terms.len() as u32, longest as u32]);
        // An incomplete bundle computes its last element several times.
        let member = |i: usize| &bundle[i.min(bundle.len() - 1)];
        packed.extend((0..size).map(|i| [member(i).place as u32, member(i).normal.to_bits()]));
        for term in 0..longest {
            terms.extend((0..size).map(|i| member(i).terms.get(term).copied().unwrap_or([0, 0])));
        }
    }
    // Read ahead after the last bundle.
    terms.resize(terms.len() + TERMS_AT_ONCE * size, [0, 0]);
    (bundles, packed, terms)
}
