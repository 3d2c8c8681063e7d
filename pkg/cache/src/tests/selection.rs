//! Which keys a selection may hold, and its text.

use api::{Key, Pod, RootCa, TokenSecret};

use crate::Selection;

#[test]
fn a_key_may_rule_an_object_out() {
    type Row = (&'static str, &'static str, bool);
    let rows: &[Row] = &[
        ("", "shop/web", true),
        ("metadata.name=web", "shop/web", true),
        ("metadata.name=web", "shop/other", false),
        // The API server chooses the name.
        ("metadata.name=web", "shop/", true),
        ("metadata.name==web", "shop/web", true),
        ("metadata.name!=web", "shop/web", false),
        ("metadata.name!=web", "shop/other", true),
        ("metadata.namespace=shop,metadata.name=web", "shop/web", true),
        ("metadata.namespace=shop,metadata.name=web", "other/web", false),
        ("metadata.namespace=shop,metadata.name=web", "shop/other", false),
        // The key does not decide.
        ("type=bootstrap.kubernetes.io/token", "kube-system/web", true),
    ];
    for &(fields, key, expected) in rows {
        let selection = Selection { fields, ..Selection::of::<TokenSecret>() };
        assert_eq!(selection.may_hold(&Key::parse(key)), expected, "{fields:?} {key}");
    }
}

#[test]
fn a_selection_prints_as_its_resource_and_its_fields() {
    assert_eq!(Selection::of::<Pod>().to_string(), "pods");
    let name = "configmaps with metadata.name=kube-root-ca.crt";
    assert_eq!(Selection::of::<RootCa>().to_string(), name);
}
