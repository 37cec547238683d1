package dynamo

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// instant is a client that answers every write at once.
type instant struct{ API }

func (instant) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if in.ReturnValues != types.ReturnValueAllNew {
		return &dynamodb.UpdateItemOutput{}, nil
	}
	return &dynamodb.UpdateItemOutput{Attributes: attributes{
		"n": number(1), "usd": number(40), "held": number(40), mark(charge(40)): number(40),
	}}, nil
}

func reserveAndSettle(b *testing.B, store *Store) {
	c, limit := charge(40), caps.Calls(1<<40).AndUSD(1<<40)
	b.ReportAllocs()
	for b.Loop() {
		if out, err := store.Reserve(context.Background(), c, limit); !out.Allowed || err != nil {
			b.Fatal(out, err)
		}
		if ok, err := store.Settle(context.Background(), c, 15); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkStore is what the store itself adds to its two requests.
func BenchmarkStore(b *testing.B) {
	store, err := New(Config{Client: instant{}, Table: "caps", Now: noon})
	if err != nil {
		b.Fatal(err)
	}
	reserveAndSettle(b, store)
}

// instantHTTP answers every request at once.
type instantHTTP struct{ reserve, settle []byte }

func (i instantHTTP) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := i.settle
	if bytes.Contains(body, []byte("ALL_NEW")) {
		answer = i.reserve
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer))}, nil
}

// BenchmarkStoreAndSDK is the same with the SDK's part, but without a network.
func BenchmarkStoreAndSDK(b *testing.B) {
	client := newServer(b).Client(func(o *dynamodb.Options) {
		o.HTTPClient = instantHTTP{
			reserve: []byte(`{"Attributes":{"n":{"N":"1"},"usd":{"N":"40"},"held":{"N":"40"},"hold:00112233aabbccdd":{"N":"40"}}}`),
			settle:  []byte(`{}`),
		}
	})
	store, err := New(Config{Client: client, Table: "caps", Now: noon})
	if err != nil {
		b.Fatal(err)
	}
	reserveAndSettle(b, store)
}

// BenchmarkWire is the same over loopback, with the scripted server's part.
func BenchmarkWire(b *testing.B) { reserveAndSettle(b, newServer(b).store()) }
