//! Types of options in Python and in JSON Schema.

use clap::Arg;
use clap::builder::PossibleValue;
use serde_json::{Value, json};

use crate::options::Field;
use crate::reproduce::Scale;

/// A type of an option, beside its name in Rust.
pub struct Type {
    /// As an annotation in Python.
    pub python: String,
    /// The JSON values that a request takes.
    pub schema: Value,
}

impl Type {
    /// The type of a field, whose flag lists the values of an enum.
    pub fn of(field: &Field, flag: Option<&Arg>) -> Self {
        let optional = field.kind.strip_prefix("Option<").and_then(|kind| kind.strip_suffix('>'));
        let this = Self::whole(field, optional.unwrap_or(field.kind), flag);
        let required = flag.is_some_and(Arg::is_required_set);
        if optional.is_some() && !required { this.or_none() } else { this }
    }

    fn whole(field: &Field, kind: &str, flag: Option<&Arg>) -> Self {
        let list = |of: Value| json!({"type": "array", "items": of});
        let count = |least: u8| json!({"type": "integer", "minimum": least});
        let text = json!({"type": "string"});
        let (python, schema) = match kind {
            "bool" => ("bool", json!({"type": "boolean"})),
            "usize" | "u64" => ("int", count(0)),
            "NonZeroU16" | "NonZeroU32" | "NonZeroU64" | "NonZeroUsize" => ("int", count(1)),
            "f64" => ("float", json!({"type": "number"})),
            "String" | "Share" => ("str", text),
            "PathBuf" => ("Path", text),
            "ModelRef" => ("Model", json!({"type": ["string", "object"]})),
            "Widths" => ("Iterable[int] | str", json!({"type": ["array", "string"], "items": count(0)})),
            "Budget" | "Memory" => ("int | str", json!({"type": ["integer", "string"]})),
            "Costs" => ("str | Iterable[str]", json!({"type": ["string", "array"], "items": text})),
            "Vec<String>" if field.name == "set" => ("dict[str, object] | Iterable[str]", list(text)),
            "Vec<String>" => ("str | Iterable[str]", list(text)),
            "Vec<ModelRef>" => ("Iterable[Model]", list(json!({"type": ["string", "object"]}))),
            "Vec<PathBuf>" => ("Iterable[Path]", list(text)),
            "Vec<Indices>" => ("int | str", list(json!({"type": ["integer", "string"]}))),
            "Scale" => return Self::one_of(&Scale::ALL.map(Scale::name)),
            other => {
                let values = flag.map(Arg::get_possible_values).unwrap_or_default();
                assert!(!values.is_empty(), "no type is known for {other} of `{}`", field.name);
                return Self::one_of(&values.iter().map(PossibleValue::get_name).collect::<Vec<_>>());
            }
        };
        Self { python: python.into(), schema }
    }

    fn one_of(names: &[&str]) -> Self {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        Self { python: format!("Literal[{}]", quoted.join(", ")), schema: json!({"enum": names}) }
    }

    fn or_none(mut self) -> Self {
        self.python += " | None";
        for key in ["type", "enum"] {
            match self.schema.get_mut(key) {
                Some(Value::Array(all)) if key == "enum" => all.push(Value::Null),
                Some(Value::Array(all)) => all.push("null".into()),
                Some(one) => *one = json!([one, "null"]),
                None => {}
            }
        }
        self
    }
}
