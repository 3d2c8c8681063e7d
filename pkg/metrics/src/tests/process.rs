//! The families of the process.

use prometheus::proto::MetricFamily;

use crate::process::{Stat, boot_time, limit, octets, resident_bytes};
use crate::{Registry, Settings, Slis, fixture, identity, process};

const STAT: &str = "4321 (kube) (c m) ) S 1 4321 4321 0 -1 4194560 9 0 0 0 250 79 3 4 20 0 7 0 \
    123456 1767751680 30501 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0";
const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max open files            20000                524288               files
Max address space         unlimited            unlimited            bytes
";
const NETSTAT: &str = "\
TcpExt: SyncookiesSent SyncookiesRecv
TcpExt: 7 8
IpExt: InNoRoutes InTruncatedPkts InOctets OutOctets
IpExt: 1 2 517184145 80286855
";

fn near(one: Option<f64>, other: f64) -> bool {
    one.is_some_and(|one| (one - other).abs() < 1e-9 * other.abs().max(1.0))
}

// proc_pid_stat(5); the command holds brackets
#[test]
fn proc_is_read() {
    let stat = Stat::parse(STAT).unwrap();
    let expected = Stat {
        cpu_seconds: 3.29,
        threads: 7.0,
        start_seconds: 1234.56,
        virtual_bytes: 1_767_751_680.0,
    };
    assert_eq!(stat, expected);
    assert!(near(boot_time("cpu 1 2\nbtime 1795264363\nprocesses 4\n"), 1_795_264_363.0));
    assert!(near(limit(LIMITS, "Max open files"), 20000.0));
    assert!(near(limit(LIMITS, "Max address space"), 1.844_674_407_370_955_2e19));
    assert!(near(resident_bytes("VmSize:\t 9 kB\nVmRSS:\t  122004 kB\n"), 124_932_096.0));
    assert!(near(octets(NETSTAT, "InOctets"), 517_184_145.0));
    assert!(near(octets(NETSTAT, "OutOctets"), 80_286_855.0));
}

#[test]
fn what_proc_does_not_say_is_absent() {
    assert_eq!(Stat::parse(""), None);
    assert_eq!(Stat::parse("1 (a) S 1 2"), None);
    assert_eq!(boot_time("cpu 1 2"), None);
    assert_eq!(limit("Max open files", "Max open files"), None);
    assert_eq!(limit(LIMITS, "Max stack size"), None);
    assert_eq!(resident_bytes("VmRSS:\t 1 mB"), None);
    assert_eq!(octets("IpExt: InOctets\n", "InOctets"), None);
    assert_eq!(octets(NETSTAT, "InMcastOctets"), None);
}

fn value(families: &[MetricFamily], name: &str) -> f64 {
    let family = families.iter().find(|family| family.name() == name);
    let metric = &family.unwrap_or_else(|| panic!("no {name}")).get_metric()[0];
    metric.get_gauge().get_value() + metric.get_counter().get_value()
}

// metrics.md "Process-wide"
#[tokio::test]
async fn this_process_is_measured_when_it_is_asked() {
    let registry = Registry::bare(Settings::default());
    process::register(&registry, tokio::runtime::Handle::current()).unwrap();
    let before = registry.gather();
    let names: Vec<_> = before.iter().map(MetricFamily::name).collect();
    assert_eq!(
        names,
        [
            "go_goroutines",
            "go_threads",
            "process_cpu_seconds_total",
            "process_max_fds",
            "process_network_receive_bytes_total",
            "process_network_transmit_bytes_total",
            "process_open_fds",
            "process_resident_memory_bytes",
            "process_start_time_seconds",
            "process_virtual_memory_bytes",
            "process_virtual_memory_max_bytes",
        ]
    );
    let resident = value(&before, "process_resident_memory_bytes");
    assert!((1e5..1e11).contains(&resident), "{resident}");
    assert!(resident < value(&before, "process_virtual_memory_bytes"));
    assert!(value(&before, "process_open_fds") <= value(&before, "process_max_fds"));
    assert!(value(&before, "process_start_time_seconds") > 1.6e9);
    assert!(value(&before, "go_threads") >= 1.0);
    let tasks = tokio::runtime::Handle::current();
    let held: Vec<_> = (0..3).map(|_| tasks.spawn(std::future::pending::<()>())).collect();
    let more = value(&registry.gather(), "go_goroutines") - value(&before, "go_goroutines");
    assert!((more - 3.0).abs() < 0.5, "{more} more tasks");
    held.iter().for_each(tokio::task::JoinHandle::abort);
}

// live/metrics.txt: kubernetes_build_info, version_info, kubernetes_feature_enabled
#[test]
fn the_version_is_shown() {
    let registry = Registry::bare(Settings::default());
    identity::register(&registry, "1.36", "1.35").unwrap();
    let features =
        [("APIResponseCompression", "BETA", true), ("JobPodReplacementPolicy", "", false)];
    identity::register_features(&registry, features).unwrap();
    let body = registry.page("").body;
    for part in [
        "kubernetes_build_info{build_date=\"1970-01-01T00:00:00Z\",compiler=\"rustc\",git_commit=",
        ",git_tree_state=\"\",git_version=\"v1.36.3\",go_version=\"none\",major=\"1\",\
         minor=\"36\",platform=\"linux/",
        "version_info{binary=\"1.36.3\",component=\"kube\",emulation=\"1.36\",\
         min_compat=\"1.35\"} 1\n",
        "kubernetes_feature_enabled{name=\"APIResponseCompression\",stage=\"BETA\"} 1\n",
        "kubernetes_feature_enabled{name=\"JobPodReplacementPolicy\",stage=\"\"} 0\n",
    ] {
        assert!(body.contains(part), "{part} is missing in\n{body}");
    }
    assert_eq!(fixture::unlike_upstream(&registry), Vec::<String>::new());
}

// component-base/metrics/prometheus/slis/metrics_test.go: TestObserveHealthcheck
#[test]
fn health_checks_are_counted() {
    let slis = Slis::new(Settings::default());
    slis.observe("healthcheck-a", "healthz", false);
    slis.observe("healthcheck-a", "healthz", true);
    slis.observe("healthcheck-a", "healthz", true);
    slis.observe("leaderElection", "healthz", false);
    let body = slis.page("").body;
    let (checks, start) = body.split_once("# HELP process_start").unwrap();
    assert_eq!(
        checks,
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single \
         healthcheck.\n\
         # TYPE kubernetes_healthcheck gauge\n\
         kubernetes_healthcheck{name=\"healthcheck-a\",type=\"healthz\"} 1\n\
         kubernetes_healthcheck{name=\"leaderElection\",type=\"healthz\"} 0\n\
         # HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all \
         healthcheck.\n\
         # TYPE kubernetes_healthchecks_total counter\n\
         kubernetes_healthchecks_total{name=\"healthcheck-a\",status=\"error\",\
         type=\"healthz\"} 1\n\
         kubernetes_healthchecks_total{name=\"healthcheck-a\",status=\"success\",\
         type=\"healthz\"} 2\n\
         kubernetes_healthchecks_total{name=\"leaderElection\",status=\"error\",\
         type=\"healthz\"} 1\n"
    );
    assert!(start.starts_with(
        "_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.\n\
         # TYPE process_start_time_seconds gauge\nprocess_start_time_seconds "
    ));
    slis.reset();
    assert!(!slis.page("").body.contains("kubernetes_"));
}
