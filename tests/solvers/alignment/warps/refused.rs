//! Files and values that no warp can use.

use super::{
    FNIRT, ITK, any_grid, opened, reading, reversed, save_grid, save_image, text, write_ants,
    write_field, write_fnirt,
};
use crate::support::Random;
use crate::support::composed_nifti::{ComposedNifti, put};
use arcuate::data::{Volume, VolumeKind};
use arcuate::io::affine::save_flirt;
use arcuate::io::{AffineReading, FieldConvention, Reading, TransformFile, WarpReading};
use glam::{DAffine3, DVec3};
use std::path::Path;
use std::sync::Arc;

pub fn refusals() {
    let mut random = Random::fresh("warp refusals");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let grid = any_grid(&mut random, [6, 6, 6]);
    let image = folder.join("image.nii.gz");
    save_grid(&image, &grid);
    let zeros = vec![DVec3::ZERO; grid.voxel_count()];
    let path = folder.join("field.nii");
    let refused = |warp: &[&str], expected: &str| {
        let error = opened(&image, &reading(warp, Some(&image), None)).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("::"), "{error}");
    };
    for (dims, intent, expected) in [
        (&[3][..], 2007, "fnirtfileutils --in=COEFFICIENTS"),
        (&[3], 2009, "--withaff"),
        (&[3], 2016, "TOPUP"),
        (&[1, 3], 1006, "1006"),
        (&[1, 2], 1007, "6 × 6 × 6 × 1 × 2"),
        (&[4], 2006, "6 × 6 × 6 × 4"),
        (&[2, 3], 1007, "6 × 6 × 6 × 2 × 3"),
        (&[3], 0, "does not say whose field it is"),
        (&[3], 1007, "does not say whose field it is"),
    ] {
        let voxels: i64 = dims.iter().product();
        let vectors = vec![DVec3::ZERO; grid.voxel_count() * (voxels as usize).div_ceil(3)];
        write_field(&path, &grid, dims, intent, &vectors);
        refused(&[text(&path)], expected);
    }
    let other = folder.join("truth.json");
    std::fs::write(&other, "{\"bundles\": []}\n").unwrap();
    refused(&[text(&other)], "a text without four rows of four numbers");
    // The user's word counts where the header is silent, and not against it.
    write_field(&path, &grid, &[3], 0, &zeros);
    let stated = format!("fsl-relative:{}", text(&path));
    assert!(opened(&image, &reading(&[&stated], Some(&image), None)).is_ok());
    write_field(&path, &grid, ITK.0, ITK.1, &zeros);
    refused(&[&stated], "contradicts");
    write_field(&path, &grid, FNIRT.0, FNIRT.1, &zeros);
    refused(&[&format!("ants:{}", text(&path))], "contradicts");
    // No number at all, and a mirror.
    write_field(
        &path,
        &grid,
        ITK.0,
        ITK.1,
        &vec![DVec3::NAN; grid.voxel_count()],
    );
    refused(&[text(&path)], "no number");
    let centre = grid.centre();
    write_ants(&path, &grid, |p| DVec3::new(2.0 * centre.x - p.x, p.y, p.z));
    refused(&[text(&path)], "mirrors the image");
    // A mirror from front to back exchanges no sides.
    write_ants(&path, &grid, |p| DVec3::new(p.x, 2.0 * centre.y - p.y, p.z));
    refused(&[text(&path)], "mirrors the image");
    // An image that is stored from the other side has the same coordinates of FSL.
    write_fnirt(&path, (&grid, &reversed(&grid)), false, |p| p);
    assert!(opened(&image, &reading(&[&stated], Some(&image), None)).is_ok());
    write_ants(&path, &grid, |p| p);
    let flirt = folder.join("flirt.mat");
    save_flirt(&flirt, DAffine3::IDENTITY, &grid, &grid).unwrap();
    refused(&[text(&path), text(&flirt)], "among other transforms");
    let composite = folder.join("composite.h5");
    std::fs::write(&composite, b"\x89HDF\r\n\x1a\n").unwrap();
    refused(&[text(&composite)], "CompositeTransformUtil --disassemble");
    let none = folder.join("none.nii.gz");
    refused(&[text(&none)], "none.nii.gz");
    refused(&[&format!("ants:{}", text(&flirt))], "convention");
    // An image alone, and one without a position.
    let error = opened(
        &image,
        &reading(&[&format!("inverse:{}", text(&path))], None, None),
    )
    .unwrap_err();
    assert!(error.to_string().contains("--fixed"), "{error}");
    let mut unplaced = ComposedNifti {
        sform_code: 0,
        dim: [5, 4, 3, 2, 1, 3, 1, 1],
        datatype: 16,
        bitpix: 32,
        voxels: vec![0; 4 * 3 * 2 * 3 * 4],
        ..ComposedNifti::ramp(1)
    };
    unplaced.qform_code = 0;
    let mut bytes = unplaced.bytes();
    bytes[68..70].copy_from_slice(&ITK.1.to_le_bytes());
    put(&path, &bytes);
    refused(&[text(&path)], "left and right are unknown");
    // Cut off anywhere.
    write_field(&path, &grid, ITK.0, ITK.1, &zeros);
    let whole = std::fs::read(&path).unwrap();
    for cut in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(
            opened(&image, &reading(&[text(&path)], None, None)).is_err(),
            "{cut}"
        );
    }
}

pub fn directions() {
    let mut random = Random::fresh("warp directions");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let grid = Arc::new(any_grid(&mut random, [6, 6, 6]));
    let path = folder.join("warp.nii");
    write_ants(&path, &grid, |p| p);
    let warp = reading(&[text(&path)], None, None);
    let count = grid.voxel_count();
    // A scan with its gradients.
    let scan = folder.join("dwi.nii.gz");
    let kind = VolumeKind::Scalar;
    save_image(
        &scan,
        &Volume::new(grid.clone(), 4, kind, vec![1.0; 4 * count]),
    );
    std::fs::write(folder.join("dwi.bval"), "0 1000 1000 1000\n").unwrap();
    std::fs::write(folder.join("dwi.bvec"), "0 1 0 0\n0 0 1 0\n0 0 0 1\n").unwrap();
    let error = opened(&scan, &warp).unwrap_err();
    assert!(error.to_string().contains("diffusion scan"), "{error}");
    // Vectors are resampled, with a warning.
    let peaks = folder.join("v1.nii.gz");
    save_image(
        &peaks,
        &Volume::new(grid.clone(), 3, kind, vec![-0.5; 3 * count]),
    );
    let (_, remarks) = opened(&peaks, &warp).unwrap();
    assert!(
        remarks.iter().any(|r| r.contains("were not turned")),
        "{remarks:?}"
    );
    // An affine beside a warp has no place in the order.
    let both = Reading {
        affine: Some(Box::new(AffineReading::matrix(DAffine3::IDENTITY))),
        ..warp
    };
    let error = opened(&peaks, &both).unwrap_err();
    assert!(
        error.to_string().contains("both an affine and a warp"),
        "{error}"
    );
}

pub fn texts() {
    for (text, inverse, convention, path) in [
        ("a.nii.gz", false, None, "a.nii.gz"),
        ("inverse:a.mat", true, None, "a.mat"),
        ("ants:a.nii", false, Some(FieldConvention::Ants), "a.nii"),
        (
            "inverse:fsl-absolute:b c.nii",
            true,
            Some(FieldConvention::FslAbsolute),
            "b c.nii",
        ),
        ("C:/a.nii", false, None, "C:/a.nii"),
        ("fsl-relative.nii", false, None, "fsl-relative.nii"),
    ] {
        let transform = TransformFile::parse(text);
        assert_eq!(transform.inverse, inverse, "{text}");
        assert_eq!(transform.convention, convention, "{text}");
        assert_eq!(transform.path, Path::new(path), "{text}");
        assert_eq!(transform.to_string(), text);
    }
    let warp = WarpReading {
        transforms: vec![
            TransformFile::parse("inverse:a b.mat"),
            TransformFile::parse("w.nii.gz"),
        ],
        fixed: Some("t1.nii".into()),
        moving: None,
        interpolation: None,
    };
    assert_eq!(
        warp.to_string(),
        " --warp 'inverse:a b.mat' --warp w.nii.gz --fixed t1.nii"
    );
    let stored = serde_json::to_string(&warp).unwrap();
    assert_eq!(serde_json::from_str::<WarpReading>(&stored).unwrap(), warp);
}
