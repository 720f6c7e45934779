//! Streamlines in every encoding of VTP that other programs write.

use super::formats::open;
use super::mutations::fuzz;
use super::sentence;
use super::variants::{POINTS, VALUES, WEIGHTS, check, packed, text};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::io;
use base64::Engine as _;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use libtest_mimic::Trial;
use std::io::Write as _;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::vtp::every_encoding", vtp),
        test("io::vtp::arrays_have_places_of_their_own", overlapping),
    ]
}

/// An array in VTP's format.
struct Encoder {
    form: &'static str,
    big: bool,
    wide: bool,
    zlib: bool,
    appended: Vec<u8>,
}

impl Encoder {
    fn length(&self, n: usize) -> Vec<u8> {
        let mut bytes = match self.wide {
            true => (n as u64).to_le_bytes().to_vec(),
            false => (n as u32).to_le_bytes().to_vec(),
        };
        if self.big {
            bytes.reverse();
        }
        bytes
    }

    /// Header and data, in blocks of 16 bytes if they are compressed.
    fn raw(&self, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
        if !self.zlib {
            return (self.length(bytes.len()), bytes.to_vec());
        }
        let (mut lengths, mut data) = (Vec::new(), Vec::new());
        let blocks: Vec<&[u8]> = bytes.chunks(16).collect();
        for block in &blocks {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(block).expect("memory");
            let block = encoder.finish().expect("memory");
            lengths.extend(self.length(block.len()));
            data.extend(block);
        }
        let last = bytes.len() % 16;
        let head = [
            self.length(blocks.len()),
            self.length(16),
            self.length(last),
            lengths,
        ];
        (head.concat(), data)
    }

    fn array(&mut self, kind: &str, name: &str, columns: usize, values: &[f32]) -> String {
        let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let number = kind.to_lowercase();
        let (head, data) = self.raw(&packed(&number, values, self.big));
        let both = match self.zlib {
            true => base64(&head) + &base64(&data),
            false => base64(&[head.clone(), data.clone()].concat()),
        };
        let open =
            format!("<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{columns}\"");
        let key = "<InformationKey name=\"R\"><Value index=\"0\">1.5</Value></InformationKey>";
        match self.form {
            "ascii" => format!(
                "{open} format=\"ascii\">\n {} {key}</DataArray>",
                text(values)
            ),
            "binary" => format!("{open} format=\"binary\">\n  {both}\n</DataArray>"),
            "separate" => {
                let both = base64(&head) + &base64(&data);
                format!("{open} format=\"binary\">{both}</DataArray>")
            }
            form => {
                let offset = self.appended.len();
                match form {
                    "appended" => self.appended.extend([head, data].concat()),
                    _ => self.appended.extend(both.bytes()),
                }
                format!("{open} format=\"appended\" offset=\"{offset}\">{key}</DataArray>")
            }
        }
    }
}

pub fn vtp_file(form: &'static str, big: bool, wide: bool, zlib: bool) -> Vec<u8> {
    let mut encoder = Encoder {
        form,
        big,
        wide,
        zlib,
        appended: Vec::new(),
    };
    let points = encoder.array("Float64", "Points", 3, &POINTS);
    let ids = encoder.array("Int32", "connectivity", 1, &[0.0, 1.0, 2.0, 3.0, 4.0]);
    let ends = encoder.array("UInt64", "offsets", 1, &[2.0, 2.0, 5.0]);
    let values = encoder.array("Float32", "uv", 2, &VALUES);
    let weights = encoder.array("Int16", "weight", 1, &WEIGHTS);
    let order = if big { "BigEndian" } else { "LittleEndian" };
    let header = if wide { "UInt64" } else { "UInt32" };
    let compressor = if zlib {
        " compressor=\"vtkZLibDataCompressor\""
    } else {
        ""
    };
    let space = "<FieldData><Array type=\"String\" Name=\"SPACE\" format=\"ascii\">82 65 83 0</Array></FieldData>";
    let mut file = format!(
        "<?xml version=\"1.0\"?>\n<!-- a remark -->\n<VTKFile type=\"PolyData\" byte_order=\"{order}\" \
         header_type=\"{header}\"{compressor}><PolyData>{space}<Piece NumberOfPoints=\"5\" \
         NumberOfVerts=\"0\" NumberOfLines=\"3\" NumberOfStrips=\"0\" NumberOfPolys=\"0\">\
         <PointData Scalars=\"uv\">{values}</PointData><CellData>{weights}</CellData>\
         <Points>{points}</Points><Verts></Verts><Lines>{ids}{ends}</Lines></Piece></PolyData>"
    )
    .into_bytes();
    let encoding = match form {
        "appended" => Some("raw"),
        "appended64" => Some("base64"),
        _ => None,
    };
    if let Some(encoding) = encoding {
        file.extend(format!("<AppendedData encoding=\"{encoding}\">\n  _").bytes());
        file.extend(&encoder.appended);
        file.extend(b"\n</AppendedData>");
    }
    file.extend(b"</VTKFile>\n");
    file
}

/// Arrays under many names that share their bytes would take memory for each name.
fn overlapping() {
    const POINTS: usize = 3000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.vtp");
    let mut plain = ((12 * POINTS) as u32).to_le_bytes().to_vec();
    plain.resize(4 + 12 * POINTS, 0);
    let base64 = base64::engine::general_purpose::STANDARD.encode(&plain);
    for (encoding, appended) in [("raw", plain), ("base64", base64.into_bytes())] {
        for copies in [0, 3] {
            let array = |name: &str| {
                format!(
                    "<DataArray type=\"Float32\" Name=\"{name}\" NumberOfComponents=\"3\" \
                     format=\"appended\" offset=\"0\"/>"
                )
            };
            let values: String = (0..copies).map(|i| array(&format!("v{i}"))).collect();
            let mut file = format!(
                "<VTKFile type=\"PolyData\" byte_order=\"LittleEndian\"><PolyData><Piece \
                 NumberOfPoints=\"{POINTS}\"><PointData>{values}</PointData><Points>{}</Points></Piece>\
                 </PolyData><AppendedData encoding=\"{encoding}\">_",
                array("Points")
            )
            .into_bytes();
            file.extend(&appended);
            file.extend(b"</AppendedData></VTKFile>");
            std::fs::write(&path, &file).expect("written");
            match io::open(&path, &Control::new()) {
                Ok(_) => assert_eq!(copies, 0, "{encoding}"),
                Err(error) => {
                    let text = sentence(&error);
                    assert!(copies > 0 && text.contains("overlapping arrays"), "{text}");
                }
            }
        }
    }
}

fn vtp() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.vtp");
    let mut seeds = Vec::new();
    for form in ["ascii", "binary", "separate", "appended", "appended64"] {
        for (big, wide, zlib) in [
            (false, false, false),
            (false, true, false),
            (true, false, false),
            (false, false, true),
            (false, true, true),
            (true, true, true),
        ] {
            // Separately encoded arrays are blocks anyway.
            if form == "separate" && (zlib || wide == big) {
                continue;
            }
            let bytes = vtp_file(form, big, wide, zlib);
            std::fs::write(&path, &bytes).expect("written");
            let (found, warnings) = open(&path);
            check(&found, &format!("{form} {big} {wide} {zlib}"));
            assert!(warnings.len() == 1, "{warnings:?}");
            seeds.push(bytes);
        }
    }
    let whole = String::from_utf8(vtp_file("ascii", false, false, false)).expect("text");
    for (from, to, problem) in [
        ("\"PolyData\"", "\"ImageData\"", "no <VTKFile type"),
        ("byte_order=\"L", "byte_order=\"M", "“MittleEndian”"),
        (
            "NumberOfPoints=\"5\"",
            "NumberOfPoints=\"6\"",
            "expected 6 times",
        ),
        (
            "NumberOfPoints=\"5\"",
            "NumberOfPoints=\"99999999999999999\"",
            "99999999999999999",
        ),
        (
            "NumberOfLines=\"3\"",
            "NumberOfLines=\"4\"",
            "expected 4 times",
        ),
        (
            "header_type",
            "compressor=\"vtkLZ4DataCompressor\" header_type",
            "vtkLZ4",
        ),
        ("0 1 2 3 4 <", "0 1 2 3 5 <", "point 5 of 5"),
        ("2 2 5", "2 1 5", "do not match the list"),
        ("1.5 -2", "1.5 two", "text among"),
        (
            "</PolyData>",
            "<Piece NumberOfPoints=\"0\"/></PolyData>",
            "several pieces",
        ),
    ] {
        assert!(whole.contains(from), "{from}");
        std::fs::write(&path, whole.replacen(from, to, 1)).expect("written");
        let error = io::open(&path, &Control::new()).expect_err(problem);
        assert!(sentence(&error).contains(problem), "{problem}: {error}");
    }
    fuzz(&seeds, "vtp", false);
}
