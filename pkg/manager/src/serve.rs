//! The secure port: opens it, guards it, and fills its pages.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use api::Time;
use auth::Guard;
use bytes::Bytes;
use client::{Client, ConfigError, ConnectOptions, Settings};
use http::Response;
use http::request::Parts;
use https::{CertificateSource, Limits, PeerCertificates, Port, SniSource};
use metrics::{Registry, Slis};
use runtime::Runtime;
use server::{Admit, Debugging, Exposition, Health, Pages, Status, Verdict};

use crate::debug::{self, Source};
use crate::logging;
use crate::options::Options;

/// The program, as its pages call it.
const COMPONENT: &str = "kube-controller-manager";
/// What kubernetes' own servers grant their delegated clients: requests per second, and at once.
const DELEGATED_LIMITS: (f64, u32) = (200.0, 400);

/// What is measured, as pages.
#[derive(Clone)]
pub(crate) struct Shown {
    /// /metrics.
    pub(crate) registry: Registry,
    /// /metrics/slis.
    pub(crate) slis: Slis,
    /// The checks behind /healthz.
    pub(crate) health: Health,
}

/// What the pages tell of.
pub(crate) struct Site {
    /// Metrics and health.
    pub(crate) shown: Shown,
    /// The process' start.
    pub(crate) started: Time,
    /// The controllers.
    pub(crate) source: Arc<dyn Source>,
}

/// Lets in whom the guard lets in.
struct Door(Guard);

impl Shown {
    /// Registers what is true of any process.
    pub(crate) fn new(options: &Options) -> anyhow::Result<Self> {
        let settings = options
            .metrics
            .settings()
            .map_err(|errors| anyhow::anyhow!("{}", crate::validation::aggregate(&errors)))?;
        let registry = Registry::new(settings.clone());
        metrics::identity::register(&registry).context("build information")?;
        metrics::identity::register_features(&registry, options.gates.iter())
            .context("feature gates")?;
        metrics::process::register(&registry, tokio::runtime::Handle::current())
            .context("process metrics")?;
        let slis = Slis::new(settings);
        let observed = slis.clone();
        let health = Health::new(move |name, verdict| {
            observed.observe(name, "healthz", verdict == Verdict::Success);
        });
        Ok(Self { registry, slis, health })
    }
}

/// Opens the port, so that it is known to be free before anything else begins. None if the flags
/// turn it off.
pub(crate) async fn open(options: &Options, runtime: &Runtime) -> anyhow::Result<Option<Port>> {
    let serving = &options.serving;
    let Some(port) = serving.port else { return Ok(None) };
    let certificate = match (&serving.cert_file, &serving.key_file, &serving.cert_dir) {
        (Some(cert), Some(key), _) => {
            CertificateSource::Files { cert: cert.clone(), key: key.clone() }
        }
        (_, _, Some(dir)) => {
            CertificateSource::Directory { dir: dir.clone(), pair_name: COMPONENT.to_owned() }
        }
        (_, _, None) => CertificateSource::SelfSigned,
    };
    let sni = serving.sni.iter().map(|pair| SniSource {
        cert: pair.cert_file.clone(),
        key: pair.key_file.clone(),
        names: pair.domains.clone(),
    });
    let settings = https::Settings {
        bind: serving.bind_address,
        port,
        share_port: serving.share_port,
        certificate,
        sni: sni.collect(),
        min_version: serving.tls_version_min.clone(),
        cipher_suites: serving.cipher_suites.clone(),
        curves: serving.curves.clone(),
        http2: serving.http2,
        http2_max_streams: serving.http2_streams_max.unwrap_or(0),
        limits: Limits::USUAL,
    };
    let port = Port::open(settings, runtime.clone()).await?;
    Ok(Some(port))
}

/// Who may see what. An error if what is needed to tell cannot be read.
pub(crate) async fn guard(
    options: &Options,
    shown: &Shown,
    metrics: &client::Metrics,
    runtime: &Runtime,
) -> anyhow::Result<Guard> {
    let Options { authentication, authorization, .. } = options;
    let header = &authentication.request_header;
    let settings = auth::Settings {
        client_ca_file: authentication.client_ca_file.clone(),
        request_header: auth::ProxySettings {
            client_ca_file: header.client_ca_file.clone(),
            allowed_names: header.allowed_names.clone(),
            username_headers: header.username_headers.clone(),
            uid_headers: header.uid_headers.clone(),
            group_headers: header.group_headers.clone(),
            extra_headers_prefix: header.extra_headers_prefixes.clone(),
        },
        skip_lookup: authentication.skip_lookup,
        tolerate_lookup_failure: authentication.tolerate_lookup_failure,
        token_ttl: authentication.token_cache_ttl,
        always_allow_paths: authorization.always_allow_paths.clone(),
        authorized_ttl: authorization.allow_cache_ttl,
        unauthorized_ttl: authorization.deny_cache_ttl,
    };
    let client = |kubeconfig: &Option<PathBuf>, kubeconfig_flag| {
        let kubeconfig = kubeconfig.clone();
        let server = ConnectOptions { kubeconfig, kubeconfig_flag, master: None };
        delegated(server, metrics, runtime)
    };
    let asks_who = client(&authentication.kubeconfig, "--authentication-kubeconfig").await?;
    let asks_whether = client(&authorization.kubeconfig, "--authorization-kubeconfig").await?;
    let counted = auth::Metrics::new(&shown.registry).context("authentication metrics")?;
    Ok(Guard::start(&settings, asks_who.as_ref(), asks_whether.as_ref(), &counted, runtime).await?)
}

/// A client that asks the API server about others. Without a kubeconfig it is the pod's own, if
/// this is a pod.
async fn delegated(
    server: ConnectOptions,
    metrics: &client::Metrics,
    runtime: &Runtime,
) -> Result<Option<Client>, ConfigError> {
    let connection = match client::connect(&server).await {
        Ok(connection) => connection,
        Err(ConfigError::InCluster(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let (qps, burst) = DELEGATED_LIMITS;
    let user_agent = crate::start::user_agent("delegated-auth");
    let settings = Settings { qps, burst, user_agent, host: connection.host };
    Ok(Some(Client::new(connection.root, settings, metrics, runtime)))
}

/// Serves until the runtime is cancelled.
pub(crate) fn start(
    port: Port,
    guard: Guard,
    site: Site,
    options: &Options,
    runtime: &Runtime,
) -> anyhow::Result<()> {
    let router = server::router(pages(site, options, runtime)?, Door(guard), runtime);
    runtime::spawn("https", port.serve(router));
    Ok(())
}

fn pages(site: Site, options: &Options, runtime: &Runtime) -> anyhow::Result<Pages> {
    let Site { shown: Shown { registry, slis, health }, started, source } = site;
    let shown = slis.clone();
    let versions = &options.gates.versions;
    let status = Status {
        started,
        go_version: metrics::identity::GO_VERSION.to_owned(),
        binary_version: versions.git_version().trim_start_matches('v').to_owned(),
        emulation_version: Some(versions.emulation.to_string()),
    };
    let debugging = Debugging {
        profiles: profile::router(runtime),
        set_verbosity: Box::new(logging::set_verbosity),
    };
    Ok(Pages {
        component: COMPONENT,
        health,
        metrics: Box::new(move |accept| exposition(registry.page(accept))),
        slis: Box::new(move |accept| exposition(slis.page(accept))),
        reset_slis: Box::new(move || shown.reset()),
        configs: BTreeMap::from([(
            crate::config::GROUP.to_owned(),
            serde_json::value::RawValue::from_string(crate::config::configz(&options.flags))?,
        )]),
        flags: options.gates.is_on("ComponentFlagz").then(|| flags(options)),
        status: options.gates.is_on("ComponentStatusz").then_some(status),
        debugging: options.profiling.then_some(debugging),
        extra: debug::router(source),
    })
}

fn flags(options: &Options) -> BTreeMap<String, String> {
    options.flags.shown().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn exposition(page: metrics::Page) -> Exposition {
    Exposition { content_type: page.content_type, body: page.body }
}

impl Admit for Door {
    async fn admit(&self, request: &Parts) -> Result<(), Response<Bytes>> {
        let chain = request.extensions.get::<PeerCertificates>();
        let chain = chain.map_or(&[][..], |chain| &chain.0);
        self.0.admit(request, chain).await.map(drop)
    }
}
