package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb"
)

const (
	// markFor is how long the mark of a final charge is kept at least: longer than all
	// attempts of its reserve and the release that may follow take.
	markFor = 10 * time.Second

	// marksKept is how many old marks an item may have. Each is 27 bytes, so that an
	// item stays under 1 KB, one write unit, at a call a second.
	marksKept = 16

	// marksAtOnce bounds one clean-up, well inside the 4 KB of an expression.
	marksAtOnce = 100

	// marksTimeout bounds what a clean-up may add to an answer.
	marksTimeout = 200 * time.Millisecond
)

// dropOldMarks removes the marks that no retry can need any more, once there are many.
// It is housekeeping after an answer that is already certain: if it fails, the next
// call tries again.
func (s *Store) dropOldMarks(ctx context.Context, key caps.ItemKey, item attributes) {
	names := oldMarks(item, s.now())
	if len(names) <= marksKept {
		return
	}
	names = names[:min(len(names), marksAtOnce)]
	aliases := make(map[string]string, len(names))
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fmt.Sprintf("#m%d", i)
		aliases[list[i]] = name
	}
	update, condition := "REMOVE "+strings.Join(list, ", "), "attribute_exists(k)"
	ctx, cancel := context.WithTimeout(ctx, marksTimeout)
	defer cancel()
	_, _ = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &s.table,
		Key:                      itemKey(key),
		UpdateExpression:         &update,
		ConditionExpression:      &condition,
		ExpressionAttributeNames: aliases,
	}, ddb.Once)
}

// oldMarks names the marks of final charges that were made more than markFor ago, or,
// by a process whose clock is wrong, as far in the future.
func oldMarks(item attributes, now time.Time) []string {
	var names []string
	for name, value := range item {
		n, ok := value.(*types.AttributeValueMemberN)
		if !ok || !strings.HasPrefix(name, prefixFinal) {
			continue
		}
		at, err := strconv.ParseInt(n.Value, 10, 64)
		if err == nil && now.Sub(time.Unix(at, 0)).Abs() > markFor {
			names = append(names, name)
		}
	}
	return names
}
