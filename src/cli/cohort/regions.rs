//! The regions of a protocol in the space of a subject's scan.

use super::super::Failure;
use super::super::Runner;
use super::super::options::noted_volume;
use super::super::output::report_message;
use super::files::SubjectFiles;
use crate::data::protocol::{LabelName, ProtocolRegion, ProtocolSpace, names, owner};
use crate::io::{self, TransformFile, WarpReading};
use crate::state::Severity;
use glam::DVec3;
use std::path::{Path, PathBuf};

/// A region in the space of the scan.
pub enum SubjectRegion {
    /// `sphere:…` or `box:…`.
    Text(String),
    /// A mask that exists.
    File(PathBuf),
    /// A mask that these words of a command write under this name.
    Command { line: Vec<String>, file: String },
}

/// The file that the only name in a text stands for.
fn file_of(text: &str, files: &mut SubjectFiles) -> Result<PathBuf, Failure> {
    let used = names(text);
    let [name] = used.as_slice() else {
        return Err(Failure::new(format!(
            "Found “{text}” in a region, expected the name of an input in braces, as in {{labels}}"
        )));
    };
    if format!("{{{name}}}") != text.trim() && !text.contains("{protocol}") {
        return Err(Failure::new(format!(
            "Found “{text}” in a region, expected nothing but a name in braces"
        )));
    }
    match owner(name) == crate::data::protocol::FOLDER_NAME {
        true => {
            let rest = text.split_once('}').map_or("", |(_, rest)| rest);
            Ok(files.in_protocol_folder(&format!("{name}{rest}")))
        }
        false => files.input(name),
    }
}

/// The region of this name, with the files from which it is made.
pub fn region(
    name: &str,
    region: &ProtocolRegion,
    files: &mut SubjectFiles,
    runner: &mut Runner,
) -> Result<(SubjectRegion, Vec<PathBuf>), Failure> {
    let loaded = files.loaded;
    let space = |space: &Option<String>| {
        let space = space.as_ref()?;
        loaded.protocol.spaces.get(space)
    };
    let file = format!("{name}.nii.gz");
    match region {
        ProtocolRegion::Labels { map, labels } => {
            let map = file_of(map, files)?;
            let mut line = vec!["region".to_owned(), format!("--image={}", map.display())];
            for number in label_numbers(name, labels, &map, runner)? {
                line.push(format!("--label={number}"));
            }
            line.push(format!("--out={file}"));
            let mut used = vec![map.clone()];
            used.extend(io::bids::inherited_table(&map));
            Ok((SubjectRegion::Command { line, file }, used))
        }
        ProtocolRegion::Mask {
            file: mask,
            space: space_name,
        } => {
            let mask = file_of(mask, files)?;
            let Some(space) = space(space_name) else {
                return Ok((SubjectRegion::File(mask.clone()), vec![mask]));
            };
            let mut line = vec![
                "convert".to_owned(),
                mask.display().to_string(),
                file.clone(),
            ];
            let mut used = vec![mask];
            line.extend(options_of_space(name, space, files, &mut used)?);
            Ok((SubjectRegion::Command { line, file }, used))
        }
        ProtocolRegion::Sphere {
            numbers: [x, y, z, radius],
            space: space_name,
        } => {
            let (mut centre, mut used) = (DVec3::new(*x, *y, *z), Vec::new());
            if let Some(space) = space(space_name) {
                centre = moved(name, centre, space, files, &mut used)?;
            }
            // Micrometres, so that the command stays short.
            let [x, y, z] = centre.to_array().map(|mm| (mm * 1e3).round() / 1e3);
            let text = format!("sphere:{x},{y},{z},{radius}");
            Ok((SubjectRegion::Text(text), used))
        }
        ProtocolRegion::Box(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
            let text = format!("box:{}", numbers.join(","));
            Ok((SubjectRegion::Text(text), Vec::new()))
        }
        ProtocolRegion::Drawn => Err(Failure::new(format!(
            "The region “{name}” was drawn by hand in one head and does not carry over"
        ))),
    }
}

/// The options that take a mask of a space to that of the scan.
fn options_of_space(
    region: &str,
    space: &ProtocolSpace,
    files: &mut SubjectFiles,
    used: &mut Vec<PathBuf>,
) -> Result<Vec<String>, Failure> {
    match space {
        ProtocolSpace::Affine { transform, fixed } => {
            let transform = file_of(transform, files)?;
            let mut options = vec![format!("--affine={}", transform.display())];
            used.push(transform);
            if let Some(fixed) = fixed {
                let fixed = file_of(fixed, files)?;
                options.push(format!("--fixed={}", fixed.display()));
                used.push(fixed);
            }
            Ok(options)
        }
        ProtocolSpace::Warp {
            transforms,
            fixed,
            moving,
        } => {
            let warp = warp_reading(transforms, [fixed, moving], files)?;
            let has_grid = |first: &TransformFile| first.is_field() && !first.inverse;
            if let Some(first) = warp.transforms.first().filter(|first| !has_grid(first))
                && warp.fixed.is_none()
            {
                return Err(Failure::new(format!(
                    "The mask “{region}” needs a fixed image, whose voxels it gets, since the first transform of its space \
                     is not a field; add fixed = \"{{dwi}}\" to the table of the space: {}",
                    first.path.display()
                )));
            }
            let transforms = warp.transforms.iter();
            let mut options: Vec<String> = transforms.map(|t| format!("--warp={t}")).collect();
            for (key, image) in [("fixed", &warp.fixed), ("moving", &warp.moving)] {
                if let Some(image) = image {
                    options.push(format!("--{key}={}", image.display()));
                }
            }
            used.extend(files_of_warp(warp));
            Ok(options)
        }
    }
}

/// A warp with the files of the subject. `images` are the fixed and the moving one.
fn warp_reading(
    transforms: &[String],
    images: [&Option<String>; 2],
    files: &mut SubjectFiles,
) -> Result<WarpReading, Failure> {
    let mut reading = WarpReading::default();
    for text in transforms {
        let mut transform = TransformFile::parse(text);
        transform.path = file_of(&transform.path.to_string_lossy(), files)?;
        reading.transforms.push(transform);
    }
    let [fixed, moving] = images;
    let mut image = |text: &Option<String>| text.as_ref().map(|t| file_of(t, files)).transpose();
    reading.fixed = image(fixed)?;
    reading.moving = image(moving)?;
    Ok(reading)
}

fn files_of_warp(mut warp: WarpReading) -> Vec<PathBuf> {
    warp.files_mut().map(std::mem::take).collect()
}

/// A point of a space in the space of the scan.
fn moved(
    name: &str,
    point: DVec3,
    space: &ProtocolSpace,
    files: &mut SubjectFiles,
    used: &mut Vec<PathBuf>,
) -> Result<DVec3, Failure> {
    let transform = match space {
        ProtocolSpace::Affine { transform, .. } => transform,
        ProtocolSpace::Warp {
            transforms,
            fixed,
            moving,
        } => {
            let warp = warp_reading(transforms, [fixed, moving], files)?;
            let point = pushed(name, point, &warp, files)?;
            used.extend(files_of_warp(warp));
            return Ok(point);
        }
    };
    let path = file_of(transform, files)?;
    let affine = io::affine::read(&path).map_err(|e| Failure::new(e.to_string()))?;
    let moved = affine.in_world(None, None).ok_or_else(|| {
        Failure::new(format!(
            "The sphere “{name}” needs an affine of ITK or ANTs, found a matrix of FLIRT, which says nothing without both \
             images; convert it, or give the region as a mask: {}",
            path.display()
        ))
    })?;
    used.push(path);
    Ok(moved.transform_point3(point))
}

/// A point of a space in that of the scan, by the inverse of the warp: the warp itself maps points of the scan to the space.
fn pushed(
    name: &str,
    point: DVec3,
    warp: &WarpReading,
    files: &mut SubjectFiles,
) -> Result<DVec3, Failure> {
    let (warp, is_new) = files
        .warp(warp)
        .map_err(|e| Failure::new(format!("In the sphere “{name}”: {e}")))?;
    // Another sphere through the same warp repeats none of them.
    for sentence in warp.warnings().iter().filter(|_| is_new) {
        let text = format!("{}, sphere {name}: {sentence}", files.subject.name);
        report_message(Severity::Warning, &text);
    }
    warp.push(point).map_err(|why| {
        Failure::new(format!(
            "The centre of the sphere “{name}” {why}, so that the warp of its space cannot move it; check the order and \
             the directions of the transforms, or give the region as a mask"
        ))
    })
}

/// The numbers of labels, names by the table of the map.
fn label_numbers(
    region: &str,
    labels: &[LabelName],
    map: &Path,
    runner: &mut Runner,
) -> Result<Vec<u32>, Failure> {
    let has_names = labels
        .iter()
        .any(|label| matches!(label, LabelName::Name(_)));
    let table = match has_names {
        true => noted_volume(map, runner)?.0.labels,
        false => None,
    };
    let number = |label: &LabelName| match label {
        LabelName::Number(number) => Ok(*number),
        LabelName::Name(name) => {
            let rows = table.iter().flat_map(|table| &table.table);
            let mut found = rows.filter(|(_, label)| label.name.eq_ignore_ascii_case(name));
            match (found.next(), &table) {
                (Some((number, _)), _) => Ok(*number),
                (None, None) => Err(Failure::new(format!(
                    "The region “{region}” names the label “{name}”, but the label map has no table of names; add one \
                     beside it, or give the number: {}",
                    map.display()
                ))),
                (None, Some(table)) => {
                    let some = table.table.values().filter(|l| !l.name.is_empty()).take(8);
                    let some: Vec<&str> = some.map(|label| label.name.as_str()).collect();
                    Err(Failure::new(format!(
                        "The label map has no label “{name}” for the region “{region}”, it has {} …; name one of its \
                         labels: {}",
                        some.join(", "),
                        map.display()
                    )))
                }
            }
        }
    };
    labels.iter().map(number).collect()
}
