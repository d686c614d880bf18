//! The page of an answer.

use collegial_report::{
    Align, Download, Page, Provenance, Section, Table, capitalised, grouped, significant,
};
use collegial_search::{Problem, Redesigned, VarianceSource};

use super::Designs;
use super::sentences::percent;
use crate::explorer::page::EVIDENCE;
use crate::message::{Call, Flags, Rendering, Setting};
use crate::{Answer, Error, Message, Paged, untimed_json};

/// What readers need to know before the first number.
const MEMBER: &str = "A member is one of m equal, independent branches whose outputs are added: a group of a grouped convolution, \
     or a part of a fully connected network. `66x6d` means 66 members that are 6 channels wide.";

/// Commands of the program, set as code.
#[derive(Debug)]
struct Code;

impl Rendering for Code {
    fn setting(&self, setting: &Setting) -> String {
        format!("`{}`", Flags.setting(setting))
    }

    fn call(&self, call: &Call) -> String {
        format!("`{}`", Flags.call(call).trim_matches('`'))
    }
}

impl Paged for Designs {
    fn page(&self, provenance: Provenance) -> Result<Page, Error> {
        let json = untimed_json(self)?;
        let drawn = self.answer.variance_source == VarianceSource::Measured || self.check.is_some();
        let provenance = Provenance { seed: drawn.then_some(self.seed), ..provenance };
        let mut page = Page::new(format!("The best designs for {}", self.answer.baseline))
            .subject(&self.answer.baseline)
            .cards(self.cards())
            .verdict(Self::linked(&self.beyond_cards().join(" ")))
            .section(self.figures_section())
            .section(self.fronts_section())
            .section(self.designs_section());
        for section in self.further_sections() {
            page = page.section(section);
        }
        if let Some(next) = self.next_section() {
            page = page.section(next);
        }
        let sentence = |part: &String| format!("{}.", capitalised(part.trim_end_matches('.')));
        let reading: Vec<String> = self.reading().iter().map(sentence).collect();
        let mut data = Section::new("Data")
            .download(Download::json("search.json", json))
            .download(Download::csv("curve.csv", self.table().to_csv()));
        if self.evidence.is_some() {
            data = data.download(Download::text("evidence.md", EVIDENCE));
        }
        let page = page.section(Section::new("How to read this").prose(reading.join("\n\n")));
        Ok(page.section(data).provenance(provenance))
    }
}

impl Designs {
    fn designs_section(&self) -> Section {
        let groups = match self.own_budget {
            true => {
                "Whole networks, in two groups: within the baseline's cost, and with no more than its variance."
            }
            false => {
                "Whole networks, in two groups: within the budget, and with no more than the baseline's variance."
            }
        };
        Section::new("Designs worth trying")
            .prose(format!("{MEMBER}\n\n{groups}"))
            .table(self.wide_table(), "Shares are of the baseline's counts.")
    }

    /// What was asked for beside one design for all stages.
    fn further_sections(&self) -> Vec<Section> {
        let stages = self.stages_table().map(|table| {
            Section::new("More freedom")
                .prose(self.stage_sentences().join(" "))
                .table(table, "Shares are of the baseline's counts.")
        });
        let timings = self.timings_table().map(|table| {
            Section::new("Times")
                .prose(self.timing_sentences().join(" "))
                .table(table, "Times are per image; shares are of the baseline's time.")
        });
        let check = self.check_table().map(|table| {
            Section::new("Does the whole network agree?")
                .prose(self.check_sentences().join(" "))
                .table(table, "+- is one standard error; intervals are of 95 %.")
        });
        [stages, timings, check].into_iter().flatten().collect()
    }

    /// What to do with the answer: a line that is a command alone can be copied.
    fn next_section(&self) -> Option<Section> {
        let add = |section: Section, line: &Message| match line.command() {
            Some(call) => section.command(Flags.call(call)),
            None => {
                let line = line.render(&Code);
                section.prose(format!("{}.", capitalised(line.trim_end_matches('.'))))
            }
        };
        (!self.next.is_empty()).then(|| self.next.iter().fold(Section::new("The next step"), add))
    }

    /// The designs with every count and its share, which only a page has room for.
    fn wide_table(&self) -> Table {
        let answer = &self.answer;
        let right =
            ["parameters", "params share", "FLOPs", "FLOPs share", "activations", "variance", "times less"];
        let columns: Vec<(&str, Align)> = [("question", Align::Left), ("design", Align::Left)]
            .into_iter()
            .chain(right.map(|name| (name, Align::Right)))
            .collect();
        let mut table = Table::new(&columns);
        let mut push = |question: &str, design: String, counts: [u64; 3], score: f64| {
            let [parameters, flops, activations] = counts;
            let share = |count: u64, own: u64| percent(count as f64 / own as f64);
            table.push([
                question.to_owned(),
                design,
                grouped(parameters),
                share(parameters, answer.baseline_parameters),
                grouped(flops),
                share(flops, answer.baseline_flops),
                share(activations, answer.baseline_activations),
                significant(score, 3),
                format!("{:.2} x", answer.baseline_score / score),
            ]);
        };
        let baseline =
            answer.baseline_design.map_or_else(|| answer.baseline.clone(), |design| self.design_text(design));
        let own = [answer.baseline_parameters, answer.baseline_flops, answer.baseline_activations];
        push("baseline", baseline, own, answer.baseline_score);
        let counts = |network: &Redesigned| [network.parameters, network.flops, network.activations];
        for (question, problem, best) in [
            (self.primal_group(), Problem::Primal, &answer.primal),
            ("same variance", Problem::Dual, &answer.dual),
        ] {
            push(question, self.design_text(best.design), counts(&best.network), best.network.score);
            let near = format!("{question}, nearby");
            for other in answer.nearby.iter().filter(|other| other.problem == problem) {
                push(&near, self.design_text(other.design), counts(&other.network), other.network.score);
            }
        }
        table
    }
}
