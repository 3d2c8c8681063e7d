//! What is wrong with the flags together, in upstream's words and order
//! (cmd/kube-controller-manager/app/options/options.go, `Validate`).

use std::ops::RangeInclusive;

use crate::flags::{Flags, GoDuration, boolean};
use crate::options::Options;
use crate::registry::REGISTRY;
use crate::selection;

/// All errors; none if the flags are good.
pub(crate) fn errors(options: &Options) -> Vec<String> {
    let flags = &options.flags;
    // Upstream looks at these before all else, and says no more than the first of them.
    if let Some(error) = gates(flags).or_else(|| versions(flags)).or_else(|| logging(flags)) {
        return vec![error];
    }
    let mut errors = Vec::new();
    if options.election.leader_elect && options.election.resource_lock != "leases" {
        errors.push("resourceLock value must be \"leases\"".to_owned());
    }
    errors.extend(selection::unknown(&options.controllers, REGISTRY));
    if flags.duration("attach-detach-reconcile-sync-period") < GoDuration::SECOND {
        let flag = "reconcile-sync-loop-period";
        errors.push(format!(
            "duration time must be greater than one second as set via command line option {flag}"
        ));
    }
    errors.extend(signing(flags));
    errors.extend(counts(flags));
    if flags.text("service-cluster-ip-range").split(',').count() > 2 {
        let flag = "--service-cluster-ip-range";
        errors.push(format!("{flag} can not contain more than two entries"));
    }
    errors.extend(serving(flags));
    errors.extend(cloud(flags));
    errors
}

/// Several errors as upstream prints them.
pub(crate) fn aggregate(errors: &[String]) -> String {
    match errors {
        [one] => one.clone(),
        _ => format!("[{}]", errors.join(", ")),
    }
}

/// The syntax of `--feature-gates`.
fn gates(flags: &Flags) -> Option<String> {
    flags.list("feature-gates").iter().find_map(|gate| {
        let (component, setting) = gate.split_once(':').unwrap_or(("kube", gate));
        if component != "kube" {
            return Some(format!("component not registered: {component}"));
        }
        let Some((name, value)) = setting.split_once('=') else {
            return Some(format!("missing bool value for {setting}"));
        };
        boolean(value.trim())
            .err()
            .map(|error| format!("invalid value of {name}={value}, err: {error}"))
    })
}

/// The syntax of the flags that take `[component=]major.minor`.
fn versions(flags: &Flags) -> Option<String> {
    let lists = ["emulated-version", "min-compatibility-version"].map(|name| flags.list(name));
    lists.into_iter().flatten().find_map(|word| {
        let (component, version) = word.split_once('=').unwrap_or(("kube", word));
        if component != "kube" {
            return Some(format!("component not registered: {component}"));
        }
        let number = |text: &str| text.parse::<u32>().is_ok();
        let is_version = version.trim_start_matches('v').split_once('.');
        let is_version = is_version.is_some_and(|(major, minor)| number(major) && number(minor));
        (!is_version).then(|| format!("could not parse {version:?} as version"))
    })
}

fn logging(flags: &Flags) -> Option<String> {
    let format = flags.text("logging-format");
    let known = ["text", "json"].contains(&format);
    (!known).then(|| format!("format: Invalid value: {format:?}: Unsupported log format"))
}

/// Certificates and keys come in pairs, for all signers or for each. Two labels are not the names
/// of their flags; they are what upstream prints (csrsigningcontroller.go).
fn signing(flags: &Flags) -> Vec<String> {
    let is_given = |signer: &str, part: &str| {
        !flags.text(&format!("cluster-signing-{signer}{part}-file")).is_empty()
    };
    let signers = [
        ("kubelet-serving-", "cluster-signing-kubelet-serving"),
        ("kubelet-client-", "cluster-signing-kube-apiserver-client"),
        ("kube-apiserver-client-", "cluster-signing-kube-apiserver"),
        ("legacy-unknown-", "cluster-signing-legacy-unknown"),
    ];
    let mut errors = Vec::new();
    for (signer, label) in signers {
        match (is_given(signer, "cert"), is_given(signer, "key")) {
            (true, false) => errors.push(format!("{label:?}: cannot specify cert without key")),
            (false, true) => errors.push(format!("{label:?}: cannot specify key without cert")),
            _ => {}
        }
    }
    let is_any = |signer| is_given(signer, "cert") || is_given(signer, "key");
    if is_any("") && signers.iter().any(|(signer, _)| is_any(signer)) {
        let flags = "--cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags";
        errors.push(format!("cannot specify {flags} at the same time"));
    }
    errors
}

/// Workers and sizes. Upstream checks no others: 0 there is a controller without workers.
fn counts(flags: &Flags) -> Vec<String> {
    let positive = |name: &str, words: &str| {
        let count = flags.int(name);
        (count <= 0).then(|| format!("{name} must be {words} {count}")).into_iter().collect()
    };
    let greater = |name: &str| positive(name, "greater than 0, but got");
    let within = |name: &str, range: RangeInclusive<i64>| -> Vec<String> {
        let (count, low, high) = (flags.int(name), range.start(), range.end());
        if count < *low {
            vec![format!("{name} must not be less than {low}, but got {count}")]
        } else if count > *high {
            vec![format!("{name} must not be more than {high}, but got {count}")]
        } else {
            Vec::new()
        }
    };
    [
        greater("concurrent-daemonset-syncs"),
        positive("concurrent-device-taint-eviction-syncs", "greater than zero, got"),
        positive("concurrent-resourceclaim-syncs", "larger than 0, got"),
        greater("concurrent-statefulset-syncs"),
        within("concurrent-service-endpoint-syncs", 1..=50),
        within("max-endpoints-per-slice", 1..=1000),
        within("mirroring-concurrent-service-endpoint-syncs", 1..=50),
        within("mirroring-max-endpoints-per-subset", 1..=1000),
        greater("concurrent-ephemeralvolume-syncs"),
        greater("concurrent-horizontal-pod-autoscaler-syncs"),
        greater("concurrent-job-syncs"),
        greater("concurrent-cron-job-syncs"),
    ]
    .concat()
}

/// The texts are upstream's, though 0 does turn HTTPS off.
fn serving(flags: &Flags) -> Option<String> {
    let port = flags.int("secure-port");
    let range = match port {
        0..=65535 => return None,
        ..0 => "between 0 and 65535, inclusive. 0 for turning off secure port",
        _ => "between 1 and 65535, inclusive. It cannot be turned off with 0",
    };
    Some(format!("--secure-port {port} must be {range}"))
}

fn cloud(flags: &Flags) -> Vec<String> {
    let mut errors = Vec::new();
    let provider = flags.text("cloud-provider");
    if !["", "external"].contains(&provider) {
        errors.push(format!(
            "cloud provider {provider:?} was specified, but built-in cloud providers are disabled. \
             Please set --cloud-provider=external and migrate to an external cloud provider"
        ));
    }
    let allocator = flags.text("cidr-allocator-type");
    if !["", "RangeAllocator"].contains(&allocator) {
        errors.push(format!(
            "built-in cloud providers are disabled. The ipam {allocator} is not available"
        ));
    }
    errors
}
