//! The ending of the images that a command writes into a folder.

use crate::io::Format;
use clap::builder::PossibleValuesParser;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Debug)]
pub struct ImageEnding {
    /// Ending of the images, which sets their format
    #[arg(
        long,
        value_name = "ENDING",
        value_parser = PossibleValuesParser::new(Format::SAVED_IMAGE_ENDINGS),
        default_value = Format::SAVED_IMAGE_ENDINGS[0]
    )]
    pub format: String,
}

impl ImageEnding {
    /// The path of an image of this name in a folder.
    pub fn path(&self, folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("{name}.{}", self.format))
    }

    /// The option as text of a command, empty for the default.
    pub fn argument(&self) -> String {
        match self.format == Format::SAVED_IMAGE_ENDINGS[0] {
            true => String::new(),
            false => format!(" --format {}", self.format),
        }
    }
}
