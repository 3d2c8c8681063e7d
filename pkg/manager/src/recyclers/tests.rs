//! The pod that empties a volume comes from a file, or is built in.

use controllers::persistentvolume::Recycler;

use super::*;

fn options(args: &[&str]) -> Options {
    Options::parse(args.iter().map(|&word| word.to_owned())).unwrap()
}

#[test]
fn flags_say_how_long_a_pod_may_run() {
    let defaults = recyclers(&options(&[])).unwrap();
    let builtin = Recycler {
        pod: Recycler::pod_template(),
        timeout_seconds_min: 60,
        timeout_seconds_per_gib: 30,
    };
    assert_eq!(defaults.host_path, builtin);
    assert_eq!(defaults.nfs, Recycler { timeout_seconds_min: 300, ..builtin });
    let set = recyclers(&options(&[
        "--pv-recycler-minimum-timeout-nfs=1",
        "--pv-recycler-increment-timeout-nfs=2",
        "--pv-recycler-minimum-timeout-hostpath=3",
        "--pv-recycler-timeout-increment-hostpath=4",
    ]))
    .unwrap();
    let times = |it: &Recycler| (it.timeout_seconds_min, it.timeout_seconds_per_gib);
    assert_eq!([times(&set.nfs), times(&set.host_path)], [(1, 2), (3, 4)]);
}

/// Upstream's `TestLoadPodFromFile` and `ValidateRecyclerPodTemplate`.
#[test]
fn a_pod_of_a_file_needs_a_volume() {
    for (text, error) in [
        ("", "file was empty"),
        ("][\n", "failed decoding file"),
        ("kind: Service\n", "failed decoding file: it is no Pod"),
        ("kind: Pod\nspec: {volumes: []}\n", "does not contain any volume(s)"),
    ] {
        assert_eq!(template(text).unwrap_err().to_string(), error, "{text}");
    }
    let pod = template("kind: Pod\nspec: {volumes: [{name: v}]}\n").unwrap();
    assert_eq!(pod["spec"]["volumes"][0]["name"], "v");
    let missing = "--pv-recycler-pod-template-filepath-nfs=/nowhere/at/all";
    let error = recyclers(&options(&[missing])).unwrap_err().to_string();
    assert_eq!(error, "failed to read file path /nowhere/at/all");
}
