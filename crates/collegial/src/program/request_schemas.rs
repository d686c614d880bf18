//! JSON Schemas of the requests, from the declarations of their options.

use clap::{Arg, Args, Command};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::declared::described;
use super::types::Type;
use crate::jobs::{gather, job, status};
use crate::options::{Entry, Field, Options};
use crate::{
    evaluate, export, fit, forward, info, kernels, merge, models, moments, ntk, reproduce, score, search,
    sweep, train, validate,
};

/// Every verb with the schema of its request.
pub fn request_schemas() -> Vec<(&'static str, Value)> {
    macro_rules! schemas {
        ($($verb:ident),*) => { vec![$((stringify!($verb), schema::<$verb::Request>(stringify!($verb)))),*] };
    }
    schemas![
        evaluate, export, fit, forward, gather, info, job, kernels, merge, models, moments, ntk, reproduce,
        score, search, status, sweep, train, validate
    ]
}

fn schema<R: Options + Args + Default + Serialize>(verb: &str) -> Value {
    let command = R::augment_args(Command::new("request"));
    let defaults = json!(R::default());
    let (mut properties, mut required) = (Map::new(), vec![]);
    for field in fields(R::ENTRIES) {
        let flag = command.get_arguments().find(|flag| flag.get_id() == field.name);
        let mut property = Type::of(&field, flag).schema;
        property["description"] = described(field.help).into();
        if flag.is_some_and(Arg::is_required_set) {
            required.push(field.name);
        } else if let Some(default) = defaults.get(field.name).filter(|default| !default.is_null()) {
            property["default"] = default.clone();
        }
        properties.insert(field.name.to_owned(), property);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("a request of {verb}"),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The options of a request and of its groups; an array is no JSON.
fn fields(entries: &[Entry]) -> Vec<Field> {
    let each = |entry: &Entry| match entry {
        Entry::Field(field) if field.kind == "Option<Tensor>" => vec![],
        Entry::Field(field) => vec![*field],
        Entry::Group { entries, .. } => fields(entries),
    };
    entries.iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::request;

    /// A value of every type that a property has, and its default.
    fn samples(property: &Value) -> Vec<Value> {
        let mut all = property["enum"].as_array().cloned().unwrap_or_default();
        all.extend(property.get("default").cloned());
        let types = match &property["type"] {
            Value::Array(types) => types.clone(),
            Value::Null => vec![],
            one => vec![one.clone()],
        };
        all.extend(types.iter().filter_map(|kind| match kind.as_str()? {
            "boolean" => Some(json!(true)),
            "integer" => Some(property["minimum"].as_u64().map_or(json!(7), |least| json!(least))),
            "number" => Some(json!(0.5)),
            "null" => Some(Value::Null),
            // Forms of texts, lists and objects are described in words.
            _ => None,
        }));
        all
    }

    fn reads_samples<R: Options + Args + Default + Serialize + DeserializeOwned>() {
        let schema = schema::<R>("test");
        for (name, property) in schema["properties"].as_object().unwrap() {
            for value in samples(property) {
                let text = json!({name: value}).to_string();
                // A model that must be given is missing here.
                let read = request::<R>(&text).map(drop).map_err(|error| error.to_string());
                assert_eq!(read, Ok(()), "{text}");
            }
        }
        assert!(request::<R>(r#"{"no_such_option": 1}"#).is_err());
    }

    #[test]
    fn requests_take_what_their_schemas_say() {
        reads_samples::<evaluate::Request>();
        reads_samples::<export::Request>();
        reads_samples::<fit::Request>();
        reads_samples::<job::Request>();
        reads_samples::<moments::Request>();
        reads_samples::<ntk::Request>();
        reads_samples::<reproduce::Request>();
        reads_samples::<score::Request>();
        reads_samples::<search::Request>();
        reads_samples::<sweep::Request>();
        reads_samples::<train::Request>();
        reads_samples::<validate::Request>();
    }
}
