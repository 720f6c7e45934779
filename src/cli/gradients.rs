//! `arcuate gradients`: checks and corrects the axes of a gradient table.

use super::options::{FitOptions, GivenParameters, ReadingOptions};
use super::output::remark;
use super::runner::{Failure, Runner};
use crate::data::TensorLayout;
use crate::data::axis_change::AxisChange;
use crate::io;
use crate::io::text::counted;
use crate::solvers::gradient_check;
use crate::solvers::{odf_check, tensor_check};
use crate::state::tensors::jobs::{CheckGradients, CompareDistributions, CompareTensors};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate gradients check dwi.nii.gz
  arcuate gradients check dwi.nii.gz --out corrected
  arcuate gradients turn dwi.nii.gz --turn x,-y,z --out corrected
  arcuate gradients tensors dti.nii.gz        # in which order and frame are its tensors?
  arcuate gradients distributions fod.nii.gz  # in which basis and frame are its distributions?

`check` tracks the whole brain with all 24 ways to swap and flip the axes of the table and ranks them by the length and
coherence of the streamlines. Axes are those of FSL's bvec. The files stay unchanged; --out writes the best table.
`tensors` compares the six combinations of order and frame in which six volumes may hold tensors, in the same way.
`distributions` compares five bases of fibre orientation distributions by the symmetry of their lobes, and their axes.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    pub what: GradientCommand,
}

#[derive(clap::Subcommand, Debug)]
pub enum GradientCommand {
    /// Compare all 24 ways to swap and flip the axes
    Check(CheckOptions),
    /// Write the table with axes swapped or flipped
    Turn(TurnOptions),
    /// Compare the orders and frames of tensors in an image of six volumes
    Tensors(TensorOptions),
    /// Compare the bases and frames of fibre orientation distributions
    Distributions(DistributionOptions),
}

#[derive(clap::Args, Debug)]
pub struct CheckOptions {
    #[command(flatten)]
    pub fit: FitOptions,
    #[command(flatten)]
    pub params: GivenParameters<gradient_check::Params>,
    /// Write NAME.bval and NAME.bvec with the best axes
    #[arg(long, value_name = "NAME")]
    pub out: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub struct TensorOptions {
    /// Image of six volumes
    pub image: PathBuf,
}

#[derive(clap::Args, Debug)]
pub struct DistributionOptions {
    /// Image of the coefficients of even harmonics
    pub image: PathBuf,
}

#[derive(clap::Args, Debug)]
pub struct TurnOptions {
    /// With --turn: what stands for x, y and z of the new table, as in y,-x,z
    #[command(flatten)]
    pub scan: super::options::ScanOptions,
    /// Write NAME.bval and NAME.bvec
    #[arg(long, value_name = "NAME")]
    pub out: PathBuf,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    match &options.what {
        GradientCommand::Check(options) => check(options, runner),
        GradientCommand::Tensors(options) => tensors(&options.image, runner),
        GradientCommand::Distributions(options) => distributions(&options.image, runner),
        GradientCommand::Turn(options) => {
            check_out(&options.out, runner)?;
            let scan = options.scan.open(runner)?;
            for note in &scan.notes {
                remark(note, &options.scan.scan);
            }
            let gradients = scan.gradients.as_deref().ok_or_else(no_table)?;
            let files = save(&options.out, gradients, &scan.dwi.grid)?;
            let turn = options.scan.turn.unwrap_or(AxisChange::NONE);
            let how = match turn == AxisChange::NONE {
                true => "as they are; --turn changes their axes".to_owned(),
                false => format!("with {}", turn.description()),
            };
            let text = format!("Gradients {how}\n{}\n{}", files[0], files[1]);
            let value =
                json!({"command": "gradients turn", "turn": turn.to_string(), "files": files});
            runner.report(&value, &text);
            Ok(())
        }
    }
}

fn names(out: &std::path::Path) -> [PathBuf; 2] {
    ["bval", "bvec"].map(|ending| {
        let mut name = out.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    })
}

fn check_out(out: &std::path::Path, runner: &Runner) -> Result<(), Failure> {
    names(out).iter().try_for_each(|path| runner.may_make(path))
}

fn save(
    out: &std::path::Path,
    gradients: &crate::data::Gradients,
    grid: &crate::data::Grid,
) -> Result<[String; 2], Failure> {
    let [bval, bvec] = names(out);
    io::gradients::save(&bval, &bvec, gradients, grid).map_err(|e| Failure::new(e.to_string()))?;
    Ok([bval, bvec].map(|path| path.display().to_string()))
}

fn no_table() -> Failure {
    Failure::usage(
        "An image of tensors has no gradients: compare its orders with gradients tensors",
    )
}

/// The ways to read an image, the most plausible first.
struct Ranking {
    command: &'static str,
    sentence: String,
    /// Heading of the measure before the length and coherence of streamlines, eight characters.
    measure: &'static str,
    candidates: Vec<RankedCandidate>,
    found: Option<Value>,
}

struct RankedCandidate {
    measure: String,
    mean_length_mm: f64,
    coherence: f64,
    /// The options that read the image in this way.
    options: String,
    json: Value,
}

impl Ranking {
    fn report(self, wall_ms: f64, runner: &mut Runner) {
        let mut text = format!(
            "{}\n\n  rank  {}  length mm  coherence  options\n",
            self.sentence, self.measure
        );
        let mut ranked = Vec::new();
        for (i, c) in self.candidates.into_iter().enumerate() {
            let _ = writeln!(
                text,
                "  {:>4}  {}  {:>9.2}  {:>9.3} {}",
                i + 1,
                c.measure,
                c.mean_length_mm,
                c.coherence,
                c.options
            );
            let mut json = c.json;
            json["coherence"] = c.coherence.into();
            json["mean_length_mm"] = c.mean_length_mm.into();
            ranked.push(json);
        }
        let value = json!({
            "command": self.command, "sentence": self.sentence, "ranked": ranked, "found": self.found,
            "compare_ms": wall_ms,
        });
        runner.report(&value, &text);
    }
}

fn tensors(path: &std::path::Path, runner: &mut Runner) -> Result<(), Failure> {
    let image = super::inputs::image(path, &ReadingOptions::default(), runner)?;
    if image.frames != TensorLayout::VOLUMES {
        return Err(Failure::new(format!(
            "Found {}, expected the six volumes of a tensor image; name that image: {}",
            counted(image.frames, "volume"),
            path.display()
        )));
    }
    let request = CompareTensors {
        volume: image,
        params: tensor_check::Params::defaults(),
    };
    let (output, wall_ms) = runner.run(request)?;
    let candidate = |c: &tensor_check::Candidate| RankedCandidate {
        measure: format!("{:>6.1} %", 100.0 * c.definite),
        mean_length_mm: c.mean_length_mm,
        coherence: c.coherence,
        options: c.layout.to_string(),
        json: json!({
            "order": c.layout.order.key(), "frame": c.layout.frame.key(), "definite": c.definite,
        }),
    };
    let ranking = Ranking {
        command: "gradients tensors",
        sentence: output.sentence(),
        measure: "definite",
        candidates: output.ranked.iter().map(candidate).collect(),
        found: output
            .clear_layout()
            .map(|l| json!({"order": l.order.key(), "frame": l.frame.key()})),
    };
    ranking.report(wall_ms, runner);
    Ok(())
}

fn distributions(path: &std::path::Path, runner: &mut Runner) -> Result<(), Failure> {
    let image = super::inputs::image_to_compare(path, runner)?;
    let request = CompareDistributions {
        volume: image,
        params: odf_check::Params::defaults(),
    };
    let (output, wall_ms) = runner.run(request)?;
    let candidate = |c: &odf_check::Candidate| RankedCandidate {
        measure: format!("{:>8.3}", c.symmetry),
        mean_length_mm: c.mean_length_mm,
        coherence: c.coherence,
        options: c.layout.to_string(),
        json: json!({
            "basis": c.layout.basis.key(), "frame": c.layout.frame.key(), "symmetry": c.symmetry,
        }),
    };
    let ranking = Ranking {
        command: "gradients distributions",
        sentence: output.sentence(),
        measure: "symmetry",
        candidates: output.ranked.iter().map(candidate).collect(),
        found: output
            .clear_layout()
            .map(|l| json!({"basis": l.basis.key(), "frame": l.frame.key()})),
    };
    ranking.report(wall_ms, runner);
    Ok(())
}

fn check(options: &CheckOptions, runner: &mut Runner) -> Result<(), Failure> {
    let params = options.params.params()?;
    if let Some(out) = &options.out {
        check_out(out, runner)?;
    }
    let fitted = options.fit.run(runner)?;
    let gradients = fitted.scan.gradients.as_deref().ok_or_else(no_table)?;
    let request = CheckGradients {
        scan: fitted.scan.dwi.id(),
        field: fitted.fit.field.clone(),
        params,
    };
    let (output, wall_ms) = runner.run(request)?;
    let mut text = format!("{}\n\n", output.sentence());
    let _ = writeln!(text, "  rank  length mm  coherence  axes (--turn)");
    for (i, c) in output.ranked.iter().enumerate() {
        let _ = writeln!(
            text,
            "  {:>4}  {:>9.2}  {:>9.3}  {:<9} {}",
            i + 1,
            c.mean_length_mm,
            c.coherence,
            c.turn.to_string(),
            c.turn.description()
        );
    }
    let best = output.ranked.first().map_or(AxisChange::NONE, |c| c.turn);
    let mut files = Vec::new();
    if let Some(out) = &options.out {
        let grid = &fitted.scan.dwi.grid;
        let turned = gradients.rotated(best.in_world(grid));
        files = save(out, &turned, grid)?.to_vec();
        let _ = writeln!(text, "\n{}\n{}", files[0], files[1]);
    }
    let verdict = output.verdict();
    let ranked: Vec<Value> = output
        .ranked
        .iter()
        .map(|c| {
            json!({
                "turn": c.turn.to_string(), "words": c.turn.description(), "coherence": c.coherence,
                "mean_length_mm": c.mean_length_mm,
            })
        })
        .collect();
    let value = json!({
        "command": "gradients check", "verdict": verdict.key(), "best": best.to_string(),
        "sentence": output.sentence(), "fibres": output.started, "ranked": ranked, "files": files,
        "check_ms": wall_ms,
    });
    runner.report(&value, &text);
    Ok(())
}
