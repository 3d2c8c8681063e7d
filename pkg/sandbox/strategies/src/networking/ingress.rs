//! Ingress and IngressClass.

use api::Time;
use serde_json::{Value, json};

use crate::formats::{
    dns_label, dns_subdomain, legacy_ip, path_segment, port_name, port_number, wildcard_subdomain,
};
use crate::generation;
use crate::metadata::immutable;
use crate::table::{AGE, NAME, age, cell, heading, load_balancer, name, some};
use crate::value::{
    annotation, count, fill, get, get_mut, items, keep, maybe, or_null, section, set, text, texts,
};
use crate::{Cell, Column, Environment, Fault, Invalid, Path, Strategy};

const COLUMNS: &[Column] =
    &[NAME, heading("Class"), heading("Hosts"), heading("Address"), heading("Ports"), AGE];
const CLASS_COLUMNS: &[Column] = &[NAME, heading("Controller"), heading("Parameters"), AGE];
const CLASS: &str = "kubernetes.io/ingress.class";
const CONTROLLER_LENGTH_MAX: usize = 250;
const NO_IP: &str = "must be a DNS name, not an IP address";
const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
const SCOPES: [&str; 2] = ["Cluster", "Namespace"];

/// How requests come in.
pub struct Ingress;

/// Who lets them in.
pub struct IngressClass;

impl Strategy for Ingress {
    fn default(&self, object: &mut Value) {
        section(object, "spec");
        let status = section(object, "status");
        section(status, "loadBalancer");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({ "loadBalancer": {} }));
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut wrongs = ingress_wrongs(object);
        let (said, class) = (annotation(object, CLASS), maybe(object, "/spec/ingressClassName"));
        if let (Some(said), Some(class)) = (said, class)
            && said != class
        {
            let wrong = "must match `ingressClassName` when both are specified";
            wrongs.push(Path::new("annotations").child(CLASS).invalid(said, wrong));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
        generation::count(new, old, &["/spec"]);
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        ingress_wrongs(new)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        let path = Path::new("status").child("loadBalancer").child("ingress");
        let mut wrongs = Vec::new();
        for (index, given) in items(new, "/status/loadBalancer/ingress").iter().enumerate() {
            let (ip, host) = (text(given, "/ip"), text(given, "/hostname"));
            if !ip.is_empty() {
                wrongs.extend(path.index(index).child("ip").refuse(ip, legacy_ip(ip)));
            }
            if !host.is_empty() {
                let path = path.index(index).child("hostname");
                wrongs.extend(path.refuse(host, dns_subdomain(host)));
                if legacy_ip(host).is_empty() {
                    wrongs.push(path.invalid(host, NO_IP));
                }
            }
        }
        wrongs
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let secure = !items(object, "/spec/tls").is_empty();
        vec![
            name(object),
            maybe(object, "/spec/ingressClassName").unwrap_or("<none>").into(),
            hosts(object).into(),
            load_balancer(object).into(),
            if secure { "80, 443" } else { "80" }.into(),
            age(object, now),
        ]
    }
}

impl Strategy for IngressClass {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        if let Some(parameters) = get_mut(spec, "parameters") {
            fill(parameters, "scope", "Cluster");
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let controller = text(object, "/spec/controller");
        let mut wrongs = Vec::new();
        if controller.len() > CONTROLLER_LENGTH_MAX {
            wrongs.push(path.child("controller").is(Fault::TooLong(CONTROLLER_LENGTH_MAX)));
        }
        wrongs.extend(domain_path(controller, &path.child("controller")));
        if let Some(parameters) = get(object, "/spec/parameters") {
            let path = path.child("parameters");
            wrongs.extend(reference(parameters, &path));
            wrongs.extend(scope(parameters, &path));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/spec"]);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("controller");
        let mut wrongs: Vec<_> =
            immutable(new, old, "/spec/controller", &path).into_iter().collect();
        wrongs.extend(self.validate_create(new));
        wrongs
    }

    fn columns(&self) -> &'static [Column] {
        CLASS_COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let mut shown = text(object, "/metadata/name").to_owned();
        if annotation(object, "ingressclass.kubernetes.io/is-default-class") == Some("true") {
            shown.push_str(" (default)");
        }
        let parameters = get(object, "/spec/parameters").map_or("<none>".to_owned(), |it| {
            let (kind, name) = (text(it, "/kind"), text(it, "/name"));
            match maybe(it, "/apiGroup") {
                Some(group) => format!("{kind}.{group}/{name}"),
                None => format!("{kind}/{name}"),
            }
        });
        vec![shown.into(), cell(object, "/spec/controller"), parameters.into(), age(object, now)]
    }
}

/// As formatHosts: how many more there are counts rules, hosts or not.
fn hosts(object: &Value) -> String {
    let rules = items(object, "/spec/rules");
    let mut list = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= list.len() == 3;
        let host = text(rule, "/host");
        if !more && !host.is_empty() {
            list.push(host.to_owned());
        }
    }
    match some(&list, 3, "*") {
        hosts if more => format!("{hosts} + {} more...", rules.len() - 3),
        hosts => hosts,
    }
}

/// validateIngress.
fn ingress_wrongs(object: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let rules = items(object, "/spec/rules");
    let backend = get(object, "/spec/defaultBackend");
    let mut wrongs = Vec::new();
    if rules.is_empty() && backend.is_none() {
        let wrong = "either `defaultBackend` or `rules` must be specified";
        wrongs.push(path.invalid(or_null(object, "/spec/rules"), wrong));
    }
    if let Some(backend) = backend {
        wrongs.extend(backend_wrongs(backend, &path.child("defaultBackend")));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = path.child("rules").index(index);
        let host = text(rule, "/host");
        if !host.is_empty() {
            wrongs.extend(host_wrongs(host, &path.child("host")));
        }
        if let Some(http) = get(rule, "/http") {
            let path = path.child("http").child("paths");
            let paths = items(http, "/paths");
            if paths.is_empty() {
                wrongs.push(path.required(""));
            }
            let paths = paths.iter().enumerate();
            wrongs.extend(paths.flat_map(|(index, it)| path_wrongs(it, &path.index(index))));
        }
    }
    for (index, tls) in items(object, "/spec/tls").iter().enumerate() {
        let path = path.child("tls").index(index);
        for (index, host) in texts(tls, "/hosts").into_iter().enumerate() {
            let bad =
                if host.contains('*') { wildcard_subdomain(host) } else { dns_subdomain(host) };
            wrongs.extend(path.child("hosts").index(index).refuse(host, bad));
        }
        let secret = text(tls, "/secretName");
        if !secret.is_empty() {
            wrongs.extend(path.child("secretName").refuse(secret, dns_subdomain(secret)));
        }
    }
    if let Some(class) = maybe(object, "/spec/ingressClassName") {
        wrongs.extend(path.child("ingressClassName").refuse(class, dns_subdomain(class)));
    }
    wrongs
}

fn host_wrongs(host: &str, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    if legacy_ip(host).is_empty() {
        wrongs.push(path.invalid(host, NO_IP));
    }
    let bad = if host.contains('*') { wildcard_subdomain(host) } else { dns_subdomain(host) };
    wrongs.extend(path.refuse(host, bad));
    wrongs
}

/// validateHTTPIngressPath.
fn path_wrongs(route: &Value, path: &Path) -> Vec<Invalid> {
    let said = text(route, "/path");
    let field = path.child("path");
    let mut wrongs = Vec::new();
    let absolute = said.starts_with('/');
    match maybe(route, "/pathType") {
        None => return vec![path.child("pathType").required("pathType must be specified")],
        Some("Exact" | "Prefix") => {
            if !absolute {
                wrongs.push(field.invalid(said, "must be an absolute path"));
            }
            let parts = ["//", "/./", "/../", "%2f", "%2F"].into_iter();
            wrongs.extend(
                parts
                    .filter(|part| said.contains(part))
                    .map(|part| field.invalid(said, &format!("must not contain '{part}'"))),
            );
            let ends = ["/..", "/."].into_iter().filter(|end| said.ends_with(end));
            wrongs.extend(ends.map(|end| field.invalid(said, &format!("cannot end with '{end}'"))));
        }
        Some("ImplementationSpecific") => {
            if !absolute && !said.is_empty() {
                wrongs.push(field.invalid(said, "must be an absolute path"));
            }
        }
        Some(kind) => wrongs.push(path.child("pathType").not_supported(kind, &PATH_TYPES)),
    }
    let backend = or_null(route, "/backend");
    wrongs.extend(backend_wrongs(&backend, &path.child("backend")));
    wrongs
}

/// validateIngressBackend.
fn backend_wrongs(backend: &Value, path: &Path) -> Vec<Invalid> {
    let service = match (get(backend, "/service"), get(backend, "/resource")) {
        (Some(_), Some(_)) => {
            return vec![path.invalid("", "cannot set both resource and service backends")];
        }
        (None, Some(resource)) => return reference(resource, &path.child("resource")),
        (None, None) => return vec![path.invalid("", "resource or service backend is required")],
        (Some(service), None) => service,
    };
    let (name, field) = (text(service, "/name"), path.child("service"));
    let mut wrongs = match name {
        "" => vec![field.child("name").required("")],
        name => field.child("name").refuse(name, dns_label(name)),
    };
    let field = field.child("port");
    match (text(service, "/port/name"), count(service, "/port/number")) {
        ("", 0) => wrongs.push(path.required("port name or number is required")),
        ("", number) => {
            let wrong = port_number(number);
            wrongs.extend(wrong.map(|wrong| field.child("number").invalid(number, &wrong)));
        }
        (name, 0) => wrongs.extend(field.child("name").refuse(name, port_name(name))),
        (_, _) => wrongs.push(path.invalid("", "cannot set both port name & port number")),
    }
    wrongs
}

/// validateIngressTypedLocalObjectReference.
fn reference(reference: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    if let Some(group) = maybe(reference, "/apiGroup") {
        wrongs.extend(path.child("apiGroup").refuse(group, dns_subdomain(group)));
    }
    for name in ["kind", "name"] {
        match text(reference, &format!("/{name}")) {
            "" => wrongs.push(path.child(name).required("")),
            value => wrongs.extend(path.child(name).refuse(value, path_segment(value))),
        }
    }
    wrongs
}

fn scope(parameters: &Value, path: &Path) -> Vec<Invalid> {
    let (field, scope_field) = (path.child("namespace"), path.child("scope"));
    match (maybe(parameters, "/scope"), maybe(parameters, "/namespace")) {
        (None, _) => vec![scope_field.required("")],
        (Some("Namespace"), None) => {
            vec![field.required("`parameters.scope` is set to 'Namespace'")]
        }
        (Some("Namespace"), Some(namespace)) => field.refuse(namespace, dns_label(namespace)),
        (Some("Cluster"), Some(_)) => {
            vec![field.forbidden("`parameters.scope` is set to 'Cluster'")]
        }
        (Some("Cluster"), None) => Vec::new(),
        (Some(scope), _) => vec![scope_field.not_supported(scope, &SCOPES)],
    }
}

/// IsDomainPrefixedPath.
fn domain_path(value: &str, path: &Path) -> Vec<Invalid> {
    if value.is_empty() {
        return vec![path.required("")];
    }
    let Some((host, rest)) =
        value.split_once('/').filter(|it| !it.0.is_empty() && !it.1.is_empty())
    else {
        let wrong = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![path.invalid(value, wrong)];
    };
    let mut wrongs = path.refuse(host, dns_subdomain(host));
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(fits) {
        let wrong =
            "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        wrongs.push(path.invalid(rest, wrong));
    }
    wrongs
}
