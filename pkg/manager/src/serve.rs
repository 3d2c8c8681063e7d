//! The secure port: opens it, guards it, and fills its pages.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use api::Time;
use auth::{Guard, User};
use bytes::Bytes;
use client::{Client, ConfigError, ConnectOptions, Settings};
use http::Response;
use http::request::Parts;
use https::{Line, PeerCertificates, Port};
use metrics::{Registry, Slis};
use runtime::Runtime;
use server::{Admit, CheckResult, Debugging, Exposition, Health, Pages, ProcessStatus};

use crate::debug::{self, Audience, Source};
use crate::gates::{Versions, features};
use crate::logging;
use crate::options::Options;

/// The program's name on its pages.
const COMPONENT: &str = "kube-controller-manager";
/// The limits of delegated clients in Kubernetes' own servers: requests per second, and burst.
const DELEGATED_LIMITS: (f64, u32) = (200.0, 400);

/// The measured values, as pages.
#[derive(Clone)]
pub(crate) struct Shown {
    /// /metrics.
    pub(crate) registry: Registry,
    /// /metrics/slis.
    pub(crate) slis: Slis,
    /// The checks behind /healthz.
    pub(crate) health: Health,
}

/// The content of the pages.
pub(crate) struct Site {
    /// Metrics and health.
    pub(crate) shown: Shown,
    /// The process' start.
    pub(crate) started: Time,
    /// The controllers.
    pub(crate) source: Arc<dyn Source>,
}

/// Admits the requests that the guard admits.
struct Door(Guard);

impl Shown {
    /// Registers the families of every process.
    pub(crate) fn new(options: &Options) -> anyhow::Result<Self> {
        let settings = options
            .metrics
            .settings()
            .map_err(|errors| anyhow::anyhow!("{}", crate::validation::aggregate(&errors)))?;
        let registry = Registry::new(settings.clone());
        let Versions { emulation, min_compat, .. } = &options.gates.versions;
        let (emulation, min_compat) = (emulation.to_string(), min_compat.to_string());
        metrics::identity::register(&registry, &emulation, &min_compat)
            .context("build information")?;
        metrics::identity::register_features(&registry, options.gates.iter())
            .context("feature gates")?;
        metrics::process::register(&registry, tokio::runtime::Handle::current())
            .context("process metrics")?;
        logging::count_panics(&registry).context("panics")?;
        let slis = Slis::new(settings);
        let observed = slis.clone();
        let health = Health::new(move |name, result| {
            observed.observe(name, "healthz", result == CheckResult::Success);
        });
        Ok(Self { registry, slis, health })
    }
}

/// Opens the port, so that a conflict is found before anything else begins. None if the flags
/// disable it.
pub(crate) async fn open(options: &Options, runtime: &Runtime) -> anyhow::Result<Option<Port>> {
    let Some(settings) = &options.serving else { return Ok(None) };
    Ok(Some(Port::open(settings.clone(), runtime.clone()).await?))
}

/// Authentication and authorization. An error if their configuration cannot be read.
pub(crate) async fn guard(
    options: &Options,
    shown: &Shown,
    metrics: &client::Metrics,
    runtime: &Runtime,
) -> anyhow::Result<Guard> {
    let client = |kubeconfig: &Option<PathBuf>, kubeconfig_flag| {
        let kubeconfig = kubeconfig.clone();
        let server = ConnectOptions { kubeconfig, kubeconfig_flag, ..ConnectOptions::default() };
        delegated(server, options, metrics, runtime)
    };
    let asks_who =
        client(&options.authentication_kubeconfig, "--authentication-kubeconfig").await?;
    let asks_whether =
        client(&options.authorization_kubeconfig, "--authorization-kubeconfig").await?;
    let counted = auth::Metrics::new(&shown.registry).context("authentication metrics")?;
    let (authentication, authorization) = (asks_who.as_ref(), asks_whether.as_ref());
    Ok(Guard::start(&options.guard, authentication, authorization, &counted, runtime).await?)
}

/// A client for delegated reviews. Without a kubeconfig it is the pod's own, if this is a pod.
async fn delegated(
    server: ConnectOptions,
    options: &Options,
    metrics: &client::Metrics,
    runtime: &Runtime,
) -> Result<Option<Client>, ConfigError> {
    let connection = match client::connect(&server).await {
        // Reviews are POSTs, and have a door of their own: no controller can use it.
        Ok(connection) if options.shadow.is_some() => connection.reviewing(),
        Ok(connection) => connection,
        Err(ConfigError::InCluster(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    metrics.count_transport();
    let (qps, burst) = DELEGATED_LIMITS;
    let user_agent = crate::start::user_agent("delegated-auth");
    let settings = Settings { qps, burst, user_agent, host: connection.host };
    Ok(Some(Client::new(connection.transport, settings, metrics, runtime)))
}

/// Serves until the runtime is cancelled.
pub(crate) fn start(
    port: Port,
    guard: Guard,
    site: Site,
    options: &Options,
    runtime: &Runtime,
) -> anyhow::Result<()> {
    let audience = Audience::Users(Arc::new(guard.clone()));
    let router = server::router(pages(site, audience, options, runtime)?, Door(guard), runtime);
    runtime::spawn("https", port.serve(router));
    Ok(())
}

fn pages(
    site: Site,
    audience: Audience,
    options: &Options,
    runtime: &Runtime,
) -> anyhow::Result<Pages> {
    let Site { shown: Shown { registry, slis, health }, started, source } = site;
    let shown = slis.clone();
    let versions = &options.gates.versions;
    let status = ProcessStatus {
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
        flags: options.gates.is_on(features::COMPONENT_FLAGZ).then(|| flags(options)),
        status: options.gates.is_on(features::COMPONENT_STATUSZ).then_some(status),
        cbor: options.gates.is_on(features::CBOR_SERVING_AND_STORAGE),
        debugging: options.profiling.then_some(debugging),
        extra: debug::router(source, audience),
    })
}

fn flags(options: &Options) -> BTreeMap<String, String> {
    options.flags.shown().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn exposition(page: metrics::Page) -> Exposition {
    Exposition { content_type: page.content_type, body: page.body }
}

impl Admit for Door {
    type User = User;

    async fn admit(&self, request: &Parts) -> Result<User, Response<Bytes>> {
        let chain = request.extensions.get::<PeerCertificates>();
        let chain = chain.map_or(&[][..], |chain| &chain.0);
        let user = self.0.admit(request, chain).await?;
        if let Some(line) = request.extensions.get::<Line>()
            && !user.is_anonymous()
        {
            line.vouch();
        }
        Ok(user)
    }
}
