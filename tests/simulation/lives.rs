//! The managers: each is started again whenever it ends.

use std::time::Duration;

use client::Connection;
use manager::options::Options;
use manager::start::Manager;
use runtime::{Random, Runtime};

use crate::case::Case;
use crate::life::Life;
use crate::oracle::{TERMINATED_MAX, TOKEN_CLEAN_UP};
use crate::site::Site;
use crate::{
    attaching, autoscaling, binding, blocks, bundles, certificates, devices, groups, kubelets,
    migrations, policies, pools, quotas, ranges, selinux, servers,
};

/// What managers are called.
const NAMES: [char; 2] = ['a', 'b'];
/// Signs tokens, always the same ones.
const KEY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../pkg/manager/testdata/token-keys/rsa-pkcs8.pem");
/// Signs certificates: the same ones, too, but for the moment.
const AUTHORITY: &str = concat!(
    "--cluster-signing-cert-file=",
    env!("CARGO_MANIFEST_DIR"),
    "/../pkg/manager/testdata/signing/rsa.crt"
);
const AUTHORITY_KEY: &str = concat!(
    "--cluster-signing-key-file=",
    env!("CARGO_MANIFEST_DIR"),
    "/../pkg/manager/testdata/token-keys/rsa-pkcs8.pem"
);
/// The authority of the API server.
const ROOT: &str =
    concat!("--root-ca-file=", env!("CARGO_MANIFEST_DIR"), "/../pkg/manager/testdata/ca.crt");
/// How long a manager is down between two lives.
const DOWN: Duration = Duration::from_secs(3);
/// Rows that run only in cases which have something for them.
struct Sometimes {
    /// The acts of those cases have one of these.
    words: &'static [&'static str],
    rows: &'static [&'static str],
    /// A gate that is off by default.
    gate: Option<&'static str>,
    /// Without these the rows do not run.
    flags: &'static [&'static str],
}

/// Elsewhere these rows would only make runs slower, or do what the user of other cases does.
const SOMETIMES: &[Sometimes] = &[
    Sometimes {
        words: &["bootstrap", "cluster-info"],
        rows: &["bootstrap-signer-controller", "token-cleaner-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[certificates::OF_PODS],
        rows: &[],
        gate: Some("PodCertificateRequest=true"),
        flags: &[],
    },
    Sometimes {
        words: &[binding::PROVISIONER, attaching::ATTACHER],
        rows: &["persistentvolume-binder-controller", "persistentvolume-expander-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[quotas::KIND],
        rows: &["resourcequota-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[ranges::KIND],
        rows: &["service-cidr-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[certificates::SIGNED],
        rows: &["certificatesigningrequest-signing-controller"],
        gate: None,
        flags: &[AUTHORITY, AUTHORITY_KEY],
    },
    Sometimes {
        words: &[bundles::BUNDLES],
        rows: &[],
        gate: Some("ClusterTrustBundle=true"),
        flags: &[ROOT],
    },
    Sometimes {
        words: &[servers::VERSIONS],
        rows: &[],
        gate: Some("StorageVersionAPI=true"),
        flags: &[],
    },
    Sometimes {
        words: &[attaching::ATTACHER],
        rows: &["persistentvolume-attach-detach-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[devices::DRIVER, devices::ENTRIES],
        rows: &["resourceclaim-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[devices::SLICE],
        rows: &["device-taint-eviction-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[groups::GROUPS],
        rows: &[],
        gate: Some("GenericWorkload=true"),
        flags: &[],
    },
    Sometimes {
        words: &[selinux::DRIVER],
        rows: &["selinux-warning-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[pools::REQUESTS],
        rows: &[],
        gate: Some("DRAResourcePoolStatus=true"),
        flags: &[],
    },
    Sometimes {
        words: &[kubelets::HEARTS],
        rows: &["node-lifecycle-controller", "taint-eviction-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[blocks::WANTS],
        rows: &["node-ipam-controller"],
        gate: None,
        flags: &["--allocate-node-cidrs", blocks::RANGE],
    },
    Sometimes {
        words: &[policies::KIND],
        rows: &["validatingadmissionpolicy-status-controller"],
        gate: None,
        flags: &[],
    },
    Sometimes {
        words: &[migrations::MIGRATIONS],
        rows: &[],
        gate: Some("StorageVersionMigrator=true"),
        flags: &[],
    },
    Sometimes {
        words: &[autoscaling::KIND],
        rows: &["horizontal-pod-autoscaler-controller"],
        gate: None,
        flags: &[],
    },
];
/// How often the oracle of the election looks.
const LOOK: Duration = Duration::from_millis(500);

/// Starts as many managers as the case wants.
pub(crate) fn start(site: &Site, case: &Case) {
    for name in NAMES.into_iter().take(case.managers) {
        runtime::spawn("supervisor", supervise(site.clone(), name, case.clone()));
    }
    if case.managers > 1 {
        runtime::spawn("election oracle", watch(site.clone()));
    }
}

/// Looks at the election often.
async fn watch(site: Site) {
    while !site.runtime.cancel.is_cancelled() {
        site.runtime.clock.sleep(LOOK).await;
        site.look();
        site.judge_election();
    }
}

/// Starts a manager, and starts it again whenever it ends.
async fn supervise(site: Site, name: char, case: Case) {
    let random = Random::seeded(case.seed ^ u64::from(name).rotate_right(8));
    while !site.runtime.cancel.is_cancelled() {
        let life = site.live(name);
        let runtime = Runtime {
            clock: life.clock.clone(),
            random: Random::seeded(random.bits()),
            cancel: life.quit.clone(),
        };
        site.trace(&format!("{} starts", life.name));
        let ended = life.process.run(lead(&life, &runtime, &case)).await;
        let why = match ended {
            Some(Ok(())) => "of itself".to_owned(),
            Some(Err(error)) => format!("{error:#}"),
            None => "crash".to_owned(),
        };
        life.end();
        site.trace(&format!("{} ends: {why}", life.name));
        site.runtime.clock.sleep(DOWN).await;
    }
}

/// What the process does.
async fn lead(life: &Life, runtime: &Runtime, case: &Case) -> anyhow::Result<()> {
    let elect = format!("--leader-elect={}", case.managers > 1);
    let threshold = format!("--terminated-pod-gc-threshold={TERMINATED_MAX}");
    let clean_up = TOKEN_CLEAN_UP.as_secs();
    let clean_up = format!("--legacy-service-account-token-clean-up-period={clean_up}s");
    let key = format!("--service-account-private-key-file={KEY}");
    let words = [
        elect.as_str(),
        threshold.as_str(),
        clean_up.as_str(),
        key.as_str(),
        "--secure-port=0",
        "--controller-start-interval=0s",
        "--kube-api-qps=1000",
        "--kube-api-burst=1000",
    ];
    let words = words.into_iter().map(str::to_owned).chain(rows(case));
    let options = Options::parse(words);
    let options = options.map_err(|failure| anyhow::anyhow!("{}", failure.text()))?;
    let connection = Connection::inside(life.clone(), life.clone());
    let manager = Manager::new(options, connection, runtime)?;
    life.site.log().oracle.knowledge.join(&life.name, &*manager.source());
    if case.managers > 1 {
        let now = life.site.now();
        life.site.log().contest.join(&life.name, manager.source(), now);
    }
    Box::pin(manager.lead()).await
}

/// The flags that choose which rows run.
fn rows(case: &Case) -> Vec<String> {
    let (mut names, mut gates, mut flags) = (vec!["*".to_owned()], Vec::new(), Vec::new());
    for Sometimes { words, rows, gate, flags: more } in SOMETIMES {
        let runs = words.iter().any(|word| case.has(word));
        let minus = if runs { "" } else { "-" };
        names.extend(rows.iter().map(|row| format!("{minus}{row}")));
        gates.extend(gate.filter(|_| runs));
        flags.extend(more.iter().filter(|_| runs).map(|it| (*it).to_owned()));
    }
    let names = format!("--controllers={}", names.join(","));
    let gates = (!gates.is_empty()).then(|| format!("--feature-gates={}", gates.join(",")));
    flags.extend([names].into_iter().chain(gates));
    flags
}
