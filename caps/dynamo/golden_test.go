package dynamo

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// What each call sends, to the letter. 1796342400 is 2026-12-04 00:00 UTC in seconds,
// three days after the day's end.
func TestRequests(t *testing.T) {
	const (
		mine = `"TableName":"caps","Key":{"k":{"S":"caller#2026-11-30#0123456789abcdef0123456789abcdef"}},`
		all  = `"TableName":"caps","Key":{"k":{"S":"global#2026-11-30#all"}},`

		fits  = `(attribute_not_exists(n) OR n BETWEEN :zero AND :calls) AND (attribute_not_exists(usd) OR usd BETWEEN :zero AND :room)`
		takes = `ADD n :one, usd :amount, held :held SET expiresAt = if_not_exists(expiresAt, :ttl)`
		both  = `"ReturnValues":"ALL_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD"`
	)
	final := func(c caps.Charge) caps.Charge { c.Final = true; return c }
	for _, c := range []struct {
		what string
		call func(*Store) error
		op   string
		want string
	}{
		{
			what: "reserve under both limits",
			call: func(s *Store) error { _, err := s.Reserve(ctx(t), charge(40), caps.Calls(10).AndUSD(100)); return err },
			op:   "UpdateItem",
			want: `{` + mine + `
				"ConditionExpression":"attribute_not_exists(#id) AND ` + fits + `",
				"UpdateExpression":"` + takes + `, #id = :id",
				"ExpressionAttributeNames":{"#id":"hold:00112233aabbccdd"},
				"ExpressionAttributeValues":{":zero":{"N":"0"},":one":{"N":"1"},":calls":{"N":"9"},":room":{"N":"60"},
					":amount":{"N":"40"},":held":{"N":"40"},":ttl":{"N":"1796342400"},":id":{"N":"40"}},` + both + `}`,
		},
		{
			what: "reserve under a limit of calls",
			call: func(s *Store) error { _, err := s.Reserve(ctx(t), charge(40), caps.Calls(1)); return err },
			op:   "UpdateItem",
			want: `{` + mine + `
				"ConditionExpression":"attribute_not_exists(#id) AND ` + fits + `",
				"UpdateExpression":"` + takes + `, #id = :id",
				"ExpressionAttributeNames":{"#id":"hold:00112233aabbccdd"},
				"ExpressionAttributeValues":{":zero":{"N":"0"},":one":{"N":"1"},":calls":{"N":"0"},":room":{"N":"9007199254740951"},
					":amount":{"N":"40"},":held":{"N":"40"},":ttl":{"N":"1796342400"},":id":{"N":"40"}},` + both + `}`,
		},
		{
			what: "final reserve under a limit of dollars",
			call: func(s *Store) error { _, err := s.Reserve(ctx(t), final(charge(100)), caps.USD(100)); return err },
			op:   "UpdateItem",
			want: `{` + mine + `
				"ConditionExpression":"attribute_not_exists(#id) AND ` + fits + `",
				"UpdateExpression":"` + takes + `, #id = :id",
				"ExpressionAttributeNames":{"#id":"done:00112233aabbccdd"},
				"ExpressionAttributeValues":{":zero":{"N":"0"},":one":{"N":"1"},":calls":{"N":"9007199254740990"},":room":{"N":"0"},
					":amount":{"N":"100"},":held":{"N":"0"},":ttl":{"N":"1796342400"},":id":{"N":"1796040000"}},` + both + `}`,
		},
		{
			what: "reserve of the ceiling",
			call: func(s *Store) error { _, err := s.Reserve(ctx(t), shared(40), caps.USD(100)); return err },
			op:   "UpdateItem",
			want: `{` + all + `
				"ConditionExpression":"` + fits + `",
				"UpdateExpression":"` + takes + `",
				"ExpressionAttributeValues":{":zero":{"N":"0"},":one":{"N":"1"},":calls":{"N":"9007199254740990"},":room":{"N":"60"},
					":amount":{"N":"40"},":held":{"N":"40"},":ttl":{"N":"1796342400"}},` + both + `}`,
		},
		{
			what: "settle",
			call: func(s *Store) error { _, err := s.Settle(ctx(t), charge(40), 15); return err },
			op:   "UpdateItem",
			want: `{` + mine + `
				"ConditionExpression":"#id = :amount",
				"UpdateExpression":"ADD usd :usd, held :held REMOVE #id",
				"ExpressionAttributeNames":{"#id":"hold:00112233aabbccdd"},
				"ExpressionAttributeValues":{":usd":{"N":"-25"},":held":{"N":"-40"},":amount":{"N":"40"}}}`,
		},
		{
			what: "settle of the ceiling, above the hold",
			call: func(s *Store) error { _, err := s.Settle(ctx(t), shared(40), 50); return err },
			op:   "UpdateItem",
			want: `{` + all + `
				"ConditionExpression":"n >= :one AND usd >= :amount AND held >= :amount",
				"UpdateExpression":"ADD usd :usd, held :held",
				"ExpressionAttributeValues":{":one":{"N":"1"},":usd":{"N":"10"},":held":{"N":"-40"},":amount":{"N":"40"}}}`,
		},
		{
			what: "release",
			call: func(s *Store) error { _, err := s.Release(ctx(t), charge(40)); return err },
			op:   "UpdateItem",
			want: `{` + mine + `
				"ConditionExpression":"#id = :amount",
				"UpdateExpression":"ADD n :minus, usd :usd, held :held REMOVE #id",
				"ExpressionAttributeNames":{"#id":"hold:00112233aabbccdd"},
				"ExpressionAttributeValues":{":minus":{"N":"-1"},":usd":{"N":"-40"},":held":{"N":"-40"},":amount":{"N":"40"}}}`,
		},
		{
			what: "release of a final charge",
			call: func(s *Store) error { _, err := s.Release(ctx(t), final(charge(40))); return err },
			op:   "UpdateItem",
			want: `{` + mine + `
				"ConditionExpression":"attribute_exists(#id)",
				"UpdateExpression":"ADD n :minus, usd :usd REMOVE #id",
				"ExpressionAttributeNames":{"#id":"done:00112233aabbccdd"},
				"ExpressionAttributeValues":{":minus":{"N":"-1"},":usd":{"N":"-40"}}}`,
		},
		{
			what: "release of the ceiling",
			call: func(s *Store) error { _, err := s.Release(ctx(t), shared(40)); return err },
			op:   "UpdateItem",
			want: `{` + all + `
				"ConditionExpression":"n >= :one AND usd >= :amount AND held >= :amount",
				"UpdateExpression":"ADD n :minus, usd :usd, held :held",
				"ExpressionAttributeValues":{":one":{"N":"1"},":minus":{"N":"-1"},":usd":{"N":"-40"},":held":{"N":"-40"},":amount":{"N":"40"}}}`,
		},
		{
			what: "release of a final charge of the ceiling",
			call: func(s *Store) error { _, err := s.Release(ctx(t), final(shared(40))); return err },
			op:   "UpdateItem",
			want: `{` + all + `
				"ConditionExpression":"n >= :one AND usd >= :amount",
				"UpdateExpression":"ADD n :minus, usd :usd",
				"ExpressionAttributeValues":{":one":{"N":"1"},":minus":{"N":"-1"},":usd":{"N":"-40"},":amount":{"N":"40"}}}`,
		},
		{
			what: "usage",
			call: func(s *Store) error { _, err := s.Usage(ctx(t), caller()); return err },
			op:   "GetItem",
			want: `{` + mine + `"ConsistentRead":true}`,
		},
		{
			what: "reserve under a cap that cannot hold it",
			call: func(s *Store) error { _, err := s.Reserve(ctx(t), charge(40), caps.Calls(0)); return err },
			op:   "GetItem",
			want: `{` + mine + `"ConsistentRead":true}`,
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := newServer(t)
			if err := c.call(s.store()); err != nil {
				t.Fatal(err)
			}
			got := s.Requests()
			if len(got) != 1 || got[0].Operation != c.op {
				t.Fatalf("%+v; want one %s", got, c.op)
			}
			if !sameJSON(t, got[0].Body, c.want) {
				t.Errorf("sent %s\nwant %s", got[0].Body, c.want)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	for text, v := range map[*string]*any{&a: &x, &b: &y} {
		if err := json.Unmarshal([]byte(*text), v); err != nil {
			t.Fatalf("%v in %s", err, *text)
		}
	}
	return reflect.DeepEqual(x, y)
}
