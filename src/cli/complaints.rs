//! Commands that draw say nothing of a desktop that they do not need.

/// Mesa selects a graphics device by asking a Wayland server, and where `XDG_RUNTIME_DIR` is not set, as over ssh
/// or in a container, its library writes an error for each try. Starts the program once more without that
/// selection; a command draws on the adapter that it asks for by itself. To be called before a command begins.
#[cfg(target_os = "linux")]
pub fn avoid() {
    use std::os::unix::process::CommandExt as _;
    const SELECTION: [&str; 2] = ["NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT"];
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    // A user who chooses a device this way keeps the choice.
    if set("XDG_RUNTIME_DIR") || SELECTION.into_iter().any(set) {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let mut again = std::process::Command::new(program);
    again.args(std::env::args_os().skip(1));
    again.env(SELECTION[0], "1");
    // Returns only if the program could not be started: then the errors are all that is lost.
    drop(again.exec());
}

#[cfg(not(target_os = "linux"))]
pub fn avoid() {}
