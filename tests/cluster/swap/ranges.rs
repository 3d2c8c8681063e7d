//! A range of addresses that is ready, and one that is deleted while a Service has an address of
//! it.

use cluster_tests::Objects;
use serde_json::{Value, json};

pub(super) const RANGES: &str = "servicecidrs.v1.networking.k8s.io";

/// Returns once all are as they stay.
pub(super) async fn make(objects: &Objects) -> anyhow::Result<()> {
    let all = objects.of_all();
    for (name, cidrs) in [("spare", json!(["10.97.0.0/24"])), ("taken", json!(["10.98.0.0/24"]))] {
        let range = json!({"metadata": {"name": name}, "spec": {"cidrs": cidrs}});
        all.create(RANGES, &range).await?;
        says(&all, name, "True").await?;
    }
    let spec = json!({"clusterIP": "10.98.0.7", "ports": [{"port": 80}]});
    objects.create("services", &json!({"metadata": {"name": "far"}, "spec": spec})).await?;
    all.delete(RANGES, "taken").await?;
    says(&all, "taken", "False").await?;
    says(&all, "kubernetes", "True").await
}

/// The range goes with the Service.
pub(super) async fn go_on(objects: &Objects) -> anyhow::Result<()> {
    let all = objects.of_all();
    objects.delete("services", "far").await?;
    all.gone(RANGES, "taken").await?;
    all.get(RANGES, "spare").await.map(drop)
}

async fn says(all: &Objects, name: &str, status: &str) -> anyhow::Result<()> {
    let is_so = |range: &Value| range["status"]["conditions"][0]["status"] == status;
    all.wait(RANGES, name, &format!("to say {status} of Ready"), is_so).await.map(drop)
}
