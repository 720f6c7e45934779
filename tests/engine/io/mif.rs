//! MRtrix images, composed here byte by byte from the manual's description, and MRtrix's own files.

use super::conversion::{convert_with_reading, go, types};
use super::sentence;
use super::volumes::opened;
use crate::support::composed_nifti::gzip;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Mask};
use arcuate::io::{self, Error, Format, Reading, image};
use glam::{DAffine3, DQuat, DVec3};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::mif::all_signed_orders_of_three_axes", signed_orders),
        test("io::mif::orders_of_the_volumes", orders_of_volumes),
        test("io::mif::every_type_in_both_byte_orders", every_type),
        test("io::mif::bits_of_masks", bits),
        test("io::mif::scaling", scaling),
        test("io::mif::pairs_of_files", pairs),
        test("io::mif::unknown_position", unknown_position),
        test("io::mif::sentences", refusals),
    ]
}

/// The lines of a header, before the line that names the file of the voxels.
pub struct Mif {
    pub sizes: Vec<usize>,
    pub spacings: String,
    /// Rank of each axis, and whether it is reversed.
    pub order: Vec<(usize, bool)>,
    pub datatype: String,
    /// Axes of unit length, and the position of the header's first voxel.
    pub transform: Option<DAffine3>,
    pub extra: String,
}

impl Mif {
    pub fn new(sizes: &[usize], datatype: &str) -> Self {
        let spacings: Vec<String> = (0..sizes.len())
            .map(|i| (2.0 + 0.25 * i as f64).to_string())
            .collect();
        Self {
            sizes: sizes.to_vec(),
            spacings: spacings.join(","),
            order: (0..sizes.len()).map(|rank| (rank, false)).collect(),
            datatype: datatype.to_owned(),
            transform: Some(DAffine3::from_rotation_translation(
                DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 2.0) / 3.0, 0.4),
                DVec3::new(-31.5, 20.25, 7.0),
            )),
            extra: String::new(),
        }
    }

    pub fn header(&self) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
        let order = self.order.iter().map(|(rank, reversed)| {
            let sign = if *reversed { '-' } else { '+' };
            format!("{sign}{rank}")
        });
        let mut text = format!(
            "mrtrix image\ndim: {}\nvox: {}\nlayout: {}\ndatatype: {}\n",
            sizes.join(","),
            self.spacings,
            order.collect::<Vec<_>>().join(","),
            self.datatype
        );
        if let Some(transform) = &self.transform {
            let (m, t) = (transform.matrix3, transform.translation);
            for row in 0..3 {
                let r = m.row(row);
                text += &format!("transform: {}, {}, {}, {}\n", r.x, r.y, r.z, t[row]);
            }
        }
        text + &self.extra
    }

    /// The header and the samples in one file.
    pub fn bytes(&self, samples: &[u8]) -> Vec<u8> {
        let header = self.header();
        let offset = header.len() + 40;
        let mut bytes = format!("{header}file: . {offset}\nEND\n").into_bytes();
        bytes.resize(offset, 0);
        bytes.extend(samples);
        bytes
    }

    fn strides(&self) -> Vec<usize> {
        let step = |axis: usize| {
            let faster = self.sizes.iter().zip(&self.order);
            let faster = faster.filter(|(_, (rank, _))| *rank < self.order[axis].0);
            faster.map(|(size, _)| size).product()
        };
        (0..self.sizes.len()).map(step).collect()
    }

    /// Where the file stores a voxel of the header.
    fn sample(&self, index: &[usize]) -> usize {
        let strides = self.strides();
        let along = index.iter().enumerate().map(|(axis, &i)| {
            let (_, reversed) = self.order[axis];
            let stored = if reversed {
                self.sizes[axis] - 1 - i
            } else {
                i
            };
            stored * strides[axis]
        });
        along.sum()
    }

    /// The world position of a voxel of the header.
    pub fn world(&self, index: &[usize]) -> DVec3 {
        let edges: Vec<f64> = self
            .spacings
            .split(',')
            .map(|n| n.parse().expect("a number"))
            .collect();
        let at = DVec3::new(
            index[0] as f64 * edges[0],
            index[1] as f64 * edges[1],
            index[2] as f64 * edges[2],
        );
        self.transform.expect("a place").transform_point3(at)
    }

    /// Every voxel of the header with its index.
    fn indices(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for &size in &self.sizes {
            all = all
                .iter()
                .flat_map(|before: &Vec<usize>| {
                    (0..size).map(move |i| [before.as_slice(), &[i]].concat())
                })
                .collect();
        }
        all
    }
}

pub fn little(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A scan whose volumes vary fastest, a mask of bits, and numbers with a scaling.
pub fn seeds() -> [(&'static str, Vec<u8>); 3] {
    let scheme = (0..7).map(|i| format!("dw_scheme: 0,0.6,0.8,{}\n", 500 * i));
    let scan = Mif {
        order: vec![(1, true), (2, true), (3, false), (0, false)],
        extra: scheme.collect(),
        ..Mif::new(&[3, 2, 2, 7], "UInt16LE")
    };
    let mask = Mif {
        order: vec![(2, false), (0, true), (1, false)],
        ..Mif::new(&[3, 3, 3], "Bit")
    };
    let scaled = Mif {
        extra: "scaling: -1,0.5\ncomments: one # half\n".to_owned(),
        ..Mif::new(&[2, 2, 2, 1, 2], "Float64BE")
    };
    let counts: Vec<u8> = (0..84u16).flat_map(|v| (v % 50).to_le_bytes()).collect();
    let numbers: Vec<u8> = (0..16)
        .flat_map(|v| (0.25 * f64::from(v)).to_be_bytes())
        .collect();
    [
        ("scan", scan.bytes(&counts)),
        ("mask", mask.bytes(&[0xa5, 0x0f, 0x33, 0x80])),
        ("scaled", scaled.bytes(&numbers)),
    ]
}

/// Orders of three axes, each with every combination of directions.
pub fn orders() -> Vec<[(usize, bool); 3]> {
    let ranks = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let signs = |s: usize| [0, 1, 2].map(|a| s >> a & 1 == 1);
    ranks
        .into_iter()
        .flat_map(|ranks| (0..8).map(move |s| [0, 1, 2].map(|a| (ranks[a], signs(s)[a]))))
        .collect()
}

/// Every value lies at the world position that the header gives it, and the voxels keep the order of the file.
fn signed_orders() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.mif");
    let all = orders();
    assert_eq!(all.len(), 48);
    for order in all {
        let file = Mif {
            order: order.to_vec(),
            ..Mif::new(&[3, 4, 5], "Float32LE")
        };
        let samples: Vec<f32> = (0..60).map(|i| i as f32).collect();
        std::fs::write(&path, file.bytes(&little(&samples))).expect("written");
        let (found, warnings) = opened(&path);
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(&*found.values, samples, "{order:?}");
        for index in file.indices() {
            let world = file.world(&index);
            let voxel = found.grid.voxel_at(world);
            assert!(
                (voxel - voxel.round()).abs().max_element() < 1e-9,
                "{order:?}"
            );
            let value = found.nearest(0, world).expect("inside");
            assert_eq!(value, file.sample(&index) as f32, "{order:?} {index:?}");
        }
        assert_eq!(
            image::read_grid(&path, &Control::new()).expect("a grid"),
            *found.grid
        );
        // A conversion reads the stored type instead.
        convert_with_reading(
            folder.path(),
            "a.mif",
            "b.nii.gz",
            &Reading::default(),
            true,
        )
        .expect("converted");
        let (converted, _) = opened(&folder.path().join("b.nii.gz"));
        assert!(converted.grid.same_space(&found.grid, 1e-4));
        assert_eq!(converted.values, found.values);
    }
}

/// Volumes vary fastest, slowest or between the axes in space, forwards or backwards; a fifth axis besides.
fn orders_of_volumes() {
    let mut random = Random::fresh("mif volumes");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.mif");
    for (axes, count) in [(4, 40), (5, 40)] {
        for _ in 0..count {
            let sizes = &[3, 2, 4, 5, 2][..axes];
            let mut ranks: Vec<usize> = (0..axes).collect();
            for i in (1..axes).rev() {
                ranks.swap(i, (random.bits() % (i as u64 + 1)) as usize);
            }
            let order = ranks.into_iter().map(|rank| (rank, random.bits() & 1 == 1));
            let file = Mif {
                order: order.collect(),
                ..Mif::new(sizes, "Float32LE")
            };
            let n: usize = sizes.iter().product();
            let samples: Vec<f32> = (0..n).map(|i| i as f32).collect();
            std::fs::write(&path, file.bytes(&little(&samples))).expect("written");
            let (found, warnings) = opened(&path);
            assert_eq!(warnings, Vec::<String>::new());
            assert_eq!(found.frames, n / 24);
            for index in file.indices() {
                let frame = index[3] + index.get(4).map_or(0, |i| 5 * i);
                let value = found.nearest(frame, file.world(&index)).expect("inside");
                assert_eq!(
                    value,
                    file.sample(&index) as f32,
                    "{:?} {index:?}",
                    file.order
                );
            }
            // Stored values take the same way.
            convert_with_reading(
                folder.path(),
                "a.mif",
                "b.mif.gz",
                &Reading::default(),
                true,
            )
            .expect("converted");
            let (reread, _) = opened(&folder.path().join("b.mif.gz"));
            assert!(reread.grid.same_space(&found.grid, 1e-9));
            assert_eq!(reread.values, found.values);
        }
    }
}

/// MRtrix's name of a type.
fn mrtrix_name(name: &str) -> String {
    let name = name.replace("uint", "UInt").replace("float", "Float");
    match name.strip_prefix("int") {
        Some(bits) => format!("Int{bits}"),
        None => name,
    }
}

fn every_type() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (name, _, size, bytes) in types() {
        let own = mrtrix_name(name);
        let reversed: Vec<u8> = bytes
            .chunks(size)
            .flat_map(|v| v.iter().rev().copied())
            .collect();
        let forms = match size {
            1 => vec![(own.clone(), &bytes)],
            _ => vec![
                (own.clone() + "LE", &bytes),
                (own.clone() + "BE", &reversed),
                // MRtrix's own byte order where none is stated.
                (own.clone(), &bytes),
                ((own.clone() + "le").to_lowercase(), &bytes),
            ],
        };
        for (datatype, samples) in forms {
            let file = Mif::new(&[2, 2, 2], &datatype);
            std::fs::write(here.join("a.mif"), file.bytes(samples)).expect("written");
            std::fs::write(here.join("z.mif.gz"), gzip(&file.bytes(samples))).expect("written");
            for from in ["a.mif", "z.mif.gz"] {
                // To NIfTI and back in the type of the values, bit for bit.
                for to in ["b.nii", "c.mif", "d.mif.gz", "e.nrrd"] {
                    let done = convert_with_reading(here, from, to, &Reading::default(), true)
                        .expect(name);
                    assert_eq!(done.unsupported_contents, [""; 0], "{datatype} {to}");
                    assert!(done.content.ends_with(name), "{}", done.content);
                    convert_with_reading(here, to, "f.mif", &Reading::default(), true).expect(name);
                    let written = std::fs::read(here.join("f.mif")).expect("written");
                    assert!(written.ends_with(&bytes), "{datatype} {to}");
                }
            }
            let (found, _) = opened(&here.join("a.mif"));
            let (same, _) = opened(&here.join("b.nii"));
            let pairs = found.values.iter().zip(same.values.iter());
            assert!(
                pairs
                    .into_iter()
                    .all(|(a, b)| a == b || a.is_nan() && b.is_nan()),
                "{datatype}"
            );
        }
    }
    let complex = Mif::new(&[2, 2, 2], "CFloat32LE");
    std::fs::write(here.join("a.mif"), complex.bytes(&[0; 64])).expect("written");
    let error = io::open(&here.join("a.mif"), &Control::new()).expect_err("complex");
    assert!(sentence(&error).contains("complex numbers"), "{error}");
}

/// Bits are counted from the highest of each byte, over rows and slices without padding.
fn bits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let sizes = [3, 5, 7];
    let mut random = Random::fresh("mif bits");
    let inside: Vec<u8> = (0..105).map(|_| (random.bits() & 1) as u8).collect();
    let mut packed = vec![0u8; 14];
    for (i, bit) in inside.iter().enumerate() {
        packed[i / 8] |= bit << (7 - i % 8);
    }
    let file = Mif {
        order: vec![(2, true), (0, false), (1, true)],
        ..Mif::new(&sizes, "Bit")
    };
    std::fs::write(here.join("mask.mif"), file.bytes(&packed)).expect("written");
    let (found, warnings) = opened(&here.join("mask.mif"));
    assert_eq!(warnings, Vec::<String>::new());
    let expected: Vec<f32> = inside.iter().map(|&b| f32::from(b)).collect();
    assert_eq!(&*found.values, expected);
    let (mask, _) = io::mask(&here.join("mask.mif"), &found.grid).expect("a mask");
    assert_eq!(&*mask.inside, inside);
    // A converted mask remains bits; a NIfTI holds bytes.
    let done = go(here, "mask.mif", "again.mif");
    assert_eq!(done.unsupported_contents, [""; 0]);
    let written = std::fs::read(here.join("again.mif")).expect("written");
    assert!(written.ends_with(&packed));
    assert!(String::from_utf8_lossy(&written).contains("datatype: Bit\n"));
    go(here, "mask.mif", "mask.nii");
    assert_eq!(opened(&here.join("mask.nii")).0.values, found.values);
    // Our own masks are written as bits, too, wherever the image's grid is from.
    let own = Mask::new(found.grid.clone(), inside.clone());
    image::save_mask(&here.join("own.mif.gz"), &own, "arcuate", &Control::new()).expect("saved");
    let (reread, _) = opened(&here.join("own.mif.gz"));
    assert_eq!(&*reread.values, expected);
    assert!(reread.grid.same_space(&found.grid, 1e-9));
}

fn scaling() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let samples: Vec<u8> = [0i16, 1, -5, 32767, -32768, 7, 8, 9]
        .iter()
        .flat_map(|v| v.to_be_bytes())
        .collect();
    let file = Mif {
        extra: "scaling: -3.5,0.25\n".to_owned(),
        ..Mif::new(&[2, 2, 2], "Int16BE")
    };
    std::fs::write(here.join("a.mif"), file.bytes(&samples)).expect("written");
    let (found, _) = opened(&here.join("a.mif"));
    let expected = [-3.5, -3.25, -4.75, 8188.25, -8195.5, -1.75, -1.5, -1.25];
    assert_eq!(&*found.values, expected);
    for to in ["b.mif", "b.nii", "b.nrrd"] {
        let done = go(here, "a.mif", to);
        assert_eq!(done.unsupported_contents, [""; 0], "{to}");
        assert_eq!(&*opened(&here.join(to)).0.values, expected, "{to}");
    }
    let text = std::fs::read(here.join("b.mif")).expect("written");
    assert!(String::from_utf8_lossy(&text).contains("scaling: -3.5,0.25\n"));
}

/// A header and its voxels in two files, with and without an offset.
fn pairs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let values: Vec<f32> = (0..24).map(|i| i as f32 - 7.5).collect();
    // These bytes look like gzip, and are voxels.
    let mut bytes = little(&values);
    bytes[..2].copy_from_slice(&[0x1f, 0x8b]);
    let file = Mif::new(&[2, 3, 4], "Float32LE");
    std::fs::write(here.join("a.mih"), file.header() + "file: a.dat\nEND\n").expect("written");
    std::fs::write(here.join("a.dat"), &bytes).expect("written");
    std::fs::write(here.join("b.mih"), file.header() + "file: b.raw 13\nEND").expect("written");
    std::fs::write(here.join("b.raw"), [&[9; 13], &*bytes].concat()).expect("written");
    for name in ["a.mih", "b.mih"] {
        let (found, warnings) = opened(&here.join(name));
        assert_eq!(warnings, Vec::<String>::new(), "{name}");
        assert_eq!(found.values[1..], values[1..], "{name}");
        let to = format!("{name}.mif");
        go(here, name, &to);
        assert!(
            std::fs::read(here.join(&to))
                .expect("written")
                .ends_with(&bytes)
        );
    }
    let done = go(here, "a.mih", "c.mih");
    assert_eq!(done.written, [here.join("c.mih"), here.join("c.dat")]);
    assert_eq!(std::fs::read(here.join("c.dat")).expect("written"), bytes);
    assert_eq!(opened(&here.join("c.mih")).0.values[1..], values[1..]);
    // The second file may not replace another one in silence.
    std::fs::remove_file(here.join("c.mih")).expect("removed");
    let kept = convert_with_reading(here, "a.mih", "c.mih", &Reading::default(), false);
    assert!(sentence(&kept.expect_err("exists")).contains("--force"));
    let cut = bytes.len() as u64 - 1;
    std::fs::write(here.join("a.dat"), &bytes[..bytes.len() - 1]).expect("written");
    let error = io::open(&here.join("a.mih"), &Control::new()).expect_err("cut off");
    let error = sentence(&error);
    assert!(
        error.contains(&format!("a.dat with {cut} bytes")),
        "{error}"
    );
    std::fs::remove_file(here.join("a.dat")).expect("removed");
    let error = io::open(&here.join("a.mih"), &Control::new()).expect_err("missing");
    assert!(sentence(&error).ends_with("a.dat"));
}

/// An image without a transform, and one without every voxel size.
fn unknown_position() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let samples: Vec<u8> = (0..24).collect();
    let file = Mif {
        transform: None,
        spacings: "2,nan,4".to_owned(),
        ..Mif::new(&[2, 3, 4], "UInt8")
    };
    std::fs::write(here.join("a.mif"), file.bytes(&samples)).expect("written");
    let (found, warnings) = opened(&here.join("a.mif"));
    assert_eq!(found.grid.source, AffineSource::Pixdim);
    assert_eq!(found.grid.spacing(), DVec3::new(2.0, 3.0, 4.0));
    assert!(found.grid.centre().length() < 1e-12);
    assert!(
        warnings.iter().any(|w| w.contains("left and right")),
        "{warnings:?}"
    );
    assert!(
        warnings.iter().any(|w| w.contains("3 mm was assumed")),
        "{warnings:?}"
    );
    for to in ["b.mif", "b.nii"] {
        go(here, "a.mif", to);
        assert_eq!(
            opened(&here.join(to)).0.grid.source,
            AffineSource::Pixdim,
            "{to}"
        );
    }
    // Two axes are a slice.
    let slice = Mif {
        spacings: "2,2".to_owned(),
        ..Mif::new(&[4, 6], "UInt8")
    };
    std::fs::write(here.join("s.mif"), slice.bytes(&samples)).expect("written");
    let (found, warnings) = opened(&here.join("s.mif"));
    assert_eq!((found.grid.shape, warnings.len()), ([4, 6, 1], 0));
}

fn refusals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.mif");
    let good = Mif::new(&[2, 2, 2], "UInt8").bytes(&[0; 8]);
    let text = String::from_utf8_lossy(&good).into_owned();
    let offset = text
        .split("file: . ")
        .nth(1)
        .and_then(|r| r.lines().next())
        .expect("an offset")
        .to_owned();
    let rows: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("transform"))
        .collect();
    let flat = text.replace(rows[1], rows[0]);
    for (bytes, reason) in [
        (
            text.replace("mrtrix image", "mrtrix picture"),
            "does not start",
        ),
        (text.replace("END", "FIN"), "without an end"),
        (text.replace("dim: 2,2,2", "dim: 2,0,2"), "the sizes"),
        (text.replace("dim: 2,2,2", "dim: 2,two,2"), "as dim"),
        (text.replace("dim: 2,2,2\n", ""), "without “dim”"),
        (
            text.replace("dim: 2,2,2", "dim: 99999999999,99999999999,9999999"),
            "any memory",
        ),
        (text.replace("dim: 2,2,2", "dim: 2,2,3"), "8 of the"),
        (
            text.replace("vox: 2,2.25,2.5", "vox: 2,-1,2"),
            "the voxel sizes",
        ),
        (
            text.replace("vox: 2,2.25,2.5", "vox: 2,2"),
            "2 voxel sizes for 3 axes",
        ),
        (text.replace("vox: 2,2.25,2.5", "vox: 0,2,2"), "flatten"),
        (text.replace("+0,+1,+2", "+0,+1,+1"), "the layout"),
        (text.replace("+0,+1,+2", "+0,+1"), "the layout"),
        (text.replace("+0,+1,+2", "+0,+-1,+2"), "the layout"),
        (text.replace("+0,+1,+2", "+0,+1,+3"), "the layout"),
        (text.replace("UInt8", "Triple"), "the type “Triple”"),
        (text.replace(rows[1], "transform: 0,1,0"), "a transform"),
        (text.replace(rows[1], "transform: 0,nan,0,0"), "a transform"),
        (flat, "flatten"),
        (text.replace("file:", "scaling: 0,0\nfile:"), "the scaling"),
        (
            text.replace(&format!("file: . {offset}"), "file: ."),
            "the place of the voxels",
        ),
        (
            text.replace(&format!("file: . {offset}"), "file: a-[0:7].dat"),
            "several files",
        ),
        (
            text.replace(&format!("file: . {offset}"), "file: . 18446744073709551615"),
            "cut off",
        ),
    ] {
        // The offset still fits.
        let mut bytes = bytes.into_bytes();
        if reason.contains("8 of the") {
            bytes.truncate(good.len());
        }
        std::fs::write(&path, &bytes).expect("written");
        let error = io::open(&path, &Control::new()).expect_err(reason);
        let found = sentence(&error);
        let short = matches!(error, Error::Short { .. });
        assert!(
            found.contains(reason) || short && reason.contains("8 of the"),
            "{reason}: {found}"
        );
    }
    // An image with a damaged scheme is read, its gradients are not.
    std::fs::write(&path, text.replace("file:", "dw_scheme: 0,0,1\nfile:")).expect("written");
    io::open(&path, &Control::new()).expect("an image");
    let error = io::gradients::rows_of(&path, 1).expect_err("three numbers");
    assert!(sentence(&error).contains("the gradient “0,0,1”"), "{error}");
    assert_eq!(Format::named(Path::new("a.b.MIF.GZ")), Some(Format::Mif));
    std::fs::write(folder.path().join("unnamed"), &good).expect("written");
    assert_eq!(io::detect(&folder.path().join("unnamed")), Ok(Format::Mif));
    // Damaged compressed data.
    let mut packed = gzip(&good);
    let last = packed.len() - 5;
    packed[last] ^= 1;
    std::fs::write(folder.path().join("b.mif.gz"), packed).expect("written");
    let error = io::open(&folder.path().join("b.mif.gz"), &Control::new()).expect_err("damaged");
    sentence(&error);
}
