//! The kinds of storage.k8s.io.

mod attachment;
mod class;
mod csi;

pub use attachment::VolumeAttachment;
pub use class::{StorageClass, VolumeAttributesClass};
pub use csi::{CSIDriver, CSINode};
