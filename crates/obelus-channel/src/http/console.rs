//! The console: the embedded files of `console/dist`.
//!
//! The files contain no data and need no token. `cargo xtask console` builds them. If they are missing, a plain page
//! says so.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use rust_embed::Embed;

/// The files of the console.
#[derive(Embed)]
#[folder = "../../console/dist"]
#[allow_missing = true]
struct Files;

/// The page's content policy: its own files, calls of this server, and pictures fetched with the token.
const POLICY: &str = "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'";

/// The page if the console has not been built.
const NOT_BUILT: &str = include_str!("docs/no-console.html");

/// The path of the console's files, which need no token.
pub(super) const ASSETS: &str = "/assets/";
pub(super) const ICON: &str = "/favicon.svg";

/// The page.
pub(super) async fn page() -> Response {
    match Files::get("index.html") {
        Some(file) => answer("index.html", file.data.into_owned(), "no-store"),
        None => answer("index.html", NOT_BUILT.into(), "no-store"),
    }
}

/// One of its files. Their names contain digests of the content.
pub(super) async fn asset(Path(name): Path<String>) -> Response {
    let name = format!("assets/{name}");
    match Files::get(&name) {
        Some(file) => answer(&name, file.data.into_owned(), "public, max-age=31536000, immutable"),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Its icon.
pub(super) async fn icon() -> Response {
    match Files::get("favicon.svg") {
        Some(file) => answer("favicon.svg", file.data.into_owned(), "no-store"),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn answer(name: &str, bytes: Vec<u8>, cache: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind_of(name))),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (CACHE_CONTROL, HeaderValue::from_static(cache)),
    ];
    (headers, Body::from(bytes)).into_response()
}

/// The content type for a file name.
fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" | "map" => "application/json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_follows_from_the_file_extension() {
        assert_eq!(kind_of("assets/index-4f.js"), "text/javascript; charset=utf-8");
        assert_eq!(kind_of("assets/a.css"), "text/css; charset=utf-8");
        assert_eq!(kind_of("assets/x"), "application/octet-stream");
    }

    #[test]
    fn the_page_loads_no_external_scripts_or_styles() {
        assert!(!POLICY.contains("unsafe") && !POLICY.contains("http"), "{POLICY}");
        assert!(!NOT_BUILT.contains("<script") && !NOT_BUILT.contains("style"));
    }
}
