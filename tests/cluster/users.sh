# The users of examples/nats/users.conf can do what they need, which the other
# tests show, and no more, which this one does.
. tests/common/tap.sh
. tests/cluster/cluster.sh
cluster_start || exit 1
tag=00112233445566778899aabbccddeeff

# may USER VERB SUBJECT WHAT, may_not ...: what the node says to a bare client.
may() { expect "a $1 may $4" "$(as_user "$1" 1 "$2" "$3" | tail -n 1)" "$5"; }
may_not() { expect "a $1 may not $4" "$(as_user "$1" 1 "$2" "$3" | tail -n 1)" denied; }

may gateway publish "tremolo.log.$tag.0.seg" "publish a report" sent
may gateway publish "\$KV.tremolo.state.$tag" "move a round" sent
may gateway publish "\$KV.tremolo.history.$tag" "write down what charts show" sent
may_not gateway publish "\$KV.tremolo.fold.$tag.0" "write a checkpoint"
may_not gateway publish "tremolo.blob.$tag.0.ids" "write a part of one"
may_not gateway publish "\$KV.tremolo.lease.$tag.0" "touch a lease"
may_not gateway publish "\$JS.API.STREAM.DELETE.KV_tremolo" "delete a stream"
may_not gateway publish "\$JS.API.STREAM.PURGE.TREMOLO-$tag" "empty a log"
may_not gateway publish "\$JS.API.STREAM.MSG.DELETE.TREMOLO-$tag" "remove a report"

may folder publish "\$KV.tremolo.lease.$tag.0" "take a lease" sent
may folder publish "\$KV.tremolo.fold.$tag.0" "write a checkpoint" sent
may_not folder publish "tremolo.log.$tag.0.seg" "publish a report"
may_not folder publish "\$KV.tremolo.study.$tag" "change a study"
may_not folder publish "\$JS.API.STREAM.DELETE.TREMOLO-$tag" "delete a log"

may reader publish "\$JS.API.STREAM.INFO.KV_tremolo" "ask how a stream is" sent
may_not reader publish "tremolo.log.$tag.0.seg" "publish a report"
may_not reader publish "\$KV.tremolo.lease.$tag.0" "touch a lease"
may_not reader publish "\$KV.tremolo.state.$tag" "move a round"
may_not reader publish "\$JS.API.STREAM.CREATE.OTHER" "make a stream"
for user in gateway folder reader; do
    for other in gateway folder reader; do
        [ $user = $other ] || may_not $user listen "_INBOX_$other.>" "hear a $other's answers"
    done
    may_not $user listen '>' "hear everything"
    may_not $user listen "\$SYS.>" "hear the system"
done

# A node's certificate is no user, and neither is one of another authority.
as_user n1 1 publish x >"$work/out" 2>&1
expect "a node's certificate is no user's" $? 1
examples/nats/make-certificates "$work/foreign" authorities
examples/nats/make-certificates "$work/foreign" user gateway
cp "$work/foreign/gateway.pem" "$ca/foreign.pem"
cp "$work/foreign/gateway.key" "$ca/foreign.key"
as_user foreign 1 publish x >"$work/out" 2>&1
expect "a gateway of another authority is refused" $? 1
examples/nats/make-certificates "$ca" user stranger
as_user stranger 1 publish x >"$work/out" 2>&1
expect "a user that the file does not name is refused" $? 1
examples/nats/make-certificates "$ca" user gateway -60
as_user gateway 1 publish x >"$work/out" 2>&1
expect "an expired certificate is refused" $? 1
examples/nats/make-certificates "$ca" user gateway
may gateway publish "tremolo.log.$tag.0.seg" "publish again with a new one" sent
