//! A x and Aᵀ y: two implementations, each against plain sums in double precision.

use super::{
    RAW, cylinders, dictionary_of, gammas, gradients, model, only, relative_difference, samples,
    stick,
};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::{Accelerator, Backend};
use arcuate::phantom::Arcs;
use arcuate::solvers::commit::dictionary::Dictionary;
use arcuate::solvers::commit::directions::{SIDE, middle};
use arcuate::solvers::commit::harmonics::at_cosine;
use arcuate::solvers::commit::model::{Intra, Model, Responses};
use arcuate::solvers::commit::operator::dense::Table;
use arcuate::solvers::commit::operator::reference::Reference;
use arcuate::solvers::commit::operator::{Operator, OperatorCost, OperatorKind, Precision};
use arcuate::solvers::commit::samples::{Samples, Switches};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "commit::both operators are the plain sum",
            against_reference,
        ),
        test("commit::the adjoint is the adjoint", adjoint),
        test("commit::nine radii as few columns", mixed),
        test("commit::a table from elsewhere in few columns", foreign),
        test("commit::coarse directions keep their bound", coarse),
        test("commit::columns have their squares", squares),
        test("commit::the cheaper way is picked", picked),
        test("commit::samples of a scan", sampled),
    ]
}

const WAYS: [OperatorKind; 2] = [OperatorKind::Factorised, OperatorKind::Dense { side: 256 }];

pub struct Case {
    pub name: &'static str,
    pub model: Model,
    pub samples: Samples,
}

pub fn cases() -> Vec<Case> {
    let two: &[(f64, usize)] = &[(1000.0, 13), (2000.0, 20)];
    let case = |name, model, samples| Case {
        name,
        model,
        samples,
    };
    vec![
        case("StickZeppelinBall", model(stick()), samples(3, two)),
        case("CylinderZeppelinBall", model(cylinders(4)), samples(1, two)),
        case("gamma", model(gammas()), samples(1, two)),
        case(
            "many samples",
            model(stick()),
            samples(3, &[(1000.0, 96), (2000.0, 96)]),
        ),
        case("one shell", only(stick()), samples(1, &[(1000.0, 32)])),
        case("density", only(Intra::Density), Samples::one_per_voxel()),
        case(
            "five shells",
            model(stick()),
            samples(
                2,
                &[
                    (500.0, 7),
                    (1000.0, 8),
                    (2000.0, 9),
                    (3000.0, 5),
                    (5000.0, 6),
                ],
            ),
        ),
    ]
}

fn arcs() -> (Arcs, Dictionary) {
    let arcs = Arcs::new(120, 14, 7).unwrap();
    let dictionary = dictionary_of(&arcs, true);
    (arcs, dictionary)
}

/// The operator on the backend's device, in single precision.
pub fn operator(
    place: &Backend,
    dictionary: &Dictionary,
    responses: &Responses,
    samples: &Samples,
) -> Operator {
    match place.accelerator() {
        Some(Accelerator::Cuda(devices)) => {
            let exact = Precision::Exact;
            Operator::new_on_cards(dictionary, responses, samples, exact, devices).unwrap()
        }
        _ => Operator::new(
            dictionary,
            responses,
            samples,
            Some(OperatorKind::Factorised),
        ),
    }
}

/// Unknowns in the operator's order, from those in the reference's.
fn scattered(operator: &Operator, dictionary: &Dictionary, x: &[f64]) -> Vec<f32> {
    let shape = operator.shape();
    let mut out = vec![0f32; operator.columns()];
    for (to, from) in out[..shape.intra()].iter_mut().zip(x) {
        *to = *from as f32;
    }
    for voxel in 0..dictionary.voxels.len() {
        for place in 0..shape.unknowns_per_voxel() {
            let from = x[shape.intra() + voxel * shape.unknowns_per_voxel() + place];
            out[operator.own_column(voxel, place)] = from as f32;
        }
    }
    out
}

fn gathered(operator: &Operator, dictionary: &Dictionary, x: &[f32]) -> Vec<f64> {
    let shape = operator.shape();
    let intra = x[..shape.intra()].iter().copied();
    let own = (0..dictionary.voxels.len())
        .flat_map(|voxel| (0..shape.unknowns_per_voxel()).map(move |place| (voxel, place)));
    let own = own.map(|(voxel, place)| x[operator.own_column(voxel, place)]);
    intra.chain(own).map(f64::from).collect()
}

/// Relative errors of A x and Aᵀ y against the reference.
pub fn errors(
    operator: &Operator,
    dictionary: &Dictionary,
    responses: &Responses,
    samples: &Samples,
    random: &mut Random,
) -> [f64; 2] {
    let reference = Reference {
        dictionary,
        responses,
        samples,
    };
    let x: Vec<f64> = (0..reference.columns())
        .map(|_| random.uniform(0.0, 1.0))
        .collect();
    let y: Vec<f64> = (0..reference.rows())
        .map(|_| random.uniform(-1.0, 1.0))
        .collect();
    let (ax, aty) = (reference.apply(&x), reference.adjoint(&y));
    backend(2).install(|| {
        let mut rows = vec![0.0; operator.rows()];
        let given = scattered(operator, dictionary, &x);
        operator.apply(&given, &mut rows).unwrap();
        let found = operator.unpack(&rows, dictionary.voxels.len(), samples.count());
        let signals: Vec<f32> = y.iter().map(|v| *v as f32).collect();
        let mut columns = vec![0.0; operator.columns()];
        let packed = operator.pack(&signals, samples.count());
        operator.adjoint(&packed, &mut columns).unwrap();
        [
            relative_difference(found.into_iter().map(f64::from), ax),
            relative_difference(gathered(operator, dictionary, &columns), aty),
        ]
    })
}

fn against_reference() {
    let mut random = Random::fresh("commit reference");
    let (_, dictionary) = arcs();
    for case in cases() {
        for normalise in [false, true] {
            let responses = case.model.responses(&case.samples, normalise);
            for way in WAYS {
                let operator = Operator::new(&dictionary, &responses, &case.samples, Some(way));
                let samples = &case.samples;
                let errors = errors(&operator, &dictionary, &responses, samples, &mut random);
                // Factorised = dense to 1e-5: both are within half of that of the same reference.
                assert!(
                    errors.iter().all(|e| *e < 5e-6),
                    "{} {way:?}: {errors:?}",
                    case.name
                );
            }
        }
    }
}

/// |⟨Ax, y⟩ − ⟨x, Aᵀy⟩| as a fraction of |Ax| |y|.
pub fn adjoint_error(
    operator: &Operator,
    dictionary: &Dictionary,
    samples: &Samples,
    random: &mut Random,
) -> f64 {
    let mut some =
        |n: usize| -> Vec<f32> { (0..n).map(|_| random.uniform(-1.0, 1.0) as f32).collect() };
    let x = some(operator.columns());
    let signals = some(dictionary.voxels.len() * samples.count());
    let y = operator.pack(&signals, samples.count());
    let (mut ax, mut aty) = (vec![0.0; y.len()], vec![0.0; x.len()]);
    operator.apply(&x, &mut ax).unwrap();
    operator.adjoint(&y, &mut aty).unwrap();
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum()
    };
    (dot(&ax, &y) - dot(&x, &aty)).abs() / (dot(&ax, &ax) * dot(&y, &y)).sqrt()
}

fn adjoint() {
    let mut random = Random::fresh("commit adjoint");
    let (_, dictionary) = arcs();
    for case in cases() {
        let responses = case.model.responses(&case.samples, false);
        for way in [WAYS[0], WAYS[1], OperatorKind::Dense { side: 64 }] {
            backend(2).install(|| {
                let operator = Operator::new(&dictionary, &responses, &case.samples, Some(way));
                let gap = adjoint_error(&operator, &dictionary, &case.samples, &mut random);
                assert!(gap <= 1e-6, "{} {way:?}: {gap:e}", case.name);
            });
        }
    }
}

fn mixed() {
    let mut random = Random::fresh("commit mixed");
    let (_, dictionary) = arcs();
    let samples = samples(2, &[(1000.0, 12), (3000.0, 16)]);
    let responses = model(cylinders(9)).responses(&samples, true);
    for way in WAYS {
        let operator = Operator::new(&dictionary, &responses, &samples, Some(way));
        assert_eq!(operator.shape().atoms, 9);
        assert!((2..=5).contains(&operator.rank()), "{}", operator.rank());
        let errors = errors(&operator, &dictionary, &responses, &samples, &mut random);
        assert!(errors.iter().all(|e| *e < 5e-6), "{way:?}: {errors:?}");
    }
}

fn foreign() {
    let mut random = Random::fresh("commit foreign");
    let (_, dictionary) = arcs();
    let samples = samples(3, &[(1000.0, 30), (2000.0, 100)]);
    let responses = model(cylinders(4)).responses(&samples, true);
    let segments = dictionary.segments.iter().map(|s| s.direction);
    let mut codes: Vec<u16> = segments.chain(dictionary.peaks.iter().copied()).collect();
    codes.sort_unstable();
    codes.dedup();
    let axes: Vec<DVec3> = codes.iter().map(|&c| middle(c, SIDE)).collect();
    let mut rows: Vec<f32> = Vec::new();
    let kinds = [&responses.intra, &responses.extra, &responses.free];
    for (kind, (atoms, flat)) in kinds.into_iter().zip(&responses.flat).enumerate() {
        let axes = if kind < 2 {
            axes.as_slice()
        } else {
            &[DVec3::Z]
        };
        for axis in axes {
            for (atom, flat) in atoms.iter().zip(flat) {
                rows.extend(samples.b0.iter().map(|_| *flat as f32));
                for (r, shell) in atom.iter().zip(&samples.shells) {
                    let cosines = shell.directions.iter().map(|g| axis.dot(*g));
                    rows.extend(cosines.map(|c| at_cosine(r, c.clamp(-1.0, 1.0)) as f32));
                }
            }
        }
    }
    let counts = [codes.len(), 4, codes.len(), 1, 2];
    let table = Table::padded(&rows, samples.count(), counts);
    let number = |code: &mut u16| *code = codes.binary_search(code).unwrap() as u16;
    let mut numbered = dictionary.clone();
    let segments = numbered.segments.iter_mut();
    segments.for_each(|s| number(&mut s.direction));
    numbered.peaks.iter_mut().for_each(number);
    let operator = Operator::with_imported_table(&numbered, table);
    assert_eq!((operator.shape().atoms, operator.rank()), (4, 3));
    let errors = errors(&operator, &dictionary, &responses, &samples, &mut random);
    assert!(errors.iter().all(|e| *e < 5e-6), "{errors:?}");
    let gap = adjoint_error(&operator, &dictionary, &samples, &mut random);
    assert!(gap <= 1e-6, "{gap:e}");
}

fn coarse() {
    let mut random = Random::fresh("commit coarse");
    let (_, dictionary) = arcs();
    let samples = samples(2, &[(1000.0, 30), (2000.0, 60)]);
    let responses = model(stick()).responses(&samples, false);
    let mut last = f64::INFINITY;
    for (side, bound) in [(32, 0.04), (64, 0.02), (128, 0.01)] {
        let way = OperatorKind::Dense { side };
        let operator = Operator::new(&dictionary, &responses, &samples, Some(way));
        let [forward, _] = errors(&operator, &dictionary, &responses, &samples, &mut random);
        // Halved with the cells' width.
        assert!(
            forward < bound && forward < 0.7 * last,
            "{side}: {forward} {last}"
        );
        last = forward;
    }
}

fn squares() {
    let (_, dictionary) = arcs();
    let samples = samples(2, &[(1000.0, 30), (2000.0, 60)]);
    let responses = model(stick()).responses(&samples, false);
    for way in WAYS {
        let operator = Operator::new(&dictionary, &responses, &samples, Some(way));
        let reported = operator.squares();
        for column in (0..operator.columns()).step_by(37) {
            let mut x = vec![0.0; operator.columns()];
            x[column] = 1.0;
            let mut y = vec![0.0; operator.rows()];
            operator.apply(&x, &mut y).unwrap();
            let found: f64 = y.iter().map(|v| f64::from(*v).powi(2)).sum();
            let reported = f64::from(reported[column]);
            // A mean over directions; pieces of several directions in a voxel count as one.
            assert!(
                (found - reported).abs() <= 0.25 * reported,
                "{column}: {found} {reported}"
            );
            assert!(reported > 0.0 || found == 0.0);
        }
    }
}

fn picked() {
    let samples = samples(2, &[(1000.0, 30), (2000.0, 60)]);
    let responses = model(stick()).responses(&samples, false);
    let few = dictionary_of(&Arcs::new(3, 20, 1).unwrap(), true);
    // Some 90 segments per voxel: at 45 both take the same time.
    let many = dictionary_of(&Arcs::new(12_000, 20, 1).unwrap(), true);
    let way = |d: &Dictionary| OperatorCost::new(d, &responses, &samples).cheaper();
    assert_eq!(way(&few), OperatorKind::Dense { side: 256 });
    assert_eq!(way(&many), OperatorKind::Factorised);
}

/// b = 0 merged or apart, shells by their b-values, volumes without a direction left out.
fn sampled() {
    let mut table = gradients(2, &[(1000.0, 6), (2000.0, 7)]);
    table.b_s_per_mm2[3] = 995.0;
    table.b_s_per_mm2[4] = 1010.0;
    table.b_s_per_mm2.push(2000.0);
    table.directions.push(glam::DVec3::ZERO);
    let separate = Samples::new(&table, &[], &RAW).unwrap();
    let merge = Switches {
        merge_b0: true,
        ..RAW
    };
    let merged = Samples::new(&table, &[], &merge).unwrap();
    assert_eq!((separate.count(), merged.count()), (15, 14));
    assert_eq!(merged.b0, [vec![0, 1]]);
    assert_eq!(merged.excluded, [15]);
    let sizes: Vec<usize> = merged.shells.iter().map(|s| s.volumes.len()).collect();
    assert_eq!(sizes, [6, 7]);
    assert!((merged.shells[0].b_s_per_mm2 - 6005.0 / 6.0).abs() < 1e-9);
    let all: Vec<usize> = (0..separate.count())
        .flat_map(|s| separate.volumes(s).to_vec())
        .collect();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..15).collect::<Vec<_>>());
}
