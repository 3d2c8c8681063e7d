//! Install manifests of projects in wide use, as they publish them.

use super::LIMIT;
use anyhow::{Context, ensure};
use cluster_tests::{Sandbox, wait_until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Go modules, since these can be had from everywhere; `manifests/go.sum` says what they hold.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cluster/manifests");

const MANIFESTS: [Manifest; 7] = [
    Manifest {
        module: "github.com/flannel-io/flannel@v0.28.10",
        path: "Documentation/kube-flannel.yml",
        how: How::File,
        objects: 6,
    },
    Manifest {
        module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        path: "bundle.yaml",
        how: How::FileTooLongForAnAnnotation,
        objects: 15,
    },
    Manifest {
        module: "go.universe.tf/metallb@v0.15.2",
        path: "config/manifests/metallb-frr.yaml",
        how: How::File,
        objects: 26,
    },
    Manifest {
        module: "sigs.k8s.io/descheduler@v0.36.0",
        path: "kubernetes/deployment",
        how: How::Kustomization,
        objects: 7,
    },
    Manifest {
        module: "sigs.k8s.io/kwok@v0.7.0",
        path: "kustomize/kwok",
        how: How::Kustomization,
        objects: 19,
    },
    Manifest {
        module: "sigs.k8s.io/metrics-server@v0.9.0",
        path: "manifests/base",
        how: How::Kustomization,
        objects: 9,
    },
    Manifest {
        module: "sigs.k8s.io/node-feature-discovery@v0.18.3",
        path: "deployment/overlays/default",
        how: How::Kustomization,
        objects: 18,
    },
];

struct Manifest {
    module: &'static str,
    path: &'static str,
    how: How,
    objects: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    File,
    /// Its definitions cannot be applied by the client, on a real cluster neither.
    FileTooLongForAnAnnotation,
    Kustomization,
}

/// Issue: a demo on which `kubectl apply -f` of something real fails convinces no user.
#[tokio::test]
async fn manifests_of_others_roll_out_and_go() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(3).await?;
    let before = all(&sandbox).await?;
    for apply in ["apply", "apply --server-side --force-conflicts"] {
        let mut applied = Vec::new();
        for manifest in &MANIFESTS {
            let file = manifest.file()?;
            if apply == "apply" && manifest.how == How::FileTooLongForAnAnnotation {
                let said = sandbox.kubectl(&format!("apply {file}")).await?;
                let why = "metadata.annotations: Too long: may not be more than 262144 bytes";
                ensure!(said.code == 1 && said.err.contains(why), "{}", said.err);
                sandbox.must(&format!("delete {file} --ignore-not-found")).await?;
                continue;
            }
            // A warning is a find, but for what the manifest itself is to be blamed for.
            let said = sandbox.kubectl(&format!("{apply} {file}")).await?;
            let warnings = said.err.lines().filter(|line| line.starts_with("Warning:"));
            let warnings = warnings.filter(|line| !line.contains("duplicate port name"));
            let warnings: Vec<_> = warnings.collect();
            ensure!(said.code == 0 && warnings.is_empty(), "{file}: {}", said.err);
            let objects = said.out.lines().count();
            ensure!(objects == manifest.objects, "{file}: {objects}\n{}", said.out);
            applied.push(file);
        }
        rolled_out(&sandbox).await?;
        let file = MANIFESTS[0].file()?;
        let again = sandbox.must(&format!("{apply} {file}")).await?;
        let end = if apply == "apply" { " unchanged" } else { " serverside-applied" };
        ensure!(again.lines().all(|line| line.ends_with(end)), "{again}");
        for file in applied.iter().rev() {
            sandbox.must(&format!("delete {file} --ignore-not-found")).await?;
        }
        let gone = async || {
            let left = all(&sandbox).await?;
            let left: Vec<_> = left.symmetric_difference(&before).collect();
            ensure!(left.is_empty(), "{left:?}");
            Ok(Some(()))
        };
        wait_until("everything to be deleted", LIMIT, gone).await?;
    }
    Ok(())
}

// === impl Manifest ===

impl Manifest {
    /// As kubectl's flag.
    fn file(&self) -> anyhow::Result<String> {
        let arguments = ["mod", "download", "-json", self.module];
        let made = Command::new("go").args(arguments).current_dir(FOLDER).output()?;
        let said: Value = serde_json::from_slice(&made.stdout).context("what go says")?;
        let folder = said.get("Dir").and_then(Value::as_str);
        let folder = folder.with_context(|| format!("{}: {said}", self.module))?;
        let flag = if self.how == How::Kustomization { "-k" } else { "-f" };
        Ok(format!("{flag} {folder}/{}", self.path))
    }
}

async fn rolled_out(sandbox: &Sandbox) -> anyhow::Result<()> {
    let workloads = "get deployments,daemonsets -A -o jsonpath='{range .items[*]}{.kind}/\
                     {.metadata.name} -n {.metadata.namespace}{\"\\n\"}{end}'";
    let workloads = sandbox.must(workloads).await?;
    ensure!(workloads.lines().count() >= 8, "{workloads}");
    for workload in workloads.lines() {
        sandbox.must(&format!("rollout status --timeout=120s {workload}")).await?;
    }
    Ok(())
}

/// All objects but those that come and go by themselves.
async fn all(sandbox: &Sandbox) -> anyhow::Result<BTreeSet<String>> {
    let resources = sandbox.must("api-resources --verbs=list -o name").await?;
    let resources: Vec<_> = resources.lines().filter(|it| *it != "events").collect();
    let path = "'{range .items[*]}{.kind} {.metadata.namespace} {.metadata.name}{\"\\n\"}{end}'";
    let names = sandbox.must(&format!("get {} -A -o jsonpath={path}", resources.join(","))).await?;
    Ok(names.lines().map(str::to_owned).collect())
}
