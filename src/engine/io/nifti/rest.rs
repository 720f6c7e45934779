//! The contents of a header besides the position and type of the voxels: slice timing, display range, and extensions
//! of other programs. They are preserved when an image is converted.

use super::header::{COMMENT, Fields, Version, text};
use crate::io::DISCLAIMER;
use crate::io::text::counted;

/// Largest number of bytes kept of a header's extensions.
pub(super) const EXTENSIONS_LIMIT: u64 = 1 << 20;
/// Size and code before the content of an extension.
const BEFORE: usize = 8;
/// NIfTI's codes for RGB24 and RGBA32.
const COLOURS: [i16; 2] = [128, 2304];

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rest {
    /// Axes of frequency, phase and slices.
    dim_info: u8,
    /// The first and the last slice to which the timing below applies.
    slices: [i64; 2],
    /// NIfTI's code for the slice order.
    slice_code: u8,
    slice_duration: f64,
    time_offset: f64,
    /// Values displayed as black and as white; both 0 if unset.
    shown: [f64; 2],
    /// Free text about the image, from its program.
    description: String,
    /// A name padded with zeros.
    aux_file: Vec<u8>,
    extensions: Vec<Extension>,
    /// Bytes of extensions that were not read.
    unread: u64,
    /// Bytes after the last complete extension, without trailing zeros.
    broken: u64,
    /// Slope and intercept of a colour image: meaningless, but preserved.
    colour_scaling: Option<[f32; 2]>,
}

#[derive(Clone, PartialEq, Debug)]
struct Extension {
    code: i32,
    content: Vec<u8>,
}

impl Rest {
    /// The fields of a header at the offsets of nifti1.h and nifti2.h.
    pub(super) fn from_fields(fields: &Fields<'_>, version: Version) -> Self {
        let f = fields;
        let small = |at| i64::from(f.i16(at));
        let single = |at| f64::from(f32::from_le_bytes(f.at(at)));
        let (datatype, scaling) = match version {
            Version::Nifti1 => (f.i16(70), [single(112), single(116)]),
            Version::Nifti2 => (f.i16(12), [f.f64(176), f.f64(184)]),
        };
        let unusual = scaling[0] != 0.0 && scaling != [1.0, 0.0];
        let is_kept =
            COLOURS.contains(&datatype) && unusual && scaling.iter().all(|n| n.is_finite());
        let colour_scaling = is_kept.then(|| scaling.map(|n| n as f32));
        match version {
            Version::Nifti1 => Self {
                dim_info: f.bytes[39],
                slices: [small(74), small(120)],
                slice_code: f.bytes[122],
                slice_duration: single(132),
                time_offset: single(136),
                shown: [single(128), single(124)],
                description: text(&f.bytes[148..228]),
                aux_file: f.bytes[228..252].to_vec(),
                colour_scaling,
                ..Self::default()
            },
            Version::Nifti2 => Self {
                dim_info: f.bytes[524],
                slices: [f.i64(224), f.i64(232)],
                slice_code: u8::try_from(f.i32(496)).unwrap_or(0),
                slice_duration: f.f64(208),
                time_offset: f.f64(216),
                shown: [f.f64(200), f.f64(192)],
                description: text(&f.bytes[240..320]),
                aux_file: f.bytes[320..344].to_vec(),
                colour_scaling,
                ..Self::default()
            },
        }
    }

    /// Parses extensions from the bytes after the four that state whether there are any; returns the content of the
    /// first one with this code.
    pub(super) fn extend(&mut self, bytes: &[u8], big_endian: bool, code: i32) -> Option<&[u8]> {
        let mut rest = bytes;
        while rest.len() >= BEFORE {
            let fields = Fields {
                bytes: rest,
                big_endian,
            };
            let (size, code) = (fields.i32(0), fields.i32(4));
            let content = usize::try_from(size).ok().and_then(|n| rest.get(BEFORE..n));
            let Some(content) = content else {
                let last = rest.iter().rposition(|b| *b != 0);
                self.broken = last.map_or(0, |last| last as u64 + 1);
                break;
            };
            self.extensions.push(Extension {
                code,
                content: content.to_vec(),
            });
            rest = &rest[BEFORE + content.len()..];
        }
        let mut all = self.extensions.iter();
        all.find(|e| e.code == code).map(|e| &*e.content)
    }

    /// Our description followed by the earlier one, unless a preserved comment contains that anyway.
    pub(in crate::io) fn described(&self, ours: &str) -> String {
        let before = self.description.as_str();
        let ours_before = before.strip_prefix(DISCLAIMER);
        let before = ours_before.map_or(before, |rest| rest.trim_start_matches("; "));
        let comments = || self.extensions.iter().filter(|e| e.code == COMMENT);
        let holds = |e: &Extension| e.content.starts_with(self.description.as_bytes());
        match before.is_empty() || comments().any(holds) {
            true => ours.to_owned(),
            false => format!("{ours}; described before as: {before}"),
        }
    }

    pub(super) fn add_skipped(&mut self, bytes: u64) {
        self.unread = bytes;
    }

    /// Drops extensions, which may describe the image's position before it was moved. Returns a sentence if there
    /// were any.
    pub(in crate::io) fn drop_position(&mut self) -> Option<String> {
        let names = self.extension_names()?;
        self.extensions.clear();
        Some(format!(
            "The header's extensions may say where the image was before it was moved, and are left out: {names}"
        ))
    }

    /// The extensions as text, if there are any.
    fn extension_names(&self) -> Option<String> {
        let name = |e: &Extension| match e.code {
            2 => "DICOM".to_owned(),
            4 => "AFNI".to_owned(),
            6 => "a comment".to_owned(),
            18 => "MATLAB".to_owned(),
            32 => "CIFTI".to_owned(),
            code => format!("code {code}"),
        };
        let names: Vec<String> = self.extensions.iter().map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Whether the header has slice timing.
    fn has_times(&self) -> bool {
        self.slice_code != 0 || self.slice_duration != 0.0 || self.time_offset != 0.0
    }

    /// The fields that a NIfTI-1 cannot hold, one sentence each.
    pub(super) fn unsupported_contents(&self) -> Vec<String> {
        let mut losses = Vec::new();
        if self.unread > 0 {
            losses.push(format!(
                "The header's extensions of {} are left out: at most {EXTENSIONS_LIMIT} bytes are kept",
                counted(self.unread as usize, "byte")
            ));
        }
        if self.broken > 0 {
            losses.push(format!(
                "The header ends with {} that form no extension; they are left out",
                counted(self.broken as usize, "byte")
            ));
        }
        let [low, high] = self.shown;
        let rounds = |v: f64| v.is_finite() && f64::from(v as f32) != v;
        let numbers = [low, high, self.slice_duration, self.time_offset];
        if numbers.into_iter().any(rounds) {
            losses.push(
                "NIfTI-1 rounds the range of values to show, or the times of slices, to float32"
                    .to_owned(),
            );
        }
        if self.slices.iter().any(|n| i16::try_from(*n).is_err()) {
            let [first, last] = self.slices;
            losses.push(format!(
                "NIfTI-1 holds no slice numbers of {first} and {last}"
            ));
        }
        losses
    }

    /// The fields lost in a format that cannot hold them, one sentence each.
    pub(in crate::io) fn losses_without(&self, format: &str) -> Vec<String> {
        let mut losses = Vec::new();
        if let Some(names) = self.extension_names() {
            losses.push(format!(
                "{format} holds no extensions of a NIfTI's header: {names}"
            ));
        }
        if self.unread + self.broken > 0 {
            losses.push(format!(
                "{format} holds no extensions of a NIfTI's header, here {}",
                counted((self.unread + self.broken) as usize, "byte")
            ));
        }
        if let Some([slope, intercept]) = self.colour_scaling {
            losses.push(format!(
                "{format} holds no slope {slope} and intercept {intercept} of a NIfTI's header"
            ));
        }
        let aux_file = text(&self.aux_file);
        if !aux_file.is_empty() {
            losses.push(format!(
                "{format} does not name an auxiliary file (“{aux_file}”)"
            ));
        }
        if self.dim_info != 0 {
            losses.push(format!(
                "{format} does not say which axes are those of frequency, phase and slices (dim_info {})",
                self.dim_info
            ));
        }
        if self.shown != [0.0; 2] {
            let [low, high] = self.shown;
            losses.push(format!(
                "{format} holds no range of values to show (cal_min {low}, cal_max {high})"
            ));
        }
        if self.has_times() {
            losses.push(format!(
                "{format} does not say when slices were taken (slice code {}, {} each, from {})",
                self.slice_code, self.slice_duration, self.time_offset
            ));
        }
        losses
    }

    /// The extensions as bytes of a little-endian file.
    pub(super) fn extension_bytes(&self) -> Vec<u8> {
        let all = self.extensions.iter();
        all.flat_map(|e| as_extension(e.code, &e.content)).collect()
    }

    /// Writes the fields into a NIfTI-1 header.
    pub(super) fn write_fields(&self, header: &mut [u8]) {
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(39, &[self.dim_info]);
        for (at, slice) in [74, 120].into_iter().zip(self.slices) {
            put(at, &i16::try_from(slice).unwrap_or(0).to_le_bytes());
        }
        put(122, &[self.slice_code]);
        let [low, high] = self.shown;
        let numbers = [high, low, self.slice_duration, self.time_offset];
        for (i, number) in numbers.into_iter().enumerate() {
            put(124 + 4 * i, &(number as f32).to_le_bytes());
        }
        put(228, &self.aux_file[..self.aux_file.len().min(24)]);
        for (at, number) in [112, 116]
            .into_iter()
            .zip(self.colour_scaling.into_iter().flatten())
        {
            put(at, &number.to_le_bytes());
        }
    }
}

/// An extension of a header: its size, a multiple of 16, its code and its content.
pub(super) fn as_extension(code: i32, content: &[u8]) -> Vec<u8> {
    let size = (BEFORE + content.len()).next_multiple_of(16);
    let mut bytes = Vec::with_capacity(size);
    bytes.extend((size as i32).to_le_bytes());
    bytes.extend(code.to_le_bytes());
    bytes.extend(content);
    bytes.resize(size, 0);
    bytes
}
