//! Shares of a fit, and what `merge` makes of them.

mod program;

use collegial_core::checksum::{BLANK, seal};
use program::run;

#[test]
fn shards_merge_to_the_result_of_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let fit = "fit bottleneck-16 --widths 2,4,8 --trials 330 --seed 5";
    for index in 1..=3 {
        let text = run(&format!(
            "{fit} --shard {index}/3 --out {} --threads {index}",
            file(&format!("{index}.json"))
        ));
        assert!(text.contains("exit 0"), "{text}");
    }
    let merged = run(&format!("merge {} {} {} --json", file("2.json"), file("3.json"), file("1.json")));
    let whole = run(&format!("{fit} --json --out {}", file("whole.json")));
    let points = |text: &str| text.split_once("\"points\"").unwrap().1.split_once(']').unwrap().0.to_owned();
    let alpha = |text: &str| text.split_once("\"alpha\"").unwrap().1.split_once(',').unwrap().0.to_owned();
    assert_eq!((alpha(&merged), points(&merged)), (alpha(&whole), points(&whole)));
    let again = run(&format!("merge {} --json", file("whole.json")));
    assert_eq!(alpha(&again), alpha(&whole));
    let twice = run(&format!("merge {} {}", file("1.json"), file("1.json")));
    assert!(twice.contains("exit 2") && twice.contains("cannot join"), "{twice}");
    std::fs::write(file("cut.json"), &std::fs::read_to_string(file("1.json")).unwrap()[..100]).unwrap();
    assert!(
        run(&format!("merge {}", file("cut.json")))
            .contains("is not a file that `collegial fit --out` wrote")
    );
}

/// Shards with other counts, moments or trials once gave an alpha anywhere between -132 and 0.76.
#[test]
fn merge_does_not_trust_its_shards() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shard.json");
    let out = path.display();
    assert!(run(&format!("fit bottleneck-4 --widths 2,4 --trials 64 --out {out}")).contains("exit 0"));
    let whole = std::fs::read_to_string(&path).unwrap();
    let merge = |text: &str| {
        std::fs::write(&path, text).unwrap();
        run(&format!("merge {out}"))
    };
    assert!(merge(&whole).contains("exit 0"));
    assert!(merge(&whole.replacen("\"seed\":0", "\"seed\":1", 1)).contains("it has changed since"));
    // No checksum, or no valid one.
    let at = whole.find("crc32-").unwrap();
    let sum = &whole[at..at + BLANK.len()];
    for other in ["none", "CRC32-00000000"] {
        let text = merge(&whole.replacen(sum, other, 1));
        assert!(text.contains("exit 2") && text.contains("it has changed since"), "{text}");
    }
    // The content is checked even where the checksum is right.
    let blank = whole.replacen(sum, BLANK, 1);
    for (before, after, said) in [
        ("\"count\":50", "\"count\":51", "contradict themselves"),
        ("\"m2\":", "\"m2\":-", "contradict themselves"),
        ("\"end\":50", "\"end\":0", "contradict themselves"),
        ("\"trials\":64", "\"trials\":10", "trials beyond the 10 of the run"),
        ("\"width\":2,\"tally", "\"width\":4,\"tally", "ascending order"),
    ] {
        let mut changed = blank.replacen(before, after, 1).into_bytes();
        assert_ne!(changed, blank.as_bytes(), "{before}");
        let range = 0..changed.len();
        seal(&mut changed, range);
        let text = merge(&String::from_utf8(changed).unwrap());
        assert!(text.contains("exit 2") && text.contains(said), "{before}: {text}");
    }
}
