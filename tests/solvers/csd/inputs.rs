//! Shells, tissues, unusable samples, the order, and refusals.

use super::cases::{gradients, responses, row, samples};
use super::{at, backend, crossing, fit, params};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Gradients, Mask, Response, Shells, Volume, VolumeKind};
use arcuate::solvers::csd::{self, Counts, Directions, Params, Precision};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("csd::unusable samples are counted", unusable),
        test("csd::one shell with one and two tissues", one_shell),
        test("csd::directions fill the sphere", covering),
        test("csd::the order follows directions and noise", orders),
        test(
            "csd::the order counts directions of the shells used",
            few_directions,
        ),
        test("csd::refusals", refusals),
        test("csd::cancelled", cancelled),
    ]
}

fn unusable() {
    let gradients = gradients();
    let voxel = crossing(&gradients, DMat3::IDENTITY);
    let mut voxels = vec![voxel.clone(); 5];
    voxels[1][7] = f32::NAN;
    voxels[2].fill(0.0);
    voxels[3][100] = -3.0;
    voxels[3][101] = -4.0;
    voxels[4][3] = f32::INFINITY;
    let (dwi, mask) = row(&voxels);
    let output = fit(&dwi, &mask, &gradients, &params(8, Precision::Single));
    let expected = Counts {
        not_finite: 2,
        without_signal: 1,
        negative_samples: 2,
        negative_voxels: 1,
        ..Counts::default()
    };
    assert_eq!(output.counts, expected);
    for empty in [1, 2, 4] {
        assert!(at(&output, empty).iter().all(|c| *c == 0.0));
        assert_eq!(output.tissues[0].values[empty], 0.0);
    }
    assert!(at(&output, 3)[0] > 0.1);
    let clean = fit(
        &row(&[voxel]).0,
        &row(&[voxels[0].clone()]).1,
        &gradients,
        &params(8, Precision::Single),
    );
    assert_eq!(at(&output, 0), at(&clean, 0));
}

/// b = 0 and one shell determine white matter and fluid; one row belongs to the outer shell. The lobe of order 8 is wider
/// than the bundle, which one shell cannot tell from a little more of it.
fn one_shell() {
    let all = gradients();
    let keep: Vec<usize> = (0..all.len())
        .filter(|v| [0.0, 2800.0].contains(&all.b_s_per_mm2[*v]))
        .collect();
    let gradients = Gradients {
        b_s_per_mm2: keep.iter().map(|&v| all.b_s_per_mm2[v]).collect(),
        directions: keep.iter().map(|&v| all.directions[v]).collect(),
    };
    let (dwi, mask) = row(&[samples(&gradients, &[(DVec3::X, 0.6)], 0.0, 0.4)]);
    let pick = |response: &Response| {
        Response::new(
            None,
            vec![response.rows[0].clone(), response.rows[3].clone()],
        )
    };
    let [white, grey, fluid] = responses(8);
    let run = |responses: &[Response]| {
        let params = params(8, Precision::Double);
        csd::fit(
            &dwi,
            &gradients,
            &mask,
            responses,
            &params,
            &backend(1),
            &Control::new(),
        )
    };
    let output = run(&[pick(&white), pick(&fluid)]).unwrap();
    let share = csd::fraction(f64::from(at(&output, 0)[0]));
    let water = csd::fraction(f64::from(output.tissues[0].values[0]));
    assert!(
        (share - 0.6).abs() < 0.06 && (water - 0.4).abs() < 0.03,
        "{share} {water}"
    );
    let outer = Response::new(None, vec![white.rows[3].clone()]);
    let output = run(&[outer]).unwrap();
    assert!(output.tissues.is_empty());
    let share = csd::fraction(f64::from(at(&output, 0)[0]));
    assert!((share - 0.6).abs() < 0.06, "{share}");
    let error = run(&[pick(&white), pick(&grey), pick(&fluid)])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("Found 2 shells for 3 tissues, expected at least one shell per tissue"),
        "{error}"
    );
}

/// Every point of the sphere is near a direction.
fn covering() {
    let mut random = Random::fresh("points");
    for (order, size, radius_deg) in [(8, 320, 5.9), (12, 512, 4.6f64)] {
        let all = Directions::for_order(order).all();
        assert_eq!(all.len(), size);
        assert!(
            all.iter()
                .all(|u| (u.length() - 1.0).abs() < 1e-14 && u.z > 0.0)
        );
        for _ in 0..5000 {
            let p = random.direction();
            let near = all.iter().map(|u| u.dot(p).abs()).fold(0.0, f64::max);
            assert!(near > radius_deg.to_radians().cos());
        }
    }
}

fn orders() {
    let gradients = gradients();
    let shells = Shells::new(&gradients);
    let choose = |order: usize, sigma: Option<f64>| {
        let choice = csd::default_order(&shells, &responses(order), sigma);
        assert!(!choice.reason.is_empty());
        choice.order
    };
    // The mean signal of white matter without weighting is 1000; 60 directions need an SNR of 22.4.
    assert_eq!(choose(12, Some(44.0)), 12);
    assert_eq!(choose(12, Some(45.0)), 8);
    assert_eq!(choose(8, Some(44.0)), 8);
    assert_eq!(choose(12, None), 8);
    assert_eq!(choose(6, Some(44.0)), 6);
    let few = Gradients {
        b_s_per_mm2: gradients.b_s_per_mm2[..24].to_vec(),
        directions: gradients.directions[..24].to_vec(),
    };
    // 20 directions determine the 15 coefficients of order 4.
    let inner = responses(8).map(|r| Response::new(None, r.rows[..2].to_vec()));
    assert_eq!(
        csd::default_order(&Shells::new(&few), &inner, Some(1.0)).order,
        4
    );
    // The noise of a scan without fibres is measured to 5 %.
    let mut random = Random::fresh("noise");
    let plain = samples(&gradients, &[], 1.0, 0.0);
    let noisy = |_| {
        plain
            .iter()
            .map(|v| v + (20.0 * random.normal()) as f32)
            .collect()
    };
    let (dwi, mask) = row(&(0..400).map(noisy).collect::<Vec<_>>());
    let sigma = csd::noise(&dwi, &gradients, &mask, &shells.shells[3]).unwrap();
    assert!((sigma - 20.0).abs() < 1.0, "{sigma}");
}

/// A response function with one row uses the outer shell alone: volumes of the other shells add no directions.
fn few_directions() {
    let all = gradients();
    let outer = |v: &usize| all.b_s_per_mm2[*v] == 2800.0;
    let (others, outer): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|v| !outer(v));
    let keep: Vec<usize> = others.into_iter().chain(outer[..12].to_vec()).collect();
    let gradients = Gradients {
        b_s_per_mm2: keep.iter().map(|&v| all.b_s_per_mm2[v]).collect(),
        directions: keep.iter().map(|&v| all.directions[v]).collect(),
    };
    let (dwi, mask) = row(&[samples(&gradients, &[(DVec3::X, 0.6)], 0.0, 0.4)]);
    let [white, ..] = responses(8);
    let response = [Response::new(None, vec![white.rows[3].clone()])];
    let run = |order: usize| {
        let params = params(order, Precision::Double);
        let (backend, control) = (backend(1), Control::new());
        let output = csd::fit(
            &dwi, &gradients, &mask, &response, &params, &backend, &control,
        );
        output.map(|output| output.order.order)
    };
    // Order 4 has 15 coefficients, order 6 has 28.
    assert_eq!(run(4), Ok(4));
    let error = csd::InputError::FewDirections {
        order: 6,
        directions: 12,
    };
    assert!(
        error.to_string().ends_with("choose order 4 or less"),
        "{error}"
    );
    assert_eq!(run(6), Err(error.into()));
}

fn refusals() {
    let gradients = gradients();
    let (dwi, mask) = row(&[crossing(&gradients, DMat3::IDENTITY)]);
    let all = responses(8);
    let run = |responses: &[Response], params: &Params| {
        let control = Control::new();
        let output = csd::fit(
            &dwi,
            &gradients,
            &mask,
            responses,
            params,
            &backend(1),
            &control,
        );
        output.unwrap_err().to_string()
    };
    let refuse = |responses: &[Response], params: &Params, part: &str| {
        let error = run(responses, params);
        assert!(error.contains(part), "{error}");
        assert!(!error.ends_with('.') && !error.contains('\n'), "{error}");
    };
    let auto = Params::defaults();
    refuse(
        &all,
        &params(10, Precision::Single),
        "needs a response function of white matter of this order",
    );
    refuse(&all, &params(7, Precision::Single), "give 6 or 8");
    refuse(&[], &auto, "Found no response function");
    let two = Response::new(None, all[0].rows[..2].to_vec());
    refuse(&[two], &auto, "have 2 rows but the scan has 4 shells");
    refuse(&[all[1].clone()], &auto, "is the same in all directions");
    refuse(
        &[all[0].clone(), all[0].clone()],
        &auto,
        "Response function 2 depends on the direction",
    );
    let other = Response::new(Some(vec![0.0, 1000.0, 2000.0, 3000.0]), all[0].rows.clone());
    refuse(
        &[other],
        &auto,
        "is for b = 1000 s/mm² where the scan has 700",
    );
    let short = Volume::new(dwi.grid.clone(), 3, VolumeKind::Scalar, vec![1.0; 3]);
    let error = csd::fit(
        &short,
        &gradients,
        &mask,
        &all,
        &auto,
        &backend(1),
        &Control::new(),
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("The scan has 3 volumes")
    );
    let nothing = Mask::new(dwi.grid.clone(), vec![0u8]);
    let error = csd::fit(
        &dwi,
        &gradients,
        &nothing,
        &all,
        &auto,
        &backend(1),
        &Control::new(),
    );
    assert!(error.unwrap_err().to_string().contains("holds no voxel"));
}

fn cancelled() {
    let gradients = gradients();
    let (dwi, mask) = row(&[crossing(&gradients, DMat3::IDENTITY)]);
    let control = Control::new();
    control.cancel();
    let all = responses(8);
    let params = params(8, Precision::Single);
    let result = csd::fit(
        &dwi,
        &gradients,
        &mask,
        &all,
        &params,
        &backend(1),
        &control,
    );
    assert_eq!(result.map(|_| ()), Err(csd::Error::Cancelled));
}
