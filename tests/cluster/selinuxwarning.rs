//! What pods are told of the SELinux labels of their volumes, on the real API server.

use crate::conformance::plays_alone;

/// Upstream's e2e "SELinuxMount … warning" (storage/csimock/csi_selinux_mount.go).
#[tokio::test]
async fn pods_are_told_of_conflicting_labels() -> anyhow::Result<()> {
    plays_alone("selinuxwarning/conflicts.txt").await
}
