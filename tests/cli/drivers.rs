//! Pictures where there is no Vulkan driver, and where there is none at all.

use crate::support::test;
use arcuate::io::png;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cli::pictures without a Vulkan driver", without_vulkan),
        test("cli::pictures without any driver", without_drivers),
    ]
}

/// What standard error says, and the exit code, of a picture of the built-in T1.
fn picture(here: &Path, view: &str, out: &str, set: &[(&str, &str)]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args(["render", "phantom:1", "--size", "240x200", "--view", view])
        .args(["--out", out])
        .current_dir(here)
        .env_remove("WGPU_BACKEND")
        .envs(set.iter().copied())
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    (text, output.status.code())
}

/// No file of this name: the loader finds no Vulkan driver.
const NO_VULKAN: (&str, &str) = ("VK_DRIVER_FILES", "/nonexistent/no.json");
/// The loader's older name for it.
const NO_VULKAN_EITHER: (&str, &str) = ("VK_ICD_FILENAMES", "/nonexistent/no.json");

/// OpenGL draws slices as Vulkan does, and no 3-D view, which it says.
fn without_vulkan() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let set = [NO_VULKAN, NO_VULKAN_EITHER];
    let (text, code) = picture(here, "axial", "gl.png", &set);
    if code == Some(1) && text.contains("No graphics device was found") {
        eprintln!("Slices by OpenGL were not drawn: this machine has no OpenGL driver");
        return;
    }
    assert_eq!((text.as_str(), code), ("", Some(0)));
    let (text, code) = picture(here, "axial", "vulkan.png", &[]);
    assert_eq!(code, Some(0), "{text}");
    let pixels = |name: &str| png::read(&here.join(name)).expect("a picture").rgba;
    let (gl, vulkan) = (pixels("gl.png"), pixels("vulkan.png"));
    assert_eq!(gl.len(), vulkan.len());
    let lit = vulkan.iter().filter(|v| **v > 60).count();
    let off = gl.iter().zip(&vulkan).filter(|(a, b)| a.abs_diff(**b) > 8);
    let off = off.count();
    assert!(
        lit > vulkan.len() / 5 && off < vulkan.len() / 200,
        "{off} of {lit} differ"
    );
    let (text, code) = picture(here, "3d", "scene.png", &set);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.lines().count() == 1 && text.contains("slices only"),
        "{text}"
    );
    assert!(text.contains("install a Vulkan driver") && !here.join("scene.png").exists());
}

fn without_drivers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let set = [NO_VULKAN, NO_VULKAN_EITHER, ("WGPU_BACKEND", "vulkan")];
    let (text, code) = picture(folder.path(), "axial", "a.png", &set);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.lines().count() == 1 && text.contains("install a Vulkan driver"),
        "{text}"
    );
}
