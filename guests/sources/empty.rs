//! Nothing: cargo wants a target before it resolves the packages of this manifest.
