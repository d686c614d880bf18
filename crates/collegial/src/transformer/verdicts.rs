//! `search` on transformers: what splitting is a question of, layer by layer.

use collegial_arch::{Attention, FeedForward, Spec};
use collegial_core::{Instant, Monitor};
use collegial_ntk::feed_forward::constant;
use collegial_report::{Align, Download, Page, Provenance, Section, Table, significant};
use collegial_search::Verdict;
use serde::Serialize;

use super::moments::LayerKind;
use super::{Place, drawn, feed_forwards, places, usual_draws};
use crate::style::wrapped;
use crate::{Answer, Error, Paged, Style, Widths, untimed_json};

/// Where the tables of trained networks are.
const EVIDENCE: &str = "docs/evidence.md#do-more-and-thinner-attention-heads-help";

/// What those tables say, from research/heads; a test computes these numbers again.
const TABLES: &str = "Published tables of trained networks do not follow it. Between head widths 16 and 128 they differ by \
                      2.0 % (translation) and 1.0 % (a character model). A third source, whose time limit favours fewer \
                      heads, has up to 7.1 % between widths 24 and 48.";

/// Head widths to compare by default, with the baseline's.
const WIDTHS: [usize; 6] = [8, 16, 32, 64, 128, 256];

/// All heads of a layer with another width, as wide together.
#[derive(Clone, Debug, Serialize)]
pub struct HeadWidth {
    /// Which layer of the network, from 1.
    pub layer: usize,
    /// The correlation between its tokens.
    pub correlation: f64,
    /// m.
    pub heads: usize,
    /// n.
    pub width: usize,
    /// Of the layer's kernel, relative to its squared mean.
    pub variance: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// The verdict on a kind of layer in a stage.
#[derive(Clone, Debug, Serialize)]
pub struct LayerVerdict {
    /// The kind.
    pub layers: LayerKind,
    /// In which stage, from 1.
    pub stage: usize,
    /// How many there are.
    pub count: usize,
    /// Heads, or members of a feed-forward layer.
    pub members: usize,
    /// Of a head, or hidden neurons of a member.
    pub width: usize,
    /// How many tokens a query sees.
    pub tokens: Option<usize>,
    /// What splitting is a question of.
    pub verdict: Verdict,
    /// Why.
    pub sentence: String,
    /// c of the variance c / (m n) of a feed-forward layer.
    pub constant: Option<f64>,
    /// Head widths at equal total width, at both ends of the stage.
    pub heads: Vec<HeadWidth>,
}

/// The verdicts on all kinds of layers.
#[derive(Clone, Debug, Serialize)]
pub struct Verdicts {
    /// The model's name.
    pub baseline: String,
    /// By stage.
    pub verdicts: Vec<LayerVerdict>,
    /// Where trained networks are compared.
    pub evidence: &'static str,
    /// Seed of the draws.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Whether a model gets verdicts instead of designs.
pub(crate) fn apply(spec: &Spec) -> bool {
    match spec {
        Spec::Transformer(_) | Spec::Attention(_) => true,
        Spec::FeedForward(layer) => Verdict::of_feed_forward(layer) != Verdict::Variance,
        _ => false,
    }
}

/// Judges.
pub(crate) fn run(
    spec: &Spec,
    widths: Option<&Widths>,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Verdicts, Error> {
    let start = Instant::now();
    let (places, feed_forwards) = (places(spec)?, feed_forwards(spec));
    let mut verdicts = vec![];
    let stages = places.iter().map(|place| place.stage + 1).max().unwrap_or(0).max(feed_forwards.len());
    for stage in 0..stages {
        let count = match spec {
            Spec::Transformer(network) => network.stages[stage].layers,
            _ => 1,
        };
        let own: Vec<&Place> = places.iter().filter(|place| place.stage == stage).collect();
        if let Some(first) = own.first() {
            let mut heads = vec![];
            for place in &own {
                heads.extend(head_widths(place, widths, seed, monitor)?);
            }
            verdicts.push(of_heads(&first.attention, stage, count, heads));
        }
        verdicts.extend(feed_forwards.get(stage).map(|layer| of_neurons(layer, stage, count)));
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(Verdicts { baseline: spec.name(), verdicts, evidence: EVIDENCE, seed, seconds })
}

/// Every width that gives whole heads of the same total width, as many of them to a key/value head.
fn head_widths(
    place: &Place,
    widths: Option<&Widths>,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Vec<HeadWidth>, Error> {
    let layer = &place.attention;
    let (total, sharing) = (layer.heads * layer.width, layer.sharing());
    let mut wanted = widths.map_or_else(|| [&WIDTHS[..], &[layer.width]].concat(), |given| given.0.clone());
    wanted.sort_unstable();
    wanted.dedup();
    let whole = |&width: &usize| width > 0 && total.is_multiple_of(width * sharing);
    let mut all = vec![];
    for width in wanted.into_iter().filter(whole) {
        let heads = total / width;
        let other = Attention { heads, width, key_value_heads: Some(heads / sharing), ..layer.clone() };
        let moments = drawn(&other, usual_draws(&other), seed, monitor)?;
        let groups = other.key_value_heads() as f64;
        all.push(HeadWidth {
            layer: place.layer,
            correlation: layer.correlation,
            heads,
            width,
            variance: (moments.second_moment_ratio() - 1.0) / groups,
            standard_error: moments.second_moment_ratio_standard_error() / groups,
        });
    }
    Ok(all)
}

fn of_heads(layer: &Attention, stage: usize, count: usize, heads: Vec<HeadWidth>) -> LayerVerdict {
    let ends = heads.chunk_by(|a, b| a.layer == b.layer).map(spread);
    let ends: Vec<String> = ends.collect();
    let sentence = format!(
        "Kernel variance does not choose the head width; choose by speed. At equal total width {} {}. {TABLES}",
        layer.heads * layer.width,
        ends.join("; "),
    );
    LayerVerdict {
        layers: LayerKind::Attention,
        stage: stage + 1,
        count,
        members: layer.heads,
        width: layer.width,
        tokens: Some(layer.tokens),
        verdict: Verdict::HEADS,
        sentence,
        constant: None,
        heads,
    }
}

/// Whether two variances differ by more than sampling explains.
fn differ(a: &HeadWidth, b: &HeadWidth) -> bool {
    (a.variance - b.variance).abs() > 3.0 * a.standard_error.hypot(b.standard_error)
}

/// What the widths come to at one end.
fn spread(end: &[HeadWidth]) -> String {
    let by_variance = |a: &&HeadWidth, b: &&HeadWidth| a.variance.total_cmp(&b.variance);
    let (least, most) = (end.iter().min_by(by_variance), end.iter().max_by(by_variance));
    match (least, most) {
        (Some(least), Some(most)) if least.width != most.width && !differ(least, most) => format!(
            "layer {} (token correlation {:.2}) has no widths that differ by three standard errors",
            least.layer, least.correlation,
        ),
        (Some(least), Some(most)) if least.width != most.width => format!(
            "layer {} (token correlation {:.2}) has the least variance at width {} and {} times as much at width {}",
            least.layer,
            least.correlation,
            least.width,
            significant(most.variance / least.variance, 3),
            most.width,
        ),
        (Some(only), _) => format!("layer {} has width {} alone", only.layer, only.width),
        _ => "no such width gives whole heads".into(),
    }
}

fn of_neurons(layer: &FeedForward, stage: usize, count: usize) -> LayerVerdict {
    let verdict = Verdict::of_feed_forward(layer);
    let dense = !layer.is_routed() && !layer.has_inner_matrix();
    let constant = dense.then(|| constant(layer.activation, layer.gated));
    let total = layer.members * layer.widths[0];
    let sentence = match constant {
        Some(constant) => format!(
            "Branches of a feed-forward layer relabel its neurons: the variance is {} / {total} whatever the split; choose \
             by speed.",
            significant(constant, 4)
        ),
        None => format!(
            "A router picks {} of {} feed-forward layers for every token, and the theory does not know routing.",
            layer.experts_per_token, layer.experts
        ),
    };
    LayerVerdict {
        layers: LayerKind::FeedForward,
        stage: stage + 1,
        count,
        members: layer.members,
        width: layer.widths[0],
        tokens: None,
        verdict,
        sentence,
        constant,
        heads: vec![],
    }
}

impl Verdicts {
    fn sentences(&self) -> Vec<String> {
        let several = self.verdicts.iter().any(|verdict| verdict.stage > 1);
        let of = |found: &LayerVerdict| {
            let kind = match found.layers {
                LayerKind::Attention => "attention",
                LayerKind::FeedForward => "feed-forward",
            };
            let stage = if several { format!(", stage {}", found.stage) } else { String::new() };
            format!("{} {kind}{stage}: {}. {}", self.baseline, found.verdict, found.sentence)
        };
        let mut all: Vec<String> = self.verdicts.iter().map(of).collect();
        if self.verdicts.iter().any(|found| found.layers == LayerKind::Attention) {
            all.push(format!("The tables of trained networks: {EVIDENCE}"));
        }
        all
    }
}

impl Answer for Verdicts {
    fn text(&self, _style: &Style) -> String {
        let sentences: Vec<String> =
            self.sentences().iter().map(|sentence| wrapped(sentence).join("\n")).collect();
        let no_heads = self.verdicts.iter().all(|found| found.heads.is_empty());
        let table = if no_heads { String::new() } else { format!("\n{}", self.table().to_text()) };
        format!("{}\n{table}", sentences.join("\n\n"))
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), self.table())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("stage", Align::Right),
            ("layer", Align::Right),
            ("token correlation", Align::Right),
            ("heads x width", Align::Right),
            ("Var[K] / E[K]^2", Align::Right),
            ("+-", Align::Right),
        ]);
        for found in &self.verdicts {
            for row in &found.heads {
                table.push([
                    found.stage.to_string(),
                    row.layer.to_string(),
                    format!("{:.3}", row.correlation),
                    format!("{}x{}", row.heads, row.width),
                    significant(row.variance, 4),
                    significant(row.standard_error, 2),
                ]);
            }
        }
        table
    }
}

impl Paged for Verdicts {
    fn page(&self, provenance: Provenance) -> Result<Page, Error> {
        let json = untimed_json(self)?;
        let provenance = Provenance { seed: Some(self.seed), ..provenance };
        let data = Section::new("Data").download(Download::json("search.json", json));
        Ok(Page::new(format!("What splitting {} is a question of", self.baseline))
            .subject(&self.baseline)
            .verdict(self.sentences().join(" "))
            .section(
                Section::new("Head widths at equal total width")
                    .table(self.table(), "+- is one standard error."),
            )
            .section(data)
            .provenance(provenance))
    }
}
