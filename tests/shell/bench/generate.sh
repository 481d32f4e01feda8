# Writes big.log: 10 MB of log lines, always the same ones (a linear congruential generator, no clock, no /dev/urandom).
awk 'BEGIN {
  split("GET GET GET POST PUT DELETE", method, " ")
  split("/ /index.html /api/users /api/orders /login /static/app.js /static/style.css /favicon.ico", path, " ")
  split("200 200 200 200 301 404 500 503", status, " ")
  seed = 42
  while (bytes < 10000000) {
    seed = (seed * 1103515245 + 12345) % 2147483648; a = int(seed / 65536)
    seed = (seed * 1103515245 + 12345) % 2147483648; b = int(seed / 65536)
    line = sprintf("10.%d.%d.%d - user%d [%02d:%02d:%02d] \"%s %s\" %s %d %dms", a % 4, b % 8, (a + b) % 50, a % 997,
      n / 3600 % 24, n / 60 % 60, n % 60, method[a % 6 + 1], path[b % 8 + 1], status[(a + b) % 8 + 1], b * 3 % 50000, a % 900)
    print line
    bytes += length(line) + 1
    n++
  }
}' > big.log
