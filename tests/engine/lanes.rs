//! Vector lanes: the elementary functions against double precision, on both instruction sets.

use crate::support::{Random, test};
use arcuate::compute::Lanes;
use arcuate::compute::simd::{self, Kernel, Level, base, dispatch};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("lanes::ln_is_accurate", ln_is_accurate),
        test("lanes::exp_is_accurate", exp_is_accurate),
        test("lanes::element_wise", element_wise),
        test("lanes::named_instructions_are_the_same", named),
    ]
}

/// The bound that `Lanes::ln` and `Lanes::exp` state.
const RELATIVE: f64 = 3e-7;

struct Ln(Lanes<8>);

impl Kernel for Ln {
    type Output = Lanes<8>;
    fn run<const FMA: bool>(self) -> Lanes<8> {
        self.0.ln::<FMA>()
    }
}

struct Exp(Lanes<8>);

impl Kernel for Exp {
    type Output = Lanes<8>;
    fn run<const FMA: bool>(self) -> Lanes<8> {
        self.0.exp::<FMA>()
    }
}

fn largest_error(input: Lanes<8>, outputs: [Lanes<8>; 2], exact: fn(f64) -> f64) -> f64 {
    let mut largest = 0.0;
    for output in outputs {
        for (x, y) in input.0.iter().zip(output.0) {
            let exact = exact(f64::from(*x));
            let error = (f64::from(y) - exact).abs() / exact.abs().max(f64::MIN_POSITIVE);
            largest = f64::max(largest, error);
        }
    }
    largest
}

fn ln_is_accurate() {
    let mut random = Random::fresh("ln");
    let check = |x: Lanes<8>| {
        let error = largest_error(x, [dispatch(Ln(x)), base(Ln(x))], f64::ln);
        assert!(error < RELATIVE, "{error} among {x:?}");
    };
    for _ in 0..20_000 {
        // Every normal exponent, and close to 1 where the logarithm vanishes.
        check(Lanes(
            [(); 8].map(|()| random.uniform(-87.0, 88.0).exp() as f32),
        ));
        check(Lanes([(); 8].map(|()| random.uniform(0.9, 1.1) as f32)));
    }
    let one = f32::EPSILON;
    check(Lanes([
        1.0,
        1.0 + one,
        1.0 - one / 2.0,
        f32::MIN_POSITIVE,
        f32::MAX,
        std::f32::consts::FRAC_1_SQRT_2,
        2.0,
        0.5,
    ]));
}

fn exp_is_accurate() {
    let mut random = Random::fresh("exp");
    for _ in 0..20_000 {
        let x = Lanes([(); 8].map(|()| random.uniform(-87.0, 88.0) as f32));
        let error = largest_error(x, [dispatch(Exp(x)), base(Exp(x))], f64::exp);
        assert!(error < RELATIVE, "{error} among {x:?}");
    }
    let ends = Lanes([
        f32::NEG_INFINITY,
        -1e9,
        -87.0,
        f32::INFINITY,
        1e9,
        88.0,
        0.0,
        -0.0,
    ]);
    for out in [dispatch(Exp(ends)), base(Exp(ends))] {
        assert_eq!(out.0[0], out.0[2]);
        assert_eq!(out.0[1], out.0[2]);
        assert_eq!(out.0[3], out.0[5]);
        assert_eq!(out.0[4], out.0[5]);
        assert_eq!(out.0[6..], [1.0, 1.0]);
        assert!(out.0.iter().all(|v| v.is_normal()));
    }
}

fn element_wise() {
    let a: Lanes<4> = Lanes([1.0, -2.0, 3.0, f32::NAN]);
    let b = Lanes([4.0, 5.0, -6.0, 7.0]);
    assert_eq!(a.max(b), Lanes([4.0, 5.0, 3.0, 7.0]));
    assert_eq!((a + b).0[..3], [5.0, 3.0, -3.0]);
    assert_eq!((a - b).0[..3], [-3.0, -7.0, 9.0]);
    assert_eq!((a * b / b).0[..3], a.0[..3]);
    assert_eq!(b.mul_add::<true>(b, b), b.mul_add::<false>(b, b));
    assert_eq!(
        b.neg_mul_add::<false>(b, b),
        Lanes([-12.0, -20.0, -42.0, -42.0])
    );
    let some = Lanes([0.0, 1.0, 0.0, -3.0]);
    assert_eq!(some.select(b, -b), Lanes([-4.0, 5.0, 6.0, 7.0]));
    assert_eq!((-b).abs(), b.abs());
    assert_eq!((b * b).sqrt(), b.abs());
}

/// The operations of lanes, with the instructions named by `FMA`.
struct All([[f32; 8]; 2]);

impl Kernel for All {
    type Output = (Vec<[u32; 8]>, u32);

    fn run<const FMA: bool>(self) -> Self::Output {
        let [a, b] = self.0.map(Lanes::<8, FMA>);
        let values = [a + b, a - b, a * b, a / b, -a, a.max(b), a.sqrt()];
        // All NaNs count as equal.
        let bits = |v: f32| if v.is_nan() { u32::MAX } else { v.to_bits() };
        let values = values.iter().map(|v| v.0.map(bits)).collect();
        (values, a.at_least(b))
    }
}

/// Fused: one rounding.
struct MulAdd([[f32; 8]; 3]);

impl Kernel for MulAdd {
    type Output = [f32; 8];

    fn run<const FMA: bool>(self) -> [f32; 8] {
        let [a, b, c] = self.0.map(Lanes::<8, FMA>);
        a.mul_add::<FMA>(b, c).0
    }
}

fn named() {
    let mut random = Random::fresh("named instructions");
    let odd = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0];
    for _ in 0..20_000 {
        let mut value = || match random.bits() % 8 {
            0 => odd[(random.bits() % 6) as usize],
            1 => random.uniform(0.0, 8.0).round() as f32,
            _ => random.uniform(-1.0, 1.0) as f32 * 10f32.powi((random.bits() % 8) as i32),
        };
        let input = [(); 3].map(|()| [(); 8].map(|()| value()));
        let two = [input[0], input[1]];
        assert_eq!(dispatch(All(two)), base(All(two)), "{two:?}");
        if simd::level() == Level::Avx2 {
            let [a, b, c] = input;
            let found = dispatch(MulAdd(input));
            for lane in 0..8 {
                let expected = a[lane].mul_add(b[lane], c[lane]);
                assert!(found[lane] == expected || found[lane].is_nan() && expected.is_nan());
            }
        }
    }
}
