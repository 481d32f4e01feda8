//! What `wget --help` and `wget --version` say.

pub(super) const VERSION: &str = "\
GNU Wget 1.21.3 (the command of dormouse's shell in its place)
Protocols: http https
The host of the sandbox connects and speaks TLS; what may be reached are its rules.
";

pub(super) const WGET: &str = "\
Usage: wget [OPTION]... [URL]...
Get files over http and https, as far as the rules of the sandbox's network allow.

  -O, --output-document=FILE     write everything to FILE, - is standard output
  -P, --directory-prefix=FOLDER  where files are made
  -c, --continue                 go on behind what a file holds
  -nc, --no-clobber              leave a file alone that is there
  -i, --input-file=FILE          read addresses from FILE
  -q, --quiet                    say nothing
  -nv, --no-verbose              say little
  -v, --verbose                  say what happens, as usual
  -o, --output-file=FILE         say it in FILE
  -a, --append-output=FILE       say it at the end of FILE
  -S, --server-response          show the heads of answers
      --save-headers             write the head before the file
      --spider                   only ask whether it is there
  -T, --timeout=SECONDS          how long nothing may come; also --read-timeout
  -t, --tries=NUMBER             how often to try, 20 unless said; 0: without end
  -w, --wait=SECONDS             the time between two files
      --waitretry=SECONDS        the longest time between two tries, 10 unless said
      --retry-connrefused        try again where nobody takes connections
      --retry-on-http-error=STATUS,...  try again after these
      --header=HEADER            send this too
      --method=METHOD            the method
      --post-data=DATA, --post-file=FILE  POST this
      --body-data=DATA, --body-file=FILE  send this
  -U, --user-agent=NAME          what asks
      --referer=URL              where it comes from
      --user=USER, --password=WORD  who asks; also --http-user, --http-password
      --load-cookies=FILE        read cookies
      --save-cookies=FILE        keep cookies
      --max-redirect=NUMBER      how many, 20 unless said
      --content-disposition      name files as the server does
      --trust-server-names       name files as the last address does
      --content-on-error         write the body of a refusal
      --compression=auto         ask for a compressed body and unpack it
  -V, --version                  say what this is
  -h, --help                     say this

Taken, though the host decides:
      --no-check-certificate, --ca-certificate=FILE  the host checks certificates, always
      --connect-timeout=SECONDS, --dns-timeout=SECONDS  the host has its own time for this, of 10 seconds
  -4, --inet4-only, -6, --inet6-only, --no-proxy, --no-hsts  the host connects
      --limit-rate=SPEED, --progress=TYPE, --show-progress  nothing is slowed down, and no progress shown

Recursion (-r, -m, -p, -k) and comparing times (-N) are not supported. Exit status is 4 where the network fails,
5 where a certificate is not trusted, 8 where a server refuses.
";
