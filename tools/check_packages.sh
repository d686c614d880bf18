#!/usr/bin/env bash
# Packages every crate as `cargo publish` would, and compiles the packages: library, program, tests, examples and benches.
#
# `cargo package` alone builds each library from its package; a test that reaches into another crate would go unnoticed. Here the
# packages form a workspace of their own in target/packages, where each takes the others in place of the registry's.
set -euo pipefail
cd "$(dirname "$0")/.."
place=target/packages
rm -rf "$place"
# Not published: the chores, which work on the tree.
cargo package --quiet --workspace --exclude xtask --allow-dirty --no-verify --target-dir "$place"
for package in "$place"/package/*.crate; do
    tar --extract --gzip --touch --file "$package" --directory "$place"
done
{
    printf '[workspace]\nresolver = "3"\nmembers = ["*-[0-9]*"]\n[patch.crates-io]\n'
    for directory in "$place"/*-[0-9]*/; do
        name=$(basename "$directory")
        printf '%s = { path = "%s" }\n' "${name%-*}" "$name"
    done
    # With the tree's profile, dependencies that were checked there are not checked again.
    sed -n '/^\[profile.dev\]/,/^$/p' Cargo.toml
} > "$place/Cargo.toml"
cp Cargo.lock "$place/"
cargo check --quiet --manifest-path "$place/Cargo.toml" --workspace --all-targets --target-dir target
echo "check_packages: $(find "$place/package" -maxdepth 1 -name '*.crate' | wc -l) packages compile, their tests too"
