//! `setup.sh` on simulated machines: a PATH that contains only the programs of a case.

use crate::support::test;
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        test("setup::reports that nothing is missing", all_installed),
        test("setup::installs Rust for the next command", installs_rust),
        test("setup::gives up on Rust in one sentence", no_network),
        test("setup::never hides behind an old cargo", old_cargo_first),
        test("setup::installs what is missing", installs_packages),
        test("setup::prints the command to type without sudo", no_sudo),
    ]
}

/// Programs that the script itself runs, besides those it looks for.
const TOOLS: [&str; 12] = [
    "sh", "env", "sed", "grep", "dirname", "cat", "rm", "mktemp", "ln", "mkdir", "cp", "chmod",
];

const LIBRARIES: &str = "libvulkan.so.1 libX11-xcb.so.1 libxcb.so.1 libXcursor.so.1 libXi.so.6 \
                         libxkbcommon-x11.so.0 libwayland-client.so.0 libEGL.so.1";

/// Prints the output of a real cargo, and does nothing as rustc or rustup.
const NEW_CARGO: &str = concat!(
    "case $0 in *cargo) echo 'cargo ",
    env!("CARGO_PKG_RUST_VERSION"),
    ".0 (stand-in)';; esac"
);

/// From the second attempt on, downloads an installer that puts a new cargo into the home folder.
const CURL: &str = r#"
if [ ! -e "$HOME/tried" ]; then : >"$HOME/tried"; exit 6; fi
while [ $# -gt 0 ]; do [ "$1" != -o ] || out=$2; shift; done
cat >"$out" <<'END'
mkdir -p "$HOME/.cargo/bin"
for tool in cargo rustc rustup; do cp "$HOME/new-cargo" "$HOME/.cargo/bin/$tool"; done
END
"#;

struct Machine {
    folder: tempfile::TempDir,
}

struct Ran {
    ok: bool,
    stdout: String,
    stderr: String,
}

impl Machine {
    /// Debian with everything but Rust.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let machine = Self { folder };
        for inner in ["bin", "local", "old"] {
            fs::create_dir(machine.at(inner)).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap();
        for tool in TOOLS {
            let real = std::env::split_paths(&path).map(|folder| folder.join(tool));
            let real = real.into_iter().find(|file| file.exists()).unwrap();
            symlink(real, machine.at(&format!("bin/{tool}"))).unwrap();
        }
        machine.program("new-cargo", NEW_CARGO);
        machine.program("bin/uname", "echo Linux");
        machine.program("bin/sleep", "");
        machine.program("bin/cc", "");
        machine.program("bin/id", "echo 1000");
        machine.libraries(LIBRARIES);
        machine
    }

    fn at(&self, inner: &str) -> PathBuf {
        self.folder.path().join(inner)
    }

    fn program(&self, inner: &str, script: &str) {
        fs::write(self.at(inner), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(self.at(inner), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn libraries(&self, names: &str) {
        let print = "do echo \"$name (libc6,x86-64) => /lib/$name\"; done";
        self.program("bin/ldconfig", &format!("for name in {names}; {print}"));
    }

    /// Setup and the next command in one line of one shell, as in the README. `old` comes first on its PATH, then
    /// `.local/bin`, then `bin`.
    fn run(&self) -> Ran {
        let [old, own, bin] = ["old", ".local/bin", "bin"].map(|f| self.at(f));
        let output = Command::new(self.at("bin/sh"))
            .args(["-c", "./setup.sh && cargo --version"])
            .current_dir(crate::support::root())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", std::env::join_paths([old, own, bin]).unwrap())
            .env("VK_DRIVER_FILES", "/stand-in.json")
            .output()
            .unwrap();
        Ran {
            ok: output.status.success(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    #[track_caller]
    fn holds(&self, ok: bool, stdout: &str, stderr: &str) {
        let Self {
            ok: was,
            stdout: out,
            stderr: err,
        } = self;
        assert_eq!(*was, ok, "{out}\n{err}");
        assert!(out.contains(stdout), "no '{stdout}' in:\n{out}\n{err}");
        assert!(err.contains(stderr), "no '{stderr}' in:\n{out}\n{err}");
    }
}

fn all_installed() {
    let machine = Machine::new();
    machine.program("bin/cargo", NEW_CARGO);
    let ran = machine.run();
    ran.holds(true, "Everything is here", "");
    assert!(!ran.stdout.contains("missing"), "{}", ran.stdout);
}

fn installs_rust() {
    let machine = Machine::new();
    machine.program("bin/curl", CURL);
    let first = machine.run();
    first.holds(true, "trying once more", "");
    first.holds(true, ".0 (stand-in)\n", "");
    machine.run().holds(true, "Everything is here", "");
}

fn no_network() {
    let machine = Machine::new();
    machine.program("bin/curl", "exit 6");
    let ran = machine.run();
    ran.holds(false, "trying once more", "could not be downloaded");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

/// If an old cargo precedes every folder that could hold a link, the next command must not run.
fn old_cargo_first() {
    let machine = Machine::new();
    machine.program("bin/curl", CURL);
    machine.program("old/cargo", "echo 'cargo 1.63.0 (old)'");
    let ran = machine.run();
    ran.holds(false, "found 1.63.0, which is too old", "export PATH=");
    assert!(!ran.stdout.contains("stand-in"), "{}", ran.stdout);

    // An old cargo that comes after .local/bin is skipped.
    fs::rename(machine.at("old/cargo"), machine.at("bin/cargo")).unwrap();
    machine.run().holds(true, ".0 (stand-in)\n", "");
}

fn installs_packages() {
    let machine = Machine::new();
    machine.program("bin/cargo", NEW_CARGO);
    machine.libraries(&LIBRARIES.replace("libXi.so.6 ", ""));
    machine.program("bin/sudo", "exec \"$@\"");
    // Fails once, like a mirror during an update.
    machine.program(
        "bin/apt-get",
        "echo \"apt-get $*\"; [ -e \"$HOME/tried\" ] || { : >\"$HOME/tried\"; exit 100; }",
    );
    let ran = machine.run();
    ran.holds(true, "Installing with apt-get: libxi6\n", "");
    ran.holds(true, "install -y --no-install-recommends libxi6\n", "");
    assert_eq!(ran.stdout.matches(" update\n").count(), 2, "{}", ran.stdout);
}

fn no_sudo() {
    let machine = Machine::new();
    machine.program("bin/cargo", NEW_CARGO);
    machine.program("bin/apt-get", "echo called");
    machine.program("bin/cc", "exit 1");
    let ran = machine.run();
    let advice = "install -y --no-install-recommends gcc libc6-dev\n";
    ran.holds(false, "C linker           missing", advice);
    assert!(!ran.stdout.contains("called"), "{}", ran.stdout);
}
