//! An answer in sentences.

use collegial_arch::{Cost, Design, Designs as Named, Spec};
use collegial_nn::{NormPolicy, Parametrisation};
use collegial_report::{grouped, listed, significant};
use collegial_search::{
    BlockInputs, DesignAnswer, DesignOptimum, Edge, Flat, Freedom, FriendlyDesign, Gain, Problem, Redesigned,
    StageDesigns, VarianceSource,
};

use super::super::called;
use super::check::{Agreement, Checked};
use super::{Designs, gated};

/// A count that moved by less is not worth naming: it would print as 100.0 %.
const MOVED: f64 = 0.0005;

/// A ratio below this would print as 1.00.
const SAVED: f64 = 1.005;

/// A baseline whose score is this near to the best one's is called good.
pub(super) const NEAR: f64 = 1.05;

/// ResNeXts whose authors chose their design by trying others of equal cost (Xie et al., 2017,
/// Table 3).
const CHOSEN_BY_TRIAL: [&str; 2] = ["resnext50-32x4d", "resnext101-32x4d"];

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

impl Designs {
    /// The answer in a few sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        [vec![self.primal_sentence(), self.dual_sentence()], self.beyond_cards()].concat()
    }

    /// What the numbers of both optima do not say.
    pub(super) fn beyond_cards(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.parametrisation_sentence().into_iter().collect();
        sentences.extend(self.evidence_sentence());
        sentences.extend(self.chosen_by_trial());
        sentences.extend(self.whole_members());
        sentences.extend(self.friendly_sentence());
        sentences.extend(self.flat_sentence());
        for (name, optimum) in
            [(self.primal_group(), &self.answer.primal), ("same variance", &self.answer.dual)]
        {
            sentences.extend(edge_sentence(name, optimum));
        }
        if !self.answer.left_out.is_empty() {
            let widths: Vec<String> = self.answer.left_out.iter().map(ToString::to_string).collect();
            sentences.push(format!(
                "Not looked at: width {}, above the baseline's inner width or not a multiple of what was asked for.",
                widths.join(", ")
            ));
        }
        sentences
    }

    /// By which weights, where they are not those of the theory.
    fn parametrisation_sentence(&self) -> Option<String> {
        (self.answer.parametrisation == Parametrisation::Standard).then(|| {
            "Variances are those of the standard parametrisation: a layer counts in proportion to the inverse \
             variance of its initial weights."
                .into()
        })
    }

    /// How much the width matters, where it hardly does.
    fn flat_sentence(&self) -> Option<String> {
        let Flat { tolerance, low, high } = self.answer.flat.filter(|flat| flat.low < flat.high)?;
        Some(format!(
            "The optimum is flat: but for rounding m, widths {low} to {high} are within {:.0} % of the best.",
            100.0 * tolerance
        ))
    }

    /// The primal's group in tables.
    pub(super) fn primal_group(&self) -> &'static str {
        if self.own_budget { "same cost" } else { "within budget" }
    }

    /// What is minimised.
    pub(super) fn what(&self) -> &'static str {
        if self.answer.other_inputs.is_some() {
            "mean kernel variance of its blocks at initialisation"
        } else {
            "kernel variance at initialisation"
        }
    }

    pub(super) fn primal_name(&self) -> String {
        self.name_of(self.primal_model.as_deref(), self.answer.primal.design)
    }

    pub(super) fn dual_name(&self) -> String {
        self.name_of(self.dual_model.as_deref(), self.answer.dual.design)
    }

    fn name_of(&self, name: Option<&str>, design: Design) -> String {
        match self.answer.baseline_design == Some(design) {
            true => self.answer.baseline.clone(),
            false => called::other(name, &self.design_text(design), &self.answer.baseline),
        }
    }

    /// A design as the family's names have it: `66x6d`, `30x48` for fully connected networks, or
    /// `27x3_4d` for blocks of two widths.
    pub(super) fn design_text(&self, design: Design) -> String {
        match &self.spec {
            Spec::FullyConnected(_) => format!("{}x{}", design.multiplicity, design.width),
            Spec::Bottleneck(_) => {
                let stages = self.spec.stage_designs(design).unwrap_or_else(|_| vec![design.into()]);
                stages.iter().map(ToString::to_string).collect()
            }
            _ => design.to_string(),
        }
    }

    fn primal_sentence(&self) -> String {
        let DesignAnswer { primal, baseline, .. } = &self.answer;
        let (what, budget) = (self.what(), self.budget_name());
        match primal.gain {
            Gain::BaselineIsBest => format!(
                "{budget}: {baseline} is itself the best design. No other m x n within its budget has less {what}."
            ),
            Gain::Better if self.own_budget && primal.network.score_ratio < 1.0 + MOVED => {
                format!(
                    "{budget}: {baseline} is as good as the best design to {}, by {what}.",
                    percent(MOVED)
                )
            }
            Gain::Better if self.near_best() => format!(
                "{budget}: {baseline} is within {} of the best design, {}, with {}, by {what}.",
                percent(primal.network.score_ratio - 1.0),
                self.primal_name(),
                self.costs(&primal.network)
            ),
            Gain::Better => format!(
                "{budget}: {} has {:.2} times less {what}, with {}.",
                self.primal_name(),
                primal.network.score_ratio,
                self.costs(&primal.network)
            ),
            Gain::Worse => format!(
                "{budget}: nothing that is allowed is as good as {baseline}. The best, {}, has {:.2} times as much {what}.",
                self.primal_name(),
                1.0 / primal.network.score_ratio
            ),
        }
    }

    /// What the primal stays within.
    pub(super) fn budget_name(&self) -> String {
        let DesignAnswer { budget, cost, .. } = &self.answer;
        let name = match (self.own_budget, cost.only()) {
            (true, Some(_)) => "Same cost".into(),
            (true, None) => format!("Same {}", cost.words()),
            (false, _) => format!("Within {} {}", grouped(*budget), cost.first().unit()),
        };
        match self.answer.tolerance {
            0.0 => name,
            tolerance => format!("{name}, {} more allowed", percent(tolerance)),
        }
    }

    /// Every cost of a network as a share of the baseline's: the compared one, then counts that
    /// moved.
    pub(super) fn costs(&self, network: &Redesigned) -> String {
        let own = self.answer.cost.iter().filter_map(|cost| {
            let share = self.share(network, cost)?;
            Some(format!("{} of the {}", percent(share), cost.unit()))
        });
        listed(&[own.collect(), self.moved_counts(network)].concat())
    }

    /// Counts of a cheaper network that moved, and its variance, as shares of the baseline's.
    pub(super) fn shares_at_same_variance(&self, network: &Redesigned) -> String {
        let variance = format!("{} of the variance", percent(1.0 / network.score_ratio));
        let others = self.moved(network, self.answer.cost.others().iter().copied());
        listed(&[others, self.moved_counts(network), vec![variance]].concat())
    }

    /// What a network costs as a share of the baseline's.
    fn share(&self, network: &Redesigned, cost: Cost) -> Option<f64> {
        let answer = &self.answer;
        match cost {
            Cost::Params => Some(network.parameters as f64 / answer.baseline_parameters as f64),
            Cost::Flops => Some(network.flops as f64 / answer.baseline_flops as f64),
            Cost::Activations => Some(network.activations as f64 / answer.baseline_activations as f64),
            Cost::Time => network.time_share,
        }
    }

    /// Counts that moved, where they are not compared.
    fn moved_counts(&self, network: &Redesigned) -> Vec<String> {
        let counts = [Cost::Params, Cost::Flops, Cost::Activations];
        let others = counts.into_iter().filter(|cost| !self.answer.cost.has(*cost));
        self.moved(network, others)
    }

    /// The costs among these that moved, as shares of the baseline's.
    fn moved(&self, network: &Redesigned, costs: impl Iterator<Item = Cost>) -> Vec<String> {
        let shares = costs.filter_map(|cost| Some((cost, self.share(network, cost)?)));
        let moved = shares.filter(|(_, share)| (share - 1.0).abs() >= MOVED);
        moved.map(|(cost, share)| format!("{} of the {}", percent(share), cost.unit())).collect()
    }

    /// The best designs with widths that vector units fill, where they gain, and what they give up.
    fn friendly_sentence(&self) -> Option<String> {
        let best = &self.answer.primal;
        let gains = |other: &&FriendlyDesign| {
            other.design.problem == Problem::Primal && other.design.network.score_ratio >= SAVED
        };
        let told = |other: &FriendlyDesign| {
            let (name, ratio) = (self.design_text(other.design.design), other.design.network.score_ratio);
            format!("{name} has {ratio:.2}")
        };
        let told: Vec<String> = self.answer.friendly.iter().filter(gains).map(told).collect();
        (best.gain == Gain::Better && !told.is_empty()).then(|| {
            format!(
                "With widths that suit hardware: {} times less, against {:.2}.",
                listed(&told),
                best.network.score_ratio
            )
        })
    }

    /// Whether the baseline itself is nearly as good as the best at its own cost.
    fn near_best(&self) -> bool {
        self.own_budget && self.answer.primal.network.score_ratio < NEAR
    }

    fn dual_sentence(&self) -> String {
        let DesignAnswer { dual, baseline, .. } = &self.answer;
        let cost = self.answer.cost.first();
        let unit = cost.unit();
        match dual.gain {
            Gain::BaselineIsBest => {
                let (takes, fewer) = (takes(cost), fewer(cost));
                format!(
                    "Same variance: no design with as little variance {takes} {fewer} {unit} than {baseline}."
                )
            }
            Gain::Better if dual.network.cost_ratio < SAVED => {
                let most = percent(SAVED - 1.0);
                format!("Same variance: no design saves more than {most} of {baseline}'s {unit}.")
            }
            Gain::Better => {
                format!(
                    "Same variance: {} {} {:.2} times {} {unit}, with {}.",
                    self.dual_name(),
                    takes(cost),
                    dual.network.cost_ratio,
                    fewer(cost),
                    self.shares_at_same_variance(&dual.network)
                )
            }
            Gain::Worse => format!(
                "Same variance: nothing that is allowed is cheaper than {baseline}. The cheapest, {}, has {} of the {unit}.",
                self.dual_name(),
                percent(1.0 / dual.network.cost_ratio)
            ),
        }
    }

    /// Where theory meets what others found by trying.
    fn chosen_by_trial(&self) -> Option<String> {
        let DesignAnswer { baseline, primal, .. } = &self.answer;
        let good = primal.gain == Gain::BaselineIsBest || (primal.gain == Gain::Better && self.near_best());
        (good && CHOSEN_BY_TRIAL.contains(&baseline.as_str())).then(|| {
            "Its authors chose 32x4d by training designs of equal cost (Xie et al., 2017), without any of this.".into()
        })
    }

    /// What more freedom gains.
    pub(super) fn stage_sentences(&self) -> Vec<String> {
        let Some(stages) = &self.stages else { return vec![] };
        let who = match stages.freedom {
            Freedom::Stages => "One design per stage, each keeping its cost",
            Freedom::Widths => "Two widths per member, the same for all stages",
            Freedom::StagesAndWidths => {
                "One design per stage and two widths per member, each stage keeping its cost"
            }
        };
        let name = |stages: &StageDesigns| self.stages_name(stages);
        let kept = &stages.kept.primal;
        let mut sentences = vec![format!(
            "{who}: {} has {:.2} times less variance, with {}. One design for all has {:.2} times less.",
            name(kept),
            kept.network.score_ratio,
            self.costs(&kept.network),
            self.answer.primal.network.score_ratio
        )];
        if let Some(moved) = stages.moved.as_ref().map(|moved| &moved.primal) {
            sentences.push(format!(
                "If cost may move between stages it goes where members are cheap: {} has {:.2} times less, with {}. \
                 The score counts all blocks alike; whether such a shift trains better, it does not say.",
                name(moved),
                moved.network.score_ratio,
                self.costs(&moved.network)
            ));
        }
        sentences
    }

    /// A network with a design of its own for every stage, in sentences.
    pub(super) fn stages_name(&self, stages: &StageDesigns) -> String {
        let designs = Named::per_stage(&stages.designs).to_string();
        called::other(stages.model.as_deref(), &designs, &self.answer.baseline)
    }

    /// What draws of the whole networks say.
    pub(super) fn check_sentences(&self) -> Vec<String> {
        let Some([first, others @ ..]) = self.check.as_deref() else { return vec![] };
        let norms = match first.norm {
            NormPolicy::None => "norms removed",
            NormPolicy::Frozen => "norms frozen",
            NormPolicy::Batch => "norms over the batch",
        };
        let mut sentences = vec![format!(
            "Whole networks, {} draws each, {norms}; the score is of their blocks alone.",
            first.draws
        )];
        sentences.extend(others.iter().map(|row| check_sentence(&first.model, row)));
        sentences
    }

    /// What the numbers are about.
    pub(super) fn reading(&self) -> Vec<String> {
        let answer = &self.answer;
        let source = match answer.variance_source {
            VarianceSource::Exact => "computed exactly".to_owned(),
            VarianceSource::Measured | VarianceSource::Law => {
                format!("sampled to {} % (standard error)", significant(100.0 * self.precision, 2))
            }
        };
        let whose = match self.spec {
            Spec::FullyConnected(_) => "the network's",
            Spec::Sequence(_) | Spec::FeedForward(_) => "the module's",
            _ => "a block's",
        };
        let blocks: usize = answer.blocks.iter().map(|block| block.count).sum();
        let drawn = if self.check.is_some() { "" } else { " (the whole network's was not drawn)" };
        let what = if blocks > 1 { format!("the mean over {blocks} blocks{drawn}, ") } else { String::new() };
        let mut lines = vec![format!(
            "variance: Var[K] / E[K]^2 of {whose} tangent kernel K at one input, {what}{source}"
        )];
        if let Some(other) = &answer.other_inputs {
            let network = match &self.data {
                // Its last name: pages tell no directories.
                Some(data) => {
                    let name = data.file_name().unwrap_or(data.as_os_str());
                    format!("what the images of {} look like there in the network", name.to_string_lossy())
                }
                None => "what images look like there in the network".into(),
            };
            let white = "white patches, as in the paper".to_owned();
            let (here, there) = match answer.block_inputs {
                BlockInputs::Network => (network, white),
                BlockInputs::White => (white, network),
            };
            let best = match (other.primal, other.dual) {
                (primal, dual) if primal == dual => format!("{primal} is the best for both"),
                (primal, dual) => format!("the best are {primal} and {dual}"),
            };
            let own = answer.primal.design;
            let distance = match own == other.primal {
                true => String::new(),
                false => format!(", and {own} is {} off", percent(other.primal_distance)),
            };
            lines.push(format!("blocks see {here}; with {there}, {best}{distance}"));
        }
        if gated(&self.spec) {
            lines.push("gates (squeeze-and-excitation) are left out of account".into());
        }
        lines
    }
}

/// The verb of a cost.
fn takes(cost: Cost) -> &'static str {
    if cost == Cost::Time { "takes" } else { "has" }
}

/// The comparative of a cost.
pub(super) fn fewer(cost: Cost) -> &'static str {
    if cost == Cost::Time { "less" } else { "fewer" }
}

fn check_sentence(baseline: &str, row: &Checked) -> String {
    let Checked { model, ratio, ratio_ci: [low, high], draws, .. } = row;
    match row.agreement() {
        Agreement::Holds => format!(
            "{model}: its kernel varies {ratio:.2} times less ({low:.2} to {high:.2}) than that of {baseline}."
        ),
        Agreement::Open => format!(
            "{model}: {draws} draws do not tell its kernel's variance from that of {baseline} (ratio {low:.2} to {high:.2})."
        ),
        Agreement::Fails => format!(
            "{model}: its kernel varies {:.2} times more ({:.2} to {:.2}) than that of {baseline}.",
            1.0 / ratio,
            1.0 / high,
            1.0 / low
        ),
    }
}

fn edge_sentence(name: &str, optimum: &DesignOptimum) -> Option<String> {
    let (end, other) = match optimum.edge? {
        Edge::Narrowest => ("narrowest", "narrower"),
        Edge::Widest => ("widest", "wider"),
    };
    Some(format!(
        "The {name} optimum is at the {end} width that was looked at, {}; {other} members might be better.",
        optimum.width
    ))
}
