//! Cards: one number of an answer, in large type.

use crate::Tone;
use crate::markup::escape;

/// What was asked, the number, what it is a number of, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The question in a few words: "Same cost".
    pub question: String,
    /// The number with its unit: "2.62 ×".
    pub number: String,
    /// What it is about: "less kernel variance at initialisation".
    pub about: String,
    /// The network that has it.
    pub name: String,
    /// What else is to be known of that network.
    pub note: String,
    /// Its colour.
    pub tone: Tone,
}

/// The cards as a row.
pub(super) fn html(cards: &[Card]) -> String {
    if cards.is_empty() {
        return String::new();
    }
    let card = |card: &Card| {
        let Card { question, number, about, name, note, tone } = card;
        let [question, number, about, name, note] =
            [question, number, about, name, note].map(|text| escape(text));
        let tone = tone.class();
        format!(
            "<div class=\"card {tone}\"><span class=\"eyebrow\">{question}</span><span class=\"big\"><b>{number}</b></span>\
             <span class=\"what\">{about}</span><span class=\"design\"><b>{name}</b> <span>{note}</span></span></div>\n"
        )
    };
    format!("<div class=\"answers\">\n{}</div>\n", cards.iter().map(card).collect::<String>())
}

/// A card in a sentence.
pub(super) fn markdown(card: &Card) -> String {
    let Card { question, number, about, name, note, .. } = card;
    format!("{question}: **{number}** {about}. `{name}`, {note}.")
}
