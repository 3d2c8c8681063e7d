//! The binary as a process, with no cluster: what bad input is answered with.

use anyhow::ensure;
use cluster_tests::{ours, wait_until};
use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::time::Duration;

/// Without a port, unless `args` ask for one: another program may listen on the usual one.
fn run(args: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(ours()?);
    command.arg("--secure-port=0").args(args).env_remove("KUBERNETES_SERVICE_HOST");
    Ok(command.output()?)
}

/// The first word of the header of klog (severity, date, time, process, source file and line) and
/// what stands behind it. None: the line has no such header. Pipelines parse it so:
/// `^([IWEF])\d{4} \d{2}:\d{2}:\d{2}\.\d{6} +(\d+) ([^ ]+):(\d+)\] (.*)$`.
fn klog(line: &str) -> Option<(char, &str)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (header, message) = line.split_once("] ")?;
    let letter = header.chars().next().filter(|letter| "IWEF".contains(*letter))?;
    let (date, rest) = header[1..].split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let (pid, source) = rest.trim_start().split_once(' ')?;
    let (file, number) = source.split_once(':')?;
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let is_good = is_number(date)
        && date.len() == 4
        && shape == "00:00:00.000000"
        && is_number(pid)
        && rest.find(source)? >= 8
        && !file.contains([' ', '/'])
        && is_number(number);
    is_good.then_some((letter, message))
}

/// Issue: bad input gets a clear message that names the flag or the file, and code 1. What cannot
/// be parsed is said plainly, all else in the log (manager.md, Command and exit codes).
#[test]
fn bad_input_is_named() -> anyhow::Result<()> {
    let rows: &[(&[&str], &str)] = &[
        (
            &["--controllers=replicaset,nodes", "--leader-elect=false"],
            "\"command failed\" err=\"\\\"nodes\\\" is not in the list of known controllers",
        ),
        (
            &["--kubeconfig=/no/such/file", "--leader-elect=false"],
            "\"command failed\" err=\"--kubeconfig /no/such/file: ",
        ),
        (
            &["--leader-elect=false"],
            "\"command failed\" err=\"neither --kubeconfig nor --master was given, and the",
        ),
        (
            &["--master=ftp://example.com", "--leader-elect=false"],
            "\"command failed\" err=\"--master \\\"ftp://example.com\\\": the scheme must be http",
        ),
        (
            &["--master=http://127.0.0.1:1", "--leader-elect-renew-deadline=20s"],
            "\"command failed\" err=\"--leader-elect-lease-duration must be greater than \
             --leader-elect-renew-deadline",
        ),
        (&["--feature-gates=A=true"], "\"command failed\" err=\"unrecognized feature gate: A\"\n"),
        (&["--no-such-flag"], "Error: unknown flag: --no-such-flag"),
        (&["--no-such-flag"], "Usage:\n  kube-controller-manager [flags]\n"),
        (
            &["replicaset"],
            "Error: \"kube-controller-manager\" does not take any arguments, got [\"replicaset\"]",
        ),
        (
            &["--kube-api-qps=fast"],
            "Error: invalid argument \"fast\" for \"--kube-api-qps\" flag: strconv.ParseFloat: \
             parsing \"fast\": invalid syntax",
        ),
        (&["--version=3"], "Error: invalid argument \"3\" for \"--version\" flag: "),
        (
            &["--secure-port=-1", "--concurrent_job_syncs", "0", "--leader-elect=false"],
            "\"command failed\" err=\"[concurrent-job-syncs must be greater than 0, but got 0, \
             --secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure \
             port]",
        ),
    ];
    for (args, expected) in rows {
        let output = run(args)?;
        let text = String::from_utf8(output.stderr)?;
        assert!(text.contains(expected), "{args:?}: {text}");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
    }
    Ok(())
}

/// A kubeconfig holds keys and tokens: what is wrong with it is said without showing it.
#[test]
fn a_broken_kubeconfig_is_not_shown() -> anyhow::Result<()> {
    let path = std::env::temp_dir().join(format!("broken-kubeconfig-{}", std::process::id()));
    fs::write(&path, "apiVersion: v1\nusers: [{name: me, user: {token: s3cret}}\n")?;
    let output = run(&[&format!("--kubeconfig={}", path.display()), "--leader-elect=false"])?;
    fs::remove_file(&path)?;
    let text = String::from_utf8(output.stderr)?;
    assert!(
        text.contains(&format!("\"command failed\" err=\"--kubeconfig {}: ", path.display())),
        "{text}"
    );
    assert!(text.contains("line "), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    Ok(())
}

/// manager.md, Controller context: the API server is waited for, and ten seconds without it end
/// the process with an error that names it.
#[test]
fn a_refused_connection_is_named() -> anyhow::Result<()> {
    // A port without a listener.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let master = format!("--master=http://{address}");
    let flags = ["--leader-elect=false", "--controllers=replicaset"];
    let output = run(&[&[master.as_str()], &flags[..]].concat())?;
    let text = String::from_utf8(output.stderr)?;
    let expected = format!(
        "\"command failed\" err=\"failed to wait for apiserver being healthy: /healthz of \
         {address}: client error (Connect): tcp connect error: Connection refused"
    );
    assert!(text.contains(&expected), "{text}");
    let said = text.matches("Connection refused").count();
    assert_eq!(said, 4, "once for each of two kinds, for the wait and at the end: {text}");
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}

/// flags.md, General behaviour: the dump, deprecations; and the lines that name what is not there
/// yet, once each.
#[test]
fn flags_and_controllers_without_effect_are_named() -> anyhow::Result<()> {
    let output = run(&[
        "--leader-elect=false",
        "--contention-profiling=true",
        "--node-sync-period=1s",
        "--feature-gates=PodDeletionCost=false,NativeHistograms=true,AtomicFIFO=true",
        "--controllers=replicaset,service,podgroup-protection-controller",
        "-v=1",
        "--master=ftp://example.com",
    ])?;
    let text = String::from_utf8(output.stderr)?;
    let once = [
        "Flag --node-sync-period has been deprecated, This flag is currently no-op and will be",
        "FLAG: --allocate-node-cidrs=\"false\"",
        "FLAG: --controllers=\"[replicaset,service,podgroup-protection-controller]\"",
        "\"accepted, without effect yet: --contention-profiling; feature gates AtomicFIFO, \
         NativeHistograms\"\n",
        "\"skipping: a feature gate is off\" controller=\"podgroup-protection-controller\"",
        "\"skipping a cloud provider controller\" controller=\"service-lb-controller\"",
        "\"controller is disabled\" controller=\"deployment-controller\"",
        "Controller is disabled because there is no private key",
    ];
    for line in once {
        assert_eq!(text.matches(line).count(), 1, "{line}: {text}");
    }
    assert_eq!(text.matches("FLAG: --").count(), 150, "{text}");
    Ok(())
}

/// k8s.io/klog/v2: each line has a header that pipelines parse.
#[test]
fn lines_have_klogs_header() -> anyhow::Result<()> {
    let output = run(&["--leader-elect=false", "-v=1", "--master=http://127.0.0.1:1:1"])?;
    let text = String::from_utf8(output.stderr)?;
    for line in text.lines() {
        assert!(klog(line).is_some(), "{line}");
    }
    let flags = text.lines().filter_map(klog);
    let flags = flags.filter(|(letter, message)| *letter == 'I' && message.starts_with("FLAG: --"));
    assert_eq!(flags.count(), 150, "{text}");
    Ok(())
}

/// k8s.io/component-base/logs/api/v1, text.go: news go to standard output, and what was held back
/// is written at the end.
#[test]
fn streams_can_be_split() -> anyhow::Result<()> {
    let flags = [
        "--feature-gates=LoggingAlphaOptions=true",
        "--log-text-split-stream",
        "--log-text-info-buffer-size=1Mi",
        "--contention-profiling=true",
        "--leader-elect=false",
        "-v=1",
        "--master=ftp://example.com",
    ];
    let output = run(&flags)?;
    let (news, problems) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert_eq!(news.matches("FLAG: --").count(), 150, "{news}");
    assert!(news.lines().all(|line| klog(line).is_some_and(|line| line.0 == 'I')), "{news}");
    assert!(problems.contains("\"accepted, without effect yet: "), "{problems}");
    assert!(!problems.lines().any(|line| line.starts_with('I')), "{problems}");
    Ok(())
}

/// The flags -v and --vmodule, as the help has them: requests from 6 on, headers from 8 on; and
/// client-go's words for them (transport/round_trippers.go).
#[test]
fn requests_are_logged_at_their_verbosity() -> anyhow::Result<()> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let master = format!("--master=http://{address}");
    let asked = format!("verb=\"GET\" url=\"//{address}/healthz\"");
    let response = format!("] \"Response\" {asked} status=\"\" milliseconds=");
    let request = format!("] \"Request\" {asked} headers=<\n\taccept: ");
    let rows = [
        (&["-v=0"][..], false, false),
        (&["-v=6"][..], true, false),
        (&["--vmodule=requests=6,other=9"][..], true, false),
        (&["-v=2", "--vmodule=req*=8"][..], true, true),
    ];
    std::thread::scope(|scope| {
        let runs: Vec<_> = rows
            .iter()
            .map(|(level, ..)| {
                let flags = [master.as_str(), "--leader-elect=false", "--controllers=replicaset"];
                scope.spawn(move || run(&[&flags[..], level].concat()))
            })
            .collect();
        for (run, (level, has_responses, has_requests)) in runs.into_iter().zip(rows) {
            let text = String::from_utf8(run.join().expect("no run panics")?.stderr)?;
            assert_eq!(text.contains(&response), has_responses, "{level:?}: {text}");
            assert_eq!(text.contains(&request), has_requests, "{level:?}: {text}");
        }
        anyhow::Ok(())
    })
}

/// manager.md, Command and exit codes; flags.md: `--version` prints the release and ends with 0.
#[test]
fn version_and_help_succeed() -> anyhow::Result<()> {
    let version = run(&["--version"])?;
    assert_eq!(String::from_utf8(version.stdout)?, "Kubernetes v1.36.3\n");
    assert_eq!(version.status.code(), Some(0));
    let help = run(&["--help"])?;
    let text = String::from_utf8(help.stdout)?;
    assert!(text.contains("--concurrent-replicaset-syncs"), "{text}");
    assert_eq!(help.status.code(), Some(0));
    Ok(())
}

/// Issue: exit code 0 settled, 1 in progress, 2 stuck, 3 and more for errors; the cause first; the
/// same as data; no colours but on a terminal; a watch that ends when the object is settled.
#[tokio::test]
async fn kubectl_why_answers_as_a_process() -> anyhow::Result<()> {
    let dir = std::env::temp_dir().join(format!("kubectl-why-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let (config, objects) = (dir.join("config"), dir.join("objects.yaml"));
    fs::write(&objects, WHY_OBJECTS)?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let url = format!("http://127.0.0.1:{port}");
    fs::write(&config, WHY_CONFIG.replace("URL", &url))?;
    let why = cluster_tests::build("kubectl-why", "kubectl-why")?;
    let ask = |args: &str| -> anyhow::Result<(Option<i32>, String, String)> {
        let mut command = Command::new(&why);
        command.args(args.split_whitespace()).env("KUBECONFIG", &config).env("HOME", &dir);
        let output = command.env_remove("KUBERNETES_SERVICE_HOST").output()?;
        let text = |bytes| String::from_utf8(bytes);
        Ok((output.status.code(), text(output.stdout)?, text(output.stderr)?))
    };
    let (code, _, said) = ask("deployment/web")?;
    ensure!(code == Some(7) && said.starts_with("error: "), "without a server: {code:?} {said}");
    let mut sandbox = Command::new(cluster_tests::build("sandbox-cli", "sandbox")?);
    sandbox.args(["--nodes=2", &format!("--port={port}"), "--filename"]).arg(&objects);
    let mut sandbox = sandbox.stdout(std::process::Stdio::null()).spawn()?;
    let tried = why_answers(&ask).await;
    sandbox.kill()?;
    sandbox.wait()?;
    fs::remove_dir_all(&dir)?;
    tried
}

/// A Deployment that becomes ready, and one that never does.
const WHY_OBJECTS: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:1"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: bad}
spec:
  selector: {matchLabels: {app: bad}}
  template:
    metadata: {labels: {app: bad}}
    spec: {containers: [{name: main, image: "registry.invalid/bad:1"}]}
"#;

/// Its second context is of a user without any rights.
const WHY_CONFIG: &str = "
apiVersion: v1
kind: Config
current-context: it
clusters: [{name: it, cluster: {server: 'URL'}}]
users: [{name: it, user: {}}, {name: joe, user: {as: joe}}]
contexts:
- {name: it, context: {cluster: it, user: it}}
- {name: joe, context: {cluster: it, user: joe}}
- {name: away, context: {cluster: it, user: it, namespace: away}}
";

type Asked<'a> = &'a dyn Fn(&str) -> anyhow::Result<(Option<i32>, String, String)>;

/// Once the sandbox serves.
async fn why_answers(ask: Asked<'_>) -> anyhow::Result<()> {
    let begun = async || Ok((ask("node/node-0")?.0 == Some(0)).then_some(()));
    wait_until("the sandbox", Duration::from_mins(1), begun).await?;
    let (code, out, said) = ask("deploy/web --watch")?;
    ensure!(code == Some(0) && out.contains("deployment.apps/web is settled"), "{out}{said}");
    let rows: &[(&str, i32, &str, &str)] = &[
        ("deploy/web", 0, "deployment.apps/web is settled: it has all 2 pods", ""),
        ("deployments.apps web", 0, "deployment.apps/web is settled", ""),
        ("deployment.v1.apps/web", 0, "deployment.apps/web is settled", ""),
        ("deployment/bad", 2, "deployment.apps/bad is stuck: pod/bad-", ""),
        ("deployment/bad --color always", 2, "\u{1b}[31mdeployment.apps/bad is stuck", ""),
        ("deployment/bad -o json", 2, "{\n  \"subject\": {\n    \"kind\": \"Deployment\"", ""),
        ("deployment/web -n away", 4, "", "error: deployments.apps \"web\" not found"),
        ("deployment/web --context away", 4, "", "error: deployments.apps \"web\" not found"),
        ("wheel/web", 4, "", "error: the server doesn't have a resource type \"wheel\""),
        ("deployment/web --context joe", 5, "", "error: deployments.apps \"web\" is forbidden"),
        ("deployment/web --as joe", 5, "", "error: deployments.apps \"web\" is forbidden"),
        ("deployment/web --context none", 6, "", "error: --kubeconfig "),
        ("deployment/web --kubeconfig /none", 6, "", "error: --kubeconfig /none: "),
        ("deployment", 3, "", "error: say what it is about as KIND/NAME"),
        ("deployment/web --no-such-flag", 3, "", "error: unexpected argument '--no-such-flag'"),
    ];
    for (args, expected, out, err) in rows {
        let (code, printed, said) = ask(args)?;
        let is_right = code == Some(*expected) && printed.starts_with(out) && said.starts_with(err);
        ensure!(is_right, "{args}: {code:?}\n{printed}\n{said}");
        ensure!(err.is_empty() || printed.is_empty(), "{args}: an error and {printed}");
    }
    let (_, text, _) = ask("deployment/bad -o json")?;
    let report: serde_json::Value = serde_json::from_str(&text)?;
    ensure!(report["state"] == "stuck" && report["findings"][0]["depth"] == 0, "{text}");
    ensure!(report["decisions"][0]["controller"] == "deployment-controller", "{text}");
    Ok(())
}
