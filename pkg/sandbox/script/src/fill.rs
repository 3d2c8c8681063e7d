//! What stands for a field of an object, such as `<<rs/web .metadata.uid>>`.

use anyhow::Context as _;
use serde_json::Value;

use crate::command::Target;
use crate::show::field;
use crate::{Ask, Cluster, Player};

const OPEN: &str = "<<";
const CLOSE: &str = ">>";

impl<C: Cluster> Player<'_, C> {
    /// Puts fields of objects where a document names them.
    pub(crate) async fn fill(&self, value: &mut Value) -> anyhow::Result<()> {
        match value {
            Value::String(text) => {
                if let Some(named) = text.strip_prefix(OPEN).and_then(|it| it.strip_suffix(CLOSE)) {
                    *text = self.named_field(named).await?;
                }
            }
            Value::Array(list) => {
                for it in list {
                    Box::pin(self.fill(it)).await?;
                }
            }
            Value::Object(fields) => {
                for it in fields.values_mut() {
                    Box::pin(self.fill(it)).await?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    async fn named_field(&self, named: &str) -> anyhow::Result<String> {
        let odd = || format!("<<{named}>>: such as <<rs/web -n other .metadata.uid or none>>");
        let (named, or) = match named.split_once(" or ") {
            Some((named, or)) => (named, Some(or.to_owned())),
            None => (named, None),
        };
        let (object, path) = named.rsplit_once(' ').with_context(odd)?;
        let (object, namespace) = match object.split_once(" -n ") {
            Some((object, namespace)) => (object, Some(namespace.to_owned())),
            None => (object, None),
        };
        let (resource, name) = object.split_once('/').with_context(odd)?;
        let (resource, name) = (resource.to_owned(), name.to_owned());
        let target = Target { resource, name, namespace, ..Target::default() };
        let (resource, keys) = match (self.find(&target).await?, or.clone()) {
            (Ok(found), _) => found,
            (Err(_), Some(or)) => return Ok(or),
            (Err(failure), None) => return Err(anyhow::Error::msg(failure)),
        };
        let path_of = keys.first().map(|key| resource.object_path(key)).with_context(odd)??;
        let reply = self.cluster.ask(Ask::get(path_of)).await?;
        if let Some(or) = or.filter(|_| !reply.is_ok()) {
            return Ok(or);
        }
        anyhow::ensure!(reply.is_ok(), "{}: {}", odd(), reply.failure());
        Ok(field(&reply.body, path))
    }
}
