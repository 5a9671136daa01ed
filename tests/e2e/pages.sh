# The embedded pages over HTTP: media types, compression, tags, policy.
. tests/common/tap.sh
. tests/common/server.sh
start_server "$work/data"

# fetch CURL-ARGUMENTS: the head in $work/head, the body in $work/body.
fetch() { : >"$work/body" && curl -s -D "$work/head" -o "$work/body" "$@"; }
status() { sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p' "$work/head"; }
header() { tr -d '\r' <"$work/head" | sed -n "s/^$1: //p"; }

fetch "$url/"
expect "the page" "$(status) $(header Content-Type)" "200 text/html; charset=utf-8"
cp "$work/body" "$work/plain"
expect "asked for again each time" "$(header Cache-Control)" "no-cache"
expect "policy" "$(header Content-Security-Policy)" "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
expect "other headers" "$(header X-Content-Type-Options) $(header Referrer-Policy) $(header Vary)" "nosniff no-referrer Accept-Encoding"
expect "nothing inline" "$(grep -Ec '<script>|<style|style=|onclick|<script[^>]*></script>.*[a-z]+\(' "$work/plain")" 0
tag=$(header ETag)
fetch -H "If-None-Match: \"other\", $tag" "$url/"
expect "unchanged" "$(status) $(header ETag) $(wc -c <"$work/body" | tr -d ' ')" "304 $tag 0"
fetch -H "If-None-Match: \"other\"" "$url/"
expect "changed" "$(status)" 200

fetch -H 'Accept-Encoding: br, gzip;q=0.8' "$url/"
expect "compressed" "$(status) $(header Content-Encoding)" "200 gzip"
expect "the same bytes" "$(gzip -dc "$work/body" | cmp - "$work/plain" && echo same)" same
expect "another tag" "$([ "$(header ETag)" != "$tag" ] && echo other)" other
for words in 'gzip;q=0' 'gzip; q=0.0, br' 'br' 'gzipped'; do
    fetch -H "Accept-Encoding: $words" "$url/"
    expect "not for '$words'" "$(header Content-Encoding)" ""
done

assets=$(grep -o '/assets/[^"]*' "$work/plain")
expect "there are assets" "$([ "$(echo "$assets" | wc -l)" -ge 5 ] && echo yes)" yes
for path in $assets; do
    fetch "$url$path"
    name=${path##*-}
    expect "${path##*/} carries its hash" "${name%%.*}" "$(sha256sum "$work/body" | cut -c 1-16)"
    expect "  and may be kept" "$(status) $(header Cache-Control)" "200 public, max-age=31536000, immutable"
done
fetch "$url/assets/index.js"
expect "no other names" "$(status) $(header Content-Type)" "404 application/problem+json"
fetch --path-as-is "$url/assets/../tremolo.db"
expect "no files of the machine" "$(status)" 404
# Addresses of no page: a page for people, a document for programs.
nobody=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA # 43, as an id has
browser='Accept: text/html,application/xhtml+xml,*/*;q=0.8'
for path in /studies/nope /studies/$nobody /studies/$nobody/about /nowhere; do
    fetch -H "$browser" "$url$path"
    expect "people at $path" "$(status) $(header Content-Type)" "404 text/html; charset=utf-8"
    expect "  read that" "$(grep -c 'There is no such study' "$work/body") $(header Vary)" "1 Accept, Accept-Encoding"
    fetch -H "If-None-Match: $(header ETag)" -H "$browser" "$url$path"
    expect "  and it is never called unchanged" "$(status)" 404
    fetch "$url$path"
    expect "  programs" "$(status) $(header Content-Type)" "404 application/problem+json"
done
fetch -H "$browser" "$url/v1/studies/nope"
expect "the interface answers browsers as programs" "$(status) $(header Content-Type)" "404 application/problem+json"
fetch -X POST -H "$browser" "$url/studies/nope"
expect "a page is for reading" "$(status) $(header Content-Type)" "404 application/problem+json"
for path in /studies /studies/$nobody /studies/$nobody/about /v1/studies "/v1/studies/$nobody/guarantee" /healthz; do
    fetch "$url$path/"
    expect "a slash too many: $path" "$(status) $(header Location)" "308 $path"
done
for path in // /nowhere/ //studies/ "/studies/${nobody%AA}%0d%0a/" "/studies/${nobody%A}:/"; do
    fetch --path-as-is "$url$path"
    expect "no redirection from $path" "$(status) $(header Location)" "404 "
done
fetch -X POST "$url/v1/studies/"
expect "nor of what is sent" "$(status)" 404
for path in /%00x /v1/studies%00 /healthz%00/; do
    fetch "$url$path"
    expect "a zero in $path ends nothing" "$(status)" 404
done
fetch "$url/v1/studies?%00=1"
expect "nor in what is asked" "$(status)" 200

fetch -I "$url/"
expect "HEAD" "$(status) $(header Content-Length)" "200 $(wc -c <"$work/plain" | tr -d ' ')"
fetch -X POST "$url/"
expect "nothing to send there" "$(status)" 405

# What is computed has tags and compression, too.
study_text '{"kind": "one-shot"}' >"$work/one.json"
id=$(create_study "$work/one.json")
answer=$url/v1/studies/$id/guarantee
fetch "$answer"
expect "an answer is asked for again" "$(status) $(header Cache-Control) $(header Vary) $(header Content-Encoding)" "200 no-cache Accept-Encoding "
cp "$work/body" "$work/plain"
tag=$(header ETag)
expect "plain bytes have a strong tag" "$(echo "$tag" | grep -cx '"[A-Za-z0-9_-]\{22\}"')" 1
for known in "$tag" "W/$tag" "\"other\", $tag" "W/\"a\" ,W/$tag,\"b\"" '*'; do
    fetch -H "If-None-Match: $known" "$answer"
    expect "known by $known" "$(status) $(header ETag) $(wc -c <"$work/body" | tr -d ' ')" "304 $tag 0"
done
for unknown in '"other"' "${tag%?}x\"" "$(echo "$tag" | tr -d '"')" ''; do
    fetch -H "If-None-Match: $unknown" "$answer"
    expect "not by '$unknown'" "$(status)" 200
done
fetch -H 'Accept-Encoding: gzip' "$answer"
expect "compressed" "$(header Content-Encoding) $(header Vary)" "gzip Accept-Encoding"
expect "  to less" "$([ "$(header Content-Length)" -lt "$(wc -c <"$work/plain")" ] && echo less)" less
expect "  of the same" "$(gzip -dc "$work/body" | cmp - "$work/plain" && echo same)" same
squeezed=$(header ETag)
expect "  under a weak tag of its own" "$squeezed" "W/\"$(echo "$tag" | tr -d '"')-gz\""
fetch -H 'Accept-Encoding: gzip' -H "If-None-Match: $squeezed" "$answer"
expect "  which is known again" "$(status) $(header ETag) $(header Content-Encoding)" "304 $squeezed "
fetch -H "If-None-Match: $squeezed" "$answer"
expect "  and its tag is not that of the plain bytes" "$(status)" 200
fetch -I -H 'Accept-Encoding: gzip' "$answer"
expect "HEAD says the same" "$(status) $(header ETag) $(header Content-Encoding)" "200 $squeezed gzip"
fetch -I -H "If-None-Match: $tag" "$answer"
expect "  and that it is known" "$(status) $(header ETag)" "304 $tag"
fetch -H 'Accept-Encoding: gzip' "$url/healthz"
expect "what fits a packet stays as it is" "$(status) $(header Content-Encoding)" "200 "
for path in /v1/studies/$nobody "/v1/studies/$id/estimate?%00"; do
    fetch -H 'If-None-Match: *' -H 'Accept-Encoding: gzip' "$url$path"
    expect "a star for $path" "$(status)" "$([ "$path" = "/v1/studies/$nobody" ] && echo 404 || echo 304)"
done
fetch -X POST -H 'If-None-Match: *' -H "Authorization: Bearer $(cat "$work/data/operator.token")" \
    --data-binary @"$work/one.json" "$url/v1/studies"
expect "what changes something is answered in full" "$(status) $(header ETag)" "201 "
for words in '*' 'identity, GZIP' 'x-gzip' '*;q=0.1' 'br;q=1 , gzip ; q=0.5'; do
    fetch -H "Accept-Encoding: $words" "$answer"
    expect "compressed for '$words'" "$(header Content-Encoding)" gzip
done
for words in 'gzip;q=0, *' '*;q=0' 'deflate;q=1;gzip' ''; do
    fetch -H "Accept-Encoding: $words" "$answer"
    expect "plain for '$words'" "$(header Content-Encoding)" ""
done
