//! Credentials from a program: `exec` of a kubeconfig's user (client-go's
//! plugin/pkg/client/auth/exec/exec.go).

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use api::Time;
use http::HeaderValue;
use runtime::Clock;
use serde_json::{Value as Json, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::config::Config;
use crate::encoding::{base64, bearer};
use crate::kubeconfig::{Fields, document};

/// Its time limit: a person may have to respond to it.
const LIMIT: Duration = Duration::from_mins(2);
/// More than any certificates need.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
const VERSIONS: [&str; 2] =
    ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
/// The name under which a cluster's extensions have the configuration of plugins.
const EXTENSION: &str = "client.authentication.k8s.io/exec";

/// A program that returns our credentials.
pub(crate) struct Plugin {
    command: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    version: &'static str,
    mode: Mode,
    install_hint: String,
    /// The cluster, as the plugin gets it.
    cluster: Option<Json>,
}

/// Whether the plugin may ask a person.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Never,
    IfAvailable,
    Always,
}

/// The credentials that a plugin returned.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) authorization: Option<HeaderValue>,
    /// A certificate and its key, PEM.
    pub(crate) identity: Option<(String, String)>,
    pub(crate) expires: Option<Time>,
}

// === impl Plugin ===

impl Plugin {
    /// Reads `exec` and its cluster. A command with a slash is relative to `folder`, one without is
    /// searched in the `PATH`.
    pub(crate) fn read(
        exec: &Fields<'_>,
        cluster: &Fields<'_>,
        folder: &Path,
    ) -> Result<Self, String> {
        let unset = |name| exec.wrong(name, "it is not set");
        let command = exec.text("command")?.ok_or_else(|| unset("command"))?;
        let command =
            if command.contains('/') { folder.join(command) } else { PathBuf::from(command) };
        let version = exec.text("apiVersion")?.ok_or_else(|| unset("apiVersion"))?;
        let [v1, v1beta1] = VERSIONS;
        let version = VERSIONS.into_iter().find(|known| *known == version).ok_or_else(|| {
            exec.wrong("apiVersion", &format!("must be {v1:?} or {v1beta1:?}, not {version:?}"))
        })?;
        let mode = match exec.text("interactiveMode")? {
            Some("Never") => Mode::Never,
            Some("IfAvailable") => Mode::IfAvailable,
            Some("Always") => Mode::Always,
            // tools/clientcmd/api/v1/defaults.go
            None if version == v1beta1 => Mode::IfAvailable,
            Some(_) | None => {
                let what = "must be \"Never\", \"IfAvailable\" or \"Always\"";
                return Err(exec.wrong("interactiveMode", what));
            }
        };
        let mut env = Vec::new();
        for variable in exec.list("env")? {
            let name = variable.text("name")?;
            let name = name.ok_or_else(|| variable.wrong("name", "it is not set"))?;
            env.push((name.to_owned(), variable.text("value")?.unwrap_or_default().to_owned()));
        }
        let is_told = exec.flag("provideClusterInfo")?;
        let cluster = is_told.then(|| about(cluster)).transpose()?;
        let args = exec.texts("args")?;
        // Without control characters, which a terminal would obey.
        let hint = exec.text("installHint")?.unwrap_or_default();
        let install_hint = hint.split(char::is_control).collect::<Vec<_>>().join(" ");
        Ok(Self { command, args, env, version, mode, install_hint, cluster })
    }

    /// Runs it. `authority` is the CA of the server, PEM.
    pub(crate) async fn ask(
        &self,
        config: &Config,
        authority: Option<&[u8]>,
        clock: &Clock,
    ) -> Result<Grant, String> {
        let failed = |why: String| format!("exec plugin {}: {why}", self.command.display());
        let is_interactive = self.is_interactive().map_err(failed)?;
        let info = self.info(config, authority, is_interactive);
        let mut command = Command::new(&self.command);
        command.args(&self.args).envs(self.env.iter().cloned());
        command.env("KUBERNETES_EXEC_INFO", info.to_string());
        command.stdin(if is_interactive { Stdio::inherit() } else { Stdio::null() });
        // Its error output appears in our log, between the lines.
        command.stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let ran = clock.timeout(LIMIT, run(command)).await;
        let ran = ran.map_err(|_| failed(format!("no answer within {LIMIT:?}")))?;
        let output = ran.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if !self.install_hint.is_empty() => {
                failed(format!("{error}: {}", self.install_hint))
            }
            _ => failed(error.to_string()),
        })?;
        self.grant(&output).map_err(failed)
    }

    fn is_interactive(&self) -> Result<bool, String> {
        let has_terminal = std::io::stdin().is_terminal();
        match self.mode {
            Mode::Never => Ok(false),
            Mode::IfAvailable => Ok(has_terminal),
            Mode::Always if has_terminal => Ok(true),
            Mode::Always => {
                Err("its interactiveMode is Always, and standard input is not a terminal"
                    .to_owned())
            }
        }
    }

    /// The `ExecCredential` for the plugin, which fills in the status.
    fn info(&self, config: &Config, authority: Option<&[u8]>, is_interactive: bool) -> Json {
        let mut spec = json!({ "interactive": is_interactive });
        if let Some(about) = &self.cluster {
            let mut cluster = about.clone();
            cluster["server"] = config.server.to_string().trim_end_matches('/').into();
            if let Some(authority) = authority {
                cluster["certificate-authority-data"] = base64(authority).into();
            }
            spec["cluster"] = cluster;
        }
        json!({ "kind": "ExecCredential", "apiVersion": self.version, "spec": spec })
    }

    /// Its output, as JSON or YAML.
    fn grant(&self, output: &[u8]) -> Result<Grant, String> {
        // An error of the parser may show a token.
        let text = str::from_utf8(output).map_err(|error| error.to_string())?;
        let document = document(text).map_err(|_| "it printed neither JSON nor YAML")?;
        let root = Fields::of(&document)?;
        let version = root.text("apiVersion")?.unwrap_or_default();
        if root.text("kind")? != Some("ExecCredential") || version != self.version {
            return Err(format!("it printed no ExecCredential of {}", self.version));
        }
        let status = root.fields("status")?;
        let authorization = match status.text("token")? {
            None => None,
            Some(token) => match bearer(token.as_bytes()) {
                Some(header) => Some(header),
                None => return Err(status.wrong("token", "it cannot be sent in a header")),
            },
        };
        let pair = (status.text("clientCertificateData")?, status.text("clientKeyData")?);
        let identity = match pair {
            (Some(certificate), Some(key)) => Some((certificate.to_owned(), key.to_owned())),
            (None, None) => None,
            (Some(_), None) => return Err(status.wrong("clientKeyData", "it is not set")),
            (None, Some(_)) => return Err(status.wrong("clientCertificateData", "it is not set")),
        };
        if authorization.is_none() && identity.is_none() {
            return Err(status.wrong("token", "there is none, nor a certificate"));
        }
        let field = "expirationTimestamp";
        let expires = status.text(field)?.map(Time::parse).transpose();
        let expires = expires.map_err(|why| status.wrong(field, &why))?;
        Ok(Grant { authorization, identity, expires })
    }
}

/// The cluster, as a plugin gets it (rest/exec.go, `ConfigToExecCluster`), without the server and
/// its CA.
fn about(cluster: &Fields<'_>) -> Result<Json, String> {
    let mut about = json!({});
    for name in ["tls-server-name", "proxy-url"] {
        if let Some(text) = cluster.text(name)? {
            about[name] = text.into();
        }
    }
    for name in ["insecure-skip-tls-verify", "disable-compression"] {
        if cluster.flag(name)? {
            about[name] = true.into();
        }
    }
    for extension in cluster.list("extensions")? {
        if extension.text("name")? == Some(EXTENSION) {
            let config = serde_json::to_value(extension.value("extension"));
            about["config"] =
                config.map_err(|error| extension.wrong("extension", &error.to_string()))?;
        }
    }
    Ok(about)
}

/// Its output, if it succeeds.
async fn run(mut command: Command) -> std::io::Result<Vec<u8>> {
    let mut child = command.spawn()?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut output).await?;
    }
    let status = child.wait().await?;
    if u64::try_from(output.len()).is_ok_and(|bytes| bytes > OUTPUT_BYTES_MAX) {
        return Err(std::io::Error::other("it printed too much"));
    }
    if !status.success() {
        return Err(std::io::Error::other(format!("it failed with {status}")));
    }
    Ok(output)
}
