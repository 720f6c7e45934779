//! The report of a group, made from results that are written here.

use super::{put, run};
use crate::cli::arcuate;
use serde_json::json;
use std::fs;
use std::path::Path;

const LINE: &str = "bids heads out group --skip-bids-validation";

/// Statistics of regions: an image of one volume, and one of two.
fn table(md: f64) -> String {
    format!(
        "image,volume,voxels,volume_ml,values,outside,mean,sd,median,min,max\n\
         md,0,80,0.64,80,0,{md},0.0001,{md},0.0005,0.001\n\
         dec,0,80,0.64,80,0,0.5,0.1,0.5,0,1\n\
         dec,1,80,0.64,80,0,0.25,0.1,0.25,0,1\n"
    )
}

/// Writes the results of a participant with these values: a step `tract`, and pictures.
fn participant(here: &Path, name: &str, md: f64) {
    let folder = here.join("out/arcuate").join(name);
    fs::create_dir_all(folder.join("tract")).expect("created");
    fs::create_dir_all(folder.join("pictures")).expect("created");
    put(&folder.join("tract"), "tract.csv", &table(md));
    let provenance = json!({
        "program": {"version": "0"}, "wall_s": 1.5, "report": {"command": "region", "voxels": 80},
        "outputs": [{"file": "tract.csv"}],
    });
    put(
        &folder.join("tract"),
        "provenance.json",
        &provenance.to_string(),
    );
    for file in ["axial.png", "axial_small.png"] {
        put(&folder.join("pictures"), file, file);
    }
    let status = json!({
        "state": "done", "steps": [{"name": "tract"}],
        "session": {"pictures": ["pictures/axial.png"], "thumbnails": ["pictures/axial_small.png"]},
    });
    put(&folder, "status.json", &status.to_string());
}

fn failed(here: &Path, name: &str, sentence: &str) {
    let folder = here.join("out/arcuate").join(name);
    fs::create_dir_all(&folder).expect("created");
    let status = json!({"state": "failed", "sentence": sentence, "steps": []});
    put(&folder, "status.json", &status.to_string());
}

fn page(here: &Path) -> String {
    fs::read_to_string(here.join("out/group_report.html")).expect("a page")
}

/// The cells of the row that begins with these cells.
fn row<'a>(page: &'a str, start: &str) -> Vec<&'a str> {
    let (_, row) = page
        .split_once(start)
        .unwrap_or_else(|| panic!("{start}: {page}"));
    let row = row.split("</tr>").next().unwrap_or_default();
    let cells = row.split("</td>").filter_map(|cell| cell.rsplit_once('>'));
    cells.map(|(_, text)| text).collect()
}

pub fn report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    fs::create_dir(here.join("heads")).expect("created");
    // The seventh lies far from the others.
    let values = [7.1e-4, 7.15e-4, 7.702e-4, 7.2e-4, 7.3e-4, 7.25e-4, 9.9e-4];
    for (i, md) in values.into_iter().enumerate() {
        participant(here, &format!("sub-0{}", i + 1), md);
    }
    failed(here, "sub-08", "fit: Found <no> scan");
    let group = run(LINE, here);
    assert_eq!(group["participants"], 8);
    assert_eq!(group["outliers"], 2, "{group}");
    let page = page(here);
    // Four digits of a small number.
    let md = row(&page, "<th scope=\"row\">tract: md</th><td>mean</td>");
    assert_eq!(md[0..2], ["7", "0.0007250"], "{md:?}");
    assert_eq!(md[3..5], ["0.0007100", "0.0009900"], "{md:?}");
    // The number of the volume is a name, not a measure, and a volume in ml is one.
    assert!(!page.contains("<td>volume</td>"), "{page}");
    assert!(page.contains(">tract: dec, volume 0</th><td>volume_ml</td>"));
    let second = row(&page, ">tract: dec, volume 1</th><td>mean</td>");
    assert_eq!(second[0..2], ["7", "0.2500"], "{second:?}");
    let measures = fs::read_to_string(here.join("out/group_measures.tsv")).expect("a table");
    assert!(measures.contains("\nsub-01\tn/a\ttract: dec, volume 1\tmean\tn/a\t0.25\n"));
    assert!(!measures.contains("\tvolume\tn/a"), "{measures}");
    // The reason of a failure has a line of its own, and the table a word.
    assert!(
        page.contains("<li>sub-08: fit: Found &lt;no&gt; scan</li>"),
        "{page}"
    );
    assert!(page.contains(">sub-08</th><td>–</td><td>failed</td>"));
    // A small picture leads to the large one.
    let link = "<a href=\"arcuate/sub-01/pictures/axial.png\" target=\"_blank\"><img class=\"thumb\" loading=\"lazy\" \
                alt=\"sub-01, axial\"";
    assert!(page.contains(link), "{page}");
    assert!(page.contains("patient&#39;s right on the left (radiological)"));
    assert!(page.contains("are outliers: 2."), "{page}");
}

pub fn small() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    fs::create_dir(here.join("heads")).expect("created");
    for (i, md) in [7e-4, 9e-4].into_iter().enumerate() {
        participant(here, &format!("sub-0{}", i + 1), md);
    }
    let output = arcuate(&LINE.split(' ').collect::<Vec<_>>(), here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    const WHY: &str =
        "the largest number of values of a measure is 2, and a comparison needs at least 5";
    assert!(
        text.contains(&format!("values not compared ({WHY})")),
        "{text}"
    );
    let page = page(here);
    // Once in the summary, and once in place of the table.
    let sentence = format!("Values are not compared: {WHY}.");
    assert_eq!(page.matches(&sentence).count(), 2, "{page}");
    assert!(!page.contains("No value lies far"));
    // The row of a participant: session, state, no number of outliers, no largest z.
    let cells = row(&page, "<th scope=\"row\">sub-01</th>");
    assert_eq!(cells[0..2], ["–", "done"], "{cells:?}");
    assert_eq!(cells[3..5], ["–", "–"], "{cells:?}");
    let group = run(LINE, here);
    assert_eq!(
        (&group["compared"], &group["outliers"]),
        (&json!(0), &json!(0))
    );
}

/// Results without small pictures, and results whose files are gone, say how to draw them.
pub fn without_pictures() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    fs::create_dir(here.join("heads")).expect("created");
    for name in ["sub-01", "sub-02", "sub-03"] {
        participant(here, name, 7e-4);
    }
    let results = |name: &str| here.join("out/arcuate").join(name);
    // Earlier versions wrote no small pictures.
    let status = json!({
        "state": "done", "steps": [{"name": "tract"}], "session": {"pictures": ["pictures/axial.png"]},
    });
    put(&results("sub-01"), "status.json", &status.to_string());
    fs::remove_file(results("sub-02").join("pictures/axial_small.png")).expect("removed");
    run(LINE, here);
    let page = page(here);
    for (name, found) in [
        (
            "sub-01",
            "An earlier version of Arcuate drew no small pictures",
        ),
        (
            "sub-02",
            "The files of the small pictures are missing in the folder arcuate",
        ),
    ] {
        let cells = row(&page, &format!("<th scope=\"row\">{name}</th>"));
        let remedy = "run this participant again, which draws them and computes nothing else";
        let is_stated = |cell: &str| cell.contains(found) && cell.contains(remedy);
        assert!(cells.iter().any(|cell| is_stated(cell)), "{cells:?}");
    }
    assert!(page.contains("alt=\"sub-03, axial\""), "{page}");
}
