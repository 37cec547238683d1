package dynamo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Names of the attributes. The expressions in this package spell them out.
const (
	attrKey     = "k"
	attrCalls   = "n"
	attrUSD     = "usd"
	attrHeld    = "held"
	attrExpiry  = "expiresAt"
	prefixHold  = "hold:"
	prefixFinal = "done:"
)

// attributes is an item, or the values of an expression.
type attributes map[string]types.AttributeValue

func itemKey(key caps.ItemKey) attributes {
	return attributes{attrKey: &types.AttributeValueMemberS{Value: key.String()}}
}

// number is an integer as DynamoDB takes it.
func number[T ~int | ~int64](n T) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// mark is the name of the attribute by which an item knows a charge that has an ID.
func mark(c caps.Charge) string {
	if c.Final {
		return prefixFinal + c.ID
	}
	return prefixHold + c.ID
}

// ReadItem reads an item of the table as a scan gets it: the budget it counts and what
// that has used. An item that is not one of a budget has a key that cannot be parsed, or
// lacks the number of calls; that is an error, and so is a count that is not a whole
// number of 0 or more.
func ReadItem(item map[string]types.AttributeValue) (caps.ItemKey, caps.Usage, error) {
	k, ok := item[attrKey].(*types.AttributeValueMemberS)
	if !ok {
		return caps.ItemKey{}, caps.Usage{}, fmt.Errorf("the item has no key %s", attrKey)
	}
	key, err := caps.ParseItemKey(k.Value)
	if err != nil {
		return key, caps.Usage{}, err
	}
	if _, ok := item[attrCalls]; !ok {
		return key, caps.Usage{}, fmt.Errorf("the item has no number of calls %s", attrCalls)
	}
	u, err := attributes(item).usage()
	return key, u, err
}

// usage reads what an item says, the zero Usage if there is none. A count that is not
// an integer between 0 and 2^63-1 is an error: nothing may be decided on it. The text
// does not tell the value.
func (a attributes) usage() (caps.Usage, error) {
	calls, err := a.count(attrCalls)
	if err != nil {
		return caps.Usage{}, err
	}
	usd, err := a.count(attrUSD)
	if err != nil {
		return caps.Usage{}, err
	}
	held, err := a.count(attrHeld)
	if err != nil {
		return caps.Usage{}, err
	}
	u := caps.Usage{Calls: calls}
	// Costs above the hold may lift the sum over what an amount can be, and a shared
	// budget cannot tell that a charge was released twice.
	u.USD = min(caps.MicroUSD(usd), caps.MaxMicroUSD)
	u.Held = min(caps.MicroUSD(held), u.USD)
	for name := range a {
		if strings.HasPrefix(name, prefixHold) {
			u.Open++
		}
	}
	return u, nil
}

// count reads one number, 0 if the item does not have it.
func (a attributes) count(name string) (int64, error) {
	value, ok := a[name]
	if !ok {
		return 0, nil
	}
	if n, ok := value.(*types.AttributeValueMemberN); ok {
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil && i >= 0 {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the item is broken: its attribute %s is not a whole number of 0 or more", name)
}

// has tells whether the item knows the charge. It is an error if the ID stands for a
// hold of another amount.
func (a attributes) has(c caps.Charge) (bool, error) {
	if _, ok := a[mark(c)]; !ok || c.ID == "" {
		return false, nil
	}
	if c.Final {
		return true, nil
	}
	held, err := a.count(mark(c))
	if err == nil && caps.MicroUSD(held) != c.Amount {
		err = errOtherCharge
	}
	return err == nil, err
}
