#!/bin/sh
# Prepares a fresh machine for `cargo run --release`; see usage() below.
set -eu

usage() {
    cat <<'END'
Usage: ./setup.sh [--ci]

Installs what Arcuate needs and this machine lacks, then says what to type next. It lists what it
is about to install and asks no questions. A second run changes nothing.

  a C linker        gcc and libc6-dev
  Rust              rustup, with the toolchain named in rust-toolchain.toml
  Vulkan            the loader, and a software driver if there is no other
  window libraries  X11, Wayland, keyboard
  file dialogs      zenity, if the desktop has no portal for them
  --ci              also software drivers for Vulkan and OpenGL, Xvfb, xdotool, xclip and ImageMagick,
                    for tests that draw and use a window, and Python with venv, to build the kernels

On Debian and Ubuntu, the script installs all of these, with sudo if needed. On other systems:

  Fedora   sudo dnf install gcc vulkan-loader mesa-vulkan-drivers libxkbcommon-x11 libXcursor \
             libXi libX11-xcb libxcb libwayland-client libglvnd-egl
           then ./setup.sh, which installs Rust
  Arch     sudo pacman -S --needed base-devel vulkan-icd-loader vulkan-swrast libxkbcommon-x11 \
             libxcursor libxi libx11 libxcb wayland libglvnd
           then ./setup.sh, which installs Rust
  macOS    xcode-select --install
           then ./setup.sh, which installs Rust (graphics go through Metal: nothing to install)
  Windows  winget install Microsoft.VisualStudio.2022.BuildTools --override \
             "--add Microsoft.VisualStudio.Workload.VCTools --includeRecommended --passive"
           winget install Rustlang.Rustup
           then, in a new terminal: cargo run --release
END
}

say() { printf '%s\n' "$*"; }
row() { printf '  %-18s %s\n' "$1" "$2"; }
fail() {
    printf 'setup.sh: %s\n' "$*" >&2
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command that downloads, and runs it again after a pause if it failed.
twice() {
    "$@" && return 0
    say "That failed; trying once more in 5 s"
    sleep 5
    "$@"
}

ci=no
case "$#:${1-}" in
    0:) ;;
    1:--ci) ci=yes ;;
    1:-h | 1:--help)
        usage
        exit 0
        ;;
    *) fail "unknown argument: $*; see ./setup.sh --help" ;;
esac

cd "$(dirname "$0")"
wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
channel=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
if [ -z "$wanted" ] || [ -z "$channel" ]; then
    fail "Cargo.toml names no rust-version or rust-toolchain.toml no channel; is this the whole source tree?"
fi

case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    *)
        usage
        fail "this script serves Linux and macOS, and this is $(uname -s); type the commands listed above"
        ;;
esac

# Missing items: as Debian packages, and in words for systems without apt-get.
missing=''
lacks=''
need() {
    missing="$missing $2"
    lacks="$lacks${lacks:+, }$1"
}

links() {
    # On a Mac without the command-line tools, cc is a stub that opens a dialog.
    [ "$system" != macos ] || xcode-select -p >/dev/null 2>&1 || return 1
    have cc || return 1
    scratch=$(mktemp -d)
    printf 'int main(void) { return 0; }\n' >"$scratch/a.c"
    status=0
    cc "$scratch/a.c" -o "$scratch/a" >/dev/null 2>&1 || status=1
    rm -rf "$scratch"
    return "$status"
}

# Whether a 64-bit program can load the shared library $1.
loads() {
    PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null | grep -F "$1 (" | grep -q 64
}

# Whether any file matches a pattern, which the shell has already expanded.
there() { [ -e "$1" ]; }

# Whether there is a Vulkan driver whose description file matches the pattern $1. In containers, NVIDIA's
# file may be present without a card.
vulkan_driver() {
    for folder in /usr/share/vulkan/icd.d /etc/vulkan/icd.d /usr/local/share/vulkan/icd.d; do
        for file in "$folder"/$1; do
            case $file in
                *nvidia*) [ -e /dev/nvidiactl ] || continue ;;
            esac
            [ -e "$file" ] && return 0
        done
    done
    [ -n "${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}" ]
}

# The version that the command $1 prints, such as 1.95.0; empty if the command is missing or fails.
# A rustup without the toolchain must fail here instead of downloading it.
version_of() {
    RUSTUP_AUTO_INSTALL=0 "$1" --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p'
}

# Whether version $1 is at least $wanted (major.minor).
new_enough() {
    [ -n "$1" ] || return 1
    minor=${1#*.}
    minor=${minor%%.*}
    wanted_minor=${wanted#*.}
    [ "${1%%.*}" -gt "${wanted%%.*}" ] ||
        { [ "${1%%.*}" -eq "${wanted%%.*}" ] && [ "$minor" -ge "${wanted_minor%%.*}" ]; }
}

say "Arcuate needs:"
if links; then
    row "C linker" "found"
else
    row "C linker" "missing"
    need "a C linker" "gcc libc6-dev"
fi

if [ "$system" = linux ]; then
    if loads libvulkan.so.1; then
        row "Vulkan loader" "found"
    else
        row "Vulkan loader" "missing"
        need "the Vulkan loader (libvulkan.so.1)" libvulkan1
    fi

    driver='*.json'
    [ "$ci" = yes ] && driver='lvp_icd*.json'
    if vulkan_driver "$driver"; then
        row "Vulkan driver" "found"
    else
        row "Vulkan driver" "missing"
        # OpenGL is the fallback; without its driver, EGL warns at every start.
        need "a Vulkan driver" "mesa-vulkan-drivers libgl1-mesa-dri"
    fi

    absent=''
    while read -r library package; do
        loads "$library" && continue
        absent="$absent $library"
        need "$library" "$package"
    done <<'END'
libX11-xcb.so.1 libx11-xcb1
libxcb.so.1 libxcb1
libXcursor.so.1 libxcursor1
libXi.so.6 libxi6
libxkbcommon-x11.so.0 libxkbcommon-x11-0
libwayland-client.so.0 libwayland-client0
libEGL.so.1 libegl1
END
    if [ -z "$absent" ]; then
        row "window libraries" "found"
    else
        row "window libraries" "missing:$absent"
    fi

    # File dialogs come from the desktop, through its portal, or else from zenity. Without a desktop no
    # dialog can open, and zenity pulls in many packages.
    if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && [ "$ci" = no ]; then
        if [ -e /usr/share/dbus-1/services/org.freedesktop.portal.Desktop.service ] || have zenity; then
            row "file dialogs" "found"
        else
            row "file dialogs" "missing"
            need "file dialogs (zenity)" zenity
        fi
    fi

    if [ "$ci" = yes ]; then
        while read -r command package; do
            if have "$command"; then
                row "$command" "found"
            else
                row "$command" "missing"
                need "$command" "$package"
            fi
        done <<'END'
Xvfb xvfb
xdotool xdotool
xclip xclip
import imagemagick
END
        # Tests also draw with OpenGL in software.
        if loads libEGL_mesa.so.0 && there /usr/lib/*/dri/swrast_dri.so; then
            row "OpenGL driver" "found"
        else
            row "OpenGL driver" "missing"
            need "an OpenGL driver" "libegl-mesa0 libgl1-mesa-dri"
        fi
        if have python3 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1; then
            row "Python with venv" "found"
        else
            row "Python with venv" "missing"
            need "Python with venv" "python3 python3-venv"
        fi
    fi
fi

cargo_home=${CARGO_HOME:-$HOME/.cargo}
found=$(version_of cargo)
rust=found
if new_enough "$found"; then
    row "Rust $wanted" "found: $found"
else
    rust=missing
    row "Rust $wanted" "missing${found:+: found $found, which is too old}"
    # With sudo ./setup.sh, Rust would be installed where the user's next command cannot find it.
    if [ -n "${SUDO_USER:-}" ] && [ "$(cat "/proc/$PPID/comm" 2>/dev/null)" = sudo ]; then
        fail "run ./setup.sh without sudo, so that Rust is installed for you and not for root; it uses sudo itself where needed"
    fi
    # rustup may be installed and lack only this toolchain, or merely not be on the PATH.
    if ! have rustup && [ ! -x "$cargo_home/bin/rustup" ] && ! have curl && ! have wget; then
        need "curl, to download Rust" "curl ca-certificates"
    fi
fi

# Runs a command as root: directly, or through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

install_packages() {
    # Packages of an older list may be gone from the server, so each try updates the list.
    # shellcheck disable=SC2086 # a list of words
    apt_get update && apt_get install -y --no-install-recommends $missing
}

if [ -n "$missing" ]; then
    missing=${missing# }
    if [ "$system" = macos ]; then
        fail "there is no C linker; type: xcode-select --install, wait until it has finished, then run ./setup.sh again"
    fi
    if ! have apt-get; then
        usage
        fail "this system has no apt-get and lacks $lacks; type the commands listed above, then run ./setup.sh again"
    fi
    if [ "$(id -u)" -ne 0 ] && ! have sudo; then
        fail "packages are missing and there is no sudo; as root, type: apt-get update && apt-get install -y --no-install-recommends $missing"
    fi
    say
    say "Installing with apt-get: $missing"
    twice install_packages ||
        fail "apt-get could not install $missing; read its message above, check the network, then run ./setup.sh again"
    links || fail "the C compiler is installed but cannot link a program; check the output of: cc --version"
fi

download() { # URL, file
    if have curl; then
        curl --proto '=https' --tlsv1.2 -fsSL --connect-timeout 20 -o "$2" "$1"
    else
        wget -q --timeout=20 --tries=1 -O "$2" "$1"
    fi
}

# Puts cargo, rustc and rustup where the shell that runs the next command finds them. This script
# cannot change that shell's PATH, but it can create links in a folder on it, before any folder with
# another cargo. The user's own folder is best, because other users cannot follow a link into this
# home folder.
put_on_path() {
    shared=''
    rest=$PATH:
    while [ -n "$rest" ]; do
        folder=${rest%%:*}
        rest=${rest#*:}
        if [ -e "$folder/cargo" ] || [ -L "$folder/cargo" ]; then
            break
        fi
        case $folder in
            "$HOME/.local/bin" | "$HOME/bin") link_into "$folder" && return 0 ;;
            /usr/local/bin) shared=$folder ;;
        esac
    done
    if [ -z "$shared" ]; then
        return 1
    elif [ -w "$shared" ]; then
        link_into "$shared"
    else
        have sudo && link_into "$shared" sudo
    fi
}

link_into() { # folder, [sudo]
    say "Linking cargo, rustc and rustup into $1"
    ${2-} mkdir -p "$1" || return 1
    for tool in cargo rustc rustup; do
        [ -e "$1/$tool" ] || ${2-} ln -s "$rustup_bin/$tool" "$1/$tool" || return 1
    done
}

if [ "$rust" = missing ]; then
    say
    rustup=rustup
    have rustup || rustup=$cargo_home/bin/rustup
    if have "$rustup"; then
        say "Installing Rust $channel with rustup"
        twice "$rustup" toolchain install "$channel" --profile minimal \
            --component rustfmt --component clippy </dev/null ||
            fail "rustup could not download Rust $channel; check the network, then run ./setup.sh again"
    else
        say "Installing rustup and Rust $channel into $cargo_home"
        installer=$(mktemp)
        trap 'rm -f "$installer"' EXIT
        twice download https://sh.rustup.rs "$installer" ||
            fail "rustup, which installs Rust, could not be downloaded; check the network, or install Rust $wanted or newer from https://rustup.rs, then run ./setup.sh again"
        twice sh "$installer" -y --profile minimal --default-toolchain "$channel" \
            --component rustfmt --component clippy </dev/null ||
            fail "rustup could not install Rust $channel; look at its message above, check the network, then run ./setup.sh again"
    fi

    # The shell that runs the next command still has the PATH that this script was given.
    if ! new_enough "$(version_of cargo)"; then
        rustup_bin=$cargo_home/bin
        new_enough "$(version_of "$rustup_bin/cargo")" ||
            fail "Rust $channel was installed but does not run; to see why, type: $rustup_bin/cargo --version"
        put_on_path || true
        hash -r
        new_enough "$(version_of cargo)" ||
            fail "Rust $channel is installed, but this shell does not find it yet; type: export PATH=\"$rustup_bin:\$PATH\" && cargo run --release"
        [ -z "$found" ] || say "If this shell still finds cargo $found, type: hash -r"
    fi
fi

say
if [ -z "$missing" ] && [ "$rust" = found ]; then
    say "Everything is here. Next: cargo run --release"
else
    say "Done. Next: cargo run --release (the first build takes 2 to 10 minutes)"
fi
