//! The sets of tool names over the same work.

/// A set of tool names over the same work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// `sandbox_eval` and its siblings.
    #[default]
    Sandbox,
    /// `framework__eval`: PHP in the operator's project, in the form of requirements S1.
    Eval,
    /// `sprite_create` and its siblings, in the form of requirements S4. Needs sandboxes that last.
    Sprites,
    /// `rlm_exec` and its siblings, in the form of requirements S3. Needs sandboxes that last.
    Rlm,
    /// `Read`, `Edit`, `Bash`, `run_tests` and its siblings, in the form of requirements S0. Needs sandboxes that last.
    Codegen,
    /// `sandbox_code` and a search for the tools that programs can call. Needs sandboxes that last.
    Code,
}

impl Profile {
    /// Every profile by its name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("sandbox", Self::Sandbox),
        ("eval", Self::Eval),
        ("sprites", Self::Sprites),
        ("rlm", Self::Rlm),
        ("codegen", Self::Codegen),
        ("code", Self::Code),
    ];

    /// Whether it has no tools without sandboxes that last.
    pub fn needs_sandboxes(self) -> bool {
        matches!(self, Self::Sprites | Self::Rlm | Self::Codegen | Self::Code)
    }
}
