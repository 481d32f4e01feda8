//! Packages from an index of yours: the host resolves, downloads and checks them; nothing that they hold runs outside the
//! sandbox. Only names of the list can be installed.
//!
//! ```sh
//! cargo run --release --example packages -- http://localhost:3141/simple colours
//! ```
//!
//! With a package `colours` whose module has a name `COUNT`:
//!
//! ```text
//! pip install colours: exit status 0
//! colours.COUNT is 7
//! pip install numbers: exit status 1
//! ERROR: …numbers…
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::sync::Arc;

use dormouse::{Dormouse, Language};
use dormouse_packages::{AllowList, Index, Indexes, Mode, PackagePrograms, Settings};

/// The version of the sandboxes' Python, which requirements of packages are compared with.
fn python(dormouse: &Dormouse) -> String {
    let guests = dormouse.runtime().capabilities().guests;
    let guest = guests.into_iter().find(|guest| guest.language == Language::python());
    let version = guest.and_then(|guest| guest.interpreter.split(' ').next_back().map(str::to_owned));
    version.unwrap_or_else(|| "3.14.0".into())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: packages INDEX-URL NAME".into());
    };
    let settings = Settings {
        mode: Mode::On,
        pip: Some(Index::parse(&url)?),
        allow: AllowList::parse([name.as_str()])?,
        ..Settings::default()
    };
    let packages = Arc::new(Indexes::new(settings)?);

    let state = tempfile::tempdir()?;
    let dormouse = Dormouse::builder()?.state(state.path()).build()?;
    let python = python(&dormouse);
    // `pip` and `npm` on command lines.
    dormouse.sandboxes()?.offer(Arc::new(PackagePrograms::new(packages, python)));

    let work = dormouse.sandbox("work").await?;
    let installed = work.exec(format!("pip install {name}")).await?.outcome;
    println!("pip install {name}: exit status {}", installed.exit_code());
    let count = work.eval("python", format!("import {name}; {name}.COUNT")).await?;
    println!("{name}.COUNT is {}", count.value().and_then(|value| value.as_i64()).unwrap_or_default());

    let refused = work.exec("pip install numbers").await?.outcome;
    println!("pip install numbers: exit status {}", refused.exit_code());
    println!("{}", refused.stderr.text.lines().next().unwrap_or_default());
    dormouse.sandboxes()?.close().await?;
    Ok(())
}
