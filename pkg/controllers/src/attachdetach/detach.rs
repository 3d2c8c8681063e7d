//! A volume on a node where it is attached for no pod. As the first half of `reconcile` in
//! upstream's attachdetach/reconciler, `verifyVolumeIsSafeToDetach`, and `Detach` in
//! pkg/volume/csi.
//!
//! It stays while something keeps it. Then it waits until its node does not use it any more, or is
//! given up; until the status of the node does not list it any more, so that the kubelet does not
//! mount it again; and for a live read that says the same. Then its attachment is deleted, and the
//! attacher detaches it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use api::{AttachPlugin, Kind as _, Node, Status, Text, VolumeAttachment};
use controller::{Count, Facts, ObjectRef, When, Write};
use mutant::Mutant;

use super::decide::{Draft, Listing, live};
use super::metrics::{FORCED_DETACHES, operation};
use super::snapshot::{Place, Snapshot};
use super::worlds;

/// How long a node that is not ready may take to unmount. Upstream's
/// `ReconcilerMaxWaitForUnmountDuration`.
const UNMOUNT_MAX: Duration = Duration::from_mins(6);
/// When to look again after a live read that the cache does not show yet.
const STALE: Duration = Duration::from_secs(5);
/// When to look again after something that keeps a volume although nothing needs it.
const KEPT: Duration = Duration::from_mins(1);

/// What is known of the node of a volume.
#[derive(Clone, Copy)]
struct Standing {
    in_use: bool,
    /// Whether it is ready.
    is_healthy: bool,
    /// Whether it is known to be down for good.
    is_out_of_service: bool,
}

/// Whether a volume may be detached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Permit {
    /// It is not in use.
    Safe,
    /// It may be in use, but for this reason.
    Forced(&'static str),
    /// Not now.
    No,
}

pub(super) fn decide(
    s: &Snapshot,
    (node, place): (&Text, &Place),
    facts: &Facts,
    draft: &mut Draft,
) {
    if !place.is_held(&s.volume) {
        return over(s, (node, place), draft);
    }
    if let Some(why) = &place.keeps {
        draft.says(node, format!("stays attached: {why}"));
        return keep(s, (node, place), draft);
    }
    let has_own = place.attachment.is_some() || place.memory.is_attached_by_node;
    if let (Some(foreign), false) = (&place.foreign, has_own || place.is_listed(&s.volume)) {
        let key = &foreign.meta.key;
        draft.says(node, format!("{key} has another name than ours would, and is left alone"));
        return draft.next(node, place.memory.clone(), Listing::Unsaid);
    }
    let since = place.memory.detach_since.unwrap_or(s.uptime);
    let mut memory = worlds::Place {
        name: place.memory.name.clone(),
        detach_since: Some(since),
        deleted_since: place.memory.deleted_since,
        is_attached_by_node: place.memory.is_attached_by_node || is_by_node(s),
        ..worlds::Place::default()
    };
    if let Some(attachment) = &place.attachment
        && attachment.meta.is_terminating()
    {
        let key = &attachment.meta.key;
        let mut text = format!("waits for the attacher to detach {key}");
        if let Some(error) = &attachment.detach_error {
            write!(text, ", which failed: {}", error.message).expect("a string takes all");
            let time = error.time.map(|time| time.to_string()).unwrap_or_default();
            let id: Text = format!("{time} {}", error.message).into();
            if place.memory.told_failure.as_ref() != Some(&id) {
                draft.counts(operation(s, "volume_detach", Err(()), since));
            }
            memory.told_failure = Some(id);
        }
        draft.says(node, text);
        return draft.next(node, memory, Listing::Dropped);
    }
    match place.cached_standing(&s.volume).permit(s, since) {
        Permit::Safe | Permit::Forced(_) => detach(s, (node, place), (since, memory), facts, draft),
        Permit::No => {
            says_in_use(s, (node, place), since, draft);
            draft.next(node, memory, Listing::Unsaid);
        }
    }
}

/// Nothing is left of it.
fn over(s: &Snapshot, (node, place): (&Text, &Place), draft: &mut Draft) {
    let worlds::Place { deleted_since, detach_since, .. } = &place.memory;
    if let Some(since) = deleted_since.or(*detach_since) {
        draft.says(node, "detached");
        draft.counts(operation(s, "volume_detach", Ok(()), since));
    } else {
        draft.says(node, "neither attached nor needed");
    }
    draft.ends(node);
}

fn keep(s: &Snapshot, (node, place): (&Text, &Place), draft: &mut Draft) {
    let memory = worlds::Place { detach_since: None, ..place.memory.clone() };
    let is_listed = place.is_listed(&s.volume) || memory.is_attached_by_node;
    // Upstream's sweep looks once a minute (`findAndRemoveDeletedPods`); what keeps the volume may
    // go without a change of anything that names it.
    draft.again(KEPT);
    draft.next(node, memory, if is_listed { Listing::Listed } else { Listing::Unsaid });
}

/// First the status of the node, then a live read, then the attachment.
fn detach(
    s: &Snapshot,
    (node, place): (&Text, &Place),
    (since, memory): (Duration, worlds::Place),
    facts: &Facts,
    draft: &mut Draft,
) {
    let is_ignored = mutant::is(Mutant::ListedIsDetached);
    if place.is_listed(&s.volume) && !is_ignored {
        draft.says(node, "waits until the status of the node does not list it any more");
        return draft.next(node, memory, Listing::Dropped);
    }
    if place.attachment.is_none() && !memory.is_attached_by_node {
        return over(s, (node, place), draft);
    }
    let Some(answer) = facts.get(&live(node)) else {
        draft.says(node, "is to be detached; what does a live read of the node say?");
        return draft.asks(live(node));
    };
    let live = match answer.view::<Node>() {
        Ok(live) => live,
        Err(refused) => {
            draft.says(node, "the node cannot be read live");
            draft.fails(format!("DetachVolume failed fetching node from API server: {refused}"));
            return draft.next(node, memory, Listing::Dropped);
        }
    };
    let is_other = |live: &Arc<Node>| {
        place.node.as_ref().is_none_or(|cached| cached.meta.uid != live.meta.uid)
    };
    if live.is_some_and(|live| is_other(live) || live.lists(&s.volume) && !is_ignored) {
        draft.says(node, "waits for the cache: the node is not as it shows");
        draft.again(STALE);
        return draft.next(node, memory, Listing::Dropped);
    }
    let standing = live.map_or_else(|| place.without_node(), |live| Standing::of(live, &s.volume));
    let permit = standing.permit(s, since);
    if permit == Permit::No {
        says_in_use(s, (node, place), since, draft);
        draft.again(STALE);
        return draft.next(node, memory, Listing::Dropped);
    }
    let Some(attachment) = &place.attachment else {
        // There is no object: it is detached.
        return over(s, (node, &Place { memory, ..place.clone() }), draft);
    };
    draft.says(node, permit.why());
    draft.writes(delete(s, attachment, permit, since));
    let memory = worlds::Place { deleted_since: Some(s.uptime), ..memory };
    draft.next(node, memory, Listing::Dropped);
}

fn delete(s: &Snapshot, attachment: &VolumeAttachment, permit: Permit, since: Duration) -> Write {
    let mut counts = vec![operation(s, "volume_detach", Err(()), since).when(When::Failed)];
    if let Permit::Forced(reason) = permit {
        counts.push(Count::one(&FORCED_DETACHES).labels([reason]).when(When::Done));
    }
    let object = ObjectRef::new(&VolumeAttachment::RESOURCE, &attachment.meta);
    Write::delete(object).counted(counts)
}

fn says_in_use(s: &Snapshot, (node, place): (&Text, &Place), since: Duration, draft: &mut Draft) {
    let left = (since + UNMOUNT_MAX).saturating_sub(s.uptime);
    let what = match (&place.node, place.was_in_use) {
        (Some(_), _) => "it is in use by the node, as the node's status says",
        (None, Some(_)) => "it was in use by the node, which was deleted",
        (None, None) => "it may be in use by the node, which is not there",
    };
    if !s.options.forces_on_timeout {
        return draft.says(node, format!("{what}; it is never detached by force"));
    }
    if left.is_zero() {
        return draft.says(node, format!("{what}; the node is ready"));
    }
    let seconds = left.as_secs();
    draft
        .says(node, format!("{what}; detached by force after {seconds}s if the node is not ready"));
    draft.again(left);
}

fn is_by_node(s: &Snapshot) -> bool {
    matches!(s.plugin, AttachPlugin::ByNode)
}

// === impl Place ===

impl Place {
    /// What the caches say of the node.
    fn cached_standing(&self, volume: &str) -> Standing {
        self.node.as_ref().map_or_else(|| self.without_node(), |node| Standing::of(node, volume))
    }

    /// As upstream, a volume counts as in use until something says that it is not.
    fn without_node(&self) -> Standing {
        let in_use = self.was_in_use.unwrap_or(true);
        Standing { in_use, is_healthy: false, is_out_of_service: false }
    }
}

// === impl Standing ===

impl Standing {
    fn of(node: &Node, volume: &str) -> Self {
        Self {
            in_use: node.uses(volume) && !mutant::is(Mutant::UsedIsDetached),
            is_healthy: node.ready == Some(Status::True),
            is_out_of_service: node.is_out_of_service(),
        }
    }

    fn permit(self, s: &Snapshot, since: Duration) -> Permit {
        let is_expired = s.uptime.saturating_sub(since) >= UNMOUNT_MAX;
        let may_force = s.options.forces_on_timeout && is_expired && !self.is_healthy;
        match self {
            _ if may_force => Permit::Forced("timeout"),
            Self { is_out_of_service: true, .. } => Permit::Forced("out-of-service"),
            Self { in_use: true, .. } => Permit::No,
            Self { in_use: false, .. } => Permit::Safe,
        }
    }
}

// === impl Permit ===

impl Permit {
    fn why(self) -> &'static str {
        match self {
            Self::Safe => "is detached: no pod needs it, and the node does not use it",
            Self::Forced("timeout") => {
                "is detached by force: the node is not ready, and six minutes have passed"
            }
            Self::Forced(_) => "is detached by force: the node is out of service",
            Self::No => "is not detached",
        }
    }
}
