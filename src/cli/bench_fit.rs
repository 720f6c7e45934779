//! Speed of the tensor fit: voxels per second on a synthetic, brain-like scan in memory.

use super::bench::Choice;
use crate::compute::{Backend, Control};
use crate::data::random::Stream;
use crate::data::statistics::quantile;
use crate::data::{Gradients, Grid, Mask, Volume, VolumeKind};
use crate::solvers::tensor_fit::{self, Error, Method, Output, Params};
use glam::{DMat3, DVec3};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// One line per method, for the maps and for repetitions of the bootstrap; all with the same scan (64 directions with b
/// 1000 and one b = 0).
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let (shape, repeats) = if choice.quick {
        ([64, 64, 40], 5)
    } else {
        ([96, 96, 60], 9)
    };
    let (dwi, gradients, mask) = scan(shape);
    let bench = Bench {
        dwi: &dwi,
        gradients: &gradients,
        mask: &mask,
        repeats,
        backend,
    };
    let methods = [
        ("OLS", Method::Ols),
        ("WLS", Method::Wls),
        ("WLS + 2 IWLS", Method::Iwls { iterations: 2 }),
    ];
    let methods = methods.into_iter().filter(|m| choice.takes(m.0));
    let mut lines: Vec<Value> = methods
        .map(|(name, method)| bench.line(name, bench.fit(method)))
        .collect();
    if choice.takes("maps") {
        lines.push(bench.line("maps", bench.maps()));
    }
    if choice.takes("bootstrap") {
        lines.push(bench.line("bootstrap", bench.bootstrap()));
    }
    lines
}

/// The scan and the place of all measurements.
struct Bench<'a> {
    dwi: &'a Volume,
    gradients: &'a Gradients,
    mask: &'a Mask,
    repeats: usize,
    backend: &'a Backend,
}

/// Median times of a case, seconds.
struct Times {
    /// On a card, with its inputs there and its results left there.
    wall_s: f64,
    /// Time of the kernels; `None` on the CPU.
    kernel_s: Option<f64>,
    /// On a card, until the host has the results.
    on_host_s: Option<f64>,
    /// On a card, with the upload of the scan and until the host has the results.
    with_upload_s: Option<f64>,
    /// Fits in one run.
    repetitions: usize,
}

impl Bench<'_> {
    fn fitted(&self, dwi: &Volume, method: Method) -> Result<Output, Error> {
        let params = params(method);
        let (gradients, mask, control) = (self.gradients, self.mask, Control::new());
        tensor_fit::fit(dwi, gradients, mask, &params, self.backend, &control)
    }

    fn fit(&self, method: Method) -> Result<Times, Error> {
        let (wall_s, kernel_s) =
            self.median(|| Ok(self.fitted(self.dwi, method)?.kernel_s.unwrap_or(0.0)))?;
        let on_host = |dwi: &Volume| {
            let fitted = self.fitted(dwi, method)?;
            self.backend.install(|| fitted.on_host())?;
            Ok(0.0)
        };
        // A scan with a new identity has to be copied to the card, although its samples are the same.
        let other = || {
            let Volume { grid, values, .. } = self.dwi;
            Volume::new(grid.clone(), self.dwi.frames, self.dwi.kind, values.clone())
        };
        self.times(
            (wall_s, kernel_s),
            || on_host(self.dwi),
            Some(|| on_host(&other())),
        )
    }

    fn maps(&self) -> Result<Times, Error> {
        let field = self.fitted(self.dwi, Method::Ols)?.field;
        let maps = || tensor_fit::maps(&field, self.backend, &Control::new());
        let times = self.median(|| Ok(maps()?.kernel_s.unwrap_or(0.0)))?;
        let on_host = || {
            let maps = maps()?;
            self.backend.install(|| maps.on_host())?;
            Ok(0.0)
        };
        self.times(times, on_host, None::<fn() -> Result<f64, Error>>)
    }

    /// The tensors of some repetitions: on a card in the whole grid, and as a batch of those of the mask for the host.
    fn bootstrap(&self) -> Result<Times, Error> {
        const REPETITIONS: usize = 16;
        let control = Control::new();
        let residuals = tensor_fit::residuals(
            self.dwi,
            self.gradients,
            self.mask,
            &params(Method::Iwls { iterations: 2 }),
            None,
            self.backend,
            &control,
        )?;
        let on_host = || {
            let all = || residuals.tensors_of_all(1, 0..REPETITIONS as u64, &control);
            self.backend.install(all).map(|_| 0.0)
        };
        let (on_host_s, _) = self.median(on_host)?;
        let mut times = Times {
            wall_s: on_host_s,
            kernel_s: None,
            on_host_s: None,
            with_upload_s: None,
            repetitions: REPETITIONS,
        };
        if residuals.is_on_card() {
            let field = |number| residuals.field(1, number, &control).map(drop);
            let fields = || (0..REPETITIONS as u64).try_for_each(field).map(|()| 0.0);
            times.on_host_s = Some(on_host_s);
            times.wall_s = self.median(fields)?.0;
        }
        Ok(times)
    }

    fn times(
        &self,
        (wall_s, kernel_s): (f64, f64),
        on_host: impl Fn() -> Result<f64, Error>,
        with_upload: Option<impl Fn() -> Result<f64, Error>>,
    ) -> Result<Times, Error> {
        let mut times = Times {
            wall_s,
            kernel_s: None,
            on_host_s: None,
            with_upload_s: None,
            repetitions: 1,
        };
        if self.backend.accelerator().is_some() {
            times.kernel_s = Some(kernel_s);
            times.on_host_s = Some(self.median(on_host)?.0);
            let with_upload = with_upload.map(|run| self.median(run)).transpose()?;
            times.with_upload_s = with_upload.map(|(wall_s, _)| wall_s);
        }
        Ok(times)
    }

    /// Median wall time, and median of the seconds that `work` returns, after one run to warm caches and memory.
    fn median(&self, work: impl Fn() -> Result<f64, Error>) -> Result<(f64, f64), Error> {
        work()?;
        let (mut walls, mut returned) = (Vec::new(), Vec::new());
        for _ in 0..self.repeats {
            let begin = Instant::now();
            returned.push(work()?);
            walls.push(begin.elapsed().as_secs_f64());
        }
        let median = |times: &mut [f64]| quantile(times, 0.5).unwrap_or(f64::NAN);
        Ok((median(&mut walls), median(&mut returned)))
    }

    fn line(&self, method: &str, times: Result<Times, Error>) -> Value {
        let (dwi, backend, voxels) = (self.dwi, self.backend, self.mask.count());
        let mut line = json!({
            "workload": "fit",
            "method": method,
            "size": {"voxels": dwi.grid.shape, "volumes": dwi.frames, "in_mask": voxels},
            "backend": backend.name(),
            "detail": backend.detail(),
            "threads": backend.threads(),
        });
        match times {
            Ok(times) => {
                line["wall_s"] = json!(times.wall_s);
                line["kernel_s"] = json!(times.kernel_s);
                line["on_host_s"] = json!(times.on_host_s);
                line["with_upload_s"] = json!(times.with_upload_s);
                let fits = (voxels * times.repetitions) as f64;
                line["repetitions"] = json!(times.repetitions);
                line["rate"] = json!((fits / times.wall_s).round());
                line["unit"] = json!("voxels_per_s");
            }
            Err(error) => line["error"] = json!(error.to_string()),
        }
        line
    }
}

fn params(method: Method) -> Params {
    Params {
        method,
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        min_eigenvalue_mm2_per_s: 1e-5,
    }
}

/// An ellipsoid of curved bundles with FA from 0.1 to 0.8, S0 of 1000 and a noise of S0/30.
fn scan(shape: [usize; 3]) -> (Volume, Gradients, Mask) {
    let grid = Grid::axis_aligned(shape, DVec3::splat(2.0), DVec3::ZERO);
    let grid = Arc::new(grid.expect("a sound grid"));
    let gradients = gradients();
    let n = grid.voxel_count();
    let half = DVec3::from_array(shape.map(|n| n as f64 * 0.5));
    let place = |i: usize| {
        let voxel = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        (voxel - (half - 0.5)) / half
    };
    let inside: Vec<u8> = (0..n).map(|i| u8::from(place(i).length() <= 0.9)).collect();
    let mut noise = Noise(Stream::new(1, 0));
    let mut values = vec![0.0; n * gradients.len()];
    for voxel in (0..n).filter(|v| inside[*v] != 0) {
        let d = tensor(place(voxel));
        for (frame, g) in gradients.directions.iter().enumerate() {
            let b = gradients.b_s_per_mm2[frame];
            let signal = 1000.0 * (-b * g.dot(d * *g)).exp();
            let (re, im) = noise.pair();
            values[frame * n + voxel] = (signal + re * 33.0).hypot(im * 33.0) as f32;
        }
    }
    let dwi = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
    (dwi, gradients, Mask::new(grid, inside))
}

/// One b = 0 volume and 64 directions on a Fibonacci hemisphere.
fn gradients() -> Gradients {
    const DIRECTIONS: usize = 64;
    let golden = std::f64::consts::PI * (1.0 + 5f64.sqrt());
    let spread = (0..DIRECTIONS).map(|i| {
        let z = (i as f64 + 0.5) / DIRECTIONS as f64;
        let (sin, cos) = (golden * (i as f64 + 0.5)).sin_cos();
        let r = (1.0 - z * z).sqrt();
        DVec3::new(r * cos, r * sin, z)
    });
    Gradients {
        b_s_per_mm2: std::iter::once(0.0).chain([1000.0; DIRECTIONS]).collect(),
        directions: std::iter::once(DVec3::ZERO).chain(spread).collect(),
    }
}

/// Bundles that arch from left to right and fan out to the front, thinner at the edge.
fn tensor(p: DVec3) -> DMat3 {
    let along = DVec3::new(
        (2.2 * p.x + 0.6 * p.z).cos(),
        0.8 * (2.0 * p.y).sin() + 0.35 * (3.0 * p.z).cos(),
        -1.1 * (2.2 * p.x).sin() + 0.2 * p.y,
    )
    .normalize();
    let white = ((0.82 - p.length()) / 0.15).clamp(0.0, 1.0);
    let (axial, radial) = (0.9e-3 + 0.8e-3 * white, 0.8e-3 - 0.5e-3 * white);
    let outer = DMat3::from_cols(along * along.x, along * along.y, along * along.z);
    DMat3::IDENTITY * radial + outer * (axial - radial)
}

/// Pairs of standard normal numbers (Box and Muller 1958).
struct Noise(Stream);

impl Noise {
    fn pair(&mut self) -> (f64, f64) {
        let radius = (-2.0 * (1.0 - self.0.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.0.uniform()).sin_cos();
        (radius * cos, radius * sin)
    }
}
