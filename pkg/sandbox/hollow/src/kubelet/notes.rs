//! The events of a pod.

use std::collections::BTreeMap;

use api::{Time, go};
use serde_json::Value;

use super::container::Moment;
use super::pod::{DEADLINE_MESSAGE, DEADLINE_REASON, Pod};
use super::program::{Role, Task};
use super::status::{full_name, pull_error};
use crate::event::{self, Happening, Reporter};
use crate::{Request, Target};

/// What was written of a pod; an event that happens again is counted.
#[derive(Default)]
pub(crate) struct Notes {
    /// By container and reason: where, since when, how often.
    written: BTreeMap<(usize, &'static str), (Target, Time, u64)>,
    expired: bool,
}

/// Type, reason, message.
type What<'a> = (&'a str, &'static str, String);

/// How long the API server keeps an event.
const KEPT: std::time::Duration = std::time::Duration::from_mins(50);

impl Notes {
    /// The events of what happened since.
    pub(crate) fn write(&mut self, pod: &Pod, now: Time, number: &mut u64) -> Vec<Request> {
        let mut requests = Vec::new();
        for (place, moment) in &pod.moments {
            let Some(task) = pod.program.containers.get(*place) else { continue };
            let field = if task.role == Role::Main { "containers" } else { "initContainers" };
            let path = format!("spec.{field}{{{}}}", task.name);
            let about = event::about("Pod", &pod.object, &path);
            for what in whats(pod, task, moment) {
                requests.push(self.one(&about, (*place, what), pod, (now, number)));
            }
        }
        if pod.expired && !self.expired {
            self.expired = true;
            let about = event::about("Pod", &pod.object, "");
            let what = ("Normal", DEADLINE_REASON, DEADLINE_MESSAGE.to_owned());
            requests.push(self.one(&about, (usize::MAX, what), pod, (now, number)));
        }
        requests
    }

    fn one(
        &mut self,
        about: &Value,
        (place, (kind, reason, message)): (usize, What<'_>),
        pod: &Pod,
        (now, number): (Time, &mut u64),
    ) -> Request {
        // Containers start with the same words each time, and so it is one event.
        if let Some((target, first, count)) = self.written.get_mut(&(place, reason))
            && now.since(*first) < KEPT
        {
            *count += 1;
            return event::again(target.clone(), now, *count);
        }
        *number += 1;
        let target = event::place(about, now, *number);
        self.written.insert((place, reason), (target.clone(), now, 1));
        let what = Happening { kind, reason, message: &message };
        event::first(target, about, now, &what, &reporter(&pod.node))
    }
}

/// An event that is not counted.
pub(crate) fn event(
    about: &Value,
    (kind, reason, message): (&str, &str, &str),
    node: &str,
    (now, number): (Time, u64),
) -> Request {
    let what = Happening { kind, reason, message };
    event::first(event::place(about, now, number), about, now, &what, &reporter(node))
}

fn reporter(node: &str) -> Reporter<'_> {
    Reporter { component: "kubelet", instance: node }
}

fn whats(pod: &Pod, task: &Task, moment: &Moment) -> Vec<What<'static>> {
    let image = go::quote(&task.image);
    match moment {
        Moment::Started => vec![
            ("Normal", "Pulled", format!("Container image {image} already present on machine")),
            ("Normal", "Created", "Container created".to_owned()),
            ("Normal", "Started", "Container started".to_owned()),
        ],
        Moment::Crashed => {
            let message = format!(
                "Back-off restarting failed container {} in pod {}",
                task.name,
                full_name(pod)
            );
            vec![("Warning", "BackOff", message)]
        }
        Moment::Lost => {
            let error = pull_error(&task.image);
            vec![
                ("Normal", "Pulling", format!("Pulling image {image}")),
                ("Warning", "Failed", format!("Failed to pull image {image}: {error}")),
            ]
        }
        Moment::LostAgain => vec![("Normal", "BackOff", format!("Back-off pulling image {image}"))],
        Moment::Killing(why) => {
            let message = match why {
                Some(why) => format!("Container {} {why}, will be restarted", task.name),
                None => format!("Stopping container {}", task.name),
            };
            vec![("Normal", "Killing", message)]
        }
        Moment::Unready => {
            let message = "Readiness probe failed: the pod's annotation says so".to_owned();
            vec![("Warning", "Unhealthy", message)]
        }
    }
}
