//! Request by request against upstream's own handlers.
//!
//! `testdata/upstream.jsonl` was recorded from `NewBaseHandler`, `SLIMetricsWithReset`,
//! `flagz.Install`, `statusz.Install` and `BuildHandlerChain` of v0.36.3 over HTTP, with the flags
//! a=1m0s and b=<a>&, without health checks or with the checks good and bad. Random delimiters are
//! written `<delimiter>` there. It holds the rows of TestHandleFlagz, TestHandleStatusz,
//! TestKubeControllerManagerServingZPages, TestMultipleChecks and TestMutableHealthzHandler that
//! apply to a manager, with CBOR refused as by default.

use std::collections::BTreeMap;

use http::Request;
use serde::Deserialize;

use super::{Answer, LET_IN, ask, pages, router_of};

#[derive(Deserialize)]
struct Row {
    method: String,
    uri: String,
    accept: Option<String>,
    agent: String,
    sent: String,
    checks: Vec<String>,
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

#[tokio::test(start_paused = true)]
async fn every_recorded_request_is_answered_as_upstream_answers_it() {
    let rows: Vec<Row> = include_str!("../../testdata/upstream.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 170);
    let wrong = differences(&rows).await;
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

async fn differences(rows: &[Row]) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in rows {
        let answer = row.ask().await;
        if !row.agrees(&answer) {
            let (method, uri, accept) = (&row.method, &row.uri, &row.accept);
            let wanted = (row.status, &row.headers, &row.body);
            wrong.push(format!("{method} {uri} {accept:?}\n  want {wanted:?}\n  got {answer:?}"));
        }
    }
    wrong
}

impl Row {
    async fn ask(&self) -> Answer {
        let pages = pages();
        for check in &self.checks {
            let fails = check == "bad";
            pages.health.add(
                check,
                move || {
                    if fails { Err("this will fail".to_owned()) } else { Ok(()) }
                },
            );
        }
        let mut request = Request::builder().method(&*self.method).uri(&self.uri);
        request = request.header(LET_IN.0, LET_IN.1).header("user-agent", &self.agent);
        if let Some(accept) = &self.accept {
            request = request.header("accept", accept);
        }
        ask(&router_of(pages), request, self.sent.clone()).await
    }

    fn agrees(&self, answer: &Answer) -> bool {
        let names =
            ["cache-control", "content-type", "location", "warning", "x-content-type-options"];
        self.status == answer.status
            && names.iter().all(|name| self.header(name) == answer.header(name))
            && self.body_agrees(answer)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// YAML may be folded elsewhere; the rest is equal byte for byte.
    fn body_agrees(&self, answer: &Answer) -> bool {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("application/yaml")) {
            let parse = |text| serde_yaml::from_str::<serde_yaml::Value>(text).unwrap();
            return parse(&self.body) == parse(&answer.body);
        }
        let mut delimiters = [":", ": ", "=", " "].into_iter();
        delimiters.any(|delimiter| self.body.replace("<delimiter>", delimiter) == answer.body)
    }
}
