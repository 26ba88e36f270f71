//! A temporary certificate, for clients that require https.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::portal::StartError;

/// A server's side of TLS, and the certificate that clients must trust, as PEM.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) pem: String,
}

/// Makes a temporary certificate authority and a certificate for this address. The keys exist only in memory.
pub(crate) fn temporary(address: IpAddr) -> Result<Tls, StartError> {
    make(address).map_err(|problem| StartError::Tls(problem.to_string()))
}

fn make(address: IpAddr) -> Result<Tls, Box<dyn std::error::Error + Send + Sync>> {
    let mut authority = rcgen::CertificateParams::new(Vec::new())?;
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    authority.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign, rcgen::KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(rcgen::DnType::CommonName, "Obelus sandbox, to throw away");
    let authority_key = rcgen::KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = rcgen::Issuer::new(authority, authority_key);

    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !names.contains(&address.to_string()) {
        names.push(address.to_string());
    }
    let mut server = rcgen::CertificateParams::new(names)?;
    server.distinguished_name.push(rcgen::DnType::CommonName, "localhost");
    server.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    let server_key = rcgen::KeyPair::generate()?;
    let server_certificate = server.signed_by(&server_key, &issuer)?;

    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
    let chain = vec![server_certificate.der().clone(), authority_certificate.der().clone()];
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), pem: authority_certificate.pem() })
}

/// Writes the certificate to a new file in this folder.
pub(crate) fn write_pem(pem: &str, folder: &Path, port: u16) -> std::io::Result<PathBuf> {
    let mut attempt = 0;
    loop {
        let name = format!("obelus-sandbox-{}-{port}-{attempt}.pem", std::process::id());
        let path = folder.join(name);
        match std::fs::File::create_new(&path) {
            Ok(mut file) => {
                std::io::Write::write_all(&mut file, pem.as_bytes())?;
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}
