//! Response functions in MRtrix's text files.

use crate::support::{data_test, test};
use arcuate::data::Response;
use arcuate::io::response;
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::responses there and back", round_trip),
        test("io::responses with comments", comments),
        test("io::responses that are refused", refused),
        test("io::responses that no tissue has", implausible),
        data_test(
            "io::responses of MRtrix",
            "mrtrix_reference/dwi2fod/msmt",
            |folder| mrtrix(&folder),
        ),
    ]
}

fn read(text: &str) -> Result<Response, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wm.txt");
    std::fs::write(&path, text).unwrap();
    response::read(&path).map_err(|error| error.to_string())
}

fn round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wm.txt");
    let rows = vec![vec![4128.5, 0.0, 0.0], vec![1269.26, -602.593, 0.1 + 0.2]];
    for b in [None, Some(vec![0.0, 2800.0])] {
        let written = Response::new(b, rows.clone());
        response::save(&path, &written).unwrap();
        assert_eq!(response::read(&path).unwrap(), written);
    }
}

fn comments() {
    let text = "# Shells: 0,700\n# command_history: dwi2response\n4128.5 0 0 # b0\n\n2533.16,-656.026, 70.4\n";
    let response = read(text).unwrap();
    assert_eq!(response.b_s_per_mm2, Some(vec![0.0, 700.0]));
    assert_eq!(
        response.rows,
        [[4128.5, 0.0, 0.0], [2533.16, -656.026, 70.4]]
    );
    assert_eq!((response.order(), response.is_isotropic()), (4, false));
    // A list of b-values for another number of rows is left out.
    let response = read("# Shells: 0,700,1200\n3443.98\n1316.77\n").unwrap();
    assert_eq!(response.b_s_per_mm2, None);
    assert_eq!((response.order(), response.is_isotropic()), (0, true));
}

fn refused() {
    for (text, part) in [
        ("", "no number"),
        ("# only\n", "no number"),
        ("1 2\n3\n", "2 numbers in the first row but 1 in row 2"),
        ("1 2\n3 x\n", "“x” in line 2"),
        ("1 nan\n", "“nan” in line 1"),
        ("-1 2\n", "a mean signal of -1 in row 1"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(part), "{error}");
        assert!(
            error.contains("one row of numbers for each shell"),
            "{error}"
        );
    }
}

/// Signals that no tissue has, and columns that determine nothing.
fn implausible() {
    let refuse = |text: &str, parts: [&str; 2]| {
        let error = read(text).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert!(error.contains("wm.txt") && !error.contains('\n'), "{error}");
    };
    refuse(
        "300 -150 30\n500 -150 10\n1000 0 0\n",
        ["rises from 84.6", "in row 2"],
    );
    refuse("20\n200\n3000\n", ["rises", "ascending b"]);
    refuse(
        "1000 0 0\n500 150 10\n300 150 30\n",
        ["along the fibres", "R_2 below 0"],
    );
    // Shells of noise alone differ a little.
    assert_eq!(read("3000\n20\n20.6\n").unwrap().shell_count(), 3);
    let padded = read("1000 0 0 0 0\n500 -150 10 0 0\n").unwrap();
    assert_eq!(padded, read("1000 0 0\n500 -150 10\n").unwrap());
    assert_eq!(padded.order(), 4);
    assert!(read("1000 0 0\n500 0 0\n").unwrap().is_isotropic());
}

fn mrtrix(folder: &Path) {
    let read = |name: &str| response::read(&folder.join(name)).unwrap();
    let [wm, gm, csf] = ["wm.txt", "gm.txt", "csf.txt"].map(read);
    assert_eq!((wm.shell_count(), wm.order()), (4, 8));
    assert!(gm.is_isotropic() && csf.is_isotropic());
    assert_eq!(csf.rows[3], [440.926]);
    assert_eq!(wm.rows[3][4], 13.4862);
}
