//! The loops over the segments of a group.

use super::{ATOMS, Atom, Factorised, LANES, PeakStep, Step, V};
use crate::compute::Lanes;
use crate::compute::simd::Kernel;
use crate::solvers::commit::directions::SIDE;
use crate::solvers::commit::harmonics::{COUNT, pairs};

/// Unit vectors of eight codes, as [`crate::solvers::commit::directions::middle`].
#[inline(always)]
fn axes<const FMA: bool>(codes: &[u16; LANES]) -> [V<FMA>; 3] {
    const STEP: f32 = 2.0 / SIDE as f32;
    const BEGIN: f32 = 1.0 / SIDE as f32 - 1.0;
    let mut out = [[0f32; LANES]; 3];
    for lane in 0..LANES {
        let u = f32::from(codes[lane] % SIDE) * STEP + BEGIN;
        let w = f32::from(codes[lane] / SIDE) * STEP + BEGIN;
        let (x, y) = (0.5 * (u + w), 0.5 * (u - w));
        let z = 1.0 - x.abs() - y.abs();
        let scale = 1.0 / (x * x + y * y + z * z).sqrt();
        out[0][lane] = x * scale;
        out[1][lane] = y * scale;
        out[2][lane] = z * scale;
    }
    out.map(Lanes)
}

/// `S` steps at once, which share what is read and written for each harmonic.
type Many<const S: usize, const FMA: bool> = [V<FMA>; S];

/// What is done with each pair of m and l: `number` is that of its (first) function.
trait Visit<const S: usize, const FMA: bool> {
    /// Before those of an m: the real and the imaginary part of (x + iy)^m.
    fn begin(&mut self, turn: &[Many<S, FMA>; 2]);
    /// Of m = 0: T itself.
    fn along(&mut self, number: usize, t: Many<S, FMA>);
    /// Of the others: T times the real part, and T times the imaginary one as the next number.
    fn around(&mut self, number: usize, t: Many<S, FMA>);
    /// After those of an m.
    fn end(&mut self, turn: &[Many<S, FMA>; 2]);
}

/// Goes through all pairs of m and l at eight unit vectors of each step.
#[inline(always)]
fn harmonics<const S: usize, const FMA: bool>(
    axes: [[V<FMA>; 3]; S],
    visit: &mut impl Visit<S, FMA>,
) {
    let mut square = [V::<FMA>::ZERO; S];
    for i in 0..S {
        square[i] = axes[i][2] * axes[i][2];
    }
    let (mut t, mut before) = ([V::<FMA>::ZERO; S], [V::<FMA>::ZERO; S]);
    let mut turn = [[V::<FMA>::splat(1.0); S], [V::<FMA>::ZERO; S]];
    let mut number = 0;
    let mut last = 0;
    visit.begin(&turn);
    for pair in pairs() {
        if pair.first {
            if pair.m > last {
                visit.end(&turn);
                last = pair.m;
                for i in 0..S {
                    let ([x, y, _], re, im) = (axes[i], turn[0][i], turn[1][i]);
                    turn[0][i] = im.neg_mul_add::<FMA>(y, re * x);
                    turn[1][i] = re.mul_add::<FMA>(y, im * x);
                }
                visit.begin(&turn);
            }
            for i in 0..S {
                before[i] = V::ZERO;
                t[i] = V::splat(pair.level);
                if pair.m % 2 == 1 {
                    t[i] = t[i] * axes[i][2];
                }
            }
        } else {
            let (slope, level) = (V::splat(pair.slope), V::splat(pair.level));
            for i in 0..S {
                let factor = square[i].mul_add::<FMA>(slope, level);
                let above = factor.mul_add::<FMA>(t[i], before[i]);
                (before[i], t[i]) = (t[i], above);
            }
        }
        if pair.m == 0 {
            visit.along(number, t);
            number += 1;
        } else {
            visit.around(number, t);
            number += 2;
        }
    }
    visit.end(&turn);
}

/// What streamlines or peaks of one step give, and where it is kept.
trait Source {
    fn directions(&self) -> &[u16; LANES];
    /// Of each atom, with the length.
    fn weight(&self, atom: usize) -> [f32; LANES];
}

struct FromStep<'a> {
    step: &'a Step,
    intra: &'a [f32],
    atoms: usize,
    unit_mm: f32,
}

impl Source for FromStep<'_> {
    #[inline(always)]
    fn directions(&self) -> &[u16; LANES] {
        &self.step.direction
    }

    #[inline(always)]
    fn weight(&self, atom: usize) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        for lane in 0..LANES {
            let x = self.intra[self.step.fibre[lane] as usize * self.atoms + atom];
            out[lane] = x * (f32::from(self.step.length[lane]) * self.unit_mm);
        }
        out
    }
}

struct FromPeak<'a> {
    step: &'a PeakStep,
    /// Eight a column.
    own: &'a [f32],
}

impl Source for FromPeak<'_> {
    #[inline(always)]
    fn directions(&self) -> &[u16; LANES] {
        &self.step.direction
    }

    #[inline(always)]
    fn weight(&self, atom: usize) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        for lane in 0..LANES {
            out[lane] = self.own[atom * LANES + lane] * self.step.there[lane];
        }
        out
    }
}

pub struct Forward<'a> {
    pub operator: &'a Factorised,
    pub intra: &'a [f32],
    pub own: &'a [f32],
    pub group: usize,
    pub y: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let op = self.operator;
        let mut sums = vec![[V::<FMA>::ZERO; COUNT]; op.shells.len()];
        let mut flat = V::<FMA>::ZERO;
        let steps = op.steps(self.group);
        for (chunk, atoms) in op.intra.chunks(ATOMS).enumerate() {
            let source = |i: usize| FromStep {
                step: &steps[i],
                intra: &self.intra[chunk * ATOMS..],
                atoms: op.intra.len(),
                unit_mm: op.unit_mm,
            };
            add::<FMA, _>(steps.len(), source, atoms, &mut sums, &mut flat);
        }
        let peaks = op.peak_steps(self.group);
        let extra = op.extra.len();
        for (chunk, atoms) in op.extra.chunks(ATOMS).enumerate() {
            let source = |i: usize| FromPeak {
                step: &peaks[i],
                own: &self.own[(i * extra + chunk * ATOMS) * LANES..],
            };
            add::<FMA, _>(peaks.len(), source, atoms, &mut sums, &mut flat);
        }
        let free = &self.own[op.shape.peaks * extra * LANES..];
        for (atom, x) in op.free.iter().zip(free.as_chunks::<LANES>().0) {
            let x = Lanes::<LANES, FMA>(*x);
            // Y_00 of both ends.
            let y00 = V::<FMA>::splat(Y00);
            for (sums, shell) in sums.iter_mut().zip(&atom.shells) {
                sums[0] = (x * y00).mul_add::<FMA>(V::splat(shell[0]), sums[0]);
            }
            flat = x.mul_add::<FMA>(V::splat(atom.flat), flat);
        }
        let (b0, mut rest) = self.y.split_at_mut(op.b0 * LANES);
        b0.chunks_exact_mut(LANES)
            .for_each(|y| y.copy_from_slice(&flat.0));
        for (shell, sums) in op.shells.iter().zip(&sums) {
            let (own, others) = rest.split_at_mut(shell.count * LANES);
            shell.samples::<FMA>(sums, own);
            rest = others;
        }
    }
}

/// Y_00 = 1 / √(4π).
const Y00: f32 = 0.282_094_8;

/// Adds what some steps give to each shell's sums.
#[inline(always)]
fn add<const FMA: bool, T: Source>(
    count: usize,
    source: impl Fn(usize) -> T,
    atoms: &[Atom],
    sums: &mut [[V<FMA>; COUNT]],
    flat: &mut V<FMA>,
) {
    match atoms.len() {
        1 => moments::<1, FMA, T>(count, source, atoms, sums, flat),
        2 => moments::<2, FMA, T>(count, source, atoms, sums, flat),
        3 => moments::<3, FMA, T>(count, source, atoms, sums, flat),
        _ => moments::<4, FMA, T>(count, source, atoms, sums, flat),
    }
}

#[inline(always)]
fn moments<const A: usize, const FMA: bool, T: Source>(
    count: usize,
    source: impl Fn(usize) -> T,
    atoms: &[Atom],
    sums: &mut [[V<FMA>; COUNT]],
    flat: &mut V<FMA>,
) {
    let mut moments = [[V::<FMA>::ZERO; COUNT]; A];
    let mut weights = [V::<FMA>::ZERO; A];
    for i in (0..count / 2 * 2).step_by(2) {
        let both = [source(i), source(i + 1)];
        of_steps::<2, A, FMA>(&both, &mut moments, &mut weights);
    }
    if count % 2 == 1 {
        of_steps::<1, A, FMA>(&[source(count - 1)], &mut moments, &mut weights);
    }
    for (j, atom) in atoms.iter().enumerate().take(A) {
        *flat = weights[j].mul_add::<FMA>(V::splat(atom.flat), *flat);
        for (sums, shell) in sums.iter_mut().zip(&atom.shells) {
            for n in 0..COUNT {
                sums[n] = moments[j][n].mul_add::<FMA>(V::splat(shell[n]), sums[n]);
            }
        }
    }
}

/// Adds the harmonics of `S` steps, times each atom's weight, and the weights alone.
#[inline(always)]
fn of_steps<const S: usize, const A: usize, const FMA: bool>(
    sources: &[impl Source; S],
    moments: &mut [[V<FMA>; COUNT]; A],
    weights: &mut [V<FMA>; A],
) {
    let mut w = [[V::<FMA>::ZERO; S]; A];
    let mut any = 0;
    for j in 0..A {
        for i in 0..S {
            let weight = sources[i].weight(j);
            for value in weight {
                any |= value.to_bits();
            }
            w[j][i] = Lanes(weight);
            weights[j] = weights[j] + w[j][i];
        }
    }
    // Most weights end at 0, of either sign.
    if any << 1 == 0 {
        return;
    }
    let mut at = [[V::<FMA>::ZERO; 3]; S];
    for i in 0..S {
        at[i] = axes(sources[i].directions());
    }
    let turned = [[[V::ZERO; S]; 2]; A];
    let mut add = Add { w, turned, moments };
    harmonics::<S, FMA>(at, &mut add);
}

struct Add<'a, const S: usize, const A: usize, const FMA: bool> {
    w: [Many<S, FMA>; A],
    /// Weights times the parts of (x + iy)^m.
    turned: [[Many<S, FMA>; 2]; A],
    moments: &'a mut [[V<FMA>; COUNT]; A],
}

impl<const S: usize, const A: usize, const FMA: bool> Visit<S, FMA> for Add<'_, S, A, FMA> {
    #[inline(always)]
    fn begin(&mut self, turn: &[Many<S, FMA>; 2]) {
        for j in 0..A {
            for i in 0..S {
                self.turned[j][0][i] = self.w[j][i] * turn[0][i];
                self.turned[j][1][i] = self.w[j][i] * turn[1][i];
            }
        }
    }

    #[inline(always)]
    fn along(&mut self, number: usize, t: Many<S, FMA>) {
        for j in 0..A {
            let mut sum = self.moments[j][number];
            for i in 0..S {
                sum = t[i].mul_add::<FMA>(self.turned[j][0][i], sum);
            }
            self.moments[j][number] = sum;
        }
    }

    #[inline(always)]
    fn around(&mut self, number: usize, t: Many<S, FMA>) {
        for j in 0..A {
            let [mut re, mut im] = [self.moments[j][number], self.moments[j][number + 1]];
            for i in 0..S {
                re = t[i].mul_add::<FMA>(self.turned[j][0][i], re);
                im = t[i].mul_add::<FMA>(self.turned[j][1][i], im);
            }
            self.moments[j][number] = re;
            self.moments[j][number + 1] = im;
        }
    }

    #[inline(always)]
    fn end(&mut self, _: &[Many<S, FMA>; 2]) {}
}

pub struct Back<'a> {
    pub operator: &'a Factorised,
    pub y: &'a [f32],
    pub group: usize,
    pub own: &'a mut [f32],
    pub intra: &'a mut [f32],
}

impl Kernel for Back<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        self.own.fill(0.0);
        let op = self.operator;
        let (b0, mut rest) = self.y.split_at(op.b0 * LANES);
        let mut flat = V::<FMA>::ZERO;
        for y in b0.as_chunks::<LANES>().0 {
            flat = flat + Lanes::<LANES, FMA>(*y);
        }
        let mut sums = vec![[V::<FMA>::ZERO; COUNT]; op.shells.len()];
        for (shell, sums) in op.shells.iter().zip(&mut sums) {
            let (own, others) = rest.split_at(shell.count * LANES);
            shell.sums::<FMA>(own, sums);
            rest = others;
        }
        for (chunk, atoms) in op.intra.chunks(ATOMS).enumerate() {
            let first = chunk * ATOMS;
            match atoms.len() {
                1 => self.streamlines::<1, FMA>(first, &sums, flat),
                2 => self.streamlines::<2, FMA>(first, &sums, flat),
                3 => self.streamlines::<3, FMA>(first, &sums, flat),
                _ => self.streamlines::<4, FMA>(first, &sums, flat),
            }
        }
        // Few have more than one.
        for atom in 0..op.extra.len() {
            self.peaks::<FMA>(atom, &sums, flat);
        }
        let free = &mut self.own[op.shape.peaks * op.extra.len() * LANES..];
        for (atom, own) in op.free.iter().zip(free.chunks_exact_mut(LANES)) {
            let mut value = flat * V::splat(atom.flat);
            for (sums, shell) in sums.iter().zip(&atom.shells) {
                value = sums[0].mul_add::<FMA>(V::splat(shell[0] * Y00), value);
            }
            for lane in 0..LANES {
                own[lane] += value.0[lane];
            }
        }
    }
}

/// What the harmonics of a direction are multiplied by, to be added up to what each atom gets.
#[inline(always)]
fn factors<const A: usize, const FMA: bool>(
    atoms: &[Atom],
    sums: &[[V<FMA>; COUNT]],
) -> [[V<FMA>; COUNT]; A] {
    let mut out = [[V::<FMA>::ZERO; COUNT]; A];
    for (out, atom) in out.iter_mut().zip(atoms) {
        for (sums, shell) in sums.iter().zip(&atom.shells) {
            for n in 0..COUNT {
                out[n] = sums[n].mul_add::<FMA>(V::splat(shell[n]), out[n]);
            }
        }
    }
    out
}

impl Back<'_> {
    /// What `A` atoms of the streamlines get.
    #[inline(always)]
    fn streamlines<const A: usize, const FMA: bool>(
        &mut self,
        first: usize,
        sums: &[[V<FMA>; COUNT]],
        flat: V<FMA>,
    ) {
        let op = self.operator;
        let atoms = &op.intra[first..first + A];
        let factors = factors::<A, FMA>(atoms, sums);
        let mut begin = [V::<FMA>::ZERO; A];
        for j in 0..A {
            begin[j] = flat * V::splat(atoms[j].flat);
        }
        let (pairs, rest) = op.steps(self.group).as_chunks::<2>();
        for both in pairs {
            let directions = [&both[0].direction, &both[1].direction];
            let shares = shares::<2, A, FMA>(directions, &factors);
            for i in 0..2 {
                let values = std::array::from_fn(|j| begin[j] + shares[j][i]);
                self.give::<A, FMA>(&both[i], first, values);
            }
        }
        for step in rest {
            let shares = shares::<1, A, FMA>([&step.direction], &factors);
            let values = std::array::from_fn(|j| begin[j] + shares[j][0]);
            self.give::<A, FMA>(step, first, values);
        }
    }

    #[inline(always)]
    fn give<const A: usize, const FMA: bool>(
        &mut self,
        step: &Step,
        first: usize,
        values: [V<FMA>; A],
    ) {
        let (atoms, unit_mm) = (self.operator.intra.len(), self.operator.unit_mm);
        for lane in 0..LANES {
            let length = f32::from(step.length[lane]) * unit_mm;
            let begin = step.fibre[lane] as usize * atoms + first;
            for j in 0..A {
                self.intra[begin + j] += length * values[j].0[lane];
            }
        }
    }

    /// What an atom of the peaks gets.
    #[inline(always)]
    fn peaks<const FMA: bool>(&mut self, atom: usize, sums: &[[V<FMA>; COUNT]], flat: V<FMA>) {
        let op = self.operator;
        let factors = factors::<1, FMA>(&op.extra[atom..=atom], sums);
        let begin = flat * V::splat(op.extra[atom].flat);
        for (place, step) in op.peak_steps(self.group).iter().enumerate() {
            let [[share]] = shares::<1, 1, FMA>([&step.direction], &factors);
            let value = begin + share;
            let own = &mut self.own[(place * op.extra.len() + atom) * LANES..][..LANES];
            for lane in 0..LANES {
                own[lane] += step.there[lane] * value.0[lane];
            }
        }
    }
}

/// Σ_lm Y_lm(o) times the factors, of each atom and step.
#[inline(always)]
fn shares<const S: usize, const A: usize, const FMA: bool>(
    directions: [&[u16; LANES]; S],
    factors: &[[V<FMA>; COUNT]; A],
) -> [Many<S, FMA>; A] {
    let mut at = [[V::<FMA>::ZERO; 3]; S];
    for i in 0..S {
        at[i] = axes(directions[i]);
    }
    let mut share = Share {
        factors,
        parts: [[[V::<FMA>::ZERO; S]; 2]; A],
        out: [[V::<FMA>::ZERO; S]; A],
    };
    harmonics::<S, FMA>(at, &mut share);
    share.out
}

struct Share<'a, const S: usize, const A: usize, const FMA: bool> {
    factors: &'a [[V<FMA>; COUNT]; A],
    /// What the parts of (x + iy)^m are multiplied by.
    parts: [[Many<S, FMA>; 2]; A],
    out: [Many<S, FMA>; A],
}

impl<const S: usize, const A: usize, const FMA: bool> Visit<S, FMA> for Share<'_, S, A, FMA> {
    #[inline(always)]
    fn begin(&mut self, _: &[Many<S, FMA>; 2]) {
        self.parts = [[[V::<FMA>::ZERO; S]; 2]; A];
    }

    #[inline(always)]
    fn along(&mut self, number: usize, t: Many<S, FMA>) {
        for j in 0..A {
            for i in 0..S {
                let part = &mut self.parts[j][0][i];
                *part = t[i].mul_add::<FMA>(self.factors[j][number], *part);
            }
        }
    }

    #[inline(always)]
    fn around(&mut self, number: usize, t: Many<S, FMA>) {
        for j in 0..A {
            for k in 0..2 {
                for i in 0..S {
                    let part = &mut self.parts[j][k][i];
                    *part = t[i].mul_add::<FMA>(self.factors[j][number + k], *part);
                }
            }
        }
    }

    #[inline(always)]
    fn end(&mut self, turn: &[Many<S, FMA>; 2]) {
        for j in 0..A {
            for k in 0..2 {
                for i in 0..S {
                    let out = &mut self.out[j][i];
                    *out = turn[k][i].mul_add::<FMA>(self.parts[j][k][i], *out);
                }
            }
        }
    }
}
