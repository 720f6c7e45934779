//! Benchmarks on a dictionary that dmri-commit built from the same streamlines.

use super::times;
use crate::compute::{Backend, Control};
use crate::data::Tractogram;
use crate::io::{self, Opened, arrays};
use crate::solvers::commit;
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::dictionary::{Dictionary, ImportedDictionary, Options};
use crate::solvers::commit::model::{Intra, Model, Zeppelin};
use crate::solvers::commit::operator::dense::Table;
use crate::solvers::commit::operator::{Operator, OperatorKind};
use crate::solvers::commit::samples::{Samples, Switches};
use crate::solvers::commit::solver::{Curve, Metric, Penalty, Problem, Stop, solve};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Its figures, as it wrote them.
pub fn measure(folder: &Path, quick: bool, backend: &Backend) -> Result<Value, Box<dyn Error>> {
    let at = |name: &str| folder.join(name);
    let sizes: Vec<u32> = arrays::read(&at("sizes.u32"))?;
    let [
        streamlines,
        voxels,
        samples,
        rows,
        atoms,
        peak_rows,
        extra,
        free,
    ] = sizes[..]
    else {
        return Err("sizes.u32 does not hold eight numbers".into());
    };
    let n = |v: u32| v as usize;
    let (streamline, voxel): (Vec<u32>, Vec<u32>) = (
        arrays::read(&at("fibre.u32"))?,
        arrays::read(&at("voxel.u32"))?,
    );
    let (direction, length): (Vec<u16>, Vec<f32>) = (
        arrays::read(&at("direction.u16"))?,
        arrays::read(&at("length.f32"))?,
    );
    let (peak_voxel, peak_direction): (Vec<u32>, Vec<u16>) = (
        arrays::read(&at("peak_voxel.u32"))?,
        arrays::read(&at("peak_direction.u16"))?,
    );
    let given = ImportedDictionary {
        streamline: &streamline,
        voxel: &voxel,
        direction: &direction,
        length: &length,
        peak_voxel: &peak_voxel,
        peak_direction: &peak_direction,
        streamlines: n(streamlines),
        voxels: n(voxels),
    };
    let dictionary = given.dictionary().ok_or("there are no voxels")?;
    let table: Vec<f32> = arrays::read(&at("table.f32"))?;
    let counts = [rows, atoms, peak_rows, extra, free].map(n);
    let table = Table::padded(&table, n(samples), counts);
    let operator = Operator::with_imported_table(&dictionary, table);
    let shape = operator.shape();
    let theirs: Vec<f64> = arrays::read(&at("x.f64"))?;
    let ours = in_their_order(
        &operator,
        [streamlines, atoms, extra, free, voxels].map(n),
        &peak_voxel,
    );
    let mut x = vec![0f32; operator.columns()];
    for (column, value) in ours.iter().zip(&theirs) {
        x[*column] = *value as f32;
    }
    let mut y = vec![0.0; operator.rows()];
    operator.apply(&x, &mut y)?;
    let predicted = operator.unpack(&y, n(voxels), n(samples));
    arrays::write(&at("predicted.f32"), &predicted)?;
    let own = own(folder, &given)?;
    arrays::write(&at("own_predicted.f32"), &own)?;
    let [a_x_s, at_y_s] = times(&operator, if quick { 2 } else { 5 })?;
    let measured: Vec<f64> = arrays::read(&at("y.f64"))?;
    let measured: Vec<f32> = measured.into_iter().map(|v| v as f32).collect();
    let y = operator.pack(&measured, n(samples));
    let target: Vec<f64> = arrays::read(&at("objective.f64"))?;
    let started = Instant::now();
    let metric = Metric::new(&operator)?;
    let stop = Stop {
        iterations: 1000,
        objective: 0.0,
        kkt: 0.0,
        target: target.first().copied().unwrap_or(0.0),
    };
    let problem = Problem {
        operator: &operator,
        metric: &metric,
        y: &y,
        penalty: &Penalty::default(),
        without: None,
    };
    let solution = solve(&problem, None, &stop, &Curve::default(), &Control::new())?;
    let fit_s = started.elapsed().as_secs_f64();
    arrays::write(&at("weights.f32"), &solution.x[..shape.intra()])?;
    // With the default stop, in the order of their columns, evaluated in double precision.
    let started = Instant::now();
    let metric = Metric::new(&operator)?;
    let problem = Problem {
        metric: &metric,
        ..problem
    };
    let default_value = Stop {
        iterations: 20_000,
        ..commit::Params::defaults_for(2).stop
    };
    let curve = Curve::default();
    let rested = solve(&problem, None, &default_value, &curve, &Control::new())?;
    let default_s = started.elapsed().as_secs_f64();
    let in_order: Vec<f32> = ours.iter().map(|column| rested.x[*column]).collect();
    arrays::write(&at("usual.f32"), &in_order)?;
    arrays::write(&at("curve.f64"), &curve.values())?;
    Ok(json!({
        "workload": "commit", "case": "dictionary and table of dmri-commit",
        "a_x_ms": 1e3 * a_x_s, "at_y_ms": 1e3 * at_y_s, "fit_s": fit_s,
        "iterations": solution.iterations, "objective": solution.objective, "target": stop.target,
        "usual_s": default_s, "usual_iterations": rested.iterations, "usual_objective": rested.objective,
        "segments": dictionary.segments.len(), "backend": backend.name(), "threads": backend.threads(),
    }))
}

/// The columns of our operator in the order of dmri-commit: by atom, and within an atom all streamlines, then all peaks,
/// then all voxels.
fn in_their_order(
    operator: &Operator,
    [streamlines, atoms, extra, free, voxels]: [usize; 5],
    peak_voxel: &[u32],
) -> Vec<usize> {
    let mut ours = Vec::with_capacity(operator.columns());
    for atom in 0..atoms {
        ours.extend((0..streamlines).map(|streamline| streamline * atoms + atom));
    }
    let mut seen = vec![0usize; voxels];
    let places: Vec<(usize, usize)> = peak_voxel
        .iter()
        .map(|&voxel| {
            let place = &mut seen[voxel as usize];
            *place += 1;
            (voxel as usize, *place - 1)
        })
        .collect();
    for atom in 0..extra {
        let column =
            |&(voxel, place): &(usize, usize)| operator.own_column(voxel, place * extra + atom);
        ours.extend(places.iter().map(column));
    }
    let peaks = operator.shape().peaks * extra;
    for atom in 0..free {
        ours.extend((0..voxels).map(|voxel| operator.own_column(voxel, peaks + atom)));
    }
    ours
}

/// The signal that our own dictionary predicts from their weights, in the order of their voxels.
fn own(folder: &Path, given: &ImportedDictionary) -> Result<Vec<f32>, Box<dyn Error>> {
    let (control, at) = (Control::new(), |name: &str| folder.join(name));
    let volume = |name: &str| match io::open(&at(name), &control)? {
        Opened::Volume(volume, _) => Ok(volume),
        Opened::Tractogram(..) => Err(Box::<dyn Error>::from("streamlines")),
    };
    let tractogram: Tractogram = match io::open(&at("fibres.tck"), &control)? {
        Opened::Tractogram(tractogram, _) => tractogram,
        Opened::Volume(..) => return Err("an image".into()),
    };
    let (mask, peaks) = (volume("mask.nii")?, volume("peaks.nii")?);
    let files = io::gradients::TableFiles::Mrtrix(at("scan.b"));
    let volumes = 95;
    let table = io::gradients::read(&files, &mask.grid, volumes)?;
    let switches = Switches {
        merge_b0: false,
        normalise_signal: false,
        normalise_kernels: false,
    };
    let scheme = at("scan.scheme");
    let timing: Vec<Timing> = match io::scheme::timing(&scheme) {
        Ok(read) => read
            .rows
            .into_iter()
            .map(|[pulse_ms, between_ms]| Timing {
                pulse_ms,
                between_ms,
            })
            .collect(),
        // Sticks have none.
        Err(_) => Vec::new(),
    };
    let samples = Samples::new(&table.gradients, &timing, &switches)?;
    let along = 1.7e-3;
    let model = Model {
        intra: match timing.is_empty() {
            true => Intra::Stick { along },
            false => Intra::Cylinders {
                along,
                radii_um: vec![0.5, 2.0, 3.5, 5.0],
            },
        },
        extra: vec![Zeppelin {
            along,
            across: 0.51e-3,
        }],
        free: vec![along, 3.0e-3],
    };
    let responses = model.responses(&samples, false);
    let usable: Vec<u8> = mask.values.iter().map(|v| u8::from(*v > 0.0)).collect();
    let options = Options {
        usable: &usable,
        all: true,
        blur_mm: None,
        peaks: Some(&peaks),
    };
    let dictionary = Dictionary::build(&tractogram, &mask.grid, &options, &control)?;
    let operator = Operator::new(
        &dictionary,
        &responses,
        &samples,
        Some(OperatorKind::Factorised),
    );
    let shape = operator.shape();
    let places: Vec<u32> = arrays::read(&at("voxels.u32"))?;
    // Maps theirs to ours: both have positions in the grid.
    let known = |place: u32| {
        dictionary
            .voxels
            .binary_search(&place)
            .map_err(|_| "a voxel is unknown")
    };
    let known: Vec<usize> = places.iter().map(|p| known(*p)).collect::<Result<_, _>>()?;
    // For columns that are not scaled.
    let weights: Vec<f64> = arrays::read(&at("x_own.f64"))?;
    let mut x = vec![0f32; operator.columns()];
    for streamline in 0..given.streamlines {
        for atom in 0..shape.atoms {
            x[streamline * shape.atoms + atom] =
                weights[atom * given.streamlines + streamline] as f32;
        }
    }
    let first = given.streamlines * shape.atoms;
    let mut seen = vec![0usize; given.voxels];
    for (i, &voxel) in given.peak_voxel.iter().enumerate() {
        let place = seen[voxel as usize];
        seen[voxel as usize] += 1;
        let column = operator.own_column(known[voxel as usize], place);
        x[column] = weights[first + i] as f32;
    }
    let first = first + given.peak_voxel.len();
    for voxel in 0..given.voxels {
        for atom in 0..shape.free {
            let column = operator.own_column(known[voxel], shape.peaks + atom);
            x[column] = weights[first + atom * given.voxels + voxel] as f32;
        }
    }
    let mut y = vec![0.0; operator.rows()];
    operator.apply(&x, &mut y)?;
    let n = samples.count();
    let all = operator.unpack(&y, dictionary.voxels.len(), n);
    Ok(known
        .iter()
        .flat_map(|v| all[v * n..(v + 1) * n].iter().copied())
        .collect())
}
