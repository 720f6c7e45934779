//! Small files of every entry, from our own writers and those of the tests: nothing is copied from elsewhere.

use crate::io::conversion::Nifti;
use crate::io::formats::rich;
use crate::io::mif::Mif;
use crate::io::{mif, variants, volumes, vtp};
use crate::support::Random;
use crate::support::composed_nifti::{ComposedNifti, gzip, matlab};
use crate::support::session_window::Window;
use arcuate::compute::Control;
use arcuate::data::{Gradients, Grid, Volume, VolumeKind};
use arcuate::io::pieces::Outline;
use arcuate::io::{self, convert, nifti, streamlines};
use arcuate::solvers::level_set;
use arcuate::solvers::level_set::{Layout, Mode, Params, RunHistory, Sphere};
use arcuate::state::Preferences;
use arcuate::state::regions::recipe::ShapeSpec;
use arcuate::state::segment::recipe::SegmentScript;
use glam::{DAffine3, DVec3};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use zip::CompressionMethod;

type Seeds = Vec<(String, Vec<u8>)>;

pub fn seeds_for(entry: &str) -> Seeds {
    match entry {
        "nifti" => [niftis(), vec![("packed".to_owned(), gzip(&niftis()[0].1))]].concat(),
        "nifti_gz" => niftis(),
        "nifti_pair" => vec![("two".to_owned(), pair())],
        "mgh" | "mgz" => numbered("type", volumes::own_seeds("mgh")),
        "nrrd" => [
            numbered("encoding", volumes::own_seeds("nrrd")),
            scan_nrrd(),
        ]
        .concat(),
        "nhdr" => detached(),
        "mif" | "mif_gz" => mif::seeds()
            .map(|(name, bytes)| (name.to_owned(), bytes))
            .to_vec(),
        "mih" => mrtrix_pair(),
        "fsl_gradients" => texts(&[
            ("rows", FSL),
            (
                "columns",
                "0\n1000\n1000\n1000\n1000\n1000\n2000\n<<a.bvec>>0 0 0\n1 0 0\n0 1 0\n0 0 1\n.6 .8 0\n0 .6 .8\n.8 0 .6\n",
            ),
        ]),
        "mrtrix_gradients" => texts(&[(
            "rows",
            "# command\n0 0 0 0\n1 0 0 1000\n0 1 0 1000\n0 0 1 1000\n.6 .8 0 1000\n0,.6,.8,1000\n.8 0 .6 2e3\n",
        )]),
        "scheme" => texts(&[(
            "stejskal",
            "# made\nVERSION: STEJSKALTANNER\n1 0 0 0.04 0.0366 0.0263 0.08\n0 0 0 0 0 0 0\r\n0 .6 .8 4e-2\t0.0366 0.0263 0.08\n",
        )]),
        "tck" | "trk" | "trx" | "vtk" | "vtp" => streamlines(entry),
        "trk_gz" => streamlines("trk"),
        "tck_values" => vec![("two".to_owned(), companion_values())],
        "weights" => texts(&[
            ("lines", "1\n2\n3\n4\n5\n"),
            ("words", "# w\r\n1,2.5e-3 3\t4 -5"),
        ]),
        "trx_folder" => vec![("whole".to_owned(), trx_folder())],
        "tinytrack" => vec![("three".to_owned(), variants::tiny())],
        "dsi_model" => dsi_models(),
        "colours" => texts(&[
            (
                "freesurfer",
                "#No. Label Name: R G B A\n\n0 Unknown 0 0 0 0\n12   Left-Putamen   236 13 176 0\n",
            ),
            (
                "itksnap",
                "# ITK-SNAP\r\n 0 0 0 0 0 0 0 \"Clear\"\r\n12 236 13 176 1 1 1 \"Left-Putamen\"\r\n",
            ),
            (
                "bids",
                "index\tname\tcolor\n0\tbackground\t#000000\n12\tLeft-Putamen\t#ec0db0\n",
            ),
            ("plain", "0 none\n12 Left Putamen\n"),
        ]),
        "affine" => affines(),
        "picture" => picture(),
        "unnamed" => unnamed(),
        "bids" => texts(&[("two", BIDS)]),
        "session" => session(),
        "settings" => vec![(
            "usual".to_owned(),
            serde_json::to_vec(&Preferences::default()).expect("JSON"),
        )],
        "script" => scripts(),
        "command" => COMMANDS
            .iter()
            .enumerate()
            .map(|(i, c)| (format!("line{i}"), c.replace(' ', "\n").into_bytes()))
            .collect(),
        _ => Vec::new(),
    }
}

const FSL: &str = "0 1000 1000 1000\t1000 1000 2000\r\n<<a.bvec>>0 1 0 0 .6 0 .8\n0 0 1 0 .8 .6 0\n0 0 0 1 0 .8 .6\n";

const BIDS: &str = "{\"Name\":\"x\",\"BIDSVersion\":\"1.8.0\"}<<sub-01/ses-1/dwi/sub-01_ses-1_dwi.bval>>0 1000\n\
    <<sub-01/ses-1/dwi/sub-01_ses-1_dwi.bvec>>0 1\n0 0\n0 0\n<<sub-01/ses-1/dwi/sub-01_ses-1_dwi.nii.gz>>\
    <<sub-01/ses-1/anat/sub-01_ses-1_T1w.nii.gz>><<sub-02/anat/sub-02_label-brain_mask.nii>>\
    <<derivatives/x/sub-01/ses-1/dwi/sub-01_ses-1_tractogram.trk>>";

const COMMANDS: &[&str] = &[
    "info t1.nii tracks.trx --json",
    "convert tracks.trx o.tck --strict",
    "convert t1.nii o.nrrd --affine matrix:1,0,0,4,0,1,0,0,0,0,1,2",
    "convert mask.nii.gz o.ply",
    "select tracks.trx o.trx --include sphere:0,0,0,3 --length 5..50 --value fa=0..1 --number 1",
    "density tracks.trx --template t1.nii --measure length --out o.nii.gz",
    "density tracks.trx --voxel 2 --out o.nii.gz",
    "table tracks.trx o.csv --image t1.nii",
    "profile tracks.trx o.csv --image t1.nii --nodes 10",
    "connectome tracks.trx labels.nii.gz o.csv --radius 2",
    "region --image t1.nii --threshold 50..1e9 --out o.nii.gz",
    "region --image labels.nii.gz --label 1 --out o.nii",
    "segment t1.nii --probe 0,0,0 --add sphere:0,0,0,4 --steps 20 --out o",
    "segment t1.nii --target 100 --tolerance 20 --box 1 --threshold 90..130 --smoothness 0.5 --steps 9 --out o",
    "methods s.arcuate",
    "track dwi.nii.gz --seed sphere:-24,-18,8,5 --seeds random:40 --min-length 5 --backend cpu --out o.tck",
    "gradients turn dwi.nii --turn y,-x,z --out o",
];

fn texts(files: &[(&str, &str)]) -> Seeds {
    let named = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
    files.iter().map(named).collect()
}

/// Scripts of a segmentation, in both of its forms.
/// A script with every kind of shape.
fn script(run: RunHistory) -> SegmentScript {
    let sphere = |add: bool, x: f64, radius_mm: f64| Sphere {
        add,
        centre: DVec3::new(x, 0.0, 0.0),
        radius_mm,
    };
    let centre = DVec3::new(0.0, 0.0, 4.0);
    SegmentScript {
        image: "t1.nii".into(),
        volume: 0,
        mask: None,
        threshold: None,
        fill: None,
        spheres: vec![sphere(true, 0.0, 4.0), sphere(false, 4.0, 2.0)],
        layer: None,
        layer_volume: 0,
        grow_here: vec![
            ShapeSpec::Sphere {
                centre,
                radius_mm: 3.0,
            },
            ShapeSpec::Box {
                centre,
                half_mm: DVec3::ONE,
            },
        ],
        not_here: vec![ShapeSpec::Mask("mask.nii.gz".into())],
        later: Vec::new(),
        run,
    }
}

fn scripts() -> Seeds {
    [("scaled", Mode::Scaled), ("paper", Mode::Paper)]
        .map(|(name, mode)| {
            let params = Params {
                mode,
                ..level_set::Params::defaults_for(100.0, 20.0)
            };
            let run = RunHistory {
                params,
                layout: Layout::BEST,
                events: Vec::new(),
                steps: 20,
            };
            let script = serde_json::to_vec(&script(run)).expect("JSON");
            (name.to_owned(), script)
        })
        .to_vec()
}

fn numbered(name: &str, files: Vec<Vec<u8>>) -> Seeds {
    let named = |(i, bytes)| (format!("{name}{i}"), bytes);
    files.into_iter().enumerate().map(named).collect()
}

fn niftis() -> Seeds {
    let mut second = ComposedNifti::ramp(2);
    second.big_endian = true;
    let mut seeds = numbered("own", volumes::own_seeds("nii"));
    seeds.push(("ramp".to_owned(), ComposedNifti::ramp(1).bytes()));
    seeds.push(("second".to_owned(), second.bytes()));
    for (code, size) in [(2, 1), (8, 4), (64, 8), (1024, 8), (128, 3)] {
        let mut file = Nifti::new(code, size, (0..8 * size as u8).collect());
        (file.slope, file.intercept) = if code == 128 { (0.0, 0.0) } else { (2.0, 1.0) };
        seeds.push((format!("code{code}"), file.file()));
    }
    seeds
}

fn pair() -> Vec<u8> {
    let mut created = ComposedNifti::ramp(1);
    (created.single_file, created.vox_offset) = (false, 0.0);
    let header = created.header();
    [&header[..], b"<<a.img>>", &created.voxels].concat()
}

fn grid() -> Arc<Grid> {
    let grid = Grid::axis_aligned([3, 2, 2], DVec3::splat(2.0), DVec3::splat(-2.0));
    Arc::new(grid.expect("a grid"))
}

/// A scan with its gradients in the header.
fn scan_nrrd() -> Seeds {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let values: Vec<f32> = (0..12 * 7).map(|i| (i % 50) as f32).collect();
    let scan = Volume::new(grid(), 7, VolumeKind::Scalar, values);
    nifti::save_volume(&at("a.nii"), &scan, "", &Control::new()).expect("saved");
    let s = 0.5f64.sqrt();
    let vectors = [
        [0.0; 3],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [s, s, 0.0],
        [0.0, s, s],
        [s, 0.0, s],
    ];
    let table = Gradients {
        b_s_per_mm2: vec![0.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 2000.0],
        directions: vectors.map(DVec3::from_array).to_vec(),
    };
    io::gradients::save(&at("a.bval"), &at("a.bvec"), &table, &grid()).expect("saved");
    let (reading, control) = (io::Reading::default(), Control::new());
    let plan = convert::plan(&at("a.nii"), &at("b.nrrd"), None, &reading, &control).expect("read");
    plan.write(true, "", &control).expect("written");
    vec![(
        "scan".to_owned(),
        std::fs::read(at("b.nrrd")).expect("read"),
    )]
}

fn detached() -> Seeds {
    let header = |rest: &str| {
        format!(
            "NRRD0005\ntype: short\ndimension: 3\nsizes: 2 2 2\nspacings: 1 1 2\nendian: little\n{rest}\n"
        )
    };
    let voxels: Vec<u8> = (0..8i16).flat_map(i16::to_le_bytes).collect();
    let with = |rest: &str, name: &str, data: &[u8]| {
        [
            header(rest).as_bytes(),
            format!("<<{name}>>").as_bytes(),
            data,
        ]
        .concat()
    };
    vec![
        (
            "raw".to_owned(),
            with("encoding: raw\ndata file: a.raw\n", "a.raw", &voxels),
        ),
        (
            "packed".to_owned(),
            with("encoding: gz\ndata file: ./p.gz\n", "p.gz", &gzip(&voxels)),
        ),
    ]
}

/// Peaks as numbers of a table, and as vectors of a placed grid.
fn dsi_models() -> Seeds {
    let sizes: [(&str, &[f64]); 3] = [
        ("dimension", &[2.0, 1.0, 2.0]),
        ("voxel_size", &[2.0, 2.0, 3.0]),
        ("fa0", &[0.5, 0.25, 0.0, 1.0]),
    ];
    let indexed: [(&str, &[f64]); 2] = [
        ("odf_vertices", &[1.0, 0.0, 0.0, 0.0, 0.6, 0.8]),
        ("index0", &[0.0, 1.0, 0.0, 1.0]),
    ];
    let trans = [
        -2.0, 0.0, 0.0, 9.0, 0.0, -2.0, 0.0, 8.0, 0.0, 0.0, 3.0, -7.0, 0.0, 0.0, 0.0, 1.0,
    ];
    let placed: [(&str, &[f64]); 2] = [
        ("trans", &trans),
        (
            "dir0",
            &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.8],
        ),
    ];
    vec![
        (
            "indexed".to_owned(),
            matlab(&[&sizes[..], &indexed].concat(), true),
        ),
        (
            "vectors".to_owned(),
            matlab(&[&sizes[..], &placed].concat(), false),
        ),
    ]
}

fn mrtrix_pair() -> Seeds {
    let header = Mif::new(&[2, 2, 2], "Int16LE").header();
    let voxels: Vec<u8> = (0..8i16).flat_map(i16::to_le_bytes).collect();
    let pair = |rest: &str, before: &[u8]| {
        let header = format!("{header}file: a.dat{rest}\nEND\n<<a.dat>>");
        [header.as_bytes(), before, &voxels].concat()
    };
    vec![
        ("plain".to_owned(), pair("", &[])),
        ("offset".to_owned(), pair(" 3", &[1, 2, 3])),
    ]
}

fn streamlines(ending: &str) -> Seeds {
    let mut random = Random::fresh("streamlines");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("a.{ending}"));
    let mut seeds = Vec::new();
    for (lines, values) in [(0, 0), (2, 0), (3, 2)] {
        let tracks = rich(lines, values, &mut random);
        // A few points of each, so that the file stays small.
        let few = |line: &[[f32; 3]]| {
            line.iter()
                .take(5)
                .map(|p| Vec::from(p.map(f64::from)))
                .collect::<Vec<_>>()
        };
        let lines: Vec<Vec<DVec3>> = tracks
            .streamlines()
            .map(|l| few(l).iter().map(|p| DVec3::from_slice(p)).collect())
            .collect();
        let mut small = crate::support::lines(&lines);
        if let Some(grid) = &tracks.grid {
            small = small.with_grid(Grid::clone(grid));
        }
        for i in 0..values {
            let number = |n: usize| (0..n).map(|k| (k + i) as f32).collect::<Vec<f32>>();
            let (points, count) = (small.points.len(), small.len());
            small = small.with_per_point(&format!("point {i}"), number(points));
            small = small.with_per_streamline(&format!("line{i}"), number(count));
            small = small.with_group("some", vec![0, 1]);
        }
        streamlines::save(&path, &small, "arcuate", &Control::new()).expect("saved");
        let bytes = std::fs::read(&path).expect("read");
        seeds.push((format!("own{}", lines.len()), bytes));
    }
    match ending {
        "vtk" => {
            seeds.push((
                "text".to_owned(),
                variants::legacy(false, "3.0", "t", "double", false),
            ));
            seeds.push((
                "cells".to_owned(),
                variants::legacy(true, "5.1", "t", "float", true),
            ));
        }
        "vtp" => {
            for (form, big, wide, zlib) in [
                ("ascii", false, false, false),
                ("binary", true, false, true),
                ("appended", false, true, false),
                ("appended64", false, false, true),
            ] {
                seeds.push((form.to_owned(), vtp::vtp_file(form, big, wide, zlib)));
            }
        }
        "trx" => {
            for (name, method) in [
                ("stored", CompressionMethod::Stored),
                ("deflated", CompressionMethod::Deflated),
            ] {
                let members = variants::members("float16", "uint32", "uint8", name == "stored");
                variants::archive(&path, &members, method);
                seeds.push((name.to_owned(), std::fs::read(&path).expect("read")));
            }
        }
        _ => {}
    }
    seeds
}

/// The files of a folder, concatenated.
fn together(folder: &Path, first: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(folder.join(first)).expect("read");
    let mut rest = vec![folder.to_owned()];
    while let Some(path) = rest.pop() {
        if path.is_dir() {
            rest.extend(io::names_in(&path).expect("a folder"));
        } else if let Ok(name) = path.strip_prefix(folder)
            && name != Path::new(first)
        {
            bytes.extend(format!("<<{}>>", name.display()).bytes());
            bytes.extend(std::fs::read(&path).expect("read"));
        }
    }
    bytes
}

fn trx_folder() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let trx = folder.path().join("a.trx");
    for (name, bytes) in variants::members("float32", "uint64", "float32", true) {
        let path = trx.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, bytes).expect("written");
    }
    together(folder.path(), "a.trx/header.json")
}

/// Track scalars and weights next to a TCK.
fn companion_values() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let tracks = crate::support::lines(&[
        vec![DVec3::ZERO, DVec3::X, DVec3::new(2.0, 0.5, 0.0)],
        vec![DVec3::Y, DVec3::Z],
    ]);
    let tracks = tracks.with_per_point("fa", vec![0.1, 0.2, 0.3, 0.4, 0.5]);
    let tracks = tracks.with_per_streamline("w", vec![1.0, 2.5]);
    let path = folder.path().join("a.tck");
    let (companions, _) = convert::parts(&Outline::whole(&tracks), io::Format::Tck, &path);
    convert::with_values(&tracks, &path, &companions, "arcuate", &Control::new()).expect("saved");
    together(folder.path(), "a.tck")
}

fn affines() -> Seeds {
    let folder = tempfile::tempdir().expect("a folder");
    let itk = folder.path().join("a.txt");
    let moved = DAffine3::from_rotation_translation(
        glam::DQuat::from_rotation_x(0.3),
        DVec3::new(3.0, -2.0, 9.0),
    );
    io::affine::save_itk(&itk, moved).expect("saved");
    let flirt = b"1 0.1 0 4\n-0.1 1 0 -3.5\n0 0 1 2e1\n0 0 0 1\n".to_vec();
    vec![
        ("itk".to_owned(), std::fs::read(itk).expect("read")),
        ("flirt".to_owned(), flirt),
        (
            "ants".to_owned(),
            crate::support::composed_nifti::ants_file(),
        ),
    ]
}

fn picture() -> Seeds {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.png");
    let text =
        [("Title", "plain"), ("Comment", "x → y")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    io::png::save(&path, [3, 2], &[7; 24], &text).expect("saved");
    vec![("words".to_owned(), std::fs::read(path).expect("read"))]
}

/// Files whose names are uninformative: the first bytes decide.
fn unnamed() -> Seeds {
    let first = |entry: &str| seeds_for(entry).remove(1).1;
    ["nifti", "mgh", "nrrd", "mif", "tck", "trk", "vtk"]
        .map(|e| (e.to_owned(), first(e)))
        .to_vec()
}

/// A window's work, and only its content. The results keep a few of their numbers, so that the file stays small.
fn session() -> Seeds {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let whole = std::fs::read_to_string(&path).expect("read");
    let mut whole: Value = serde_json::from_str(&whole).expect("JSON");
    for result in whole["results"].as_array_mut().expect("results") {
        result["sample"]
            .as_array_mut()
            .expect("numbers")
            .truncate(2);
    }
    let mut content = whole.clone();
    for list in ["files", "masks", "results"] {
        content[list] = Value::Array(Vec::new());
    }
    [("worked", whole), ("content", content)]
        .map(|(name, value)| (name.to_owned(), value.to_string().into_bytes()))
        .to_vec()
}
