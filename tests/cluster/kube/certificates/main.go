// Certificates prints what upstream's signers make of requests for certificates: good ones, odd
// ones, and ones that mean harm.
//
// A line "issuer NAME" describes an authority: its name and its key identifier, DER, the second in
// which it ends, and the algorithm of its signatures. A line "request NAME" holds
// the text of `spec.request`; the lines below it are what upstream makes of that text: "unreadable"
// and why, or "unproven" and why (the signature), and then for some signers, usages, durations and
// moments a "case": issuer, usages, seconds or "-", the present second, and the certificate or, in
// quotes, why there is none. All bytes are in base64. The keys are new each time.
package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/url"
	"strings"
	"time"

	certificates "k8s.io/api/certificates/v1"
	helper "k8s.io/kubernetes/pkg/apis/certificates/v1"
	"k8s.io/kubernetes/pkg/controller/certificates/authority"
)

const kind = "CERTIFICATE REQUEST"

var now = time.Date(2026, 11, 25, 22, 38, 32, 123456789, time.UTC)

type issuer struct {
	name string
	ca   *authority.CertificateAuthority
}

type request struct {
	name string
	text []byte
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Panic(err)
	}
	return value
}

func print64(what string, data []byte) {
	fmt.Println(what, base64.StdEncoding.EncodeToString(data))
}

func armored(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func newIssuer(name string, key crypto.Signer, subject pkix.Name, id []byte, end time.Time) issuer {
	template := x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: subject, SubjectKeyId: id, IsCA: len(id) > 0,
		BasicConstraintsValid: true, NotBefore: now.Add(-24 * time.Hour), NotAfter: end,
	}
	der := must(x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key))
	parsed := must(x509.ParseCertificate(der))
	var parts struct {
		Content   asn1.RawValue
		Algorithm asn1.RawValue
		Signature asn1.RawValue
	}
	must(asn1.Unmarshal(der, &parts))
	encode := base64.StdEncoding.EncodeToString
	// The key identifier may be empty.
	fmt.Printf("issuer %s %s =%s %d %s\n", name, encode(parsed.RawSubject), encode(parsed.SubjectKeyId),
		parsed.NotAfter.Unix(), encode(parts.Algorithm.FullBytes))
	return issuer{name, &authority.CertificateAuthority{Certificate: parsed, PrivateKey: key}}
}

// made asks for a certificate.
func made(name string, key crypto.Signer, template x509.CertificateRequest) request {
	return request{name, armored(must(x509.CreateCertificateRequest(rand.Reader, &template, key)))}
}

func kubelet() pkix.Name {
	return pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:a"}
}

type element struct {
	Tag  int
	Text []byte
}

// subject is one of attributes with types and encodings of the caller's choice.
func subject(sets ...[]pkix.AttributeTypeAndValue) []byte {
	var out []asn1.RawValue
	for _, set := range sets {
		var inner []byte
		for _, it := range set {
			raw := it.Value.(element)
			pair := struct {
				Type  asn1.ObjectIdentifier
				Value asn1.RawValue
			}{it.Type, asn1.RawValue{Tag: raw.Tag, Bytes: raw.Text}}
			inner = append(inner, must(asn1.Marshal(pair))...)
		}
		out = append(out, asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: inner})
	}
	return must(asn1.Marshal(out))
}

func attribute(last int, tag int, text string) pkix.AttributeTypeAndValue {
	return pkix.AttributeTypeAndValue{Type: []int{2, 5, 4, last}, Value: element{tag, []byte(text)}}
}

func alternatives(names ...asn1.RawValue) pkix.Extension {
	for i := range names {
		names[i].Class = asn1.ClassContextSpecific
	}
	return pkix.Extension{Id: []int{2, 5, 29, 17}, Value: must(asn1.Marshal(names))}
}

func uris(texts ...string) []*url.URL {
	var out []*url.URL
	for _, text := range texts {
		out = append(out, must(url.Parse(text)))
	}
	return out
}

// splice puts other bytes into the first place where some are.
func splice(text, old, new []byte) []byte {
	block, _ := pem.Decode(text)
	if !bytes.Contains(block.Bytes, old) {
		log.Panicf("%x is not in it", old)
	}
	return armored(bytes.Replace(block.Bytes, old, new, 1))
}

func requests() []request {
	p256 := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(0, err)
	small := must(rsa.GenerateKey(rand.Reader, 1024))
	big := must(rsa.GenerateKey(rand.Reader, 2048))
	plain := x509.CertificateRequest{Subject: kubelet()}
	with := func(algorithm x509.SignatureAlgorithm) x509.CertificateRequest {
		return x509.CertificateRequest{Subject: kubelet(), SignatureAlgorithm: algorithm}
	}
	extended := func(extensions ...pkix.Extension) x509.CertificateRequest {
		return x509.CertificateRequest{Subject: kubelet(), ExtraExtensions: extensions}
	}
	named := func(raw []byte) x509.CertificateRequest { return x509.CertificateRequest{RawSubject: raw} }
	authority := pkix.Extension{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}
	certSign := pkix.Extension{Id: []int{2, 5, 29, 15}, Critical: true, Value: []byte{3, 2, 2, 4}}
	unknown := pkix.Extension{Id: []int{1, 2, 3, 4}, Critical: true, Value: []byte("anything")}
	many := x509.CertificateRequest{Subject: kubelet()}
	for i := range 400 {
		many.DNSNames = append(many.DNSNames, fmt.Sprintf("name-%d.example.com", i))
	}
	client := made("kubelet-client", p256, plain)
	serving := made("kubelet-serving", ed, x509.CertificateRequest{
		Subject: kubelet(), DNSNames: []string{"a.example.com", "*.b"},
		IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1), net.ParseIP("fd00::1")},
	})
	block, _ := pem.Decode(client.text)
	forged := bytes.Clone(block.Bytes)
	forged[len(forged)-1] ^= 1
	return []request{
		client, serving,
		made("rsa", big, plain),
		made("rsa-sha512", big, with(x509.SHA512WithRSA)),
		made("rsa-sha384", big, with(x509.SHA384WithRSA)),
		made("rsa-pss", big, with(x509.SHA256WithRSAPSS)),
		made("rsa-1024", small, plain),
		made("p256-sha384", p256, with(x509.ECDSAWithSHA384)),
		made("p256-sha512", p256, with(x509.ECDSAWithSHA512)),
		made("p224", must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader)), plain),
		made("p384", must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)), plain),
		made("p521", must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)), plain),
		made("nobody", ed, x509.CertificateRequest{}),
		made("only-alternatives", ed, x509.CertificateRequest{DNSNames: []string{"a"}}),
		made("every-alternative", ed, x509.CertificateRequest{
			Subject: kubelet(), DNSNames: []string{"a", ""}, EmailAddresses: []string{"a@b"},
			IPAddresses: []net.IP{{1, 2, 3, 4}}, URIs: uris("spiffe://a/b", "urn:x:y", "http://h:80/p?q=%20#f"),
		}),
		made("mapped-address", ed, extended(alternatives(
			asn1.RawValue{Tag: 7, Bytes: net.ParseIP("10.0.0.1").To16()},
			asn1.RawValue{Tag: 8, Bytes: []byte{42, 3}}, asn1.RawValue{Tag: 2, Bytes: []byte("x")},
			asn1.RawValue{Tag: 6, Bytes: []byte("SPIFFE://A/b")}, asn1.RawValue{Tag: 2, Bytes: []byte("w")}))),
		made("wants-authority", p256, extended(authority, certSign, unknown)),
		made("every-attribute", ed, x509.CertificateRequest{Subject: pkix.Name{
			Country: []string{"DE"}, Organization: []string{"b", "a&b", "aa", "a"}, OrganizationalUnit: []string{"u*", "U"},
			Locality: []string{"Köln"}, Province: []string{"NW"}, StreetAddress: []string{"s"}, PostalCode: []string{"1"},
			SerialNumber: "5", CommonName: "c@d",
		}}),
		made("other-attributes", ed, named(subject(
			[]pkix.AttributeTypeAndValue{attribute(3, 12, "first"), attribute(10, 19, "z"), attribute(12, 12, "title")},
			[]pkix.AttributeTypeAndValue{attribute(10, 22, "a@b"), attribute(3, 12, "last"), attribute(41, 12, "name")},
		))),
		made("empty-texts", ed, named(subject(
			[]pkix.AttributeTypeAndValue{attribute(10, 12, ""), attribute(3, 12, "")}))),
		made("windows", ed, named(subject(
			[]pkix.AttributeTypeAndValue{attribute(3, 30, "\x00J\x00\xf6\x00r\x00g")}))),
		made("latin", ed, named(subject([]pkix.AttributeTypeAndValue{attribute(3, 20, "J\xf6rg")}))),
		made("number-as-name", ed, named(subject(
			[]pkix.AttributeTypeAndValue{attribute(3, 2, "\x05"), attribute(10, 12, "o")}))),
		made("many-names", ed, many),
		{"two-blocks", append(bytes.Clone(client.text), serving.text...)},
		{"behind-another-block", append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}}), client.text...)},
		{"behind-a-broken-block", append([]byte("-----BEGIN "+kind+"-----\n@\n-----END "+kind+"-----\n"), client.text...)},
		{"with-headers", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: block.Bytes, Headers: map[string]string{"a": "b"}})},
		{"among-words", append([]byte("words\n"), append(bytes.Clone(client.text), "more words"...)...)},
		{"not-at-the-start-of-a-line", append([]byte("words "), client.text...)},
		{"new-request", bytes.ReplaceAll(client.text, []byte(kind), []byte("NEW "+kind))},
		{"no-pem", []byte("nothing")},
		{"no-der", armored([]byte("nothing"))},
		{"cut", armored(block.Bytes[:len(block.Bytes)-20])},
		{"behind-it", armored(append(bytes.Clone(block.Bytes), 0))},
		{"forged", armored(forged)},
		{"another-subject", splice(client.text, []byte("node:a"), []byte("node:b"))},
		{"another-key", splice(serving.text, []byte(ed.Public().(ed25519.PublicKey)), []byte(strings.Repeat("k", 32)))},
		{"version-7", splice(client.text, []byte{2, 1, 0, 0x30}, []byte{2, 1, 7, 0x30})},
	}
}

func show(text []byte, issuers []issuer) {
	parsed, err := helper.ParseCSR(text)
	if err != nil {
		fmt.Printf("unreadable %q\n", err)
		return
	}
	if err := parsed.CheckSignature(); err != nil {
		fmt.Printf("unproven %q\n", err)
		return
	}
	client := []string{"digital signature", "client auth"}
	for _, it := range []struct {
		issuer  issuer
		usages  []string
		seconds string
		ttl     time.Duration
	}{
		{issuers[0], client, "-", 8760 * time.Hour},
		{issuers[1], []string{"server auth", "digital signature", "key encipherment"}, "600", 10 * time.Minute},
	} {
		try(parsed, it.issuer, it.usages, it.seconds, it.ttl, now)
	}
}

// try prints a case.
func try(parsed *x509.CertificateRequest, it issuer, usages []string, seconds string, ttl time.Duration, now time.Time) {
	policy := authority.PermissiveSigningPolicy{
		TTL: ttl, Backdate: 5 * time.Minute, Short: 8 * time.Hour,
		Now: func() time.Time { return now },
	}
	for _, usage := range usages {
		policy.Usages = append(policy.Usages, certificates.KeyUsage(usage))
	}
	what := fmt.Sprintf("case %s %s %s %d", it.name, strings.ReplaceAll(strings.Join(usages, ","), " ", "_"), seconds, now.Unix())
	der, err := it.ca.Sign(parsed.Raw, policy)
	if err != nil {
		fmt.Printf("%s %q\n", what, err)
		return
	}
	print64(what, der)
}

func main() {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(0, err)
	far := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	issuers := []issuer{
		newIssuer("rsa", must(rsa.GenerateKey(rand.Reader, 2048)), pkix.Name{CommonName: "kubernetes"}, []byte("key id"), now.AddDate(10, 0, 0)),
		newIssuer("p256", must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), pkix.Name{CommonName: "p256"}, nil, far),
		newIssuer("p384", must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)), pkix.Name{CommonName: "p384"}, []byte{1}, far),
		newIssuer("ed25519", ed, kubelet(), []byte("same subject"), now.Add(time.Hour)),
	}
	all := requests()
	for _, request := range all {
		print64("request "+request.name, request.text)
		show(request.text, issuers)
	}
	// What does not depend on the request.
	print64("request of-any-kind", all[0].text)
	parsed := must(helper.ParseCSR(all[0].text))
	usages := []string{
		"signing", "digital signature", "content commitment", "key encipherment", "key agreement",
		"data encipherment", "cert sign", "crl sign", "encipher only", "decipher only", "any", "server auth",
		"client auth", "code signing", "email protection", "s/mime", "ipsec end system", "ipsec tunnel",
		"ipsec user", "timestamping", "ocsp signing", "microsoft sgc", "netscape sgc",
	}
	hours := 8 * time.Hour
	for _, usage := range usages {
		try(parsed, issuers[0], []string{usage}, "28800", hours, now)
	}
	try(parsed, issuers[2], usages, "28799", hours-time.Second, now)
	try(parsed, issuers[2], []string{"ocsp signing", "crl sign", "s/mime", "client auth", "client auth"}, "28801", hours+time.Second, now)
	try(parsed, issuers[0], []string{"signing", "unsupported", "other"}, "-", hours, now)
	for _, second := range []int{-1, 0, 1, 299, 300, 301} {
		at := now.Truncate(time.Second).Add(time.Hour + time.Duration(second)*time.Second)
		try(parsed, issuers[3], []string{"client auth"}, "3600", time.Hour, at)
	}
	for _, year := range []int{2049, 2050, 2199} {
		try(parsed, issuers[2], []string{"client auth"}, "-", 8760*time.Hour, time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC))
	}
}
