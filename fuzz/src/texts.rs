//! Texts that people write.

use collegial_arch::{Design, Spec, StageDesign};
use collegial_train::Recipe;

/// A spec as TOML or JSON, a model's name, or a design; what is taken can be written and read back.
pub fn spec(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let _ = (text.parse::<Design>(), text.parse::<StageDesign>());
    let read = [Spec::from_toml(text), Spec::from_json(text), text.parse()];
    read.into_iter().flatten().map(|spec| check(&spec)).count() > 0
}

fn check(spec: &Spec) {
    let again = Spec::from_toml(&spec.to_toml()).expect("what was written is read");
    assert_eq!(again, *spec);
    let json = serde_json::to_string(spec).expect("plain data");
    assert_eq!(Spec::from_json(&json).expect("what was written is read"), *spec);
    let name = spec.name();
    assert!(!name.contains(['/', '\\', '\0']) && !name.starts_with('.'), "{name:?} names a file");
    let _ = spec.graph().expect("what was read is checked").counts();
    let _ = (spec.blocks(), spec.analysed_module());
}

/// A recipe; lines behind one of dashes are changes.
pub fn recipe(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let (toml, changes) = text.split_once("\n---\n").unwrap_or((text, ""));
    let changes: Vec<String> = changes.lines().map(str::to_owned).collect();
    let Ok(recipe) = Recipe::build(toml, &changes) else { return false };
    let again = Recipe::build(&recipe.to_toml(), &[]).expect("what was written is read");
    assert_eq!(again, recipe);
    let small = recipe.for_images(10);
    assert!(small.batch <= 10 && small.batch % small.micro_batch() == 0);
    true
}
