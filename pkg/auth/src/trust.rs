//! The CAs of clients and of front proxies, from files and from the cluster, kept up to date.
//!
//! A CA that a flag names is read from its file. Without the flag it is read from the ConfigMap
//! `extension-apiserver-authentication`, in which the API server publishes its own. Both are read
//! again every minute, the ConfigMap also when a watch reports a change. If a source cannot be read
//! or parsed, the last good state stays (pkg/server/dynamiccertificates).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use api::wire::null_is_empty;
use client::{ApiError, Client};
use runtime::{Clock, Runtime, spawn};
use serde::Deserialize;

use crate::bundle::Bundle;
use crate::front_proxy::Headers;
use crate::{Error, Settings};

/// How often everything is read again.
const REREAD: Duration = Duration::from_mins(1);
/// Changes that come this close together are read at once.
const CALM: Duration = Duration::from_secs(1);
/// How long the API server may take to begin a watch.
const WATCH_BEGIN_LIMIT: Duration = Duration::from_secs(10);
const CONFIGMAPS: &str = "/api/v1/namespaces/kube-system/configmaps";
const NAME: &str = "extension-apiserver-authentication";

/// `--requestheader-*`. Without a file, all of it is looked up in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// `--requestheader-client-ca-file`.
    pub client_ca_file: Option<PathBuf>,
    /// `--requestheader-allowed-names`; empty: every name.
    pub allowed_names: Vec<String>,
    /// `--requestheader-username-headers`.
    pub username_headers: Vec<String>,
    /// `--requestheader-uid-headers`.
    pub uid_headers: Vec<String>,
    /// `--requestheader-group-headers`.
    pub group_headers: Vec<String>,
    /// `--requestheader-extra-headers-prefix`.
    pub extra_headers_prefix: Vec<String>,
}

/// The CAs at this moment.
pub(crate) struct Trust(Arc<Shared>);

struct Shared {
    clients: Slot,
    proxies: Slot,
    headers: RwLock<Arc<Headers>>,
    /// About the ConfigMap as a whole.
    complaint: Complaint,
}

/// One CA bundle.
struct Slot {
    source: Source,
    bundle: RwLock<Option<Arc<Bundle>>>,
    complaint: Complaint,
}

enum Source {
    Nowhere,
    File { flag: &'static str, path: PathBuf },
    ConfigMap { key: &'static str },
}

/// The last complaint that was logged, so that it is logged once.
#[derive(Default)]
struct Complaint(Mutex<Option<String>>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConfigMap {
    metadata: Metadata,
    #[serde(deserialize_with = "null_is_empty")]
    data: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    resource_version: String,
}

// === impl Trust ===

impl Trust {
    /// Reads everything once and starts the tasks that read it again. An error if a file cannot be
    /// used; or, unless that is tolerated, if front proxies need the ConfigMap and it cannot be
    /// read or its headers cannot be parsed. A missing ConfigMap is no error.
    pub(crate) async fn start(
        settings: &Settings,
        client: Option<&Client>,
        runtime: &Runtime,
    ) -> Result<Self, Error> {
        let ProxySettings { client_ca_file, .. } = &settings.request_header;
        let looks_up = client.is_some() && !settings.skip_lookup;
        let slot = |file: &Option<PathBuf>, flag, key| {
            Slot::new(match file {
                Some(path) => Source::File { flag, path: path.clone() },
                None if looks_up => Source::ConfigMap { key },
                None => Source::Nowhere,
            })
        };
        let shared = Arc::new(Shared {
            clients: slot(&settings.client_ca_file, "--client-ca-file", "client-ca-file"),
            proxies: slot(
                client_ca_file,
                "--requestheader-client-ca-file",
                "requestheader-client-ca-file",
            ),
            // Headers that are looked up must not start with the flags' values, which could allow
            // more.
            headers: RwLock::new(Arc::new(match client_ca_file {
                Some(_) => Headers::from(&settings.request_header),
                None => Headers::default(),
            })),
            complaint: Complaint::default(),
        });
        shared.clients.read_file()?;
        shared.proxies.read_file()?;
        if shared.clients.is_file() || shared.proxies.is_file() {
            let (shared, runtime) = (Arc::clone(&shared), runtime.clone());
            spawn("reread authorities", async move {
                runtime.cancel.run_until_cancelled(reread_files(&shared, &runtime.clock)).await;
            });
        }
        match client {
            Some(client) if shared.clients.is_looked_up() || shared.proxies.is_looked_up() => {
                shared.start_lookup(settings, client, runtime).await?;
            }
            None if !settings.skip_lookup && shared.lacks_something() => tracing::warn!(
                "no --authentication-kubeconfig to look up the cluster's authorities with: client \
                 certificates prove nothing but for --client-ca-file and \
                 --requestheader-client-ca-file"
            ),
            Some(_) | None => {}
        }
        Ok(Self(shared))
    }

    /// The CA of users; none: client certificates are not used.
    pub(crate) fn clients(&self) -> Option<Arc<Bundle>> {
        self.0.clients.bundle()
    }

    /// The CA of front proxies; none: there are no front proxies.
    pub(crate) fn proxies(&self) -> Option<Arc<Bundle>> {
        self.0.proxies.bundle()
    }

    /// The headers in which front proxies name the user.
    pub(crate) fn headers(&self) -> Arc<Headers> {
        Arc::clone(&self.0.headers.read().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn reread_files(shared: &Shared, clock: &Clock) {
    loop {
        clock.sleep(REREAD).await;
        for slot in [&shared.clients, &shared.proxies] {
            slot.complaint.report(slot.read_file().map_err(|error| error.to_string()));
        }
    }
}

// === The ConfigMap ===

impl Shared {
    async fn start_lookup(
        self: &Arc<Self>,
        settings: &Settings,
        client: &Client,
        runtime: &Runtime,
    ) -> Result<(), Error> {
        let read = self.read_configmap(client).await;
        let version = read.as_ref().map_or_else(|_| String::new(), Clone::clone);
        match read {
            Err(error) if self.proxies.is_looked_up() && !settings.tolerate_lookup_failure => {
                return Err(Error::Lookup(error));
            }
            read => self.complaint.report(read.map(drop)),
        }
        let (shared, client, runtime) = (Arc::clone(self), client.clone(), runtime.clone());
        spawn("follow authorities", async move {
            let follow = shared.follow_configmap(&client, version, &runtime.clock);
            runtime.cancel.run_until_cancelled(follow).await;
        });
        Ok(())
    }

    async fn follow_configmap(&self, client: &Client, mut version: String, clock: &Clock) {
        loop {
            wait_for_change(client, &version, clock).await;
            let read = self.read_configmap(client).await;
            if let Ok(read) = &read {
                version.clone_from(read);
            }
            self.complaint.report(read.map(drop));
        }
    }

    /// Applies what can be parsed, and returns the version that was read, empty if there is no
    /// ConfigMap. An error says what is wrong with it as a whole or with its headers.
    async fn read_configmap(&self, client: &Client) -> Result<String, String> {
        let body = match client.get(&format!("{CONFIGMAPS}/{NAME}")).await {
            Ok(body) => body,
            Err(error) if code(&error) == Some(404) => return Ok(String::new()),
            Err(error) if code(&error) == Some(403) => {
                return Err(format!(
                    "{error}: unable to get configmap/{NAME} in kube-system. Usually fixed by \
                     'kubectl create rolebinding -n kube-system ROLEBINDING_NAME \
                     --role=extension-apiserver-authentication-reader \
                     --serviceaccount=YOUR_NS:YOUR_SA'"
                ));
            }
            Err(error) => {
                return Err(format!("unable to get configmap/{NAME} in kube-system: {error}"));
            }
        };
        let map = serde_json::from_slice::<ConfigMap>(&body);
        let map = map.map_err(|error| format!("configmap/{NAME} in kube-system: {error}"))?;
        for slot in [&self.clients, &self.proxies] {
            slot.read_configmap(&map.data);
        }
        if self.proxies.is_looked_up() {
            let headers = Headers::try_from(&map.data);
            let headers =
                headers.map_err(|error| format!("configmap/{NAME} in kube-system: {error}"))?;
            *self.headers.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(headers);
        }
        Ok(map.metadata.resource_version)
    }

    fn lacks_something(&self) -> bool {
        !(self.clients.is_file() && self.proxies.is_file())
    }
}

/// Waits until a watch reports that the ConfigMap is no longer at `version`, or the next read is
/// due. If the watch fails, it is just read at its time.
async fn wait_for_change(client: &Client, version: &str, clock: &Clock) {
    let anyway = clock.instant() + REREAD;
    let path = format!(
        "{CONFIGMAPS}?watch=true&fieldSelector=metadata.name%3D{NAME}&resourceVersion={version}\
         &timeoutSeconds={}",
        REREAD.as_secs()
    );
    let changed = match client.stream(&path, "application/json", WATCH_BEGIN_LIMIT).await {
        Ok(mut answer) => matches!(answer.chunk(REREAD).await, Ok(Some(_))),
        Err(error) => {
            tracing::debug!(%error, "cannot watch the ConfigMap with the CAs");
            false
        }
    };
    if changed {
        clock.sleep(CALM).await;
    } else {
        clock.sleep_until(anyway).await;
    }
}

fn code(error: &ApiError) -> Option<u16> {
    error.status().map(|status| status.code)
}

// === impl Slot ===

impl Slot {
    fn new(source: Source) -> Self {
        Self { source, bundle: RwLock::default(), complaint: Complaint::default() }
    }

    fn bundle(&self) -> Option<Arc<Bundle>> {
        self.bundle.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_file(&self) -> bool {
        matches!(self.source, Source::File { .. })
    }

    fn is_looked_up(&self) -> bool {
        matches!(self.source, Source::ConfigMap { .. })
    }

    /// Does nothing if the bundle does not come from a file.
    fn read_file(&self) -> Result<(), Error> {
        let Source::File { flag, path } = &self.source else { return Ok(()) };
        let content = std::fs::read(path).map_err(|error| error.to_string());
        let taken = content.and_then(|content| self.take(flag, &content));
        taken.map_err(|text| Error::File { flag, path: path.clone(), text })
    }

    /// Does nothing if the bundle does not come from the ConfigMap.
    fn read_configmap(&self, data: &BTreeMap<String, String>) {
        let Source::ConfigMap { key } = &self.source else { return };
        let taken = match data.get(*key) {
            Some(content) => self.take(key, content.as_bytes()),
            None => Err("is missing".to_owned()),
        };
        self.complaint.report(
            taken.map_err(|text| format!("{key} of configmap/{NAME} in kube-system: {text}")),
        );
    }

    fn take(&self, name: &str, content: &[u8]) -> Result<(), String> {
        if self.bundle().is_some_and(|bundle| bundle.pem == content) {
            return Ok(());
        }
        let bundle = Arc::new(Bundle::parse(content)?);
        for (certificate, reason) in bundle.powerless() {
            tracing::warn!(
                name,
                certificate,
                reason,
                "a certificate among the authorities is none: what it signs proves nothing"
            );
        }
        *self.bundle.write().unwrap_or_else(PoisonError::into_inner) = Some(bundle);
        tracing::info!(name, "read the CA of client certificates");
        Ok(())
    }
}

// === impl Complaint ===

impl Complaint {
    fn report(&self, result: Result<(), String>) {
        let complaint = result.err();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == complaint {
            return;
        }
        if let Some(error) = &complaint {
            tracing::warn!(
                error,
                "authorities of client certificates cannot be read: the last ones that could stay"
            );
        } else {
            tracing::info!("the CA of client certificates can be read again");
        }
        *last = complaint;
    }
}

// === impl Headers ===

impl From<&ProxySettings> for Headers {
    fn from(settings: &ProxySettings) -> Self {
        Self {
            allowed_names: settings.allowed_names.clone(),
            username: settings.username_headers.clone(),
            uid: settings.uid_headers.clone(),
            group: settings.group_headers.clone(),
            extra_prefix: settings.extra_headers_prefix.clone(),
        }
    }
}

impl TryFrom<&BTreeMap<String, String>> for Headers {
    type Error = String;

    fn try_from(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let list = |key: &str| match data.get(key).map(String::as_str) {
            None | Some("") => Ok(Vec::new()),
            Some(text) => {
                let list = serde_json::from_str::<Option<Vec<String>>>(text);
                list.map(Option::unwrap_or_default).map_err(|error| format!("{key}: {error}"))
            }
        };
        Ok(Self {
            allowed_names: list("requestheader-allowed-names")?,
            username: list("requestheader-username-headers")?,
            uid: list("requestheader-uid-headers")?,
            group: list("requestheader-group-headers")?,
            extra_prefix: list("requestheader-extra-headers-prefix")?,
        })
    }
}
