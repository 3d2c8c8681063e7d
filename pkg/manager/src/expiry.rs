//! When the certificates expire that the manager presents: those of the kubeconfigs to API servers,
//! and its own to clients. The first refusal would be too late to find that out.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use metrics::{Family, IntGaugeVec, Registry};
use runtime::Runtime;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

use crate::options::Options;

/// How often the files are read: they are replaced long before they expire.
const EVERY: Duration = Duration::from_mins(1);
/// More than any file with certificates needs.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The source of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// PEM.
    Certificates(PathBuf),
    /// That of the user of the current context.
    Kubeconfig(PathBuf),
}

/// Shows the expiry in the files, now and after each change. Does nothing if there are no files.
pub(crate) fn follow(
    options: &Options,
    registry: &Registry,
    runtime: &Runtime,
) -> anyhow::Result<()> {
    let sources = sources(options);
    if sources.is_empty() {
        return Ok(());
    }
    let family = Family::alpha(
        "kcm_certificate_expiry_timestamp_seconds",
        "When the first certificate ends in the file that the flag names, in seconds since 1970.",
    );
    let gauges: IntGaugeVec = registry.family(&family.labels(&["flag"])).context("certificates")?;
    let clock = runtime.clock.clone();
    runtime::spawn("certificates", async move {
        loop {
            let (sources, gauges) = (sources.clone(), gauges.clone());
            // A file system that hangs must not block the manager.
            let read = tokio::task::spawn_blocking(move || show(&sources, &gauges));
            let _ = read.await;
            clock.sleep(EVERY).await;
        }
    });
    Ok(())
}

/// The files of the flags, by flag.
fn sources(options: &Options) -> Vec<(&'static str, Source)> {
    let kubeconfigs = [
        ("kubeconfig", &options.kubeconfig),
        ("authentication-kubeconfig", &options.authentication_kubeconfig),
        ("authorization-kubeconfig", &options.authorization_kubeconfig),
    ];
    let kubeconfigs = kubeconfigs
        .into_iter()
        .filter_map(|(flag, path)| Some((flag, Source::Kubeconfig(path.clone()?))));
    let Some(serving) = &options.serving else { return kubeconfigs.collect() };
    let default = match &serving.certificate {
        https::CertificateSource::Files { cert, .. } => Some(("tls-cert-file", cert.clone())),
        https::CertificateSource::Directory { dir, pair_name } => {
            Some(("cert-dir", dir.join(format!("{pair_name}.crt"))))
        }
        https::CertificateSource::SelfSigned => None,
    };
    let sni = serving.sni.iter().map(|sni| ("tls-sni-cert-key", sni.cert.clone()));
    let own = default.into_iter().chain(sni);
    kubeconfigs.chain(own.map(|(flag, path)| (flag, Source::Certificates(path)))).collect()
}

/// Of several files of one flag the earliest expiry counts. A file that cannot be read has none.
fn show(sources: &[(&'static str, Source)], gauges: &IntGaugeVec) {
    for (flag, _) in sources {
        let ends = sources.iter().filter(|(other, _)| other == flag);
        match ends.filter_map(|(_, source)| end(source)).min() {
            Some(end) => gauges.with_label_values(&[flag]).set(end),
            // There may be no series yet.
            None => drop(gauges.remove_label_values(&[flag])),
        }
    }
}

/// When the first certificate expires, in seconds since 1970.
fn end(source: &Source) -> Option<i64> {
    let pem = match source {
        Source::Certificates(path) => read(path)?,
        Source::Kubeconfig(path) => client::client_certificate(path)?,
    };
    let ends = CertificateDer::pem_slice_iter(&pem).flatten().filter_map(|der| {
        let (_, certificate) = X509Certificate::from_der(&der).ok()?;
        Some(certificate.validity().not_after.timestamp())
    });
    ends.min()
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
