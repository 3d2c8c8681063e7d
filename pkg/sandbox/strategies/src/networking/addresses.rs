//! Which addresses services have.

use api::Time;
use serde_json::{Value, json};

use crate::formats::{cidr, dns_subdomain, path_segment};
use crate::metadata::immutable;
use crate::table::{AGE, NAME, age, heading, name};
use crate::value::{get, keep, or_null, section, set, text, texts};
use crate::{Cell, Column, Environment, Invalid, NameRule, Path, Strategy};

/// Upstream has an age in its rows, but no heading for it, so that it is never printed.
const ADDRESS: &[Column] = &[NAME, heading("ParentRef")];
const RANGE: &[Column] = &[NAME, heading("CIDRs"), AGE];

/// An address that is taken.
pub struct IPAddress;

/// A range that addresses are taken from.
pub struct ServiceCIDR;

impl Strategy for IPAddress {
    fn name_rule(&self) -> NameRule {
        NameRule::IpAddress
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("parentRef");
        let Some(parent) = get(object, "/spec/parentRef") else { return vec![path.required("")] };
        let mut wrongs = Vec::new();
        let group = text(parent, "/group");
        if !group.is_empty() {
            wrongs.extend(path.child("group").refuse(group, dns_subdomain(group)));
        }
        for (field, required) in [("resource", true), ("name", true), ("namespace", false)] {
            let (path, value) = (path.child(field), text(parent, &format!("/{field}")));
            if value.is_empty() {
                wrongs.extend(required.then(|| path.required("")));
            } else {
                wrongs.extend(path.refuse(value, path_segment(value)));
            }
        }
        wrongs
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        let path = Path::new("spec").child("parentRef");
        wrongs.extend(immutable(new, old, "/spec/parentRef", &path));
        wrongs
    }

    fn columns(&self) -> &'static [Column] {
        ADDRESS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let parent = get(object, "/spec/parentRef").map_or("<none>".to_owned(), |parent| {
            let mut shown = text(parent, "/resource").to_owned();
            let group = text(parent, "/group");
            if !group.is_empty() {
                shown = format!("{shown}.{group}");
            }
            shown.make_ascii_lowercase();
            let namespace = text(parent, "/namespace");
            if !namespace.is_empty() {
                shown = format!("{shown}/{namespace}");
            }
            format!("{shown}/{}", text(parent, "/name"))
        });
        vec![name(object), parent.into(), age(object, now)]
    }
}

impl Strategy for ServiceCIDR {
    fn default(&self, object: &mut Value) {
        section(object, "spec");
        section(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({}));
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("cidrs");
        let ranges = texts(object, "/spec/cidrs");
        if ranges.is_empty() {
            return vec![path.required("at least one CIDR required")];
        }
        if ranges.len() > 2 {
            return vec![path.invalid(or_null(object, "/spec"), "may only hold up to 2 values")];
        }
        let mut wrongs = Vec::new();
        for (index, range) in ranges.iter().enumerate() {
            wrongs.extend(path.index(index).refuse(range, cidr(range)));
        }
        let of_six = ranges.iter().filter(|range| range.contains(':')).count();
        if ranges.len() == 2 && of_six != 1 && wrongs.is_empty() {
            let wrong = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 \
                         and 2001:db8::/64";
            wrongs.push(path.invalid(or_null(object, "/spec/cidrs"), wrong));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("cidrs");
        let (is, was) = (texts(new, "/spec/cidrs"), texts(old, "/spec/cidrs"));
        let grows = was.len() == 1 && is.len() == 2;
        if is.len() != was.len() && !grows {
            return vec![path.invalid(or_null(new, "/spec/cidrs"), "field is immutable")];
        }
        let changed = was.iter().zip(&is).enumerate().filter(|(_, (was, is))| was != is);
        let mut wrongs: Vec<_> = changed
            .map(|(index, (_, is))| path.index(index).invalid(*is, "field is immutable"))
            .collect();
        if grows {
            wrongs.extend(self.validate_create(new));
        }
        wrongs
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn columns(&self) -> &'static [Column] {
        RANGE
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![name(object), texts(object, "/spec/cidrs").join(",").into(), age(object, now)]
    }
}
