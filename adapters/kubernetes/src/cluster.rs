//! The cluster: whether it is there, and that each of its answers comes in time.
//!
//! Owns: the client and the namespace. Does not own: what is asked, and the words for what goes wrong ([`crate::fault`]).

use std::time::{Duration, Instant};

use dormouse_containers::{Patience, again, pulse};
use dormouse_core::{Error, Result};
use kube::api::DynamicObject;
use kube::{Api, Client, Error as Fault};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::fault::{status, unavailable, wrong};
use crate::kinds::Kind;
use crate::settings::Settings;

/// How long the API server may take to say that it is there.
const PING_WITHIN: Duration = Duration::from_secs(2);
/// How long that is remembered.
const REMEMBERED: Duration = Duration::from_secs(2);
/// How long credentials are used at least that the cluster does not accept.
const KEPT: Duration = Duration::from_secs(2);

/// The cluster; connected on first use.
pub(crate) struct Cluster {
    settings: Settings,
    patience: Patience,
    /// The client and the namespace, and since when there are these.
    client: Mutex<Option<(Client, String, Instant)>>,
    /// When it was asked last, and what is wrong with it.
    last: Mutex<Option<(Instant, Option<Error>)>>,
}

impl Cluster {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            patience: settings.patience(),
            client: Mutex::default(),
            last: Mutex::new(None),
        }
    }

    /// The client, and the namespace in which all is made.
    ///
    /// # Errors
    /// `provider_unavailable` where there is no configuration to connect by.
    pub(crate) async fn client(&self) -> Result<(Client, String)> {
        let mut known = self.client.lock().await;
        if let Some((client, namespace, _)) = &*known {
            return Ok((client.clone(), namespace.clone()));
        }
        let way = match &self.settings.way {
            Some(way) => way.clone(),
            None => self.settings.find_way()?,
        };
        let client = way.client(self.settings.names.clone(), self.patience.answer_within)?;
        let namespace = self.settings.namespace.clone().unwrap_or_else(|| way.namespace().to_owned());
        *known = Some((client.clone(), namespace.clone(), Instant::now()));
        Ok((client, namespace))
    }

    /// What is expected of it.
    pub(crate) fn patience(&self) -> &Patience {
        &self.patience
    }

    /// The objects of a kind.
    ///
    /// # Errors
    /// As [`Cluster::client`].
    pub(crate) async fn of(&self, kind: Kind) -> Result<Api<DynamicObject>> {
        let (client, namespace) = self.client().await?;
        Ok(kind.api(&client, &namespace))
    }

    /// Whether it answers now. Remembered for a moment.
    ///
    /// # Errors
    /// `provider_unavailable` with what to do.
    pub(crate) async fn ready(&self) -> Result<()> {
        let mut last = self.last.lock().await;
        if let Some((at, wrong)) = &*last
            && at.elapsed() < REMEMBERED
        {
            return wrong.as_ref().map_or(Ok(()), |error| Err(again(error)));
        }
        let answer = match timeout(PING_WITHIN, self.version()).await {
            Ok(answer) => answer.map(drop),
            Err(_) => {
                Err(unavailable(format!("the API server does not answer within {} s", PING_WITHIN.as_secs())))
            }
        };
        *last = Some((Instant::now(), answer.as_ref().err().map(again)));
        answer
    }

    /// The version that the API server says it has.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn version(&self) -> Result<String> {
        let (client, _) = self.client().await?;
        let version = client.apiserver_version().await;
        version
            .map(|info| info.git_version)
            .map_err(|fault| wrong("ask the API server for its version", fault))
    }

    /// Waits for an answer, not for ever.
    ///
    /// # Errors
    /// See [`wrong`].
    pub(crate) async fn ask<T>(
        &self,
        what: &str,
        answer: impl Future<Output = std::result::Result<T, Fault>>,
    ) -> Result<T> {
        self.asked(what, answer).await?.map_err(|fault| wrong(what, fault))
    }

    /// The same, with what went wrong as it was told, if it was.
    ///
    /// # Errors
    /// `provider_unavailable` when no answer came.
    pub(crate) async fn asked<T>(
        &self,
        what: &str,
        answer: impl Future<Output = std::result::Result<T, Fault>>,
    ) -> Result<std::result::Result<T, Fault>> {
        let within = self.patience.answer_within;
        let answer = timeout(within, answer).await;
        if !matches!(answer, Ok(Ok(_) | Err(Fault::Api(_))))
            && let Ok(mut last) = self.last.try_lock()
        {
            // What was remembered is not so any more.
            *last = None;
        }
        if let Ok(Err(fault)) = &answer
            && status(fault) == Some(401)
            && let Ok(mut known) = self.client.try_lock()
            && known.as_ref().is_some_and(|(_, _, since)| since.elapsed() > KEPT)
        {
            // They may be others by now, in the kubeconfig or from its program: the next call takes those.
            *known = None;
        }
        pulse::beat();
        answer.map_err(|_| self.patience.slow(what, within))
    }
}

#[cfg(test)]
mod tests {
    use dormouse_core::ErrorCode;

    use super::*;

    #[tokio::test]
    async fn a_cluster_behind_tls_is_reached_for_with_and_without_its_own_authority() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        for trust in [r#""tls-server-name": "x.example""#, r#""insecure-skip-tls-verify": true"#] {
            let text = format!(
                r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "t",
                "clusters": [{{"name": "t", "cluster": {{"server": "https://127.0.0.1:1", {trust}}}}}],
                "users": [{{"name": "t", "user": {{"token": "t"}}}}],
                "contexts": [{{"name": "t", "context": {{"cluster": "t", "user": "t"}}}}]}}"#
            );
            std::fs::write(&file, text).unwrap();
            let cluster = Cluster::new(&Settings { kubeconfig: Some(file.clone()), ..Settings::default() });
            let error = cluster.ready().await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
            assert!(error.message().contains("cannot be reached"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_cluster_that_there_is_no_way_to_is_told_with_what_to_do() {
        let settings = Settings { kubeconfig: Some("/nowhere/config".into()), ..Settings::default() };
        let error = Cluster::new(&settings).ready().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
        assert!(error.hint().is_some_and(|hint| hint.contains("kubeconfig")), "{error:?}");
    }
}
