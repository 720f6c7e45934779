//! `arcuate fit`: diffusion tensors and their maps.

use super::options::{FitOptions, FittedScan, ImageEnding, make_folder};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::data::gradients::volume_numbers;
use crate::data::text::{count, counted};
use crate::data::{Mask, Volume};
use crate::solvers::tensor_fit::FitMap;
use crate::state::CommandLine;
use crate::state::files::jobs::{SaveMask, SaveVolume};
use crate::state::tensors::jobs::ComputeShapes;
use crate::state::tensors::mask_text;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate fit dwi.nii.gz --out maps
  arcuate fit dwi.nii.gz --mask brain.nii.gz --method wls --maps fa,md,tensor --out maps

Maps: fa, md, ad, rd (mm²/s), mode (-1 planar to +1 linear), cl, cp, cs (linear, planar and spherical parts by
the largest eigenvalue: (l1 - l2)/l1, (l2 - l3)/l1, l3/l1), norm (Frobenius, mm²/s), dec (red left-right, green front-back, blue up-down), direction (unit vector,
world axes), tensor (6 volumes xx yy zz xy xz yz, mm²/s, world axes: as MRtrix), s0, mask, repaired (voxels whose
tensor was not positive definite and was repaired by raising its eigenvalues), mode-colour (blue planar, white
between, orange linear, times FA).";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    pub fit: FitOptions,
    /// Maps to write
    #[arg(
        long,
        value_parser = map_keys(),
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "fa,md,dec,mask"
    )]
    pub maps: Vec<FitMap>,
    /// Folder for the maps; created if missing
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub images: ImageEnding,
}

enum Map {
    Volume(Volume),
    Mask(Mask),
}

/// Fails if the map does not exist.
fn map_content(
    map: FitMap,
    fitted: &FittedScan,
    shapes: &[(FitMap, Volume)],
) -> Result<Map, Failure> {
    let volume = |v: &Volume| Map::Volume(v.clone());
    Ok(match map {
        FitMap::Fa => volume(&fitted.maps.fa),
        FitMap::Md => volume(&fitted.maps.md),
        FitMap::Ad => volume(&fitted.maps.ad),
        FitMap::Rd => volume(&fitted.maps.rd),
        FitMap::Dec => volume(&fitted.maps.dec),
        FitMap::Direction => volume(&fitted.maps.direction),
        FitMap::Tensor => Map::Volume(fitted.fit.field.volume()),
        FitMap::S0 => match &fitted.fit.s0 {
            Some(s0) => volume(s0),
            None => {
                return Err(Failure::usage(
                    "An image of tensors holds no signal: leave s0 out of --maps",
                ));
            }
        },
        FitMap::Mode | FitMap::Cl | FitMap::Cp | FitMap::Cs | FitMap::Norm | FitMap::ModeColour => {
            let computed = shapes.iter().find(|(shape, _)| *shape == map);
            let missing = || Failure::new("This map was not computed");
            volume(&computed.ok_or_else(missing)?.1)
        }
        FitMap::Mask => Map::Mask(fitted.mask.clone()),
        FitMap::Repaired => Map::Mask(fitted.fit.repaired.clone()),
    })
}

/// The keys as values of an option, listed by `--help`.
fn map_keys() -> impl TypedValueParser<Value = FitMap> {
    let known = PossibleValuesParser::new(FitMap::KEYS);
    known.try_map(|key| FitMap::from_key(&key).ok_or("there is no map of this name"))
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let path_of = |name: &str| options.images.path(&options.out, name);
    let files: Vec<PathBuf> = options.maps.iter().map(|m| path_of(m.key())).collect();
    runner.may_fill(&options.out, &files)?;
    let fitted = options.fit.run(runner)?;
    let shapes = match options.maps.iter().any(|map| FitMap::SHAPES.contains(map)) {
        true => {
            let job = ComputeShapes {
                key: None,
                field: fitted.fit.field.clone(),
                maps: options.maps.clone(),
            };
            runner.run(job)?.0
        }
        false => Vec::new(),
    };
    let _folder = make_folder(&options.out)?;
    let mut written = Vec::new();
    for &map in &options.maps {
        let path = path_of(map.key());
        let command = CommandLine::Fit {
            fit: fitted.arguments.clone(),
            map,
        }
        .text()
            + &options.images.argument();
        let (saved, _) = match map_content(map, &fitted, &shapes)? {
            Map::Volume(volume) => runner.run(SaveVolume {
                source: None,
                volume,
                path,
                command,
            })?,
            Map::Mask(mask) => runner.run(SaveMask {
                mask,
                path,
                command,
            })?,
        };
        written.push(saved.path);
    }
    let in_mask = fitted.mask.count();
    let n = in_mask - fitted.fit.unfitted;
    let repaired = fitted.fit.repaired.count();
    let report = json!({
        "command": "fit",
        "mask_voxels": in_mask,
        "mask_automatic": fitted.is_mask_automatic,
        "mask_file": fitted.arguments.mask,
        "mask_quality": fitted.mask_report.map(|m| json!({
            "volume_ml": m.volume_ml,
            "holes_filled": m.holes,
            "holes_filled_ml": m.holes_ml,
            "largest_hole_ml": m.largest_hole_ml,
            "agreement": m.agreement,
            "doubtful": m.doubtful(),
        })),
        "companion_mask": fitted.scan.companion_mask.as_ref().filter(|_| fitted.is_mask_automatic),
        "fitted": n,
        "repaired": repaired,
        "unfitted": fitted.fit.unfitted,
        "volumes_without_direction": fitted.fit.without_direction,
        "volumes_outside_range": fitted.fit.outside_range,
        "gradients": fitted.scan.gradients.as_ref().map(|g| g.summary()),
        "fit_ms": fitted.wall_ms,
        "files": written,
    });
    let (verb, contents) = match &fitted.scan.gradients {
        Some(gradients) => ("Fitted", gradients.summary()),
        None => ("Read the tensors of", "six volumes".to_owned()),
    };
    let mut text = format!(
        "{verb} {} of {} in {:.2} s ({contents})\n",
        count(n as u64),
        counted(in_mask, "voxel"),
        fitted.wall_ms / 1e3,
    );
    if let Some(report) = &fitted.mask_report {
        text += &format!("Brain mask computed: {}\n", mask_text::facts(report));
    }
    text += &format!(
        "Not positive definite, repaired: {}; without enough signal: {}\n",
        count(repaired as u64),
        count(fitted.fit.unfitted as u64)
    );
    if !fitted.fit.without_direction.is_empty() {
        text += &format!(
            "Left out, b above 50 but no direction: volumes {}\n",
            volume_numbers(&fitted.fit.without_direction)
        );
    }
    if !fitted.fit.outside_range.is_empty() {
        text += &format!(
            "Left out, b outside the range: volumes {}\n",
            volume_numbers(&fitted.fit.outside_range)
        );
    }
    for path in &written {
        text += &format!("{}\n", shown(path));
    }
    runner.report(&report, &text);
    Ok(())
}
