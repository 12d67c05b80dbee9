package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
)

// asNATSVar makes the test's program a server of a cluster; it holds a clusterServer.
const asNATSVar = "STINT_TEST_AS_NATS"

// clusterServer is one server of a JetStream cluster on this machine.
type clusterServer struct {
	Name   string
	Dir    string
	Port   int   // for clients
	Routes []int // ports for one another, of all servers
	Own    int   // index of the server's own
}

// natsForTest serves until it is killed. It says when the cluster has a leader.
func natsForTest(text string) int {
	var c clusterServer
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Println(err)
		return 2
	}
	opt := &server.Options{ServerName: c.Name, Host: "127.0.0.1", Port: c.Port, JetStream: true, StoreDir: c.Dir, NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: c.Routes[c.Own]}}
	for _, port := range c.Routes {
		opt.Routes = append(opt.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	s, err := server.NewServer(opt)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	s.Start()
	for !s.ReadyForConnections(time.Second) || !s.JetStreamIsCurrent() {
		time.Sleep(50 * time.Millisecond)
	}
	fmt.Println("ready")
	s.WaitForShutdown()
	return 0
}

// startCluster starts three servers and waits until they have found one another.
func startCluster(t *testing.T) (servers []*exec.Cmd, addresses []string) {
	t.Helper()
	ports := freePorts(t, 6)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said []*output
	for i := range 3 {
		text, err := json.Marshal(clusterServer{Name: fmt.Sprintf("s%d", i), Dir: t.TempDir(), Port: ports[i], Routes: ports[3:], Own: i})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		out := &output{}
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), asNATSVar+"="+string(text)), out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		servers, said, addresses = append(servers, cmd), append(said, out), append(addresses, fmt.Sprintf("127.0.0.1:%d", ports[i]))
	}
	for i, out := range said {
		for end := time.Now().Add(stepLimit); !strings.Contains(out.String(), "ready"); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("server %d of the cluster is not ready: %s", i, out)
			}
		}
	}
	return servers, addresses
}

// freePorts finds ports that nobody listens on.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// TestFleetCluster runs a study over a cluster of three servers of which one, the one that all are connected to, is
// killed in the middle; a worker that joins afterwards finds another one by the address.
func TestFleetCluster(t *testing.T) {
	if os.Getenv("STINT_SOAK") == "" {
		t.Skip("a cluster takes long to elect another leader where others compute: set STINT_SOAK=1, as .ci/full does")
	}
	t.Parallel()
	dir := t.TempDir()
	count := 6
	writeFile(t, dir, "study.yaml", fmt.Sprintf(fleetStudy, count, "700ms", "700ms"))
	stint(t, dir, 0, "run", "study.yaml", "-o", "alone", "-q", "--jobs", "12")
	want, _ := digests(t, filepath.Join(dir, "alone"))
	servers, addresses := startCluster(t)

	f := &fleetRun{t: t, dir: dir, run: filepath.Join(dir, "many"), queue: "nats://" + strings.Join(addresses, ",")}
	t.Cleanup(f.kill)
	f.start("--replicas", "3", "--lease", "40s", "--heartbeat", "1s", "--self-stop", "30s")
	f.worker("--jobs", "2")
	f.waitFor("turn 1 passed")
	if _, errs := stint(t, dir, 2, "run", "study.yaml", "-o", "other", "--queue", f.queue, "--replicas", "3"); !strings.Contains(errs, "another coordinator offers this study") {
		t.Errorf("a second coordinator: %s", errs)
	}
	_ = servers[0].Process.Kill()
	f.worker("--jobs", "2")
	f.wait()
	f.left(nil)
	f.once(2 * count)
	got, _ := digests(t, f.run)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests differ (-alone +many):\n%s", diff)
	}
}
