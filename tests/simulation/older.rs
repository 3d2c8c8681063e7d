//! Time travel: another API server, which is stale, serves lists and watches.
//!
//! As upstream's watch cache (apiserver's pkg/storage/cacher): a list at any version gets what it
//! has; one at a version that it has not reached gets an error (the sandbox does that); a watch
//! from such a version is silent. A request for the latest gets that from any server, since it asks
//! etcd where etcd is; so do GETs, writes, and continued lists.

use std::time::Duration;

use http::Uri;
use sandbox::Server;

use crate::fault::Fault;
use crate::life::About;
use crate::site::Site;

/// Which revision there was when.
#[derive(Default)]
pub(crate) struct Past(Vec<(Duration, u64)>);

// === impl Past ===

impl Past {
    pub(crate) fn note(&mut self, now: Duration, revision: u64) {
        if self.0.last().is_none_or(|(_, last)| *last < revision) {
            self.0.push((now, revision));
        }
    }

    /// The revision at a time, or an earlier one.
    fn at(&self, time: Duration) -> Option<u64> {
        let known = self.0.partition_point(|(at, _)| *at <= time);
        self.0.get(known.saturating_sub(1)).map(|(_, revision)| *revision)
    }
}

// === impl About ===

impl About {
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.query.split('&').filter_map(|it| it.split_once('='));
        parameters.find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whether it lists the objects of a kind.
    pub(crate) fn lists(&self) -> bool {
        let parts: Vec<_> = self.path.trim_matches('/').split('/').collect();
        let within = match parts.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => &[],
        };
        let is_collection = match within {
            ["namespaces", _, part] => !matches!(*part, "status" | "finalize"),
            other => other.len() == 1,
        };
        self.method == http::Method::GET && !self.watches() && is_collection
    }
}

/// The server that responds, and the fault that the response still has. A server that lies does not
/// look at the version that it is asked for.
pub(crate) fn answers(
    site: &Site,
    about: &About,
    fault: Option<Fault>,
    uri: &mut Uri,
) -> (Server, Option<Fault>) {
    let fresh = site.cluster.server().clone();
    let (seconds, lies) = match fault {
        Some(Fault::Older(seconds)) => (seconds, false),
        Some(Fault::Lying(seconds)) => (seconds, true),
        _ => return (fresh, fault),
    };
    let asked = about.parameter("resourceVersion").filter(|it| !it.is_empty());
    let is_read = about.lists() || about.watches();
    let (Some(asked), true, None) = (asked, is_read, about.parameter("continue")) else {
        return (fresh, None);
    };
    let time = site.now().saturating_sub(Duration::from_secs(seconds));
    let revision = site.log().past.at(time).unwrap_or(0);
    let Ok(server) = fresh.as_of(revision) else { return (fresh, None) };
    let is_plain_watch = about.watches() && about.parameter("sendInitialEvents").is_none();
    if lies && !is_plain_watch {
        let old = format!("resourceVersion={asked}");
        let path = uri.to_string().replacen(&old, "resourceVersion=0", 1);
        *uri = path.parse().unwrap_or_else(|_| uri.clone());
    }
    if revision < fresh.revision() {
        let is_known = asked.parse().is_ok_and(|asked: u64| asked <= revision);
        let what = match (is_plain_watch, is_known) {
            _ if lies && !is_plain_watch => "older lies",
            (false, true) => "older lists",
            (false, false) => "older refusals",
            (true, true) => "older watches",
            (true, false) => "older silent watches",
        };
        *site.log().faults.entry(what).or_default() += 1;
    }
    (server, fault)
}

#[cfg(test)]
mod older_tests {
    use anyhow::ensure;
    use http::{Request, header};
    use http_body_util::BodyExt as _;
    use kube::client::Body;
    use runtime::Runtime;
    use script::{Cluster as _, Player, Script};
    use serde_json::Value;
    use tower::ServiceExt as _;

    use super::*;
    use crate::case::Case;
    use crate::life::Life;
    use crate::site::START;

    /// The names in what a request brings, with its code and its version.
    async fn ask(life: &Life, query: &str) -> anyhow::Result<String> {
        let path = format!("/api/v1/namespaces/default/configmaps{query}");
        // It may list whatever there is.
        let agent = "simulation/generic-garbage-collector";
        let request = Request::get(path).header(header::USER_AGENT, agent).body(Body::empty())?;
        let mut answer = life.clone().oneshot(request).await.map_err(anyhow::Error::from_boxed)?;
        let mut names = vec![answer.status().as_u16().to_string()];
        let is_watch = query.contains("watch=true");
        let body = if is_watch {
            let frame = answer.body_mut().frame();
            let frame = life.clock.timeout(Duration::from_secs(70), frame).await;
            match frame.ok().flatten() {
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(_)) => return Ok("breaks".to_owned()),
                None => return Ok("silent".to_owned()),
            }
        } else {
            answer.collect().await.map_err(anyhow::Error::from_boxed)?.to_bytes()
        };
        for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let value: Value = serde_json::from_slice(line)?;
            let one = std::slice::from_ref(&value["object"]);
            let items = value["items"].as_array().map_or(one, Vec::as_slice);
            let all = items.iter().filter_map(|item| item["metadata"]["name"].as_str());
            names.extend(all.map(str::to_owned));
            names.extend(value["object"]["reason"].as_str().map(str::to_owned));
        }
        Ok(names.join(" "))
    }

    async fn play() -> anyhow::Result<()> {
        let queries = [
            // Which request, what an older server brings, and what one that lies brings.
            ("?resourceVersion=0", "200 old", "200 old"),
            ("?limit=500&resourceVersion=0", "200 old", "200 old"),
            ("", "200 new old", "200 new old"),
            ("?limit=500", "200 new old", "200 new old"),
            ("?resourceVersion=NOW", "504", "200 old"),
            ("/old?resourceVersion=0", "200", "200"),
            ("?watch=true&resourceVersion=THEN", "breaks", "breaks"),
            ("?watch=true&resourceVersion=NOW", "breaks", "breaks"),
            ("?watch=true&resourceVersion=1", "200 old", "200 old"),
            (
                "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
                 &resourceVersion=NOW",
                "200 Timeout",
                "200 old",
            ),
            (
                "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                "200 new old",
                "200 new old",
            ),
        ];
        let runtime = Runtime::simulated(START, 1);
        for (name, seconds) in [("older", 300), ("lying", 300)] {
            let faults: Vec<_> = (0..queries.len())
                .flat_map(|number| ["list", "watch"].map(|kind| (kind, number)))
                .map(|(kind, number)| format!("# fault {kind} {number}: {name} {seconds}"))
                .collect();
            let faults = faults.join("\n");
            let site = Site::new(&runtime, &Case::parse(&format!("@nodes 0\n{faults}\n"))?);
            let mut player = Player::new(&site, "default").await?;
            let make = |name| {
                let kind = "| apiVersion: v1\n| kind: ConfigMap";
                Script::parse(&format!("> create\n{kind}\n| metadata: {{name: {name}}}\n"))
            };
            player.play(&make("old")?).await?;
            let then = site.cluster.server().revision().to_string();
            site.tick(Duration::from_secs(400)).await;
            player.play(&make("new")?).await?;
            let now = site.cluster.server().revision().to_string();
            let life = site.live('a');
            for (query, older, lying) in queries {
                let want = if name == "older" { older } else { lying };
                let query = query.replace("NOW", &now).replace("THEN", &then);
                let got = ask(&life, &query).await?;
                ensure!(got == want, "{name} {query}: {got}, not {want}");
            }
        }
        Ok(())
    }

    #[test]
    fn older_servers_show_the_past() -> anyhow::Result<()> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let tokio = builder.enable_all().start_paused(true).build()?;
        tokio.block_on(play())
    }
}
