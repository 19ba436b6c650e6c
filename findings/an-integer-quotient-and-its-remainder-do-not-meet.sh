#!/usr/bin/env bash
# burn 0.22.1 on its CPU backend `flex`: the quotient of integers is rounded towards zero, their remainder is that of a
# quotient rounded down.
#
# -7 is divided by 2, as integer tensors and as Rust's integers.
#
# Expected: quotient times divisor plus remainder is the dividend: -3 and -1 as in Rust and C, or -4 and 1 as in Python.
# Seen: burn answers -3 and 1, together -5. Floats have the remainder 1, too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml <<'TOML'
[package]
name = "probe"
version = "0.1.0"
edition = "2024"

[dependencies]
burn = { version = "=0.22.1", default-features = false, features = ["std", "flex"] }

[profile.dev]
debug = false
TOML
cat > src/main.rs <<'RUST'
use burn::tensor::{Device, Int, Tensor};

fn main() {
    let (seven, two) = (-7_i32, 2_i32);
    let dividend = Tensor::<1, Int>::from_ints([seven], &Device::flex());
    let quotient: i32 = dividend.clone().div_scalar(two).into_scalar();
    let remainder: i32 = dividend.clone().remainder_scalar(two).into_scalar();
    let of_floats: f32 = dividend.float().remainder_scalar(2.0).into_scalar();
    println!("burn {quotient} {remainder} {}, floats {of_floats}", quotient * two + remainder);
    println!("rust {} {} {}", seven / two, seven % two, seven / two * two + seven % two);
}
RUST
cargo build --quiet
seen=$("${CARGO_TARGET_DIR:-target}/debug/probe")
echo "$seen"
[ "$seen" = 'burn -3 1 -5, floats 1
rust -3 -1 -7' ]
