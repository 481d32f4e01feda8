//! The [`Provider`](dormouse_core::Provider) on Kubernetes.
//!
//! A sandbox that is awake is one pod that runs already, made by this crate ([`Mode::Pods`]) or taken from a warm pool of
//! agent-sandbox by a claim ([`Mode::AgentSandbox`]). What is done in it is the same for every engine, and is in
//! [`dormouse_containers`].
//!
//! | step | module |
//! | --- | --- |
//! | what the operator allows | [`settings`], [`network`] (which addresses are reached), [`way`] (the address of the cluster, and the credentials), [`access`] (the calls that are made, and the rights that they need) |
//! | the cluster | [`cluster`] (is it there, how long an answer may take), [`kinds`] (the objects), [`watch`] (what becomes of them), [`fault`] (the words for what goes wrong), [`left`] (what is ours, and what is to be removed), [`shared`] (all of these, for who needs them) |
//! | what is made | [`size`] (what a sandbox may use), [`manifest`] (pods, policies, claims, confined by default), [`helper`] (for images without a shell), [`gate`] (for a network by rules), [`vet`] (whether a template is) |
//! | a pod | [`state`] (is it ready, how did it end), [`pod`] (one that runs), [`exec`] (programs), [`stream`] (their streams), [`transfer`] (archives), [`reach`] (the way to what rules let out) |
//! | making one | [`pods`], [`claims`] |
//! | what outlives pods | [`keep`] (what is noted on it), [`using`] (one use of it, and its end), [`volumes`] (of pods of our own) |
//! | the ports | [`port`] (the engine, for what is done in containers), [`provider`], [`doctor`] |

mod access;
mod claims;
mod cluster;
mod doctor;
mod exec;
mod fault;
mod gate;
mod helper;
mod keep;
mod kinds;
mod left;
mod manifest;
mod network;
mod pod;
mod pods;
mod port;
mod provider;
mod reach;
mod settings;
mod shared;
mod size;
mod state;
mod stream;
mod transfer;
mod using;
mod vet;
mod volumes;
mod watch;
mod way;

pub use crate::access::{Call, calls, role};
pub use crate::doctor::Step;
pub use crate::network::Network;
pub use crate::provider::{KubernetesProvider, abilities};
pub use crate::settings::{Mode, Settings};
pub use crate::way::Way;
