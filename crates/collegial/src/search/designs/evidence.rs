//! Evidence: others' trainings of a step like the answer's.

use collegial_arch::Spec;
use collegial_experiments::evidence::{Evidence, Gain as Measured};
use collegial_nn::Parametrisation;
use collegial_report::significant;
use collegial_search::Gain;
use serde::Serialize;

use super::Designs;
use super::sentences::NEAR;

/// Where the evidence is told in full.
const PAGE: &str = "docs/evidence.md";

/// Where it is on the pages of answers, which carry it with their data.
const HERE: &str = "[docs/evidence.md](#data)";

/// Evidence in numbers and in words.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// The pairs of published networks.
    #[serde(flatten)]
    pub evidence: Evidence,
    /// What the step is worth by them.
    pub sentence: String,
}

impl Designs {
    /// Of the step to the primal. `None` where it gains nothing, is not at the baseline's cost, or the
    /// baseline is no residual network of bottlenecks, which all pairs at hand are, or its variances are
    /// not those that the pairs were compared by.
    pub(super) fn told(&self, baseline: &Spec) -> Option<Told> {
        let answer = &self.answer;
        let network = &answer.primal.network;
        let gains = answer.primal.gain == Gain::Better && network.score_ratio >= NEAR;
        let comparable = answer.parametrisation == Parametrisation::Ntk;
        (gains && self.own_budget && comparable && matches!(baseline, Spec::Resnext(_))).then(|| {
            let shares = [
                network.parameters as f64 / answer.baseline_parameters as f64,
                network.flops as f64 / answer.baseline_flops as f64,
            ];
            let evidence = Evidence::of_step(network.score_ratio, shares);
            let sentence = self.worth(&evidence);
            Told { evidence, sentence }
        })
    }

    /// What others' trainings say, and where.
    pub(super) fn evidence_sentence(&self) -> Option<String> {
        let Told { sentence, .. } = self.evidence.as_ref()?;
        Some(format!("{} ({PAGE}).", sentence.trim_end_matches('.')))
    }

    /// A text in which the evidence is a link.
    pub(super) fn linked(text: &str) -> String {
        text.replace(PAGE, HERE)
    }

    /// What a step is worth by published pairs.
    fn worth(&self, evidence: &Evidence) -> String {
        let Evidence {
            equal_cost,
            variance_ratios: [low, high],
            pairs,
            equal_error,
            lower_error,
            more_inner_width,
            ..
        } = evidence;
        let said = match &evidence.gain {
            _ if !equal_cost => format!(
                "published pairs are equal in parameters and FLOPs, and this step has {}",
                self.costs(&self.answer.primal.network)
            ),
            None => format!(
                "{} of equal cost whose variances differ {low:.2} to {high:.2} times, too few to say what this step is \
                 worth",
                match pairs {
                    0 => "no pair".to_owned(),
                    1 => "only one pair".to_owned(),
                    pairs => format!("only {pairs} pairs"),
                }
            ),
            Some(Measured { share_ci, median_points, median_points_ci }) => format!(
                "of two networks of equal cost whose variances differ {low:.2} to {high:.2} times, the one with less has \
                 the lower error in {lower_error} of {pairs} pairs{}{}. The median difference is {} points{}. In \
                 {more_inner_width} of the pairs it also has more total inner width m n, so they do not tell which of the \
                 two helps",
                interval(share_ci.map(|ends| ends.map(|end| 100.0 * end)), |end| format!("{end:.0}"), " %"),
                match equal_error {
                    0 => String::new(),
                    1 => ", without one pair of equal errors".to_owned(),
                    several => format!(", without {several} pairs of equal errors"),
                },
                points(*median_points),
                interval(*median_points_ci, points, ""),
            ),
        };
        format!("Trained by others: {said}.")
    }
}

/// " (80 to 97 %)", where there is one.
fn interval(ends: Option<[f64; 2]>, text: impl Fn(f64) -> String, unit: &str) -> String {
    ends.map_or(String::new(), |[low, high]| format!(" ({} to {}{unit})", text(low), text(high)))
}

fn points(value: f64) -> String {
    significant(value, 2)
}

#[cfg(test)]
mod tests {
    use crate::search::{Request, SearchAnswer, run};
    use crate::{Answer, Model, Silent};

    /// The sentence on published pairs, and the JSON form of what it says.
    fn said(model: &str, change: impl FnOnce(&mut Request)) -> (Option<String>, serde_json::Value) {
        let model = Model { model: model.parse().unwrap(), ..Model::default() };
        let mut request = Request { model, ..Request::default() };
        change(&mut request);
        let answer = run(&request, &Silent).unwrap();
        let SearchAnswer::Designs(designs) = &answer else { panic!("Algorithm 2 as printed") };
        let json: serde_json::Value = serde_json::from_str(&answer.json().unwrap()).unwrap();
        (designs.evidence_sentence(), json["evidence"].clone())
    }

    #[test]
    fn a_step_that_others_took_has_its_pairs() {
        let (sentence, json) = said("resnet50", |_| {});
        let (sentence, right, pairs) = (sentence.unwrap(), &json["lower_error"], &json["pairs"]);
        assert!(sentence.contains(&format!("the lower error in {right} of {pairs} pairs (")), "{sentence}");
        assert!(sentence.contains("total inner width") && sentence.contains(" points ("), "{sentence}");
        assert!(json["median_points"].as_f64().unwrap() > 0.0 && pairs.as_u64().unwrap() >= 5, "{json}");
    }

    #[test]
    fn a_step_that_nobody_took_is_said_to_be_one() {
        let (sentence, json) = said("resnext29-1x128d", |_| {});
        assert!(sentence.unwrap().contains("too few to say"));
        assert!(json["pairs"].as_u64().unwrap() < 5 && json["median_points"].is_null(), "{json}");
        let (sentence, json) = said("resnext29-1x226d", |_| {});
        assert!(sentence.unwrap().contains("110.5 % of the FLOPs"));
        assert_eq!(json["equal_cost"], false);
    }

    #[test]
    fn where_the_tables_say_nothing_there_is_no_sentence() {
        let nothing = (None, serde_json::Value::Null);
        for model in ["regnet_x_8gf", "resnext50-32x4d", "fc6-500", "bottleneck-128"] {
            assert_eq!(said(model, |_| {}), nothing, "{model}");
        }
        let budget = said("resnet50", |request| request.budget = Some(crate::Budget(20_000_000)));
        assert_eq!(budget, nothing);
    }
}
