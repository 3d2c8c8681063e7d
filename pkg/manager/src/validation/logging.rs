//! The flags of section "Logs" (k8s.io/component-base/logs/api/v1, `Validate`).

use apimachinery::Quantity;

use crate::flags::{Flags, GoDuration};
use crate::gates::{Gates, features};

pub(super) fn errors(flags: &Flags, gates: &Gates) -> Vec<String> {
    let mut errors = Vec::new();
    let pause = flags.value("log-flush-frequency").duration();
    if pause <= GoDuration::default() {
        let shown = pause.to_string();
        errors.push(format!("flushFrequency: Invalid value: {shown:?}: Must be greater than zero"));
    }
    match flags.value("logging-format").text() {
        "text" => {}
        "json" if gates.is_on(features::LOGGING_BETA_OPTIONS) => {}
        "json" => errors.push(
            "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature"
                .to_owned(),
        ),
        format => {
            errors.push(format!("format: Invalid value: {format:?}: Unsupported log format"));
        }
    }
    let is_text = ["", "text"].contains(&flags.value("logging-format").text());
    if !is_text && flags.value("vmodule").text().split(',').any(|part| !part.is_empty()) {
        errors.push("vmodule: Forbidden: Only supported for text log format".to_owned());
    }
    if !gates.is_on(features::LOGGING_ALPHA_OPTIONS) {
        for format in ["text", "json"] {
            let field = |name| {
                format!(
                    "options.{format}.{name}: Forbidden: Feature LoggingAlphaOptions is disabled"
                )
            };
            if flags.value(&format!("log-{format}-split-stream")).switch() {
                errors.push(field("splitStream"));
            }
            let size = flags.value(&format!("log-{format}-info-buffer-size")).text();
            if Quantity::parse(size) != Ok(Quantity::ZERO) {
                errors.push(field("infoBufferSize"));
            }
        }
    }
    errors
}
