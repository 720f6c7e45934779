//! The loops over the segments of a group.

use super::{Atom, Factorised, LANES, PeakStep, SHELLS, Step, V};
use crate::compute::Lanes;
use crate::compute::simd::Kernel;
use crate::solvers::commit::directions::SIDE;
use crate::solvers::commit::harmonics::{COUNT, DEGREES, pairs};
use crate::solvers::commit::operator::workers::ExactSums;

/// Unit vectors of eight codes, as in [`crate::solvers::commit::directions::middle`].
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

/// `S` steps at once, which share the reads and writes of each harmonic.
type StepLanes<const S: usize, const FMA: bool> = [V<FMA>; S];

/// Called for each pair of m and l: `number` is the index of its (first) function.
trait Visit<const S: usize, const FMA: bool> {
    /// For m = 0: Y = q.
    fn along(&mut self, half: usize, number: usize, q: StepLanes<S, FMA>);
    /// For m > 0: Y = q re, and q im as the next function.
    fn around(
        &mut self,
        half: usize,
        number: usize,
        q: StepLanes<S, FMA>,
        turn: &[StepLanes<S, FMA>; 2],
    );
}

/// Visits all pairs of m and l at eight unit vectors of each step.
#[inline(always)]
fn harmonics<const S: usize, const FMA: bool>(
    axes: [[V<FMA>; 3]; S],
    visit: &mut impl Visit<S, FMA>,
) {
    let mut square = [V::<FMA>::ZERO; S];
    for i in 0..S {
        square[i] = axes[i][2] * axes[i][2];
    }
    let (mut q, mut before) = ([V::<FMA>::ZERO; S], [V::<FMA>::ZERO; S]);
    let mut turn = [[V::<FMA>::splat(1.0); S], [V::<FMA>::ZERO; S]];
    let mut number = 0;
    let mut last = 0;
    for pair in pairs() {
        if pair.first {
            if pair.m > last {
                last = pair.m;
                for i in 0..S {
                    let ([x, y, _], re, im) = (axes[i], turn[0][i], turn[1][i]);
                    turn[0][i] = im.neg_mul_add::<FMA>(y, re * x);
                    turn[1][i] = re.mul_add::<FMA>(y, im * x);
                }
            }
            for i in 0..S {
                before[i] = V::ZERO;
                q[i] = V::splat(pair.constant);
                if pair.m % 2 == 1 {
                    q[i] = q[i] * axes[i][2];
                }
            }
        } else {
            let factors = [pair.by_square, pair.constant, pair.before].map(V::<FMA>::splat);
            for i in 0..S {
                let factor = square[i].mul_add::<FMA>(factors[0], factors[1]);
                let above = factor.mul_add::<FMA>(q[i], before[i] * factors[2]);
                (before[i], q[i]) = (q[i], above);
            }
        }
        if pair.m == 0 {
            visit.along(pair.half, number, q);
            number += 1;
        } else {
            visit.around(pair.half, number, q, &turn);
            number += 2;
        }
    }
}

/// Weights of the streamlines or peaks of one step, and where results are added.
trait Source {
    fn directions(&self) -> &[u16; LANES];
    /// The weight of an atom, times the length.
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
            let x = self.intra[self.step.streamline[lane] as usize * self.atoms + atom];
            out[lane] = x * (f32::from(self.step.length[lane]) * self.unit_mm);
        }
        out
    }
}

struct FromPeak<'a> {
    step: &'a PeakStep,
    /// Eight per column.
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
            out[lane] = self.own[atom * LANES + lane] * self.step.present[lane];
        }
        out
    }
}

/// Work done shell by shell, for as many shells at once as registers hold.
trait ByShells {
    /// `K` shells; the first call also handles b = 0.
    fn shells<const K: usize, const FMA: bool>(&mut self, first: usize);

    #[inline(always)]
    fn all<const FMA: bool>(&mut self, shells: usize) {
        let mut first = 0;
        loop {
            match shells - first {
                0 if shells > 0 => return,
                0 => return self.shells::<0, FMA>(0),
                1 => self.shells::<1, FMA>(first),
                2 => self.shells::<2, FMA>(first),
                3 => self.shells::<3, FMA>(first),
                _ => self.shells::<4, FMA>(first),
            }
            first += (shells - first).min(SHELLS);
        }
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
    fn run<const FMA: bool>(mut self) {
        self.all::<FMA>(self.operator.shells.len());
    }
}

impl ByShells for Forward<'_> {
    /// The samples of `K` shells; the first call also writes those at b = 0.
    #[inline(always)]
    fn shells<const K: usize, const FMA: bool>(&mut self, first: usize) {
        let op = self.operator;
        let mut sums = [[V::<FMA>::ZERO; COUNT]; K];
        let mut flat = V::<FMA>::ZERO;
        let source = |step| FromStep {
            step,
            intra: self.intra,
            atoms: op.intra.len(),
            unit_mm: op.unit_mm,
        };
        let (pairs, rest) = op.steps(self.group).as_chunks::<2>();
        for [a, b] in pairs {
            let both = [source(a), source(b)];
            add::<2, K, FMA>(&both, &op.intra, first, &mut sums, &mut flat);
        }
        for step in rest {
            add::<1, K, FMA>(&[source(step)], &op.intra, first, &mut sums, &mut flat);
        }
        let extra = op.extra.len();
        for (place, step) in op.peak_steps(self.group).iter().enumerate() {
            let own = &self.own[place * extra * LANES..];
            let source = [FromPeak { step, own }];
            add::<1, K, FMA>(&source, &op.extra, first, &mut sums, &mut flat);
        }
        let free = &self.own[op.shape.peaks * extra * LANES..];
        for (atom, x) in op.free.iter().zip(free.as_chunks::<LANES>().0) {
            let x = Lanes::<LANES, FMA>(*x);
            // Y_00 of both directions.
            let y00 = V::<FMA>::splat(Y00);
            for k in 0..K {
                let r = V::splat(atom.r[first + k][0]);
                sums[k][0] = (x * y00).mul_add::<FMA>(r, sums[k][0]);
            }
            flat = x.mul_add::<FMA>(V::splat(atom.flat), flat);
        }
        let before: usize = op.shells[..first].iter().map(|s| s.count).sum();
        let (b0, rest) = self.y.split_at_mut(op.b0 * LANES);
        if first == 0 {
            b0.chunks_exact_mut(LANES)
                .for_each(|y| y.copy_from_slice(&flat.0));
        }
        let mut rest = &mut rest[before * LANES..];
        for k in 0..K {
            let shell = &op.shells[first + k];
            let (own, others) = rest.split_at_mut(shell.count * LANES);
            shell.samples::<FMA>(&sums[k], own);
            rest = others;
        }
    }
}

/// Y_00 = 1 / √(4π).
const Y00: f32 = 0.282_094_8;

#[inline(always)]
fn add<const S: usize, const K: usize, const FMA: bool>(
    sources: &[impl Source; S],
    atoms: &[Atom],
    first: usize,
    sums: &mut [[V<FMA>; COUNT]; K],
    flat: &mut V<FMA>,
) {
    let mut w = [[[V::<FMA>::ZERO; S]; DEGREES]; K];
    let mut any = 0;
    for (j, atom) in atoms.iter().enumerate() {
        for i in 0..S {
            let weight = sources[i].weight(j);
            for value in weight {
                any |= value.to_bits();
            }
            let weight = Lanes::<LANES, FMA>(weight);
            *flat = weight.mul_add::<FMA>(V::splat(atom.flat), *flat);
            for k in 0..K {
                for l in 0..DEGREES {
                    let r = V::splat(atom.r[first + k][l]);
                    w[k][l][i] = weight.mul_add::<FMA>(r, w[k][l][i]);
                }
            }
        }
    }
    // Most weights end at 0, with either sign.
    if any << 1 == 0 {
        return;
    }
    let mut at = [[V::<FMA>::ZERO; 3]; S];
    for i in 0..S {
        at[i] = axes(sources[i].directions());
    }
    harmonics::<S, FMA>(at, &mut Add { w: &w, sums });
}

struct Add<'a, const S: usize, const K: usize, const FMA: bool> {
    w: &'a [[StepLanes<S, FMA>; DEGREES]; K],
    sums: &'a mut [[V<FMA>; COUNT]; K],
}

impl<const S: usize, const K: usize, const FMA: bool> Visit<S, FMA> for Add<'_, S, K, FMA> {
    #[inline(always)]
    fn along(&mut self, half: usize, number: usize, q: StepLanes<S, FMA>) {
        for k in 0..K {
            let sum = &mut self.sums[k][number];
            for i in 0..S {
                *sum = q[i].mul_add::<FMA>(self.w[k][half][i], *sum);
            }
        }
    }

    #[inline(always)]
    fn around(
        &mut self,
        half: usize,
        number: usize,
        q: StepLanes<S, FMA>,
        turn: &[StepLanes<S, FMA>; 2],
    ) {
        for k in 0..K {
            let [mut re, mut im] = [self.sums[k][number], self.sums[k][number + 1]];
            for i in 0..S {
                let value = q[i] * self.w[k][half][i];
                re = turn[0][i].mul_add::<FMA>(value, re);
                im = turn[1][i].mul_add::<FMA>(value, im);
            }
            self.sums[k][number] = re;
            self.sums[k][number + 1] = im;
        }
    }
}

pub struct AdjointKernel<'a, 's> {
    pub operator: &'a Factorised,
    pub y: &'a [f32],
    pub group: usize,
    pub own: &'a mut [f32],
    pub intra: &'a mut ExactSums<'s>,
}

impl Kernel for AdjointKernel<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        self.own.fill(0.0);
        self.all::<FMA>(self.operator.shells.len());
    }
}

impl ByShells for AdjointKernel<'_, '_> {
    #[inline(always)]
    fn shells<const K: usize, const FMA: bool>(&mut self, first: usize) {
        let op = self.operator;
        let (b0, rest) = self.y.split_at(op.b0 * LANES);
        let mut flat = V::<FMA>::ZERO;
        if first == 0 {
            for y in b0.as_chunks::<LANES>().0 {
                flat = flat + Lanes::<LANES, FMA>(*y);
            }
        }
        let before: usize = op.shells[..first].iter().map(|s| s.count).sum();
        let mut rest = &rest[before * LANES..];
        let mut sums = [[V::<FMA>::ZERO; COUNT]; K];
        for k in 0..K {
            let shell = &op.shells[first + k];
            let (own, others) = rest.split_at(shell.count * LANES);
            shell.sums::<FMA>(own, &mut sums[k]);
            rest = others;
        }
        let mut steps = op.steps(self.group).chunks_exact(2);
        for both in &mut steps {
            let directions = [&both[0].direction, &both[1].direction];
            let shares = shares::<2, K, FMA>(directions, &sums);
            for i in 0..2 {
                add_to_streamlines::<K, FMA>(op, &both[i], first, &shares[i], flat, self.intra);
            }
        }
        for step in steps.remainder() {
            let [shares] = shares::<1, K, FMA>([&step.direction], &sums);
            add_to_streamlines::<K, FMA>(op, step, first, &shares, flat, self.intra);
        }
        let extra = op.extra.len();
        for (place, step) in op.peak_steps(self.group).iter().enumerate() {
            let [shares] = shares::<1, K, FMA>([&step.direction], &sums);
            for (j, atom) in op.extra.iter().enumerate() {
                let value = of_atom::<K, FMA>(atom, first, &shares, flat).0;
                let own = &mut self.own[(place * extra + j) * LANES..][..LANES];
                for lane in 0..LANES {
                    own[lane] += step.present[lane] * value[lane];
                }
            }
        }
        let free = &mut self.own[op.shape.peaks * extra * LANES..];
        for (atom, own) in op.free.iter().zip(free.chunks_exact_mut(LANES)) {
            let mut value = flat * V::splat(atom.flat);
            for k in 0..K {
                let r = V::splat(atom.r[first + k][0] * Y00);
                value = sums[k][0].mul_add::<FMA>(r, value);
            }
            for lane in 0..LANES {
                own[lane] += value.0[lane];
            }
        }
    }
}

/// Σ_m Y_lm(o) c_lm for each step, shell and degree.
#[inline(always)]
fn shares<const S: usize, const K: usize, const FMA: bool>(
    directions: [&[u16; LANES]; S],
    sums: &[[V<FMA>; COUNT]; K],
) -> [[[V<FMA>; DEGREES]; K]; S] {
    let mut at = [[V::<FMA>::ZERO; 3]; S];
    for i in 0..S {
        at[i] = axes(directions[i]);
    }
    let out = [[[V::<FMA>::ZERO; DEGREES]; K]; S];
    let mut share = Share { sums, out };
    harmonics::<S, FMA>(at, &mut share);
    share.out
}

struct Share<'a, const S: usize, const K: usize, const FMA: bool> {
    sums: &'a [[V<FMA>; COUNT]; K],
    out: [[[V<FMA>; DEGREES]; K]; S],
}

impl<const S: usize, const K: usize, const FMA: bool> Visit<S, FMA> for Share<'_, S, K, FMA> {
    #[inline(always)]
    fn along(&mut self, half: usize, number: usize, q: StepLanes<S, FMA>) {
        for k in 0..K {
            for i in 0..S {
                let out = &mut self.out[i][k][half];
                *out = q[i].mul_add::<FMA>(self.sums[k][number], *out);
            }
        }
    }

    #[inline(always)]
    fn around(
        &mut self,
        half: usize,
        number: usize,
        q: StepLanes<S, FMA>,
        turn: &[StepLanes<S, FMA>; 2],
    ) {
        for k in 0..K {
            let [re, im] = [self.sums[k][number], self.sums[k][number + 1]];
            for i in 0..S {
                let value = turn[1][i].mul_add::<FMA>(im, turn[0][i] * re);
                let out = &mut self.out[i][k][half];
                *out = q[i].mul_add::<FMA>(value, *out);
            }
        }
    }
}

/// Adds to the streamlines of a step.
#[inline(always)]
fn add_to_streamlines<const K: usize, const FMA: bool>(
    op: &Factorised,
    step: &Step,
    first: usize,
    shares: &[[V<FMA>; DEGREES]; K],
    flat: V<FMA>,
    intra: &mut ExactSums,
) {
    let atoms = op.intra.len();
    for (j, atom) in op.intra.iter().enumerate() {
        let value = of_atom::<K, FMA>(atom, first, shares, flat).0;
        for lane in 0..LANES {
            let length = f32::from(step.length[lane]) * op.unit_mm;
            let at = step.streamline[lane] as usize * atoms + j;
            intra.add(at, f64::from(length) * f64::from(value[lane]));
        }
    }
}

#[inline(always)]
fn of_atom<const K: usize, const FMA: bool>(
    atom: &Atom,
    first: usize,
    shares: &[[V<FMA>; DEGREES]; K],
    flat: V<FMA>,
) -> V<FMA> {
    let mut value = flat * V::splat(atom.flat);
    for k in 0..K {
        for l in 0..DEGREES {
            value = shares[k][l].mul_add::<FMA>(V::splat(atom.r[first + k][l]), value);
        }
    }
    value
}
