//! Policies, as a cache holds them and as they are read live.

use crate::*;

const PROTOBUF: &[u8] = include_bytes!("../../testdata/policy.pb");
const JSON: &[u8] = include_bytes!("../../testdata/policy.json");

/// The view of upstream's bytes; both codecs show the same, `but` for this.
fn read<T: Kind + PartialEq + std::fmt::Debug>(but: fn(&mut T)) -> T {
    let mut view = T::decode(Codec::Protobuf, PROTOBUF).unwrap();
    let mut other = T::decode(Codec::Json, JSON).unwrap();
    but(&mut other);
    but(&mut view);
    assert_eq!(other, view);
    view
}

#[test]
fn upstreams_bytes_of_a_policy_are_read_from_both_codecs() {
    let held: ValidatingAdmissionPolicy = read(|_| {});
    assert_eq!((held.meta.generation, held.observed_generation), (3, 2));
    assert_eq!((held.expressions, held.resources), (3, 4));
    let mut sizes = [(Codec::Protobuf, PROTOBUF), (Codec::Json, JSON)].into_iter();
    assert!(sizes.all(|(codec, bytes)| {
        PolicyExpressions::decode(codec, bytes).is_ok_and(|it| it.bytes == bytes.len())
    }));
    let live: PolicyExpressions = read(|it| it.bytes = 0);
    assert_eq!((&live.meta, live.observed_generation), (&held.meta, 2));
    let pair = |one: &str, two: &str| (one.to_owned(), two.to_owned());
    assert_eq!(live.param_kind, Some(pair("example.com/v1", "Limit")));
    assert_eq!(live.variables, [pair("small", "object.spec.replicas < 5")]);
    let rules: Vec<_> = live
        .rules
        .iter()
        .map(|it| [&it.groups, &it.versions, &it.resources].map(|names| names.join(" ")))
        .collect();
    assert_eq!(rules, [["apps batch", "v1", "deployments jobs pods/exec"], ["*", "*", "*"]]);
    let validation = |(expression, message_expression)| Validation {
        expression: String::from(expression),
        message_expression: String::from(message_expression),
    };
    let expected = [
        ("object.spec.replicas < params.limit", ""),
        ("variables.small", "'of ' + object.metadata.name"),
    ];
    assert_eq!(live.validations, expected.map(validation));
    let error = DecodeError("odd".to_owned());
    let broken = PolicyExpressions::unreadable(held.meta.clone(), &error);
    assert_eq!((broken.validations.len(), broken.unreadable), (0, Some(error)));
}
