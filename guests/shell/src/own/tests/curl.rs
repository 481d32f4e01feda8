//! `curl` over real connections to a server on this machine.

use super::Shell;
use super::network::server;

/// A shell with `$U`, the address of a server.
fn shell() -> Shell {
    let mut shell = Shell::new();
    let address = server();
    shell.out(&format!("U={address}"));
    shell
}

/// What the server was asked, without what every request has.
#[track_caller]
fn asked(shell: &mut Shell, words: &str) -> String {
    let out = shell.out(&format!("curl {words}"));
    let usual = ["Host: 127.0.0.1", "User-Agent: curl/8.0.0", "Accept: */*"];
    let lines: Vec<&str> =
        out.split("\r\n").filter(|line| !usual.iter().any(|usual| line.starts_with(usual))).collect();
    lines.join("|")
}

#[test]
fn a_request_is_what_the_options_say() {
    let mut shell = shell();
    shell.out("printf 'one\\ntwo\\r\\n' > lines; printf 'A: 1\\nB: 2\\n' > headers");
    for (words, request) in [
        ("$U/a?b=c#d", "GET /a?b=c HTTP/1.1||"),
        ("-X DELETE $U", "DELETE / HTTP/1.1||"),
        (
            "-d a=1 -d b=2 $U",
            "POST / HTTP/1.1|Content-Length: 7|Content-Type: application/x-www-form-urlencoded||a=1&b=2",
        ),
        (
            "-d @lines $U",
            "POST / HTTP/1.1|Content-Length: 6|Content-Type: application/x-www-form-urlencoded||onetwo",
        ),
        (
            "--data-binary @lines -H Content-Type:a/b $U",
            "POST / HTTP/1.1|Content-Type: a/b|Content-Length: 9||one\ntwo|",
        ),
        (
            "--data-raw @lines $U",
            "POST / HTTP/1.1|Content-Length: 6|Content-Type: application/x-www-form-urlencoded||@lines",
        ),
        (
            "--data-urlencode 'a=b c&d' --data-urlencode =é $U",
            "POST / HTTP/1.1|Content-Length: 16|Content-Type: application/x-www-form-urlencoded||a=b+c%26d&%C3%A9",
        ),
        (
            "--json '{\"a\":1}' $U",
            "POST / HTTP/1.1|Content-Type: application/json|Accept: application/json|Content-Length: 7||{\"a\":1}",
        ),
        ("-G -d a=1 --data-urlencode 'b= ' \"$U/?z\"", "GET /?z&a=1&b=+ HTTP/1.1||"),
        ("--url-query 'q=a b' $U", "GET /?q=a+b HTTP/1.1||"),
        ("-u user:pass $U", "GET / HTTP/1.1|Authorization: Basic dXNlcjpwYXNz||"),
        ("${U/\\/\\//\\/\\/user:pass@}", "GET / HTTP/1.1|Authorization: Basic dXNlcjpwYXNz||"),
        ("--oauth2-bearer token $U", "GET / HTTP/1.1|Authorization: Bearer token||"),
        (
            "-e http://from -b a=1 -r 0-9 --compressed $U",
            "GET / HTTP/1.1|Range: bytes=0-9|Accept-Encoding: deflate, gzip|Referer: http://from|Cookie: a=1||",
        ),
        (
            "-H 'X-A: b' -H 'Accept:' -H 'X-Empty;' -H @headers $U",
            "GET / HTTP/1.1|X-A: b|X-Empty: |A: 1|B: 2||",
        ),
        ("-A '' $U", "GET / HTTP/1.1||"),
        ("-T lines $U/up/", "PUT /up/lines HTTP/1.1|Content-Length: 9||one\ntwo|"),
        ("$U/a/../b", "GET /b HTTP/1.1||"),
        ("--path-as-is $U/a/../b", "GET /a/../b HTTP/1.1||"),
        ("-g '$U/[]{}' --url-query a", "GET /[]{}?a HTTP/1.1||"),
    ] {
        let words = words.replace("'$U/[]{}'", "\"$U/[]{}\"");
        assert_eq!(asked(&mut shell, &words), request, "{words}");
    }
    assert_eq!(asked(&mut shell, "-d @- $U < lines"), asked(&mut shell, "-d @lines $U"));
}

#[test]
fn a_form_has_parts() {
    let mut shell = shell();
    shell.out("echo text > a.txt");
    let out = shell.out(
        "curl -F a=b -F 'f=@a.txt' -F 'g=<a.txt;type=x/y' --form-string 'h=@a.txt;type=z' $U | tr -d '\\r'",
    );
    let boundary = out.lines().find_map(|line| line.split_once("boundary=")).unwrap().1;
    let body = out.split_once("\n\n").unwrap().1.replace(boundary, "B");
    assert_eq!(
        body,
        "--B\nContent-Disposition: form-data; name=\"a\"\n\nb\n\
         --B\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\nContent-Type: text/plain\n\ntext\n\n\
         --B\nContent-Disposition: form-data; name=\"g\"\nContent-Type: x/y\n\ntext\n\n\
         --B\nContent-Disposition: form-data; name=\"h\"\n\n@a.txt;type=z\n--B--\n"
    );
}

#[test]
fn answers_go_where_they_are_to_go() {
    let mut shell = shell();
    assert_eq!(
        shell.out("curl -i $U/status/201 | tr -d '\\r'"),
        "HTTP/1.1 201 Created\ncontent-length: 9\n\nthe body\n"
    );
    assert_eq!(shell.out("curl -I $U/status/200 | tr -d '\\r'"), "HTTP/1.1 200 OK\ncontent-length: 9\n\n");
    assert_eq!(shell.out("curl -o out $U/digits; cat out"), "0123456789");
    assert_eq!(
        shell.out("curl -O $U/digits --output-dir new/folder --create-dirs; cat new/folder/digits"),
        "0123456789"
    );
    assert_eq!(shell.out("curl -OJ $U/named/given.txt; cat given.txt"), "named\n");
    assert_eq!(
        shell.out("curl -s $U/digits -o '#1' \"$U/{digits,gzip}\" -o 'x_#1' --compressed; cat x_gzip"),
        "unpacked\n"
    );
    assert_eq!(
        shell.out("curl -D heads -o /dev/null $U/status/204; head -n 1 heads | tr -d '\\r'"),
        "HTTP/1.1 204 No Content\n"
    );
    assert_eq!(
        shell.out(
            "printf 0123 > part; curl -C - -o part $U/digits; cat part; curl -C - -o part $U/digits; cat part"
        ),
        "01234567890123456789"
    );
    assert_eq!(shell.out("curl -w '%{http_code} %{size_download}\\n' -o /dev/null $U/digits"), "200 10\n");
    assert_eq!(shell.out("curl $U/long/10000 | head -n 1"), "0123456789abcde\n");
    assert_eq!(shell.out("curl -o big $U/long/100000; wc -c < big").trim(), "1600000");
    assert_eq!(shell.out("curl -Z $U/status/20[0-3] | wc -l").trim(), "4");
    let came = shell.run("curl -sS -v -o /dev/null $U/status/200 -k");
    assert!(
        came.err.contains("\n> GET /status/200 HTTP/1.1\r\n") && came.err.contains("\n< HTTP/1.1 200 OK\r\n"),
        "{came:?}"
    );
    assert!(came.err.starts_with("* -k changes nothing: "), "{came:?}");
}

#[test]
fn redirects_are_followed_and_what_is_secret_stays() {
    let mut shell = shell();
    let other = super::network::server();
    assert_eq!(shell.out("curl $U/to/302/x"), "moved\n");
    assert_eq!(asked(&mut shell, "-L $U/to/302//x"), "GET /x HTTP/1.1||");
    assert_eq!(asked(&mut shell, "-L -d a $U/to/302//x"), "GET /x HTTP/1.1||");
    assert_eq!(
        asked(&mut shell, "-L -d a $U/to/307//x"),
        "POST /x HTTP/1.1|Content-Length: 1|Content-Type: application/x-www-form-urlencoded||a"
    );
    assert_eq!(
        asked(&mut shell, "-L -d a --post301 $U/to/301//x"),
        "POST /x HTTP/1.1|Content-Length: 1|Content-Type: application/x-www-form-urlencoded||a"
    );
    let secret = "-u a:b -b c=d -H 'Authorization: e' -H 'Cookie: f=g' -H 'X-H: i'";
    assert_eq!(asked(&mut shell, &format!("-L {secret} $U/to/302/{other}/x")), "GET /x HTTP/1.1|X-H: i||");
    assert!(asked(&mut shell, &format!("-L {secret} $U/to/302//x")).contains("Authorization: e|"));
    assert!(
        asked(&mut shell, &format!("--location-trusted {secret} $U/to/302/{other}/x"))
            .contains("Authorization: e|")
    );
    let (told, status) = shell.failure("curl -L --max-redirs 1 $U/to/302//to/302//x");
    assert_eq!((told.as_str(), status), ("curl: (47) Maximum (1) redirects followed\n", 47));
    assert_eq!(
        shell
            .out("curl -sL -o /dev/null -w '%{num_redirects} %{url_effective} %{method}' $U/to/302//x")
            .replace(&shell.out("echo $U").trim().to_owned(), "U"),
        "1 U/x GET"
    );
}

#[test]
fn cookies_are_kept_in_a_file() {
    let mut shell = shell();
    shell.out("curl -s -c jar -o /dev/null $U/set/a=1");
    assert!(shell.out("cat jar").ends_with("127.0.0.1\tFALSE\t/set\tFALSE\t0\ta\t1\n"));
    assert_eq!(asked(&mut shell, "-b jar $U/set/x/y"), "GET /set/x/y HTTP/1.1|Cookie: a=1||");
    assert_eq!(asked(&mut shell, "-b jar $U/other"), "GET /other HTTP/1.1||");
}

#[test]
fn failures_have_curls_statuses() {
    let mut shell = shell();
    for (words, status, told) in [
        ("", 2, "curl: try 'curl --help' for more information\n"),
        ("--foo", 2, "curl: option --foo: is unknown\ncurl: try 'curl --help' for more information\n"),
        ("-s -o", 2, "curl: option -o: requires parameter\ncurl: try 'curl --help' for more information\n"),
        ("-s", 2, "curl: no URL specified!\ncurl: try 'curl --help' for more information\n"),
        (
            "-I -d a $U",
            2,
            "curl: only one request method can be selected: both POST (-d, --data) and HEAD (-I, --head) were asked for\ncurl: try 'curl --help' for more information\n",
        ),
        ("http://a:b:c/", 3, "curl: (3) URL using bad/illegal format or missing URL\n"),
        ("gopher://a/", 1, "curl: (1) Protocol \"gopher\" not supported or disabled in libcurl\n"),
        ("http://nowhere.example/", 6, "curl: (6) Could not resolve host: nowhere.example\n"),
        ("http://denied.example/", 7, "curl: (7) no rule allows `denied.example`\n"),
        ("-f $U/status/404", 22, "curl: (22) The requested URL returned error: 404\n"),
        (
            "-o /nosuch/x $U",
            23,
            "curl: (23) Failure writing output to destination: No such file or directory\n",
        ),
        ("-O $U/", 23, "curl: (23) Remote file name has no length\n"),
        ("-T missing $U", 26, "curl: Can't open 'missing'!\ncurl: try 'curl --help' for more information\n"),
        ("-F a=@missing $U", 26, "curl: (26) Failed to open/read local data from file/application\n"),
        ("$U/nothing", 52, "curl: (52) Empty reply from server\n"),
        ("-s $U/nothing", 52, ""),
        ("--max-filesize 5 $U/digits", 63, "curl: (63) Maximum file size exceeded\n"),
    ] {
        let came = shell.failure(&format!("curl {words}"));
        assert_eq!(came, (told.to_owned(), status), "{words}");
    }
    let came = shell.run("curl $U/short");
    assert_eq!(
        (came.out.as_str(), came.err.as_str(), came.status),
        ("short", "curl: (18) transfer closed with 95 bytes remaining to read\n", 18)
    );
    let came = shell.run("curl --fail-with-body $U/status/500");
    assert_eq!(
        (came.out.as_str(), came.err.as_str(), came.status),
        ("the body\n", "curl: (22) The requested URL returned error: 500\n", 22)
    );
    let (told, status) = shell.failure("curl -m 0.2 $U/silent");
    assert!(status == 28 && told.starts_with("curl: (28) Operation timed out after 2"), "{told}");
    let (told, status) = shell.failure("curl http://127.0.0.1:1/");
    assert!(
        status == 7 && told.starts_with("curl: (7) Failed to connect to 127.0.0.1 port 1 after "),
        "{told}"
    );
    let (told, status) = shell.failure("curl -f --retry 2 --retry-delay 0.01 $U/status/503");
    assert_eq!(status, 22);
    assert_eq!(told.matches("Warning: Problem: HTTP error. Will retry in 0 seconds. ").count(), 2, "{told}");
    assert_eq!(shell.run("curl -f -s $U/status/404 $U/digits").status, 0);
    assert_eq!(shell.run("curl -f -s --fail-early $U/status/404 $U/digits").status, 22);
}

#[test]
fn options_come_from_files_too() {
    let mut shell = shell();
    shell.out("printf 'silent\\nurl = \"%s/x\"\\n-X PUT\\n' $U > conf");
    assert_eq!(asked(&mut shell, "-K conf"), "PUT /x HTTP/1.1||");
    assert_eq!(asked(&mut shell, "-K - < conf"), "PUT /x HTTP/1.1||");
    let out = shell.out("curl -d a $U/one --next $U/two | grep HTTP/ | tr -d '\\r'");
    assert_eq!(out, "POST /one HTTP/1.1\naGET /two HTTP/1.1\n");
    let (told, status) = shell.failure("echo nonsense > bad; curl -K bad $U");
    assert!(status == 2 && told.starts_with("curl: bad:1: option nonsense: is unknown\n"), "{told}");
    assert!(shell.out("curl --help").starts_with("Usage: curl "));
}

#[test]
fn waiting_lets_the_rest_of_the_line_go_on() {
    let mut shell = shell();
    let (told, status) = shell.failure("timeout 0.3 curl $U/silent");
    assert_eq!((told.as_str(), status), ("", 124));
    let out = shell.out("curl -s -m 1 $U/silent & curl -s $U/digits; echo; wait $! || echo $?");
    assert_eq!(out, "0123456789\n28\n");
}
