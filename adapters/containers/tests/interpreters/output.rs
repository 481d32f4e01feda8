//! Output: huge, binary, of child processes, while the call goes on.

use std::sync::{Arc, Mutex};

use dormouse_core::{OutputSink, Stream};

use crate::support::{in_language, languages, start, value};

#[tokio::test]
async fn huge_output_is_counted_and_cut() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "for _ in range(16): print('x' * (1 << 20))\n'end'",
                "for (let i = 0; i < 16; i++) console.log('x'.repeat(1 << 20)); 'end'",
                "for ($i = 0; $i < 16; $i++) echo str_repeat('x', 1 << 20), \"\\n\"; 'end'",
            ],
        );
        let reply = running.eval(code).await;
        assert_eq!(value(&reply)["value"], "end");
        let total = 16 * ((1 << 20) + 1);
        assert_eq!(reply.stdout.total_bytes, total, "{language}");
        assert_eq!(reply.stdout.text.len() as u64, 16 << 10);
        assert_eq!(reply.stdout.dropped_bytes, total - (16 << 10));
        assert_eq!(reply.stderr.total_bytes, 0, "{language}: {}", reply.stderr.text);
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_arrive() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "import os\nos.write(1, bytes(range(256)) + b'end')\nos.write(2, b'\\xff')\nNone",
                "const all = Buffer.from([...Array(256).keys()]); const fs = require('fs'); fs.writeSync(1, all); fs.writeSync(1, 'end'); fs.writeSync(2, Buffer.from([255])); null",
                "fwrite(STDOUT, implode('', array_map('chr', range(0, 255))) . 'end'); fwrite(STDERR, \"\\xff\"); null",
            ],
        );
        let reply = running.eval(code).await;
        assert!(value(&reply)["value"].is_null(), "{language}");
        assert_eq!((reply.stdout.total_bytes, reply.stderr.total_bytes), (259, 1), "{language}");
        assert!(reply.stdout.text.ends_with("\u{fffd}end"));
        assert_eq!(reply.stderr.text, "\u{fffd}");
    }
}

#[tokio::test]
async fn what_child_processes_write_is_of_the_call() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "import subprocess\nprint('before')\nsubprocess.run(['sh', '-c', 'echo out; echo err >&2']).returncode",
                "console.log('before'); require('child_process').spawnSync('/bin/sh', ['-c', 'echo out; echo err >&2'], { stdio: 'inherit' }).status",
                "echo \"before\\n\"; passthru('echo out; echo err >&2', $status); $status",
            ],
        );
        let reply = running.eval(code).await;
        assert_eq!(value(&reply)["value"], 0, "{language}");
        assert_eq!(
            (reply.stdout.text.as_str(), reply.stderr.text.as_str()),
            ("before\nout\n", "err\n"),
            "{language}"
        );
    }
}

struct Heard(Mutex<Vec<(Stream, String)>>);

impl OutputSink for Heard {
    fn write(&self, stream: Stream, bytes: &[u8]) {
        self.0.lock().expect("no panic").push((stream, String::from_utf8_lossy(bytes).into_owned()));
    }
}

#[tokio::test]
async fn output_is_heard_while_the_call_goes_on() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "print('first')\ncall_tool('look')",
                "console.log('first'); callTool('look')",
                "echo \"first\\n\"; call_tool('look')",
            ],
        );
        let heard = Arc::new(Heard(Mutex::default()));
        let mut request = running.snippet(code);
        request.context.output = Some(heard.clone());
        let seen = heard.clone();
        let look = dormouse_core::Callback::new("Looks.", serde_json::json!({}), move |_| {
            let count = seen.0.lock().unwrap().len();
            async move { Ok(count.into()) }
        });
        request.context.callbacks.insert("look", look).unwrap();
        assert_eq!(value(&running.request(request).await)["value"], 1, "{language}");
        assert_eq!(*heard.0.lock().unwrap(), [(Stream::Stdout, "first\n".to_owned())]);
    }
}

#[tokio::test]
async fn a_closed_stream_is_open_again_in_the_next_call() {
    for language in languages() {
        if language.as_str() == "php" {
            continue;
        }
        let mut running = start(&language).await;
        if language.as_str() == "python" {
            running.eval("import os\nos.close(1)\nos.close(2)").await;
        } else {
            running.eval("process.stdout.end()").await;
        }
        let code = in_language(&language, ["print('again')", "require('fs').writeSync(1, 'again\\n')", ""]);
        assert_eq!(running.eval(code).await.stdout.text, "again\n", "{language}");
    }
}
