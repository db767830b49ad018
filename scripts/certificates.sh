#!/bin/sh
# Makes certificates for the tests, with openssl. Keys are ECDSA on P-256: an RSA key takes a second to make.
#   certificates.sh authority DIR [OTHER]       an authority, DIR/ca.pem and DIR/ca.key, signed by itself or by that in OTHER
#   certificates.sh issue AUTHORITY DIR NAME    DIR/NAME.pem and DIR/NAME.key, with the certificate of such an authority behind it
# The environment says what is unusual about an issued certificate: NAMES (DNS:localhost,IP:127.0.0.1), FROM and TO
# (YYYYMMDDHHMMSSZ), USAGE (serverAuth or clientAuth).
set -eu

fail() {
    echo "certificates.sh: $1" >&2
    exit 1
}
command -v openssl >/dev/null || fail "there is no openssl; on Debian: apt-get install openssl"

# DIR: the folder, with what openssl wants to know.
begin() {
    mkdir -p "$1/issued"
    : >>"$1/index.txt"
    cat >"$1/openssl.cnf" <<CNF
[req]
distinguished_name = name
[name]
[ca]
default_ca = own
[own]
database = $1/index.txt
new_certs_dir = $1/issued
rand_serial = yes
unique_subject = no
default_md = sha256
default_days = 30
policy = any
[any]
commonName = supplied
[authority]
basicConstraints = critical, CA:TRUE
subjectKeyIdentifier = hash
[issued]
basicConstraints = critical, CA:FALSE
subjectKeyIdentifier = hash
subjectAltName = ${NAMES:-DNS:localhost,IP:127.0.0.1}
${USAGE:+extendedKeyUsage = $USAGE}
CNF
}

# What openssl says is shown only when it fails.
quietly() {
    said=$("$@" 2>&1) || fail "$said"
}

# DIR NAME SUBJECT: a key and the request for its certificate.
request() {
    quietly openssl req -new -config "$1/openssl.cnf" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -subj "/CN=$3" -keyout "$1/$2.key" -out "$1/$2.csr"
}

# AUTHORITY DIR NAME EXTENSIONS: signs that request.
sign() {
    quietly openssl ca -batch -notext -config "$2/openssl.cnf" -extensions "$4" \
        -cert "$1/ca.pem" -keyfile "$1/ca.key" ${FROM:+-startdate "$FROM"} ${TO:+-enddate "$TO"} \
        -in "$2/$3.csr" -out "$2/$3.pem"
}

what=${1:-}
case $what in
authority)
    begin "$2"
    request "$2" ca "the authority in $(basename "$2")"
    if [ -n "${3:-}" ]; then
        sign "$3" "$2" ca authority
        # Who is shown a certificate of this authority has to be shown this one, too.
        cp "$2/ca.pem" "$2/chain.pem"
    else
        quietly openssl x509 -req -days 30 -in "$2/ca.csr" -signkey "$2/ca.key" -out "$2/ca.pem" \
            -extfile "$2/openssl.cnf" -extensions authority
    fi
    ;;
issue)
    begin "$3"
    request "$3" "$4" "$4"
    sign "$2" "$3" "$4" issued
    [ ! -e "$2/chain.pem" ] || cat "$2/chain.pem" >>"$3/$4.pem"
    ;;
*) fail "authority or issue, not '$what'" ;;
esac
