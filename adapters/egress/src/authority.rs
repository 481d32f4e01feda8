//! The authority of one sandbox: it signs certificates for the names that its programs speak TLS with, which ends at the gate.
//!
//! Its key is drawn for the sandbox, lies in this process alone, and goes with it. So its certificate is worth nothing elsewhere.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dormouse_core::{Error, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::host::Host;
use crate::reason::{Reason, Refusal};

/// Names that certificates are kept for.
const KEPT: usize = 256;
/// Longest name that a certificate calls its subject, in characters; longer ones stand in it as what it is for, as all do.
const MAX_SUBJECT: usize = 64;

/// What signs for one sandbox.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The key of all that it signs.
    key: KeyPair,
    known: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// `internal` without randomness.
    pub(crate) fn new() -> Result<Self> {
        let failed = |error: rcgen::Error| Error::internal("no authority can be made", error);
        let key = KeyPair::generate().map_err(failed)?;
        let mut number = [0; 8];
        getrandom::fill(&mut number)
            .map_err(|error| Error::internal("the system has no randomness", error))?;
        let mut params = params(Vec::new(), &format!("Dormouse sandbox {:016x}", u64::from_be_bytes(number)))
            .map_err(failed)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
        let key = KeyPair::generate().map_err(failed)?;
        Ok(Self { issuer, key, known: Mutex::default() })
    }

    /// Its certificate in PEM.
    pub(crate) fn pem(&self) -> String {
        pem(self.issuer.der())
    }

    /// TLS for programs that mean a host: HTTP/1.1, with a certificate for that name alone.
    ///
    /// # Errors
    /// `untrusted` for a name that no certificate can be for.
    pub(crate) fn config(&self, host: &Host) -> std::result::Result<Arc<ServerConfig>, Refusal> {
        let name = host.to_string();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = known.get(&name) {
            return Ok(config.clone());
        }
        let config = self.signed(&name).map_err(|error| {
            tracing::debug!(host = name, "no certificate can be signed: {error}");
            Refusal::new(Reason::Untrusted, format!("no certificate can be for `{name}`"))
        })?;
        if known.len() >= KEPT {
            known.clear();
        }
        Ok(known.entry(name).or_insert(Arc::new(config)).clone())
    }

    fn signed(&self, name: &str) -> std::result::Result<ServerConfig, Box<dyn std::error::Error>> {
        let subject = if name.len() > MAX_SUBJECT { "dormouse" } else { name };
        let mut params = params(vec![name.to_owned()], subject)?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let chain = vec![certificate.der().clone()];
        let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// What is the same for all certificates. Their time is not bounded: they end with the key, which nobody keeps.
fn params(names: Vec<String>, subject: &str) -> std::result::Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(2049, 12, 31);
    Ok(params)
}

/// The certificates that the system trusts, in PEM. Read once.
pub(crate) fn system() -> &'static str {
    static SYSTEM: OnceLock<String> = OnceLock::new();
    SYSTEM.get_or_init(|| rustls_native_certs::load_native_certs().certs.iter().map(pem).collect())
}

/// A certificate in PEM.
pub(crate) fn pem(certificate: &CertificateDer<'_>) -> String {
    let text = STANDARD.encode(certificate);
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for line in text.as_bytes().chunks(64) {
        let _ = writeln!(pem, "{}", String::from_utf8_lossy(line));
    }
    pem + "-----END CERTIFICATE-----\n"
}
