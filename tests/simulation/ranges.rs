//! Ranges of addresses of Services, and addresses, drawn from a seed. The user is the allocator.

use crate::dice::Dice;
use crate::workload::{applied, tick};

/// The kind of ranges. What looks after them runs only in cases that have it.
pub(crate) const KIND: &str = "ServiceCIDR";
/// Each range, and what it covers, which never changes.
const RANGES: [(&str, &str); 5] = [
    ("small", "'fd00:77::/112'"),
    ("again", "'fd00:77::/112'"),
    ("large", "'fd00:77::/64'"),
    ("beside", "'fd00:78::/112'"),
    ("dual", "10.77.0.0/24, 'fd00:77::/112'"),
];
const ADDRESSES: [&str; 4] = ["fd00:77::7", "fd00:77::1:7", "fd00:78::7", "10.77.0.9"];

/// Something about ranges.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let (name, cidrs) = dice.pick(&RANGES);
    let ip = dice.pick(&ADDRESSES);
    let target = format!("servicecidr/{name}");
    let make = applied(&format!(
        "apiVersion: networking.k8s.io/v1\nkind: {KIND}\nmetadata: {{name: {name}}}\n\
        spec: {{cidrs: [{cidrs}]}}"
    ));
    let delete = format!("> delete {target}\n");
    match dice.below(16) {
        0..=3 => vec![make],
        4..=5 => vec![delete],
        6..=8 => vec![address(dice, ip)],
        9..=10 => vec![format!("> delete ipaddress/{ip}\n")],
        11..=12 => {
            // One that is deleted while the last address of it comes or goes.
            let wait = tick(dice.pick(&[1, 100, 3000, 9_990]));
            let other = dice.pick(&[address(dice, ip), format!("> delete ipaddress/{ip}\n")]);
            vec![make, wait.clone(), delete, wait, other]
        }
        13 => {
            let wait = tick(dice.pick(&[1, 3000, 12_000]));
            vec![delete, wait, make]
        }
        14 => {
            let status = r#"{"status":{"conditions":null}}"#;
            vec![format!("> patch status {target} '{status}'\n")]
        }
        _ => {
            let finalizers = dice.pick(&["null", r#"["example.com/wait"]"#]);
            vec![format!("> patch {target} '{{\"metadata\":{{\"finalizers\":{finalizers}}}}}'\n")]
        }
    }
}

fn address(dice: &Dice, ip: &str) -> String {
    // Those of others hold nothing.
    let manager = dice.pick(&["ipallocator.k8s.io", "ipallocator.k8s.io", "someone"]);
    let family = if ip.contains(':') { "IPv6" } else { "IPv4" };
    applied(&format!(
        "apiVersion: networking.k8s.io/v1\nkind: IPAddress\nmetadata: {{name: '{ip}', labels: \
        {{ipaddress.kubernetes.io/managed-by: {manager}, \
        ipaddress.kubernetes.io/ip-family: {family}}}}}\n\
        spec: {{parentRef: {{resource: services, namespace: default, name: web}}}}"
    ))
    .replacen("> apply", "> create", 1)
}
