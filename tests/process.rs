//! The binary as a process, with no cluster: what bad input is answered with.

use cluster_tests::ours;
use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};

/// Without a port, unless `args` ask for one: another program may listen on the usual one.
fn run(args: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(ours()?);
    command.arg("--secure-port=0").args(args).env_remove("KUBERNETES_SERVICE_HOST");
    Ok(command.output()?)
}

/// Issue: bad input gets a clear message that names the flag or the file, and code 1.
#[test]
fn bad_input_is_named() -> anyhow::Result<()> {
    let rows: &[(&[&str], &str)] = &[
        (
            &["--controllers=replicaset,nodes", "--leader-elect=false"],
            "Error: \"nodes\" is not in the list of known controllers",
        ),
        (
            &["--kubeconfig=/no/such/file", "--leader-elect=false"],
            "Error: --kubeconfig /no/such/file: ",
        ),
        (
            &["--leader-elect=false"],
            "Error: neither --kubeconfig nor --master was given, and the in-cluster configuration",
        ),
        (
            &["--master=ftp://example.com", "--leader-elect=false"],
            "Error: --master \"ftp://example.com\": the scheme must be http or https",
        ),
        (
            &["--master=http://127.0.0.1:1", "--leader-elect-renew-deadline=20s"],
            "Error: --leader-elect-lease-duration must be greater than \
             --leader-elect-renew-deadline",
        ),
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
            "Error: [concurrent-job-syncs must be greater than 0, but got 0, --secure-port -1 must \
             be between 0 and 65535, inclusive. 0 for turning off secure port]",
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
    assert!(text.contains(&format!("Error: --kubeconfig {}: ", path.display())), "{text}");
    assert!(text.contains("line "), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    Ok(())
}

/// manager.md, Controller context: the API server is waited for, and ten seconds without it end
/// the process with an error that names it.
#[test]
fn a_refused_connection_is_named() -> anyhow::Result<()> {
    // A port where nobody listens any more.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let master = format!("--master=http://{address}");
    let flags = ["--leader-elect=false", "--controllers=replicaset"];
    let output = run(&[&[master.as_str()], &flags[..]].concat())?;
    let text = String::from_utf8(output.stderr)?;
    let expected = format!(
        "Error: failed to wait for apiserver being healthy: /healthz of {address}: client error \
         (Connect): tcp connect error: Connection refused"
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
        "--node-cidr-mask-size=24",
        "--node-sync-period=1s",
        "--feature-gates=PodDeletionCost=false,NativeHistograms=true,AtomicFIFO=true",
        "--controllers=replicaset,job,service,podgroup-protection-controller",
        "-v=1",
        "--master=ftp://example.com",
    ])?;
    let text = String::from_utf8(output.stderr)?;
    let once = [
        "Flag --node-sync-period has been deprecated, This flag is currently no-op and will be",
        "FLAG: --allocate-node-cidrs=\"false\"",
        "FLAG: --controllers=\"[replicaset,job,service,podgroup-protection-controller]\"",
        "accepted, without effect yet: --node-cidr-mask-size; feature gates AtomicFIFO, \
         NativeHistograms\n",
        "skipping: a feature gate is off controller=\"podgroup-protection-controller\"",
        "skipping a cloud provider controller controller=\"service-lb-controller\"",
        "controller is disabled controller=\"deployment-controller\"",
        "skipping controllers that are not written yet: job-controller\n",
        "Controller is disabled because there is no private key",
    ];
    for line in once {
        assert_eq!(text.matches(line).count(), 1, "{line}: {text}");
    }
    assert_eq!(text.matches("FLAG: --").count(), 150, "{text}");
    Ok(())
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
