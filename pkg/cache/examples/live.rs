//! scratch
use std::sync::Arc;
use std::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering};
use api::{Pod, ReplicaSet};
#[tokio::main(flavor = "current_thread")]
async fn main() {
    tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).init();
    let rss = || { let s = std::fs::read_to_string("/proc/self/status").unwrap(); s.lines().filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM")).map(|l| l.replace('\t'," ")).collect::<Vec<_>>().join(" ") };
    let runtime = runtime::Runtime::system();
    let options = client::ConnectOptions { kubeconfig: Some("/tmp/live/kubeconfig".into()), master: None };
    let (kube, _) = client::connect(&options).await.unwrap();
    let metrics = client::Metrics::new(&prometheus::Registry::new()).unwrap();
    let settings = client::Settings { qps: 0.0, burst: 0, user_agent: "live".into(), host: "h".into() };
    let client = client::Client::new(kube, settings, &metrics, &runtime);
    let mut factory = cache::SharedInformerFactory::new(client, runtime.clone());
    let pods = factory.informer::<Pod>();
    let sets = factory.informer::<ReplicaSet>();
    let n = Arc::new(AtomicU64::new(0));
    let m = n.clone();
    pods.add_handler(Box::new(move |_| { m.fetch_add(1, Ordering::Relaxed); }));
    println!("start {}", rss());
    let t = runtime.clock.instant();
    factory.start();
    println!("{:?} in {:?} {}", factory.wait_synced(Duration::from_secs(60)).await, t.elapsed(), rss());
    let _ = sets;
    let end: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    for _ in 0..end {
        runtime.clock.sleep(Duration::from_secs(1)).await;
        let s = pods.status();
        println!("pods {} v{} relists {} failing {:?} handled {} {}", s.objects, s.version, s.relists, s.failing.map(|f| f.error), n.load(Ordering::Relaxed), rss());
    }
}
