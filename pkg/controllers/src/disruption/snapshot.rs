//! What a decision about a budget looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Amount, Key, Labels, Pod, PodDisruptionBudget, Text, Time};
use controller::View;

use super::managers::{self, Manager};

/// A budget and its pods at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The budget.
    pub budget: Arc<PodDisruptionBudget>,
    /// The pods that it is for, sorted by name.
    pub pods: Vec<Arc<Pod>>,
    /// What manages these pods, by the uid that they name; empty if the sizes of workloads do not
    /// count.
    pub managers: BTreeMap<Text, Manager>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let budget = view.of::<PodDisruptionBudget>().get(key)?;
    let mut pods = Vec::new();
    if let Ok(Some(selector)) = &budget.selector {
        pods = view.of::<Pod>().by(Pod::BY_NAMESPACE, &key.namespace);
        pods.retain(|pod| selector.matches(&pod.meta.labels));
    }
    let mut managers = BTreeMap::new();
    if counts_workloads(&budget) {
        for owner in pods.iter().filter_map(|pod| pod.meta.controller()) {
            if !managers.contains_key(&owner.uid) {
                managers.insert(owner.uid.clone(), managers::find(owner, &key.namespace, view));
            }
        }
    }
    Some(Snapshot { now: view.now, budget, pods, managers })
}

/// The budgets of a namespace that are for pods with these labels, sorted by name.
pub(super) fn budgets_for(
    namespace: &str,
    labels: &Labels,
    view: &View<'_>,
) -> Vec<Arc<PodDisruptionBudget>> {
    let budgets = view.of::<PodDisruptionBudget>();
    let mut budgets = budgets.by(PodDisruptionBudget::BY_NAMESPACE, namespace);
    budgets.retain(|budget| budget.is_for(labels));
    budgets
}

/// Whether the pods that there should be are those that their workloads ask for; else they are
/// those that there are.
pub(super) fn counts_workloads(budget: &PodDisruptionBudget) -> bool {
    budget.max_unavailable.is_some() || matches!(budget.min_available, Some(Amount::Share(_)))
}
