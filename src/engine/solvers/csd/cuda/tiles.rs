//! H + AᵀDA by tiles: the elements that couple two azimuthal frequencies, for kernels/csd.cuh.

use super::super::tables::Tables;

/// Place of an element that is not stored: it is above the diagonal, or it does not exist.
const NONE: u32 = u32::MAX;
/// Tissue of elements without one.
const NO_TISSUE: u32 = 3;
/// Combinations of cosine and sine of both frequencies: both cosines, both sines, sine of the higher, sine of the lower.
const COMBINATIONS: usize = 4;

/// Tiles of equal shape that a warp assembles at once.
const AT_ONCE: usize = 2;

/// The degrees with an azimuthal frequency up to an order, ascending.
#[derive(Clone)]
pub struct Degrees {
    next: usize,
    last: usize,
}

impl Degrees {
    pub fn new(order: usize, m: usize) -> Self {
        Self {
            next: m.next_multiple_of(2),
            last: order,
        }
    }
}

impl Iterator for Degrees {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let l = self.next;
        self.next += 2;
        (l <= self.last).then_some(l)
    }
}

/// Number of polar functions of tiles, as the kernel unrolls them: a tile may have some that do not exist.
fn sizes(order: usize) -> Vec<usize> {
    let half = order / 2;
    match order {
        8 => vec![half + 1, half - 1],
        _ => vec![half + 1, half - 1, half - 3],
    }
}

/// First element of a column, less its first row: columns come in fours, from the first row of the four on.
fn column(padded: usize, k: usize) -> usize {
    let first = k / 4 * 4;
    // Σ 4 (padded − 4 h) over the fours before.
    let before = first * padded - first * first.saturating_sub(4) / 2;
    before + k % 4 * (padded - first) - first
}

/// Two azimuthal frequencies; `is_stored` is false for a tile that completes a warp.
struct Pair {
    low: usize,
    high: usize,
    /// Size of the lower frequency, then of the higher.
    size: (usize, usize),
    is_stored: bool,
}

/// Tiles, large ones first, and their elements by row, column and combination.
pub fn of_fibres(
    order: usize,
    tables: &Tables<f32>,
    padded: usize,
) -> (Vec<[u32; 4]>, Vec<[u32; 2]>) {
    let sizes = sizes(order);
    let size = |m: usize| {
        let exact = Degrees::new(order, m).count();
        let fits = sizes.iter().copied().filter(|size| *size >= exact);
        fits.min().unwrap_or(exact)
    };
    // The kernel's numbers of the shapes.
    let shapes = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)];
    let shapes = shapes.into_iter().filter(|(_, b)| *b < sizes.len());
    let shapes: Vec<(usize, usize)> = shapes.map(|(a, b)| (sizes[a], sizes[b])).collect();
    let pair = |low: usize, high: usize, is_stored: bool| Pair {
        low,
        high,
        size: (size(low), size(high)),
        is_stored,
    };
    let mut numbered: Vec<usize> = (0..shapes.len()).collect();
    numbered.sort_by_key(|number| std::cmp::Reverse(shapes[*number].0 * shapes[*number].1));
    let position = positions(tables);
    let stored = |[a, b]: [usize; 2]| {
        let (row, k) = (a.max(b), a.min(b));
        let normal = tables.normal[row * tables.unknowns + k];
        [(column(padded, k) + row) as u32, normal.to_bits()]
    };
    let (mut tiles, mut elements) = (Vec::new(), Vec::new());
    for number in numbered {
        let all = (0..=order).flat_map(|high| (0..=high).map(move |low| (low, high)));
        let all = all.map(|(low, high)| pair(low, high, true));
        let mut own: Vec<Pair> = all.filter(|pair| pair.size == shapes[number]).collect();
        while !own.len().is_multiple_of(AT_ONCE)
            && let Some(last) = own.last()
        {
            own.push(pair(last.low, last.high, false));
        }
        for pair in own {
            tiles.push([pair.low, pair.high, number, elements.len()].map(|v| v as u32));
            for i in 0..pair.size.0 {
                for j in 0..pair.size.1 {
                    let element = |both| pair.element(order, i, j, both);
                    elements.extend((0..COMBINATIONS).map(|both| match element(both) {
                        Some(coupled) => stored(coupled.map(|index| position[index])),
                        None => [NONE, 0],
                    }));
                }
            }
        }
    }
    (tiles, elements)
}

impl Pair {
    /// Indices of the functions that an element couples; `None` if it is not stored.
    fn element(&self, order: usize, i: usize, j: usize, both: usize) -> Option<[usize; 2]> {
        let function = |m: usize, number: usize, is_sine: bool| {
            let l = Degrees::new(order, m).nth(number)?;
            // The sine of 0 is 0.
            let exists = !(is_sine && m == 0);
            exists.then_some(l * (l + 1) / 2 - usize::from(is_sine) * m + usize::from(!is_sine) * m)
        };
        let low = function(self.low, i, both == 1 || both == 3)?;
        let high = function(self.high, j, both == 1 || both == 2)?;
        // A tile of one frequency is symmetric, and has each pair of sine and cosine twice.
        let is_first = self.low < self.high || both == 2 || (both < 2 && i >= j);
        (self.is_stored && is_first).then_some([low, high])
    }
}

/// The position of each function of a series among the unknowns.
fn positions(tables: &Tables<f32>) -> Vec<usize> {
    let mut positions = vec![0; tables.fibre];
    for (position, (index, _)) in tables.source[..tables.fibre].iter().enumerate() {
        positions[*index] = position;
    }
    positions
}

/// The rows of tissues without fibres, and of the unit matrix that completes the kernel's.
pub fn without_fibres(tables: &Tables<f32>, padded: usize) -> Vec<[u32; 4]> {
    let (n, fibre) = (tables.unknowns, tables.fibre);
    let mut out = Vec::new();
    for row in fibre..padded {
        for k in 0..=row {
            let normal = match row < n {
                true => tables.normal[row * n + k],
                false => f32::from(u8::from(row == k)),
            };
            let tissue = match row < n && row == k {
                true => (row - fibre) as u32,
                false => NO_TISSUE,
            };
            let place = (column(padded, k) + row) as u32;
            out.push([place, normal.to_bits(), tissue, 0]);
        }
    }
    out
}
