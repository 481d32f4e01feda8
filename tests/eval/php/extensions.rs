//! The extensions that people assume: each does what it is for, with answers that are known from elsewhere.

use dormouse_tests::ending::{exception, value};
use dormouse_tests::{PHP, sandbox};
use serde_json::{Value as Json, json};

use super::{each, kept::Kept};

#[test]
fn what_is_loaded_is_told() {
    each(&[
        (
            "implode(' ', array_filter(['curl', 'fileinfo', 'gd', 'gmp', 'intl', 'mbstring', 'openssl', 'posix', 'sodium', 'zip', 'bcmath', 'ctype', 'iconv', 'tokenizer', 'xmlreader'], fn($name) => !extension_loaded($name)))",
            json!(""),
        ),
        // What cannot be here is not told to be.
        ("implode(' ', array_filter(['pcntl', 'Zend OPcache', 'sockets'], 'extension_loaded'))", json!("")),
        (
            "implode(' ', array_filter(['pcntl_fork', 'opcache_get_status', 'proc_open', 'openssl_x509_parse'], 'function_exists'))",
            json!(""),
        ),
    ]);
}

#[test]
fn kinds_of_files_are_known() {
    each(&[
        ("(new finfo(FILEINFO_MIME_TYPE))->buffer(\"%PDF-1.7\\n\")", json!("application/pdf")),
        ("(new finfo(FILEINFO_MIME))->buffer('plain')", json!("text/plain; charset=us-ascii")),
        ("file_put_contents('a', '<?php echo 1;'); mime_content_type('a')", json!("text/x-php")),
        ("file_put_contents('a.gz', gzencode('x')); mime_content_type('a.gz')", json!("application/gzip")),
        (
            "$f = finfo_open(FILEINFO_EXTENSION); finfo_buffer($f, \"\\x89PNG\\r\\n\\x1a\\n\" . pack('NA4NNCCCCC', 13, 'IHDR', 1, 1, 8, 2, 0, 0, 0))",
            json!("png"),
        ),
        // Its database is unpacked once for all of them.
        (
            "$a = new finfo; $b = new finfo; unset($a); $c = new finfo; $b->buffer('GIF89a') === $c->buffer('GIF89a')",
            json!(true),
        ),
    ]);
    let mut kept = Kept::new();
    kept.call("$f = new finfo(FILEINFO_MIME_TYPE); $f->buffer('%PDF-1.4')");
    assert_eq!(value(&kept.call("$f->buffer('%PDF-1.4')"))["value"], "application/pdf");
}

#[test]
fn regular_expressions_of_mbstring_work() {
    each(&[
        ("mb_ereg_replace('[あ-う]+', 'x', 'aあいうb')", json!("axb")),
        ("mb_ereg('(\\w+)@(\\w+)', 'an@example', $m) ? $m[2] : 0", json!("example")),
        ("implode('|', mb_split('\\s+', \"a b\\tc\"))", json!("a|b|c")),
        ("mb_ereg_replace_callback('\\d+', fn($m) => $m[0] * 2, 'a1b22')", json!("a2b44")),
    ]);
}

#[test]
fn numbers_of_gmp_have_any_size_and_phps_64_bits() {
    each(&[
        ("gmp_strval(gmp_pow(2, 100))", json!("1267650600228229401496703205376")),
        ("gmp_strval(gmp_add(PHP_INT_MAX, PHP_INT_MAX))", json!("18446744073709551614")),
        ("gmp_strval(gmp_mul(gmp_init(5000000000), 5000000000))", json!("25000000000000000000")),
        ("gmp_strval(gmp_sub(gmp_init(1), PHP_INT_MIN))", json!("9223372036854775809")),
        ("gmp_intval(gmp_mod(gmp_init('100000000000000000000'), 7000000000))", json!(5_000_000_000_i64)),
        ("gmp_intval(gmp_div_q('55340232221128654848', 5000000000))", json!(11_068_046_444_i64)),
        ("gmp_strval(gmp_powm(3, 10**18, 10**18 + 9))", json!("235787227556774884")),
        (
            "[gmp_intval(gmp_init(PHP_INT_MIN)) === PHP_INT_MIN, gmp_cmp('5000000000', 4999999999) > 0][0]",
            json!(true),
        ),
        ("(int) (gmp_init('9223372036854775807') & 0xFFFFFFFFFF)", json!(0xff_ffff_ffff_i64)),
        ("gmp_popcount(-1)", json!(-1)),
        ("gmp_scan1(gmp_pow(2, 4000), 0)", json!(4000)),
        ("gmp_strval(gmp_binomial(5000000000, 2))", json!("12499999997500000000")),
        ("gmp_prob_prime('170141183460469231731687303715884105727')", json!(1)),
        ("gmp_strval(gmp_fact(25))", json!("15511210043330985984000000")),
        ("strlen(gmp_strval(gmp_pow(3, 100000)))", json!(47713)),
    ]);
}

#[test]
fn sodium_encrypts_signs_and_hashes() {
    each(&[
        (
            "bin2hex(sodium_crypto_generichash(''))",
            json!("0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"),
        ),
        (
            "$k = sodium_crypto_secretbox_keygen(); $n = random_bytes(SODIUM_CRYPTO_SECRETBOX_NONCEBYTES); $c = sodium_crypto_secretbox('text', $n, $k); $bad = $c; $bad[0] = $bad[0] ^ \"\\1\"; sodium_crypto_secretbox_open($c, $n, $k) . json_encode(sodium_crypto_secretbox_open($bad, $n, $k))",
            json!("textfalse"),
        ),
        // RFC 8032, test 1.
        (
            "$pair = sodium_crypto_sign_seed_keypair(hex2bin('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')); bin2hex(sodium_crypto_sign_publickey($pair))",
            json!("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"),
        ),
        (
            "$h = sodium_crypto_pwhash_str('secret', 1, 8 << 20); [sodium_crypto_pwhash_str_verify($h, 'secret'), sodium_crypto_pwhash_str_verify($h, 'other')] == [true, false]",
            json!(true),
        ),
        (
            "password_verify('secret', password_hash('secret', PASSWORD_ARGON2ID, ['memory_cost' => 8192, 'time_cost' => 1]))",
            json!(true),
        ),
    ]);
}

#[test]
fn archives_are_written_and_read() {
    each(&[
        (
            "$z = new ZipArchive; $z->open('a.zip', ZipArchive::CREATE); $z->addFromString('d/one.txt', str_repeat('x', 9999)); $z->addFromString('two', 'text'); $z->setCompressionName('two', ZipArchive::CM_STORE); $z->close(); $r = new ZipArchive; $r->open('a.zip', ZipArchive::RDONLY); [$r->count(), strlen($r->getFromName('d/one.txt')), $r->getFromName('two'), file_get_contents('zip://a.zip#two')] == [2, 9999, 'text', 'text'] && filesize('a.zip') < 500",
            json!(true),
        ),
        (
            "$z = new ZipArchive; $z->open('a.zip', ZipArchive::CREATE); $z->addFromString('one', 'first'); $z->close(); $z->open('a.zip'); $z->addFromString('one', 'second'); $z->deleteName('none'); $z->close(); $z->open('a.zip'); mkdir('out'); $z->extractTo('out'); file_get_contents('out/one')",
            json!("second"),
        ),
        (
            "$z = new ZipArchive; $z->open('a.zip', ZipArchive::CREATE); $z->setPassword('p'); $z->addFromString('one', 'secret'); $z->setEncryptionName('one', ZipArchive::EM_TRAD_PKWARE); $z->close(); $z->open('a.zip'); $no = $z->getFromName('one'); $z->setPassword('p'); json_encode([$no, $z->getFromName('one')])",
            json!("[false,\"secret\"]"),
        ),
    ]);
}

#[test]
fn pictures_are_drawn_written_and_read() {
    each(&[
        (
            "$i = imagecreatetruecolor(20, 10); imagefilledrectangle($i, 0, 0, 9, 9, imagecolorallocate($i, 255, 0, 0)); ob_start(); imagepng($i); $png = ob_get_clean(); $r = imagecreatefromstring($png); [imagesx($r), imagesy($r), imagecolorat($r, 3, 3), imagecolorat($r, 15, 3), getimagesizefromstring($png)['mime']] == [20, 10, 0xff0000, 0, 'image/png']",
            json!(true),
        ),
        (
            "$i = imagecreatetruecolor(16, 16); imagefill($i, 0, 0, 0x00ff00); imagejpeg($i, 'a.jpg', 95); $r = imagecreatefromjpeg('a.jpg'); $c = imagecolorsforindex($r, imagecolorat($r, 8, 8)); $c['green'] > 245 && $c['red'] < 10 && exif_imagetype('a.jpg') === IMAGETYPE_JPEG",
            json!(true),
        ),
        (
            "$i = imagecreate(8, 8); imagecolorallocate($i, 1, 2, 3); imagegif($i, 'a.gif'); $r = imagecreatefromgif('a.gif'); imagecolorsforindex($r, imagecolorat($r, 0, 0))['blue']",
            json!(3),
        ),
        ("$i = imagescale(imagecreatetruecolor(40, 30), 20); imagesy(imagerotate($i, 90, 0))", json!(20)),
        (
            "$g = gd_info(); [$g['PNG Support'], $g['JPEG Support'], $g['GIF Create Support'], $g['WebP Support']] == [true, true, true, false]",
            json!(true),
        ),
    ]);
}

#[test]
fn the_user_is_the_one_of_the_other_languages() {
    each(&[
        (
            "[posix_getuid(), posix_geteuid(), posix_getgid(), posix_getppid(), posix_getgroups()] == [1000, 1000, 1000, 1, [1000]]",
            json!(true),
        ),
        (
            "posix_getpwuid(posix_getuid())['name'] . posix_getpwnam('sandbox')['dir'] . posix_getpwuid(0)['name']",
            json!("sandbox/workspaceroot"),
        ),
        (
            "[posix_getlogin(), posix_getgrgid(1000)['name'], posix_getpwnam('nobody'), posix_isatty(STDOUT)] == ['sandbox', 'sandbox', false, false]",
            json!(true),
        ),
        ("posix_uname()['sysname'] . php_uname('n')", json!("Linuxdormouse")),
        ("posix_kill(1, 9) || posix_setuid(0)", json!(false)),
        ("getenv('HOME')", json!("/tmp")),
    ]);
}

#[test]
fn ciphers_and_signatures_of_openssl_are_right() {
    each(&[
        // NIST SP 800-38A, F.2.5.
        (
            "bin2hex(openssl_encrypt(hex2bin('6bc1bee22e409f96e93d7e117393172a'), 'aes-256-cbc', hex2bin('603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4'), OPENSSL_RAW_DATA | OPENSSL_ZERO_PADDING, hex2bin('000102030405060708090a0b0c0d0e0f')))",
            json!("f58c4c04d6e5f1ba779eabfb5f7bfbd6"),
        ),
        // The GCM specification, test case 4 without its last bytes: an empty text.
        (
            "openssl_encrypt('', 'aes-128-gcm', str_repeat(\"\\0\", 16), OPENSSL_RAW_DATA, str_repeat(\"\\0\", 12), $tag); bin2hex($tag)",
            json!("58e2fccefa7e3061367f1d57a4e7455a"),
        ),
        (
            "$iv = random_bytes(12); $c = openssl_encrypt('text', 'aes-256-gcm', 'key', 0, $iv, $tag, 'with'); [openssl_decrypt($c, 'aes-256-gcm', 'key', 0, $iv, $tag, 'with'), openssl_decrypt($c, 'aes-256-gcm', 'key', 0, $iv, $tag, 'other')] == ['text', false]",
            json!(true),
        ),
        (
            "openssl_digest('abc', 'sha256')",
            json!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ),
        (
            "bin2hex(openssl_pbkdf2('password', 'salt', 20, 2))",
            json!("ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"),
        ),
        (
            "$k = openssl_pkey_new(['private_key_type' => OPENSSL_KEYTYPE_EC, 'curve_name' => 'prime256v1']); openssl_pkey_export($k, $pem); $public = openssl_pkey_get_details($k)['key']; openssl_sign('text', $s, $pem, 'sha256'); [openssl_verify('text', $s, $public, 'sha256'), openssl_verify('other', $s, $public, 'sha256'), substr($pem, 0, 27)] == [1, 0, '-----BEGIN PRIVATE KEY-----']",
            json!(true),
        ),
        (
            "$k = openssl_pkey_new(['private_key_bits' => 1024]); openssl_pkey_export($k, $pem); $public = openssl_pkey_get_public(openssl_pkey_get_details($k)['key']); openssl_sign('text', $s, $k, OPENSSL_ALGO_SHA512); openssl_public_encrypt('small', $c, $public, OPENSSL_PKCS1_OAEP_PADDING); openssl_private_decrypt($c, $d, $pem, OPENSSL_PKCS1_OAEP_PADDING); [openssl_verify('text', $s, $public, OPENSSL_ALGO_SHA512), $d, openssl_pkey_get_details($public)['bits']] == [1, 'small', 1024]",
            json!(true),
        ),
    ]);
}

#[test]
fn curl_takes_everything_and_says_that_there_is_no_network() {
    each(&[
        (
            "$c = curl_init('https://example.com/'); curl_setopt_array($c, [CURLOPT_RETURNTRANSFER => true, CURLOPT_HTTPHEADER => ['A: b'], CURLOPT_TIMEOUT => 3]); [curl_exec($c), curl_errno($c), str_contains(curl_error($c), 'this sandbox has no network')] === [false, 7, true]",
            json!(true),
        ),
        (
            "$m = curl_multi_init(); $c = curl_init('http://example.com'); curl_multi_add_handle($m, $c); do { curl_multi_exec($m, $running); } while ($running); $i = curl_multi_info_read($m); $i['result'] . curl_getinfo($c, CURLINFO_EFFECTIVE_URL)",
            json!("7http://example.com/"),
        ),
        ("curl_escape(curl_init(), 'a b/ä')", json!("a%20b%2F%C3%A4")),
    ]);
    let outcome = sandbox::eval(PHP, "pcntl_fork();");
    let raised = exception(&outcome);
    assert!(raised.message.contains("no processes in this sandbox"), "{raised:?}");
}

/// What a saved session draws is not what another that goes on from it draws.
#[test]
fn random_numbers_of_extensions_are_new_in_each_run() {
    for code in [
        "gmp_strval(gmp_random_bits(128))",
        "bin2hex(sodium_crypto_secretbox_keygen())",
        "bin2hex(openssl_random_pseudo_bytes(16))",
    ] {
        let answers: Vec<Json> = (0..3).map(|_| sandbox::value_of(PHP, code)["value"].clone()).collect();
        assert!(answers[0] != answers[1] && answers[1] != answers[2], "{code}: {answers:?}");
    }
}
