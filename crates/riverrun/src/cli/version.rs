//! `riverrun version`.

use serde_json::json;

use super::Context;
use super::exit::Outcome;

pub fn run(context: &Context) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    if context.output.json {
        let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        return context.output.document(&json!({
            "version": version, "schemaVersion": "riverrun/1", "target": target,
        }));
    }
    context.output.line(&format!("riverrun {version}"))
}
