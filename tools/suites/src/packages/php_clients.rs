//! Clients of PHP: Guzzle and Symfony's HttpClient, by curl and by streams.

use std::path::PathBuf;

use anyhow::Result;

use super::{Check, PHP_AUTOLOAD, PHP_PACKAGES, debian};

const PACKAGES: [&str; 9] = [
    "php-guzzlehttp-guzzle",
    "php-guzzlehttp-promises",
    "php-guzzlehttp-psr7",
    "php-psr-http-client",
    "php-psr-http-factory",
    "php-psr-http-message",
    "php-symfony-http-client",
    "php-symfony-http-client-contracts",
    "php-symfony-polyfill-php80",
];

/// What is done is in `clients.php`; the value is the list of what went wrong.
pub(super) const CHECKS: [Check; 6] = [
    ("return guzzle(null, '$HTTPS', '$HTTP', $GONE);", "[]"),
    ("return guzzle(new GuzzleHttp\\Handler\\CurlHandler(), '$HTTPS', '$HTTP', $GONE);", "[]"),
    ("return guzzle(new GuzzleHttp\\Handler\\CurlMultiHandler(), '$HTTPS', '$HTTP', $GONE);", "[]"),
    ("return guzzle(new GuzzleHttp\\Handler\\StreamHandler(), '$HTTPS', '$HTTP', $GONE);", "[]"),
    ("return symfony(new Symfony\\Component\\HttpClient\\CurlHttpClient(), '$HTTPS', '$HTTP', $GONE);", "[]"),
    (
        "return symfony(new Symfony\\Component\\HttpClient\\NativeHttpClient(), '$HTTPS', '$HTTP', $GONE);",
        "[]",
    ),
];

/// A project over Debian's packages of the clients.
pub(super) fn project() -> Result<Result<PathBuf, String>> {
    let loaded = ["GuzzleHttp", "GuzzleHttp/Promise"]
        .map(|folder| format!("require __DIR__ . '/{folder}/functions_include.php';\n"));
    let autoload = format!("{PHP_AUTOLOAD}{}require __DIR__ . '/clients.php';\n", loaded.concat());
    let clients = include_str!("../../../../tests/conformance/packages/clients.php");
    let packages = [&PHP_PACKAGES[..], &PACKAGES].concat();
    debian(
        "packages-php-clients",
        &packages,
        &[("vendor/autoload.php", &autoload), ("vendor/clients.php", clients)],
    )
}
