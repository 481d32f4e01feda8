//! What `curl --help` and `curl --version` say.

/// As whom it introduces itself.
pub(super) const AGENT: &str = "curl/8.0.0";

pub(super) const VERSION: &str = "\
curl 8.0.0 (dormouse)
Protocols: http https
Features: gzip deflate cookies
The host of the sandbox connects and speaks TLS; what may be reached are its rules.
";

pub(super) const CURL: &str = "\
Usage: curl [options...] <url>...
Transfer data over http and https, as far as the rules of the sandbox's network allow.

Request:
  -X, --request <method>         the method
  -H, --header <header|@file>    a header; `Name:` takes a usual one away
  -d, --data <data|@file>        data of a POST, without the ends of lines of a file
      --data-ascii <data|@file>  the same
      --data-raw <data>          the same, where @ means nothing
      --data-binary <data|@file> the same, byte for byte
      --data-urlencode <data>    the same, escaped: content, =content, name=content, @file, name@file
      --json <data|@file>        the same as JSON
  -F, --form <name=content>      a part of a form: content, @file, <file; then ;type= ;filename= ;headers=
      --form-string <name=text>  the same, where nothing has a meaning
  -T, --upload-file <file>       PUT a file, - is standard input
  -G, --get                      put the data into the address
      --url-query <data>         put this into the address
      --url <url>                an address
  -I, --head                     ask for the head alone
  -r, --range <range>            ask for bytes such as 0-99
  -u, --user <user:password>     who asks
      --oauth2-bearer <token>    who asks, by a token
  -A, --user-agent <name>        what asks
  -e, --referer <url>            where it comes from; `;auto` behind it follows redirects
  -b, --cookie <data|file>       cookies, such as a=1; b=2, or a file of them
  -c, --cookie-jar <file>        keep cookies in a file
  -j, --junk-session-cookies     leave out cookies of the file that have no end
      --compressed               ask for a compressed body (deflate, gzip) and unpack it
      --path-as-is               keep /../ in the address
  -g, --globoff                  {} and [] mean nothing in an address

Answer:
  -o, --output <file>            write to a file; #1 is what the first pattern came to
  -O, --remote-name              write to a file as the address calls it
      --remote-name-all          the same for all addresses
  -J, --remote-header-name       write to a file as the server calls it
      --output-dir <folder>      where those files are
      --create-dirs              make the folders of the file
  -R, --remote-time              give the file the server's time
      --remove-on-error          keep no file of a transfer that failed
  -C, --continue-at <offset|->   go on behind what a file holds
      --max-filesize <bytes>     take no body that is longer
  -i, --include                  write the head too
  -D, --dump-header <file>       write the head to a file
  -L, --location                 follow redirects
      --location-trusted         the same, and say everywhere who asks
      --max-redirs <number>      how many, 50 unless said; -1: any number
      --post301, --post302, --post303  POST stays POST then
  -f, --fail                     a status from 400 on is an error, and its body is left out
      --fail-with-body           the same with the body
      --fail-early               the first error ends the command
  -w, --write-out <format|@file>  what is told afterwards, such as %{http_code}\\n or %{json}

Around it:
  -m, --max-time <seconds>       how long a transfer may take
      --connect-timeout <seconds>  taken, but the host has its own time for this, of 10 seconds
      --retry <number>           how often to try again after what may pass
      --retry-delay <seconds>    the time between, 1 second and twice as much each time unless said
      --retry-max-time <seconds>  no new try after so long
      --retry-all-errors         try again after every error
      --retry-connrefused        try again where nobody takes connections
  -Z, --parallel                 several transfers at a time
      --parallel-max <number>    how many, 50 unless said
  -s, --silent                   say nothing of errors
  -S, --show-error               say it all the same
  -v, --verbose                  show what is sent and what comes
  -K, --config <file>            read options from a file, as from ~/.curlrc
  -q, --disable                  as the first option: do not read that file
  -:, --next                     another request, with options of its own
  -V, --version                  say what this is
  -h, --help                     say this

Taken, though the host decides:
  -k, --insecure, --cacert <file>, --capath <folder>  the host checks certificates, always
      --tlsv1.2, --tls-max <version>, --ciphers <list>  the host speaks TLS
  -4, --ipv4, -6, --ipv6, --http1.1, --http2  the host connects, by HTTP/1.1
  -N, --no-buffer                what comes is written at once, always
      --limit-rate <speed>       nothing is slowed down
  -#, --progress-bar, --no-progress-meter  there is no progress meter
";
