//! `arcuate compare`: compares segmentations of one structure, or a pathway with streamlines.

use super::inputs::{check_overlap, grid_coverage, must_be_csv, streamlines};
use super::options::{ReadingOptions, noted};
use super::output::shown;
use super::runner::{Failure, Runner};
use super::typed::typed_command;
use crate::data::Mask;
use crate::data::text::{count, counted};
use crate::io::{self, Content, Format};
use crate::solvers::compare::{Consensus, MAX_MASKS, Pair, PathwayAgreement, Precision, precision};
use crate::state::core::text::duration_text;
use crate::state::files::jobs::SaveVolume;
use crate::state::regions::jobs::compare::CompareMasks;
use crate::state::regions::jobs::csv::SavePairs;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::agreement::{CompareStreamlines, ComparedMask};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arcuate compare expert1.nii.gz expert2.nii.gz level_set.nii.gz --staple consensus.nii.gz
  arcuate compare expert1.nii.gz expert2.nii.gz --staple consensus.nii.gz --mask brain.nii.gz
  arcuate compare a1.nii.gz a2.nii.gz b1.nii.gz b2.nii.gz --operators a,a,b,b --csv pairs.csv
  arcuate compare pathway.nii.gz tracks.tck

Masks have the same grid. Each pair gets the Dice coefficient, the Jaccard index and the distances between the borders.
--staple estimates the probability of each voxel to belong to the structure, and the sensitivity and specificity of
each mask (Warfield, Zou and Wells 2004), from all voxels or those of --mask. --operators names who drew each mask: the
mean agreement of pairs by one operator and of pairs by two is the precision within and between operators.

For a pathway and streamlines: the share of the streamlines that stay within the pathway, the share of the pathway within
one voxel of a streamline, and the Dice coefficient of the pathway and the voxels that streamlines pass.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // No label map is read.
    mut_arg("colours", |arg| arg.hide(true)),
)]
pub struct Options {
    /// Two masks or more, or one mask and one streamline file
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Estimate the consensus of the masks, and write its probability as an image: .nii.gz, .nii, .mif or .mif.gz
    #[arg(long, value_name = "FILE")]
    pub staple: Option<PathBuf>,
    /// Estimate the consensus within the voxels of a mask, outside of which its probability is 0
    #[arg(long, value_name = "FILE", requires = "staple")]
    pub mask: Option<PathBuf>,
    /// Who drew each mask, in the order of the masks
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub operators: Vec<String>,
    /// Also write a table with one row for each pair of masks (.csv)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let is_streamlines = |path: &PathBuf| {
        Format::named(path).is_some_and(|format| format.content() == Content::Streamlines)
    };
    let tracks = options
        .files
        .iter()
        .filter(|path| is_streamlines(path))
        .count();
    match (options.files.as_slice(), tracks) {
        (masks, 0) => compare_masks(options, masks, runner),
        ([a, b], 1) if is_streamlines(a) => compare_streamlines(options, b, a, runner),
        ([a, b], 1) => compare_streamlines(options, a, b, runner),
        (files, _) => Err(Failure::usage(format!(
            "Found {} and {}, expected masks only, or one mask and one streamline file; compare them in turn",
            counted(files.len() - tracks, "mask"),
            counted(tracks, "streamline file")
        ))),
    }
}

fn compare_masks(options: &Options, paths: &[PathBuf], runner: &mut Runner) -> Result<(), Failure> {
    if !(2..=MAX_MASKS).contains(&paths.len()) {
        return Err(Failure::usage(format!(
            "Found {}, expected 2 to {MAX_MASKS} segmentations of the same structure, or a streamline file beside \
             one; name others",
            counted(paths.len(), "mask")
        )));
    }
    let operators = &options.operators;
    if !operators.is_empty() && operators.len() != paths.len() {
        return Err(Failure::usage(format!(
            "Found {} in --operators and {}, expected a name for each mask; repeat the name of an operator who drew \
             several",
            counted(operators.len(), "name"),
            counted(paths.len(), "mask")
        )));
    }
    if let Some(path) = &options.staple {
        if !Format::saves_image(path) {
            return Err(Failure::usage(format!(
                "A consensus cannot be written under this name, expected one that ends in .nii.gz, .nii, .mif or \
                 .mif.gz: {}",
                path.display()
            )));
        }
        runner.may_make(path)?;
    }
    if let Some(path) = &options.csv {
        must_be_csv(path)?;
        runner.may_make(path)?;
    }
    let mut masks: Vec<Mask> = Vec::new();
    for path in paths {
        let read = match masks.first() {
            None => io::mask_on_own_grid(path),
            Some(first) => io::mask(path, &first.grid),
        };
        masks.push(noted(read, path)?);
    }
    let within = match &options.mask {
        Some(path) => Some(noted(io::mask(path, &masks[0].grid), path)?),
        None => None,
    };
    let staple = options.staple.is_some();
    let job = CompareMasks {
        masks: masks.clone(),
        staple,
        within,
    };
    let (compared, wall_ms) = runner.run(job)?;
    if let (Some(path), Some(consensus)) = (&options.staple, &compared.consensus) {
        if !consensus.converged {
            warning!(
                "The consensus did not settle within {}; its rates may be inexact",
                counted(consensus.iterations, "iteration")
            );
        }
        runner.run(SaveVolume {
            source: None,
            volume: consensus.probability.clone(),
            path: path.clone(),
            command: typed_command(),
        })?;
    }
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if let Some(path) = &options.csv {
        runner.run(SavePairs {
            path: path.clone(),
            pairs: compared.pairs.clone(),
            names: names.clone(),
        })?;
    }
    let report = MaskReport {
        paths,
        masks: &masks,
        pairs: &compared.pairs,
        consensus: compared.consensus.as_ref(),
        operators,
    };
    let mut value = report.json();
    value["file"] = json!(options.staple);
    value["mask"] = json!(options.mask);
    value["table"] = json!(options.csv);
    value["wall_ms"] = json!(wall_ms);
    let mut text = report.text();
    let _ = writeln!(text, "{}", duration_text(wall_ms));
    for path in options.staple.iter().chain(&options.csv) {
        let _ = writeln!(text, "{}", shown(path));
    }
    runner.report(&value, &text);
    Ok(())
}

/// Compared masks as JSON and as text.
struct MaskReport<'a> {
    paths: &'a [PathBuf],
    masks: &'a [Mask],
    pairs: &'a [Pair],
    consensus: Option<&'a Consensus>,
    operators: &'a [String],
}

impl MaskReport<'_> {
    /// The pairs of all masks, of two operators, and of one.
    fn precision(&self) -> [Option<Precision>; 3] {
        let is_same = |[a, b]: [usize; 2]| self.operators[a] == self.operators[b];
        let chosen = |counts: &dyn Fn([usize; 2]) -> bool| match self.operators.is_empty() {
            true => None,
            false => precision(self.pairs, counts),
        };
        [
            precision(self.pairs, |_| true),
            chosen(&|pair| !is_same(pair)),
            chosen(&is_same),
        ]
    }

    /// Volume of the voxels that belong to the structure with a probability of at least one half.
    fn consensus_ml(&self) -> Option<f64> {
        let image = &self.consensus?.probability;
        let inside: Vec<u8> = image.values.iter().map(|w| u8::from(*w >= 0.5)).collect();
        Some(Mask::new(image.grid.clone(), inside).volume_ml())
    }

    fn json(&self) -> Value {
        let masks = self.masks.iter().zip(self.paths).enumerate();
        let masks = masks.map(|(i, (mask, path))| {
            json!({
                "file": path, "operator": self.operators.get(i), "voxels": mask.count(),
                "volume_ml": mask.volume_ml(),
                "sensitivity": self.consensus.map(|c| c.sensitivity[i]),
                "specificity": self.consensus.map(|c| c.specificity[i]),
            })
        });
        let pairs = self.pairs.iter().map(|pair| {
            json!({
                "masks": pair.masks, "shared_voxels": pair.shared, "dice": pair.dice(),
                "jaccard": pair.jaccard(), "mean_mm": pair.distances.mean_mm,
                "percentile95_mm": pair.distances.percentile95_mm, "max_mm": pair.distances.max_mm,
            })
        });
        let [all, between, within] = self.precision().map(|found| {
            found.map(|p| json!({"pairs": p.pairs, "dice": p.dice, "jaccard": p.jaccard}))
        });
        json!({
            "command": "compare", "masks": masks.collect::<Vec<_>>(),
            "pairs": pairs.collect::<Vec<_>>(), "all_pairs": all, "between_operators": between,
            "within_operators": within,
            "consensus": self.consensus.map(|c| json!({
                "volume_ml": self.consensus_ml(), "prior": c.prior, "iterations": c.iterations,
                "converged": c.converged,
            })),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (i, (mask, path)) in self.masks.iter().zip(self.paths).enumerate() {
            let (voxels, ml) = (count(mask.count() as u64), mask.volume_ml());
            let _ = write!(text, "{:>2}  {voxels} voxels, {ml:.2} ml", i + 1);
            if let Some(consensus) = self.consensus {
                let rates = [consensus.sensitivity[i], consensus.specificity[i]];
                let [p, q] = rates.map(|rate| format!("{rate:.4}"));
                let _ = write!(text, ", sensitivity {p}, specificity {q}");
            }
            let _ = writeln!(text, ": {}", shown(path));
        }
        let _ = writeln!(
            text,
            "\n{:>5} {:>7} {:>8} {:>8} {:>8} {:>8}",
            "Pair", "Dice", "Jaccard", "mean mm", "95 % mm", "max mm"
        );
        for pair in self.pairs {
            let [a, b] = pair.masks.map(|mask| mask + 1);
            let _ = writeln!(
                text,
                "{:>5} {:>7.4} {:>8.4} {:>8.2} {:>8.2} {:>8.2}",
                format!("{a}-{b}"),
                pair.dice(),
                pair.jaccard(),
                pair.distances.mean_mm,
                pair.distances.percentile95_mm,
                pair.distances.max_mm
            );
        }
        let names = ["All pairs", "Between operators", "Within operators"];
        for (name, found) in names.into_iter().zip(self.precision()) {
            if let Some(p) = found {
                let pairs = counted(p.pairs, "pair");
                let _ = writeln!(
                    text,
                    "{name} ({pairs}): mean Dice {:.4}, mean Jaccard {:.4}",
                    p.dice, p.jaccard
                );
            }
        }
        if let (Some(consensus), Some(ml)) = (self.consensus, self.consensus_ml()) {
            let _ = writeln!(
                text,
                "Consensus (STAPLE): {ml:.2} ml with a probability of at least 0.5, after {}",
                counted(consensus.iterations, "iteration")
            );
        }
        text
    }
}

fn compare_streamlines(
    options: &Options,
    mask: &Path,
    tracks: &Path,
    runner: &mut Runner,
) -> Result<(), Failure> {
    let unused = [
        ("--staple", options.staple.is_some()),
        ("--mask", options.mask.is_some()),
        ("--operators", !options.operators.is_empty()),
        ("--csv", options.csv.is_some()),
    ];
    if let Some((name, _)) = unused.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "Found {name}, which has no effect on a comparison with streamlines: leave it out"
        )));
    }
    let pathway = noted(io::mask_on_own_grid(mask), mask)?;
    let tractogram = streamlines(tracks, &options.reading, runner)?;
    let coverage = grid_coverage(&tractogram, &pathway.grid, runner);
    check_overlap(&coverage, (mask, "are not compared"))?;
    let ml = pathway.volume_ml();
    let job = CompareStreamlines {
        pathway: ComparedMask::Mask(pathway),
        key: None,
        among: CountedStreamlines {
            tractogram,
            marks: None,
        },
    };
    let (found, wall_ms) = runner.run(job)?;
    if found.not_finite > 0 {
        warning!(
            "{} without points or with one that is not finite left out; check the program that wrote the file: {}",
            counted(found.not_finite, "streamline"),
            tracks.display()
        );
    }
    let text = format!("{}{}\n", agreement_text(&found), duration_text(wall_ms));
    let value = json!({
        "command": "compare", "pathway": mask, "tracks": tracks, "volume_ml": ml,
        "streamlines": found.streamlines, "within": found.within,
        "within_share": found.within_share(), "length_mm": found.length_mm,
        "length_within_mm": found.length_within_mm, "length_share": found.length_share(),
        "pathway_voxels": found.pathway_voxels, "passed_voxels": found.passed_voxels,
        "shared_voxels": found.shared_voxels, "near_voxels": found.near_voxels,
        "passed_share": found.passed_share(), "near_share": found.near_share(),
        "dice": found.dice(), "not_finite": found.not_finite, "wall_ms": wall_ms,
    });
    runner.report(&value, &text);
    Ok(())
}

fn agreement_text(found: &PathwayAgreement) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    format!(
        "{} of {} ({}) within the pathway, {} of their length\n\
         {} of the pathway ({}) within one voxel of a streamline, {} passed\n\
         Dice coefficient of the pathway and the voxels passed: {:.4}\n",
        count(found.within as u64),
        counted(found.streamlines, "streamline"),
        percent(found.within_share()),
        percent(found.length_share()),
        percent(found.near_share()),
        counted(found.pathway_voxels as usize, "voxel"),
        percent(found.passed_share()),
        found.dice()
    )
}
