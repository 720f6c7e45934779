//! Persistent data: recent files, folders of saved files, theme, device of solvers.

use crate::compute::BackendKind;
use crate::state::{Preferences, State};
use eframe::Storage;

const RECENT: &str = "recent";
const EXPORTS: &str = "exports";
const LIGHT: &str = "light";
const BACKEND: &str = "backend";
const SETTINGS: &str = "settings";

pub fn save(storage: &mut dyn Storage, state: &State) {
    if let Ok(recent) = serde_json::to_string(&state.runtime.files.recent) {
        storage.set_string(RECENT, recent);
    }
    if let Ok(exports) = serde_json::to_string(&state.runtime.files.exports) {
        storage.set_string(EXPORTS, exports);
    }
    if let Ok(settings) = serde_json::to_string(&state.runtime.settings) {
        storage.set_string(SETTINGS, settings);
    }
    let light = state.view.light_theme.then(|| "yes".to_owned());
    store_value(storage, LIGHT, light);
    let backend = state.runtime.device.setting;
    store_value(
        storage,
        BACKEND,
        (backend != BackendKind::Auto).then(|| backend.to_string()),
    );
}

/// `None`: stored as if it had never been set.
fn store_value(storage: &mut dyn Storage, key: &str, value: Option<String>) {
    match value {
        Some(value) => storage.set_string(key, value),
        None => storage.remove_string(key),
    }
}

/// Settings of the last window; values written by another version are ignored.
pub fn settings(storage: &dyn Storage) -> Preferences {
    let text = storage.get_string(SETTINGS).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Values written by another version are ignored.
pub fn load(storage: &dyn Storage, state: &mut State) {
    if let Some(recent) = storage.get_string(RECENT) {
        state.runtime.files.recent = serde_json::from_str(&recent).unwrap_or_default();
    }
    if let Some(exports) = storage.get_string(EXPORTS) {
        state.runtime.files.exports = serde_json::from_str(&exports).unwrap_or_default();
    }
    state.view.light_theme = storage.get_string(LIGHT).is_some();
    let backend = storage.get_string(BACKEND);
    state.runtime.device.setting = backend.and_then(|b| b.parse().ok()).unwrap_or_default();
}
