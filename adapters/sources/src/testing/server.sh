# A server of MCP in the shell's language. What stands before this says which `tools` there are, as JSON, and what `call` says to the
# line that calls one.
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}\n' "$id" ;;
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) say "{\"tools\":$tools}" ;;
    *'"tools/call"'*) call ;;
  esac
done
