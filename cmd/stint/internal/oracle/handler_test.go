package oracle

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

func TestHandler(t *testing.T) {
	server := httptest.NewServer(Handler(shop(t)))
	defer server.Close()
	send := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/health", "", 200, `{"status":"ok"}`},
		{"POST", "/customers", `{"email":"ann"}`, 201, `{"badge":null,"email":"ann","id":1,"vip":true}`},
		{"GET", "/customers?x=1", "", 200, `{"items":[{"badge":null,"email":"ann","id":1,"vip":true}],"total":1}`},
		{"POST", "/customers", `{"email":`, 400, `{"error":{"code":"type","field":null}}`},
		{"POST", "/customers", string(bytes.Repeat([]byte(" "), MaxBody+1)), 413, ""},
		{"DELETE", "/customers/1", "", 204, ""},
		{"GET", "/customers/1", "", 404, `{"error":{"code":"not_found","field":null}}`},
	} {
		if status, got := send(c.method, c.path, c.body); status != c.status || got != c.want {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, status, got, c.status, c.want)
		}
	}
	// Many clients at once: every accepted row must be there once.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				send("POST", "/notes", "{}")
			}
		})
	}
	wg.Wait()
	if _, list := send("GET", "/notes", ""); !strings.HasSuffix(list, `{"id":80,"order_id":null}],"total":80}`) {
		t.Errorf("after 80 creations the list ends %s", list[max(0, len(list)-80):])
	}
}

func BenchmarkHandler(b *testing.B) {
	h := Handler(shop(b))
	body := []byte(`{"total":12.5,"count":3,"placed":"2024-05-06"}`)
	for n := 0; b.Loop(); n++ {
		if n%1000 == 0 {
			h = Handler(shop(b))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders", bytes.NewReader(body)))
		if w.Code != http.StatusCreated {
			b.Fatal(w.Code)
		}
	}
}
