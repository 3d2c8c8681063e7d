//! The folder for the profilers' temporary files.

use std::path::Path;
use std::sync::Once;

/// A folder in memory, which containers have even if their file system is read-only.
const FALLBACK: &str = "/dev/shm";

/// Both profilers keep a temporary file, and one of them fails for good if it cannot create it at
/// first. So this is called before either is used.
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        let Err(error) = tempfile::tempfile() else { return };
        let folder = std::env::temp_dir();
        let folder = folder.display();
        tracing::info!(%folder, %error, "cannot write temporary files, profiles use {FALLBACK}");
        if let Err(folder) = tempfile::env::override_temp_dir(Path::new(FALLBACK)) {
            let folder = folder.display();
            tracing::warn!(%folder, "temporary files of profiles cannot be moved");
        }
    });
}
