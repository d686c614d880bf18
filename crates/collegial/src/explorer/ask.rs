//! The page's questions: a verb and a JSON request, as the library has them, and a JSON answer.
//!
//! A request names its model by a name or by a spec's text. A path is never opened: what the page
//! may look at is dropped into it, see [`dropped`].

use std::fmt;

use crate::message::{Call, Rendering, Setting};
use crate::model::Redesign;
use crate::{Answer, Error, Model, Monitor, Silent};
use collegial_arch::{Family, Spec};
use collegial_report::Card;
use collegial_search::BlockInputs;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::explorer::cost;
use crate::explorer::network::Network;
use crate::explorer::taken::Taken;

/// Why there is no answer, in one sentence in the page's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError(pub String);

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestError {}

impl From<Error> for RequestError {
    fn from(error: Error) -> Self {
        Self(error.message().render(&Labels))
    }
}

impl From<collegial_arch::Error> for RequestError {
    fn from(error: collegial_arch::Error) -> Self {
        Error::from(error).into()
    }
}

/// Options and verbs as the page's labels have them.
#[derive(Debug)]
struct Labels;

impl Rendering for Labels {
    fn setting(&self, Setting { name, value }: &Setting) -> String {
        let name = name.replace('_', " ");
        value.as_ref().map_or_else(|| name.clone(), |value| format!("{name} {value}"))
    }

    fn call(&self, Call { verb, model, settings }: &Call) -> String {
        let settings = settings.iter().map(|setting| self.setting(setting));
        let words: Vec<String> = model.iter().cloned().chain(settings).collect();
        let with = if words.is_empty() { String::new() } else { format!(" with {}", words.join(", ")) };
        format!("`collegial {verb}`{with}")
    }
}

/// Answers a verb's request.
///
/// # Errors
///
/// One sentence: there is no such verb, the request is malformed, or the library refuses it.
pub fn ask(verb: &str, body: &[u8]) -> Result<String, RequestError> {
    ask_watched(verb, body, &Silent)
}

/// The same, unless the monitor stops it.
pub(super) fn ask_watched(verb: &str, body: &[u8], monitor: &dyn Monitor) -> Result<String, RequestError> {
    let json = std::str::from_utf8(body)
        .map_err(|_| RequestError("the request is not one: it is not UTF-8".into()))?;
    match verb {
        "models" => to_json(&models()?),
        "search" => {
            let (times, mut request) = search_request(json)?;
            if request.data.is_some() || request.timings.is_some() {
                return Err(RequestError(
                    "the page opens no files of this machine; leave `data` and `timings` out".into(),
                ));
            }
            request.model = without_files(&request.model)?;
            request.timings = times.is_some().then(|| TIMES.into());
            cost::check(&request, &request.model.spec()?)?;
            let found = match &times {
                Some(times) => crate::search::run_with_times(&request, times, monitor)?,
                None => crate::search::run(&request, monitor)?,
            };
            let mut answer: Value = serde_json::from_str(&found.json()?).map_err(Error::Json)?;
            answer["sentences"] = found.summary().0.into();
            // Verdicts have neither cards nor curves.
            if matches!(found, crate::search::SearchAnswer::Verdicts(_)) {
                return to_json(&answer);
            }
            answer["cards"] = found.cards().iter().map(card).collect();
            if let Some(cards) = found.stage_cards() {
                answer["stage_cards"] = cards.iter().map(card).collect();
            }
            // Between designs that were timed there are none.
            let fine = if times.is_some() { vec![] } else { crate::search::fine_curve(&request)? };
            answer["fine"] = serde_json::to_value(fine).map_err(Error::Json)?;
            to_json(&answer)
        }
        "network" => {
            let request: NetworkRequest = crate::request(json)?;
            let spec = redesigned(&request)?;
            to_json(&Network::of(&spec)?)
        }
        "pytorch" => {
            let request: NetworkRequest = crate::request(json)?;
            to_json(&crate::export::pytorch_script(&redesigned(&request)?)?)
        }
        "take" => {
            let mut request: TakeRequest = crate::request(json)?;
            request.network.model = without_files(&request.network.model)?;
            let baseline = request.network.model.spec()?;
            to_json(&Taken::of(&baseline, &redesigned(&request.network)?, request.block_inputs)?)
        }
        "kernels" => {
            let mut request: crate::kernels::Request = crate::request(json)?;
            request.model = without_files(&request.model)?;
            if request.draws > MOST_KERNELS {
                return Err(RequestError(format!(
                    "draws is {}; the page takes at most {MOST_KERNELS}",
                    request.draws
                )));
            }
            Ok(crate::kernels::run(&request, monitor)?.json()?)
        }
        other => Err(RequestError(format!(
            "there is no question {other:?}; it is one of models, search, network, take, pytorch and kernels"
        ))),
    }
}

/// The network of a file that was dropped into the page, from its name and content, as the text of
/// its spec.
///
/// # Errors
///
/// One sentence: what is in the file is not a network that is known.
pub fn dropped(name: &str, content: &[u8]) -> Result<String, RequestError> {
    let spec = crate::model::of_content(name, content)?;
    to_json(&Network::of(&spec)?)
}

/// What a table of times is called that came without a file.
const TIMES: &str = "times.csv";

/// A search, and the content of its table of times: the page's own field, as nothing is opened.
fn search_request(json: &str) -> Result<(Option<String>, crate::search::Request), RequestError> {
    let mut fields: Map<String, Value> = crate::request(json)?;
    let times = match fields.remove("times") {
        None | Some(Value::Null) => None,
        Some(Value::String(times)) => Some(times),
        Some(_) => {
            return Err(RequestError("times is the text of a table, such as \"model,seconds\"".into()));
        }
    };
    Ok((times, crate::request(&Value::Object(fields).to_string())?))
}

/// Kernels in one answer.
const MOST_KERNELS: u64 = 100_000;

/// A network, or the same with another design.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NetworkRequest {
    #[serde(flatten)]
    model: Model,
    /// `37x10d`, or one design per stage, `37x10d-19x20d-9x40d`.
    design: Option<Redesign>,
}

/// A design to be used: what it gains, and how others are told of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TakeRequest {
    #[serde(flatten)]
    network: NetworkRequest,
    block_inputs: BlockInputs,
}

fn redesigned(request: &NetworkRequest) -> Result<Spec, RequestError> {
    let model = without_files(&request.model)?;
    Ok(match &request.design {
        Some(design) => crate::model::redesigned(&model, design)?,
        None => model.spec()?,
    })
}

/// The same model as its network, so that nothing behind this opens a file.
fn without_files(model: &Model) -> Result<Model, RequestError> {
    Ok(Model { model: model.model.without_files()?.into(), ..model.clone() })
}

/// A card of the answer, as the page shows it.
fn card(card: &Card) -> Value {
    let Card { question, number, about, name, note, .. } = card;
    json!({ "question": question, "number": number, "about": about, "name": name, "note": note })
}

/// The names that people know, by family.
#[derive(Serialize)]
struct Models {
    families: Vec<Family>,
    models: Vec<collegial_arch::Model>,
    /// Names of torchvision and timm, which are found by typing.
    aliases: Vec<collegial_arch::Model>,
}

fn models() -> Result<Models, RequestError> {
    let (models, aliases) = (collegial_arch::models()?, collegial_arch::aliases()?);
    Ok(Models { families: collegial_arch::families(), models, aliases })
}

fn to_json(document: &impl Serialize) -> Result<String, RequestError> {
    serde_json::to_string(document)
        .map_err(|error| RequestError(format!("the answer has no JSON form: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.toml");
        std::fs::write(&path, "resnext29-1x128d".parse::<Spec>().unwrap().to_toml()).unwrap();
        for verb in ["search", "network", "take", "kernels", "pytorch"] {
            let body = serde_json::json!({ "model": path }).to_string();
            let refusal = ask(verb, body.as_bytes()).unwrap_err();
            assert!(refusal.0.starts_with("unknown model"), "{verb}: {refusal}");
        }
    }

    #[test]
    fn a_search_names_no_directory_and_no_table_of_times() {
        for (field, value) in [("data", "/etc"), ("timings", "/etc/passwd")] {
            let body = serde_json::json!({ "model": "fc6-500", "cost": "time", field: value }).to_string();
            let refusal = ask("search", body.as_bytes()).unwrap_err();
            assert!(refusal.0.starts_with("the page opens no files"), "{field}: {refusal}");
        }
    }

    #[test]
    fn times_that_are_given_are_a_cost() {
        let asked = |fields: Value| {
            let mut body = json!({ "model": "resnext29-1x128d" });
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            ask("search", body.to_string().as_bytes())
        };
        let times = "model,seconds\nresnext29-1x128d,0.4\n66x6d,0.7\n20x16d,0.39\n11x24d,0.3\n";
        // With times nothing else is meant.
        for fields in [json!({ "times": times }), json!({ "times": times, "cost": "time" })] {
            let answer: Value = serde_json::from_str(&asked(fields).unwrap()).unwrap();
            assert_eq!((&answer["cost"], &answer["primal"]["design"]), (&json!("time"), &json!("20x16d")));
            assert_eq!(answer["dual"]["design"], "11x24d");
            assert!(answer["cards"][0]["note"].as_str().unwrap().contains("97.5 % of the time"));
            let row = &answer["pareto"][0];
            assert_eq!((&row["time_share"], &row["fronts"][2]), (&json!(0.75), &json!("time")));
        }
        let picked = asked(json!({ "times": times, "cost": "time", "widths": "24" })).unwrap();
        let picked: Value = serde_json::from_str(&picked).unwrap();
        assert_eq!(picked["primal"]["design"], "11x24d");
        for (fields, sentence) in [
            (json!({ "cost": "time" }), "cost time runs the networks"),
            (json!({ "times": times, "timings": "/etc/passwd" }), "the page opens no files"),
            (json!({ "times": times, "cost": "flops" }), "timings are times; ask for cost time as well"),
            (json!({ "times": 1 }), "times is the text of a table"),
            (json!({ "times": "design,seconds\n1x8d,1\n" }), "no column \"model\""),
            (json!({ "times": "model,seconds\n66x6d,1\n" }), "the timings lack the baseline"),
            (json!({ "times": "model,seconds\n1x128d,fast\n" }), "it must be a number"),
            (json!({ "times": "model,seconds\nfc6-500,1\n" }), "row 1 of the timings is \"fc6-500\""),
        ] {
            let refusal = asked(fields.clone()).unwrap_err().0;
            assert!(refusal.contains(sentence) && !refusal.contains('\n'), "{fields}: {refusal}");
        }
    }

    #[test]
    fn a_spec_can_be_written_out() {
        let toml = "bottleneck-128".parse::<Spec>().unwrap().to_toml();
        let body = serde_json::json!({ "model": toml, "design": "12x10d" }).to_string();
        let network: Value = serde_json::from_str(&ask("network", body.as_bytes()).unwrap()).unwrap();
        assert_eq!(network["model"], "bottleneck-12x10d");
        assert_eq!(network["blocks"][0]["members"], 12);
    }

    #[test]
    fn layers_of_a_transformer_are_answered_with_verdicts() {
        let body = br#"{"model": "llama-256x4x4x512", "cost": "params", "rule": null, "multiple_of": 1, "block_inputs": "network", "widths": "64"}"#;
        let answer: Value = serde_json::from_str(&ask("search", body).unwrap()).unwrap();
        assert_eq!(answer["verdicts"].as_array().unwrap().len(), 2);
        let first = answer["sentences"][0].as_str().unwrap();
        assert!(first.starts_with("llama-256x4x4x512 attention: split-neutral. "), "{first}");
        for (model, expected) in [("llama-256x4x4x512", true), ("fc6-500", false)] {
            let body = json!({ "model": model }).to_string();
            let network: Value = serde_json::from_str(&ask("network", body.as_bytes()).unwrap()).unwrap();
            assert_eq!(network["judged"], expected, "{model}");
        }
    }

    #[test]
    fn refusals_are_sentences_in_the_pages_words() {
        let refused = |verb: &str, body: &str| ask(verb, body.as_bytes()).unwrap_err().0;
        assert!(refused("search", r#"{"model": "resnext29-1x128d", "multiple_of": 999}"#).contains("999"));
        assert!(refused("search", "[]").starts_with("the request is not one"));
        assert!(refused("sell", "{}").starts_with("there is no question \"sell\""));
        assert_eq!(
            refused("search", r#"{"model": "fc6-500", "alpha": 1.0, "variance": "exact"}"#),
            "alpha belongs to variance law; leave one of them out"
        );
    }
}
