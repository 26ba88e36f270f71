//! Authentication of the client by a signature (RFC 7523). No secret is sent.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use obelus_runtime::Secret;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

/// How long a signature is valid, in seconds. It is used at once.
const LASTS: i64 = 300;

/// The type of the assertion in the form.
pub(super) const KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The schemes, their names in tokens, and the length of each half where a signature has two.
const SCHEMES: [(SignatureScheme, &str, Option<usize>); 4] = [
    (SignatureScheme::ECDSA_NISTP256_SHA256, "ES256", Some(32)),
    (SignatureScheme::ECDSA_NISTP384_SHA384, "ES384", Some(48)),
    (SignatureScheme::RSA_PKCS1_SHA256, "RS256", None),
    (SignatureScheme::ED25519, "EdDSA", None),
];

/// A signed statement of the client's identity, for one authorization server and a few minutes.
pub(super) fn assertion(key: &Secret, client: &str, issuer: &str, id: &str, now: i64) -> Result<Secret, String> {
    let no_key = || "`private_key` of `auth` is no key in PEM that can sign (P-256, P-384, RSA or Ed25519)".to_owned();
    let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).map_err(|_| no_key())?;
    let key = any_supported_type(&key).map_err(|_| no_key())?;
    let signer = key.choose_scheme(&SCHEMES.map(|(scheme, ..)| scheme)).ok_or_else(no_key)?;
    let known = SCHEMES.iter().find(|(scheme, ..)| *scheme == signer.scheme());
    let (_, name, half) = known.ok_or_else(no_key)?;
    let coded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = coded(json!({"alg": name, "typ": "JWT"}));
    let claims =
        json!({"iss": client, "sub": client, "aud": issuer, "jti": id, "iat": now, "exp": now.saturating_add(LASTS)});
    let text = format!("{head}.{}", coded(claims));
    let mut signature = signer.sign(text.as_bytes()).map_err(|_| no_key())?;
    if let Some(half) = half {
        signature = halves(&signature, *half).ok_or_else(no_key)?;
    }
    Ok(Secret::new(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

/// Converts a DER signature of two numbers to the form of tokens: both numbers, each padded to `half` bytes.
fn halves(der: &[u8], half: usize) -> Option<Vec<u8>> {
    // Signatures are short enough for the short form of a length.
    let [0x30, length, rest @ ..] = der else { return None };
    let mut rest = rest.get(..usize::from(*length)).filter(|_| *length < 0x80)?;
    let mut both = Vec::new();
    for _ in 0..2 {
        let [0x02, length, more @ ..] = rest else { return None };
        let (number, after) = more.split_at_checked(usize::from(*length))?;
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let number = number.get(zeros..)?;
        both.resize(both.len() + half.checked_sub(number.len())?, 0);
        both.extend_from_slice(number);
        rest = after;
    }
    rest.is_empty().then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_invalid_key_does_not_sign() {
        for text in ["", "key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            let error = assertion(&Secret::new(text), "a", "https://h", "1", 0).unwrap_err();
            assert!(error.contains("no key in PEM"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn both_numbers_of_a_signature_keep_their_positions(first in prop::array::uniform32(any::<u8>()), second in prop::array::uniform32(any::<u8>())) {
            // DER: no leading zeros, except one if the number would look negative.
            let number = |bytes: &[u8]| {
                let mut bytes: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
                if bytes.first().is_none_or(|byte| *byte >= 0x80) {
                    bytes.insert(0, 0);
                }
                [vec![2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
            };
            let inner = [number(&first), number(&second)].concat();
            let der = [vec![0x30, u8::try_from(inner.len()).unwrap()], inner].concat();
            prop_assert_eq!(halves(&der, 32), Some([first, second].concat()));
            for end in 0..der.len() {
                prop_assert_eq!(halves(&der[..end], 32), None);
            }
        }
    }
}
