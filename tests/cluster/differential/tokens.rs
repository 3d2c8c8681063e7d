//! Bootstrap tokens, what they sign, and how they end.

use anyhow::Context as _;
use cluster_tests::{Objects, quiet};
use serde_json::{Value, json};

use super::{CALM, Scene, Teller};

const MAPS: &str = "configmaps";
const SECRETS: &str = "secrets";
const TYPE: &str = "bootstrap.kubernetes.io/token";

impl Teller {
    /// Tokens that last, that have ended, that say no time, and that do not sign; and a Secret of
    /// another type.
    pub(super) async fn tokens_sign_and_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(SECRETS, "tokens").await?;
        let (public, system) = self.places()?;
        let data = json!({"kubeconfig": "payload <é>", "jws-kubeconfig-old000": "stale",
            "jws-kubeconfig-": "nobody's", "other": "stays"});
        public.create(MAPS, &json!({"metadata": {"name": "cluster-info"}, "data": data})).await?;
        let signs = "usage-bootstrap-signing";
        for (id, kind, more) in [
            ("lasts0", TYPE, json!({signs: "true", "expiration": "9999-12-31T23:59:59Z"})),
            ("always", TYPE, json!({signs: "true"})),
            ("silent", TYPE, json!({signs: "yes"})),
            ("over00", TYPE, json!({signs: "true", "expiration": "2020-01-01T00:00:00Z"})),
            ("notime", TYPE, json!({signs: "true", "expiration": "tomorrow"})),
            ("opaque", "Opaque", json!({signs: "true", "expiration": "2020-01-01T00:00:00Z"})),
        ] {
            let mut data = more;
            data["token-id"] = id.into();
            data["token-secret"] = "0123456789abcdef".into();
            let name = format!("bootstrap-token-{id}");
            let secret = json!({"metadata": {"name": name}, "type": kind, "stringData": data});
            system.create(SECRETS, &secret).await?;
        }
        for id in ["over00", "notime"] {
            system.gone(SECRETS, &format!("bootstrap-token-{id}")).await?;
        }
        let has_two = |info: &Value| {
            let keys = info["data"].as_object().into_iter().flatten().map(|(key, _)| key);
            keys.filter(|key| key.starts_with("jws-"))
                .eq(["jws-kubeconfig-always", "jws-kubeconfig-lasts0"])
        };
        let info = public.wait(MAPS, "cluster-info", "to be signed twice", has_two).await?;
        self.signed(&scene, "signed").await?;
        let other = json!({"data": {"kubeconfig": "other"}});
        public.merge(MAPS, "cluster-info", &other).await?;
        let old = info["data"]["jws-kubeconfig-always"].clone();
        let is_new = |info: &Value| info["data"]["jws-kubeconfig-always"] != old;
        public.wait(MAPS, "cluster-info", "to be signed again", is_new).await?;
        self.signed(&scene, "signed again").await?;
        system.delete(SECRETS, "bootstrap-token-lasts0").await?;
        let is_bare = |info: &Value| info["data"]["jws-kubeconfig-lasts0"].is_null();
        public.wait(MAPS, "cluster-info", "to lose a signature", is_bare).await?;
        self.signed(&scene, "without a token").await
    }

    fn places(&self) -> anyhow::Result<(Objects, Objects)> {
        let of = |namespace| Objects::of(&self.cluster, namespace);
        Ok((of("kube-public")?, of("kube-system")?))
    }

    /// Waits until nothing more happens, and keeps the tokens and what they have signed.
    async fn signed(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let (public, system) = self.places()?;
        let mut objects = system.list(SECRETS).await?;
        objects.retain(|secret| secret["metadata"]["name"].to_string().contains("bootstrap-token"));
        objects.push(public.get(MAPS, "cluster-info").await?);
        self.keep(scene, step, &objects);
        Ok(())
    }
}
