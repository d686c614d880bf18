//! Transformers: published counts, names, configurations, refusals.

use collegial_arch::{Error, Overrides, Spec};
use proptest::prelude::*;

fn spec(name: &str) -> Spec {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Parameters as torchvision, timm and Hugging Face print them for these networks.
#[test]
fn parameters_are_the_published_ones() {
    for (name, parameters) in [
        ("vit_b_16", 86_567_656),
        ("vit_b_32", 88_224_232),
        ("vit_l_16", 304_326_632),
        ("vit_l_32", 306_535_400),
        ("vit_h_14", 632_045_800),
        ("vit_tiny_patch16_224", 5_717_416),
        ("deit_small_patch16_224", 22_050_664),
        ("swin_t", 28_288_354),
        ("swin_s", 49_606_258),
        ("swin_b", 87_768_224),
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
        ("bert-base-uncased", 109_482_240),
        ("bert-base-cased", 108_310_272),
        ("bert-large", 335_141_888),
    ] {
        assert_eq!(spec(name).totals().unwrap().parameters, parameters, "{name}");
    }
}

/// Torchvision's 17.564 and 4.491 billion multiply-accumulates.
#[test]
fn multiplications_are_the_published_ones() {
    for (name, billions) in [("vit_b_16", 17.564), ("vit_l_16", 61.555), ("swin_t", 4.491), ("swin_s", 8.741)]
    {
        let macs = spec(name).totals().unwrap().macs as f64 / 1e9;
        assert!((macs - billions).abs() < 2e-3 * billions, "{name}: {macs}");
    }
}

#[test]
fn llama_blocks_are_four_numbers() {
    let block = spec("llama-4096x32x8x14336").totals().unwrap().parameters;
    // Queries and output, keys and values, three matrices, two norms.
    assert_eq!(block, 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336 + 2 * 4096);
    assert_eq!(spec("llama-4096x32x8x14336x32").totals().unwrap().parameters, 32 * block);
    for (name, said) in [
        ("llama-100x3x3x200", "do not divide its width 100"),
        ("llama-96x6x4x200", "6 heads cannot share 4 heads"),
        ("llama-96x6x7x200", "the number of key/value heads is 7; it must be between 1 and 6"),
        ("llama-96x6x6", "names"),
        ("llama-0x6x6x7", "the number of features of a token is 0"),
    ] {
        let error = name.parse::<Spec>().unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
    }
}

#[test]
fn names_read_back_and_toml_too() {
    for name in ["vit_b_16", "swin_t", "gpt2", "bert-large", "llama-256x4x2x512"] {
        let network = spec(name);
        assert_eq!(network.name(), name);
        assert_eq!(Spec::from_toml(&network.to_toml()).unwrap(), network, "{name}");
        assert!(matches!(network.graph(), Err(Error::NoGraph { .. })));
        assert!(matches!(network.analysed_module(), Err(Error::NoGraph { .. })));
    }
    let small =
        spec("vit_b_16").with(&Overrides { classes: Some(10), image: Some(384), ..Overrides::default() });
    let Spec::Transformer(small) = small.unwrap() else { panic!("a transformer") };
    assert_eq!(small.attention(0).tokens, 24 * 24 + 1);
    assert_eq!(Spec::Transformer(small).settings_beside_name().unwrap().classes, Some(10));
    assert!(spec("gpt2").with(&Overrides { image: Some(3), ..Overrides::default() }).is_err());
}

/// Totals of the lines are the sums.
#[test]
fn lines_add_up() {
    for name in ["vit_b_16", "swin_t", "gpt2", "bert-base", "llama-256x4x2x512"] {
        let counts = spec(name).counts().unwrap();
        let parameters: u64 = counts.layers.iter().map(|layer| layer.counts.parameters).sum();
        let flops: u64 = counts.layers.iter().map(|layer| layer.counts.flops).sum();
        assert_eq!((parameters, flops), (counts.total.parameters, counts.total.flops), "{name}");
        let mut names: Vec<&str> = counts.layers.iter().map(|layer| layer.name.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{name} has two layers of one name");
    }
}

fn configured(text: &str) -> Result<Spec, Error> {
    Spec::from_json(text)
}

/// Configurations as Hugging Face has them, with the parameters of the models.
#[test]
fn configurations_are_networks() {
    let thousand: Vec<String> = (0..1000).map(|label| format!("\"{label}\": \"x\"")).collect();
    let labels = format!("\"id2label\": {{{}}}", thousand.join(", "));
    for (config, parameters) in [
        (format!(r#"{{"model_type": "vit", "image_size": 224, "patch_size": 16, "hidden_size": 768,
            "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, {labels}}}"#), 86_567_656),
        (r#"{"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12,
            "n_head": 12, "activation_function": "gelu_new", "n_inner": null}"#.into(), 124_439_808),
        (r#"{"model_type": "bert", "vocab_size": 30522, "max_position_embeddings": 512, "hidden_size": 768,
            "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "type_vocab_size": 2,
            "hidden_act": "gelu"}"#.into(), 109_482_240),
        (r#"{"model_type": "roberta", "vocab_size": 50265, "max_position_embeddings": 514, "hidden_size": 768,
            "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "type_vocab_size": 1}"#.into(),
            124_645_632),
        (r#"{"model_type": "llama", "vocab_size": 32000, "max_position_embeddings": 4096, "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008}"#.into(), 6_738_415_616),
        (r#"{"model_type": "mistral", "vocab_size": 32000, "max_position_embeddings": 32768, "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
            "intermediate_size": 14336}"#.into(), 7_241_732_096),
        (r#"{"model_type": "mixtral", "vocab_size": 32000, "max_position_embeddings": 32768, "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
            "num_local_experts": 8, "num_experts_per_tok": 2}"#.into(), 46_702_792_704),
        (format!(r#"{{"model_type": "swin", "image_size": 224, "patch_size": 4, "embed_dim": 96, "depths": [2, 2, 6, 2],
            "num_heads": [3, 6, 12, 24], "window_size": 7, "mlp_ratio": 4.0, {labels}}}"#), 28_288_354),
        (format!(r#"{{"model_type": "resnet", "embedding_size": 64, "hidden_sizes": [256, 512, 1024, 2048],
            "depths": [3, 4, 6, 3], "layer_type": "bottleneck", {labels}}}"#), 25_557_032),
        (format!(r#"{{"model_type": "regnet", "embedding_size": 32, "hidden_sizes": [48, 104, 208, 440],
            "depths": [1, 3, 6, 6], "groups_width": 8, "layer_type": "y", {labels}}}"#), 4_344_144),
    ] {
        let spec = configured(&config).unwrap_or_else(|error| panic!("{config}: {error}"));
        assert_eq!(spec.totals().unwrap().parameters, parameters, "{}", spec.name());
    }
}

#[test]
fn configurations_say_what_is_wrong() {
    for (config, said) in [
        (r#"{"model_type": "vit", "image_size": 224}"#, "model_type \"vit\" lacks the key \"patch_size\""),
        (r#"{"model_type": "gpt2", "n_embd": 768}"#, "lacks the key \"n_head\""),
        (
            r#"{"model_type": "gpt2", "n_embd": "x"}"#,
            "\"n_embd\" is \"x\"; it must be a whole number above 0",
        ),
        (r#"{"model_type": "gpt2", "n_embd": 0}"#, "it must be a whole number above 0"),
        (r#"{"model_type": "t5"}"#, "\"t5\" is not known; known are bert, deit, gpt2, llama"),
        (r#"{"model_type": 3}"#, "it must be a text"),
        ("{}", "neither a spec, which is an object with a \"kind\", nor a configuration of Hugging Face's"),
        ("[1]", "which has a \"model_type\" (one of bert, deit, gpt2, llama"),
        ("3", "nor a configuration"),
        (r#"{"model_type": null}"#, "nor a configuration"),
        (r#"{"model_type": "resnet", "layer_type": "basic"}"#, "one hidden layer"),
        (
            r#"{"model_type": "resnet", "hidden_sizes": [256, 500], "depths": [3, 4]}"#,
            "each twice the one before",
        ),
        (
            r#"{"model_type": "resnet", "hidden_sizes": [256], "depths": [3], "hidden_act": "gelu"}"#,
            "\"hidden_act\" is \"gelu\"; it must be relu",
        ),
        (
            r#"{"model_type": "regnet", "hidden_sizes": [48], "depths": [3], "groups_width": 8, "hidden_act": "silu"}"#,
            "\"hidden_act\" is \"silu\"; it must be relu",
        ),
        (
            r#"{"model_type": "vit", "image_size": 32, "patch_size": 4, "hidden_size": 100, "num_attention_heads": 12,
                "num_hidden_layers": 1, "intermediate_size": 400}"#,
            "\"num_attention_heads\" 12 does not divide its \"hidden_size\" 100",
        ),
        (
            r#"{"model_type": "regnet", "hidden_sizes": [50], "depths": [3], "groups_width": 8, "layer_type": "y"}"#,
            "makes 6 groups, whose number does not divide 50",
        ),
        (
            r#"{"model_type": "gpt2", "vocab_size": 100, "n_positions": 16, "n_embd": 100, "n_layer": 1, "n_head": 12}"#,
            "\"n_head\" 12 does not divide its \"n_embd\" 100",
        ),
        (
            r#"{"model_type": "swin", "image_size": 224, "patch_size": 4, "embed_dim": 96, "depths": [2, 2],
                "num_heads": [3, 5], "window_size": 7}"#,
            "\"num_heads\" 5 of stage 2 does not divide the stage's width 192",
        ),
        (
            r#"{"model_type": "swin", "image_size": 224, "patch_size": 4, "embed_dim": 96, "depths": [2], "num_heads": []}"#,
            "one per stage",
        ),
    ] {
        let error = configured(config).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{config}: {error}");
    }
}

/// A width below that of a group is one group, and one that is no multiple has wider groups:
/// `max(1, width // groups_width)` of them.
#[test]
fn groups_of_a_regnet_are_counted_as_transformers_counts_them() {
    let of = |sizes: &str, group: usize| {
        let config = format!(
            r#"{{"model_type": "regnet", "hidden_sizes": {sizes}, "depths": [1, 1], "groups_width": {group}, "layer_type": "x"}}"#
        );
        let Ok(Spec::Regnet(network)) = configured(&config) else { panic!("{config}") };
        let design = |stage: usize| network.design.stage(stage).unwrap().to_string();
        [design(0), design(1)]
    };
    assert_eq!(of("[8, 64]", 16), ["1x8d", "4x16d"]);
    assert_eq!(of("[24, 54]", 16), ["1x24d", "3x18d"]);
}

#[test]
fn modules_are_written_in_toml() {
    let attention = "kind = \"attention\"\ninputs = 64\nheads = 4\nkey_value_heads = 2\nwidth = 16\ntokens = 10\nbias = true\n";
    let attention = Spec::from_toml(attention).unwrap();
    let counts = attention.totals().unwrap();
    assert_eq!(attention.name(), "attention-4x16d-2");
    assert_eq!(counts.parameters, (64 * 64 + 64) * 2 + (64 * 32 + 32) * 2);
    assert_eq!(counts.macs, 10 * (2 * 64 * 64 + 2 * 64 * 32) + 2 * 10 * 10 * 64);
    let layer = "kind = \"feed-forward\"\ninputs = 64\nmembers = 4\nwidths = [8, 8]\n";
    let layer = Spec::from_toml(layer).unwrap();
    assert_eq!(layer.name(), "feed-forward-4x8,8d");
    assert_eq!(layer.totals().unwrap(), layer.graph().unwrap().counts().unwrap().total);
    for (text, said) in [
        (
            "kind = \"attention\"\ninputs = 64\nheads = 4\nwidth = 16\ntokens = 10\ncorrelation = 1.5\n",
            "between 0 and 1",
        ),
        (
            "kind = \"attention\"\ninputs = 64\nheads = 4\nwidth = 16\ntokens = 0\n",
            "the number of tokens is 0",
        ),
        (
            "kind = \"attention\"\ninputs = 64\nheads = 0\nwidth = 16\ntokens = 3\n",
            "the number of heads is 0",
        ),
        ("kind = \"feed-forward\"\ninputs = 64\nwidths = []\n", "the number of hidden widths is 0"),
        ("kind = \"feed-forward\"\ninputs = 64\nwidths = [3, 4]\ngated = true\n", "one hidden width, not 2"),
        (
            "kind = \"feed-forward\"\ninputs = 64\nwidths = [3]\nexperts_per_token = 2\n",
            "experts per token is 2",
        ),
        ("kind = \"feed-forward\"\ninputs = 64\nwidth = 3\n", "did you mean `widths`"),
    ] {
        let error = Spec::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Any numbers are counted or refused.
    #[test]
    fn no_numbers_are_a_panic(inputs in 0usize..1 << 25, heads in 0usize..1 << 25, width in 0usize..1 << 25,
        tokens in 0usize..1 << 20, hidden in 0usize..1 << 25, experts in 0usize..1 << 25, gated: bool) {
        let layer = format!("kind = \"attention\"\ninputs = {inputs}\nheads = {heads}\nwidth = {width}\ntokens = {tokens}\n");
        if let Ok(spec) = Spec::from_toml(&layer) {
            spec.totals().unwrap();
        }
        let layer = format!(
            "kind = \"feed-forward\"\ninputs = {inputs}\nwidths = [{hidden}]\ngated = {gated}\nexperts = {experts}\n"
        );
        if let Ok(spec) = Spec::from_toml(&layer) {
            let _ = spec.totals();
        }
        if let Ok(spec) = format!("llama-{inputs}x{heads}x{heads}x{hidden}").parse::<Spec>() {
            let _ = spec.totals();
        }
    }
}
