//! Errors in the combination of flags, with upstream's texts and in its order
//! (cmd/kube-controller-manager/app/options/options.go, `Validate`).

mod logging;
mod serving;

use std::ops::RangeInclusive;

use crate::flags::{Flags, GoDuration};
use crate::options::Options;
use crate::registry::REGISTRY;
use crate::selection;

/// All errors; none if the flags are valid.
pub(crate) fn errors(options: &Options) -> Vec<String> {
    let flags = &options.flags;
    // Upstream starts the log before it validates the rest.
    let mut errors = logging::errors(flags, &options.gates);
    if !errors.is_empty() {
        return errors;
    }
    errors.extend(options.gates.versions.errors());
    if options.election.leader_elect && options.election.resource_lock != "leases" {
        errors.push("resourceLock value must be \"leases\"".to_owned());
    }
    errors.extend(selection::unknown(&options.controllers, REGISTRY));
    if options.shadow.is_some_and(|grace| grace.is_zero()) {
        errors.push("shadow-grace-period must be greater than zero".to_owned());
    }
    if flags.value("attach-detach-reconcile-sync-period").duration() < GoDuration::SECOND {
        let flag = "reconcile-sync-loop-period";
        errors.push(format!(
            "duration time must be greater than one second as set via command line option {flag}"
        ));
    }
    errors.extend(signing(flags));
    errors.extend(counts(flags));
    errors.extend(clean_up_period(options));
    if flags.value("service-cluster-ip-range").text().split(',').count() > 2 {
        let flag = "--service-cluster-ip-range";
        errors.push(format!("{flag} can not contain more than two entries"));
    }
    errors.extend(serving::port(flags));
    errors.extend(serving::headers(options));
    errors.extend(options.metrics.settings().err().unwrap_or_default());
    errors.extend(cloud(flags));
    // Upstream opens the secure port only if everything else is valid.
    if let (true, Some(served)) = (errors.is_empty(), &options.serving) {
        let tls = serving::tls(served, flags).err();
        errors.extend(tls.or_else(|| serving::paths(&options.guard)));
    }
    errors
}

/// Several errors as upstream prints them: each once.
pub(crate) fn aggregate(errors: &[String]) -> String {
    let mut unique: Vec<&str> = Vec::new();
    for error in errors {
        if !unique.contains(&error.as_str()) {
            unique.push(error);
        }
    }
    match unique[..] {
        [one] => one.to_owned(),
        _ => format!("[{}]", unique.join(", ")),
    }
}

/// Certificates and keys come in pairs, for all signers or for each. Two labels differ from the
/// names of their flags; they are what upstream prints (csrsigningcontroller.go).
fn signing(flags: &Flags) -> Vec<String> {
    let is_given = |signer: &str, part: &str| {
        !flags.value(&format!("cluster-signing-{signer}{part}-file")).text().is_empty()
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

/// Workers and sizes. Upstream validates no others: 0 there means a controller without workers.
fn counts(flags: &Flags) -> Vec<String> {
    let positive = |name: &str, words: &str| {
        let count = flags.value(name).int();
        (count <= 0).then(|| format!("{name} must be {words} {count}")).into_iter().collect()
    };
    let greater = |name: &str| positive(name, "greater than 0, but got");
    let within = |name: &str, range: RangeInclusive<i64>| -> Vec<String> {
        let (count, low, high) = (flags.value(name).int(), range.start(), range.end());
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

/// Upstream reports this later, and only if the controller runs.
fn clean_up_period(options: &Options) -> Option<String> {
    let choice = selection::choose(&options.controllers, REGISTRY, &options.gates);
    let name = "legacy-serviceaccount-token-cleaner-controller";
    let runs = choice.run.iter().any(|row| row.name == name);
    let flag = "legacy-service-account-token-clean-up-period";
    let period = options.flags.value(flag).duration();
    (runs && period.to_std().is_zero()).then(|| {
        let failed = "failed to init the legacy service account token cleaner";
        format!("{failed}: invalid CleanUpPeriod: {period}")
    })
}

fn cloud(flags: &Flags) -> Vec<String> {
    let mut errors = Vec::new();
    let provider = flags.value("cloud-provider").text();
    if !["", "external"].contains(&provider) {
        errors.push(format!(
            "cloud provider {provider:?} was specified, but built-in cloud providers are disabled. \
             Please set --cloud-provider=external and migrate to an external cloud provider"
        ));
    }
    let allocator = flags.value("cidr-allocator-type").text();
    if !["", "RangeAllocator"].contains(&allocator) {
        errors.push(format!(
            "built-in cloud providers are disabled. The ipam {allocator} is not available"
        ));
    }
    errors
}
