//! Bodies in protobuf, as typed clients in Go send them, are read as upstream reads them: its own
//! samples, one of each kind with each field, once in protobuf and once in JSON.

use anyhow::{Context, ensure};
use schema::{Schema, Strictness, decode, from_protobuf};
use std::fs;
use std::path::Path;
use std::process::Command;

const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cluster/kube");
/// The modules that have samples, and where.
const SAMPLES: [(&str, &str); 2] =
    [("k8s.io/api", "testdata/HEAD"), ("k8s.io/apiextensions-apiserver", "pkg/apis/testdata/HEAD")];

#[test]
fn samples_of_upstream_are_read() -> anyhow::Result<()> {
    let mut read = 0;
    for (module, folder) in SAMPLES {
        let arguments = ["list", "-m", "-f", "{{.Dir}}", module];
        let said = Command::new("go").args(arguments).current_dir(MODULE).output()?;
        let dir = String::from_utf8(said.stdout)?;
        for entry in fs::read_dir(Path::new(dir.trim()).join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "pb") {
                read += usize::from(sample(&path)?);
            }
        }
    }
    ensure!(read > 65, "{read} samples were read");
    Ok(())
}

/// Whether a sample is of a kind that is served, and is read as its JSON is.
fn sample(path: &Path) -> anyhow::Result<bool> {
    // As `apps.v1.Deployment.pb`.
    let name = path.file_stem().and_then(|stem| stem.to_str()).context("a name")?;
    let mut parts = name.rsplitn(3, '.');
    let (kind, version) = (parts.next().context("a kind")?, parts.next().context("a version")?);
    let group = parts.next().filter(|group| *group != "core").unwrap_or_default();
    let schema = Schema::builtin();
    let Some(id) = schema.kind(group, version, kind) else { return Ok(false) };
    // Objects of this kind are never sent.
    if kind == "WatchEvent" {
        return Ok(false);
    }
    let json = fs::read(path.with_extension("json"))?;
    let written = decode(schema, id, &json, Strictness::Strict)?.object;
    let object = from_protobuf(&fs::read(path)?, (group, version, kind));
    let object = object.map_err(|why| anyhow::anyhow!("{name}: {why}"))?;
    let object = decode(schema, id, object.to_string().as_bytes(), Strictness::Strict)?.object;
    ensure!(object == written, "{name}\nprotobuf: {object}\nJSON: {written}");
    Ok(true)
}
