//! False headers, truncated or damaged files: refused with a sentence, before memory is allocated.

use super::sentence;
use crate::support::composed_nifti::{ComposedNifti, gzip, put};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::io::{self, Error, nifti, scheme};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::hostile::each_claim_is_checked", each_claim),
        test("io::hostile::harmless_oddities_are_accepted", oddities),
        test("io::hostile::compressed_claims_are_checked", compressed),
        test("io::hostile::damaged_streams", damaged),
        test("io::hostile::every_length", every_length),
        test("io::hostile::packed_text_is_whole_or_refused", packed_text),
        test("io::hostile::flipped_bytes", flipped_bytes),
        test("io::hostile::a_semicolon_in_a_name_hides_no_advice", names),
    ]
}

/// An error ends with advice, even if the file name contains a semicolon.
fn names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a; b.img");
    std::fs::write(&path, [0; 4]).expect("written");
    let error = io::image::read(&path, &Control::new()).expect_err("one file of a pair");
    let text = error.to_string();
    assert!(
        text.contains("expected a; b.hdr beside it; choose another file"),
        "{text}"
    );
}

fn refused(composed: &ComposedNifti, path: &Path) -> Error {
    composed.write(path);
    nifti::read(path, &Control::new()).expect_err("it should be refused")
}

fn each_claim() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    type Falsify = fn(&mut ComposedNifti);
    let falsified: [(&str, Falsify); 24] = [
        ("0 dimensions", |m| m.dim[0] = 0),
        ("size 0 of dimension 2", |m| m.dim[2] = 0),
        ("size -3 of dimension 1", |m| m.dim[1] = -3),
        ("size 0 of dimension 4", |m| {
            m.dim = [4, 4, 3, 2, 0, 1, 1, 1]
        }),
        ("8 dimensions", |m| m.dim[0] = 8),
        ("of the 2251593661546784 bytes", |m| {
            // 1.1e15 voxels: the sizes of NIfTI-1 at their largest.
            m.dim = [4, 32767, 32767, 32767, 32, 1, 1, 1];
        }),
        ("more voxels than any memory", |m| {
            m.dim = [7, 32767, 32767, 32767, 32767, 32767, 32767, 32767]
        }),
        ("an image of complex numbers", |m| m.datatype = 32),
        ("an image of complex numbers", |m| m.datatype = 1792),
        ("an image of 128-bit floats", |m| m.datatype = 1536),
        ("an image of single bits", |m| m.datatype = 1),
        ("unknown voxel type 77", |m| m.datatype = 77),
        ("a colour image of 5 volumes", |m| {
            (m.datatype, m.dim) = (128, [4, 2, 2, 2, 5, 1, 1, 1]);
        }),
        ("begin at byte 100", |m| m.vox_offset = 100.0),
        ("begin at byte -352", |m| m.vox_offset = -352.0),
        ("begin at byte NaN", |m| m.vox_offset = f64::NAN),
        ("begin at byte inf", |m| m.vox_offset = f64::INFINITY),
        ("begin at byte 352.5", |m| m.vox_offset = 352.5),
        ("slope inf", |m| m.slope = f64::INFINITY),
        ("intercept NaN", |m| (m.slope, m.inter) = (2.0, f64::NAN)),
        ("sform that are not finite", |m| m.srow[1][2] = f64::NAN),
        ("sform that are not finite", |m| {
            m.srow[2][3] = f64::INFINITY
        }),
        ("sform flattens the image", |m| m.srow[1] = [0.0; 4]),
        ("longer than 1", |m| {
            (m.sform_code, m.qform_code, m.quatern) = (0, 1, [0.9, 0.9, 0.1]);
        }),
    ];
    for (claim, falsify) in falsified {
        for big_endian in [false, true] {
            let mut composed = ComposedNifti::ramp(1);
            composed.big_endian = big_endian;
            falsify(&mut composed);
            // The length of the file is unchanged: only the header differs.
            let mut bytes = composed.header();
            bytes.extend([0; 52]);
            put(&path, &bytes);
            let error = nifti::read(&path, &Control::new()).expect_err(claim);
            assert!(sentence(&error).contains(claim), "{claim}: {error}");
        }
    }
    // NIfTI-2 uses 64 bits: sizes whose product overflows, alone and with the voxel's size.
    for dim in [
        [3, i64::MAX, 1, 1, 1, 1, 1, 1],
        [4, 1 << 31, 1 << 31, 4, 1 << 30, 1, 1, 1],
        [3, 1 << 40, 1 << 20, 1, 1, 1, 1, 1],
        [3, i64::MIN, 2, 2, 1, 1, 1, 1],
        [i64::MAX, 2, 2, 2, 1, 1, 1, 1],
        [-1, 2, 2, 2, 1, 1, 1, 1],
    ] {
        let mut composed = ComposedNifti::ramp(2);
        composed.dim = dim;
        sentence(&refused(&composed, &path));
    }
    let mut composed = ComposedNifti::ramp(2);
    composed.dim = [3, 1 << 20, 1 << 20, 1, 1, 1, 1, 1];
    let error = refused(&composed, &path);
    assert!(
        matches!(error, Error::Short { expected_bytes, .. } if expected_bytes == 544 + (2 << 40))
    );
    // Neither a header nor long enough for one.
    for bytes in [&b""[..], b"short", &[7; 1000]] {
        put(&path, bytes);
        sentence(&nifti::read(&path, &Control::new()).expect_err("no header"));
    }
}

/// Violations of the standard by other programs that every reader accepts.
fn oddities() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    let warnings = |composed: &ComposedNifti, bytes: &[u8]| {
        put(&path, bytes);
        let (volume, info) = nifti::read(&path, &Control::new()).unwrap_or_else(|e| panic!("{e}"));
        let ramp = volume
            .values
            .iter()
            .enumerate()
            .all(|(i, &v)| v == i as f32);
        assert!(ramp, "{composed:?}");
        info.warnings
    };
    let valid = ComposedNifti::ramp(1);
    assert_eq!(warnings(&valid, &valid.bytes()), Vec::<String>::new());
    let mut bits = valid.clone();
    bits.bitpix = 0;
    assert!(warnings(&bits, &bits.bytes())[0].contains("bits per voxel"));
    let mut offset = valid.clone();
    offset.vox_offset = 0.0;
    let mut bytes = offset.header();
    bytes.extend([0; 4]);
    bytes.extend(&offset.voxels);
    assert!(warnings(&offset, &bytes)[0].contains("byte 352"));
    let mut longer = valid.bytes();
    longer.extend([1; 100]);
    assert!(warnings(&valid, &longer)[0].contains("100 bytes after"));
    // "Not set", in nibabel's way and in the standard's.
    for (slope, inter) in [(f64::NAN, f64::NAN), (0.0, 5.0)] {
        let mut unset = valid.clone();
        (unset.slope, unset.inter) = (slope, inter);
        assert_eq!(warnings(&unset, &unset.bytes()), Vec::<String>::new());
    }
    // An extension that claims more than there is must not be followed.
    let mut extended = valid.clone();
    extended.vox_offset = 384.0;
    let mut bytes = extended.bytes();
    bytes[348] = 1;
    bytes[352..360].copy_from_slice(&[255, 255, 255, 127, 6, 0, 0, 0]);
    assert_eq!(warnings(&extended, &bytes), Vec::<String>::new());
}

fn compressed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii.gz");
    let short = |expected: u64, found: u64| {
        let error = nifti::read(&path, &Control::new()).expect_err("the stream is shorter");
        let requested = Error::Short {
            path: path.clone(),
            found_bytes: found,
            expected_bytes: expected,
        };
        assert_eq!(error, requested);
    };
    let whole = ComposedNifti::ramp(1).bytes();
    // Two terabytes announced by 200 bytes.
    let mut composed = ComposedNifti::ramp(2);
    composed.dim = [3, 1 << 20, 1 << 20, 1, 1, 1, 1, 1];
    composed.write(&path);
    short(544 + (2 << 40), 544 + 48);
    // Slightly too much; a false trailer must not help.
    let mut composed = ComposedNifti::ramp(1);
    composed.dim[3] = 3;
    let mut packed = gzip(&composed.bytes());
    let n = packed.len();
    packed[n - 4..].copy_from_slice(&(352u32 + 72).to_le_bytes());
    std::fs::write(&path, &packed).expect("written");
    let error = nifti::read(&path, &Control::new()).expect_err("the stream is shorter");
    assert!(
        matches!(error, Error::Short { .. } | Error::Damaged { .. }),
        "{error}"
    );
    // Truncated anywhere: never the image.
    let packed = gzip(&whole);
    for length in 2..packed.len() {
        std::fs::write(&path, &packed[..length]).expect("written");
        sentence(&nifti::read(&path, &Control::new()).expect_err("it is cut off"));
    }
    // Several members one after the other, as bgzip writes.
    let members = [
        gzip(&whole[..100]),
        gzip(&whole[100..360]),
        gzip(&whole[360..]),
    ]
    .concat();
    std::fs::write(&path, members).expect("written");
    let (volume, _) = nifti::read(&path, &Control::new()).expect("valid");
    assert_eq!(volume.values[23], 23.0);
    // Compression is detected by content: the names may be wrong.
    std::fs::write(&path, &whole).expect("written");
    assert!(nifti::read(&path, &Control::new()).is_ok());
    let plain = folder.path().join("b.nii");
    std::fs::write(&plain, &packed).expect("written");
    assert!(io::open(&plain, &Control::new()).is_ok());
}

/// One flipped bit of the compressed voxels is detected by the checksum at the latest.
fn damaged() {
    let mut random = Random::fresh("damaged");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii.gz");
    let mut composed = ComposedNifti::ramp(1);
    composed.dim = [3, 32, 32, 8, 1, 1, 1, 1];
    composed.voxels = (0..8192)
        .flat_map(|_| (random.bits() as i16 & 0xff).to_le_bytes())
        .collect();
    composed.write(&path);
    let (intact, _) = nifti::read(&path, &Control::new()).expect("valid");
    let packed = gzip(&composed.bytes());
    for _ in 0..300 {
        let mut bytes = packed.clone();
        // After the ten bytes of gzip's own header, before its length.
        let at = 10 + (random.bits() % (bytes.len() as u64 - 14)) as usize;
        bytes[at] ^= 1 << (random.bits() % 8);
        std::fs::write(&path, bytes).expect("written");
        match nifti::read(&path, &Control::new()) {
            Err(error) => drop(sentence(&error)),
            // A bit that pads the last byte has no meaning.
            Ok((volume, _)) => assert_eq!(volume.values, intact.values, "byte {at}"),
        }
    }
}

/// Text compressed by gzip is read to its end: no row is left out silently.
fn packed_text() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.scheme");
    let text = |rows: usize| {
        let row = "1 0 0 0.04 0.0366 0.0263 0.08\n";
        format!("VERSION: STEJSKALTANNER\n{}", row.repeat(rows))
    };
    let packed = gzip(text(300).as_bytes());
    std::fs::write(&path, &packed).expect("written");
    assert_eq!(scheme::timing(&path).expect("valid").rows.len(), 300);
    std::fs::write(&path, &packed[..packed.len() - 9]).expect("written");
    sentence(&scheme::timing(&path).expect_err("it is cut off"));
    // Longer than any scheme.
    let long = text(600_000);
    std::fs::write(&path, gzip(long.as_bytes())).expect("written");
    let error = scheme::timing(&path).expect_err("it is too long");
    assert!(sentence(&error).contains("unpacks to more"), "{error}");
}

fn every_length() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    for version in [1, 2] {
        let whole = ComposedNifti::ramp(version).bytes();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("written");
            sentence(&nifti::read(&path, &Control::new()).expect_err("it is cut off"));
        }
    }
}

/// Random bytes of a valid header replaced, 5,000 times: an image that the file really contains, or a sentence.
fn flipped_bytes() {
    let mut random = Random::fresh("flipped_bytes");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    let (mut opened, mut refused) = (0, 0);
    for i in 0..5_000 {
        let mut composed = ComposedNifti::ramp(1 + (i & 1) as u8);
        composed.big_endian = i & 2 != 0;
        (composed.qform_code, composed.quatern) = (1, [0.1, 0.2, 0.3]);
        let header = composed.header().len() as u64;
        let mut bytes = composed.bytes();
        for _ in 0..1 + random.bits() % 6 {
            let at = (random.bits() % header) as usize;
            bytes[at] = if random.bits() & 1 == 0 {
                random.bits() as u8
            } else {
                bytes[at] ^ 1 << (random.bits() % 8)
            };
        }
        if i % 5 == 0 {
            bytes = gzip(&bytes);
        }
        std::fs::write(&path, &bytes).expect("written");
        match nifti::read(&path, &Control::new()) {
            Ok((volume, _)) => {
                opened += 1;
                // 48 bytes of voxels hold at most 48 values, colours included.
                assert!(volume.values.len() <= 48, "{:?}", volume.grid.shape);
                assert!(volume.grid.world_from_voxel.is_finite());
            }
            Err(error) => {
                refused += 1;
                sentence(&error);
            }
        }
    }
    println!("flipped_bytes: {opened} opened, {refused} refused");
    assert!(opened > 500 && refused > 500, "{opened} {refused}");
}
