//! A sandbox's network: what its programs reach through the gate, and nothing else.

use dormouse_core::network::NetworkGrant;
use dormouse_core::sandbox::{Include, Owner, SandboxId, SandboxSpec};
use dormouse_core::testing::wait_for_async;
use dormouse_core::{
    EvalRequest, Language, OfferedPrograms as _, ProgramCall, ProgramRun, Provider as _, Status,
};
use dormouse_files::{Files, Tree};

use crate::life::TreePort;
use crate::list::{FULL, PATIENCE, said, spec};
use crate::outside::{RULES, VALUE, World, python, run};
use crate::support::{Bench, running, wait_for_left};

fn networked(profile: &str) -> (SandboxSpec, NetworkGrant) {
    let grant = NetworkGrant { profile: profile.into(), allow: None };
    let spec =
        SandboxSpec { image: Some(FULL.into()), network: Some(grant.clone()), memory: 256 << 20, ..spec() };
    (spec, grant)
}

#[tokio::test(flavor = "multi_thread")]
async fn net_34_a_container_reaches_what_rules_allow_and_nothing_else() {
    let Some(bench) = Bench::new("net_34").await else { return };
    if !bench.has("net_34", FULL).await {
        return bench.end().await;
    }
    let world = World::new(RULES).await;
    let (spec, grant) = networked("default");
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    assert_eq!(bench.left().await.0, 1, "nothing is made before the first run");
    let sandbox = SandboxId::random().unwrap();
    let door = world.door(&sandbox, "run1", &grant);
    let (http, https) = (world.http, world.https);

    let said = run(&mut machine, &door, &python(&format!("http://a.test:{http}/v1/x"), "")).await.outcome;
    assert!(said.stdout.text.starts_with("200 "), "{} {}", said.stdout.text, said.stderr.text);
    assert!(said.stdout.text.contains("GET /v1/x HTTP/1.1"), "{}", said.stdout.text);

    let header = r#""Authorization": "Bearer " + os.environ["KEY"]"#;
    let url = format!("https://a.test:{https}/v1/y");
    let said = run(&mut machine, &door, &python(&url, header)).await.outcome;
    let stars = "*".repeat(VALUE.len());
    assert!(said.stdout.text.starts_with(&format!("200 {stars} GET /v1/y")), "{}", said.stdout.text);
    assert!(said.stdout.text.contains(&format!("authorization: Bearer {stars}")), "{}", said.stdout.text);
    let told = said.network.unwrap();
    assert_eq!((told.requests, told.secrets_masked >= 2), (2, true), "{told:?}");

    for (url, status, reason) in [
        (format!("https://a.test:{https}/v2/y"), "403", "path"),
        (format!("http://a.test:{http}/"), "403", "path"),
        ("http://b.test/".to_owned(), "403", "host"),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), "403", "host"),
    ] {
        let said = run(&mut machine, &door, &python(&url, "")).await.outcome;
        assert!(said.stdout.text.starts_with(&format!("{status} {reason} ")), "{url}: {}", said.stdout.text);
    }
    let said = run(&mut machine, &door, &python("https://b.test/", "")).await.outcome;
    assert!(said.stdout.text.contains("403 Forbidden"), "{}", said.stdout.text);
    assert!(said.network.unwrap().denied.iter().any(|denied| denied.host == "b.test" && denied.port == 443));
    assert_eq!(world.accepted(), 2, "nobody else was connected to");
    // Each request has its lines, the two that left two of them.
    let audit = world.audit();
    let events: Vec<&str> = audit.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(
        events,
        ["sent", "ended", "sent", "ended", "refused", "refused", "refused", "refused", "refused"]
    );
    assert!(
        audit.iter().all(|line| line["sandbox"] == sandbox.as_str() && line["run"] == "run1"),
        "{audit:?}"
    );
    assert_eq!(audit[3]["secrets"], serde_json::json!(["KEY"]));
    assert!(!format!("{audit:?}").contains(VALUE));
    drop(machine);
    bench.end().await;
}

/// What a script of Python says, with `socket` and `ssl` there and the proxy as `proxy()`.
fn script(text: &str) -> String {
    format!(
        "python3 - <<'E'\nimport os, socket, ssl\ndef proxy():\n    return socket.create_connection(('127.0.0.1', 3128), 10)\n\
         def ask(stream, text):\n    stream.sendall(text.encode()); return stream.recv(65536).decode()\n\
         def failed(call, *with_):\n    try:\n        call(*with_); return 'no error'\n    except Exception as error:\n        return str(error)\n\
         {text}\nE"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn net_34_a_container_sees_no_way_out_but_its_own() {
    let Some(bench) = Bench::new("net_34_own").await else { return };
    if !bench.has("net_34_own", FULL).await {
        return bench.end().await;
    }
    let world = World::new(RULES).await;
    let (spec, grant) = networked("default");
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    let sandbox = SandboxId::random().unwrap();
    let door = world.door(&sandbox, "run1", &grant);
    let https = world.https;
    let mut says = async |text: &str| {
        let outcome = run(&mut machine, &door, text).await.outcome;
        assert_eq!(outcome.exit_code(), 0, "{text}: {} {}", outcome.stdout.text, outcome.stderr.text);
        outcome.stdout.text
    };
    let direct = "for place in [('1.1.1.1', 80), ('10.0.0.1', 80), ('169.254.169.254', 80), ('127.0.0.1', 3129)]:\n    \
                  print(failed(socket.create_connection, place, 5))\n\
                  print(failed(socket.getaddrinfo, 'a.test', 443))\n\
                  print(failed(socket.create_connection, ('2606:4700::1111', 80), 5))";
    let said = says(&script(direct)).await;
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[..3].iter().all(|line| line.contains("Network is unreachable")), "{said}");
    assert!(lines[3].contains("Connection refused") && lines[4].contains("Errno -"), "{said}");
    assert!(lines[5].contains("Cannot assign") || lines[5].contains("unreachable"), "{said}");
    // Neither the program nor its streams, nor a socket, nor a key.
    let look = "ls /sys/class/net; cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '^/relay' ; \
                find / -xdev -type s 2>/dev/null | wc -l; grep -c PRIVATE /run/dormouse/ca.pem; \
                (echo x > /run/dormouse/ca.pem; rm -f /run/dormouse/ca.pem) 2>/dev/null; \
                head -c 27 /run/dormouse/ca.pem; echo; echo \"$HTTPS_PROXY $http_proxy $SSL_CERT_FILE $NO_PROXY\"";
    let said = says(look).await;
    let expected = "lo\n0\n0\n0\n-----BEGIN CERTIFICATE-----\n\
                    http://127.0.0.1:3128 http://127.0.0.1:3128 /run/dormouse/ca.pem \n";
    assert_eq!(said, expected);
    // Through the proxy: addresses, this host, another Host, TLS for another name, HTTP in the clear where https is meant.
    let odd = format!(
        "for place in ['127.0.0.1:{http}', '169.254.169.254:80', 'b.test:{https}', 'localhost:3128']:\n    \
         print(ask(proxy(), f'CONNECT {{place}} HTTP/1.1\\r\\nHost: {{place}}\\r\\n\\r\\n').split('\\r\\n')[0])\n\
         def tunnel():\n    stream = proxy(); assert ' 200 ' in ask(stream, 'CONNECT a.test:{https} HTTP/1.1\\r\\nHost: a.test:{https}\\r\\n\\r\\n'); return stream\n\
         print(ask(tunnel(), 'GET /v1/x HTTP/1.1\\r\\nHost: a.test:{https}\\r\\n\\r\\n').split('\\r\\n')[1])\n\
         print(failed(ssl.create_default_context().wrap_socket, tunnel(), False, True, True, 'b.test'))\n\
         secure = ssl.create_default_context().wrap_socket(tunnel(), server_hostname='a.test')\n\
         print(ask(secure, 'GET /v1/x HTTP/1.1\\r\\nHost: b.test\\r\\n\\r\\n').split('\\r\\n')[1])\n\
         secure = ssl.create_default_context().wrap_socket(tunnel(), server_hostname='a.test')\n\
         print(ask(secure, 'GET /v1/x HTTP/1.1\\r\\nHost: a.test:{https}\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /v2 HTTP/1.1\\r\\nHost: b.test\\r\\n\\r\\n').split('\\r\\n')[0])",
        http = world.http
    );
    let said = says(&script(&odd)).await;
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[..4].iter().all(|line| line.starts_with("HTTP/1.1 403 ")), "{said}");
    assert_eq!(lines[4], "x-dormouse-denied: protocol", "{said}");
    assert!(lines[5] != "no error" && lines[6] == "x-dormouse-denied: authority", "{said}");
    assert!(lines[7].contains(" 400 ") || lines[7].contains(" 200 "), "{said}");
    let untrusted =
        world.audit().iter().any(|line| line["reason"] == "untrusted" && line["host"] == "a.test");
    assert!(untrusted && !world.audit().iter().any(|line| line["path"] == "/v2"));
    // Who ends all of its processes does not end what carries.
    run(&mut machine, &door, "kill -9 -1").await;
    let url = format!("https://a.test:{https}/v1/again");
    let said = run(&mut machine, &door, &python(&url, "")).await.outcome.stdout.text;
    assert!(said.starts_with("200 "), "{said}");
    // Another sandbox has its own rules, its own authority, and nothing of this one's.
    let (other_spec, other_grant) = networked("other");
    let mut other = bench.provider.machine(&other_spec, None).await.unwrap();
    let other_door = world.door(&SandboxId::random().unwrap(), "run2", &other_grant);
    assert!(!other_door.environment.iter().any(|(name, _)| name == "KEY"));
    let said = run(&mut other, &other_door, &python(&format!("https://b.test:{https}/x"), ""))
        .await
        .outcome
        .stdout
        .text;
    assert!(said.starts_with("200 "), "{said}");
    let said = run(&mut other, &other_door, &python(&url, "")).await.outcome.stdout.text;
    assert!(said.contains("403 Forbidden"), "{said}");
    let said = run(&mut machine, &door, "head -c 600 /run/dormouse/ca.pem").await.outcome.stdout.text;
    let theirs = run(&mut other, &other_door, "head -c 600 /run/dormouse/ca.pem").await.outcome.stdout.text;
    assert!(said.len() == 600 && said != theirs);
    assert_eq!(bench.left().await.0, 4, "two sandboxes, and what is beside each");
    drop((machine, other));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn net_24_a_relay_lives_as_long_as_its_container() {
    let Some(bench) = Bench::new("net_24").await else { return };
    if !bench.has("net_24", FULL).await {
        return bench.end().await;
    }
    let world = World::new(RULES).await;
    let (spec, grant) = networked("default");
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    let sandbox = SandboxId::random().unwrap();
    let door = world.door(&sandbox, "run1", &grant);
    let ask = python(&format!("https://a.test:{}/v1/x", world.https), "");
    // Without a door nothing is made.
    assert_eq!(said(&mut machine, "echo $HTTP_PROXY").await.1, "\n");
    assert_eq!(bench.left().await.0, 1);
    assert!(run(&mut machine, &door, &ask).await.outcome.stdout.text.starts_with("200 "));
    let before = running(&bench.docker, &bench.owner()).await;
    assert_eq!(before.len(), 2);
    // One that ends is made anew with the next run.
    let relay = relay_of(&bench).await;
    bench.docker.kill_container(&relay, None).await.unwrap();
    wait_for_async("the end of the relay is seen", PATIENCE, async || {
        let said = run(&mut machine, &door, &ask).await.outcome.stdout.text;
        if said.starts_with("200 ") { Ok(()) } else { Err(said) }
    })
    .await;
    assert_ne!(relay_of(&bench).await, relay);
    // Another container has another beside it, and the same authority.
    let told = run(&mut machine, &door, "head -c 600 /run/dormouse/ca.pem; echo kept > /workspace/file")
        .await
        .outcome
        .stdout
        .text;
    let snapshot = machine.snapshot(Include::Files).await.unwrap();
    machine.restore(snapshot.as_ref()).await.unwrap();
    let outcome = run(&mut machine, &door, "cat file; head -c 600 /run/dormouse/ca.pem").await.outcome;
    assert_eq!(outcome.stdout.text, format!("kept\n{told}"));
    assert!(run(&mut machine, &door, &ask).await.outcome.stdout.text.starts_with("200 "));
    // A sandbox that goes on from a state is another one.
    let other = SandboxId::random().unwrap();
    let mut fork = bench.provider.machine(&spec, Some(snapshot)).await.unwrap();
    let outcome = run(&mut fork, &world.door(&other, "run2", &grant), &ask).await.outcome;
    assert!(outcome.stdout.text.starts_with("200 "), "{}", outcome.stdout.text);
    // What is kept of a sandbox has nothing of it.
    assert!(
        run(&mut fork, &world.door(&other, "run3", &grant), "ls -A /tmp /workspace")
            .await
            .outcome
            .stdout
            .text
            .contains("file")
    );
    drop((machine, fork));
    wait_for_left(&bench.docker, &bench.owner(), (0, 0)).await;
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn net_34_a_single_command_has_the_network_of_its_line() {
    let Some(bench) = Bench::new("net_34_command").await else { return };
    if !bench.has("net_34_command", FULL).await {
        return bench.end().await;
    }
    let world = World::new(RULES).await;
    let (spec, grant) = networked("default");
    let programs = bench.provider.programs(spec);
    let (owner, sandbox) = (Owner::local(), SandboxId::random().unwrap());
    let door = world.door(&sandbox, "run1", &grant);
    let mut files = TreePort(Files::new(Tree::default()));
    let mut says = async |of: ProgramRun<'_>, path: &str| {
        let header = r#""Authorization": "Bearer " + os.environ["KEY"]"#;
        let code = python(&format!("https://a.test:{}{path}", world.https), header);
        let call = ProgramCall {
            name: "sh".into(),
            arguments: vec!["-c".into(), code],
            environment: door.environment.clone(),
            directory: "/workspace".into(),
            ..ProgramCall::default()
        };
        String::from_utf8(programs.run(of, &call, &mut files).await.unwrap().output).unwrap()
    };
    let alone = ProgramRun::of(&owner);
    let networked = ProgramRun { network: Some(&door.door), ..alone };
    let said = says(networked, "/v1/x").await;
    let stars = "*".repeat(VALUE.len());
    assert!(said.starts_with(&format!("200 {stars} GET /v1/x")), "{said}");
    let said = says(networked, "/v2/x").await;
    assert!(said.starts_with("403 path "), "{said}");
    let said = says(alone, "/v1/x").await;
    assert!(!said.starts_with("200 "), "{said}");
    assert_eq!(world.accepted(), 1);
    wait_for_left(&bench.docker, &bench.owner(), (0, 0)).await;
    bench.end().await;
}

/// The container beside the only sandbox's.
async fn relay_of(bench: &Bench) -> String {
    let all = running(&bench.docker, &bench.owner()).await;
    for id in all {
        let looked = bench.docker.inspect_container(&id, None).await.unwrap();
        if looked.host_config.unwrap().network_mode.unwrap().starts_with("container:") {
            return id;
        }
    }
    panic!("there is none")
}

#[tokio::test(flavor = "multi_thread")]
async fn net_22_a_container_has_the_budget_of_its_runs_and_waits_for_nobody() {
    let Some(bench) = Bench::new("net_22").await else { return };
    if !bench.has("net_22", FULL).await {
        return bench.end().await;
    }
    let world = World::new(&format!("{RULES}\n[budget]\nrequests = 12\nconnections = 10\n")).await;
    let (spec, grant) = networked("default");
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    let sandbox = SandboxId::random().unwrap();
    // Eight at once, while one asks for more than it reads.
    let many = format!(
        "import threading, urllib.request\n\
         slow = proxy(); slow.sendall(b'GET http://a.test:{http}/v1/bytes/9000000 HTTP/1.1\\r\\nHost: a.test:{http}\\r\\n\\r\\n')\n\
         sizes = []\n\
         def get(): sizes.append(len(urllib.request.urlopen('https://a.test:{https}/v1/bytes/3000000').read()))\n\
         threads = [threading.Thread(target=get) for _ in range(8)]\n\
         for one in threads: one.start()\n\
         for one in threads: one.join()\n\
         print(sizes)",
        http = world.http,
        https = world.https
    );
    let door = world.door(&sandbox, "run1", &grant);
    let outcome = run(&mut machine, &door, &script(&many)).await.outcome;
    assert_eq!(outcome.stdout.text, format!("{:?}\n", [3_000_000; 8]), "{}", outcome.stderr.text);
    // Each run has its own.
    let few = format!(
        "import urllib.request, urllib.error\n\
         for _ in range(13):\n    \
         print(failed(lambda: urllib.request.urlopen('http://a.test:{}/v1/x').read()))",
        world.http
    );
    let door = world.door(&sandbox, "run2", &grant);
    let outcome = run(&mut machine, &door, &script(&few)).await.outcome;
    let lines: Vec<&str> = outcome.stdout.text.lines().collect();
    assert!(lines[..12].iter().all(|line| *line == "no error"), "{lines:?}");
    assert!(lines[12].contains("429"), "{lines:?}");
    let told = outcome.network.unwrap();
    assert_eq!((told.requests, told.denied[0].reason.as_ref()), (12, "requests"), "{told:?}");
    // An interpreter that goes on from call to call has its network in each.
    let text =
        format!("import urllib.request\nurllib.request.urlopen('http://a.test:{}/v1/x').status", world.http);
    for number in 0..2 {
        let door = world.door(&sandbox, &format!("eval{number}"), &grant);
        let mut request = EvalRequest::new(Language::python(), text.clone());
        request.context.network = Some(door.door.clone());
        request.context.offer_variables(door.environment.clone());
        let outcome = machine.eval(request).await.unwrap();
        assert!(
            matches!(&outcome.status, Status::Returned(_)),
            "{:?} {}",
            outcome.status,
            outcome.stderr.text
        );
        assert_eq!(outcome.network.unwrap().requests, 1);
    }
    let runs: Vec<_> = world.audit().iter().rev().take(3).map(|line| line["run"].clone()).collect();
    assert_eq!(runs, ["eval1", "eval1", "eval0"]);
    drop(machine);
    bench.end().await;
}
