package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// Broker is a JetStream server in this process. It keeps everything in a folder of the run directory, so that a
// coordinator that died goes on with the same queue, the same passwords and the same certificate.
type Broker struct {
	server *server.Server
	keys   brokerKeys
	pin    string // hash of the certificate; "" = no TLS
	addr   string
	key    string // of the study
}

// brokerKeys are the passwords of the roles.
type brokerKeys struct {
	Submit string `json:"submit"` // the coordinator: everything
	Work   string `json:"work"`   // workers: take episodes, write leases and results
	Read   string `json:"read"`   // onlookers
}

// Roles of those that join.
const (
	roleSubmit = "submit"
	roleWork   = "work"
	roleRead   = "read"
)

// syncEvery is how much of what was acknowledged a power cut may take back: those episodes then go on from an earlier turn.
// The server's own default is two minutes; syncing every write would make heartbeats wait for the disk.
const syncEvery = 5 * time.Second

// brokerStart bounds how long the server may take to listen.
const brokerStart = 20 * time.Second

// StartBroker starts a server that listens on addr and keeps its data in dir. On an address that is not this machine's
// own it speaks TLS only, with a certificate of its own which the join URL names by its hash. Workers and onlookers are
// let into the places of the study of that key.
func StartBroker(addr, dir, key string) (*Broker, error) {
	host, port, err := listenAddress(addr)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the queue: %w", err)
	}
	portFile := filepath.Join(dir, "port")
	if port == server.RANDOM_PORT { // the one that workers of the time before still try
		port = lastPort(portFile, host)
	}
	b := &Broker{key: key}
	if err := b.readKeys(filepath.Join(dir, "keys.json")); err != nil {
		return nil, err
	}
	opt := &server.Options{
		ServerName: "stint", Host: host, Port: port, JetStream: true, StoreDir: dir, SyncInterval: syncEvery, NoSigs: true, NoLog: true,
		JetStreamMaxStore: -1, MaxPayload: 8 << 20, Users: b.users(key), DisableJetStreamBanner: true,
	}
	if !loopback(host) {
		cert, err := certificate(filepath.Join(dir, "tls.pem"))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(cert.Certificate[0])
		b.pin = hex.EncodeToString(sum[:])
		opt.TLS, opt.TLSTimeout = true, 10
		opt.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	}
	if b.server, err = server.NewServer(opt); err != nil {
		return nil, fmt.Errorf("starting the queue on %s: %w", addr, err)
	}
	b.server.Start()
	if !b.server.ReadyForConnections(brokerStart) {
		b.server.Shutdown()
		return nil, &study.InputError{File: "--listen", Message: "nothing can listen on " + addr, Advice: "choose another port, or 0 for any that is free; a queue on the same folder may still be running"}
	}
	if err := writePrivate(portFile, []byte(strconv.Itoa(b.server.Addr().(*net.TCPAddr).Port))); err != nil {
		b.server.Shutdown()
		return nil, err
	}
	b.addr = net.JoinHostPort(host, strconv.Itoa(b.server.Addr().(*net.TCPAddr).Port))
	return b, nil
}

// lastPort is the port that was listened on before, if it is free now.
func lastPort(path, host string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return server.RANDOM_PORT
	}
	port, err := strconv.Atoi(string(text))
	if err != nil || port < 1 || port > 65535 {
		return server.RANDOM_PORT
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return server.RANDOM_PORT
	}
	l.Close()
	return port
}

// listenAddress splits HOST:PORT.
func listenAddress(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, &study.InputError{File: "--listen", Message: fmt.Sprintf("%q is no address", addr), Advice: "for example --listen 127.0.0.1:4222"}
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return host, port, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// readKeys reads the passwords, or makes them the first time.
func (b *Broker) readKeys(path string) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &b.keys)
		if err != nil || b.keys.Submit == "" || b.keys.Work == "" || b.keys.Read == "" {
			return &study.InputError{File: path, Message: "the passwords of the queue cannot be read", Advice: "remove the file: the next start makes others, and workers join anew"}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the passwords of the queue: %w", err)
	}
	for _, k := range []*string{&b.keys.Submit, &b.keys.Work, &b.keys.Read} {
		*k = rand.Text()
	}
	if text, err = json.Marshal(b.keys); err != nil {
		return err
	}
	return writePrivate(path, text)
}

// writePrivate writes a file that only its owner reads.
func writePrivate(path string, text []byte) error {
	coming := path + ".new"
	if err := os.WriteFile(coming, text, 0o600); err != nil {
		return err
	}
	return os.Rename(coming, path)
}

// users are the roles and what each may do with the study of a key. A result cannot be written twice by anybody: its stream refuses that.
func (b *Broker) users(key string) []*server.User {
	allow := func(publish, subscribe []string) *server.Permissions {
		return &server.Permissions{Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe}}
	}
	read := []string{"$JS.API.INFO", "$JS.API.STREAM.NAMES"}
	for _, name := range []string{"EP-" + key, "RESULT-" + key, "WASTE-" + key, "KV_lease-" + key, "KV_ctl-" + key, "OBJ_pack-" + key} {
		read = append(read, "$JS.API.STREAM.INFO."+name, "$JS.API.STREAM.MSG.GET."+name, "$JS.API.DIRECT.GET."+name, "$JS.API.DIRECT.GET."+name+".>")
	}
	pack := "OBJ_pack-" + key
	for _, what := range []string{"CREATE", "INFO", "DELETE"} { // reading an object is a consumer that lasts as long
		read = append(read, "$JS.API.CONSUMER."+what+"."+pack+".>")
	}
	read = append(read, "$JS.FC."+pack+".>", "$JS.ACK."+pack+".>")
	work := append([]string{"$JS.API.CONSUMER.INFO.EP-" + key + ".>", "$JS.API.CONSUMER.MSG.NEXT.EP-" + key + ".>", "$JS.ACK.EP-" + key + ".>",
		"$KV.lease-" + key + ".>", "$KV.ctl-" + key + ".clock.*", "$O.pack-" + key + ".>", "result." + key + ".*", "waste." + key + ".*", "evt." + key + ".*"}, read...)
	own := []string{"_INBOX.>", "evt.>"}
	return []*server.User{
		{Username: roleSubmit, Password: b.keys.Submit},
		{Username: roleWork, Password: b.keys.Work, Permissions: allow(work, own)},
		{Username: roleRead, Password: b.keys.Read, Permissions: allow(read, own)},
	}
}

// URL is the address with which a role joins, password included: it belongs in a file, not on a command line.
func (b *Broker) URL(role string) string {
	password := map[string]string{roleSubmit: b.keys.Submit, roleWork: b.keys.Work, roleRead: b.keys.Read}[role]
	u := url.URL{Scheme: "nats", User: url.UserPassword(role, password), Host: b.addr, Path: "/" + b.key}
	if b.pin != "" {
		u.Scheme, u.RawQuery = "tls", "pin="+b.pin
	}
	return u.String()
}

// Close ends the server; what it has acknowledged is on disk then.
func (b *Broker) Close() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// certificate reads the certificate of the queue or makes one. Nobody vouches for it: those who join know its hash.
func certificate(path string) (tls.Certificate, error) {
	if text, err := os.ReadFile(path); err == nil {
		cert, err := tls.X509KeyPair(text, text)
		if err != nil {
			err = &study.InputError{File: path, Message: "the certificate of the queue cannot be read", Advice: "remove the file: the next start makes another, and workers join anew"}
		}
		return cert, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	about := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "stint"}, DNSNames: []string{"stint"}, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(5, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := writePrivate(path, text); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(text, text)
}
