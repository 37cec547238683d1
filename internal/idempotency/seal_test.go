package idempotency

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

const (
	testRoute = "POST /api/v1/messages"
	testBody  = `{"model":"demo-small"}`
)

var testSecret = bytes.Repeat([]byte{'s'}, caps.MinSecretBytes)

func testCaller(t testing.TB, address string) caps.Caller {
	t.Helper()
	caller, err := caps.ViewerCaller(address)
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

func testKeyer(t testing.TB, secret []byte) *caps.Keyer {
	t.Helper()
	keyer, err := caps.NewKeyer(secret)
	if err != nil {
		t.Fatal(err)
	}
	return keyer
}

func testEntry(t testing.TB, secret []byte, caller, key, route, body string) *entry {
	t.Helper()
	root, err := newRoot(testKeyer(t, secret), 0)
	if err != nil {
		t.Fatal(err)
	}
	e, err := root.entry(testCaller(t, caller), key, route, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func defaultEntry(t testing.TB) *entry {
	return testEntry(t, testSecret, "198.51.100.10:50235", "key-1", testRoute, testBody)
}

func TestSealAndOpen(t *testing.T) {
	e := defaultEntry(t)
	for _, a := range []Answer{
		{},
		{Status: 200, Body: []byte{}},
		{Status: 599, ContentType: "text/event-stream", Body: []byte("data: {}\n\n")},
		{Status: 100, ContentType: strings.Repeat("c", 255), Body: bytes.Repeat([]byte{0, 255}, 70_000)},
	} {
		sealed := e.seal(a)
		if want := sealOverhead + len(a.ContentType) + len(a.Body); len(sealed) != want {
			t.Errorf("the sealed answer has %d bytes, want %d", len(sealed), want)
		}
		got, err := e.open(sealed)
		if a.Body == nil {
			a.Body = []byte{}
		}
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("opened: %v, %v; want %v", got, err, a)
		}
	}
	if size := len(e.seal(Answer{})); size > SmallAnswer {
		t.Errorf("the answer that stands for one not kept has %d bytes, more than a small one", size)
	}
	if bytes.Equal(e.seal(Answer{Status: 200}), e.seal(Answer{Status: 200})) {
		t.Error("the same answer is sealed the same way twice")
	}
}

// pinned is an answer that was sealed for the default entry once.
func pinned(t testing.TB) []byte {
	t.Helper()
	sealed, err := base64.StdEncoding.DecodeString("AU/MkKA6pVMpiqpNN6QLnWQWgZEkN0zjWEkWuXAHhXca/0jUY2ZhjEcH3A20+g==")
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// Whoever changes one of these forgets all that is kept: the version then has to change.
func TestFormat(t *testing.T) {
	e := defaultEntry(t)
	if want := "idem#answer#cdaedc3e9d122c1140ef266ff57ded36"; e.item != want {
		t.Errorf("item %s, want %s", e.item, want)
	}
	if got, want := hex.EncodeToString(e.fingerprint[:]), "7aca87a02aae71ac8fdbe3e89becf108d65cd929b98550caad6c34b7aef764e4"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	sealed := pinned(t)
	want := Answer{Status: 200, ContentType: "text/plain", Body: []byte("kept")}
	if got, err := e.open(sealed); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("opened: %v, %v; want %v", got, err, want)
	}
}

func TestOpenRefusesWhatWasChanged(t *testing.T) {
	e := defaultEntry(t)
	sealed := e.seal(Answer{Status: 200, ContentType: "text/plain", Body: []byte("answer")})
	refused := func(what string, sealed []byte) {
		t.Helper()
		if a, err := e.open(sealed); !errors.Is(err, errUnopened) || !reflect.DeepEqual(a, Answer{}) {
			t.Errorf("%s: %v, %v; want it refused", what, a, err)
		}
	}
	for i := range len(sealed) * 8 {
		changed := bytes.Clone(sealed)
		changed[i/8] ^= 1 << (i % 8)
		refused("one bit changed", changed)
	}
	for n := range len(sealed) {
		refused("cut short", sealed[:n])
		refused("cut in front", sealed[n+1:])
	}
	refused("longer", append(bytes.Clone(sealed), 0))

	// A content type longer than the whole, under a seal that is right.
	wrong := e.aead.Seal([]byte{sealVersion}, nil, []byte{0, 200, 2, 'x'}, e.bound())
	refused("a length that is wrong", wrong)
}

func TestOpenNeedsTheSameEntry(t *testing.T) {
	sealed := defaultEntry(t).seal(Answer{Status: 200, Body: []byte("answer")})
	for what, e := range otherEntries(t) {
		if a, err := e.open(sealed); !errors.Is(err, errUnopened) {
			t.Errorf("%s: opened %v, %v", what, a, err)
		}
	}
	// The key that seals alone is not enough: item and fingerprint are bound to it.
	moved := *defaultEntry(t)
	moved.item += "0"
	if a, err := moved.open(sealed); !errors.Is(err, errUnopened) {
		t.Errorf("moved to another item: opened %v, %v", a, err)
	}
	changed := *defaultEntry(t)
	changed.fingerprint[31] ^= 1
	if a, err := changed.open(sealed); !errors.Is(err, errUnopened) {
		t.Errorf("given to another request: opened %v, %v", a, err)
	}
}

func otherEntries(t testing.TB) map[string]*entry {
	return map[string]*entry{
		"another secret": testEntry(t, bytes.Repeat([]byte{'t'}, caps.MinSecretBytes), "198.51.100.10:50235", "key-1", testRoute, testBody),
		"another caller": testEntry(t, testSecret, "198.51.100.11:50235", "key-1", testRoute, testBody),
		"another key":    testEntry(t, testSecret, "198.51.100.10:50235", "key-2", testRoute, testBody),
		"another route":  testEntry(t, testSecret, "198.51.100.10:50235", "key-1", "POST /api/v1/chat/completions", testBody),
		"another body":   testEntry(t, testSecret, "198.51.100.10:50235", "key-1", testRoute, testBody+" "),
		"a shifted route": testEntry(t, testSecret, "198.51.100.10:50235", "key-1",
			testRoute+testBody[:1], testBody[1:]),
	}
}

func TestEntriesDiffer(t *testing.T) {
	e := defaultEntry(t)
	sameItem := map[string]bool{"another route": true, "another body": true, "a shifted route": true}
	for what, other := range otherEntries(t) {
		if (other.item == e.item) != sameItem[what] {
			t.Errorf("%s: items %s and %s", what, e.item, other.item)
		}
		if other.fingerprint == e.fingerprint {
			t.Errorf("%s: the same fingerprint", what)
		}
	}
	if again := testEntry(t, testSecret, "198.51.100.10:1", "key-1", testRoute, testBody); again.item != e.item || again.fingerprint != e.fingerprint {
		t.Error("the same request from another port is another entry")
	}
	if !strings.HasPrefix(e.item, "idem#answer#") || len(e.item) != len("idem#answer#")+32 {
		t.Errorf("item %q", e.item)
	}
	if key, err := caps.ParseItemKey(e.item); err == nil {
		t.Errorf("the item key reads as the budget %v", key)
	}
}

// Nothing but the seal's own output opens.
func FuzzOpen(f *testing.F) {
	e, sealed := defaultEntry(f), pinned(f) // not sealed here: each fuzzing process would have another
	f.Add(sealed)
	f.Add(sealed[:len(sealed)-1])
	f.Add([]byte{sealVersion})
	f.Add(make([]byte, sealOverhead))
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := e.open(data); err == nil && !bytes.Equal(data, sealed) {
			t.Fatalf("%x opens: %v", data, a)
		}
	})
}

func BenchmarkEntry(b *testing.B) {
	root, err := newRoot(testKeyer(b, testSecret), 0)
	if err != nil {
		b.Fatal(err)
	}
	caller, body := testCaller(b, "198.51.100.10:50235"), make([]byte, 8000)
	for b.Loop() {
		if _, err := root.entry(caller, "stainless-node-retry-0b9c3c43", testRoute, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSealOpen(b *testing.B) {
	e, a := defaultEntry(b), Answer{Status: 200, ContentType: "application/json", Body: make([]byte, 2048)}
	b.SetBytes(int64(len(a.Body)))
	for b.Loop() {
		if _, err := e.open(e.seal(a)); err != nil {
			b.Fatal(err)
		}
	}
}
