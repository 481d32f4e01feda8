//! Which language model snippets and sub-agents may ask, and what it may cost, as it is written.

use std::path::PathBuf;

use clap::Args;

/// A language model behind an endpoint.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Language model")]
pub(crate) struct ModelArgs {
    /// Address of a language model's endpoint, such as https://HOST/v1, for llm_query and sub-agents; without it, an MCP client
    /// that supports sampling is asked
    #[arg(long, value_name = "URL", requires = "llm_model")]
    pub(crate) llm_endpoint: Option<String>,
    /// The API of the endpoint: `openai` (/chat/completions) or `anthropic` (/v1/messages)
    #[arg(long, value_name = "NAME", default_value = "openai")]
    pub(crate) llm_api: String,
    /// Name of the model
    #[arg(long, value_name = "NAME", requires = "llm_endpoint")]
    pub(crate) llm_model: Option<String>,
    /// Environment variable that holds the endpoint's key; the key itself is never an argument
    #[arg(long, value_name = "VAR", requires = "llm_endpoint", conflicts_with = "llm_key_file")]
    pub(crate) llm_key_env: Option<String>,
    /// File that holds the endpoint's key
    #[arg(long, value_name = "FILE", requires = "llm_endpoint")]
    pub(crate) llm_key_file: Option<PathBuf>,
    /// Requests to the model that one tool call may make [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) llm_max_calls: Option<u32>,
    /// Tokens that one tool call may use, prompts and answers together [default: 1000000]
    #[arg(long, value_name = "N")]
    pub(crate) llm_max_tokens: Option<u64>,
    /// Tokens of one answer [default: 4096]
    #[arg(long, value_name = "N")]
    pub(crate) llm_answer_tokens: Option<u32>,
    /// Time of one request to the model, retries included [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) llm_timeout: Option<String>,
}
