//! From one file format to another: what kind of thing the input holds decides what the output may be.

use super::format::{Content, Format};
use super::{Error, Opened, Told, atomic, fibres, nifti, open_told, scalars, trx};
use crate::compute::Control;
use crate::data::Tractogram;
use std::path::{Path, PathBuf};

/// What was done.
#[derive(Clone, PartialEq, Debug)]
pub struct Converted {
    /// `450 streamlines`.
    pub what: String,
    /// The output, and the files beside it that hold what it cannot.
    pub written: Vec<PathBuf>,
    /// About the input, one sentence each.
    pub notes: Vec<String>,
    /// What the output does not hold, one sentence each.
    pub losses: Vec<String>,
}

/// Refuses names that nothing can be converted to, before anything is read.
pub fn check_output(output: &Path) -> Result<Format, Error> {
    match Format::named(output) {
        Some(format) if format.content() == Content::Streamlines && format.saves() => Ok(format),
        _ => Err(Error::unsupported(
            output,
            "a name that streamlines cannot be converted to",
            format!("end it in one of {}", Format::streamline_endings()),
        )),
    }
}

/// Whether the output could be written here now, without replacing what is there.
pub fn check_place(output: &Path) -> Result<(), Error> {
    if Format::named(output) == Some(Format::Trx) && trx::means_folder(output) {
        let above = output.parent().unwrap_or(Path::new("."));
        return atomic::check_file(&above.join(".arcuate"));
    }
    atomic::check_file(output)
}

/// Reads a file and writes what it holds as `output`, whose name says the format. `reference` is the
/// image whose grid a tractogram is given; without it, the one that the input names is kept. Files
/// beside the output are replaced only if `replace` is set.
pub fn convert(
    input: &Path,
    output: &Path,
    reference: Option<&Path>,
    told: &Told,
    replace: bool,
    command: &str,
    control: &Control,
) -> Result<Converted, Error> {
    let format = check_output(output)?;
    match open_told(input, told, control)? {
        Opened::Tractogram(mut tractogram, info) => {
            let mut notes = info.warnings;
            notes.extend(fibres::not_finite(&tractogram));
            if let Some(reference) = reference {
                let grid = nifti::read_grid(reference, control)?;
                if let Some(own) = tractogram.grid.as_ref().filter(|own| !own.matches(&grid)) {
                    let far = grid.apart_mm(own);
                    notes.push(format!(
                        "The file names another grid than the reference, whose corners lie up to \
                         {far:.1} mm away; the reference's was taken, and no point was moved"
                    ));
                }
                tractogram = tractogram.with_grid(grid);
            }
            streamlines(&tractogram, format, output, replace, command, control).map(
                |(written, losses)| Converted {
                    what: format!("{} streamlines", tractogram.len()),
                    written,
                    notes,
                    losses,
                },
            )
        }
        Opened::Volume(..) => Err(Error::unsupported(
            input,
            "an image",
            "only streamlines are converted so far",
        )),
    }
}

fn streamlines(
    tractogram: &Tractogram,
    format: Format,
    output: &Path,
    replace: bool,
    command: &str,
    control: &Control,
) -> Result<(Vec<PathBuf>, Vec<String>), Error> {
    let mut written = vec![output.to_owned()];
    let beside = match format {
        Format::Tck => scalars::files(output, tractogram),
        _ => Vec::new(),
    };
    if let Some((_, path, _)) = beside.iter().find(|(_, path, _)| !replace && path.exists()) {
        return Err(Error::unsupported(
            path,
            "a file that is there already, which values of the streamlines would replace",
            "add --force to replace it",
        ));
    }
    fibres::save(output, tractogram, command, control)?;
    for (name, path, of_points) in beside {
        match of_points {
            true => scalars::save_points(&path, output, tractogram, &name)?,
            false => scalars::save_weights(&path, tractogram, &name)?,
        }
        written.push(path);
    }
    // What the files beside it hold is not lost.
    let mut left = tractogram.clone();
    if format == Format::Tck {
        left.per_point.clear();
        left.per_streamline.clear();
    }
    let mut losses = format.losses(&left);
    if !format.kind().holds.grid && tractogram.grid.is_some() {
        losses.push(format!(
            "{} does not say which image's grid the streamlines are from",
            format.short_name()
        ));
    }
    Ok((written, losses))
}
