//! Vectors as wide as the registers: each operation equals that of numbers, lane by lane, with any instruction set.

use crate::support::{Random, test};
use arcuate::compute::vector::{Kernel, Scalar, Vector, narrow_f32, plain_f32};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("vector::operations in single precision", single),
        test("vector::operations in double precision", double),
        test("vector::instruction sets agree", sets_agree),
    ]
}

/// Results of all operations on three numbers for each lane, operation by operation.
struct Operations<'a, S>(&'a [[S; 3]]);

const OPERATIONS: usize = 9;

impl<S: Scalar> Kernel<S> for Operations<'_, S> {
    type Output = Vec<[S; OPERATIONS]>;

    #[inline(always)]
    fn run<V: Vector<Scalar = S>>(self) -> Self::Output {
        let mut out = vec![[S::default(); OPERATIONS]; self.0.len()];
        for (inputs, out) in self.0.chunks(V::LANES).zip(out.chunks_mut(V::LANES)) {
            let mut columns = [[S::default(); 16]; 3];
            for (lane, values) in inputs.iter().enumerate() {
                for k in 0..3 {
                    columns[k][lane] = values[k];
                }
            }
            let [a, b, c] = [0, 1, 2].map(|k| V::load(&columns[k]));
            let results = [
                a + b,
                a - b,
                a * b,
                a / b,
                a.mul_add(b, c),
                a.neg_mul_add(b, c),
                (a * a).sqrt(),
                a.max(b),
                a.select_above(b, c, V::splat_f64(0.5)),
            ];
            for (k, result) in results.into_iter().enumerate() {
                let mut lanes = [S::default(); 16];
                result.store(&mut lanes);
                for (slot, value) in out.iter_mut().zip(lanes) {
                    slot[k] = value;
                }
            }
        }
        out
    }
}

fn inputs() -> Vec<[f64; 3]> {
    let mut random = Random::fresh("numbers");
    let mut all: Vec<[f64; 3]> = (0..61)
        .map(|_| [0; 3].map(|_| random.uniform(-2.0, 2.0)))
        .collect();
    all[5] = [f64::NAN, 1.0, 2.0];
    all[6] = [1.0, f64::NAN, 2.0];
    all
}

/// Bits, so that NaN equals itself.
fn compare<S: Scalar>(
    found: &[[S; OPERATIONS]],
    expected: impl Fn(usize) -> [f64; OPERATIONS],
    relative: f64,
) {
    for (i, results) in found.iter().enumerate() {
        for (k, (value, reference)) in results.iter().zip(expected(i)).enumerate() {
            let value = value.to_f64();
            let close = (value - reference).abs() <= relative * reference.abs().max(1.0);
            assert!(
                close || value.is_nan() && reference.is_nan(),
                "{i}, operation {k}: {value} {reference}"
            );
        }
    }
}

fn reference([a, b, c]: [f64; 3]) -> [f64; OPERATIONS] {
    let larger = if a > b { a } else { b };
    let selected = if a > b { c } else { 0.5 };
    [
        a + b,
        a - b,
        a * b,
        a / b,
        a * b + c,
        c - a * b,
        a.abs(),
        larger,
        selected,
    ]
}

fn single() {
    let numbers = inputs()
        .iter()
        .map(|row| row.map(|v| v as f32))
        .collect::<Vec<_>>();
    let found = f32::dispatch(Operations(&numbers));
    compare(&found, |i| reference(numbers[i].map(f64::from)), 2e-6);
    // Operations without fusion are rounded like those of numbers.
    for (results, [a, b, _]) in found
        .iter()
        .zip(&numbers)
        .filter(|(_, n)| !n[0].is_nan() && !n[1].is_nan())
    {
        assert_eq!(results[..4], [a + b, a - b, a * b, a / b]);
    }
}

fn double() {
    let numbers = inputs();
    let found = f64::dispatch(Operations(&numbers));
    compare(&found, |i| reference(numbers[i]), 1e-14);
}

fn sets_agree() {
    let numbers = inputs()
        .iter()
        .map(|row| row.map(|v| v as f32))
        .collect::<Vec<_>>();
    let bits = |all: Vec<[f32; OPERATIONS]>| {
        let all = all
            .into_iter()
            .map(|row| row.map(|v| if v.is_nan() { 0 } else { v.to_bits() }));
        all.collect::<Vec<_>>()
    };
    let wide = bits(f32::dispatch(Operations(&numbers)));
    assert_eq!(bits(narrow_f32(Operations(&numbers))), wide);
    // Without a fused instruction the products are rounded.
    compare(
        &plain_f32(Operations(&numbers)),
        |i| reference(numbers[i].map(f64::from)),
        2e-6,
    );
}
