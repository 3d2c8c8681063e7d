//! `status.volumesAttached` of a node. As upstream's attachdetach/statusupdater, and
//! `VerifyVolumesAreAttached`.

use std::time::Duration;

use api::{AttachPlugin, Key, Kind as _, Node, Text, VolumeAttachment};
use controller::{Facts, ObjectRef, Plan, Query, Step, Write};
use serde_json::{Value, json};

use super::decide::Verdict;
use super::snapshot::NodeSnapshot;

/// When to look again at an attachment that exists and that the cache does not show.
const STALE: Duration = Duration::from_secs(5);

/// What stands behind a volume that is listed as attached.
enum Backing {
    /// Its attachment is attached, or it needs none.
    Attached,
    /// There is an attachment, which is not attached.
    NotAttached,
    /// The cache has no attachment of this name.
    Unseen(Text),
}

pub(super) fn decide(s: &NodeSnapshot, facts: &Facts) -> (Plan, Verdict) {
    let mut kept: Vec<(&Text, &str)> = Vec::new();
    let (mut queries, mut again, mut is_unbacked) = (Vec::new(), None, false);
    let due = s.options.sync_period.map(|period| {
        let since = s.unbacked_since.unwrap_or(s.uptime);
        (since + period).saturating_sub(s.uptime)
    });
    for (volume, path) in &s.node.volumes_attached {
        if s.dropped.contains(volume) {
            continue;
        }
        let backing = s.backing(volume);
        let stays = match (backing, due) {
            (Backing::Attached, _) | (_, None) => true,
            (_, Some(left)) if !left.is_zero() => {
                (again, is_unbacked) = (Some(left), true);
                true
            }
            (Backing::NotAttached, Some(_)) => false,
            (Backing::Unseen(name), Some(_)) => {
                let query = Query::metadata(VolumeAttachment::RESOURCE, Key::new("", &name));
                match facts.get(&query).map(controller::Answer::metadata) {
                    Some(Ok(None)) => false,
                    Some(Ok(Some(_)) | Err(_)) => {
                        (again, is_unbacked) = (Some(STALE), true);
                        true
                    }
                    None => {
                        queries.push(query);
                        true
                    }
                }
            }
        };
        if stays {
            kept.push((volume, path));
        }
    }
    let verdict = Verdict::Node { is_unbacked };
    if !queries.is_empty() {
        let why = "the node lists volumes without attachments; are there none?";
        return (Plan::fetch(why, queries), verdict);
    }
    for volume in &s.listing {
        let is_new = !kept.iter().any(|(known, _)| *known == volume);
        if is_new && matches!(s.backing(volume), Backing::Attached) {
            kept.push((volume, ""));
        }
    }
    let now = s.node.volumes_attached.iter().map(|(volume, _)| volume);
    if now.eq(kept.iter().map(|(volume, _)| *volume)) {
        return (Plan::rest("the node lists what is attached").again_after(again), verdict);
    }
    let why = format!("the node is to list {} volumes as attached", kept.len());
    let plan = Plan::one(why, Step::InOrder(vec![patch(&s.node, &kept).into()]));
    (plan.again_after(again), verdict)
}

fn patch(node: &Node, listed: &[(&Text, &str)]) -> Write {
    let entry = |(volume, path): &(&Text, &str)| json!({"name": &***volume, "devicePath": path});
    let listed = match listed {
        [] => Value::Null,
        listed => listed.iter().map(entry).collect(),
    };
    let body = json!({
        "metadata": {"uid": &*node.meta.uid},
        "status": {"volumesAttached": listed},
    });
    Write::strategic(ObjectRef::new(&Node::RESOURCE, &node.meta), body.to_string()).at("status")
}

// === impl NodeSnapshot ===

impl NodeSnapshot {
    fn backing(&self, volume: &Text) -> Backing {
        if !matches!(AttachPlugin::of(volume), Some(AttachPlugin::Csi { .. })) {
            // Of fibre channel and iSCSI, or of a plugin that is not known here.
            return Backing::Attached;
        }
        match self.attachments.get(volume) {
            Some((_, Some(attachment))) if attachment.attached => Backing::Attached,
            Some((_, Some(_))) => Backing::NotAttached,
            Some((name, None)) => Backing::Unseen(name.clone()),
            None => Backing::Attached,
        }
    }
}
