//! JSON schemas of answers, told from answers, and whether another answer keeps to one.
//!
//! The keywords are `type`, `properties`, `required`, `additionalProperties` and `items` of JSON
//! Schema 2020-12, so that any validator reads them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// What is known of a value from examples of it.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    types: BTreeSet<&'static str>,
    /// Keys of objects, and in how many objects each was.
    keys: BTreeMap<String, (Schema, usize)>,
    objects: usize,
    items: Option<Box<Schema>>,
}

impl Schema {
    /// Of one example.
    pub fn of(value: &Value) -> Self {
        let mut schema = Self { types: [kind(value)].into(), ..Self::default() };
        match value {
            Value::Object(fields) => {
                schema.objects = 1;
                schema.keys = fields.iter().map(|(key, value)| (key.clone(), (Self::of(value), 1))).collect();
            }
            Value::Array(items) => {
                schema.items = items.iter().map(Self::of).reduce(Self::or).map(Box::new);
            }
            _ => {}
        }
        schema
    }

    /// Of this and other examples.
    pub fn or(mut self, other: Self) -> Self {
        self.types.extend(other.types);
        self.objects += other.objects;
        for (key, (schema, count)) in other.keys {
            let known = self.keys.remove(&key);
            let joined = match known {
                Some((mine, own)) => (mine.or(schema), own + count),
                None => (schema, count),
            };
            self.keys.insert(key, joined);
        }
        self.items = match (self.items.take(), other.items) {
            (Some(mine), Some(others)) => Some(Box::new(mine.or(*others))),
            (mine, others) => mine.or(others),
        };
        self
    }

    /// The document.
    pub fn to_json(&self, title: &str) -> Value {
        let mut document = Map::new();
        document.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        document.insert("title".into(), title.into());
        document.extend(self.document());
        document.into()
    }

    fn document(&self) -> Map<String, Value> {
        let mut types: Vec<&str> = self.types.iter().copied().collect();
        // Every whole number is a number.
        if types.contains(&"number") {
            types.retain(|name| *name != "integer");
        }
        let mut document = Map::new();
        document.insert("type".into(), if types.len() == 1 { types[0].into() } else { json!(types) });
        if self.objects > 0 {
            let properties =
                self.keys.iter().map(|(key, (schema, _))| (key.clone(), schema.document().into()));
            document.insert("properties".into(), Value::Object(properties.collect()));
            let always = self.keys.iter().filter(|(_, (_, count))| *count == self.objects);
            let always: Vec<&String> = always.map(|(key, _)| key).collect();
            document.insert("required".into(), json!(always));
            document.insert("additionalProperties".into(), false.into());
        }
        if let Some(items) = &self.items {
            document.insert("items".into(), items.document().into());
        }
        document
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value keeps to a schema; otherwise where it does not, and how.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    at(schema, value, "").map_err(|wrong| wrong.trim_start_matches('.').to_owned())
}

fn at(schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    if *schema == Value::Bool(true) {
        return Ok(());
    }
    let allowed: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        several => several.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    let kind = kind(value);
    let fits = allowed.contains(&kind) || kind == "integer" && allowed.contains(&"number");
    if !fits {
        return Err(format!("{path} is {kind}, not {}", allowed.join(" or ")));
    }
    if let Value::Object(fields) = value {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(key) {
                return Err(format!("{path}.{key} is missing"));
            }
        }
        for (key, field) in fields {
            match schema["properties"].get(key) {
                Some(known) => at(known, field, &format!("{path}.{key}"))?,
                None if schema["additionalProperties"] == true => {}
                None => return Err(format!("{path}.{key} is not in the schema")),
            }
        }
    }
    if let (Value::Array(items), Some(of)) = (value, schema.get("items")) {
        for (index, item) in items.iter().enumerate() {
            at(of, item, &format!("{path}[{index}]"))?;
        }
    }
    Ok(())
}
