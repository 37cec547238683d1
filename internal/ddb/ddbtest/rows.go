package ddbtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// This file is a DynamoDB table in memory, as far as the stores need one: GetItem, and
// UpdateItem with a condition, SET, ADD and REMOVE; scan.go and transact.go have the rest.
// It is strict, as DynamoDB is, about names and values that an expression does not use.

// attrKey is the partition key of the table.
const attrKey = "k"

// Row is an item: attribute, type, value.
type Row map[string]map[string]string

// Request is the body of a request.
type Request struct {
	TableName                           string
	Key                                 Row
	UpdateExpression                    string
	ConditionExpression                 string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           Row
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
	ReturnConsumedCapacity              string
	ConsistentRead                      bool
	FilterExpression                    string
	ExclusiveStartKey                   Row
	ClientRequestToken                  string
	TransactItems                       []struct{ Put *Put }
	RequestItems                        map[string]struct{ Keys []Row }
}

// failure is an answer of status 400.
type failure struct {
	code, message string
	item          Row
	reasons       []map[string]string // of a transaction that was canceled
}

func (f *failure) Error() string { return f.code + ": " + f.message }

func invalid(format string, args ...any) *failure {
	return &failure{code: "ValidationException", message: fmt.Sprintf(format, args...)}
}

// get returns the body of a GetItem's answer.
func (r *Request) get(rows map[string]Row) any {
	answer := map[string]any{}
	if item, ok := rows[r.Key[attrKey]["S"]]; ok {
		answer["Item"] = item
	}
	if r.ReturnConsumedCapacity == "TOTAL" {
		answer["ConsumedCapacity"] = map[string]any{"TableName": r.TableName, "CapacityUnits": 1}
	}
	return answer
}

// update applies an UpdateItem and returns the body of its answer.
func (r *Request) update(rows map[string]Row) (body any, err error) {
	defer recoverFailure(&err)
	key := r.Key[attrKey]["S"]
	if key == "" {
		panic(invalid("The provided key element does not match the schema"))
	}
	old, exists := rows[key]
	e := &expression{Request: r, item: old, used: map[string]bool{}}
	if r.ConditionExpression != "" {
		e.tokens = tokens(r.ConditionExpression)
		holds := e.or()
		e.end()
		if !holds {
			f := &failure{code: "ConditionalCheckFailedException", message: "The conditional request failed"}
			if r.ReturnValuesOnConditionCheckFailure == "ALL_OLD" && exists {
				f.item = maps.Clone(old)
			}
			panic(f)
		}
	}
	item := maps.Clone(old)
	if item == nil {
		item = Row{attrKey: {"S": key}}
	}
	e.tokens = tokens(r.UpdateExpression)
	e.apply(item)
	for name := range r.ExpressionAttributeNames {
		if !e.used[name] {
			panic(invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", name))
		}
	}
	for name := range r.ExpressionAttributeValues {
		if !e.used[name] {
			panic(invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", name))
		}
	}
	rows[key] = item
	if r.ReturnValues == "ALL_NEW" {
		return map[string]any{"Attributes": item}, nil
	}
	return map[string]any{}, nil
}

// recoverFailure makes an error of a failure that an expression panicked with.
func recoverFailure(err *error) {
	switch f := recover().(type) {
	case nil:
	case *failure:
		*err = f
	default:
		panic(f)
	}
}

type expression struct {
	*Request
	item   Row
	tokens []string
	used   map[string]bool
}

func tokens(s string) []string {
	for _, sep := range []string{"(", ")", ",", "<=", ">=", " = "} {
		s = strings.ReplaceAll(s, sep, " "+sep+" ")
	}
	return strings.Fields(s)
}

func (e *expression) peek() string {
	if len(e.tokens) == 0 {
		return ""
	}
	return e.tokens[0]
}

func (e *expression) next() string {
	t := e.peek()
	if t == "" {
		panic(invalid("Invalid expression: it ends too early"))
	}
	e.tokens = e.tokens[1:]
	return t
}

func (e *expression) want(t string) {
	if got := e.next(); got != t {
		panic(invalid("Invalid expression: %s; want %s", got, t))
	}
}

func (e *expression) end() {
	if len(e.tokens) > 0 {
		panic(invalid("Invalid expression: %s left over", e.tokens))
	}
}

// name resolves an attribute's name.
func (e *expression) name() string {
	t := e.next()
	if strings.HasPrefix(t, "#") {
		name, ok := e.ExpressionAttributeNames[t]
		if !ok {
			panic(invalid("An expression attribute name used in the document path is not defined: %s", t))
		}
		e.used[t] = true
		return name
	}
	if strings.ContainsAny(t, ":()=<>") || slices.Contains([]string{"AND", "OR", "BETWEEN", "SET", "ADD", "REMOVE"}, t) {
		panic(invalid("Invalid expression: %s is not a name", t))
	}
	return t
}

// operand resolves a value or an attribute's name; nil is an attribute that is missing.
func (e *expression) operand() map[string]string {
	if t := e.peek(); strings.HasPrefix(t, ":") {
		e.next()
		v, ok := e.ExpressionAttributeValues[t]
		if !ok {
			panic(invalid("An expression attribute value used in expression is not defined: %s", t))
		}
		e.used[t] = true
		return v
	}
	return e.item[e.name()]
}

func (e *expression) or() bool {
	holds := e.and()
	for e.peek() == "OR" {
		e.next()
		right := e.and()
		holds = holds || right
	}
	return holds
}

func (e *expression) and() bool {
	holds := e.term()
	for e.peek() == "AND" {
		e.next()
		right := e.term()
		holds = holds && right
	}
	return holds
}

func (e *expression) term() bool {
	switch e.peek() {
	case "(":
		e.next()
		holds := e.or()
		e.want(")")
		return holds
	case "attribute_exists", "attribute_not_exists":
		want := e.next() == "attribute_exists"
		e.want("(")
		_, exists := e.item[e.name()]
		e.want(")")
		return exists == want
	case "contains": // of strings
		e.next()
		e.want("(")
		text := e.operand()
		e.want(",")
		part := e.operand()
		e.want(")")
		return text != nil && strings.Contains(text["S"], part["S"])
	}
	left := e.operand()
	switch op := e.next(); op {
	case "BETWEEN":
		low := e.operand()
		e.want("AND")
		high := e.operand()
		if order(low, high) > 0 {
			panic(invalid("The BETWEEN operator requires upper bound to be greater than or equal to lower bound"))
		}
		return comparable(low, left) && comparable(left, high) && order(low, left) <= 0 && order(left, high) <= 0
	case "=", ">=", "<=":
		right := e.operand()
		if !comparable(left, right) {
			return false
		}
		c := order(left, right)
		return c == 0 || op == ">=" && c > 0 || op == "<=" && c < 0
	default:
		panic(invalid("Invalid expression: operator %s", op))
	}
}

// comparable tells whether both are numbers; other types are not compared here.
func comparable(a, b map[string]string) bool { return a["N"] != "" && b["N"] != "" }

func order(a, b map[string]string) int { return rat(a).Cmp(rat(b)) }

func rat(v map[string]string) *big.Rat {
	r, ok := new(big.Rat).SetString(v["N"])
	if !ok {
		panic(invalid("The parameter cannot be converted to a numeric value"))
	}
	return r
}

func (e *expression) apply(item Row) {
	old := e.item
	seen := map[string]bool{}
	changed := map[string]bool{}
	for len(e.tokens) > 0 {
		section := e.next()
		if seen[section] {
			panic(invalid("The %q section can only be used once in an update expression", section))
		}
		seen[section] = true
		for {
			name := e.name()
			if changed[name] || name == attrKey {
				panic(invalid("Two document paths overlap with each other: %s", name))
			}
			changed[name] = true
			switch section {
			case "SET":
				e.want("=")
				if e.peek() == "if_not_exists" {
					e.next()
					e.want("(")
					have, ok := old[e.name()]
					e.want(",")
					v := e.operand()
					e.want(")")
					if ok {
						v = have
					}
					item[name] = v
				} else {
					item[name] = e.operand()
				}
			case "ADD":
				add := rat(e.operand())
				if have, ok := old[name]; ok {
					if have["N"] == "" {
						panic(invalid("An operand in the update expression has an incorrect data type"))
					}
					add.Add(add, rat(have))
				}
				item[name] = map[string]string{"N": decimal(add)}
			case "REMOVE":
				delete(item, name)
			default:
				panic(invalid("Invalid UpdateExpression: Syntax error; token: %q", section))
			}
			if e.peek() != "," {
				break
			}
			e.next()
		}
	}
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(38), "0")
}

// Size is the item's size as DynamoDB counts it: names and strings by their UTF-8
// bytes, a number by about a byte per two digits and one more, one more if negative
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
func (r Row) Size() int {
	n := 0
	for name, v := range r {
		n += len(name) + len(v["S"])
		if digits, ok := v["N"]; ok {
			n += (len(strings.Trim(strings.Replace(digits, ".", "", 1), "-0"))+1)/2 + 1
			if strings.HasPrefix(digits, "-") {
				n++
			}
		}
	}
	return n
}

func MustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Values is a row as the SDK reads it.
func Values(r Row) map[string]types.AttributeValue {
	a := map[string]types.AttributeValue{}
	for name, v := range r {
		if n, ok := v["N"]; ok {
			a[name] = &types.AttributeValueMemberN{Value: n}
		} else {
			a[name] = &types.AttributeValueMemberS{Value: v["S"]}
		}
	}
	return a
}
