//! Requests from JSON.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Error;

/// Reads a request; what is left out has its default.
///
/// # Errors
///
/// One sentence with the field that is wrong and what would be accepted.
pub fn request<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    let fields: Map<String, Value> = serde_json::from_str(json).map_err(Error::NotJson)?;
    let whole = serde_json::from_value::<T>(Value::Object(fields.clone()));
    whole.map_err(|error| blamed::<T>(&fields, error))
}

/// The first field that is refused by itself; serde does not say which one it was.
fn blamed<T: DeserializeOwned>(fields: &Map<String, Value>, error: serde_json::Error) -> Error {
    // Without any field, only what is missing can be wrong.
    let nothing = serde_json::from_value::<T>(Value::Object(Map::new())).err().map(|error| error.to_string());
    for (name, value) in fields {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        match serde_json::from_value::<T>(alone) {
            // What is wrong with a model is said of the model; a whole spec is not repeated.
            Err(reason) if name == "model" => return Error::Fields(reason),
            Err(reason) if Some(reason.to_string()) != nothing => {
                return Error::Field { field: name.clone(), value: value.clone(), reason };
            }
            _ => {}
        }
    }
    Error::Fields(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{export, fit, search, train};

    fn refusal<T: DeserializeOwned>(json: &str) -> String {
        request::<T>(json).err().map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let default = search::Request::default();
        assert_eq!(request::<search::Request>("{}").unwrap(), default);
        let given: fit::Request =
            request(r#"{"model": "fc3-8", "widths": "1..4", "weighted": true}"#).unwrap();
        assert_eq!(given.widths.as_ref().unwrap().0, [1, 2, 3, 4]);
        assert_eq!((given.line.weighted, given.trials), (true, None));
        let read: search::Request = request(&serde_json::to_string(&default).unwrap()).unwrap();
        assert_eq!(read, default);
    }

    #[test]
    fn the_wrong_field_is_named() {
        let sentence = refusal::<search::Request>(r#"{"model": "fc6-500", "cost": "money"}"#);
        assert!(
            sentence.starts_with("cost cannot be \"money\": \"money\" is not a cost; take params"),
            "{sentence}"
        );
        let sentence = refusal::<fit::Request>(r#"{"trials": -3, "model": "fc3-8"}"#);
        assert!(sentence.starts_with("trials cannot be -3: "), "{sentence}");
        let sentence = refusal::<search::Request>(r#"{"modle": "fc3-8"}"#);
        assert!(sentence.contains("unknown field") && sentence.contains("modle"), "{sentence}");
        let sentence = refusal::<train::Request>(r#"{"epochs": 0}"#);
        assert!(sentence.starts_with("epochs cannot be 0: "), "{sentence}");
        let unsaid: export::Request = request(r#"{"model": "fc3-8"}"#).unwrap();
        let sentence = export::run(&unsaid, &crate::Silent).unwrap_err().to_string();
        assert_eq!(sentence, "missing field `to`");
        let sentence = refusal::<export::Request>(r#"{"to": "caffe"}"#);
        assert!(sentence.starts_with("to cannot be \"caffe\""), "{sentence}");
        assert!(refusal::<search::Request>("[").starts_with("the request is not one"));
    }
}
