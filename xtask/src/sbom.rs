//! Software bills of materials (CycloneDX 1.5): one for the program, one for the wheel's extension.
//!
//! Made of what `cargo tree` resolves for this system and of the checksums in `Cargo.lock`.
//! cargo-cyclonedx was tried: it writes a file into every crate of the workspace, with the paths of
//! the machine, and lists optional dependencies that nothing here enables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::{Failed, cargo_program};

/// The packages that people install.
const PACKAGES: [&str; 2] = ["collegial", "collegial-python"];

/// Where the bills are written.
const PLACE: &str = "target/sbom";

/// Writes the bills.
pub fn sbom() -> Result<(), Failed> {
    std::fs::create_dir_all(PLACE).map_err(|error| failed(&format!("{PLACE}: {error}")))?;
    let lock =
        std::fs::read_to_string("Cargo.lock").map_err(|error| failed(&format!("Cargo.lock: {error}")))?;
    let checksums = checksums(&lock);
    for package in PACKAGES {
        let linked = Tree::parse(&cargo_tree(package, "normal,no-proc-macro")?);
        let all = Tree::parse(&cargo_tree(package, "normal,build")?);
        let path = Path::new(PLACE).join(format!("{package}.cdx.json"));
        let text = format!("{:#}\n", bill(&all, &linked, &checksums));
        std::fs::write(&path, text).map_err(|error| failed(&format!("{}: {error}", path.display())))?;
        let (components, compiled) = (all.packages.len() - 1, linked.packages.len() - 1);
        eprintln!("xtask: wrote {}: {components} components, {compiled} of them linked", path.display());
    }
    Ok(())
}

/// What Cargo resolves for this system; each line begins with its depth.
fn cargo_tree(package: &str, edges: &str) -> Result<String, Failed> {
    let mut command = Command::new(cargo_program());
    command.args(["tree", "--locked", "--package", package, "--edges", edges]);
    let output = command.args(["--prefix", "depth", "--format", "\t{p}\t{l}\t{r}"]).output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(failed(&String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(failed(&format!("cargo tree did not start: {error}"))),
    }
}

/// A package's name and version.
type Id = (String, String);

/// Packages with their licence and repository, and the packages that each depends on.
struct Tree {
    root: Id,
    packages: BTreeMap<Id, (String, String)>,
    edges: BTreeMap<Id, BTreeSet<Id>>,
}

impl Tree {
    /// A line is depth, `name vVERSION (...)`, licence and repository; the packages that one depends
    /// on stand below it, where it is named first.
    fn parse(text: &str) -> Self {
        let (mut packages, mut edges) = (BTreeMap::new(), BTreeMap::<Id, BTreeSet<Id>>::new());
        let mut above: Vec<Id> = vec![];
        for line in text.lines() {
            let mut cells = line.trim_end_matches(" (*)").split('\t');
            let mut cell = || cells.next().unwrap_or_default();
            let depth: usize = cell().parse().unwrap_or_default();
            let mut words = cell().split(' ');
            let name = words.next().unwrap_or_default().to_owned();
            let version = words.next().unwrap_or_default().trim_start_matches('v').to_owned();
            let id = (name, version);
            packages.insert(id.clone(), (cell().to_owned(), cell().to_owned()));
            edges.entry(id.clone()).or_default();
            above.truncate(depth);
            if let Some(parent) = above.last() {
                edges.entry(parent.clone()).or_default().insert(id.clone());
            }
            above.push(id);
        }
        Self { root: above.swap_remove(0), packages, edges }
    }
}

/// SHA-256 of every package that came from the registry.
fn checksums(lock: &str) -> BTreeMap<Id, String> {
    let entries = lock.split("[[package]]").skip(1).filter_map(|entry| {
        let value = |key: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|text| text.trim_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    entries.collect()
}

/// The document; packages that only the build runs have scope "excluded".
fn bill(all: &Tree, linked: &Tree, checksums: &BTreeMap<Id, String>) -> Value {
    let reference = |(name, version): &Id| format!("pkg:cargo/{name}@{version}");
    let component = |kind: &str, id: &Id| {
        let (licence, repository) = &all.packages[id];
        let mut entry = json!({
            "type": kind,
            "bom-ref": reference(id),
            "name": id.0,
            "version": id.1,
            "purl": reference(id),
            "scope": if linked.packages.contains_key(id) { "required" } else { "excluded" },
            "licenses": [{ "expression": licence.replace('/', " OR ") }],
        });
        if let Some(checksum) = checksums.get(id) {
            entry["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        if !repository.is_empty() {
            entry["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
        }
        entry
    };
    let others = all.packages.keys().filter(|id| **id != all.root);
    let depends = all.edges.iter().map(
        |(id, on)| json!({ "ref": reference(id), "dependsOn": on.iter().map(reference).collect::<Vec<_>>() }),
    );
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component("application", &all.root) },
        "components": others.map(|id| component("library", id)).collect::<Vec<_>>(),
        "dependencies": depends.collect::<Vec<_>>(),
    })
}

fn failed(why: &str) -> Failed {
    eprintln!("xtask: {why}");
    Failed
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "0\ta v0.2.0 (/home/x/a)\tMIT OR Apache-2.0\t\n\
        1\tb v1.0.0\tMIT/Apache-2.0\thttps://b\n\
        2\tc v2.0.0 (proc-macro)\tMIT\t\n\
        1\tc v2.0.0 (proc-macro)\tMIT\t (*)\n";
    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n\n\
        [[package]]\nname = \"a\"\nversion = \"0.2.0\"\n";

    /// `docs/dependencies.md` names every crate of the program in a table.
    #[test]
    fn every_crate_of_the_program_is_explained() {
        let Ok(tree) = cargo_tree("collegial", "normal") else { panic!("cargo tree failed") };
        let all = Tree::parse(&tree);
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/dependencies.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows: String = page.lines().filter(|line| line.starts_with('|')).collect();
        let names = all.packages.keys().map(|(name, _)| name).filter(|name| !name.starts_with("collegial"));
        let missing: Vec<&String> = names.filter(|name| !rows.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "docs/dependencies.md does not say what these are for: {missing:?}");
    }

    #[test]
    fn a_bill_names_packages_checksums_and_edges_but_no_path() {
        let all = Tree::parse(TREE);
        let linked = Tree::parse(&TREE.lines().take(2).collect::<Vec<_>>().join("\n"));
        let bill = bill(&all, &linked, &checksums(LOCK));
        assert_eq!(bill["metadata"]["component"]["bom-ref"], "pkg:cargo/a@0.2.0");
        let [b, c] = bill["components"].as_array().unwrap().as_slice() else { panic!("{bill:#}") };
        assert_eq!((&b["scope"], &c["scope"]), (&json!("required"), &json!("excluded")));
        assert_eq!(b["hashes"][0]["content"], "abc");
        assert_eq!(b["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let both = json!(["pkg:cargo/b@1.0.0", "pkg:cargo/c@2.0.0"]);
        assert_eq!(bill["dependencies"][0], json!({ "ref": "pkg:cargo/a@0.2.0", "dependsOn": both }));
        assert!(!bill.to_string().contains("/home"), "{bill:#}");
    }
}
