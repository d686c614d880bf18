//! What is measured: commands of the program, each over a ladder of sizes, and what theory says of
//! its cost.

use std::path::Path;

use super::data;

/// How a cost should grow: its power of the size, and why.
pub struct Theory {
    pub exponent: f64,
    pub why: &'static str,
}

/// A command whose cost depends on one size.
pub struct Operation {
    /// The word for it on the command line, in the CSV file and in the names of figures.
    pub name: &'static str,
    pub title: &'static str,
    /// What the size counts.
    pub axis: &'static str,
    /// What the command takes, over two decades of the size at least.
    pub ladder: &'static [u64],
    /// The size of a rung of the ladder.
    pub size: fn(u64) -> u64,
    /// The words behind `collegial`; `DATA` and `OUT` stand for paths.
    pub words: fn(u64) -> String,
    /// Writes what the command reads to the path that `DATA` stands for.
    pub prepare: fn(u64, &Path) -> std::io::Result<()>,
    pub time: Theory,
    pub memory: Theory,
    /// What else one should know of the command.
    pub note: &'static str,
}

fn itself(rung: u64) -> u64 {
    rung
}

fn nothing(_: u64, _: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The weights and biases of fc4-n on images of 28x28 with ten classes.
fn parameters(n: u64) -> u64 {
    (784 + 1) * n + 2 * (n + 1) * n + (n + 1) * 10
}

/// Every operation, in the order of the page.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "search",
        title: "Search over the widths of a network",
        axis: "width of the baseline",
        ladder: &[128, 512, 2048, 8192, 16_384, 32_768, 65_536],
        size: itself,
        words: |n| format!("search resnext29-1x{n}d --json --quiet"),
        prepare: nothing,
        time: Theory {
            exponent: 1.0,
            why: "every width n up to the baseline's is one candidate: the most members that the budget pays for come from a \
                  polynomial in m, and the score from a closed form per block, both in constant time",
        },
        memory: Theory { exponent: 1.0, why: "the curve has one row per width" },
        note: "The whole command: covariances of the blocks' inputs, all designs, the curve as JSON.",
    },
    Operation {
        name: "scoring",
        title: "Scores of a table of designs",
        axis: "rows",
        ladder: &[100, 316, 1000, 2154, 4642, 10_000],
        size: itself,
        words: |_| "score DATA/designs.csv --format csv --quiet".to_owned(),
        prepare: data::designs,
        time: Theory { exponent: 1.0, why: "rows are scored one by one" },
        memory: Theory { exponent: 1.0, why: "rows are held until all are printed" },
        note: "ResNeXt-29s of different designs; no column of errors, so that nothing is correlated.",
    },
    Operation {
        name: "moments",
        title: "Exact moments of deep networks",
        axis: "weight matrices",
        ladder: &[100, 316, 1000, 3162, 5623, 7500, 10_000],
        size: itself,
        words: |layers| format!("moments fc{layers}-1000000 --json --quiet"),
        prepare: nothing,
        time: Theory {
            exponent: 1.0,
            why: "a linear recursion over the layers carries the sum over all pairs of layers along",
        },
        memory: Theory { exponent: 1.0, why: "a few numbers per layer, and the widths as JSON" },
        note: "The command evaluates the recursion 201 times: for the average over inputs, and for its spread at 200 of them. \
               Layers are a million units wide, since the second moment of deep and narrow networks exceeds the largest double.",
    },
    Operation {
        name: "draws",
        title: "Draws of a block's kernel by its law",
        axis: "draws per width",
        ladder: &[3000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
        size: itself,
        words: |draws| format!("fit bottleneck-128 --widths 64,128 --trials {draws} --json --quiet"),
        prepare: nothing,
        time: Theory { exponent: 1.0, why: "draws are independent" },
        memory: Theory { exponent: 0.0, why: "moments are merged as they come; no draw is kept" },
        note: "Algorithm 1 at two widths.",
    },
    Operation {
        name: "law-width",
        title: "Draws by the law against the width",
        axis: "width n",
        ladder: &[256, 1024, 4096, 8192, 16_384, 32_768, 65_536],
        size: itself,
        words: |n| format!("fit bottleneck-128 --widths {},{n} --trials 1000 --json --quiet", n - 1),
        prepare: nothing,
        time: Theory { exponent: 1.0, why: "the law sampler draws sums over n channels and no n x n matrix" },
        memory: Theory { exponent: 0.0, why: "channels are drawn in pieces of fixed length" },
        note: "1,000 draws at n - 1 and at n.",
    },
    Operation {
        name: "weights-width",
        title: "Draws with explicit weights against the width",
        axis: "width n",
        ladder: &[40, 125, 400, 1000, 1600, 2500, 4000],
        size: itself,
        words: |n| format!("ntk fc4-{n} --inputs 10 --draws 20 --json --quiet"),
        prepare: nothing,
        time: Theory { exponent: 2.0, why: "n x n weights are drawn, and met once by each pass" },
        memory: Theory { exponent: 2.0, why: "the weights of a draw are held" },
        note: "20 draws of the kernel between two inputs of ten numbers.",
    },
    Operation {
        name: "kernels",
        title: "Kernels between N inputs, in tiles",
        axis: "inputs N",
        ladder: &[100, 316, 1000, 2154, 4642, 10_000],
        size: itself,
        words: |n| format!("ntk fc4-64 --inputs 64 --count {n} --memory 100M --out OUT/k.npy --quiet"),
        prepare: nothing,
        time: Theory {
            exponent: 2.0,
            why: "N(N + 1)/2 entries are computed, and N^2 written; the passes through the network, which grow with N, count less",
        },
        memory: Theory {
            exponent: 0.0,
            why: "tiles stay within --memory, 100 MiB here, wherever that is reached; only the inputs, 256 bytes each, grow with N",
        },
        note: "The file has N^2 numbers of 8 bytes: 800 MB at N = 10,000.",
    },
    Operation {
        name: "training-images",
        title: "An epoch of training against the images",
        axis: "training images",
        ladder: &[3000, 10_000, 30_000, 55_000, 100_000, 175_000, 300_000],
        size: itself,
        words: |_| "train fc4-64 --data DATA --epochs 1 --out OUT/run --quiet".to_owned(),
        prepare: data::images,
        time: Theory { exponent: 1.0, why: "one step per 128 images" },
        memory: Theory {
            exponent: 1.0,
            why: "the data set is held in memory; a step's memory does not depend on it",
        },
        note: "Random images of 28x28 in MNIST's files, with a tenth as many test images, at most 10,000; reading, the epoch, \
               the test and the checkpoint.",
    },
    Operation {
        name: "training-parameters",
        title: "Steps of training against the parameters",
        axis: "parameters",
        ladder: &[30, 100, 300, 1000, 1400, 2000, 3000],
        size: parameters,
        words: |n| format!("train fc4-{n} --data DATA --epochs 1 --out OUT/run --quiet"),
        prepare: |_, place| data::images(1280, place),
        time: Theory {
            exponent: 1.0,
            why: "a weight is met by three products per image, by Adam once per step, and by the checkpoint once",
        },
        memory: Theory {
            exponent: 1.0,
            why: "weights, gradients, Adam's two moments and what a checkpoint of them takes",
        },
        note: "Ten steps of 128 images, a test on 128, and the checkpoint that ends the epoch: of wide networks it takes a good \
               part of the time.",
    },
    Operation {
        name: "loading",
        title: "Opening a data set",
        axis: "images",
        ladder: &[1000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
        size: itself,
        words: |_| "ntk fc2-2 --data DATA --split train --count 2 --json --quiet".to_owned(),
        prepare: data::images,
        time: Theory {
            exponent: 1.0,
            why: "every byte is read once, then once more for mean and deviation of the pixels",
        },
        memory: Theory { exponent: 1.0, why: "a file and the pixels that are made of it, one byte each" },
        note: "No verb only reads: this one reads all images as training does, and computes the kernel between two of them with \
               a network of two units. The files are in the page cache.",
    },
];
