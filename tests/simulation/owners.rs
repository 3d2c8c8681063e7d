//! Objects that own others, drawn from a seed, for the garbage collector.

use crate::dice::Dice;
use crate::workload::{CASCADES, applied, tick};

/// A kind that the server learns of during the run. Its group is not that of foreign objects, whose
/// kind must stay unknown.
const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.sim.example.com}
spec:
  group: sim.example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, \
    x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, \
    x-kubernetes-preserve-unknown-fields: true}}}";

const NAMESPACES: [&str; 3] = ["default", "default", "other"];

/// Something about owners and what they own.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES);
    let name = Name::draw(dice);
    match dice.below(12) {
        0..=5 => vec![object(dice, namespace, name)],
        6..=7 => {
            let cascade = dice.pick(&CASCADES);
            vec![format!("> delete {name} -n {namespace} --cascade {cascade}\n")]
        }
        8 => circle(dice, namespace),
        9 => {
            let finalizers = dice.pick(&["null", r#"["example.com/wait"]"#]);
            let patch = format!(r#"{{"metadata":{{"finalizers":{finalizers}}}}}"#);
            vec![format!("> patch {name} -n {namespace} '{patch}'\n")]
        }
        10 => {
            let gone = r#"{"metadata":{"ownerReferences":null}}"#;
            vec![format!("> patch {name} -n {namespace} '{gone}'\n")]
        }
        _ => chain(dice, namespace),
    }
}

#[derive(Clone, Copy)]
struct Name {
    of: Of,
    number: u64,
}

/// A kind of owners.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Map,
    /// The server learns of it during the run.
    Widget,
    /// Its names are checked as parts of paths only.
    Role,
}

use Of::{Map, Role, Widget};

/// What Roles are called.
const ODD: [&str; 5] = ["my role", "a?b", "q#r", "system:x", "a+b&c=d"];
/// What an owner may be called, and no object: there is no path to it, so it is not there.
const NOWHERE: [&str; 2] = ["a/b", ".."];
/// The same, but what is asked of it, the API server refuses to say.
pub(crate) const REFUSED: [&str; 2] = ["50%", "."];
/// A text with a byte that is no UTF-8, before it is on its way to a manager.
pub(crate) const ODD_TEXT: &str = "odd-byte";

/// Each owns the next one, and the first is deleted.
fn chain(dice: &Dice, namespace: &str) -> Vec<String> {
    let of = |number| Name { of: Map, number };
    let mut acts = vec![of(0).with(namespace, &[], "")];
    let blocks = dice.chance(0.5);
    for number in 1..4 {
        acts.push(of(number).with(namespace, &[of(number - 1).as_owner(namespace, blocks)], ""));
    }
    acts.push(tick(dice.pick(&[1, 3000])));
    acts.push(format!("> delete {} -n {namespace} --cascade {}\n", of(0), dice.pick(&CASCADES)));
    acts
}

/// One that owns a few, and is deleted.
pub(crate) fn family(dice: &Dice) -> Vec<String> {
    let of = |number| Name { of: Map, number };
    let namespace = dice.pick(&NAMESPACES);
    let owner = of(0).as_owner(namespace, dice.chance(0.5));
    let mut acts = vec![of(0).with(namespace, &[], "")];
    for number in 1..3 + dice.below(3) {
        acts.push(of(number).with(namespace, std::slice::from_ref(&owner), ""));
    }
    acts.push(tick(dice.pick(&[1, 5000])));
    let cascade = dice.pick(&["background", "foreground", "orphan", "orphan"]);
    acts.push(format!("> delete {} -n {namespace} --cascade {cascade}\n", of(0)));
    acts
}

/// The server learns of the kind.
pub(crate) fn defined() -> String {
    applied(DEFINITION)
}

/// One that owns a few of the kind that is served later, and is deleted.
pub(crate) fn customs(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES);
    let top = Name { of: dice.pick(&[Map, Map, Widget]), number: 0 };
    let owner = top.as_owner(namespace, dice.chance(0.5));
    let mut acts = vec![top.with(namespace, &[], "")];
    for number in 1..3 + dice.below(2) {
        let name = Name { of: dice.pick(&[Map, Widget, Widget, Widget]), number };
        acts.push(name.with(namespace, std::slice::from_ref(&owner), ""));
    }
    acts.push(tick(dice.pick(&[1, 5000, 30_000, 60_000])));
    let cascade = dice.pick(&["background", "foreground", "orphan", "orphan"]);
    acts.push(format!("> delete {top} -n {namespace} --cascade {cascade}\n"));
    acts
}

/// An owner is there for those of its namespace that name it, and is not for those of another one.
pub(crate) fn afar(dice: &Dice) -> Vec<String> {
    let of = |number| Name { of: Map, number };
    let (here, there) = ("other", "default");
    let blocks = dice.chance(0.5);
    let owner = of(0).as_owner(here, blocks);
    vec![
        of(0).with(here, &[], ""),
        of(1).with(here, &[], ""),
        of(2).with(there, std::slice::from_ref(&owner), ""),
        tick(dice.pick(&[1, 3000])),
        of(3).with(here, &[owner, of(1).as_owner(here, blocks)], ""),
        tick(dice.pick(&[1, 3000])),
        format!("> delete {} -n {here} --cascade {}\n", of(1), dice.pick(&CASCADES)),
        tick(3000),
    ]
}

/// An owner is deleted, and there at once is another one of its name.
pub(crate) fn replaced(dice: &Dice) -> Vec<String> {
    let (owner, owned) =
        (Name { of: dice.pick(&[Map, Map, Widget]), number: 0 }, Name { of: Map, number: 1 });
    let namespace = dice.pick(&NAMESPACES);
    let mut acts = vec![
        owner.with(namespace, &[], ""),
        owned.with(namespace, &[owner.as_owner(namespace, dice.chance(0.5))], ""),
        tick(dice.pick(&[1, 3000, 30_000])),
        format!("> delete {owner} -n {namespace} --cascade background\n"),
        tick(dice.pick(&[1, 1, 300])),
        owner.with(namespace, &[], ""),
    ];
    if owner.of == Widget {
        acts.insert(0, applied(DEFINITION));
    }
    acts
}

/// Two that own each other.
fn circle(dice: &Dice, namespace: &str) -> Vec<String> {
    let (one, other) =
        (Name { of: Map, number: 0 }, Name { of: dice.pick(&[Map, Map, Widget]), number: 1 });
    let blocks = dice.chance(0.7);
    let mut acts = vec![
        one.with(namespace, &[], ""),
        other.with(namespace, &[one.as_owner(namespace, blocks)], ""),
        one.with(namespace, &[other.as_owner(namespace, blocks)], ""),
        tick(dice.pick(&[1, 3000])),
    ];
    if dice.chance(0.6) {
        acts.push(format!("> delete {one} -n {namespace} --cascade {}\n", dice.pick(&CASCADES)));
    }
    if other.of == Widget { [vec![applied(DEFINITION)], acts].concat() } else { acts }
}

/// One with owners of all sorts.
fn object(dice: &Dice, namespace: &str, name: Name) -> String {
    if name.of == Widget && dice.chance(0.3) {
        return applied(DEFINITION);
    }
    let owner = |_| {
        let blocks = dice.chance(0.4);
        match dice.below(9) {
            0..=3 => Name::draw(dice).as_owner(namespace, blocks),
            // In another namespace it does not count.
            4 => Name::draw(dice).as_owner("other", blocks),
            5 => reference("apps/v1", "Deployment", ("web", "deployment/web -n default"), blocks),
            6 => reference("v1", "ConfigMap", ("gone", "configmap/gone -n default"), blocks),
            7 => reference("v1", "Pod", ("gone", "pod/gone -n default"), blocks),
            _ => {
                let names = [&NOWHERE[..], &NOWHERE, &REFUSED, &[ODD_TEXT]];
                let name = dice.pick(&names.concat());
                reference("v1", "ConfigMap", (name, "configmap/gone -n default"), blocks)
            }
        }
    };
    let mut owners: Vec<String> = (0..dice.below(3)).map(owner).collect();
    owners.dedup();
    let more = match dice.below(14) {
        0..=1 => ", finalizers: [example.com/wait]".to_owned(),
        2 => format!(", annotations: {{note: {ODD_TEXT}}}"),
        _ => String::new(),
    };
    name.with(namespace, &owners, &more)
}

/// An owner that does not exist has a uid of its own: as upstream, the collector knows an owner by
/// its uid alone, and does not look again when a reference to one that it never saw changes its
/// kind. Servers make uids, so there is no odd byte in one.
fn reference(version: &str, kind: &str, (name, of): (&str, &str), blocks: bool) -> String {
    let made_up = name.replace(ODD_TEXT, "odd");
    format!(
        "{{apiVersion: {version}, kind: {kind}, name: '{name}', blockOwnerDeletion: {blocks}, \
        uid: '<<{of} .metadata.uid or 0-{kind}-{made_up}>>'}}"
    )
}

// === impl Name ===

impl Name {
    fn draw(dice: &Dice) -> Self {
        let of = dice.pick(&[Map, Map, Map, Map, Map, Widget, Widget, Role]);
        Self { of, number: dice.below(5) }
    }

    fn kind(self) -> (&'static str, &'static str) {
        match self.of {
            Map => ("v1", "ConfigMap"),
            Widget => ("sim.example.com/v1", "Widget"),
            Role => ("rbac.authorization.k8s.io/v1", "Role"),
        }
    }

    fn plain(self) -> String {
        let number = self.number;
        match self.of {
            Map => format!("map-{number}"),
            Widget => format!("widget-{number}"),
            Role => {
                let odd = usize::try_from(number).ok().and_then(|at| ODD.get(at));
                odd.copied().unwrap_or("plain").to_owned()
            }
        }
    }

    /// As one word of a command.
    fn word(self) -> String {
        let plural = match self.of {
            Map => "configmap",
            Widget => "widget",
            Role => "role",
        };
        format!("{plural}/{}", self.plain())
    }

    fn as_owner(self, namespace: &str, blocks: bool) -> String {
        let (version, kind) = self.kind();
        let (name, of) = (self.plain(), format!("{} -n {namespace}", self.word()));
        reference(version, kind, (&name, &of), blocks)
    }

    fn with(self, namespace: &str, owners: &[String], more: &str) -> String {
        let (version, kind) = self.kind();
        let (name, owners) = (self.plain(), owners.join(", "));
        applied(&format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: '{name}', namespace: \
            {namespace}, ownerReferences: [{owners}]{more}}}"
        ))
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = self.word();
        if word.contains(' ') { write!(f, "'{word}'") } else { f.write_str(&word) }
    }
}
