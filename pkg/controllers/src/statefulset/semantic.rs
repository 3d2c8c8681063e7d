//! Whether a revision and the present template are the same but for what the API server fills in.
//! As `setMatchesLatestExistingRevision` in upstream's `stateful_set_control.go`.
//!
//! A set that is as it was when an older Kubernetes wrote its revision may differ from that by
//! bytes: that one knew fewer defaults, or wrote `creationTimestamp: null`. Its pods stay.

use api::ControllerRevision;
use controller::history::{self, Numbers};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What is filled in, from the pod template down: where, which field, and its value as JSON. `*` is
/// each item of a list. What is absent on the way stays absent. From upstream's
/// `pkg/apis/core/v1/defaults.go` and `zz_generated.defaults.go`.
const TEMPLATE: &[(&str, &str, &str)] = &[
    ("spec", "dnsPolicy", r#""ClusterFirst""#),
    ("spec", "restartPolicy", r#""Always""#),
    ("spec", "securityContext", "{}"),
    ("spec", "terminationGracePeriodSeconds", "30"),
    ("spec", "schedulerName", r#""default-scheduler""#),
    ("spec.volumes.*.hostPath", "type", r#""""#),
    ("spec.volumes.*.secret", "defaultMode", "420"),
    ("spec.volumes.*.configMap", "defaultMode", "420"),
    ("spec.volumes.*.downwardAPI", "defaultMode", "420"),
    ("spec.volumes.*.downwardAPI.items.*.fieldRef", "apiVersion", r#""v1""#),
    ("spec.volumes.*.downwardAPI.items.*.resourceFieldRef", "divisor", r#""0""#),
    ("spec.volumes.*.projected", "defaultMode", "420"),
    ("spec.volumes.*.projected.sources.*.serviceAccountToken", "expirationSeconds", "3600"),
    ("spec.volumes.*.projected.sources.*.downwardAPI.items.*.fieldRef", "apiVersion", r#""v1""#),
    (
        "spec.volumes.*.projected.sources.*.downwardAPI.items.*.resourceFieldRef",
        "divisor",
        r#""0""#,
    ),
    ("spec.volumes.*.ephemeral.volumeClaimTemplate.spec", "volumeMode", r#""Filesystem""#),
    ("spec.volumes.*.ephemeral.volumeClaimTemplate.spec", "resources", "{}"),
    ("spec.volumes.*.iscsi", "iscsiInterface", r#""default""#),
    ("spec.volumes.*.rbd", "pool", r#""rbd""#),
    ("spec.volumes.*.rbd", "user", r#""admin""#),
    ("spec.volumes.*.rbd", "keyring", r#""/etc/ceph/keyring""#),
    ("spec.volumes.*.azureDisk", "cachingMode", r#""ReadWrite""#),
    ("spec.volumes.*.azureDisk", "fsType", r#""ext4""#),
    ("spec.volumes.*.azureDisk", "readOnly", "false"),
    ("spec.volumes.*.azureDisk", "kind", r#""Shared""#),
    ("spec.volumes.*.scaleIO", "storageMode", r#""ThinProvisioned""#),
    ("spec.volumes.*.scaleIO", "fsType", r#""xfs""#),
];

/// The same from a container down.
const CONTAINER: &[(&str, &str, &str)] = &[
    ("", "terminationMessagePath", r#""/dev/termination-log""#),
    ("", "terminationMessagePolicy", r#""File""#),
    ("", "resources", "{}"),
    ("ports.*", "protocol", r#""TCP""#),
    ("env.*.valueFrom.fieldRef", "apiVersion", r#""v1""#),
    ("env.*.valueFrom.resourceFieldRef", "divisor", r#""0""#),
    ("env.*.valueFrom.fileKeyRef", "optional", "false"),
    ("lifecycle.postStart.httpGet", "path", r#""/""#),
    ("lifecycle.postStart.httpGet", "scheme", r#""HTTP""#),
    ("lifecycle.preStop.httpGet", "path", r#""/""#),
    ("lifecycle.preStop.httpGet", "scheme", r#""HTTP""#),
];

/// The same from a probe down.
const PROBE: &[(&str, &str, &str)] = &[
    ("", "timeoutSeconds", "1"),
    ("", "periodSeconds", "10"),
    ("", "successThreshold", "1"),
    ("", "failureThreshold", "3"),
    ("httpGet", "path", r#""/""#),
    ("httpGet", "scheme", r#""HTTP""#),
    ("grpc", "service", r#""""#),
];

/// Whether the data of a revision, with the defaults of today, is `data`.
pub(super) fn is_same(revision: &ControllerRevision, data: &str) -> bool {
    let stored = revision.data().map(RawValue::get).unwrap_or_default();
    let Ok(mut stored) = serde_json::from_str::<Value>(stored) else { return false };
    let Some(template) = stored.pointer_mut("/spec/template") else { return false };
    complete(template);
    let spec = json!({ "template": template }).to_string();
    let Ok(spec) = RawValue::from_string(spec) else { return false };
    history::data(Some(&spec), Numbers::Float).is_ok_and(|completed| completed == data)
}

/// Fills in what is absent.
fn complete(template: &mut Value) {
    fill_all(template, TEMPLATE);
    let Some(spec) = template.get_mut("spec") else { return };
    each(spec, "volumes.*", &mut |volume| {
        let has_source = volume.as_object().is_some_and(|fields| fields.len() > 1);
        if !has_source {
            fill(volume, "emptyDir", "{}");
        }
        each(volume, "image", &mut |image| fill_pull_policy(image, "reference", "pullPolicy"));
    });
    for list in ["initContainers.*", "containers.*", "ephemeralContainers.*"] {
        each(spec, list, &mut |container| {
            fill_pull_policy(container, "image", "imagePullPolicy");
            fill_all(container, CONTAINER);
            for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
                each(container, probe, &mut |probe| fill_all(probe, PROBE));
            }
        });
    }
}

fn fill_all(value: &mut Value, defaults: &[(&str, &str, &str)]) {
    for (place, field, default) in defaults {
        each(value, place, &mut |it| fill(it, field, default));
    }
}

/// What the tag is, or that there is none, decides.
fn fill_pull_policy(value: &mut Value, image: &str, policy: &str) {
    let image = value.get(image).and_then(Value::as_str).unwrap_or_default();
    let (named, digest) = image.split_once('@').unwrap_or((image, ""));
    let last = named.rsplit('/').next().unwrap_or_default();
    let tag = last.split_once(':').map(|(_, tag)| tag);
    let is_latest = tag.map_or(digest.is_empty(), |tag| tag == "latest");
    fill(value, policy, if is_latest { r#""Always""# } else { r#""IfNotPresent""# });
}

/// Calls `change` with all that stands at `place`.
fn each(value: &mut Value, place: &str, change: &mut dyn FnMut(&mut Value)) {
    let (first, rest) = place.split_once('.').unwrap_or((place, ""));
    match first {
        "" => change(value),
        "*" => {
            let items = value.as_array_mut().into_iter().flatten();
            items.for_each(|item| each(item, rest, change));
        }
        name => {
            if let Some(inner) = value.get_mut(name).filter(|inner| !inner.is_null()) {
                each(inner, rest, change);
            }
        }
    }
}

/// Sets a field that is absent.
fn fill(value: &mut Value, field: &str, default: &str) {
    let Some(fields) = value.as_object_mut() else { return };
    let default = || serde_json::from_str(default).unwrap_or_default();
    fields.entry(field).or_insert_with(default);
}
