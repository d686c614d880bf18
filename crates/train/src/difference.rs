//! Differences between two settings, field by field.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// One field that differs, such as `optimiser.momentum`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path of the field, its parts joined by points.
    pub field: String,
    /// The run's value; `None` where the field is not set.
    pub saved: Option<String>,
    /// The value given now.
    pub given: Option<String>,
}

impl Difference {
    /// One that the caller found.
    pub fn new(field: impl Into<String>, saved: impl fmt::Display, given: impl fmt::Display) -> Self {
        Self { field: field.into(), saved: Some(saved.to_string()), given: Some(given.to_string()) }
    }

    /// All fields in which two values differ, by path.
    pub fn between(saved: &impl Serialize, given: &impl Serialize) -> Vec<Self> {
        let (saved, given) = (fields(saved), fields(given));
        let mut paths: Vec<&String> = saved.keys().chain(given.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        let differs = |path: &&String| saved.get(*path) != given.get(*path);
        let difference = |path: &String| Self {
            field: path.clone(),
            saved: saved.get(path).cloned(),
            given: given.get(path).cloned(),
        };
        paths.into_iter().filter(differs).map(difference).collect()
    }
}

impl fmt::Display for Difference {
    /// "learning_rate: 0.1 in the run, 0.05 now".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".into());
        write!(f, "{}: {} in the run, {} now", self.field, word(&self.saved), word(&self.given))
    }
}

/// The leaves of a value by path. Lists are leaves: their elements have no names.
fn fields(value: &impl Serialize) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect("", &serde_json::to_value(value).unwrap_or_default(), &mut found);
    found
}

fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(&path, value, found);
            }
        }
        Value::Null => {}
        Value::String(text) => _ = found.insert(path.to_owned(), text.clone()),
        other => _ = found.insert(path.to_owned(), other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Builtin;

    #[test]
    fn every_changed_field_is_named() {
        let recipe = |changes: &[&str]| {
            let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
            Builtin::Cifar10.with(&changes).unwrap()
        };
        let said = |changes: &[&str]| -> Vec<String> {
            let differences = Difference::between(&recipe(&[]), &recipe(changes));
            differences.iter().map(ToString::to_string).collect()
        };
        assert!(said(&[]).is_empty());
        assert_eq!(said(&["learning_rate=0.05"]), ["learning_rate: 0.1 in the run, 0.05 now"]);
        assert_eq!(
            said(&["limit=9", "schedule.milestones=[1, 2]"]),
            [
                "limit: not set in the run, 9 now",
                "schedule.milestones: [150.0,225.0] in the run, [1.0,2.0] now"
            ]
        );
        let kinds = said(&["optimiser.kind=adam"]);
        assert!(kinds.contains(&"optimiser.kind: sgd in the run, adam now".to_owned()), "{kinds:?}");
        assert!(kinds.contains(&"optimiser.momentum: 0.9 in the run, not set now".to_owned()), "{kinds:?}");
    }
}
