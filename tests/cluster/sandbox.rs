//! The sandbox as people have it: the program, and the real kubectl.

mod abuse;
mod manifests;
mod page;
mod protobuf;
mod rbac;

use anyhow::ensure;
use cluster_tests::{Sandbox, wait_until};
use k8s_openapi::ByteString;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);

const APP: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {team: a}}
spec:
  replicas: 2
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers: [{name: main, image: "app:1", env: [{name: A, value: b}]}]
"#;

const AGENT: &str = r#"
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: main, image: "agent:1"}]
"#;

const BAD: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: bad}
spec:
  replicaz: 2
  selector: {matchLabels: {app: bad}}
  template:
    metadata: {labels: {app: other}}
    spec:
      containers: [{name: main, image: "app:1"}]
"#;

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wg], categories: [all]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.n}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Color, type: string, jsonPath: .spec.color, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer}, color: {type: string, description: Of all of it.}}
";

/// A command, its exit code, and what it says in this order, on either output.
type Step = (&'static str, i32, &'static [&'static str]);

/// Plays steps; an error shows all that went wrong.
async fn play(sandbox: &Sandbox, steps: &[Step]) -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for (line, code, expected) in steps {
        let said = sandbox.kubectl(line).await?;
        let all = format!("{}{}", said.out, said.err);
        let mut rest = &*all;
        let is_said = expected.iter().all(|part| {
            let found = rest.find(part);
            rest = found.map_or("", |at| &rest[at + part.len()..]);
            found.is_some()
        });
        if said.code != *code || !is_said {
            wrong.push(format!("$ kubectl {line}\n{all}[exit {}]\nnot: {expected:?}", said.code));
        }
    }
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    Ok(())
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn everything_can_be_looked_at() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(2).await?;
    sandbox.write("agent.yaml", AGENT)?;
    play(
        &sandbox,
        &[
            ("create deployment web --image=nginx --replicas=2 --port=80", 0, &["web created"]),
            ("apply -f agent.yaml", 0, &["daemonset.apps/agent created"]),
            ("rollout status deployment/web", 0, &["successfully rolled out"]),
            ("rollout status daemonset/agent", 0, &["successfully rolled out"]),
            ("get nodes", 0, &["NAME     STATUS   ROLES    AGE", "node-0   Ready    <none>"]),
            ("get nodes -o wide", 0, &["INTERNAL-IP", "CONTAINER-RUNTIME", "hollow://"]),
            ("get nodes --show-labels", 0, &["LABELS", "kubernetes.io/hostname=node-0"]),
            (
                "get pods -o wide",
                0,
                &["IP", "NODE", "NOMINATED NODE", "1/1     Running   0", "10.244."],
            ),
            (
                "get pods -o name --sort-by=.metadata.name",
                0,
                &["pod/agent", "pod/agent", "pod/web"],
            ),
            (
                "get pods -A -l app=web --field-selector=status.phase=Running",
                0,
                &["default", "web-"],
            ),
            ("get pods -l app=none", 0, &["No resources found in default namespace."]),
            ("get pods -l 'a in (b'", 1, &["unable to parse requirement"]),
            ("get pods --field-selector=a=b", 1, &["field label not supported: a"]),
            ("get pods --chunk-size=1 --no-headers | wc -l", 0, &["4"]),
            ("get pod none", 1, &["Error from server (NotFound): pods \"none\" not found"]),
            ("get nothing", 1, &["the server doesn't have a resource type \"nothing\""]),
            (
                "get deploy,rs,ds -L app",
                0,
                &["deployment.apps/web", "2/2", "replicaset.apps/web", "UP-TO"],
            ),
            (
                "get all -A",
                0,
                &["pod/web", "service/kubernetes", "daemonset.apps/agent", "replicaset"],
            ),
            ("get deploy web -o json", 0, &["\"kind\": \"Deployment\"", "\"readyReplicas\": 2"]),
            ("get deploy web -o yaml", 0, &["kind: Deployment", "observedGeneration: 1"]),
            ("get deploy web -o jsonpath='{.status.replicas}'", 0, &["2"]),
            ("get deploy -o custom-columns=N:.metadata.name", 0, &["N\nweb\n"]),
            (
                "get deploy web --subresource=scale",
                0,
                &["NAME   DESIRED   AVAILABLE   AGE", "web    2  "],
            ),
            (
                "get ns,svc,ep,endpointslices,cm,sa,events,leases -A",
                0,
                &["namespace/default", "10.96.0.1"],
            ),
            ("get controllerrevisions", 0, &["daemonset.apps/agent   1"]),
            ("get priorityclasses", 0, &["VALUE", "system-node-critical", "2000001000"]),
            ("get pods -w --request-timeout=1s", 0, &["NAME", "web-"]),
            ("get pods --watch-only --request-timeout=1s", 0, &[]),
            (
                "events --for deployment/web",
                0,
                &["ScalingReplicaSet", "Scaled up replica set web-"],
            ),
            (
                "describe node node-0",
                0,
                &["Taints:", "MemoryPressure", "Capacity:", "Events:", "Starting"],
            ),
            (
                "describe deployment web",
                0,
                &["RollingUpdate", "NewReplicaSetAvailable", "NewReplicaSet:"],
            ),
            (
                "describe daemonset agent",
                0,
                &["Desired Number of Nodes Scheduled: 2", "SuccessfulCreate"],
            ),
            (
                "describe replicaset",
                0,
                &["Controlled By:  Deployment/web", "2 Running / 0 Waiting"],
            ),
            (
                "describe pods -l app=web --show-events",
                0,
                &["QoS Class:", "BestEffort", "Scheduled", "Pulled", "Started"],
            ),
            ("describe ns default", 0, &["Status:       Active", "No resource quota."]),
            ("describe svc kubernetes", 0, &["10.96.0.1", "443/TCP"]),
            ("api-resources", 0, &["deployments", "deploy", "apps/v1", "true"]),
            ("api-versions", 0, &["apps/v1\n", "policy/v1\n"]),
            ("version", 0, &["Server Version: v1.36.3"]),
            ("cluster-info", 0, &["control plane", "is running at"]),
            ("cluster-info dump", 0, &["\"kind\": \"NodeList\""]),
            ("explain deployment.spec.strategy", 0, &["rollingUpdate\t<RollingUpdateDeployment>"]),
            ("get --raw /healthz", 0, &["ok"]),
            ("get --raw '/readyz?verbose'", 0, &["[+]ping ok", "readyz check passed"]),
            ("auth can-i list pods", 0, &["yes"]),
            ("auth can-i --list", 0, &["*.*"]),
            ("auth whoami --as=jane", 0, &["Username    jane"]),
            ("get pods --as=jane", 1, &["User \"jane\" cannot list resource \"pods\""]),
            ("top nodes", 1, &["error: Metrics API not available"]),
            ("logs deployment/web", 0, &["this pod is hollow, nothing runs in it"]),
            (
                "exec deployment/web -- ls",
                1,
                &["the sandbox runs no containers: pods/exec is not there"],
            ),
            (
                "attach deployment/web",
                1,
                &["the sandbox runs no containers: pods/attach is not there"],
            ),
            ("port-forward deployment/web 1:80", 1, &["the sandbox runs no containers"]),
        ],
    )
    .await
}

/// `create` and the others that use typed clients send protobuf.
#[tokio::test]
async fn everything_can_be_created() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(1).await?;
    sandbox.write("bad.yaml", BAD)?;
    sandbox.write("request.json", &certificate_request()?.to_string())?;
    play(
        &sandbox,
        &[
            ("create namespace n", 0, &["namespace/n created"]),
            ("create namespace n", 1, &["(AlreadyExists): namespaces \"n\" already exists"]),
            ("create namespace a_b", 1, &["metadata.name: Invalid value: \"a_b\": a lowercase"]),
            ("create deployment d --image=a -n n", 0, &["deployment.apps/d created"]),
            ("create deployment d --image=a -n none", 1, &["namespaces \"none\" not found"]),
            (
                "create deployment x --image=a --dry-run=server -o yaml",
                0,
                &["uid:", "maxSurge: 25%"],
            ),
            ("get deployment x", 1, &["not found"]),
            ("create configmap c --from-literal=a=b", 0, &["created"]),
            ("get configmap c -o jsonpath='{.data}'", 0, &["{\"a\":\"b\"}"]),
            ("create secret generic s --from-literal=a=b", 0, &["created"]),
            ("get secret s -o jsonpath='{.data}'", 0, &["{\"a\":\"Yg==\"}"]),
            ("create serviceaccount sa", 0, &["created"]),
            ("create token sa", 0, &["sandbox."]),
            ("create service nodeport web --tcp=80:8080", 0, &["created"]),
            ("get service web", 0, &["NodePort", "10.", "80:3"]),
            ("create job j --image=a -- true", 0, &["created"]),
            ("create cronjob cj --image=a --schedule='*/5 * * * *' -- true", 0, &["created"]),
            ("create cronjob cj2 --image=a --schedule='nonsense' -- true", 1, &["spec.schedule"]),
            ("create role r --verb=get --resource=pods", 0, &["created"]),
            ("create rolebinding rb --role=r --user=u", 0, &["created"]),
            ("create clusterrolebinding crb --clusterrole=view --user=u", 0, &["created"]),
            ("set subject clusterrolebinding crb --user=v", 0, &["subjects updated"]),
            ("create ingress i --rule=h/p=web:80", 0, &["created"]),
            ("create poddisruptionbudget p --selector=app=d --min-available=1", 0, &["created"]),
            ("create priorityclass pc --value=10", 0, &["created"]),
            ("create quota q --hard=pods=10", 0, &["created"]),
            ("create -f bad.yaml", 1, &["strict decoding error: unknown field \"spec.replicaz\""]),
            (
                "create -f bad.yaml --validate=warn",
                1,
                &["Warning: unknown field \"spec.replicaz\"", "`selector` does not match template"],
            ),
            ("run r --image=a", 0, &["pod/r created"]),
            ("expose deployment d -n n --port=80", 0, &["service/d exposed"]),
            ("autoscale deployment d -n n --max=3", 0, &["autoscaled"]),
            ("get hpa -n n", 0, &["Deployment/d", "<unknown>/80%", "1         3"]),
            (
                "get job,cj,ing,pdb,quota,roles,rolebindings",
                0,
                &["job.batch/j", "0/1", "*/5 * * * *"],
            ),
            ("describe job,cj,ing,pdb,quota,cm,secret,sa,roles", 0, &["Name:"]),
            ("delete namespace n", 0, &["namespace \"n\" deleted"]),
            ("get all -n n", 0, &["No resources found in n namespace."]),
            ("delete namespace default", 1, &["this namespace may not be deleted"]),
            ("apply -f request.json", 0, &["created"]),
            ("get csr", 0, &["Pending"]),
            ("certificate approve me", 0, &["approved"]),
            ("get csr", 0, &["kubernetes-admin", "Approved"]),
        ],
    )
    .await
}

/// Issue: `kubectl create job --from=cronjob/…` and `kubectl wait`.
#[tokio::test]
async fn jobs_are_made_by_hand_and_awaited() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(1).await?;
    play(
        &sandbox,
        &[
            ("create cronjob cj --image=a --schedule='0 0 1 1 *' -- true", 0, &["created"]),
            (
                "patch cronjob cj --type=json -p '[{\"op\": \"add\", \
                 \"path\": \"/spec/jobTemplate/spec/template/metadata/annotations\", \
                 \"value\": {\"sandbox/run-for\": \"1s\"}}]'",
                0,
                &["cronjob.batch/cj patched"],
            ),
            ("create job by-hand --from=cronjob/cj", 0, &["job.batch/by-hand created"]),
            ("wait --for=condition=Complete job/by-hand --timeout=40s", 0, &["condition met"]),
            ("get job by-hand", 0, &["Complete", "1/1"]),
            ("wait --for=condition=Failed job/by-hand --timeout=1s", 1, &["timed out waiting"]),
        ],
    )
    .await
}

fn certificate_request() -> anyhow::Result<Value> {
    let request = CertificateParams::new(Vec::new())?.serialize_request(&KeyPair::generate()?)?;
    Ok(json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "me"},
        "spec": {
            "request": ByteString(request.pem()?.into_bytes()),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }))
}

#[tokio::test]
async fn objects_are_applied_and_changed() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(2).await?;
    sandbox.write("app.yaml", APP)?;
    let less = APP.replace("app:1", "app:2").replace(", labels: {team: a}", "");
    sandbox.write("less.yaml", &less.replace(", env: [{name: A, value: b}]", ""))?;
    let containers =
        "get deploy app -o jsonpath='{.metadata.labels}{.spec.template.spec.containers}'";
    play(&sandbox, &[
        ("apply -f app.yaml", 0, &["deployment.apps/app created"]),
        ("apply -f app.yaml", 0, &["deployment.apps/app unchanged"]),
        ("diff -f less.yaml", 1, &["-  generation: 1", "-    team: a", "+      - image: app:2"]),
        ("diff -f app.yaml", 0, &[]),
        ("apply -f less.yaml --dry-run=server", 0, &["configured (server dry run)"]),
        ("apply -f less.yaml", 0, &["deployment.apps/app configured"]),
        (containers, 0, &["[{\"image\":\"app:2\",\"imagePullPolicy\":\"IfNotPresent\""]),
        ("apply --server-side -f app.yaml", 0, &["serverside-applied"]),
        (
            "apply --server-side --field-manager=other -f less.yaml",
            1,
            &["conflict with \"kubectl\": .spec.template.spec.containers[name=\"main\"].image"],
        ),
        (
            "apply --server-side --field-manager=other -f less.yaml --force-conflicts",
            0,
            &["serverside-applied"],
        ),
        ("get deploy app -o yaml --show-managed-fields", 0, &["manager: kubectl", ": other"]),
        ("rollout status deploy app", 0, &["successfully rolled out"]),
        ("get deploy app -o json >d.json", 0, &[]),
        ("version; EDITOR='sed -i s/app:2/app:3/' kubectl edit deploy app", 0, &["edited"]),
        ("rollout status deploy app", 0, &["successfully rolled out"]),
        ("rollout history deploy app", 0, &["REVISION  CHANGE-CAUSE\n", "\n3", "\n4"]),
        ("rollout undo deploy app", 0, &["rolled back"]),
        ("rollout undo deploy app --to-revision=99", 1, &["unable to find specified revision 99"]),
        ("rollout status deploy app", 0, &["successfully rolled out"]),
        ("rollout restart deploy app", 0, &["restarted"]),
        ("rollout pause deploy app", 0, &["paused"]),
        ("rollout pause deploy app", 1, &["already paused"]),
        ("rollout resume deploy app", 0, &["resumed"]),
        ("set image deploy app main=app:9", 0, &["image updated"]),
        ("set env deploy app B=c", 0, &["env updated"]),
        ("set resources deploy app --limits=cpu=1", 0, &["resource requirements updated"]),
        (containers, 0, &["\"image\":\"app:9\"", "{\"limits\":{\"cpu\":\"1\"}}"]),
        ("scale deploy app --replicas=3", 0, &["scaled"]),
        ("scale deploy app --replicas=4 --current-replicas=9", 1, &["to be 9, was 3"]),
        ("scale deploy none --replicas=4", 1, &["(NotFound): deployments.apps \"none\" not found"]),
        ("patch deploy app -p '{\"spec\":{\"replicas\":1}}'", 0, &["patched"]),
        ("patch deploy app --type=merge -p '{\"spec\":{\"replicas\":2}}'", 0, &["patched"]),
        (
            "patch deploy app --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/replicas\"}]'",
            0,
            &["patched"],
        ),
        ("patch deploy app -p '{\"spec\":{\"replicas\":\"x\"}}'", 1, &[
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of",
        ]),
        ("replace -f d.json", 1, &["(Conflict)", "the object has been modified; please"]),
        ("replace --force -f app.yaml", 0, &["deleted", "replaced"]),
        ("label deploy app team=b", 1, &["'team' already has a value (a), and --overwrite"]),
        ("label deploy app team=b --overwrite", 0, &["labeled"]),
        ("annotate deploy app n=m", 0, &["annotated"]),
        ("wait --for=condition=Available deploy/app --timeout=30s", 0, &["condition met"]),
        ("wait --for=jsonpath='{.status.readyReplicas}'=2 deploy/app --timeout=9s", 0, &["met"]),
        ("wait --for=condition=No deploy/app --timeout=1s", 1, &["timed out waiting"]),
        ("wait --for=delete deploy/app --timeout=1s", 1, &["timed out waiting"]),
    ])
    .await
}

#[tokio::test]
async fn deletions_cascade_as_requested() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(2).await?;
    sandbox.write("app.yaml", APP)?;
    play(
        &sandbox,
        &[
            ("apply -f app.yaml", 0, &["created"]),
            ("rollout status deploy app", 0, &["successfully"]),
            ("delete deploy app --cascade=orphan", 0, &["deployment.apps \"app\" deleted"]),
            ("get rs -l app=app -o jsonpath='{.items[*].metadata.ownerReferences}'x", 0, &["x"]),
            (
                "get rs,pods -l app=app",
                0,
                &["replicaset.apps/app-", "pod/app-", "Running", "Running"],
            ),
            ("apply -f app.yaml", 0, &["created"]),
            ("rollout status deploy app", 0, &["successfully"]),
            ("get rs -l app=app --no-headers | wc -l", 0, &["1"]),
            ("delete deploy app --cascade=foreground", 0, &["deleted"]),
            ("get deploy,rs,pods", 0, &["No resources found in default namespace."]),
            ("apply -f app.yaml", 0, &["created"]),
            ("rollout status deploy app", 0, &["successfully"]),
            (
                "get pods -o name >pods; kubectl delete $(head -1 pods) --grace-period=0 --force",
                0,
                &["force deleted", "Warning: Immediate deletion does not wait"],
            ),
            ("delete $(tail -1 pods) --now", 0, &["deleted"]),
            ("delete deploy app --cascade=background", 0, &["deleted"]),
            ("wait --for=delete pods -l app=app --timeout=30s", 0, &[]),
            ("delete -f app.yaml", 1, &["(NotFound)"]),
            ("delete -f app.yaml --ignore-not-found", 0, &[]),
            ("create configmap a", 0, &[]),
            ("create configmap b", 0, &[]),
            ("label configmap b x=y", 0, &[]),
            ("delete configmap -l x=y", 0, &["configmap \"b\" deleted"]),
            ("delete configmap --all --dry-run=server", 0, &["\"a\" deleted", "(server dry run)"]),
            ("delete configmap --all", 0, &["\"a\" deleted"]),
            ("get configmap", 0, &["kube-root-ca.crt"]),
        ],
    )
    .await
}

#[tokio::test]
async fn nodes_are_drained_and_custom_objects_made() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(2).await?;
    sandbox.write("app.yaml", &APP.replace("replicas: 2", "replicas: 1"))?;
    sandbox.write("agent.yaml", AGENT)?;
    sandbox.write("widgets.yaml", WIDGETS)?;
    let widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 2}}";
    sandbox.write("widget.yaml", widget)?;
    play(
        &sandbox,
        &[
            ("taint node node-1 k=v:NoSchedule", 0, &["node/node-1 tainted"]),
            ("apply -f app.yaml -f agent.yaml", 0, &["created", "created"]),
            ("rollout status deploy app", 0, &["successfully"]),
            ("get pods -l app=app -o wide", 0, &["node-0"]),
            ("taint node node-1 k-", 0, &["untainted"]),
            ("rollout status ds agent", 0, &["successfully"]),
            ("create pdb p --selector=app=app --min-available=1", 0, &["created"]),
            ("drain node-0", 1, &["cannot delete DaemonSet-managed Pods"]),
            ("get nodes", 0, &["node-0   Ready,SchedulingDisabled"]),
            ("wait pdb p --for=jsonpath='{.status.currentHealthy}'=1", 0, &["condition met"]),
            (
                "drain node-0 --ignore-daemonsets --timeout=2s",
                1,
                &["(will retry after 5s): Cannot evict pod as it would violate the pod's"],
            ),
            ("patch pdb p -p '{\"spec\":{\"minAvailable\":0}}'", 0, &["patched"]),
            ("wait pdb p --for=jsonpath='{.status.disruptionsAllowed}'=1", 0, &["condition met"]),
            (
                "drain node-0 --ignore-daemonsets --timeout=30s",
                0,
                &["evicted", "node/node-0 drained"],
            ),
            ("rollout status deploy app", 0, &["successfully"]),
            ("get pods -l app=app -o wide", 0, &["node-1"]),
            ("uncordon node-0", 0, &["uncordoned"]),
            ("delete node node-1", 0, &["node \"node-1\" deleted"]),
            ("apply -f widgets.yaml", 0, &["widgets.example.com created"]),
            ("wait --for=condition=Established crd/widgets.example.com", 0, &["condition met"]),
            ("apply -f widget.yaml", 0, &["widget.example.com/w created"]),
            ("apply -f widget.yaml", 0, &["widget.example.com/w unchanged"]),
            ("get wg", 0, &["NAME   SIZE", "w      2"]),
            ("get widgets -o wide", 0, &["NAME   SIZE   COLOR"]),
            ("get all", 0, &["widget.example.com/w"]),
            ("explain widget.spec", 0, &["color\t<string>", "Of all of it."]),
            ("scale widget w --replicas=5", 0, &["scaled"]),
            ("patch wg w --type=merge -p '{\"spec\":{\"color\":\"red\"}}'", 0, &["patched"]),
            (
                "patch wg w -p '{}'",
                1,
                &["strategic-merge-patch+json is not supported by example.com/v1"],
            ),
            ("get wg w -o jsonpath='{.spec}'", 0, &["{\"color\":\"red\",\"size\":5}"]),
            ("describe wg w", 0, &["Kind:         Widget", "Color:  red"]),
            ("delete crd widgets.example.com", 0, &["deleted"]),
            ("get wg", 1, &["the server could not find the requested resource"]),
        ],
    )
    .await
}

/// What is watched is seen at once.
#[tokio::test]
async fn watches_show_what_happens() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(1).await?;
    let watch = sandbox.kubectl("get pods -w --request-timeout=12s");
    let make = async {
        // Slow enough that the watch is open before the pod runs.
        let run = "run p --image=a --annotations=sandbox/start-delay=4s";
        let none = async || Ok(Some(sandbox.must(run).await?));
        wait_until("a pod", LIMIT, none).await?;
        sandbox.must("wait --for=condition=Ready pod/p --timeout=30s").await?;
        sandbox.must("delete pod p").await
    };
    let (watched, made) = tokio::join!(watch, make);
    made?;
    let out = watched?.out;
    for state in ["ContainerCreating", "Running", "Terminating", "Completed"] {
        ensure!(out.contains(state), "{state}: {out}");
    }
    Ok(())
}
