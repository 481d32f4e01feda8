//! `dormouse mcp install` and `uninstall`: an entry in the configuration of a client.
//!
//! Owns: where each client has its configuration, and the form of an entry. What else is in the file stays as it is; the file as it was
//! is kept beside it, and the new one takes its place as a whole.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use dormouse::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json, json};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::args::{Client, ClientArgs, ClientCommand, InstallArgs};
use crate::exit::Failure;
use crate::print;

/// Most bytes of a configuration.
const MAX_FILE: u64 = 4 << 20;

impl Client {
    /// Its configuration: in the home folder, or in this one.
    fn file(self) -> Result<PathBuf> {
        let home = || {
            let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
            home.ok_or_else(|| {
                Error::args_invalid("HOME is not set").with_hint("name the configuration with `--file`")
            })
        };
        Ok(match self {
            Self::ClaudeCode => ".mcp.json".into(),
            Self::Vscode => ".vscode/mcp.json".into(),
            Self::ClaudeDesktop => home()?.join(".config/Claude/claude_desktop_config.json"),
            Self::Cursor => home()?.join(".cursor/mcp.json"),
            Self::Codex => home()?.join(".codex/config.toml"),
        })
    }

    /// Where the servers are in it.
    fn servers(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor => "mcpServers",
            Self::Vscode => "servers",
            Self::Codex => "mcp_servers",
        }
    }

    /// The entry of a server.
    fn entry(self, program: &str, arguments: &[String]) -> Json {
        match self {
            Self::Vscode => json!({"type": "stdio", "command": program, "args": arguments}),
            _ => json!({"command": program, "args": arguments}),
        }
    }

    /// A configuration with an entry more, or with one less.
    ///
    /// # Errors
    /// `args_invalid` for a text that cannot be changed without losing something of it.
    fn changed(self, text: &str, name: &str, entry: Option<&Json>) -> Result<String> {
        match self {
            Self::Codex => in_toml(text, self.servers(), name, entry),
            _ => in_json(text, self.servers(), name, entry),
        }
    }
}

fn in_json(text: &str, servers: &str, name: &str, entry: Option<&Json>) -> Result<String> {
    let mut whole: Map<String, Json> = match text.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text)
            .map_err(|error| unreadable(&format!("it is no object of JSON: {error}")))?,
    };
    let all = whole.entry(servers).or_insert_with(|| json!({}));
    let all = all.as_object_mut().ok_or_else(|| unreadable(&format!("`{servers}` is no object")))?;
    match entry {
        Some(entry) => drop(all.insert(name.to_owned(), entry.clone())),
        None => drop(all.shift_remove(name).ok_or_else(|| absent(name))?),
    }
    Ok(format!("{:#}\n", Json::Object(whole)))
}

/// What else is in the file stays as it was written, with its comments.
fn in_toml(text: &str, servers: &str, name: &str, entry: Option<&Json>) -> Result<String> {
    let mut whole: DocumentMut =
        text.parse().map_err(|error| unreadable(&format!("it is no TOML: {error}")))?;
    let all = whole.entry(servers).or_insert_with(|| {
        let mut all = Table::new();
        all.set_implicit(true);
        Item::Table(all)
    });
    let all = all.as_table_like_mut().ok_or_else(|| unreadable(&format!("`{servers}` is no table")))?;
    let Some(entry) = entry else {
        all.remove(name).ok_or_else(|| absent(name))?;
        return Ok(whole.to_string());
    };
    let mut table = Table::new();
    let arguments = entry["args"].as_array().into_iter().flatten().filter_map(Json::as_str);
    table.insert("command", value(entry["command"].as_str().unwrap_or_default()));
    table.insert("args", value(arguments.collect::<Array>()));
    // One that is there keeps its place, and what is written before it.
    if let Some(there) = all.get(name).and_then(Item::as_table) {
        *table.decor_mut() = there.decor().clone();
        table.set_position(there.position());
    }
    all.insert(name, Item::Table(table));
    Ok(whole.to_string())
}

fn unreadable(why: &str) -> Error {
    Error::args_invalid(format!("the configuration cannot be changed: {why}"))
        .with_hint("add the entry by hand; `--dry-run --file /dev/null` prints it")
}

fn absent(name: &str) -> Error {
    Error::new(ErrorCode::NotFound, format!("the configuration has no server `{}`", name.escape_debug()))
        .with_hint("say which one with `--name`")
}

/// Changes the configuration of a client, or prints what it would be.
pub(crate) fn run(command: &ClientCommand) -> Result<u8, Failure> {
    let (client, entry) = match command {
        ClientCommand::Install(InstallArgs { client, options }) => {
            let program = std::env::current_exe()
                .map_err(|error| Error::internal("this program has no path", error))?;
            let program =
                program.to_str().ok_or_else(|| Error::args_invalid("the path of this program is no text"))?;
            let arguments: Vec<String> = [&["mcp".to_owned()][..], options].concat();
            (client, Some(client.client.entry(program, &arguments)))
        }
        ClientCommand::Uninstall(client) => (client, None),
    };
    change(client, entry.as_ref()).map_err(Failure::from)
}

fn change(asked: &ClientArgs, entry: Option<&Json>) -> Result<u8> {
    let ClientArgs { client, name, file, dry_run } = asked;
    if name.is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
        return Err(Error::args_invalid("the name of a server has 1 to 64 bytes without control characters"));
    }
    let file = match file {
        Some(file) => file.clone(),
        None => client.file()?,
    };
    let cannot = |what: &str, error: std::io::Error| {
        Error::args_invalid(format!("`{}` cannot be {what}: {error}", file.display())).with_source(error)
    };
    // What a link leads to is what the client reads.
    let file = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
    let before = match fs::metadata(&file) {
        Ok(found) if found.len() > MAX_FILE => {
            return Err(unreadable(&format!("it has more than {MAX_FILE} bytes")));
        }
        Ok(_) => fs::read_to_string(&file).map_err(|error| cannot("read", error))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot("read", error)),
    };
    let after = client.changed(&before, name, entry)?;
    if *dry_run {
        print::out(&after).map_err(|error| Error::internal("what is printed is not taken", error))?;
        return Ok(0);
    }
    if before == after {
        say(&format!("{} has it already.\n", file.display()))?;
        return Ok(0);
    }
    replace(&file, &before, &after).map_err(|error| cannot("written", error))?;
    let kept = if before.is_empty() {
        String::new()
    } else {
        format!(" As it was it is in {}.", backup(&file).display())
    };
    say(&format!("{} is changed.{kept} Start the client again.\n", file.display()))?;
    Ok(0)
}

fn say(text: &str) -> Result<()> {
    print::out(text).map_err(|error| Error::internal("what is printed is not taken", error))
}

fn backup(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".bak");
    name.into()
}

/// Puts a text in the place of a file, as a whole, with the rights that the file had.
fn replace(file: &Path, before: &str, after: &str) -> std::io::Result<()> {
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    if !before.is_empty() {
        fs::copy(file, backup(file))?;
    }
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    draft.write_all(after.as_bytes())?;
    let rights = fs::metadata(file).map(|found| found.permissions());
    if let Ok(rights) = rights {
        draft.as_file().set_permissions(rights)?;
    }
    draft.as_file().sync_all()?;
    draft.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Client; 5] =
        [Client::ClaudeCode, Client::ClaudeDesktop, Client::Cursor, Client::Vscode, Client::Codex];

    fn entry(client: Client) -> Json {
        client.entry("/bin/dormouse", &["mcp".into(), "--state-dir".into(), "a \"b\\".into()])
    }

    #[test]
    fn an_entry_comes_and_goes_and_the_rest_stays() {
        for client in ALL {
            let before = match client {
                Client::Codex => "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n",
                Client::Vscode => "{\"servers\": {\"other\": {\"command\": \"y\"}}, \"z\": [1, 2]}",
                _ => "{\"mcpServers\": {\"other\": {\"command\": \"y\"}}, \"z\": [1, 2]}",
            };
            let with = client.changed(before, "dormouse", Some(&entry(client))).unwrap();
            assert!(with.contains("/bin/dormouse") && with.contains("other"), "{with}");
            assert_eq!(
                client.changed(&with, "dormouse", Some(&entry(client))).unwrap(),
                with,
                "twice is once"
            );
            let without = client.changed(&with, "dormouse", None).unwrap();
            assert!(!without.contains("dormouse") && without.contains("other"), "{without}");
            if client == Client::Codex {
                assert!(without.starts_with(before.trim_end()), "{without}");
            }
            assert_eq!(
                client.changed(&without, "dormouse", None).unwrap_err().code(),
                ErrorCode::NotFound,
                "{without}"
            );
            assert!(client.changed("", "my server.1", Some(&entry(client))).unwrap().contains("my server.1"));
        }
    }

    #[test]
    fn what_would_lose_something_is_refused() {
        for (client, text) in [
            (Client::Vscode, "{ // mine\n}"),
            (Client::Cursor, "[]"),
            (Client::ClaudeCode, "{\"mcpServers\": 1}"),
            (Client::Codex, "model = "),
            (Client::Codex, "mcp_servers = 1"),
        ] {
            let error = client.changed(text, "dormouse", Some(&entry(client))).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{text}");
            assert!(error.hint().is_some(), "{text}");
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_with_its_rights_and_kept_as_it_was() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("deep/config.json");
        let asked = |dry_run| ClientArgs {
            client: Client::Cursor,
            name: "dormouse".into(),
            file: Some(file.clone()),
            dry_run,
        };
        change(&asked(false), Some(&entry(Client::Cursor))).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let first = fs::read_to_string(&file).unwrap();
        change(&asked(true), None).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), first, "a dry run changes nothing");
        change(&asked(false), None).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"mcpServers\": {}\n}\n");
        assert_eq!(fs::read_to_string(backup(&file)).unwrap(), first);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// The lines of the book are those that are written.
    #[test]
    fn the_book_shows_what_is_written() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/getting-started/mcp-client.md");
        let page = fs::read_to_string(page).unwrap();
        for client in ALL {
            let text =
                client.changed("", "dormouse", Some(&client.entry("dormouse", &["mcp".into()]))).unwrap();
            let shown: String = text.split_whitespace().collect();
            let page: String = page.split_whitespace().collect();
            assert!(page.contains(&shown), "{client:?}: {text}");
        }
    }
}
