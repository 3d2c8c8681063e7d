//! The kinds of the core group, but for pods and ReplicationControllers.

mod configmap;
mod endpoints;
mod event;
mod limitrange;
mod namespace;
mod node;
mod persistentvolume;
mod persistentvolumeclaim;
mod podtemplate;
mod resourcequota;
mod secret;
mod service;
mod serviceaccount;

pub use configmap::ConfigMap;
pub use endpoints::Endpoints;
pub use event::Event;
pub use limitrange::LimitRange;
pub use namespace::Namespace;
pub use node::Node;
pub use persistentvolume::PersistentVolume;
pub use persistentvolumeclaim::PersistentVolumeClaim;
pub use podtemplate::PodTemplate;
pub use resourcequota::ResourceQuota;
pub use secret::Secret;
pub use service::Service;
pub use serviceaccount::ServiceAccount;
