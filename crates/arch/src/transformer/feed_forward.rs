//! One feed-forward layer of a transformer: m members of hidden width n on the features of a token.

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, Matrix};
use super::{gelu, is_one, one};
use crate::error::{MAX_LAYERS, dimension, product, within};
use crate::sequence::{Activation, Join, Layer, Norm, Sequence, Shortcut};
use crate::shape::Shape;
use crate::{Counts, Error};

/// A feed-forward layer, at one token.
///
/// One hidden width is the usual layer of two matrices. With two or more, the matrices between them
/// are block-diagonal, one block per member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedForward {
    /// Features d of a token, in and out.
    pub inputs: usize,
    /// The multiplicity m.
    #[serde(default = "one")]
    pub members: usize,
    /// Hidden widths of one member.
    pub widths: Vec<usize>,
    /// What follows every hidden layer.
    #[serde(default = "gelu")]
    pub activation: Activation,
    /// Whether a second matrix of the input multiplies what the activation gives: `SwiGLU` with
    /// `silu`, GEGLU with `gelu`.
    #[serde(default)]
    pub gated: bool,
    /// Whether the matrices have biases.
    #[serde(default)]
    pub bias: bool,
    /// How many such layers there are, of which a router picks some for every token.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub experts: usize,
    /// How many it picks.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub experts_per_token: usize,
}

impl FeedForward {
    /// The usual layer of two matrices, or three with a gate.
    pub fn of_width(inputs: usize, width: usize, activation: Activation) -> Self {
        Self {
            inputs,
            members: 1,
            widths: vec![width],
            activation,
            gated: false,
            bias: false,
            experts: 1,
            experts_per_token: 1,
        }
    }

    /// Whether a block-diagonal matrix lies inside, so that members cost less than one wide layer.
    pub fn has_inner_matrix(&self) -> bool {
        self.widths.len() > 1
    }

    /// Whether a router picks what a token passes through.
    pub fn is_routed(&self) -> bool {
        self.experts > 1
    }

    /// `feed-forward-1x3072d`, or with two hidden layers `feed-forward-12x64,64d`.
    pub fn name(&self) -> String {
        let widths: Vec<String> = self.widths.iter().map(ToString::to_string).collect();
        format!("feed-forward-{}x{}d", self.members, widths.join(","))
    }

    /// The same as a chain of dense layers, whose last matrix reads all members; its biases are left
    /// out. A gate and a router have none.
    pub fn sequence(&self) -> Sequence {
        let hidden = self.widths.iter().map(|&width| Layer::Dense {
            width,
            norm: Norm::None,
            activation: self.activation,
        });
        let last = Layer::Dense { width: self.inputs, norm: Norm::None, activation: Activation::None };
        Sequence {
            name: self.name(),
            input: Shape::vector(self.inputs),
            members: self.members,
            join: Join::LastLayer,
            shortcut: Shortcut::None,
            layers: hidden.chain([last]).collect(),
        }
    }

    /// Whether [`sequence`](Self::sequence) is the whole layer.
    pub fn is_plain(&self) -> bool {
        !self.gated && !self.is_routed() && !self.bias
    }

    /// Whether every number is in range and they fit together.
    pub(crate) fn check(&self) -> Result<(), Error> {
        dimension("the number of features of a token", self.inputs)?;
        dimension("the number of members", self.members)?;
        within("the number of hidden widths", self.widths.len(), 1, MAX_LAYERS)?;
        for &width in &self.widths {
            dimension("a hidden width", width)?;
            product("a hidden width over all members", &[width, self.members])?;
        }
        if self.gated && self.has_inner_matrix() {
            let found = self.widths.len();
            return Err(Error::Invalid(format!(
                "a feed-forward layer with a gate has one hidden width, not {found}; leave gated out or give one"
            )));
        }
        dimension("the number of experts", self.experts)?;
        within("the number of experts per token", self.experts_per_token, 1, self.experts)?;
        Ok(())
    }

    /// The counts of one token.
    pub fn counts(&self) -> Result<Counts, Error> {
        self.check()?;
        let mut ledger = Ledger::default();
        self.count(&mut ledger, 1)?;
        ledger.finish()
    }

    /// The same at these positions.
    pub(super) fn count(&self, ledger: &mut Ledger, positions: usize) -> Result<(), Error> {
        if self.is_routed() {
            ledger.dense("router", positions, &Matrix::new(self.inputs, self.experts, false))?;
        }
        let matrices = self.matrices();
        let last = matrices.len();
        for (index, matrix) in matrices.iter().enumerate() {
            let name = match (self.gated, index + 1) {
                (true, 2) => "gate".to_owned(),
                (true, at) if at == last => "fc2".to_owned(),
                (_, at) => format!("fc{at}"),
            };
            self.matrix(ledger, &name, positions, matrix)?;
        }
        if self.gated {
            let hidden = (self.members * self.widths[0]).saturating_mul(self.experts_per_token);
            ledger.pointwise("product", "gate's product", positions, hidden)?;
        }
        Ok(())
    }

    fn matrices(&self) -> Vec<Matrix> {
        let Self { inputs, members, bias, .. } = *self;
        let total: Vec<usize> = self.widths.iter().map(|width| width * members).collect();
        let mut all = vec![Matrix::new(inputs, total[0], bias)];
        if self.gated {
            all.push(Matrix::new(inputs, total[0], bias));
        }
        let inner = total.windows(2);
        all.extend(inner.map(|pair| Matrix { groups: members, ..Matrix::new(pair[0], pair[1], bias) }));
        all.push(Matrix::new(total[total.len() - 1], inputs, bias));
        all
    }

    /// One matrix of every expert; only those that are picked cost FLOPs.
    fn matrix(
        &self,
        ledger: &mut Ledger,
        name: &str,
        positions: usize,
        matrix: &Matrix,
    ) -> Result<(), Error> {
        ledger.dense(name, positions.saturating_mul(self.experts_per_token), matrix)?;
        let idle = self.experts - 1;
        let each = (matrix.inputs as u128 / matrix.groups as u128 + u128::from(matrix.bias))
            * matrix.outputs as u128;
        match idle {
            0 => Ok(()),
            _ => ledger.rest(name, idle, each),
        }
    }
}
