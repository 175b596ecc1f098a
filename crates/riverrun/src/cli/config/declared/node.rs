//! A value of the file with its place.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[derive(Debug, Clone)]
pub struct Node {
    pub span: Range<usize>,
    pub value: NodeValue,
}

#[derive(Debug, Clone)]
pub enum NodeValue {
    Text(String),
    Whole(i64),
    Number(f64),
    Flag(bool),
    Date,
    List(Vec<Node>),
    Table(Vec<Member>),
}

#[derive(Debug, Clone)]
pub struct Member {
    pub key: String,
    pub span: Range<usize>,
    pub node: Node,
}

impl Node {
    pub fn of(value: &Spanned<DeValue<'_>>) -> Self {
        Self { span: value.span(), value: value_of(value.get_ref()) }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn members(&self) -> &[Member] {
        match &self.value {
            NodeValue::Table(members) => members,
            _ => &[],
        }
    }

    /// The one member of `{ key = "text" }`.
    pub fn single(&self, key: &str) -> Option<&str> {
        match self.members() {
            [member] if member.key == key => member.node.text(),
            _ => None,
        }
    }

    pub fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Text(_) => "a text",
            NodeValue::Whole(_) | NodeValue::Number(_) => "a number",
            NodeValue::Flag(_) => "true or false",
            NodeValue::Date => "a date",
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "a table",
        }
    }

    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Text(text) => Value::String(text.clone()),
            NodeValue::Whole(number) => Value::from(*number),
            NodeValue::Number(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
            NodeValue::Flag(flag) => Value::Bool(*flag),
            NodeValue::Date => Value::Null,
            NodeValue::List(items) => items.iter().map(Node::to_json).collect(),
            NodeValue::Table(members) => {
                let member = |member: &Member| (member.key.clone(), member.node.to_json());
                Value::Object(members.iter().map(member).collect::<Map<_, _>>())
            }
        }
    }
}

fn value_of(value: &DeValue<'_>) -> NodeValue {
    match value {
        DeValue::String(text) => NodeValue::Text(text.to_string()),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            i64::from_str_radix(&digits, number.radix()).map_or(NodeValue::Number(f64::NAN), NodeValue::Whole)
        }
        DeValue::Float(number) => {
            NodeValue::Number(number.as_str().replace('_', "").parse().unwrap_or(f64::NAN))
        }
        DeValue::Boolean(flag) => NodeValue::Flag(*flag),
        DeValue::Datetime(_) => NodeValue::Date,
        DeValue::Array(items) => NodeValue::List(items.iter().map(Node::of).collect()),
        DeValue::Table(table) => NodeValue::Table(members(table)),
    }
}

fn members(table: &DeTable<'_>) -> Vec<Member> {
    let member = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| Member {
        key: key.get_ref().to_string(),
        span: key.span(),
        node: Node::of(value),
    };
    table.iter().map(member).collect()
}
