//! The oldest compiler that the manifest promises is not older than what a dependency needs.

use serde_json::Value;

use super::BrokenRule;

pub fn problems(metadata: &Value) -> Vec<BrokenRule> {
    let ours: Vec<&str> =
        metadata["workspace_members"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let is_ours = |package: &&Value| package["id"].as_str().is_some_and(|id| ours.contains(&id));
    let promised = packages().filter(is_ours).map(needed).min().unwrap_or_default();
    let newer = packages().filter(|package| !is_ours(package) && needed(package) > promised);
    newer.map(|package| too_new(package, promised)).collect()
}

/// The minor version of `rust-version`; 0 if the package names none. The major one is 1 for every package.
fn needed(package: &Value) -> u32 {
    let version = package["rust_version"].as_str().unwrap_or_default();
    version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0)
}

fn too_new(package: &Value, promised: u32) -> BrokenRule {
    let text = |member: &str| package[member].as_str().unwrap_or_default().to_owned();
    let advice = format!(
        "it needs Rust {}, Cargo.toml promises 1.{promised}: raise `rust-version` or use an older version",
        text("rust_version")
    );
    BrokenRule::new(format!("{} {}", text("name"), text("version")), advice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dependency_that_needs_a_newer_compiler_is_found() {
        let package = |name: &str, version: Value| json!({"id": name, "name": name, "version": "1.0.0", "rust_version": version});
        let check = |version: Value, expected: usize| {
            let packages = [package("ours", json!("1.89")), package("it", version)];
            let metadata = json!({"workspace_members": ["ours"], "packages": packages});
            assert_eq!(problems(&metadata).len(), expected);
        };
        check(json!("1.89.0"), 0);
        check(json!(null), 0);
        check(json!("1.90"), 1);
    }
}
