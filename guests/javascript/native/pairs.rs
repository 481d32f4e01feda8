//! Keys in pairs: RSA, ECDSA and ECDH over five curves, Ed25519, X25519. Of those over numbers modulo a prime (`library/internal/groups.js`) only
//! the powers are here.
//!
//! Keys are what the algorithm itself has, without the wrappers of `library/internal/pairs.js`: of RSA the DER of PKCS #1 (RFC 8017, A.1), of
//! a curve the scalar or the uncompressed point (SEC 1, 2.3.3), of the two others 32 bytes.

use digest::{Digest, DynDigest};
use ed25519_dalek::{Signature as EdSignature, Signer as _, SigningKey, VerifyingKey};
use k256::ecdsa::signature::hazmat::{PrehashVerifier as _, RandomizedPrehashSigner as _};
use k256::elliptic_curve::sec1::ToEncodedPoint as _;
use rand_core::OsRng;
use rsa::hazmat::{rsa_decrypt_and_check, rsa_encrypt};
use rsa::pkcs1::{DecodeRsaPrivateKey as _, EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _};
use rsa::pkcs8::AssociatedOid;
use rsa::traits::PaddingScheme;
use rsa::{BigUint, Oaep, Pkcs1v15Encrypt, Pkcs1v15Sign, Pss, RsaPrivateKey, RsaPublicKey};
use x25519_dalek::{PublicKey as XPublic, StaticSecret as XSecret};

use crate::border::{bytes, give_bytes, text};
use crate::digest::with_digest;
use crate::fermat::looks_prime;

/// Bits of the largest key of RSA that is made or used.
const MOST_BITS: usize = 8192;

/// Bytes of the longest number that is raised to a power: those of the longest prime of Diffie-Hellman in OpenSSL, 10 000 bits.
const MOST_POWER: usize = 1250;

/// Does the same with the crate of a curve.
macro_rules! with_curve {
    ($name:expr, $curve:ident => $then:expr) => {
        match $name {
            "secp224r1" => { use p224 as $curve; $then }
            "P-256" => { use p256 as $curve; $then }
            "P-384" => { use p384 as $curve; $then }
            "P-521" => { use p521 as $curve; $then }
            "secp256k1" => { use k256 as $curve; $then }
            _ => None,
        }
    };
}

/// What is asked for: an algorithm, and where it has them a digest and a length.
struct Question<'a> {
    algorithm: &'a str,
    digest: &'a str,
    length: usize,
    key: &'a [u8],
    data: &'a [u8],
    more: &'a [u8],
}

impl Question<'_> {
    fn answer(&self, what: &str) -> Option<Vec<u8>> {
        match what {
            "generate" => self.generate(),
            "public" => self.public(),
            "check" => self.check(),
            "sign" => self.sign(),
            "verify" => self.verify().map(|right| vec![u8::from(right)]),
            "salt" => self.salt().map(|count| count.to_string().into_bytes()),
            "agree" => self.agree(),
            "encrypt" => self.encrypt(),
            "decrypt" => self.decrypt(),
            "raise" => self.raise(),
            "power" => self.power(),
            "fermat" => looks_prime(&BigUint::from_bytes_be(self.key)).map(|passes| vec![u8::from(passes)]),
            _ => None,
        }
    }

    /// A private key; `length` is the bits of one of RSA, `data` its public exponent.
    fn generate(&self) -> Option<Vec<u8>> {
        if self.algorithm == "RSA" {
            if !(512..=MOST_BITS).contains(&self.length) {
                return None;
            }
            // With an even exponent there is no key, and the search for one would not end.
            let exponent = BigUint::from_bytes_be(self.data);
            if self.data.last()? % 2 == 0 || exponent < BigUint::from(3_u8) || exponent.bits() > 32 {
                return None;
            }
            let key = RsaPrivateKey::new_with_exp(&mut OsRng, self.length, &exponent).ok()?;
            return Some(key.to_pkcs1_der().ok()?.as_bytes().to_vec());
        }
        with_curve!(self.algorithm, curve => Some(curve::SecretKey::random(&mut OsRng).to_bytes().to_vec()))
    }

    /// The public key of a private one, which is looked at.
    fn public(&self) -> Option<Vec<u8>> {
        match self.algorithm {
            "RSA" => Some(self.private_rsa()?.to_public_key().to_pkcs1_der().ok()?.as_bytes().to_vec()),
            "Ed25519" => Some(SigningKey::from_bytes(self.key.try_into().ok()?).verifying_key().to_bytes().to_vec()),
            "X25519" => Some(XPublic::from(&XSecret::from(<[u8; 32]>::try_from(self.key).ok()?)).to_bytes().to_vec()),
            name => with_curve!(name, curve => {
                Some(curve::SecretKey::from_slice(self.key).ok()?.public_key().to_encoded_point(false).as_bytes().to_vec())
            }),
        }
    }

    /// A public key, in the one form that it has here: a point of a curve may come compressed.
    fn check(&self) -> Option<Vec<u8>> {
        match self.algorithm {
            "RSA" => Some(self.public_rsa()?.to_pkcs1_der().ok()?.as_bytes().to_vec()),
            "Ed25519" | "X25519" => (self.key.len() == 32).then(|| self.key.to_vec()),
            // A point of which only one number is told, and not which of both it is.
            _ if self.key.first() == Some(&5) => None,
            name => with_curve!(name, curve => {
                Some(curve::PublicKey::from_sec1_bytes(self.key).ok()?.to_encoded_point(false).as_bytes().to_vec())
            }),
        }
    }

    fn private_rsa(&self) -> Option<RsaPrivateKey> {
        let key = RsaPrivateKey::from_pkcs1_der(self.key).ok()?;
        (rsa::traits::PublicKeyParts::size(&key) <= MOST_BITS / 8).then_some(key)
    }

    fn public_rsa(&self) -> Option<RsaPublicKey> {
        let key = rsa::pkcs1::RsaPublicKey::try_from(self.key).ok()?;
        let number = |value: rsa::pkcs1::UintRef<'_>| BigUint::from_bytes_be(value.as_bytes());
        RsaPublicKey::new_with_max_size(number(key.modulus), number(key.public_exponent), MOST_BITS).ok()
    }

    fn digest(&self) -> Option<Vec<u8>> {
        with_digest!(self.digest, D => <D as Digest>::digest(self.data).to_vec())
    }

    /// What is signed by a curve: a digest, of at least half as many bytes as a number of the curve has.
    fn prehash(&self) -> Option<Vec<u8>> {
        let digest = self.digest()?;
        let missing = if self.algorithm == "P-521" { 33_usize } else { 24 }.saturating_sub(digest.len());
        Some([vec![0; missing], digest].concat())
    }

    /// Of a curve `r` and `s` in full length (IEEE P1363).
    fn sign(&self) -> Option<Vec<u8>> {
        match self.algorithm {
            "RSA-PKCS1" => self.private_rsa()?.sign_with_rng(&mut OsRng, self.pkcs1()?, &self.digest()?).ok(),
            "RSA-PSS" => self.private_rsa()?.sign_with_rng(&mut OsRng, self.pss()?, &self.digest()?).ok(),
            "Ed25519" => Some(SigningKey::from_bytes(self.key.try_into().ok()?).sign(self.data).to_bytes().to_vec()),
            name => with_curve!(name, curve => {
                let key = curve::ecdsa::SigningKey::from_slice(self.key).ok()?;
                let signature: curve::ecdsa::Signature = key.sign_prehash_with_rng(&mut OsRng, &self.prehash()?).ok()?;
                Some(signature.to_bytes().to_vec())
            }),
        }
    }

    /// Whether `more` is the signature. None: the key or the algorithm is none.
    fn verify(&self) -> Option<bool> {
        match self.algorithm {
            "RSA-PKCS1" => Some(self.public_rsa()?.verify(self.pkcs1()?, &self.digest()?, self.more).is_ok()),
            "RSA-PSS" => Some(self.public_rsa()?.verify(self.pss()?, &self.digest()?, self.more).is_ok()),
            "Ed25519" => {
                let key = VerifyingKey::from_bytes(self.key.try_into().ok()?).ok()?;
                Some(EdSignature::from_slice(self.more).is_ok_and(|signature| key.verify_strict(self.data, &signature).is_ok()))
            }
            name => with_curve!(name, curve => {
                let key = curve::ecdsa::VerifyingKey::from_sec1_bytes(self.key).ok()?;
                let prehash = self.prehash()?;
                Some(curve::ecdsa::Signature::from_slice(self.more).is_ok_and(|signature| {
                    // Of the two that are right secp256k1's crate takes one.
                    let signature = signature.normalize_s().unwrap_or(signature);
                    key.verify_prehash(&prehash, &signature).is_ok()
                }))
            }),
        }
    }

    fn pkcs1(&self) -> Option<Pkcs1v15Sign> {
        fn of<D: Digest + AssociatedOid>() -> Pkcs1v15Sign {
            Pkcs1v15Sign::new::<D>()
        }
        with_digest!(self.digest, D => of::<D>())
    }

    fn pss(&self) -> Option<Pss> {
        // A salt is made before it is compared with the key.
        if self.length > MOST_BITS / 8 {
            return None;
        }
        with_digest!(self.digest, D => Pss::new_with_salt::<D>(self.length))
    }

    /// The bytes of the salt of the signature in `more` (RFC 8017, 9.1.2, steps 5 to 10), which is not checked by this.
    fn salt(&self) -> Option<usize> {
        fn of<D: Digest>(message: &[u8], bits: usize) -> Option<usize> {
            let size = <D as Digest>::output_size();
            let (masked, rest) = message.split_at_checked(message.len().checked_sub(size + 1)?)?;
            let masks = (0_u32..).flat_map(|count| {
                D::new().chain_update(&rest[..size]).chain_update(count.to_be_bytes()).finalize().to_vec()
            });
            let mut block: Vec<u8> = masked.iter().zip(masks).map(|(byte, mask)| byte ^ mask).collect();
            *block.first_mut()? &= 0xff >> (8 * message.len() - bits);
            let first = block.iter().position(|&byte| byte != 0)?;
            Some(block.len() - first - 1)
        }
        let key = self.public_rsa()?;
        let (modulus, exponent) = (rsa::traits::PublicKeyParts::n(&key), rsa::traits::PublicKeyParts::e(&key));
        let bits = modulus.bits() - 1;
        let number = BigUint::from_bytes_be(self.more).modpow(exponent, modulus).to_bytes_be();
        let message = [vec![0; bits.div_ceil(8).checked_sub(number.len())?], number].concat();
        with_digest!(self.digest, D => of::<D>(&message, bits)).flatten()
    }

    /// The secret that a private key has with the public one in `data`.
    fn agree(&self) -> Option<Vec<u8>> {
        if self.algorithm == "X25519" {
            let (own, other) = (<[u8; 32]>::try_from(self.key).ok()?, <[u8; 32]>::try_from(self.data).ok()?);
            let secret = XSecret::from(own).diffie_hellman(&XPublic::from(other));
            return secret.was_contributory().then(|| secret.to_bytes().to_vec());
        }
        with_curve!(self.algorithm, curve => {
            let own = curve::SecretKey::from_slice(self.key).ok()?;
            let other = curve::PublicKey::from_sec1_bytes(self.data).ok()?;
            let secret = curve::ecdh::diffie_hellman(own.to_nonzero_scalar(), other.as_affine());
            Some(secret.raw_secret_bytes().to_vec())
        })
    }

    /// OAEP's label is `more`, a text.
    fn oaep(&self) -> Option<Oaep> {
        fn of<D: Digest + DynDigest + Send + Sync + 'static>(label: &[u8]) -> Option<Oaep> {
            if label.is_empty() {
                return Some(Oaep::new::<D>());
            }
            Some(Oaep::new_with_label::<D, _>(str::from_utf8(label).ok()?))
        }
        with_digest!(self.digest, D => of::<D>(self.more)).flatten()
    }

    fn encrypt(&self) -> Option<Vec<u8>> {
        match self.algorithm {
            "RSA-OAEP" => self.public_rsa()?.encrypt(&mut OsRng, self.oaep()?, self.data).ok(),
            "RSA-PKCS1" => self.public_rsa()?.encrypt(&mut OsRng, Pkcs1v15Encrypt, self.data).ok(),
            _ => None,
        }
    }

    /// RSA without any padding, with the `private` or the `public` key: the data is as long as the modulus, and less than it.
    fn raise(&self) -> Option<Vec<u8>> {
        let number = BigUint::from_bytes_be(self.data);
        if self.digest == "private" {
            let key = self.private_rsa()?;
            let result = rsa_decrypt_and_check(&key, Some(&mut OsRng), &number).ok()?;
            return padded(&result, rsa::traits::PublicKeyParts::size(&key));
        }
        let key = self.public_rsa()?;
        if number >= *rsa::traits::PublicKeyParts::n(&key) {
            return None;
        }
        padded(&rsa_encrypt(&key, &number).ok()?, rsa::traits::PublicKeyParts::size(&key))
    }

    /// `key` to the power of `data`, modulo `more`.
    fn power(&self) -> Option<Vec<u8>> {
        let longest = self.key.len().max(self.data.len()).max(self.more.len());
        let modulus = BigUint::from_bytes_be(self.more);
        if longest > MOST_POWER || modulus == BigUint::from(0_u8) {
            return None;
        }
        let (base, exponent) = (BigUint::from_bytes_be(self.key), BigUint::from_bytes_be(self.data));
        padded(&base.modpow(&exponent, &modulus), self.more.len())
    }

    fn decrypt(&self) -> Option<Vec<u8>> {
        fn with(key: &RsaPrivateKey, padding: impl PaddingScheme, data: &[u8]) -> Option<Vec<u8>> {
            key.decrypt_blinded(&mut OsRng, padding, data).ok()
        }
        match self.algorithm {
            "RSA-OAEP" => with(&self.private_rsa()?, self.oaep()?, self.data),
            "RSA-PKCS1" => with(&self.private_rsa()?, Pkcs1v15Encrypt, self.data),
            _ => None,
        }
    }
}

/// A number in as many bytes as another has.
fn padded(number: &BigUint, length: usize) -> Option<Vec<u8>> {
    let digits = number.to_bytes_be();
    Some([vec![0; length.checked_sub(digits.len())?], digits].concat())
}

/// The answer to a question in words, such as `sign RSA-PSS sha256 32` or `generate RSA - 2048`: what is to be done, an algorithm, a digest and a
/// length. Null: there is none. It is given back to `native_bytes_end`.
///
/// # Safety
/// The pointers lend what [`text`] and [`bytes`] ask for, and `length` is where a number fits.
#[unsafe(no_mangle)]
#[expect(clippy::too_many_arguments, reason = "four parts of a question, each of which is a pair")]
pub unsafe extern "C" fn native_pair(
    words: *const u8,
    words_length: usize,
    key: *const u8,
    key_length: usize,
    data: *const u8,
    data_length: usize,
    more: *const u8,
    more_length: usize,
    length: *mut usize,
) -> *mut u8 {
    // SAFETY: as the caller promises.
    let (words, key, data, more) = unsafe {
        (text(words, words_length), bytes(key, key_length), bytes(data, data_length), bytes(more, more_length))
    };
    let mut words = words.unwrap_or_default().split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (what, algorithm, digest) = (word(), word(), word());
    // What is no number is more than any key has.
    let length_asked = match word() {
        "" => 0,
        number => number.parse().unwrap_or(usize::MAX),
    };
    let question = Question { algorithm, digest, length: length_asked, key, data, more };
    let answer = question.answer(what);
    // SAFETY: as the caller promises.
    unsafe { give_bytes(answer, length) }
}
