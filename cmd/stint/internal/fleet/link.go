package fleet

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// link is a connection to a queue and the places in it that belong to one study.
type link struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	key    string // of the study in the queue
	leases jetstream.KeyValue
	ctl    jetstream.KeyValue
	packs  jetstream.ObjectStore
}

// Terms are what the coordinator sets once and every worker reads.
type Terms struct {
	Study     string        `json:"study"`
	StudySHA  string        `json:"study_sha"` // SHA-256 of study.yaml, hex
	Stint     string        `json:"stint"`     // version of the coordinator
	Package   string        `json:"package"`   // hash of the study's files
	Episodes  int           `json:"episodes"`
	Lease     time.Duration `json:"lease"` // after so long without a heartbeat another worker takes the episode
	Heartbeat time.Duration `json:"heartbeat"`
	SelfStop  time.Duration `json:"self_stop"` // a worker stops its agent after so long without a confirmed heartbeat
	PerModel  int           `json:"per_model"` // episodes of one model at once, over all workers; 0 = no limit
	MaxChecks int           `json:"max_checks"`
	Blobs     string        `json:"blobs"` // folder that all hosts see; "" = the object store of the queue
}

// Check refuses times that could let two workers hold one episode.
func (t *Terms) Check() error {
	if t.Heartbeat <= 0 || 3*t.Heartbeat > t.SelfStop || t.SelfStop >= t.Lease {
		return &study.InputError{File: "--lease", Message: fmt.Sprintf("a lease of %v with heartbeats every %v and a self-stop after %v could let two workers hold one episode", t.Lease, t.Heartbeat, t.SelfStop),
			Advice: "three heartbeats must fit into the self-stop, and the self-stop must be shorter than the lease: for example --lease 5m --heartbeat 20s --self-stop 4m"}
	}
	return nil
}

// The names of a study's places in the queue.
func (l *link) episodes() string { return "EP-" + l.key }
func (l *link) results() string  { return "RESULT-" + l.key }
func (l *link) wastes() string   { return "WASTE-" + l.key }

func (l *link) subject(class, episode string) string {
	return "ep." + l.key + "." + class + "." + episode
}

// keyOf is the key of a study in a queue: what its file says, not where it lies.
func keyOf(s *study.Study) string { return hashOf(s.Source)[:12] }

// queueWait bounds one request to the queue.
const queueWait = 10 * time.Second

var joinKey = regexp.MustCompile(`^/[0-9a-f]{12}$`)

// ReadJoin takes the address of a queue or the name of a file that holds one.
func ReadJoin(text string) (string, error) {
	if strings.Contains(text, "://") {
		return text, nil
	}
	st, err := os.Stat(text)
	if err == nil && st.Size() > 4096 {
		err = errors.New("it is too long for an address")
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(text)
	}
	if err != nil {
		return "", &study.InputError{File: text, Message: "no address of a queue: " + err.Error(), Advice: "name the file queue/join of the run directory, or nats://…"}
	}
	return strings.TrimSpace(string(b)), nil
}

// dial connects to the queue at an address as [Broker.URL] gives it. Without a key in it the study's is used.
func dial(address, key, name string) (*link, error) {
	address, others := firstServer(address)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return nil, &study.InputError{File: "the queue", Message: "its address must look like nats://HOST:PORT/KEY", Advice: "take the one that stint run --listen wrote to queue/join"}
	}
	switch {
	case joinKey.MatchString(u.Path):
		key = u.Path[1:]
	case key == "":
		return nil, &study.InputError{File: "the queue", Message: "its address names no study", Advice: "take the one that stint run wrote to queue/join: it ends in 12 hex digits"}
	}
	l := &link{key: key}
	opts := []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond), nats.Timeout(queueWait), nats.CustomInboxPrefix("_INBOX")}
	if u.Scheme == "tls" {
		opts = append(opts, nats.Secure(pinned(u.Query().Get("pin"))))
	}
	if creds := u.Query().Get("creds"); creds != "" {
		opts = append(opts, nats.UserCredentials(creds))
	}
	u.Path, u.RawQuery = "", ""
	servers := []string{u.String()}
	for _, host := range others {
		other := *u
		other.Host = host
		servers = append(servers, other.String())
	}
	if l.conn, err = nats.Connect(strings.Join(servers, ","), opts...); err != nil {
		return nil, refused(u, err)
	}
	if l.js, err = jetstream.New(l.conn); err != nil {
		return nil, err
	}
	return l, nil
}

// firstServer takes all servers but the first out of an address: a cluster is nats://HOST:PORT,HOST:PORT,HOST:PORT.
func firstServer(address string) (first string, others []string) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return address, nil
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	hosts := strings.Split(rest[:end], ",")
	return scheme + "://" + hosts[0] + rest[end:], hosts[1:]
}

// refused says why a queue cannot be joined, without the password.
func refused(u *url.URL, err error) error {
	in := &study.InputError{File: u.Host, Message: "cannot join the queue: " + err.Error(), Advice: "is stint run --listen running there?"}
	if errors.Is(err, nats.ErrAuthorization) || strings.Contains(err.Error(), "uthorization") {
		in.Message, in.Advice = "the queue refuses this credential", "take the address from queue/join in the run directory: it holds the password"
	}
	return in
}

// pinned checks a certificate by its hash instead of by who signed it; without a hash the system's authorities decide.
func pinned(pin string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if pin == "" {
		return c
	}
	c.InsecureSkipVerify = true // the hash says more than a signature
	c.VerifyConnection = func(s tls.ConnectionState) error {
		sum := sha256.Sum256(s.PeerCertificates[0].Raw)
		if hex.EncodeToString(sum[:]) != pin {
			return errors.New("the certificate is not the one that the address names")
		}
		return nil
	}
	return c
}

// create makes the study's places in the queue; what is there stays.
func (l *link) create(ctx context.Context, replicas int, lease time.Duration, classes []string) error {
	streams := []jetstream.StreamConfig{
		{Name: l.episodes(), Subjects: []string{l.subject("*", "*")}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true},
		// Whoever comes second is refused by the server: there is one result of an episode.
		{Name: l.results(), Subjects: []string{"result." + l.key + ".*"}, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, DenyDelete: true, AllowDirect: true},
		{Name: l.wastes(), Subjects: []string{"waste." + l.key + ".*"}, MaxMsgsPerSubject: 100, DenyDelete: true, AllowDirect: true},
	}
	for _, c := range streams {
		c.Replicas = replicas
		if _, err := l.js.CreateOrUpdateStream(ctx, c); err != nil {
			return fmt.Errorf("making the stream %s: %w", c.Name, err)
		}
	}
	for _, name := range []string{"lease-", "ctl-"} {
		if _, err := l.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name + l.key, Replicas: replicas}); err != nil {
			return fmt.Errorf("making the bucket %s%s: %w", name, l.key, err)
		}
	}
	if _, err := l.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "pack-" + l.key, Replicas: replicas}); err != nil {
		return fmt.Errorf("making the object store: %w", err)
	}
	for _, class := range classes {
		_, err := l.js.CreateOrUpdateConsumer(ctx, l.episodes(), jetstream.ConsumerConfig{Durable: class, FilterSubject: l.subject(class, "*"), AckWait: lease, MaxDeliver: -1, MaxAckPending: -1, AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			return fmt.Errorf("making the consumer of class %s: %w", class, err)
		}
	}
	return l.open(ctx)
}

// open finds the study's places in the queue.
func (l *link) open(ctx context.Context) error {
	var err error
	if l.leases, err = l.js.KeyValue(ctx, "lease-"+l.key); err != nil {
		return noStudy(l.key, err)
	}
	if l.ctl, err = l.js.KeyValue(ctx, "ctl-"+l.key); err != nil {
		return noStudy(l.key, err)
	}
	if l.packs, err = l.js.ObjectStore(ctx, "pack-"+l.key); err != nil {
		return noStudy(l.key, err)
	}
	return nil
}

func noStudy(key string, err error) error {
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return &study.InputError{File: "the queue", Message: "it has no study " + key, Advice: "take the address that stint run wrote to queue/join"}
	}
	return fmt.Errorf("opening the study in the queue: %w", err)
}

// termsKey is where the terms are.
const termsKey = "terms"

// offer publishes the terms; one study under two terms at once is refused.
func (l *link) offer(ctx context.Context, t *Terms) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = l.ctl.Put(ctx, termsKey, b)
	return err
}

// terms reads them.
func (l *link) terms(ctx context.Context) (*Terms, error) {
	e, err := l.ctl.Get(ctx, termsKey)
	if err != nil {
		return nil, noStudy(l.key, err)
	}
	var t Terms
	if err := json.Unmarshal(e.Value(), &t); err != nil {
		return nil, fmt.Errorf("reading the terms of the study: %w", err)
	}
	return &t, t.Check()
}

// now is the time of the server, by which leases are judged: clocks of hosts may differ.
func (l *link) now(ctx context.Context, who string) (time.Time, error) {
	if _, err := l.ctl.Put(ctx, "clock."+who, nil); err != nil {
		return time.Time{}, err
	}
	e, err := l.ctl.Get(ctx, "clock."+who)
	if err != nil {
		return time.Time{}, err
	}
	return e.Created(), nil
}

func (l *link) close() { l.conn.Close() }
