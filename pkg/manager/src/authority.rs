//! The CA with which pods verify the API server. As `getKubeAPIServerCAFileContents` of upstream's
//! cmd/kube-controller-manager/app/certificates.go.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context as _, bail};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::flags::handles;
use crate::options::Options;

/// The content of `--root-ca-file`; without that flag the inline CA of the kubeconfig, which may be
/// empty. Read once, as upstream. An error if the file cannot be read, contains no certificate, or
/// a broken one; other sections of it are published together with the certificates.
pub(crate) fn root_ca(options: &Options) -> anyhow::Result<String> {
    let file = options.flags.text(handles::ROOT_CA_FILE);
    let content = match &options.kubeconfig {
        _ if !file.is_empty() => {
            read(Path::new(file)).with_context(|| format!("--root-ca-file {file}"))?
        }
        Some(kubeconfig) => client::authority_data(kubeconfig)?,
        None => Vec::new(),
    };
    Ok(String::from_utf8_lossy(&content).into_owned())
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let content = std::fs::read(file)?;
    let mut authorities = RootCertStore::empty();
    for section in CertificateDer::pem_slice_iter(&content) {
        let number = authorities.len() + 1;
        let certificate = section.with_context(|| format!("certificate {number} is not PEM"))?;
        authorities.add(certificate).with_context(|| format!("certificate {number} is broken"))?;
    }
    if authorities.is_empty() {
        bail!("holds no certificate");
    }
    Ok(content)
}
