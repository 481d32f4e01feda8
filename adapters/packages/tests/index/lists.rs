//! Files with requirements, constraints and locked versions, as `pip` takes them on a command line.

use serde_json::json;

use crate::build::{Form, Wheel, project, sha256};
use crate::install::{Sandbox, path};
use crate::programs::run;
use crate::server::Server;

async fn index() -> Server {
    let server = Server::start().await;
    project(&server, Form::Json, &[Wheel::new("app", "1.0").requires("lib")]);
    project(&server, Form::Json, &[Wheel::new("lib", "1.5"), Wheel::new("lib", "2.1")]);
    server
}

fn put(sandbox: &Sandbox, name: &str, text: &str) {
    sandbox.0.write(&path(&format!("/workspace/app/{name}")), text.as_bytes()).unwrap();
}

async fn pip(server: &Server, sandbox: &mut Sandbox, line: &str) -> (u8, String) {
    run(server, sandbox, "pip", line).await
}

#[tokio::test]
async fn constraints_bound_what_is_needed_and_install_nothing() {
    let server = index().await;
    let mut sandbox = Sandbox::new(1 << 20);
    put(&sandbox, "constraints.txt", "lib<2\nnever==1.0\n");
    let (status, said) = pip(&server, &mut sandbox, "install -c constraints.txt").await;
    assert!(status == 1 && said.contains("at least one requirement"), "{said}");
    let (_, said) = pip(&server, &mut sandbox, "install -c constraints.txt app").await;
    assert_eq!(said, "Successfully installed app-1.0 lib-1.5\n");
    put(&sandbox, "constraints.txt", "lib[extra]<2\n");
    let (status, said) = pip(&server, &mut sandbox, "install --constraint=constraints.txt app").await;
    assert!(status == 1 && said.contains("constraint with extras"), "{said}");
    put(&sandbox, "constraints.txt", "lib>=9\n");
    let (status, said) = pip(&server, &mut sandbox, "install -U -c constraints.txt app lib").await;
    assert!(status == 1 && said.contains(">=9"), "{said}");
}

/// A file is named as seen from the one that names it.
#[tokio::test]
async fn requirements_name_further_files() {
    let server = index().await;
    let mut sandbox = Sandbox::new(1 << 20);
    put(&sandbox, "requirements/all.txt", "-r base.txt\n-c ../constraints.txt\n");
    put(&sandbox, "requirements/base.txt", "app==1.0\n");
    put(&sandbox, "constraints.txt", "lib<2\n");
    let (_, said) = pip(&server, &mut sandbox, "install -r requirements/all.txt").await;
    assert_eq!(said, "Successfully installed app-1.0 lib-1.5\n");
    put(&sandbox, "requirements/base.txt", "-r all.txt\n");
    let (status, said) = pip(&server, &mut sandbox, "install -r requirements/all.txt").await;
    assert!(status == 1 && said.contains("more than 64"), "{said}");
    put(&sandbox, "requirements/base.txt", "-r ../../../../../etc/passwd\n");
    let (status, said) = pip(&server, &mut sandbox, "install -r requirements/all.txt").await;
    assert!(status == 1 && said.contains("/etc/passwd"), "{said}");
}

#[tokio::test]
async fn a_lock_file_is_installed_in_its_versions_and_with_its_hashes() {
    let server = index().await;
    let mut sandbox = Sandbox::new(1 << 20);
    let lock = |hash: &str| {
        let package = |name: &str, version: &str, hash: &str| {
            format!(
                "[[packages]]\nname = '{name}'\nversion = '{version}'\nwheels = [{{name = 'x', hashes = {{sha256 = '{hash}'}}}}]\n"
            )
        };
        let app = sha256(&Wheel::new("app", "1.0").requires("lib").build());
        format!(
            "lock-version = '1.0'\ncreated-by = 'test'\n{}{}",
            package("app", "1.0", &app),
            package("lib", "1.5", hash)
        )
    };
    put(&sandbox, "pylock.toml", &lock(&"0".repeat(64)));
    let (status, said) = pip(&server, &mut sandbox, "install -r pylock.toml").await;
    assert!(status == 1 && said.contains("hashes"), "{said}");
    put(&sandbox, "pylock.toml", &lock(&sha256(&Wheel::new("lib", "1.5").build())));
    let (_, said) = pip(&server, &mut sandbox, "install -r pylock.toml").await;
    assert_eq!(said, "Successfully installed app-1.0 lib-1.5\n");
    put(&sandbox, "pylock.toml", &json!({}).to_string());
    let (status, said) = pip(&server, &mut sandbox, "install -r pylock.toml").await;
    assert!(status == 1 && said.contains("the lock file cannot be read"), "{said}");
}
