//! Memory planning by liveness analysis, and the order of the backward pass.
//!
//! Time is counted in steps, forward and then backward. A buffer is live from the step that writes it
//! to the last one that reads it; buffers that are never live at the same time share a slot of memory.
//! Gradients pass through residual sums without being copied: a buffer may be the gradient of several
//! values, and is overwritten only after its last use.

use crate::options::Purpose;
use crate::passes::fused::Affine;
use crate::program::{Placement, Program, Step, Term, ValueId};

/// Index of a buffer; those of the values come first, the gradients' follow.
pub(crate) type BufferId = usize;

/// A tensor in memory, and the time for which it is live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub len: usize,
    pub slot: usize,
    first_use: usize,
    last_use: usize,
}

/// An instruction of the backward pass.
#[derive(Clone, Debug)]
pub(crate) enum Backward {
    /// `into += other`, after `into = from` where they differ.
    Sum {
        into: BufferId,
        from: BufferId,
        other: BufferId,
    },
    Step(BackwardStep),
}

/// The backward pass of a step.
#[derive(Clone, Debug)]
pub(crate) struct BackwardStep {
    /// Index of the step.
    pub step: usize,
    /// The gradient of the step's result.
    pub incoming: BufferId,
    /// A second gradient of the result, to be added (fused steps only).
    pub second: Option<BufferId>,
    /// The buffer of the gradient of a fused step's sum, or of the operand of another step. May be
    /// `incoming` itself. `None` if no parameter depends on it.
    pub result: Option<BufferId>,
    /// The buffers of the gradients of a fused step's norms, or of the factors of a scaling (the
    /// second one); `None`: in place, over `result`.
    pub targets: [Option<BufferId>; 2],
}

/// The memory plan of a program.
pub(crate) struct Schedule {
    pub buffers: Vec<Buffer>,
    /// Floats of every slot.
    pub slots: Vec<usize>,
    pub backward: Vec<Backward>,
    /// The gradient of the output.
    pub output_gradient: BufferId,
    /// Buffer of every value.
    pub values: Vec<BufferId>,
}

impl Schedule {
    pub(crate) fn new(program: &Program, purpose: Purpose) -> Self {
        let mut planner = Planner::new(program, purpose);
        if purpose.has_backward() {
            planner.plan_backward(program);
        }
        planner.finish()
    }
}

struct Planner {
    buffers: Vec<Buffer>,
    values: Vec<BufferId>,
    /// Gradients of every value so far.
    gradients: Vec<Vec<BufferId>>,
    /// For how many values a buffer is a gradient that has not been used yet.
    pending_uses: Vec<usize>,
    needs_gradient: Vec<bool>,
    backward: Vec<Backward>,
    output_gradient: BufferId,
    forward_steps: usize,
    /// For observation, backward passes can be repeated, and show the gradient of every sum.
    purpose: Purpose,
}

impl Planner {
    /// Plans the forward pass.
    fn new(program: &Program, purpose: Purpose) -> Self {
        let forward_steps = program.steps.len();
        let mut planner = Self {
            buffers: Vec::new(),
            values: vec![0; program.values.len()],
            gradients: vec![Vec::new(); program.values.len()],
            pending_uses: Vec::new(),
            needs_gradient: program.needs_gradient(),
            backward: Vec::new(),
            output_gradient: 0,
            forward_steps,
            purpose,
        };
        planner.values[program.input] = planner.buffer(program.values[program.input].dims.len(), 0);
        for (time, step) in program.steps.iter().enumerate() {
            // Time 0 is the input's.
            let time = time + 1;
            step.inputs().for_each(|input| planner.read(planner.values[input], time));
            planner.values[step.to()] = match step {
                Step::Fused(fused) if fused.placement != Placement::OwnBuffer => {
                    planner.values[fused.terms[0].from]
                }
                _ => planner.buffer(program.values[step.to()].dims.len(), time),
            };
        }
        // Observed images are loaded once for many passes.
        if purpose == Purpose::Observation {
            planner.read(planner.values[program.input], usize::MAX);
        }
        // The output can be read at any time.
        planner.read(planner.values[program.output], usize::MAX);
        planner
    }

    fn buffer(&mut self, len: usize, first_use: usize) -> BufferId {
        self.buffers.push(Buffer { len, slot: 0, first_use, last_use: first_use });
        self.pending_uses.push(0);
        self.buffers.len() - 1
    }

    fn read(&mut self, buffer: BufferId, time: usize) {
        self.buffers[buffer].last_use = self.buffers[buffer].last_use.max(time);
    }

    /// The time of the backward step that is being planned.
    fn now(&self) -> usize {
        self.forward_steps + 2 + self.backward.len()
    }

    fn gradient_of(&mut self, value: ValueId, buffer: BufferId) {
        if self.needs_gradient[value] {
            self.gradients[value].push(buffer);
            self.pending_uses[buffer] += 1;
        }
    }

    fn plan_backward(&mut self, program: &Program) {
        self.output_gradient = self.buffer(program.values[program.output].dims.len(), self.forward_steps + 1);
        self.gradient_of(program.output, self.output_gradient);
        for (index, step) in program.steps.iter().enumerate().rev() {
            if !self.needs_gradient[step.to()] || self.gradients[step.to()].is_empty() {
                continue;
            }
            let len = program.values[step.to()].dims.len();
            let most = if matches!(step, Step::Fused(_)) { 2 } else { 1 };
            while self.gradients[step.to()].len() > most {
                self.sum_two(step.to(), len);
            }
            match step {
                Step::Fused(fused) => self.fused(index, step, &fused.terms, len),
                Step::Scale { from, factors, .. } => self.scale(program, index, step, [*from, *factors]),
                _ => self.single(program, index, step, len),
            }
        }
    }

    /// Adds up two gradients of a value.
    fn sum_two(&mut self, value: ValueId, len: usize) {
        let (Some(other), Some(from)) = (self.gradients[value].pop(), self.gradients[value].pop()) else {
            return;
        };
        let [from, other] = self.used([from, other]);
        let into = if from == other { self.buffer(len, self.now()) } else { self.overwritable(from, len) };
        self.read(other, self.now());
        self.backward.push(Backward::Sum { into, from, other });
        self.gradient_of(value, into);
    }

    /// Marks gradients as used by the step being planned; one that may be overwritten comes first.
    fn used<const N: usize>(&mut self, mut buffers: [BufferId; N]) -> [BufferId; N] {
        for buffer in buffers {
            self.pending_uses[buffer] -= 1;
            self.read(buffer, self.now());
        }
        buffers.sort_by_key(|&buffer| self.pending_uses[buffer]);
        buffers
    }

    /// The buffer itself if it no longer holds a gradient, else a new one.
    fn overwritable(&mut self, buffer: BufferId, len: usize) -> BufferId {
        if self.pending_uses[buffer] == 0 { buffer } else { self.buffer(len, self.now()) }
    }

    fn keep_saved(&mut self, step: &Step) {
        let until = if self.purpose == Purpose::Observation { usize::MAX } else { self.now() };
        for value in step.saved_for_backward() {
            self.read(self.values[value], until);
        }
    }

    fn fused(&mut self, index: usize, step: &Step, terms: &[Term], len: usize) {
        let (incoming, second) = match *std::mem::take(&mut self.gradients[step.to()]) {
            [first, second] => {
                let [first, second] = self.used([first, second]);
                (first, Some(second))
            }
            [first, ..] => (self.used([first])[0], None),
            [] => return,
        };
        self.keep_saved(step);
        // x + x sends the same gradient twice.
        let twice = second == Some(incoming);
        let result = if twice { self.buffer(len, self.now()) } else { self.overwritable(incoming, len) };
        self.read(result, self.now());
        // The last norm may overwrite the gradient of the sum, unless a plain operand receives it or
        // an observer sees it.
        let shared = self.purpose == Purpose::Observation
            || terms.iter().any(|term| !is_norm(term) && self.needs_gradient[term.from]);
        let mut targets = [None; 2];
        for (position, term) in terms.iter().enumerate() {
            let target = if !is_norm(term) || (!shared && !terms[position + 1..].iter().any(is_norm)) {
                result
            } else {
                let target = self.buffer(len, self.now());
                targets[position] = Some(target);
                target
            };
            self.gradient_of(term.from, target);
        }
        let planned = BackwardStep { step: index, incoming, second, result: Some(result), targets };
        self.backward.push(Backward::Step(planned));
    }

    /// The gradients of the image, which may overwrite the incoming one, and of the factors.
    fn scale(&mut self, program: &Program, index: usize, step: &Step, [from, factors]: [ValueId; 2]) {
        let Some(first) = self.gradients[step.to()].pop() else { return };
        let [incoming] = self.used([first]);
        self.keep_saved(step);
        let result = self.overwritable(incoming, program.values[from].dims.len());
        self.read(result, self.now());
        self.gradient_of(from, result);
        let target = self.buffer(program.values[factors].dims.len(), self.now());
        self.gradient_of(factors, target);
        let targets = [None, Some(target)];
        let planned = BackwardStep { step: index, incoming, second: None, result: Some(result), targets };
        self.backward.push(Backward::Step(planned));
    }

    fn single(&mut self, program: &Program, index: usize, step: &Step, len: usize) {
        let Some(first) = self.gradients[step.to()].pop() else { return };
        let [incoming] = self.used([first]);
        self.keep_saved(step);
        let from = step.inputs().next().filter(|&from| self.needs_gradient[from]);
        let result = from.map(|from| {
            let buffer = match step {
                Step::Activation { .. } => self.overwritable(incoming, len),
                _ => self.buffer(program.values[from].dims.len(), self.now()),
            };
            self.gradient_of(from, buffer);
            buffer
        });
        let planned = BackwardStep { step: index, incoming, second: None, result, targets: [None; 2] };
        self.backward.push(Backward::Step(planned));
    }

    /// Gives every buffer a slot: the smallest free one that is large enough, else the largest,
    /// which grows.
    fn finish(mut self) -> Schedule {
        let mut slots: Vec<usize> = Vec::new();
        let mut free_from: Vec<usize> = Vec::new();
        let mut order: Vec<BufferId> = (0..self.buffers.len()).collect();
        order.sort_by_key(|&id| self.buffers[id].first_use);
        for id in order {
            let Buffer { len, first_use, last_use, .. } = self.buffers[id];
            let free = (0..slots.len()).filter(|&slot| free_from[slot] <= first_use);
            let best = free.min_by_key(|&slot| (slots[slot] < len, slots[slot].abs_diff(len)));
            let slot = best.unwrap_or_else(|| {
                slots.push(0);
                free_from.push(0);
                slots.len() - 1
            });
            slots[slot] = slots[slot].max(len);
            free_from[slot] = last_use.saturating_add(1);
            self.buffers[id].slot = slot;
        }
        let Self { buffers, backward, output_gradient, values, .. } = self;
        Schedule { buffers, slots, backward, output_gradient, values }
    }
}

fn is_norm(term: &Term) -> bool {
    matches!(term.affine, Affine::Norm { .. })
}
