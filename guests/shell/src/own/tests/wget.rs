//! `wget` over real connections to a server on this machine.

use super::Shell;
use super::network::server;

fn shell() -> Shell {
    let mut shell = Shell::new();
    let address = server();
    shell.out(&format!("U={address}"));
    shell
}

#[test]
fn files_come_to_where_they_are_to_be() {
    let mut shell = shell();
    assert_eq!(
        shell.out("wget -q $U/digits; wget -q $U/digits; cat digits digits.1"),
        "01234567890123456789"
    );
    assert_eq!(shell.out("wget -qO- $U/digits"), "0123456789");
    assert_eq!(shell.out("wget -q -O both $U/digits $U/digits; cat both"), "01234567890123456789");
    assert_eq!(shell.out("wget -qP a/b $U/digits; cat a/b/digits"), "0123456789");
    assert_eq!(
        shell.out("printf 0123 > digits; wget -qc $U/digits; cat digits; wget -qc $U/digits; cat digits"),
        "01234567890123456789"
    );
    assert_eq!(shell.out("wget -q --content-disposition $U/named/n.txt; cat n.txt"), "named\n");
    assert_eq!(
        shell.out("wget -q $U/to/302//digits; cat digits.2; wget -q \"$U/x?y=z\"; ls"),
        "0123456789".to_owned() + &shell.out("ls")
    );
    assert!(shell.out("ls").contains("x?y=z\n"));
    assert_eq!(shell.out("echo $U/digits | wget -q -O- -i -"), "0123456789");
    assert_eq!(shell.out("wget -qO- --compression=auto $U/gzip"), "unpacked\n");
}

#[test]
fn a_request_is_what_the_options_say() {
    let mut shell = shell();
    shell.out("printf body > file");
    let usual = ["Host: ", "User-Agent: Wget/1.21.3", "Accept: */*", "Accept-Encoding: identity"];
    for (words, request) in [
        (
            "--post-data a=b",
            "POST / HTTP/1.1|Content-Type: application/x-www-form-urlencoded|Content-Length: 3||a=b",
        ),
        (
            "--post-file file --header 'Content-Type: a/b'",
            "POST / HTTP/1.1|Content-Type: a/b|Content-Length: 4||body",
        ),
        (
            "--method put --body-data x",
            "PUT / HTTP/1.1|Content-Type: application/x-www-form-urlencoded|Content-Length: 1||x",
        ),
        ("--method=DELETE --header='X-A: b' -U me", "DELETE / HTTP/1.1|User-Agent: me|X-A: b||"),
        (
            "--user a --password b --referer http://from",
            "GET / HTTP/1.1|Referer: http://from|Authorization: Basic YTpi||",
        ),
    ] {
        let out = shell.out(&format!("wget -qO- {words} $U"));
        let lines: Vec<&str> =
            out.split("\r\n").filter(|line| !usual.iter().any(|usual| line.starts_with(usual))).collect();
        assert_eq!(lines.join("|"), request, "{words}");
    }
}

#[test]
fn what_is_said_is_what_wget_says() {
    let mut shell = shell();
    let moments = timeless();
    let mut said = |words: &str| {
        let came = shell.run(&format!("wget {words}"));
        let address = shell.out("echo $U");
        (moments(&came.err.replace(address.trim(), "U")), came.status)
    };
    assert_eq!(
        said("$U/digits"),
        ("--T--  U/digits\nHTTP request sent, awaiting response... 200 OK\nLength: 10\nSaving to: ‘digits’\n\nT (S) - ‘digits’ saved [10/10]\n\n".into(), 0)
    );
    assert_eq!(said("-nv -O out $U/digits"), ("T URL:U/digits [10/10] -> \"out\" [1]\n".into(), 0));
    assert_eq!(said("-nc $U/digits"), ("File ‘digits’ already there; not retrieving.\n\n".into(), 0));
    assert_eq!(
        said("$U/status/404"),
        ("--T--  U/status/404\nHTTP request sent, awaiting response... 404 Not Found\nT ERROR 404: Not Found.\n\n".into(), 8)
    );
    assert_eq!(said("-nv $U/status/404"), ("U/status/404:\nT ERROR 404: Not Found.\n".into(), 8));
    assert_eq!(said("-q $U/status/404"), (String::new(), 8));
    assert_eq!(
        said("-nv --spider $U/status/404"),
        ("U/status/404:\nRemote file does not exist -- broken link!!!\n".into(), 8)
    );
    assert_eq!(
        said("--spider $U/status/200"),
        ("Spider mode enabled. Check if remote file exists.\n--T--  U/status/200\nHTTP request sent, awaiting response... 200 OK\nLength: 9\nRemote file exists.\n\n".into(), 0)
    );
    assert_eq!(
        said("-nv http://nowhere.example/"),
        ("wget: unable to resolve host address ‘nowhere.example’\n".into(), 4)
    );
    assert_eq!(said("-q http://denied.example/"), ("wget: no rule allows `denied.example`\n".into(), 4));
    assert_eq!(
        said("-nv http://127.0.0.1:1/"),
        ("Connecting to 127.0.0.1:1... failed: Connection refused.\n".into(), 4)
    );
    assert_eq!(
        said("-nv -t 2 --waitretry 0.01 $U/nothing"),
        ("No data received.\nNo data received.\n".into(), 4)
    );
    assert_eq!(
        said("-nv -t 1 -O- -T 0.1 $U/silent"),
        ("Read error (Connection timed out) in headers.\n".into(), 4)
    );
    let (told, status) = said("-r $U");
    assert!(status == 2 && told.starts_with("wget: --recursive is not supported: "), "{told}");
    assert_eq!(said("--foo").1, 2);
    assert_eq!(said("").1, 1);
}

/// Takes moments and speeds out of a text.
fn timeless() -> impl Fn(&str) -> String {
    |text| {
        let line = |line: &str| {
            let mut line = line.to_owned();
            let digits =
                |text: &str| text.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()));
            let start = if line.starts_with("--") { 2 } else { 0 };
            if line.get(start..).is_some_and(digits) && line.len() >= start + 19 {
                line.replace_range(start..start + 19, "T");
            }
            if let (Some(open), Some(close)) = (line.find(" ("), line.find("B/s)")) {
                line.replace_range(open + 2..close + 3, "S");
            }
            line
        };
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }
}
