//! The kinds of apiregistration.k8s.io.

use api::{Time, go};
use serde_json::{Value, json};

use crate::formats::{dns_label_1035, dns_subdomain, port_number};
use crate::table::{AGE, NAME, age, heading, name};
use crate::value::{count, flag, get, get_mut, items, keep, section, set, text};
use crate::webhooks::default_port;
use crate::{Cell, Column, Environment, Invalid, NameRule, Path, Strategy};

const COLUMNS: &[Column] = &[NAME, heading("Service"), heading("Available"), AGE];

/// The server of a version of a group.
pub struct APIService;

impl Strategy for APIService {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn default(&self, object: &mut Value) {
        if let Some(found) = get_mut(object, "spec") {
            default_port(found);
        }
        section(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, env: &Environment<'_>) {
        let status = match get(object, "/spec/service") {
            Some(_) => json!({}),
            None => json!({ "conditions": [{
                "type": "Available",
                "status": "True",
                "lastTransitionTime": env.now.to_string(),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }] }),
        };
        set(object, "status", status);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let (group, version) = (text(object, "/spec/group"), text(object, "/spec/version"));
        let (name, needed) = (text(object, "/metadata/name"), format!("{version}.{group}"));
        let mut wrongs = Vec::new();
        if name != needed {
            let needed = go::quote(&needed);
            let wrong = format!("must be `spec.version+\".\"+spec.group`: {needed}");
            wrongs.push(Path::new("metadata").child("name").invalid(name, &wrong));
        }
        if !group.is_empty() {
            wrongs.extend(path.child("group").refuse(group, dns_subdomain(group)));
        } else if version != "v1" {
            let wrong = "only v1 may have an empty group and it better be legacy kube";
            wrongs.push(path.child("group").required(wrong));
        }
        wrongs.extend(path.child("version").refuse(version, dns_label_1035(version)));
        for (name, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
            let value = count(object, &format!("/spec/{name}"));
            if !(1..=most).contains(&value) {
                let wrong = format!("must be positive and less than {most}");
                wrongs.push(path.child(name).invalid(value, &wrong));
            }
        }
        wrongs.extend(service_wrongs(object, &path));
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        let known = ["True", "False", "Unknown"];
        let path = Path::new("status").child("conditions");
        let conditions = items(new, "/status/conditions").iter().enumerate();
        let said = conditions.map(|(index, it)| (index, text(it, "/status")));
        let bad = said.filter(|(_, status)| !known.contains(status));
        bad.map(|(index, it)| path.index(index).child("status").not_supported(it, &known)).collect()
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let service = get(object, "/spec/service").map_or("Local".to_owned(), |service| {
            format!("{}/{}", text(service, "/namespace"), text(service, "/name"))
        });
        let mut conditions = items(object, "/status/conditions").iter();
        let available = conditions.find(|it| text(it, "/type") == "Available");
        let available = available.map_or("Unknown".to_owned(), |it| {
            match (text(it, "/status"), text(it, "/reason")) {
                (status, reason) if status == "True" || reason.is_empty() => status.to_owned(),
                (status, reason) => format!("{status} ({reason})"),
            }
        });
        vec![name(object), service.into(), available.into(), age(object, now)]
    }
}

fn service_wrongs(object: &Value, path: &Path) -> Vec<Invalid> {
    let bundle = text(object, "/spec/caBundle");
    let insecure = flag(object, "/spec/insecureSkipTLSVerify");
    let field = path.child("insecureSkipTLSVerify");
    let mut wrongs = Vec::new();
    let Some(service) = get(object, "/spec/service") else {
        if !bundle.is_empty() {
            let bytes = format!("{} bytes", bundle.trim_end_matches('=').len() * 3 / 4);
            let wrong = "local APIServices may not have a caBundle";
            wrongs.push(path.child("caBundle").invalid(bytes, wrong));
        }
        if insecure {
            let wrong = "local APIServices may not have insecureSkipTLSVerify";
            wrongs.push(field.invalid(true, wrong));
        }
        return wrongs;
    };
    let path = path.child("service");
    for name in ["namespace", "name"] {
        if text(service, &format!("/{name}")).is_empty() {
            wrongs.push(path.child(name).required(""));
        }
    }
    let port = count(service, "/port");
    let wrong = port_number(port).map(|wrong| format!("port is not valid: {wrong}"));
    wrongs.extend(wrong.map(|wrong| path.child("port").invalid(port, &wrong)));
    if insecure && !bundle.is_empty() {
        wrongs.push(field.invalid(true, "may not be true if caBundle is present"));
    }
    wrongs
}
