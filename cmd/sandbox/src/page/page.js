// The page of the sandbox: draws each state that the server sends, and sends the script commands
// that its buttons stand for.
"use strict";

const SPEEDS = [["Pause", 0], ["1×", 1], ["10×", 10], ["60×", 60]];
const STEPS = [["Step 10 s", 10], ["Step 5 min", 300]];
const SAMPLE = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 3
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers: [{name: main, image: "example.com/web:1"}]`;

const at = (id) => document.getElementById(id);
let state = null;
let chosen = null;

// Text is never read as HTML.
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function button(text, act, title = "") {
  return element("button", { type: "button", textContent: text, title, onclick: act });
}

async function send(path, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function run(command, input = "") {
  const output = at("output");
  output.hidden = false;
  output.textContent = `> ${command}\n…`;
  let lines;
  try {
    lines = (await send("/sandbox/run", { command, input })).output;
  } catch (error) {
    lines = [`error: ${error.message}`];
  }
  output.textContent = [`> ${command}`, ...lines].join("\n");
}

async function setTime(body) {
  try {
    await send("/sandbox/time", body);
  } catch (error) {
    at("output").hidden = false;
    at("output").textContent = `error: ${error.message}`;
  }
}

function podButton(pod) {
  const trouble = pod.trouble ? `, ${pod.trouble}` : "";
  const name = `${pod.namespace}/${pod.name}`;
  const made = button("", () => { chosen = name; drawPod(); }, `${name}: ${pod.state}${trouble}`);
  made.className = `pod ${pod.state}`;
  made.setAttribute("aria-label", made.title);
  return made;
}

function drawNodes() {
  const pods = new Map();
  for (const pod of state.pods) {
    if (!pods.has(pod.node)) pods.set(pod.node, []);
    pods.get(pod.node).push(podButton(pod));
  }
  at("nodes").replaceChildren(...state.nodes.map((node) => {
    const said = [node.ready ? "ready" : "not ready", ...(node.cordoned ? ["cordoned"] : [])];
    const words = element("span", { className: node.ready ? "good" : "bad" }, said.join(", "));
    const cordon = node.cordoned ? "uncordon" : "cordon";
    const acts = element("div", { className: "acts" },
      button("kill", () => run(`kill ${node.name}`), "The machine is off"),
      button("revive", () => run(`revive ${node.name}`), "The machine is on again"),
      button("partition", () => run(`partition ${node.name}`), "Its network is cut"),
      button("heal", () => run(`heal ${node.name}`), "Its network is back"),
      button(cordon, () => run(`${cordon} ${node.name}`)));
    const own = element("div", { className: "pods" }, ...(pods.get(node.name) ?? []));
    const title = node.taints.join(", ");
    const heading = element("h3", { title }, node.name, " ", words);
    return element("article", {}, heading, own, acts);
  }));
  const without = pods.get("") ?? [];
  at("unscheduled").hidden = without.length === 0;
  at("unscheduled").querySelector(".pods").replaceChildren(...without);
}

function drawPod() {
  const pod = state.pods.find((pod) => `${pod.namespace}/${pod.name}` === chosen);
  at("pod").hidden = chosen === null;
  if (chosen === null) return;
  if (!pod) {
    at("pod").replaceChildren(`pod ${chosen} is deleted`);
    return;
  }
  const target = `pod/${pod.name} -n ${pod.namespace}`;
  const said = pod.trouble ? `${pod.state}, ${pod.trouble}` : pod.state;
  at("pod").replaceChildren(
    element("b", {}, `${pod.namespace}/${pod.name}`), ` ${said}, on ${pod.node || "no node"} `,
    button("fail", () => run(`fail ${target}`), "Its containers end with an error"),
    button("delete", () => run(`delete ${target}`)),
    button("evict", () => run(`evict ${target}`)),
    button("why", () => run(`why ${target}`), "Why it is not as it should be"));
}

function drawWorkloads() {
  at("workloads").replaceChildren(...state.workloads.map((it) => {
    const target = `${it.resource}/${it.name} -n ${it.namespace}`;
    const acts = element("td", { className: "acts" });
    if (it.replicas !== null && it.kind !== "DaemonSet" && it.kind !== "Job") {
      acts.append(
        button("−", () => run(`scale ${target} ${Math.max(0, it.replicas - 1)}`), "One less"),
        button("+", () => run(`scale ${target} ${it.replicas + 1}`), "One more"));
    }
    if (["Deployment", "DaemonSet", "StatefulSet"].includes(it.kind)) {
      acts.append(button("restart", () => run(`rollout restart ${target}`)));
      acts.append(button("set image", () => {
        const image = prompt("The new image", it.image);
        if (image) run(`set image ${target} ${it.container}=${image}`);
      }));
    }
    acts.append(button("why", () => run(`why ${target}`)));
    acts.append(button("delete", () => run(`delete ${target}`)));
    const name = `${it.kind.toLowerCase()} ${it.namespace}/${it.name}`;
    const cells = [name, it.status, it.image].map((text) => element("td", {}, text));
    return element("tr", {}, ...cells, acts);
  }));
}

function drawEvents() {
  at("events").replaceChildren(...state.events.map((event) => {
    const time = element("span", { className: "faint number" }, (event.time ?? "").slice(11, 19));
    const reason = element("b", { className: event.type === "Warning" ? "bad" : "" }, event.reason);
    return element("li", {}, time, " ", event.about, " ", reason, " ", event.message);
  }));
}

function drawControllers() {
  at("controllers").replaceChildren(...state.controllers.map((it) => {
    const name = element("a", { href: `/debug/controllers/${it.name}` }, it.name);
    const failing = it.failing ? `, ${it.failing} failing` : "";
    const queue = element("td", { className: it.failing ? "bad" : "" }, `${it.queued}${failing}`);
    const plan = it.plan ? `${it.at.slice(11, 19)} ${it.plan}` : "";
    return element("tr", {}, element("td", {}, name), queue, element("td", {}, plan));
  }));
}

function draw() {
  const ready = (all, is) => all.filter(is).length;
  at("counts").textContent =
    `${ready(state.nodes, (it) => it.ready)}/${state.counts.nodes} nodes, ` +
    `${ready(state.pods, (it) => it.state === "ready")}/${state.counts.pods} pods ready`;
  at("time").textContent = state.time.slice(0, 19).replace("T", " ");
  for (const made of at("speeds").children) {
    made.setAttribute("aria-pressed", String(Number(made.dataset.speed ?? -1) === state.speed));
  }
  // A button that is pressed, or chosen by keyboard, must not be replaced meanwhile.
  if (document.querySelector("main section button:is(:active, :focus-visible)")) return;
  drawNodes();
  drawPod();
  drawWorkloads();
  drawEvents();
  drawControllers();
}

for (const [text, speed] of SPEEDS) {
  const made = button(text, () => setTime({ speed }));
  made.dataset.speed = speed;
  at("speeds").append(made);
}
for (const [text, step] of STEPS) {
  at("speeds").append(button(text, () => setTime({ step }), "Then time stands still"));
}
at("command").onsubmit = (event) => {
  event.preventDefault();
  const line = at("line").value.trim();
  if (line) run(line);
};
at("sample").onclick = () => {
  const names = new Set((state?.workloads ?? []).map((it) => it.name));
  let number = 1;
  while (names.has(`web-${number}`)) number += 1;
  run("apply", SAMPLE.replaceAll("NAME", `web-${number}`));
};

function follow() {
  const source = new EventSource("/sandbox/state");
  source.onmessage = (event) => {
    at("lost").hidden = true;
    state = JSON.parse(event.data);
    draw();
  };
  source.onerror = () => {
    at("lost").hidden = false;
    // A refusal ends it for good, all else is tried again.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
  };
}
follow();
