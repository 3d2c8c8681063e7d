//! What differs between the registries of kinds, besides their strategies.

use strategies::Strategy;

/// Whether the response to a deletion is the object (`ReturnDeletedObject`).
pub(crate) fn returns_deleted(table: &str) -> bool {
    RETURN_DELETED.contains(&table)
}

/// The tables whose registry says `ReturnDeletedObject`.
const RETURN_DELETED: &[&str] = &[
    "resourceclaimtemplates.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "resourceclaims.resource.k8s.io",
    "deviceclasses.resource.k8s.io",
    "csidrivers.storage.k8s.io",
    "storageclasses.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "volumeattributesclasses.storage.k8s.io",
    "resourcequotas",
    "persistentvolumes",
    "serviceaccounts",
    "persistentvolumeclaims",
    "namespaces",
    "pods",
    "services",
    "podtemplates",
];

/// Which fields of `metadata` an update of the status may not change.
pub(crate) fn status_keeps(table: &str, custom: bool) -> &'static [&'static str] {
    const ALL: &[&str] =
        &["annotations", "deletionTimestamp", "finalizers", "labels", "ownerReferences"];
    match table {
        _ if custom => ALL,
        "deployments.apps" => &["labels"],
        "servicecidrs.networking.k8s.io"
        | "resourceclaims.resource.k8s.io"
        | "volumeattachments.storage.k8s.io"
        | "validatingadmissionpolicies.admissionregistration.k8s.io"
        | "flowschemas.flowcontrol.apiserver.k8s.io"
        | "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
        | "apiservices.apiregistration.k8s.io" => ALL,
        _ => &[],
    }
}

/// Whether an update without a version changes whatever is there (AllowUnconditionalUpdate).
pub(crate) fn takes_any_version(strategy: &dyn Strategy, custom: bool) -> bool {
    !custom && !strategy.needs_version_on_update()
}
