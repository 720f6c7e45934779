//! `arcuate select`: selects some of a file's streamlines.

use super::inputs::{check_values, must_overlap, pieces, report_remarks, scalar_image};
use super::options::{
    ChanceOptions, PassingOptions, ReadingOptions, RegionOptions, ValueError, limits, whole_from,
};
use super::output::shown;
use super::runner::{Failure, Runner};
use super::track::must_be_streamlines;
use crate::data::Shape;
use crate::data::text::{count as grouped, counted};
use crate::io::quoted;
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::selection::{
    OnImage, PointStatistic, RejectReason, SelectionRules, ValueCondition,
};
use crate::state::regions::recipe::{RegionSpec, ShapeSpec};
use crate::state::streamlines::jobs::from_file::Coverage;
use crate::state::streamlines::jobs::from_file::select::{
    SaveSelected, SelectInFile, SelectedInFile,
};
use crate::state::streamlines::recipe::{self, Choice, ImageOption};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate select tracks.trx left.trx --include mask:left.nii.gz --exclude box:0,0,0,2,90,90
  arcuate select tracks.tck long.tck --length 40..
  arcuate select rays.trx strong.trx --value cm=1.2.. --number 5000
  arcuate select tracks.trx white.trx --image fa.nii.gz:0.2..:all --image t1.nii.gz:100..900
  arcuate select tracks.trk ends.trk --target mask:v1.nii.gz --target mask:v2.nii.gz --ends

A region counts as crossed if a segment crosses it, even if no point lies in it. Streamlines keep their values per
streamline and per point, and their order. Values per point count by their mean.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // No label map is read.
    mut_arg("colours", |arg| arg.hide(true)),
    mut_arg("target", |arg| arg.help("Regions of which streamlines must reach at least one")),
)]
pub struct Options {
    /// Streamline file to read
    pub input: PathBuf,
    /// Streamline file to write; its extension sets the format
    pub output: PathBuf,
    #[command(flatten)]
    pub rules: RuleOptions,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

/// Rules that streamlines are kept by.
#[derive(clap::Args, Debug)]
pub struct RuleOptions {
    #[command(flatten)]
    pub passing: PassingOptions,
    /// Keep the streamlines of a group (TRX)
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Include and target regions must contain an end of the streamline
    #[arg(long)]
    pub ends: bool,
    /// Keep streamlines with a length within these limits, mm; either limit may be omitted
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, value_parser = limits)]
    pub length: Option<(f32, f32)>,
    /// Keep streamlines with a value within these limits; may be given several times
    #[arg(long, value_name = "NAME=LOW..HIGH", value_parser = value_within)]
    pub value: Vec<ValueCondition>,
    /// Keep streamlines along which the values of an image lie within these limits: their mean, or :any or :all of them
    /// at the points; may be given several times
    #[arg(id = "image_limits", long = "image", value_name = "FILE:LOW..HIGH[:any|all]", allow_hyphen_values = true, value_parser = on_image)]
    pub image: Vec<ImageLimit>,
    /// Keep streamlines with an end that stopped for this reason, as recorded by tracking: low-fa, angle, left-mask, …
    #[arg(long, value_name = "REASON", value_parser = stop)]
    pub stop: Option<StopReason>,
    /// Keep the streamlines that the rules so far reject
    #[arg(long)]
    pub invert: bool,
    /// Keep N of the remaining streamlines, at random
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_from(1, u32::MAX))]
    pub number: Option<u32>,
    #[command(flatten)]
    pub chance: ChanceOptions,
}

fn value_within(text: &str) -> Result<ValueCondition, ValueError> {
    let Some((name, range)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(ValueError::new("NAME=LOW..HIGH, as in fa=0.3..", text));
    };
    let (low, high) = limits(range)?;
    Ok(ValueCondition {
        name: name.to_owned(),
        low,
        high,
    })
}

/// An image whose values along streamlines have limits.
#[derive(Clone, Debug)]
pub struct ImageLimit {
    file: PathBuf,
    low: f32,
    high: f32,
    counting: PointStatistic,
}

impl ImageLimit {
    fn text(&self) -> String {
        recipe::on_image(&self.file, self.low, self.high, self.counting)
    }
}

fn on_image(text: &str) -> Result<ImageLimit, ValueError> {
    let mut counts = PointStatistic::ALL.into_iter();
    let named = counts.find_map(|counting| {
        let rest = text.strip_suffix(counting.key())?.strip_suffix(':')?;
        Some((rest, counting))
    });
    let (rest, counting) = named.unwrap_or((text, PointStatistic::Mean));
    let Some((file, range)) = rest.rsplit_once(':').filter(|(file, _)| !file.is_empty()) else {
        let expected = "FILE:LOW..HIGH, as in fa.nii.gz:0.3..";
        return Err(ValueError::new(expected, text));
    };
    let (low, high) = limits(range)?;
    Ok(ImageLimit {
        file: PathBuf::from(file),
        low,
        high,
        counting,
    })
}

fn length_within(low: f32, high: f32) -> ValueCondition {
    ValueCondition {
        name: crate::data::tractogram::LENGTH.to_owned(),
        low,
        high,
    }
}

fn stop(text: &str) -> Result<StopReason, ValueError> {
    StopReason::from_key(text).ok_or_else(|| {
        let keys = StopReason::KEYS.join(", ");
        ValueError::new(format!("one of {keys}"), text)
    })
}

impl RuleOptions {
    fn regions(&self) -> RegionOptions {
        RegionOptions::passing(&self.passing)
    }

    fn at_most(&self) -> Option<(usize, u64)> {
        let seed = self.chance.random_seed.unwrap_or(0);
        self.number.map(|n| (n as usize, seed))
    }

    pub fn rules(&self, runner: &mut Runner) -> Result<SelectionRules, Failure> {
        let length = self.length.map(|(low, high)| length_within(low, high));
        Ok(SelectionRules {
            group: self.group.clone(),
            regions: self.regions().regions()?,
            by_ends: self.ends,
            values: length.into_iter().chain(self.value.clone()).collect(),
            given: Vec::new(),
            images: self.images(runner)?,
            stop: self.stop,
            invert: self.invert,
            at_most: self.at_most(),
        })
    }

    /// Reads the images; uses the first of several volumes.
    fn images(&self, runner: &mut Runner) -> Result<Vec<OnImage>, Failure> {
        let plain = ReadingOptions::default();
        let open = |limit: &ImageLimit| {
            Ok(OnImage {
                volume: scalar_image(&limit.file, &plain, runner)?,
                frame: 0,
                counting: limit.counting,
                low: limit.low,
                high: limit.high,
            })
        };
        self.image.iter().map(open).collect()
    }

    /// The images and masks in the rules, in the order of their options.
    pub fn coverages(&self, rules: &SelectionRules) -> Vec<Coverage> {
        let images = rules
            .images
            .iter()
            .map(|on| Coverage::of_values(&on.volume));
        let masks = rules
            .regions
            .iter()
            .filter_map(|region| match &*region.shape {
                Shape::Mask(mask) => Some(Coverage::of_grid(&mask.grid)),
                _ => None,
            });
        images.chain(masks).collect()
    }

    /// Refuses images and masks in which no point of the streamlines lies.
    pub fn check_overlap(&self, coverages: &[Coverage]) -> Result<(), Failure> {
        let (images, masks) = coverages.split_at(self.image.len());
        for (coverage, limit) in images.iter().zip(&self.image) {
            check_values(coverage, &limit.file)?;
        }
        let specs = self.regions().specs();
        let files = specs.iter().filter_map(|spec| match &spec.shape {
            ShapeSpec::Mask(path) => Some(path),
            _ => None,
        });
        masks
            .iter()
            .zip(files)
            .try_for_each(|(mask, path)| must_overlap(mask, path))
    }

    pub fn selects(&self) -> bool {
        let regions: Vec<RegionSpec> = self.regions().specs();
        !regions.is_empty()
            || self.group.is_some()
            || self.length.is_some()
            || !self.value.is_empty()
            || !self.image.is_empty()
            || self.stop.is_some()
            || self.number.is_some()
    }

    /// The first option that has an effect only beside a rule.
    pub fn without_rule(&self) -> Option<&'static str> {
        let options = [
            ("--ends", self.ends),
            ("--invert", self.invert),
            ("--random-seed", self.chance.random_seed.is_some()),
        ];
        let mut given = options.into_iter().filter(|(_, is_given)| *is_given);
        given
            .next()
            .map(|(option, _)| option)
            .filter(|_| !self.selects())
    }

    /// The rules as options.
    fn choice(&self) -> Choice {
        let length = self.length.map(|(low, high)| length_within(low, high));
        Choice {
            group: self.group.clone(),
            regions: self.regions().specs(),
            by_ends: self.ends,
            values: length.into_iter().chain(self.value.clone()).collect(),
            images: self.image.iter().map(ImageLimit::text).collect(),
            stop: self.stop,
            invert: self.invert,
            at_most: self.at_most(),
            image_option: ImageOption::Select,
        }
    }
}

impl Options {
    /// The command that is stored in the output.
    fn command(&self) -> String {
        let [input, output] = [&self.input, &self.output].map(|p| quoted(&p.to_string_lossy()));
        let choice = self.rules.choice();
        let text = format!("arcuate select {input} {output}{choice}");
        text + &self.reading.reading().to_string()
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    if !options.rules.selects() {
        return Err(Failure::usage(
            "There is no selection rule: add a region, --group, --length, --value, --image, --stop or --number",
        ));
    }
    must_be_streamlines(&options.output)?;
    runner.may_make(&options.output)?;
    let rules = options.rules.rules(runner)?;
    let pieces = pieces(&options.input, &options.reading, runner)?;
    let coverages = options.rules.coverages(&rules);
    let select = SelectInFile {
        pieces,
        rules,
        coverages,
        keeps_copies: true,
    };
    let (selected, wall_ms) = runner.run(select)?;
    let SelectedInFile {
        summary,
        dropped,
        kept,
    } = selected;
    report_remarks(&summary, &options.input);
    options.rules.check_overlap(&summary.coverages)?;
    let (all, count) = (summary.outline.streamlines, kept.outline.streamlines);
    let request = SaveSelected {
        kept,
        path: options.output.clone(),
        command: options.command(),
        replace: runner.force(),
    };
    let saved = runner.run(request)?.0.converted;
    let dropped = RejectReason::ALL.map(|reason| (reason, dropped[reason as usize]));
    let dropped = || dropped.iter().filter(|(_, n)| *n > 0);
    let of_all = counted(all, "streamline");
    let mut text = format!("{} of {of_all} kept\n", grouped(count as u64));
    for (reason, n) in dropped() {
        let _ = writeln!(text, "  {} {}", grouped(*n), reason.clause(*n));
    }
    for loss in &saved.unsupported_contents {
        let _ = writeln!(text, "  left out: {loss}");
    }
    for path in &saved.written {
        let _ = writeln!(text, "{}", shown(path));
    }
    if count == 0 && all > 0 {
        warning!(
            "None of {} is kept; relax the selection rules: {}",
            counted(all, "streamline"),
            options.input.display()
        );
    }
    let reasons: Map<String, Value> = dropped()
        .map(|(reason, n)| (format!("{reason:?}"), json!(n)))
        .collect();
    let value = json!({
        "command": "select", "streamlines": all, "kept": count, "dropped": reasons,
        "left_out": saved.unsupported_contents, "wall_ms": wall_ms, "files": saved.written,
    });
    runner.report(&value, &text);
    Ok(())
}
