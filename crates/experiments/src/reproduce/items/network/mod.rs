//! Beyond the paper: whether the mean variance of a network's blocks ranks the variance of the
//! network's own kernel.

mod choice;
mod curve;
mod pictures;
mod show;

use collegial_arch::Spec;
use collegial_ntk::explicit::NormPolicy;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Scale, Verdict};
use curve::{Curve, Relation};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    curves: Vec<Baseline>,
    /// Widths of members besides the baseline's.
    widths: Vec<usize>,
    /// Images whose kernel entries are averaged. Entries of a draw move together, so that more
    /// images take longer and hardly narrow an error.
    images: usize,
    /// Images of a batch, those included; only norms over the batch see the others.
    batch: usize,
    /// Initialisations per design and norm policy.
    draws: u64,
    norms: Vec<NormPolicy>,
}

/// The baseline of a primal curve.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Baseline {
    name: String,
    spec: Spec,
}

/// The kernel's variance of whole networks against the score.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let settings: Settings = experiment.settings(context.scale)?;
    let curves: Vec<Curve> =
        settings.curves.iter().map(|base| Curve::draw(base, &settings, context)).collect::<Result<_, _>>()?;
    let relations: Vec<Relation> = curves.iter().flat_map(|curve| curve.relations(context.seed)).collect();
    let standings = choice::all(&curves, context.seed);
    Ok(Outcome {
        sentence: show::sentence(&relations, &standings, context.scale),
        comparisons: comparisons(&relations, context.scale),
        figures: curves.iter().map(show::figure).collect(),
        sections: vec![
            show::standings(&standings, context.scale),
            show::relations(&relations),
            show::designs(&curves),
        ],
        data: json!({"curves": curves, "relations": relations, "standings": standings}),
        ..Outcome::default()
    })
}

/// One claim per curve and norm policy: the score ranks the network's variances.
fn comparisons(relations: &[Relation], scale: Scale) -> Vec<Comparison> {
    relations
        .iter()
        .filter(|relation| relation.predictor == curve::Predictor::NetworkInputs)
        .map(|relation| {
            let [low, high] = relation.interval;
            let verdict = match scale {
                Scale::Smoke => Verdict::NotAtThisScale("too few draws".into()),
                _ if low > 0.0 => Verdict::Holds,
                _ if high < 0.0 => Verdict::Fails("designs of lower score have more variance".into()),
                _ => Verdict::Undecided("the interval of the rank correlation holds 0".into()),
            };
            Comparison::claim(
                format!(
                    "{}, norms {}: the score ranks the network's variance",
                    relation.curve, relation.norms
                ),
                "not in the paper",
                format!("rank correlation {:.2} ({low:.2} to {high:.2})", relation.spearman),
                verdict,
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(interval: [f64; 2]) -> Relation {
        Relation {
            curve: "c".into(),
            norms: "none".into(),
            predictor: curve::Predictor::NetworkInputs,
            spearman: 0.5 * (interval[0] + interval[1]),
            interval,
            intercept: [0.0, 0.1],
            slope: [1.0, 0.1],
        }
    }

    /// A clear effect, none, and a reversed one.
    #[test]
    fn verdicts_follow_the_interval() {
        let names = |scale| -> Vec<&'static str> {
            let relations = [relation([0.2, 0.9]), relation([-0.3, 0.6]), relation([-0.9, -0.1])];
            comparisons(&relations, scale).iter().map(|comparison| comparison.verdict.name()).collect()
        };
        assert_eq!(names(Scale::Laptop), ["holds", "undecided", "does not hold"]);
        assert_eq!(names(Scale::Smoke), ["not at this scale"; 3]);
    }
}
