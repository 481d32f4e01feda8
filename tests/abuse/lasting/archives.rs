//! Hostile archives, uploaded through the tool.

use super::*;

/// One entry of a tar, as it is written.
fn entry(name: &[u8], kind: u8, link: &[u8], content: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..name.len()].copy_from_slice(name);
    header[100..107].copy_from_slice(b"0006755");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[156] = kind;
    header[157..157 + link.len()].copy_from_slice(link);
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut bytes = header.to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// Archives that Python makes: larger than they look, with too many names, encrypted or lying about themselves.
const BOMBS: &str = "import zipfile, io, zlib, gzip
def make(name, fill, kind=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(name, 'w', kind) as z: fill(z)
make('ratio', lambda z: z.writestr('big', bytes(60 << 20)))
make('many', lambda z: [z.writestr(f'{n}', b'') for n in range(20_001)], zipfile.ZIP_STORED)
make('up', lambda z: (z.writestr('ok', b'1'), z.writestr('../up', b'1')))
make('absolute', lambda z: (z.writestr('ok', b'1'), z.writestr('/abs', b'1')))
make('backslash', lambda z: (z.writestr('ok', b'1'), z.writestr('a\\\\..\\\\b', b'1')))
def link(z):
    i = zipfile.ZipInfo('l'); i.create_system = 3; i.external_attr = 0o120777 << 16; z.writestr(i, '/etc/passwd')
    z.writestr('l/x', b'through')
make('link', link)
whole = open('ratio', 'rb').read()
open('cut', 'wb').write(whole[:len(whole) // 2])
b = io.BytesIO(); make(b, lambda z: z.writestr('a', b'hello'), zipfile.ZIP_STORED); b = bytearray(b.getvalue())
at = b.find(b'PK\\x01\\x02'); b[at + 20:at + 28] = b'\\xff\\xff\\xff\\x7f' * 2; open('claims', 'wb').write(b)
open('gzip', 'wb').write(gzip.compress(bytes(60 << 20)))
0";

#[test]
fn fs_09_a_hostile_archive_is_refused_as_a_whole() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let workshop = named(&dormouse, "workshop");
        let mut request = EvalRequest::new(Language::python(), BOMBS);
        request.context.limits.wall = Duration::from_secs(30);
        let made = sandbox::wait(workshop.run(request)).unwrap();
        assert!(made.is_ok(), "{}", answer(&made));
        let mut archives: Vec<(String, Vec<u8>)> =
            ["ratio", "many", "up", "absolute", "backslash", "link", "cut", "claims", "gzip"]
                .map(|name| {
                    (name.into(), sandbox::wait(workshop.read(&format!("/workspace/{name}"))).unwrap())
                })
                .into();
        let good = entry(b"ok", b'0', b"", b"1");
        let host = canary::path();
        let end = vec![0; 1024];
        for (name, bad) in [
            (
                "symbolic link, then through it",
                [entry(b"l", b'2', b"/etc", b""), entry(b"l/x", b'0', b"", b"1")].concat(),
            ),
            ("hard link to the host", entry(b"h", b'1', host.as_os_str().as_bytes(), b"")),
            ("device", entry(b"dev", b'3', b"", b"")),
            ("block device", entry(b"dev", b'4', b"", b"")),
            ("FIFO", entry(b"pipe", b'6', b"", b"")),
            ("parent", entry(b"../x", b'0', b"", b"1")),
            ("absolute", entry(b"/workspace/x", b'0', b"", b"1")),
            ("twice", [entry(b"a", b'0', b"", b"1"), entry(b"a", b'0', b"", b"2")].concat()),
            ("file and folder", [entry(b"a", b'0', b"", b"1"), entry(b"a/b", b'0', b"", b"2")].concat()),
            ("no text", entry(b"\xff\xfe", b'0', b"", b"1")),
        ] {
            archives.push((name.into(), [good.clone(), bad, end.clone()].concat()));
        }
        archives.push(("too short".into(), good[..600].to_vec()));
        let surface = surface(&dormouse);
        let target = named(&dormouse, "target");
        sandbox::wait(target.write("/workspace/there", "before")).unwrap();
        let before = tree(&dormouse, "target");
        for (name, archive) in archives {
            let bytes = data_encoding::BASE64.encode(&archive);
            let arguments =
                json!({"sandbox": "target", "path": "/workspace", "content_base64": bytes, "unpack": true});
            let answer = call(&surface, "sandbox_upload", arguments);
            let refused = ["args_invalid", "path_denied", "too_large", "limit_disk"];
            assert!(refused.contains(&code(&answer)), "{name}: {answer}");
            assert!(
                answer["error"]["hint"].is_string() || name == "cut" || name == "too short",
                "{name}: {answer}"
            );
            assert_eq!(tree(&dormouse, "target"), before, "{name}: something was unpacked");
        }
        // What its owner's bits say counts for nothing; an archive within an archive is a file.
        let inner = [good.clone(), end.clone()].concat();
        let outer = [entry(b"setuid", b'0', b"", b"1"), entry(b"inner.tar", b'0', b"", &inner), end].concat();
        let arguments = json!({"sandbox": "target", "path": "/workspace",
            "content_base64": data_encoding::BASE64.encode(&outer), "unpack": true});
        assert_eq!(call(&surface, "sandbox_upload", arguments)["files"], 2);
        assert_eq!(sandbox::wait(target.read("/workspace/inner.tar")).unwrap(), inner);
        drop((workshop, target, surface));
        close(dormouse);
    });
}
