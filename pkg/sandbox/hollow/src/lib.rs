//! Nodes, kubelets, a scheduler, volumes and a cloud that are not there: what they would say,
//! without running anything.
//!
//! Each but the [`Cloud`] is a [`Part`]: a state machine that is shown what changed and the time,
//! and returns requests to the API server and the time when it wants to be asked again. This crate
//! is pure; `pkg/sandbox/server` calls them and sends their requests.
//!
//! # What a pod can ask for
//!
//! Annotations say how a pod's containers behave. Durations are written like `2s`, `500ms`,
//! `1m30s`. Those marked with * also exist for one container, `sandbox/run-for.web`, which goes
//! before the one for all; containers that initialize read only that form.
//!
//! | annotation | means | default |
//! |---|---|---|
//! | `sandbox/start-delay` | sandbox and images take this long | 0.7 s to 1.3 s |
//! | `sandbox/ready-delay` * | from running to ready | the readiness probe's delay, or 0 |
//! | `sandbox/not-ready` * | never ready, unless `false`; may change at any time | |
//! | `sandbox/run-for` * | containers end after this | see below |
//! | `sandbox/exit-code` * | the code they end with; `0,42,0`: by completion index | 0 |
//! | `sandbox/stop-delay` * | how long they take to stop | 0.3 s to 0.7 s |
//! | `sandbox/stop-code` * | the code they end with then, such as 143 | 0 |
//!
//! Pods of a Job that end run for about 5 s, containers that initialize for 1 s; all others run on.
//! A container that has not stopped at the end of the grace is killed: exit code 137.
//!
//! An image whose registry's host ends in `.invalid` cannot be pulled.
//!
//! # What a claim gets
//!
//! Each volume claim gets a volume of its own, `pvc-` and the uid of the claim, and is bound to it
//! at once, whatever class it names; the volume is deleted after the claim. One with the annotation
//! `sandbox/unbound`, or that names another volume, is left alone. Where a controller binds,
//! volumes are only made for the claims that ask for the provisioner `sandbox/hollow`, and deleted
//! once they are released.
//!
//! A VolumeAttachment of the driver `hollow.sandbox` is attached a second after it was made, and
//! gone a second after it is deleted.
//!
//! # What a Service gets
//!
//! A load balancer of the [`Cloud`] is an address of 198.18.0.0/15: the first free one, or the one
//! that `loadBalancerIP` names. With the annotation `sandbox/load-balancer-error` on the Service it
//! fails with that text. A machine that is switched off is shut down; one that was terminated does
//! not exist.
//!
//! # How a node joins
//!
//! Most kubelets need no certificates. One that was added by [`Kubelet::join`] asks as a kubelet
//! with `rotateCertificates` and `serverTLSBootstrap`: as the user of a bootstrap token for a
//! client certificate, which must be for its key, and registers with that. Then it asks, as its
//! node, for a serving certificate, and for the next one of each after 70% to 90% of its time. What
//! is denied, fails, or is not decided within 15 minutes it asks for again, with a new key.
//!
//! # Limits
//!
//! Kubelets register their nodes ready. They run no probes, hooks, static or ephemeral containers,
//! mount nothing, turn no pod away and evict none; `containerStatuses` say nothing of volume mounts
//! and users; a pod keeps its address when its machine was off. A kubelet that is new to a pod that
//! already ran starts it from the beginning. One whose certificate has expired goes on.
//!
//! The scheduler knows no volumes but that claims exist, bound or not, no disruption budgets, no
//! gangs and no dynamic resources. It scores resources (least allocated, balanced), preferred node
//! affinity, soft taints, spreading and what the pod itself likes of others; not what others like
//! of it, nor images. Without constraints it spreads the pods of one controller, whatever Services
//! select.

mod alarms;
mod attacher;
mod cloud;
mod event;
mod fields;
mod kinds;
mod kubelet;
mod part;
mod scheduler;
mod seed;
mod span;
mod volumes;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

pub use attacher::Attacher;
pub use cloud::Cloud;
pub use kubelet::{Keys, Kubelet, Nodes, Wanted};
pub use part::{Change, Part, Reaction, Request, Sender, Sent, Target};
pub use scheduler::Scheduler;
pub use volumes::Volumes;
