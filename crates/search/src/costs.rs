//! The costs that a design may not raise: one, or several at once.

use std::fmt;
use std::str::FromStr;

use collegial_arch::Cost;
use serde::{Deserialize, Serialize};

/// One cost or several, each once: `params`, or `params,flops`. None of them may rise, and the first
/// is the one that a budget limits and the dual saves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Costs {
    first: Cost,
    others: Vec<Cost>,
}

impl Costs {
    /// The one that a budget limits and the dual saves.
    pub fn first(&self) -> Cost {
        self.first
    }

    /// The others, in the order given.
    pub fn others(&self) -> &[Cost] {
        &self.others
    }

    /// All of them, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = Cost> + '_ {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Whether this is one of them.
    pub fn has(&self, cost: Cost) -> bool {
        self.iter().any(|other| other == cost)
    }

    /// The only one; none where there are several.
    pub fn only(&self) -> Option<Cost> {
        self.others.is_empty().then_some(self.first)
    }

    /// In words: "parameters and FLOPs".
    pub fn words(&self) -> String {
        let mut words: Vec<&str> = self.iter().map(Cost::unit).collect();
        match (words.pop(), words.is_empty()) {
            (Some(last), false) => format!("{} and {last}", words.join(", ")),
            (last, _) => last.unwrap_or_default().to_owned(),
        }
    }

    fn listed(costs: impl IntoIterator<Item = Cost>) -> Result<Self, NotCosts> {
        let mut costs = costs.into_iter();
        let mut list = Self::from(costs.next().ok_or(NotCosts::None)?);
        for cost in costs {
            if list.has(cost) {
                return Err(NotCosts::Twice { cost });
            }
            list.others.push(cost);
        }
        Ok(list)
    }
}

impl Default for Costs {
    fn default() -> Self {
        Cost::default().into()
    }
}

impl From<Cost> for Costs {
    fn from(first: Cost) -> Self {
        Self { first, others: vec![] }
    }
}

impl fmt::Display for Costs {
    /// As in requests and answers: `params,flops`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.iter().map(|cost| cost.to_string()).collect::<Vec<_>>().join(","))
    }
}

impl From<Costs> for String {
    fn from(costs: Costs) -> Self {
        costs.to_string()
    }
}

impl FromStr for Costs {
    type Err = NotCosts;
    fn from_str(text: &str) -> Result<Self, NotCosts> {
        let named = |name: &str| {
            let known = [Cost::Params, Cost::Flops, Cost::Activations, Cost::Time];
            let cost = known.into_iter().find(|cost| cost.to_string() == name.trim());
            cost.ok_or_else(|| NotCosts::Unknown { name: name.trim().to_owned() })
        };
        Self::listed(text.split(',').map(named).collect::<Result<Vec<_>, _>>()?)
    }
}

/// The forms that costs take in a request.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a cost is params, flops, activations or time, or a list of them")]
enum Written {
    Text(String),
    List(Vec<String>),
}

impl TryFrom<Written> for Costs {
    type Error = NotCosts;
    fn try_from(written: Written) -> Result<Self, NotCosts> {
        match written {
            Written::Text(text) => text.parse(),
            Written::List(names) => names.join(",").parse(),
        }
    }
}

/// Text that is no list of costs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotCosts {
    /// A list without any.
    #[error("no cost is given; take params, flops, activations or time")]
    None,
    /// A name that is none's.
    #[error("{name:?} is not a cost; take params, flops, activations or time, or several as params,flops")]
    Unknown {
        /// What was given.
        name: String,
    },
    /// A cost that is listed again.
    #[error("{cost} is listed twice; name every cost once")]
    Twice {
        /// Which.
        cost: Cost,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_several_are_written_alike() {
        let both: Costs = "params,flops".parse().unwrap();
        assert_eq!((both.first(), both.others(), both.only()), (Cost::Params, &[Cost::Flops][..], None));
        assert_eq!(
            (both.to_string().as_str(), both.words().as_str()),
            ("params,flops", "parameters and FLOPs")
        );
        assert!(both.has(Cost::Flops) && !both.has(Cost::Time));
        let one: Costs = serde_json::from_str("\"time\"").unwrap();
        assert_eq!((one.only(), one.words().as_str()), (Some(Cost::Time), "time"));
        let listed: Costs = serde_json::from_str(r#"["params", "flops"]"#).unwrap();
        assert_eq!(serde_json::to_string(&listed).unwrap(), "\"params,flops\"");
        let all: Costs = "time, flops,params".parse().unwrap();
        assert_eq!(all.words(), "time, FLOPs and parameters");
    }

    #[test]
    fn other_lists_are_refused() {
        let refused = |text: &str| text.parse::<Costs>().unwrap_err().to_string();
        assert_eq!(refused("flops,flops"), "flops is listed twice; name every cost once");
        assert!(refused("params,").starts_with("\"\" is not a cost; take params"));
        assert!(refused("macs").contains("\"macs\" is not a cost"));
        assert!(serde_json::from_str::<Costs>("[]").is_err() && serde_json::from_str::<Costs>("3").is_err());
    }
}
