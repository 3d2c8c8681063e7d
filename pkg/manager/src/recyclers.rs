//! How volumes are emptied, from flags. As `probeControllerVolumePlugins` and
//! `AttemptToLoadRecycler` of upstream's cmd/kube-controller-manager/app/plugins.go.

#[cfg(test)]
mod tests;

use anyhow::{Context as _, bail};
use controllers::persistentvolume::{Recycler, Recyclers};
use serde_json::Value;

use crate::flags::handles;
use crate::options::Options;

/// The flags of one kind of volumes: the file with the pod, and the seconds that it may run at
/// least, and for each GiB.
type Flags = (handles::Text, handles::Int, handles::Int);

const HOST_PATH: Flags = (
    handles::PV_RECYCLER_POD_TEMPLATE_HOST_PATH,
    handles::PV_RECYCLER_MINIMUM_TIMEOUT_HOST_PATH,
    handles::PV_RECYCLER_TIMEOUT_INCREMENT_HOST_PATH,
);
const NFS: Flags = (
    handles::PV_RECYCLER_POD_TEMPLATE_NFS,
    handles::PV_RECYCLER_MINIMUM_TIMEOUT_NFS,
    handles::PV_RECYCLER_INCREMENT_TIMEOUT_NFS,
);

/// How volumes are emptied. An error if a file with a pod cannot be read or has no volume.
pub(crate) fn recyclers(options: &Options) -> anyhow::Result<Recyclers> {
    Ok(Recyclers { host_path: recycler(options, HOST_PATH)?, nfs: recycler(options, NFS)? })
}

fn recycler(options: &Options, (file, min, per_gib): Flags) -> anyhow::Result<Recycler> {
    let flags = &options.flags;
    let (timeout_seconds_min, timeout_seconds_per_gib) =
        (flags.int32(min).into(), flags.int32(per_gib).into());
    let path = flags.text(file);
    let pod = if path.is_empty() {
        Recycler::pod_template()
    } else {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("failed to read file path {path}"))?;
        template(&text).with_context(|| format!("pod specification ({path})"))?
    };
    Ok(Recycler { pod, timeout_seconds_min, timeout_seconds_per_gib })
}

/// As `LoadPodFromFile` and `ValidateRecyclerPodTemplate`.
fn template(text: &str) -> anyhow::Result<Value> {
    if text.is_empty() {
        bail!("file was empty");
    }
    let pod: Value = serde_yaml::from_str(text).context("failed decoding file")?;
    if pod["kind"] != "Pod" {
        bail!("failed decoding file: it is no Pod");
    }
    if !pod["metadata"].is_object() && !pod["metadata"].is_null() {
        bail!("failed decoding file: its metadata are no mapping");
    }
    let volumes = pod["spec"]["volumes"].as_array();
    if volumes.is_none_or(Vec::is_empty) {
        bail!("does not contain any volume(s)");
    }
    Ok(pod)
}
