//! test/integration/serving/serving_test.go, TestComponentSecureServingAndAuth, row by row; its
//! first row ("no-flags") fails before there is a guard.

use serde_json::json;

use super::{World, failure, get, run, settings};
use crate::{Guard, Settings};
use Kubeconfig::{Absent, Broken, Good};

/// The server that a kubeconfig reaches.
#[derive(Clone, Copy)]
enum Kubeconfig {
    Absent,
    Good,
    /// Its token is wrong: 401 to everything.
    Broken,
}

struct Row {
    name: &'static str,
    authentication: Kubeconfig,
    authorization: Kubeconfig,
    skip_lookup: bool,
    open: Option<&'static str>,
    path: &'static str,
    /// The credentials of the request; upstream's test sends the scheme `Token`, which is ignored.
    credentials: Option<&'static str>,
    code: u16,
}

#[test]
fn the_serving_test_of_upstream_holds() {
    for row in upstream().into_iter().chain(ours()) {
        assert_eq!(run(code(&row)), row.code, "{}", row.name);
    }
}

fn row(
    name: &'static str,
    (authentication, authorization): (Kubeconfig, Kubeconfig),
    path: &'static str,
    credentials: Option<&'static str>,
    code: u16,
) -> Row {
    let (skip_lookup, open) = (false, None);
    Row { name, authentication, authorization, skip_lookup, open, path, credentials, code }
}

fn upstream() -> Vec<Row> {
    let token = Some("Token flwqkenfjasasdfmwerasd");
    let broken = (Broken, Broken);
    let skipped = "authorization skipped for /healthz with authn/authz";
    let skipped_broken = "authorization skipped for /healthz with BROKEN authn/authz";
    let refused = "not authorized /metrics with BROKEN authn/authz";
    let open = "always-allowed /metrics with BROKEN authn/authz";
    vec![
        row("/healthz without authn/authz", (Absent, Absent), "/healthz", None, 200),
        row("/metrics without authn/authz", (Absent, Absent), "/metrics", None, 403),
        row(skipped, (Good, Good), "/healthz", token, 200),
        Row { skip_lookup: true, ..row(skipped_broken, broken, "/healthz", token, 200) },
        row(refused, (Good, Broken), "/metrics", token, 500),
        Row {
            skip_lookup: true,
            open: Some("/metrics"),
            ..row(open, broken, "/metrics", token, 200)
        },
    ]
}

/// The same rows with the scheme `Bearer`.
fn ours() -> Vec<Row> {
    let (known, other) = (Some("Bearer known"), Some("Bearer other"));
    let unknowable = "a token that nobody can review, even for an open path";
    let unsupported = "tokens count for nothing without --authentication-kubeconfig";
    vec![
        row("a known token", (Good, Good), "/metrics", known, 200),
        row("an unknown token", (Good, Good), "/metrics", other, 401),
        Row { skip_lookup: true, ..row(unknowable, (Broken, Good), "/healthz", known, 401) },
        row(unsupported, (Absent, Good), "/metrics", other, 200),
    ]
}

async fn code(row: &Row) -> u16 {
    let (world, broken) = (World::new(), World::new());
    world.api(|api| {
        api.tokens.insert("known".to_owned(), super::owner_of("alice"));
        api.access = Some((201, json!({"status": {"allowed": true}})));
    });
    broken.api(|api| {
        api.first = vec![failure(401, "Unauthorized", "Unauthorized"); 9];
        api.configmap = Some(failure(401, "Unauthorized", "Unauthorized"));
    });
    let client = |kubeconfig| match kubeconfig {
        Kubeconfig::Absent => None,
        Kubeconfig::Good => Some(&world.client),
        Kubeconfig::Broken => Some(&broken.client),
    };
    let mut settings = Settings { skip_lookup: row.skip_lookup, ..settings() };
    settings.always_allow_paths.extend(row.open.map(str::to_owned));
    let (authentication, authorization) = (client(row.authentication), client(row.authorization));
    let (metrics, runtime) = (&world.metrics, &world.runtime);
    let guard = Guard::start(&settings, authentication, authorization, metrics, runtime);
    let guard = guard.await.unwrap();
    let ask = row
        .credentials
        .into_iter()
        .fold(get(row.path), |ask, credentials| ask.header("authorization", credentials));
    ask.code(&guard).await
}
