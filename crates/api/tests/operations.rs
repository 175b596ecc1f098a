//! The table of operations, and the document that is made of it.

use std::collections::BTreeSet;
use std::path::Path;

use riverrun_api::{OPERATIONS, description};

#[test]
fn the_description_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/operations.json");
    let text = format!("{}\n", serde_json::to_string_pretty(&description()).expect("JSON has text keys"));
    if std::env::var_os("RIVERRUN_BLESS").is_some() {
        std::fs::write(&path, &text).expect("the folder `spec` is there");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "spec/operations.json is stale; run `cargo xtask bless`");
}

#[test]
fn names_ids_and_routes_are_unique() {
    let mut seen = BTreeSet::new();
    for entry in OPERATIONS.iter() {
        let about = &entry.about;
        let route = about.has_route().then(|| format!("{} {}", about.method.as_str(), about.path));
        let names = about.aliases.iter().copied().chain([about.name, about.id]).chain(route.as_deref());
        for name in names.map(str::to_owned) {
            assert!(seen.insert(name.clone()), "`{name}` is used twice");
        }
    }
}

#[test]
fn every_path_parameter_fills_a_member() {
    for entry in OPERATIONS.iter() {
        let members = entry.members();
        for parameter in entry.path_parameters() {
            let name = entry.path_member(parameter);
            assert!(
                members.iter().any(|member| member.name == name),
                "{}: no member `{name}`",
                entry.about.name
            );
        }
    }
}

#[test]
fn every_operation_and_member_has_documentation() {
    for operation in description()["operations"].as_array().into_iter().flatten() {
        let name = &operation["name"];
        assert_ne!(operation["summary"], "", "{name} has no doc comment on its request");
        assert!(operation["request"]["additionalProperties"] == false, "{name} takes unknown members");
    }
}
