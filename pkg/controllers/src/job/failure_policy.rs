//! What the failure of a pod comes to. As upstream's `pod_failure_policy.go`.

use api::{
    ExitCodeOperator, FailedContainer, JobPart, OnExitCodes, OnPodCondition, Pod, PodFailureAction,
    PodFailurePolicy, PodFailureRule,
};

/// What a failure comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// What the rule says that matches; none: no rule matches.
    pub(super) action: Option<PodFailureAction>,
    /// Why the Job fails, if it does.
    pub(super) fails_job: Option<String>,
}

/// What a rule found in a pod.
enum Match<'a> {
    Container(&'a FailedContainer),
    Condition(&'a str),
}

/// What the policy says of a pod that has failed; the first rule that matches decides.
pub(super) fn judge(policy: Option<&PodFailurePolicy>, pod: &Pod) -> Verdict {
    let rules = policy.map_or(&[][..], |policy| &policy.rules);
    for (at, rule) in rules.iter().enumerate() {
        let Some(found) = matched(rule, pod) else { continue };
        match rule.action {
            PodFailureAction::Unknown => {}
            PodFailureAction::FailJob => {
                let fails_job = Some(message(&found, pod, at));
                return Verdict { action: Some(rule.action), fails_job };
            }
            PodFailureAction::FailIndex | PodFailureAction::Ignore | PodFailureAction::Count => {
                return Verdict { action: Some(rule.action), fails_job: None };
            }
        }
    }
    Verdict { action: None, fails_job: None }
}

fn message(found: &Match<'_>, pod: &Pod, rule: usize) -> String {
    let key = &pod.meta.key;
    match found {
        Match::Container(FailedContainer { name, exit_code }) => format!(
            "Container {name} for pod {key} failed with exit code {exit_code} matching FailJob \
             rule at index {rule}"
        ),
        Match::Condition(condition) => {
            format!("Pod {key} has condition {condition} matching FailJob rule at index {rule}")
        }
    }
}

fn matched<'a>(rule: &PodFailureRule, pod: &'a Pod) -> Option<Match<'a>> {
    let part = pod.job.as_deref()?;
    match &rule.on_exit_codes {
        Some(asked) => failed_container(asked, part).map(Match::Container),
        None => condition(&rule.on_pod_conditions, part).map(Match::Condition),
    }
}

fn failed_container<'a>(asked: &OnExitCodes, part: &'a JobPart) -> Option<&'a FailedContainer> {
    let is_asked_for = |failed: &&FailedContainer| {
        let has_name = asked.container_name.as_ref().is_none_or(|name| **name == *failed.name);
        let is_listed = asked.values.contains(&failed.exit_code);
        has_name
            && match asked.operator {
                ExitCodeOperator::In => is_listed,
                ExitCodeOperator::NotIn => !is_listed,
                ExitCodeOperator::Unknown => false,
            }
    };
    part.failed_containers.iter().find(is_asked_for)
}

fn condition<'a>(asked: &[OnPodCondition], part: &'a JobPart) -> Option<&'a str> {
    let mut said = part.conditions.iter();
    let is_asked_for = |(r#type, status): &&(api::Text, api::Status)| {
        asked.iter().any(|it| *it.r#type == **r#type && it.status == *status)
    };
    said.find(is_asked_for).map(|(r#type, _)| &**r#type)
}

// === impl Verdict ===

impl Verdict {
    /// Whether it counts towards the limits.
    pub(super) fn counts(&self) -> bool {
        self.action != Some(PodFailureAction::Ignore)
    }
}
