//! `arcuate bench --papers`: the figures of the papers beside those of the same workloads here, in one table.
//!
//! Each row names its paper, the table of the paper that holds the figure, and the hardware, as the records of this project
//! have them; what they do not have is “not stated”. Figures that only the notes of this project state are marked “source
//! not found”: those of Lax–Friedrichs sweeping, and all of the thesis on COMMIT in CUDA, which no library catalogue
//! lists. A row without a workload that a processor finishes in minutes is measured on a graphics card only.

use super::bench::Choice;
use super::runner::{Failure, Runner};
use super::{bench_commit, bench_eikonal, bench_geodesic, bench_levelset};
use crate::compute::Backend;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Mutex;

/// Stands for a table that the records do not have.
const NOT_STATED: &str = "not stated";
/// Stands for the table of a figure that only this project's notes state; no public text confirms it.
const NOT_FOUND: &str = "source not found";

/// The paper of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paper {
    VanAart2010,
    VanAart2011,
    Jeong,
    Lefohn,
    Hernandez,
}

impl Paper {
    fn name(self) -> &'static str {
        match self {
            Self::VanAart2010 => "van Aart 2010",
            Self::VanAart2011 => "van Aart 2011",
            Self::Jeong => "Jeong 2007",
            Self::Lefohn => "Lefohn 2004",
            Self::Hernandez => "Hernandez 2018",
        }
    }

    /// Where to find it.
    fn source(self) -> &'static str {
        match self {
            Self::VanAart2010 => {
                "van Aart, Acceleration of a geodesic fiber-tracking algorithm for diffusion tensor imaging using CUDA, \
                 MSc thesis, Eindhoven 2010"
            }
            Self::VanAart2011 => "van Aart et al., Int J Biomed Imaging 2011, 698908",
            Self::Jeong => "Jeong et al., IEEE Trans Vis Comput Graph 13:1480, 2007",
            Self::Lefohn => "Lefohn, MSc thesis on narrow-band level sets on graphics cards, 2004",
            Self::Hernandez => {
                "a thesis of 2018 on COMMIT in CUDA, by “Hernandez” in the notes of this project; neither the thesis nor \
                 its author could be traced"
            }
        }
    }

    fn measure(self, choice: Choice, backend: &Backend) -> Vec<Value> {
        match self {
            Self::VanAart2010 | Self::VanAart2011 => bench_geodesic::run(choice, backend),
            Self::Jeong => bench_eikonal::run(choice, backend),
            Self::Lefohn => bench_levelset::run(choice, backend),
            Self::Hernandez => bench_commit::run(choice, backend),
        }
    }
}

/// The members of a line that hold a figure, the first that is a number, and the factor to the row's unit.
type Members = (&'static [&'static str], f64);

/// A figure of a paper, and the line of a workload that measures the same.
struct Row {
    paper: Paper,
    /// Table of the paper; empty if it is not stated.
    table: &'static str,
    quantity: &'static str,
    published: f64,
    unit: &'static str,
    published_on: &'static str,
    /// The case of the workload, as `--case` finds it.
    case: &'static str,
    /// Its name in the lines.
    line: &'static str,
    members: Members,
    /// On a processor it would take hours.
    needs_card: bool,
}

const SECONDS: Members = (&["kernel_s", "wall_s"], 1.0);
const MS: Members = (&["kernel_s", "wall_s"], 1e3);
const STEPS: Members = (&["rate"], 1.0);
const GTX_260: &str = "GeForce GTX 260";
const GEFORCE_8800: &str = "GeForce 8800 GTX";
const RADEON: &str = "Radeon 9800";
const QUADRO: &str = "Quadro P6000";
const CPU: &str = "CPU, model not stated";

const fn ray(
    (paper, table): (Paper, &'static str),
    quantity: &'static str,
    published: f64,
    published_on: &'static str,
    case: &'static str,
) -> Row {
    Row {
        paper,
        table,
        quantity,
        published,
        unit: "ms",
        published_on,
        case,
        line: case,
        members: MS,
        needs_card: false,
    }
}

const fn cost(
    quantity: &'static str,
    published: f64,
    published_on: &'static str,
    case: &'static str,
) -> Row {
    Row {
        paper: Paper::Jeong,
        table: "Table 1",
        quantity,
        published,
        unit: "s",
        published_on,
        case,
        line: case,
        members: SECONDS,
        needs_card: false,
    }
}

const fn level_set(quantity: &'static str, published: f64, case: &'static str) -> Row {
    Row {
        paper: Paper::Lefohn,
        table: "",
        quantity,
        published,
        unit: "steps/s",
        published_on: RADEON,
        case,
        line: case,
        members: STEPS,
        needs_card: false,
    }
}

const fn weights(
    quantity: &'static str,
    published: f64,
    published_on: &'static str,
    members: Members,
) -> Row {
    Row {
        paper: Paper::Hernandez,
        table: NOT_FOUND,
        quantity,
        published,
        unit: "s",
        published_on,
        case: "thesis",
        line: "thesis",
        members,
        needs_card: true,
    }
}

const ROWS: [Row; 18] = [
    ray(
        (Paper::VanAart2010, ""),
        "4096 rays × 2048 steps, uniform field",
        165.13,
        GTX_260,
        "uniform 4096 x 2048",
    ),
    ray(
        (Paper::VanAart2011, ""),
        "2048 rays × 4096 steps, uniform field",
        165.0,
        GTX_260,
        "uniform 2048 x 4096",
    ),
    ray(
        (Paper::VanAart2011, "Table 3"),
        "4096 rays, brain",
        301.0,
        GTX_260,
        "head, 22 x 4 patch",
    ),
    ray(
        (Paper::VanAart2011, "Table 3"),
        "4096 rays, brain",
        139.0,
        "GeForce GTX 470",
        "head, 22 x 4 patch",
    ),
    ray(
        (Paper::VanAart2011, "Table 3"),
        "4096 rays, brain",
        5570.0,
        "4-core i5, model not stated",
        "head, 22 x 4 patch",
    ),
    cost(
        "64³ diagonal, the paper's solver",
        1.0,
        GEFORCE_8800,
        "Ex1 godunov6",
    ),
    cost(
        "64³ diagonal, default solver",
        1.0,
        GEFORCE_8800,
        "Ex1 hybrid",
    ),
    cost(
        "64³ diagonal, Lax–Friedrichs sweeping",
        54.0,
        CPU,
        "Ex1 lax-friedrichs",
    )
    .without_source(),
    cost(
        "64³ helix, the paper's solver",
        1.5,
        GEFORCE_8800,
        "Ex2 godunov6",
    ),
    cost("64³ helix, default solver", 1.5, GEFORCE_8800, "Ex2 hybrid"),
    cost(
        "196,000 voxels of a brain, the paper's solver",
        2.8,
        GEFORCE_8800,
        "Ex3 godunov6",
    ),
    cost(
        "196,000 voxels of a brain, default solver",
        2.8,
        GEFORCE_8800,
        "Ex3 hybrid",
    ),
    cost(
        "196,000 voxels of a brain, Lax–Friedrichs sweeping",
        301.0,
        CPU,
        "Ex3 lax-friedrichs",
    )
    .without_source(),
    level_set("Tumour, 256 × 256 × 175 voxels", 70.0, "sphere"),
    level_set("Cortex, 256 × 256 × 175 voxels", 3.5, "cortex"),
    weights(
        "A x, 47,082,501 segments",
        2.35,
        QUADRO,
        (&["a_x_ms"], 1e-3),
    ),
    weights(
        "A x, 47,082,501 segments",
        39.7,
        "CPU, 4 threads, model not stated",
        (&["a_x_ms"], 1e-3),
    ),
    weights(
        "Fit of 2136 iterations",
        19_800.0,
        QUADRO,
        (&["fit_s"], 1.0),
    ),
];

/// The figure measured here, or why there is none.
struct Measured {
    ours: Option<f64>,
    note: String,
    threads: Option<u64>,
}

impl Row {
    const fn without_source(self) -> Self {
        Self {
            table: NOT_FOUND,
            ..self
        }
    }

    /// The table of the paper, if it is known.
    fn known_table(&self) -> Option<&str> {
        Some(self.table).filter(|table| !table.is_empty() && *table != NOT_FOUND)
    }

    fn takes(&self, word: Option<&str>) -> bool {
        let name = format!("{} {} {}", self.paper.name(), self.quantity, self.case).to_lowercase();
        word.is_none_or(|word| name.contains(&word.to_lowercase()))
    }

    /// Whether a line is that of this row.
    fn is_line(&self, line: &Value) -> bool {
        let is = |member: &str, name: &str| line[member].as_str().is_some_and(|v| v == name);
        match self.paper {
            Paper::VanAart2010 | Paper::VanAart2011 => {
                let name = line["workload"].as_str().unwrap_or_default();
                name.starts_with(&format!("geodesic {}", self.line))
            }
            Paper::Jeong => is("workload", &format!("eikonal {}", self.line)),
            Paper::Lefohn => is("case", self.line),
            Paper::Hernandez => is("case", self.line) && line["picked"].as_bool() != Some(false),
        }
    }

    fn measured(&self, lines: &[Value], has_card: bool) -> Measured {
        let without = |note: &str| Measured {
            ours: None,
            note: note.to_owned(),
            threads: None,
        };
        if self.needs_card && !has_card {
            return without("needs a graphics card, and none is in use");
        }
        let Some(line) = lines.iter().find(|line| self.is_line(line)) else {
            return without("not measured");
        };
        if let Some(error) = line["error"].as_str() {
            return without(error);
        }
        let (members, factor) = self.members;
        let ours = members.iter().find_map(|member| line[*member].as_f64());
        let threads = line["threads"].as_u64();
        let on = match line["backend"].as_str() {
            Some("cpu") | None => format!("CPU, {} threads", threads.unwrap_or(1)),
            Some(_) => line["detail"]
                .as_str()
                .unwrap_or("graphics card")
                .to_owned(),
        };
        Measured {
            ours: ours.map(|value| value * factor),
            note: on.replace(", 1 threads", ", 1 thread"),
            threads,
        }
    }

    /// How many times faster it is here.
    fn times(&self, ours: f64) -> f64 {
        match self.unit {
            "steps/s" => ours / self.published,
            _ => self.published / ours,
        }
    }
}

/// Three significant digits.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "–".to_owned();
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Measures the rows whose names contain `word`, or all, and prints the table.
pub fn run(word: Option<&str>, runner: &mut Runner) -> Result<(), Failure> {
    let rows: Vec<&Row> = ROWS.iter().filter(|row| row.takes(word)).collect();
    if rows.is_empty() {
        let word = word.unwrap_or_default();
        return Err(Failure::usage(format!(
            "No row has “{word}” in its name, expected a part of a paper's name, a quantity or a case, as in --case Jeong"
        )));
    }
    let backend = &runner.backend;
    let has_card = !backend.devices().is_empty();
    let mut known: Vec<(Paper, &str, Vec<Value>)> = Vec::new();
    let (mut table, mut failed) = (Vec::new(), 0);
    for row in rows {
        let is_measured = has_card || !row.needs_card;
        let is_known = known
            .iter()
            .any(|(p, c, _)| (*p, *c) == (row.paper, row.case));
        if is_measured && !is_known {
            let names = Mutex::default();
            let choice = Choice::of_case(row.case, &names);
            let lines = row.paper.measure(choice, backend);
            failed += lines
                .iter()
                .filter(|line| line.get("error").is_some())
                .count();
            known.push((row.paper, row.case, lines));
        }
        let mut known = known.iter();
        let lines = known.find(|(p, c, _)| (*p, *c) == (row.paper, row.case));
        let lines = lines.map_or(&[][..], |(_, _, lines)| lines);
        table.push((row, row.measured(lines, has_card)));
    }
    runner.report(&as_json(&table), &as_markdown(&table));
    match failed {
        0 => Ok(()),
        n => Err(Failure::new(format!(
            "{n} cases failed; the last column of the table says why"
        ))),
    }
}

fn as_json(table: &[(&Row, Measured)]) -> Value {
    let row = |(row, measured): &(&Row, Measured)| {
        json!({
            "paper": row.paper.name(), "source": row.paper.source(), "table": row.known_table(),
            "source_found": row.table != NOT_FOUND, "quantity": row.quantity,
            "case": row.case, "unit": row.unit, "published": row.published, "published_on": row.published_on,
            "ours": measured.ours, "ours_on": measured.ours.map(|_| &measured.note), "threads": measured.threads,
            "times_faster": measured.ours.map(|ours| row.times(ours)),
            "why_not": measured.ours.is_none().then_some(&measured.note),
        })
    };
    json!({"command": "bench", "papers": table.iter().map(row).collect::<Vec<_>>()})
}

fn as_markdown(table: &[(&Row, Measured)]) -> String {
    let mut text = "| Paper | Table | Quantity | Published | On | Here | On | Times faster |\n\
                    | --- | --- | --- | ---: | --- | ---: | --- | ---: |\n"
        .to_owned();
    for (row, measured) in table {
        let where_it_is = match row.table {
            "" => NOT_STATED,
            table => table,
        };
        let (ours, times) = match measured.ours {
            Some(ours) => (
                format!("{} {}", digits(ours), row.unit),
                digits(row.times(ours)),
            ),
            None => ("–".to_owned(), "–".to_owned()),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {where_it_is} | {} | {} {} | {} | {ours} | {} | {times} |",
            row.paper.name(),
            row.quantity,
            digits(row.published),
            row.unit,
            row.published_on,
            measured.note
        );
    }
    let mut papers: Vec<Paper> = table.iter().map(|(row, _)| row.paper).collect();
    papers.dedup();
    for paper in papers {
        let _ = writeln!(text, "\n{}: {}", paper.name(), paper.source());
    }
    text
}
