//! Keeps the window and drawing commands from printing errors about a desktop that they do not need.

/// Mesa selects a graphics device by asking a Wayland server, and if `XDG_RUNTIME_DIR` is not set, as over ssh or in a
/// container, its library prints an error for each attempt. Restarts the program without that selection; a command
/// selects its adapter itself, and without that variable the window cannot ask a Wayland server either. To be called
/// before a command or the window begins.
#[cfg(target_os = "linux")]
pub fn suppress() {
    use std::os::unix::process::CommandExt as _;
    const SELECTION: [&str; 2] = ["NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT"];
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    // The library rejects relative paths in the same way.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_default();
    // A user who selects a device this way keeps the choice.
    if std::path::Path::new(&runtime).is_absolute() || SELECTION.into_iter().any(set) {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let mut command = std::process::Command::new(program);
    command.args(std::env::args_os().skip(1));
    command.env(SELECTION[0], "1");
    // Returns only if the program could not be restarted: the only consequence is the printed errors.
    drop(command.exec());
}

#[cfg(not(target_os = "linux"))]
pub fn suppress() {}
