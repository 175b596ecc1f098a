//! `docs/config.md` is written from the same tables as the reader. `RIVERRUN_BLESS=1` writes it anew.

use std::fmt::Write;
use std::path::Path;

use super::declared::{DECLARED, Field, Form, Section, Shape};
use super::settings::{Kind, SETTINGS, Setting, sections};

const HEAD: &str = "<!-- Written by `RIVERRUN_BLESS=1 cargo nextest run -p riverrun page`. Do not edit. -->

# riverrun.toml

For operators who configure a server and its agents.
After this page you know every key of the file, its form, its default and its meaning.

[The command line](cli.md#configuration) explains how the file is found and how flags and the environment override it, with a complete example.
No key is required: if there is no file, the defaults apply and the agent `demo` exists.

A duration is a whole number with `ms`, `s`, `m`, `h` or `d`; a size is a number of bytes, or has `KiB`, `MiB` or `GiB`.
A secret is `{ env = \"NAME\" }` or `{ file = \"PATH\" }`, never the text itself.

# Settings

Each setting can also be set in the environment, as `RIVERRUN_SECTION__KEY`.
";

const MIDDLE: &str = "
# Declarations

What the server runs. `*` marks required keys. Paths are relative to the file.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for section in sections() {
        let _ = write!(page, "\n## [{section}]\n\n| key | form | default | meaning |\n|---|---|---|---|\n");
        for setting in SETTINGS.iter().filter(|setting| setting.section == section) {
            page.push_str(&setting_row(setting));
        }
    }
    page.push_str(MIDDLE);
    for section in DECLARED {
        page.push_str(&declaration(section));
    }
    page
}

fn setting_row(setting: &Setting) -> String {
    let form = match setting.kind {
        Kind::Text => "text".to_owned(),
        Kind::Address => "address and port".to_owned(),
        Kind::TextList => "list of texts".to_owned(),
        Kind::Duration => "duration".to_owned(),
        Kind::Size => "size".to_owned(),
        Kind::Integer => "whole number".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Word(words) => listed(words),
    };
    let default = match setting.default {
        "" => String::new(),
        default => format!("`{default}`"),
    };
    format!("| `{}` | {form} | {default} | {} |\n", setting.key, setting.about)
}

fn declaration(section: &Section) -> String {
    let (name, about) = (section.name, section.about);
    let heading = match section.form {
        Form::Named => format!("[{name}.NAME]"),
        Form::List => format!("[[{name}]]"),
        Form::Plain => format!("[{name}]"),
    };
    let mut text = format!("\n## {heading}\n\n{about}\n");
    if section.fields.is_empty() {
        text.push_str(
            "Each key is a name, and what ends in `*` stands for every name that begins so; its value is \
             `agent/NAME`, or a model or a list of models, `PROVIDER/MODEL`. `PROVIDER/*` in a route that ends in `*` \
             is the model with the name that was asked for.\n",
        );
        return text;
    }
    text.push_str(&table(section.fields));
    for field in section.fields {
        if let Shape::Table(fields) | Shape::NumberTables(fields) | Shape::WordOrTable(_, fields) =
            field.shape
        {
            let _ = write!(text, "\nThe members of `{}`:\n{}", field.key, table(fields));
        }
    }
    text
}

fn table(fields: &[Field]) -> String {
    let mut text = "\n| key | form | meaning |\n|---|---|---|\n".to_owned();
    for field in fields {
        let mark = if field.required { " *" } else { "" };
        // A bar would end the cell.
        let about = field.about.replace('|', "\\|");
        let _ = writeln!(text, "| `{}`{mark} | {} | {about} |", field.key, form(field.shape));
    }
    text
}

fn form(shape: Shape) -> String {
    match shape {
        Shape::Text => "text",
        Shape::Texts => "list of texts",
        Shape::TextOrTexts => "text, or list of texts",
        Shape::TextOrFile => "text, or `{ file = \"…\" }`",
        Shape::Secret => "secret",
        Shape::TextMap => "table of texts and secrets",
        Shape::TextByLanguage => "text or table",
        Shape::NumberTables(_) => "table of tables",
        Shape::Duration => "duration",
        Shape::Whole => "whole number",
        Shape::Size | Shape::Quota => "bytes, or `64MiB`",
        Shape::Count => "whole number from 1",
        Shape::Money => "US dollars",
        Shape::Temperature => "number from 0 to 2",
        Shape::Url => "address",
        Shape::Flag => "true or false",
        Shape::Word(words) => return listed(words),
        Shape::Words(words) => return format!("list of {}", listed(words)),
        Shape::Table(_) => "table",
        Shape::WordOrTable(words, _) => return format!("{}, or table", listed(words)),
        Shape::Routes => "table",
        Shape::JsonSchema => "JSON Schema, or `{ file = \"….json\" }`",
    }
    .to_owned()
}

fn listed(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

#[test]
fn the_page_on_the_file_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let fresh = page();
    if std::env::var_os("RIVERRUN_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the page can be written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        stored, fresh,
        "write docs/config.md anew: RIVERRUN_BLESS=1 cargo nextest run -p riverrun page"
    );
}
