//! Surfaces: the part shared by their formats. All are written in world mm, RAS+.

use super::atomic::ReadBackDifference;
use super::format::{Content, Format};
use super::text::in_line;
use super::{DISCLAIMER, Error, atomic, disk, gifti, obj, ply, stl};
use crate::compute::Control;
use crate::data::Surface;
use std::io::Write as _;
use std::path::Path;

/// Whether a name is that of a surface file.
pub fn is_named(path: &Path) -> bool {
    Format::named(path).is_some_and(|f| f.content() == Content::Surface)
}

/// Writes a surface in the format of its name, with `description` if the format has a place for it; reads it back and
/// compares.
pub fn save(
    path: &Path,
    surface: &Surface,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    if surface.triangles.is_empty() {
        return Err(Error::unsupported(
            path,
            "an empty surface",
            "choose a region or mask that holds a voxel",
        ));
    }
    let description = &format!("{DISCLAIMER}; {description}");
    let bytes = match Format::named(path) {
        Some(Format::Ply) => ply::bytes(surface, description),
        Some(Format::Stl) => stl::bytes(surface, description),
        Some(Format::Obj) => obj::bytes(surface, description),
        Some(Format::Gifti) => gifti::bytes(surface, description),
        _ => {
            return Err(Error::unsupported(
                path,
                "a name that is not a surface's",
                "end it in .ply, .stl, .obj or .gii",
            ));
        }
    };
    control.check()?;
    atomic::write_verified(
        path,
        |file| Ok(file.write_all(&bytes)?),
        |written| match disk::read(written) {
            Ok(stored) if stored == bytes => Ok(()),
            Ok(_) => Err(ReadBackDifference::Bytes),
            Err(e) => Err(e.into()),
        },
    )
}

/// One line of it, without control characters.
pub(super) fn one_line(description: &str) -> String {
    in_line(description, ' ')
}
