//! Structs that Rust and a kernel declare separately: order, types and offsets of their members agree.

use crate::rules::{File, report, tree};
use crate::support::test;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("architecture::structs of kernels agree", || {
            report(differences(&tree()));
        }),
        test("architecture::planted structs of kernels", planted),
    ]
}

const SOLVERS: &str = "src/engine/solvers/";

/// Places in kernels that are not a whole struct, and why.
const NOT_WHOLE: &[(&str, &str)] = &[
    (
        "Tables in kernels/bricks.cuh, in part",
        "a part of Tables, which is compared as a whole",
    ),
    (
        "Rules in kernels/cells.cuh, in part",
        "a part of Rules, which is compared as a whole",
    ),
    (
        "words of `records` in kernels/commit.cu",
        "the kernel reads two words and splits them by shifts",
    ),
    (
        "floats of `starts` in kernels/rays.cuh",
        "the kernel reads nine floats by index",
    ),
];

/// Members with another name in the kernel (left) than in Rust (right).
const OTHER_NAMES: &[(&str, &str)] = &[
    ("least_share", "min_share"),
    ("key_low", "key[0]"),
    ("key_high", "key[1]"),
];

/// A member: name, type without dimensions, and dimensions; an address has the type `*`.
#[derive(Clone, PartialEq, Debug)]
struct Member {
    name: String,
    kind: String,
    /// Number of elements; `None` for a single value.
    elements: Option<usize>,
}

#[derive(Clone, PartialEq, Debug)]
struct Struct {
    name: String,
    members: Vec<Member>,
}

/// Lines of `kernel_struct!`.
struct Stated {
    name: String,
    place: String,
    bytes: usize,
    offsets: Vec<(String, usize)>,
}

/// One number of a struct, however deeply it is nested.
#[derive(Clone, PartialEq, Debug)]
struct Number {
    path: String,
    kind: &'static str,
    offset: usize,
}

struct Layout {
    numbers: Vec<Number>,
    /// Offset of each member.
    offsets: Vec<(String, usize)>,
    bytes: usize,
    align: usize,
}

fn differences(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|f| f.path.starts_with(SOLVERS)) {
        let structs = rust_structs(&file.text);
        let stated = stated(&file.text);
        for own in &structs {
            let about = format!("{}: {}", file.path, own.name);
            let layout = match layout(own, &structs) {
                Ok(layout) => layout,
                Err(why) => {
                    found.push(format!("{about}: {why}"));
                    continue;
                }
            };
            let Some(lines) = stated.iter().find(|s| s.name == own.name) else {
                found.push(format!("{about}: state its layout with kernel_struct!"));
                continue;
            };
            if (lines.bytes, &lines.offsets) != (layout.bytes, &layout.offsets) {
                found.push(format!(
                    "{about}: kernel_struct! states other members, offsets or bytes than {} {:?}",
                    layout.bytes, layout.offsets
                ));
            }
            let place = lines.place.as_str();
            found.extend(
                compare_with_kernel(place, &layout, files).map(|why| format!("{about}: {why}")),
            );
        }
    }
    found
}

/// How the struct at this place in the kernels differs; `None` also for places of [`NOT_WHOLE`].
fn compare_with_kernel(place: &str, layout_in_rust: &Layout, files: &[File]) -> Option<String> {
    let Some((name, path)) = place.split_once(" in kernels/") else {
        return Some(format!("“{place}” names no place in kernels/"));
    };
    if NOT_WHOLE.iter().any(|(known, _)| *known == place) {
        return None;
    }
    let path = format!("kernels/{path}");
    let Some(file) = files.iter().find(|f| f.path == path) else {
        return Some(format!("there is no {path}"));
    };
    let structs = c_structs(&file.text);
    let Some(own) = structs.iter().find(|s| s.name == name) else {
        return Some(format!("{path} declares no struct {name}"));
    };
    let layout = match layout(own, &structs) {
        Ok(layout) => layout,
        Err(why) => return Some(format!("{path}: {why}")),
    };
    let (of_rust, of_kernel) = (&layout_in_rust.numbers, &layout.numbers);
    for (of_rust, of_kernel) in of_rust.iter().zip(of_kernel) {
        if !is_same(of_rust, of_kernel) {
            return Some(format!("{of_rust:?}, but {of_kernel:?} in {path}"));
        }
    }
    let [of_rust, of_kernel] = [layout_in_rust, &layout].map(|l| (l.numbers.len(), l.bytes));
    (of_rust != of_kernel)
        .then(|| format!("{of_rust:?} numbers and bytes, but {of_kernel:?} in {path}"))
}

fn is_same(of_rust: &Number, of_kernel: &Number) -> bool {
    let (name, other) = (of_rust.path.as_str(), of_kernel.path.as_str());
    let nested = name
        .strip_suffix(other)
        .is_some_and(|outer| outer.is_empty() || outer.ends_with('.'));
    let renamed = OTHER_NAMES.contains(&(other, name));
    let address = (of_rust.kind, of_kernel.kind) == ("u64", "*");
    (nested || renamed)
        && (of_rust.kind == of_kernel.kind || address)
        && of_rust.offset == of_kernel.offset
}

/// The layout that C and `repr(C)` give a struct whose members are numbers, arrays of them and structs of `all`.
fn layout(own: &Struct, all: &[Struct]) -> Result<Layout, String> {
    let mut whole = Layout {
        numbers: Vec::new(),
        offsets: Vec::new(),
        bytes: 0,
        align: 1,
    };
    for member in &own.members {
        let mut element = match number(&member.kind) {
            Some((kind, bytes, lanes)) => Layout {
                numbers: (0..lanes)
                    .map(|lane| Number {
                        path: if lanes == 1 {
                            String::new()
                        } else {
                            format!("[{lane}]")
                        },
                        kind,
                        offset: lane * bytes,
                    })
                    .collect(),
                offsets: Vec::new(),
                bytes: lanes * bytes,
                align: bytes,
            },
            None => match all.iter().find(|s| s.name == member.kind) {
                Some(inner) => layout(inner, all)?,
                None => {
                    return Err(format!(
                        "{} has the unknown type {}",
                        member.name, member.kind
                    ));
                }
            },
        };
        if number(&member.kind).is_none() {
            element
                .numbers
                .iter_mut()
                .for_each(|n| n.path.insert(0, '.'));
        }
        let begin = whole.bytes.next_multiple_of(element.align);
        whole.offsets.push((member.name.clone(), begin));
        for k in 0..member.elements.unwrap_or(1) {
            for inner in &element.numbers {
                let path = match (member.elements, inner.path.is_empty()) {
                    (None, _) => format!("{}{}", member.name, inner.path),
                    (Some(_), true) => format!("{}[{k}]", member.name),
                    (Some(_), false) => format!("{}[{k}]{}", member.name, inner.path),
                };
                let offset = begin + k * element.bytes + inner.offset;
                whole.numbers.push(Number {
                    path,
                    kind: inner.kind,
                    offset,
                });
            }
        }
        whole.bytes = begin + member.elements.unwrap_or(1) * element.bytes;
        whole.align = whole.align.max(element.align);
    }
    whole.bytes = whole.bytes.next_multiple_of(whole.align);
    Ok(whole)
}

/// Rust's name of a number in either language, its bytes, and how many of them the type holds.
fn number(kind: &str) -> Option<(&'static str, usize, usize)> {
    Some(match kind {
        "f32" | "float" => ("f32", 4, 1),
        "f32x3" => ("f32", 4, 3),
        "f64" | "double" => ("f64", 8, 1),
        "u16" | "unsigned short" => ("u16", 2, 1),
        "u32" | "unsigned int" => ("u32", 4, 1),
        "i32" | "int" => ("i32", 4, 1),
        "u64" | "unsigned long long" => ("u64", 8, 1),
        "i64" | "long long" => ("i64", 8, 1),
        "*" => ("*", 8, 1),
        _ => return None,
    })
}

fn without_comments(text: &str) -> String {
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text.lines().map(code).collect()
}

/// The text up to the brace that closes the one before it.
fn braced(text: &str) -> &str {
    let mut depth = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// All structs with `#[repr(C)]` and without further alignment, which kernels do not read.
fn rust_structs(text: &str) -> Vec<Struct> {
    let text = without_comments(text);
    let mut found = Vec::new();
    for rest in text.split("#[repr(C)]").skip(1) {
        let Some((before, rest)) = rest.split_once("struct ") else {
            continue;
        };
        if before.contains(['{', ';']) {
            continue;
        }
        let Some((name, rest)) = rest.split_once(" {") else {
            continue;
        };
        let mut members = Vec::new();
        for line in braced(rest).lines() {
            let line = line.trim().trim_end_matches(',');
            let Some((name, kind)) = line.split_once(": ") else {
                continue;
            };
            let (mut kind, mut elements) = (kind, None);
            while let Some((inner, count)) =
                kind.strip_prefix('[').and_then(|k| k.rsplit_once("; "))
            {
                let count: usize = count.trim_end_matches(']').parse().unwrap();
                elements = Some(elements.unwrap_or(1) * count);
                kind = inner;
            }
            members.push(Member {
                name: name.rsplit(' ').next().unwrap().to_owned(),
                kind: kind.to_owned(),
                elements,
            });
        }
        found.push(Struct {
            name: name.to_owned(),
            members,
        });
    }
    found
}

fn stated(text: &str) -> Vec<Stated> {
    let mut found = Vec::new();
    for rest in text.split("\nkernel_struct!(").skip(1) {
        let (name, rest) = rest.split_once(" as \"").unwrap();
        let (place, rest) = rest.split_once("\", ").unwrap();
        let (bytes, rest) = rest.split_once(" {").unwrap();
        let offset = |entry: &str| {
            let (name, offset) = entry.trim().split_once(": ")?;
            Some((name.to_owned(), offset.parse().unwrap()))
        };
        found.push(Stated {
            name: name.to_owned(),
            place: place.to_owned(),
            bytes: bytes.parse().unwrap(),
            offsets: braced(rest).split(',').filter_map(offset).collect(),
        });
    }
    found
}

/// All structs at the outermost level; their functions and constants are left out.
fn c_structs(text: &str) -> Vec<Struct> {
    let text = without_comments(text);
    let mut found = Vec::new();
    for rest in text.split("\nstruct ").skip(1) {
        let Some((name, rest)) = rest.split_once(" {") else {
            continue;
        };
        let declarations = braced(rest).split(';').map(str::trim);
        let members = declarations
            .filter(|d| !d.is_empty() && !d.contains(['(', '{', '}', '=', '&']))
            .flat_map(c_members)
            .collect();
        found.push(Struct {
            name: name.to_owned(),
            members,
        });
    }
    found
}

/// `const float* low, *high` and `int e[6][3]`; a dimension that is not a number counts as 0.
fn c_members(declaration: &str) -> Vec<Member> {
    let spaced = declaration.replace('*', " * ");
    let mut kind = String::new();
    let mut members = Vec::new();
    for (at, text) in spaced.split(',').enumerate() {
        let mut parts: Vec<&str> = text.split_whitespace().filter(|w| *w != "const").collect();
        let Some(name) = parts.pop() else {
            continue;
        };
        let is_address = parts.contains(&"*");
        if at == 0 {
            parts.retain(|part| *part != "*");
            kind = parts.join(" ");
        }
        let mut sides = name.split('[');
        let name = sides.next().unwrap();
        let sides: Vec<usize> = sides
            .map(|s| s.trim_end_matches(']').parse().unwrap_or(0))
            .collect();
        members.push(Member {
            name: name.to_owned(),
            kind: if is_address {
                "*".to_owned()
            } else {
                kind.clone()
            },
            elements: (!sides.is_empty()).then(|| sides.iter().product()),
        });
    }
    members
}

const RUST: &str = "\
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRules {
    pub records: u64,
    /// First and last.
    ends: [u32; 2],
    launch: Launch,
    voxel: [[f32; 4]; 3],
}
kernel_struct!(KernelRules as \"Rules in kernels/a.cuh\", 72 {
    records: 0, ends: 8, launch: 16, voxel: 24,
});
#[repr(C)]
struct Launch {
    slots: u32,
    steps: u32,
}
kernel_struct!(Launch as \"Rules in kernels/cells.cuh, in part\", 8 { slots: 0, steps: 4 });
";

const KERNEL: &str = "
// Rules; as in Rust.
struct Rules {
    const float4 *records;
    u32 ends[2], slots;
    u32 steps;
    float voxel[12];
};
";

fn planted() {
    let found = |rust: &str, kernel: &str| {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        differences(&[
            file("src/engine/solvers/a/cuda.rs", rust),
            file("kernels/a.cuh", kernel),
        ])
    };
    report(found(RUST, KERNEL));
    for (before, after) in [
        // Two members of one type exchanged.
        ("slots;\n    u32 steps;", "steps;\n    u32 slots;"),
        ("u32 steps", "int steps"),
        ("u32 steps;", ""),
        ("float voxel[12];", "float voxel[12], more;"),
        ("const float4 *records;", "float4 records;"),
        ("struct Rules", "struct Other"),
    ] {
        assert!(KERNEL.contains(before), "{before}");
        let found = found(RUST, &KERNEL.replacen(before, after, 1));
        assert_eq!(found.len(), 1, "{before}: {found:?}");
    }
    for (before, after) in [
        (
            "    slots: u32,\n    steps: u32,",
            "    steps: u32,\n    slots: u32,",
        ),
        ("cells.cuh, in part", "cells.cuh, in parts"),
        ("ends: 8", "ends: 12"),
        ("launch: 16, ", ""),
        (
            "#[repr(C)]",
            "#[repr(C)]\nstruct Other {\n    one: u32,\n}\n#[repr(C)]",
        ),
    ] {
        assert!(RUST.contains(before), "{before}");
        let found = found(&RUST.replacen(before, after, 1), KERNEL);
        assert!(!found.is_empty(), "{before}");
    }
}
