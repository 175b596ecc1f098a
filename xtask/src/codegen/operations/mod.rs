//! What follows from the table of operations in `spec/operations.json`: OpenAPI, a page, and three clients.

mod model;
mod openapi;
mod page;
mod python;
mod rust;
mod schema;
mod typescript;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::model::EventCatalogue;
use crate::files::root;
use model::OperationTable;

/// The description that a test of `crates/api` keeps fresh.
const SOURCE: &str = "spec/operations.json";

/// The generated files by their path from the root.
pub fn outputs(catalogue: &EventCatalogue) -> Result<BTreeMap<String, String>> {
    let text = read(SOURCE)?;
    let table = OperationTable::parse(&text)?;
    let events: BTreeSet<&str> = catalogue.definitions.keys().map(String::as_str).collect();
    Ok(BTreeMap::from([
        (openapi::PATH.to_owned(), openapi::document(&table, &read(openapi::BY_HAND)?)?),
        (page::PATH.to_owned(), page::render(&table, &read(page::PATH)?)?),
        ("clients/typescript/src/generated/operations.ts".to_owned(), typescript::module(&table, &events)),
        ("clients/python/riverrun/generated/operations.py".to_owned(), python::module(&table, &events)),
        ("crates/client/src/generated/operations.rs".to_owned(), rust::module(&table, &events)),
    ]))
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path)).with_context(|| format!("reading {path}"))
}
