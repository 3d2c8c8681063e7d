//! Bootstrap tokens, and the kubeconfig that they sign, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{applied, tick};

/// The type of their Secrets.
pub(crate) const TYPE: &str = "bootstrap.kubernetes.io/token";
/// That of the year 9999 is far off, all others are near, or past.
pub(crate) const FAR: &str = "9999-12-31T23:59:59Z";
const EXPIRATIONS: [&str; 8] = [
    "",
    "",
    FAR,
    FAR,
    "2020-01-01T00:00:00Z",
    "2026-01-01T00:02:00Z",
    "2026-01-01T00:20:00Z",
    "tomorrow",
];
/// `abc` in base64.
const SECRET: &str = "YWJj";

/// Something about tokens.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let name = dice.pick(&["aaaaaa", "bbbbbb", "cccccc"]);
    let secret = format!("secret/bootstrap-token-{name} -n kube-system");
    match dice.below(12) {
        0..=3 => vec![token(dice, name)],
        4 => vec![format!("> delete {secret}\n")],
        5 => {
            // It is to last for longer, right before it ends.
            let wait = tick(dice.pick(&[1, 1000, 30_000, 110_000]));
            let more = dice.pick(&["null", r#""OTk5OS0xMi0zMVQyMzo1OTo1OVo=""#]);
            vec![
                token(dice, name),
                wait,
                format!("> patch {secret} '{{\"data\":{{\"expiration\":{more}}}}}'\n"),
            ]
        }
        6..=8 => vec![applied(&format!(
            "apiVersion: v1\nkind: ConfigMap\n\
            metadata: {{name: cluster-info, namespace: kube-public}}\n\
            data: {{kubeconfig: payload-{}, other: stays}}",
            dice.below(3)
        ))],
        9..=10 => {
            let data = dice.pick(&[
                r#"{"jws-kubeconfig-aaaaaa":"odd"}"#,
                r#"{"jws-kubeconfig-zzzzzz":"stale"}"#,
                r#"{"jws-kubeconfig-":"none"}"#,
                r#"{"kubeconfig":null}"#,
            ]);
            vec![format!("> patch cm/cluster-info -n kube-public '{{\"data\":{data}}}'\n")]
        }
        _ => vec!["> delete cm/cluster-info -n kube-public\n".to_owned()],
    }
}

fn token(dice: &Dice, id: &str) -> String {
    let said = if dice.chance(0.9) { id } else { "dddddd" };
    let signs = dice.pick(&["true", "true", "true", "false"]);
    let expiration = match dice.pick(&EXPIRATIONS) {
        "" => String::new(),
        at => format!(", expiration: '{at}'"),
    };
    let kind = if dice.chance(0.9) { TYPE } else { "Opaque" };
    // The type of one that is there cannot change.
    applied(&format!(
        "apiVersion: v1\nkind: Secret\ntype: {kind}\n\
        metadata: {{name: bootstrap-token-{id}, namespace: kube-system}}\n\
        data: {{token-secret: {SECRET}}}\n\
        stringData: {{token-id: {said}, usage-bootstrap-signing: '{signs}'{expiration}}}"
    ))
}
